//! The curves of RED as an operator states them.

use super::probability::Probability;

/// How likely a packet is to be signalled, by the average length of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RedCurve {
    /// Below this average length in bytes it is certain to pass.
    pub min: u64,
    /// The probability rises to `max_probability` at this average length, in bytes.
    pub max: u64,
    /// The probability just below `max`.
    pub max_probability: Probability,
}

/// The longest average queue of a curve in bytes.
pub(super) const LONGEST_AVERAGE: u64 = 1 << 40;

impl RedCurve {
    /// What is wrong with it, and what would be right.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            _ if self.min >= self.max => Some("the lower threshold must be below the upper one"),
            _ if self.max > LONGEST_AVERAGE => Some("the upper threshold must be at most 2^40 bytes"),
            _ if self.max_probability == Probability::default() => Some("the probability must be above 0"),
            _ => None,
        }
    }
}
