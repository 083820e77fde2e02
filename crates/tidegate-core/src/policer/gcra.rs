//! PLACEHOLDER to be replaced by the policer author (virtual scheduling form).

use super::{Policer, Verdict};
use crate::packet::Colour;
use crate::units::{Duration, Time, TimePerByte};

/// Generic cell rate algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Gcra {
    theoretical_arrival: Time,
    limit: Duration,
    increment: TimePerByte,
}

impl Gcra {
    /// A policer of the rate behind `increment` with tolerance `limit`, whose first packet always conforms if it arrives at or after `now`.
    pub const fn new(now: Time, increment: TimePerByte, limit: Duration) -> Gcra {
        Gcra { theoretical_arrival: now, limit, increment }
    }
}

impl Policer for Gcra {
    #[inline]
    fn police(&mut self, now: Time, length: u32, _colour: Colour) -> Verdict {
        if now.is_before(self.theoretical_arrival - self.limit) {
            return Verdict::Discard;
        }
        self.theoretical_arrival = self.theoretical_arrival.later(now) + self.increment.ceil(length);
        Verdict::Conform
    }

    fn refresh(&mut self, now: Time) {
        self.theoretical_arrival = self.theoretical_arrival.later(now);
    }
}
