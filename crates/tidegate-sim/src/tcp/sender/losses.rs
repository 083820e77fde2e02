//! What a sender does about losses: recoveries, timeouts and tail loss probes begin here.
//!
//! **Source.** RFC 5681, sections 3.2 and 4.3 (a lost retransmission is a second signal); RFC 6298, section 5; RFC 6582, section 4.1; RFC 8985, sections 6.3 and 7; RFC 9937, section 6.

use super::{Phase, Sender};
use crate::tcp::recovery::Verdict;

impl Sender {
    #[cold]
    pub(super) fn on_duplicate_ack(&mut self, now: u64, news: u64) {
        let flight = &mut self.flight;
        if self.phase == Phase::Recovery {
            if self.recovery.on_duplicate_ack(flight, news) == Verdict::Fails {
                self.on_rto(now);
            }
            return;
        }
        flight.duplicates += 1;
        // Needless retransmissions cause duplicates, too. Selective acknowledgements tell the difference once all that was sent before the
        // timeout is acknowledged; without them the first segment beyond has to be acknowledged as well.
        let is_repeat = if self.selective { flight.una < flight.recover } else { flight.una <= flight.recover };
        if (is_repeat && self.avoid_multiple_fast_retransmits) || !self.recovery.begins(flight) {
            return;
        }
        self.begin_recovery(now, news);
    }

    /// A loss is known. The acknowledgement that shows it has delivered `delivered` segments.
    #[cold]
    pub(super) fn begin_recovery(&mut self, now: u64, delivered: u64) {
        self.flight.ssthresh = self.congestion.on_loss(&self.flight);
        self.recover(now, delivered);
    }

    /// A retransmission that a recovery or a timeout has sent is lost. The window to which that has led goes down once more: the answer is a
    /// recovery of all that has been sent by now.
    #[cold]
    pub(super) fn on_lost_retransmission(&mut self, now: u64, delivered: u64) {
        let flight = &mut self.flight;
        let window = if self.phase == Phase::Recovery { flight.ssthresh } else { flight.cwnd };
        if let Some(threshold) = self.congestion.on_lost_retransmission(flight, window) {
            flight.ssthresh = threshold;
            self.recover(now, delivered);
        }
    }

    /// A recovery begins; the slow start threshold is set.
    fn recover(&mut self, now: u64, delivered: u64) {
        let flight = &mut self.flight;
        let in_flight = self.recovery.pipe(flight);
        flight.hystart = None;
        flight.limited = 0;
        flight.recover = flight.max;
        flight.nxt = flight.max;
        self.recovery.begin(flight);
        if let Some(reduction) = &mut self.reduction {
            reduction.begin(flight, delivered, in_flight);
        }
        if let Some(probe) = &mut self.probe {
            probe.reset();
        }
        self.phase = Phase::Recovery;
        self.partial = 0;
        self.timed = (0, 0);
        self.armed = now;
        self.counts.recoveries += 1;
    }

    /// Checks the timers at `now`. True if one has fired.
    pub(crate) fn on_timer(&mut self, now: u64) -> bool {
        let is_due = self.deadline() <= now;
        if !is_due {
            return false;
        }
        if self.recovery.deadline() <= now {
            self.recovery.on_deadline(now, &self.flight, self.phase != Phase::Open);
            if self.phase == Phase::Open && self.recovery.begins(&self.flight) {
                self.begin_recovery(now, 0);
            } else if self.recovery.has_lost_again() {
                self.on_lost_retransmission(now, 0);
            }
        }
        if self.probe.as_mut().is_some_and(|probe| probe.on_timer(now)) {
            self.armed = now;
        } else if self.timeout() <= now {
            self.timer.on_rto();
            self.on_rto(now);
        }
        true
    }

    pub(super) fn on_rto(&mut self, now: u64) {
        if let Some(probe) = &mut self.probe {
            probe.reset();
        }
        let flight = &mut self.flight;
        flight.hystart = None;
        if self.phase != Phase::Timeout || self.stuck_at != flight.una {
            flight.ssthresh = self.congestion.on_rto(flight);
        }
        flight.duplicates = 0;
        flight.limited = 0;
        flight.recover = flight.max;
        flight.resend = None;
        self.recovery.on_rto(now, flight);
        if self.keeps_reports {
            // One segment more than what may still be under way.
            flight.cwnd = (self.recovery.pipe(flight) + 1) * flight.segment;
        } else {
            flight.cwnd = flight.segment;
            flight.nxt = flight.una;
            flight.board.clear();
            flight.board.restart(flight.una);
        }
        self.phase = Phase::Timeout;
        self.stuck_at = flight.una;
        self.timed = (0, 0);
        self.armed = now;
        self.counts.timeouts += 1;
    }

    pub(super) fn schedule_probe(&mut self, now: u64) {
        let timeout = self.timeout();
        if let Some(probe) = &mut self.probe {
            probe.schedule(now, &self.flight, self.timer.smoothed(), timeout);
        }
    }

    /// The probe in flight was a segment sent again, and only one of the two has come: the loss counts, though it is repaired.
    #[cold]
    pub(super) fn on_repaired_loss(&mut self) {
        if self.phase != Phase::Open {
            return;
        }
        let flight = &mut self.flight;
        flight.hystart = None;
        flight.ssthresh = self.congestion.on_loss(flight);
        if self.pacing.is_none() {
            flight.cwnd = flight.cwnd.min(flight.ssthresh);
        }
    }
}
