//! The total order of precedence among streams.
//!
//! **Law.** The first difference decides:
//! 1. the earlier deadline;
//! 2. the smaller window constraint `x'/y'`; if both are zero, the larger denominator; if both are equal and not zero, the smaller numerator;
//! 3. the earlier arrival of the head;
//! 4. the smaller stream number.
//!
//! A zero numerator makes the constraint zero whatever the denominator, so `0/0` (plain earliest deadline first) gives way to any `0/y`.
//!
//! **Source**: Krishnamurthy et al., "ShareStreams", Table 1; the last difference, the number, is ours and makes the order total.
//!
//! **State**: none.
//!
//! **Cost**: O(1), two multiplications if the deadlines are equal and both constraints are not zero.
//!
//! **RTL twin**: the decision block.
//!
//! **Deviations**: none.

use crate::dwcs::rules::Order;
use crate::dwcs::tolerance::Tolerance;
use core::cmp::Ordering;

/// The attributes of a backlogged stream that decide its precedence; the smaller rank is served first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rank {
    /// The deadline of its head, in ticks.
    pub deadline: u64,
    /// Its current window constraint.
    pub tolerance: Tolerance,
    /// When its head arrived.
    pub arrival: u64,
    /// Its number.
    pub stream: u32,
}

impl Rank {
    /// Compares under `order`.
    #[inline]
    pub fn compare(&self, other: &Rank, order: Order) -> Ordering {
        match order {
            Order::DeadlineFirst => self.deadline.cmp(&other.deadline).then_with(|| self.compare_tied(other)),
            Order::WindowFirst => self.compare_windows_first(other),
        }
    }

    /// Compares two ranks of equal deadlines.
    #[inline]
    pub fn compare_tied(&self, other: &Rank) -> Ordering {
        self.compare_windows(other).then_with(|| self.compare_ages(other))
    }

    /// By window constraint alone.
    #[inline]
    fn compare_windows(&self, other: &Rank) -> Ordering {
        let (a, b) = (&self.tolerance, &other.tolerance);
        match (a.numerator, b.numerator) {
            (0, 0) if fault!(DwcsZeroWindowsReversed) => a.denominator.cmp(&b.denominator),
            (0, 0) => b.denominator.cmp(&a.denominator),
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            // 0 < x' <= y' <= y, so the products fit.
            (x1, x2) => (u64::from(x1) * b.denominator).cmp(&(u64::from(x2) * a.denominator)).then(x1.cmp(&x2)),
        }
    }

    #[inline]
    fn compare_ages(&self, other: &Rank) -> Ordering {
        self.arrival.cmp(&other.arrival).then(self.stream.cmp(&other.stream))
    }

    /// The order of 1999: the window first. Zero constraints compare by their denominators, then by the deadlines.
    fn compare_windows_first(&self, other: &Rank) -> Ordering {
        let (a, b) = (&self.tolerance, &other.tolerance);
        let deadlines = self.deadline.cmp(&other.deadline);
        let windows = match (a.numerator, b.numerator) {
            (0, 0) => b.denominator.cmp(&a.denominator).then(deadlines),
            (0, _) => Ordering::Less,
            (_, 0) => Ordering::Greater,
            (x1, x2) => (u64::from(x1) * b.denominator).cmp(&(u64::from(x2) * a.denominator)).then(deadlines).then(x1.cmp(&x2)),
        };
        windows.then_with(|| self.compare_ages(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rank(deadline: u64, numerator: u32, denominator: u64, arrival: u64, stream: u32) -> Rank {
        Rank { deadline, tolerance: Tolerance { numerator, in_violation: false, denominator }, arrival, stream }
    }

    fn any_rank() -> impl Strategy<Value = Rank> {
        (0u64..3, 0u32..4, 0u64..4, 0u64..3, 0u32..4).prop_map(|(d, x, more, a, s)| rank(d, x, u64::from(x) + more, a, s))
    }

    #[test]
    fn each_difference_decides_in_its_turn() {
        let less = |a: Rank, b: Rank| assert!(a.compare(&b, Order::DeadlineFirst).is_lt() && b.compare(&a, Order::DeadlineFirst).is_gt());
        less(rank(1, 3, 4, 9, 9), rank(2, 0, 9, 0, 0));
        less(rank(1, 1, 3, 9, 9), rank(1, 1, 2, 0, 0));
        less(rank(1, 0, 1, 9, 9), rank(1, 1, 99, 0, 0));
        less(rank(1, 0, 5, 9, 9), rank(1, 0, 4, 0, 0));
        less(rank(1, 0, 1, 9, 9), rank(1, 0, 0, 0, 0));
        less(rank(1, 1, 2, 9, 9), rank(1, 2, 4, 0, 0));
        less(rank(1, 1, 2, 0, 9), rank(1, 1, 2, 1, 0));
        less(rank(1, 1, 2, 0, 0), rank(1, 1, 2, 0, 1));
        assert!(rank(2, 0, 9, 0, 0).compare(&rank(1, 1, 2, 0, 1), Order::WindowFirst).is_lt());
    }

    proptest! {
        #[test]
        fn precedence_is_a_strict_total_order(a in any_rank(), b in any_rank(), c in any_rank()) {
            for order in [Order::DeadlineFirst, Order::WindowFirst] {
                prop_assert_eq!(a.compare(&b, order), b.compare(&a, order).reverse());
                prop_assert_eq!(a.compare(&b, order).is_eq(), a == b);
                if a.compare(&b, order).is_lt() && b.compare(&c, order).is_lt() {
                    prop_assert!(a.compare(&c, order).is_lt());
                }
            }
        }
    }
}
