//! Streams of one deadline and one period, whose deadlines pass together.

use super::queues::{QUEUED, Queues, is_current};
use super::record::Record;
use crate::dwcs::adaptive_group::AdaptiveGroup;
use crate::dwcs::kinetic_key::{KineticKey, Member};
use crate::dwcs::radix_heap::Entry;
use alloc::vec::Vec;

#[derive(Clone, Default, Debug)]
pub(super) struct DeadlineGroup {
    pub deadline: u64,
    pub period: u64,
    pub period_index: u32,
    /// Deadlines missed since it was created, or counted anew.
    pub misses: u64,
    /// Changes whenever a member leaves, so that an entry at the front is recognised as outdated.
    pub stamp: u32,
    /// Services of its members since the last miss.
    pub services: usize,
    /// Members whose order is known while they wait.
    pub queues: Queues,
    /// All others.
    pub compared: AdaptiveGroup,
    /// The member that was served last, if its deadline is now the next one; it still has its slot, if it had one.
    pub served: Option<u32>,
    /// Members that have been served and whose deadline is the next one. They come after those that have not been served.
    pub ahead: Vec<u32>,
}

impl DeadlineGroup {
    /// The number of members that wait.
    pub fn len(&self) -> usize {
        self.compared.len() + self.queues.len()
    }

    /// The key of the first member; the group is in order.
    #[inline]
    pub fn first(&self) -> Option<KineticKey> {
        let Some(queued) = self.queues.first() else { return self.compared.first().copied() };
        Some(self.compared.first().map_or(queued, |&key| queued.first(key, self.misses)))
    }

    /// Adds a stream whose key is as of the present count of misses.
    #[inline]
    pub fn add(&mut self, stream: u32, records: &mut [Record], members: &mut [Member]) {
        if !self.queues.enqueue(&mut records[stream as usize], &mut members[stream as usize], self.compared.is_large()) {
            self.compared.insert(stream, self.misses, members);
        }
    }

    /// The first, which is this stream, is served: it is in no queue from now on.
    #[inline]
    pub fn serve(&mut self, stream: u32, records: &[Record], members: &mut [Member]) {
        self.services += 1;
        if members[stream as usize].slot == QUEUED {
            self.queues.pop(self.misses, records, members);
        } else if self.compared.release(stream, self.misses, members) {
            members[stream as usize].slot = QUEUED;
        }
    }

    /// Takes the slot of a stream that has been served, if it still has it.
    #[inline]
    pub fn vacate(&mut self, stream: u32, members: &[Member]) {
        if members[stream as usize].slot != QUEUED {
            self.compared.remove_released(stream, self.misses, members);
        }
    }

    /// Compares all members if none tolerates nothing; `moving` is memory for that.
    #[inline]
    pub fn compare_tolerant(&mut self, records: &[Record], members: &mut [Member], moving: &mut Vec<u32>) {
        self.queues.drain_tolerant(records, moving);
        if !moving.is_empty() {
            self.compared.insert_all(moving, self.misses, members);
            moving.clear();
        }
    }

    /// All members that wait, in no particular order.
    pub fn streams(&self, records: &[Record], members: &[Member]) -> impl Iterator<Item = u32> {
        let queued = self.queues.entries().filter(|entry| is_current(records)(entry));
        self.compared.streams(members).chain(queued.map(Entry::stream))
    }

    pub fn clear(&mut self) {
        (self.misses, self.services) = (0, 0);
        self.queues.clear();
        self.compared.clear();
    }
}
