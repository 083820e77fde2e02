//! A radix heap: streams in an order that does not change while they wait, the first at hand.
//!
//! What comes soon stands in a binary heap, and what comes later lies in buckets by the highest bit in which its key differs from the last
//! key of the heap. When the heap runs low the nearest bucket takes its place: a small one as it is, a large one spread over the buckets
//! below. So a stream is moved a few times, each time along with its neighbours, and no more than a few cache lines are in use at either
//! end however many streams there are. A key that comes before what is in the heap already goes there, too: keys need not be monotone.
//!
//! **Law**: [`RadixHeap::first`] is the first by order, then arrival, then stream, of all that have been inserted and not been taken out.
//!
//! **Source**: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", Journal of the ACM 37(2), 1990, 2.1.
//!
//! **State**: 24 bytes per entry.
//!
//! **Cost**: insertion O(1) and, amortised, one move per bit in which keys differ; O(log n) if the key is among the next to come.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: keys need not be monotone, and the nearest entries are in a heap, since there are often several with one key.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::mem;

/// A stream and its place in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The smaller comes first.
    pub order: u64,
    /// The arrival of its head, which decides between equals.
    pub arrival: u64,
    pub stream: u32,
    /// Tells the owner whether the entry still holds.
    pub stamp: u32,
}

impl Entry {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.order) << 64 | u128::from(self.arrival)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key()).then(self.stream.cmp(&other.stream))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Up to so many entries are a heap and nothing else.
const FEW: usize = 256;
/// The most entries of a bucket that go to the heap together.
const BATCH: usize = 64;
/// The fewest entries in the heap while there are others.
const LEAST: usize = 8;

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct RadixHeap {
    /// All with keys up to `pivot`.
    near: BinaryHeap<Reverse<Entry>>,
    pivot: u128,
    /// Bucket i has the keys that differ from `pivot` in bit i, and in none above.
    buckets: Vec<Vec<Entry>>,
    /// Which buckets have entries.
    occupied: u128,
    /// Entries, and how many of them hold no more; the first holds.
    len: usize,
    stale: usize,
}

impl Default for RadixHeap {
    fn default() -> RadixHeap {
        RadixHeap { near: BinaryHeap::new(), pivot: u128::MAX, buckets: Vec::new(), occupied: 0, len: 0, stale: 0 }
    }
}

impl RadixHeap {
    /// Forgets all entries, and keeps the memory.
    pub fn clear(&mut self) {
        self.near.clear();
        self.buckets.iter_mut().for_each(Vec::clear);
        (self.pivot, self.occupied, self.len, self.stale) = (u128::MAX, 0, 0, 0);
    }

    /// How many entries hold.
    pub fn len(&self) -> usize {
        self.len - self.stale
    }

    /// The first, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.near.peek().map(|Reverse(entry)| entry)
    }

    /// The first, and two of which one is the next unless another comes before.
    #[inline]
    pub fn nearest(&self) -> &[Reverse<Entry>] {
        let near = self.near.as_slice();
        &near[..near.len().min(3)]
    }

    /// All entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.near.iter().map(|Reverse(entry)| entry).chain(self.buckets.iter().flatten())
    }

    #[inline]
    pub fn insert(&mut self, entry: Entry) {
        self.len += 1;
        self.file(entry);
        if self.near.len() > FEW && self.pivot == u128::MAX {
            self.spread();
        }
    }

    /// Takes out the first; `holds` tells which entries hold.
    #[inline]
    pub fn pop(&mut self, holds: impl Fn(&Entry) -> bool) {
        self.take_first();
        self.expose(holds);
    }

    /// One entry holds no more, as `holds` says of it.
    pub fn lose(&mut self, holds: impl Fn(&Entry) -> bool) {
        self.stale += 1;
        if 2 * self.stale > self.len {
            self.retain(holds);
        } else {
            self.expose(holds);
        }
    }

    #[inline]
    fn take_first(&mut self) {
        if self.near.pop().is_some() {
            self.len -= 1;
            if self.near.len() < LEAST {
                self.advance();
            }
        }
    }

    /// Lets the first entry be one that holds.
    #[inline]
    fn expose(&mut self, holds: impl Fn(&Entry) -> bool) {
        while self.stale > 0 && self.first().is_some_and(|first| !holds(first)) {
            self.take_first();
            self.stale -= 1;
        }
    }

    /// Keeps the entries that hold.
    fn retain(&mut self, holds: impl Fn(&Entry) -> bool) {
        self.near.retain(|Reverse(entry)| holds(entry));
        (self.len, self.stale) = (self.near.len(), 0);
        for (index, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.retain(&holds);
            self.len += bucket.len();
            if bucket.is_empty() {
                self.occupied &= !(1 << index);
            }
        }
        self.advance();
    }

    #[inline]
    fn file(&mut self, entry: Entry) {
        if entry.key() <= self.pivot {
            return self.near.push(Reverse(entry));
        }
        let index = (entry.key() ^ self.pivot).ilog2();
        self.occupied |= 1 << index;
        self.buckets[index as usize].push(entry);
    }

    /// Gives all but the first to the buckets.
    #[cold]
    fn spread(&mut self) {
        self.buckets.resize(128, Vec::new());
        let mut entries = mem::take(&mut self.near).into_vec();
        self.pivot = entries[0].0.key();
        entries.retain(|&Reverse(entry)| {
            let stays = entry.key() <= self.pivot;
            if !stays {
                self.file(entry);
            }
            stays
        });
        self.near = BinaryHeap::from(entries);
        self.advance();
    }

    /// Fills the heap from the buckets.
    fn advance(&mut self) {
        while self.near.len() < LEAST && self.occupied != 0 {
            let index = self.occupied.trailing_zeros();
            self.occupied &= self.occupied - 1;
            let mut bucket = mem::take(&mut self.buckets[index as usize]);
            if bucket.len() <= BATCH {
                self.pivot |= (1 << index) | ((1 << index) - 1);
                self.near.extend(bucket.drain(..).map(Reverse));
            } else {
                self.pivot = bucket.iter().map(Entry::key).min().unwrap_or_default();
                bucket.drain(..).for_each(|entry| self.file(entry));
            }
            // Nothing goes from a bucket to itself: all of it is below now.
            self.buckets[index as usize] = bucket;
        }
        if self.len == 0 {
            self.pivot = u128::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Against a sorted set: keys that grow, that do not, that are equal; some entries are taken away.
        #[test]
        fn the_first_is_the_first(
            bits in 0u32..64, bases in proptest::collection::vec((0u32..64, any::<u64>()), 1..8),
            steps in proptest::collection::vec((0u32..3, any::<u64>(), 0u64..3, 0usize..400), 1..60)
        ) {
            let (mut heap, mut oracle) = (RadixHeap::default(), BTreeSet::new());
            let mut count = 0;
            for (step, (action, number, arrival, times)) in steps.into_iter().enumerate() {
                let (shift, base) = bases[step % bases.len()];
                for time in 0..times as u64 {
                    if action < 2 || oracle.is_empty() {
                        count += 1;
                        let order = (base >> shift).wrapping_add((number.wrapping_mul(2 * time + 1) >> 1) >> bits);
                        let entry = Entry { order, arrival: arrival * time, stream: count, stamp: step as u32 };
                        heap.insert(entry);
                        oracle.insert(entry);
                    } else {
                        heap.pop(|entry| oracle.contains(entry));
                        oracle.pop_first();
                    }
                    prop_assert_eq!(heap.first(), oracle.first());
                    prop_assert_eq!(heap.len(), oracle.len());
                }
                let lost: Vec<Entry> = oracle.iter().filter(|entry| (u64::from(entry.stream) ^ number) % 8 < arrival).copied().collect();
                for entry in lost {
                    oracle.remove(&entry);
                    heap.lose(|entry| oracle.contains(entry));
                    prop_assert_eq!(heap.first(), oracle.first());
                    prop_assert_eq!(heap.len(), oracle.len());
                }
            }
            let left: BTreeSet<Entry> = heap.entries().filter(|entry| oracle.contains(entry)).copied().collect();
            prop_assert_eq!(left, oracle);
        }
    }
}
