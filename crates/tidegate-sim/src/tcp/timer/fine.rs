//! The timer of RFC 6298: smoothed round-trip time plus four times its mean deviation, by a clock that is as fine as one likes.
//!
//! **Law.** The wait is never below the minimum, nor below the smoothed round-trip time plus a tick.
//!
//! **Source.** RFC 6298, sections 2 and 5.
//!
//! **State.** Two estimates, scaled by 8 and 4 so that whole picoseconds do, and the number of timeouts in a row.
//!
//! **Cost.** A few shifts and additions per measurement.
//!
//! **Deviations.** Times are measured in picoseconds; the granularity enters the wait only, as G.

use super::{RetransmissionTimer, TimerSettings};

/// RFC 6298's timer.
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
    timeouts: u32,
}

impl Fine {
    /// The wait without regard to timeouts: RTO.
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
            timeouts: 0,
        }
    }

    fn sample(&mut self, sent: u64, now: u64) {
        let measured = (now - sent).max(1);
        if self.smoothed == 0 {
            self.smoothed = 8 * measured;
            self.deviation = 2 * measured;
        } else {
            // The deviation first, from the smoothed time as it was.
            self.deviation = self.deviation - self.deviation / 4 + (self.smoothed / 8).abs_diff(measured);
            self.smoothed = self.smoothed - self.smoothed / 8 + measured;
        }
        self.timeouts = 0;
    }

    fn back_off(&mut self) {
        // Beyond 2^20 any wait is the greatest one.
        self.timeouts = (self.timeouts + 1).min(20);
    }

    fn deadline(&self, now: u64) -> u64 {
        now + self.wait().saturating_mul(1 << self.timeouts).min(self.maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TimerKind;
    use tidegate_core::units::Duration;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn waits_are_those_of_the_rfc() {
        let milliseconds = Duration::from_milliseconds;
        let settings =
            TimerSettings { granularity: milliseconds(100), minimum: milliseconds(200), ..TimerSettings::default_for(TimerKind::Fine) };
        let mut timer = Fine::new(&settings, 0);
        assert_eq!(timer.deadline(7), 7 + 1_000 * MS);
        let mut waits = Vec::new();
        for measured in [100, 100, 300, 100] {
            timer.sample(5, 5 + measured * MS);
            waits.push(timer.wait());
        }
        assert_eq!(waits, [300_000_000_000, 250_000_000_000, 437_500_000_000, 381_250_000_000]);
        // Section 5.5: every timeout doubles it, up to the greatest; section 5.7: a measurement ends that.
        timer.back_off();
        timer.back_off();
        assert_eq!(timer.deadline(0), 4 * 381_250_000_000);
        (0..30).for_each(|_| timer.back_off());
        assert_eq!(timer.deadline(0), 60_000 * MS);
        timer.sample(0, 100 * MS);
        assert!(timer.deadline(0) < 400 * MS);
    }
}
