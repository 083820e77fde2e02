//! A binary heap in chunks of the wheels' pool, which it shares with the logs.
//!
//! **Law.** The first has the smallest key; equal keys leave in the order in which they came, if less than 2^25 others came between them.
//!
//! **Source.** Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964.
//!
//! **State.** Four entries in a chunk, a table of 16 such chunks in another one, and four bytes for each table.
//!
//! **Cost.** O(log n) comparisons, each with three cache lines.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None.

use crate::calendar::levels::{CHUNK, Entry, Pool};
use alloc::vec::Vec;
use tidegate_core::serial::is_before;

/// Entries in a chunk.
const ENTRIES: usize = CHUNK / 2;
/// Chunks in a table.
const CHUNKS: usize = CHUNK * 2;

/// The first bit of an entry's rank in its word: how many entries came before it. The payload is below.
const RANK: u32 = 38;

#[derive(Clone, Debug)]
pub(crate) struct OverflowHeap {
    tables: Vec<u32>,
    entries: usize,
    ranked: u64,
}

const fn bare(entry: Entry) -> Entry {
    Entry { key: entry.key, payload: entry.payload & ((1 << RANK) - 1) }
}

fn goes_before(a: Entry, b: Entry) -> bool {
    // The difference of the ranks, with its sign in the highest bit.
    let rank = (a.payload >> RANK).wrapping_sub(b.payload >> RANK) << RANK;
    if a.key == b.key { (rank as i64) < 0 } else { is_before(a.key, b.key) }
}

impl OverflowHeap {
    pub(crate) const fn chunks(entries: usize) -> usize {
        // The last chunk of entries and the last table may be partly filled.
        2 + entries / ENTRIES + entries / (ENTRIES * CHUNKS)
    }

    /// The bytes of a heap with this capacity, beside its chunks.
    #[cfg(test)]
    pub(crate) const fn bytes(entries: usize) -> usize {
        entries.div_ceil(ENTRIES * CHUNKS) * size_of::<u32>()
    }

    pub(crate) fn new(entries: usize) -> OverflowHeap {
        OverflowHeap { tables: Vec::with_capacity(entries.div_ceil(ENTRIES * CHUNKS)), entries: 0, ranked: 0 }
    }

    fn chunk(&self, pool: &Pool, at: usize) -> u32 {
        let table = pool.items(self.tables[at / (ENTRIES * CHUNKS)]);
        let chunk = at / ENTRIES % CHUNKS;
        (table[chunk / 2] >> (32 * (chunk % 2))) as u32
    }

    fn get(&self, pool: &Pool, at: usize) -> Entry {
        let words = pool.items(self.chunk(pool, at));
        Entry { key: words[at % ENTRIES * 2], payload: words[at % ENTRIES * 2 + 1] }
    }

    fn set(&self, pool: &mut Pool, at: usize, entry: Entry) {
        let words = pool.items_mut(self.chunk(pool, at));
        (words[at % ENTRIES * 2], words[at % ENTRIES * 2 + 1]) = (entry.key, entry.payload);
    }

    fn grow(&mut self, pool: &mut Pool) {
        if self.entries.is_multiple_of(ENTRIES * CHUNKS) {
            debug_assert!(self.tables.len() < self.tables.capacity(), "there is room for the most entries");
            self.tables.push(pool.take_chunk());
        }
        if self.entries.is_multiple_of(ENTRIES) {
            let chunk = self.entries / ENTRIES % CHUNKS;
            let new = u64::from(pool.take_chunk());
            let word = &mut pool.items_mut(self.tables[self.entries / (ENTRIES * CHUNKS)])[chunk / 2];
            *word = if chunk.is_multiple_of(2) { new } else { *word & u64::from(u32::MAX) | new << 32 };
        }
        self.entries += 1;
    }

    fn shrink(&mut self, pool: &mut Pool) {
        self.entries -= 1;
        if self.entries.is_multiple_of(ENTRIES) {
            pool.give_back(self.chunk(pool, self.entries));
        }
        if self.entries.is_multiple_of(ENTRIES * CHUNKS)
            && let Some(table) = self.tables.pop()
        {
            pool.give_back(table);
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.tables.capacity() * ENTRIES * CHUNKS
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub(crate) fn first(&self, pool: &Pool) -> Option<Entry> {
        (self.entries > 0).then(|| bare(self.get(pool, 0)))
    }

    pub(crate) fn push(&mut self, pool: &mut Pool, entry: Entry) {
        let entry = Entry { key: entry.key, payload: bare(entry).payload | self.ranked << RANK };
        self.ranked += 1;
        let mut at = self.entries;
        self.grow(pool);
        while at > 0 {
            let parent = self.get(pool, (at - 1) / 2);
            if !goes_before(entry, parent) {
                break;
            }
            self.set(pool, at, parent);
            at = (at - 1) / 2;
        }
        self.set(pool, at, entry);
    }

    /// Takes the first out; there is one.
    pub(crate) fn pop(&mut self, pool: &mut Pool) {
        let entry = self.get(pool, self.entries - 1);
        self.shrink(pool);
        let mut at = 0;
        while 2 * at + 1 < self.entries {
            let mut child = 2 * at + 1;
            let mut first = self.get(pool, child);
            if child + 1 < self.entries {
                let other = self.get(pool, child + 1);
                if goes_before(other, first) {
                    (child, first) = (child + 1, other);
                }
            }
            if !goes_before(first, entry) {
                break;
            }
            self.set(pool, at, first);
            at = child;
        }
        if self.entries > 0 {
            self.set(pool, at, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Also where ranks wrap.
        #[test]
        fn a_heap_sorts_and_equals_keep_their_order(start: u64, rank: u64, keys in prop::collection::vec(0u64..50, 0..300)) {
            let mut pool = Pool::new();
            pool.reserve(OverflowHeap::chunks(keys.len()));
            let mut heap = OverflowHeap::new(keys.len());
            heap.ranked = rank >> 1;
            for (number, &key) in keys.iter().enumerate() {
                heap.push(&mut pool, Entry { key: start.wrapping_add(key), payload: number as u64 });
            }
            let mut sorted: Vec<(u64, u64)> = keys.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            for (key, payload) in sorted {
                prop_assert_eq!(heap.first(&pool), Some(Entry { key: start.wrapping_add(key), payload }));
                heap.pop(&mut pool);
            }
            prop_assert!(heap.first(&pool).is_none());
            prop_assert_eq!(pool.in_use(), 0);
        }
    }
}
