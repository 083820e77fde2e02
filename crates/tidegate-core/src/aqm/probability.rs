//! Probabilities in fixed point.

/// A probability in units of 2^-32, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Probability(u64);

impl Probability {
    /// Certainty.
    pub const ONE: Probability = Probability(1 << 32);

    /// This many millionths, rounded down to a unit; `None` above a million.
    pub const fn from_millionths(millionths: u32) -> Option<Probability> {
        if millionths > 1_000_000 { None } else { Some(Probability(((millionths as u64) << 32) / 1_000_000)) }
    }

    /// The probability in units of 2^-32.
    #[inline]
    pub const fn units(self) -> u64 {
        self.0
    }
}
