//! What a run leaves behind: flows, ports, series, distributions and promises, in SI units.
//!
//! Every quantity names its unit in its field: `_bps` is bits per second, `_s` seconds, `_bytes` bytes; a ratio is a
//! plain number from 0 to 1. The types hold results only. They are filled in by the command that ran the traffic.
//! The writers of this crate read them, after [`Report::validate`].

use crate::bound::{BoundResult, ClassBound};
use crate::capture::CaptureResult;
use crate::class_pause::ClassPause;
pub use crate::estimate::Estimate;
use crate::failure::FailureResult;
use crate::queue_management::{AqmResult, SojournSummary};
use crate::workload::WorkloadResult;
use serde::Serialize;
use std::sync::Arc;

pub use crate::volume::Volume;

/// Everything one command measured, ready to be shown or written. Serialised, it is the head of `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What the scenario or policy calls itself; heads the page.
    pub title: String,
    /// Where time and packets came from.
    pub world: World,
    /// Name of the file that was run, as the user gave it.
    pub source: String,
    /// Seed of the random streams; `None` where nothing was random.
    pub seed: Option<u64>,
    /// Independent replications behind each estimate, at least 1.
    pub replications: u32,
    /// Length of one replication, warm-up included, in seconds.
    pub duration_s: f64,
    /// Start of each replication that was left out of the statistics, in seconds; at most `duration_s`.
    pub warm_up_s: f64,
    /// Version of Tidegate that made the report.
    pub tidegate_version: String,
    /// Remarks for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The captures that were read, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureResult>,
    /// One entry per variant; a single one for a replay or a live run.
    #[serde(skip)]
    pub runs: Vec<Run>,
}

impl Report {
    /// An empty report of one replication: fill in what applies and push the runs.
    pub fn new(title: impl Into<String>, world: World, source: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            world,
            source: source.into(),
            seed: None,
            replications: 1,
            duration_s: 0.0,
            warm_up_s: 0.0,
            tidegate_version: env!("CARGO_PKG_VERSION").to_owned(),
            notes: Vec::new(),
            captures: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Whether every promise of every run was kept (also true when nothing was promised).
    pub fn promises_kept(&self) -> bool {
        self.runs.iter().all(Run::promises_kept)
    }
}

/// Where the time and the packets of a run came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Virtual time, packets from sources.
    Simulation,
    /// Virtual time, packets from a capture.
    Replay,
    /// The machine's clock, packets from network interfaces.
    Live,
}

impl World {
    /// The name in `summary.json` and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulation => "simulation",
            Self::Replay => "replay",
            Self::Live => "live",
        }
    }
}

/// One variant of the experiment. Serialised, it is a part of its entry in `summary.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Run {
    /// Name of the variant, unique within the report, such as "with the policy".
    #[serde(skip)]
    pub name: String,
    /// What was promised to the flows, and whether it held.
    pub promises: Vec<PromiseResult>,
    /// Results end to end, one per flow, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// Results of each output port, in the order of the scenario.
    pub ports: Vec<PortResult>,
    /// Quantities over time.
    #[serde(skip)]
    pub series: Vec<Series>,
    /// Distributions of the flows' delay and jitter.
    #[serde(skip)]
    pub distributions: Vec<Distribution>,
    /// What became of calls: requests for admission. Empty if nothing asks for admission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallResult>,
    /// What became of connections that arrived by themselves. Empty without workloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadResult>,
    /// Changes of policies while it ran, in the order of their instants; live, those of one direction after the other. Empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeResult>,
    /// What failures of links took, in the order of the scenario. Empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureResult>,
    /// Jain's index of fairness over the goodputs of the TCP connections, 0 to 1, as the mean of each replication's; `None` with fewer than two.
    #[serde(skip)]
    pub tcp_fairness: Option<Estimate>,
    /// What each replication measured by itself, for `replications.parquet`: a row per replication and flow or port.
    #[serde(skip)]
    pub replications: Vec<ReplicationRow>,
}

impl Run {
    /// An empty run with a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether every promise of this run was kept (also true when nothing was promised).
    pub fn promises_kept(&self) -> bool {
        self.promises.iter().all(|promise| promise.kept)
    }
}

/// A change of policies while packets were queued. Counts are sums over the replications.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeResult {
    /// Its instant, in seconds from the start of the run.
    pub at_s: f64,
    /// What it changed: keys and tables of the file.
    pub what: Vec<String>,
    /// The port, where a run gives each its own changes; `None` for all ports of the file at once.
    pub port: Option<String>,
    /// What it did; `None` if the run ended before.
    pub done: Option<ChangeDone>,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeDone {
    /// Classes that went on.
    pub classes_kept: u32,
    /// Classes that came.
    pub classes_added: u32,
    /// Classes that went.
    pub classes_removed: u32,
    /// What stayed in its queue.
    pub kept: Volume,
    /// What moved to another queue.
    pub moved: Volume,
    /// What no class took.
    pub dropped: Volume,
    /// How long the port stood still, in seconds; `None` in virtual time, where it takes none.
    pub gap_s: Option<f64>,
}

/// Calls of one kind: requests for admission over a path. Counts are sums over the replications.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallResult {
    /// Their name, unique within the run.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that a link refused, by what was short there.
    pub refused: Vec<RefusalCount>,
    /// Those that found no place free.
    pub without_place: u64,
    /// The share of requests that were refused, 0 to 1; `None` without a request.
    pub blocking: Option<Estimate>,
    /// The mean number of calls that hold, over time.
    pub mean_held: Estimate,
    /// The longest delay that was promised to one of them, in seconds; `None` if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised_delay_s: Option<f64>,
    /// The longest delay of one of their packets, in seconds, where delays were promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_delay_s: Option<f64>,
}

/// Requests that one link refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusalCount {
    /// The link.
    pub port: String,
    /// The class that is short; `None` if admission knows no classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What was short, such as "rate".
    pub reason: String,
    /// How many.
    pub requests: u64,
    /// What the first of them needed, in `unit`.
    pub needs: u64,
    /// What there was for it, in `unit`.
    pub has: u64,
    /// "bit/s", "bit" or "ps".
    pub unit: &'static str,
    /// What would have been admitted in place of the first, each by itself; where admission can say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<String>,
}

/// What a row of a replication is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowScope {
    /// A flow.
    #[default]
    Flow,
    /// A port.
    Port,
    /// A workload.
    Workload,
}

impl RowScope {
    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Port => "port",
            Self::Workload => "workload",
        }
    }
}

/// What one replication measured of a flow, a port or a workload. What does not apply is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplicationRow {
    /// The number of the replication, from 1. With the report's seed it determines the random streams.
    pub replication: u32,
    /// What it is of.
    pub scope: RowScope,
    /// The name of that.
    pub name: String,
    /// What was offered, delivered (by a port: transmitted), lost, and under way or queued at the end.
    pub volumes: [Volume; 4],
    /// Delivered, by a port transmitted, by a workload offered as data, bits per second.
    pub throughput_bps: f64,
    /// Lost packets per packet offered; `None` if none was.
    pub loss: Option<f64>,
    /// Delays in seconds: mean, median, 99 %, 99.9 % and greatest; `None` for a port and if nothing was delivered.
    pub delay_s: Option<[f64; 5]>,
    /// Mean absolute difference between consecutive delays.
    pub jitter_s: Option<f64>,
    /// For a TCP connection: bits of data per second that arrived, each once.
    pub goodput_bps: Option<f64>,
    /// For a TCP connection: segments, those sent again, timeouts and recoveries.
    pub segments: Option<[u64; 4]>,
    /// For a port: the share of the time in which the line was busy, and mean and greatest number of queued bytes.
    pub port: Option<(f64, f64, u64)>,
    /// For a port that the far end of its link can pause: how long it did, in seconds, and how often; sums over the classes.
    pub pauses: Option<(f64, u64)>,
    /// For a workload: completion times in seconds, the mean and 99 %, and slowdowns likewise; `None` if no connection was complete.
    pub completions: Option<[f64; 4]>,
}

/// What became of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowResult {
    /// Name of the flow, unique within its run.
    pub name: String,
    /// Name of the group of equal flows that it belongs to; `None` for a flow of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Traffic class the flow was put into, if the policy has classes.
    pub class: Option<String>,
    /// Port at which the flow's class is defined, if there is one.
    pub port: Option<String>,
    /// What the source handed to the network.
    pub offered: Volume,
    /// What was delivered.
    pub sent: Volume,
    /// What was still under way at the end.
    pub queued: Volume,
    /// What was lost, by port and reason.
    pub drops: Vec<DropCount>,
    /// Delivered bits per second over the measured time.
    pub throughput_bps: Estimate,
    /// Lost packets over offered packets, 0 to 1.
    pub loss: Estimate,
    /// Delay of the delivered packets; `None` if none was delivered.
    pub delay: Option<DelaySummary>,
    /// What is proven of its delay, beside the largest one; `None` where nothing is derived from the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundResult>,
    /// What the two ends of a TCP connection did; `None` for any other flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpResult>,
    /// What the sender tagged and what it did not; `None` if it does not tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tagging: Option<TaggingResult>,
}

/// What became of the packets of a sender that tags, by the colour in which they set out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct TaggingResult {
    /// What the sender did not tag.
    pub untagged_offered: Volume,
    /// What arrived of it.
    pub untagged_sent: Volume,
    /// What the sender tagged.
    pub tagged_offered: Volume,
    /// What arrived of it.
    pub tagged_sent: Volume,
    /// Delivered bits per second of what was not tagged.
    pub untagged_bps: Estimate,
}

/// What the two ends of a TCP connection did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TcpResult {
    /// Bits of data per second that arrived, each once.
    pub goodput_bps: Estimate,
    /// Segments sent, again or for the first time.
    pub segments: u64,
    /// Of them, those sent again.
    pub retransmissions: u64,
    /// How often the retransmission timer fired.
    pub timeouts: u64,
    /// How often duplicate acknowledgements began a recovery.
    pub recoveries: u64,
    /// How often a congestion mark reduced the window.
    pub marks: u64,
    /// Mean round-trip time; `None` if none was measured.
    pub round_trip_s: Option<Estimate>,
    /// Mean congestion window; `None` if it was not sampled.
    pub cwnd_bytes: Option<Estimate>,
    /// Times of complete transfers; `None` if there was none.
    pub transfers: Option<TransferSummary>,
}

/// How long transfers took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransferSummary {
    /// How many were complete.
    pub count: u64,
    /// Mean time from the request, or from the first byte written, to the last byte delivered.
    pub mean_s: f64,
    /// Median.
    pub p50_s: f64,
    /// Time that 99 % of the transfers do not exceed.
    pub p99_s: f64,
    /// Longest time.
    pub max_s: f64,
}

/// Packets lost at one port for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DropCount {
    /// Port at which they were lost.
    pub port: String,
    /// Why, in the core's words, such as "queue full".
    pub reason: String,
    /// How many.
    pub volume: Volume,
}

impl DropCount {
    /// `volume` lost at `port` because of `reason`.
    pub fn new(port: impl Into<String>, reason: impl Into<String>, volume: Volume) -> Self {
        Self { port: port.into(), reason: reason.into(), volume }
    }
}

/// The delay of a flow's delivered packets, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelaySummary {
    /// Mean delay.
    pub mean_s: Estimate,
    /// Median, over the packets of all replications.
    pub p50_s: f64,
    /// Delay that 99 % of the packets of all replications do not exceed.
    pub p99_s: f64,
    /// Delay that 99.9 % of the packets of all replications do not exceed.
    pub p999_s: f64,
    /// Half width of the 95 % interval of `p50_s`, from the medians of the replications (Student t); `None` with one replication.
    pub p50_half_width_s: Option<f64>,
    /// The same for `p99_s`.
    pub p99_half_width_s: Option<f64>,
    /// The same for `p999_s`.
    pub p999_half_width_s: Option<f64>,
    /// Largest delay seen.
    pub max_s: f64,
    /// Mean absolute difference between the delays of consecutive packets: RFC 3550's jitter without its smoothing.
    pub jitter_s: Estimate,
    /// Difference that 99 % of the pairs of consecutive packets do not exceed.
    pub jitter_p99_s: f64,
    /// Largest difference seen.
    pub jitter_max_s: f64,
}

/// What became of the packets at one output port.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortResult {
    /// Name of the port, unique within its run.
    pub name: String,
    /// Line rate, bits per second.
    pub rate_bps: u64,
    /// What arrived at the port.
    pub offered: Volume,
    /// What the port put on the line.
    pub sent: Volume,
    /// What was still in its queues at the end.
    pub queued: Volume,
    /// What it dropped, by reason.
    pub drops: Vec<DropCount>,
    /// What it marked as CE; a part of `offered`, counted only if it was not marked before.
    pub ce_marked: Volume,
    /// Share of the measured time in which the line was busy, 0 to 1.
    pub utilisation: Estimate,
    /// Mean of the queued bytes over time.
    pub occupancy_mean_bytes: f64,
    /// Largest number of queued bytes.
    pub occupancy_max_bytes: u64,
    /// The port's classes, in the order of the policy; empty if it has none.
    pub classes: Vec<ClassResult>,
    /// What the kernel counted in front of a live port; `None` in every other world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelResult>,
}

/// What the kernel counted in front of a live port: frames, a super-frame counting once. Frames that it dropped are part of no other figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct KernelResult {
    /// Frames handed over.
    pub received_frames: u64,
    /// Frames lost before they were read.
    pub dropped_frames: u64,
}

/// One traffic class at a port.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClassResult {
    /// Name of the class, unique within its port.
    pub name: String,
    /// What arrived for the class.
    pub offered: Volume,
    /// What was put on the line.
    pub sent: Volume,
    /// What was still queued at the end.
    pub queued: Volume,
    /// What was dropped, by reason.
    pub drops: Vec<DropCount>,
    /// What a policer marked or tagged; part of `offered`, whatever became of it afterwards.
    pub marked: Volume,
    /// What was marked as CE; part of `offered`, counted only if it was not marked before.
    pub ce_marked: Volume,
    /// How long what was sent had been queued; `None` if nothing was sent.
    pub sojourn: Option<SojournSummary>,
    /// Its AQM; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmResult>,
    /// What happened to the class's cells; `None` where the port sends packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellResult>,
    /// What is proven of its delay, beside what was measured; `None` without a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<ClassBound>,
    /// How the far end of the link paused it; `None` if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<ClassPause>,
}

/// What happened to the cells of one class at the port of an ATM adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CellResult {
    /// Cells put on the line.
    pub sent: u64,
    /// Cells that left later than their planned time and the cell delay variation tolerance.
    pub cdvt_exceeded: u64,
    /// Cells that a policer of the contract refuses.
    pub nonconforming: u64,
    /// Times a connection was due and the adapter had no cell of it.
    pub underruns: u64,
    /// Transfers from host memory.
    pub transfers: u64,
}

/// What a [`Series`] measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// Delivered bits per second of a flow, averaged since the point before.
    Throughput,
    /// Queued bytes of a port or of a port's class.
    Occupancy,
    /// Dropped packets per second, by reason, averaged since the point before.
    Drops,
    /// Congestion window of a TCP connection in bytes, averaged since the point before.
    Cwnd,
}

impl SeriesKind {
    /// The name in `summary.json` and `series.parquet`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Occupancy => "occupancy",
            Self::Drops => "drops",
            Self::Cwnd => "cwnd",
        }
    }
}

/// One quantity over time: `values[i]` was measured at `times_s[i]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What is measured, and with it the unit of the values.
    pub kind: SeriesKind,
    /// Flow, port, "port / class" or reason.
    pub name: String,
    /// Seconds since the start of the run, never decreasing. The series of one run mostly share them.
    pub times_s: Arc<[f64]>,
    /// As many as there are times, in the kind's unit.
    pub values: Vec<f64>,
}

/// What a [`Distribution`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistributionKind {
    /// Delays of packets.
    Delay,
    /// Absolute differences between the delays of consecutive packets.
    Jitter,
}

impl DistributionKind {
    /// The name in `distributions.parquet`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Jitter => "jitter",
        }
    }
}

/// The tail of a flow's delay or jitter: `ccdf[i]` of the packets had more than `values_s[i]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// What it is of.
    pub kind: DistributionKind,
    /// Name of the flow.
    pub flow: String,
    /// Values in seconds, never decreasing.
    pub values_s: Vec<f64>,
    /// P(value > x), from 1 down to 0, never increasing; as many as there are values.
    pub ccdf: Vec<f64>,
}

/// One promise to one flow, and what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromiseResult {
    /// Name of the flow.
    pub flow: String,
    /// What was promised, such as "delay p99 at most 20 ms".
    pub promise: String,
    /// What was measured, such as "12.4 ms".
    pub measured: String,
    /// Whether the promise held.
    pub kept: bool,
}
