//! Guaranteed rates, and what limits them. Rates are rounded down, and so is printing.

use crate::units::print_rate;
use serde_json::Value;
use std::fmt;
use tidegate_bounds::curve::TokenBucket;
use tidegate_core::units::Rate;

/// Why nothing is guaranteed at a port of several workers.
pub(crate) const UNPROVEN_WITH_WORKERS: &str = "several workers share the link, at rates that follow what they report";

/// A guaranteed rate on the wire, in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LeastRate(u64);

impl LeastRate {
    /// This many bits per second.
    pub(crate) fn whole(bits_per_second: u64) -> LeastRate {
        LeastRate(bits_per_second)
    }

    /// The part `numerator / denominator`; `None` if that is less than 1 bit/s. `denominator` is above 0.
    pub(crate) fn part(self, numerator: u64, denominator: u128) -> Option<LeastRate> {
        let part = u128::from(self.0) * u128::from(numerator) / denominator.max(1);
        u64::try_from(part).ok().filter(|&part| part > 0).map(LeastRate)
    }

    /// In whole bits per second.
    pub fn floor(self) -> u64 {
        self.0
    }

    /// In bits per second.
    pub fn bits_per_second(self) -> f64 {
        self.0 as f64
    }

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        self.0.into()
    }
}

impl fmt::Display for LeastRate {
    /// Whole kilobits per second exactly, anything else with four digits, rounded down.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Ok(rate)) = (self.0.is_multiple_of(1000), Rate::new(self.0)) {
            return f.write_str(&print_rate(rate));
        }
        let units = [(1_000_000_000u64, "Gbit/s"), (1_000_000, "Mbit/s"), (1000, "kbit/s")];
        let Some((unit, name)) = units.into_iter().find(|unit| self.0 >= unit.0) else { return write!(f, "{} bit/s", self.0) };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        let decimals = 3u32.saturating_sub(whole.ilog10());
        if decimals == 0 {
            return write!(f, "{whole} {name}");
        }
        let rest = rest * 10u64.pow(decimals) / unit;
        let text = format!("{whole}.{rest:0width$}", width = decimals as usize);
        write!(f, "{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
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

/// The most that a member sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ceiling {
    /// In any time `t`, the burst and the rate times `t`.
    pub most: TokenBucket,
    /// True for a shape, which limits departures. A policer limits arrivals, which may wait and leave together.
    pub at_service: bool,
}

#[cfg(test)]
mod tests;
