//! How long an on/off source stays in a state.

use crate::fault::Fault;
use crate::random::Stream;
use crate::time::{LONGEST_DURATION, random_span, seconds};
use tidegate_core::units::Duration;

/// The distribution of the time that a source spends in a state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Holding {
    /// Always the same.
    Constant {
        /// The time.
        time: Duration,
    },
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto: the shortest time is `mean * (shape - 1) / shape`, and the probability of more than `x` falls as `x^-shape`. With a shape
    /// below 2 the variance is infinite and the sum of many such sources is self-similar.
    Pareto {
        /// The mean.
        mean: Duration,
        /// The exponent, above 1: below that there is no mean.
        shape: f64,
    },
}

impl Holding {
    /// The mean.
    pub const fn mean(&self) -> Duration {
        match *self {
            Holding::Constant { time: mean } | Holding::Exponential { mean } | Holding::Pareto { mean, .. } => mean,
        }
    }

    pub(crate) fn check(&self, key: &'static str) -> Result<(), Fault> {
        if self.mean() == Duration::ZERO || self.mean() > LONGEST_DURATION {
            return Err(Fault::new(key, format!("a mean of {} s", seconds(self.mean())), "a mean above 0, at most 26 days"));
        }
        match self {
            Holding::Pareto { shape, .. } if !(shape.is_finite() && *shape > 1.0) => {
                Err(Fault::new(key, format!("a shape of {shape}"), "a shape above 1"))
            }
            _ => Ok(()),
        }
    }

    /// A whole period, in picoseconds.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        match *self {
            Holding::Constant { time } => time.picoseconds(),
            Holding::Exponential { mean } => random_span(mean.picoseconds() as f64, stream.exponential()),
            Holding::Pareto { mean, shape } => {
                let shortest = mean.picoseconds() as f64 * (shape - 1.0) / shape;
                random_span(shortest, libm::pow(1.0 - stream.uniform(), -1.0 / shape))
            }
        }
    }

    /// What is left of a period at an instant chosen without regard to it, in picoseconds: the equilibrium distribution, with the
    /// density `P(period > x) / mean`. A source that starts with it is stationary from its first packet on.
    pub(crate) fn draw_residual(&self, stream: &mut Stream) -> u64 {
        match *self {
            Holding::Constant { time } => stream.below(time.picoseconds()),
            Holding::Exponential { .. } => self.draw(stream),
            Holding::Pareto { mean, shape } => {
                // The tail of the residual is 1 - x / mean up to the shortest period, where it is 1 / shape, and from there on
                // (shortest / x)^(shape - 1) / shape.
                let (mean, tail) = (mean.picoseconds() as f64, 1.0 - stream.uniform());
                if tail * shape >= 1.0 {
                    random_span(mean, 1.0 - tail)
                } else {
                    random_span(mean * (shape - 1.0) / shape, libm::pow(tail * shape, -1.0 / (shape - 1.0)))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
