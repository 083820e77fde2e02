//! The experiments of ShareStreams on an end system: four streams 1:1:2:4, arrivals by push and by pull.

use tidegate_core::dwcs::{Dwcs, Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Volume;
use tidegate_core::scheduler::{Decision, Scheduler};
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use tidegate_endsystem::{
    Departure, Descriptor, Disposition, EndSystem, Grain, Next, Pace, Producer, QueueManager, Setup, Slots, Transfers,
};

type System = EndSystem<u64, Slots<Scan>>;

fn tick(ticks: u64) -> Time {
    Time::from_picoseconds(ticks)
}

fn open(setup: &Setup, streams: &[Descriptor<Stream>]) -> System {
    let mut queues = QueueManager::default();
    for stream in streams {
        queues.admit(*stream).unwrap();
    }
    queues.open(setup, |streams| Scan::new(Rules::default(), Order::default(), &streams).map(Slots::new)).unwrap()
}

fn windowed(x: u32, y: u32) -> Descriptor<Stream> {
    Descriptor::new(Stream { first_deadline: Some(1), ..Stream::windowed(Window::new(x, y), 1) })
}

fn offer(producer: &mut Producer<u64>, stream: u32, number: u64) {
    producer.offer(Flow(stream), tick(number), 64, Colour::Green, number).unwrap();
}

/// Section 5.2, figure 12: 64000 decisions, of which the first are known; the offsets wrap once on the way.
#[test]
fn four_streams_share_one_one_two_four() {
    const DECISIONS: u64 = 64_000;
    let mut system = open(&Setup::decisions(), &[(7, 8), (14, 16), (6, 8), (4, 8)].map(|(x, y)| windowed(x, y).frames(512)));
    let (mut offered, mut served, mut order) = ([0u64; 4], [0u64; 4], Vec::new());
    while order.len() < DECISIONS as usize {
        for stream in 0..4 {
            // Always backlogged, and never more than the ring holds.
            while offered[stream] < served[stream] + 512 {
                offer(&mut system.producers[0], stream as u32, offered[stream]);
                offered[stream] += 1;
            }
        }
        system.engine.poll(Time::ZERO);
        system.transmission.poll(Time::ZERO, |departure| {
            assert_eq!(departure.frame, served[departure.stream.index()]);
            if order.len() < DECISIONS as usize {
                served[departure.stream.index()] += 1;
                order.push(departure.stream.0 + 1);
            }
        });
    }
    assert_eq!(order[..16], [4, 4, 3, 4, 1, 3, 4, 2, 4, 4, 3, 4, 1, 2, 3, 4]);
    assert_eq!(served, [8000, 8000, 16_000, 32_000]);
    let violations = (0..4).map(|stream| system.engine.scheduler().engine().standing(Flow(stream)).tally.violations);
    assert_eq!(violations.sum::<u64>(), 0);
}

#[test]
fn deadlines_alone_rotate() {
    let streams = [4, 3, 2, 1]
        .map(|first| Descriptor::new(Stream { first_deadline: Some(first), ..Stream::windowed(Window::NONE, 4) }).frames(16_000));
    let mut system = open(&Setup { winners: 7, ..Setup::decisions() }, &streams);
    for number in 0..15_999 {
        for stream in 0..4 {
            offer(&mut system.producers[0], stream, number);
        }
    }
    let mut order = Vec::new();
    while order.len() < 4 * 15_999 {
        system.engine.poll(Time::ZERO);
        system.transmission.poll(Time::ZERO, |departure| order.push(departure.stream.0 + 1));
    }
    assert!(order.chunks(4).all(|round| round == [4, 3, 2, 1]));
}

/// A late packet of a stream that may drop is discarded by the engine's word, counted, and takes no slot.
#[test]
fn what_the_engine_discards_leaves_its_ring_as_late() {
    let loose = Descriptor::new(Stream { droppable: true, first_deadline: Some(1), ..Stream::windowed(Window::new(3, 4), 1) });
    let mut system = open(&Setup::decisions(), &[windowed(0, 4), loose]);
    for number in 0..10 {
        offer(&mut system.producers[0], 0, number);
        offer(&mut system.producers[0], 1, number);
    }
    let mut fates = [Vec::new(), Vec::new()];
    system.engine.poll(Time::ZERO);
    system.transmission.poll(Time::ZERO, |departure| fates[departure.stream.index()].push((departure.frame, departure.disposition)));
    assert!(fates[0].iter().enumerate().all(|(number, disposition)| *disposition == (number as u64, Disposition::Sent)));
    assert!(fates[1].iter().enumerate().all(|(number, (frame, _))| *frame == number as u64));
    assert!(fates[1].iter().any(|(_, disposition)| *disposition == Disposition::Late));
    let account = system.account();
    account.check().unwrap();
    assert_eq!(account.late.packets, system.engine.counters().discarded);
    assert_eq!(account.late.packets, system.engine.scheduler().engine().standing(Flow(1)).tally.dropped);
    assert_eq!(account.sent.packets + account.late.packets, 20);
}

/// Arrivals stay where they are while every stream's store is above the mark, and come in bulk when one falls below it; pushes do not
/// wait for that.
#[test]
fn a_pull_starts_below_the_low_mark_and_a_push_at_once() {
    let setup = Setup { low_mark: 4, batch: 8, winners: 1, ..Setup::decisions() };
    let mut system = open(&setup, &[windowed(1, 2).frames(64), windowed(1, 2).frames(64).urgent()]);
    let transfers = |transfers, records, largest| Transfers { transfers, records, largest, bytes: 12 * records };
    for number in 0..5 {
        offer(&mut system.producers[0], 1, number);
    }
    for number in 0..20 {
        offer(&mut system.producers[0], 0, number);
    }
    assert_eq!(system.engine.poll(Time::ZERO), Next::Waiting);
    let counters = system.engine.counters();
    assert_eq!((counters.pushed, counters.pulled), (transfers(1, 5, 5), transfers(3, 20, 8)));
    assert_eq!(counters.won, 1, "there is room for one winner");

    // Both stores are at the mark or above it: the next arrivals of stream 0 are not fetched.
    for number in 20..25 {
        offer(&mut system.producers[0], 0, number);
    }
    offer(&mut system.producers[0], 1, 5);
    offer(&mut system.producers[0], 1, 6);
    system.engine.poll(Time::ZERO);
    let counters = system.engine.counters();
    assert_eq!((counters.pushed.records, counters.pulled.records), (7, 20));
    // One of them falls below, and they are.
    let mut won = 0;
    while system.engine.counters().pulled.records == 20 {
        system.transmission.poll(Time::ZERO, |_| won += 1);
        system.engine.poll(Time::ZERO);
    }
    assert_eq!(system.engine.counters().pulled.records, 25);
    assert!((3..=22).contains(&won), "{won}");
    assert_eq!(system.transmission.counters().winners.records, won);
}

/// In units of a tick, an arrival is understood for 32767 decisions; older than that it loses its turn among equals, and nothing else.
#[test]
fn an_arrival_that_is_told_too_late_seems_younger() {
    for (age, first) in [(32_767, Flow(1)), (32_770, Flow(0))] {
        let equal = Descriptor::new(Stream::static_priority(5)).frames(40_000);
        let mut system = open(&Setup::decisions(), &[equal, equal, equal]);
        // The engine's clock is moved on by the decisions for the third stream.
        for number in 0..age {
            offer(&mut system.producers[0], 2, number);
        }
        let mut sent = Vec::new();
        for _ in 0..age.div_ceil(256) + 1 {
            system.engine.poll(Time::ZERO);
            system.transmission.poll(Time::ZERO, |departure| sent.push(departure.stream));
        }
        assert_eq!(sent.len() as u64, age);
        offer(&mut system.producers[0], 1, 0);
        system.producers[0].offer(Flow(0), tick(age - 1), 64, Colour::Green, 0).unwrap();
        system.engine.poll(Time::ZERO);
        system.transmission.poll(Time::ZERO, |departure| sent.push(departure.stream));
        assert_eq!(sent[age as usize], first, "{age}");
    }
}

#[test]
fn a_rate_spaces_what_a_counting_engine_decides() {
    let rate = Rate::new(8_000_000).unwrap();
    let pace = Pace::Decisions { rate: Some(rate) };
    let mut system = open(&Setup { pace, overhead: Overhead::per_packet(36), ..Setup::decisions() }, &[windowed(1, 2)]);
    for number in 0..5 {
        offer(&mut system.producers[0], 0, number);
    }
    let start = Time::from_nanoseconds(50_000_000);
    let at = |microseconds| start + Duration::from_microseconds(microseconds);
    let mut starts = Vec::new();
    let turn = |system: &mut System, now, starts: &mut Vec<Time>| {
        system.engine.poll(now);
        system.transmission.poll(now, |departure: Departure<u64>| starts.push(departure.at))
    };
    // 100 bytes are 100 us, and the first may make up for 2 ms.
    assert_eq!(turn(&mut system, start, &mut starts), Next::Waiting);
    assert_eq!(starts.len(), 5);
    starts.clear();
    for number in 5..30 {
        offer(&mut system.producers[0], 0, number);
    }
    let next = turn(&mut system, start, &mut starts);
    assert_eq!(starts.len(), 16, "what fits into the rest of 2 ms, and the one that starts at its end");
    assert_eq!(next, Next::At(at(100)));
    assert_eq!(turn(&mut system, at(350), &mut starts), Next::At(at(400)));
    assert_eq!(starts[16..], [at(100), at(200), at(300)]);
}

#[test]
fn an_offset_that_cannot_be_told_apart_is_counted_in_real_time() {
    /// First come, first served, by the arrivals told.
    #[derive(Default)]
    struct Told(Vec<(Flow, Time)>);
    impl Scheduler for Told {
        fn activate(&mut self, _now: Time, flow: Flow, head: tidegate_core::packet::Head) {
            self.0.push((flow, head.arrival));
        }
        fn select(&mut self, _now: Time) -> Decision {
            self.0.first().map_or(Decision::Idle, |(flow, _)| Decision::Serve(*flow))
        }
        fn served(&mut self, now: Time, flow: Flow, next: Option<tidegate_core::packet::Head>) {
            self.lost(now, flow, next);
        }
        fn lost(&mut self, _now: Time, flow: Flow, _next: Option<tidegate_core::packet::Head>) {
            self.0.retain(|(told, _)| *told != flow);
        }
        fn change(
            &mut self,
            _now: Time,
            _flow: Flow,
            _parameters: &tidegate_core::scheduler::FlowParameters,
        ) -> Result<(), tidegate_core::scheduler::BuildError> {
            Ok(())
        }
        fn forget(&mut self, _now: Time, _flow: Flow) {}
    }
    let grain = Grain::MICROSECOND;
    for (milliseconds, stale) in [(30, 0), (40, 1)] {
        let mut queues = QueueManager::default();
        queues.admit(Descriptor::new(())).unwrap();
        let setup = Setup::real_time(Rate::new(1_000_000_000).unwrap(), Overhead::None);
        let mut system = queues.open(&setup, |_| Ok::<_, ()>(Told::default())).unwrap();
        let start = grain.floor(Time::from_nanoseconds(10_000_000));
        system.engine.poll(start);
        system.producers[0].offer(Flow(0), start, 100, Colour::Green, 0).unwrap();
        let now = start + Duration::from_milliseconds(milliseconds);
        system.engine.poll(now);
        assert_eq!(system.engine.counters().stale, stale);
        let mut sent = Volume::default();
        system.transmission.poll(now, |departure| sent.add(departure.length));
        assert_eq!(sent.packets, 1, "it is sent even if it is late");
    }
}

/// A backlog of twice the range of an offset: arrivals are pulled before their offsets become ambiguous.
#[test]
fn offsets_outlast_a_backlog() {
    let rate = Rate::new(100_000_000).unwrap();
    let mut queues = QueueManager::default();
    queues.admit(Descriptor::new(()).frames(2000)).unwrap();
    let setup = Setup { low_mark: 2, batch: 4, ..Setup::real_time(rate, Overhead::None) };
    let scheduler = tidegate_core::scheduler::Setup::new(rate, 1500);
    let flows = [tidegate_core::scheduler::FlowParameters::default()];
    let mut system = queues.open(&setup, |_| tidegate_core::registry::SchedulerKind::Fifo.build(&scheduler, &flows)).unwrap();
    let begin = Grain::MICROSECOND.floor(Time::from_nanoseconds(7_000_000));
    let mut starts = Vec::new();
    for millisecond in 0..140 {
        let now = begin + Duration::from_milliseconds(millisecond);
        for _ in 0..if millisecond < 50 { 20 } else { 0 } {
            system.producers[0].offer(Flow(0), now, 1500, Colour::Green, 0).unwrap();
        }
        system.engine.poll(now);
        system.transmission.poll(now, |departure| starts.push(departure.at));
    }
    assert_eq!((starts.len(), system.engine.counters().stale), (1000, 0));
    // 120 us each, without a gap.
    assert!(starts.iter().zip(0..).all(|(start, number)| *start == begin + Duration::from_microseconds(120 * number)));
}
