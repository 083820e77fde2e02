//! Heads that may leave, in the order in which they do: a sorted sequence, and a heap of those that would be inserted far from both of its ends.
//!
//! **Law**: `first` names the head of the most urgent class with the smallest virtual finish; ties leave in the order of flows.
//!
//! **Source**: the heap is that of the standard library. What is removed from it stays until it comes to the top.
//!
//! **State**: 22 bytes per flow, and 32 KiB.
//!
//! **Cost**: O(1) for a head that comes in order; else O(log e) with e heads, or a move of at most 64.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: none.

use crate::packet::Flow;
use crate::units::Time;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// What decides when a head leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// It is eligible from here on.
    pub eligible: Time,
    /// Its virtual finish.
    pub finish: Time,
    /// Its class; 0 is the most urgent.
    pub class: u32,
}

/// A head that may leave. Of two the greater leaves first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    finish: Time,
    flow: u32,
    /// The class, and below it the generation of the flow when the entry came to the heap, which has [`GENERATION_BITS`].
    tag: u32,
}

/// The bits of a generation; those that remain are enough for four classes.
const GENERATION_BITS: u32 = 30;

impl Entry {
    #[inline]
    pub(super) fn new(Flow(flow): Flow, Stamp { finish, class, .. }: Stamp) -> Entry {
        debug_assert!(class >> (u32::BITS - GENERATION_BITS) == 0, "there are four classes");
        Entry { finish, flow, tag: class << GENERATION_BITS }
    }

    #[inline]
    const fn class(&self) -> u32 {
        self.tag >> GENERATION_BITS
    }

    #[inline]
    pub(super) fn leaves_before(&self, other: &Entry) -> bool {
        if self.class() != other.class() {
            return (self.class() < other.class()) ^ fault!(IntservControlledLoadFirst);
        }
        self.finish.is_before(other.finish) || (self.finish == other.finish && self.flow < other.flow)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.leaves_before(other).cmp(&other.leaves_before(self))
    }
}

impl PartialEq for Entry {
    #[inline]
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Heads in the order in which they leave.
#[derive(Debug)]
pub(super) struct EligibleHeads {
    /// The first to leave is in front.
    sorted: VecDeque<Entry>,
    /// Heads that are not there. The top has not been removed.
    heap: BinaryHeap<Entry>,
    /// By flow: odd while its head is in the heap.
    generations: Vec<u32>,
    /// Entries of the heap that have been removed.
    removed: usize,
}

/// The most heads in the sorted sequence; few in the tests, so that they reach the heap.
const SORTED_CAPACITY: usize = if cfg!(test) { 16 } else { 2048 };
/// The most heads that are moved for one.
const SHIFT_LIMIT: usize = if cfg!(test) { 2 } else { 64 };

impl EligibleHeads {
    /// No heads, of flows below `flows`.
    pub(super) fn new(flows: usize) -> EligibleHeads {
        EligibleHeads {
            sorted: VecDeque::with_capacity(SORTED_CAPACITY.min(flows)),
            heap: BinaryHeap::with_capacity(flows + Self::most_removed(flows)),
            generations: vec![0; flows],
            removed: 0,
        }
    }

    /// The most removed entries that stay in the heap.
    fn most_removed(flows: usize) -> usize {
        flows / 8 + 1
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: Entry) {
        if self.sorted.len() < SORTED_CAPACITY && self.sorted.back().is_none_or(|last| last.leaves_before(&entry)) {
            self.sorted.push_back(entry);
        } else {
            self.insert_within(entry);
        }
    }

    #[inline(never)]
    fn insert_within(&mut self, entry: Entry) {
        let place = self.sorted.partition_point(|other| other.leaves_before(&entry));
        if self.sorted.len() < SORTED_CAPACITY && place.min(self.sorted.len() - place) <= SHIFT_LIMIT {
            return self.sorted.insert(place, entry);
        }
        let generation = self.age(entry.flow);
        self.heap.push(Entry { tag: entry.tag | generation, ..entry });
    }

    /// The flow that leaves first.
    #[inline]
    pub(super) fn first(&self) -> Option<Flow> {
        let entry = if self.is_heap_first() { self.heap.peek() } else { self.sorted.front() };
        entry.map(|entry| Flow(entry.flow))
    }

    #[inline]
    fn is_heap_first(&self) -> bool {
        match self.heap.peek() {
            None => false,
            Some(top) => self.sorted.front().is_none_or(|front| top.leaves_before(front)),
        }
    }

    /// Takes out the head of the flow that leaves first.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        if !self.is_heap_first() {
            self.sorted.pop_front();
        } else if let Some(top) = self.heap.pop() {
            self.age(top.flow);
            self.settle();
        }
    }

    /// The flow that leaves after this number of others, if that is known; a hint.
    #[inline]
    pub(super) fn ahead(&self, places: usize) -> Option<Flow> {
        self.sorted.get(places).map(|entry| Flow(entry.flow))
    }

    /// The number of heads whose order is known.
    #[inline]
    pub(super) fn sorted(&self) -> usize {
        self.sorted.len()
    }

    /// Takes out a head; false if it is not here.
    pub(super) fn remove(&mut self, entry: Entry) -> bool {
        let place = self.sorted.partition_point(|other| other.leaves_before(&entry));
        if self.sorted.get(place) == Some(&entry) {
            self.sorted.remove(place);
            return true;
        }
        let is_here = self.generations[entry.flow as usize] % 2 == 1;
        if is_here {
            self.age(entry.flow);
            self.removed += 1;
            if self.removed == Self::most_removed(self.generations.len()) {
                self.heap.retain(|entry| is_current(&self.generations, entry));
                self.removed = 0;
            }
            self.settle();
        }
        is_here
    }

    /// The head of a flow comes to the heap or leaves it: its next generation.
    fn age(&mut self, flow: u32) -> u32 {
        let generation = &mut self.generations[flow as usize];
        *generation = (*generation + 1) % (1 << GENERATION_BITS);
        *generation
    }

    /// Drops removed entries from the top of the heap.
    #[inline]
    fn settle(&mut self) {
        while self.removed > 0
            && let Some(top) = self.heap.peek()
            && !is_current(&self.generations, top)
        {
            self.heap.pop();
            self.removed -= 1;
        }
    }

    /// Moves every virtual finish before `oldest` up to it.
    pub(super) fn raise(&mut self, oldest: Time) {
        let raise = |entry: &mut Entry| entry.finish = entry.finish.later(oldest);
        self.sorted.iter_mut().for_each(raise);
        self.sorted.make_contiguous().sort_unstable_by(|one, other| other.cmp(one));
        let mut entries = core::mem::take(&mut self.heap).into_vec();
        entries.iter_mut().for_each(raise);
        self.heap = BinaryHeap::from(entries);
        self.settle();
    }
}

/// True if an entry of the heap has not been removed.
#[inline]
fn is_current(generations: &[u32], entry: &Entry) -> bool {
    entry.class() << GENERATION_BITS | generations[entry.flow as usize] == entry.tag
}

impl Clone for EligibleHeads {
    /// A copy with room for every flow: a derived clone would allocate on the packet path.
    fn clone(&self) -> EligibleHeads {
        let mut copy = EligibleHeads::new(self.generations.len());
        copy.sorted.extend(&self.sorted);
        copy.heap.extend(&self.heap);
        EligibleHeads { generations: self.generations.clone(), removed: self.removed, ..copy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few finishes make ties; three of eight steps remove any head, one raises.
        #[test]
        fn agrees_with_a_sorted_vector(
            start in prop_oneof![Just(0u64), Just(u64::MAX - 50)],
            steps in prop::collection::vec((0..8u32, 0..60u32, 0..100u64, 0..2u32), 1..600),
        ) {
            let (mut heads, mut plain) = (EligibleHeads::new(60), Vec::<Entry>::new());
            for (step, flow, finish, class) in steps {
                let at = plain.iter().position(|entry| entry.flow == flow);
                let time = Time::from_picoseconds(start.wrapping_add(finish));
                match (step, at) {
                    (0..7, None) => {
                        let entry = Entry::new(Flow(flow), Stamp { eligible: time, finish: time, class });
                        heads.insert(entry);
                        plain.push(entry);
                    }
                    (0..3, Some(at)) => prop_assert!(heads.remove(plain.remove(at))),
                    (3..7, Some(_)) => {
                        heads.drop_first();
                        plain.remove(0);
                    }
                    _ => {
                        let oldest = Time::from_picoseconds(start.wrapping_add(finish / 8));
                        heads.raise(oldest);
                        plain.iter_mut().for_each(|entry| entry.finish = entry.finish.later(oldest));
                        heads = heads.clone();
                    }
                }
                plain.sort_by(|one, other| if one.leaves_before(other) { Ordering::Less } else { Ordering::Greater });
                prop_assert_eq!(heads.first(), plain.first().map(|entry| Flow(entry.flow)));
                if at.is_none() && step == 7 {
                    let absent = Entry::new(Flow(flow), Stamp { eligible: time, finish: time, class });
                    prop_assert!(!heads.remove(absent));
                }
            }
        }
    }
}
