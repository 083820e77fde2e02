//! Reno's fast recovery: one segment is sent again, and every further duplicate acknowledgement releases one more.
//!
//! **Law.** One loss per window is repaired within a round trip; of several losses, all but the first usually wait for the timer.
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

#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl LossRecovery for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "fast retransmit and fast recovery, which ends with the first acknowledgement of new data (RFC 5681)";
    const SELECTIVE: bool = false;

    fn new() -> Reno {
        Reno
    }

    fn on_new_ack(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        flight.cwnd = flight.ssthresh;
        Verdict::Ends
    }
}
