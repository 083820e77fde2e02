//! A short sorted sequence of keys and flows that is taken from the front: the part of a wheel whose order is known.

use super::is_before;
use super::logs::Entry;
use alloc::vec;
use alloc::vec::Vec;

/// Entries in the order of their keys; among equal keys the one that came first stands first.
///
/// They lie in a buffer of twice the capacity and drift backwards through it, so that taking the first and adding a last move nothing.
#[derive(Clone, Debug)]
pub(super) struct Run {
    items: Vec<Entry>,
    head: usize,
    tail: usize,
}

/// So many items are moved one by one; more are worth a call.
const FEW: usize = 24;
/// Up to so many entries are sorted together.
pub(super) const BATCH: usize = 64;
/// So many distances are compared together.
const LANES: usize = 8;

impl Run {
    /// An empty run for at most `capacity` flows.
    pub(super) fn new(capacity: usize) -> Run {
        Run { items: vec![Entry::default(); 2 * capacity], head: 0, tail: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail - self.head
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.items.len() / 2
    }

    /// The items.
    #[inline]
    pub(super) fn items(&self) -> &[Entry] {
        &self.items[self.head..self.tail]
    }

    /// The item in this place; `None` at the end.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<Entry> {
        let at = self.head + place;
        if at < self.tail { self.items.get(at).copied() } else { None }
    }

    /// The last key.
    #[inline]
    pub(super) fn last_key(&self) -> Option<u64> {
        if self.tail > self.head { Some(self.items[self.tail - 1].key) } else { None }
    }

    /// Takes out the first.
    #[inline]
    pub(super) fn pop(&mut self) {
        debug_assert!(self.head < self.tail);
        self.head += 1;
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        }
    }

    /// Adds a flow behind all others, whose keys are not after its own. There must be room.
    #[inline]
    pub(super) fn push(&mut self, key: u64, flow: u32) {
        if self.tail == self.items.len() {
            self.move_to_front();
        }
        self.items[self.tail] = Entry { key, flow, generation: 0 };
        self.tail += 1;
    }

    /// Where up to [`BATCH`] entries are gathered before they are added by [`Run::append`]. `None` if a run has no room for that many.
    #[inline]
    pub(super) fn room(&mut self) -> Option<&mut [Entry; BATCH]> {
        if self.tail + 2 * BATCH > self.items.len() {
            self.move_to_front();
        }
        self.items.get_mut(self.tail + BATCH..)?.first_chunk_mut()
    }

    /// Adds the `count` entries that stand in the room, at least one, behind all others, whose keys are not after theirs, and returns the last key.
    /// Their keys are at or after `start`.
    #[inline]
    pub(super) fn append(&mut self, count: usize, start: u64) -> u64 {
        let Some((places, gathered)) = self.items[self.tail..].split_first_chunk_mut() else { unreachable!("the entries stand there") };
        sort(&gathered[..count], start, places);
        self.tail += count;
        self.items[self.tail - 1].key
    }

    /// Adds a flow behind all whose keys are not after its own. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, key: u64, flow: u32) {
        if self.tail == self.items.len() {
            self.move_to_front();
        }
        let start = self.head.max(self.tail.saturating_sub(FEW));
        self.tail += 1;
        let last = &mut self.items[start..self.tail];
        let mut place = 0;
        for at in (1..last.len()).rev() {
            if !is_before(key, last[at - 1].key) {
                place = at;
                break;
            }
            last[at] = last[at - 1];
        }
        last[place] = Entry { key, flow, generation: 0 };
        if place == 0 && start > self.head {
            self.sink(start);
        }
    }

    /// Moves the item at `at` to its place further ahead.
    #[inline(never)]
    fn sink(&mut self, at: usize) {
        let item = self.items[at];
        let place = self.head + self.items[self.head..at].partition_point(|other| !is_before(item.key, other.key));
        self.items.copy_within(place..at, place + 1);
        self.items[place] = item;
    }

    /// Takes out `flow`, wherever it stands; false if it is not here.
    pub(super) fn remove(&mut self, flow: u32) -> bool {
        let Some(place) = self.items().iter().position(|item| item.flow == flow) else { return false };
        self.items.copy_within(self.head + place + 1..self.tail, self.head + place);
        self.tail -= 1;
        true
    }

    /// Gives up all from this place on.
    pub(super) fn truncate(&mut self, places: usize) {
        self.tail = self.head + places;
    }

    #[cold]
    fn move_to_front(&mut self) {
        self.items.copy_within(self.head..self.tail, 0);
        (self.head, self.tail) = (0, self.tail - self.head);
    }
}

/// Writes `entries`, whose keys are at or after `start`, to `places` in the order of their keys; those of equal keys stay in their order.
///
/// Every entry's place is the number of those before it. All are compared with all, so that no branch depends on a key.
#[inline(never)]
fn sort(entries: &[Entry], start: u64, places: &mut [Entry; BATCH]) {
    if entries.is_sorted_by(|one, next| !is_before(next.key, one.key)) {
        places[..entries.len()].copy_from_slice(entries);
        return;
    }
    let spread = entries.iter().fold(1, |bits, entry| bits | entry.key.wrapping_sub(start));
    // As much of the distances from `start` as there is room for beside an index.
    let cut = (u64::BITS - spread.leading_zeros()).saturating_sub(31 - BATCH.ilog2());
    let mut order = [i32::MAX; BATCH];
    for (index, (place, entry)) in order.iter_mut().zip(entries).enumerate() {
        *place = (entry.key.wrapping_sub(start) >> cut) as i32 * BATCH as i32 + index as i32;
    }
    let (groups, _) = order[..entries.len().next_multiple_of(LANES)].as_chunks::<LANES>();
    for (&own, &entry) in order.iter().zip(entries) {
        let mut before = [0; LANES];
        for group in groups {
            for (count, &other) in before.iter_mut().zip(group) {
                *count += (other - own) >> 31;
            }
        }
        places[before.iter().sum::<i32>().unsigned_abs() as usize % BATCH] = entry;
    }
    if cut > 0 {
        // Those of the same distance, as far as there was room, may have changed places.
        for at in 1..entries.len() {
            let entry = places[at];
            let mut place = at;
            while place > 0 && is_before(entry.key, places[place - 1].key) {
                places[place] = places[place - 1];
                place -= 1;
            }
            if place < at {
                places[place] = entry;
            }
        }
    }
}
