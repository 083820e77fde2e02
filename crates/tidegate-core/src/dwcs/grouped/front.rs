//! An entry of the heap of the earliest deadline: a stream, or a group represented by its first member.

use crate::dwcs::kinetic_key::KineticKey;
use crate::dwcs::rank::Rank;
use crate::dwcs::rules::Order;
use crate::dwcs::tolerance::Tolerance;
use core::cmp::Ordering;

#[derive(Clone, Copy, Debug)]
pub(super) struct FrontEntry {
    pub deadline: u64,
    denominator: u64,
    arrival: u64,
    /// Two numbers in one word each, so that a full-width read does not stall on two narrow stores.
    numerator_and_stream: u64,
    item_and_stamp: u64,
}

impl FrontEntry {
    /// `item` is the stream itself or its group; the stamp tells whether the entry is up to date.
    #[inline]
    pub fn new(deadline: u64, tolerance: Tolerance, (arrival, stream): (u64, u32), (item, stamp): (u32, u32)) -> FrontEntry {
        let Tolerance { numerator, denominator, .. } = tolerance;
        let pair = |high, low| u64::from(high) << 32 | u64::from(low);
        FrontEntry { deadline, denominator, arrival, numerator_and_stream: pair(numerator, stream), item_and_stamp: pair(item, stamp) }
    }

    /// Of a group, whose first member has this key.
    #[inline]
    pub fn of_group(deadline: u64, first: &KineticKey, misses: u64, place: (u32, u32)) -> FrontEntry {
        FrontEntry::new(deadline, first.tolerance(misses), (first.arrival, first.stream()), place)
    }

    #[inline]
    pub fn stream(&self) -> u32 {
        self.numerator_and_stream as u32
    }

    /// The item and its stamp.
    #[inline]
    pub fn place(&self) -> (u32, u32) {
        ((self.item_and_stamp >> 32) as u32, self.item_and_stamp as u32)
    }

    #[inline]
    fn rank(&self) -> Rank {
        let &FrontEntry { deadline, denominator, arrival, numerator_and_stream, .. } = self;
        let tolerance = Tolerance { numerator: (numerator_and_stream >> 32) as u32, in_violation: false, denominator };
        Rank { deadline, tolerance, arrival, stream: self.stream() }
    }
}

impl Ord for FrontEntry {
    #[inline]
    fn cmp(&self, other: &FrontEntry) -> Ordering {
        self.rank().compare(&other.rank(), Order::DeadlineFirst)
    }
}

impl PartialOrd for FrontEntry {
    fn partial_cmp(&self, other: &FrontEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FrontEntry {
    fn eq(&self, other: &FrontEntry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FrontEntry {}
