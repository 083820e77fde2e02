//! Recovery with selective acknowledgements as simulated in 1996: each duplicate acknowledgement lowers the count of what is in flight by one.
//!
//! **Law.** Every segment that an acknowledgement shows to have left the network makes room for one.
//!
//! **Source.** Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", Computer Communication Review 26(3), 1996, section
//! 4.
//!
//! **State.** One count; [`super::super::scoreboard::Scoreboard`] for the holes.
//!
//! **Cost.** A few comparisons per segment.
//!
//! **Deviations.** None known. A segment that is sent again and lost again waits for the timer.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;

#[derive(Clone, Debug)]
pub(crate) struct Sack1996 {
    /// Segments thought to be in flight.
    pipe: u64,
}

impl LossRecovery for Sack1996 {
    const NAME: &'static str = "sack-1996";
    const SUMMARY: &'static str = "selective acknowledgements with a count of duplicate acknowledgements (Fall and Floyd, 1996)";
    const SELECTIVE: bool = true;

    fn new() -> Sack1996 {
        Sack1996 { pipe: 0 }
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.cwnd = flight.ssthresh;
        flight.board.restart(flight.una);
        flight.board.resend(flight.una, flight.una + 1);
        flight.resend = Some(flight.una);
        // Three have left the network; one is about to be sent.
        self.pipe = (flight.max - flight.una).saturating_sub(3) + 1;
    }

    fn on_duplicate_ack(&mut self, _flight: &mut Flight, _news: u64) -> Verdict {
        self.pipe = self.pipe.saturating_sub(1);
        Verdict::Continues
    }

    fn on_new_ack(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        if flight.una >= flight.recover {
            return Verdict::Ends;
        }
        // Both the lost segment and its retransmission have left the network.
        self.pipe = self.pipe.saturating_sub(2);
        Verdict::Continues
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        if flight.cwnd < (self.pipe + 1) * flight.segment {
            return None;
        }
        let board = &mut flight.board;
        let hole = board.first_unsacked(board.resent_to().max(flight.una), board.end());
        let next = match hole {
            Some(hole) => {
                board.resend(flight.una, hole + 1);
                Some(hole)
            }
            None => flight.has_new().then_some(flight.max),
        };
        self.pipe += u64::from(next.is_some());
        next
    }
}
