//! Rates that are guaranteed: how they are counted, and how they are printed. Nothing is rounded up.

use crate::units::print_rate;
use serde_json::Value;
use std::fmt;
use tidegate_core::units::Rate;

/// A rate on the wire that is kept, in units of 2^-48 bit/s. Every operation rounds down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LeastRate(u128);

/// Bits behind the binary point: a rate of 2^39 bit/s times a weight of 2^32 fits 128 bits.
const POINT: u32 = 48;

impl LeastRate {
    /// This many whole bits per second, at most 2^40.
    pub(crate) fn whole(bits_per_second: u64) -> LeastRate {
        LeastRate(u128::from(bits_per_second.min(1 << 40)) << POINT)
    }

    /// The part `numerator / denominator`; `None` if less than 2^-48 bit/s is left of it. `numerator` is below 2^40, `denominator` above 0.
    pub(crate) fn part(self, numerator: u64, denominator: u128) -> Option<LeastRate> {
        let part = self.0 * u128::from(numerator) / denominator.max(1);
        (part > 0).then_some(LeastRate(part))
    }

    /// What is left beside this many bits per second; `None` if nothing is.
    pub(crate) fn beside(self, bits_per_second: u64) -> Option<LeastRate> {
        let left = self.0.checked_sub(u128::from(bits_per_second) << POINT)?;
        (left > 0).then_some(LeastRate(left))
    }

    /// The rate of a stream that waits for each of these two in turn: `a b / (a + b)`.
    pub(crate) fn in_turn_with(self, other: LeastRate) -> LeastRate {
        // The product grows with each factor, so shortened factors give less.
        let (a, b) = (self.0 >> 24, other.0 >> 24);
        LeastRate((a * b / (a + b).max(1)) << 24)
    }

    /// The part of this rate that `part` is of `whole`.
    pub(crate) fn scaled_by(self, part: LeastRate, whole: LeastRate) -> LeastRate {
        let (rate, part, whole) = (self.0 >> 24, part.0 >> 24, (whole.0 >> 24) + 1);
        LeastRate((rate * part / whole) << 24)
    }

    /// In whole bits per second.
    pub fn floor(self) -> u64 {
        (self.0 >> POINT) as u64
    }

    /// In bits per second, not more than the truth.
    pub fn bits_per_second(self) -> f64 {
        let nearest = self.0 as f64;
        let below = if nearest as u128 > self.0 { nearest.next_down() } else { nearest };
        below / (1u64 << POINT) as f64
    }

    /// As JSON: a whole number if it is one.
    pub(crate) fn json(self) -> Value {
        if self.0.trailing_zeros() >= POINT { self.floor().into() } else { self.bits_per_second().into() }
    }
}

impl fmt::Display for LeastRate {
    /// Whole kilobits per second exactly, anything else with four digits, rounded down.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.trailing_zeros() >= POINT && self.floor().is_multiple_of(1000) && self.floor() > 0 {
            return match Rate::new(self.floor()) {
                Ok(rate) => f.write_str(&print_rate(rate)),
                Err(_) => write!(f, "{} bit/s", self.floor()),
            };
        }
        let units = [(1_000_000_000u128, "Gbit/s"), (1_000_000, "Mbit/s"), (1000, "kbit/s"), (1, "bit/s")];
        match units.into_iter().find(|unit| self.0 >= unit.0 << POINT) {
            Some((unit, name)) => {
                let whole = self.0 / (unit << POINT);
                let decimals = 3u32.saturating_sub(whole.ilog10());
                let scale = 10u128.pow(decimals);
                // The whole part and the rest apart: together they would not fit.
                let rest = self.0 % (unit << POINT) * scale / (unit << POINT);
                let text = if decimals > 0 { format!("{whole}.{rest:0width$}", width = decimals as usize) } else { whole.to_string() };
                let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
                write!(f, "{text} {name}")
            }
            None => {
                let mut decimals = 4;
                let scaled = |decimals: u32| (self.0 * 10u128.pow(decimals)) >> POINT;
                while scaled(decimals) < 1000 && decimals < 18 {
                    decimals += 1;
                }
                let digits = format!("{:0width$}", scaled(decimals), width = decimals as usize);
                write!(f, "0.{} bit/s", digits.trim_end_matches('0'))
            }
        }
    }
}

/// What a class or a group is guaranteed while it is backlogged: a rate in the long run, whatever the others send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// This rate on the wire.
    Rate(LeastRate),
    /// This rate, and what keeps it from being more.
    Less(LeastRate, String),
    /// No rate, for this reason.
    None(String),
}

impl Guarantee {
    /// The rate, if one is guaranteed.
    pub fn rate(&self) -> Option<LeastRate> {
        match self {
            Guarantee::Rate(rate) | Guarantee::Less(rate, _) => Some(*rate),
            Guarantee::None(_) => None,
        }
    }

    /// As JSON: the rate or `null`, and why it is not more.
    pub(crate) fn json(&self) -> (Value, Value) {
        match self {
            Guarantee::Rate(rate) => (rate.json(), Value::Null),
            Guarantee::Less(rate, reason) => (rate.json(), reason.as_str().into()),
            Guarantee::None(reason) => (Value::Null, reason.as_str().into()),
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guarantee::Rate(rate) => write!(f, "{rate} guaranteed"),
            Guarantee::Less(rate, reason) => write!(f, "{rate} guaranteed, and not more because {reason}"),
            Guarantee::None(reason) => write!(f, "none guaranteed, because {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_printed_exactly_or_rounded_down() {
        let gigabit = LeastRate::whole(1_000_000_000);
        let least = gigabit.part(1, 1 << 32).unwrap();
        assert_eq!((least.to_string(), least.bits_per_second()), ("0.2328 bit/s".to_owned(), 1e9 / 4_294_967_296.0));
        assert_eq!(gigabit.part(4_294_967_295, 1 << 32).unwrap().to_string(), "999.9 Mbit/s");
        assert_eq!(gigabit.part(2, 3).unwrap().to_string(), "666.6 Mbit/s");
        assert_eq!(LeastRate::whole(7_200_000).to_string(), "7.2 Mbit/s");
        assert_eq!(LeastRate::whole(12_345_000).to_string(), "12.345 Mbit/s");
        assert_eq!(LeastRate::whole(1234).to_string(), "1.234 kbit/s");
        assert_eq!(LeastRate::whole(1).part(1, 3000).unwrap().to_string(), "0.0003333 bit/s");
        assert_eq!(LeastRate::whole(1).part(1, 1 << 49), None);
    }

    #[test]
    fn numbers_for_programs_are_not_above_the_truth() {
        let third = LeastRate::whole(400_000_000_000).part(1, 3).unwrap();
        assert!(third.bits_per_second() <= 400e9 / 3.0 && third.bits_per_second() > 133_333_333_333.33);
        assert_eq!(LeastRate::whole(250_000).json(), serde_json::json!(250_000));
        assert_eq!(LeastRate::whole(9).part(1, 2).unwrap().json(), serde_json::json!(4.5));
    }

    #[test]
    fn operations_round_down() {
        let (a, b) = (LeastRate::whole(60_000_000), LeastRate::whole(30_000_000));
        let both = a.in_turn_with(b).bits_per_second();
        assert!(both <= 20e6 && both > 20e6 - 1.0, "{both}");
        let scaled = a.scaled_by(LeastRate::whole(1), LeastRate::whole(3)).bits_per_second();
        assert!(scaled <= 20e6 && scaled > 20e6 - 1.0, "{scaled}");
        assert_eq!(b.beside(20_000_000), Some(LeastRate::whole(10_000_000)));
        assert_eq!(b.beside(30_000_000), None);
    }
}
