//! Tests of [`super`].

use super::*;

/// The mean of all distributions.
const MEAN: Duration = Duration::from_milliseconds(2);

fn mean_of(draw: impl FnMut(&mut Stream) -> u64) -> f64 {
    let mut draw = draw;
    let mut stream = Stream::new(5, 0, "holding");
    let n = 200_000;
    (0..n).map(|_| draw(&mut stream) as f64 / 2e9).sum::<f64>() / f64::from(n)
}

#[test]
fn periods_have_their_mean() {
    let pareto = Holding::Pareto { mean: MEAN, shape: 3.0 };
    let exponential = Holding::Exponential { mean: MEAN };
    assert_eq!(Holding::Constant { time: MEAN }.draw(&mut Stream::new(1, 0, "")), MEAN.picoseconds());
    // Five standard errors: the coefficients of variation are 1 and 1/sqrt(3).
    assert!((mean_of(|s| exponential.draw(s)) - 1.0).abs() < 0.012);
    assert!((mean_of(|s| pareto.draw(s)) - 1.0).abs() < 0.007);
}

#[test]
fn residuals_have_the_mean_of_renewal_theory() {
    // E[X^2] / (2 E[X]): one half for constant periods, 1 for exponential ones; for Pareto shape * (shape - 2) below its square.
    let shape = 5.0f64;
    let expected = (shape - 1.0).powi(2) / (2.0 * shape * (shape - 2.0));
    let pareto = Holding::Pareto { mean: MEAN, shape };
    assert!((mean_of(|s| pareto.draw_residual(s)) - expected).abs() < 0.01);
    assert!((mean_of(|s| Holding::Constant { time: MEAN }.draw_residual(s)) - 0.5).abs() < 0.004);
    assert!((mean_of(|s| Holding::Exponential { mean: MEAN }.draw_residual(s)) - 1.0).abs() < 0.012);
}

#[test]
fn the_pareto_tail_has_its_exponent() {
    let pareto = Holding::Pareto { mean: MEAN, shape: 1.5 };
    // The shortest period is a third of the mean; P(X > 8 * shortest) = 8^-1.5.
    let beyond = mean_of(|s| u64::from(pareto.draw(s) > 8 * MEAN.picoseconds() / 3) * 2_000_000_000);
    assert!((beyond - 0.0442).abs() < 0.0025, "{beyond}");
    assert!(mean_of(|s| u64::from(pareto.draw(s) + 1 < MEAN.picoseconds() / 3)) == 0.0);
}

/// With the shape 1.4 and a shortest period of 1 the mean is 3.5, and half of the periods are longer than 1.6407.
#[test]
fn half_of_pareto_periods_are_beyond_their_median() {
    let pareto = Holding::Pareto { mean: Duration::from_picoseconds(3_500_000_000), shape: 1.4 };
    let mut stream = Stream::new(7, 0, "median");
    let beyond = (0..20_000).filter(|_| pareto.draw(&mut stream) > 1_640_700_000).count();
    assert!((9_700..=10_300).contains(&beyond), "{beyond} of 20,000");
    assert!((0..1000).all(|_| pareto.draw(&mut stream) >= 1_000_000_000));
}
