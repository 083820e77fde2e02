//! The request with which a stream is admitted.

use thiserror::Error;
use tidegate_core::packet::Flow;

/// What happens to a frame whose ring is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhenFull {
    /// Back-pressure: the producer keeps it and offers it again.
    #[default]
    Wait,
    /// It is dropped and counted.
    Drop,
}

/// A stream: its service attributes, and how its frames and arrivals are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor<A> {
    /// What the engine's scheduler is built from.
    pub attributes: A,
    /// The capacity of its ring in frames, at least 1.
    pub frames: u32,
    /// True if each arrival is pushed to the engine at once, as suits a time-critical or slow stream. Otherwise arrivals are pulled in bulk.
    pub urgent: bool,
    /// What happens to a frame whose ring is full.
    pub when_full: WhenFull,
}

impl<A> Descriptor<A> {
    /// A stream with a ring of 256 frames, whose arrivals are pulled and whose producer waits when the ring is full.
    pub const fn new(attributes: A) -> Descriptor<A> {
        Descriptor { attributes, frames: 256, urgent: false, when_full: WhenFull::Wait }
    }

    /// The same with a ring of `frames` frames.
    pub fn frames(self, frames: u32) -> Descriptor<A> {
        Descriptor { frames, ..self }
    }

    /// The same with pushed arrivals.
    pub fn urgent(self) -> Descriptor<A> {
        Descriptor { urgent: true, ..self }
    }

    /// The same, but drops frames when the ring is full.
    pub fn dropping(self) -> Descriptor<A> {
        Descriptor { when_full: WhenFull::Drop, ..self }
    }
}

/// Why a stream is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("stream {}: {problem}", stream.0)]
pub struct AdmissionError {
    /// The stream.
    pub stream: Flow,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}
