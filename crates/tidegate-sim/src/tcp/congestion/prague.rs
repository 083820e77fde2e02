//! Prague: DCTCP for the Internet, which paces its segments and whose rate does not depend on round trips below 25 ms.
//!
//! **Law.** Marks reduce the window by half of their average share, once per round trip. A loss halves it, whatever marks have done in that round
//! trip.
//!
//! **Source.** draft-briscoe-iccrg-prague-congestion-control-02, sections 2.3.2 (the average), 2.4.1 to 2.4.4 (losses, marks, increase, round
//! trips), 2.5.1 (pacing).
//!
//! **State.** [`MarkAverage`], [`ClassicQueue`] and eight numbers.
//!
//! **Cost.** Two divisions per acknowledgement.
//!
//! **Deviations.** Each segment is paced by itself, without bursts of 250 us. Without ECN it is a paced Reno. The draft leaves the detection of queues that mark
//! as RFC 3168 says to further work; [`ClassicQueue`] is that of Linux, which is off unless it is asked for.

use super::classic_queue::ClassicQueue;
use super::mark_average::MarkAverage;
use super::reno::Reno;
use super::{CongestionControl, slow_start};
use crate::tcp::delivery::Sample;
use crate::tcp::ecn::{EcnMode, Feedback};
use crate::tcp::flight::Flight;

/// The least virtual round trip, in picoseconds: 25 ms.
const VIRTUAL_ROUND_TRIP: u64 = 25_000_000_000;
/// The rounds for which the rate depends on the round trip, as Reno's does.
const DEPENDENT_ROUNDS: u64 = 500;

/// A reduction by a mark.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    at: u64,
    /// The share of the window that it left.
    remainder: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Prague {
    marks: MarkAverage,
    queue: ClassicQueue,
    /// A mark has come; before, there is no average.
    has_marks: bool,
    /// The smoothed round trip in picoseconds, 0 before the first.
    round_trip: u64,
    /// Rounds so far, and the first segment that had not been sent when this one began.
    rounds: u64,
    round_ends: u64,
    /// When the average was last updated.
    averaged_at: u64,
    reduction: Option<Reduction>,
    /// When the latest acknowledgement came.
    now: u64,
    /// The fraction of a byte of the window.
    fraction: f64,
}

impl Prague {
    /// The period of the average, of reductions and of the increase, in picoseconds.
    fn virtual_round_trip(&self) -> u64 {
        if self.rounds < DEPENDENT_ROUNDS { self.round_trip } else { self.round_trip.max(VIRTUAL_ROUND_TRIP) }
    }
}

impl CongestionControl for Prague {
    const NAME: &'static str = "prague";
    const SUMMARY: &'static str =
        "DCTCP for the Internet: paced, and fair to longer round trips (draft-briscoe-iccrg-prague-congestion-control)";
    const MEASURES: bool = true;
    const ECN: EcnMode = EcnMode::L4s;

    fn new() -> Prague {
        Prague {
            marks: MarkAverage::new(),
            queue: ClassicQueue::new(),
            has_marks: false,
            round_trip: 0,
            rounds: 0,
            round_ends: 0,
            averaged_at: 0,
            reduction: None,
            now: 0,
            fraction: 0.0,
        }
    }

    fn on_ack(&mut self, _now: u64, flight: &mut Flight, acked: u64) {
        if flight.cwnd < flight.ssthresh {
            return slow_start(flight, acked);
        }
        // A window per virtual round trip grows by a segment per virtual round trip: both are longer by the same factor.
        let factor = self.virtual_round_trip().max(1) as f64 / self.round_trip.max(1) as f64;
        let acked = flight.growth.in_avoidance(acked) as f64;
        let segment = flight.segment as f64;
        let bytes = acked * segment * segment / flight.cwnd as f64 / (factor * factor) + self.fraction;
        flight.cwnd += bytes as u64;
        self.fraction = bytes - (bytes as u64) as f64;
    }

    fn on_loss(&mut self, flight: &Flight) -> u64 {
        self.queue.on_reduction(flight.ssthresh / flight.segment);
        let window = flight.size().min(flight.cwnd) as f64;
        // A mark in this round trip has done a part of it.
        let before = match self.reduction {
            Some(reduction) if self.now - reduction.at < self.round_trip => window / reduction.remainder,
            _ => window,
        };
        ((before / 2.0) as u64).max(2 * flight.segment)
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        Reno.on_rto(flight)
    }

    fn on_feedback(&mut self, now: u64, flight: &Flight, feedback: &Feedback) {
        self.now = now;
        self.has_marks |= feedback.marked > 0;
        if self.has_marks {
            self.marks.add(feedback);
        }
        if feedback.next <= self.round_ends {
            return;
        }
        self.round_ends = flight.max;
        self.rounds += 1;
        // A round takes a round trip, or a little less if that has grown.
        let is_due = self.rounds <= DEPENDENT_ROUNDS || now - self.averaged_at >= self.virtual_round_trip();
        if self.has_marks && is_due {
            self.marks.end_round();
            self.queue.on_round();
            self.averaged_at = now;
        }
    }

    fn on_ecn(&mut self, flight: &Flight) -> Option<u64> {
        if self.rounds >= DEPENDENT_ROUNDS
            && let Some(reduction) = self.reduction
            && self.now - reduction.at < self.virtual_round_trip()
        {
            return None;
        }
        self.queue.on_reduction(flight.ssthresh / flight.segment);
        let least = if flight.falls_back { self.queue.least_share() } else { 0.0 };
        let remainder = 1.0 - self.marks.alpha().max(least) / 2.0;
        self.reduction = Some(Reduction { at: self.now, remainder });
        Some(((flight.cwnd as f64 * remainder) as u64).max(2 * flight.segment))
    }

    fn on_rate_sample(&mut self, _now: u64, _flight: &mut Flight, sample: &Sample) -> bool {
        if let Some(measured) = sample.round_trip {
            self.queue.on_round_trip(measured);
            self.round_trip = if self.round_trip == 0 { measured } else { self.round_trip - self.round_trip / 8 + measured / 8 };
        }
        false
    }

    fn pacing_interval(&self, flight: &Flight) -> u64 {
        let mut window = flight.cwnd / flight.segment;
        if flight.max - flight.una > window {
            window = window.max(flight.board.pipe(flight.una, flight.max));
        }
        let pace = if flight.cwnd < flight.ssthresh / 2 { 2 } else { 1 };
        self.round_trip / (pace * window.max(1))
    }
}

#[cfg(test)]
mod tests;
