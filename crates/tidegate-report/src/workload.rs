//! Workloads: connections that arrived by themselves, how long they took by size, and rounds of them.

use crate::estimate::Estimate;
use serde::Serialize;

/// What became of the connections of one workload. Counts are sums over the replications, of connections that arrived after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadResult {
    /// Its name, unique within its run.
    pub name: String,
    /// Connections that arrived.
    pub arrivals: u64,
    /// Of them, those that found no place.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those for which no path led to the receiver, or back, when they arrived.
    pub without_path: u64,
    /// Bits of data per second of those that found a place.
    pub offered_bps: Estimate,
    /// The most connections at once.
    pub most_at_once: u32,
    /// The complete ones of all sizes; `None` if none was complete.
    pub all: Option<CompletionResult>,
    /// The complete ones by size, in the order of sizes.
    pub sizes: Vec<CompletionResult>,
    /// Rounds of several connections to one receiver; `None` if connections came alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundResult>,
}

/// How long connections of some sizes took. Quantiles are those of all connections, with intervals from those of the replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CompletionResult {
    /// All are larger than this.
    pub above_bytes: u64,
    /// None is larger than this; `None` for no limit.
    pub up_to_bytes: Option<u64>,
    /// How many.
    pub connections: u64,
    /// From the arrival to the last byte at the receiver: the mean.
    pub time_s: Estimate,
    /// Median, 95 % and 99 %.
    pub time_quantiles_s: [Estimate; 3],
    /// That time in parts of the time that the connection takes alone: the mean.
    pub slowdown: Estimate,
    /// Median, 95 % and 99 %.
    pub slowdown_quantiles: [Estimate; 3],
}

/// Rounds: several connections that begin at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundResult {
    /// Rounds that arrived.
    pub arrivals: u64,
    /// Of them, those that found too few places.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those that began before the one before was complete.
    pub overlapping: u64,
    /// The mean time until the last connection of a round was complete; `None` if no round was.
    pub time_s: Option<Estimate>,
    /// Median, 95 % and 99 %.
    pub time_quantiles_s: [Estimate; 3],
}
