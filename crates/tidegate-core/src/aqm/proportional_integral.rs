//! A proportional-integral controller, which turns the delay of a queue into a probability, in fixed point.

use super::parameters::Gain;
use crate::units::Duration;

/// The probability 1: probabilities are 56-bit fractions.
pub(super) const ONE: u64 = 1 << 56;

/// The longest delay that is told apart from longer ones: 2^43 ps, 8.8 s.
pub(super) const LONGEST_DELAY: Ticks = Ticks::of(Duration::from_picoseconds(1 << 43));

/// A delay in ticks of 2^16 ps, which is 65.536 ns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ticks(pub(super) u32);

impl Ticks {
    pub(super) const ZERO: Ticks = Ticks(0);

    /// The delay in whole ticks, rounded down, which a test can restate; delays beyond 2^43 ps count as that.
    #[inline]
    pub(super) const fn of(delay: Duration) -> Ticks {
        let picoseconds = delay.picoseconds();
        Ticks(if picoseconds >> 43 > 0 { 1 << 27 } else { (picoseconds >> 16) as u32 })
    }

    #[inline]
    const fn less(self, other: Ticks) -> i128 {
        self.0 as i128 - other.0 as i128
    }
}

/// What a controller aims at, and how fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Controller {
    pub(super) target: Ticks,
    alpha: u64,
    beta: u64,
}

/// A gain in probability per tick, rounded to the nearest: the error is below 1e-6 from 1 mHz on.
const fn per_tick(gain: Gain) -> u64 {
    // 1 mHz is 2^56 * 2^16 / (10^12 * 10^3) per tick.
    let unit = 1_000_000_000_000_000;
    ((((gain.millihertz() as u128) << 73) + unit) / (2 * unit)) as u64
}

impl Controller {
    pub(super) const fn new(target: Duration, alpha: Gain, beta: Gain) -> Controller {
        Controller { target: Ticks::of(target), alpha: per_tick(alpha), beta: per_tick(beta) }
    }

    /// By how much the probability is to change when the delay was `last` at the last update and is `delay` now.
    pub(super) const fn change(&self, delay: Ticks, last: Ticks) -> i128 {
        self.alpha as i128 * delay.less(self.target) + self.beta as i128 * delay.less(last)
    }
}

/// The probability after a change, kept between 0 and `most`.
pub(super) const fn changed(probability: u64, by: i128, most: u64) -> u64 {
    let sum = probability as i128 + by;
    if sum < 0 {
        0
    } else if sum > most as i128 {
        most
    } else {
        sum as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_those_of_the_model() {
        for (millihertz, expected) in [(125, 590_295_810), (1250, 5_902_958_104), (160, 755_578_637), (3200, 15_111_572_745)] {
            assert_eq!(per_tick(Gain::from_millihertz(millihertz).unwrap()), expected);
        }
    }
}
