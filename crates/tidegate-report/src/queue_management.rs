//! What active queue management (AQM) did to a class, and how long its packets were queued.

use serde::Serialize;

/// How long packets that were sent had been queued, in seconds: from arrival to the start of transmission (sojourn time, RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SojournSummary {
    /// Mean.
    pub mean_s: f64,
    /// Median, over the packets of all replications.
    pub p50_s: f64,
    /// Time that 99 % of the packets of all replications do not exceed.
    pub p99_s: f64,
    /// Longest time.
    pub max_s: f64,
}

/// The AQM of a class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AqmResult {
    /// Its algorithm, as files name it.
    pub kind: String,
    /// True if it marked and dropped nothing, nothing else was dropped of its class, and no packet waited as long as the AQM accepts.
    pub saw_no_queue: bool,
}
