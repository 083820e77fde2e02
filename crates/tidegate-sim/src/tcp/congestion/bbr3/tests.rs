//! Tests of [`super`]: the draft's rules with their numbers. Connections over links are in `tests/tcp.rs`.

use super::*;
use crate::tcp::sender::Sender;
use crate::tcp::{CongestionKind, Tcp};

/// A millisecond in picoseconds.
const MS: u64 = 1_000_000_000;
/// A second in picoseconds.
const SECOND: u64 = 1000 * MS;

/// A path of this many segments per millisecond and 20 ms, on which a connection has a window of this many segments. Acknowledgements come one per
/// round, in which all of the window is delivered.
struct Path {
    bbr: Bbr3,
    flight: Flight,
    now: u64,
    total: u64,
    per_ms: f64,
}

impl Path {
    fn new(window: u64, per_ms: f64) -> Path {
        let tcp = Tcp { congestion: CongestionKind::Bbr3, segment: 1000, window: 1 << 30, ..Tcp::modern(Vec::new()) };
        let mut flight = Sender::new(&tcp, 0).flight;
        flight.cwnd = window * 1000;
        Path { bbr: Bbr3::new(), flight, now: 0, total: 0, per_ms }
    }

    fn window(&self) -> f64 {
        self.flight.cwnd as f64 / 1000.0
    }

    /// A round in which `in_flight` segments were sent, `lost` of them got lost, and the rest came at the rate of the path.
    fn round(&mut self, in_flight: u64, lost: u64) -> bool {
        self.now += 20 * MS;
        let prior = self.total;
        let news = in_flight - lost;
        self.total += news;
        let sample = Sample {
            news,
            total: self.total,
            prior,
            delivered: news,
            interval: (news as f64 / self.per_ms * MS as f64).max(20.0 * MS as f64) as u64,
            round_trip: Some(20 * MS),
            in_flight,
            sent_in_flight: in_flight,
            lost,
            newly_lost: lost,
            is_window_limited: true,
            ..Sample::default()
        };
        self.bbr.on_rate_sample(self.now, &mut self.flight, &sample)
    }

    /// A path on which Startup and Drain are over, with 100 segments per round trip.
    fn cruising() -> Path {
        let mut path = Path::new(100, 5.0);
        for _ in 0..10 {
            path.round(100, 0);
        }
        assert_eq!(path.bbr.state, State::Cruise);
        path
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::new(10, 5.0);
    let states: Vec<State> = [10, 20, 40, 80, 160, 200, 200]
        .map(|in_flight| {
            path.round(in_flight, 0);
            path.bbr.state
        })
        .into();
    // 100 segments fit into 20 ms: the rate is 0.5, 1, 2, 4 and 5 per ms, the last with growth of a quarter; then it stays.
    assert_eq!(states[..6], [State::Startup; 6]);
    path.round(200, 0);
    assert_eq!(path.bbr.state, State::Drain);
    assert!((path.bbr.pace * MS as f64 - 0.5 * 5.0 * 0.99).abs() < 1e-9);
}

#[test]
fn drain_ends_with_one_product_in_flight_or_after_three_rounds() {
    let mut path = Path::new(100, 5.0);
    for _ in 0..4 {
        path.round(200, 0);
    }
    assert_eq!(path.bbr.state, State::Drain);
    for _ in 0..3 {
        path.round(200, 0);
        assert_eq!(path.bbr.state, State::Drain);
    }
    path.round(200, 0);
    assert_eq!(path.bbr.state, State::Down);
    assert!((path.bbr.pace * MS as f64 - 0.9 * 5.0 * 0.99).abs() < 1e-9);
    // One product in flight: it cruises.
    path.round(100, 0);
    assert_eq!(path.bbr.state, State::Cruise);
    assert!((path.bbr.pace * MS as f64 - 5.0 * 0.99).abs() < 1e-9);
    // Two products, and the aggregation of acknowledgements that come once per round.
    assert!(path.bbr.quantised(path.bbr.volume(path.bbr.model.bandwidth, 2.0)) == 200.0);
}

#[test]
fn a_probe_for_bandwidth_comes_after_63_rounds_or_two_to_three_seconds() {
    let mut path = Path::cruising();
    while path.bbr.state == State::Cruise {
        path.round(100, 0);
    }
    assert_eq!(path.bbr.state, State::Refill);
    let rounds = (path.now - path.bbr.probe.began_at) / (20 * MS);
    assert!((62..=63).contains(&rounds), "{rounds}");
    path.round(100, 0);
    assert_eq!(path.bbr.state, State::Up);
    assert!((path.bbr.pace * MS as f64 - 1.25 * 5.0 * 0.99).abs() < 1e-9);
    assert!(path.window() > 200.0);
    // Three rounds without more end it.
    for _ in 0..3 {
        assert_eq!(path.bbr.state, State::Up);
        path.round(125, 0);
    }
    assert_eq!(path.bbr.state, State::Down);
}

#[test]
fn a_probe_that_loses_more_than_two_percent_bounds_what_is_in_flight() {
    let mut path = Path::cruising();
    while path.bbr.state != State::Up {
        path.round(100, 0);
    }
    path.round(125, 2);
    assert_eq!((path.bbr.state, path.bbr.model.long_volume), (State::Up, f64::INFINITY));
    path.round(150, 10);
    assert_eq!(path.bbr.state, State::Down);
    // The fourth loss of 150 is beyond 2 %: 149 + (0.02 x 149 - 3) / 0.98.
    assert!((path.bbr.model.long_volume - 148.979_591_8).abs() < 1e-6, "{}", path.bbr.model.long_volume);
    // It cruises with 15 % less, and the next probe stops at the bound.
    assert!((path.bbr.model.with_headroom() - 126.632_653).abs() < 1e-5);
    while path.bbr.state != State::Up {
        path.round(100, 0);
    }
    path.round(149, 0);
    assert_eq!((path.bbr.state, path.bbr.probe.was_cautious), (State::Down, true));
    // It did not lose too much: the next follows a round later.
    path.round(100, 0);
    assert_eq!(path.bbr.state, State::Refill);
}

#[test]
fn losses_beside_a_probe_reduce_window_and_rate_to_what_is_delivered_by_30_percent_at_most() {
    let mut path = Path::cruising();
    let before = path.window();
    path.round(100, 50);
    // The first loss begins a round, in which the greatest delivery was still all of the window.
    path.round(100, 50);
    assert!((path.bbr.model.bandwidth * MS as f64 - 5.0).abs() < 0.01);
    // Another loss begins another round, in which 50 of 100 are delivered at half of the rate.
    path.round(100, 50);
    path.round(100, 50);
    assert!((path.bbr.model.bandwidth * MS as f64 - 3.5).abs() < 0.01, "{}", path.bbr.model.bandwidth * MS as f64);
    assert!(path.window() <= (0.7 * before).max(100.0) + 1.0, "{} {before}", path.window());
    assert_eq!(path.bbr.model.long_volume, f64::INFINITY);
}

#[test]
fn six_acknowledgements_with_losses_in_a_round_of_recovery_end_startup() {
    let mut path = Path::new(100, 50.0);
    path.round(100, 0);
    let lossy = |path: &mut Path, prior: u64| {
        path.now += MS;
        path.total += 1;
        let sample = Sample {
            news: 1,
            total: path.total,
            prior,
            delivered: path.total - prior,
            interval: 20 * MS,
            round_trip: Some(20 * MS),
            in_flight: 2000,
            sent_in_flight: 100,
            lost: 6,
            newly_lost: 1,
            is_recovering: true,
            ..Sample::default()
        };
        path.bbr.on_rate_sample(path.now, &mut path.flight, &sample);
    };
    for _ in 0..5 {
        lossy(&mut path, 50);
        assert_eq!(path.bbr.state, State::Startup);
    }
    // The first after the round that began with the first loss.
    let begun = path.total;
    lossy(&mut path, begun);
    assert_eq!(path.bbr.state, State::Drain);
    assert!(path.bbr.model.long_volume >= 50.0);
}

#[test]
fn every_five_seconds_half_of_the_product_is_in_flight_for_200_ms() {
    let mut path = Path::cruising();
    // Round trips beyond the least: nothing refreshes it.
    let start = path.now;
    while path.bbr.state != State::RoundTrip {
        path.now += 20 * MS;
        let sample = Sample { total: path.total, round_trip: Some(21 * MS), in_flight: 100, is_limited: true, ..Sample::default() };
        path.bbr.on_rate_sample(path.now, &mut path.flight, &sample);
    }
    assert!(path.now - start <= 5 * SECOND + 20 * MS && path.now > 5 * SECOND);
    let before = path.bbr.before;
    assert!(path.window() <= 50.0, "{}", path.window());
    let began = path.now;
    while path.bbr.state == State::RoundTrip {
        // What it measures is limited by itself.
        assert!(path.round(50, 0) || path.bbr.state != State::RoundTrip);
    }
    assert!((200 * MS..300 * MS).contains(&(path.now - began)), "{}", path.now - began);
    assert_eq!(path.bbr.state, State::Cruise);
    assert!(path.flight.cwnd > before / 2 && path.window() > 100.0);
}

#[test]
fn the_slope_of_the_bound_doubles_in_every_round() {
    let mut bbr = Bbr3::new();
    let slopes: Vec<f64> = (0..8)
        .map(|_| {
            bbr.raise_slope(40.0);
            bbr.probe.acked_per_segment
        })
        .collect();
    assert_eq!(slopes, [40.0, 20.0, 10.0, 5.0, 2.5, 1.25, 1.0, 1.0]);
}
