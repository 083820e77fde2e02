//! Numbered frames through real threads: every frame leaves once, in the order of its stream.
//!
//! A few million by default; the long run is `TIDEGATE_FRAMES=1000000000 cargo test --release -p tidegate-endsystem --test threads`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tidegate_core::dwcs::{Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Volume;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Scheduler};
use tidegate_core::units::{Overhead, Rate, Time};
use tidegate_endsystem::{Descriptor, Disposition, EndSystem, Producer, ProducerCounters, QueueManager, Refusal, Setup, Slots};

/// How many frames each stress test moves.
fn frames() -> u64 {
    let wanted = std::env::var("TIDEGATE_FRAMES").map(|text| text.replace('_', "").parse());
    wanted.map_or(2_000_000, |count| count.expect("TIDEGATE_FRAMES is a number of frames"))
}

/// A clock that starts now, far from the beginning of time.
fn clock() -> impl Fn() -> Time + Sync {
    let start = Instant::now();
    move || Time::from_nanoseconds(1_000_000_000 + start.elapsed().as_nanos() as u64)
}

/// Offers `count` frames, numbered per stream, to its streams in turn, with a flush after every 32.
fn produce(mut producer: Producer<u64>, count: u64, now: impl Fn() -> Time) -> ProducerCounters {
    let streams: Vec<Flow> = producer.streams().collect();
    let mut numbers = vec![0u64; streams.len()];
    for offered in 0..count {
        let index = offered as usize % streams.len();
        let length = 64 + (offered % 1437) as u32;
        match producer.offer_and_wait(streams[index], now(), length, Colour::Green, numbers[index]) {
            Ok(()) => numbers[index] += 1,
            Err(Refusal::Dropped(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
        if offered % 32 == 31 {
            producer.flush();
        }
    }
    *producer.counters()
}

/// Moves `count` frames per producer through a system and checks every frame. Returns the frames dropped and sent.
fn carry<S: Scheduler + Send>(system: EndSystem<u64, S>, streams: usize, count: u64) -> (u64, u64) {
    let EndSystem { producers, mut engine, mut transmission } = system;
    let (now, stop) = (clock(), AtomicBool::new(false));
    let begun = Instant::now();
    let mut next = vec![0u64; streams];
    let producers: Vec<ProducerCounters> = thread::scope(|scope| {
        let now = &now;
        let stop = &stop;
        let threads: Vec<_> = producers.into_iter().map(|producer| scope.spawn(move || produce(producer, count, now))).collect();
        let engine = scope.spawn(move || {
            engine.run(now, |_| !stop.load(Ordering::Relaxed));
            (engine.counters(), begun.elapsed())
        });
        transmission.run(
            now,
            |_| !stop.load(Ordering::Relaxed),
            |departure| {
                let expected = &mut next[departure.stream.index()];
                assert_eq!(departure.frame, *expected, "stream {}", departure.stream.0);
                *expected += 1;
            },
        );
        let counters = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let (engine, elapsed) = engine.join().unwrap();
        println!(
            "{:.2} million frames/s; per pull {:.1} arrivals, at most {}; per transfer of winners {:.1}",
            engine.won as f64 / elapsed.as_secs_f64() / 1e6,
            engine.pulled.records as f64 / engine.pulled.transfers.max(1) as f64,
            engine.pulled.largest,
            transmission.counters().winners.records as f64 / transmission.counters().winners.transfers as f64,
        );
        counters
    });
    let account = transmission.account(&producers);
    account.check().unwrap();
    assert_eq!(account.queued, Volume::default());
    assert_eq!(account.offered.packets, count * producers.len() as u64);
    assert_eq!(next.iter().sum::<u64>(), account.sent.packets + account.late.packets);
    (account.ring_full.packets, account.sent.packets)
}

#[test]
fn every_frame_arrives_once_and_in_order_under_dwcs() {
    let mut queues = QueueManager::default();
    let windows = [(7, 8), (14, 16), (6, 8), (4, 8)];
    for (index, (x, y)) in windows.into_iter().enumerate() {
        let descriptor = Descriptor::new(Stream::windowed(Window::new(x, y), 1)).frames(1000 + 7 * index as u32);
        queues.admit(if index == 3 { descriptor.urgent() } else { descriptor }).unwrap();
        if index == 1 {
            queues.next_producer();
        }
    }
    let build = |streams: Vec<Stream>| Scan::new(Rules::default(), Order::default(), &streams).map(Slots::new);
    let setup = Setup { winners: 1024, ..Setup::decisions() };
    let (dropped, sent) = carry(queues.open(&setup, build).unwrap(), 4, frames() / 2);
    assert_eq!((dropped, sent), (0, frames() / 2 * 2));
}

#[test]
fn every_frame_arrives_once_and_in_order_or_is_counted_as_dropped() {
    let setup = tidegate_core::scheduler::Setup::new(Rate::new(1_000_000_000).unwrap(), 1600);
    let build = |flows: Vec<FlowParameters>| SchedulerKind::DeficitRoundRobin.build(&setup, &flows);
    let mut queues = QueueManager::default();
    for index in 0..60 {
        let descriptor = Descriptor::new(FlowParameters { weight: Some(1 + index % 5), ..FlowParameters::default() }).frames(64);
        queues.admit(if index % 2 == 0 { descriptor.dropping() } else { descriptor }).unwrap();
        if index % 20 == 19 && index < 59 {
            queues.next_producer();
        }
    }
    let setup = Setup { winners: 1024, ..Setup::decisions() };
    let (dropped, sent) = carry::<AnyScheduler>(queues.open(&setup, build).unwrap(), 60, frames() / 3);
    assert_eq!(dropped + sent, frames() / 3 * 3);
    assert!(sent >= frames() / 6 * 3, "the other half waits");
}

#[test]
fn a_link_in_real_time_is_filled_and_what_a_stop_leaves_is_counted() {
    let rate = Rate::new(40_000_000).unwrap();
    let scheduler = tidegate_core::scheduler::Setup::new(rate, 1524);
    let mut queues = QueueManager::default();
    for _ in 0..2 {
        queues.admit(Descriptor::new(FlowParameters::default()).frames(5000)).unwrap();
    }
    let setup = Setup::real_time(rate, Overhead::ETHERNET);
    let system = queues.open(&setup, |flows| SchedulerKind::WeightedRoundRobin.build(&scheduler, &flows)).unwrap();
    let EndSystem { mut producers, mut engine, mut transmission } = system;
    let (now, stop) = (clock(), AtomicBool::new(false));
    let mut producer = producers.remove(0);
    let mut sent = [0u64; 2];
    let gone = AtomicU64::new(0);
    let counters = thread::scope(|scope| {
        let (now, stop, gone) = (&now, &stop, &gone);
        let engine = scope.spawn(move || engine.run(now, |_| !stop.load(Ordering::Relaxed)));
        let (transmission, sent) = (&mut transmission, &mut sent);
        let transmitter = scope.spawn(move || {
            transmission.run(
                now,
                |_| !stop.load(Ordering::Relaxed),
                |departure| {
                    assert_eq!((departure.disposition, departure.frame), (Disposition::Sent, sent[departure.stream.index()]));
                    assert!(!departure.at.is_after(now()), "never before its time");
                    sent[departure.stream.index()] += 1;
                    gone.fetch_add(1, Ordering::Relaxed);
                },
            );
        });
        // Two seconds of link time, of which only a small part is sent.
        for number in 0..3000 {
            for stream in [Flow(0), Flow(1)] {
                producer.offer(stream, now(), 1500, Colour::Green, number).unwrap();
            }
        }
        producer.flush();
        while gone.load(Ordering::Relaxed) < 50 {
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
        let counters = *producer.counters();
        engine.join().unwrap();
        transmitter.join().unwrap();
        counters
    });
    let account = transmission.account(&[counters]);
    account.check().unwrap();
    assert_eq!(account.offered.packets, 6000);
    assert_eq!(account.sent.packets, sent.iter().sum());
    assert!(sent[0].abs_diff(sent[1]) <= 1 && sent[0] > 0 && account.queued.packets > 0, "{account:?}");
    let mut left = [0u64; 2];
    transmission.clear(|stream, number| {
        assert_eq!(number, sent[stream.index()] + left[stream.index()]);
        left[stream.index()] += 1;
    });
    assert_eq!(left.iter().sum::<u64>(), account.queued.packets);
    assert_eq!(producer.offer(Flow(0), now(), 1500, Colour::Green, 0), Ok(()));
    for number in 0..5000 {
        if let Err(refusal) = producer.offer(Flow(0), now(), 1500, Colour::Green, number) {
            assert_eq!(refusal, Refusal::Closed(number));
            return;
        }
    }
    panic!("a ring without a reader was never full");
}

#[test]
fn a_frame_after_the_rings_were_cleared_is_refused_although_the_ring_of_arrivals_is_full() {
    let scheduler = tidegate_core::scheduler::Setup::new(Rate::new(40_000_000).unwrap(), 1524);
    let mut queues = QueueManager::default();
    queues.admit(Descriptor::new(FlowParameters::default()).frames(4)).unwrap();
    let build = |flows: Vec<FlowParameters>| SchedulerKind::WeightedRoundRobin.build(&scheduler, &flows);
    let EndSystem { mut producers, engine, transmission } = queues.open(&Setup::decisions(), build).unwrap();
    for number in 0..4 {
        producers[0].offer(Flow(0), Time::ZERO, 1500, Colour::Green, number).unwrap();
    }
    assert_eq!(producers[0].offer(Flow(0), Time::ZERO, 1500, Colour::Green, 4), Err(Refusal::ComeAgain(4)));
    let mut left = Vec::new();
    transmission.clear(|_, number| left.push(number));
    assert_eq!(left, [0, 1, 2, 3]);
    // The engine has read no arrival: their ring is as full as before.
    assert_eq!(producers[0].offer(Flow(0), Time::ZERO, 1500, Colour::Green, 5), Err(Refusal::Closed(5)));
    drop(engine);
}
