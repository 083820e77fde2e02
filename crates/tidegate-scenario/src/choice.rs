//! Values that are one of a list of names: schedulers, policers, buffer managers, kinds of sources. Registered names come from the core's
//! and the simulator's registries.

use crate::rate_trace::TraceFormat;
use crate::value::{Leaf, Scalar, one_of};
use serde_json::{Map, Value, json};
use tidegate_atm::adapter::Encapsulation;
use tidegate_cells::{Conflict, Prefetch};
use tidegate_core::admission::Service;
use tidegate_core::buffer::Reading;
use tidegate_core::classifier::Spread;
use tidegate_core::dwcs::{Early, Missed};
use tidegate_core::packet::{Colour, Ecn};
use tidegate_core::policer::{Conformance, Violation};
use tidegate_core::registry::{AqmKind, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{HostFairness, Marks, OutOfProfile, ServiceClass, Shares, Stamping};
use tidegate_core::shaper::Bucket;
use tidegate_router::{Arbiter, Level};
pub use tidegate_sim::SourceKind;
pub use tidegate_sim::routing::EqualPaths;
use tidegate_sim::tcp::{AfterIdle, CongestionKind, EcnMode, Growth, RecoveryKind, TimerKind};

/// Which nodes flows of one table are between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// Start and end at random.
    Random,
    /// Each node sends to one other.
    Permutation,
    /// All nodes send to one.
    AllToOne,
}

/// Between which nodes the connections of a workload are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hosts {
    /// Sender and receiver at random.
    Random,
    /// Each node sends to one other.
    Permutation,
    /// All nodes send to one.
    AllToOne,
    /// Several nodes at once send to one.
    Incast,
}

/// The shape of a generated network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyKind {
    /// Hosts around one switch.
    Star,
    /// Two stars and a link between them.
    Dumbbell,
    /// Switches in a row.
    ParkingLot,
    /// Two ranks of switches, each connected to all of the other.
    LeafSpine,
    /// Three ranks of switches with equally many ports.
    FatTree,
    /// The graph of a file.
    GraphMl,
}

impl TopologyKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TopologyKind::Star => "star",
            TopologyKind::Dumbbell => "dumbbell",
            TopologyKind::ParkingLot => "parking-lot",
            TopologyKind::LeafSpine => "leaf-spine",
            TopologyKind::FatTree => "fat-tree",
            TopologyKind::GraphMl => "graphml",
        }
    }
}

/// The schema keyword under which a choice keeps one sentence per name.
pub const MEANINGS: &str = "x-meanings";

/// A name, its value, and one sentence on it.
type Entry<T> = (&'static str, T, &'static str);

fn schema_of<T>(entries: &[Entry<T>]) -> Value {
    let names: Vec<&str> = entries.iter().map(|entry| entry.0).collect();
    let meanings: Map<String, Value> = entries.iter().map(|entry| (entry.0.to_owned(), entry.2.into())).collect();
    json!({ "enum": names, MEANINGS: meanings })
}

fn read_one<T: Copy>(scalar: &Scalar<'_>, what: &str, entries: &[Entry<T>]) -> Result<T, String> {
    let known: Vec<(&'static str, T)> = entries.iter().map(|entry| (entry.0, entry.1)).collect();
    one_of(scalar, what, &known)
}

macro_rules! leaf {
    ($type:ty, $name:literal, $what:literal, $entries:expr) => {
        impl Leaf for $type {
            const NAME: &'static str = $name;
            fn schema() -> Value {
                schema_of::<$type>(&$entries)
            }
            fn read(scalar: &Scalar<'_>) -> Result<$type, String> {
                read_one::<$type>(scalar, $what, &$entries)
            }
        }
    };
}

/// Names of a registry: each has the list `ALL`, names and summaries.
macro_rules! registered {
    ($($(#[$about:meta])* $type:ident($kind:ty), $name:literal, $what:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $type(pub $kind);
        leaf! { $type, $name, $what, <$kind>::ALL.iter().map(|&kind| (kind.name(), $type(kind), kind.summary())).collect::<Vec<_>>() }
    )*};
}

/// Names that are listed here, each with its value and one sentence.
macro_rules! named {
    ($($(#[$about:meta])* $type:ident($inner:ty), $name:literal, $what:literal { $($entry:literal => $value:expr, $meaning:literal;)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $type(pub $inner);
        leaf! { $type, $name, $what, [$(($entry, $type($value), $meaning)),*] }
    )*};
}

/// Which values of the axes belong to one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Design {
    /// Every value of each axis with every value of the others; the last axis changes first.
    #[default]
    Grid,
    /// The first values of all axes, the second ones, and so on.
    Zipped,
    /// Drawn so that every equal part of every axis has one point.
    LatinHypercube,
    /// Drawn independently.
    Random,
}

/// When requests of calls come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallArrivals {
    #[default]
    Poisson,
    AfterLast,
    Permanent,
}

/// A preset of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PresetName {
    /// The node of integrated services of Wu, Hou, Zhang, Chao and Hamada.
    IntegratedServices,
    /// The gateway of a home.
    Home,
    /// An access network with a class for each subscriber.
    Subscribers,
}

impl PresetName {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        PRESETS.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }
}

const PRESETS: [Entry<PresetName>; 3] = [
    (
        "home",
        PresetName::Home,
        "the gateway of a home: `fq-codel` for every class, with one buffer for all; `tins` divide traffic by code points",
    ),
    (
        "intserv",
        PresetName::IntegratedServices,
        "a node of integrated services: the scheduler `intserv`, a partition for each service, and marks in code points",
    ),
    (
        "subscribers",
        PresetName::Subscribers,
        "an access network: each `subscriber` is a class with `fq-codel`, shaped to its plan; the link is shared in proportion to the plans",
    ),
];

leaf! { PresetName, "preset", "a preset", PRESETS }

/// Classes by code points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TinsName {
    /// Three.
    DiffServ3,
    /// Four.
    DiffServ4,
}

leaf! { TinsName, "tins", "a set of tins", [
    ("diffserv3", TinsName::DiffServ3, "`voice` (CS7, CS6, EF, VA), `best-effort` and `bulk` (CS1, LE), with the weights 4, 16 and 1"),
    ("diffserv4", TinsName::DiffServ4, "`voice` (CS7 to CS4, EF, VA), `video` (CS3, CS2, AF4x to AF2x), `best-effort` and `bulk` (CS1, LE), with the weights 4, 8, 16 and 1"),
] }

/// The reading of the node of integrated services.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NodeReading {
    /// With a tolerance and a reserve.
    #[default]
    Repaired,
    /// As it is published.
    Paper,
}

leaf! { NodeReading, "reading of the node", "a reading of the node", [
    ("repaired", NodeReading::Repaired, "conforming classes lose nothing: packets may come early by a tolerance, and each guaranteed class has a part of the buffer to itself"),
    ("paper", NodeReading::Paper, "as published: a packet that comes early by any amount leaves marked, and marked packets are the first to be lost"),
] }

/// How a machine's kernel schedules its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelKind {
    Interrupt,
    Polling,
    Shares,
}

/// The kind of a machine's bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusKind {
    Pci,
    Pcie,
}

/// When noise comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoiseKind {
    Periodic,
    Poisson,
}

/// Where factors on costs come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariationKind {
    Lognormal,
    Rows,
}

registered! {
    /// A registered scheduler.
    SchedulerName(SchedulerKind), "scheduler", "a scheduler";
    /// A registered buffer manager.
    BufferName(BufferKind), "buffer manager", "a buffer manager";
    /// A registered policer.
    PolicerName(PolicerKind), "policer", "a policer";
    /// A registered congestion control.
    CongestionName(CongestionKind), "congestion control", "a congestion control";
    /// A registered loss recovery.
    RecoveryName(RecoveryKind), "loss recovery", "a loss recovery";
    /// A registered retransmission timer.
    TimerName(TimerKind), "retransmission timer", "a retransmission timer";
    /// How a congestion window grows.
    GrowthName(Growth), "window growth", "a window growth";
    /// The congestion window after an idle period.
    AfterIdleName(AfterIdle), "window after a silence", "an answer to a silence";
}

/// An AQM, or one per queue below a scheduler that keeps flows apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AqmChoice {
    /// This algorithm for the class.
    Alone(AqmKind),
    /// This algorithm for each of many queues, which packets are hashed into and which take turns.
    FairQueueing(AqmKind),
}

/// An AQM, or a preset with one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AqmName(pub AqmChoice);

/// The AQM of the presets.
impl Default for AqmName {
    fn default() -> AqmName {
        AqmName(AqmChoice::FairQueueing(AqmKind::CoDel))
    }
}

/// The presets of fair queueing: name, algorithm, and one sentence.
const FAIR_QUEUEING: [(&str, AqmKind, &str); 2] = [
    (
        "fq-codel",
        AqmKind::CoDel,
        "`codel` on each of 1024 queues, which take turns, with sparse flows first (RFC 8290): writes `queues`, `queue_scheduler` and `buffer` unless they are given",
    ),
    ("fq-pie", AqmKind::Pie, "`pie` on each of 1024 queues, which take turns as under `fq-codel`"),
];

leaf! {
    AqmName,
    "AQM",
    "an AQM",
    (AqmKind::ALL.iter().map(|&kind| (kind.name(), AqmName(AqmChoice::Alone(kind)), kind.summary())))
        .chain(FAIR_QUEUEING.map(|(name, kind, meaning)| (name, AqmName(AqmChoice::FairQueueing(kind)), meaning)))
        .collect::<Vec<_>>()
}

/// How a connection takes part in ECN: a name, or true for `classic` and false for `off`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnName(pub EcnMode);

impl Leaf for EcnName {
    const NAME: &'static str = "ECN mode";
    fn schema() -> Value {
        let meanings: Map<String, Value> = EcnMode::ALL.iter().map(|mode| (mode.name().to_owned(), mode.summary().into())).collect();
        let names: Vec<&str> = EcnMode::ALL.iter().map(|mode| mode.name()).collect();
        json!({ "anyOf": [{ "type": "boolean" }, { "enum": names }], MEANINGS: meanings })
    }
    fn read(scalar: &Scalar<'_>) -> Result<EcnName, String> {
        match scalar {
            Scalar::Boolean(true) => Ok(EcnName(EcnMode::Classic)),
            Scalar::Boolean(false) => Ok(EcnName(EcnMode::Off)),
            _ => {
                let known: Vec<_> = EcnMode::ALL.iter().map(|&mode| (mode.name(), EcnName(mode))).collect();
                one_of(scalar, "an ECN mode", &known).map_err(|problem| format!("{problem}; or true or false"))
            }
        }
    }
}

named! {
    /// Which values of the axes of a sweep belong to one point.
    DesignName(Design), "design of a sweep", "a design of sweeps" {
        "grid" => Design::Grid, "every value of each axis with every value of the others";
        "zipped" => Design::Zipped, "the first values of all axes, the second ones, and so on";
        "latin-hypercube" => Design::LatinHypercube, "`points` are drawn, one in every equal part of every axis";
        "random" => Design::Random, "`points` are drawn independently";
    }

    /// How paths of equal weight are used.
    EqualPathsName(EqualPaths), "use of equal paths", "a use of equal paths" {
        "first" => EqualPaths::First, "the one whose links come first in the file, with a warning";
        "flow" => EqualPaths::Flow, "each flow takes one, by a hash of its name, addresses, protocol and ports at every node (ECMP)";
        "packet" => EqualPaths::Packet, "each packet takes one of up to 16, by a hash of its flow and its number (packet spraying)";
    }

    /// Which nodes flows of one table are between.
    PairsName(Pairs), "choice of pairs", "a choice of pairs" {
        "random" => Pairs::Random, "each flow has a start and an end at random, by the seed of the simulation";
        "permutation" => Pairs::Permutation, "each node sends to one other and receives from one other, at random";
        "all-to-one" => Pairs::AllToOne, "the nodes of `from` in turn send to the one node of `to`";
    }

    /// Between which nodes the connections of a workload are.
    HostsName(Hosts), "choice of hosts", "a choice of hosts" {
        "random" => Hosts::Random, "each connection draws a sender and a receiver, which differ";
        "permutation" => Hosts::Permutation, "each node sends to one other, drawn once by the seed of the simulation; each connection draws a sender";
        "all-to-one" => Hosts::AllToOne, "each connection draws a sender, and ends at the one node of `to`";
        "incast" => Hosts::Incast, "rounds: a receiver is drawn, and `senders` nodes begin to send to it at one instant";
    }

    /// The shape of a generated network.
    TopologyKindName(TopologyKind), "kind of topology", "a kind of topology" {
        "star" => TopologyKind::Star, "hosts `host-1`, ... around one `switch`";
        "dumbbell" => TopologyKind::Dumbbell, "hosts `left-1`, ... at the switch `left`, hosts `right-1`, ... at `right`, and one link between the two";
        "parking-lot" => TopologyKind::ParkingLot, "`switch-1`, ... in a row, each with hosts";
        "leaf-spine" => TopologyKind::LeafSpine, "hosts at `leaf-1`, ..., each of which is connected to every `spine-1`, ...";
        "fat-tree" => TopologyKind::FatTree, "k pods of k/2 switches `edge-1`, ... with k/2 hosts each and k/2 switches `agg-1`, ..., below (k/2)^2 switches `core-1`, ...";
        "graphml" => TopologyKind::GraphMl, "the graph of a file, such as a wide-area network: a node for each of its nodes, a link in each direction for each of its edges";
    }

    /// How a trace of rates is written.
    TraceFormatName(TraceFormat), "format of a trace", "a format of traces" {
        "rates" => TraceFormat::Rates, "each line has an instant in seconds and a rate in bits per second, which holds until the next line; 0 is an outage";
        "mahimahi" => TraceFormat::Mahimahi, "each line has an instant in milliseconds at which one `opportunity` has been carried; it repeats at the last line";
    }

    /// An ATM conformance definition.
    ConformanceName(Conformance), "conformance definition", "a conformance definition" {
        "cbr.1" => Conformance::Cbr1, "every packet within the peak rate";
        "vbr.1" => Conformance::Vbr1, "every packet within the peak rate and the sustained rate";
        "vbr.2" => Conformance::Vbr2, "every packet within the peak rate, green ones also within the sustained rate";
        "vbr.3" => Conformance::Vbr3, "as vbr.2, but green packets above the sustained rate are marked yellow instead of dropped";
        "ubr.1" => Conformance::Ubr1, "every packet within the peak rate";
        "ubr.2" => Conformance::Ubr2, "every packet within the peak rate, and every packet is marked yellow";
        "gfr.1" => Conformance::Gfr1, "every packet within the peak rate, in the colour of its frame's first, in a frame that is not too long";
        "gfr.2" => Conformance::Gfr2, "as gfr.1, and green frames above the minimum rate are marked yellow";
    }
    /// A service of integrated services.
    ServiceClassName(ServiceClass), "service class", "a service class" {
        "guaranteed" => ServiceClass::Guaranteed, "a rate, and a bound on the delay (RFC 2212)";
        "controlled-load" => ServiceClass::ControlledLoad, "a rate out of what guaranteed service leaves (RFC 2211)";
        "best-effort" => ServiceClass::BestEffort, "what the other two leave";
    }
    /// The service that calls ask for.
    CallServiceName(Service), "service of calls", "a service" {
        "guaranteed" => Service::Guaranteed, "a rate at every link, and a bound on the delay (RFC 2212)";
        "controlled-load" => Service::ControlledLoad, "as on a lightly loaded link, admitted by measurement (RFC 2211)";
    }
    /// When requests come.
    ArrivalsName(CallArrivals), "arrivals of calls", "a kind of arrivals" {
        "poisson" => CallArrivals::Poisson, "at any time, whatever is under way: a Poisson process";
        "after-last" => CallArrivals::AfterLast, "for each place by itself, an exponential time after its last call has left or was refused";
        "permanent" => CallArrivals::Permanent, "for every place once, at the start, without a test; they never leave";
    }
    /// When heads are stamped.
    StampingName(Stamping), "rule of stamps", "a rule of stamps" {
        "keep" => Stamping::Keep, "a packet that follows on another starts at the virtual finish of that one, so that a late flow catches up";
        "literal" => Stamping::Literal, "no packet starts before it is the head of its queue, so that a late flow loses its lateness";
    }
    /// What a packet out of profile costs its flow.
    OutOfProfileName(OutOfProfile), "charge", "a charge" {
        "refund" => OutOfProfile::Refund, "nothing: the next packet has the same virtual start";
        "charge" => OutOfProfile::Charge, "as much as any other: the flow pays later for the idle capacity that it used";
    }
    /// Which packets leave marked.
    MarksName(Marks), "rule of marks", "a rule of marks" {
        "early" => Marks::Early, "packets that leave before their virtual start";
        "profile" => Marks::Profile, "those of them that the `profile` of the flow does not cover";
    }
    /// A code point of explicit congestion notification.
    CodePointName(Ecn), "code point of congestion notification", "a code point" {
        "not-ect" => Ecn::NotEct, "its transport does not react to marks";
        "ect0" => Ecn::Ect0, "ECT(0): its transport reacts to a mark as to a loss (RFC 3168)";
        "ect1" => Ecn::Ect1, "ECT(1): its transport is one of L4S (RFC 9331)";
        "ce" => Ecn::Ce, "congestion experienced: it has been marked";
    }
    /// What decides on the queue of a packet within its class.
    SpreadName(Spread), "spread over queues", "a way to spread packets" {
        "flow" => Spread::Flow, "a hash of addresses, protocol and ports";
        "code-point" => Spread::CodePoint, "the code point of congestion notification: `ect1` and `ce` to the second of two queues, the rest to the first";
    }
    /// The hosts that get equal shares.
    HostFairnessName(HostFairness), "host fairness", "a kind of host fairness" {
        "off" => HostFairness::Off, "none: flows get equal shares";
        "source" => HostFairness::Source, "those that packets come from";
        "destination" => HostFairness::Destination, "those that packets go to";
        "both" => HostFairness::Both, "both: a flow has the share that the busier of its two hosts leaves it";
    }
    /// The action on a packet outside its contract.
    ViolationName(Violation), "violation", "an answer to a violation" {
        "discard" => Violation::Discard, "the packet is dropped";
        "yellow" => Violation::Mark(Colour::Yellow), "the packet passes, marked yellow";
        "red" => Violation::Mark(Colour::Red), "the packet passes, marked red";
    }
    /// The action on a packet that has missed its deadline: true if it is dropped.
    LateName(bool), "late packets", "an answer to lateness" {
        "send" => false, "the packet stays and gets the next deadline";
        "drop" => true, "the packet is dropped, and the next one gets the next deadline";
    }
    /// The event that a deadline refers to.
    DeadlineName(Missed), "deadline", "what a deadline ends" {
        "complete" => Missed::Complete, "a slot has to end by the deadline";
        "start" => Missed::Start, "a slot has to begin by the deadline, which gives one slot more";
    }
    /// Whether there may be service before its period.
    EarlyName(Early), "early service", "an answer to earliness" {
        "allow" => Early::Allow, "any stream with a packet may be served ahead of its period, and the link never idles";
        "hold" => Early::Hold, "at most one slot per period, even if the link idles";
    }
    /// The unit of shares.
    SharesName(Shares), "measure of shares", "a measure of shares" {
        "bytes" => Shares::Bytes, "a slot is worth the bytes of the longest packet, so that shares are exact whatever the lengths";
        "packets" => Shares::Packets, "a slot is one packet, whatever its length";
    }
    /// The description of weighted buffer allocation to follow.
    ReadingName(Reading), "reading", "a reading of weighted buffer allocation" {
        "pseudo-code" => Reading::PseudoCode, "a tagged frame of a queue below its share may stay within the excess";
        "prose" => Reading::Prose, "a tagged frame of a queue below its share is refused";
    }
    /// What follows a burst of packets or cells.
    BucketName(Bucket), "bucket", "what follows a burst" {
        "single" => Bucket::Single, "single leaky bucket (SLB): after a burst each cell or packet leaves as soon as the bucket allows it";
        "dual" => Bucket::Dual, "dual leaky bucket (DLB): after a burst nothing leaves until the bucket is full again";
    }
    /// The connection that sends when several are due.
    ConflictName(Conflict), "conflict", "a conflict policy" {
        "lazy" => Conflict::Lazy, "the connection with the earliest planned time";
        "next-free" => Conflict::NextFree, "the connection that has booked the slot: the first free one when its cell was planned";
        "cdvt" => Conflict::Tolerance, "the connection with the earliest planned time plus CDVT";
        "priority" => Conflict::Priority, "the connection with the lowest priority number, then the earliest planned time";
    }
    /// What AAL5 carries before each frame.
    EncapsulationName(Encapsulation), "encapsulation", "an encapsulation" {
        "vc-multiplexed" => Encapsulation::VcMultiplexed, "nothing: each connection carries one protocol";
        "llc-snap" => Encapsulation::LlcSnap, "8 bytes of LLC/SNAP, which name the protocol";
    }
    /// How a machine's kernel schedules its path.
    KernelName(KernelKind), "kind of kernel", "a kind of kernel" {
        "interrupt" => KernelKind::Interrupt, "device interrupts receive, a software interrupt forwards";
        "polling" => KernelKind::Polling, "a thread per core polls the interfaces in turn, each packet to completion";
        "shares" => KernelKind::Shares, "processes for input, for each flow and for output share a core by WF2Q+ over the time they used";
    }
    /// The bus between a machine's interfaces and memory.
    BusName(BusKind), "kind of bus", "a kind of bus" {
        "pci" => BusKind::Pci, "a shared parallel bus: one transfer at a time, in either direction";
        "pcie" => BusKind::Pcie, "a serial link with a direction each way, in transaction-layer packets";
    }
    /// How a bus chooses among its agents.
    ArbiterName(Arbiter), "arbiter", "an arbiter" {
        "round-robin" => Arbiter::RoundRobin, "in turn, whatever the lengths";
        "wf2q+" => Arbiter::Wf2qPlus, "WF2Q+ among flows by their weights, one frame per choice";
    }
    /// The priority of work on a core.
    LevelName(Level), "level", "a level" {
        "interrupt" => Level::Interrupt, "the device interrupt, which preempts all other levels";
        "soft" => Level::Soft, "the software interrupt";
        "thread" => Level::Thread, "a kernel thread";
        "user" => Level::User, "a user process, the lowest level";
    }
    /// When noise comes.
    NoiseName(NoiseKind), "kind of noise", "a kind of noise" {
        "periodic" => NoiseKind::Periodic, "at every interval, from a random phase";
        "poisson" => NoiseKind::Poisson, "at any time, with the interval as the mean";
    }
    /// Where factors on costs come from.
    VariationName(VariationKind), "kind of variation", "a kind of variation" {
        "lognormal" => VariationKind::Lognormal, "lognormal with mean 1, with a part that all stages of a packet share";
        "rows" => VariationKind::Rows, "measured rows, one drawn per packet, so that its costs stay correlated";
    }
    /// When cells are fetched from host memory.
    PrefetchName(Prefetch), "prefetch", "a way to fetch cells" {
        "just-in-time" => Prefetch::JustInTime, "as late as the access latency allows";
        "demand" => Prefetch::Demand, "when the adapter has no cell of the connection";
        "whole-pdu" => Prefetch::WholePdu, "whole frames as soon as they come and buffers are free";
    }
}

leaf! { SourceKind, "kind of source", "a kind of source", SourceKind::ALL.iter().map(|&kind| (kind.name(), kind, kind.summary())).collect::<Vec<_>>() }

/// The reaction to a policy that cannot keep its windows and deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Admission {
    /// A warning.
    #[default]
    Warn,
    /// An error.
    Refuse,
}

leaf! { Admission, "admission", "an answer to infeasibility", [
    ("warn", Admission::Warn, "the policy is used, with a warning"),
    ("refuse", Admission::Refuse, "the policy is refused"),
] }

/// How the on and off periods of a source are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Exponential.
    Exponential,
    /// Pareto.
    Pareto,
    /// All of one length.
    Constant,
}

leaf! { Holding, "distribution", "a distribution", [
    ("exponential", Holding::Exponential, "periods without memory"),
    ("pareto", Holding::Pareto, "mostly short periods and a few very long ones; the sum of many such sources is self-similar"),
    ("constant", Holding::Constant, "periods that are all the same"),
] }

#[cfg(test)]
mod tests;
