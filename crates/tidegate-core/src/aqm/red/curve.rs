//! The probability of RED's signals by the average length of the queue, and the lots that spread them.

use crate::aqm::RedCurve;
use crate::random::SplitMix64;

/// The average counts in units of 2^-16 bytes.
pub(in crate::aqm) const FRACTION: u32 = 16;

/// Certainty, in units of 2^-32.
const ONE: u64 = 1 << 32;

/// A curve whose slopes have been computed. Averages are in units of 2^-16 bytes, probabilities in units of 2^-32.
#[derive(Clone, Copy, Debug)]
pub(in crate::aqm) struct Curve {
    min: u64,
    pub(in crate::aqm) max: u64,
    pub(in crate::aqm) max_probability: u64,
    is_gentle: bool,
    /// The probability per unit of the average below `max`, in units of 2^-32 of a probability.
    rise: u64,
    /// The same between `max` and twice as much.
    gentle_rise: u64,
    /// 2^96 divided by the width of each of the two parts.
    reciprocals: [u128; 2],
}

impl Curve {
    pub(in crate::aqm) fn new(given: &RedCurve, is_gentle: bool) -> Curve {
        let (min, max) = (given.min << FRACTION, given.max << FRACTION);
        let reciprocals = [max - min, max].map(|width| (1u128 << 96) / u128::from(width));
        let curve = Curve { min, max, max_probability: 0, is_gentle, rise: 0, gentle_rise: 0, reciprocals };
        curve.with_max_probability(given.max_probability.units())
    }

    /// The curve with another probability below `max`; its slopes are short by at most a unit.
    pub(in crate::aqm) fn with_max_probability(self, probability: u64) -> Curve {
        let slope = |rise: u64, reciprocal: u128| ((u128::from(rise) * reciprocal) >> 64) as u64;
        let [below, above] = self.reciprocals;
        let (rise, gentle_rise) = (slope(probability, below), slope(ONE - probability, above));
        Curve { max_probability: probability, rise, gentle_rise, ..self }
    }

    #[inline]
    pub(in crate::aqm) fn probability(&self, average: u64) -> u64 {
        let risen = |from: u64, slope: u64| ((u128::from(average - from) * u128::from(slope)) >> 32) as u64;
        if average < self.min {
            0
        } else if average < self.max {
            risen(self.min, self.rise)
        } else if self.is_gentle && average < 2 * self.max {
            self.max_probability + risen(self.max, self.gentle_rise)
        } else {
            ONE
        }
    }

    /// The averages between which adaptive RED leaves the probability as it is: two fifths from either end.
    pub(in crate::aqm) fn is_low(&self, average: u64) -> bool {
        5 * average < 3 * self.min + 2 * self.max
    }

    pub(in crate::aqm) fn is_high(&self, average: u64) -> bool {
        5 * average > 3 * self.max + 2 * self.min
    }
}

/// Spreads signals: at a constant probability p the gaps between them are uniform from 1 to 1/p.
#[derive(Clone, Copy, Debug)]
pub(in crate::aqm) struct Lots {
    /// Packets since the last signal, or -1 if the average has been outside the curve.
    count: i32,
    lot: u32,
}

impl Lots {
    pub(in crate::aqm) const NEW: Lots = Lots { count: -1, lot: 0 };

    /// True if this packet is to be signalled.
    #[inline]
    pub(in crate::aqm) fn hits(&mut self, probability: u64, draws: &mut SplitMix64) -> bool {
        if probability == 0 || probability >= ONE {
            self.count = -1;
            return probability > 0;
        }
        self.count = self.count.saturating_add(1);
        if self.count == 0 {
            self.lot = draws.draw();
            return false;
        }
        // The count is at most the reciprocal of the probability, and one more.
        if (self.count as u64).saturating_mul(probability) < u64::from(self.lot) {
            return false;
        }
        (self.count, self.lot) = (0, draws.draw());
        true
    }
}
