//! Reno's fast recovery: one segment is sent again, and every further duplicate acknowledgement lets one more go.
//!
//! **Law.** One loss per window is repaired within a round trip; of several, all but the first usually wait for the timer.
//!
//! **Source.** RFC 5681, section 3.2, where any acknowledgement of new data ends the recovery.
//!
//! **State.** None beyond the windows: the window itself is inflated.
//!
//! **Cost.** An addition per acknowledgement.
//!
//! **Deviations.** None.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;

/// Reno's fast recovery.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl LossRecovery for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "fast retransmit and fast recovery, which ends with the first acknowledgement of new data (RFC 5681)";
    const SELECTIVE: bool = false;

    fn new() -> Reno {
        Reno
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.resend = Some(flight.una);
        flight.cwnd = flight.ssthresh + 3 * flight.segment;
    }

    fn duplicate(&mut self, flight: &mut Flight, _news: u64) -> Verdict {
        flight.cwnd += flight.segment;
        Verdict::Stays
    }

    fn progress(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        flight.cwnd = flight.ssthresh;
        Verdict::Ends
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        let cwnd = flight.cwnd;
        flight.in_order(cwnd, false)
    }
}
