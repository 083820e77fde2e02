//! The laws of the role under random contracts, loads, delays, joins and leaves.

extern crate std;

use crate::conflict::Conflict;
use crate::connection::Connection;
use crate::contract::{CellContract, Mode, Sustained};
use crate::heap::HeapScheduler;
use crate::planner::Planner;
use crate::scheduler::{CellScheduler, CellSetup};
use crate::tests::harness::{Event, Host, Inspect, NO_ENGINE, Upc, constant, sustained};
use crate::time::Ticks;
use crate::transfer::{Prefetch, TransferSetup, Transfers};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;
use tidegate_core::algorithm::Algorithm;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Contract, DualGcra, Policer, Verdict};
use tidegate_core::sharing::{CLASSES, CellRate, NoSharing, RateScaling, SLOT};
use tidegate_core::units::{Rate, Time};

/// The most connections of a script.
pub(crate) const MOST: usize = 6;

/// One slot of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Only the slot passes.
    Slot,
    /// The link is in use for some slots, so that cells are late.
    Busy(u64),
    /// A PDU for one of the connections.
    Post(usize, u32),
    /// A connection leaves.
    Remove(usize),
    /// A connection joins.
    Add(CellContract),
    /// A connection gets another contract.
    Change(usize, CellContract),
}

pub(crate) fn contracts() -> impl Strategy<Value = CellContract> {
    // Short intervals, so that buckets run empty and connections collide; often whole slots, so that there are ties.
    let peak = prop_oneof![(1u64..6).prop_map(|slots| slots * SLOT), SLOT..6 * SLOT];
    let tolerance = prop_oneof![Just(0), Just(SLOT), Just(2 * SLOT), 0..100 * SLOT];
    (peak, tolerance, 0u64..30 * SLOT, 1u32..12, 0u8..3, 0u8..3).prop_map(|(peak, tolerance, gap, maximum_burst_size, mode, class)| {
        let sustained = Sustained { interval: Ticks(peak + gap), maximum_burst_size };
        let mode = [Mode::Constant, Mode::SingleBucket(sustained), Mode::DualBucket(sustained)][usize::from(mode)];
        CellContract { peak_interval: Ticks(peak), delay_variation_tolerance: Ticks(tolerance), mode, class }
    })
}

pub(crate) fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => Just(Step::Slot),
        1 => (1u64..80).prop_map(Step::Busy),
        4 => (0..MOST, 1u32..40).prop_map(|(which, cells)| Step::Post(which, cells)),
        1 => (0..MOST).prop_map(Step::Remove),
        2 => contracts().prop_map(Step::Add),
        1 => (0..MOST, contracts()).prop_map(|(which, contract)| Step::Change(which, contract)),
    ]
}

pub(crate) fn transfers() -> impl Strategy<Value = Option<TransferSetup>> {
    let prefetch = prop_oneof![Just(Prefetch::JustInTime), Just(Prefetch::Demand), Just(Prefetch::WholePdu)];
    let setup = (prefetch, 0u32..6, 0u64..SLOT, 1u32..12, 1u32..60).prop_map(|(prefetch, access_latency, cell_time, burst, buffer)| {
        TransferSetup { prefetch, access_latency, cell_time: Ticks(cell_time), burst, buffer }
    });
    prop_oneof![1 => Just(None), 2 => setup.prop_map(Some)]
}

pub(crate) fn minimum_shares() -> impl Strategy<Value = [CellRate; CLASSES]> {
    (0u64..40, 0u64..40).prop_map(|(second, third)| {
        let mut shares = [CellRate::ZERO; CLASSES];
        (shares[1], shares[2]) = (CellRate(CellRate::LINK.0 * second / 100), CellRate(CellRate::LINK.0 * third / 100));
        shares
    })
}

/// A connection of the script, with the state of its policer and of the host.
struct Member {
    connection: Connection,
    upc: Upc,
    /// Contracts to come, each after the number of cells that were planned before it.
    changes: Vec<(usize, Upc)>,
    /// Posted and not yet sent, cells of each PDU.
    pdus: Vec<u32>,
}

/// Runs the script, and then on until all cells are sent. Checks every law in every slot. `start` is the first slot, `window` the number of
/// slots that may be planned ahead.
fn hold<C: Inspect>(
    mut scheduler: C,
    transfer: Option<TransferSetup>,
    keeps_slots_busy: bool,
    window: u32,
    start: u64,
    script: &[Step],
) -> Result<C, TestCaseError> {
    let mut host = Host::new(transfer.unwrap_or(NO_ENGINE));
    let mut members: Vec<Member> = Vec::new();
    let mut requested: BTreeMap<Connection, u32> = BTreeMap::new();
    let mut now = start;
    let mut seen = 0;
    // Slots that were meant for a removed connection may stay empty.
    let mut left_behind = 0;
    let mut script = script.iter().copied();
    for _ in 0..500_000 {
        // After the script, until all cells are sent.
        let step = match script.next() {
            Some(step) => step,
            None if members.iter().all(|member| member.pdus.is_empty()) => break,
            None => Step::Slot,
        };
        match step {
            Step::Slot => {}
            Step::Busy(slots) => now += slots,
            Step::Post(which, cells) => {
                if let Some(member) = members.get_mut(which) {
                    scheduler.post(member.connection, cells, now, &mut host).unwrap();
                    member.pdus.push(cells);
                }
            }
            Step::Remove(which) => {
                if which < members.len() {
                    let gone = members.remove(which).connection;
                    left_behind = window;
                    scheduler.remove(gone, now, &mut host).unwrap();
                    prop_assert!(scheduler.remove(gone, now, &mut host).is_err());
                    prop_assert!(scheduler.post(gone, 1, now, &mut host).is_err());
                }
            }
            Step::Add(contract) => {
                if members.len() < MOST {
                    // A number whose connection was removed may not be free yet: its slot has not come.
                    let Ok(connection) = scheduler.add(&contract) else { continue };
                    prop_assert!(members.iter().all(|member| member.connection.index() != connection.index()));
                    members.push(Member { connection, upc: Upc::new(&contract), changes: Vec::new(), pdus: Vec::new() });
                }
            }
            Step::Change(which, contract) => {
                if let Some(member) = members.get_mut(which) {
                    scheduler.change(member.connection, &contract, now).unwrap();
                    member.changes.push((scheduler.planned(member.connection), Upc::new(&contract)));
                }
            }
        }
        let sent = host.run(&mut scheduler, now);
        if let Some(connection) = sent {
            let member = members.iter_mut().find(|member| member.connection == connection).expect("only connections that are there send");
            while let Some((0, upc)) = member.changes.first() {
                member.upc = *upc;
                member.changes.remove(0);
            }
            member.changes.iter_mut().for_each(|(planned, _)| *planned -= 1);
            prop_assert!(member.upc.accepts(now), "{connection:?} at {now}");
            prop_assert!(host.events[seen..].contains(&Event::Sent(now, connection)));
            member.pdus[0] -= 1;
            let is_done = member.pdus[0] == 0;
            prop_assert_eq!(host.events[seen..].contains(&Event::PduDone(now, connection)), is_done);
            if is_done {
                member.pdus.remove(0);
            }
            prop_assert_eq!(host.events[seen..].contains(&Event::QueueEmpty(now, connection)), is_done && member.pdus.is_empty());
        } else {
            prop_assert!(!keeps_slots_busy || left_behind > 0 || !scheduler.is_any_due(now), "slot {now} is empty");
        }
        left_behind = left_behind.saturating_sub(1);
        for event in &host.events[seen..] {
            if let Event::Requested { connection, cells, .. } = *event {
                *requested.entry(connection).or_default() += cells;
                if let Some(member) = members.iter().find(|member| member.connection == connection) {
                    let posted: u32 = member.pdus.iter().sum();
                    prop_assert!(cells <= posted + u32::from(sent == Some(connection)), "more than was posted");
                }
            }
        }
        seen = host.events.len();
        let (resident, outstanding, free) = scheduler.buffers();
        prop_assert_eq!(resident + outstanding + free, transfer.map_or(0, |setup| u64::from(setup.buffer)));
        now += 1;
    }
    for member in &members {
        prop_assert!(member.pdus.is_empty(), "{:?} never got to send {:?}", member.connection, member.pdus);
    }
    // Transfers to removed connections still arrive, one after the other.
    for now in now..now + 1000 {
        prop_assert_eq!(host.run(&mut scheduler, now), None);
    }
    let (resident, outstanding, _) = scheduler.buffers();
    prop_assert_eq!((resident, outstanding), (0, 0), "every buffer comes back");
    Ok(scheduler)
}

/// Large enough for any script, with room for numbers that are not free yet.
pub(crate) fn setup(transfer: Option<TransferSetup>) -> CellSetup {
    CellSetup { connections: 2 * MOST as u32, pdus: 4096, transfer }
}

/// Far from the origin, at the wrap of 32-bit slots and of the ticks.
pub(crate) fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just((1 << 32) - 100), Just((1 << 48) - 100), 0u64..1 << 50]
}

fn conflicts() -> impl Strategy<Value = Conflict> {
    prop::sample::select(Conflict::ALL.to_vec())
}

proptest! {
    #[test]
    fn the_heaps_keep_the_laws_while_rates_are_scaled(
        conflict in conflicts(), transfer in transfers(), minimum in minimum_shares(), start in starts(),
        script in prop::collection::vec(steps(), 1..400),
    ) {
        let scheduler = HeapScheduler::new(&setup(transfer), conflict, RateScaling::new(minimum).unwrap());
        let scheduler = hold(scheduler, transfer, conflict != Conflict::NextFree, 0, start, &script)?;
        prop_assert!((0..CLASSES).all(|class| scheduler.sharing().demand(class) == CellRate::ZERO), "nobody asks for anything any more");
    }

    #[test]
    fn the_planner_keeps_the_laws_while_rates_are_scaled(
        window in 1u32..=64, transfer in transfers(), minimum in minimum_shares(), start in starts(),
        script in prop::collection::vec(steps(), 1..400),
    ) {
        let scheduler: Planner = Planner::with_window(&setup(transfer), window, RateScaling::new(minimum).unwrap());
        hold(scheduler, transfer, true, window, start, &script)?;
    }

    /// The policer of the packet path, in picoseconds: 53 bytes on 106 Mbit/s take exactly 4 us.
    #[test]
    fn the_packet_policer_accepts_what_the_heaps_shape(
        peak in 2_000_000u64..=106_000_000, share in 1u64..=100, cells in 1u32..60, refills: bool, busy in prop::collection::vec(0u64..9, 1..300),
    ) {
        let rate = |bits_per_second| Rate::new(bits_per_second).unwrap();
        let (link, peak, scr) = (rate(106_000_000), rate(peak), rate((peak * share / 100).max(1000)));
        let mut contract = CellContract::constant(Ticks::ceil_of_rate(peak, link));
        let sustained = Sustained { interval: Ticks::ceil_of_rate(scr, link), maximum_burst_size: cells };
        contract.mode = if refills { Mode::DualBucket(sustained) } else { Mode::SingleBucket(sustained) };

        let mut policed = Contract::new(scr, 53);
        (policed.peak_rate, policed.burst) = (Some(peak), Some(53 * cells));
        policed.delay_variation_tolerance = Some(tidegate_core::units::Duration::from_microseconds(4));
        policed.conformance = Some(Conformance::Vbr1);
        let mut policer = DualGcra::build(&policed).unwrap();

        let mut scheduler = HeapScheduler::new(&setup(None), Conflict::Lazy, RateScaling::strict());
        let connection = scheduler.add(&contract).unwrap();
        scheduler.post(connection, 1000, 0, &mut ()).unwrap();
        let mut now = 0;
        for busy in busy {
            now = scheduler.next_slot(now).unwrap() + busy.saturating_sub(5);
            prop_assert_eq!(scheduler.send(now, &mut ()), Some(connection));
            let at = Time::from_nanoseconds(4000 * now);
            prop_assert_eq!(policer.police(at, 53, Colour::Green), Verdict::Conform);
            now += 1;
        }
    }

    #[test]
    fn just_in_time_a_connection_alone_underruns_at_most_at_its_start(
        contract in contracts(), access_latency in 0u32..40, load in 1u64..100, burst in 1u32..40,
        pdus in prop::collection::vec(1u32..120, 1..12), window in prop_oneof![Just(0), 1u32..=64],
    ) {
        // The engine is busy for less than its share of the time even if every transfer brings one cell.
        let cell_time = Ticks(contract.peak_interval.0 * load / 100);
        let transfer = TransferSetup { prefetch: Prefetch::JustInTime, access_latency, cell_time, burst, buffer: 10_000 };
        let setup = CellSetup { connections: 1, pdus: 16, transfer: Some(transfer) };
        let underruns = if window == 0 {
            underruns(HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict()), &contract, transfer, &pdus)
        } else {
            underruns(Planner::<RateScaling>::with_window(&setup, window, RateScaling::strict()), &contract, transfer, &pdus)
        };
        prop_assert_eq!(underruns, 0);
    }

    #[test]
    fn an_overloaded_class_shares_in_proportion(
        intervals in prop::collection::vec(SLOT..40 * SLOT, 1..7), factor in 1u64..6, maximum_burst_size in 2u32..30, class in 0u8..8,
    ) {
        // Peak and sustained rates have one ratio, so that it does not matter which connections are in a burst.
        let mut scheduler = HeapScheduler::new(&setup(None), Conflict::Lazy, RateScaling::strict());
        // The demand is at least 1.2 of the link.
        let intervals: Vec<u64> = intervals.into_iter().chain((0..=factor).map(|_| SLOT)).collect();
        for &interval in &intervals {
            let mut contract = CellContract { class, ..CellContract::constant(Ticks(interval)) };
            if factor > 1 {
                contract.mode = Mode::SingleBucket(Sustained { interval: Ticks(interval * factor), maximum_burst_size });
            }
            let connection = scheduler.add(&contract).unwrap();
            scheduler.post(connection, 60_000, 0, &mut ()).unwrap();
        }
        // The bursts first.
        let mut counts = [0i128; 12];
        for now in 0..30_000 {
            if let Some(sent) = scheduler.send(now, &mut ()).filter(|_| now >= 10_000) {
                counts[sent.index()] += 1;
            }
        }
        let sent: i128 = counts.iter().sum();
        // Connections that alternate between burst and token leave some slots idle: the demand changes with every cell.
        prop_assert!(sent >= 18_000, "{sent} of 20,000");
        let weights = intervals.iter().map(|&interval| (1i128 << 60) / i128::from(interval));
        let total: i128 = weights.clone().sum();
        for (count, weight) in counts.iter().zip(weights) {
            let share = sent * weight / total;
            let tolerance = 5 + share / if factor == 1 { 200 } else { 20 };
            prop_assert!((count - share).abs() <= tolerance, "{count} instead of {share} of {counts:?}");
        }
    }
}

/// Both schedulers, until `TIDEGATE_CELLS` cells (50,000 by default) have passed the policers of their contracts.
#[test]
fn cells_by_the_million_are_accepted_by_the_policers_of_their_contracts() {
    use proptest::test_runner::{Config, TestRunner};
    let wanted = std::env::var("TIDEGATE_CELLS").map_or(50_000, |count| count.parse().expect("TIDEGATE_CELLS is a number"));
    let cells = core::cell::Cell::new(0u64);
    let script = (1u32..=64, transfers(), minimum_shares(), starts(), prop::collection::vec(steps(), 1..400), conflicts());
    while cells.get() < wanted {
        let mut runner = TestRunner::new(Config { cases: Config::default().cases / 2, failure_persistence: None, ..Config::default() });
        let result = runner.run(&script, |(window, transfer, minimum, start, script, conflict)| {
            let planner: Planner = Planner::with_window(&setup(transfer), window, RateScaling::new(minimum).unwrap());
            let planner = hold(planner, transfer, true, window, start, &script)?;
            let heap = HeapScheduler::new(&setup(transfer), conflict, RateScaling::new(minimum).unwrap());
            let heap = hold(heap, transfer, conflict != Conflict::NextFree, 0, start, &script)?;
            cells.set(cells.get() + planner.counts().sent + heap.counts().sent);
            Ok(())
        });
        result.unwrap_or_else(|failure| panic!("after {} cells: {failure}", cells.get()));
    }
    std::println!("{} cells", cells.get());
}

/// Underruns of one connection with all its PDUs posted at once, whose transfers overlap and take La plus the time of their cells. Those
/// during the first transfer are unavoidable and do not count.
fn underruns(mut scheduler: impl CellScheduler, contract: &CellContract, setup: TransferSetup, pdus: &[u32]) -> u64 {
    let mut host = Host::pipelined(setup);
    let connection = scheduler.add(contract).unwrap();
    pdus.iter().for_each(|&cells| scheduler.post(connection, cells, 0, &mut host).unwrap());
    for now in 0..60_000 {
        host.run(&mut scheduler, now);
    }
    assert_eq!(scheduler.counts().sent, pdus.iter().map(|&cells| u64::from(cells)).sum::<u64>());
    let start = Transfers::new(setup).duration(setup.burst);
    host.events.iter().filter(|event| matches!(**event, Event::Underrun(now, _) if now > start)).count() as u64
}

#[test]
fn without_sharing_an_overload_is_not_proportional() {
    // The purpose of the share clock: by conflicts alone, slow connections would get all that they ask for.
    let mut scheduler = HeapScheduler::new(&setup(None), Conflict::Lazy, NoSharing);
    let connections = [1, 1, 4].map(|interval| {
        let connection = scheduler.add(&constant(interval, 0, 0)).unwrap();
        scheduler.post(connection, 10_000, 0, &mut ()).unwrap();
        connection
    });
    let slow = (0..9000).filter(|&now| scheduler.send(now, &mut ()) == Some(connections[2])).count();
    assert!(slow > 1500, "{slow} of 9000, where 1000 are in proportion");
}

#[test]
fn an_overload_that_has_ended_is_soon_forgotten() {
    // The higher class leaves a 65,537th of the link; the lower one's connection sends its first cell just then.
    let mut scheduler = HeapScheduler::new(&setup(None), Conflict::Lazy, RateScaling::strict());
    let high = scheduler.add(&CellContract::constant(Ticks(SLOT + 1))).unwrap();
    let low = scheduler.add(&constant(1, 1, 1)).unwrap();
    scheduler.post(low, 10, 0, &mut ()).unwrap();
    scheduler.post(high, 100, 0, &mut ()).unwrap();
    let sent: Vec<u64> = (0..1000).filter(|&now| scheduler.send(now, &mut ()) == Some(low)).collect();
    assert_eq!(sent, (0..1).chain(256..265).collect::<Vec<_>>());
}

#[test]
fn the_longest_contract_is_kept() {
    // Two cells, then 2^30 slots until both tokens are back; from just before the 32-bit slots of the ready list wrap.
    let mut contract = constant(1, 0, 0);
    contract.mode = Mode::DualBucket(sustained(1 << 29, 2));
    fn slots(mut scheduler: impl CellScheduler, contract: &CellContract, start: u64) -> Vec<u64> {
        let connection = scheduler.add(contract).unwrap();
        scheduler.post(connection, 6, start, &mut ()).unwrap();
        let mut now = start;
        let mut sent = Vec::new();
        while let Some(next) = scheduler.next_slot(now) {
            now = next + 1;
            sent.extend(scheduler.send(next, &mut ()).map(|_| next - start));
        }
        sent
    }
    let expected = [0, 1, 1 << 30, (1 << 30) + 1, 1 << 31, (1 << 31) + 1];
    for start in [0, (1 << 32) - 1, (1 << 48) - 1] {
        assert_eq!(slots(HeapScheduler::new(&setup(None), Conflict::Lazy, RateScaling::strict()), &contract, start), expected);
        assert_eq!(slots(HeapScheduler::new(&setup(None), Conflict::Priority, RateScaling::strict()), &contract, start), expected);
        assert_eq!(slots(Planner::<RateScaling>::new(&setup(None), RateScaling::strict()), &contract, start), expected);
    }
}

#[test]
fn a_connection_that_was_inactive_for_years_sends_at_once() {
    fn is_prompt(mut scheduler: impl CellScheduler) -> bool {
        let connection = scheduler.add(&constant(4, 1, 0)).unwrap();
        scheduler.post(connection, 1, 0, &mut ()).unwrap();
        assert_eq!(scheduler.send(0, &mut ()), Some(connection));
        // 2^47 slots are half the axis of ticks: beyond them, the last cell would seem to lie ahead.
        let mut now = 0;
        while now < 3 << 46 {
            now += 1 << 45;
            scheduler.refresh(now);
        }
        scheduler.post(connection, 1, now, &mut ()).unwrap();
        scheduler.send(now, &mut ()) == Some(connection)
    }
    assert!(is_prompt(HeapScheduler::new(&setup(None), Conflict::Lazy, RateScaling::strict())));
    assert!(is_prompt(Planner::<RateScaling>::new(&setup(None), RateScaling::strict())));
}

#[test]
fn numbers_are_given_out_again_under_another_name() {
    let mut scheduler = HeapScheduler::new(&CellSetup { connections: 2, pdus: 3, transfer: None }, Conflict::Lazy, RateScaling::strict());
    let contract = constant(10, 1, 0);
    let (a, b) = (scheduler.add(&contract).unwrap(), scheduler.add(&contract).unwrap());
    assert_eq!(scheduler.add(&contract), Err(crate::scheduler::CellError::TableFull));
    assert_eq!(scheduler.post(a, 0, 0, &mut ()), Err(crate::scheduler::CellError::PduLength(0)));
    assert_eq!(scheduler.post(a, 65_536, 0, &mut ()), Err(crate::scheduler::CellError::PduLength(65_536)));
    for _ in 0..3 {
        scheduler.post(b, 1, 0, &mut ()).unwrap();
    }
    assert_eq!(scheduler.post(a, 1, 0, &mut ()), Err(crate::scheduler::CellError::TooManyPdus));
    scheduler.remove(a, 0, &mut ()).unwrap();
    let c = scheduler.add(&contract).unwrap();
    assert_eq!(c.index(), a.index());
    assert_ne!(c, a);
    assert_eq!(scheduler.change(a, &contract, 0), Err(crate::scheduler::CellError::NoSuchConnection));
    // The PDUs of a removed connection make room.
    scheduler.remove(b, 0, &mut ()).unwrap();
    scheduler.post(c, 1, 0, &mut ()).unwrap();
    assert_eq!((0..40).filter_map(|now| scheduler.send(now, &mut ())).collect::<Vec<_>>(), [c]);
}

#[test]
fn the_number_of_a_planned_connection_is_given_out_again_once_its_slot_has_come() {
    let mut scheduler = HeapScheduler::new(&CellSetup { connections: 1, pdus: 1, transfer: None }, Conflict::Lazy, RateScaling::strict());
    let contract = constant(10, 1, 0);
    let gone = scheduler.add(&contract).unwrap();
    scheduler.post(gone, 5, 0, &mut ()).unwrap();
    assert_eq!(scheduler.send(0, &mut ()), Some(gone));
    scheduler.remove(gone, 1, &mut ()).unwrap();
    assert_eq!(scheduler.add(&contract), Err(crate::scheduler::CellError::TableFull));
    assert!((1..=10).all(|now| scheduler.send(now, &mut ()).is_none()));
    let new = scheduler.add(&contract).unwrap();
    scheduler.post(new, 1, 11, &mut ()).unwrap();
    assert_eq!(scheduler.send(11, &mut ()), Some(new));
}

#[test]
fn setups_that_cannot_be_built_are_refused() {
    let transfer = TransferSetup { prefetch: Prefetch::Demand, access_latency: 4, cell_time: Ticks(9), burst: 8, buffer: 64 };
    let field = |transfer| CellSetup { connections: 1, pdus: 1, transfer: Some(transfer) }.check().err().map(|error| error.field);
    assert_eq!(field(transfer), None);
    assert_eq!(field(TransferSetup { access_latency: (1 << 20) + 1, ..transfer }), Some("access latency"));
    assert_eq!(field(TransferSetup { cell_time: Ticks::slots((1 << 20) + 1), ..transfer }), Some("cell time"));
    assert_eq!(field(TransferSetup { burst: 0, ..transfer }), Some("burst"));
    assert_eq!(field(TransferSetup { burst: 65_536, ..transfer }), Some("burst"));
    assert_eq!(field(TransferSetup { buffer: 0, ..transfer }), Some("buffer"));
    let of = |connections| CellSetup { connections, pdus: 1, transfer: None }.check().err().map(|error| error.field);
    assert_eq!([0, 1, 1 << 22, (1 << 22) + 1].map(of), [Some("connections"), None, None, Some("connections")]);
}

#[test]
fn contracts_that_cannot_be_kept_are_refused() {
    use crate::contract::CellContractField::*;
    let field = |contract: CellContract| contract.check().unwrap_err().field;
    let good = constant(4, 1, 0);
    assert_eq!(field(CellContract { peak_interval: Ticks(SLOT - 1), ..good }), PeakInterval);
    assert_eq!(field(CellContract { peak_interval: Ticks(tidegate_core::sharing::LONGEST_INTERVAL + 1), ..good }), PeakInterval);
    assert_eq!(field(CellContract { delay_variation_tolerance: Ticks(1 << 32), ..good }), DelayVariationTolerance);
    assert_eq!(field(CellContract { class: 8, ..good }), Class);
    assert_eq!(field(CellContract { mode: Mode::SingleBucket(sustained(3, 2)), ..good }), SustainedInterval);
    assert_eq!(field(CellContract { mode: Mode::DualBucket(sustained(5, 0)), ..good }), MaximumBurstSize);
    assert_eq!(field(CellContract { mode: Mode::DualBucket(sustained(1 << 28, 4)), ..good }), MaximumBurstSize);
    let mut contract = good;
    contract.mode = Mode::DualBucket(sustained(20, 10));
    assert_eq!(contract.burst_tolerance(), Ticks::slots(144));
}
