//! Gates at and beyond their limits.

use super::*;

#[test]
fn a_gate_holds_within_its_band_and_at_its_limits() {
    assert!(Gate::within("a", "cells", vec![9.0, 11.0], &[10.0, 10.0], 1.0).passed());
    assert!(!Gate::within("a", "cells", vec![9.0, 12.0], &[10.0, 10.0], 1.0).passed());
    assert!(Gate::exactly("a", "cells", vec![3.0], &[3.0]).passed());
    assert!(!Gate::exactly("a", "cells", vec![3.0], &[4.0]).passed());
    assert!(Gate::near("a", "cells", vec![98.0, -9.8], &[100.0, -10.0], 0.02).passed());
    assert!(!Gate::near("a", "cells", vec![100.0, -9.7], &[100.0, -10.0], 0.02).passed());
    assert!(Gate::all_at_least("a", "cells", vec![5.0, 6.0], 5.0).passed());
    assert!(!Gate::all_at_least("a", "cells", vec![5.0, 4.0], 5.0).passed());
    assert!(Gate::at_most("a", "slots", 5.0, 5.0).passed());
    assert!(!Gate::at_most("a", "slots", 5.5, 5.0).passed());
    assert!(Gate::at_least("a", "slots", 5.0, 5.0).passed());
    assert!(!Gate::at_least("a", "slots", 4.0, 5.0).passed());
}

#[test]
fn a_gate_without_its_numbers_fails() {
    assert!(!Gate::exactly("a", "cells", vec![], &[]).passed());
    assert!(!Gate::exactly("a", "cells", vec![1.0], &[1.0, 1.0]).passed());
    assert!(!Gate::exactly("a", "cells", vec![1.0, 1.0], &[1.0]).passed());
    assert!(!Gate::at_most("a", "cells", f64::NAN, 1.0).passed());
    assert!(!Gate::at_least("a", "cells", f64::INFINITY, 1.0).passed());
}

#[test]
fn what_is_not_reproduced_is_held_to_its_own_band_and_must_miss_the_papers() {
    let verdict = |measured| Gate::at_most("a", "", measured, 0.2).not_reproduced(&[0.3], &[0.4], "It is so.").verdict();
    assert_eq!([0.29, 0.3, 0.4, 0.41].map(verdict), [Verdict::Failed, Verdict::NotReproduced, Verdict::NotReproduced, Verdict::Failed]);
    let wide = Gate::at_most("a", "", 0.15, 0.2).not_reproduced(&[0.1], &[0.4], "It is so.");
    assert_eq!(wide.verdict(), Verdict::Failed, "the paper's band is reached: the statement is wrong");
}

#[test]
fn a_counting_curve_answers_for_half_open_intervals() {
    let curve = Curve { x: vec![0.0, 10.0, 20.0], y: vec![1.0, 2.0, 3.0], ..Curve::new("a") };
    assert_eq!([0.0, 0.5, 10.0, 10.5, 99.0].map(|x| curve.before(x)), [0.0, 1.0, 1.0, 2.0, 3.0]);
    assert_eq!(curve.between(0.0, 20.0), 2.0);
    assert_eq!(curve.between(10.0, 21.0), 2.0);
}
