//! Dynamic Window-Constrained Scheduling: whose packet is next, if of every y packets of a stream at most x may be late or lost?
//!
//! Every stream has a deadline that recurs once per request period, and a window constraint "x of y": of y consecutive deadlines it
//! tolerates x that are missed. The stream whose deadline comes first goes first; among equal deadlines the one that tolerates least
//! ([`Rank`]). Being served loosens a stream's current constraint, missing a deadline tightens it ([`Tolerance`]). Earliest deadline
//! first, static priority, fair shares and mixtures of all of them are settings of this one discipline ([`Stream`]).
//!
//! An engine is driven like a scheduler: [`Dwcs::activate`] when a stream has got a packet, [`Dwcs::select`] for a decision,
//! [`Dwcs::served`] and [`Dwcs::lost`] when the head of a stream has gone. It knows arrival times and names streams; packets stay
//! elsewhere. That is the division of labour of ShareStreams, and why the same engine serves a port, an end system and as the model that
//! hardware is checked against. The engine with the registers of hardware is a crate of its own, `tidegate-rtl-model`.
//!
//! **Time** is counted in ticks from the start of the engine, with 64 bits that never wrap. A tick is whatever the user of the engine makes
//! it: a packet slot of a loaded link (so in the papers), or a unit of real time. Hardware keeps 16 bits of it.
//!
//! **Laws**, tested with both engines:
//! 1. whoever is served precedes every other eligible stream in the order of [`Rank`];
//! 2. a deadline advances by exactly one period for every packet served and every deadline missed, and only then, but for a stream that
//!    comes back after its deadline has passed, which starts afresh ([`Early::Clamp`] shortens it as well);
//! 3. after [`Dwcs::select`] no backlogged stream has a deadline that counts as missed;
//! 4. `x' <= x`, `x' <= y'`, and `y' <= y` unless the stream is in violation; a stream in violation has `x' = 0`;
//! 5. a head that was lost is charged to nobody: if a stream begins afresh with a packet that is taken away before anything has happened,
//!    it begins afresh with the next;
//! 6. the two engines decide the same, always.
//!
//! **Source**: West and Poellabauer, "Analysis of a window-constrained scheduler for real-time and best-effort packet streams", RTSS 2000;
//! West, Zhang, Schwan and Poellabauer, "Dynamic window-constrained scheduling of real-time streams in media servers", IEEE Transactions on
//! Computers 53(6), 2004; Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams", section 2 and Table 1.
//!
//! | item | holds |
//! |---|---|
//! | [`Request`], [`Service`] | what an operator asks for, and how it becomes a stream |
//! | [`Stream`], [`Window`] | the attributes of one stream |
//! | [`Feasibility`], [`LeastService`] | whether all windows can be kept, and what a stream gets if they are |
//! | [`Tolerance`] | a stream's current constraint, and the two rules that adjust it |
//! | [`Rank`] | the total order of precedence |
//! | [`Scan`] | the engine as published, which looks at every stream at every decision: the oracle |
//! | [`Cohorts`] | the engine for many streams |
//! | [`Engine`] | the faster of the two |

use crate::packet::Flow;

mod cohorts;
mod contest;
#[cfg(test)]
mod differential;
mod engine;
mod feasibility;
mod lineup;
#[cfg(test)]
mod oracles;
mod radix_heap;
mod rank;
mod scan;
mod service;
mod stream;
mod tolerance;
mod tournament;

pub use cohorts::Cohorts;
pub use engine::Engine;
pub use feasibility::{Feasibility, LeastService, Utilisation, Verdict};
pub use rank::Rank;
pub use scan::Scan;
pub use service::{Request, Service, resolve};
pub use stream::{Stream, StreamError, Window};
pub use tolerance::Tolerance;

/// A deadline that never comes: of streams under static priority.
pub const NEVER: u64 = u64::MAX;

/// The longest request period, in ticks: 2^48.
pub const LONGEST_PERIOD: u64 = 1 << 48;

/// How far ahead of the time [`Early::Clamp`] lets a deadline run, in ticks: 2^14, so that 16-bit serial comparison stays valid.
pub const CLAMP: u64 = 1 << 14;

/// Which deadlines count as missed at an instant `now`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Missed {
    /// Service must end by the deadline: missed if `deadline <= now`. This reading reproduces the published schedules.
    #[default]
    Complete,
    /// Service must begin by the deadline: missed if `deadline < now`.
    Start,
}

/// Whether a stream may be served in a period that is not yet the current one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Early {
    /// It may: the link never idles while a packet waits, and the deadline of a stream that takes spare capacity runs ahead.
    #[default]
    Allow,
    /// Not while its deadline lies more than a period ahead: at most one packet per period, and the link may idle.
    Hold,
    /// It may, but its deadline runs ahead by at most [`CLAMP`] ticks, as in hardware.
    Clamp,
}

/// Which attribute comes first in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// The earliest deadline, then the tightest window: the order of 2000 and since.
    #[default]
    DeadlineFirst,
    /// The tightest window, then the earliest deadline: the order of 1999.
    WindowFirst,
}

/// What the streams of an engine have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rules {
    /// Which deadlines count as missed.
    pub missed: Missed,
    /// Whether streams may be served early.
    pub early: Early,
}

impl Missed {
    /// True if a deadline counts as missed at `now`.
    #[inline]
    pub const fn is_past(self, deadline: u64, now: u64) -> bool {
        match self {
            Missed::Complete => deadline <= now,
            Missed::Start => deadline < now,
        }
    }

    /// True if service from `start` to `finish` comes too late for a deadline.
    #[inline]
    pub const fn is_late(self, deadline: u64, start: u64, finish: u64) -> bool {
        match self {
            Missed::Complete => deadline < finish,
            Missed::Start => deadline < start,
        }
    }

    /// How many deadlines, `deadline` and those that follow it every `period` ticks, count as missed at `now`.
    #[inline]
    pub const fn count(self, deadline: u64, period: u64, now: u64) -> u64 {
        if self.is_past(deadline, now) {
            let since = match self {
                Missed::Complete => now - deadline,
                Missed::Start => now - deadline - 1,
            };
            if since < period { 1 } else { 1 + since / period }
        } else {
            0
        }
    }
}

/// What an engine wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Serve the head of this stream, then call [`Dwcs::served`].
    Serve(Flow),
    /// Discard the head of this stream: it has missed its deadline and may be dropped. Then call [`Dwcs::lost`].
    Discard(Flow),
    /// No stream may be served before this tick ([`Early::Hold`]).
    WaitUntil(u64),
    /// No stream is backlogged.
    Idle,
}

/// What has become of a stream's packets and deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets served in time.
    pub met: u64,
    /// Packets served late.
    pub late: u64,
    /// Deadlines missed, the late services among them.
    pub missed: u64,
    /// Deadlines missed in excess of the window constraint.
    pub violations: u64,
    /// Packets discarded because their deadline had passed.
    pub dropped: u64,
}

/// Where a stream stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The deadline of its next packet; [`NEVER`] under static priority.
    pub deadline: u64,
    /// Its current window constraint.
    pub tolerance: Tolerance,
    /// What has happened so far.
    pub tally: Tally,
}

/// An engine that decides by Dynamic Window-Constrained Scheduling. Calls come with non-decreasing `now`.
pub trait Dwcs {
    /// A stream without packets has got one. `arrival` orders heads by their age and may have a finer unit than the tick.
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64);

    /// Accounts for all deadlines missed up to `now` and decides. The answer stays the same until the next call with another name or a
    /// later instant.
    fn select(&mut self, now: u64) -> Choice;

    /// The head of `stream`, which `select` has just named, is being served until `finish`; `next` is the arrival of the head that follows.
    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>);

    /// The head of `stream` has gone without being served: discarded as `select` asked, or taken away. `next` is the arrival of the head
    /// in its place.
    fn lost(&mut self, stream: Flow, next: Option<u64>);

    /// Where `stream` stands at the last instant that `select` was told of.
    fn standing(&self, stream: Flow) -> Standing;
}
