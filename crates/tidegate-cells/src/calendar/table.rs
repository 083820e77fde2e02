//! The entries of the 64 slots in planning that came after the run was sorted: eight places per slot, indexed by one machine word.
//!
//! **Law.** The first is that of the smallest key; equal keys leave in the order in which they came.
//!
//! **Source.** A counting sort by slot, with an insertion sort within the slot.
//!
//! **State.** 4 kB: a cache line per slot, one word per entry.
//!
//! **Cost.** O(1), at most seven words moved.
//!
//! **RTL twin.** None yet; the index is a 64-bit priority encoder.
//!
//! **Deviations.** A slot that has taken eight entries takes no more; later ones go to the overflow queue.

use crate::calendar::run::LOWEST;

/// Entries of one slot.
const PLACES: usize = 8;

/// Words of a key of 22 bits, the slot and the tick in it, over [`LOW`](crate::calendar::run::LOW) bits that do not count in
/// comparisons.
#[derive(Clone, Debug)]
pub(crate) struct SlotTable {
    occupied: u64,
    /// The first word; [`u64::MAX`] if there is none.
    first: u64,
    /// The number of entries that a slot takes; 0 if the table is shut.
    room: u8,
    /// For each slot, the place of its first remaining entry and the place after its last.
    begins: [u8; 64],
    ends: [u8; 64],
    slots: [[u64; PLACES]; 64],
}

impl SlotTable {
    pub(crate) const fn new() -> SlotTable {
        SlotTable { occupied: 0, first: u64::MAX, room: PLACES as u8, begins: [0; 64], ends: [0; 64], slots: [[0; PLACES]; 64] }
    }

    pub(crate) fn clear(&mut self) {
        (self.occupied, self.first, self.room) = (0, u64::MAX, PLACES as u8);
        (self.begins, self.ends) = ([0; 64], [0; 64]);
    }

    /// No slot takes another entry.
    pub(crate) const fn shut(&mut self) {
        self.room = 0;
    }

    /// Adds a word; false if its slot is shut.
    #[inline]
    pub(crate) fn insert(&mut self, word: u64) -> bool {
        let slot = (word >> 58) as usize;
        let (begin, end) = (usize::from(self.begins[slot]), usize::from(self.ends[slot]));
        if end >= usize::from(self.room) {
            return false;
        }
        let places = &mut self.slots[slot];
        // Insertion before all greater keys.
        let most = word | LOWEST;
        let mut at = end;
        while at > begin && places[(at - 1) % PLACES] > most {
            places[at % PLACES] = places[(at - 1) % PLACES];
            at -= 1;
        }
        places[at % PLACES] = word;
        self.ends[slot] = end as u8 + 1;
        self.occupied |= 1 << slot;
        // The last tick has the same bits as the mark of an empty table.
        if most < self.first || self.first == u64::MAX {
            self.first = word;
        }
        true
    }

    /// The first word; [`u64::MAX`] if there is none.
    #[inline]
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// Takes out the words that are not kept. Their places are not used again.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u64) -> bool) {
        for slot in 0..64 {
            let (begin, end, places) = (usize::from(self.begins[slot]), usize::from(self.ends[slot]), &mut self.slots[slot]);
            let mut first = end;
            for at in (begin..end).rev() {
                if is_kept(places[at]) {
                    first -= 1;
                    places[first] = places[at];
                }
            }
            self.begins[slot] = first as u8;
            if first == end {
                self.occupied &= !(1 << slot);
            }
        }
        self.find_first();
    }

    /// Takes out the first word; there must be one.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let slot = self.occupied.trailing_zeros() as usize % 64;
        let begin = self.begins[slot] + 1;
        self.begins[slot] = begin;
        // Without a branch: whether a slot has another entry is unpredictable.
        self.occupied &= !(u64::from(begin == self.ends[slot]) << slot);
        self.find_first();
    }

    #[inline(always)]
    fn find_first(&mut self) {
        self.first = u64::MAX;
        if self.occupied != 0 {
            let slot = self.occupied.trailing_zeros() as usize;
            self.first = self.slots[slot][usize::from(self.begins[slot]) % PLACES];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::run::LOW;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_table_is_a_stable_sort_until_a_slot_is_shut(
            steps in prop::collection::vec((0u64..64, 0u64..3, 0usize..3), 1..300), few in 1u64..=64,
        ) {
            let (mut table, mut model) = (SlotTable::new(), Vec::new());
            let mut came = [0; 64];
            for (number, (slot, tick, pops)) in steps.into_iter().enumerate() {
                let slot = (slot % few + 64 - few) % 64;
                // The first two ticks of a slot and its last one.
                let tick = [0, 1, (1 << 16) - 1][tick as usize];
                let word = slot << 58 | tick << LOW | number as u64;
                prop_assert_eq!(table.insert(word), came[slot as usize] < PLACES);
                if came[slot as usize] < PLACES {
                    came[slot as usize] += 1;
                    let at = model.partition_point(|&other: &u64| other >> LOW <= word >> LOW);
                    model.insert(at, word);
                }
                for _ in 0..pops.min(model.len()) {
                    prop_assert_eq!(table.first(), model.remove(0));
                    table.pop();
                }
                prop_assert_eq!(table.first(), model.first().copied().unwrap_or(u64::MAX));
                if pops == 2 {
                    let is_kept = |word: u64| !(word & LOWEST).is_multiple_of(few);
                    table.retain(is_kept);
                    model.retain(|&word| is_kept(word));
                    prop_assert_eq!(table.first(), model.first().copied().unwrap_or(u64::MAX));
                }
            }
            table.shut();
            prop_assert!(!table.insert(0));
            table.clear();
            prop_assert_eq!(table.first(), u64::MAX);
            prop_assert!(table.insert(7) && table.first() == 7);
        }
    }
}
