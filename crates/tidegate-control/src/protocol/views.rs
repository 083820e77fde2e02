//! What a bridge shows: its queues, the flows that send most, its rules, and copies of packets.

use serde::{Deserialize, Serialize};

/// The queues of both directions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Queues {
    /// By direction.
    pub directions: Vec<DirectionQueues>,
}

/// The queues of one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionQueues {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// By class, those with the most queued bytes first.
    pub classes: Vec<QueueStatus>,
    /// How many more matched, and are left out because of the limit.
    pub left_out: usize,
}

/// What the queues of a class hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The class.
    pub class: String,
    /// How many queues it has.
    pub queues: u32,
    /// How many of them hold packets.
    pub backlogged: u32,
    /// Packets in all of them.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The packets in the queue with the most bytes.
    pub longest_packets: u32,
    /// Its bytes.
    pub longest_bytes: u32,
    /// How long the oldest packet has waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_s: Option<f64>,
    /// The backlogged queues in which its AQM signals because delays have stayed above its target, or which are beyond its threshold.
    pub signalling: u32,
    /// The highest probability, in a backlogged queue and of any colour, with which its AQM signals; of those that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Packets that its AQM has marked since the start.
    pub ecn_marked: u64,
    /// Packets that its AQM has dropped since the start.
    pub congestion_dropped: u64,
    /// Its limits and its AQM, in words.
    pub limits: String,
}

/// The flows of both directions that sent most.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Flows {
    /// By direction.
    pub directions: Vec<DirectionFlows>,
}

/// The flows of one direction that sent most.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionFlows {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The time over which they were counted: the latest five seconds that are complete.
    pub over_s: f64,
    /// The bytes that all flows together sent in it.
    pub bytes: u64,
    /// No flow that is not shown sent more than the least shown one, or than this.
    pub error_bytes: u64,
    /// The flows, the heaviest first.
    pub flows: Vec<FlowStatus>,
}

/// A flow: what agrees in addresses, protocol and ports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowStatus {
    /// The source address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The destination address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The number of the transport protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// The source port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// The destination port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<u16>,
    /// The Ethernet type of frames without an IP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethernet_type: Option<u16>,
    /// The class of its latest packet.
    pub class: String,
    /// The most bytes that it can have sent.
    pub bytes: u64,
    /// By how many bytes it may have sent less.
    pub error_bytes: u64,
    /// The rate that follows from `bytes`.
    pub rate_bps: f64,
}

/// The rules of both directions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// By direction.
    pub directions: Vec<DirectionRules>,
}

/// The rules of one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionRules {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The rules in the order in which they are tried.
    pub rules: Vec<RuleStatus>,
    /// How many more matched, and are left out because of the limit.
    pub left_out: usize,
    /// Packets that no rule matched.
    pub unmatched: u64,
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RuleStatus {
    /// The class that it names.
    pub class: String,
    /// The rule, as a file writes it.
    pub rule: String,
    /// The packets for which it was the first that matched, since the start or since it was added.
    pub hits: u64,
}

/// Which packets to copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedCapture {
    /// The packets of this class, in the directions that have it.
    pub class: String,
    /// At most this many bytes of each.
    #[serde(default = "longest")]
    pub longest: u32,
}

const fn longest() -> u32 {
    u32::MAX
}

/// A capture that has begun. It ends when it is not asked for packets for 10 s.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CaptureStarted {
    /// Its number.
    pub capture: u64,
    /// The directions, each as the incoming and the outgoing interface.
    pub directions: Vec<[String; 2]>,
}

/// The packets of a capture that have been copied since they were last asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedCaptured {
    /// The number of the capture.
    pub capture: u64,
    /// True if it ends with this.
    #[serde(default)]
    pub end: bool,
}

/// Copies of packets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CapturedPackets {
    /// The packets, in order within each direction. There may be more at once if there are any.
    pub packets: Vec<CapturedPacket>,
    /// Packets that were not copied so far, because the memory of 8 MiB per direction was full.
    pub lost: u64,
}

/// A copy of a packet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CapturedPacket {
    /// The index of its direction among those of [`CaptureStarted`].
    pub direction: usize,
    /// When its transmission started or it was dropped, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Its length in bytes.
    pub length: u32,
    /// Why it was dropped; nothing if it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// Its first bytes in hexadecimal digits.
    pub bytes: String,
}
