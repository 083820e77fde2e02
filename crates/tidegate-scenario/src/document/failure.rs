//! Links that fail while a simulation runs.

use super::Ignored;
use crate::value::{At, Name};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Duration;

/// A failure of a link in both directions, or of all links of a node. What is there at that instant is lost, and so is what comes until routes avoid it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureTable {
    /// Repeats the failure for each value of some variables, which fill the holes of its texts.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "super::changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: Ignored,
    /// What to call it in results, in variants and in `--set`.
    #[schemars(extend("default" = "the name of the link or node", "examples" = ["cut"]))]
    pub name: Option<At<Name>>,
    /// The link that fails. The link in the other direction fails with it: `line-back` with `line`, `b:a` with `a:b`.
    #[schemars(extend("default" = "**required** without `node`", "examples" = ["dc-leaf-1:dc-spine-1"]))]
    pub link: Option<At<Name>>,
    /// The node all of whose links fail.
    #[schemars(extend("default" = "**required** without `link`", "examples" = ["dc-spine-1"]))]
    pub node: Option<At<Name>>,
    /// When it fails, from the start of the simulation.
    #[schemars(extend("examples" = ["2 s"]))]
    pub at: At<Duration>,
    /// When it recovers.
    #[schemars(extend("default" = "never", "examples" = ["4 s"]))]
    pub until: Option<At<Duration>>,
    /// How long it takes until routes avoid it, and after the recovery until they use it again. An outage that is shorter moves no route.
    #[schemars(extend("default" = "50 ms", "examples" = ["1 ms"]))]
    pub detection: Option<At<Duration>>,
}
