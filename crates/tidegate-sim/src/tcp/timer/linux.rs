//! The timer of Linux: smoothed round-trip time plus four times a deviation, with a minimum of the deviation's part.
//!
//! **Law.** The wait is at least the smoothed round-trip time plus the minimum. On a steady path of any length a timeout therefore comes at least
//! the minimum after the acknowledgement was due. RFC 6298's minimum bounds the sum, and gives no margin where the round trip is longer.
//!
//! **Source.** RFC 6298, sections 2 and 5, with the estimators of Linux (`tcp_rtt_estimator`, `tcp_set_rto`; `TCP_RTO_MIN` is 200 ms).
//!
//! **State.** Six numbers.
//!
//! **Cost.** A few shifts and additions per measurement.
//!
//! **Deviations.** From RFC 6298, as in Linux: the deviation is the greatest smoothed one of a round trip. It rises at once and falls by a quarter
//! of the difference per round trip; a falling round-trip time raises it by an eighth only. From Linux: a round trip is a span of time, not of
//! data.

use super::backoff::Backoff;
use super::{RetransmissionTimer, TimerSettings};

/// Linux's timer. Times are in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    /// Eight times the smoothed round-trip time; 0 before the first measurement.
    smoothed: u64,
    /// Four times the smoothed mean deviation; its maximum in this round trip; and the value in use.
    mean_deviation: u64,
    greatest: u64,
    deviation: u64,
    /// When this round trip began.
    since: u64,
    minimum: u64,
    initial: u64,
    backoff: Backoff,
}

impl Linux {
    /// The wait before any timeout.
    fn wait(&self) -> u64 {
        if self.smoothed == 0 { self.initial } else { self.smoothed / 8 + self.deviation }
    }
}

impl RetransmissionTimer for Linux {
    const NAME: &'static str = "linux";
    const SUMMARY: &'static str = "smoothed round-trip time plus the greater of the minimum and four times its deviation (Linux)";

    fn new(settings: &TimerSettings, _phase: u64) -> Linux {
        let minimum = settings.minimum.max(settings.granularity).picoseconds();
        Linux {
            smoothed: 0,
            mean_deviation: 0,
            greatest: minimum,
            deviation: minimum,
            since: 0,
            minimum,
            initial: settings.initial.picoseconds(),
            backoff: Backoff::new(settings.maximum.picoseconds()),
        }
    }

    fn on_rtt_sample(&mut self, sent: u64, now: u64) {
        let measured = (now - sent).max(1);
        self.backoff.reset();
        if self.smoothed == 0 {
            self.smoothed = 8 * measured;
            self.mean_deviation = 2 * measured;
            self.greatest = self.minimum.max(self.mean_deviation);
            self.deviation = self.greatest;
            self.since = now;
            return;
        }
        let smoothed = self.smoothed / 8;
        let (error, quarter) = (smoothed.abs_diff(measured), self.mean_deviation / 4);
        self.smoothed = self.smoothed - smoothed + measured;
        self.mean_deviation = match error.checked_sub(quarter) {
            Some(rise) if measured < smoothed => self.mean_deviation + rise / 8,
            Some(rise) => self.mean_deviation + rise,
            None => self.mean_deviation - (quarter - error),
        };
        self.greatest = self.greatest.max(self.mean_deviation);
        self.deviation = self.deviation.max(self.greatest);
        if now - self.since >= self.smoothed / 8 {
            self.deviation -= (self.deviation - self.greatest) / 4;
            self.greatest = self.minimum;
            self.since = now;
        }
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
