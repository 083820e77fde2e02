//! The entries of 64 slots in order: a log that is sorted when its first slot begins, and then only read.
//!
//! **Law.** The first is that of the smallest key; equal keys leave in the order in which they were in the log.
//!
//! **Source.** Counting sort by quarters of slots (Seward, 1954; Knuth, The Art of Computer Programming 3, 5.2), and straight insertion within them.
//!
//! **State.** 4 kB.
//!
//! **Cost.** O(1) per entry, and the moves among entries of one quarter of a slot: at most [`LONGEST_RUN`]/2 each, few on average. A log in
//! order, as connections of one interval leave it, is read once and not sorted.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Not the run of [`tidegate_core::ready::Wheel`], which takes later insertions and removals: here entries of 8 bytes are only
//! taken from the front. The two share the counting sort.

use tidegate_core::ready::counting_sort::{ROOM, distribute, insertion_sort};

/// The bits of a word below its key.
pub(crate) const LOW: u32 = 42;

/// The bits of a word that do not count in comparisons.
pub(crate) const LOWEST: u64 = (1 << LOW) - 1;

/// The most words in a run, such that a place fits in a byte.
pub(crate) const LONGEST_RUN: usize = ROOM - CHUNK;

/// Words appended at a time.
const CHUNK: usize = crate::calendar::levels::CHUNK;

/// Words whose connections are prefetched together.
pub(crate) const AT_ONCE: usize = CHUNK / 2;

/// Bins of the counting sort: quarters of the 64 slots, by the bits from [`PART`] on.
const PARTS: usize = 256;
/// The first bit of a bin.
const PART: u32 = u64::BITS - PARTS.trailing_zeros();

/// Words of a key of 22 bits, the slot and the tick in it, over [`LOW`] bits that are not all set.
#[derive(Clone, Debug)]
pub(crate) struct SlotRun {
    /// The place of the first word that is left, and the place after the last.
    next: u8,
    end: usize,
    /// The words, then [`u64::MAX`].
    words: [u64; ROOM],
    /// The words as they were in the log.
    unsorted: [u64; ROOM],
}

impl SlotRun {
    pub(crate) const fn new() -> SlotRun {
        SlotRun { next: 0, end: 0, words: [u64::MAX; ROOM], unsorted: [0; ROOM] }
    }

    pub(crate) const fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
        self.words[0] = u64::MAX;
    }

    /// Adds the first `count` of the words of a log. A run that was added to is sorted before it is read.
    #[inline]
    pub(crate) fn append(&mut self, words: &[u64; CHUNK], count: usize) {
        // Copying a fixed number is faster; the surplus is overwritten.
        self.unsorted[self.end..self.end + CHUNK].copy_from_slice(words);
        self.end += count;
    }

    pub(crate) fn sort(&mut self) {
        let (unsorted, words) = (&self.unsorted[..self.end], &mut self.words);
        words[self.end % ROOM] = u64::MAX;
        // Connections of equal intervals come in order.
        if unsorted.is_sorted_by(|a, b| *a <= b | LOWEST) {
            return words[..self.end].copy_from_slice(unsorted);
        }
        distribute(unsorted, words, &mut [0; PARTS], |word| (word >> PART) as usize);
        insertion_sort(&mut words[..self.end], usize::MAX, |one, other| one | LOWEST < *other);
    }

    /// The first word; [`u64::MAX`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> u64 {
        self.words[usize::from(self.next) % ROOM]
    }

    /// The [`AT_ONCE`] words after the next [`AT_ONCE`]; after the end there may be old ones.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u64; AT_ONCE] {
        &self.words.as_chunks().0[(usize::from(self.next) / AT_ONCE + 1) % (ROOM / AT_ONCE)]
    }

    #[inline]
    pub(crate) const fn place(&self) -> u8 {
        self.next
    }

    /// The first word once this many have been taken out; [`u64::MAX`] if there is none.
    #[inline]
    pub(crate) const fn at(&self, place: u8) -> u64 {
        self.words[place as usize % ROOM]
    }

    /// Continues as if this many words had been taken out.
    #[inline]
    pub(crate) const fn go_to(&mut self, place: u8) {
        self.next = place;
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u64) -> bool) {
        // From the last on, so that the end mark stays in place.
        let mut first = self.end;
        for at in (usize::from(self.next)..self.end).rev() {
            if is_kept(self.words[at]) {
                first -= 1;
                self.words[first] = self.words[at];
            }
        }
        self.next = first as u8;
    }

    /// Takes out the first word; there must be one.
    #[inline]
    pub(crate) const fn pop(&mut self) {
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
            let taken = words.len() / 5;
            for word in words.drain(..taken) {
                prop_assert_eq!(run.first(), word);
                run.pop();
            }
            let is_kept = |word: u64| !(word & LOWEST).is_multiple_of(few);
            run.retain(is_kept);
            words.retain(|&word| is_kept(word));
            for word in words {
                prop_assert_eq!(run.first(), word);
                run.pop();
            }
            prop_assert_eq!(run.first(), u64::MAX);
        }
    }
}
