//! The decision block: which of two streams comes first, in one cycle.
//!
//! **Law.** The order of [`Rank`](tidegate_core::dwcs::Rank), as long as deadlines and arrivals differ by less than 2^15. A stream without a packet
//! loses against every other; of two streams without packets the second wins.
//!
//! **Source**: Krishnamurthy et al., "ShareStreams", section 4, Figure 8 and Table 1.
//!
//! **State**: none. Every comparison of the value bus is made at once, and the predicate bus selects.
//!
//! **Cost**: two multiplications of 8 by 8 bits.
//!
//! **RTL twin**: this is the model of it.
//!
//! **Deviations**: the paper says what is computed, not by which terms. Its rules leave ties to the order of arrival, and say nothing of equal
//! arrivals: here the smaller number wins.

/// The word on the network: the attributes of one stream that a decision compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Attributes {
    /// The stream has a packet.
    pub valid: bool,
    /// Its deadline never comes.
    pub infinite: bool,
    /// The deadline of its next packet, in ticks modulo 2^16.
    pub deadline: u16,
    /// x', the current numerator.
    pub numerator: u8,
    /// y', the current denominator.
    pub denominator: u8,
    /// When its head arrived, modulo 2^16.
    pub arrival: u16,
    /// Its number, 5 bits of it.
    pub id: u8,
}

impl Attributes {
    /// A port to which no stream is connected.
    pub const NONE: Attributes = Attributes { valid: false, infinite: false, deadline: 0, numerator: 0, denominator: 0, arrival: 0, id: 0 };

    /// The decision: true if `self` leaves on the winner's port.
    ///
    /// # Panics
    /// If two finite deadlines of valid streams are exactly 2^15 ticks apart, which serial arithmetic cannot order. The register blocks
    /// keep deadlines closer together.
    #[inline]
    pub fn wins(&self, other: &Attributes) -> bool {
        let (a, b) = (self, other);
        if !(a.valid && b.valid) {
            return a.valid;
        }
        let finite = !a.infinite && !b.infinite;
        let deadlines_equal = (a.infinite && b.infinite) || (finite && a.deadline == b.deadline);
        let deadline_less = (!a.infinite && b.infinite) || (finite && deadline_precedes(a.deadline, b.deadline));
        let (zero_a, zero_b) = (a.numerator == 0, b.numerator == 0);
        let cross_a = u16::from(a.numerator) * u16::from(b.denominator);
        let cross_b = u16::from(b.numerator) * u16::from(a.denominator);
        let (both_zero, none_zero) = (zero_a && zero_b, !zero_a && !zero_b);
        let window_less = (zero_a && !zero_b) || (none_zero && cross_a < cross_b);
        let windows_equal = both_zero || (none_zero && cross_a == cross_b);
        let first_come = precedes(a.arrival, b.arrival) || (a.arrival == b.arrival && a.id < b.id);
        let among_equals = if both_zero {
            a.denominator > b.denominator || (a.denominator == b.denominator && first_come)
        } else {
            a.numerator < b.numerator || (a.numerator == b.numerator && first_come)
        };
        deadline_less || (deadlines_equal && (window_less || (windows_equal && among_equals)))
    }
}

/// Serial comparison of 16-bit numbers: whether `a` comes before `b`, if they are less than 2^15 apart.
#[inline]
pub const fn precedes(a: u16, b: u16) -> bool {
    a.wrapping_sub(b) & 0x8000 != 0
}

/// [`precedes`] for deadlines, which must be comparable.
///
/// # Panics
/// If they are exactly 2^15 apart.
#[inline]
pub const fn deadline_precedes(a: u16, b: u16) -> bool {
    assert!(a.wrapping_sub(b) != 0x8000, "deadlines are less than 2^15 ticks apart");
    precedes(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_core::dwcs::{Order, Rank, Tolerance};

    /// Oracle S6.
    #[test]
    fn sixteen_bits_compare_across_the_wrap() {
        assert!(deadline_precedes(65_535, 0));
        assert!(!deadline_precedes(0, 65_535));
        assert!(!deadline_precedes(5, 5));
        assert!(deadline_precedes(0, 32_767));
    }

    #[test]
    #[should_panic(expected = "less than 2^15 ticks apart")]
    fn opposite_deadlines_are_a_defect() {
        deadline_precedes(32_768, 0);
    }

    fn attributes() -> impl Strategy<Value = Attributes> {
        let numbers = (0u8..6, 0u8..6, prop_oneof![Just(0u8), Just(250)]);
        (0u8..8, 0u16..3, numbers, 0u16..3, 0u8..32).prop_map(|(flags, deadline, (x, more, offset), arrival, id)| {
            let numerator = if x == 0 { 0 } else { x + offset };
            Attributes {
                valid: flags != 7,
                infinite: flags < 2,
                deadline: 65_534u16.wrapping_add(deadline),
                numerator,
                denominator: numerator.saturating_add(more),
                arrival: 65_534u16.wrapping_add(arrival),
                id,
            }
        })
    }

    fn rank(of: &Attributes) -> Rank {
        let unwrapped = |value: u16| u64::from(value.wrapping_sub(65_534));
        Rank {
            deadline: if of.infinite { u64::MAX } else { unwrapped(of.deadline) },
            tolerance: Tolerance { numerator: of.numerator.into(), in_violation: false, denominator: of.denominator.into() },
            arrival: unwrapped(of.arrival),
            stream: of.id.into(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16 * ProptestConfig::default().cases))]
        #[test]
        fn the_block_decides_as_the_order_of_precedence(a in attributes(), b in attributes()) {
            prop_assume!(a.id != b.id);
            match (a.valid, b.valid) {
                (true, true) => {
                    prop_assert_eq!(a.wins(&b), rank(&a).compare(&rank(&b), Order::DeadlineFirst).is_lt());
                    prop_assert_ne!(a.wins(&b), b.wins(&a));
                }
                (valid, _) => prop_assert_eq!(a.wins(&b), valid),
            }
        }
    }
}
