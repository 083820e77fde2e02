//! Reno: one segment more per round trip, and half as much after a loss.
//!
//! **Law.** A window of w segments grows by at most 1/w segments for every segment acknowledged, and so by at most one segment per round trip.
//!
//! **Source.** RFC 5681, sections 3.1 (equations 2 to 4) and 3.2; the arithmetic is that of 4.4BSD.
//!
//! **State.** None beyond the windows.
//!
//! **Cost.** One division per acknowledgement.
//!
//! **Deviations.** The RFC halves what is in flight, 4.4BSD the window. Here duplicate acknowledgements halve what is in flight; a timeout halves
//! the window, since much of what counts as in flight is lost then. [`Growth`](crate::tcp::Growth) decides what an acknowledgement of
//! several segments counts.

use super::{CongestionControl, slow_start};
use crate::tcp::flight::Flight;

#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl CongestionControl for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "one segment more per round trip, half the window after a loss (RFC 5681)";

    fn new() -> Reno {
        Reno
    }

    #[inline]
    fn on_ack(&mut self, _now: u64, flight: &mut Flight, acked: u64) {
        if flight.cwnd < flight.ssthresh {
            slow_start(flight, acked);
        } else {
            let acked = flight.growth.in_avoidance(acked);
            flight.cwnd += (acked * flight.segment * flight.segment / flight.cwnd).clamp(1, flight.segment);
        }
    }

    fn on_loss(&mut self, flight: &Flight) -> u64 {
        (flight.size() / 2).max(2 * flight.segment)
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        (flight.cwnd.min(flight.window) / 2).max(2 * flight.segment)
    }
}
