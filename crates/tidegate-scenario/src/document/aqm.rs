//! The table of an AQM, exactly as it is written; see [`super`].

use crate::choice::AqmName;
use crate::value::At;
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Duration;

/// An AQM and what it is to keep to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AqmTable {
    /// The algorithm.
    #[schemars(extend("examples" = ["codel"]))]
    pub kind: At<AqmName>,
    /// The delay in the queue that it aims at.
    #[schemars(extend("default" = "5 ms, at least the time of one and a half of the longest frames", "examples" = ["15 ms"]))]
    pub target: Option<At<Duration>>,
    /// How long delays may stay above the target before anything is dropped or marked: the round-trip time of the longest paths.
    #[schemars(extend("default" = "100 ms, and as much more as the target is above 5 ms", "examples" = ["300 ms"]))]
    pub interval: Option<At<Duration>>,
    /// Whether packets whose transport understands it are marked (RFC 3168) in place of dropped.
    #[schemars(extend("default" = true))]
    pub ecn: Option<At<bool>>,
    /// Packets that have waited longer are dropped even if they could be marked, so that senders that ignore marks cannot fill the buffer.
    #[schemars(extend("default" = "the interval", "examples" = ["1 s"]))]
    pub mark_limit: Option<At<Duration>>,
}
