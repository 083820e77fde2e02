//! The key that orders the members of a group: a window constraint as a function of the number of deadlines that they miss together.
//!
//! Between two services a constraint is a known function of that number: `x'/y'` with `y' - x'` constant while `x' > 0`, then `0/y'` with
//! `y'` growing by the penalty. So a comparison of two keys holds until a count of misses that can be computed: a certificate.

use crate::dwcs::radix_heap::Entry;
use crate::dwcs::tolerance::Tolerance;
use core::cmp::Ordering;
use core::hint::select_unpredictable;

/// A stream in a group, wherever it waits there.
#[derive(Clone, Copy, Debug)]
pub(in crate::dwcs) struct Member {
    pub key: KineticKey,
    /// Its place in the structure that holds it.
    pub slot: u32,
    /// In a [`KineticTournament`](super::kinetic_tournament::KineticTournament), the stream after it in its run, or [`NO_STREAM`].
    pub next: u32,
}

impl Member {
    pub fn new(stream: u32) -> Member {
        Member { key: KineticKey::new(stream), slot: 0, next: NO_STREAM }
    }
}

/// What decides between members. Counts of misses are those of their group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dwcs) struct KineticKey {
    /// Orders keys of one slope, the smaller first. The highest two bits are the kind. Below is the count at which `x'` will be 0, or, of a
    /// key that tolerates nothing, [`LARGEST_DENOMINATOR`] less `y'` at the count 0.
    pub order: u64,
    /// The arrival of the head.
    pub arrival: u64,
    /// The slope in the high half: `y' - x'` while `x' > 0`, then the growth of `y'` per miss. The stream in the low half.
    pub pace: u64,
}

/// The kinds of keys, in their order of precedence: `x' = 0`; `0 < x' < y'`; `x' = y'`.
const TOLERATES_NONE: u64 = 0;
const TOLERATES_SOME: u64 = 1;
const TOLERATES_ALL: u64 = 2;
/// The kind of a key without a stream.
const VACANT: u64 = 3;
const KIND_SHIFT: u32 = 62;
/// In place of a stream: none.
pub(in crate::dwcs) const NO_STREAM: u32 = u32::MAX;
/// The largest `y'` at the count 0 that a key can hold.
const LARGEST_DENOMINATOR: u64 = 1 << 61;

impl KineticKey {
    /// No stream: it loses every comparison.
    pub const VACANT: KineticKey = KineticKey { order: VACANT << KIND_SHIFT, arrival: u64::MAX, pace: NO_STREAM as u64 };

    /// Of a stream whose tolerance is not yet [set](Self::set).
    pub const fn new(stream: u32) -> KineticKey {
        KineticKey { order: 0, arrival: 0, pace: stream as u64 }
    }

    /// Takes on `tolerance` at the count `misses`; `penalty` is what a violation costs the stream.
    #[inline]
    pub fn set(&mut self, tolerance: Tolerance, penalty: u32, misses: u64) {
        let stream = self.pace & u64::from(u32::MAX);
        if tolerance.numerator > 0 {
            let slope = tolerance.denominator - u64::from(tolerance.numerator);
            self.pace = slope << 32 | stream;
            let kind = if slope > 0 { TOLERATES_SOME } else { TOLERATES_ALL };
            self.order = kind << KIND_SHIFT | (misses + u64::from(tolerance.numerator));
        } else {
            self.pace = u64::from(penalty) << 32 | stream;
            self.order = LARGEST_DENOMINATOR + u64::from(penalty) * misses - tolerance.denominator;
        }
    }

    /// The key of a queued stream that tolerates nothing.
    #[inline]
    pub fn queued(entry: &Entry, penalty: u32) -> KineticKey {
        KineticKey { order: entry.order, arrival: entry.arrival, pace: u64::from(penalty) << 32 | u64::from(entry.stream()) }
    }

    /// The count of misses at which it tolerates nothing; `None` if it tolerates nothing now.
    #[inline]
    pub fn exhausted_at(&self) -> Option<u64> {
        (self.kind() != TOLERATES_NONE).then_some(self.count())
    }

    /// [`KineticKey::order`] once it tolerates nothing, if it waits until then. `None` if it tolerates nothing now, or all.
    #[inline]
    pub fn exhausted_order(&self, penalty: u32) -> Option<u64> {
        (self.kind() == TOLERATES_SOME).then(|| LARGEST_DENOMINATOR + u64::from(penalty) * self.count() - self.slope())
    }

    /// The first of two at the count `misses`.
    #[inline]
    pub fn first(self, other: KineticKey, misses: u64) -> KineticKey {
        let (wins, _) = certify(&self, &other, misses);
        if wins { self } else { other }
    }

    /// A number that orders keys at the count `misses` except for arrivals, the smaller first; `None` if 64 bits cannot hold it.
    #[inline]
    pub fn number(&self, misses: u64) -> Option<u64> {
        let left = self.count().wrapping_sub(misses);
        match self.kind() {
            TOLERATES_NONE => Some(LARGEST_DENOMINATOR - self.denominator(misses)),
            TOLERATES_SOME => {
                // Different fractions with denominators below 2^16 differ by more than 2^-32; of equal ones the smaller numerator is first.
                let denominator = left + self.slope();
                (denominator < 1 << 16).then(|| TOLERATES_SOME << KIND_SHIFT | ((left << 32) / denominator) << 16 | left)
            }
            kind => Some(kind << KIND_SHIFT | left),
        }
    }

    /// The order of two at the count `misses`.
    pub fn compare(&self, other: &KineticKey, misses: u64) -> Ordering {
        if self.stream() == other.stream() {
            return Ordering::Equal;
        }
        if certify(self, other, misses).0 { Ordering::Less } else { Ordering::Greater }
    }

    /// Its lane, and its place in the order there, which never changes.
    #[inline]
    pub fn place_in_lane(&self) -> (u64, u64, u64, u32) {
        (self.lane(), self.order, self.arrival, self.stream())
    }

    /// One number for each pair of kind and slope.
    #[inline]
    pub fn lane(&self) -> u64 {
        self.slope() << 2 | self.kind()
    }

    /// True if it comes after `other` in the same lane. This holds until one of the two expires, and `other` expires no later.
    #[inline]
    pub fn follows(&self, other: &KineticKey) -> bool {
        self.lane() == other.lane() && self.place_in_lane() > other.place_in_lane()
    }

    #[inline]
    pub fn stream(&self) -> u32 {
        self.pace as u32
    }

    #[inline]
    fn slope(&self) -> u64 {
        self.pace >> 32
    }

    #[inline]
    fn kind(&self) -> u64 {
        self.order >> KIND_SHIFT
    }

    /// While `x' > 0`, the count at which it will be 0.
    #[inline]
    fn count(&self) -> u64 {
        self.order & ((1 << KIND_SHIFT) - 1)
    }

    /// `y'` of a key that tolerates nothing.
    #[inline]
    fn denominator(&self, misses: u64) -> u64 {
        LARGEST_DENOMINATOR + self.slope() * misses - self.order
    }

    /// The count at which it has to be set anew, whatever the others are.
    #[inline]
    pub fn expires(&self) -> u64 {
        if matches!(self.kind(), TOLERATES_SOME | TOLERATES_ALL) { self.count() } else { u64::MAX }
    }

    /// This one if it wins, otherwise the other; without a branch, which would often be mispredicted.
    #[inline]
    pub fn pick(&self, other: &KineticKey, wins: bool) -> KineticKey {
        KineticKey {
            order: select_unpredictable(wins, self.order, other.order),
            arrival: select_unpredictable(wins, self.arrival, other.arrival),
            pace: select_unpredictable(wins, self.pace, other.pace),
        }
    }

    /// Its window constraint at the count `misses`, which is less than [`KineticKey::expires`].
    #[inline]
    pub fn tolerance(&self, misses: u64) -> Tolerance {
        if self.kind() == TOLERATES_NONE {
            return Tolerance { numerator: 0, in_violation: false, denominator: self.denominator(misses) };
        }
        let left = self.count() - misses;
        Tolerance { numerator: left as u32, in_violation: false, denominator: left + self.slope() }
    }
}

/// The certificate of two keys of different streams: true if `first` is first at the count `misses`, and the count from which on the other is.
#[inline]
pub(in crate::dwcs) fn certify(first: &KineticKey, second: &KineticKey, misses: u64) -> (bool, u64) {
    let differ_in_pace = (first.pace ^ second.pace) >> 32 != 0;
    if differ_in_pace && (first.order ^ second.order) >> KIND_SHIFT == 0 {
        let is_older = (first.arrival, first.stream()) < (second.arrival, second.stream());
        return certify_paces(first.order, first.slope(), second.order, second.slope(), misses, is_older);
    }
    // A branch for the rare case, and none on the winner, which is not predictable.
    let key = |key: &KineticKey| u128::from(key.order) << 64 | u128::from(key.arrival);
    let (one, other) = (key(first), key(second));
    (if one == other { first.pace < second.pace } else { one < other }, u64::MAX)
}

/// The certificate of two keys of one kind and different slopes; the arguments are numbers, which are passed in registers.
#[inline(never)]
fn certify_paces(order1: u64, g1: u64, order2: u64, g2: u64, misses: u64, is_older: bool) -> (bool, u64) {
    let key = |order, slope: u64| KineticKey { order, arrival: 0, pace: slope << 32 };
    let (first, second) = (key(order1, g1), key(order2, g2));
    // `lead` is the margin of the winner; it shrinks by `fast - slow` with every miss.
    if first.kind() == TOLERATES_SOME {
        // x1 / (x1 + g1) < x2 / (x2 + g2). At equality the smaller x wins, which has the smaller g.
        let (left, right) = ((first.count() - misses) * g2, (second.count() - misses) * g1);
        let wins = left < right || (left == right && g1 < g2);
        let (lead, fast, slow) = if wins { (right - left, g1, g2) } else { (left - right, g2, g1) };
        let until = if slow < fast { misses + (lead - 1) / (fast - slow) + 1 } else { u64::MAX };
        return (wins, until);
    }
    let (y1, y2) = (first.denominator(misses), second.denominator(misses));
    let wins = y1 > y2 || (y1 == y2 && is_older);
    let (lead, fast, slow) = if wins { (y1 - y2, g2, g1) } else { (y2 - y1, g1, g2) };
    // At equality the older one wins.
    let until = if slow < fast { misses + (lead - u64::from(is_older != wins)) / (fast - slow) + 1 } else { u64::MAX };
    (wins, until)
}
