//! Tail loss probe: where acknowledgements stop, one segment is sent early, whose report shows what is lost, in place of a timeout.
//!
//! **Law.** At most one probe is in flight. The probe is due before the retransmission timer, which then starts anew.
//!
//! **Source.** RFC 8985, sections 7.1 to 7.4. The delay of an acknowledgement is at most 200 ms, as Linux expects.
//!
//! **State.** Four words.
//!
//! **Cost.** A few comparisons per acknowledgement and per new segment.
//!
//! **Deviations.** None known. Where the receiver reports no duplicates, an acknowledgement without news or reports shows that both the probe and
//! its original have come.

use super::flight::Flight;
use super::segment::Ack;
use crate::time::NEVER;

/// The longest that a receiver delays an acknowledgement, in picoseconds (TLP.max_ack_delay).
const MAX_ACK_DELAY: u64 = 200_000_000_000;
/// The wait before any round trip is measured.
const INITIAL_WAIT: u64 = 1_000_000_000_000;

/// The probe of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// When it is due, or [`NEVER`]; whether it has become due, and is the next segment to be sent.
    at: u64,
    is_due: bool,
    /// The first segment that had not been sent after the probe in flight (TLP.end_seq); 0 for none.
    end: u64,
    is_retransmission: bool,
}

impl Probe {
    pub(crate) fn new() -> Probe {
        Probe { at: NEVER, is_due: false, end: 0, is_retransmission: false }
    }

    /// When it is due, or [`NEVER`].
    pub(crate) fn deadline(&self) -> u64 {
        self.at
    }

    /// New data has been sent, or acknowledged outside of recovery: schedules the probe, unless one is in flight or reports show losses anyway.
    /// `round_trip` is the smoothed one, or 0; the retransmission timer is due at `timeout`.
    pub(crate) fn schedule(&mut self, now: u64, flight: &Flight, round_trip: u64, timeout: u64) {
        self.is_due = false;
        self.at = NEVER;
        let in_flight = flight.max - flight.una;
        if in_flight == 0 || self.end > 0 || flight.board.sacked() > 0 {
            return;
        }
        let wait = if round_trip == 0 { INITIAL_WAIT } else { 2 * round_trip + if in_flight == 1 { MAX_ACK_DELAY } else { 0 } };
        self.at = (now + wait).min(timeout);
    }

    /// A recovery or a timeout begins.
    pub(crate) fn reset(&mut self) {
        *self = Probe::new();
    }

    /// True if its time has come by `now`.
    pub(crate) fn on_timer(&mut self, now: u64) -> bool {
        let is_due = self.at <= now;
        if is_due {
            (self.at, self.is_due) = (NEVER, true);
        }
        is_due
    }

    /// The segment to send as the probe that is due: new data if there is some, whatever the congestion window; else the last one sent.
    pub(crate) fn next(&self, flight: &Flight) -> Option<u64> {
        if !self.is_due {
            return None;
        }
        let last = flight.max - 1;
        if flight.has_new() { Some(flight.max) } else { (last >= flight.una && !flight.board.is_sacked(last)).then_some(last) }
    }

    /// A segment has been sent, the last of them or the first time. True if it is the probe.
    pub(crate) fn on_sent(&mut self, flight: &Flight, is_new: bool) -> bool {
        if !self.is_due {
            return false;
        }
        *self = Probe { end: flight.max, is_retransmission: !is_new, ..Probe::new() };
        true
    }

    /// An acknowledgement arrives, before which all below `una` was acknowledged. True if it shows that the probe has repaired a loss.
    pub(crate) fn on_ack(&mut self, ack: &Ack, una: u64) -> bool {
        if self.end == 0 || ack.next < self.end {
            return false;
        }
        let has_come_twice = ack.duplicate() == Some((self.end - 1, self.end));
        let has_repaired = self.is_retransmission && !has_come_twice && ack.next > self.end;
        if !self.is_retransmission || has_come_twice || has_repaired || (ack.next == una && ack.count == 0) {
            self.end = 0;
        }
        has_repaired
    }
}
