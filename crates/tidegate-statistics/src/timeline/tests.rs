//! Tests of [`super`].

use super::*;

#[test]
fn coarsening_loses_nothing_from_a_sum_and_keeps_the_maximum() {
    let (mut sum, mut maximum) = (Timeline::sum(1000), Timeline::maximum(1000));
    let mut total = 0.0;
    for i in 0..10_000u64 {
        // Up to six years in: the width has to double about fifty times.
        let at = u128::from(i).pow(5) * 2;
        sum.add(at, i as f64);
        maximum.add(at, i as f64);
        total += i as f64;
    }
    assert!(sum.points().len() <= Timeline::BINS);
    assert_eq!(sum.points().iter().map(|p| p.1).sum::<f64>(), total);
    assert_eq!(maximum.points().last().unwrap().1, 9_999.0);
    maximum.fill(0, 10u128.pow(20), 20_000.0);
    assert!(maximum.points().iter().all(|p| p.1 == 20_000.0 || p.0 > 1e8));
    let points = maximum.points();
    assert!(points.windows(2).all(|w| w[0].0 < w[1].0));
}

#[test]
fn two_time_lines_add_up_bin_by_bin_whatever_their_widths() {
    let mut one = Timeline::sum(1000);
    let mut other = Timeline::sum(1000).with_bins(4);
    one.add(500, 1.0);
    one.add(3500, 2.0);
    for at in [0, 1000, 7000] {
        other.add(at, 10.0);
    }
    one.plus(other);
    let width = one.width_seconds();
    assert_eq!(one.points(), [(0.0, 21.0), (width, 2.0), (2.0 * width, 0.0), (3.0 * width, 10.0)]);
}
