//! Tests of [`super`].

use super::*;
use crate::tcp::sender::Sender;
use crate::tcp::{CongestionKind, Tcp};

/// A millisecond in picoseconds.
const MS: u64 = 1_000_000_000;

/// Prague in congestion avoidance with a window of 100 segments of 1000 bytes, and a round trip.
fn steady(round_trip: u64) -> (Prague, Flight) {
    let tcp = Tcp { congestion: CongestionKind::Prague, segment: 1000, ..Tcp::modern(Vec::new()) };
    let mut flight = Sender::new(&tcp, 0).flight;
    (flight.cwnd, flight.ssthresh, flight.written) = (100_000, 100_000, u64::MAX);
    let mut prague = Prague::new();
    prague.on_rate_sample(0, &mut flight, &Sample { round_trip: Some(round_trip), ..Sample::default() });
    (prague, flight)
}

/// A round: the acknowledgement of all that was in flight, `marked` of it marked, and as much again is sent. Returns the window that is left.
fn round(prague: &mut Prague, flight: &mut Flight, now: u64, marked: u64) -> Option<u64> {
    flight.una = flight.max;
    prague.on_feedback(now, flight, &Feedback { next: flight.una + 1, delivered: 100, marked });
    flight.max += 100;
    if marked > 0 { prague.on_ecn(flight) } else { None }
}

#[test]
fn the_first_mark_halves_the_window_and_the_average_begins_with_it() {
    let (mut prague, mut flight) = steady(30 * MS);
    for at in 1..100 {
        assert_eq!(round(&mut prague, &mut flight, at * 30 * MS, 0), None);
    }
    // The average is one, and this round has begun to count: 1 + (0.02 - 1) / 16.
    let left = round(&mut prague, &mut flight, 100 * 30 * MS, 2).unwrap();
    assert_eq!(left, (100_000.0 * (1.0 - 0.938_75 / 2.0)) as u64);
}

#[test]
fn with_two_marks_per_round_the_window_shrinks_by_one_segment_which_is_what_it_grows_by() {
    let (mut prague, mut flight) = steady(30 * MS);
    let left = (1..300).map(|at| round(&mut prague, &mut flight, at * 30 * MS, 2).unwrap()).last().unwrap();
    // The average has come to 2 of 100.
    assert!((99_000 - left as i64).abs() < 2, "{left}");
    (flight.cwnd, flight.ssthresh) = (left, left);
    for _ in 0..98 {
        prague.on_ack(0, &mut flight, 1);
    }
    assert!((flight.cwnd as i64 - 99_985).abs() < 20, "{}", flight.cwnd);
}

#[test]
fn after_500_rounds_short_round_trips_count_as_25_ms() {
    let (mut prague, mut flight) = steady(5 * MS);
    let grown = |prague: &mut Prague, flight: &mut Flight| {
        let before = flight.cwnd;
        for _ in 0..100 {
            prague.on_ack(0, flight, 1);
        }
        std::mem::replace(&mut flight.cwnd, before) - before
    };
    for at in 1..500 {
        let left = round(&mut prague, &mut flight, at * 5 * MS, 2);
        assert!(left.is_some());
    }
    assert!((990..=1000).contains(&grown(&mut prague, &mut flight)));
    // From here on a segment per 25 ms in a window of 25 ms: a 25th per round trip. Reductions are 25 ms apart.
    let reduced: Vec<bool> = (500..525).map(|at| round(&mut prague, &mut flight, at * 5 * MS, 2).is_some()).collect();
    assert_eq!(reduced.iter().filter(|&&reduced| reduced).count(), 5);
    assert!((39..=40).contains(&grown(&mut prague, &mut flight)));
}

#[test]
fn long_round_trips_are_what_they_are() {
    let (mut prague, mut flight) = steady(80 * MS);
    for at in 1..600 {
        assert!(round(&mut prague, &mut flight, at * 80 * MS, 2).is_some());
    }
    assert_eq!(prague.virtual_round_trip(), prague.round_trip);
}

#[test]
fn a_mark_and_a_loss_in_one_round_trip_halve_the_window_together() {
    let (mut prague, mut flight) = steady(30 * MS);
    for at in 1..200 {
        round(&mut prague, &mut flight, at * 30 * MS, 20);
    }
    flight.cwnd = 100_000;
    flight.cwnd = round(&mut prague, &mut flight, 200 * 30 * MS, 20).unwrap();
    assert!((89_900..90_100).contains(&flight.cwnd));
    assert!((49_990..=50_000).contains(&prague.on_loss(&flight)));
    // A round trip later the loss halves what there is.
    round(&mut prague, &mut flight, 201 * 30 * MS, 0);
    assert_eq!(prague.on_loss(&flight), flight.cwnd / 2);
}

#[test]
fn segments_are_spread_over_the_round_trip_and_twice_as_fast_in_slow_start() {
    let (prague, mut flight) = steady(30 * MS);
    assert_eq!(prague.pacing_interval(&flight), 30 * MS / 100);
    flight.ssthresh = 300_000;
    assert_eq!(prague.pacing_interval(&flight), 30 * MS / 200);
}

/// The window of 100 segments after 40 rounds of 100 acknowledgements with a mark each, over round trips that go up and down by `swing`.
fn after_marks(falls_back: bool, base: u64, swing: u64) -> u64 {
    let (mut prague, mut flight) = steady(base);
    flight.falls_back = falls_back;
    let (mut left, mut now) = (0, 0);
    for at in 0..40 {
        for nth in 0..100u64 {
            // Up over a round, and down over the next.
            let round_trip = Some(base + swing * if at % 2 == 0 { nth } else { 100 - nth } / 100);
            prague.on_rate_sample(now, &mut flight, &Sample { round_trip, ..Sample::default() });
        }
        now += base + swing;
        left = round(&mut prague, &mut flight, now, 1).unwrap();
    }
    left
}

#[test]
fn a_queue_that_swings_by_milliseconds_is_answered_as_a_classic_one_if_asked_for() {
    let scaled = after_marks(false, 25 * MS, 20 * MS);
    // Alpha is near 1 %, beyond what is left of the first: 0.99 x (15/16)^40 is 7.5 %.
    assert!((95_000..97_000).contains(&scaled), "{scaled}");
    assert_eq!(after_marks(true, 25 * MS, 20 * MS), 68_750);
    // A queue of half a millisecond is one for low latency.
    assert_eq!(after_marks(true, 25 * MS, MS / 2), after_marks(false, 25 * MS, MS / 2));
}
