//! Walks through a wheel's ring some flows ahead of the first, so that what their turn will touch is in the cache by then.
//!
//! A scout only ever gives hints. It is not told of changes ahead of it, so it may name a flow that is no longer there or miss one that has
//! come between; it notices from the flows that are taken, and starts again at the first when none of them is one that it named.

use super::ring::{Links, NONE, Ring};
use crate::packet::Flow;
use crate::prefetch::prefetch;

/// The scout takes two steps at a time until it is this many flows ahead. Memory answers within a few turns of the fastest schedulers;
/// the rest of the distance is for whoever has to follow a chain of references from the hint.
const LEAD: u32 = 12;
/// It takes no step if it is this many flows ahead. Whoever takes flows in bursts and asks for hints one by one profits from the difference.
const LONGEST_LEAD: u32 = 60;
/// So many flows in a row that the scout did not name mean that it has lost its way.
const PATIENCE: u32 = 4;
const CAPACITY: usize = 64;

/// The scout of one wheel.
#[derive(Clone, Debug)]
pub(super) struct Scout {
    /// The flows named and not yet taken, in a ring of which `named - taken` are in use.
    flows: [u32; CAPACITY],
    named: u32,
    taken: u32,
    /// How many flows in a row have been taken that the scout did not name.
    missed: u32,
    /// Where it stands: the flow named last, or `NONE` at the end of its bucket, and the bucket.
    flow: u32,
    bucket: usize,
}

impl Scout {
    pub(super) fn new() -> Scout {
        Scout { flows: [NONE; CAPACITY], named: 0, taken: 0, missed: 0, flow: NONE, bucket: 0 }
    }

    /// The first of the ring, `flow`, is about to be taken from `bucket`.
    #[inline]
    pub(super) fn follow(&mut self, flow: Flow, bucket: usize) {
        if self.named != self.taken && self.flows[self.taken as usize % CAPACITY] == flow.0 {
            self.taken = self.taken.wrapping_add(1);
            self.missed = 0;
        } else {
            self.missed += 1;
            if self.missed > PATIENCE {
                self.taken = self.named;
            }
        }
        if self.named == self.taken {
            self.missed = 0;
            self.flow = flow.0;
            self.bucket = bucket;
        }
    }

    /// Names one more flow ahead, if there is any that is not too far.
    #[inline]
    pub(super) fn look_ahead(&mut self, ring: &Ring, links: &[Links]) -> Option<Flow> {
        let lead = self.named.wrapping_sub(self.taken);
        if lead >= LONGEST_LEAD || lead as usize >= ring.len() {
            return None;
        }
        if lead < LEAD {
            self.step(ring, links)?;
        }
        self.step(ring, links)
    }

    #[inline]
    fn step(&mut self, ring: &Ring, links: &[Links]) -> Option<Flow> {
        let mut next = if self.flow == NONE { NONE } else { links[self.flow as usize].next };
        if next == NONE {
            self.bucket = ring.next((self.bucket + 1) & ring.mask())?;
            next = ring.firsts[self.bucket];
            // The links of a bucket's first are read when the scout goes on to its second: fetch those of a bucket that comes soon.
            let soon = (self.bucket + 2) & ring.mask();
            if ring.occupied.contains(soon) {
                prefetch(&links[ring.firsts[soon] as usize]);
            }
        }
        prefetch(&links[next as usize]);
        self.flow = next;
        self.flows[self.named as usize % CAPACITY] = next;
        self.named = self.named.wrapping_add(1);
        Some(Flow(next))
    }
}
