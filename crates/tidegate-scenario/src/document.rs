//! The tables of a scenario or policy file, exactly as they are written. The comments, defaults and examples here are the text of the schema
//! and of the reference. Rules about more than one value are in other files.

use crate::choice::{
    BucketName, BufferName, CodePointName, ConformanceName, EqualPathsName, NodeReading, PairsName, PolicerName, PresetName, ReadingName,
    SchedulerName, TinsName, ViolationName,
};
use crate::header::{Dscp, EthernetType, PortRange, Prefix, Protocol};
use crate::overhead::Overhead;
use crate::sweep::SweepTable;
use crate::units::{Limit, Ratio};
use crate::value::{AlphaFactor, At, Block, Bytes, Name, Named, Packets, Percentile, Text, Title, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::classifier::{FlagPattern, LengthRange, MacPattern};
use tidegate_core::units::{Duration, Rate};

mod aqm;
mod calls;
mod cells;
mod direction;
mod failure;
mod link;
mod member;
mod preset;
mod scheduler;
mod set;
mod source;
mod topology;
mod workload;

pub use aqm::{AqmTable, RedCurveTable, RedCurvesTable};
pub use calls::{AdmissionTable, CallsTable};
pub use cells::{CellContractTable, CellsTable, TransferTable};
pub use direction::{Direction, PolicyName};
pub use failure::FailureTable;
pub use link::{GilbertElliottTable, LinkTable, PauseTable, PolicyLinkTable, RatesTable, ReorderTable};
pub use member::{ClassTable, GroupTable, MemberKeys};
pub use preset::{PlanTable, SiteTable, SubscriberTable};
pub use scheduler::{DwcsTable, IntServTable, ProfileTable};
pub use set::{ColourSetTable, SetTable};
pub use source::SourceTable;
pub use topology::{TierTable, TopologyTable};
pub use workload::WorkloadTable;

/// A scenario file: one or more policies, the links they govern and the traffic that crosses them. Without `simulation`, `link` and
/// `flow` it is a policy file, for replay and live use.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Tidegate scenario or policy")]
pub struct File {
    /// What the file shows, in a few words; reports carry it.
    #[schemars(extend("default" = "the file's name", "examples" = ["Voice, video and bulk on one access link"]))]
    pub title: Option<At<Title>>,
    /// Other files whose tables and lists are added to those of this one, by names relative to its folder; the last part of a name may have `*`.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(extend("default" = [], "examples" = [["plans.toml", "sites/*.toml"]]))]
    pub include: Vec<At<Text>>,
    /// What to look for in the results, in a few sentences; reports carry it.
    pub description: Option<At<Text>>,
    /// How long and how often to simulate. A file with flows needs it.
    pub simulation: Option<Block<SimulationTable>>,
    /// Variants of the file, simulated one after the other and compared in one report. Without any, the file itself is simulated.
    pub variant: Vec<Block<VariantTable>>,
    /// Changes of policies while the file runs, each at one instant: simulated, in a replay at the time of the capture. What is not changed
    /// goes on: classes of the same name keep their queues, the state of their scheduler, their tokens and their counters.
    pub change: Vec<Block<ChangeTable>>,
    /// Templates by name: tables whose texts may have holes like `{rate}`. Classes and groups `use` them.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "shop": { "queues": 64, "shape": { "rate": "{rate}" } } }]))]
    pub template: Ignored,
    /// The policies, by name: `[policy.access]`.
    #[schemars(extend("additionalProperties" = {
        "$ref": "#/$defs/PolicyTable",
        "anyOf": [{ "required": ["rate"] }, { "required": ["down", "up"] }],
    }))]
    pub policy: Named<PolicyTable>,
    /// Networks that are generated, by name: `[topology.dc]`. Their links come behind those of the file.
    pub topology: Named<TopologyTable>,
    /// The links, each in one direction. Nodes exist by being named here.
    pub link: Vec<Block<LinkTable>>,
    /// The flows: sources of packets and their paths.
    pub flow: Vec<Block<FlowTable>>,
    /// The workloads: TCP connections that arrive by themselves.
    pub workload: Vec<Block<WorkloadTable>>,
    /// Links and nodes that fail while the simulation runs.
    pub failure: Vec<Block<FailureTable>>,
    /// What `tidegate sweep` varies.
    pub sweep: Option<Block<SweepTable>>,
}

/// How long and how often to simulate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulationTable {
    /// The simulated time, warm-up included.
    #[schemars(extend("examples" = ["30 s"]))]
    pub duration: At<Duration>,
    /// The time at the beginning that results leave out, so that they do not depend on the empty start. Shorter than `duration`.
    #[schemars(extend("default" = "0 s", "examples" = ["2 s"]))]
    pub warm_up: Option<At<Duration>>,
    /// The seed of all random numbers. The same seed gives the same results, bit for bit.
    #[schemars(extend("default" = 1))]
    pub seed: Option<At<Whole<0, { i64::MAX as u64 }>>>,
    /// The number of independent repetitions, from which the 95 % confidence intervals are computed.
    #[schemars(extend("default" = 1, "examples" = [5]))]
    pub replications: Option<At<Whole<1, 100_000>>>,
    /// The time between two points of the curves over time. Where there are more than 10,000 flows, these have curves, and distributions of delay and jitter,
    /// only if it is given.
    #[schemars(extend("default" = "a hundredth of what is left of the duration after the warm-up", "examples" = ["100 ms"]))]
    pub sample: Option<At<Duration>>,
    /// How flows that name `from` and `to`, and connections of workloads, use several paths of the least weight.
    #[schemars(extend("default" = "first; flow if the file has a `topology`, a `workload` or `pairs`"))]
    pub equal_paths: Option<At<EqualPathsName>>,
}

/// A variant of the file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantTable {
    /// Its name in the report. The promises of the first variant decide the exit code.
    #[schemars(extend("examples" = ["without the policy"]))]
    pub name: At<Name>,
    /// What it changes: values by dotted key, in which the name of a list's element stands for the element.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "nothing", "examples" = [{ "link.access.policy": "plain" }]))]
    pub set: Ignored,
}

/// A change of policies at one instant. What is removed goes first, then what is added comes, then values are set.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeTable {
    /// When it takes place: simulated time, the time since the first packet of a capture, or live the time since the start. Changes of one instant are made in the order of the file.
    #[schemars(extend("examples" = ["5 s"]))]
    pub at: At<Duration>,
    /// Values that are other from then on: by dotted key, as in the `set` of a variant.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "nothing", "examples" = [{ "policy.access.class.video.rate": "3 Mbit/s" }]))]
    pub set: Ignored,
    /// Tables that are new from then on, written below `change.add` as they would be in the file: `[[change.add.policy.access.class]]`. A class comes
    /// behind the others, but before one without `match`.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "nothing"))]
    pub add: Ignored,
    /// What is gone from then on: classes, groups, or keys, whose defaults hold again.
    #[serde(default)]
    #[schemars(extend("default" = [], "examples" = [["policy.access.class.old"]]))]
    pub remove: Vec<At<Text>>,
}

/// Read from the file's tree, because its keys are paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignored;

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Ignored, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Ignored)
    }
}

/// The schema of a table with any keys.
fn changes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "additionalProperties": true })
}

/// What one output port does with its packets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyTable {
    /// Repeats the policy for each value of its variables: `[policy."port-{i}"]`. Texts of the whole table have holes; its lists have no loops of their own then.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: Ignored,
    /// A preset: a whole node in a few lines. It writes the scheduler, the partitions, and keys of classes; what the file says itself stays.
    /// `tidegate check` prints the policy that results.
    #[schemars(extend("default" = "none: the policy is what the file says"))]
    pub kind: Option<At<PresetName>>,
    /// For `kind = "intserv"`: whether the node has what repairs the losses of conforming flows.
    #[schemars(extend("default" = "repaired"))]
    pub reading: Option<At<NodeReading>>,
    /// For `kind = "intserv"`: the part of the rate that guaranteed and controlled-load classes may reserve together, and that admission gives to calls.
    #[schemars(extend("default" = "90 %", "examples" = ["80 %"]))]
    pub utilisation: Option<At<Ratio>>,
    /// For `kind = "home"` and `kind = "subscribers"`: divides the traffic, or that of each subscriber, by code points, into classes that share the link by weight.
    #[schemars(extend("default" = "none: one class for all"))]
    pub tins: Option<At<TinsName>>,
    /// For `kind = "home"` and `kind = "subscribers"`: whether packets that `fq-codel` drops count as sent, since they have crossed the bottleneck already:
    /// `ingress` of the `aqm` of each class that names none. For a direction whose bottleneck is before this port, which is usually `down`.
    #[schemars(extend("default" = false))]
    pub ingress: Option<At<bool>>,
    /// For `kind = "subscribers"`: the subscribers, a class for each.
    #[serde(default)]
    pub subscriber: Vec<Block<SubscriberTable>>,
    /// For `kind = "subscribers"`: a list of subscribers, a CSV file beside this one. Its first line names the columns: `id`, `addresses` (separated by
    /// spaces), and `down`, `up`, `plan` and `site` as in `subscriber`. Those of the file itself come first.
    #[schemars(extend("default" = "none", "examples" = ["subscribers.csv"]))]
    pub subscribers: Option<At<Text>>,
    /// For `kind = "subscribers"`: the plans that subscribers name.
    #[serde(default)]
    pub plan: Vec<Block<PlanTable>>,
    /// For `kind = "subscribers"`: the sites that subscribers are at.
    #[serde(default)]
    pub site: Vec<Block<SiteTable>>,
    /// The rate of the link behind the port. A link may override it.
    #[schemars(with = "Option<At<Rate>>", extend("default" = "**required**, but for `down` and `up` with rates of their own", "examples" = ["10 Mbit/s"]))]
    pub rate: At<Rate>,
    /// Makes this, with `up`, a policy of two directions: the rate towards the users of an access link, or a table with any keys of a policy that are other in
    /// this direction. All else holds in both: links and commands name `NAME.down` and `NAME.up`. Rules are those of packets on the way up. On the
    /// way down `source` and `destination` change places, and so do ports.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "direction::schema", extend("default" = "none: the policy has one direction", "examples" = ["95 Mbit/s"]))]
    pub down: Ignored,
    /// The same for the direction from the users. Its own classes are completed by name, and their rules are taken as they are written.
    #[serde(default)]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "direction::schema", extend("default" = "none: the policy has one direction", "examples" = [{ "rate": "19 Mbit/s" }]))]
    pub up: Ignored,
    /// What the link adds to every frame. Rates of policies are rates on the wire, with this overhead; buffers and sources count frames
    /// without it.
    #[schemars(extend("default" = "none", "examples" = ["ethernet"]))]
    pub overhead: Option<At<Overhead>>,
    /// The least that a frame takes on the wire, overhead included: `mpu` in Linux (minimum packet unit). For links that pad short frames.
    #[schemars(extend("default" = "84 B with `overhead = \"ethernet\"`, otherwise none", "examples" = ["64 B"]))]
    pub minimum_packet_unit: Option<At<Bytes>>,
    /// The longest frame the port accepts, without overhead; longer ones are dropped as oversize.
    #[schemars(extend("default" = "1518 B"))]
    pub longest_frame: Option<At<Bytes>>,
    /// The link behind the port, but for its rate and overhead: how long packets are on their way, and how many of them get lost. What holds
    /// at the port (limits, promises, statistics) ends where the link begins.
    #[schemars(extend("default" = "no delay, no loss", "examples" = [{ "delay": "15 ms", "loss": "0.1 %" }]))]
    pub link: Option<Block<PolicyLinkTable>>,
    /// The most packets the buffer of the policy can hold, whatever that allows: memory is set aside for them. Of two limits in packets the smaller
    /// holds. Buffers of classes and groups of their own come on top.
    #[schemars(extend("default" = "the buffer's limit if it is in packets, otherwise one packet per 64 bytes of it, at most a million"))]
    pub packet_limit: Option<At<Packets>>,
    /// The buffer of all classes without one of their own, and the rule by which packets are kept or dropped.
    #[schemars(extend("default" = "tail-drop of what the link sends in 100 ms, at least 16 longest frames"))]
    pub buffer: Option<Block<BufferTable>>,
    /// Partitions by name: buffers that several classes share and that nothing else uses. A class names the one that it is in.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "voice": { "manager": "selective-pushout", "limit": "60 kB" } }]))]
    pub partition: Named<BufferTable>,
    /// The order of service among classes and groups directly below the link.
    #[schemars(extend("default" = "fifo"))]
    pub scheduler: Option<At<SchedulerName>>,
    /// The number of threads that carry the packets of the policy between two interfaces, each with some of the classes. Groups that may have a quarter of
    /// one worker's part or more are on all of them. Nothing is guaranteed then; shares hold within 1 % while classes are backlogged. A simulation models
    /// them; in a replay one worker has the whole link.
    #[schemars(extend("default" = 1, "examples" = [2]))]
    pub workers: Option<At<Whole<1, 256>>>,
    /// With several `workers`: how often the rates at which they send are set anew, from 10 us to 100 ms.
    #[schemars(extend("default" = "150 us"))]
    pub exchange_every: Option<At<Duration>>,
    /// For `scheduler = "dwcs"`: what holds for all that it serves.
    #[schemars(extend("default" = { "deadline": "complete", "early": "allow", "shares": "bytes", "admission": "warn" }))]
    pub dwcs: Option<Block<DwcsTable>>,
    /// For `scheduler = "intserv"` and `scheduler = "svc"`: what holds for all that it serves.
    #[schemars(extend("default" = { "stamp": "keep", "out_of_profile": "refund", "marks": "early" }))]
    pub intserv: Option<Block<IntServTable>>,
    /// The cell scheduler of an ATM adapter, in place of a scheduler of packets.
    #[schemars(extend("default" = "none: the port sends packets", "examples" = [{ "conflict": "lazy" }]))]
    pub cells: Option<Block<CellsTable>>,
    /// The classes, in the order in which their rules are tried. A class without `match` takes what no rule matched and must be the
    /// last; if there is none, a class named `default` is added.
    #[serde(default)]
    pub class: Vec<Block<ClassTable>>,
    /// The inner nodes of the scheduling tree. Without groups, all classes hang directly below the link.
    #[serde(default)]
    pub group: Vec<Block<GroupTable>>,
}

/// The buffer, and the rule by which packets are kept or dropped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferTable {
    /// The rule by which packets are kept or dropped.
    #[schemars(extend("default" = "tail-drop"))]
    pub manager: Option<At<BufferName>>,
    /// The size of the buffer, which all classes that use it share, in bytes of frames or in packets. It counts what waits, not the packet in transmission.
    /// The rate of a node is that of the innermost shape above it, or the policy's; a change of either at run time changes the default with it, and the
    /// `rates` of a link do not.
    #[schemars(extend("default" = "what its node sends in 100 ms, at least 16 longest frames; `packet_limit` if that is given", "examples" = ["250 kB"]))]
    pub limit: Option<At<Limit>>,
    /// For `dynamic-threshold`: a queue may grow to this multiple of the free part of the buffer. A power of two.
    #[schemars(extend("default" = 1, "examples" = [0.5]))]
    pub alpha: Option<At<AlphaFactor>>,
    /// For the managers of frames: the part of the buffer from which on frames may be refused (R).
    #[schemars(extend("default" = "90 %; 50 % for `weighted-buffer-allocation`", "examples" = ["80 %"]))]
    pub threshold: Option<At<Ratio>>,
    /// For `tag-sensitive`: the part of the buffer from which on tagged frames are refused.
    #[schemars(extend("default" = "50 %", "examples" = ["30 %"]))]
    pub tagged_threshold: Option<At<Ratio>>,
    /// For the managers that share the buffer: how much of an equal share a queue may take (Z). Exact to 0.0001 %.
    #[schemars(extend("default" = "80 %", "examples" = ["100 %"]))]
    pub scaling: Option<At<Ratio>>,
    /// For `weighted-buffer-allocation`: which of its two descriptions is followed.
    #[schemars(extend("default" = "pseudo-code"))]
    pub reading: Option<At<ReadingName>>,
    /// For `selective-pushout-plus`: whether departures update the register of the quasi-longest queue, as arrivals do.
    #[schemars(extend("default" = true))]
    pub departure_updating: Option<At<bool>>,
    /// For `selective-pushout` and `selective-pushout-plus`: the seed of the lots that choose among queues with marked packets.
    #[schemars(extend("default" = 1))]
    pub seed: Option<At<Whole<0, { i64::MAX as u64 }>>>,
    /// For `fattest-flow`: the most packets that the flow with the most bytes loses at once.
    #[schemars(extend("default" = 64))]
    pub batch: Option<At<Whole<1, { u32::MAX as u64 }>>>,
}

/// A rule: every field that is given must match. At least one is given. A list in place of a value matches what any of its values matches, and an
/// address may be a range such as `"10.0.0.1-10.0.0.99"`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    /// Differentiated services code point, 0 to 63 or a name such as `ef`, `af41` or `cs5`.
    #[schemars(extend("examples" = ["ef"]))]
    pub dscp: Option<At<Dscp>>,
    /// Code point of congestion notification (RFC 3168). A packet that a router before has marked has `ce`, whatever it was sent with.
    #[schemars(extend("examples" = ["ect1"]))]
    pub ecn: Option<Box<At<CodePointName>>>,
    /// Transport protocol, 0 to 255 or a name.
    #[schemars(extend("examples" = ["udp"]))]
    pub protocol: Option<Box<At<Protocol>>>,
    /// Source address or prefix, IPv4 or IPv6.
    #[schemars(extend("examples" = ["10.0.0.0/8"]))]
    pub source: Option<At<Prefix>>,
    /// Destination address or prefix, IPv4 or IPv6.
    #[schemars(extend("examples" = ["2001:db8::/32"]))]
    pub destination: Option<At<Prefix>>,
    /// Source port, or a range of them. Packets without ports (such as later fragments) never match.
    #[schemars(extend("examples" = [53]))]
    pub source_port: Option<Box<At<PortRange>>>,
    /// Destination port, or a range of them. Packets without ports (such as later fragments) never match.
    #[schemars(extend("examples" = ["16384-32767"]))]
    pub destination_port: Option<Box<At<PortRange>>>,
    /// True for fragments of IP datagrams only, false for whole datagrams only.
    pub fragment: Option<Box<At<bool>>>,
    /// VLAN identifier of the outermost tag.
    #[schemars(extend("examples" = [100]))]
    pub vlan: Option<Box<At<Whole<0, 4095>>>>,
    /// Priority code point of the outermost VLAN tag.
    pub vlan_priority: Option<Box<At<Whole<0, 7>>>>,
    /// Ethernet type, after any VLAN tags, as a number or a name.
    #[schemars(extend("examples" = ["arp"]))]
    pub ethernet_type: Option<Box<At<EthernetType>>>,
    /// Outermost MPLS label.
    pub mpls_label: Option<Box<At<Whole<0, 1_048_575>>>>,
    /// Traffic class of the outermost MPLS label.
    pub mpls_traffic_class: Option<Box<At<Whole<0, 7>>>>,
    /// Length of the frame, or a range of lengths, both ends included: from the Ethernet header to the end of the payload, without check sequence and
    /// preamble, as buffers and counters count it. Without Ethernet, from the first byte of the capture.
    #[schemars(extend("examples" = ["0-128 B"]))]
    pub length: Option<Box<At<LengthRange>>>,
    /// VLAN identifier of the second tag, counted from outside.
    #[schemars(extend("examples" = [7]))]
    pub inner_vlan: Option<Box<At<Whole<0, 4095>>>>,
    /// Source address of the Ethernet frame: one, a prefix, or a mask behind a slash.
    #[schemars(extend("examples" = ["02:00:5e:10:00:01"]))]
    pub source_mac: Option<Box<At<MacPattern>>>,
    /// Destination address of the Ethernet frame: one, a prefix, or a mask behind a slash. The example is every multicast.
    #[schemars(extend("examples" = ["01:00:00:00:00:00/01:00:00:00:00:00"]))]
    pub destination_mac: Option<Box<At<MacPattern>>>,
    /// Flow label of IPv6.
    #[schemars(extend("examples" = [74565]))]
    pub flow_label: Option<Box<At<Whole<0, 1_048_575>>>>,
    /// TCP flags that are set, and with `!` those that are clear, joined by `+`: `fin`, `syn`, `rst`, `psh`, `ack`, `urg`, `ece`, `cwr`, `ae`. Flags that
    /// are not named may be either. The example is the first packet of a connection.
    #[schemars(extend("examples" = ["syn+!ack"]))]
    pub tcp_flags: Option<Box<At<FlagPattern>>>,
    /// Exceptions: rules whose packets this one leaves to the rules behind it. They have no `not` themselves.
    #[schemars(extend("default" = "none", "examples" = [[{ "destination": "10.0.0.0/8" }, { "protocol": "tcp", "destination_port": 22 }]]))]
    pub not: Option<Box<Block<Vec<Block<RuleTable>>>>>,
}

/// The contract that arriving packets are held to, or under `tag` those that set out. Rates and bursts count bytes on the wire, overhead included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliceTable {
    /// The algorithm.
    pub policer: At<PolicerName>,
    /// The committed rate: CIR, or the sustained cell rate.
    #[schemars(extend("examples" = ["2 Mbit/s"]))]
    pub rate: At<Rate>,
    /// The committed burst: CBS, the most bytes that come ahead of `rate` after a silence. At least the longest frame with its overhead.
    #[schemars(extend("examples" = ["15 kB"]))]
    pub burst: Option<At<Bytes>>,
    /// The maximum burst size: MBS, the most bytes that come back to back at `peak_rate`. In place of `burst` for `dual-gcra`; for `gfr` and
    /// `gfr-tm41` the only one. At least the longest frame with its overhead.
    #[schemars(extend("examples" = ["15 kB"]))]
    pub maximum_burst: Option<At<Bytes>>,
    /// The peak rate: PIR, or the peak cell rate.
    pub peak_rate: Option<At<Rate>>,
    /// The peak burst: PBS.
    pub peak_burst: Option<At<Bytes>>,
    /// The rate in excess of the committed one: EIR.
    pub excess_rate: Option<At<Rate>>,
    /// The excess burst: EBS.
    pub excess_burst: Option<At<Bytes>>,
    /// The longest frame: MFS, for policers of frames.
    #[schemars(extend("default" = "the longest frame of the port, or of the source, with its overhead", "examples" = ["1219 B"]))]
    pub maximum_frame: Option<At<Bytes>>,
    /// How much earlier than its ideal time a packet may come because of jitter upstream: CDVT.
    #[schemars(extend("examples" = ["1 ms"]))]
    pub delay_variation_tolerance: Option<At<Duration>>,
    /// The ATM conformance definition.
    pub conformance: Option<At<ConformanceName>>,
    /// True if the colour of arriving packets counts; false to take them all for green.
    pub colour_aware: Option<At<bool>>,
    /// The action on a packet outside the contract.
    #[schemars(extend("default" = "discard; yellow for `gfr` and under `tag`"))]
    pub violation: Option<At<ViolationName>>,
}

/// The contract that leaving packets are delayed to keep. Rates and bursts count bytes on the wire, overhead included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShapeTable {
    /// The rate that is not exceeded in the long run.
    #[schemars(extend("examples" = ["4 Mbit/s"]))]
    pub rate: At<Rate>,
    /// The most bytes that leave ahead of that rate after a silence: the depth of a token bucket, which fills while the burst leaves. At least
    /// the longest frame with its overhead.
    #[schemars(extend("default" = "one longest frame", "examples" = ["15 kB"]))]
    pub burst: Option<At<Bytes>>,
    /// The maximum burst size: the most bytes that leave back to back at `peak_rate`, which it needs. In place of `burst`.
    #[schemars(extend("default" = "what `burst` comes to at `peak_rate`", "examples" = ["15 kB"]))]
    pub maximum_burst: Option<At<Bytes>>,
    /// The rate at which a burst leaves.
    #[schemars(extend("default" = "no limit: bursts leave as fast as the link takes them"))]
    pub peak_rate: Option<At<Rate>>,
    /// How late a packet may start, because the link was busy, without delaying those after it: CDVT.
    #[schemars(extend("default" = "the time of one longest frame on the link"))]
    pub delay_variation_tolerance: Option<At<Duration>>,
    /// What follows a burst. A burst ends with the packet after which the next one would have to wait for the bucket. With `dual`, a burst and its
    /// pause take as long as the bytes of the burst at `rate`.
    #[schemars(extend("default" = "single"))]
    pub bucket: Option<At<BucketName>>,
}

/// What is promised. Every value that is given must be kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromiseTable {
    /// The delay that the given percentile of packets stays within: at a port from arrival to the last bit sent, for a flow from its
    /// source to its end.
    #[schemars(extend("examples" = ["20 ms"]))]
    pub delay: Option<At<Duration>>,
    /// The percentile of packets that `delay` is promised to.
    #[schemars(extend("default" = 99, "examples" = [99.9]))]
    pub percentile: Option<At<Percentile>>,
    /// The largest share of packets that may be lost, for whatever reason.
    #[schemars(extend("examples" = ["0.1 %"]))]
    pub loss: Option<At<Ratio>>,
    /// The least rate delivered, counting frames without overhead.
    #[schemars(extend("examples" = ["1 Mbit/s"]))]
    pub rate: Option<At<Rate>>,
}

/// One flow, or several equal ones: a source of packets and its path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowTable {
    /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: Ignored,
    /// A name that no other flow has.
    #[schemars(extend("examples" = ["call"]))]
    pub name: At<Name>,
    /// The number of equal flows; they are named `call-1`, `call-2` and so on, and each has its own source port.
    #[schemars(extend("default" = 1))]
    pub count: Option<At<Whole<1, 100_000>>>,
    /// The node where it starts. The path of the least weight is taken, which is the one with the fewest links unless links have a `weight`;
    /// `equal_paths` of the simulation chooses among equals.
    pub from: Option<At<Name>>,
    /// The node where it ends.
    pub to: Option<At<Name>>,
    /// Makes `from` and `to` patterns with `*`, and gives each of the `count` flows its own start and end. Without `to` both are of `from`.
    #[schemars(extend("default" = "none: all have one start and one end", "examples" = ["permutation"]))]
    pub pairs: Option<At<PairsName>>,
    /// The links it takes, in order, instead of `from` and `to`.
    #[schemars(extend("examples" = [["first", "second"]]))]
    pub path: Option<Block<Vec<At<Name>>>>,
    /// For a `tcp` source: the links that acknowledgements take, in order.
    #[schemars(extend("default" = "the path of the least weight from the end to the start", "examples" = [["second-back", "first-back"]]))]
    pub back: Option<Block<Vec<At<Name>>>>,
    /// What is sent, and when.
    pub source: Block<SourceTable>,
    /// The header that classifiers see.
    #[schemars(extend("default" = "UDP over IPv4, or TCP for a `tcp` source", "examples" = [{ "dscp": "ef" }]))]
    pub header: Option<Block<HeaderTable>>,
    /// The contract to which the sender holds its own packets: it marks (tags) what is beyond, and discards nothing. Results then count what was
    /// tagged apart. Counted is what packets take on the first link of the path, with AAL5 where it carries cells.
    #[schemars(extend("default" = "none", "examples" = [{ "policer": "gfr", "rate": "2 Mbit/s", "peak_rate": "20 Mbit/s" }]))]
    pub tag: Option<Block<PoliceTable>>,
    /// The contract to which the sender delays its own packets, counted as in `tag`. Delays count from when a packet leaves the sender. Not for `tcp` and
    /// `greedy`.
    #[schemars(extend("default" = "none", "examples" = [{ "rate": "1 Mbit/s", "burst": "15 kB" }]))]
    pub shape: Option<Block<ShapeTable>>,
    /// Makes calls of the flow: it is there only while one is admitted and holds. Its `places` are flows in place of `count`.
    #[schemars(extend("default" = "none: the flow asks for nothing", "examples" = [{ "service": "guaranteed", "places": 16, "interval": "50 s", "hold": "100 s", "rate": "1 Mbit/s", "burst": "15 kB" }]))]
    pub calls: Option<Block<CallsTable>>,
    /// When it starts.
    #[schemars(extend("default" = "0 s"))]
    pub start: Option<At<Duration>>,
    /// When it stops.
    #[schemars(extend("default" = "never"))]
    pub stop: Option<At<Duration>>,
    /// What the flow is promised from end to end; reports say whether it was kept.
    #[schemars(extend("default" = "none"))]
    pub promise: Option<Block<PromiseTable>>,
}

/// The header that classifiers see. What is not given is UDP over IPv4 with addresses and a source port of the flow's own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeaderTable {
    /// Differentiated services code point, 0 to 63 or a name such as `ef`, `af41` or `cs5`.
    #[schemars(extend("default" = "default", "examples" = ["ef"]))]
    pub dscp: Option<At<Dscp>>,
    /// Transport protocol, 0 to 255 or a name.
    #[schemars(extend("default" = "udp, or tcp for a `tcp` source"))]
    pub protocol: Option<At<Protocol>>,
    /// Source address, IPv4 or IPv6.
    #[schemars(extend("default" = "10.x.y.z, by the number of the flow in the file"))]
    pub source: Option<At<Prefix>>,
    /// Destination address, of the same family as the source.
    #[schemars(extend("default" = "192.0.2.1, or 2001:db8::1 if the source is IPv6"))]
    pub destination: Option<At<Prefix>>,
    /// Source port; the flows of a `count` have this one and the following.
    #[schemars(extend("default" = 49152))]
    pub source_port: Option<At<Whole<0, 65535>>>,
    /// Destination port.
    #[schemars(extend("default" = 5000))]
    pub destination_port: Option<At<Whole<0, 65535>>>,
    /// Flow label of IPv6.
    #[schemars(extend("default" = "0 with IPv6"))]
    pub flow_label: Option<At<Whole<0, 1_048_575>>>,
    /// The TCP flags that are set, the same in every packet of the flow, those that open and close a connection included.
    #[schemars(extend("default" = "ack with TCP", "examples" = ["syn"]))]
    pub tcp_flags: Option<At<FlagPattern>>,
    /// Source address of the Ethernet frame.
    #[schemars(extend("default" = "none", "examples" = ["02:00:5e:10:00:01"]))]
    pub source_mac: Option<At<MacPattern>>,
    /// Destination address of the Ethernet frame.
    #[schemars(extend("default" = "none", "examples" = ["02:00:5e:10:00:02"]))]
    pub destination_mac: Option<At<MacPattern>>,
    /// VLAN identifier.
    #[schemars(extend("default" = "no tag"))]
    pub vlan: Option<At<Whole<0, 4095>>>,
    /// VLAN identifier of a second tag behind the first.
    #[schemars(extend("default" = "no second tag"))]
    pub inner_vlan: Option<At<Whole<0, 4095>>>,
    /// Priority code point of the VLAN tag.
    #[schemars(extend("default" = "0 with `vlan`"))]
    pub vlan_priority: Option<At<Whole<0, 7>>>,
    /// MPLS label.
    #[schemars(extend("default" = "no label"))]
    pub mpls_label: Option<At<Whole<0, 1_048_575>>>,
    /// Traffic class of the MPLS label.
    #[schemars(extend("default" = "0 with `mpls_label`"))]
    pub mpls_traffic_class: Option<At<Whole<0, 7>>>,
}
