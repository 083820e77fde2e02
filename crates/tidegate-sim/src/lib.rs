//! A fast packet-network simulator around the ports of tidegate-core.
//!
//! A [`Network`] is nodes, links and flows. Every [`Link`] owns a port of `tidegate-core`, the code that a replay or a live interface runs.
//! The simulator adds the world outside the port: sources, propagation, sinks and the clock. [`run()`] plays an [`Experiment`] on
//! the network, several replications at a time, and returns an [`Outcome`].
//!
//! | module | holds |
//! |---|---|
//! | [`network`] | nodes, links, flows and their paths |
//! | [`failure`] | links that fail and recover, and the paths that flows take then |
//! | [`routing`] | shortest paths by weight, and the choice among equals |
//! | [`tcp`] | TCP connections, and what is exchangeable in them |
//! | [`source`] | the kinds of sources, and their distributions |
//! | [`workload`] | TCP connections that come by themselves, carry a size and go |
//! | [`calls`] | flows that ask for admission, hold and leave |
//! | [`events`] | the event set, which other models than a network use too |
//! | [`experiment`] | how long, how often, and from which seed |
//! | [`fault`], [`time`] | a value that cannot be simulated; instants and their range |
//! | [`statistics`] | the measurements of one replication, and of all |
//! | [`pause`] | priority flow control |
//! | [`host`] | host memory, bus and clock around a cell scheduler |
//! | [`trace`] | the steps of every packet |
//! | [`error`] | what can be wrong with a network or an experiment |
//! | [`random`] | one stream of random numbers per component |
//!
//! **Lengths and rates.** Sources, buffers and results count frames; a port adds its overhead on the wire itself.
//!
//! **Ties.** Events of one instant have an order. First come links that become free, then packets that reach the end of a link, both in the order
//! of the links. Sources and timers follow in the order of the flows, then segments that leave their sending hosts, and last arrivals of workloads and what their
//! connections do. A packet that
//! finds its link idle starts at once; one that arrives at the same instant through a later event finds it busy.
//!
//! **Determinism.** The same network, experiment and seed give the same outcome, bit for bit, whatever the number of threads.
//! That holds for replications that are [divided](Division) among several threads as well.
//!
//! Every source draws from a stream named after its flow, so a new flow does not change the packets of the others. A TCP connection reacts to
//! the network: its timers use the slot of its source, and packets reach its ends by events.
//!
//! ```
//! use tidegate_core::buffer::BufferParameters;
//! use tidegate_core::classifier::{ClassRules, Classifier, Header};
//! use tidegate_core::port::PortSetup;
//! use tidegate_core::registry::{BufferKind, SchedulerKind};
//! use tidegate_core::scheduler::{FlowParameters, Setup};
//! use tidegate_core::units::{Duration, Overhead, Rate};
//! use tidegate_sim::source::Cbr;
//! use tidegate_sim::{Control, Experiment, FlowSpec, Impairment, Link, LinkId, Network, NodeId, Source, run};
//!
//! // One link of 10 Mbit/s and 5 ms, served first in, first out.
//! let rate = Rate::new(10_000_000).unwrap();
//! let class = ClassRules { name: "all".into(), queues: 1, rules: vec![] };
//! let port = PortSetup {
//!     rate,
//!     overhead: Overhead::None,
//!     classifier: Classifier::new(vec![class], 1).unwrap(),
//!     policers: vec![None],
//!     aqms: Vec::new(),
//!     seed: 0,
//!     buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
//!     scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1500), &[FlowParameters::default()]).unwrap(),
//!     packet_limit: 100,
//!     longest_frame: 1500,
//!     remarks: Default::default(),
//! };
//! let propagation = Duration::from_milliseconds(5);
//! let impairment = Impairment::default();
//! let link = Link { name: "link".into(), from: NodeId(0), to: NodeId(1), propagation, port, impairment, cells: false, adapter: None, admission: None, workers: None };
//! // 8 Mbit/s of 1000-byte packets.
//! let source = Source::Cbr(Cbr { rate: Rate::new(8_000_000).unwrap(), length: 1000, random_phase: false });
//! let (header, path, start) = (Header::default(), vec![LinkId(0)], Duration::ZERO);
//! let flow = FlowSpec { name: "flow".into(), source, header, path, start, stop: None, tagging: None, shaping: None };
//! let network = Network { nodes: vec!["here".into(), "there".into()], links: vec![link], flows: vec![flow], ..Network::default() };
//!
//! let experiment = Experiment { duration: Duration::from_seconds(2), warm_up: Duration::from_seconds(1), ..Experiment::default() };
//! let outcome = run(&network, &experiment, &Control::default()).unwrap();
//! assert_eq!(outcome.flows[0].throughput_bps.mean, 8e6);
//! // 0.8 ms of transmission and 5 ms of propagation.
//! assert_eq!(outcome.flows[0].delay.as_ref().unwrap().mean_s.mean, 5.8e-3);
//! ```
#![warn(missing_docs)]

pub mod calls;
pub mod error;
pub mod events;
pub mod experiment;
pub mod failure;
pub mod fault;
pub mod host;
pub mod network;
pub mod pause;
pub mod random;
pub mod rerouting;
pub mod routing;
pub mod source;
pub mod statistics;
pub mod tcp;
pub mod time;
pub mod trace;
pub mod workload;

mod cells;
mod course;
mod fifo_port;
mod holding;
mod id;
mod partition;
mod route;
mod run;
mod simulation;
mod tagging;

pub use calls::{Arrivals, Broker, BrokeredPath, BrokeredQueue, CallStatistics, Calls};
pub use course::{NetworkChange, check_changes};
pub use error::{Problem, SimulationError, Subject};
pub use experiment::Experiment;
pub use failure::{Failure, FailureStatistics, Reroute};
pub use holding::Holding;
pub use id::{LinkId, NodeId};
pub use network::{FlowSpec, Impairment, Link, Network, Pause};
pub use rerouting::RoutedPath;
pub use route::reversed;
pub use run::{Control, Division, obstacles_to_division, run, run_with_changes};
pub use source::{CapturePacket, LengthDistribution, Remainder, Source, SourceKind};
pub use statistics::{
    ClassOutcome, CoarseHistogram, DelayOutcome, Estimate, FailureOutcome, FlowOutcome, Histogram, LongestDelay, Outcome, PortOutcome,
    Replication, RoundOutcome, SizeOutcome, TaggedOutcome, TcpOutcome, WorkloadOutcome,
};
pub use tagging::Tagging;
pub use trace::{Origin, Step, TraceEvent, TracedConnection, Tracer};
pub use workload::{Completion, CompletionSink, Pattern, Rhythm, Workload};
