//! What `status_o` has to show after an update.

use crate::layout::Status;

/// What `status_o` has to show of a stream after the lag.
#[derive(Clone, Copy)]
pub struct Expected {
    pub status: Status,
    pub deadline: Deadline,
}

/// How a deadline is compared: exactly, as one that has come, or not at all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    Exact,
    Past,
    Never,
}

/// What all streams have to show in cycle `due`.
pub struct Snapshot {
    pub due: u64,
    pub decision: u64,
    pub now: u16,
    pub streams: Vec<Expected>,
}

/// The most cycles that a decision takes while the host waits for it.
pub const PATIENCE: u64 = 4096;
