//! A radix heap: streams in an order that does not change while they wait.
//!
//! The next entries are in a sorted run; later ones are in buckets by the highest digit, to the base of 64, in which their keys differ from
//! a pivot. When the run is short, the nearest bucket is taken: a small one is sorted, a large one distributed over the buckets below. So an
//! entry moves a few times, each time with its neighbours, and few cache lines are in use at either end, whatever the number of streams. A
//! key before the pivot goes to a binary heap beside the run.
//!
//! **Law**: [`RadixHeap::first`] is the first by order, then arrival, then stream, of all that have been inserted and not been taken out.
//!
//! **Source**: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", Journal of the ACM 37(2), 1990, 2.1.
//!
//! **State**: 24 bytes per entry, and 1.5 kB per digit in use.
//!
//! **Cost**: insertion O(1) and, amortised, one move per digit in which keys differ and its share of sorting [`BATCH`] entries; O(log n) if
//! the key comes before the pivot.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: keys need not be monotone, and the nearest entries are sorted, because several often have one key. Buckets are vectors, not
//! the logs of [`crate::ready::log`]: they grow on demand, and a bucket is sorted by places in one slice. Keys have 128 bits, ties break
//! by the stream instead of by insertion, and the owner decides which entries hold, so it is not a [`crate::ready::Wheel`] either.

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
    /// The stream, and below it the stamp: one word, so that a full-width read does not stall on two narrow stores.
    who: u64,
}

impl Entry {
    /// An entry of this stream; by the stamp the owner knows whether it still holds.
    #[inline]
    pub const fn new(order: u64, arrival: u64, stream: u32, stamp: u32) -> Entry {
        Entry { order, arrival, who: (stream as u64) << 32 | stamp as u64 }
    }

    #[inline]
    pub const fn stream(&self) -> u32 {
        (self.who >> 32) as u32
    }

    #[inline]
    pub const fn stamp(&self) -> u32 {
        self.who as u32
    }

    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.order) << 64 | u128::from(self.arrival)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key()).then(self.who.cmp(&other.who))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Up to this many entries, the binary heap alone holds the queue.
const HEAP_ONLY_LIMIT: usize = 64;
/// The most entries of a bucket that are sorted together.
const BATCH: usize = 1 << PLACE;
/// Bits of a place in such a bucket.
const PLACE: u32 = 6;
/// The least length of the run while buckets have entries: the distance of prefetching.
const RUN_MINIMUM: usize = 4;
/// Bits per digit.
const DIGIT: u32 = 6;
/// Digits of an order or an arrival.
const DIGITS: u32 = (u64::BITS + LOWEST_DIGIT_CUT).div_ceil(DIGIT);
/// The lowest digit has this many bits less: two runs of 32 are sorted faster than one of 64.
const LOWEST_DIGIT_CUT: u32 = 1;
/// The values of a digit.
const BASE: usize = 1 << DIGIT;

#[derive(Clone, Debug)]
pub(super) struct RadixHeap {
    /// Sorted, the first at the end.
    run: Vec<Entry>,
    /// Memory for the next run, and for what it is sorted by; both empty otherwise.
    sorted: Vec<Entry>,
    short: Vec<u64>,
    /// Entries with keys up to `pivot` that came later.
    heap: BinaryHeap<Reverse<Entry>>,
    pivot: u128,
    /// Entries with keys after `pivot`, by the highest digit in which they differ from it.
    levels: Vec<Level>,
    /// A bit per level that is not empty.
    occupied: u32,
    /// The number of entries, and of those that no longer hold. The first one holds.
    len: usize,
    stale: usize,
}

/// The entries that differ from the pivot in one digit, and in none above, in a bucket for each value of this digit.
#[derive(Clone, Default, Debug)]
struct Level {
    occupied: u64,
    /// Empty before the first use.
    buckets: Vec<Vec<Entry>>,
    /// The memory of empty buckets: where buckets are large, few are in use at a time.
    spare: Vec<Vec<Entry>>,
}

/// The highest digit of a difference, and the digit of `number` there.
#[inline]
fn highest(difference: u64, number: u64) -> (u32, usize) {
    let digit = (difference.ilog2() + LOWEST_DIGIT_CUT) / DIGIT;
    (digit, (number >> (digit * DIGIT).saturating_sub(LOWEST_DIGIT_CUT)) as usize % BASE)
}

impl Level {
    /// Takes a bucket into use.
    fn open(&mut self, index: usize) {
        if self.buckets.is_empty() {
            self.buckets.resize(BASE, Vec::new());
        }
        self.occupied |= 1 << index;
        self.buckets[index] = self.spare.pop().unwrap_or_default();
    }
}

impl Default for RadixHeap {
    fn default() -> RadixHeap {
        RadixHeap {
            run: Vec::new(),
            sorted: Vec::new(),
            short: Vec::new(),
            heap: BinaryHeap::new(),
            pivot: u128::MAX,
            levels: Vec::new(),
            occupied: 0,
            len: 0,
            stale: 0,
        }
    }
}

impl RadixHeap {
    /// Drops all entries, and keeps the memory.
    pub fn clear(&mut self) {
        self.run.clear();
        self.heap.clear();
        for level in &mut self.levels {
            level.occupied = 0;
            for bucket in level.buckets.iter_mut().filter(|bucket| !bucket.is_empty()) {
                bucket.clear();
                level.spare.push(mem::take(bucket));
            }
        }
        (self.pivot, self.occupied, self.len, self.stale) = (u128::MAX, 0, 0, 0);
    }

    /// The number of entries that hold.
    pub fn len(&self) -> usize {
        self.len - self.stale
    }

    /// The first entry, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        match (self.run.last(), self.heap.peek()) {
            (first, None) => first,
            (Some(first), Some(Reverse(heaped))) if first < heaped => Some(first),
            (_, Some(Reverse(heaped))) => Some(heaped),
        }
    }

    /// An entry that comes up soon, another one after each [`RadixHeap::pop`]; `None` if there are few.
    #[inline]
    pub fn soon(&self) -> Option<&Entry> {
        self.run.len().checked_sub(RUN_MINIMUM).map(|at| &self.run[at])
    }

    /// All entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let heaped = self.heap.iter().map(|Reverse(entry)| entry);
        self.run.iter().chain(heaped).chain(self.levels.iter().flat_map(|level| level.buckets.iter().flatten()))
    }

    #[inline]
    pub fn insert(&mut self, entry: Entry) {
        self.len += 1;
        self.file(entry);
        if self.heap.len() > HEAP_ONLY_LIMIT && self.pivot == u128::MAX {
            self.fill_buckets();
        }
    }

    /// Takes out the first entry; `holds` is true of entries that hold.
    #[inline]
    pub fn pop(&mut self, holds: impl Fn(&Entry) -> bool) {
        self.take_first();
        self.expose(holds);
    }

    /// An entry no longer holds; `holds` is already false of it.
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
        let is_in_run = match (self.run.last(), self.heap.peek()) {
            (Some(first), Some(Reverse(heaped))) => first < heaped,
            (first, _) => first.is_some(),
        };
        let taken = if is_in_run { self.run.pop() } else { self.heap.pop().map(|Reverse(entry)| entry) };
        self.len -= usize::from(taken.is_some());
        if self.run.len() < RUN_MINIMUM && (self.occupied != 0 || self.len == 0) {
            self.advance();
        }
    }

    /// Drops entries from the front until the first one holds.
    #[inline]
    fn expose(&mut self, holds: impl Fn(&Entry) -> bool) {
        while self.stale > 0 && self.first().is_some_and(|first| !holds(first)) {
            self.take_first();
            self.stale -= 1;
        }
    }

    /// Keeps the entries that hold.
    fn retain(&mut self, holds: impl Fn(&Entry) -> bool) {
        self.run.retain(&holds);
        self.heap.retain(|Reverse(entry)| holds(entry));
        (self.len, self.stale) = (self.run.len() + self.heap.len(), 0);
        for (digit, level) in self.levels.iter_mut().enumerate() {
            for (index, bucket) in level.buckets.iter_mut().enumerate() {
                bucket.retain(&holds);
                self.len += bucket.len();
                if bucket.is_empty() && level.occupied >> index & 1 == 1 {
                    level.occupied &= !(1 << index);
                    level.spare.push(mem::take(bucket));
                }
            }
            if level.occupied == 0 {
                self.occupied &= !(1 << digit);
            }
        }
        self.advance();
    }

    #[inline]
    fn file(&mut self, entry: Entry) {
        let difference = entry.key() ^ self.pivot;
        if entry.key() <= self.pivot {
            return self.heap.push(Reverse(entry));
        }
        let (digit, index) = match (difference >> 64) as u64 {
            0 => highest(difference as u64, entry.arrival),
            orders => {
                let (digit, index) = highest(orders, entry.order);
                (digit + DIGITS, index)
            }
        };
        self.occupied |= 1 << digit;
        let level = &mut self.levels[digit as usize];
        if level.occupied >> index & 1 == 0 {
            level.open(index);
        }
        level.buckets[index].push(entry);
    }

    /// Moves all entries but the first to the buckets.
    #[cold]
    fn fill_buckets(&mut self) {
        self.levels.resize(2 * DIGITS as usize, Level::default());
        let entries = mem::take(&mut self.heap).into_vec();
        self.pivot = entries[0].0.key();
        entries.into_iter().for_each(|Reverse(entry)| self.file(entry));
        self.advance();
    }

    /// Fills the run from the buckets.
    #[inline(never)]
    fn advance(&mut self) {
        while self.run.len() < RUN_MINIMUM && self.occupied != 0 {
            let digit = self.occupied.trailing_zeros();
            let level = &mut self.levels[digit as usize];
            let index = level.occupied.trailing_zeros();
            level.occupied &= level.occupied - 1;
            if level.occupied == 0 {
                self.occupied &= self.occupied - 1;
            }
            let mut bucket = mem::take(&mut level.buckets[index as usize]);
            if bucket.len() <= BATCH {
                self.sort_into_run(&bucket, digit);
                bucket.clear();
            } else {
                self.pivot = bucket.iter().map(Entry::key).min().unwrap_or_default();
                bucket.drain(..).for_each(|entry| self.file(entry));
            }
            self.levels[digit as usize].spare.push(bucket);
        }
        if self.len == 0 {
            self.pivot = u128::MAX;
        }
    }

    /// Sorts the entries of a bucket of this digit in front of the run, and moves the pivot to the last of them.
    #[inline]
    fn sort_into_run(&mut self, bucket: &[Entry], digit: u32) {
        // The entries differ in this digit of the order or of the arrival, and below. These digits and the place in the bucket make a short
        // number to sort by.
        let is_order = digit >= DIGITS;
        let width = (digit % DIGITS + 1) * DIGIT - LOWEST_DIGIT_CUT;
        let mut next = mem::take(&mut self.sorted);
        if width <= u64::BITS - PLACE {
            let mask = (1 << width) - 1;
            let short =
                |(place, entry): (usize, &Entry)| (!(if is_order { entry.order } else { entry.arrival }) & mask) << PLACE | place as u64;
            self.short.clear();
            self.short.extend(bucket.iter().enumerate().map(short));
            self.short.sort_unstable();
            let mut before = u64::MAX;
            for &short in &self.short {
                next.push(bucket[short as usize % BATCH]);
                if (short ^ before) >> PLACE == 0 {
                    let mut at = next.len() - 1;
                    while at > 0 && next[at - 1] < next[at] {
                        next.swap(at - 1, at);
                        at -= 1;
                    }
                }
                before = short;
            }
        } else {
            next.extend(bucket);
            next.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.pivot = next[0].key();
        next.append(&mut self.run);
        self.sorted = mem::replace(&mut self.run, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
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
                        let entry = Entry::new(order, arrival * time, count, step as u32);
                        heap.insert(entry);
                        oracle.insert(entry);
                    } else {
                        heap.pop(|entry| oracle.contains(entry));
                        oracle.pop_first();
                    }
                    prop_assert_eq!(heap.first(), oracle.first());
                    prop_assert_eq!(heap.len(), oracle.len());
                }
                let lost: Vec<Entry> = oracle.iter().filter(|entry| (u64::from(entry.stream()) ^ number) % 8 < arrival).copied().collect();
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
