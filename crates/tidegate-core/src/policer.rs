//! The policer's role: is this packet within its contract?
//!
//! **Laws** that every registered policer keeps, checked by the conformance suite:
//! 1. the verdict and the new state depend on the earlier calls only, never on anything else;
//! 2. a packet that is discarded, or found outside a bucket, takes nothing from that bucket;
//! 3. a policer never delays: its answer is final;
//! 4. [`Policer::refresh`] changes no later verdict.

use crate::packet::Colour;
use crate::units::Time;

mod gcra;

pub use gcra::Gcra;

/// What a policer says of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Within the contract; the packet keeps its colour.
    Conform,
    /// Pass it on in this colour, which differs from the one it came with.
    Mark(Colour),
    /// Outside the contract; drop it.
    Discard,
}

/// Polices one stream of packets.
pub trait Policer {
    /// Judges a packet of `length` bytes that arrives at `now` with `colour`. Calls come with non-decreasing `now`.
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict;

    /// Pulls instants that lie far in the past up to where they still compare correctly; called at least every 2^61 ps.
    fn refresh(&mut self, now: Time);
}
