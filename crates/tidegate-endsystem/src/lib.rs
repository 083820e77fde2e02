//! A node split in two, as in ShareStreams: queues and frames stay on the stream processor, decisions are made by an engine that sees
//! only when packets arrived.
//!
//! ```text
//!             stream processor              :          engine
//! producers --- frames, one ring per stream --------------------------------.
//!     |                                     :                               |
//!     '-------- arrival offsets ---------------> store -> scheduler         |
//!                push: urgent, at once      :               |               |
//!                pull: in bulk, at low mark :               |               v
//!                                           :    winners    '----> Transmission Engine -> transmitter
//! ```
//!
//! [`QueueManager`] admits streams from their [`Descriptor`]s and opens an [`EndSystem`] of three kinds of parts, each of which belongs to
//! a thread of its own: [`Producer`]s put frames into the rings of their streams, the [`DecisionEngine`] decides with any
//! [`Scheduler`](tidegate_core::scheduler::Scheduler) (an engine of [`dwcs`](tidegate_core::dwcs) fits in through [`Slots`]), and the
//! [`TransmissionEngine`] takes the winners' frames from their rings and hands them to whoever transmits. No part ever waits for another
//! inside a call: each has a `turn` that does what can be done at an instant, and a `run` that takes turns until the end.
//!
//! **Laws**, checked by the tests of this crate with and without threads:
//! 1. nothing is lost, duplicated or reordered within a stream;
//! 2. `offered = sent + dropped (by reason) + queued`, in packets and in bytes ([`Account::check`]);
//! 3. the winners of a stream never exceed its announced arrivals;
//! 4. in real time the decisions are those of a [`Port`](tidegate_core::port::Port) with the same scheduler, to the picosecond, for as long
//!    as no part is held up for longer than the catching up.
//!
//! **Source**: Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams: a scalable architecture and hardware support for high-speed QoS
//! packet schedulers", section 3.
//!
//! Everything lock-free is the ring crate's ([`rtrb`]) or the standard library's (parking threads); of our own there is one counter with a
//! single writer.
#![warn(missing_docs)]

mod account;
mod arrival;
mod bell;
mod descriptor;
mod engine;
mod queues;
mod slots;
mod streaming;
mod transmission;

pub use account::{Account, Leak};
pub use arrival::Grain;
pub use descriptor::{AdmissionError, Descriptor, WhenFull};
pub use engine::{DecisionEngine, EngineCounters};
pub use queues::{EndSystem, Pace, Producer, ProducerCounters, QueueManager, Refusal, Setup};
pub use slots::Slots;
pub use streaming::Transfers;
pub use transmission::{Departure, Fate, TransmissionCounters, TransmissionEngine};

use std::thread;
use std::time::Duration;
use tidegate_core::units::Time;

/// What a part that has taken its turn waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing is due before this instant, unless another part rings.
    At(Time),
    /// Nothing can be done until another part rings.
    Waiting,
    /// Nothing will ever be there to be done: the parts before this one have gone, and all they left has been passed on.
    Ended,
}

impl Next {
    /// Sleeps until it is time for the next turn, or until another part rings, or for a glance. False if there is no next turn. `clock` tells
    /// the machine's time.
    fn sleep(self, clock: impl Fn() -> Time) -> bool {
        let left = match self {
            // The turn took its time: what is left to wait counts from now.
            Next::At(time) => Duration::from_nanos(time.since(clock()).picoseconds().div_ceil(1000)).min(GLANCE),
            Next::Waiting => GLANCE,
            Next::Ended => return false,
        };
        if left > Duration::ZERO {
            thread::park_timeout(left);
        }
        true
    }
}

/// How long a part sleeps at most before it looks again, and asks whether to go on.
const GLANCE: Duration = Duration::from_millis(10);
