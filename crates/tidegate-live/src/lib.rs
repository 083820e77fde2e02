//! Real packets between two Linux interfaces, through the ports of [`tidegate_core`].
//!
//! [`run`] joins two Ethernet interfaces like a cable with a policy in each direction. Every received frame is offered to the port of its
//! direction, and leaves on the other side when the port sends it.
//!
//! ```text
//! interface A -> packets as on the wire -> port of A to B -> its link -> interface B
//! interface A <- its link <- port of B to A <- packets as on the wire <- interface B
//! ```
//!
//! Each direction has its own thread (three in an end system; several if its policy has workers), port, frame memory and sockets; the directions share nothing. A link delays
//! and loses packets as the policy says. Super-frames of segmentation offload are cut before the port. Unfinished checksums are passed on or
//! completed. The port gets one instant per burst, and decides as in a simulation or a replay of the same arrivals.
//!
//! **Law.** In each direction and at every instant, in packets and in bytes: received = delivered + dropped (by reason) + queued + in flight
//! ([`DirectionCounters::check`]); packets in the rings between workers count as queued. Frames that the kernel lost before are counted separately.
//!
//! | module | holds |
//! |---|---|
//! | `bridge` | start, ticks and end |
//! | `direction_thread` | the threads of a direction; `direction_loop` is what they run |
//! | `direction` | a direction in one thread, as a function of frames and time |
//! | `workers` | what a direction in several threads, each with a port, shares |
//! | `end_system` | a direction in three threads: receiving, deciding, transmitting |
//! | `control` | questions and changes that other threads bring to a running bridge |
//! | `ingress` | received frames become packets |
//! | `outbox` | frames on the link and on the way to the kernel |
//! | `watch`, `record` | the observer of a port, and what is known of a direction |
//! | `talkers`, `tap`, `class_queues` | the flows that send most; copies of packets for a capture; what the queues of a class hold |
//! | `stamped`, `probe` | the instants at which packets pass the stages of a direction, and their recorder |
//! | `io` | the interface to the kernel |
//! | `io_mode` | which implementation carries the frames of a bridge |
//! | `packet` | packet sockets: a ring to receive, batches to send |
//! | `xdp` | AF_XDP sockets: frames pass without a copy |
//! | `endpoint` | an interface or one VLAN of it, and the tags of frames between two of them |
//! | `interface`, `interface_queues`, `interface_warnings` | the state and the queues of an interface, and warnings about it |
//! | `interface_lock` | one process per interface |
//! | `guardian`, `heartbeat` | a process that carries frames when the bridge fails, and the page by which it knows |
//! | `take_over`, `snapshot` | a bridge that goes on in another process, and what is written for that |
//! | `examination` | what a bridge would lack on this machine |
//! | `rights` | the capabilities that a process keeps |
//! | `config`, `counters`, `live_outcome`, `error` | what callers pass and get back |
//! | `clock`, `memory`, `pool`, `offload` | time, pages, frame slots, virtio-net headers |
#![warn(missing_docs)]
#![cfg(target_os = "linux")]

mod acks;
mod bridge;
mod class_queues;
mod clock;
mod config;
mod control;
mod counters;
mod direction;
mod direction_loop;
mod direction_thread;
mod end_system;
mod endpoint;
mod error;
mod examination;
mod guardian;
mod heartbeat;
mod ingress;
mod interface;
mod interface_lock;
mod interface_queues;
mod interface_warnings;
mod io;
mod io_mode;
mod live_outcome;
mod locks;
mod memory;
mod offload;
mod outbox;
mod packet;
mod pool;
mod port_change;
mod probe;
mod record;
mod rights;
mod snapshot;
mod stamped;
mod take_over;
mod talkers;
mod tap;
mod watch;
mod workers;
mod xdp;

pub use bridge::{run, run_observed};
pub use class_queues::ClassQueues;
pub use config::{Io, LiveConfig, Options};
pub use control::{ClassDelays, ClassVolumes, Control};
pub use counters::{DirectionCounters, Leak, Refused, Unsent};
pub use direction_loop::EngineRecord;
pub use error::{ControlError, LiveError};
pub use examination::{Examination, InterfaceSockets, examine};
pub use guardian::{Carried, Guardian, Look};
pub use heartbeat::Heartbeat;
pub use ingress::Checksums;
pub use io::KernelCounters;
pub use live_outcome::{DirectionOutcome, LiveOutcome, Tick};
pub use port_change::{PortChange, PortChanged};
pub use probe::{Probe, ProbeError};
pub use rights::keep_network_rights_only;
pub use snapshot::{SnapshotError, VERSION as SNAPSHOT_VERSION};
pub use take_over::{Inheritance, PATIENCE, Standing, TakeOver};
pub use talkers::{FlowId, Talkers};
pub use tap::{Capture, Captured};
pub use tidegate_endsystem::{EngineCounters, Transfers};
pub use tidegate_link::{Link, Loss};
pub use watch::{Frame, StageObserver, TakenIn};
