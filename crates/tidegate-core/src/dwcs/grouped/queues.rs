//! The members of a group that need no comparison: their order is known for as long as they wait.

use super::record::Record;
use crate::dwcs::interface::Tally;
use crate::dwcs::kinetic_key::{KineticKey, Member};
use crate::dwcs::radix_heap::{Entry, RadixHeap};
use crate::prefetch::prefetch;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// In place of a slot: the member is in the queue of those that tolerate nothing, or nowhere.
pub(super) const QUEUED: u32 = u32::MAX;
/// In place of a slot: the member is in the other queue.
const QUEUED_TOLERANT: u32 = QUEUED - 1;

#[derive(Clone, Default, Debug)]
pub(super) struct Queues {
    /// What a violation costs the members that are queued: the penalty of the stream that the group was created for.
    pub penalty: u32,
    /// None before the first entry.
    heaps: Option<Box<Heaps>>,
}

#[derive(Clone, Default, Debug)]
struct Heaps {
    /// Members that tolerate nothing and have the group's penalty: common misses do not change their order. Behind the first of them there
    /// are also members that probably tolerate nothing when their turn comes.
    exhausted: RadixHeap,
    /// Members that tolerate something, by the count of misses at which they tolerate nothing. Their order does not matter until then, or
    /// until `exhausted` is empty.
    tolerant: RadixHeap,
}

/// True for an entry whose stream has not been placed elsewhere since it was queued.
pub(super) fn is_current(records: &[Record]) -> impl Fn(&Entry) -> bool {
    |entry| records[entry.stream() as usize].stamp == entry.stamp()
}

/// Prefetches the record and the tally of a stream, if it is one.
#[inline]
pub(super) fn prefetch_stream(stream: u32, records: &[Record], tallies: &[Tally]) {
    if let (Some(record), Some(tally)) = (records.get(stream as usize), tallies.get(stream as usize)) {
        prefetch(record);
        prefetch(tally);
    }
}

impl Queues {
    pub fn len(&self) -> usize {
        self.heaps.as_ref().map_or(0, |heaps| heaps.exhausted.len() + heaps.tolerant.len())
    }

    pub fn clear(&mut self) {
        self.heaps = None;
    }

    /// True if a stream with this slot is in one of the queues.
    pub const fn has(slot: u32) -> bool {
        slot >= QUEUED_TOLERANT
    }

    /// All entries, in no particular order; some are outdated.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.heaps.iter().flat_map(|heaps| heaps.exhausted.entries().chain(heaps.tolerant.entries()))
    }

    #[inline]
    fn first_entry(&self) -> Option<&Entry> {
        self.heaps.as_ref()?.exhausted.first()
    }

    /// The first of those that tolerate nothing.
    #[inline]
    pub fn first(&self) -> Option<KineticKey> {
        self.first_entry().map(|entry| KineticKey::queued(entry, self.penalty))
    }

    /// A stream that becomes the first soon, another one at each call.
    #[inline]
    pub fn soon(&self) -> Option<u32> {
        Some(self.heaps.as_ref()?.exhausted.soon()?.stream())
    }

    /// True if this member is queued in a group where many members (`is_large`), or few, have to be compared.
    #[inline]
    pub fn take(&self, record: &Record, member: &Member, is_large: bool) -> bool {
        match member.key.exhausted_at() {
            None => record.penalty == self.penalty && (is_large || self.first_entry().is_some()),
            Some(_) => self.first_entry().is_some(),
        }
    }

    /// Queues a stream that is nowhere; false if it has to be compared.
    #[inline]
    pub fn enqueue(&mut self, record: &mut Record, member: &mut Member, is_large: bool) -> bool {
        if !self.take(record, member, is_large) {
            return false;
        }
        let Heaps { exhausted, tolerant } = &mut **self.heaps.get_or_insert_with(Box::default);
        let key = &member.key;
        record.stamp = record.stamp.wrapping_add(1);
        let entry = |order, arrival| Entry::new(order, arrival, key.stream(), record.stamp);
        let (is_tolerant, entry) = match (key.exhausted_at(), key.exhausted_order(record.penalty)) {
            (None, _) => (false, entry(key.order, key.arrival)),
            (_, Some(order)) if record.penalty == self.penalty && exhausted.first().is_some_and(|first| first.order < order) => {
                (false, entry(order, key.arrival))
            }
            (Some(count), _) => (true, entry(count, 0)),
        };
        member.slot = if is_tolerant { QUEUED_TOLERANT } else { QUEUED };
        (if is_tolerant { tolerant } else { exhausted }).insert(entry);
        true
    }

    /// Takes out the first of those that tolerate nothing.
    #[inline]
    pub fn pop(&mut self, misses: u64, records: &[Record], members: &mut [Member]) {
        if let Some(heaps) = &mut self.heaps {
            heaps.exhausted.pop(is_current(records));
        }
        self.expose(misses, records, members);
    }

    /// The entry of a member with this slot is outdated from now on.
    pub fn lose(&mut self, slot: u32, misses: u64, records: &[Record], members: &mut [Member]) {
        if let Some(Heaps { exhausted, tolerant }) = self.heaps.as_deref_mut() {
            (if slot == QUEUED { exhausted } else { tolerant }).lose(is_current(records));
        }
        self.expose(misses, records, members);
    }

    /// Moves entries to the other queue until the first of `exhausted` tolerates nothing.
    #[inline]
    fn expose(&mut self, misses: u64, records: &[Record], members: &mut [Member]) {
        let Some(Heaps { exhausted, tolerant }) = self.heaps.as_deref_mut() else { return };
        while let Some(&first) = exhausted.first()
            && let member = &mut members[first.stream() as usize]
            && let Some(count) = member.key.exhausted_at()
            && count > misses
        {
            exhausted.pop(is_current(records));
            tolerant.insert(Entry::new(count, 0, first.stream(), first.stamp()));
            member.slot = QUEUED_TOLERANT;
        }
    }

    /// Takes out a stream that tolerates something until the count `misses`, or less.
    #[inline]
    pub fn pop_exhausted(&mut self, misses: u64, records: &[Record], tallies: &[Tally]) -> Option<u32> {
        let tolerant = &mut self.heaps.as_deref_mut()?.tolerant;
        let stream = tolerant.first().filter(|entry| entry.order <= misses)?.stream();
        tolerant.pop(is_current(records));
        if let Some(soon) = tolerant.soon() {
            prefetch_stream(soon.stream(), records, tallies);
        }
        Some(stream)
    }

    /// Moves the queued streams to `streams` if none of them tolerates nothing.
    #[inline]
    pub fn drain_tolerant(&mut self, records: &[Record], streams: &mut Vec<u32>) {
        if let Some(Heaps { exhausted, tolerant }) = self.heaps.as_deref_mut()
            && exhausted.first().is_none()
            && tolerant.first().is_some()
        {
            streams.extend(tolerant.entries().filter(|entry| is_current(records)(entry)).map(Entry::stream));
            tolerant.clear();
        }
    }
}
