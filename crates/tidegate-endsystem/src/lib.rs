//! An end system split in two, as in ShareStreams: frames stay on the stream processor, and an engine that sees only arrival times decides.
//!
//! ```text
//!             stream processor              :          engine
//! producers --- frames, one ring per stream --------------------------------.
//!     |                                     :                               |
//!     '-------- arrival offsets ---------------> queues -> scheduler        |
//!                push: urgent, at once      :               |               |
//!                pull: in bulk, at low mark :               |               v
//!                                           :    winners    '----> Transmission Engine -> transmitter
//! ```
//!
//! [`QueueManager`] admits streams by [`Descriptor`] and opens an [`EndSystem`]. Each of its parts belongs to one thread:
//!
//! * a [`Producer`] puts frames into the rings of its streams;
//! * the [`DecisionEngine`] decides with any [`Scheduler`](tidegate_core::scheduler::Scheduler); [`Slots`] adapts an engine of
//!   [`dwcs`](tidegate_core::dwcs);
//! * the [`TransmissionEngine`] takes winners' frames from their rings and hands them to the transmitter.
//!
//! No call waits for another part: `poll` does what is due at an instant, and `run` polls until the end.
//!
//! **Laws**, tested with and without threads:
//! 1. No frame is lost, duplicated or reordered within a stream.
//! 2. `offered = sent + dropped (by reason) + queued`, in packets and in bytes ([`Account::check`]).
//! 3. The winners of a stream never exceed its announced arrivals.
//! 4. In real time the decisions equal those of a [`Port`](tidegate_core::port::Port) with the same scheduler, to the picosecond, as long
//!    as no part is delayed by more than [`Setup::catch_up`]. So do the judgements of the same AQMs at departures ([`DecisionEngine::manage`]).
//!
//! **Source.** Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams: a scalable architecture and hardware support for high-speed QoS
//! packet schedulers", section 3.
//!
//! The lock-free rings are [`rtrb`]'s, and threads park with the standard library. This crate adds one atomic counter with a single writer.
#![warn(missing_docs)]

mod account;
mod arrival;
mod descriptor;
mod engine;
mod next;
mod producer;
mod queues;
mod setup;
mod slots;
mod streaming;
mod transmission;
mod waker;

pub use account::{Account, Leak, ProducerCounters};
pub use arrival::Grain;
pub use descriptor::{AdmissionError, Descriptor, WhenFull};
pub use engine::{DecisionEngine, EngineCounters};
pub use next::Next;
pub use producer::{Producer, Refusal};
pub use queues::{EndSystem, QueueManager};
pub use setup::{Pace, Setup};
pub use slots::Slots;
pub use streaming::{Disposition, Transfers};
pub use transmission::{Departure, TransmissionCounters, TransmissionEngine};
