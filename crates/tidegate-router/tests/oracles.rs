//! Closed forms that the engine has to meet: receive livelock, a shared bus, priorities, gated batches.

use std::sync::Arc;
use tidegate_core::units::{Duration, Rate};
use tidegate_router::{
    Bus, Distribution, Fidelity, Kernel, Level, Machine, Nic, Noise, NoiseArrivals, Overheads, Pci, RouterFlow, RouterOutcome, Stage,
    Trial, Variation, Wake, Work, run,
};
use tidegate_sim::source::{Cbr, LengthDistribution, Poisson, Source};

/// A stage of a fixed time.
fn stage(microseconds: u64, level: Level) -> Stage {
    Stage {
        name: format!("{level:?}"),
        cycles: 0.0,
        memory: Duration::from_microseconds(microseconds),
        per_byte: Duration::ZERO,
        per_route_bit: Duration::ZERO,
        level,
        queue: None,
    }
}

/// A machine in which only these stages take time: wires of 400 Gbit/s, a bus of 4 TB/s.
fn processor_alone(stages: Vec<Stage>, kernel: Kernel) -> Machine {
    let nic = Nic { receive_fifo: 1 << 30, transmit_fifo: 1 << 30, ..Nic::ethernet(Rate::MAX) };
    Machine {
        bus: Bus::Pci(Pci { clock_hz: 1_000_000_000_000, overhead: 0, ..Pci::PCI_32_33 }),
        nics: vec![nic.clone(), nic],
        kernel,
        overheads: Overheads::default(),
        stages,
        variation: Variation::None,
        noise: Vec::new(),
        ..Machine::system_one()
    }
}

fn constant(packets_per_second: u64, length: u32) -> RouterFlow {
    let rate = Rate::new(packets_per_second * u64::from(length) * 8).unwrap();
    RouterFlow::new("flow", Source::Cbr(Cbr { rate, length, random_phase: true }), 0, Some(1))
}

fn poisson(packets_per_second: f64) -> RouterFlow {
    RouterFlow::new("flow", Source::Poisson(Poisson { packets_per_second, length: LengthDistribution::Fixed(64) }), 0, Some(1))
}

fn seconds(machine: &Machine, flow: &RouterFlow, seconds: u64, seed: u64) -> RouterOutcome {
    run(machine, std::slice::from_ref(flow), &Trial::new(Duration::from_seconds(seconds), seed)).unwrap()
}

/// B1: receive livelock. 20 us in the device interrupt, 40 us behind it.
#[test]
fn throughput_falls_once_interrupts_take_the_processor() {
    let stages = || vec![stage(20, Level::Interrupt), stage(30, Level::Soft), stage(10, Level::Soft)];
    let polling = Kernel::POLLING;
    let shares = Kernel::Shares { batch: 8, input_weight: 1e6, estimate: Duration::from_microseconds(5) };
    let expected = [(5_000, 5_000), (10_000, 10_000), (16_667, 16_667), (20_000, 15_000), (25_000, 12_500), (40_000, 5_000), (50_000, 0)];
    for (offered, forwarded) in expected {
        let of = |kernel: &Kernel| {
            let machine = processor_alone(stages(), kernel.clone());
            seconds(&machine, &constant(offered, 64), 1, 1).flows[0].forwarded
        };
        let near = |measured: u64, expected: u64| measured.abs_diff(expected) <= 20;
        assert!(near(of(&Kernel::Interrupt), forwarded), "{offered}: {}", of(&Kernel::Interrupt));
        assert!(near(of(&polling), offered.min(16_667)), "polled, {offered}: {}", of(&polling));
        // A weight of a million leaves the flow what input does not use.
        if [20_000, 25_000, 40_000].contains(&offered) {
            assert!(near(of(&shares), forwarded), "shares, {offered}: {}", of(&shares));
        }
    }
}

/// B2: 32 bits at 33 MHz with 8 clocks per grant. A frame crosses the bus twice.
#[test]
fn a_shared_bus_forwards_what_its_clocks_allow() {
    for (length, per_second) in [(1500, 43_081), (512, 121_324)] {
        let machine = Machine { bus: Bus::Pci(Pci::PCI_32_33), ..processor_alone(vec![stage(0, Level::Interrupt)], Kernel::Interrupt) };
        let outcome = seconds(&machine, &constant(200_000, length), 1, 1);
        assert!(outcome.flows[0].forwarded.abs_diff(per_second) <= 20, "{length}: {}", outcome.flows[0].forwarded);
        assert!(outcome.bus[0] > 0.9999, "{}", outcome.bus[0]);
    }
}

/// Exponential factors with mean 1, by quantiles.
fn exponential() -> Variation {
    let count = 200_000;
    let quantile = |index: usize| vec![-(1.0 - (index as f64 + 0.5) / f64::from(count)).ln()];
    Variation::Rows { woken: Arc::new([]), batched: (0..count as usize).map(quantile).collect() }
}

/// The mean delay in milliseconds, and half a 95 % interval, over seeds.
fn mean_delay(machine: &Machine, per_second: f64) -> (f64, f64) {
    let means: Vec<f64> =
        (1..=8).map(|seed| seconds(machine, &poisson(per_second), 100, seed).flows[0].delays.mean().unwrap() * 1e3).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    // Student's t with 7 degrees of freedom.
    (mean, 2.365 * (variance / means.len() as f64).sqrt())
}

/// B6: M/M/1 with preemptive-resume priorities, service of 1 ms.
#[test]
fn preemption_is_that_of_m_m_1_with_priorities() {
    // Interrupts take no time, so the software interrupt is the only server.
    let service = Stage { queue: Some(1 << 20), ..stage(1000, Level::Soft) };
    let alone = Machine { variation: exponential(), ..processor_alone(vec![service], Kernel::Interrupt) };
    let noise = Noise {
        arrivals: NoiseArrivals::Poisson(Duration::from_picoseconds(3_333_333_333)),
        cost: Distribution::Exponential { least: Duration::ZERO, beyond: Duration::from_milliseconds(1) },
        core: 0,
    };
    let below = Machine { noise: vec![noise], ..alone.clone() };
    for (machine, per_second, expected) in [(&alone, 300.0, 1.4286), (&below, 400.0, 4.7619), (&alone, 800.0, 5.0)] {
        let (mean, half) = mean_delay(machine, per_second);
        assert!((mean - expected).abs() <= half.max(0.01 * expected), "{per_second}: {mean} +- {half}, not {expected}");
    }
    let tails: Vec<_> = (1..=8).map(|seed| seconds(&alone, &poisson(800.0), 200, seed)).collect();
    for (milliseconds, expected) in [(5, 0.3679), (15, 0.0498)] {
        let limit = Duration::from_milliseconds(milliseconds).picoseconds();
        let share = tails.iter().map(|outcome| outcome.flows[0].delays.share_beyond(limit)).sum::<f64>() / tails.len() as f64;
        assert!((share / expected - 1.0).abs() < 0.06, "{milliseconds} ms: {share}, not {expected}");
    }
}

/// B9: gated batches: a turn of V ms looks at the ring, then serves what it saw, 1 ms each.
#[test]
fn gated_batches_with_vacations() {
    let kernel = Kernel::Polling { quota: None, gated: true, feedback: None, wake: Wake::Busy };
    for (per_second, vacation, batch, wait) in [(500.0, 2000, 2.0, 3.5), (800.0, 2000, 8.0, 11.0), (900.0, 500, 4.5, 9.25)] {
        let mut machine = processor_alone(vec![stage(1000, Level::Thread)], kernel.clone());
        machine.nics.truncate(1);
        machine.nics[0].ring = 1 << 20;
        machine.overheads.poll = Work { cycles: 0.0, memory: Duration::from_microseconds(vacation) };
        let flow = RouterFlow { output: Some(0), ..poisson(per_second) };
        let outcomes: Vec<_> = (1..=8).map(|seed| seconds(&machine, &flow, 100, seed)).collect();
        let mean = |of: &dyn Fn(&RouterOutcome) -> f64| {
            let values: Vec<f64> = outcomes.iter().map(of).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            (mean, 2.365 * (variance / values.len() as f64).sqrt())
        };
        let (size, half_size) = mean(&|outcome| outcome.batches.mean().unwrap());
        let (delay, half_delay) = mean(&|outcome| outcome.flows[0].delays.mean().unwrap() * 1e3 - 1.0);
        assert!((size - batch).abs() <= half_size.max(0.01 * batch), "{per_second}: batches of {size} +- {half_size}, not {batch}");
        assert!((delay - wait).abs() <= half_delay.max(0.01 * wait), "{per_second}: {delay} +- {half_delay}, not {wait}");
    }
}

/// The functions of one level run back to back, so one service per level has the same departures, to the picosecond.
#[test]
fn functions_and_levels_depart_alike() {
    for kernel in [Kernel::Interrupt, Kernel::POLLING, Kernel::SHARES] {
        let machine = Machine { kernel, ..Machine::system_one() };
        let flows = [RouterFlow { jitter: 0.05, ..constant(30_000, 512) }, RouterFlow { name: "other".into(), ..poisson(20_000.0) }];
        let of = |fidelity| run(&machine, &flows, &Trial { fidelity, ..Trial::new(Duration::from_milliseconds(100), 3) }).unwrap();
        let (function, level) = (of(Fidelity::Function), of(Fidelity::Level));
        assert!(function.events > level.events);
        assert_eq!(RouterOutcome { events: 0, ..function }, RouterOutcome { events: 0, ..level });
    }
}
