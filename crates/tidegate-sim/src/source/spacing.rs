//! Packets evenly spaced at a rate, without drift: the fraction of a picosecond that an interval leaves is carried to the next.

use tidegate_core::units::{PICOSECONDS_PER_SECOND, Rate};

/// The intervals between packets of one length at one rate.
#[derive(Clone, Debug)]
pub(super) struct Spacing {
    whole: u64,
    /// The fraction of an interval beyond `whole`, in units of one `rate`-th of a picosecond, and what has accumulated of it.
    fraction: u64,
    accumulated: u64,
    rate: u64,
}

impl Spacing {
    pub(super) fn new(rate: Rate, length: u32) -> Spacing {
        let rate = rate.bits_per_second();
        let bits = u128::from(length) * 8 * u128::from(PICOSECONDS_PER_SECOND);
        // At most 2^28 bytes at 1 kbit/s: 2.1e18 ps, which fits.
        let (whole, fraction) = ((bits / u128::from(rate)) as u64, (bits % u128::from(rate)) as u64);
        Spacing { whole, fraction, accumulated: 0, rate }
    }

    /// The time to the next packet: `floor` of one interval, or one picosecond more when the fractions amount to one. The n-th packet
    /// therefore leaves at the exact instant rounded down.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.accumulated += self.fraction;
        if self.accumulated >= self.rate {
            self.accumulated -= self.rate;
            self.whole + 1
        } else {
            self.whole
        }
    }

    /// One interval, rounded down to a picosecond.
    pub(super) fn interval(&self) -> u64 {
        self.whole
    }
}

#[cfg(test)]
mod tests;
