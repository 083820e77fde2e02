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
//! **Deviations.** A timeout doubles the wait within its bounds, as RFC 6298 asks. 4.4BSD doubles the estimate and then bounds it, so that a wait
//! at the minimum is not doubled at once. A connection is never abandoned.

use super::{RetransmissionTimer, TimerSettings};

#[derive(Clone, Debug)]
pub(crate) struct Coarse {
    /// Eight times the smoothed round-trip time in ticks.
    srtt: u32,
    /// Four times its mean deviation in ticks.
    rttvar: u32,
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

    fn on_rtt_sample(&mut self, sent: u64, now: u64) {
        let ticks = self.tick(now) - self.tick(sent) + 1;
        self.measure(ticks.min(1 << 24) as u32);
    }

    fn on_rto(&mut self) {
        self.timeouts = (self.timeouts + 1).min(12);
        if self.timeouts > 3 && self.has_sample {
            // The estimate is void: the next measurement starts it anew.
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    fn deadline(&self, now: u64) -> u64 {
        let ticks = (self.wait() << self.timeouts.min(6)).min(self.maximum);
        (self.tick(now) + u64::from(ticks)) * self.granularity - self.phase
    }

    fn smoothed(&self) -> u64 {
        u64::from(self.srtt) * self.granularity / 8
    }
}

#[cfg(test)]
mod tests;
