//! A binary heap in an array. The owner gives the order; the heap counts its work.
//!
//! **Law.** `pop` returns an entry that no other precedes in the given order.
//!
//! **Source.** Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964; the ready list of Schiller and Gunningberg, section 4.2.
//!
//! **State.** The entries: 8 bytes each for the ready list, 512 kB for 64k connections.
//!
//! **Cost.** O(log n) comparisons; no allocation up to its first capacity.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None. [`tidegate_core::ready::Heap`] can remove any flow and is three times as large; this one is the paper's.

use alloc::vec::Vec;

/// The work of heaps so far, a measurement that does not depend on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Comparisons of two entries.
    pub comparisons: u64,
    /// Entries written. Eight entries of 8 bytes share a cache line; below the top levels, each write touches another line.
    pub entries: u64,
    /// Comparisons of entries in the same slot, which need the state of both connections.
    pub ties: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct BinaryHeap<E> {
    entries: Vec<E>,
}

impl<E: Copy> BinaryHeap<E> {
    pub(crate) fn with_capacity(entries: usize) -> BinaryHeap<E> {
        BinaryHeap { entries: Vec::with_capacity(entries) }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&E> {
        self.entries.first()
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: E, work: &mut Work, mut is_before: impl FnMut(&E, &E, &mut Work) -> bool) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let parent = (at - 1) / 2;
            work.comparisons += 1;
            if !is_before(&entry, &self.entries[parent], work) {
                break;
            }
            self.entries[at] = self.entries[parent];
            work.entries += 1;
            at = parent;
        }
        self.entries[at] = entry;
        work.entries += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self, work: &mut Work, mut is_before: impl FnMut(&E, &E, &mut Work) -> bool) -> Option<E> {
        let first = *self.entries.first()?;
        let entry = self.entries.pop()?;
        let length = self.entries.len();
        if length == 0 {
            return Some(first);
        }
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= length {
                break;
            }
            if child + 1 < length {
                work.comparisons += 1;
                if is_before(&self.entries[child + 1], &self.entries[child], work) {
                    child += 1;
                }
            }
            work.comparisons += 1;
            if !is_before(&self.entries[child], &entry, work) {
                break;
            }
            self.entries[at] = self.entries[child];
            work.entries += 1;
            at = child;
        }
        self.entries[at] = entry;
        work.entries += 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_heap_sorts(keys in prop::collection::vec(0u32..50, 0..100)) {
            let (mut heap, mut work) = (BinaryHeap::with_capacity(keys.len()), Work::default());
            keys.iter().for_each(|&key| heap.push(key, &mut work, |a, b, _| a < b));
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            for key in sorted {
                prop_assert_eq!(heap.pop(&mut work, |a, b, _| a < b), Some(key));
            }
            prop_assert!(heap.first().is_none());
            let bound = keys.len() as u64 * 3 * u64::from(usize::BITS - keys.len().leading_zeros());
            prop_assert!(work.comparisons <= bound);
        }
    }
}
