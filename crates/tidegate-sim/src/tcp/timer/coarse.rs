//! The timer of 4.4BSD: all times are counted in the ticks of a clock that the whole host shares.
//!
//! **Law.** A timer set to n ticks fires at the n-th following tick, after more than n - 1 and at most n times the granularity.
//!
//! **Source.** tcp_timer.c and tcp_input.c (tcp_xmit_timer) of 4.4BSD; Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix A.
//!
//! **State.** Two estimates, scaled by 8 and 4, and the number of timeouts in a row.
//!
//! **Cost.** Two divisions per measurement and one per start that matters.
//!
//! **Deviations.** A timeout doubles the wait within its bounds, as RFC 6298 asks; 4.4BSD doubles the estimate first and bounds it then, so that
//! a wait at the minimum is not doubled at once. A connection is never given up.

use super::{RetransmissionTimer, TimerSettings};

/// 4.4BSD's timer.
#[derive(Clone, Debug)]
pub(crate) struct Coarse {
    /// Eight times the smoothed round-trip time in ticks.
    srtt: u32,
    /// Four times its mean deviation in ticks.
    rttvar: u32,
    /// True once a round-trip time has been measured.
    has_sample: bool,
    granularity: u64,
    phase: u64,
    minimum: u32,
    maximum: u32,
    initial: u32,
    timeouts: u32,
}

impl Coarse {
    fn tick(&self, at: u64) -> u64 {
        (at + self.phase) / self.granularity
    }

    /// A round-trip time of `rtt` ticks, at least 1.
    fn measure(&mut self, rtt: u32) {
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.rttvar = rtt << 1;
        } else {
            let mut delta = rtt as i32 - 1 - (self.srtt >> 3) as i32;
            self.srtt = (self.srtt as i32 + delta).max(1) as u32;
            delta = delta.abs() - (self.rttvar >> 2) as i32;
            self.rttvar = (self.rttvar as i32 + delta).max(1) as u32;
        }
        self.has_sample = true;
        self.timeouts = 0;
    }

    /// The wait in ticks without regard to timeouts.
    fn wait(&self) -> u32 {
        let wait = if self.has_sample { (self.srtt >> 3) + self.rttvar } else { self.initial };
        wait.clamp(self.minimum, self.maximum)
    }
}

impl RetransmissionTimer for Coarse {
    const NAME: &'static str = "bsd";
    const SUMMARY: &'static str = "counts the ticks of one coarse clock, as 4.4BSD does";

    fn new(settings: &TimerSettings, phase: u64) -> Coarse {
        let granularity = settings.granularity.picoseconds();
        let ticks = |picoseconds: u64| u32::try_from(picoseconds / granularity).unwrap_or(u32::MAX).clamp(1, 1 << 24);
        Coarse {
            srtt: 0,
            rttvar: 0,
            has_sample: false,
            granularity,
            phase,
            minimum: ticks(settings.minimum.picoseconds()),
            maximum: ticks(settings.maximum.picoseconds()),
            initial: ticks(settings.initial.picoseconds()),
            timeouts: 0,
        }
    }

    fn sample(&mut self, sent: u64, now: u64) {
        let ticks = self.tick(now) - self.tick(sent) + 1;
        self.measure(ticks.min(1 << 24) as u32);
    }

    fn back_off(&mut self) {
        self.timeouts = (self.timeouts + 1).min(12);
        if self.timeouts > 3 && self.has_sample {
            // The estimate is worth nothing any more: the next measurement starts it afresh.
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    fn deadline(&self, now: u64) -> u64 {
        let ticks = (self.wait() << self.timeouts.min(6)).min(self.maximum);
        (self.tick(now) + u64::from(ticks)) * self.granularity - self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TimerKind;

    const G: u64 = 500_000_000_000;

    #[test]
    fn estimates_are_those_of_the_specification() {
        let expected = [
            (vec![1, 1, 1, 1], vec![(8, 2, 3), (7, 3, 3), (7, 3, 3), (7, 3, 3)]),
            (vec![2, 2, 2], vec![(16, 4, 6), (15, 4, 5), (15, 3, 4)]),
            (vec![3, 1, 1, 5, 2], vec![(24, 6, 9), (21, 8, 10), (19, 8, 10), (21, 8, 10), (20, 7, 9)]),
        ];
        for (measured, estimates) in expected {
            let mut timer = Coarse::new(&TimerSettings::default_for(TimerKind::Coarse), 0);
            assert_eq!(timer.wait(), 12);
            for (ticks, estimate) in measured.into_iter().zip(estimates) {
                timer.measure(ticks);
                assert_eq!((timer.srtt, timer.rttvar, timer.wait()), estimate);
            }
        }
    }

    #[test]
    fn it_fires_at_ticks() {
        let mut timer = Coarse::new(&TimerSettings::default_for(TimerKind::Coarse), G / 5);
        // Ticks at 0.8 g, 1.8 g, ...; a round trip that crosses one counts two.
        timer.sample(0, G / 2);
        assert_eq!((timer.srtt, timer.wait()), (8, 3));
        assert_eq!(timer.deadline(G / 2), 2 * G + G * 4 / 5);
        assert_eq!(timer.deadline(G * 4 / 5), 3 * G + G * 4 / 5);
        timer.sample(G / 2, G);
        assert_eq!(timer.srtt, 8);
        for (timeouts, ticks) in [(1, 6), (2, 12), (3, 24), (4, 64)] {
            timer.back_off();
            let mut expected = 3 << timeouts;
            if timeouts == 4 {
                // The smoothed time has moved into the deviation: 1 + 3 ticks, doubled four times.
                expected = ticks;
            }
            let base = timer.wait() << timeouts;
            assert_eq!(timer.deadline(0), u64::from(base) * G - G / 5, "{expected}");
        }
        (0..9).for_each(|_| timer.back_off());
        assert_eq!(timer.deadline(0), 128 * G - G / 5);
    }
}
