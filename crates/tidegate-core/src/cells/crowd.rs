//! Keeps connections that the wheel's short tables have no room for: those of which very many are due in one slot, and those that come
//! for a slot the wheel has passed.
//!
//! **Law.** The first is that of the smallest key, and of equal keys that of the smallest rank.
//!
//! **Source.** A queue for what comes in order, and the paper's heap for the rest.
//!
//! **State.** 24 bytes for the most entries there ever were, reserved as they come.
//!
//! **Cost.** O(1) for what comes in order, as when thousands of connections start in one slot; otherwise O(log n).
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None.

use super::binary_heap::{BinaryHeap, Work};
use super::slot_levels::Entry;
use crate::ready::is_before;
use alloc::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(super) struct Crowded {
    pub(super) entry: Entry,
    pub(super) rank: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Crowd {
    queue: VecDeque<Crowded>,
    heap: BinaryHeap<Crowded>,
}

fn goes_before(a: &Crowded, b: &Crowded) -> bool {
    if a.entry.key == b.entry.key { a.rank < b.rank } else { is_before(a.entry.key, b.entry.key) }
}

impl Crowd {
    pub(super) fn new() -> Crowd {
        Crowd { queue: VecDeque::new(), heap: BinaryHeap::with_capacity(0) }
    }

    #[cold]
    pub(super) fn push(&mut self, entry: Crowded) {
        match self.queue.back() {
            Some(last) if goes_before(&entry, last) => self.heap.push(entry, &mut Work::default(), |a, b, _| goes_before(a, b)),
            _ => self.queue.push_back(entry),
        }
    }

    pub(super) fn first(&self) -> Option<&Crowded> {
        match (self.queue.front(), self.heap.first()) {
            (Some(queued), Some(heaped)) if goes_before(heaped, queued) => Some(heaped),
            (None, heaped) => heaped,
            (queued, _) => queued,
        }
    }

    #[cold]
    pub(super) fn pop(&mut self) -> Option<Crowded> {
        match (self.queue.front(), self.heap.first()) {
            (Some(queued), Some(heaped)) if !goes_before(heaped, queued) => self.queue.pop_front(),
            (Some(_), None) => self.queue.pop_front(),
            _ => self.heap.pop(&mut Work::default(), |a, b, _| goes_before(a, b)),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.heap.first().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_crowd_is_sorted(start: u64, steps in prop::collection::vec((0u64..20, 0u64..4, any::<bool>()), 1..300)) {
            let (mut crowd, mut model) = (Crowd::new(), BTreeMap::new());
            for (step, (key, rank, pops)) in steps.into_iter().enumerate() {
                let entry = (key, rank << 32 | step as u64);
                crowd.push(Crowded { entry: Entry { key: start.wrapping_add(key), payload: step as u64 }, rank: entry.1 });
                model.insert(entry, step as u64);
                if pops {
                    prop_assert_eq!(crowd.first().map(|first| first.entry.payload), model.first_key_value().map(|first| *first.1));
                    prop_assert_eq!(crowd.pop().map(|first| first.entry.payload), model.pop_first().map(|first| first.1));
                }
            }
            while let Some((_, payload)) = model.pop_first() {
                prop_assert_eq!(crowd.pop().map(|first| first.entry.payload), Some(payload));
            }
            prop_assert!(crowd.is_empty() && crowd.pop().is_none());
        }
    }
}
