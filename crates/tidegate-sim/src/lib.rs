//! A fast packet-network simulator around the ports of tidegate-core.
//!
//! A [`Network`] is nodes, links and flows. Every [`Link`] owns a port of `tidegate-core`, the very code that a replay or a live
//! interface runs; the simulator adds what the world outside a port does: sources, propagation, sinks and the clock.
//! [`run`] plays an [`Experiment`] on it, several replications at a time, and returns an [`Outcome`].
//!
//! | module | holds |
//! |---|---|
//! | [`network`] | nodes, links, flows and their paths |
//! | [`source`] | what sources there are, and the distributions they draw from |
//! | [`experiment`] | how long, how often, from which seed; running it |
//! | [`statistics`] | what one replication measured, and what all of them say together |
//! | [`error`] | what can be wrong with a network or an experiment |
//! | [`random`] | one stream of random numbers per component |
//!
//! **Lengths and rates.** Sources, buffers and results count frames as they are; a port adds its overhead on the wire by itself.
//!
//! **Ties.** Among events of one instant, links that become free go first (in the order of the links), then packets that reach the end
//! of a link (in the order of the links), then sources (in the order of the flows). A packet that finds its link idle starts at once;
//! one that arrives at the same instant through a later event finds it busy.
//!
//! **Determinism.** The same network, experiment and seed give the same outcome, bit for bit, whatever the number of threads.
//!
//! Every source draws from a stream named after its flow, so adding a flow leaves the packets of all others as they were. Hosts that
//! react to what the network does to their packets take the place of a source: a slot for their timer, and the sink's hand.
//!
//! ```
//! use tidegate_sim::doc::one_link;
//! use tidegate_sim::{Control, Experiment, run};
//! use tidegate_core::units::Duration;
//!
//! // 8 Mbit/s of 1000-byte packets over a link of 10 Mbit/s.
//! let network = one_link();
//! let experiment = Experiment { duration: Duration::from_seconds(2), warm_up: Duration::from_seconds(1), ..Experiment::default() };
//! let outcome = run(&network, &experiment, &Control::default()).unwrap();
//! assert_eq!(outcome.flows[0].throughput_bps.mean, 8e6);
//! // 0.8 ms of transmission and 5 ms of propagation.
//! assert_eq!(outcome.flows[0].delay.as_ref().unwrap().mean_s.mean, 5.8e-3);
//! ```
#![warn(missing_docs)]

pub mod error;
pub mod experiment;
pub mod network;
pub mod random;
pub mod source;
pub mod statistics;

mod events;
mod route;
mod simulation;

pub use error::{Problem, SimulationError, Subject};
pub use experiment::{Control, Experiment, run};
pub use network::{FlowSpec, Link, LinkId, Network, NodeId};
pub use source::{CapturePacket, Holding, LengthDistribution, Remainder, Source};
pub use statistics::{Estimate, FlowOutcome, Outcome, PortOutcome};
