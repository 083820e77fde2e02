//! The exact time of a packet at a rate: whole picoseconds and a remainder, without a division per packet.
//!
//! [`TimePerByte`](crate::units::TimePerByte) rounds up. A flow that sends at exactly its rate would then be early by a picosecond with
//! every packet, and be found out of profile.

use crate::units::{MAX_BYTES, PICOSECONDS_PER_SECOND, Rate};

/// A rate, prepared for exact times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ExactRate {
    /// Picoseconds per byte times 2^30, rounded down.
    scaled: u64,
    bits_per_second: u64,
}

/// Bits times picoseconds per second: what a byte takes at one bit per second.
const BYTE: u64 = 8 * PICOSECONDS_PER_SECOND;

/// The number of fraction bits of [`ExactRate::scaled`]: 2^30 bytes are off by less than one picosecond.
const FRACTION: u32 = 30;

impl ExactRate {
    pub(super) const fn new(rate: Rate) -> ExactRate {
        let bits_per_second = rate.bits_per_second();
        ExactRate { scaled: (((BYTE as u128) << FRACTION) / bits_per_second as u128) as u64, bits_per_second }
    }

    /// The time of `bytes` bytes: whole picoseconds, and a remainder in parts of [`ExactRate::parts`] to a picosecond.
    #[inline]
    pub(super) const fn time_of(self, bytes: u32) -> (u64, u64) {
        debug_assert!(bytes <= MAX_BYTES);
        let estimate = ((((bytes as u64) << (64 - FRACTION)) as u128 * self.scaled as u128) >> 64) as u64;
        // The estimate is exact or one too small, so the remainder is below twice the rate and survives the wrap of both products.
        let remainder = (bytes as u64).wrapping_mul(BYTE).wrapping_sub(estimate.wrapping_mul(self.bits_per_second));
        if remainder < self.bits_per_second { (estimate, remainder) } else { (estimate + 1, remainder - self.bits_per_second) }
    }

    /// The number of parts of a picosecond in which remainders are counted.
    #[inline]
    pub(super) const fn parts(self) -> u64 {
        self.bits_per_second
    }

    /// A remainder of this rate in the parts of `other`, rounded down. It divides.
    pub(super) const fn convert(self, remainder: u64, other: ExactRate) -> u64 {
        (remainder as u128 * other.bits_per_second as u128 / self.bits_per_second as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_exact(bits in 1_000u64..=400_000_000_000, bytes in 0..=MAX_BYTES) {
            let (whole, remainder) = ExactRate::new(Rate::new(bits).unwrap()).time_of(bytes);
            prop_assert!(remainder < bits);
            prop_assert_eq!(u128::from(whole) * u128::from(bits) + u128::from(remainder), u128::from(bytes) * u128::from(BYTE));
        }
    }
}
