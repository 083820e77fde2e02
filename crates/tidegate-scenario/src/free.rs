//! The keys that a plan may set: their quantities, limits and steps.

use crate::diagnostic::alternatives;
use crate::schema::schema;
use crate::structure::{below, items};
use crate::units::{self, Limit, print_count, print_duration, print_rate, print_size};
use crate::value::{LEAF, Scalar, WHOLE};
use serde_json::Value;
use tidegate_core::units::{Duration, Rate};

/// What a free key counts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Bits per second.
    Rate,
    /// Picoseconds.
    Duration,
    /// Bytes.
    Size,
    /// Packets.
    Packets,
    /// A number without a unit, such as a weight, up to this one.
    Number(u64),
}

/// A key that a plan may set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Free {
    /// The dotted key, as `--set` names it.
    pub key: String,
    /// What it counts in.
    pub quantity: Quantity,
    /// Its value in the file.
    pub of_file: u64,
}

impl Free {
    /// The key with the value that the file gives it.
    ///
    /// # Errors
    /// One sentence: there is no such key, it is no quantity, or the file gives it no value to begin with.
    pub(crate) fn new(key: &str, value: Option<Scalar<'static>>) -> Result<Free, String> {
        let leaf = leaf(key)
            .ok_or_else(|| format!("there is no single value `{key}`: write a key as --set does, like policy.access.class.voice.rate"))?;
        let example = |value: &str| format!("`{key}` has no value in the file to begin with: give it one with --set {key}=\"{value}\"");
        let text = match &value {
            Some(Scalar::Text(text)) => text.as_ref(),
            _ => "",
        };
        let (quantity, of_file) = match (leaf[LEAF].as_str().unwrap_or_default(), &value) {
            ("rate", _) => (Quantity::Rate, units::rate(text).map(Rate::bits_per_second).map_err(|_| example("5 Mbit/s"))?),
            ("duration", _) => (Quantity::Duration, units::duration(text).map(Duration::picoseconds).map_err(|_| example("5 ms"))?),
            ("size", _) => (Quantity::Size, units::size(text).map_err(|_| example("64 kB"))?),
            ("number of packets", _) => (Quantity::Packets, units::count(text).map_err(|_| example("100 packets"))?),
            ("size or number of packets", _) => match units::limit(text).map_err(|_| example("64 kB"))? {
                Limit::Bytes(bytes) => (Quantity::Size, bytes),
                Limit::Packets(packets) => (Quantity::Packets, packets),
            },
            (WHOLE, value) => match value {
                Some(Scalar::Integer(number)) => {
                    (Quantity::Number(leaf["maximum"].as_u64().unwrap_or(u64::MAX)), u64::try_from(*number).map_err(|_| example("1"))?)
                }
                _ => return Err(example("1")),
            },
            _ => {
                let kinds = alternatives(["rate", "duration", "size", "number"]).replace('`', "");
                return Err(format!("`{key}` cannot be planned: it is no {kinds}"));
            }
        };
        Ok(Free { key: key.to_owned(), quantity, of_file })
    }

    /// The value as it is written in a file, without quotes.
    pub fn print(&self, value: u64) -> String {
        match self.quantity {
            Quantity::Rate => Rate::new(value).map_or_else(|_| format!("{value} bit/s"), print_rate),
            Quantity::Duration => print_duration(Duration::from_picoseconds(value)),
            Quantity::Size => print_size(value),
            Quantity::Packets => print_count(value),
            Quantity::Number(_) => value.to_string(),
        }
    }

    /// The override that gives it this value.
    pub(crate) fn set(&self, value: u64) -> String {
        format!("{}={}", self.key, self.print(value))
    }

    /// True if the key can have this value at all.
    pub(crate) fn can_be(&self, value: u64) -> bool {
        match self.quantity {
            Quantity::Rate => Rate::new(value).is_ok(),
            Quantity::Duration => value <= Duration::MAX.picoseconds(),
            Quantity::Size | Quantity::Packets => value > 0,
            Quantity::Number(most) => value > 0 && value <= most,
        }
    }
}

/// The step in which a value is planned: three significant digits are left.
pub(crate) fn step(value: u64) -> u64 {
    10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(2))
}

/// The schema of the single value that a dotted key names. The elements of lists are named or numbered.
fn leaf(key: &str) -> Option<&'static Value> {
    let root = schema();
    let mut at = root;
    let mut segments = key.split('.').map(str::trim);
    while let Some(segment) = segments.next() {
        at = below(at, root, segment)?;
        if at["type"] == "array" {
            segments.next()?;
            at = items(at, root);
        }
    }
    at.get(LEAF).map(|_| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_it_counts_in() {
        let text = |text: &'static str| Some(Scalar::Text(text.into()));
        let rate = Free::new("policy.access.class.voice.rate", text("2 Mbit/s")).unwrap();
        assert_eq!(
            (rate.quantity, rate.of_file, rate.set(1_500_000).as_str()),
            (Quantity::Rate, 2_000_000, "policy.access.class.voice.rate=1.5 Mbit/s")
        );
        assert_eq!(Free::new("policy.access.buffer.limit", text("60 packets")).unwrap().quantity, Quantity::Packets);
        assert_eq!(Free::new("policy.access.buffer.limit", text("60 kB")).unwrap().quantity, Quantity::Size);
        let weight = Free::new("policy.access.class.voice.weight", Some(Scalar::Integer(3))).unwrap();
        assert_eq!((weight.of_file, weight.print(7)), (3, "7".to_owned()));
        assert!(weight.can_be(1) && !weight.can_be(0));
        for (key, value, problem) in [
            ("policy.access.class.voice.wight", None, "there is no single value"),
            ("policy.access.class.voice", None, "there is no single value"),
            ("policy.access.scheduler", text("drr"), "cannot be planned"),
            ("policy.access.rate", None, "has no value in the file"),
        ] {
            let error = Free::new(key, value).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn steps_leave_three_digits() {
        assert_eq!([1, 99, 100, 999, 1000, 12_345_678].map(step), [1, 1, 1, 1, 10, 100_000]);
    }
}
