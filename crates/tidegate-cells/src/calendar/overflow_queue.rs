//! Holds connections for which the wheel has no room: those beyond a full slot or bucket, and those for a slot that has passed.
//!
//! **Law.** The first has the smallest key; equal keys leave in the order in which they came.
//!
//! **Source.** A queue for what comes in order, and the paper's heap for the rest.
//!
//! **State.** Two words per entry, in chunks of the pool, in place of the logs that were full. The heap takes a chunk in 64 more for its
//! tables, and four bytes for every 64 entries of its capacity.
//!
//! **Cost.** O(1) for what comes in order, as when thousands of connections start in one slot; otherwise O(log n). No allocation.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Ties in the heap leave in order if less than 2^25 others came between them.

use crate::calendar::levels::{Entry, Log, Pool};
use crate::calendar::overflow_heap::OverflowHeap;
use tidegate_core::serial::is_before;

#[derive(Clone, Debug)]
pub(crate) struct OverflowQueue {
    first: Option<Entry>,
    /// Two words per entry; the first `taken` words have been taken out.
    queue: Log,
    taken: usize,
    /// The last key in the queue. It comes after all keys in the heap, so the queue is not empty while the heap is not.
    last: u64,
    /// Entries that came with a key before the queue's last. At equal keys those of the queue came first.
    heap: OverflowHeap,
}

impl OverflowQueue {
    /// The most chunks for this many entries. n queues together need `chunks(entries) + (n - 1) * chunks(0)`.
    pub(crate) const fn chunks(entries: usize) -> usize {
        // Two partly filled chunks at the ends of the queue.
        2 + OverflowHeap::chunks(entries)
    }

    /// The bytes of a queue with this capacity, beside its chunks.
    #[cfg(test)]
    pub(crate) const fn bytes(entries: usize) -> usize {
        OverflowHeap::bytes(entries)
    }

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

    fn queued(&self, pool: &Pool) -> Option<Entry> {
        pool.first(&self.queue).map(|words| Entry { key: words[self.taken], payload: words[self.taken + 1] })
    }

    /// Takes over the heap, and so the capacity, of another queue that is empty. All entries of this one came in order.
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
        fn an_overflow_queue_is_sorted(start: u64, steps in prop::collection::vec((0u64..20, 0usize..4), 1..600)) {
            let mut pool = Pool::new();
            pool.reserve(OverflowQueue::chunks(steps.len()));
            let (mut queue, mut model) = (OverflowQueue::new(steps.len()), BTreeMap::new());
            for (step, (key, pops)) in steps.into_iter().enumerate() {
                queue.push(&mut pool, Entry { key: start.wrapping_add(key), payload: step as u64 });
                model.insert((key, step), step as u64);
                for _ in 0..pops / 2 {
                    prop_assert_eq!(queue.first().map(|first| first.payload), model.first_key_value().map(|first| *first.1));
                    prop_assert_eq!(queue.pop(&mut pool).map(|first| first.payload), model.pop_first().map(|first| first.1));
                }
            }
            while let Some((_, payload)) = model.pop_first() {
                prop_assert_eq!(queue.pop(&mut pool).map(|first| first.payload), Some(payload));
            }
            prop_assert!(queue.is_empty() && queue.pop(&mut pool).is_none());
            prop_assert_eq!(pool.in_use(), 0);
        }
    }
}
