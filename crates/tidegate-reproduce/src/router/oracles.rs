//! Closed forms and transcripts: what the machine has to do before any figure counts.

use super::trials::{Case, Extent, constant, figure, poisson, run_all, total};
use crate::figure::{Figure, Gate, Table};
use std::sync::Arc;
use tidegate_core::guard::{Activity, Guard, GuardSettings, GuardedFlow, Vacancies};
use tidegate_core::units::{Duration, Rate};
use tidegate_router::{
    Bus, Distribution, Kernel, Level, Machine, Nic, Noise, NoiseArrivals, Overheads, Pci, RouterFlow, RouterOutcome, Stage, Trial,
    Variation, Wake, Work,
};
use tidegate_sim::Holding;
use tidegate_sim::random::Stream;
use tidegate_sim::source::{OnOff, Remainder, Source};

/// A machine in which only these stages take time, in microseconds.
fn processor_alone(stages: &[(u64, Level)], kernel: Kernel) -> Machine {
    let nic = Nic { receive_fifo: 1 << 30, transmit_fifo: 1 << 30, ..Nic::ethernet(Rate::MAX) };
    let stage = |&(microseconds, level): &(u64, Level)| Stage {
        name: format!("{level:?}"),
        cycles: 0.0,
        memory: Duration::from_microseconds(microseconds),
        per_byte: Duration::ZERO,
        per_route_bit: Duration::ZERO,
        level,
        queue: None,
    };
    Machine {
        bus: Bus::Pci(Pci { clock_hz: 1_000_000_000_000, overhead: 0, ..Pci::PCI_32_33 }),
        nics: vec![nic.clone(), nic],
        kernel,
        overheads: Overheads::default(),
        stages: stages.iter().map(stage).collect(),
        variation: Variation::None,
        noise: Vec::new(),
        ..Machine::system_one()
    }
}

fn case(machine: Machine, flow: RouterFlow, milliseconds: u64, seed: u64) -> Case {
    Case { machine, flows: vec![flow], trial: Trial::new(Duration::from_milliseconds(milliseconds), seed) }
}

fn nowhere(_: f64) {}

/// B1: receive livelock.
fn livelock() -> Vec<Gate> {
    let stages = [(20, Level::Interrupt), (30, Level::Soft), (10, Level::Soft)];
    let loads = [5_000, 10_000, 16_667, 20_000, 25_000, 40_000, 50_000];
    let forwards = |kernel: &Kernel, loads: &[u64]| -> Vec<f64> {
        let case = |&load: &u64| case(processor_alone(&stages, kernel.clone()), constant("flow", load as f64, 64, 0, Some(1)), 1000, 1);
        run_all(&loads.iter().map(case).collect::<Vec<_>>(), &nowhere).iter().map(|outcome| 1e3 * total(outcome)).collect()
    };
    let expected = [5e3, 10e3, 16_667.0, 15e3, 12.5e3, 5e3, 0.0];
    let polled: Vec<f64> = loads.iter().map(|&load| load.min(16_667) as f64).collect();
    let shares = Kernel::Shares { batch: 8, input_weight: 1e6, estimate: Duration::from_microseconds(5) };
    vec![
        Gate::within("B1, interrupts", "packets/s", forwards(&Kernel::Interrupt, &loads), &expected, 30.0),
        Gate::within("B1, polling", "packets/s", forwards(&Kernel::POLLING, &loads), &polled, 30.0),
        Gate::within("B1, shares that favour input", "packets/s", forwards(&shares, &loads[3..6]), &expected[3..6], 30.0),
    ]
}

/// B2: a frame crosses a PCI bus twice.
fn bus() -> Gate {
    let machine = Machine { bus: Bus::Pci(Pci::PCI_32_33), ..processor_alone(&[(0, Level::Interrupt)], Kernel::Interrupt) };
    let cases = [1500, 512].map(|length| case(machine.clone(), constant("flow", 200e3, length, 0, Some(1)), 1000, 1));
    let totals = run_all(&cases, &nowhere).iter().map(total).collect();
    Gate::near("B2: frames of 1500 and 512 bytes over PCI, twice", "kpps", totals, &[43.081, 121.324], 0.001)
}

/// The mean of a measure over seeds, and its distance from what is expected in half 95 % intervals, at least 1 % of it.
fn in_interval(name: &str, outcomes: &[RouterOutcome], expected: f64, of: &dyn Fn(&RouterOutcome) -> f64) -> Gate {
    let count = outcomes.len() as f64;
    let values: Vec<f64> = outcomes.iter().map(of).collect();
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Student's t with 7 degrees of freedom.
    let half = (2.365 * (variance / count).sqrt()).max(0.01 * expected);
    Gate::within(name, "ms, packets", vec![mean], &[expected], half)
}

/// Seeds of the trials that are compared with closed forms.
const SEEDS: u64 = 8;

fn trials(machine: &Machine, flow: &RouterFlow, seconds: u64) -> Vec<RouterOutcome> {
    let cases: Vec<Case> = (1..=SEEDS).map(|seed| case(machine.clone(), flow.clone(), 1000 * seconds, seed)).collect();
    run_all(&cases, &nowhere)
}

/// B6: M/M/1 and preemptive-resume priorities with a service of 1 ms.
fn priorities(seconds: u64) -> Vec<Gate> {
    let quantiles = 100_000;
    let exponential = |index: u32| vec![-(1.0 - (f64::from(index) + 0.5) / f64::from(quantiles)).ln()];
    let variation = Variation::Rows { woken: Arc::new([]), batched: (0..quantiles).map(exponential).collect() };
    let mut alone = Machine { variation, ..processor_alone(&[(1000, Level::Soft)], Kernel::Interrupt) };
    alone.stages[0].queue = Some(1 << 20);
    let above = Noise {
        arrivals: NoiseArrivals::Poisson(Duration::from_picoseconds(3_333_333_333)),
        cost: Distribution::Exponential { least: Duration::ZERO, beyond: Duration::from_milliseconds(1) },
        core: 0,
    };
    let below = Machine { noise: vec![above], ..alone.clone() };
    let flow = |per_second| poisson("flow", per_second, 64, 0, Some(1));
    let delay = |outcome: &RouterOutcome| outcome.flows[0].delays.mean().unwrap_or(0.0) * 1e3;
    vec![
        in_interval("B6: mean delay at a load of 0.3", &trials(&alone, &flow(300.0), seconds), 1.4286, &delay),
        in_interval("B6: mean delay at 0.4 below 0.3", &trials(&below, &flow(400.0), seconds), 4.7619, &delay),
        in_interval("B6: mean delay at a load of 0.8", &trials(&alone, &flow(800.0), seconds), 5.0, &delay),
    ]
}

/// B9: gated batches with vacations.
fn batches(seconds: u64) -> Vec<Gate> {
    let kernel = Kernel::Polling { quota: None, gated: true, feedback: None, wake: Wake::Busy };
    let mut gates = Vec::new();
    for (per_second, vacation, batch, wait) in [(500.0, 2000, 2.0, 3.5), (800.0, 2000, 8.0, 11.0), (900.0, 500, 4.5, 9.25)] {
        let mut machine = processor_alone(&[(1000, Level::Thread)], kernel.clone());
        machine.nics.truncate(1);
        machine.nics[0].ring = 1 << 20;
        machine.overheads.poll = Work { cycles: 0.0, memory: Duration::from_microseconds(vacation) };
        let outcomes = trials(&machine, &poisson("flow", per_second, 64, 0, Some(0)), seconds);
        let name = |what: &str| format!("B9, {per_second} packets/s, vacations of {vacation} us: {what}");
        gates.push(in_interval(&name("batch"), &outcomes, batch, &|outcome| outcome.batches.mean().unwrap_or(0.0)));
        let waits = |outcome: &RouterOutcome| outcome.flows[0].delays.mean().unwrap_or(0.0) * 1e3 - 1.0;
        gates.push(in_interval(&name("wait"), &outcomes, wait, &waits));
    }
    gates
}

/// One period of a transcript: what was moved, and the vacancies after it; none if the guard is idle.
type Period = ([u32; 3], Option<[u32; 3]>);

/// Three equal flows of unit frames on a bus of 6 frames per period, round robin within it.
fn transcript(arrivals: &[[u64; 3]], room: &dyn Fn(usize) -> [u32; 3]) -> Vec<Period> {
    let mut guard = Guard::new(&GuardSettings::new(6), &[GuardedFlow { weight: 1, frame: 1 }; 3]).expect("the settings are in range");
    let (mut waiting, mut vacancies) = ([0u64; 3], [99u32; 3]);
    let mut periods = Vec::new();
    for (period, arrived) in arrivals.iter().enumerate() {
        let mut moved = [0u32; 3];
        let mut left: [u32; 3] = std::array::from_fn(|flow| vacancies[flow].min(room(period)[flow]));
        (0..3).for_each(|flow| waiting[flow] += arrived[flow]);
        let (mut frames, mut flow, mut idle) = (6, 0, 0);
        while frames > 0 && idle < 3 {
            if waiting[flow] > 0 && left[flow] > 0 {
                (waiting[flow], left[flow], moved[flow]) = (waiting[flow] - 1, left[flow] - 1, moved[flow] + 1);
                (frames, idle) = (frames - 1, 0);
            } else {
                idle += 1;
            }
            flow = (flow + 1) % 3;
        }
        let room = room(period + 1);
        let activity: [Activity; 3] =
            std::array::from_fn(|flow| Activity { accepted: arrived[flow], moved: u64::from(moved[flow]), room: room[flow] });
        let granted = match guard.activate(&activity).expect("what was moved had arrived") {
            Vacancies::Open => None,
            Vacancies::Limited(granted) => Some([granted[0], granted[1], granted[2]]),
        };
        vacancies = granted.unwrap_or([99; 3]);
        periods.push((moved, granted));
    }
    periods
}

/// Digits as one number per period; -1 for an idle guard.
fn digits(of: impl Iterator<Item = Option<[u32; 3]>>) -> Vec<f64> {
    of.map(|three| three.map_or(-1.0, |[a, b, c]| f64::from(100 * a + 10 * b + c))).collect()
}

/// B4, Figure 4.7: one flow sends too much for three periods. B10: one flow has no room for five.
fn guard() -> (Vec<Gate>, Table) {
    let arrivals = [
        [2, 2, 2],
        [2, 2, 8],
        [2, 2, 8],
        [2, 2, 8],
        [0, 2, 8],
        [0, 0, 8],
        [2, 2, 2],
        [2, 2, 2],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
    ];
    let plenty = |_: usize| [99; 3];
    let burst = transcript(&arrivals, &plenty);
    let blocked = transcript(&[[2; 3]; 11], &|period| [99, 99, if (2..7).contains(&period) { 0 } else { 99 }]);
    let moved = |periods: &[Period]| digits(periods.iter().map(|(moved, _)| Some(*moved)));
    let granted = |periods: &[Period]| digits(periods.iter().map(|(_, granted)| *granted));
    let gates = vec![
        Gate::exactly(
            "B4: moved per period",
            "frames of three flows",
            moved(&burst),
            &[222.0, 222.0, 6.0, 222.0, 222.0, 24.0, 6.0, 222.0, 222.0, 6.0, 6.0, 6.0, 0.0],
        ),
        Gate::exactly(
            "B4: vacancies after each period",
            "frames of three flows",
            granted(&burst),
            &[222.0, 6.0, 222.0, 222.0, 24.0, 6.0, 222.0, 222.0, 6.0, 6.0, 6.0, 222.0, -1.0],
        ),
        Gate::exactly(
            "B10: moved while flow 3 has no room, and after",
            "frames of three flows",
            moved(&blocked),
            &[222.0, 222.0, 220.0, 220.0, 220.0, 220.0, 220.0, 6.0, 222.0, 222.0, 222.0],
        ),
    ];
    let show = |three: &[u32; 3]| three.map(|number| number.to_string()).join(" ");
    let row = |(number, (arrived, (moved, granted))): (usize, (&[u64; 3], &Period))| {
        let arrived = arrived.map(|number| number.to_string()).join(" ");
        vec![number.to_string(), arrived, show(moved), granted.as_ref().map_or("open".to_owned(), show)]
    };
    let rows = arrivals.iter().zip(&burst).enumerate().map(row).collect();
    (gates, Table::new("Figure 4.7: flow 3 sends too much for three periods", &["period", "arrived", "moved", "vacancies after"], rows))
}

/// The Hurst parameter of counts per slot, from the variance of means over 64 to 4096 slots.
fn hurst(counts: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = (6..13)
        .map(|power| {
            let size = 1usize << power;
            let means: Vec<f64> = counts.chunks_exact(size).map(|chunk| chunk.iter().sum::<f64>() / size as f64).collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / means.len() as f64;
            ((size as f64).ln(), variance.ln())
        })
        .collect();
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    1.0 + slope / 2.0
}

/// The Hurst parameter of 20 Pareto on/off sources, on for 10 slots and off for 20 on average.
fn self_similarity(shape: f64, power: u32) -> f64 {
    let slot = Duration::from_milliseconds(1);
    let holding = |slots: u64| Holding::Pareto { mean: Duration::from_picoseconds(slot.picoseconds() * slots), shape };
    // Ten packets per slot while a source is on.
    let peak = Rate::new(125 * 8 * 10_000).expect("the rate is in range");
    let source = Source::OnOff(OnOff { peak, length: 125, on: holding(10), off: holding(20), remainder: Remainder::Carried });
    let slots = 1usize << power;
    let mut counts = vec![0.0; slots];
    for copy in 0..20 {
        let mut stream = Stream::new(1, copy, "self-similar");
        let Some(mut generator) = source.generator() else { continue };
        let mut at = generator.first(0, &mut stream);
        while let Some(count) = counts.get_mut((at / slot.picoseconds()) as usize) {
            *count += 1.0;
            at = generator.emit(at, &mut stream).next;
        }
    }
    hurst(&counts)
}

/// The parameter of on/off traffic.
fn self_similar() -> Gate {
    let measured = [1.2, 1.4, 1.8].map(|shape| self_similarity(shape, 18));
    Gate::within("H of Pareto on/off sources, exponents 1.2, 1.4, 1.8", "Hurst", measured.to_vec(), &[0.9, 0.8, 0.6], 0.10)
}

/// Packets in the first tenth of a period of sources that start stationary, of what their rate says.
fn early_load() -> Gate {
    let mean = Duration::from_milliseconds(10);
    let pareto = Holding::Pareto { mean, shape: 1.9 };
    let peak = Rate::new(125 * 8 * 10_000).expect("the rate is in range");
    let source = Source::OnOff(OnOff { peak, length: 125, on: pareto, off: pareto, remainder: Remainder::Carried });
    let copies = 10_000;
    let count = |copy: u32| {
        let mut stream = Stream::new(2, copy, "early");
        let Some(mut generator) = source.generator() else { return 0 };
        let (mut at, mut count) = (generator.first(0, &mut stream), 0);
        while at < 1_000_000_000 {
            count += 1;
            at = generator.emit(at, &mut stream).next;
        }
        count
    };
    let packets: u32 = (0..copies).map(count).sum();
    Gate::within(
        "stationary start: packets in the first millisecond",
        "of the mean rate's",
        vec![f64::from(packets) / f64::from(copies) / 5.0],
        &[1.0],
        0.03,
    )
}

/// All of them; `extent` says how long the trials of random systems are.
pub fn all(extent: Extent) -> (Vec<Gate>, Table) {
    let seconds = extent.milliseconds.div_ceil(2).min(100);
    let mut gates = livelock();
    gates.push(bus());
    let (of_guard, table) = guard();
    gates.extend(of_guard);
    gates.extend(priorities(seconds));
    gates.extend(batches(seconds));
    gates.push(early_load());
    if extent == Extent::FULL {
        gates.push(self_similar());
    }
    (gates, table)
}

/// The rules of the machine.
pub fn rules(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("rules", "Closed forms and transcripts", "Figure 4.7; the others are ours");
    figure.note(&[
        "Receive livelock without entry costs (B1), a PCI bus (B2), the guard's transcripts (B4, B10), M/M/1 with preemptive-resume priorities (B6), gated \
         batches with vacations (B9).",
        "Means over eight seeds have to be within their 95 % interval or 1 % of the closed form.",
        "H is measured by the variance of aggregated counts, 2^18 slots; its estimate is biased by up to 0.1.",
        "A fault in any of these rules fails the gate named after it: `cargo xtask reproduce-mutants router`.",
    ]);
    let (gates, table) = all(Extent::FULL);
    figure.gates = gates;
    figure.tables.push(table);
    progress(1.0);
    figure
}
