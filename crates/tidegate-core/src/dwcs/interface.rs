//! How an engine is driven: the trait [`Dwcs`], and what its calls exchange.

use crate::dwcs::stream::{Stream, StreamError};
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

    /// A stream whose turn is likely to come soon.
    #[inline]
    fn soon(&self) -> Option<Flow> {
        None
    }

    /// The head of `stream` is gone without service: discarded as `select` asked, or taken away. `next` is the arrival of the head that
    /// follows.
    fn lost(&mut self, stream: Flow, next: Option<u64>);

    /// The state of `stream` at the instant of the last `select`.
    fn standing(&self, stream: Flow) -> Standing;
}

/// An engine whose streams change, come and go.
pub trait Changing: Dwcs {
    /// The attributes of a stream are these from its next head on: its window starts afresh, and its deadlines follow at the new period. The
    /// deadline of the present head stays. Nothing happens if they are the same.
    ///
    /// # Errors
    /// [`StreamError`] for attributes that cannot be served, and for streams without deadlines.
    fn change(&mut self, stream: Flow, attributes: &Stream) -> Result<(), StreamError>;

    /// A stream without packets is as in a new engine.
    fn forget(&mut self, stream: Flow);

    /// What there is of a stream, for another engine to go on with.
    fn save(&self, stream: Flow) -> Saved;

    /// Takes over a stream, which has no packets here, from an engine that was last asked at `now`; `head` is the arrival of its head, if it
    /// has one. The attributes given to this engine hold from its next head on.
    fn restore(&mut self, now: u64, stream: Flow, saved: &Saved, head: Option<u64>);
}

/// What another engine goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    /// The attributes of the stream, those of its present head if others hold from the next one on.
    pub attributes: Stream,
    /// Its state.
    pub standing: Standing,
    /// It has packets.
    pub is_backlogged: bool,
    /// Its head has missed its deadline and is to be discarded.
    pub is_late: bool,
    /// Its head began a new window, and nothing has happened since.
    pub is_fresh: bool,
}
