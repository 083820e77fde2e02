//! What failures of links took.

use crate::volume::Volume;
use serde::Serialize;

/// A failure of links. Volumes are sums over the replications, warm-up included, of all that was lost as `link-down`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureResult {
    /// Its name.
    pub name: String,
    /// When the links failed, in seconds from the start of the run.
    pub at_s: f64,
    /// When they recovered; `None`: never.
    pub until_s: Option<f64>,
    /// What was queued at their ports.
    pub queued: Volume,
    /// What was in transmission or on the links.
    pub on_link: Volume,
    /// What came to their ports before routes avoided them.
    pub arrived: Volume,
}
