//! A radix heap: streams in an order that does not change while they wait, the first at hand.
//!
//! What comes next stands in a sorted run, and what comes later lies in buckets by the highest digit in which its key differs from a pivot,
//! to the base of 64. When the run is short the nearest bucket is taken: a small one is sorted, a large one spread over the buckets
//! below. So a stream is moved a few times, each time along with its neighbours, and no more than a few cache lines are in use at either
//! end however many streams there are. A key that comes before the pivot when it is inserted goes to a binary heap beside the run: keys need
//! not be monotone.
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
//! **Deviations**: keys need not be monotone, and the nearest entries are sorted, since there are often several with one key.

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
    /// The stream, and below it the stamp: in one word, for what is written in halves is not at hand for whoever reads it whole at once.
    who: u64,
}

impl Entry {
    /// Of this stream; the stamp tells the owner whether the entry still holds.
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

/// Up to so many entries are a binary heap and nothing else.
const FEW: usize = 64;
/// The most entries of a bucket that are sorted together.
const BATCH: usize = 1 << PLACE;
const PLACE: u32 = 6;
/// The fewest entries at hand while there are others: those whose streams are fetched ahead.
const LEAST: usize = 4;
/// Bits per digit; an order or an arrival has so many of them.
const DIGIT: u32 = 6;
const DIGITS: u32 = (u64::BITS + LESS).div_ceil(DIGIT);
/// The lowest digit has so many bits less: two runs of 32 are sorted faster than one of 64.
const LESS: u32 = 1;
const BASE: usize = 1 << DIGIT;

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct RadixHeap {
    /// Sorted, the first at the end.
    run: Vec<Entry>,
    /// Memory for the next run, and for what it is sorted by; both empty otherwise.
    sorted: Vec<Entry>,
    short: Vec<u64>,
    /// What has come since with keys up to `pivot`.
    near: BinaryHeap<Reverse<Entry>>,
    pivot: u128,
    /// By the highest digit in which keys differ from `pivot`, which are all greater.
    levels: Vec<Level>,
    /// Which levels have entries.
    occupied: u32,
    /// Entries, and how many of them hold no more; the first holds.
    len: usize,
    stale: usize,
}

/// The entries that differ from the pivot in one digit, and in none above, by this digit.
#[derive(Clone, Default, Debug)]
struct Level {
    occupied: u64,
    /// None before the first use.
    buckets: Vec<Vec<Entry>>,
    /// The memory of empty ones: few are in use at a time where they are large.
    spare: Vec<Vec<Entry>>,
}

/// The highest digit in which there is a difference, and what it is.
#[inline]
fn highest(difference: u64, number: u64) -> (u32, usize) {
    let digit = (difference.ilog2() + LESS) / DIGIT;
    (digit, (number >> (digit * DIGIT).saturating_sub(LESS)) as usize % BASE)
}

impl Level {
    /// A bucket is in use from now on.
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
            near: BinaryHeap::new(),
            pivot: u128::MAX,
            levels: Vec::new(),
            occupied: 0,
            len: 0,
            stale: 0,
        }
    }
}

impl RadixHeap {
    /// Forgets all entries, and keeps the memory.
    pub fn clear(&mut self) {
        self.run.clear();
        self.near.clear();
        for level in &mut self.levels {
            level.occupied = 0;
            for bucket in level.buckets.iter_mut().filter(|bucket| !bucket.is_empty()) {
                bucket.clear();
                level.spare.push(mem::take(bucket));
            }
        }
        (self.pivot, self.occupied, self.len, self.stale) = (u128::MAX, 0, 0, 0);
    }

    /// How many entries hold.
    pub fn len(&self) -> usize {
        self.len - self.stale
    }

    /// The first, if there is one.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        match (self.run.last(), self.near.peek()) {
            (first, None) => first,
            (Some(first), Some(Reverse(near))) if first < near => Some(first),
            (_, Some(Reverse(near))) => Some(near),
        }
    }

    /// One that comes up soon, every time another; `None` if there are few.
    #[inline]
    pub fn soon(&self) -> Option<&Entry> {
        self.run.len().checked_sub(LEAST).map(|at| &self.run[at])
    }

    /// All entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let near = self.near.iter().map(|Reverse(entry)| entry);
        self.run.iter().chain(near).chain(self.levels.iter().flat_map(|level| level.buckets.iter().flatten()))
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
        let is_in_run = match (self.run.last(), self.near.peek()) {
            (Some(first), Some(Reverse(near))) => first < near,
            (first, _) => first.is_some(),
        };
        let taken = if is_in_run { self.run.pop() } else { self.near.pop().map(|Reverse(entry)| entry) };
        self.len -= usize::from(taken.is_some());
        if self.run.len() < LEAST && (self.occupied != 0 || self.len == 0) {
            self.advance();
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
        self.run.retain(&holds);
        self.near.retain(|Reverse(entry)| holds(entry));
        (self.len, self.stale) = (self.run.len() + self.near.len(), 0);
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
            return self.near.push(Reverse(entry));
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

    /// Gives all but the first to the buckets.
    #[cold]
    fn spread(&mut self) {
        self.levels.resize(2 * DIGITS as usize, Level::default());
        let entries = mem::take(&mut self.near).into_vec();
        self.pivot = entries[0].0.key();
        entries.into_iter().for_each(|Reverse(entry)| self.file(entry));
        self.advance();
    }

    /// Fills the run from the buckets.
    #[inline(never)]
    fn advance(&mut self) {
        while self.run.len() < LEAST && self.occupied != 0 {
            let digit = self.occupied.trailing_zeros();
            let level = &mut self.levels[digit as usize];
            let index = level.occupied.trailing_zeros();
            level.occupied &= level.occupied - 1;
            if level.occupied == 0 {
                self.occupied &= self.occupied - 1;
            }
            let mut bucket = mem::take(&mut level.buckets[index as usize]);
            if bucket.len() <= BATCH {
                self.line_up(&bucket, digit);
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

    /// Puts the entries of a bucket of this digit before the run, and the pivot at the last of them.
    #[inline]
    fn line_up(&mut self, bucket: &[Entry], digit: u32) {
        // They differ in this digit of the order, or of the arrival, and below: so much of it and the place in the bucket make a short number.
        let is_order = digit >= DIGITS;
        let width = (digit % DIGITS + 1) * DIGIT - LESS;
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
