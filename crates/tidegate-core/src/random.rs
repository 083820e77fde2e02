//! SplitMix64: a small generator of random numbers, for algorithms that draw lots.
//!
//! **Law.** The same seed gives the same numbers on every machine. [`SplitMix64::below`] is exactly uniform.
//! **Source.** G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; the mixing constants are those of
//! D. Stafford's variant 13, as in the Java library.
//! **State.** 8 bytes.
//! **Cost.** Two multiplications per number, fewer than two numbers per lot on average, no division.
//! **RTL twin.** None.
//! **Deviations.** None. The caller gives the seed, so nothing here reads a source of randomness.

/// A stream of random numbers.
///
/// ```
/// use tidegate_core::random::SplitMix64;
///
/// let mut random = SplitMix64::new(7);
/// assert!((0..100).all(|_| random.below(6) < 6));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of this seed.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// The upper half of the next 64 bits.
    #[inline]
    pub const fn draw(&mut self) -> u32 {
        (self.next_word() >> 32) as u32
    }

    /// A number below `limit`, each with the same probability; 0 if `limit` is 0.
    #[inline]
    pub const fn below(&mut self, limit: u32) -> u32 {
        if limit < 2 {
            return 0;
        }
        // The upper bits, as many as the largest number has: more than half of the numbers they make are below the limit.
        let shift = 32 + (limit - 1).leading_zeros();
        loop {
            let number = (self.next_word() >> shift) as u32;
            if number < limit {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_source() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.next_word(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next_word(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn lots_are_even() {
        let mut random = SplitMix64::new(1);
        for limit in [1, 2, 3, 5, 8, 100] {
            let mut drawn = [0; 100];
            for _ in 0..10_000 * limit {
                drawn[random.below(limit) as usize] += 1;
            }
            assert!(drawn[..limit as usize].iter().all(|count| (9_500..10_500).contains(count)), "{limit}: {drawn:?}");
            assert!(drawn[limit as usize..].iter().all(|&count| count == 0));
        }
        assert_eq!(random.below(0), 0);
        assert!(random.below(u32::MAX) < u32::MAX);
    }
}
