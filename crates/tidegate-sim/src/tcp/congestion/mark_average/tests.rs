//! Tests of [`super`].

use super::*;
use proptest::prelude::*;

#[test]
fn rfc_8257_alpha_follows_the_share_of_marks() {
    let mut marks = MarkAverage::new();
    let mut round = |delivered, marked| {
        marks.add(&Feedback { next: 0, delivered, marked });
        marks.end_round();
        marks.alpha()
    };
    // (1 - g) alpha + g M with g = 1/16.
    assert_eq!(round(10, 0), 0.937_5);
    assert_eq!(round(8, 4), 0.910_156_25);
    assert_eq!(round(3, 3), 0.915_771_484_375);
    // A round in which nothing came says nothing.
    assert_eq!(round(0, 0), 0.915_771_484_375);
}

proptest! {
    #[test]
    fn the_average_is_between_0_and_1_and_comes_to_a_constant_share(rounds in prop::collection::vec((0u64..100, 0u64..100), 0..50), share in 0u64..=20) {
        let mut marks = MarkAverage::new();
        for (delivered, marked) in rounds {
            marks.add(&Feedback { next: 0, delivered, marked });
            marks.end_round();
            prop_assert!((0.0..=1.0).contains(&marks.alpha()));
        }
        for _ in 0..200 {
            marks.add(&Feedback { next: 0, delivered: 20, marked: share });
            marks.end_round();
        }
        prop_assert!((marks.alpha() - share as f64 / 20.0).abs() < 1e-5);
    }
}
