//! A short sorted sequence of keys and flows that is taken from the front: the part of a wheel whose order is known.

use super::is_before;
use alloc::vec;
use alloc::vec::Vec;

/// A flow and its key.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Item {
    pub(super) key: u64,
    pub(super) flow: u32,
}

/// Items in the order of their keys; among equal keys the one that came first stands first.
///
/// They lie in a buffer of twice the capacity and drift backwards through it, so that taking the first and adding a last move nothing.
#[derive(Clone, Debug)]
pub(super) struct Run {
    items: Vec<Item>,
    head: usize,
    tail: usize,
}

/// So many items are moved one by one; more are worth a call.
const FEW: usize = 24;

impl Run {
    /// An empty run for at most `capacity` flows.
    pub(super) fn new(capacity: usize) -> Run {
        Run { items: vec![Item { key: 0, flow: 0 }; 2 * capacity], head: 0, tail: 0 }
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
    pub(super) fn items(&self) -> &[Item] {
        &self.items[self.head..self.tail]
    }

    /// The item in this place; `None` at the end.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<Item> {
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
        self.items[self.tail] = Item { key, flow };
        self.tail += 1;
    }

    /// Makes sure that `count` items can be pushed without moving the others.
    #[inline]
    pub(super) fn make_room(&mut self, count: usize) {
        if self.tail + count > self.items.len() {
            self.move_to_front();
        }
    }

    /// The items from this place on, to be put into another order.
    pub(super) fn items_from(&mut self, place: usize) -> &mut [Item] {
        &mut self.items[self.head + place..self.tail]
    }

    /// Adds a flow behind all whose keys are not after its own. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, key: u64, flow: u32) {
        if self.tail == self.items.len() {
            self.move_to_front();
        }
        let start = self.head.max(self.tail.saturating_sub(FEW));
        let mut at = self.tail;
        while at > start && is_before(key, self.items[at - 1].key) {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = Item { key, flow };
        self.tail += 1;
        if at == start && at > self.head {
            self.sink(at);
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
