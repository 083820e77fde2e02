//! A 4-ary heap that knows the place of every flow: insertion, removal and change of rank in O(log n).

use alloc::vec;
use alloc::vec::Vec;

/// An entry of the heap: a flow and its rank.
pub(crate) trait Ranked: Copy {
    /// The flow.
    fn flow(&self) -> u32;
    /// True if it leaves before `other`. No two entries are equal.
    fn leaves_before(&self, other: &Self) -> bool;
}

/// The heap; a flow is in it at most once.
#[derive(Debug)]
pub(crate) struct IndexedHeap<E> {
    entries: Vec<E>,
    /// The place of each flow's entry; `ABSENT` if it is not in the heap.
    positions: Vec<u32>,
}

/// No place.
const ABSENT: u32 = u32::MAX;
/// Children per node.
const CHILDREN: usize = 4;

impl<E: Ranked> IndexedHeap<E> {
    /// An empty heap for flows below `flows`.
    pub(crate) fn new(flows: usize) -> IndexedHeap<E> {
        IndexedHeap { entries: Vec::with_capacity(flows), positions: vec![ABSENT; flows] }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: E) {
        self.entries[at] = entry;
        self.positions[entry.flow() as usize] = at as u32;
    }

    /// Puts `entry` in the hole at `at` or closer to the root; true if it moved.
    #[inline]
    fn sift_up(&mut self, mut at: usize, entry: E) -> bool {
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
    #[inline]
    fn sift_down(&mut self, mut at: usize, entry: E) {
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

    /// Adds the entry of a flow that is not in the heap.
    #[inline]
    pub(crate) fn insert(&mut self, entry: E) {
        debug_assert!(!self.contains(entry.flow()), "flow {} is in the heap already", entry.flow());
        // Within the capacity reserved by `new`, because a flow is in the heap at most once.
        self.entries.push(entry);
        self.sift_up(self.entries.len() - 1, entry);
    }

    /// Takes out a flow that is in the heap.
    #[inline]
    pub(crate) fn remove(&mut self, flow: u32) {
        let at = self.positions[flow as usize];
        debug_assert_ne!(at, ABSENT, "flow {flow} is not in the heap");
        self.positions[flow as usize] = ABSENT;
        if let Some(last) = self.entries.pop()
            && last.flow() != flow
            && !self.sift_up(at as usize, last)
        {
            self.sift_down(at as usize, last);
        }
    }

    /// Gives a flow that is in the heap another rank.
    #[inline]
    pub(crate) fn replace(&mut self, entry: E) {
        let at = self.positions[entry.flow() as usize] as usize;
        if !self.sift_up(at, entry) {
            self.sift_down(at, entry);
        }
    }

    /// True if the flow is in the heap.
    #[inline]
    pub(crate) fn contains(&self, flow: u32) -> bool {
        self.positions[flow as usize] != ABSENT
    }

    /// The entry that leaves first.
    #[inline]
    pub(crate) fn first(&self) -> Option<&E> {
        self.entries.first()
    }

    /// Changes the rank of every entry.
    pub(crate) fn change_all(&mut self, change: impl FnMut(&mut E)) {
        self.entries.iter_mut().for_each(change);
        for at in (0..self.entries.len()).rev() {
            self.sift_down(at, self.entries[at]);
        }
    }

    /// The places of flows, for prefetching.
    #[inline]
    pub(crate) fn positions(&self) -> &[u32] {
        &self.positions
    }
}

impl<E: Ranked> Clone for IndexedHeap<E> {
    /// A copy with room for every flow: a derived clone would allocate on the packet path.
    fn clone(&self) -> IndexedHeap<E> {
        let mut entries = Vec::with_capacity(self.positions.len());
        entries.extend_from_slice(&self.entries);
        IndexedHeap { entries, positions: self.positions.clone() }
    }
}
