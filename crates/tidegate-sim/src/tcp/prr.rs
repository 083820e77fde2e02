//! Proportional rate reduction: how much a sender may send with each acknowledgement of a recovery.
//!
//! **Law.** While more is in flight than the slow start threshold, the share of the delivered data that is replaced is that threshold over the
//! flight at the start. Below the threshold each delivery releases as much as it delivers, and a segment more where recovery progresses.
//!
//! **Source.** RFC 9937, sections 6.1 to 6.4, with which reduction bound applies by the acknowledgement (SafeACK).
//!
//! **State.** Three numbers of bytes.
//!
//! **Cost.** A multiplication and a division per acknowledgement of a recovery.
//!
//! **Deviations.** None known. A reduction by a congestion mark is immediate; the RFC leaves that to the implementation.

use super::flight::Flight;

/// The reduction of one recovery. All sizes are in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateReduction {
    /// RecoverFS: what the recovery is expected to report.
    flight: u64,
    /// prr_delivered and prr_out: delivered to the receiver, and sent, since the start.
    delivered: u64,
    sent: u64,
}

impl RateReduction {
    /// A recovery begins with `in_flight` segments in the network, after an acknowledgement that delivered `delivered` segments. The
    /// threshold is set. The window allows at least one segment.
    pub(crate) fn begin(&mut self, flight: &mut Flight, delivered: u64, in_flight: u64) {
        let expected = flight.max - flight.una - flight.board.sacked() + delivered;
        *self = RateReduction { flight: expected * flight.segment, delivered: 0, sent: 0 };
        self.set_window(flight, delivered, in_flight, false);
    }

    /// An acknowledgement of the recovery has delivered `delivered` segments and leaves `in_flight`. `is_safe` if it acknowledges in order and
    /// shows no further loss.
    pub(crate) fn on_ack(&mut self, flight: &mut Flight, delivered: u64, in_flight: u64, is_safe: bool) {
        if delivered > 0 {
            self.set_window(flight, delivered, in_flight, is_safe);
        }
    }

    pub(crate) fn on_sent(&mut self, segment: u64) {
        self.sent += segment;
    }

    fn set_window(&mut self, flight: &mut Flight, delivered: u64, in_flight: u64, is_safe: bool) {
        let (segment, target) = (flight.segment, flight.ssthresh);
        let (delivered, in_flight) = (delivered * segment, in_flight * segment);
        self.delivered += delivered;
        let mut allowed = if in_flight > target {
            (self.delivered * target).div_ceil(self.flight.max(1)).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered);
            (bound + if is_safe { segment } else { 0 }).min(target - in_flight)
        };
        if self.sent == 0 {
            // The fast retransmit leaves whatever the proportion.
            allowed = allowed.max(segment);
        }
        flight.cwnd = in_flight + allowed;
    }
}
