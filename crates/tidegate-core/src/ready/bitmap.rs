//! Finds the next set bit among many in a few instructions: 64 bits per word, and above them one bit per word that is not empty, as
//! many levels as it takes to arrive at a single word.

use alloc::vec;
use alloc::vec::Vec;

/// 64^5 bits: more than any wheel has buckets.
const MOST_LEVELS: usize = 5;

/// A set of small integers with a fast successor and predecessor.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    /// All levels, the lowest (one bit per member) first.
    words: Vec<u64>,
    /// Where each level starts in `words`; the entry after the last level holds the end.
    starts: [usize; MOST_LEVELS + 1],
    levels: usize,
}

impl Bitmap {
    /// The empty set of integers below `size`.
    pub(super) fn new(size: usize) -> Bitmap {
        let mut starts = [0; MOST_LEVELS + 1];
        let (mut levels, mut bits) = (0, size.max(1));
        loop {
            bits = bits.div_ceil(64);
            starts[levels + 1] = starts[levels] + bits;
            levels += 1;
            if bits == 1 {
                break;
            }
        }
        Bitmap { words: vec![0; starts[levels]], starts, levels }
    }

    /// Adds `member`; false if it was there already.
    #[inline]
    pub(super) fn set(&mut self, member: usize) -> bool {
        let word = &mut self.words[member >> 6];
        let (before, bit) = (*word, 1 << (member & 63));
        *word |= bit;
        if before == 0 {
            self.announce(member >> 6);
        }
        before & bit == 0
    }

    /// True if `member` is in the set.
    #[inline]
    pub(super) fn contains(&self, member: usize) -> bool {
        self.words[member >> 6] >> (member & 63) & 1 == 1
    }

    /// Removes `member`.
    #[inline]
    pub(super) fn clear(&mut self, member: usize) {
        let word = &mut self.words[member >> 6];
        *word &= !(1 << (member & 63));
        if *word == 0 {
            self.retract(member >> 6);
        }
    }

    /// Sets the summary bits above a word that is no longer empty.
    #[inline]
    fn announce(&mut self, mut index: usize) {
        for level in 1..self.levels {
            let word = &mut self.words[self.starts[level] + (index >> 6)];
            let was_empty = *word == 0;
            *word |= 1 << (index & 63);
            if !was_empty {
                break;
            }
            index >>= 6;
        }
    }

    /// Clears the summary bits above a word that has become empty.
    #[inline]
    fn retract(&mut self, mut index: usize) {
        for level in 1..self.levels {
            let word = &mut self.words[self.starts[level] + (index >> 6)];
            *word &= !(1 << (index & 63));
            if *word != 0 {
                break;
            }
            index >>= 6;
        }
    }

    /// The members at or after `from` that share its lowest word, shifted so that bit 0 stands for `from`.
    #[inline]
    pub(super) fn rest_of_word(&self, from: usize) -> u64 {
        self.words[from >> 6] >> (from & 63)
    }

    /// The smallest member at or after `from`.
    #[inline]
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let word = self.rest_of_word(from);
        if word != 0 {
            return Some(from + word.trailing_zeros() as usize);
        }
        self.next_beyond(from >> 6)
    }

    /// The smallest member in a word after the word `index`.
    fn next_beyond(&self, mut index: usize) -> Option<usize> {
        for level in 1..self.levels {
            index += 1;
            let at = self.starts[level] + (index >> 6);
            if at < self.starts[level + 1] {
                let word = self.words[at] & (u64::MAX << (index & 63));
                if word != 0 {
                    return Some(self.descend(level, (index & !63) + word.trailing_zeros() as usize, u64::trailing_zeros));
                }
            }
            index >>= 6;
        }
        None
    }

    /// The largest member at or before `from`.
    pub(super) fn previous(&self, from: usize) -> Option<usize> {
        let mut index = from;
        for level in 0..self.levels {
            let word = self.words[self.starts[level] + (index >> 6)] & (u64::MAX >> (63 - (index & 63)));
            if word != 0 {
                return Some(self.descend(level, (index & !63) + highest(word) as usize, highest));
            }
            if index < 64 {
                return None;
            }
            index = (index >> 6) - 1;
        }
        None
    }

    /// Follows the outermost bits, as `pick` has them, from bit `index` of `level` down to a member.
    #[inline]
    fn descend(&self, level: usize, mut index: usize, pick: impl Fn(u64) -> u32) -> usize {
        for below in (0..level).rev() {
            index = (index << 6) + pick(self.words[self.starts[below] + index]) as usize;
        }
        index
    }
}

#[inline]
fn highest(word: u64) -> u32 {
    63 - word.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(
            size in 1usize..300_000,
            changes in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>(), any::<bool>()), 1..200),
        ) {
            let (mut bitmap, mut set) = (Bitmap::new(size), BTreeSet::new());
            for (add, member, probe, near) in changes {
                let member = if near { member % 200 } else { member } as usize % size;
                if add {
                    bitmap.set(member);
                    set.insert(member);
                } else {
                    bitmap.clear(member);
                    set.remove(&member);
                }
                let probe = probe as usize % size;
                prop_assert_eq!(bitmap.next(probe), set.range(probe..).next().copied());
                prop_assert_eq!(bitmap.previous(probe), set.range(..=probe).next_back().copied());
            }
        }
    }
}
