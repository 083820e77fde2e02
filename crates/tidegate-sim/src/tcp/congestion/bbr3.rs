//! BBR, version 3: the window follows a model of the path, and losses bound it.
//!
//! **Law.** Where a probe for bandwidth loses more than 2 % of a flight, what was in flight then bounds later ones. In other rounds with losses rate
//! and window go down to what was delivered, by 30 % at most.
//!
//! **Source.** draft-ietf-ccwg-bbr (August 2026), section 5, whose names the states have.
//!
//! **State.** [`Model`], and some twenty numbers.
//!
//! **Cost.** Some fifty comparisons and a division per acknowledgement.
//!
//! **Deviations.** A loss is judged by the segment whose arrival shows it, not by the lost one. No recovery is found to be spurious. Segments leave
//! one by one, so a quantum has the least size, two segments. Random waits come from the clock. Losses in Startup count by acknowledgement, as in
//! Linux, not by gap.

mod model;

use super::CongestionControl;
use crate::tcp::delivery::Sample;
use crate::tcp::flight::Flight;
use model::{BETA, LOSS_THRESHOLD, MIN_WINDOW, Model, rate_of};

/// The gain of the rate in Startup: 4 ln 2, which doubles it in every round trip.
const STARTUP_GAIN: f64 = 2.77;
/// The share of the bandwidth at which segments leave: 1 % below it.
const MARGIN: f64 = 0.99;
/// Three quanta of two segments: what hosts hold back.
const OFFLOAD_BUDGET: f64 = 6.0;
/// Rounds without growth after which the path is full, the growth that counts, and rounds after which Drain gives up.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
const DRAIN_ROUNDS: u64 = 3;
/// Acknowledgements with losses in a round that end Startup.
const STARTUP_LOSSES: u32 = 6;
/// The products of bandwidth and round trip in flight in ProbeRTT, and for how long, in picoseconds.
const ROUND_TRIP_GAIN: f64 = 0.5;
const PROBE_DURATION: u64 = 200_000_000_000;
/// The least wait between two probes for bandwidth, in picoseconds, and the most rounds: what Reno needs to grow by 63 segments.
const PROBE_WAIT: u64 = 2_000_000_000_000;
const PROBE_ROUNDS: f64 = 63.0;
/// The round trip before one has been measured, in picoseconds.
const DEFAULT_ROUND_TRIP: u64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    /// ProbeBW_DOWN: slower than the bandwidth, to drain what the probe has queued.
    Down,
    /// ProbeBW_CRUISE: at the bandwidth.
    Cruise,
    /// ProbeBW_REFILL: at the bandwidth for a round, without the short-term bounds.
    Refill,
    /// ProbeBW_UP: faster, to find more.
    Up,
    /// ProbeRTT: half of the product, to measure the round trip.
    RoundTrip,
}

/// What acknowledgements say of a probe for bandwidth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Coming,
    Stopping,
}

/// Finds whether a rising rate has come to an end.
#[derive(Clone, Debug, Default)]
struct FullPipe {
    /// Ever, and since the last reset.
    was_found: bool,
    is_found: bool,
    rate: f64,
    rounds: u32,
}

impl FullPipe {
    fn reset(&mut self, rate: f64) {
        (self.is_found, self.rate, self.rounds) = (false, rate, 0);
    }

    fn on_round(&mut self, rate: f64) {
        if self.is_found {
            return;
        }
        if rate >= self.rate * FULL_GROWTH {
            return self.reset(rate);
        }
        self.rounds += 1;
        self.is_found = self.rounds >= FULL_ROUNDS;
        self.was_found |= self.is_found;
    }
}

/// The probe for bandwidth, and the wait for the next.
#[derive(Clone, Debug)]
struct Probe {
    feedback: Feedback,
    /// The samples are those of a probe that has not been judged.
    is_sampled: bool,
    /// Segments acknowledged at the bound, and how many of them raise it by one; the rounds of this probe.
    acked: f64,
    acked_per_segment: f64,
    rounds: u32,
    rounds_since: u64,
    began_at: u64,
    wait: u64,
    /// The last probe lost too much; it ended at the bound of one that had.
    was_too_high: bool,
    was_cautious: bool,
}

/// BBR's model of the path, and its state.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    model: Model,
    state: State,
    pipe: FullPipe,
    probe: Probe,
    /// Segments per picosecond at which segments leave.
    pace: f64,
    drain_round: u64,
    /// When few segments will have been in flight for long enough; 0 before they are. Whether a round of it is over.
    probed_at: u64,
    is_probed_round: bool,
    /// Nothing was in flight: the round trip is measured without a probe.
    is_restart: bool,
    /// The window in bytes before a loss or a measurement of the round trip.
    before: u64,
    is_recovering: bool,
    /// Acknowledgements in this round that have shown losses.
    losses: u32,
    /// The window has held back segments, in this round and in the last.
    is_limited: [bool; 2],
    initial_window: u64,
}

impl Bbr3 {
    fn probes_bandwidth(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// The product of bandwidth and round trip times a gain.
    fn volume(&self, rate: f64, gain: f64) -> f64 {
        self.model.product(rate).map_or(self.initial_window as f64, |product| gain * product)
    }

    /// At least what hosts and delayed acknowledgements need.
    fn quantised(&self, volume: f64) -> f64 {
        let volume = volume.max(OFFLOAD_BUDGET).max(MIN_WINDOW);
        if self.state == State::Up { volume + 2.0 } else { volume }
    }

    fn round_trip_window(&self) -> f64 {
        self.volume(self.model.bandwidth, ROUND_TRIP_GAIN).max(MIN_WINDOW)
    }

    /// The product, unless losses have made the window smaller.
    fn target(&self, window: f64) -> f64 {
        self.volume(self.model.bandwidth, 1.0).min(window)
    }

    fn start_down(&mut self, now: u64) {
        self.model.forget_signals();
        self.probe.acked_per_segment = f64::INFINITY;
        // A wait of two to three seconds, or of a number of rounds, one of which may have passed.
        let draw = (now / 1_000_000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.probe.rounds_since = draw & 1;
        self.probe.wait = PROBE_WAIT + draw % 1000 * (PROBE_WAIT / 2000);
        self.probe.began_at = now;
        self.probe.feedback = Feedback::Stopping;
        self.model.start_round();
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.model.forget_short_term();
        let probe = &mut self.probe;
        (probe.rounds, probe.acked, probe.was_cautious, probe.feedback) = (0, 0.0, false, Feedback::Refilling);
        self.model.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, rate: f64, window: f64) {
        self.probe.feedback = Feedback::Starting;
        self.model.start_round();
        self.pipe.reset(rate);
        self.state = State::Up;
        self.raise_slope(window);
    }

    /// The bound rises by 1, 2, 4 and so on segments per round.
    fn raise_slope(&mut self, window: f64) {
        let growth = f64::from(1u32 << self.probe.rounds);
        self.probe.rounds = (self.probe.rounds + 1).min(30);
        self.probe.acked_per_segment = (window / growth).max(1.0);
    }

    /// What this acknowledgement shows to be lost, segment by segment.
    fn on_losses(&mut self, now: u64, sample: &Sample, window: f64) {
        for nth in 1..=sample.newly_lost {
            self.model.note_loss();
            let lost = sample.lost.saturating_sub(sample.newly_lost - nth) as f64;
            let in_flight = sample.sent_in_flight as f64;
            if !self.probe.is_sampled || lost <= in_flight * LOSS_THRESHOLD {
                continue;
            }
            // The flight in which losses reached the threshold.
            let (flight_before, lost_before) = (in_flight - 1.0, lost - 1.0);
            let safe = flight_before + (LOSS_THRESHOLD * flight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
            self.on_too_much(now, sample, safe, window);
        }
    }

    /// The probe had more in flight than the path takes.
    fn on_too_much(&mut self, now: u64, sample: &Sample, safe: f64, window: f64) {
        self.probe.was_too_high = true;
        self.probe.is_sampled = false;
        if !sample.is_limited {
            self.model.long_volume = safe.max(self.target(window) * BETA);
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    /// Startup ends when the rate no longer grows, or in the second round of a recovery with many losses.
    fn check_startup(&mut self, sample: &Sample) {
        self.losses += u32::from(sample.newly_lost > 0);
        if self.model.begins_loss_round {
            let is_lossy = sample.lost as f64 > sample.sent_in_flight as f64 * LOSS_THRESHOLD;
            if self.state == State::Startup && sample.is_recovering && self.losses >= STARTUP_LOSSES && is_lossy {
                self.pipe.was_found = true;
                self.model.long_volume = self.volume(self.model.bandwidth, 1.0).max(self.model.latest_volume);
            }
            self.losses = 0;
        }
        if self.state == State::Startup && self.pipe.was_found {
            (self.state, self.drain_round) = (State::Drain, self.model.round);
        }
    }

    /// Follows a probe, and raises the long-term bound while losses are few. True if it has begun another.
    fn adapt_long_term(&mut self, sample: &Sample, window: f64) -> bool {
        let begins = self.model.begins_round;
        if self.probe.feedback == Feedback::Starting && begins {
            self.probe.feedback = Feedback::Coming;
        }
        if self.probe.feedback == Feedback::Stopping && begins {
            (self.probe.is_sampled, self.probe.feedback) = (false, Feedback::None);
            if self.probes_bandwidth() {
                if !sample.is_limited {
                    self.model.next_cycle();
                }
                if self.probe.was_cautious && !self.probe.was_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let is_lossy = sample.lost as f64 > sample.sent_in_flight as f64 * LOSS_THRESHOLD;
        if is_lossy || self.model.long_volume == f64::INFINITY {
            return false;
        }
        self.model.long_volume = self.model.long_volume.max(sample.sent_in_flight as f64);
        if self.state == State::Up && self.is_window_limited() && window >= self.model.long_volume {
            self.probe.acked += sample.news as f64;
            let raised = (self.probe.acked / self.probe.acked_per_segment).floor();
            if raised > 0.0 {
                self.probe.acked -= raised * self.probe.acked_per_segment;
                self.model.long_volume += raised;
            }
            if begins {
                self.raise_slope(window);
            }
        }
        false
    }

    fn is_window_limited(&self) -> bool {
        self.is_limited[0] || self.is_limited[1]
    }

    fn is_time_to_probe(&self, now: u64, window: f64) -> bool {
        let rounds = self.target(window).min(PROBE_ROUNDS);
        now > self.probe.began_at + self.probe.wait || self.probe.rounds_since as f64 >= rounds
    }

    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.model.with_headroom() && in_flight <= self.quantised(self.volume(self.model.max_rate(), 1.0))
    }

    fn is_time_to_go_down(&mut self, in_flight: f64, rate: f64, window: f64) -> bool {
        if self.probe.was_too_high && in_flight >= self.model.long_volume {
            self.probe.was_cautious = true;
            return true;
        }
        if self.is_window_limited() && window >= self.model.long_volume {
            // The bound limits the rate, not the path.
            self.pipe.reset(rate);
            return false;
        }
        self.pipe.is_found
    }

    fn turn_cycle(&mut self, now: u64, sample: &Sample, rate: f64, window: f64) {
        if !self.pipe.was_found || self.adapt_long_term(sample, window) {
            return;
        }
        let in_flight = sample.in_flight as f64;
        let goes_down = self.state == State::Up && self.is_time_to_go_down(in_flight, rate, window);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now, window) => self.start_refill(),
            State::Down if self.is_time_to_cruise(in_flight) => self.state = State::Cruise,
            State::Refill if self.model.begins_round => {
                self.probe.is_sampled = true;
                self.start_up(rate, window);
            }
            State::Up if goes_down => {
                self.probe.was_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    fn probe_round_trip(&mut self, now: u64, flight: &mut Flight, sample: &Sample) {
        self.model.measure_round_trip(now, sample);
        if self.state != State::RoundTrip && self.model.is_probe_due && !self.is_restart {
            self.keep(flight);
            (self.state, self.probed_at, self.probe.feedback) = (State::RoundTrip, 0, Feedback::Stopping);
            self.model.start_round();
        }
        if self.state == State::RoundTrip {
            if self.probed_at == 0 {
                if sample.in_flight as f64 <= self.round_trip_window() {
                    (self.probed_at, self.is_probed_round) = (now + PROBE_DURATION, false);
                    self.model.start_round();
                }
            } else {
                self.is_probed_round |= self.model.begins_round;
                if self.is_probed_round {
                    self.end_round_trip_probe(now, flight);
                }
            }
        }
        if sample.delivered > 0 {
            self.is_restart = false;
        }
    }

    fn end_round_trip_probe(&mut self, now: u64, flight: &mut Flight) {
        if self.probed_at == 0 || now <= self.probed_at {
            return;
        }
        self.model.recent_round_trip_at = now;
        flight.cwnd = flight.cwnd.max(self.before);
        self.model.forget_short_term();
        if self.pipe.was_found {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// Remembers the window, unless a loss or a measurement has made it small.
    fn keep(&mut self, flight: &Flight) {
        let is_own = !self.is_recovering && self.state != State::RoundTrip;
        self.before = if is_own { flight.cwnd } else { self.before.max(flight.cwnd) };
    }

    fn set_pace(&mut self) {
        let gain = match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::RoundTrip => 1.0,
        };
        let pace = gain * self.model.bandwidth * MARGIN;
        if self.pipe.was_found || pace > self.pace {
            self.pace = pace;
        }
    }

    fn set_window(&mut self, flight: &mut Flight, sample: &Sample) {
        let gain = match self.state {
            State::Up => 2.25,
            State::RoundTrip => ROUND_TRIP_GAIN,
            _ => 2.0,
        };
        let most = self.quantised(self.volume(self.model.bandwidth, gain) + self.model.aggregation());
        let mut window = flight.cwnd as f64 / flight.segment as f64;
        let news = sample.news as f64;
        if self.pipe.was_found {
            window = (window + news).min(most);
        } else if window < most || sample.total < self.initial_window {
            window += news;
        }
        window = window.max(MIN_WINDOW);
        if self.state == State::RoundTrip {
            window = window.min(self.round_trip_window());
        }
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.model.long_volume,
            State::Cruise | State::RoundTrip => self.model.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        window = window.min(bound.min(self.model.short_volume).max(MIN_WINDOW));
        flight.cwnd = ((window * flight.segment as f64) as u64).min(flight.window);
    }
}

impl CongestionControl for Bbr3 {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str = "a model of bandwidth and round trip, bounded by losses (BBR version 3, draft-ietf-ccwg-bbr)";
    const MEASURES: bool = true;

    fn new() -> Bbr3 {
        Bbr3 {
            model: Model::new(),
            state: State::Startup,
            pipe: FullPipe::default(),
            probe: Probe {
                feedback: Feedback::None,
                is_sampled: false,
                acked: 0.0,
                acked_per_segment: f64::INFINITY,
                rounds: 0,
                rounds_since: 0,
                began_at: 0,
                wait: 0,
                was_too_high: false,
                was_cautious: false,
            },
            pace: 0.0,
            drain_round: 0,
            probed_at: 0,
            is_probed_round: false,
            is_restart: false,
            before: 0,
            is_recovering: false,
            losses: 0,
            is_limited: [false; 2],
            initial_window: 0,
        }
    }

    fn on_ack(&mut self, _now: u64, _flight: &mut Flight, _acked: u64) {}

    /// The model bounds the window; the recovery does not.
    fn on_loss(&mut self, flight: &Flight) -> u64 {
        self.keep(flight);
        self.is_recovering = true;
        flight.cwnd.max(2 * flight.segment)
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        self.on_loss(flight)
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
            self.model.begin(now);
        }
        if std::mem::replace(&mut self.is_recovering, sample.is_recovering) && !sample.is_recovering {
            flight.cwnd = flight.cwnd.max(self.before);
        }
        let window = flight.cwnd as f64 / flight.segment as f64;
        let rate = rate_of(sample, self.model.round_trip);
        self.model.deliver(sample);
        self.on_losses(now, sample, window);
        self.is_limited[0] |= sample.is_window_limited;
        self.model.on_sample(sample, rate);
        if self.model.begins_round {
            self.probe.rounds_since += 1;
            self.is_limited = [sample.is_window_limited, self.is_limited[0]];
        }
        if self.model.begins_loss_round {
            self.model.on_loss_round(window, matches!(self.state, State::Startup | State::Refill | State::Up));
        }
        self.model.measure_aggregation(now, sample, window, self.pipe.was_found);
        if self.model.begins_round && !sample.is_limited {
            self.pipe.on_round(rate);
        }
        self.check_startup(sample);
        let is_drained = sample.in_flight as f64 <= self.quantised(self.volume(self.model.bandwidth, 1.0));
        if self.state == State::Drain && (is_drained || self.model.round > self.drain_round + DRAIN_ROUNDS) {
            self.start_down(now);
        }
        self.turn_cycle(now, sample, rate, window);
        self.probe_round_trip(now, flight, sample);
        self.model.advance(sample, rate);
        self.set_pace();
        self.set_window(flight, sample);
        self.state == State::RoundTrip
    }

    fn on_restart(&mut self, now: u64, flight: &mut Flight) {
        self.is_restart = true;
        self.model.restart_aggregation(now);
        if self.probes_bandwidth() {
            self.pace = self.model.bandwidth * MARGIN;
        } else if self.state == State::RoundTrip {
            self.end_round_trip_probe(now, flight);
        }
    }

    fn pacing_interval(&self, flight: &Flight) -> u64 {
        if self.pace > 0.0 {
            return (1.0 / self.pace) as u64;
        }
        let round_trip = if flight.round_trip > 0 { flight.round_trip } else { DEFAULT_ROUND_TRIP };
        (round_trip as f64 / (STARTUP_GAIN * (flight.cwnd / flight.segment) as f64)) as u64
    }
}

#[cfg(test)]
mod tests;
