//! Keeps flows in the order of their keys, rounded up to a granule, in a ring of buckets with a find-first-set bitmap over it.
//!
//! **Law**: the laws of [`ReadyList`], for every sequence of keys that lie within 2^63 of each other: far in the future, in the past,
//! across the wrap. The key that is reported exceeds the key that was given by less than the granule.
//!
//! **Source**: buckets of a calendar, Brown, "Calendar queues", CACM 31(10), 1988, sections 2-3; the bitmap over them as in Saeed et al.,
//! "Eiffel", NSDI 2019, section 3.1.1.
//!
//! **State**: 16 bytes per flow (the links of its bucket's list), 4 bytes and a bit per bucket, and 28 bytes per flow of a [`Heap`] that
//! stays untouched while all keys fit the window.
//!
//! **Cost**: O(1) for keys within the window, whatever the number of flows; O(log m) for the m outliers. A list of one flow is kept in
//! two words. What the next dozen flows' turns will touch is fetched ahead ([`ReadyList::upcoming`]).
//!
//! **RTL twin**: none yet; the bitmap is a tree of 64-bit priority encoders.
//!
//! **Deviations**: a calendar queue resizes itself and Eiffel's two-ring queue files what lies beyond its horizon in a last bucket,
//! out of order. Here the window is fixed in length and moves, and what it cannot cover is kept exactly:
//!
//! * All keys in the ring lie in the window `[origin, origin + buckets * granule)`, so a bucket never mixes two turns of the ring.
//! * A key after the window moves the window up as far as the smallest key in the ring allows; a key before it moves it down as far as
//!   the largest allows; an empty ring moves anywhere. So keys that lie within one window of each other are all in the ring.
//! * A key that still does not fit is an outlier and goes to the heap. It is never moved again: the first of the list is the smaller of
//!   the two firsts.
//! * At a tie the outlier is first, and that is the order of insertion: had the ring's flow been there earlier, its key would have been
//!   in the window when the outlier came, and the outlier would have joined its bucket.

use super::bitmap::Bitmap;
use super::scout::{Ring, Scout};
use super::{Heap, ReadyList, is_before};
use crate::packet::Flow;
use alloc::vec;
use alloc::vec::Vec;

/// A find-first-set wheel.
///
/// ```
/// use tidegate_core::packet::Flow;
/// use tidegate_core::ready::{ReadyList, Wheel};
/// let mut list = Wheel::new(3, 1000, 64); // granule 512: the largest power of two in 1000
/// list.insert(Flow(0), 700);
/// list.insert(Flow(1), 513);
/// list.insert(Flow(2), 1_000_000_000_000); // far beyond the 64 buckets
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
    /// The number of buckets, a power of two, less one.
    mask: usize,
    /// Where the window starts; a multiple of the granule.
    origin: u64,
    /// No key in the ring lies before this point of the window; a multiple of the granule.
    cursor: u64,
    in_ring: usize,
    occupied: Bitmap,
    /// The first flow of every bucket; meaningless if the bucket is empty.
    buckets: Vec<u32>,
    links: Vec<Links>,
    outliers: Heap,
    scout: Scout,
}

/// A flow's place in the list of a bucket: flows whose keys round up to the same multiple of the granule.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Links {
    /// `NONE` for the last of a bucket.
    pub(super) next: u32,
    /// Meaningless for the first of a bucket.
    previous: u32,
    /// The last of the bucket; meaningless for all but the first.
    last: u32,
    /// The bucket's index, or `OUTLIER`, or `ABSENT`.
    place: u32,
}

pub(super) const NONE: u32 = u32::MAX;
const ABSENT: u32 = u32::MAX;
const OUTLIER: u32 = u32::MAX - 1;
/// Fewer buckets than this save no memory worth having.
const LEAST_BUCKETS: usize = 64;
/// 32 MiB of buckets; beyond that outliers are cheaper than cache misses.
const MOST_BUCKETS: usize = 1 << 22;

impl Wheel {
    /// An empty wheel for flows below `flows`.
    ///
    /// Keys are rounded up to the largest power of two in `granule`; the window covers `buckets` of those, rounded up to a power of
    /// two between 64 and 2^22.
    ///
    /// # Panics
    /// If `granule` is 0 or the window would exceed 2^62.
    pub fn new(flows: usize, granule: u64, buckets: usize) -> Wheel {
        let granule_bits = granule.ilog2();
        let buckets = buckets.clamp(LEAST_BUCKETS, MOST_BUCKETS).next_power_of_two();
        assert!(granule_bits + buckets.ilog2() <= 62, "the window must stay within the reach of serial comparison");
        assert!(flows < OUTLIER as usize, "flows are numbered below 2^32 - 2");
        Wheel {
            granule_bits,
            lone: NONE,
            lone_key: 0,
            mask: buckets - 1,
            origin: 0,
            cursor: 0,
            in_ring: 0,
            occupied: Bitmap::new(buckets),
            buckets: vec![NONE; buckets],
            links: vec![Links { next: NONE, previous: NONE, last: NONE, place: ABSENT }; flows],
            outliers: Heap::new(flows),
            scout: Scout::new(),
        }
    }

    /// The smallest multiple of the granule at or after `key`. The granule divides 2^64, so this holds across the wrap.
    #[inline]
    fn round_up(&self, key: u64) -> u64 {
        let below = (1 << self.granule_bits) - 1;
        key.wrapping_add(below) & !below
    }

    #[inline]
    fn bucket_of(&self, rounded: u64) -> usize {
        (rounded >> self.granule_bits) as usize & self.mask
    }

    /// True if a rounded key lies in the window.
    #[inline]
    fn covers(&self, rounded: u64) -> bool {
        rounded.wrapping_sub(self.origin) >> self.granule_bits <= self.mask as u64
    }

    /// Moves the window so that it covers `rounded` and everything in the ring; false if no window does.
    #[cold]
    fn make_room(&mut self, rounded: u64) -> bool {
        // A margin below the smallest key spares the next key before it from coming here.
        let margin = (self.mask as u64 >> 3) << self.granule_bits;
        let Some((smallest, _)) = self.first_in_ring() else {
            self.origin = rounded.wrapping_sub(margin);
            self.cursor = rounded;
            return true;
        };
        if is_before(rounded, self.origin) {
            // The ring wraps at the origin's bucket, so its largest key is the last before that bucket.
            let origin = self.bucket_of(self.origin);
            let last = origin.checked_sub(1).and_then(|end| self.occupied.previous(end)).or_else(|| self.occupied.previous(self.mask));
            let Some(last) = last else { return false };
            let largest = self.origin.wrapping_add(((last.wrapping_sub(origin) & self.mask) as u64) << self.granule_bits);
            let lowest = largest.wrapping_sub((self.mask as u64) << self.granule_bits);
            if is_before(rounded, lowest) {
                return false;
            }
            let wanted = rounded.wrapping_sub(margin);
            self.origin = if is_before(wanted, lowest) { lowest } else { wanted };
            return true;
        }
        for origin in [smallest.wrapping_sub(margin), smallest] {
            if is_before(self.origin, origin) {
                self.origin = origin;
            }
            if self.covers(rounded) {
                return true;
            }
        }
        false
    }

    /// The first of the ring, and the cursor moved up to it.
    #[inline]
    fn first_in_ring(&mut self) -> Option<(u64, Flow)> {
        if self.in_ring == 0 {
            return None;
        }
        let from = self.bucket_of(self.cursor);
        let at = match self.occupied.next(from) {
            Some(at) => at,
            // All that is before the cursor's bucket in the ring comes after it in the window.
            None => self.occupied.next(0)?,
        };
        self.cursor = self.cursor.wrapping_add(((at.wrapping_sub(from) & self.mask) as u64) << self.granule_bits);
        Some((self.cursor, Flow(self.buckets[at])))
    }

    #[cold]
    fn first_of_both(&mut self, in_ring: Option<(u64, Flow)>) -> Option<(u64, Flow)> {
        match (in_ring, self.outliers.first()) {
            (Some(ring), Some(outlier)) => Some(if is_before(ring.0, outlier.0) { ring } else { outlier }),
            (ring, outlier) => ring.or(outlier),
        }
    }

    /// Files a flow in the ring or the heap; `key` is rounded.
    #[inline]
    fn file(&mut self, flow: Flow, key: u64) {
        if !self.covers(key) && !self.make_room(key) {
            self.links[flow.index()].place = OUTLIER;
            self.outliers.insert(flow, key);
            return;
        }
        if is_before(key, self.cursor) {
            self.cursor = key;
        }
        let at = self.bucket_of(key);
        let mut previous = NONE;
        // The bitmap, which the cache holds, says whether the bucket, which it may not hold, has to be read.
        if self.occupied.set(at) {
            self.buckets[at] = flow.0;
        } else {
            let first = &mut self.links[self.buckets[at] as usize];
            previous = first.last;
            first.last = flow.0;
            self.links[previous as usize].next = flow.0;
        }
        self.links[flow.index()] = Links { next: NONE, previous, last: flow.0, place: at as u32 };
        self.in_ring += 1;
    }

    /// A second flow comes: the lone one takes its place among the others, as if it had been there from the beginning.
    #[inline]
    fn join(&mut self) {
        if self.lone != NONE {
            let flow = Flow(self.lone);
            self.lone = NONE;
            self.file(flow, self.lone_key);
        }
    }

    #[inline]
    fn unlink(&mut self, flow: Flow, links: Links) {
        let at = links.place as usize;
        let first = self.buckets[at];
        self.in_ring -= 1;
        if first == flow.0 {
            if links.next == NONE {
                self.occupied.clear(at);
            } else {
                self.buckets[at] = links.next;
                self.links[links.next as usize].last = links.last;
            }
            if at == self.bucket_of(self.cursor) {
                let ring = Ring { occupied: &self.occupied, buckets: &self.buckets, links: &self.links };
                self.scout.follow(flow, at, links.next, ring);
            }
            return;
        }
        self.links[links.previous as usize].next = links.next;
        if links.next == NONE {
            self.links[first as usize].last = links.previous;
        } else {
            self.links[links.next as usize].previous = links.previous;
        }
    }
}

impl ReadyList for Wheel {
    fn build(flows: usize, granule: u64, span: u64) -> Wheel {
        // With more than four buckets per flow the ring costs more cache than its precision of placement saves.
        let granule = granule.max(1);
        let wanted = (span >> granule.ilog2()).saturating_add(1).min(MOST_BUCKETS as u64) as usize;
        Wheel::new(flows, granule, wanted.min(flows.saturating_mul(4).max(4096)))
    }

    fn granule(&self) -> u64 {
        1 << self.granule_bits
    }

    #[inline]
    fn insert(&mut self, flow: Flow, key: u64) {
        debug_assert!(self.lone != flow.0 && self.links[flow.index()].place == ABSENT, "{flow:?} is in the list already");
        let key = self.round_up(key);
        if self.is_empty() {
            self.lone = flow.0;
            self.lone_key = key;
            return;
        }
        self.join();
        self.file(flow, key);
    }

    #[inline]
    fn remove(&mut self, flow: Flow) -> bool {
        if self.lone == flow.0 {
            self.lone = NONE;
            return true;
        }
        let links = self.links[flow.index()];
        if links.place == ABSENT {
            return false;
        }
        self.links[flow.index()].place = ABSENT;
        if links.place == OUTLIER {
            self.outliers.remove(flow);
        } else {
            self.unlink(flow, links);
        }
        true
    }

    #[inline]
    fn first(&mut self) -> Option<(u64, Flow)> {
        if self.lone != NONE {
            return Some((self.lone_key, Flow(self.lone)));
        }
        let in_ring = self.first_in_ring();
        if self.outliers.is_empty() { in_ring } else { self.first_of_both(in_ring) }
    }

    #[inline]
    fn upcoming(&self) -> Option<Flow> {
        self.scout.latest()
    }

    #[inline]
    fn len(&self) -> usize {
        usize::from(self.lone != NONE) + self.in_ring + self.outliers.len()
    }
}
