//! What decides between the members of a cohort: their window constraints as functions of how many deadlines they miss together.

use crate::dwcs::Tolerance;
use crate::dwcs::radix_heap::Entry;
use core::cmp::Ordering;
use core::hint::select_unpredictable;

/// What decides between streams. Counts of misses are those of their cohort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dwcs) struct Claim {
    /// Orders claims of one slope, the smaller first; the sort in the highest bits, below it what [`Claim::at`] makes of it.
    pub(super) order: u64,
    /// The arrival of its head.
    pub arrival: u64,
    /// Whose it is, and above that the slope: while `x' > 0`, `y' - x'`; then the growth of `y'` per miss.
    pub(super) pace: u64,
}

/// The sorts of contenders, in their order of precedence: nothing tolerated, some of what is left, all that is left.
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const BOUNDLESS: u64 = 2;
/// No stream at all.
const VACANT: u64 = 3;
const SORT: u32 = 62;
/// In place of a stream: none.
pub(in crate::dwcs) const NOBODY: u32 = u32::MAX;
/// The largest `y'` at the count 0 that can be told apart.
const HIGHEST: u64 = 1 << 61;

impl Claim {
    /// No stream at all: it loses every duel.
    pub const VACANT: Claim = Claim { order: VACANT << SORT, arrival: u64::MAX, pace: NOBODY as u64 };

    /// Of a stream, before it [stands](Self::stand).
    pub const fn new(stream: u32) -> Claim {
        Claim { order: 0, arrival: 0, pace: stream as u64 }
    }

    /// Takes on `tolerance` at the count `misses`; `penalty` is what a violation costs the stream.
    #[inline]
    pub fn stand(&mut self, tolerance: Tolerance, penalty: u32, misses: u64) {
        let stream = self.pace & u64::from(u32::MAX);
        if tolerance.numerator > 0 {
            let slope = tolerance.denominator - u64::from(tolerance.numerator);
            self.pace = slope << 32 | stream;
            let sort = if slope > 0 { OPEN } else { BOUNDLESS };
            self.order = sort << SORT | (misses + u64::from(tolerance.numerator));
        } else {
            self.pace = u64::from(penalty) << 32 | stream;
            self.order = HIGHEST + u64::from(penalty) * misses - tolerance.denominator;
        }
    }

    /// One that tolerates nothing, as it is queued.
    #[inline]
    pub fn queued(entry: &Entry, penalty: u32) -> Claim {
        Claim { order: entry.order, arrival: entry.arrival, pace: u64::from(penalty) << 32 | u64::from(entry.stream()) }
    }

    /// The count of misses at which it tolerates nothing; `None` if it tolerates nothing now.
    #[inline]
    pub fn until(&self) -> Option<u64> {
        (self.sort() != CLOSED).then_some(self.at())
    }

    /// Orders those that tolerate nothing and whose violations cost the same, the smaller first, for as long as they wait.
    #[inline]
    pub fn order(&self) -> u64 {
        self.order
    }

    /// What that order will be, once it tolerates nothing any more and waits on; `penalty` is what a violation costs the stream. `None` if it
    /// does not come to that, or has.
    #[inline]
    pub fn order_to_be(&self, penalty: u32) -> Option<u64> {
        (self.sort() == OPEN).then(|| HIGHEST + u64::from(penalty) * self.at() - self.slope())
    }

    /// The first of two at the count `misses`.
    #[inline]
    pub fn first(self, other: Claim, misses: u64) -> Claim {
        let (wins, _) = duel(&self, &other, misses);
        if wins { self } else { other }
    }

    /// A number that orders claims at the count `misses`, the smaller first, until age decides; `None` if 64 bits cannot hold it.
    #[inline]
    pub fn key(&self, misses: u64) -> Option<u64> {
        let left = self.at().wrapping_sub(misses);
        match self.sort() {
            CLOSED => Some(HIGHEST - self.denominator(misses)),
            OPEN => {
                // Different fractions with denominators below 2^16 differ by more than 2^-32; of equal ones the smaller numerator is first.
                let denominator = left + self.slope();
                (denominator < 1 << 16).then(|| OPEN << SORT | ((left << 32) / denominator) << 16 | left)
            }
            sort => Some(sort << SORT | left),
        }
    }

    /// The order of two at the count `misses`.
    pub fn compare(&self, other: &Claim, misses: u64) -> Ordering {
        if self.stream() == other.stream() {
            return Ordering::Equal;
        }
        if duel(self, other, misses).0 { Ordering::Less } else { Ordering::Greater }
    }

    /// Its lane, which is the same for all of one sort and one pace, and its place in the order there, which never changes.
    #[inline]
    pub fn place(&self) -> (u64, u64, u64, u32) {
        (self.lane(), self.order, self.arrival, self.stream())
    }

    #[inline]
    pub(super) fn lane(&self) -> u64 {
        self.slope() << 2 | self.sort()
    }

    /// True if it comes after the other one in its lane: until one of the two expires, and the other one expires no later.
    #[inline]
    pub(super) fn follows(&self, other: &Claim) -> bool {
        self.lane() == other.lane() && self.place() > other.place()
    }

    #[inline]
    pub fn stream(&self) -> u32 {
        self.pace as u32
    }

    #[inline]
    pub(super) fn slope(&self) -> u64 {
        self.pace >> 32
    }

    #[inline]
    fn sort(&self) -> u64 {
        self.order >> SORT
    }

    /// While `x' > 0`, the count at which it will be 0.
    #[inline]
    fn at(&self) -> u64 {
        self.order & ((1 << SORT) - 1)
    }

    /// `y'` of one that tolerates nothing.
    #[inline]
    fn denominator(&self, misses: u64) -> u64 {
        HIGHEST + self.slope() * misses - self.order
    }

    /// The count at which it stops being what it is, whoever else there is.
    #[inline]
    pub fn expires(&self) -> u64 {
        if matches!(self.sort(), OPEN | BOUNDLESS) { self.at() } else { u64::MAX }
    }

    /// This one if it wins, otherwise the other: a coin toss that a branch would often lose.
    #[inline]
    pub(super) fn pick(&self, other: &Claim, wins: bool) -> Claim {
        Claim {
            order: select_unpredictable(wins, self.order, other.order),
            arrival: select_unpredictable(wins, self.arrival, other.arrival),
            pace: select_unpredictable(wins, self.pace, other.pace),
        }
    }

    /// Its window constraint at the count `misses`, which lies before [`Claim::expires`].
    #[inline]
    pub fn tolerance(&self, misses: u64) -> Tolerance {
        if self.sort() == CLOSED {
            return Tolerance { numerator: 0, in_violation: false, denominator: self.denominator(misses) };
        }
        let left = self.at() - misses;
        Tolerance { numerator: left as u32, in_violation: false, denominator: left + self.slope() }
    }
}

/// True if the first of two claims of different streams is first at the count `misses`, and the count from which on the other one is.
#[inline]
pub(super) fn duel(first: &Claim, second: &Claim, misses: u64) -> (bool, u64) {
    let differ_in_pace = (first.pace ^ second.pace) >> 32 != 0;
    if differ_in_pace && (first.order ^ second.order) >> SORT == 0 {
        let is_older = (first.arrival, first.stream()) < (second.arrival, second.stream());
        return race(first.order, first.slope(), second.order, second.slope(), misses, is_older);
    }
    // A branch for what is rare, and none on who wins: nothing predicts that.
    let key = |claim: &Claim| u128::from(claim.order) << 64 | u128::from(claim.arrival);
    let (one, other) = (key(first), key(second));
    (if one == other { first.pace < second.pace } else { one < other }, u64::MAX)
}

/// A duel of claims of one sort that change at different paces, by their orders and slopes; numbers, which go in registers.
#[inline(never)]
fn race(order1: u64, g1: u64, order2: u64, g2: u64, misses: u64, is_older: bool) -> (bool, u64) {
    let claim = |order, slope: u64| Claim { order, arrival: 0, pace: slope << 32 };
    let (first, second) = (claim(order1, g1), claim(order2, g2));
    // Who is ahead, by how much, and by how much less with every miss. There is a lead if it shrinks to an equality that the other one wins.
    if first.sort() == OPEN {
        // x1 / (x1 + g1) < x2 / (x2 + g2); at equality the smaller x, which has the smaller g.
        let (left, right) = ((first.at() - misses) * g2, (second.at() - misses) * g1);
        let wins = left < right || (left == right && g1 < g2);
        let (lead, fast, slow) = if wins { (right - left, g1, g2) } else { (left - right, g2, g1) };
        let until = if slow < fast { misses + (lead - 1) / (fast - slow) + 1 } else { u64::MAX };
        return (wins, until);
    }
    let (y1, y2) = (first.denominator(misses), second.denominator(misses));
    let wins = y1 > y2 || (y1 == y2 && is_older);
    let (lead, fast, slow) = if wins { (y1 - y2, g2, g1) } else { (y2 - y1, g1, g2) };
    // At a tie the older one is first.
    let until = if slow < fast { misses + (lead - u64::from(is_older != wins)) / (fast - slow) + 1 } else { u64::MAX };
    (wins, until)
}
