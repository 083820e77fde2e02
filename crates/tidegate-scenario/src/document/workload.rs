//! Workloads: connections that arrive by themselves. See [`super`].

use super::{HeaderTable, Ignored, SourceTable, changes};
use crate::choice::HostsName;
use crate::units::Ratio;
use crate::value::{At, Block, Bytes, Name, Text, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Duration;

/// TCP connections that arrive by themselves, carry a size from a distribution and go; or rounds of them. Exactly one of `load`, `interval`, `period` and `pause`
/// says when. Results have completion times and slowdowns by size.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadTable {
    /// Repeats the table for each value of its variables, as in a flow.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: Ignored,
    /// A name that no other workload has.
    #[schemars(extend("examples" = ["web"]))]
    pub name: At<Name>,
    /// The nodes that send: a pattern with `*`.
    #[schemars(extend("examples" = ["dc-host-*"]))]
    pub from: At<Name>,
    /// The nodes that receive.
    #[schemars(extend("default" = "those of `from`", "examples" = ["dc-host-1"]))]
    pub to: Option<At<Name>>,
    /// Between which of them a connection is.
    #[schemars(extend("default" = "random"))]
    pub pairs: Option<At<HostsName>>,
    /// For `pairs = "incast"`: how many nodes of `from` send in a round.
    #[schemars(extend("default" = "all but the receiver", "examples" = [32]))]
    pub senders: Option<At<Whole<1, 100_000>>>,
    /// The data of each connection: a size, `web-search`, `data-mining`, or a CSV file beside this one whose lines have a size in bytes and the probability
    /// of at most that size.
    #[schemars(extend("examples" = ["web-search"]))]
    pub sizes: At<Text>,
    /// The load that Poisson arrivals bring: the mean of the links that leave the senders, or of those that lead to the receivers where that is higher. Data
    /// counts, with headers and the overhead of the links; acknowledgements and retransmissions do not.
    #[schemars(extend("default" = "none", "examples" = ["60 %"]))]
    pub load: Option<At<Ratio>>,
    /// The link that `load` is of.
    #[schemars(extend("default" = "the links of the hosts", "examples" = ["dc-leaf-1:dc-spine-1"]))]
    pub link: Option<At<Name>>,
    /// The mean time between Poisson arrivals, in place of `load`.
    #[schemars(extend("default" = "none", "examples" = ["1 ms"]))]
    pub interval: Option<At<Duration>>,
    /// The time from each arrival to the next, all equal, whether the one before is complete or not.
    #[schemars(extend("default" = "none", "examples" = ["10 ms"]))]
    pub period: Option<At<Duration>>,
    /// For `pairs = "incast"`: the time from the end of a round to the next.
    #[schemars(extend("default" = "none", "examples" = ["1 ms"]))]
    pub pause: Option<At<Duration>>,
    /// The packet with which the receiver asks for the data, as a frame without overhead. Without it the sender begins by itself.
    #[schemars(extend("default" = "none", "examples" = ["300 B"]))]
    pub request: Option<At<Bytes>>,
    /// The TCP of the connections: `kind = "tcp"` with its keys, but for those of transfers.
    #[schemars(extend("default" = { "kind": "tcp" }, "examples" = [{ "kind": "tcp", "congestion": "dctcp", "minimum_timeout": "1 ms" }]))]
    pub source: Option<Block<SourceTable>>,
    /// The header that classifiers see, but for addresses and the source port: hosts have the addresses 10.128.0.1 and so on, in the order of the nodes, and
    /// connections take the source ports from 49152 in turn.
    #[schemars(extend("default" = "TCP over IPv4", "examples" = [{ "dscp": "af11" }]))]
    pub header: Option<Block<HeaderTable>>,
    /// The most connections at once. Arrivals beyond are refused and counted: results are too good then.
    #[schemars(extend("default" = 10000))]
    pub places: Option<At<Whole<1, 10_000_000>>>,
    /// When the first may arrive.
    #[schemars(extend("default" = "0 s"))]
    pub start: Option<At<Duration>>,
    /// From when on none arrives. Those that are there go on, so that a `stop` before the end leaves time for the last to complete.
    #[schemars(extend("default" = "never"))]
    pub stop: Option<At<Duration>>,
    /// The points of the distribution, once its file has been read.
    #[serde(skip)]
    #[schemars(skip)]
    pub read: Option<Vec<(f64, f64)>>,
}
