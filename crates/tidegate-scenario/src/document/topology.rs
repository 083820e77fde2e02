//! Topologies that are generated.

use super::{PauseTable, PolicyName};
use crate::choice::TopologyKindName;
use crate::value::{At, Block, Text, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// A network that is generated: nodes, and a link in each direction between those that are connected. A node is named after the topology, what it is, and
/// its number from 1: `dc-host-1`. A link is named after its ends: `dc-host-1:dc-edge-1`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyTable {
    /// Its shape.
    #[schemars(extend("examples" = ["fat-tree"]))]
    pub kind: At<TopologyKindName>,
    /// The policy of every port that no tier gives another.
    #[schemars(extend("examples" = ["switch"]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub policy: At<PolicyName>,
    /// The rate of every link that no tier gives another.
    #[schemars(extend("default" = "the policy's"))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub rate: Option<At<Rate>>,
    /// The delay of every link that no tier gives another.
    #[schemars(extend("default" = "the policy's", "examples" = ["1 us"]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub delay: Option<At<Duration>>,
    /// Priority flow control on every link that no tier gives another.
    #[schemars(extend("default" = "none", "examples" = [{ "above": "100 kB" }]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub pause: Option<Block<PauseTable>>,
    /// For `fat-tree`: the ports of each switch, an even number. There are k^3/4 hosts and 5k^2/4 switches.
    #[schemars(extend("default" = "**required** for `fat-tree`", "examples" = [8]))]
    pub k: Option<At<Whole<2, 64>>>,
    /// For `star` the hosts; for `dumbbell` those of each side; for `leaf-spine` those of each leaf; for `parking-lot` those of each switch.
    #[schemars(extend("default" = "**required** but for `fat-tree` and `graphml`"))]
    pub hosts: Option<At<Whole<1, 100_000>>>,
    /// For `parking-lot`: the switches in a row.
    #[schemars(extend("default" = "**required** for `parking-lot`"))]
    pub switches: Option<At<Whole<2, 1000>>>,
    /// For `leaf-spine`: the switches that hosts hang on.
    #[schemars(extend("default" = "**required** for `leaf-spine`"))]
    pub leaves: Option<At<Whole<1, 10_000>>>,
    /// For `leaf-spine`: the switches that connect all leaves.
    #[schemars(extend("default" = "**required** for `leaf-spine`"))]
    pub spines: Option<At<Whole<1, 10_000>>>,
    /// For `graphml`: the file of the graph, relative to this one.
    #[schemars(extend("default" = "**required** for `graphml`", "examples" = ["wan.graphml"]))]
    pub file: Option<At<Text>>,
    /// What is other for the links of hosts.
    #[schemars(extend("default" = "nothing", "examples" = [{ "rate": "10 Gbit/s" }]))]
    pub access: Option<Block<TierTable>>,
    /// What is other for links between switches: between leaves and spines, and in the pods of a fat tree.
    #[schemars(extend("default" = "nothing", "examples" = [{ "rate": "40 Gbit/s" }]))]
    pub fabric: Option<Block<TierTable>>,
    /// What is other for the links to the core of a fat tree, the link between the sides of a dumbbell, and those between the switches of a parking lot.
    #[schemars(extend("default" = "nothing", "examples" = [{ "delay": "10 us" }]))]
    pub core: Option<Block<TierTable>>,
}

/// What is other for the links of one tier.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierTable {
    /// The policy of the ports, in both directions.
    #[schemars(extend("default" = "the topology's", "examples" = ["switch"]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub policy: Option<At<PolicyName>>,
    /// The rate of the links.
    #[schemars(extend("default" = "the topology's"))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub rate: Option<At<Rate>>,
    /// The delay of the links.
    #[schemars(extend("default" = "the topology's", "examples" = ["1 us"]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub delay: Option<At<Duration>>,
    /// Priority flow control on the links.
    #[schemars(extend("default" = "the topology's", "examples" = [{ "above": "100 kB" }]))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub pause: Option<Block<PauseTable>>,
    /// What each of the links costs a path.
    #[schemars(extend("default" = 1))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub weight: Option<At<Whole<1, 1_000_000>>>,
}
