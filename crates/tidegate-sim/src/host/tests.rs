//! Tests of [`super`].

use super::*;
use proptest::prelude::*;
use tidegate_cells::{CellContract, CellSetup, Conflict, HeapScheduler, Planner, Prefetch, RateScaling, TransferSetup};

/// Four cells per slot, four slots of latency, eight cells per burst.
const SETUP: TransferSetup =
    TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 4, cell_time: Ticks(SLOT / 4), burst: 8, buffer: 1000 };

fn bus(setup: &TransferSetup, jitter: Jitter) -> Bus {
    let burst = NonZeroU32::new(setup.burst).unwrap();
    Bus { access_latency: Ticks::slots(setup.access_latency.into()), jitter, cell_time: setup.cell_time, burst }
}

fn scheduler(connections: u32, pdus: u32, transfer: TransferSetup) -> HeapScheduler {
    HeapScheduler::new(&CellSetup { connections, pdus, transfer: Some(transfer) }, Conflict::Lazy, RateScaling::strict())
}

#[derive(Default)]
struct Log {
    sent: Vec<u64>,
    requested: Vec<(u64, u32)>,
    done: Vec<u64>,
}

impl Adapter for Log {
    fn cell_sent(&mut self, now: u64, _connection: Connection, _late: Ticks) {
        self.sent.push(now);
    }

    fn transfer_requested(&mut self, now: u64, _connection: Connection, cells: u32) {
        self.requested.push((now, cells));
    }

    fn pdu_done(&mut self, now: u64, _connection: Connection) {
        self.done.push(now);
    }
}

#[test]
fn one_connection_is_fed_just_in_time() {
    let mut scheduler = scheduler(1, 1, SETUP);
    let connection = scheduler.add(&CellContract::constant(Ticks::slots(4))).unwrap();
    let mut host = Host::new(bus(&SETUP, Jitter::None), 1, "bus", Log::default());
    host.run(&mut scheduler, &[Posting { slot: 0, connection, cells: 20 }], 1000).unwrap();
    assert_eq!(host.observer.requested, [(0, 8), (30, 8), (62, 4)]);
    assert_eq!(host.observer.sent, (0..20).map(|cell| 6 + 4 * cell).collect::<Vec<_>>());
    assert_eq!(host.observer.done, [82]);
    let counts = *host.counts();
    assert_eq!((counts.cells, counts.underruns, counts.transfers), (20, 0, 3));
    // 4 + 2 slots for eight cells, 4 + 1 for four.
    assert_eq!((counts.engine_slots, counts.longest_latency), (17, 4));
    // Buffers in use: 8 from slot 0; a cell gives one back every four slots from 6; 8 more are taken in 30, 4 in 62.
    assert_eq!(counts.peak_buffers, 9);
    let taken = 8 * 83 + 8 * (83 - 30) + 4 * (83 - 62);
    let given_back: u64 = (0..20).map(|cell| 83 - (6 + 4 * cell)).sum();
    assert_eq!((counts.slots, counts.buffer_slots), (83, u128::from(taken - given_back)));
}

#[test]
fn transfers_are_served_one_after_the_other() {
    let mut scheduler = scheduler(2, 2, SETUP);
    let contract = CellContract::constant(Ticks::slots(10));
    let postings = [0, 1].map(|slot| Posting { slot, connection: scheduler.add(&contract).unwrap(), cells: 8 });
    let mut host = Host::new(bus(&SETUP, Jitter::None), 1, "bus", Log::default());
    host.run(&mut scheduler, &postings, 8).unwrap();
    assert_eq!(host.observer.sent, [6], "the first transfer is done in slot 6, the second in slot 12");
    assert_eq!(host.counts().longest_latency, 9, "requested in slot 1, two slots on the bus");
    host.run(&mut scheduler, &[], 13).unwrap();
    assert_eq!(host.observer.sent, [6, 12], "a run goes on where the one before stopped");
    assert_eq!(host.counts().slots, 13);
}

#[test]
fn a_long_transfer_takes_the_bus_for_several_tenures() {
    let whole = TransferSetup { prefetch: Prefetch::WholePdu, ..SETUP };
    let mut scheduler = scheduler(1, 1, whole);
    let connection = scheduler.add(&CellContract::constant(Ticks::slots(1))).unwrap();
    let mut host = Host::new(bus(&whole, Jitter::None), 1, "bus", Log::default());
    host.run(&mut scheduler, &[Posting { slot: 3, connection, cells: 20 }], 1000).unwrap();
    // Three tenures of four slots, and five slots for twenty cells.
    assert_eq!((host.observer.requested[0], host.observer.sent[0]), ((3, 20), 20));
}

#[test]
fn jitter_stays_in_its_range_and_has_its_mean() {
    let draws = |jitter: Jitter, name: &str| -> Vec<u64> {
        let mut stream = Stream::new(1, 0, name);
        (0..100_000).map(|_| jitter.draw(&mut stream)).collect()
    };
    let mean = |draws: &[u64]| draws.iter().sum::<u64>() as f64 / draws.len() as f64;
    let uniform = draws(Jitter::Uniform { most: Ticks(1000) }, "bus");
    assert!(uniform.iter().all(|&drawn| drawn <= 1000));
    // Five standard errors of 289 over the square root of 100,000.
    assert!((mean(&uniform) - 500.0).abs() < 4.6, "{}", mean(&uniform));
    let exponential = draws(Jitter::Exponential { mean: Ticks(1000), most: Ticks(2000) }, "bus");
    assert!(exponential.iter().all(|&drawn| drawn <= 2000));
    // The mean of an exponential cut off at twice its mean is 1 - 2 / (e^2 - 1) of it.
    let expected = 1000.0 * (1.0 - 2.0 / (f64::exp(2.0) - 1.0));
    assert!((mean(&exponential) - expected).abs() < 10.0, "{} {expected}", mean(&exponential));
    assert_ne!(uniform[..8], draws(Jitter::Uniform { most: Ticks(1000) }, "another bus")[..8]);
    assert!(draws(Jitter::None, "bus").iter().all(|&drawn| drawn == 0));
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    let span = |slots: std::ops::Range<u64>| slots.prop_map(|slots| Ticks(slots * SLOT / 4));
    prop_oneof![
        Just(Jitter::None),
        span(0..100).prop_map(|most| Jitter::Uniform { most }),
        (span(0..40), span(0..100)).prop_map(|(mean, most)| Jitter::Exponential { mean, most }),
    ]
}

fn all_leave(mut scheduler: impl CellScheduler, bus: Bus, pdus: &[(u64, usize, u32)], buffer: u32) -> Result<(), TestCaseError> {
    let connections: Vec<_> = (2..6).map(|interval| scheduler.add(&CellContract::constant(Ticks::slots(interval))).unwrap()).collect();
    let mut postings: Vec<_> = pdus.iter().map(|&(slot, index, cells)| Posting { slot, connection: connections[index], cells }).collect();
    postings.sort_by_key(|posting| posting.slot);
    let mut host = Host::new(bus, 7, "bus", ());
    host.run(&mut scheduler, &postings, 1_000_000).unwrap();
    let posted: u64 = pdus.iter().map(|&(_, _, cells)| u64::from(cells)).sum();
    prop_assert_eq!(host.counts().cells, posted);
    prop_assert!(host.counts().peak_buffers <= u64::from(buffer));
    prop_assert_eq!(host.buffers, 0);
    prop_assert!(host.counts().mean_buffers() <= f64::from(buffer));
    prop_assert_eq!(host.counts().underruns, scheduler.counts().underruns);
    Ok(())
}

/// An interval between cells, a burst and an access latency with which the engine keeps up with whole bursts; the ends of PDUs may still make
/// transfers wait for each other.
fn engine_that_keeps_up() -> impl Strategy<Value = (u64, u32, u32)> {
    (1u64..12, 1u32..20).prop_flat_map(|(interval, burst)| {
        let most = interval as u32 * burst - burst.div_ceil(4);
        (Just(interval), Just(burst), 0..20.min(most + 1))
    })
}

proptest! {
    /// Whatever the policy, the bus, the budget and the scheduler: every cell leaves, buffers stay within the budget and all come back.
    #[test]
    fn every_cell_leaves_within_the_budget(
        policy in prop::sample::select(vec![Prefetch::JustInTime, Prefetch::Demand, Prefetch::WholePdu]),
        jitter in any_jitter(),
        (burst, buffer, latency) in (1u32..20, 1u32..60, 0u32..20),
        pdus in prop::collection::vec((0u64..200, 0usize..4, 1u32..30), 1..20),
    ) {
        let transfer = TransferSetup { prefetch: policy, burst, buffer, access_latency: latency, ..SETUP };
        let setup = CellSetup { connections: 4, pdus: pdus.len() as u32, transfer: Some(transfer) };
        let heap: HeapScheduler = HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict());
        let planner: Planner = Planner::new(&setup, RateScaling::strict());
        all_leave(heap, bus(&transfer, jitter), &pdus, buffer)?;
        all_leave(planner, bus(&transfer, jitter), &pdus, buffer)?;
    }

    /// Just in time, a connection that has the bus for itself never waits, as long as no latency exceeds what was planned with.
    #[test]
    fn alone_and_within_the_planned_latency_nothing_is_late(
        (interval, burst, latency) in engine_that_keeps_up(),
        (constant, first, rest) in (0u64..20, 1u32..100, prop::collection::vec(1u32..100, 0..5)),
    ) {
        let setup = TransferSetup { burst, access_latency: latency, ..SETUP };
        let mut scheduler = scheduler(1, 5, setup);
        let connection = scheduler.add(&CellContract::constant(Ticks::slots(interval))).unwrap();
        let constant = constant.min(latency.into());
        let jitter = Jitter::Uniform { most: Ticks::slots(u64::from(latency) - constant) };
        let mut host = Host::new(Bus { access_latency: Ticks::slots(constant), ..bus(&setup, jitter) }, 3, "bus", ());
        // What follows a first PDU of less than a burst cannot be there in time, as nothing is requested before it is posted.
        let pdus = [&[if rest.is_empty() { first } else { first.max(burst) }], &rest[..]].concat();
        let postings: Vec<_> = pdus.iter().map(|&cells| Posting { slot: 0, connection, cells }).collect();
        host.run(&mut scheduler, &postings, 1_000_000).unwrap();
        prop_assert_eq!(host.counts().cells, u64::from(pdus.iter().sum::<u32>()));
        if pdus.len() == 1 {
            prop_assert!(host.counts().longest_latency <= latency.into());
        }
        if host.counts().longest_latency <= latency.into() {
            prop_assert_eq!(host.counts().underruns, 0);
        }
    }
}
