//! Bounds, bins and quantiles.

use super::*;

#[test]
fn the_bounds_are_those_of_a_binary_heap() {
    assert_eq!(bounds(1), (0.0, 2.0));
    assert_eq!(bounds(1000), (27.0, 20.0));
    assert_eq!(bounds(64_167), (45.0, 32.0));
}

#[test]
fn bins_keep_sums_and_maxima_of_their_cells() {
    let mut quantity = Quantity::new(500);
    (0..500).for_each(|value| quantity.add(value));
    assert_eq!((quantity.cells_per_bin, quantity.mean(), quantity.most()), (3, 249.5, 499));
    let (means, maxima) = (quantity.means("a", 10), quantity.maxima("a", 10));
    assert_eq!((means.x[0], means.y[0], maxima.y[0]), (0.3, 1.0, 2.0));
    assert_eq!((means.x.len(), means.x[166], means.y[166]), (167, 50.0, 498.5));
}

#[test]
fn quantiles_are_those_of_the_sorted_times() {
    let quantity = Quantity::new(1);
    let mut measured =
        Measured { sent: 1000, comparisons: quantity.clone(), entries: quantity.clone(), nanoseconds: quantity, times: vec![0; LONGEST] };
    (0..1000).for_each(|time| measured.times[time] += 1);
    assert_eq!([0.5, 0.999, 1.0].map(|part| measured.quantile(part)), [499, 998, 999]);
}
