//! NewReno's fast recovery: a partial acknowledgement shows the next loss, which is sent again at once.
//!
//! **Law.** One loss per round trip is repaired, without selective acknowledgements and without the timer.
//!
//! **Source.** RFC 6582, section 3.2.
//!
//! **State.** None beyond the windows and the segment that ends recovery.
//!
//! **Cost.** A few additions per acknowledgement.
//!
//! **Deviations.** None. Of the RFC's choices, the window after recovery is the smaller one (step 3, option 1), which avoids a burst. The timer is the
//! impatient one: only the first partial acknowledgement restarts it.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;

#[derive(Clone, Debug)]
pub(crate) struct NewReno;

impl LossRecovery for NewReno {
    const NAME: &'static str = "newreno";
    const SUMMARY: &'static str = "fast recovery that lasts until all that was in flight has been acknowledged (RFC 6582)";
    const SELECTIVE: bool = false;

    fn new() -> NewReno {
        NewReno
    }

    fn on_new_ack(&mut self, flight: &mut Flight, acked: u64) -> Verdict {
        if flight.una >= flight.recover {
            flight.cwnd = flight.ssthresh.min(flight.size().max(flight.segment) + flight.segment);
            return Verdict::Ends;
        }
        flight.resend = Some(flight.una);
        flight.cwnd = flight.cwnd.saturating_sub(acked * flight.segment).max(flight.segment) + flight.segment;
        Verdict::Continues
    }

    fn restarts_timer(&self, nth: u32) -> bool {
        nth == 1
    }
}
