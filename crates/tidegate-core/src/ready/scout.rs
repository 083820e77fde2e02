//! Walks through a wheel's ring some flows ahead of the first, so that what their turn will touch is in the cache by then.
//!
//! A scout only ever gives hints. It is not told of changes ahead of it, so it may name a flow that is no longer there or miss one that has
//! come between; it notices from the flows that are taken, and starts again at the first when none of them is one that it named.

use super::ring::{Links, NONE, Ring};
use crate::packet::Flow;
use crate::prefetch::prefetch;

/// How many flows ahead of the first the scout walks. Memory answers within a few turns of the fastest schedulers; the rest of the distance
/// is for whoever has to follow a chain of references from the hint.
const LEAD: u32 = 12;
/// So many flows in a row that the scout did not name mean that it has lost its way.
const PATIENCE: u32 = 4;
const CAPACITY: usize = 16;

/// The scout of one wheel.
#[derive(Clone, Debug)]
pub(super) struct Scout {
    /// The flows named and not yet taken, in a ring of which `named - taken` are in use.
    flows: [u32; CAPACITY],
    named: u32,
    taken: u32,
    /// How many flows in a row have been taken that the scout did not name.
    missed: u32,
    /// Where it stands: the flow named last and its bucket.
    flow: u32,
    bucket: usize,
}

impl Scout {
    pub(super) fn new() -> Scout {
        Scout { flows: [NONE; CAPACITY], named: 0, taken: 0, missed: 0, flow: NONE, bucket: 0 }
    }

    /// The flow named last, if it has not been taken yet.
    #[inline]
    pub(super) fn latest(&self) -> Option<Flow> {
        if self.named == self.taken { None } else { Some(Flow(self.flow)) }
    }

    /// The first of the ring, `flow`, has been taken from `bucket`, in which it was followed by `next`.
    #[inline]
    pub(super) fn follow(&mut self, flow: Flow, bucket: usize, next: u32, ring: &Ring, links: &[Links]) {
        if self.named != self.taken && self.flows[self.taken as usize % CAPACITY] == flow.0 {
            self.taken = self.taken.wrapping_add(1);
            self.missed = 0;
        } else {
            self.missed += 1;
            if self.missed > PATIENCE {
                self.taken = self.named;
            }
        }
        let mut lead = self.named.wrapping_sub(self.taken);
        if lead == 0 {
            self.missed = 0;
            self.bucket = bucket;
            self.flow = NONE;
            if next != NONE {
                self.name(next, links);
                lead = 1;
            }
        }
        // One step per flow taken keeps the distance; two, until it is reached.
        if lead < LEAD && self.step(ring, links) && lead + 1 < LEAD {
            self.step(ring, links);
        }
    }

    /// Names one more flow, if there is one within reach.
    #[inline]
    fn step(&mut self, ring: &Ring, links: &[Links]) -> bool {
        let mut next = if self.flow == NONE { NONE } else { links[self.flow as usize].next };
        if next == NONE {
            let from = (self.bucket + 1) & ring.mask();
            let near = ring.occupied.window(from);
            if near == 0 {
                return false;
            }
            self.bucket = from + near.trailing_zeros() as usize;
            next = ring.firsts[self.bucket];
            // The links of a bucket's first are read when the scout goes on to its second: fetch them a few buckets before.
            let second = near & (near - 1);
            let third = second & second.wrapping_sub(1);
            if third != 0 {
                prefetch(&links[ring.firsts[from + third.trailing_zeros() as usize] as usize]);
            }
        }
        self.name(next, links);
        true
    }

    #[inline]
    fn name(&mut self, flow: u32, links: &[Links]) {
        prefetch(&links[flow as usize]);
        self.flow = flow;
        self.flows[self.named as usize % CAPACITY] = flow;
        self.named = self.named.wrapping_add(1);
    }
}
