//! Forward acknowledgement: every unreported segment below the highest reported one has left the network.
//!
//! **Law.** What has been sent beyond the highest reported segment, and what has been sent again and not been acknowledged, stays within
//! the window.
//!
//! **Source.** Mathis and Mahdavi, "Forward acknowledgement: refining TCP congestion control", SIGCOMM 1996, sections 2 and 3.
//!
//! **State.** [`super::super::scoreboard::Scoreboard`]; for each segment sent again, the first segment not sent by then.
//!
//! **Cost.** A few comparisons per segment.
//!
//! **Deviations.** The refinements of that paper's section 4 (overdamping, rampdown) are left out.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Fack {
    /// Segments sent again and not acknowledged, each with the first segment that had not been sent by then.
    resent: VecDeque<(u64, u64)>,
}

impl Fack {
    /// The segment behind the highest one that is known to have come.
    fn forward(flight: &Flight) -> u64 {
        flight.board.end().max(flight.una)
    }

    /// Forgets the segments sent again that have come. Recovery fails if a segment sent after one of the others has come: that one is lost again.
    fn judge(&mut self, flight: &Flight) -> Verdict {
        self.resent.retain(|&(segment, _)| segment >= flight.una && !flight.board.is_sacked(segment));
        let forward = Fack::forward(flight);
        if self.resent.iter().any(|&(_, sent_before)| forward > sent_before) { Verdict::Fails } else { Verdict::Continues }
    }
}

impl LossRecovery for Fack {
    const NAME: &'static str = "fack";
    const SUMMARY: &'static str = "selective acknowledgements, where all below the highest reported segment has left the network (1996)";
    const SELECTIVE: bool = true;

    fn new() -> Fack {
        Fack { resent: VecDeque::new() }
    }

    fn begins(&self, flight: &Flight) -> bool {
        flight.duplicates >= 3 || Fack::forward(flight) - flight.una > 3
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.cwnd = flight.ssthresh;
        flight.board.restart(flight.una);
        flight.board.resend(flight.una, flight.una + 1);
        flight.resend = Some(flight.una);
        self.resent.clear();
        self.resent.push_back((flight.una, flight.max));
    }

    fn on_duplicate_ack(&mut self, flight: &mut Flight, _news: u64) -> Verdict {
        self.judge(flight)
    }

    fn on_new_ack(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        if flight.una >= flight.recover { Verdict::Ends } else { self.judge(flight) }
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        let in_flight = flight.max - Fack::forward(flight) + self.resent.len() as u64;
        if in_flight * flight.segment >= flight.cwnd {
            return None;
        }
        let board = &mut flight.board;
        match board.first_unsacked(board.resent_to().max(flight.una), board.end()) {
            Some(hole) => {
                board.resend(flight.una, hole + 1);
                self.resent.push_back((hole, flight.max));
                Some(hole)
            }
            None => flight.has_new().then_some(flight.max),
        }
    }
}
