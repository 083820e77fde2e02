//! The lengths of a source's packets.

use crate::fault::{Fault, check_length};
use crate::random::Stream;
use std::sync::Arc;

/// How long packets are, in bytes of frame.
#[derive(Clone, PartialEq, Debug)]
pub enum LengthDistribution {
    /// All the same.
    Fixed(u32),
    /// Exponential, rounded to the nearest byte, at least 1: with a mean of 100 bytes or more the mean stays true to 1e-5 of itself.
    /// Some packets are many times the mean; a port drops those beyond its longest frame as oversize.
    Exponential {
        /// The mean before rounding, in bytes.
        mean: f64,
    },
    /// Every whole length from `shortest` to `longest`, equally likely.
    Uniform {
        /// The least length.
        shortest: u32,
        /// The greatest length.
        longest: u32,
    },
    /// Lengths from a list, each with its weight (a count or a share: weights need not add up to 1).
    Empirical(Arc<[(u32, f64)]>),
}

impl LengthDistribution {
    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            LengthDistribution::Fixed(length) => f64::from(*length),
            LengthDistribution::Exponential { mean } => *mean,
            LengthDistribution::Uniform { shortest, longest } => (f64::from(*shortest) + f64::from(*longest)) / 2.0,
            LengthDistribution::Empirical(list) => {
                list.iter().map(|(length, weight)| f64::from(*length) * weight).sum::<f64>() / total_weight(list)
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        match self {
            LengthDistribution::Fixed(length) => check_length("length", *length),
            LengthDistribution::Exponential { mean } if *mean >= 1.0 && *mean <= 1e8 => Ok(()),
            LengthDistribution::Exponential { mean } => Err(Fault::new("length", format!("a mean of {mean} bytes"), "1 to 1e8 bytes")),
            LengthDistribution::Uniform { shortest, longest } => {
                check_length("length", *shortest)?;
                check_length("length", *longest)?;
                if shortest > longest {
                    let problem = format!("the shortest, {shortest} bytes, is above the longest, {longest}");
                    return Err(Fault::new("length", problem, "the shortest first"));
                }
                Ok(())
            }
            LengthDistribution::Empirical(list) => {
                for (length, weight) in list.iter() {
                    check_length("length", *length)?;
                    if !(weight.is_finite() && *weight >= 0.0) {
                        return Err(Fault::new("length", format!("a weight of {weight}"), "weights of 0 or more"));
                    }
                }
                let total = total_weight(list);
                if total > 0.0 && total.is_finite() {
                    Ok(())
                } else {
                    Err(Fault::new("length", "no weight in the list", "a length with a weight above 0"))
                }
            }
        }
    }

    /// Draws a length; at least 1.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        match self {
            LengthDistribution::Fixed(length) => *length,
            LengthDistribution::Exponential { mean } => ((mean * stream.exponential() + 0.5) as u32).max(1),
            LengthDistribution::Uniform { shortest, longest } => shortest + stream.below(u64::from(longest - shortest) + 1) as u32,
            LengthDistribution::Empirical(list) => draw_from(list, stream),
        }
    }
}

fn total_weight(list: &[(u32, f64)]) -> f64 {
    list.iter().map(|(_, weight)| weight).sum()
}

fn draw_from(list: &[(u32, f64)], stream: &mut Stream) -> u32 {
    let mut left = stream.uniform() * total_weight(list);
    let mut last = 1;
    for (length, weight) in list.iter().filter(|(_, weight)| *weight > 0.0) {
        last = *length;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    // Rounding may leave a crumb of `left`: it belongs to the last entry.
    last
}

#[cfg(test)]
mod tests;
