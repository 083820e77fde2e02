//! Connections for which the wheel has no room: those of which very many are due in one slot, and those that come
//! for a slot the wheel has passed.
//!
//! **Law.** The first is that of the smallest key, and of equal keys the one that came first.
//!
//! **Source.** A queue for what comes in order, and the paper's heap for the rest.
//!
//! **State.** Two words per entry, in chunks of the pool, as in the logs for which there was no room; a chunk in 64 more for where the heap's are, and
//! four bytes for every 64 entries that may come.
//!
//! **Cost.** O(1) for what comes in order, as when thousands of connections start in one slot; otherwise O(log n). No allocation.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Equals in the heap leave in order as long as less than 2^25 others have come to it between them.

use crate::calendar::levels::{Entry, Log, Pool};
use crate::calendar::overflow_heap::OverflowHeap;
use tidegate_core::serial::is_before;

#[derive(Clone, Debug)]
pub(crate) struct OverflowQueue {
    first: Option<Entry>,
    /// Two words per entry, of which the first `taken` are gone.
    queue: Log,
    taken: usize,
    /// The key of the last in the queue. It goes behind all of the heap, so the queue is not empty while there is somebody in the heap.
    last: u64,
    /// Those that came for a time before the queue's last. Of equals the queue's came first.
    heap: OverflowHeap,
}

impl OverflowQueue {
    /// The most chunks for so many entries; as many of several crowds need so many more as each of them for none.
    pub(crate) const fn chunks(entries: usize) -> usize {
        // The ends of the queue.
        2 + OverflowHeap::chunks(entries)
    }

    /// What room for so many takes.
    #[cfg(test)]
    pub(crate) const fn bytes(entries: usize) -> usize {
        OverflowHeap::bytes(entries)
    }

    /// With room for so many that come out of order.
    pub(crate) fn new(entries: usize) -> OverflowQueue {
        OverflowQueue { first: None, queue: Log::default(), taken: 0, last: 0, heap: OverflowHeap::new(entries) }
    }

    #[cold]
    pub(crate) fn push(&mut self, pool: &mut Pool, entry: Entry) {
        if self.first.is_none_or(|first| is_before(entry.key, first.key)) {
            self.first = Some(entry);
        }
        if !self.queue.is_empty() && is_before(entry.key, self.last) {
            return self.heap.push(pool, entry);
        }
        pool.append(&mut self.queue, entry.key);
        pool.push(&mut self.queue, entry.payload);
        self.last = entry.key;
    }

    #[inline]
    pub(crate) const fn first(&self) -> Option<Entry> {
        self.first
    }

    #[cold]
    pub(crate) fn pop(&mut self, pool: &mut Pool) -> Option<Entry> {
        let first = self.first?;
        if self.queued(pool) == Some(first) {
            self.taken += 2;
            if self.taken == self.queue.first_len() {
                pool.pop(&mut self.queue);
                self.taken = 0;
            }
        } else {
            self.heap.pop(pool);
        }
        let heaped = self.heap.first(pool);
        self.first = self.queued(pool).map(|queued| heaped.filter(|heaped| is_before(heaped.key, queued.key)).unwrap_or(queued));
        Some(first)
    }

    /// The first of the queue.
    fn queued(&self, pool: &Pool) -> Option<Entry> {
        pool.first(&self.queue).map(|words| Entry { key: words[self.taken], payload: words[self.taken + 1] })
    }

    /// Takes over the room for the heap of another one that is empty; all that came to this one came in order.
    pub(crate) fn take_over(&mut self, other: OverflowQueue) {
        debug_assert!(other.is_empty() && self.heap.is_empty());
        self.heap = other.heap;
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.heap.capacity()
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_crowd_is_sorted(start: u64, steps in prop::collection::vec((0u64..20, 0usize..4), 1..600)) {
            let mut pool = Pool::new();
            pool.reserve(OverflowQueue::chunks(steps.len()));
            let (mut crowd, mut model) = (OverflowQueue::new(steps.len()), BTreeMap::new());
            for (step, (key, pops)) in steps.into_iter().enumerate() {
                crowd.push(&mut pool, Entry { key: start.wrapping_add(key), payload: step as u64 });
                model.insert((key, step), step as u64);
                for _ in 0..pops / 2 {
                    prop_assert_eq!(crowd.first().map(|first| first.payload), model.first_key_value().map(|first| *first.1));
                    prop_assert_eq!(crowd.pop(&mut pool).map(|first| first.payload), model.pop_first().map(|first| first.1));
                }
            }
            while let Some((_, payload)) = model.pop_first() {
                prop_assert_eq!(crowd.pop(&mut pool).map(|first| first.payload), Some(payload));
            }
            prop_assert!(crowd.is_empty() && crowd.pop(&mut pool).is_none());
            prop_assert_eq!(pool.in_use(), 0);
        }
    }
}
