//! A bit for each of many, and a bit for each word of them: the next one that is set is found in a few steps.
//!
//! The bitmaps over buckets of Saeed et al., "Eiffel", NSDI 2019, in two levels.

use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(crate) struct Marks {
    buckets: usize,
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Marks {
    /// For so many; none set.
    pub(crate) fn new(buckets: usize) -> Marks {
        Marks { buckets, words: vec![0; buckets.div_ceil(64)], summary: vec![0; buckets.div_ceil(4096)] }
    }

    /// What they take.
    #[cfg(test)]
    pub(crate) const fn bytes(buckets: usize) -> usize {
        (buckets.div_ceil(64) + buckets.div_ceil(4096)) * size_of::<u64>()
    }

    pub(crate) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
        self.summary[at / 4096] |= 1 << (at / 64 % 64);
    }

    pub(crate) fn clear(&mut self, at: usize) {
        let word = &mut self.words[at / 64];
        *word &= !(1 << (at % 64));
        if *word == 0 {
            self.summary[at / 4096] &= !(1 << (at / 64 % 64));
        }
    }

    /// How far it is from `at` to the first mark, going round.
    pub(crate) fn next(&self, at: usize) -> Option<usize> {
        let found = self.at_or_after(at).or_else(|| self.at_or_after(0))?;
        Some(if found < at { found + self.buckets - at } else { found - at })
    }

    /// The first mark that is not before `at`.
    pub(crate) fn at_or_after(&self, at: usize) -> Option<usize> {
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
        fn marks_are_a_set(size in prop::sample::select(&[64usize, 65, 128, 130, 4096, 4159, 8192, 1 << 15][..]), steps in prop::collection::vec((any::<bool>(), 0usize..1 << 15), 1..200)) {
            let (mut marks, mut set) = (Marks::new(size), BTreeSet::new());
            for (sets, at) in steps {
                let at = if at % 3 == 0 { at % size } else { at % 7 * 64 % size };
                if sets {
                    marks.set(at);
                    set.insert(at);
                } else {
                    marks.clear(at);
                    set.remove(&at);
                }
                prop_assert_eq!(marks.at_or_after(at), set.range(at..).next().copied());
                let going_round = set.range(at..).next().or(set.first()).map(|found| (found + size - at) % size);
                prop_assert_eq!(marks.next(at), going_round);
            }
        }
    }
}
