//! Recovery with selective acknowledgements: the window bounds what is in flight, as estimated from the receiver's reports.
//!
//! **Law.** RFC 6675's pipe never grows beyond the window by a segment that recovery sends: lost segments first, then new ones.
//!
//! **Source.** RFC 6675, sections 4 (SetPipe, NextSeg) and 5.
//!
//! **State.** [`super::super::scoreboard::Scoreboard`].
//!
//! **Cost.** A few comparisons per segment.
//!
//! **Deviations.** NextSeg's rule 4, which sends the last segment once more when nothing else is left, is left out; it is optional. A
//! segment that is sent again and lost again waits for the timer, as in the RFC.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;

#[derive(Clone, Debug)]
pub(crate) struct Sack;

impl LossRecovery for Sack {
    const NAME: &'static str = "sack";
    const SUMMARY: &'static str = "selective acknowledgements with an estimate of what is in flight (RFC 2018, RFC 6675)";
    const SELECTIVE: bool = true;
    const IS_BOUNDED: bool = true;

    fn new() -> Sack {
        Sack
    }

    fn begins(&self, flight: &Flight) -> bool {
        flight.duplicates >= 3 || flight.board.border() > flight.una
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.cwnd = flight.ssthresh;
        flight.board.restart(flight.una);
        flight.board.resend(flight.una, flight.una + 1);
        flight.resend = Some(flight.una);
    }

    fn on_duplicate_ack(&mut self, _flight: &mut Flight, _news: u64) -> Verdict {
        Verdict::Continues
    }

    fn on_new_ack(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        if flight.una >= flight.recover { Verdict::Ends } else { Verdict::Continues }
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        let board = &mut flight.board;
        let pipe = board.pipe(flight.una, flight.max);
        if flight.cwnd < (pipe + 1) * flight.segment {
            return None;
        }
        let from = board.resent_to().max(flight.una);
        let lost = board.first_unsacked(from, board.border());
        if lost.is_none() && flight.max < flight.written && (flight.max - flight.una + 1) * flight.segment <= flight.window {
            return Some(flight.max);
        }
        let hole = lost.or_else(|| board.first_unsacked(from, board.end()))?;
        board.resend(flight.una, hole + 1);
        Some(hole)
    }
}
