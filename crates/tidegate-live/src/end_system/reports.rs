//! What the threads of a direction tell each other, apart from frames.

use crate::outbox::Outcome;
use crate::pool::Lent;
use std::sync::atomic::{AtomicBool, AtomicU64};
use tidegate_core::packet::Flow;
use tidegate_core::units::Time;
use tidegate_endsystem::Disposition;

/// What the outlet reports to the intake about a frame.
#[derive(Debug)]
pub(super) enum Report {
    /// Its transmission starts at `at`, or it is discarded then.
    Decided { stream: Flow, slot: u32, length: u32, disposition: Disposition, at: Time },
    /// Its memory comes back. `sent` has its length and outcome if it was transmitted.
    Back { lent: Lent, sent: Option<(u32, Outcome)> },
    /// The outcome of a copy of a frame of `length` bytes that the link passed twice. It comes before the report about the frame.
    Copied { length: u32, outcome: Outcome },
}

/// The most reports about a frame before its slot can be used again.
pub(super) const REPORTS_PER_FRAME: usize = 3;

/// State shared by the threads of a direction.
#[derive(Debug)]
pub(super) struct Flags {
    /// Set when all threads are to end, even if frames are left.
    pub(super) halt: AtomicBool,
    /// True if the outgoing interface is up and connected.
    pub(super) sending: AtomicBool,
    /// Link time that the engine has given up, in picoseconds.
    pub(super) forgone: AtomicU64,
}
