//! Feasibility: whether every window can be kept, and what each stream gets then.
//!
//! **Law**: a stream that tolerates x of y deadlines, one every `T` ticks, needs the part `(1 - x/y) / T` of all ticks. A sum above 1 cannot
//! be served without violations. If the sum is at most 1 and every period is one tick, no window is ever violated. With longer periods
//! that holds if they are equal and the deadlines of all streams coincide. Other sets have no guarantee: streams of unequal periods can
//! violate at a sum of 17/45, and streams of one period with staggered deadlines at 21/40 (both are tests).
//!
//! **Source**: West et al., IEEE Transactions on Computers 53(6), 2004, for the theorem; Mok and Wang, "Window-constrained real-time
//! periodic task scheduling", RTSS 2001, for unequal periods.
//!
//! **State**: none.
//!
//! **Cost**: one addition of fractions per stream, when a policy is read.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: every service takes one tick. Two statements are ours: that deadlines have to coincide, and the bound on the gap between
//! two services. The published bound, `(x + 1) T - 1`, overlooks that the misses of two windows may meet, and is exceeded.

use crate::dwcs::stream::Stream;
use core::fmt;

/// A part of all ticks, or a sum of such parts: a fraction, exact or rounded up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Utilisation {
    numerator: u128,
    denominator: u128,
    /// The most by which the numerator was rounded up; 0 if the fraction is exact.
    rounding: u128,
}

/// The denominator of a rounded sum: 2^64, so that 2^31 parts sum up without overflow.
const COMMON: u128 = 1 << 64;

impl Utilisation {
    /// No ticks.
    pub const ZERO: Utilisation = Utilisation { numerator: 0, denominator: 1, rounding: 0 };

    /// `numerator / denominator`, reduced to lowest terms. The denominator is not 0.
    pub fn new(numerator: u128, denominator: u128) -> Utilisation {
        let divisor = greatest_common_divisor(numerator, denominator).max(1);
        Utilisation { numerator: numerator / divisor, denominator: denominator / divisor, rounding: 0 }
    }

    /// The numerator.
    pub const fn numerator(self) -> u128 {
        self.numerator
    }

    /// The denominator.
    pub const fn denominator(self) -> u128 {
        self.denominator
    }

    /// True if all ticks suffice for it.
    pub const fn fits(self) -> bool {
        self.numerator <= self.denominator
    }

    /// True if all ticks do not suffice for it, even if it was rounded up.
    pub const fn exceeds_all(self) -> bool {
        self.numerator - self.rounding > self.denominator
    }

    /// The sum. If its exact terms exceed 128 bits, both parts are rounded up by less than 2^-59 each: a rounded sum that fits, fits.
    #[must_use]
    pub fn plus(self, other: Utilisation) -> Utilisation {
        self.exactly_plus(other).unwrap_or_else(|| {
            let (a, b) = (self.rounded(), other.rounded());
            Utilisation { numerator: a.numerator + b.numerator, denominator: COMMON, rounding: a.rounding + b.rounding }
        })
    }

    fn exactly_plus(self, other: Utilisation) -> Option<Utilisation> {
        if self.rounding > 0 || other.rounding > 0 {
            return None;
        }
        let divisor = greatest_common_divisor(self.denominator, other.denominator);
        let (left, right) = (other.denominator / divisor, self.denominator / divisor);
        let numerator = self.numerator.checked_mul(left)?.checked_add(other.numerator.checked_mul(right)?)?;
        Some(Utilisation::new(numerator, self.denominator.checked_mul(left)?))
    }

    /// With the common denominator.
    fn rounded(self) -> Utilisation {
        if self.denominator == COMMON {
            return self;
        }
        let (whole, rest) = (self.numerator / self.denominator, self.numerator % self.denominator);
        // Shortened to 62 bits so that the product fits: `rest` up, the denominator down. Error: at most 2^-60, and 2^-64 for the ceiling.
        let excess = (128 - self.denominator.leading_zeros()).saturating_sub(62);
        let part = (rest.div_ceil(1 << excess) << 64).div_ceil(self.denominator >> excess);
        Utilisation { numerator: (whole << 64) + part, denominator: COMMON, rounding: if excess > 0 { 18 } else { 1 } }
    }

    /// The rest of all ticks, rounded down if the sum was rounded up; `None` if there is none.
    pub(super) fn complement(self) -> Option<(u128, u128)> {
        (self.numerator < self.denominator).then(|| (self.denominator - self.numerator, self.denominator))
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 { write!(f, "{}", self.numerator) } else { write!(f, "{}/{}", self.numerator, self.denominator) }
    }
}

/// What is known of a set of streams beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No window is ever violated, whenever streams have packets.
    Kept,
    /// No window is violated while the deadlines of all streams coincide, as they do if all become backlogged together and stay so. Streams
    /// that come and go at any tick may violate.
    KeptIfAligned,
    /// The sum is at most 1 but the periods differ: necessary, and not sufficient.
    NotProven,
    /// The sum exceeds 1: there will be violations.
    Overloaded,
}

/// The feasibility of a set of streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feasibility {
    /// The sum of what the streams need. Streams under static priority reserve nothing.
    pub utilisation: Utilisation,
    /// What follows from it.
    pub verdict: Verdict,
    /// True if some streams go before all others: the verdict is about the ticks that they leave.
    pub has_priority: bool,
}

impl Feasibility {
    /// Of `streams` on one link.
    ///
    /// ```
    /// use tidegate_core::dwcs::{Feasibility, Stream, Verdict, Window};
    /// let window = |x, y, period| Stream::windowed(Window::new(x, y), period);
    /// let feasibility = Feasibility::of(&[window(1, 2, 1), window(3, 4, 1), window(6, 8, 1)]);
    /// assert_eq!((feasibility.utilisation.to_string().as_str(), feasibility.verdict), ("1", Verdict::Kept));
    /// let feasibility = Feasibility::of(&[window(4, 5, 1), window(3, 5, 6), window(1, 3, 6)]);
    /// assert_eq!((feasibility.utilisation.to_string().as_str(), feasibility.verdict), ("17/45", Verdict::NotProven));
    /// ```
    pub fn of(streams: &[Stream]) -> Feasibility {
        let utilisation = streams.iter().fold(Utilisation::ZERO, |sum, stream| sum.plus(stream.utilisation()));
        let mut periods = streams.iter().filter(|stream| !stream.is_fixed).filter_map(|stream| stream.period);
        let first = periods.next().unwrap_or(1);
        let verdict = if utilisation.exceeds_all() {
            Verdict::Overloaded
        } else if !utilisation.fits() || periods.any(|period| period != first) {
            Verdict::NotProven
        } else if first == 1 {
            Verdict::Kept
        } else {
            Verdict::KeptIfAligned
        };
        let has_priority = streams.iter().any(|stream| stream.is_fixed && stream.period.is_some());
        Feasibility { utilisation, verdict, has_priority }
    }
}

/// The least service of a stream whose window is kept, while it is backlogged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeastService {
    /// The number of ticks, at least 1, in every `of`.
    pub ticks: u64,
    /// The ticks from the start of one window to the start of the next.
    pub of: u128,
}

impl Stream {
    /// The part of all ticks that it needs.
    pub fn utilisation(&self) -> Utilisation {
        self.least_service().map_or(Utilisation::ZERO, |service| Utilisation::new(service.ticks.into(), service.of))
    }

    /// What it gets while it is backlogged, if its window is kept. `None` for static priority, and for a window that tolerates everything.
    pub fn least_service(&self) -> Option<LeastService> {
        let period = self.period.filter(|_| !self.is_fixed)?;
        let deadlines = self.window.deadlines.max(1);
        let ticks = deadlines - self.window.tolerated;
        (ticks > 0).then(|| LeastService { ticks: ticks.into(), of: u128::from(deadlines) * u128::from(period) })
    }

    /// The most ticks from the start of one service to the start of the next while it is backlogged, if its window is kept:
    /// `(2x + 2) T - 1`. The x misses at the end of one window may be followed by x at the beginning of the next.
    pub fn longest_gap(&self) -> Option<u128> {
        self.least_service()?;
        Some((2 * u128::from(self.window.tolerated) + 2) * u128::from(self.period?) - 1)
    }

    /// The same in overload, among n `streams` of which the longest window is `y_max`: `T (x + y_max + n - 1) + 1`.
    ///
    /// It is known for equal periods and a penalty of 1, and not proven here; `None` for all others.
    pub fn longest_gap_in_overload(&self, streams: &[Stream]) -> Option<u128> {
        let period = self.period?;
        let is_known =
            |stream: &Stream| stream.period == Some(period) && stream.penalty == 1 && !stream.is_fixed && stream.window.deadlines > 0;
        if !streams.iter().chain([self]).all(is_known) {
            return None;
        }
        let longest = streams.iter().map(|stream| stream.window.deadlines).max()?;
        Some(u128::from(period) * (u128::from(self.window.tolerated) + u128::from(longest) + streams.len() as u128 - 1) + 1)
    }
}

/// The greatest number that divides both; the other one if one is 0.
pub(super) fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Most terms are short, and long division is slow.
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => (b.into(), (a % b).into()),
            _ => (b, a % b),
        };
    }
    a
}

#[cfg(test)]
mod tests;
