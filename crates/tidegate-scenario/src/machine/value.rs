//! Values that only machine files have: frequencies, bandwidths, packet rates, plain numbers.

use crate::units::{self, pattern};
use crate::value::{Leaf, Scalar};
use serde_json::{Value, json};
use tidegate_core::units::Duration;

/// Cycles per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frequency(pub u64);

/// Bytes per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bandwidth(pub u64);

/// Packets per second, above 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRate(pub u64);

macro_rules! quantities {
    ($($type:ident, $name:literal, $pattern:expr, $read:path, $example:literal;)*) => {$(
        impl Leaf for $type {
            const NAME: &'static str = $name;
            fn schema() -> Value {
                json!({ "type": "string", "pattern": $pattern })
            }
            fn read(scalar: &Scalar<'_>) -> Result<Self, String> {
                match scalar {
                    Scalar::Text(text) => $read(text).map($type),
                    Scalar::Integer(_) | Scalar::Decimal(_) => Err(format!("write a unit, in quotes: {}", $example)),
                    other => Err(format!("expected a {}, like {}, not {other}", $name, $example)),
                }
            }
        }
    )*};
}

quantities! {
    Frequency, "frequency", pattern::FREQUENCY, units::frequency, "\"3 GHz\"";
    Bandwidth, "bandwidth", pattern::BANDWIDTH, units::bandwidth, "\"40 GB/s\"";
    PacketRate, "packet rate", pattern::PACKET_RATE, units::packet_rate, "\"9 Mpps\"";
}

/// The number of a scalar.
fn number(scalar: &Scalar<'_>) -> Option<f64> {
    match scalar {
        Scalar::Integer(_) | Scalar::Decimal(_) => {
            scalar.to_string().replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    }
}

/// A number of zero or more, without a unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Amount(pub f64);

impl Leaf for Amount {
    const NAME: &'static str = "number from 0";
    fn schema() -> Value {
        json!({ "type": "number", "minimum": 0 })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Amount, String> {
        match number(scalar) {
            Some(number) if (0.0..=1e12).contains(&number) => Ok(Amount(number)),
            Some(_) => Err(format!("{scalar} is outside 0 to 10^12")),
            None => Err(format!("expected a number without quotes or unit, like 120 or 0.5, not {scalar}")),
        }
    }
}

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part(pub f64);

impl Leaf for Part {
    const NAME: &'static str = "part";
    fn schema() -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Part, String> {
        match number(scalar) {
            Some(number) if (0.0..=1.0).contains(&number) => Ok(Part(number)),
            Some(_) => Err(format!("{scalar} is outside 0 to 1")),
            None => Err(format!("expected a number from 0 to 1 without quotes, like 0.5 or 1e-6, not {scalar}")),
        }
    }
}

/// How a thread learns of the next frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    Interrupt,
    Busy,
    After(Duration),
}

impl Leaf for Wake {
    const NAME: &'static str = "interrupt, busy or duration";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^(interrupt|busy)$|{}", pattern::DURATION) })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Wake, String> {
        match scalar {
            Scalar::Text(text) if text == "interrupt" => Ok(Wake::Interrupt),
            Scalar::Text(text) if text == "busy" => Ok(Wake::Busy),
            Scalar::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => units::duration(text).map(Wake::After),
            other => Err(format!(
                "expected `interrupt`, `busy`, a duration like \"50 us\" or a table like {{ table = \"wake.txt\" }}, not {other}"
            )),
        }
    }
}
