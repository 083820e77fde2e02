//! The published experiments and the worked examples, cell by cell.

use crate::conflict::Conflict;
use crate::connection::Connection;
use crate::contract::{CellContract, Mode, Sustained};
use crate::heap::HeapScheduler;
use crate::planner::Planner;
use crate::scheduler::{CellScheduler, CellSetup, LONGEST_PDU};
use crate::shaping::State;
use crate::tests::harness::{Event, Host, NO_ENGINE, Upc, constant, sustained};
use crate::time::Ticks;
use crate::transfer::{Prefetch, TransferSetup};
use alloc::string::String;
use alloc::vec::Vec;
use tidegate_core::sharing::{CLASSES, CellRate, NoSharing, RateScaling, SLOT, Sharing};
use tidegate_core::units::Rate;

/// The size of the schedulers.
const SETUP: CellSetup = CellSetup { connections: 16, pdus: 32, transfer: None };

/// A connection with `cells` to send from slot `start` on.
#[derive(Clone, Copy)]
struct Source {
    contract: CellContract,
    start: u64,
    cells: u32,
}

fn run(scheduler: &mut impl CellScheduler, sources: &[Source], slots: u64) -> (Host, Vec<Connection>) {
    let mut host = Host::new(NO_ENGINE);
    let connections: Vec<_> = sources.iter().map(|source| scheduler.add(&source.contract).unwrap()).collect();
    for now in 0..slots {
        for (source, &connection) in sources.iter().zip(&connections).filter(|(source, _)| source.start == now) {
            scheduler.post(connection, source.cells, now, &mut host).unwrap();
        }
        host.run(scheduler, now);
    }
    (host, connections)
}

fn alone(contract: CellContract, slots: u64) -> Vec<u64> {
    let mut scheduler = HeapScheduler::new(&SETUP, Conflict::Lazy, RateScaling::strict());
    let (host, connections) = run(&mut scheduler, &[Source { contract, start: 0, cells: 1000 }], slots);
    host.slots_of(connections[0])
}

#[test]
fn buckets_empty_and_refill() {
    let mut contract = constant(2, 0, 0);
    contract.mode = Mode::SingleBucket(sustained(10, 5));
    assert_eq!(alone(contract, 50), [0, 2, 4, 6, 8, 18, 28, 38, 48]);
    contract.mode = Mode::DualBucket(sustained(10, 5));
    assert_eq!(alone(contract, 104), [0, 2, 4, 6, 8, 50, 52, 54, 56, 58, 100, 102]);
}

#[test]
fn a_burst_is_whole_however_late_it_begins_and_then_ends() {
    // Intervals that differ by less than the tolerance, in one case by less than the lateness; the link is in use for the first slots.
    for interval in [3, 10] {
        let mut contract = constant(2, 20, 0);
        contract.mode = Mode::DualBucket(sustained(interval, 5));
        for late in 0..4 {
            let mut scheduler = HeapScheduler::new(&SETUP, Conflict::Lazy, RateScaling::strict());
            let connection = scheduler.add(&contract).unwrap();
            scheduler.post(connection, 100, 0, &mut ()).unwrap();
            let sent: Vec<u64> = (late..120).filter(|&now| scheduler.send(now, &mut ()).is_some()).collect();
            let mut upc = Upc::new(&contract);
            assert!(sent.iter().all(|&slot| upc.accepts(slot)));
            assert!(sent[4] <= 8 + late, "{sent:?}");
            assert_eq!([sent[5], sent[10]], [1, 2].map(|burst| 5 * interval * burst + late), "{sent:?}");
        }
    }
}

#[test]
fn the_contract_of_a_video_stream() {
    // 15 Mbit/s at peak and 4 Mbit/s sustained on 149.76 Mbit/s: 9.984 and 37.44 slots, and a burst of 100 cells tolerates 2718.144.
    let rate = |bits_per_second| Rate::new(bits_per_second).unwrap();
    let link = rate(149_760_000);
    let mut contract = CellContract::constant(Ticks::ceil_of_rate(rate(15_000_000), link));
    let interval = Ticks::ceil_of_rate(rate(4_000_000), link);
    contract.mode = Mode::DualBucket(Sustained { interval, maximum_burst_size: 100 });
    let thousandths = |ticks: Ticks| ticks.0 * 1000 / SLOT;
    assert_eq!([contract.peak_interval, interval].map(thousandths), [9_984, 37_440]);
    // Each interval is at most a tick too long.
    assert!(contract.burst_tolerance().0.abs_diff(2_718_144 * SLOT / 1000) <= 99);
}

#[test]
fn a_tolerance_of_one_slot_keeps_a_rate_that_is_no_whole_number_of_slots() {
    let mut contract = CellContract::constant(Ticks::ceil_of_ratio(9, 2).unwrap());
    assert_eq!(alone(contract, 28), [0, 5, 9, 14, 18, 23, 27]);
    contract.delay_variation_tolerance = Ticks::ZERO;
    assert_eq!(alone(contract, 21), [0, 5, 10, 15, 20]);
}

#[test]
fn conflicts_are_resolved_by_the_policy() {
    // X planned for 5, Y for 6, then i for 5.
    let cells = [(5, 4, 1), (6, 1, 1), (5, 0, 0)];
    let expected =
        [(Conflict::NextFree, [5, 6, 7]), (Conflict::Lazy, [5, 7, 6]), (Conflict::Tolerance, [7, 6, 5]), (Conflict::Priority, [6, 7, 5])];
    for (conflict, slots) in expected {
        let mut scheduler = HeapScheduler::new(&SETUP, conflict, NoSharing);
        let mut host = Host::new(NO_ENGINE);
        let connections = cells.map(|(at, tolerance, class)| {
            let connection = scheduler.add(&constant(10, tolerance, class)).unwrap();
            scheduler.post(connection, 1, at, &mut host).unwrap();
            connection
        });
        for now in 0..10 {
            host.run(&mut scheduler, now);
        }
        assert_eq!(connections.map(|connection| host.slots_of(connection)[0]), slots, "{conflict:?}");
    }
}

#[test]
fn three_constant_rates_share_slots_by_the_policy() {
    let expected = [
        (Conflict::Lazy, "0122012.012.0122012.012."),
        (Conflict::Tolerance, "1022102.102.1022102.102."),
        (Conflict::Priority, "1022102.102.1022102.102."),
    ];
    for (conflict, slots) in expected {
        let mut scheduler = HeapScheduler::new(&SETUP, conflict, NoSharing);
        let mut host = Host::new(NO_ENGINE);
        for (interval, tolerance, class) in [(4, 2, 1), (4, 1, 0), (3, 3, 1)] {
            let connection = scheduler.add(&constant(interval, tolerance, class)).unwrap();
            scheduler.post(connection, 100, 0, &mut host).unwrap();
        }
        let digit = |sent: Option<Connection>| sent.map_or('.', |connection| char::from(b'0' + connection.index() as u8));
        let line: String = (0..24).map(|now| digit(host.run(&mut scheduler, now))).collect();
        assert_eq!(line, slots, "{conflict:?}");
    }
}

/// The ten connections of figure 3: mode, T, Ts and MBS where they apply, start, cells.
fn figure_3() -> Vec<Source> {
    let source = |interval, start, cells, mode| {
        let contract = CellContract { mode, ..constant(interval, 2, 0) };
        Source { contract, start, cells }
    };
    Vec::from([
        source(4, 0, 60, Mode::DualBucket(sustained(20, 10))),
        source(5, 50, 40, Mode::DualBucket(sustained(25, 8))),
        source(20, 0, 50, Mode::Constant),
        source(25, 100, 36, Mode::Constant),
        source(30, 200, 20, Mode::Constant),
        source(6, 20, 45, Mode::SingleBucket(sustained(30, 12))),
        source(8, 150, 24, Mode::DualBucket(sustained(40, 6))),
        source(50, 300, 14, Mode::Constant),
        source(40, 10, 24, Mode::Constant),
        source(16, 400, 36, Mode::Constant),
    ])
}

#[test]
fn figure_3_an_example_schedule() {
    let cumulative: [(usize, [usize; 5]); 9] = [
        (0, [10, 20, 30, 40, 50]),
        (1, [8, 16, 24, 32, 40]),
        (2, [10, 20, 30, 40, 50]),
        (3, [4, 12, 20, 28, 36]),
        (4, [0, 7, 14, 20, 20]),
        (5, [15, 22, 29, 35, 42]),
        (6, [6, 8, 12, 18, 24]),
        (8, [5, 10, 15, 20, 24]),
        (9, [0, 0, 13, 25, 36]),
    ];
    let mut schedules = Vec::new();
    for conflict in [Conflict::Lazy, Conflict::Tolerance, Conflict::Priority] {
        let mut scheduler = HeapScheduler::new(&SETUP, conflict, RateScaling::strict());
        let sources = figure_3();
        let (host, connections) = run(&mut scheduler, &sources, 1400);
        for (index, counts) in cumulative {
            let slots = host.slots_of(connections[index]);
            let sent = [200, 400, 600, 800, 1000].map(|until| slots.iter().filter(|&&slot| slot < until).count());
            assert_eq!(sent, counts, "connection {index}, {conflict:?}");
        }
        for (source, &connection) in sources.iter().zip(&connections) {
            let slots = host.slots_of(connection);
            assert_eq!(slots.len(), source.cells as usize);
            let mut upc = Upc::new(&source.contract);
            assert!(slots.iter().all(|&slot| upc.accepts(slot)), "{connection:?}");
            if source.contract.mode == Mode::Constant {
                let interval = source.contract.peak_interval.0 / SLOT;
                let ideal = |k: usize| source.start + k as u64 * interval;
                assert!(slots.iter().enumerate().all(|(k, &slot)| slot >= ideal(k) && slot - ideal(k) <= 5), "{connection:?}");
            }
        }
        let bursts: Vec<_> = host.slots_of(connections[0]).into_iter().step_by(10).collect();
        assert_eq!(bursts, [0, 200, 400, 600, 800, 1000]);
        schedules.push(host.events);
    }
    assert!(schedules.iter().all(|schedule| *schedule == schedules[0]), "one tolerance and one class: the policies coincide");
    let mut planner: Planner = Planner::new(&SETUP, RateScaling::strict());
    let (host, connections) = run(&mut planner, &figure_3(), 1400);
    for (index, counts) in cumulative {
        let slots = host.slots_of(connections[index]);
        assert_eq!([200, 400, 600, 800, 1000].map(|until| slots.iter().filter(|&&slot| slot < until).count()), counts, "{index}");
    }
}

/// Figure 4: connections 1 to 6 in this order.
fn figure_4(tolerance: u64) -> [Source; 6] {
    let source = |interval, class, start, cells| Source { contract: constant(interval, tolerance, class), start, cells };
    [
        source(4, 1, 0, LONGEST_PDU),
        source(5, 2, 0, LONGEST_PDU),
        source(10, 0, 0, 50),
        source(1, 1, 200, 84),
        source(1, 1, 250, 48),
        source(1, 1, 300, 28),
    ]
}

/// Cells of every connection before 200, 250, 300 and 390, from the mark before, and the last slot of connection 4.
fn counts_of_figure_4<S: Sharing>(sharing: S, tolerance: u64) -> ([[i64; 4]; 6], u64) {
    counts_with(HeapScheduler::new(&SETUP, Conflict::Priority, sharing), tolerance)
}

fn counts_with(mut scheduler: impl CellScheduler, tolerance: u64) -> ([[i64; 4]; 6], u64) {
    let sources = figure_4(tolerance);
    let (host, connections) = run(&mut scheduler, &sources, 500);
    let mut counts = [[0; 4]; 6];
    for ((&connection, source), counts) in connections.iter().zip(&sources).zip(&mut counts) {
        let slots = host.slots_of(connection);
        let mut upc = Upc::new(&source.contract);
        assert!(slots.iter().all(|&slot| upc.accepts(slot)), "{connection:?}");
        let marks = [0, 200, 250, 300, 390];
        for (count, mark) in counts.iter_mut().zip(marks.windows(2)) {
            *count = slots.iter().filter(|&&slot| (mark[0]..mark[1]).contains(&slot)).count() as i64;
        }
    }
    (counts, *host.slots_of(connections[3]).last().unwrap())
}

/// The counts of figure 4 without minimum shares, by connection and period.
const STRICT: [[i64; 4]; 6] = [[50, 9, 5, 7], [40, 0, 0, 0], [20, 5, 5, 9], [0, 36, 20, 24], [0, 0, 20, 25], [0, 0, 0, 25]];

fn minimum_of_class_2() -> [CellRate; CLASSES] {
    let mut minimum = [CellRate::ZERO; CLASSES];
    minimum[2] = CellRate::floor_of_ratio(1, 20).unwrap();
    minimum
}

#[track_caller]
fn assert_within_a_cell(counts: [[i64; 4]; 6], expected: [[i64; 4]; 6]) {
    let apart = |a: [i64; 4], b: [i64; 4]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).max();
    for (connection, (sent, expected)) in counts.into_iter().zip(expected).enumerate() {
        assert!(apart(sent, expected) <= Some(1), "VC {}: {sent:?} instead of {expected:?}", connection + 1);
    }
}

#[test]
fn figure_4_overload_is_shared_in_proportion_and_by_priority() {
    let (counts, last) = counts_of_figure_4(RateScaling::strict(), 1);
    assert_within_a_cell(counts, STRICT);
    assert_eq!(last, 401);
}

#[test]
fn figure_4_with_a_minimum_share_nobody_starves() {
    let (counts, _) = counts_of_figure_4(RateScaling::new(minimum_of_class_2()).unwrap(), 1);
    let mut expected = counts;
    (expected[1], expected[2], expected[3]) = ([40, 3, 2, 4], STRICT[2], [0, 33, 19, 24]);
    assert_within_a_cell(counts, expected);
}

#[test]
fn figure_4_by_windows_begins_to_share_a_window_later() {
    let planner = |window| Planner::<RateScaling>::with_window(&SETUP, window, RateScaling::strict());
    assert_within_a_cell(counts_with(planner(1), 1).0, STRICT);
    // Connection 4 starts at 200, in the window that ends at 256, and gets what is free of it.
    let (counts, _) = counts_with(planner(64), 1);
    assert_eq!(counts[2], STRICT[2]);
    assert!(counts[3][1] >= 20 && counts[3][1] < STRICT[3][1], "{counts:?}");
    assert!((STRICT[3][2] - counts[3][2]).abs() <= 1, "{counts:?}");
}

/// Cells of three classes that ask for 0.1, 3.25 and 0.2 of the link, in ten thousand slots.
fn cells_of_classes(mut scheduler: impl CellScheduler) -> [usize; 3] {
    let sources = [(10, 0), (1, 1), (1, 1), (1, 1), (4, 1), (5, 2)].map(|(interval, class)| Source {
        contract: constant(interval, 1, class),
        start: 0,
        cells: LONGEST_PDU,
    });
    let (host, connections) = run(&mut scheduler, &sources, 10_000);
    let cells = |class| (0..6).filter(|&i| sources[i].contract.class == class).map(|i| host.slots_of(connections[i]).len()).sum();
    [cells(0), cells(1), cells(2)]
}

#[test]
fn grants_become_cells() {
    let none = [CellRate::ZERO; CLASSES];
    for (minimum, expected) in [(none, [1000, 9000, 0]), (minimum_of_class_2(), [1000, 8500, 500])] {
        let scaling = || RateScaling::new(minimum).unwrap();
        for cells in [
            cells_of_classes(HeapScheduler::new(&SETUP, Conflict::Priority, scaling())),
            cells_of_classes(Planner::<RateScaling>::new(&SETUP, scaling())),
        ] {
            let apart = cells.iter().zip(expected).map(|(sent, granted): (&usize, usize)| sent.abs_diff(granted)).max();
            assert!(apart <= Some(20), "{cells:?} instead of {expected:?}");
        }
    }
}

/// A higher class that sends cell by cell asks for nothing in between; its cells must not take slots of the minimum share.
#[test]
fn a_minimum_share_is_kept_while_a_higher_class_sends_now_and_then() {
    fn lowest(mut scheduler: impl CellScheduler, every: u64) -> u64 {
        let contract = |interval, class| CellContract { class, ..constant(interval, 100, 0) };
        let [calls, film, web] = [(10, 0), (1, 1), (5, 2)].map(|(interval, class)| scheduler.add(&contract(interval, class)).unwrap());
        for connection in [film, web] {
            scheduler.post(connection, 20_000, 0, &mut ()).unwrap();
        }
        let mut sent = 0;
        for now in 0..20_000 {
            if now % every == 0 {
                scheduler.post(calls, 1, now, &mut ()).unwrap();
            }
            sent += u64::from(scheduler.send(now, &mut ()) == Some(web));
        }
        sent
    }
    let minimum = minimum_of_class_2();
    let setup = CellSetup { connections: 3, pdus: 8, transfer: None };
    for every in [11, 20, 500] {
        let heap = lowest(HeapScheduler::new(&setup, Conflict::Priority, RateScaling::new(minimum).unwrap()), every);
        let planner = lowest(Planner::new(&setup, RateScaling::new(minimum).unwrap()), every);
        // 5 % of 20,000 slots.
        assert!(heap >= 995 && planner >= 995, "a cell every {every} slots: {heap} with the heap, {planner} planned");
    }
}

/// The slots left by a higher class that sends occasionally, and asks for nothing in between, are shared in proportion.
#[test]
fn what_a_higher_class_leaves_is_shared_in_proportion_although_it_sends_now_and_then() {
    fn films(mut scheduler: impl CellScheduler, cells: u32, every: u64, tolerance: u64) -> [u64; 3] {
        let contract = |interval, class| CellContract { class, ..constant(interval, tolerance, 0) };
        let calls = scheduler.add(&contract(8, 0)).unwrap();
        let films = [2, 3, 3].map(|interval| scheduler.add(&contract(interval, 1)).unwrap());
        for film in films {
            scheduler.post(film, 40_000, 0, &mut ()).unwrap();
        }
        let mut sent = [0; 3];
        for now in 0..60_000 {
            if now % every == 0 {
                scheduler.post(calls, cells, now, &mut ()).unwrap();
            }
            let sender = scheduler.send(now, &mut ());
            if let Some(film) = films.iter().position(|&film| sender == Some(film)) {
                sent[film] += 1;
            }
        }
        sent
    }
    let setup = CellSetup { connections: 4, pdus: 32, transfer: None };
    for (cells, every) in [(1, 9), (1, 13), (1, 30), (3, 30)] {
        let left = 60_000 - 60_000 / every * u64::from(cells);
        for tolerance in [4, 20] {
            let heap = films(HeapScheduler::new(&setup, Conflict::Priority, RateScaling::strict()), cells, every, tolerance);
            let planner = films(Planner::new(&setup, RateScaling::strict()), cells, every, tolerance);
            for (sent, part) in [heap, planner].into_iter().flat_map(|sent| sent.into_iter().zip([3, 2, 2])) {
                let is_near = (sent * 7).abs_diff(left * part) < left * part / 200;
                assert!(is_near, "{cells} every {every} slots, tolerance {tolerance}: {part} parts of {left} are not {sent}");
            }
        }
    }
}

#[test]
fn after_an_underrun_the_plan_begins_with_the_arrival() {
    // Two cells at a time, on demand; the second pair comes 26 slots after it was requested. The tolerance is no licence to catch up.
    let transfer = TransferSetup { prefetch: Prefetch::Demand, access_latency: 0, cell_time: Ticks(0), burst: 2, buffer: 64 };
    let mut scheduler = HeapScheduler::new(&CellSetup { transfer: Some(transfer), ..SETUP }, Conflict::Lazy, RateScaling::strict());
    let connection = scheduler.add(&constant(4, 20, 0)).unwrap();
    scheduler.post(connection, 4, 0, &mut ()).unwrap();
    let mut sent = Vec::new();
    for now in 0..60 {
        if now == 0 || now == 30 {
            scheduler.arrived(connection, 2, now, &mut ());
        }
        sent.extend(scheduler.send(now, &mut ()).map(|_| now));
    }
    assert_eq!(sent, [0, 4, 30, 34]);
    assert_eq!(scheduler.counts().underruns, 1);
}

#[test]
fn the_last_moment_is_not_missed_and_not_before_time() {
    // A cell every 3 slots, 6 slots for a transfer of 8: with 2 left there is another chance, with 1 left there is none.
    let transfer = TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 4, cell_time: Ticks(SLOT / 4), burst: 8, buffer: 64 };
    let mut scheduler = HeapScheduler::new(&CellSetup { transfer: Some(transfer), ..SETUP }, Conflict::Lazy, RateScaling::strict());
    let mut host = Host::new(transfer);
    let connection = scheduler.add(&constant(3, 1, 0)).unwrap();
    scheduler.post(connection, 16, 0, &mut host).unwrap();
    for now in 0..60 {
        host.run(&mut scheduler, now);
    }
    assert_eq!(host.slots_of(connection), (6..54).step_by(3).collect::<Vec<_>>());
    assert!(host.events.contains(&Event::Requested { now: 24, connection, cells: 8, done: 30 }), "{:?}", host.events);
}

#[test]
fn a_lone_pdu_is_transferred_just_in_time() {
    let transfer = TransferSetup { prefetch: Prefetch::JustInTime, access_latency: 4, cell_time: Ticks(SLOT / 4), burst: 8, buffer: 64 };
    let mut scheduler = HeapScheduler::new(&CellSetup { transfer: Some(transfer), ..SETUP }, Conflict::Lazy, RateScaling::strict());
    let mut host = Host::new(transfer);
    let connection = scheduler.add(&constant(4, 1, 0)).unwrap();
    scheduler.post(connection, 20, 0, &mut host).unwrap();
    for now in 0..100 {
        host.run(&mut scheduler, now);
        let (resident, outstanding, free) = scheduler.buffers();
        assert_eq!(resident + outstanding + free, 64);
        assert_eq!(scheduler.state(connection), Ok((6..82).contains(&now).then_some(State::Peak)));
    }
    assert_eq!(host.slots_of(connection), (6..=82).step_by(4).collect::<Vec<_>>());
    let others: Vec<_> = host.events.into_iter().filter(|event| !matches!(event, Event::Sent(..))).collect();
    let requested = |now, cells, done| Event::Requested { now, connection, cells, done };
    let ends = [Event::PduDone(82, connection), Event::QueueEmpty(82, connection)];
    assert_eq!(others, [&[requested(0, 8, 6), requested(30, 8, 36), requested(62, 4, 67)], ends.as_slice()].concat());
    assert_eq!((scheduler.counts().sent, scheduler.counts().underruns), (20, 0));

    // By windows, cells leave in the same slots, and what has to be fetched for a window is requested when it is planned.
    let mut planner: Planner = Planner::new(&CellSetup { transfer: Some(transfer), ..SETUP }, RateScaling::strict());
    let mut host = Host::new(transfer);
    let connection = planner.add(&constant(4, 1, 0)).unwrap();
    planner.post(connection, 20, 0, &mut host).unwrap();
    for now in 0..100 {
        host.run(&mut planner, now);
    }
    assert_eq!(host.slots_of(connection), (6..=82).step_by(4).collect::<Vec<_>>());
    assert_eq!(planner.counts().underruns, 0);
    let requests =
        host.events.iter().filter_map(|event| if let Event::Requested { now, cells, .. } = event { Some((*now, *cells)) } else { None });
    assert_eq!(requests.collect::<Vec<_>>(), [(0, 8), (6, 8), (12, 4)]);
}
