//! The values of a file: how each is read, its schema, and its error messages.
//!
//! Every value is a [`Leaf`]. Tables hold values as [`At`], with their place.

use crate::diagnostic::{Diagnostic, Span, alternatives, closest, is_control};
use crate::units::{self, Limit, Period, Ratio, pattern};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use tidegate_core::buffer::Alpha;
use tidegate_core::units::{Duration, Rate};
use toml::Spanned;

/// The schema keyword under which a value names its leaf.
pub const LEAF: &str = "x-value";

/// A scalar of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar<'a> {
    Text(Cow<'a, str>),
    Integer(i128),
    /// A number with a decimal point, as written.
    Decimal(Cow<'a, str>),
    Boolean(bool),
    /// Anything else, with a description.
    Other(&'static str),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => write!(f, "\"{text}\""),
            Scalar::Integer(integer) => write!(f, "{integer}"),
            Scalar::Decimal(decimal) => write!(f, "{decimal}"),
            Scalar::Boolean(boolean) => write!(f, "{boolean}"),
            Scalar::Other(description) => f.write_str(description),
        }
    }
}

/// A value that is read from one scalar.
pub trait Leaf: Sized {
    /// Its name in the schema.
    const NAME: &'static str;

    /// Its JSON schema.
    fn schema() -> Value;

    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    fn read(scalar: &Scalar<'_>) -> Result<Self, String>;
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct At<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> At<T> {
    /// An error at this place.
    pub(crate) fn error(&self, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.span.clone(), problem)
    }

    /// A warning at this place.
    pub(crate) fn warning(&self, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(self.span.clone(), problem)
    }
}

impl<'de, T: Leaf> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<At<T>, D::Error> {
        let spanned = Spanned::<OwnedScalar>::deserialize(deserializer)?;
        let span = spanned.span();
        let value = T::read(&spanned.into_inner().0).map_err(D::Error::custom)?;
        Ok(At { value, span })
    }
}

impl<T: Leaf> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::try_from(T::schema()).unwrap_or_default();
        schema.insert(LEAF.to_owned(), T::NAME.into());
        schema
    }
}

/// A table and the place of its header.
#[derive(Clone, PartialEq, Debug)]
pub struct Block<T> {
    pub value: T,
    /// The place of its header, or of a whole inline table.
    pub span: Span,
}

impl<T> Block<T> {
    /// An error at this place.
    pub(crate) fn error(&self, problem: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.span.clone(), problem)
    }
}

impl<T> Deref for Block<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Block<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Block<T>, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        Ok(Block { span: spanned.span(), value: spanned.into_inner() })
    }
}

impl<T: JsonSchema> JsonSchema for Block<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    /// That of the table, so that the schema has each table once.
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The place of an optional key, if it is given.
pub(crate) trait Given {
    fn place(&self) -> Option<Span>;
}

impl<T> Given for Option<At<T>> {
    fn place(&self) -> Option<Span> {
        self.as_ref().map(|at| at.span.clone())
    }
}

impl<T> Given for Option<Block<T>> {
    fn place(&self) -> Option<Span> {
        self.as_ref().map(|block| block.span.clone())
    }
}

/// Tables by name, in the order of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Named<T>(pub Vec<(At<Name>, Block<T>)>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct Tables<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tables by name")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Named<T>, M::Error> {
                let mut named = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let span = key.span();
                    let key = key.into_inner();
                    // A policy of two directions has been made two policies, of names with a dot.
                    key.split('.').try_for_each(|part| Name::read(&Scalar::Text(part.into())).map(drop)).map_err(M::Error::custom)?;
                    named.push((At { value: Name(key), span }, map.next_value()?));
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(Tables(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "object", "additionalProperties": table })
    }
}

struct OwnedScalar(Scalar<'static>);

impl<'de> Deserialize<'de> for OwnedScalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OwnedScalar, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = OwnedScalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_str<E>(self, text: &str) -> Result<OwnedScalar, E> {
                Ok(OwnedScalar(Scalar::Text(text.to_owned().into())))
            }
            fn visit_i64<E>(self, integer: i64) -> Result<OwnedScalar, E> {
                Ok(OwnedScalar(Scalar::Integer(integer.into())))
            }
            fn visit_u64<E>(self, integer: u64) -> Result<OwnedScalar, E> {
                Ok(OwnedScalar(Scalar::Integer(integer.into())))
            }
            fn visit_f64<E>(self, decimal: f64) -> Result<OwnedScalar, E> {
                Ok(OwnedScalar(Scalar::Decimal(format!("{decimal:?}").into())))
            }
            fn visit_bool<E>(self, boolean: bool) -> Result<OwnedScalar, E> {
                Ok(OwnedScalar(Scalar::Boolean(boolean)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<OwnedScalar, A::Error> {
                while elements.next_element::<IgnoredAny>()?.is_some() {}
                Ok(OwnedScalar(Scalar::Other("a list")))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<OwnedScalar, A::Error> {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(OwnedScalar(Scalar::Other("a table")))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// The name of a policy, class, group, link or flow: 1 to 64 characters, no dot, quote or control character.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Name(pub String);

impl Leaf for Name {
    const NAME: &'static str = "name";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^.\"\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]{1,64}$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Name, String> {
        let text = expect_text(scalar, "a name in quotes")?;
        if text.trim() != text || text.is_empty() {
            return Err("a name has at least one character and no space around it".to_owned());
        }
        if text.chars().count() > 64 {
            return Err("a name has at most 64 characters".to_owned());
        }
        match text.chars().find(|&c| is_control(c) || matches!(c, '.' | '"')) {
            Some(c) => Err(format!("a name cannot contain {c:?}, because names are parts of dotted keys like policy.access.rate")),
            None => Ok(Name(text.to_owned())),
        }
    }
}

/// A heading: one line of at most 200 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Title(pub String);

impl Leaf for Title {
    const NAME: &'static str = "title";
    fn schema() -> Value {
        json!({ "type": "string", "maxLength": 200, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]*$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Title, String> {
        prose(scalar, 200, &[]).map(Title)
    }
}

/// Text: at most 4,000 characters, no control characters but line feeds and tabs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(pub String);

fn prose(scalar: &Scalar<'_>, most: usize, allowed: &[char]) -> Result<String, String> {
    let text = expect_text(scalar, "text in quotes")?;
    let length = text.chars().count();
    if length > most {
        return Err(format!("a text of {length} characters, where at most {most} are shown; shorten it"));
    }
    match text.chars().find(|&c| is_control(c) && !allowed.contains(&c)) {
        Some(c) => Err(format!("a control character, {c:?}, which a terminal would obey; remove it")),
        None => Ok(text.to_owned()),
    }
}

impl Leaf for Text {
    const NAME: &'static str = "text";
    fn schema() -> Value {
        json!({ "type": "string", "maxLength": 4000, "pattern": "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]*$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Text, String> {
        prose(scalar, 4000, &['\n', '\t']).map(Text)
    }
}

impl Leaf for bool {
    const NAME: &'static str = "true or false";
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<bool, String> {
        match scalar {
            Scalar::Boolean(boolean) => Ok(*boolean),
            other => Err(format!("expected true or false, without quotes, not {other}")),
        }
    }
}

/// An integer between `MIN` and `MAX`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Whole<const MIN: u64, const MAX: u64>(pub u64);

pub const WHOLE: &str = "integer";

impl<const MIN: u64, const MAX: u64> Leaf for Whole<MIN, MAX> {
    const NAME: &'static str = WHOLE;
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Self, String> {
        whole(scalar, MIN, MAX).map(Whole)
    }
}

pub(crate) fn whole(scalar: &Scalar<'_>, min: u64, max: u64) -> Result<u64, String> {
    let Scalar::Integer(integer) = *scalar else {
        return Err(format!("expected a whole number between {min} and {max}, not {scalar}"));
    };
    match u64::try_from(integer) {
        Ok(integer) if (min..=max).contains(&integer) => Ok(integer),
        _ => Err(format!("{integer} is outside {min} to {max}")),
    }
}

macro_rules! quantities {
    ($($type:ty, $name:literal, $pattern:expr, $read:path, $example:literal;)*) => {$(
        impl Leaf for $type {
            const NAME: &'static str = $name;
            fn schema() -> Value {
                json!({ "type": "string", "pattern": $pattern })
            }
            fn read(scalar: &Scalar<'_>) -> Result<Self, String> {
                match scalar {
                    Scalar::Text(text) => $read(text).map(Into::into),
                    Scalar::Integer(_) | Scalar::Decimal(_) => Err(format!("write a unit, in quotes: {}", $example)),
                    other => Err(format!("expected {}, like {}, not {other}", $name, $example)),
                }
            }
        }
    )*};
}

quantities! {
    Rate, "rate", pattern::RATE, units::rate, "\"10 Mbit/s\"";
    Duration, "duration", pattern::DURATION, units::duration, "\"5 ms\"";
    Bytes, "size", pattern::SIZE, units::size, "\"1500 B\"";
    Limit, "size or number of packets", pattern::LIMIT, units::limit, "\"250 kB\" or \"1000 packets\"";
    Packets, "number of packets", pattern::COUNT, units::count, "\"1000 packets\"";
    Period, "period", pattern::PERIOD, units::period, "\"4 slots\" or \"20 ms\"";
    Gain, "gain", pattern::GAIN, units::gain, "\"0.125 Hz\"";
    Ratio, "share", pattern::RATIO, units::ratio, "\"0.1 %\"";
}

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bytes(pub u64);

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Bytes {
        Bytes(bytes)
    }
}

/// The gain of a controller, in thousandths of a hertz.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gain(pub u64);

impl From<u64> for Gain {
    fn from(millihertz: u64) -> Gain {
        Gain(millihertz)
    }
}

/// A number of packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Packets(pub u64);

impl From<u64> for Packets {
    fn from(packets: u64) -> Packets {
        Packets(packets)
    }
}

/// A percentile, in millionths of a percent: above 0, below 100.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Percentile(u32);

impl Percentile {
    /// The 99th percentile, the default of promised delays.
    pub const NINETY_NINE: Percentile = Percentile(99_000_000);

    /// The quantile between 0 and 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.0) / 100e6
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{}{}{fraction}", self.0 / 1_000_000, if fraction.is_empty() { "" } else { "." })
    }
}

impl Leaf for Percentile {
    const NAME: &'static str = "percentile";
    fn schema() -> Value {
        json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100 })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Percentile, String> {
        let millionths = scaled(scalar, 6).ok_or_else(|| format!("expected a percentile like 99 or 99.9, not {scalar}"))?;
        match u32::try_from(millionths) {
            Ok(millionths) if millionths > 0 && millionths < 100_000_000 => Ok(Percentile(millionths)),
            _ => Err(format!("the percentile {scalar} is not above 0 and below 100")),
        }
    }
}

/// A number above zero with at most six decimals, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Decimal(pub u64);

impl Decimal {
    /// The number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Leaf for Decimal {
    const NAME: &'static str = "number";
    fn schema() -> Value {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }
    fn read(scalar: &Scalar<'_>) -> Result<Decimal, String> {
        match scaled(scalar, 6) {
            Some(millionths) if millionths > 0 => Ok(Decimal(millionths)),
            _ => Err(format!("expected a number above zero with at most six decimals, not {scalar}")),
        }
    }
}

/// A power of two, as a number: 0.25, 0.5, 1, 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlphaFactor(pub Alpha);

impl Leaf for AlphaFactor {
    const NAME: &'static str = "power of two";
    fn schema() -> Value {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }
    fn read(scalar: &Scalar<'_>) -> Result<AlphaFactor, String> {
        let number: Option<f64> = match scalar {
            Scalar::Integer(_) | Scalar::Decimal(_) => scalar.to_string().parse().ok(),
            _ => None,
        };
        let power = (-16..=16).find(|&exponent| Some(2f64.powi(exponent)) == number);
        power.and_then(Alpha::from_exponent).map(AlphaFactor).ok_or_else(|| {
            format!("expected a power of two between 1/65536 and 65536, like 0.5, 1 or 2, not {scalar}: queues compare with it by shifting")
        })
    }
}

/// The number times 10^`decimals`, if that is a whole number of at most 64 bits.
fn scaled(scalar: &Scalar<'_>, decimals: usize) -> Option<u64> {
    let text = match scalar {
        Scalar::Integer(integer) => integer.to_string(),
        Scalar::Decimal(decimal) => decimal.to_string(),
        _ => return None,
    };
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals {
        return None;
    }
    format!("{integer}{fraction:0<decimals$}").parse().ok()
}

/// The text of a scalar, or the message that `what` was expected.
pub(crate) fn expect_text<'a>(scalar: &'a Scalar<'_>, what: &str) -> Result<&'a str, String> {
    match scalar {
        Scalar::Text(text) => Ok(text),
        other => Err(format!("expected {what}, not {other}")),
    }
}

/// Reads one of several names.
pub(crate) fn one_of<T: Copy>(scalar: &Scalar<'_>, what: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    let names = || known.iter().map(|entry| entry.0);
    let Scalar::Text(text) = scalar else {
        return Err(format!("expected {what}, which is one of {}, not {scalar}", alternatives(names())));
    };
    known.iter().find(|entry| entry.0 == text).map(|entry| entry.1).ok_or_else(|| {
        let guess = closest(text, names()).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        format!("`{text}` is not {what}; {guess}known: {}", names().collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests;

/// A value, or a table in its place.
#[derive(Clone, Debug)]
pub enum Or<V, T> {
    Value(V),
    /// Tables are rarer, and larger.
    Table(Box<T>),
}

impl<'de, V: Leaf, T: Deserialize<'de>> Deserialize<'de> for Or<V, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Or<V, T>, D::Error> {
        struct Either<V, T>(PhantomData<(V, T)>);
        impl<'de, V: Leaf, T: Deserialize<'de>> Visitor<'de> for Either<V, T> {
            type Value = Or<V, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a table")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Or<V, T>, E> {
                V::read(&Scalar::Text(text.into())).map(Or::Value).map_err(E::custom)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Or<V, T>, M::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|table| Or::Table(Box::new(table)))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<V: Leaf, T: JsonSchema> JsonSchema for Or<V, T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", V::NAME, T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, table) = (generator.subschema_for::<At<V>>(), generator.subschema_for::<T>());
        json_schema!({ "anyOf": [value, table] })
    }
}
