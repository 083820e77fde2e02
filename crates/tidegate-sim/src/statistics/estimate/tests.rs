//! Tests of [`super`].

use super::*;

#[test]
fn quantiles_are_those_of_the_tables() {
    for (degrees, expected) in [(1.0, 12.706), (4.0, 2.776), (7.0, 2.365), (9.0, 2.262), (29.0, 2.045)] {
        assert!((t_quantile(degrees) - expected).abs() < 0.001, "{degrees}");
    }
}

#[test]
fn equal_values_have_an_interval_of_no_width() {
    let estimate = Estimate::of(&[3.0; 5]).unwrap();
    assert_eq!(estimate, Estimate { mean: 3.0, half_width: Some(0.0) });
    assert!(estimate.covers(3.0) && !estimate.covers(3.1));
    assert_eq!(Estimate::of(&[]), None);
}
