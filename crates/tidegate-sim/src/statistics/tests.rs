//! Tests of [`super`].

use super::*;

#[test]
fn bins_are_half_open_and_complete() {
    let mut bins = Bins::new(10);
    bins.add(0, 1);
    bins.add(9, 2);
    bins.add(10, 4);
    bins.add(35, 8);
    assert_eq!(bins.clone().finish(40), [3, 4, 0, 8]);
    // The part of an interval at the end is left out.
    assert_eq!(bins.finish(39), [3, 4, 0]);
    let mut none = Bins::new(0);
    none.add(5, 1);
    assert!(none.finish(100).is_empty());
}
