//! The lines of the control socket.
//!
//! Times are in seconds, lengths in bytes, rates in bit/s. Directions are those of the command: first from `--in` to `--out`, then back; with `--pair` those of
//! each pair in turn.

mod reservations;
mod take_over;
mod views;

pub use reservations::{Offered, Promised, Reservation, Reserve, Reserved};
pub use take_over::{HeldReservation, Offer, Step, TakeOver};
pub use views::{
    AskedCapture, AskedCaptured, CaptureStarted, CapturedPacket, CapturedPackets, DirectionFlows, DirectionQueues, DirectionRules,
    FlowStatus, Flows, QueueStatus, Queues, RuleStatus, Rules,
};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the protocol. It grows when a client of an older version would misread an answer.
pub const VERSION: u32 = 1;

/// A line from a client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The version that the client speaks.
    pub version: u32,
    /// What it asks for.
    pub request: Request,
}

impl Asked {
    /// A request in this version.
    pub fn new(request: Request) -> Asked {
        Asked { version: VERSION, request }
    }
}

/// What a client can ask for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Request {
    /// How the bridge is: [`Status`].
    Status,
    /// What the classes got: [`Classes`].
    Classes(AskedClasses),
    /// What the queues of classes hold: [`Queues`].
    Queues(AskedClasses),
    /// The flows that sent most: [`Flows`].
    Flows(AskedClasses),
    /// The rules of classes and what they matched: [`Rules`].
    Rules(AskedClasses),
    /// Another file takes the place of the present one: [`Applied`].
    Apply(Apply),
    /// The present file with other values: [`Applied`].
    Set(Set),
    /// The present file with one class, group or subscriber more: [`Applied`].
    Add(Add),
    /// The present file without a class, group or subscriber: [`Applied`].
    Remove(Remove),
    /// The latest change stays: its time to be confirmed ends.
    Confirm,
    /// The latest change is taken back: [`Applied`].
    Rollback,
    /// Which class, contract and queue a packet meets: [`Why`].
    Why(AskedWhy),
    /// A reservation is asked for: [`Reserved`].
    Reserve(Reserve),
    /// The lease of a reservation begins anew.
    Renew(Named),
    /// A reservation ends: [`Applied`].
    Release(Named),
    /// Packets of a class are to be copied: [`CaptureStarted`].
    Capture(AskedCapture),
    /// What has been copied: [`CapturedPackets`].
    Captured(AskedCaptured),
    /// Another process takes over: [`Offer`]. Then the connection is for that ([`Step`]).
    TakeOver(TakeOver),
}

impl Request {
    /// True if it changes the policy of the bridge, which may take long.
    pub fn changes(&self) -> bool {
        use Request::{Add, Apply, Release, Remove, Reserve, Rollback, Set};
        matches!(self, Apply(_) | Set(_) | Add(_) | Remove(_) | Rollback | Reserve(_) | Release(_))
    }

    /// The request in a line.
    ///
    /// # Errors
    /// [`ErrorKind::Version`] for a line of another version, [`ErrorKind::BadInput`] for what is no request.
    pub fn read(line: &[u8]) -> Result<Request, Refusal> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let unreadable = |error: serde_json::Error| Refusal::new(ErrorKind::BadInput, format!("error: this is no request: {error}"));
        let Version { version } = serde_json::from_slice(line).map_err(unreadable)?;
        if version != VERSION {
            let text = format!("error: this process speaks version {VERSION} of the protocol, and was asked in version {version}");
            return Err(Refusal::new(ErrorKind::Version, text));
        }
        serde_json::from_slice(line).map(|Asked { request, .. }| request).map_err(unreadable)
    }
}

/// Which classes to show.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedClasses {
    /// Only names that match this pattern; `*` stands for any characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// At most this many per direction: those with the highest rate of the last second come first. All without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
}

/// A file to be applied.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The other texts that it names, by the names that it has for them: fragments, lists of subscribers, traces of rates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Values that differ from the text, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// How to apply it.
    #[serde(default)]
    pub how: How,
}

/// Values to be changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// As `key=value`, such as `policy.access.rate="5 Mbit/s"`.
    pub values: Vec<String>,
    /// How to apply them.
    #[serde(default)]
    pub how: How,
}

/// What is to be added.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The list of the policy: `class`, `group` or `subscriber`.
    pub kind: String,
    /// The table, in one line, as `{ name = "guests", ... }`.
    pub table: String,
    /// The policy, if the file has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The element before which it comes. Otherwise it is the last, but for a class that takes what no rule matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How to apply it.
    #[serde(default)]
    pub how: How,
}

/// What is to be removed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The name of the class, group or subscriber.
    pub name: String,
    /// The policy, if the file has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How to apply it.
    #[serde(default)]
    pub how: How,
}

/// Something by its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// How a change is made.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct How {
    /// Only say what would change.
    pub dry_run: bool,
    /// Take it back after this many seconds, unless it is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_s: Option<f64>,
}

/// The packet to be explained.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedWhy {
    /// An address: it is looked up as source and as destination in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// A whole frame in hexadecimal digits, from its Ethernet header on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// With `address`: the protocol number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// With `address` and a protocol: the port of the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// With `address`: the DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// With `address`: the length of the frame in bytes; 1514 if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
}

/// A line from the server: an answer or an error.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The version that the server speaks.
    pub version: u32,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Or why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

impl From<Result<Answer, Refusal>> for Answered {
    fn from(result: Result<Answer, Refusal>) -> Answered {
        let (answer, error) = match result {
            Ok(answer) => (Some(answer), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Answered { version: VERSION, answer, error }
    }
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
// One is made for each request, and written at once.
#[allow(clippy::large_enum_variant)]
pub enum Answer {
    /// To [`Request::Status`].
    Status(Status),
    /// To [`Request::Classes`].
    Classes(Classes),
    /// To [`Request::Queues`].
    Queues(Queues),
    /// To [`Request::Flows`].
    Flows(Flows),
    /// To [`Request::Rules`].
    Rules(Rules),
    /// To every request for a change but reservations.
    Applied(Applied),
    /// To [`Request::Confirm`].
    Confirmed,
    /// To [`Request::Why`].
    Why(Why),
    /// To [`Request::Reserve`].
    Reserved(Reserved),
    /// To [`Request::Renew`].
    Renewed,
    /// To [`Request::Capture`].
    Capture(CaptureStarted),
    /// To [`Request::Captured`].
    Captured(CapturedPackets),
    /// To [`Request::TakeOver`].
    TakeOver(Box<Offer>),
}

/// Why a request was not answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The message, which may have several lines.
    pub text: String,
}

impl Refusal {
    /// A refusal with this message.
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Refusal {
        Refusal { kind, text: text.into() }
    }
}

/// Kinds of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request or a file in it is wrong. Nothing was changed.
    BadInput,
    /// The server speaks another version of the protocol.
    Version,
    /// The bridge cannot do that now. Nothing was changed.
    NotNow,
    /// The connection used up one of its limits, and is closed.
    Limit,
    /// The server failed at it.
    Defect,
}

/// Packets and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes, frames as they are, without any link's overhead.
    pub bytes: u64,
}

/// How a bridge is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub program: String,
    /// Since the start.
    pub uptime_s: f64,
    /// Since this process carries packets.
    #[serde(default)]
    pub carries_s: f64,
    /// How often one process has taken over from another since the start.
    #[serde(default)]
    pub take_overs: u64,
    /// The name of the present file.
    pub file: String,
    /// How the policies differ from the file: values that were set, elements that were added (`+=`) or removed (`-=`), in order.
    pub edits: Vec<String>,
    /// The reservations that hold.
    pub reservations: Vec<Reservation>,
    /// Both directions of each pair of interfaces.
    pub directions: Vec<DirectionStatus>,
    /// The changes so far that came through the control socket or by a hang-up.
    pub changes: u64,
    /// The time that is left to confirm the latest change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_confirm_s: Option<f64>,
    /// What is wrong with interfaces at present.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The sockets that carry the frames of each pair of interfaces, in words.
    #[serde(default)]
    pub sockets: Vec<String>,
    /// What clients did.
    pub clients: ClientCounts,
    /// What became of requests for metrics and pages.
    #[serde(default)]
    pub pages: PageCounts,
}

/// One direction of a bridge. Since the start: `received` = `delivered` + all of `dropped` + `queued` + `in_flight`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionStatus {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The policy.
    pub policy: String,
    /// Its rate.
    pub rate_bps: u64,
    /// The number of its classes.
    pub classes: usize,
    /// True if the incoming interface is up and connected.
    pub receiving: bool,
    /// True if the outgoing interface is.
    pub sending: bool,
    /// Taken in.
    pub received: Amount,
    /// Handed to the outgoing interface.
    pub delivered: Amount,
    /// In the queues.
    pub queued: Amount,
    /// On the link, or waiting for the kernel.
    pub in_flight: Amount,
    /// By reason; reasons without packets are left out.
    pub dropped: BTreeMap<String, Amount>,
    /// Packets that AQMs have marked.
    pub ecn_marked: u64,
    /// Frames that the kernel lost before they were read; in no other figure.
    pub lost_in_kernel: u64,
}

/// What became of requests for metrics and pages since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PageCounts {
    /// Requests that got a page.
    pub served: u64,
    /// Requests that were answered with an error: no such page, no token, another site, no HTTP.
    pub refused: u64,
    /// Connections that were closed at once, because there were too many.
    pub too_many: u64,
    /// Connections that were closed because the request was too long, or took too long.
    pub over_limit: u64,
    /// Connections that ended before a request had come, or before its answer had been read.
    pub broken: u64,
}

/// What clients did since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClientCounts {
    /// Connections now.
    pub connected: u64,
    /// Connections in all.
    pub accepted: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were refused, whatever the reason.
    pub refused: u64,
    /// Connections that were closed at once, because there were too many.
    pub too_many: u64,
    /// Connections that were closed because a line was too long, or took too long.
    pub over_limit: u64,
    /// Connections that were closed because nothing was asked for a long time.
    pub idle: u64,
    /// Requests at which the server failed.
    pub defects: u64,
}

/// The classes of both directions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Classes {
    /// The time over which rates are measured: about a second, less just after the start.
    pub rates_over_s: f64,
    /// The classes that were asked for, by direction.
    pub directions: Vec<DirectionClasses>,
}

/// The classes of one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionClasses {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The classes.
    pub classes: Vec<ClassStatus>,
    /// How many more matched, and are left out because of the limit.
    pub left_out: usize,
}

/// A class. Since the start: `offered` = `sent` + all of `dropped` + `queued`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Its name.
    pub name: String,
    /// False if the policy has no such class any more.
    pub present: bool,
    /// What it sent in the last second, frames as they are.
    pub rate_bps: f64,
    /// Offered to the port.
    pub offered: Amount,
    /// Sent.
    pub sent: Amount,
    /// Queued now.
    pub queued: Amount,
    /// By reason; reasons without packets are left out.
    pub dropped: BTreeMap<String, Amount>,
    /// Packets whose colour the policer changed.
    pub recoloured: Amount,
    /// Packets that its AQM has marked.
    pub ecn_marked: u64,
    /// The names of the groups above it, from the link down.
    pub groups: Vec<String>,
    /// From arrival to the last bit sent, since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayQuantiles>,
    /// The same of the latest complete second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_second: Option<DelayQuantiles>,
    /// The same of the last 60 to 70 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_minute: Option<DelayQuantiles>,
    /// The guaranteed rate while it is backlogged, or why there is none.
    pub guarantee: String,
}

/// Delays of packets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DelayQuantiles {
    /// Not exceeded by half of the packets.
    pub p50_s: f64,
    /// Not exceeded by 99 of 100.
    pub p99_s: f64,
    /// The largest.
    pub max_s: f64,
}

/// What a change did, or would do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Applied {
    /// True if nothing was done yet.
    pub dry_run: bool,
    /// By direction.
    pub directions: Vec<DirectionApplied>,
    /// Warnings about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<String>,
    /// The time in which it has to be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_confirm_s: Option<f64>,
}

/// What a change did to one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectionApplied {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The names of classes that are new.
    pub added: Vec<String>,
    /// The names of classes that are gone.
    pub removed: Vec<String>,
    /// The names of classes that go on with other values.
    pub changed: Vec<String>,
    /// The number of classes that go on as they were.
    pub same: usize,
    /// What became of the queues; nothing in a dry run, or where the policy is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<QueuesMoved>,
}

/// What became of queued packets at a change.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct QueuesMoved {
    /// Stayed in their queues.
    pub kept: Amount,
    /// Moved to the queue that the new rules name.
    pub moved: Amount,
    /// Dropped, because no class takes them.
    pub dropped: Amount,
    /// How long the port stood still.
    pub gap_s: f64,
}

/// What a packet meets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Why {
    /// By direction, and for an address as source and as destination.
    pub packets: Vec<Met>,
}

/// What one packet meets at one port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Met {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The packet, in words.
    pub packet: String,
    /// The class that takes it.
    pub class: String,
    /// The rule of the class that matches, in words of the file; nothing if the class takes what no rule matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The queue of the class, from 0, and how many it has.
    pub queue: [u32; 2],
    /// The groups above the class, from the link down.
    pub groups: Vec<String>,
    /// Its guaranteed rate, contract, shape, limit and AQM, in words.
    pub contract: Vec<String>,
    /// What waits in its class now.
    pub queued: Amount,
    /// The class's drops since the start, by reason.
    pub dropped: BTreeMap<String, Amount>,
    /// The class's delays since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayQuantiles>,
}
