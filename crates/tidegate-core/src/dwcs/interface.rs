//! How an engine is driven: the trait [`Dwcs`], and what its calls exchange.

use crate::dwcs::tolerance::Tolerance;
use crate::packet::Flow;

/// What an engine asks its caller to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Serve the head of this stream, then call [`Dwcs::served`].
    Serve(Flow),
    /// Discard the head of this stream: it has missed its deadline and may be dropped. Then call [`Dwcs::lost`].
    Discard(Flow),
    /// No stream may be served before this tick ([`Early::Hold`](super::Early::Hold)).
    WaitUntil(u64),
    /// No stream is backlogged.
    Idle,
}

/// Counts of a stream's packets and deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets served in time.
    pub met: u64,
    /// Packets served late.
    pub late: u64,
    /// Deadlines missed, including those of late services.
    pub missed: u64,
    /// Deadlines missed in excess of the window constraint.
    pub violations: u64,
    /// Packets discarded because their deadline had passed.
    pub dropped: u64,
}

/// The state of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The deadline of its next packet; [`NEVER`](super::NEVER) under static priority.
    pub deadline: u64,
    /// Its current window constraint.
    pub tolerance: Tolerance,
    /// What has happened so far.
    pub tally: Tally,
}

/// An engine that decides by Dynamic Window-Constrained Scheduling. Calls come with non-decreasing `now`.
pub trait Dwcs {
    /// A stream without packets gets one. `arrival` orders heads by age and may have a finer unit than the tick.
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64);

    /// Accounts for all deadlines missed up to `now` and decides. The answer stays the same until the next call with another name or a
    /// later instant.
    fn select(&mut self, now: u64) -> Choice;

    /// The head of `stream`, which `select` has just named, is being served until `finish`; `next` is the arrival of the head that follows.
    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>);

    /// The head of `stream` is gone without service: discarded as `select` asked, or taken away. `next` is the arrival of the head that
    /// follows.
    fn lost(&mut self, stream: Flow, next: Option<u64>);

    /// The state of `stream` at the instant of the last `select`.
    fn standing(&self, stream: Flow) -> Standing;
}
