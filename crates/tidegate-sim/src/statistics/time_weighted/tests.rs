//! Tests of [`super`].

use super::*;

#[test]
fn mean_and_maximum_start_with_the_restart_and_samples_do_not() {
    let mut quantity = TimeWeighted::new(10);
    quantity.set(2, 100);
    quantity.set(5, 10);
    quantity.set(12, 20);
    quantity.restart(15);
    quantity.set(18, 0);
    quantity.finish(45);
    // From 15 to 18 at 20, then nothing.
    assert_eq!(quantity.mean(), 60.0 / 30.0);
    assert_eq!(quantity.maximum(), 20);
    // 3 at 100 and 5 at 10; 2 at 10 and 6 at 20; silence twice; the half sample at the end is left out.
    assert_eq!(quantity.samples(), [35.0, 14.0, 0.0, 0.0]);
}

#[test]
fn no_time_has_no_mean() {
    let mut quantity = TimeWeighted::new(0);
    quantity.set(7, 3);
    quantity.restart(7);
    assert_eq!(quantity.mean(), 0.0);
    assert_eq!(quantity.maximum(), 3);
    assert!(quantity.samples().is_empty());
}
