//! The timer of RFC 6298: smoothed round-trip time plus four times its mean deviation, by a clock of any granularity.
//!
//! **Law.** The wait is never below the minimum, nor below the smoothed round-trip time plus a tick.
//!
//! **Source.** RFC 6298, sections 2 and 5.
//!
//! **State.** Two estimates, scaled by 8 and 4 so that whole picoseconds suffice, and the number of timeouts in a row.
//!
//! **Cost.** A few shifts and additions per measurement.
//!
//! **Deviations.** Times are measured in picoseconds; the granularity enters only the wait, as G.

use super::backoff::Backoff;
use super::{RetransmissionTimer, TimerSettings};

#[derive(Clone, Debug)]
pub(crate) struct Fine {
    /// Eight times SRTT; 0 before the first measurement.
    smoothed: u64,
    /// Four times RTTVAR.
    deviation: u64,
    granularity: u64,
    minimum: u64,
    maximum: u64,
    initial: u64,
    backoff: Backoff,
}

impl Fine {
    /// The wait before any timeout: RTO.
    pub(super) fn wait(&self) -> u64 {
        if self.smoothed == 0 {
            return self.initial;
        }
        (self.smoothed / 8 + self.granularity.max(self.deviation)).clamp(self.minimum, self.maximum)
    }
}

impl RetransmissionTimer for Fine {
    const NAME: &'static str = "rfc6298";
    const SUMMARY: &'static str = "smoothed round-trip time plus four times its mean deviation, by a fine clock (RFC 6298)";

    fn new(settings: &TimerSettings, _phase: u64) -> Fine {
        Fine {
            smoothed: 0,
            deviation: 0,
            granularity: settings.granularity.picoseconds(),
            minimum: settings.minimum.picoseconds(),
            maximum: settings.maximum.picoseconds(),
            initial: settings.initial.picoseconds(),
            backoff: Backoff::new(settings.maximum.picoseconds()),
        }
    }

    fn on_rtt_sample(&mut self, sent: u64, now: u64) {
        let measured = (now - sent).max(1);
        if self.smoothed == 0 {
            self.smoothed = 8 * measured;
            self.deviation = 2 * measured;
        } else {
            // The deviation first, from the smoothed time as it was.
            self.deviation = self.deviation - self.deviation / 4 + (self.smoothed / 8).abs_diff(measured);
            self.smoothed = self.smoothed - self.smoothed / 8 + measured;
        }
        self.backoff.reset();
    }

    fn on_rto(&mut self) {
        self.backoff.on_rto();
    }

    fn deadline(&self, now: u64) -> u64 {
        self.backoff.deadline(now, self.wait())
    }

    fn smoothed(&self) -> u64 {
        self.smoothed / 8
    }
}

#[cfg(test)]
mod tests;
