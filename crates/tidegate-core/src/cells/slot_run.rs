//! The entries of 64 slots in order: a log that is sorted at once, when its first slot comes, and then only read.
//!
//! **Law.** The first is that of the smallest key; equal keys leave in the order in which they were in the log.
//!
//! **Source.** Counting sort by half slots (Seward, 1954; Knuth, The Art of Computer Programming 3, 5.2), and straight insertion within them.
//!
//! **State.** 8 kB.
//!
//! **Cost.** O(1) per entry, and what entries of one half slot are out of order: at most [`LONGEST_RUN`]/2 moves, few in the mean. A log in
//! order, as connections of one interval leave it, is read once and not sorted.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None.

use alloc::boxed::Box;

/// The bits of a word below its key.
pub(super) const LOW: u32 = 42;

/// The bits that are not looked at.
const LOWEST: u64 = (1 << LOW) - 1;

/// The most words in a run.
pub(super) const LONGEST_RUN: usize = 512;

/// Words appended at a time.
const CHUNK: usize = super::log::CHUNK;

/// Parts of the 64 slots that are told apart at once, by the bits from [`PART`] on.
const PARTS: usize = 128;
const PART: u32 = u64::BITS - PARTS.trailing_zeros();

/// A run and the rest of its last chunk.
const ROOM: usize = LONGEST_RUN + CHUNK;

/// Words of a key of 22 bits, the slot and the tick in it, over [`LOW`] bits that are not looked at.
#[derive(Clone, Debug)]
pub(super) struct SlotRun {
    /// The first word that is left, and the place after the last.
    next: usize,
    end: usize,
    sorted: Box<[u64; ROOM]>,
    /// As they were in the log.
    unsorted: Box<[u64; ROOM]>,
}

impl SlotRun {
    /// What a run takes beside itself.
    #[cfg(test)]
    pub(super) const BYTES: usize = 2 * ROOM * 8;

    pub(super) fn new() -> SlotRun {
        SlotRun { next: 0, end: 0, sorted: Box::new([0; ROOM]), unsorted: Box::new([0; ROOM]) }
    }

    pub(super) const fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
    }

    /// Adds the first `count` of the words of a log. A run that was added to is sorted before it is read.
    #[inline]
    pub(super) fn append(&mut self, words: &[u64; CHUNK], count: usize) {
        // All of them, because copying a fixed number is faster; what is too much is written over.
        self.unsorted[self.end..self.end + CHUNK].copy_from_slice(words);
        self.end += count;
    }

    pub(super) fn sort(&mut self) {
        // What came in order, as from connections of equal intervals, stays as it is.
        if self.unsorted[..self.end].is_sorted_by(|a, b| *a <= b | LOWEST) {
            return core::mem::swap(&mut self.sorted, &mut self.unsorted);
        }
        let unsorted = &self.unsorted[..self.end];
        let mut places = [0u16; PARTS];
        for word in unsorted {
            places[(word >> PART) as usize] += 1;
        }
        // How many come before each part, four parts at a time: a product with ones in all four lanes sums them up.
        const ONES: u64 = 0x0001_0001_0001_0001;
        let mut before = 0;
        for four in places.chunks_exact_mut(4) {
            let counts = u64::from(four[0]) | u64::from(four[1]) << 16 | u64::from(four[2]) << 32 | u64::from(four[3]) << 48;
            let sums = counts.wrapping_mul(ONES);
            let begins = (sums << 16).wrapping_add(before * ONES);
            (four[0], four[1], four[2], four[3]) = (begins as u16, (begins >> 16) as u16, (begins >> 32) as u16, (begins >> 48) as u16);
            before += sums >> 48;
        }
        for word in unsorted {
            let place = &mut places[(word >> PART) as usize];
            self.sorted[usize::from(*place) % LONGEST_RUN] = *word;
            *place += 1;
        }
        let sorted = &mut self.sorted[..self.end];
        for at in 1..sorted.len() {
            // Before all whose key is greater.
            let (word, mut at) = (sorted[at], at);
            while at > 0 && sorted[at - 1] > word | LOWEST {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = word;
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u64> {
        if self.next >= self.end {
            return None;
        }
        Some(self.sorted[self.next % LONGEST_RUN])
    }

    /// How many have been taken out.
    #[inline]
    pub(super) const fn popped(&self) -> usize {
        self.next
    }

    /// Takes the first out; there is one.
    #[inline]
    pub(super) const fn pop(&mut self) {
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_is_a_stable_sort(keys in prop::collection::vec((0u64..64, 0u64..4), 0..=LONGEST_RUN), few in 1u64..=64) {
            let word = |(number, (slot, tick)): (usize, (u64, u64))| (slot % few) << 58 | tick << LOW | number as u64;
            let mut words: Vec<u64> = keys.into_iter().enumerate().map(word).collect();
            let mut run = SlotRun::new();
            for chunk in words.chunks(CHUNK) {
                let mut padded = [!0; CHUNK];
                padded[..chunk.len()].copy_from_slice(chunk);
                run.append(&padded, chunk.len());
            }
            run.sort();
            words.sort_by_key(|word| word >> LOW);
            for word in words {
                prop_assert_eq!(run.first(), Some(word));
                run.pop();
            }
            prop_assert_eq!(run.first(), None);
        }
    }
}
