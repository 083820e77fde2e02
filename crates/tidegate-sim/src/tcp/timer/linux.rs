//! The timer of Linux: smoothed round-trip time plus four times a deviation, whose part is never below the minimum.
//!
//! **Law.** The wait is at least the smoothed round-trip time plus the minimum. On a steady path of any length a timeout therefore comes at least
//! the minimum after the acknowledgement was due; RFC 6298's minimum, which bounds the sum, gives no margin where the round trip is longer.
//!
//! **Source.** RFC 6298, sections 2 and 5, with the estimators of Linux (`tcp_rtt_estimator`, `tcp_set_rto`; `TCP_RTO_MIN` is 200 ms).
//!
//! **State.** Six numbers.
//!
//! **Cost.** A few shifts and additions per measurement.
//!
//! **Deviations.** From RFC 6298, as in Linux: the deviation is the greatest smoothed one of a round trip, rises at once and falls by a quarter of
//! the difference per round trip; a falling round-trip time raises it by an eighth only. From Linux: a round trip is a span of time, not of data.

use super::{RetransmissionTimer, TimerSettings};

/// Linux's timer. Times are in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    /// Eight times the smoothed round-trip time; 0 before the first measurement.
    smoothed: u64,
    /// Four times the smoothed mean deviation; its maximum in this round trip; and four times the deviation that counts.
    mean_deviation: u64,
    greatest: u64,
    deviation: u64,
    /// When this round trip began.
    since: u64,
    minimum: u64,
    maximum: u64,
    initial: u64,
    timeouts: u32,
}

impl Linux {
    /// The wait without regard to timeouts.
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
            maximum: settings.maximum.picoseconds(),
            initial: settings.initial.picoseconds(),
            timeouts: 0,
        }
    }

    fn sample(&mut self, sent: u64, now: u64) {
        let measured = (now - sent).max(1);
        self.timeouts = 0;
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
    use crate::tcp::timer::fine::Fine;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn the_minimum_is_added_to_the_round_trip() {
        let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
        assert_eq!(timer.deadline(0), 1_000 * MS);
        // A round trip of 600 ms: four times the deviation is 1200, then 900, 675, and so on. The greatest of a round trip counts, 1200 for the second;
        // then 1200 - (1200 - 675) / 4, down to the minimum and not below.
        let mut waits = Vec::new();
        for round in 1..60 {
            timer.sample((round - 1) * 600 * MS, round * 600 * MS);
            waits.push(timer.deadline(0));
        }
        assert_eq!(waits[..3], [1_800 * MS, 1_800 * MS, 1_668_750_000_000]);
        assert!(waits.windows(2).all(|pair| pair[1] <= pair[0]));
        assert!((800 * MS..801 * MS).contains(&waits[58]), "{}", waits[58]);
        timer.back_off();
        assert_eq!(timer.deadline(0), 2 * waits[58]);
        timer.sample(59 * 600 * MS, 60 * 600 * MS);
        assert!(timer.deadline(0) <= waits[58]);
        // RFC 6298 with the same minimum waits hardly longer than the round trip.
        let mut plain = Fine::new(&TimerSettings::default_for(TimerKind::Fine), 0);
        (0..60).for_each(|_| plain.sample(0, 600 * MS));
        assert!(plain.deadline(0) <= 602 * MS);
    }

    #[test]
    fn a_rise_counts_at_once_and_a_fall_by_an_eighth() {
        let steady = |timer: &mut Linux| (1..200).for_each(|round| timer.sample((round - 1) * 100 * MS, round * 100 * MS));
        let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
        steady(&mut timer);
        assert!(timer.deadline(0).abs_diff(300 * MS) < MS);
        // 500 ms: SRTT 150; the deviation's part 400.
        timer.sample(20_000 * MS, 20_500 * MS);
        assert!(timer.deadline(0).abs_diff(550 * MS) < MS, "{}", timer.deadline(0));
        let mut timer = Linux::new(&TimerSettings::default_for(TimerKind::Linux), 0);
        steady(&mut timer);
        // 20 ms: SRTT 90; a fall of 80 makes the deviation's part 10, which is below the minimum.
        timer.sample(20_000 * MS, 20_020 * MS);
        assert!(timer.deadline(0).abs_diff(290 * MS) < MS, "{}", timer.deadline(0));
    }
}
