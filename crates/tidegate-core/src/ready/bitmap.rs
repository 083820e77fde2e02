//! A set of numbers below a bound: a bit for each, and a bit for each word of them, so that the next one is found in a few steps.
//!
//! **Source.** The bitmaps over buckets of Saeed et al., "Eiffel", NSDI 2019, in two levels.

use alloc::boxed::Box;
use alloc::vec;

/// The set.
#[derive(Clone, Debug)]
pub struct Bitmap {
    bits: usize,
    words: Box<[u64]>,
    /// A bit per word that is not 0.
    summary: Box<[u64]>,
}

impl Bitmap {
    /// An empty set of numbers below `bits`.
    pub fn new(bits: usize) -> Bitmap {
        let zeros = |count| vec![0; count].into_boxed_slice();
        Bitmap { bits, words: zeros(bits.div_ceil(64)), summary: zeros(bits.div_ceil(4096)) }
    }

    /// The bytes that a set of numbers below `bits` takes beside itself.
    pub const fn bytes(bits: usize) -> usize {
        (bits.div_ceil(64) + bits.div_ceil(4096)) * size_of::<u64>()
    }

    /// Adds a number.
    #[inline]
    pub fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
        self.summary[at / 4096] |= 1 << (at / 64 % 64);
    }

    /// Takes a number out.
    #[inline]
    pub fn clear(&mut self, at: usize) {
        let word = &mut self.words[at / 64];
        *word &= !(1 << (at % 64));
        if *word == 0 {
            self.summary[at / 4096] &= !(1 << (at / 64 % 64));
        }
    }

    /// The 64 bits from 64 times `index` on.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words[index]
    }

    /// The distance from `at` to the first number, going round.
    pub fn next(&self, at: usize) -> Option<usize> {
        let found = self.at_or_after(at).or_else(|| self.at_or_after(0))?;
        Some(if found < at { found + self.bits - at } else { found - at })
    }

    /// The first number that is not below `at`.
    pub fn at_or_after(&self, at: usize) -> Option<usize> {
        let bits = self.words.get(at / 64)? >> (at % 64);
        if bits != 0 {
            return Some(at + bits.trailing_zeros() as usize);
        }
        let from = at / 64 + 1;
        let mut bits = self.summary.get(from / 64)? >> (from % 64) << (from % 64);
        let mut group = from / 64;
        while bits == 0 {
            group += 1;
            bits = *self.summary.get(group)?;
        }
        let word = 64 * group + bits.trailing_zeros() as usize;
        Some(64 * word + self.words[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bitmap_is_a_set(size in prop::sample::select(&[64usize, 65, 128, 130, 4096, 4159, 8192, 1 << 15][..]), steps in prop::collection::vec((any::<bool>(), 0usize..1 << 15), 1..200)) {
            let (mut bitmap, mut set) = (Bitmap::new(size), BTreeSet::new());
            for (sets, at) in steps {
                let at = if at % 3 == 0 { at % size } else { at % 7 * 64 % size };
                if sets {
                    bitmap.set(at);
                    set.insert(at);
                } else {
                    bitmap.clear(at);
                    set.remove(&at);
                }
                prop_assert_eq!(bitmap.at_or_after(at), set.range(at..).next().copied());
                let going_round = set.range(at..).next().or(set.first()).map(|found| (found + size - at) % size);
                prop_assert_eq!(bitmap.next(at), going_round);
            }
        }
    }
}
