//! A short sorted sequence of keys and flows that is emptied from the front: the part of a wheel whose order is known.

use super::counting_sort::{ROOM, distribute, insertion_sort};
use crate::serial::is_before;
use alloc::vec;
use alloc::vec::Vec;

/// One flow in a wheel.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) flow: u32,
    /// The flow's generation when it was entered.
    pub(super) generation: u32,
}

/// Entries in the order of their keys, and of insertion among equal keys.
///
/// The buffer has twice the capacity: taking the first entry and adding a last one move no other.
#[derive(Clone, Debug)]
pub(super) struct Run {
    items: Vec<Entry>,
    head: usize,
    tail: usize,
}

/// Up to this many items are shifted in a loop; more by `copy_within`.
const SHIFT_LIMIT: usize = 24;
/// The most entries that are sorted together.
pub(super) const BATCH: usize = super::counting_sort::MOST;
/// The most bins of a counting sort.
const BINS: usize = 1024;
/// The least number of bins per entry.
const BINS_PER_ENTRY: usize = 4;
/// With more moves per entry than this, an insertion sort is given up for a comparison sort.
const MOST_MOVES: usize = 4;

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

    #[inline]
    pub(super) fn items(&self) -> &[Entry] {
        &self.items[self.head..self.tail]
    }

    /// The item at this place; `None` after the end.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<Entry> {
        let at = self.head + place;
        if at < self.tail { self.items.get(at).copied() } else { None }
    }

    #[inline]
    pub(super) fn last_key(&self) -> Option<u64> {
        if self.tail > self.head { Some(self.items[self.tail - 1].key) } else { None }
    }

    /// Takes out the first.
    #[inline]
    pub(super) fn pop(&mut self) {
        debug_assert!(self.head < self.tail);
        self.head += 1;
    }

    /// Adds a flow at the end; no other key is after its own. There must be room.
    #[inline]
    pub(super) fn push(&mut self, key: u64, flow: u32) {
        if self.tail == self.items.len() {
            self.move_to_front();
        }
        self.items[self.tail] = Entry { key, flow, generation: 0 };
        self.tail += 1;
    }

    /// A buffer for up to [`BATCH`] entries that [`Run::append`] then adds. `None` if the run has no room for that many.
    #[inline]
    pub(super) fn room(&mut self) -> Option<&mut [Entry; ROOM]> {
        if self.tail + 2 * ROOM > self.items.len() {
            self.move_to_front();
        }
        self.items.get_mut(self.tail + ROOM..)?.first_chunk_mut()
    }

    /// Adds the first `count` entries of [`Run::room`], at least one, at the end, and returns the last key. Their keys are at or after
    /// `start`, and before no key in the run.
    #[inline]
    pub(super) fn append(&mut self, count: usize, start: u64) -> u64 {
        let Some((places, gathered)) = self.items[self.tail..].split_first_chunk_mut() else { unreachable!("the entries are there") };
        sort(&gathered[..count], start, places);
        self.tail += count;
        self.items[self.tail - 1].key
    }

    /// Adds a flow after all whose keys are not after its own. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, key: u64, flow: u32) {
        if self.tail == self.items.len() {
            self.move_to_front();
        }
        let start = self.head.max(self.tail.saturating_sub(SHIFT_LIMIT));
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

    /// Takes out `flow` at any place; false if it is not here.
    pub(super) fn remove(&mut self, flow: u32) -> bool {
        let Some(place) = self.items().iter().position(|item| item.flow == flow) else { return false };
        self.items.copy_within(self.head + place + 1..self.tail, self.head + place);
        self.tail -= 1;
        true
    }

    /// Drops all items from this place on.
    pub(super) fn truncate(&mut self, places: usize) {
        self.tail = self.head + places;
    }

    #[cold]
    fn move_to_front(&mut self) {
        self.items.copy_within(self.head..self.tail, 0);
        (self.head, self.tail) = (0, self.tail - self.head);
    }
}

/// Writes `entries`, whose keys are at or after `start`, to `places` in the order of their keys, stable.
///
/// They are counted into bins by the leading bits in which their distances from `start` differ, with four bins or more per entry. An
/// insertion sort orders those of one bin.
#[inline(never)]
fn sort(entries: &[Entry], start: u64, places: &mut [Entry; ROOM]) {
    if entries.is_sorted_by(|one, next| !is_before(next.key, one.key)) {
        places[..entries.len()].copy_from_slice(entries);
        return;
    }
    let distance = |entry: &Entry| entry.key.wrapping_sub(start);
    let (all, any) = entries.iter().fold((u64::MAX, 0), |(all, any), entry| (all & distance(entry), any | distance(entry)));
    let bins = (BINS_PER_ENTRY * entries.len()).next_power_of_two();
    let cut = (u64::BITS - (all ^ any).leading_zeros()).saturating_sub(bins.ilog2());
    let bin = |entry: &Entry| (distance(entry) >> cut) as usize & (bins - 1) & (BINS - 1);
    let mut next = [0u8; BINS];
    distribute(entries, places, &mut next[..bins.min(BINS)], bin);
    let places = &mut places[..entries.len()];
    if !insertion_sort(places, MOST_MOVES * entries.len(), |one, other| is_before(one.key, other.key)) {
        sort_by_comparison(places);
    }
}

/// The same when many share a bin.
#[cold]
fn sort_by_comparison(places: &mut [Entry]) {
    let Some(first) = places.first().map(|entry| entry.key) else { return };
    for (place, number) in places.iter_mut().zip(0..) {
        place.generation = number;
    }
    places.sort_unstable_by_key(|entry| (entry.key.wrapping_sub(first) as i64, entry.generation));
}
