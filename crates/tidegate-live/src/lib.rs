//! Real packets between two Linux interfaces, through the ports of [`tidegate_core`].
//!
//! [`run`] joins two Ethernet interfaces like a cable with a policy in each direction: every frame that comes in on one side is offered
//! to the port of its direction and goes out on the other side when the port sends it.
//!
//! ```text
//! interface A -> packets as on the wire -> port of A to B -> its link -> interface B
//! interface A <- its link <- port of B to A <- packets as on the wire <- interface B
//! ```
//!
//! Each direction has a thread (or three, as an end system), a port, frame memory and sockets of its own; the two share nothing.
//! A link delays what its port sends, and loses some of it, as the policy says. Super-frames of segmentation offload are cut before the port, unfinished checksums are passed on or completed. The port is told one
//! instant per burst, and what it decides is what the same port would decide in a simulation or a replay of the same arrivals.
//!
//! **Law.** In each direction and at every instant, in packets and in bytes: received = delivered + dropped (by reason) + queued + in flight
//! ([`DirectionCounters::check`]). What the kernel lost before is counted apart.
//!
//! | module | holds |
//! |---|---|
//! | `bridge` | threads, ticks, start and end |
//! | `direction` | one direction as a function of frames and time |
//! | `end_system` | one direction in three threads: receiving, deciding, transmitting |
//! | `ingress` | from received frames to packets |
//! | `io` | the seam to the kernel; a faster path than packet sockets goes beside `packet` |
//! | `packet` | packet sockets: ring to receive, batches to send |
//! | `interface_lock` | one process per interface |
//! | `rights` | what a process gives up before it touches traffic |
//! | `outbox`, `watch` | frames on their way along the link and to the kernel; who watches the port |
//! | `interface`, `clock`, `memory`, `pool`, `offload` | what these stand on |
#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod bridge;
mod clock;
mod config;
mod counters;
mod direction;
mod direction_loop;
mod direction_thread;
mod end_system;
mod error;
mod ingress;
mod interface;
mod interface_lock;
mod interface_warnings;
mod io;
mod live_outcome;
mod memory;
mod offload;
mod outbox;
mod packet;
mod pool;
mod rights;
mod watch;

pub use bridge::{run, run_observed};
pub use config::{LiveConfig, Options};
pub use counters::{DirectionCounters, Leak, Refused, Unsent};
pub use direction_loop::EngineRecord;
pub use error::LiveError;
pub use ingress::Checksums;
pub use io::KernelCounters;
pub use live_outcome::{ClassState, DirectionOutcome, DirectionState, LiveOutcome, Tick};
pub use rights::keep_network_rights_only;
pub use tidegate_endsystem::{EngineCounters, Transfers};
pub use tidegate_link::{Link, Loss};
pub use watch::Frame;
