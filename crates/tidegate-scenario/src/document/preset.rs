//! The keys of presets: their tables, exactly as they are written, and what they mean where they are not given; see [`super`].

use super::PolicyTable;
use crate::choice::{NodeReading, PresetName};
use crate::header::Prefix;
use crate::units::Ratio;
use crate::value::{At, Block, Name};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Rate;

/// A subscriber of an access network, for `kind = "subscribers"`: what comes from its addresses or goes to them, at the rates that it has bought.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriberTable {
    /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "super::changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: super::Ignored,
    /// The name of its class.
    #[schemars(extend("examples" = ["house 7"]))]
    pub name: At<Name>,
    /// Its addresses or prefixes, IPv4 and IPv6.
    #[schemars(extend("examples" = [["192.0.2.7", "2001:db8:7::/48"]]))]
    pub addresses: Block<Vec<At<Prefix>>>,
    /// Its rate towards it, if it has no plan.
    #[schemars(extend("default" = "that of its plan", "examples" = ["100 Mbit/s"]))]
    pub down: Option<At<Rate>>,
    /// Its rate from it, if it has no plan.
    #[schemars(extend("default" = "that of its plan", "examples" = ["20 Mbit/s"]))]
    pub up: Option<At<Rate>>,
    /// Its plan, in place of `down` and `up`.
    #[schemars(extend("default" = "none", "examples" = ["gold"]))]
    pub plan: Option<At<Name>>,
    /// Its site.
    #[schemars(extend("default" = "the link", "examples" = ["tower 3"]))]
    pub site: Option<At<Name>>,
}

/// A plan of subscribers: the rates that they have bought.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanTable {
    /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "super::changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: super::Ignored,
    /// Its name.
    #[schemars(extend("examples" = ["gold"]))]
    pub name: At<Name>,
    /// The rate towards a subscriber.
    #[schemars(extend("examples" = ["100 Mbit/s"]))]
    pub down: At<Rate>,
    /// The rate from a subscriber.
    #[schemars(extend("examples" = ["20 Mbit/s"]))]
    pub up: At<Rate>,
}

/// A site of subscribers, such as a tower or a street: the group that its subscribers are in, shaped to rates of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteTable {
    /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "super::changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: super::Ignored,
    /// Its name, which is that of the group.
    #[schemars(extend("examples" = ["tower 3"]))]
    pub name: At<Name>,
    /// The rate towards its subscribers together.
    #[schemars(extend("examples" = ["400 Mbit/s"]))]
    pub down: At<Rate>,
    /// The rate from its subscribers together.
    #[schemars(extend("examples" = ["200 Mbit/s"]))]
    pub up: At<Rate>,
}

/// 90 %, in billionths.
const USUAL_UTILISATION: u64 = 900_000_000;

impl PolicyTable {
    /// For `kind = "intserv"`: the reading, and the part of the rate that may be reserved.
    pub fn node(&self) -> Option<(NodeReading, Ratio)> {
        self.kind.as_ref().filter(|kind| kind.value == PresetName::IntegratedServices)?;
        let utilisation = match &self.utilisation {
            Some(at) => at.value,
            None => Ratio::from_billionths(USUAL_UTILISATION)?,
        };
        Some((self.reading.as_ref().map_or(NodeReading::default(), |at| at.value), utilisation))
    }
}
