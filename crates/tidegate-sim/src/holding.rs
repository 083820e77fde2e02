//! How long an on/off source stays in a state.

use crate::fault::Fault;
use crate::random::Stream;
use crate::time::{LONGEST_DURATION, divided, random_span, seconds};
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

    /// The same with its times divided by `factor`.
    pub(crate) fn divided(&self, factor: f64) -> Option<Holding> {
        Some(match *self {
            Holding::Constant { time } => Holding::Constant { time: divided(time, factor)? },
            Holding::Exponential { mean } => Holding::Exponential { mean: divided(mean, factor)? },
            Holding::Pareto { mean, shape } => Holding::Pareto { mean: divided(mean, factor)?, shape },
        })
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
mod tests;
