//! The oracle of the ready lists: flows in the exact order of their keys, in a 4-ary heap that knows the place of every flow.
//!
//! **Source**: Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964; four children per node after Johnson, "Priority queues with update
//! and finding minimum spanning trees", Information Processing Letters 4(3), 1975. Ties break by a 64-bit insertion number.

use tidegate_core::packet::Flow;
use tidegate_core::ready::ReadyList;
use tidegate_core::serial::is_before;

/// An indexed heap with exact keys.
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
