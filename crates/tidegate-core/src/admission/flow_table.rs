//! Values by the number of a flow: open addressing with linear probing, at most half full, without allocation after set-up.
//!
//! **Law**: finds what was inserted and not removed, and nothing else.
//!
//! **Source**: D. Knuth, *The Art of Computer Programming*, volume 3, section 6.4, algorithm R: a removal moves later entries back, so there
//! are no tombstones. The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
//!
//! **State**: 8 to 16 bytes per flow of the capacity, the flow's number, and its value.
//!
//! **Cost**: O(1) expected.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: buckets hold the index of an entry, so that entries do not move.

use alloc::vec;
use alloc::vec::Vec;

/// A bucket without an entry.
const EMPTY: u32 = u32::MAX;

/// A map from flows to values, of fixed capacity.
#[derive(Clone, Debug)]
pub(super) struct FlowTable<V> {
    /// A power of two of them, at least twice the capacity; each is an index into `entries` or [`EMPTY`].
    buckets: Vec<u32>,
    entries: Vec<(u64, V)>,
    /// Indices of entries that are not in use.
    vacant: Vec<u32>,
    capacity: usize,
}

/// The table is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Full;

impl<V> FlowTable<V> {
    pub(super) fn new(capacity: usize) -> FlowTable<V> {
        assert!(capacity < 1 << 30, "a table holds fewer than 2^30 flows");
        FlowTable {
            buckets: vec![EMPTY; (2 * capacity).next_power_of_two()],
            entries: Vec::with_capacity(capacity),
            vacant: Vec::with_capacity(capacity),
            capacity,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<&V> {
        let bucket = self.find(id)?;
        Some(&self.entries[self.buckets[bucket] as usize].1)
    }

    /// Inserts a flow, which is not in the table.
    pub(super) fn insert(&mut self, id: u64, value: V) -> Result<(), Full> {
        debug_assert!(self.find(id).is_none(), "flow {id} is in the table already");
        if self.is_full() {
            return Err(Full);
        }
        let entry = if let Some(entry) = self.vacant.pop() {
            self.entries[entry as usize] = (id, value);
            entry
        } else {
            self.entries.push((id, value));
            self.entries.len() as u32 - 1
        };
        let mut bucket = self.home(id);
        while self.buckets[bucket] != EMPTY {
            bucket = self.next(bucket);
        }
        self.buckets[bucket] = entry;
        Ok(())
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<V>
    where
        V: Copy,
    {
        let mut hole = self.find(id)?;
        let entry = self.buckets[hole];
        let mut bucket = self.next(hole);
        while self.buckets[bucket] != EMPTY {
            let home = self.home(self.entries[self.buckets[bucket] as usize].0);
            // The entry may move back to the hole unless its home is behind the hole. Distances are modulo the number of buckets.
            if self.distance(home, bucket) >= self.distance(hole, bucket) {
                self.buckets[hole] = self.buckets[bucket];
                hole = bucket;
            }
            bucket = self.next(bucket);
        }
        self.buckets[hole] = EMPTY;
        self.vacant.push(entry);
        Some(self.entries[entry as usize].1)
    }

    /// All flows, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let used = self.buckets.iter().filter(|&&entry| entry != EMPTY);
        used.map(|&entry| (self.entries[entry as usize].0, &self.entries[entry as usize].1))
    }

    #[inline]
    fn find(&self, id: u64) -> Option<usize> {
        let mut bucket = self.home(id);
        while self.buckets[bucket] != EMPTY {
            if self.entries[self.buckets[bucket] as usize].0 == id {
                return Some(bucket);
            }
            bucket = self.next(bucket);
        }
        None
    }

    #[inline]
    fn home(&self, id: u64) -> usize {
        mixed(id) as usize & (self.buckets.len() - 1)
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.buckets.len() - 1)
    }
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `number`.
#[inline]
pub(super) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_table_is_a_map(operations in proptest::collection::vec((any::<bool>(), 0u64..24), 1..400)) {
            let mut table = FlowTable::new(13);
            let mut map = BTreeMap::new();
            for (step, (insert, id)) in operations.into_iter().enumerate() {
                if !insert {
                    prop_assert_eq!(table.remove(id), map.remove(&id));
                } else if !map.contains_key(&id) {
                    let full = map.len() == 13;
                    prop_assert_eq!(table.insert(id, step), if full { Err(Full) } else { Ok(()) });
                    if !full {
                        map.insert(id, step);
                    }
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert!((0..24).all(|id| table.get(id) == map.get(&id)));
                prop_assert_eq!(table.iter().map(|(id, &value)| (id, value)).collect::<BTreeMap<_, _>>(), map.clone());
            }
        }
    }
}
