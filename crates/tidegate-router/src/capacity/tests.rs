//! Machines whose answer is known beforehand.

use super::*;
use crate::machine::{Kernel, Nic, Stage, Variation, Wake};
use tidegate_core::units::Rate;
use tidegate_sim::Source;
use tidegate_sim::source::{Cbr, Poisson};

fn question() -> Question {
    Question { loads: vec![0.5], quantiles: vec![0.5], loss: 5e-4, packets: 4_000, seed: 1, duration: None, promised_rate: None }
}

fn cbr(length: u32) -> RouterFlow {
    let rate = Rate::new(u64::from(length) * 8 * 1000).unwrap();
    let source = Source::Cbr(Cbr { rate, length, random_phase: true });
    RouterFlow { jitter: 0.05, ..RouterFlow::new("flow", source, 0, Some(1)) }
}

fn quiet(machine: Machine) -> Machine {
    Machine { kernel: Kernel::POLLING, variation: Variation::None, noise: Vec::new(), ..machine }
}

fn answer(machine: &Machine, flows: &[RouterFlow], question: &Question) -> Capacity {
    capacity(machine, flows, question, &|_| (), &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_machine_forwards_what_its_bus_lets_through() {
    let found = answer(&quiet(Machine::system_two()), &[cbr(512)], &question());
    let low = found.forwarding.low.unwrap();
    assert!((119e3..=121.33e3).contains(&low), "{low}");
    assert!(found.forwarding.high.is_none_or(|high| (high / low - 1.0 / STEP).abs() < 1e-9));
    let load = &found.loads[0];
    assert!((load.packets_per_second / low - 0.5).abs() < 1e-9);
    let flow = &load.outcome.flows[0];
    assert!(flow.offered >= 3_990 && flow.forwarded + 10 > flow.offered && flow.lost.total() == 0, "{flow:?}");
}

#[test]
fn the_processor_limits_the_slower_machine_and_its_ring_loses() {
    let machine = quiet(Machine::system_one());
    let found = answer(&machine, &[cbr(512)], &question());
    let ceiling = Ceilings::new(&machine, &[cbr(512)]).unwrap().least().packets_per_second;
    let low = found.forwarding.low.unwrap();
    assert!(low > 0.95 * ceiling && low <= ceiling, "{low} of {ceiling}");
    assert!(found.forwarding.high.is_none() || found.forwarding.losses.ring == found.forwarding.losses.total(), "{found:?}");
}

#[test]
fn a_wire_loses_nothing_at_its_full_rate() {
    let nic = Nic::ethernet(Rate::new(10_000_000).unwrap());
    let machine = Machine { nics: vec![nic.clone(), nic], ..quiet(Machine::system_one()) };
    let found = answer(&machine, &[cbr(512)], &question());
    let (low, high) = (found.forwarding.low.unwrap(), found.forwarding.high);
    assert!((low - 10e6 / (532.0 * 8.0)).abs() < 1e-6 && high.is_none(), "{low} {high:?}");
}

#[test]
fn a_machine_whose_fifo_holds_no_frame_forwards_nothing_without_loss() {
    let nic = Nic { receive_fifo: 511, ..Nic::ethernet(Rate::new(1_000_000_000).unwrap()) };
    let machine = Machine { nics: vec![nic.clone(), nic], ..quiet(Machine::system_one()) };
    let poisson = Source::Poisson(Poisson { packets_per_second: 1.0, length: tidegate_sim::LengthDistribution::Fixed(512) });
    let found = answer(&machine, &[RouterFlow { copies: 2, ..RouterFlow::new("flow", poisson, 0, Some(1)) }], &question());
    assert_eq!((found.forwarding.low, found.loads.len()), (None, 0));
    assert!(found.forwarding.losses.total() > 2);
}

#[test]
fn a_busy_processor_forwards_nothing() {
    let noise = crate::machine::Noise {
        arrivals: crate::machine::NoiseArrivals::Periodic(Duration::from_milliseconds(1)),
        cost: crate::machine::Distribution::Constant(Duration::from_milliseconds(1)),
        core: 0,
    };
    let found = answer(&Machine { noise: vec![noise], ..quiet(Machine::system_one()) }, &[cbr(512)], &question());
    assert_eq!((found.forwarding.low, found.forwarding.high), (None, Some(0.0)));
}

#[test]
fn a_promised_rate_is_tried_beside_the_loads() {
    let asked = Question { promised_rate: Some(10_000.0), ..question() };
    let found = answer(&quiet(Machine::system_two()), &[cbr(512)], &asked);
    let promise = found.promise.unwrap();
    assert_eq!(promise.packets_per_second, 10_000.0);
    assert_eq!(found.loads.len(), 1);
    assert!((promise.survives.ring - 64.0 / 10_000.0).abs() < 1e-4);
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let [first, second] = [(); 2].map(|()| answer(&Machine::system_two(), &[cbr(512)], &Question { loads: vec![], ..question() }));
    assert_eq!(first, second);
}

/// B9: the engine polls as the closed form says.
#[test]
fn a_polling_engine_keeps_to_the_closed_form_of_gated_batches() {
    use crate::machine::{Bus, Level, Overheads, PcieLink, Work};
    use crate::vacations::{GatedBatches, Moments};
    let work = |nanoseconds| Work { cycles: 0.0, memory: Duration::from_nanoseconds(nanoseconds) };
    let stage =
        Stage { cycles: 0.0, memory: Duration::from_microseconds(100), level: Level::Thread, ..Machine::system_one().stages[6].clone() };
    let link = PcieLink {
        generation: 5,
        lanes: 32,
        max_payload: 256,
        max_read_request: 512,
        descriptor_batch: 32,
        write_back: 8,
        interrupts: false,
    };
    let nic = Nic { ring: 1 << 16, receive_fifo: 1 << 30, ..Nic::ethernet(Rate::new(400_000_000_000).unwrap()) };
    for (arrivals, vacation) in [(0.5, 200_000), (0.8, 200_000), (0.9, 50_000)] {
        let machine = Machine {
            bus: Bus::Pcie(link.clone()),
            nics: vec![nic.clone(), nic.clone()],
            kernel: Kernel::Polling { quota: None, gated: true, feedback: None, wake: Wake::Busy },
            // A turn at each of two devices.
            overheads: Overheads { poll: work(vacation / 2), ..Overheads::default() },
            stages: vec![stage.clone()],
            ..quiet(Machine::system_one())
        };
        let packets_per_second = arrivals * 10_000.0;
        let poisson = Source::Poisson(Poisson { packets_per_second, length: tidegate_sim::LengthDistribution::Fixed(64) });
        let trial = Trial::new(Duration::from_seconds(10), 1);
        let outcome = crate::run(&machine, &[RouterFlow::new("flow", poisson, 0, Some(1))], &trial).unwrap();
        let vacation = Moments::constant(vacation as f64 / 1e9);
        let server = GatedBatches { arrivals: packets_per_second, service: Moments::constant(100e-6), vacation };
        let wait = outcome.flows[0].delays.mean().unwrap() - 100e-6;
        let (expected_wait, expected_batch) = (server.mean_wait().unwrap(), server.mean_batch().unwrap());
        assert!((wait / expected_wait - 1.0).abs() < 0.06, "wait {wait}, expected {expected_wait}");
        let batch = 2.0 * outcome.batches.mean().unwrap();
        assert!((batch / expected_batch - 1.0).abs() < 0.06, "batch {batch}, expected {expected_batch}");
    }
}
