//! A ring of buckets, each a list of flows in order of insertion, with a bitmap of those that are not empty.
//!
//! The lists are linked through a table that rings share: a flow is in one bucket of one ring at most.

use super::bitmap::Bitmap;
use alloc::vec;
use alloc::vec::Vec;

/// No flow.
pub(super) const NONE: u32 = u32::MAX;

/// A flow's place in the list of a bucket.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Links {
    /// `NONE` for the last of a bucket.
    pub(super) next: u32,
    /// Meaningless for the first of a bucket.
    previous: u32,
    /// The last of the bucket; meaningless for all but the first.
    last: u32,
    /// Whatever tells its owner where the flow is.
    pub(super) place: u32,
}

impl Links {
    /// A flow that is in no bucket.
    pub(super) const fn at(place: u32) -> Links {
        Links { next: NONE, previous: NONE, last: NONE, place }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) occupied: Bitmap,
    /// The first flow of every bucket; meaningless if the bucket is empty.
    pub(super) firsts: Vec<u32>,
    flows: usize,
}

impl Ring {
    /// An empty ring of `buckets` buckets, a power of two.
    pub(super) fn new(buckets: usize) -> Ring {
        Ring { occupied: Bitmap::new(buckets), firsts: vec![NONE; buckets], flows: 0 }
    }

    /// The number of buckets, less one.
    #[inline]
    pub(super) fn mask(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The number of flows.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.flows
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.flows == 0
    }

    /// The first bucket that is not empty, from `from` on and around.
    #[inline]
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        self.occupied.next(from).or_else(|| self.occupied.next(0))
    }

    /// The last bucket that is not empty, from `from` on and around: the one that `next` would name last.
    pub(super) fn last(&self, from: usize) -> Option<usize> {
        from.checked_sub(1).and_then(|end| self.occupied.previous(end)).or_else(|| self.occupied.previous(self.mask()))
    }

    /// Adds a flow to the end of a bucket.
    #[inline]
    pub(super) fn append(&mut self, links: &mut [Links], bucket: usize, flow: u32, place: u32) {
        let mut previous = NONE;
        // The bitmap, which the cache holds, says whether the bucket, which it may not hold, has to be read.
        if self.occupied.set(bucket) {
            self.firsts[bucket] = flow;
        } else {
            let first = &mut links[self.firsts[bucket] as usize];
            previous = first.last;
            first.last = flow;
            links[previous as usize].next = flow;
        }
        links[flow as usize] = Links { next: NONE, previous, last: flow, place };
        self.flows += 1;
    }

    /// Takes a flow out of a bucket; true if it was the first. The flow's own links are left as they were.
    #[inline]
    pub(super) fn unlink(&mut self, links: &mut [Links], bucket: usize, flow: u32) -> bool {
        let first = self.firsts[bucket];
        if first == flow {
            self.unlink_first(links, bucket, flow);
            return true;
        }
        self.flows -= 1;
        let Links { next, previous, .. } = links[flow as usize];
        links[previous as usize].next = next;
        if next == NONE {
            links[first as usize].last = previous;
        } else {
            links[next as usize].previous = previous;
        }
        false
    }

    /// Takes the first flow out of a bucket. Its own links are left as they were.
    #[inline]
    pub(super) fn unlink_first(&mut self, links: &mut [Links], bucket: usize, flow: u32) {
        let Links { next, last, .. } = links[flow as usize];
        self.flows -= 1;
        if next == NONE {
            self.occupied.clear(bucket);
        } else {
            self.firsts[bucket] = next;
            links[next as usize].last = last;
        }
    }

    /// Moves all flows of a bucket to other places, in order: `place` names ring, bucket and place for each from its present place.
    pub(super) fn empty_into(&mut self, links: &mut [Links], bucket: usize, other: &mut Ring, place: impl Fn(u32) -> (usize, u32)) {
        self.occupied.clear(bucket);
        let mut flow = self.firsts[bucket];
        while flow != NONE {
            let Links { next, place: present, .. } = links[flow as usize];
            let (at, place) = place(present);
            other.append(links, at, flow, place);
            self.flows -= 1;
            flow = next;
        }
    }
}
