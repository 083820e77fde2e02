//! Tests of [`super`].

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_nth_packet_leaves_at_the_exact_instant_rounded_down(bps in 1_000u64..=400_000_000_000, length in 1u32..100_000) {
        let mut spacing = Spacing::new(Rate::new(bps).unwrap(), length);
        let mut at = 0u128;
        for n in 1..=50u128 {
            at += u128::from(spacing.next());
            prop_assert_eq!(at, n * u128::from(length) * 8_000_000_000_000 / u128::from(bps));
        }
    }
}
