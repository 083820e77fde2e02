//! A process that takes over from the one that carries packets.
//!
//! ```text
//! new: {"version":1,"request":{"take-over":{"snapshot":2,"process":4711}}}
//! old: {"version":1,"answer":{"take-over":{...}}}          the policies that run; the new process builds them
//! new: "now"
//! old: descriptors (SCM_RIGHTS): the snapshot, the control socket, that of metrics, receive rings, interface locks
//! new: "carry"                                             it stands where the old one stood
//! old: "yours"                                             it carries no more, and the new one begins
//! ```
//!
//! In place of "now" the new process may say "drain": the old one then empties its queues and ends. At any other end of the connection it goes on.

use super::{Apply, Promised};
use serde::{Deserialize, Serialize};

/// A process that is to take over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeOver {
    /// The version of snapshots that it reads.
    pub snapshot: u32,
    /// The process that a service manager is to watch from then on.
    pub process: u32,
}

/// What a process hands over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Offer {
    /// The version of the program.
    pub program: String,
    /// The version of its snapshots.
    pub snapshot: u32,
    /// Why it can only empty its queues and end, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// The file that runs.
    pub file: Apply,
    /// The name of the policy of each direction.
    pub policies: Vec<String>,
    /// The pairs of interfaces.
    pub pairs: Vec<[String; 2]>,
    /// The reservations that hold.
    pub reservations: Vec<HeldReservation>,
    /// The address of metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// The watchdog of the service, which the new process feeds from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog_s: Option<f64>,
    /// Since the start.
    pub uptime_s: f64,
    /// The changes so far.
    pub changes: u64,
    /// The take-overs so far.
    pub take_overs: u64,
}

/// A reservation as a process keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeldReservation {
    /// Its name.
    pub name: String,
    /// What it is promised.
    pub promise: Promised,
    /// The edit that adds its class.
    pub edit: String,
    /// The time of its lease, and what is left of that.
    pub lease_s: Option<[f64; 2]>,
}

/// What the two processes say after the offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The new process has built what it needs.
    Now,
    /// The old process is to empty its queues and to end.
    Drain,
    /// The new process can carry.
    Carry,
    /// The old process carries no more.
    Yours,
}
