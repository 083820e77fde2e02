//! Keeps flows in the exact order of their keys in a 4-ary heap that knows the place of every flow.
//!
//! **Law**: the laws of [`ReadyList`].
//!
//! **Source**: Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964; four children per node after Johnson, "Priority queues with update
//! and finding minimum spanning trees", Information Processing Letters 4(3), 1975.
//!
//! **State**: 24 bytes per flow for the entry, 4 for its position.
//!
//! **Cost**: O(log n) for every change, O(1) for the first. It chases cache misses level by level; [`super::Wheel`] is faster from a few
//! dozen flows.
//!
//! **RTL twin**: none; a shift register of comparators takes its place in hardware.
//!
//! **Deviations**: ties break by a 64-bit insertion number, so equal keys leave first in, first out, which plain heaps do not guarantee.

use super::ReadyList;
use crate::packet::Flow;
use crate::serial::is_before;
use alloc::vec;
use alloc::vec::Vec;

/// An indexed heap with exact keys.
///
/// ```
/// use tidegate_core::packet::Flow;
/// use tidegate_core::ready::{Heap, ReadyList};
/// let mut list = Heap::new(3);
/// list.insert(Flow(0), 7);
/// list.insert(Flow(1), u64::MAX); // just before the wrap: the smallest of the three
/// list.insert(Flow(2), 7);
/// assert_eq!(list.pop_first(), Some((u64::MAX, Flow(1))));
/// assert_eq!(list.pop_first(), Some((7, Flow(0))));
/// assert_eq!(list.pop_first(), Some((7, Flow(2))));
/// ```
#[derive(Debug)]
pub struct Heap {
    entries: Vec<Entry>,
    /// The place of each flow's entry; `ABSENT` if it is not in the heap.
    positions: Vec<u32>,
    insertions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    insertion: u64,
    flow: u32,
}

/// No place.
const ABSENT: u32 = u32::MAX;
/// Children per node.
const CHILDREN: usize = 4;

impl Entry {
    #[inline]
    fn leaves_before(&self, other: &Entry) -> bool {
        is_before(self.key, other.key) || (self.key == other.key && self.insertion < other.insertion)
    }
}

impl Heap {
    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.entries[at] = entry;
        self.positions[entry.flow as usize] = at as u32;
    }

    /// Puts `entry` in the hole at `at` or closer to the root; true if it moved.
    fn sift_up(&mut self, mut at: usize, entry: Entry) -> bool {
        let hole = at;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !entry.leaves_before(&self.entries[parent]) {
                break;
            }
            self.put(at, self.entries[parent]);
            at = parent;
        }
        self.put(at, entry);
        at != hole
    }

    /// Puts `entry` in the hole at `at` or closer to the leaves.
    fn sift_down(&mut self, mut at: usize, entry: Entry) {
        loop {
            let children = at * CHILDREN + 1..(at * CHILDREN + 1 + CHILDREN).min(self.entries.len());
            let least = children.reduce(|least, child| if self.entries[child].leaves_before(&self.entries[least]) { child } else { least });
            match least {
                Some(child) if self.entries[child].leaves_before(&entry) => {
                    self.put(at, self.entries[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.put(at, entry);
    }
}

impl Clone for Heap {
    /// A copy with room for every flow: a derived clone would allocate on the packet path.
    fn clone(&self) -> Heap {
        let mut entries = Vec::with_capacity(self.positions.len());
        entries.extend_from_slice(&self.entries);
        Heap { entries, positions: self.positions.clone(), insertions: self.insertions }
    }
}

impl ReadyList for Heap {
    fn new(flows: usize) -> Heap {
        Heap { entries: Vec::with_capacity(flows), positions: vec![ABSENT; flows], insertions: 0 }
    }

    fn insert(&mut self, flow: Flow, key: u64) {
        debug_assert_eq!(self.positions[flow.index()], ABSENT, "{flow:?} is in the list already");
        let entry = Entry { key, insertion: self.insertions, flow: flow.0 };
        self.insertions += 1;
        // Within the capacity reserved by `new`, because a flow is in the list at most once.
        self.entries.push(entry);
        self.sift_up(self.entries.len() - 1, entry);
    }

    fn remove(&mut self, flow: Flow) {
        let at = self.positions[flow.index()];
        debug_assert_ne!(at, ABSENT, "{flow:?} is not in the list");
        self.positions[flow.index()] = ABSENT;
        if let Some(last) = self.entries.pop()
            && last.flow != flow.0
            && !self.sift_up(at as usize, last)
        {
            self.sift_down(at as usize, last);
        }
    }

    #[inline]
    fn first(&self) -> Option<(u64, Flow)> {
        self.entries.first().map(|entry| (entry.key, Flow(entry.flow)))
    }

    #[inline]
    fn len(&self) -> usize {
        self.entries.len()
    }
}
