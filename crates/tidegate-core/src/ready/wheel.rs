//! Keeps flows in the order of their keys, rounded up to a granule, in rings of buckets with find-first-set bitmaps over them.
//!
//! **Law**: the laws of [`ReadyList`], for every sequence of keys that lie within 2^63 of each other: far in the future, in the past,
//! across the wrap. The key that is reported exceeds the key that was given by less than the granule.
//!
//! **Source**: buckets of a calendar, Brown, "Calendar queues", CACM 31(10), 1988; coarse buckets for what lies far ahead,
//! Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987; bitmaps over the buckets as in Saeed et al.,
//! "Eiffel", NSDI 2019.
//!
//! **State**: 16 bytes per flow (the links of its bucket's list), 4 bytes and a bit per bucket, and 28 bytes per flow for a [`Heap`] that
//! stays untouched while all keys are within reach of the rings.
//!
//! **Cost**: O(1) amortised for keys within reach of the rings, whatever the number of flows; O(log m) for the m outliers. A list of one
//! flow is kept in two words. What the next dozen flows' turns will touch is fetched ahead ([`ReadyList::look_ahead`]).
//!
//! **RTL twin**: none yet; the bitmap is a tree of 64-bit priority encoders.
//!
//! **Deviations**: a calendar queue resizes itself, and Eiffel's queue files what lies beyond its horizon in a last bucket, out of order.
//! Here the rings keep their size, and what they cannot hold is kept exactly:
//!
//! * The near ring has a bucket per granule and holds keys of the window of its length before `end`, so a bucket never mixes two turns.
//! * The far ring has a bucket per 64 granules and holds keys from `end` on. When the smallest key in the near ring has moved on by 64
//!   granules, `end` follows and the far bucket that it passes is emptied into the near ring: every flow moves once.
//! * A key before the window moves the window down if the far ring can take what the window leaves above, and if that is not too much;
//!   empty rings go anywhere.
//! * A key that does not fit is an outlier and goes to the heap. It is never moved again: the first of the list is the smaller of the two
//!   firsts.
//! * At a tie the outlier is first, and that is the order of insertion: had the other been in a ring before, its key would have been within
//!   reach when the outlier came, and the outlier would have joined its bucket.

use super::ring::{Links, NONE, Ring};
use super::scout::Scout;
use super::{Heap, ReadyList, is_before};
use crate::packet::Flow;
use crate::prefetch::prefetch;
use alloc::vec;
use alloc::vec::Vec;

/// A find-first-set wheel.
///
/// ```
/// use tidegate_core::packet::Flow;
/// use tidegate_core::ready::{ReadyList, Wheel};
/// let mut list = Wheel::new(3, 1000, 256); // granule 512: the largest power of two in 1000
/// list.insert(Flow(0), 700);
/// list.insert(Flow(1), 513);
/// list.insert(Flow(2), 1_000_000_000_000); // far beyond the 256 buckets
/// assert_eq!(list.pop_first(), Some((1024, Flow(0)))); // both rounded up to 1024: first in, first out
/// assert_eq!(list.pop_due(1023), None);
/// assert_eq!(list.pop_due(1024), Some(Flow(1)));
/// assert_eq!(list.first().map(|(_, flow)| flow), Some(Flow(2)));
/// ```
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Binary logarithm of the granule.
    granule_bits: u32,
    /// The only flow of the list, which is then in neither ring nor heap; `NONE` if there is no flow or more than one.
    lone: u32,
    lone_key: u64,
    /// Where the near ring ends and the far ring begins: a multiple of 64 granules.
    end: u64,
    /// No key in the near ring lies before this point of its window; a multiple of the granule.
    cursor: u64,
    near: Ring,
    far: Ring,
    links: Vec<Links>,
    outliers: Heap,
    /// The number of flows in the list.
    flows: usize,
    /// How many keys before the window have become outliers since it last moved down: the work that moving it down would save.
    refused: usize,
    scout: Scout,
    scouting: bool,
}

/// A flow's place is `ABSENT`, `OUTLIER`, or its rounded key in granules: modulo the near ring's length there, with `FAR` and modulo
/// the far ring's length in the far ring.
const ABSENT: u32 = u32::MAX;
const OUTLIER: u32 = u32::MAX - 1;
const FAR: u32 = 1 << 30;
/// Binary logarithm of the granules in a far bucket: a word of the near ring's bitmap.
const COARSE_BITS: u32 = 6;
/// The margin, a far bucket, and as much again.
const LEAST_BUCKETS: usize = 256;
const MOST_BUCKETS: usize = 1 << 22;
const MOST_FAR_BUCKETS: usize = 1 << 16;
/// So many flows may always be moved to the far ring when the window moves down.
const LIGHT: usize = 16;
/// With fewer flows than this all links are in the cache anyway.
const WORTH_SCOUTING: usize = 8192;

impl Wheel {
    /// An empty wheel for flows below `flows`.
    ///
    /// Keys are rounded up to the largest power of two in `granule`; the near ring covers `buckets` of those, rounded up to a power of
    /// two between 256 and 2^22, and the far ring 64 times as many (at most 2^22).
    ///
    /// # Panics
    /// If `granule` is 0, or if 2^62 is exceeded by the granules of a ring.
    pub fn new(flows: usize, granule: u64, buckets: usize) -> Wheel {
        let granule_bits = granule.ilog2();
        let buckets = buckets.clamp(LEAST_BUCKETS, MOST_BUCKETS).next_power_of_two();
        let far_buckets = buckets.min(MOST_FAR_BUCKETS);
        let reach = granule_bits + buckets.ilog2().max(far_buckets.ilog2() + COARSE_BITS);
        assert!(reach <= 62, "the rings must stay within the reach of serial comparison");
        assert!(flows < OUTLIER as usize, "flows are numbered below 2^32 - 2");
        Wheel {
            granule_bits,
            lone: NONE,
            lone_key: 0,
            end: 0,
            cursor: 0,
            near: Ring::new(buckets),
            far: Ring::new(far_buckets),
            links: vec![Links::at(ABSENT); flows],
            outliers: Heap::new(flows),
            flows: 0,
            refused: 0,
            scout: Scout::new(),
            scouting: flows >= WORTH_SCOUTING,
        }
    }

    /// The smallest multiple of the granule at or after `key`. The granule divides 2^64, so this holds across the wrap.
    #[inline]
    fn round_up(&self, key: u64) -> u64 {
        let below = (1 << self.granule_bits) - 1;
        key.wrapping_add(below) & !below
    }

    /// The largest multiple of a far bucket's length at or before `key`.
    #[inline]
    fn round_down_coarse(&self, key: u64) -> u64 {
        key & (u64::MAX << (self.granule_bits + COARSE_BITS))
    }

    /// A far bucket's length.
    #[inline]
    fn coarse(&self) -> u64 {
        1 << (self.granule_bits + COARSE_BITS)
    }

    /// The near ring's length.
    #[inline]
    fn window(&self) -> u64 {
        (self.near.mask() as u64 + 1) << self.granule_bits
    }

    /// The far ring's length.
    #[inline]
    fn far_window(&self) -> u64 {
        (self.far.mask() as u64 + 1) << (self.granule_bits + COARSE_BITS)
    }

    /// How much of the window is kept below the smallest key, for keys that come before it.
    #[inline]
    fn margin(&self) -> u64 {
        self.window() / 4
    }

    #[inline]
    fn near_bucket(&self, rounded: u64) -> usize {
        (rounded >> self.granule_bits) as usize & self.near.mask()
    }

    #[inline]
    fn far_bucket(&self, rounded: u64) -> usize {
        (rounded >> (self.granule_bits + COARSE_BITS)) as usize & self.far.mask()
    }

    /// A key's place in the far ring.
    #[inline]
    fn far_place(&self, rounded: u64) -> u32 {
        let span = ((self.far.mask() as u64 + 1) << COARSE_BITS) - 1;
        FAR | ((rounded >> self.granule_bits) & span) as u32
    }

    /// True if a rounded key lies in the near ring's window.
    #[inline]
    fn is_near(&self, rounded: u64) -> bool {
        self.end.wrapping_sub(rounded).wrapping_sub(1) < self.window()
    }

    /// True if a rounded key lies in the far ring's window.
    #[inline]
    fn is_far(&self, rounded: u64) -> bool {
        rounded.wrapping_sub(self.end) < self.far_window()
    }

    /// Files a flow in a ring or the heap.
    #[inline]
    fn file(&mut self, flow: Flow, rounded: u64) {
        if self.is_near(rounded) || self.make_room(rounded) {
            if is_before(rounded, self.cursor) {
                self.cursor = rounded;
            }
            let at = self.near_bucket(rounded);
            self.near.append(&mut self.links, at, flow.0, at as u32);
        } else if self.is_far(rounded) {
            let (at, place) = (self.far_bucket(rounded), self.far_place(rounded));
            self.far.append(&mut self.links, at, flow.0, place);
        } else {
            self.links[flow.index()].place = OUTLIER;
            self.outliers.insert(flow, rounded);
        }
    }

    /// Moves the window, if it can be moved, so that it covers a key outside it.
    #[inline(never)]
    fn make_room(&mut self, rounded: u64) -> bool {
        if self.near.is_empty() && self.far.is_empty() {
            self.anchor(rounded);
            return true;
        }
        if is_before(rounded, self.end) {
            return self.lower(rounded);
        }
        if self.far.is_empty() {
            let highest = self.round_down_coarse(self.cursor.wrapping_add(self.window() - self.margin()));
            if is_before(self.end, highest) {
                self.end = highest;
            }
        }
        self.is_near(rounded)
    }

    /// Puts the window of empty rings where `rounded` is.
    fn anchor(&mut self, rounded: u64) {
        self.end = self.end_above(rounded);
        self.cursor = rounded;
        self.refused = 0;
    }

    /// The end of a window that covers `rounded` and a margin below it.
    fn end_above(&self, rounded: u64) -> u64 {
        self.round_down_coarse(rounded.wrapping_sub(self.margin())).wrapping_add(self.window())
    }

    /// Moves the window down to a key before it, and what is in the near ring above the new end to the far ring. False if the far ring
    /// does not reach so far, or if the flows to be moved are many and the keys that would have profited few.
    fn lower(&mut self, rounded: u64) -> bool {
        let end = self.end_above(rounded);
        // From the old end to the end of the last far bucket that is occupied.
        let begin = self.far_bucket(self.end);
        let extent = self.far.last(begin).map_or(0, |last| (last.wrapping_sub(begin) & self.far.mask()) as u64 + 1);
        let occupied = self.end.wrapping_sub(end) + (extent << (self.granule_bits + COARSE_BITS));
        if occupied > self.far_window() {
            return false;
        }
        if self.near.len() > LIGHT + self.refused {
            self.refused += 1;
            return false;
        }
        self.refused = 0;
        let mut start = if is_before(end, self.cursor) { self.cursor } else { end };
        while !self.near.is_empty() && is_before(start, self.end) {
            let from = self.near_bucket(start);
            let Some(at) = self.near.next(from) else { break };
            start = start.wrapping_add(((at.wrapping_sub(from) & self.near.mask()) as u64) << self.granule_bits);
            if !is_before(start, self.end) {
                break;
            }
            let (bucket, place) = (self.far_bucket(start), self.far_place(start));
            self.near.empty_into(&mut self.links, at, &mut self.far, |_| (bucket, place));
        }
        self.end = end;
        self.cursor = rounded;
        true
    }

    /// Moves `end` up by a far bucket, whose flows go to the near ring.
    fn advance(&mut self) {
        let (at, begin) = (self.far_bucket(self.end), self.near_bucket(self.end));
        self.end = self.end.wrapping_add(self.coarse());
        if self.far.occupied.contains(at) {
            self.far.empty_into(&mut self.links, at, &mut self.near, |place| {
                let bucket = begin + (place as usize & ((1 << COARSE_BITS) - 1));
                (bucket, bucket as u32)
            });
        }
        // Its flows will be moved next: the first of them can be fetched already, the others are reached through it.
        let next = (at + 1) & self.far.mask();
        if self.far.occupied.contains(next) {
            prefetch(&self.links[self.far.firsts[next] as usize]);
        }
    }

    /// The first of the near ring, and the cursor moved up to it.
    #[inline]
    fn first_in_near(&mut self) -> Option<(u64, Flow)> {
        if self.near.is_empty() {
            return None;
        }
        let from = self.near_bucket(self.cursor);
        let at = self.near.next(from)?;
        self.cursor = self.cursor.wrapping_add(((at.wrapping_sub(from) & self.near.mask()) as u64) << self.granule_bits);
        Some((self.cursor, Flow(self.near.firsts[at])))
    }

    /// Lets the end of the window follow the cursor, one far bucket at a time, or all the way to the first one if the near ring is empty.
    #[inline]
    fn follow(&mut self) {
        if self.near.is_empty() {
            let begin = self.far_bucket(self.end);
            let Some(at) = self.far.next(begin) else { return };
            let ahead = (at.wrapping_sub(begin) & self.far.mask()) as u64;
            self.end = self.end.wrapping_add(ahead << (self.granule_bits + COARSE_BITS));
            self.cursor = self.end;
            self.advance();
        } else if self.end.wrapping_sub(self.cursor) < self.window() - self.margin() - self.coarse() {
            self.advance();
        }
    }

    /// The first, when not all flows are in the near ring.
    #[inline(never)]
    fn first_anywhere(&mut self) -> Option<(u64, Flow)> {
        if !self.far.is_empty() {
            self.follow();
        }
        match (self.first_in_near(), self.outliers.first()) {
            (Some(ring), Some(outlier)) => Some(if is_before(ring.0, outlier.0) { ring } else { outlier }),
            (ring, outlier) => ring.or(outlier),
        }
    }

    /// Takes out the flow that `first` has just named.
    #[inline]
    fn take_first(&mut self, flow: Flow) {
        if self.lone == NONE && self.flows == self.near.len() {
            let at = self.near_bucket(self.cursor);
            self.near.unlink_first(&mut self.links, at, flow.0);
            self.links[flow.index()].place = ABSENT;
            self.flows -= 1;
            if self.scouting {
                self.scout.follow(flow, at);
            }
        } else {
            self.remove(flow);
        }
    }

    /// A second flow comes, with key `rounded`: the lone one takes its place in the rings, as if it had been there from the beginning.
    fn join(&mut self, rounded: u64) {
        let flow = Flow(self.lone);
        self.lone = NONE;
        self.anchor(if is_before(rounded, self.lone_key) { rounded } else { self.lone_key });
        self.file(flow, self.lone_key);
    }
}

impl ReadyList for Wheel {
    fn build(flows: usize, granule: u64, span: u64) -> Wheel {
        // With more than four buckets per flow the ring costs more cache than moving flows from the far ring does.
        let granule = granule.max(1);
        let wanted = (span >> granule.ilog2()).saturating_add(1).min(MOST_BUCKETS as u64) as usize;
        Wheel::new(flows, granule, wanted.min(flows.saturating_mul(4).max(256)))
    }

    fn granule(&self) -> u64 {
        1 << self.granule_bits
    }

    #[inline]
    fn insert(&mut self, flow: Flow, key: u64) {
        debug_assert!(self.lone != flow.0 && self.links[flow.index()].place == ABSENT, "{flow:?} is in the list already");
        let rounded = self.round_up(key);
        self.flows += 1;
        if self.flows == 1 {
            self.lone = flow.0;
            self.lone_key = rounded;
            return;
        }
        if self.lone != NONE {
            self.join(rounded);
        }
        self.file(flow, rounded);
    }

    #[inline]
    fn remove(&mut self, flow: Flow) -> bool {
        if self.lone == flow.0 {
            self.lone = NONE;
            self.flows = 0;
            return true;
        }
        let place = self.links[flow.index()].place;
        if place == ABSENT {
            return false;
        }
        self.links[flow.index()].place = ABSENT;
        self.flows -= 1;
        if place < FAR {
            let at = place as usize;
            if self.near.unlink(&mut self.links, at, flow.0) && self.scouting && at == self.near_bucket(self.cursor) {
                self.scout.follow(flow, at);
            }
        } else if place == OUTLIER {
            self.outliers.remove(flow);
        } else {
            self.far.unlink(&mut self.links, (place & !FAR) as usize >> COARSE_BITS, flow.0);
        }
        true
    }

    #[inline]
    fn contains(&self, flow: Flow) -> bool {
        self.lone == flow.0 || self.links[flow.index()].place != ABSENT
    }

    #[inline]
    fn first(&mut self) -> Option<(u64, Flow)> {
        if self.lone != NONE {
            Some((self.lone_key, Flow(self.lone)))
        } else if self.flows == self.near.len() {
            self.first_in_near()
        } else {
            self.first_anywhere()
        }
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, Flow)> {
        let first = self.first()?;
        self.take_first(first.1);
        Some(first)
    }

    #[inline]
    fn pop_due(&mut self, now: u64) -> Option<Flow> {
        match self.first() {
            Some((key, flow)) if !is_before(now, key) => {
                self.take_first(flow);
                Some(flow)
            }
            _ => None,
        }
    }

    #[inline]
    fn look_ahead(&mut self) -> Option<Flow> {
        if self.scouting && self.flows > 1 { self.scout.look_ahead(&self.near, &self.links) } else { None }
    }

    #[inline]
    fn len(&self) -> usize {
        self.flows
    }
}
