//! What a stream asks for when it is admitted.

use std::fmt;
use tidegate_core::packet::Flow;

/// What becomes of a frame whose ring is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenFull {
    /// The producer keeps it and comes again: back-pressure.
    #[default]
    Wait,
    /// It is dropped and counted.
    Drop,
}

/// A stream: its service attributes, and how its frames and arrivals are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor<A> {
    /// What the discipline promises the stream: whatever the engine's scheduler is built from.
    pub attributes: A,
    /// The frames that its ring holds, at least 1.
    pub frames: u32,
    /// True if each arrival is pushed to the engine at once, as for a time-critical stream or one of low bandwidth; otherwise arrivals are
    /// pulled in bulk.
    pub urgent: bool,
    /// What becomes of a frame whose ring is full.
    pub when_full: WhenFull,
}

impl<A> Descriptor<A> {
    /// A stream of 256 frames whose arrivals are pulled and whose producer waits when the ring is full.
    pub const fn new(attributes: A) -> Descriptor<A> {
        Descriptor { attributes, frames: 256, urgent: false, when_full: WhenFull::Wait }
    }

    /// The same with a ring of so many frames.
    pub fn frames(self, frames: u32) -> Descriptor<A> {
        Descriptor { frames, ..self }
    }

    /// The same with arrivals that are pushed.
    pub fn urgent(self) -> Descriptor<A> {
        Descriptor { urgent: true, ..self }
    }

    /// The same with frames that are dropped when the ring is full.
    pub fn dropping(self) -> Descriptor<A> {
        Descriptor { when_full: WhenFull::Drop, ..self }
    }
}

/// Why a stream is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmissionError {
    /// The stream.
    pub stream: Flow,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}: {}", self.stream.0, self.problem)
    }
}

impl std::error::Error for AdmissionError {}
