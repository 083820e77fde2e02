//! Tests of [`super`].

use super::*;

fn mean(distribution: &LengthDistribution) -> f64 {
    distribution.check().unwrap();
    let mut stream = Stream::new(2, 0, "length");
    let n = 100_000;
    (0..n).map(|_| f64::from(distribution.draw(&mut stream))).sum::<f64>() / f64::from(n)
}

#[test]
fn every_distribution_has_its_mean() {
    let list = LengthDistribution::Empirical([(40, 7.0), (576, 0.0), (1500, 3.0)].into());
    assert_eq!(list.mean(), 478.0);
    // Five standard errors; the deviations are 669, 58 and 1000 bytes over the square root of 100,000.
    assert!((mean(&list) - 478.0).abs() < 11.0);
    assert!((mean(&LengthDistribution::Uniform { shortest: 100, longest: 300 }) - 200.0).abs() < 1.0);
    assert!((mean(&LengthDistribution::Exponential { mean: 1000.0 }) - 1000.0).abs() < 16.0);
}

#[test]
fn an_entry_without_weight_is_never_drawn() {
    let list = LengthDistribution::Empirical([(1, 0.0), (2, 1.0), (3, 0.0)].into());
    let mut stream = Stream::new(2, 0, "length");
    assert!((0..1000).all(|_| list.draw(&mut stream) == 2));
}

#[test]
fn impossible_lengths_are_refused() {
    let refused = |distribution: LengthDistribution| distribution.check().unwrap_err().problem;
    assert_eq!(refused(LengthDistribution::Fixed(0)), "a frame of 0 bytes");
    assert_eq!(refused(LengthDistribution::Exponential { mean: f64::NAN }), "a mean of NaN bytes");
    assert_eq!(refused(LengthDistribution::Uniform { shortest: 3, longest: 2 }), "the shortest, 3 bytes, is above the longest, 2");
    assert_eq!(refused(LengthDistribution::Empirical([].into())), "no weight in the list");
    assert_eq!(refused(LengthDistribution::Empirical([(1, -1.0)].into())), "a weight of -1");
}
