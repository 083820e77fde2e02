//! DCTCP: after a mark the window goes down in proportion to the share of segments that are marked; otherwise it is Reno.
//!
//! **Law.** A window goes down by at most half per round trip. Where a share a of segments is marked, it goes down by a/2.
//!
//! **Source.** RFC 8257, sections 3.3 (the average and the window) and 3.4 (losses).
//!
//! **State.** [`MarkAverage`], and where its round ends.
//!
//! **Cost.** Reno's, and a comparison per acknowledgement.
//!
//! **Deviations.** A round ends with the acknowledgement beyond its last segment, before that acknowledgement reduces the window. See
//! [`MarkAverage`] for its arithmetic.

use super::CongestionControl;
use super::mark_average::MarkAverage;
use super::reno::Reno;
use crate::tcp::ecn::{EcnMode, Feedback};
use crate::tcp::flight::Flight;

#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    marks: MarkAverage,
    /// The first segment that had not been sent when the round began.
    round_ends: u64,
}

impl CongestionControl for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "Reno, but marks reduce the window in proportion to their share (RFC 8257)";
    const ECN: EcnMode = EcnMode::Dctcp;

    fn new() -> Dctcp {
        Dctcp { marks: MarkAverage::new(), round_ends: 0 }
    }

    fn on_ack(&mut self, now: u64, flight: &mut Flight, acked: u64) {
        Reno.on_ack(now, flight, acked);
    }

    fn on_loss(&mut self, flight: &Flight) -> u64 {
        Reno.on_loss(flight)
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        Reno.on_rto(flight)
    }

    fn on_feedback(&mut self, _now: u64, flight: &Flight, feedback: &Feedback) {
        self.marks.add(feedback);
        if feedback.next > self.round_ends {
            self.marks.end_round();
            self.round_ends = flight.max;
        }
    }

    fn on_ecn(&mut self, flight: &Flight) -> Option<u64> {
        Some(((flight.cwnd as f64 * self.marks.remainder()) as u64).max(2 * flight.segment))
    }
}
