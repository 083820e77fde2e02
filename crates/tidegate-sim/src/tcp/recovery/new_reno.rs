//! NewReno's fast recovery: an acknowledgement of part of what was in flight shows the next loss, which is sent again at once.
//!
//! **Law.** One loss per round trip is repaired, without selective acknowledgements and without the timer.
//!
//! **Source.** RFC 6582, section 3.2.
//!
//! **State.** None beyond the windows and the place where recovery ends.
//!
//! **Cost.** A few additions per acknowledgement.
//!
//! **Deviations.** None. Of the choices that the RFC leaves, the window after recovery is the smaller one (step 3, option 1), which avoids a burst,
//! and the timer is the impatient one: it starts anew with the first partial acknowledgement only.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;

/// NewReno's fast recovery.
#[derive(Clone, Debug)]
pub(crate) struct NewReno;

impl LossRecovery for NewReno {
    const NAME: &'static str = "newreno";
    const SUMMARY: &'static str = "fast recovery that lasts until all that was in flight has been acknowledged (RFC 6582)";
    const SELECTIVE: bool = false;

    fn new() -> NewReno {
        NewReno
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.resend = Some(flight.una);
        flight.cwnd = flight.ssthresh + 3 * flight.segment;
    }

    fn duplicate(&mut self, flight: &mut Flight, _news: u64) -> Verdict {
        flight.cwnd += flight.segment;
        Verdict::Stays
    }

    fn progress(&mut self, flight: &mut Flight, acked: u64) -> Verdict {
        if flight.una >= flight.recover {
            flight.cwnd = flight.ssthresh.min(flight.size().max(flight.segment) + flight.segment);
            return Verdict::Ends;
        }
        flight.resend = Some(flight.una);
        flight.cwnd = flight.cwnd.saturating_sub(acked * flight.segment).max(flight.segment) + flight.segment;
        Verdict::Stays
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        let cwnd = flight.cwnd;
        flight.in_order(cwnd, false)
    }

    fn restarts_timer(&self, nth: u32) -> bool {
        nth == 1
    }
}
