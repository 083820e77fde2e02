//! Guaranteed rates, and what limits them. Every operation rounds down, and so does printing.

use crate::units::print_rate;
use serde_json::Value;
use std::fmt;
use tidegate_core::units::Rate;

/// A guaranteed rate on the wire, in units of 2^-48 bit/s. Every operation rounds down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LeastRate(u128);

/// Bits behind the binary point: a rate of 2^39 bit/s times a weight of 2^32 fits 128 bits.
const POINT: u32 = 48;

impl LeastRate {
    /// This many whole bits per second, at most 2^40.
    pub(crate) fn whole(bits_per_second: u64) -> LeastRate {
        LeastRate(u128::from(bits_per_second.min(1 << 40)) << POINT)
    }

    /// The part `numerator / denominator`; `None` if that is less than 2^-48 bit/s. `numerator` is below 2^40, `denominator` above 0.
    pub(crate) fn part(self, numerator: u64, denominator: u128) -> Option<LeastRate> {
        let part = self.0 * u128::from(numerator) / denominator.max(1);
        (part > 0).then_some(LeastRate(part))
    }

    /// The rate less this many bits per second; `None` if nothing is left.
    pub(crate) fn beside(self, bits_per_second: u64) -> Option<LeastRate> {
        let left = self.0.checked_sub(u128::from(bits_per_second) << POINT)?;
        (left > 0).then_some(LeastRate(left))
    }

    /// The rate of a stream that waits for each of two rates in turn: `a b / (a + b)`.
    pub(crate) fn in_turn_with(self, other: LeastRate) -> LeastRate {
        // The product grows with each factor, so truncated factors give less.
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

    /// In bits per second, never above the exact value.
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
                // Whole part and rest are scaled apart: together they would not fit in 128 bits.
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

/// The long-run rate of a class or a group while it is backlogged, whatever the others send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// This rate on the wire.
    Rate(LeastRate),
    /// This rate, and the reason why it is not more.
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

/// The most that a member sends: in any time `t`, `burst` bytes and `rate * t`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ceiling {
    /// In bits per second.
    pub rate: u64,
    /// In bytes.
    pub burst: f64,
    /// True for a shape, which limits departures. A policer limits arrivals, which may wait and leave together.
    pub at_service: bool,
}

/// The service that a node gets: a rate after a latency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Service {
    pub rate: LeastRate,
    /// Seconds until the rate holds, from any instant at which the node is backlogged.
    pub latency: f64,
}

#[cfg(test)]
mod tests;
