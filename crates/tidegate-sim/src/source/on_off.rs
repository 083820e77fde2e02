//! A source that alternates between its peak rate and silence.
//!
//! With [`Remainder::Carried`] a clock runs during the on periods only. A packet leaves each time the clock has advanced by one packet's
//! interval, across any number of off periods. The mean rate is then exactly `peak * on / (on + off)`.
//!
//! With [`Remainder::Completed`] an on period that is drawn as `x` becomes `ceil(x / interval)` packets. For exponential periods this number is
//! geometric with mean `N = 1 / (1 - exp(-interval / on))`. The mean rate is `N / (N * interval + off)` packets per second. With
//! packets of 1 kbit, a peak of 1.5 Mbit/s and means of 2 ms these are 810.6, against 750 with the remainder carried.

use super::role::{Emission, Generator, TrafficSource, multiplied};
use super::spacing::Spacing;
use crate::fault::{Fault, check_length};
use crate::holding::Holding;
use crate::random::Stream;
use crate::time::seconds;
use std::sync::Arc;
use tidegate_core::fault;
use tidegate_core::units::Rate;

/// An on/off source.
#[derive(Clone, PartialEq, Debug)]
pub struct OnOff {
    /// Bits of frames per second while it is on.
    pub peak: Rate,
    /// Frame length in bytes.
    pub length: u32,
    /// How long it stays on.
    pub on: Holding,
    /// How long it stays off.
    pub off: Holding,
    /// What an on period that ends between two packets comes to.
    pub remainder: Remainder,
}

/// What becomes of the part of an on period that is too short for another packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remainder {
    /// It counts towards the first packet of the next on period: a packet leaves each time the accumulated on time reaches a packet's
    /// interval, and the mean rate is exactly `peak * on / (on + off)`.
    #[default]
    Carried,
    /// The on period is lengthened to whole packets, the first of them at its beginning, and the off period follows the last packet's
    /// interval. The mean rate is above `peak * on / (on + off)`.
    Completed,
}

impl TrafficSource for OnOff {
    const NAME: &'static str = "on-off";
    const SUMMARY: &'static str = "alternates between its peak rate and silence";

    fn lengths(&self) -> Vec<(f64, f64)> {
        vec![(f64::from(self.length), 1.0)]
    }

    fn play_faster(&mut self, factor: f64) -> Option<()> {
        (self.peak, self.on, self.off) = (multiplied(self.peak, factor)?, self.on.divided(factor)?, self.off.divided(factor)?);
        Some(())
    }

    fn check(&self) -> Result<(), Fault> {
        check_length("length", self.length)?;
        self.on.check("on")?;
        self.off.check("off")
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        let (peak, bits) = (self.peak.bits_per_second() as f64, f64::from(self.length) * 8.0);
        let (on_mean, off_mean) = (seconds(self.on.mean()), seconds(self.off.mean()));
        match (self.remainder, &self.on) {
            (Remainder::Carried, _) => Some(peak * on_mean / (on_mean + off_mean)),
            (Remainder::Completed, Holding::Exponential { .. }) => {
                let interval = bits / peak;
                let packets = -1.0 / libm::expm1(-interval / on_mean);
                Some(bits * packets / (packets * interval + off_mean))
            }
            (Remainder::Completed, _) => None,
        }
    }

    fn events_per_second(&self) -> f64 {
        // A period costs its draws, with and without a packet in it.
        2.0 / (seconds(self.on.mean()) + seconds(self.off.mean())) + self.packets_per_second(self.length)
    }

    fn start(&self, _headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        Some(Box::new(OnOffGenerator { spacing: Spacing::new(self.peak, self.length), source: self.clone(), on_left: 0 }))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct OnOffGenerator {
    source: OnOff,
    spacing: Spacing,
    /// What is left of the current on period, in picoseconds, at the instant of the last packet.
    on_left: u64,
}

impl Generator for OnOffGenerator {
    /// Starts in the middle of a period, on or off with the probability of each.
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        let OnOff { on, off, remainder, .. } = self.source;
        let (on_mean, off_mean) = (on.mean().picoseconds() as f64, off.mean().picoseconds() as f64);
        let starts_on = stream.uniform() * (on_mean + off_mean) < on_mean;
        let mut silence = if starts_on { 0 } else { off.draw_residual(stream) };
        self.on_left = if starts_on { on.draw_residual(stream) } else { on.draw(stream) };
        if fault!(OnOffStartsAfresh) {
            (silence, self.on_left) = (0, on.draw(stream));
        }
        let begin = start.saturating_add(silence);
        match remainder {
            Remainder::Carried => {
                let already = stream.below(self.spacing.interval());
                let need = self.spacing.next() - already;
                self.after_on_time(begin, need, stream)
            }
            Remainder::Completed => begin,
        }
    }

    #[inline]
    fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission {
        let interval = self.spacing.next();
        let next = match self.source.remainder {
            Remainder::Carried => self.after_on_time(now, interval, stream),
            Remainder::Completed => self.after_whole_packet(now, interval, stream),
        };
        Emission { length: self.source.length, variant: 0, next }
    }
}

impl OnOffGenerator {
    /// The instant at which the source will have been on for `need` since `now`.
    #[inline]
    fn after_on_time(&mut self, now: u64, mut need: u64, stream: &mut Stream) -> u64 {
        let mut at = now;
        while need > self.on_left {
            need -= self.on_left;
            at = at.saturating_add(self.on_left).saturating_add(self.source.off.draw(stream));
            self.on_left = self.source.on.draw(stream);
        }
        self.on_left -= need;
        at.saturating_add(need)
    }

    #[inline]
    fn after_whole_packet(&mut self, now: u64, interval: u64, stream: &mut Stream) -> u64 {
        let end = now.saturating_add(interval);
        if self.on_left > interval {
            self.on_left -= interval;
            return end;
        }
        self.on_left = self.source.on.draw(stream);
        end.saturating_add(self.source.off.draw(stream))
    }
}

#[cfg(test)]
mod tests;
