//! Published schedules: streams that are always backlogged, one packet per tick.

use crate::dwcs::{
    Choice, Dwcs, Early, GroupedDwcs, Missed, Order, Request, Rules, Scan, Service, Stream, StreamError, Tolerance, Window, resolve,
};
use crate::packet::Flow;
use alloc::vec::Vec;

/// Runs `engine` for `slots` slots of one tick from `from` on; packet n of every stream arrives at time n. Returns the streams served, from 1.
fn backlogged<E: Dwcs>(engine: &mut E, served: &mut [u64], from: u64, slots: u64) -> Vec<u32> {
    let mut winners = Vec::new();
    for slot in from..from + slots {
        let Choice::Serve(stream) = engine.select(slot) else { panic!("a stream is backlogged") };
        served[stream.index()] += 1;
        engine.served(stream, slot + 1, Some(served[stream.index()]));
        winners.push(stream.0 + 1);
    }
    winners
}

/// An engine that the schedules are tested with.
trait Build: Dwcs + Sized {
    fn build(rules: Rules, streams: &[Stream]) -> Self;
}

impl Build for Scan {
    fn build(rules: Rules, streams: &[Stream]) -> Scan {
        Scan::new(rules, Order::default(), streams).unwrap()
    }
}

impl Build for GroupedDwcs {
    fn build(rules: Rules, streams: &[Stream]) -> GroupedDwcs {
        GroupedDwcs::new(rules, streams).unwrap()
    }
}

const COMPLETE: Rules = Rules { missed: Missed::Complete, early: Early::Allow };
const START: Rules = Rules { missed: Missed::Start, early: Early::Allow };

fn windows(windows: &[(u32, u32)]) -> Vec<Stream> {
    windows.iter().map(|&(x, y)| Stream::windowed(Window::new(x, y), 1)).collect()
}

fn run<E: Build>(rules: Rules, streams: &[Stream], slots: u64) -> (Vec<u32>, E) {
    let mut engine = E::build(rules, streams);
    (0..streams.len() as u32).for_each(|stream| engine.activate(0, Flow(stream), 0));
    let winners = backlogged(&mut engine, &mut alloc::vec![0; streams.len()], 0, slots);
    engine.select(slots);
    (winners, engine)
}

fn counts(winners: &[u32], streams: usize) -> Vec<usize> {
    (1..=streams as u32).map(|stream| winners.iter().filter(|&&winner| winner == stream).count()).collect()
}

fn violations<E: Dwcs>(engine: &E, streams: usize) -> Vec<u64> {
    (0..streams as u32).map(|stream| engine.standing(Flow(stream)).tally.violations).collect()
}

fn published_table<E: Build>() {
    let streams = windows(&[(1, 2), (3, 4), (6, 8)]);
    let mut engine = E::build(COMPLETE, &streams);
    (0..3).for_each(|stream| engine.activate(0, Flow(stream), 0));
    let (mut served, mut winners, mut states) = ([0; 3], Vec::new(), Vec::new());
    for slot in 0..16 {
        engine.select(slot);
        states.push([0, 1, 2].map(|stream| {
            let Tolerance { numerator, denominator, .. } = engine.standing(Flow(stream)).tolerance;
            (u64::from(numerator), denominator)
        }));
        winners.extend(backlogged(&mut engine, &mut served, slot, 1));
    }
    assert_eq!(winners, [1, 2, 1, 3, 1, 2, 3, 1, 1, 2, 1, 3, 1, 2, 3, 1]);
    assert_eq!(violations(&engine, 3), [0, 0, 0]);
    let expected = [
        [(1, 2), (1, 1), (1, 2), (1, 1), (1, 2), (1, 1), (1, 2), (0, 1), (1, 2)],
        [(3, 4), (2, 3), (2, 2), (1, 1), (3, 4), (2, 3), (2, 2), (1, 1), (3, 4)],
        [(6, 8), (5, 7), (4, 6), (3, 5), (3, 4), (2, 3), (1, 2), (1, 1), (6, 8)],
    ];
    for (stream, expected) in expected.iter().enumerate() {
        let seen: Vec<_> = states.iter().take(9).map(|state| state[stream]).collect();
        assert_eq!(&seen, expected, "stream {}", stream + 1);
    }
    let (winners, _) = run::<E>(START, &streams, 16);
    assert_eq!(winners, [1, 2, 3, 1, 3, 1, 2, 1, 2, 1, 2, 1, 3, 1, 3, 2]);
}

fn fair_share<E: Build>() {
    let streams = windows(&[(7, 8), (14, 16), (6, 8), (4, 8)]);
    let (winners, engine) = run::<E>(COMPLETE, &streams, 64_000);
    assert_eq!(counts(&winners, 4), [8000, 8000, 16_000, 32_000]);
    assert_eq!(violations(&engine, 4), [0; 4]);
    assert_eq!(winners[..16], [4, 4, 3, 4, 1, 3, 4, 2, 4, 4, 3, 4, 1, 2, 3, 4]);
    let (winners, _) = run::<E>(START, &streams, 64_000);
    assert_eq!(counts(&winners, 4), [8001, 8000, 16_000, 31_999]);
    assert_eq!(winners[..16], [4, 3, 4, 4, 1, 3, 4, 2, 2, 4, 4, 3, 4, 1, 3, 4]);
    let (winners, _) = run::<E>(COMPLETE, &windows(&[(3, 4); 4]), 64_000);
    assert_eq!((counts(&winners, 4), &winners[..8]), ([16_000; 4].into(), &[1, 2, 3, 4, 1, 2, 3, 4][..]));
}

fn earliest_deadline_first<E: Build>() {
    let stream = |first| Stream { first_deadline: Some(first), ..Stream::windowed(Window::NONE, 4) };
    let (winners, engine) = run::<E>(COMPLETE, &[4, 3, 2, 1].map(stream), 63_996);
    assert_eq!(counts(&winners, 4), [15_999; 4]);
    assert!(winners.chunks(4).all(|four| four == [4, 3, 2, 1]));
    assert!((0..4).all(|stream| engine.standing(Flow(stream)).tally.missed == 0));
}

fn fair_share_beside_static_priority<E: Build>() {
    for (penalty, after, first_other) in [(0, [0, 0, 0, 190], None), (1, [1, 0, 1, 188], Some(128))] {
        let mut streams = windows(&[(2, 4), (3, 4), (3, 4), (0, 255)]);
        streams.iter_mut().for_each(|stream| stream.penalty = penalty);
        let mut engine = E::build(COMPLETE, &streams);
        (0..3).for_each(|stream| engine.activate(0, Flow(stream), 0));
        let mut served = [0; 4];
        let before = backlogged(&mut engine, &mut served, 0, 63_810);
        assert_eq!(counts(&before, 4), [31_905, 15_953, 15_952, 0]);
        engine.activate(63_810, Flow(3), 0);
        let rest = backlogged(&mut engine, &mut served, 63_810, 190);
        assert_eq!(counts(&rest, 4), after, "penalty {penalty}");
        assert_eq!(rest.iter().position(|&winner| winner != 4), first_other);
    }
}

fn fair_share_beside_deadlines<E: Build>() {
    let run_with = |window| {
        let urgent = |first| Stream { first_deadline: Some(first), ..Stream::windowed(window, 4) };
        let shares = windows(&[(2, 3), (5, 6)]);
        run::<E>(COMPLETE, &[shares[0], shares[1], urgent(2), urgent(1)], 57_339).0
    };
    let winners = run_with(Window::TIGHTEST);
    assert_eq!(counts(&winners, 4), [19_113, 9556, 14_335, 14_335]);
    assert!(winners.chunks(4).all(|four| four.starts_with(&[4, 3])));
    assert_eq!(winners[..12], [4, 3, 1, 2, 4, 3, 1, 1, 4, 3, 2, 1]);
    assert_eq!(counts(&run_with(Window::NONE), 4), [19_113, 14_334, 9557, 14_335]);
}

fn limits_of_the_discipline<E: Build>() {
    // D7: unequal periods fail at a utilisation of 17/45.
    let stream = |x, y, period| Stream::windowed(Window::new(x, y), period);
    let (_, engine) = run::<E>(COMPLETE, &[stream(4, 5, 1), stream(3, 5, 6), stream(1, 3, 6)], 200);
    assert_eq!(violations(&engine, 3), [0, 0, 2]);
    // D8: spare capacity is not shared by weight.
    assert_eq!(counts(&run::<E>(COMPLETE, &windows(&[(1, 2), (3, 4)]), 8000).0, 2), [4000, 4000]);
    assert_eq!(counts(&run::<E>(COMPLETE, &windows(&[(7, 8), (14, 16), (6, 8)]), 8000).0, 3), [2667, 2667, 2666]);
    // Overload: proportional to 1 - W without a penalty.
    let mut overload = windows(&[(1, 4), (1, 2), (3, 4)]);
    assert_eq!(counts(&run::<E>(COMPLETE, &overload, 9000).0, 3), [4500, 2700, 1800]);
    overload.iter_mut().for_each(|stream| stream.penalty = 0);
    assert_eq!(counts(&run::<E>(COMPLETE, &overload, 9000).0, 3), [4500, 3000, 1500]);
}

fn static_priority<E: Build>() {
    let fixed = |x, y| Stream::without_deadline(Window::new(x, y));
    let mut streams = alloc::vec![fixed(1, 2), fixed(1, 4), fixed(0, 5)];
    for expected in [3, 2, 1] {
        let (winners, _) = run::<E>(COMPLETE, &streams, 6);
        assert_eq!(winners, [expected; 6]);
        streams.pop();
    }
    let ranked = [2, 0, 1].map(Stream::static_priority);
    assert_eq!(run::<E>(COMPLETE, &ranked, 3).0, [2; 3]);
    // In a mixture it precedes all other streams.
    let mut mixed = shares(&[1, 1]).unwrap();
    mixed.extend([Stream::earliest_deadline(1), Stream::static_priority(1), Stream::static_priority(0), Stream::static_priority(2)]);
    assert_eq!(run::<E>(COMPLETE, &mixed, 1000).0, [5; 1000]);
}

fn late_packets<E: Build>() {
    // Two streams that both want every slot: the loser's packets are dropped one per slot, or stay.
    for droppable in [true, false] {
        let mut streams = windows(&[(1, 2), (1, 2)]);
        streams.iter_mut().for_each(|stream| stream.droppable = droppable);
        let mut engine = E::build(COMPLETE, &streams);
        let mut left = [10u64, 10];
        (0..2).for_each(|stream| engine.activate(0, Flow(stream), 0));
        let mut slot = 0;
        loop {
            match engine.select(slot) {
                Choice::Serve(stream) => {
                    left[stream.index()] -= 1;
                    engine.served(stream, slot + 1, (left[stream.index()] > 0).then_some(0));
                    slot += 1;
                }
                Choice::Discard(stream) => {
                    left[stream.index()] -= 1;
                    engine.lost(stream, (left[stream.index()] > 0).then_some(0));
                }
                Choice::Idle => break,
                Choice::WaitUntil(_) => panic!("no stream is held back"),
            }
        }
        let tallies = [0, 1].map(|stream| engine.standing(Flow(stream)).tally);
        assert_eq!(slot, if droppable { 10 } else { 20 });
        assert!(tallies.iter().all(|tally| tally.met + tally.late + tally.dropped == 10));
        assert_eq!(tallies.iter().map(|tally| tally.dropped).sum::<u64>(), if droppable { 10 } else { 0 });
    }
    // Held back: one service per period.
    let streams = [Stream::windowed(Window::NONE, 4)];
    let mut engine = E::build(Rules { early: Early::Hold, ..COMPLETE }, &streams);
    engine.activate(0, Flow(0), 0);
    assert_eq!(engine.select(0), Choice::Serve(Flow(0)));
    engine.served(Flow(0), 1, Some(0));
    assert_eq!(engine.select(1), Choice::WaitUntil(4));
    assert_eq!(engine.select(4), Choice::Serve(Flow(0)));
    // Ahead: the lead of a stream that is alone grows by 3 a slot, or is clamped.
    for (early, lead) in [(Early::Allow, 3 * 20_000 + 4), (Early::Clamp, 1 << 14)] {
        let (_, engine) = run::<E>(Rules { early, ..COMPLETE }, &streams, 20_000);
        assert_eq!(engine.standing(Flow(0)).deadline - 20_000, lead);
    }
}

macro_rules! oracles {
    ($engine:ty: $($name:ident)*) => { $(#[test] fn $name() { super::$name::<$engine>(); })* };
}

mod of_the_scan {
    oracles!(super::Scan: published_table fair_share earliest_deadline_first fair_share_beside_static_priority fair_share_beside_deadlines
        limits_of_the_discipline static_priority late_packets);
}

mod of_the_grouped_engine {
    oracles!(super::GroupedDwcs: published_table fair_share earliest_deadline_first fair_share_beside_static_priority
        fair_share_beside_deadlines limits_of_the_discipline static_priority late_packets);
}

#[test]
fn the_order_of_1999_gives_the_published_table_too() {
    let mut engine = Scan::new(COMPLETE, Order::WindowFirst, &windows(&[(1, 2), (3, 4), (6, 8)])).unwrap();
    (0..3).for_each(|stream| engine.activate(0, Flow(stream), 0));
    assert_eq!(backlogged(&mut engine, &mut [0; 3], 0, 16), [1, 2, 1, 3, 1, 2, 3, 1, 1, 2, 1, 3, 1, 2, 3, 1]);
}

fn shares(weights: &[u32]) -> Result<Vec<Stream>, StreamError> {
    resolve(&weights.iter().map(|&weight| Request::of(Service::FairShare(weight))).collect::<Vec<_>>())
}

#[test]
fn weights_become_windows() {
    let windows = |weights| shares(weights).unwrap().iter().map(|s| (s.window.tolerated, s.window.deadlines)).collect::<Vec<_>>();
    assert_eq!(windows(&[1, 1, 2, 4]), [(7, 8), (7, 8), (3, 4), (1, 2)]);
    assert_eq!(windows(&[10, 10, 20, 40]), windows(&[1, 1, 2, 4]));
    assert_eq!(windows(&[7]), [(0, 1)]);
    assert!(shares(&[1, 0]).is_err() && shares(&[u32::MAX, 1]).is_err());
}
