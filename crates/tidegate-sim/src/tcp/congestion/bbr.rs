//! BBR, version 1: the window follows a model of the path, its bandwidth and its round trip without queues, instead of losses.
//!
//! **Law.** In the long run about one product of bandwidth and round-trip time is in flight, at most two. Segments leave at the latest measured rate
//! times a gain that is one on average. The bandwidth is measured again in one round trip of eight, by sending a quarter faster; the round trip
//! every ten seconds, by four segments in flight for 200 ms.
//!
//! **Source.** Cardwell, Cheng, Hassas Yeganeh and Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00, section 4.
//!
//! **State.** The greatest delivery rates of the last ten rounds, a minimum, and a dozen numbers.
//!
//! **Cost.** Some twenty comparisons and a division per acknowledgement.
//!
//! **Deviations.** Losses are not subtracted from the window; the first round of a recovery conserves packets. Each segment is paced by itself,
//! without bursts for segmentation offload. The phase at which the gain cycle is entered is drawn from the clock. There is no model of
//! policers, and none of aggregated acknowledgements, which Linux has and the draft has not.

use super::CongestionControl;
use crate::tcp::delivery::Sample;
use crate::tcp::flight::Flight;
use std::collections::VecDeque;

/// Doubles the rate in every round trip: 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
/// Gains of the rate, a round trip each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Products of bandwidth and round trip in flight, so that delayed acknowledgements do not leave the link idle.
const WINDOW_GAIN: f64 = 2.0;
/// Rounds for which a measured rate is valid.
const RATE_LIFETIME: u64 = 10;
/// How long a measured round trip is valid, in picoseconds.
const ROUND_TRIP_LIFETIME: u64 = 10_000_000_000_000;
/// How long few segments are in flight to measure the round trip, in picoseconds.
const PROBE_DURATION: u64 = 200_000_000_000;
/// The segments in flight then.
const PROBE_WINDOW: u64 = 4;
/// The round trip before one has been measured, in picoseconds.
const DEFAULT_ROUND_TRIP: u64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Doubles the rate until the bandwidth is found.
    Startup,
    /// Drains the queue that this has built.
    Drain,
    /// Goes through the cycle of gains.
    Bandwidth,
    /// Has few segments in flight, to measure the round trip.
    RoundTrip,
}

/// BBR's model of the path, and its state. Rates are in segments per picosecond.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    state: State,
    /// Candidates for the greatest rate, with the round of their measurement: falling.
    rates: VecDeque<(u64, f64)>,
    round: u64,
    /// The number of segments delivered at which the round is over.
    round_ends: u64,
    round_trip: Option<u64>,
    /// When this round trip was measured.
    measured_at: u64,
    /// The rate at which segments leave.
    pace: f64,
    /// The rate when it last grew by a quarter in a round, and the number of rounds since.
    full_rate: f64,
    full_rounds: u32,
    /// Where in the cycle, and since when.
    phase: usize,
    since: u64,
    /// When few segments will have been in flight for long enough; 0 before they are.
    probed_at: u64,
    is_probed_round: bool,
    /// The window before a loss or a measurement of the round trip.
    before: u64,
    is_recovering: bool,
    /// A recovery has begun, and no acknowledgement has come since.
    enters_recovery: bool,
    /// Packets are conserved: the first round of a recovery.
    conserves: bool,
    initial_window: u64,
}

impl Bbr {
    fn bandwidth(&self) -> f64 {
        self.rates.front().map_or(0.0, |rate| rate.1)
    }

    fn is_full(&self) -> bool {
        self.full_rounds >= 3
    }

    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::Bandwidth => CYCLE[self.phase],
            State::RoundTrip => 1.0,
        }
    }

    /// The segments to have in flight at this gain, and three more for hosts that send and acknowledge in bursts.
    fn in_flight(&self, gain: f64) -> u64 {
        let Some(round_trip) = self.round_trip else { return self.initial_window };
        (gain * self.bandwidth() * round_trip as f64).ceil() as u64 + 3
    }

    /// A round begins with the delivery of a segment that was sent after the end of the round before.
    fn count_round(&mut self, sample: &Sample) -> bool {
        let begins = sample.delivered > 0 && sample.prior >= self.round_ends;
        if begins {
            self.round_ends = sample.total;
            self.round += 1;
        }
        begins
    }

    fn measure_rate(&mut self, sample: &Sample) {
        // A sample over less than a round trip measures nothing.
        if sample.interval == 0 || self.round_trip.is_some_and(|least| sample.interval < least) {
            return;
        }
        let rate = sample.delivered as f64 / sample.interval as f64;
        if sample.is_limited && rate < self.bandwidth() {
            return;
        }
        while self.rates.back().is_some_and(|last| last.1 <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.round, rate));
        while self.rates.front().is_some_and(|first| first.0 + RATE_LIFETIME < self.round) {
            self.rates.pop_front();
        }
    }

    fn turn_cycle(&mut self, now: u64, sample: &Sample) {
        let gain = CYCLE[self.phase];
        let is_long = now - self.since > self.round_trip.unwrap_or(0);
        let is_over = if gain > 1.0 {
            is_long && (sample.is_loss || sample.in_flight_before >= self.in_flight(gain))
        } else if gain < 1.0 {
            is_long || sample.in_flight_before <= self.in_flight(1.0)
        } else {
            is_long
        };
        if is_over {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.since = now;
        }
    }

    fn find_full(&mut self, sample: &Sample) {
        if self.is_full() || sample.is_limited {
            return;
        }
        if self.bandwidth() >= self.full_rate * 1.25 {
            (self.full_rate, self.full_rounds) = (self.bandwidth(), 0);
        } else {
            self.full_rounds += 1;
        }
    }

    fn begin_cycle(&mut self, now: u64) {
        self.state = State::Bandwidth;
        self.since = now;
        // Any phase but the second, which drains what the first has queued.
        let draw = (now / 1_000_000) as usize % (CYCLE.len() - 1);
        self.phase = if draw == 0 { 0 } else { draw + 1 };
    }

    fn measure_round_trip(&mut self, now: u64, flight: &mut Flight, sample: &Sample, begins: bool) {
        let is_old = now > self.measured_at + ROUND_TRIP_LIFETIME;
        if let Some(round_trip) = sample.round_trip
            && (is_old || self.round_trip.is_none_or(|least| round_trip <= least))
        {
            self.round_trip = Some(round_trip);
            self.measured_at = now;
        }
        if is_old && self.state != State::RoundTrip && self.round_trip.is_some() {
            self.state = State::RoundTrip;
            self.keep(flight);
            self.probed_at = 0;
        }
        if self.state != State::RoundTrip {
            return;
        }
        if self.probed_at == 0 {
            if sample.in_flight <= PROBE_WINDOW {
                (self.probed_at, self.is_probed_round) = (now + PROBE_DURATION, false);
                self.round_ends = sample.total;
            }
        } else {
            self.is_probed_round |= begins;
            if self.is_probed_round && now > self.probed_at {
                self.measured_at = now;
                flight.cwnd = flight.cwnd.max(self.before);
                if self.is_full() { self.begin_cycle(now) } else { self.state = State::Startup }
            }
        }
    }

    /// Remembers the window, unless a loss or a measurement has made it small.
    fn keep(&mut self, flight: &Flight) {
        let is_own = !self.is_recovering && self.state != State::RoundTrip;
        self.before = if is_own { flight.cwnd } else { self.before.max(flight.cwnd) };
    }

    fn set_window(&mut self, flight: &mut Flight, sample: &Sample, begins: bool) {
        let target = self.in_flight(if self.state == State::Startup || self.state == State::Drain { HIGH_GAIN } else { WINDOW_GAIN });
        let mut window = flight.cwnd / flight.segment;
        if self.is_recovering && !sample.is_recovering {
            window = window.max(self.before / flight.segment);
        }
        self.is_recovering = sample.is_recovering;
        if std::mem::take(&mut self.enters_recovery) {
            // The round of conservation begins here, and replaces the one under way.
            self.round_ends = sample.total;
            self.conserves = true;
        } else if begins {
            self.conserves = false;
        }
        if self.is_recovering && self.conserves {
            window = window.max(sample.in_flight + sample.news);
        } else if self.is_full() {
            window = (window + sample.news).min(target);
        } else if window < target || sample.total < self.initial_window {
            window += sample.news;
        }
        window = window.max(PROBE_WINDOW);
        if self.state == State::RoundTrip {
            window = window.min(PROBE_WINDOW);
        }
        flight.cwnd = (window * flight.segment).min(flight.window);
    }
}

impl CongestionControl for Bbr {
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str = "a model of bandwidth and round trip instead of losses (BBR version 1)";
    const MEASURES: bool = true;

    fn new() -> Bbr {
        Bbr {
            state: State::Startup,
            rates: VecDeque::new(),
            round: 0,
            round_ends: 0,
            round_trip: None,
            measured_at: 0,
            pace: 0.0,
            full_rate: 0.0,
            full_rounds: 0,
            phase: 0,
            since: 0,
            probed_at: 0,
            is_probed_round: false,
            before: 0,
            is_recovering: false,
            enters_recovery: false,
            conserves: false,
            initial_window: 0,
        }
    }

    fn on_ack(&mut self, _now: u64, _flight: &mut Flight, _acked: u64) {}

    fn on_loss(&mut self, flight: &Flight) -> u64 {
        self.keep(flight);
        self.is_recovering = true;
        self.enters_recovery = true;
        (flight.board.pipe(flight.una, flight.max) + 1).max(2) * flight.segment
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        self.keep(flight);
        self.is_recovering = true;
        (self.enters_recovery, self.conserves) = (false, false);
        flight.cwnd
    }

    fn on_lost_retransmission(&mut self, _flight: &Flight, _window: u64) -> Option<u64> {
        None
    }

    /// The mark is answered, so that its echo ends; the model does not use it.
    fn on_ecn(&mut self, flight: &Flight) -> Option<u64> {
        Some(flight.cwnd)
    }

    fn on_rate_sample(&mut self, now: u64, flight: &mut Flight, sample: &Sample) -> bool {
        if self.initial_window == 0 {
            self.initial_window = flight.cwnd / flight.segment;
            self.measured_at = now;
        }
        let begins = self.count_round(sample);
        self.measure_rate(sample);
        if self.state == State::Bandwidth {
            self.turn_cycle(now, sample);
        }
        if begins {
            self.find_full(sample);
        }
        if self.state == State::Startup && self.is_full() {
            self.state = State::Drain;
        }
        if self.state == State::Drain && sample.in_flight <= self.in_flight(1.0) {
            self.begin_cycle(now);
        }
        self.measure_round_trip(now, flight, sample, begins);
        let pace = self.gain() * self.bandwidth();
        if self.is_full() || pace > self.pace {
            self.pace = pace;
        }
        self.set_window(flight, sample, begins);
        self.state == State::RoundTrip
    }

    fn pacing_interval(&self, flight: &Flight) -> u64 {
        if self.pace > 0.0 {
            return (1.0 / self.pace) as u64;
        }
        // Nothing has been measured: the first window over the round trip of the handshake, if there was one.
        let round_trip = if flight.round_trip > 0 { flight.round_trip } else { DEFAULT_ROUND_TRIP };
        (round_trip as f64 / (HIGH_GAIN * (flight.cwnd / flight.segment) as f64)) as u64
    }
}
