//! Values that are one of a list of names: schedulers, policers, buffer managers, kinds of sources. Registered names come from the core's
//! and the simulator's registries.

use crate::value::{Leaf, Scalar, one_of};
use serde_json::{Map, Value, json};
use tidegate_atm::adapter::Encapsulation;
use tidegate_cells::{Conflict, Prefetch};
use tidegate_core::buffer::Reading;
use tidegate_core::dwcs::{Early, Missed};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Conformance, Violation};
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::Shares;
use tidegate_core::shaper::Bucket;
pub use tidegate_sim::SourceKind;
use tidegate_sim::tcp::{AfterIdle, CongestionKind, Growth, RecoveryKind, TimerKind};

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

macro_rules! choices {
    ($($type:ty, $name:literal, $what:literal, $entries:expr;)*) => {$(
        impl Leaf for $type {
            const NAME: &'static str = $name;
            fn schema() -> Value {
                schema_of(&$entries)
            }
            fn read(scalar: &Scalar<'_>) -> Result<$type, String> {
                read_one(scalar, $what, &$entries)
            }
        }
    )*};
}

choices! {
    SchedulerName, "scheduler", "a scheduler", schedulers();
    BufferName, "buffer manager", "a buffer manager", buffer_managers();
    PolicerName, "policer", "a policer", policers();
    ConformanceName, "conformance definition", "a conformance definition", conformance_definitions();
    ViolationName, "violation", "an answer to a violation", VIOLATIONS;
    LateName, "late packets", "an answer to lateness", LATE;
    DeadlineName, "deadline", "what a deadline ends", DEADLINES;
    EarlyName, "early service", "an answer to earliness", EARLY;
    BucketName, "bucket", "what follows a burst", BUCKETS;
    ConflictName, "conflict", "a conflict policy", CONFLICTS;
    EncapsulationName, "encapsulation", "an encapsulation", ENCAPSULATIONS;
    PrefetchName, "prefetch", "a way to fetch cells", PREFETCH;
    ReadingName, "reading", "a reading of weighted buffer allocation", READINGS;
    SharesName, "measure of shares", "a measure of shares", SHARES;
    Admission, "admission", "an answer to infeasibility", ADMISSION;
    CongestionName, "congestion control", "a congestion control", congestion_controls();
    RecoveryName, "loss recovery", "a loss recovery", loss_recoveries();
    TimerName, "retransmission timer", "a retransmission timer", retransmission_timers();
    GrowthName, "window growth", "a window growth", window_growths();
    AfterIdleName, "window after a silence", "an answer to a silence", windows_after_idle();
    SourceKind, "kind of source", "a kind of source", sources();
    Holding, "distribution", "a distribution", Holding::ENTRIES;
}

/// A registered scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulerName(pub SchedulerKind);

fn schedulers() -> Vec<Entry<SchedulerName>> {
    SchedulerKind::ALL.iter().map(|&kind| (kind.name(), SchedulerName(kind), kind.summary())).collect()
}

/// A registered buffer manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferName(pub BufferKind);

fn buffer_managers() -> Vec<Entry<BufferName>> {
    BufferKind::ALL.iter().map(|&kind| (kind.name(), BufferName(kind), kind.summary())).collect()
}

/// A registered policer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicerName(pub PolicerKind);

fn policers() -> Vec<Entry<PolicerName>> {
    PolicerKind::ALL.iter().map(|&kind| (kind.name(), PolicerName(kind), kind.summary())).collect()
}

/// An ATM conformance definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConformanceName(pub Conformance);

fn conformance_definitions() -> Vec<Entry<ConformanceName>> {
    let meaning = |definition| match definition {
        Conformance::Cbr1 => "every packet within the peak rate",
        Conformance::Vbr1 => "every packet within the peak rate and the sustained rate",
        Conformance::Vbr2 => "every packet within the peak rate, green ones also within the sustained rate",
        Conformance::Vbr3 => "as vbr.2, but green packets above the sustained rate are marked yellow instead of dropped",
        Conformance::Ubr1 => "every packet within the peak rate",
        Conformance::Ubr2 => "every packet within the peak rate, and every packet is marked yellow",
        Conformance::Gfr1 => "every packet within the peak rate, in the colour of its frame's first, in a frame that is not too long",
        Conformance::Gfr2 => "as gfr.1, and green frames above the minimum rate are marked yellow",
    };
    Conformance::ALL.iter().map(|&definition| (definition.name(), ConformanceName(definition), meaning(definition))).collect()
}

/// A registered congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionName(pub CongestionKind);

fn congestion_controls() -> Vec<Entry<CongestionName>> {
    CongestionKind::ALL.iter().map(|&kind| (kind.name(), CongestionName(kind), kind.summary())).collect()
}

/// How a congestion window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrowthName(pub Growth);

fn window_growths() -> Vec<Entry<GrowthName>> {
    Growth::ALL.iter().map(|&growth| (growth.name(), GrowthName(growth), growth.summary())).collect()
}

/// The congestion window after an idle period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AfterIdleName(pub AfterIdle);

fn windows_after_idle() -> Vec<Entry<AfterIdleName>> {
    AfterIdle::ALL.iter().map(|&after| (after.name(), AfterIdleName(after), after.summary())).collect()
}

/// A registered loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryName(pub RecoveryKind);

fn loss_recoveries() -> Vec<Entry<RecoveryName>> {
    RecoveryKind::ALL.iter().map(|&kind| (kind.name(), RecoveryName(kind), kind.summary())).collect()
}

/// A registered retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerName(pub TimerKind);

fn retransmission_timers() -> Vec<Entry<TimerName>> {
    TimerKind::ALL.iter().map(|&kind| (kind.name(), TimerName(kind), kind.summary())).collect()
}

/// The action on a packet outside its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViolationName(pub Violation);

const VIOLATIONS: [Entry<ViolationName>; 3] = [
    ("discard", ViolationName(Violation::Discard), "the packet is dropped"),
    ("yellow", ViolationName(Violation::Mark(Colour::Yellow)), "the packet passes, marked yellow"),
    ("red", ViolationName(Violation::Mark(Colour::Red)), "the packet passes, marked red"),
];

/// The action on a packet that has missed its deadline: true if it is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LateName(pub bool);

const LATE: [Entry<LateName>; 2] = [
    ("send", LateName(false), "the packet stays and gets the next deadline"),
    ("drop", LateName(true), "the packet is dropped, and the next one gets the next deadline"),
];

/// The event that a deadline refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlineName(pub Missed);

const DEADLINES: [Entry<DeadlineName>; 2] = [
    ("complete", DeadlineName(Missed::Complete), "a slot has to end by the deadline"),
    ("start", DeadlineName(Missed::Start), "a slot has to begin by the deadline, which gives one slot more"),
];

/// Whether there may be service before its period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyName(pub Early);

const EARLY: [Entry<EarlyName>; 2] = [
    ("allow", EarlyName(Early::Allow), "any stream with a packet may be served ahead of its period, and the link never idles"),
    ("hold", EarlyName(Early::Hold), "at most one slot per period, even if the link idles"),
];

/// The unit of shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharesName(pub Shares);

const SHARES: [Entry<SharesName>; 2] = [
    ("bytes", SharesName(Shares::Bytes), "a slot is worth the bytes of the longest packet, so that shares are exact whatever the lengths"),
    ("packets", SharesName(Shares::Packets), "a slot is one packet, whatever its length"),
];

/// The description of weighted buffer allocation to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadingName(pub Reading);

const READINGS: [Entry<ReadingName>; 2] = [
    ("pseudo-code", ReadingName(Reading::PseudoCode), "a tagged frame of a queue below its share may stay within the excess"),
    ("prose", ReadingName(Reading::Prose), "a tagged frame of a queue below its share is refused"),
];

/// What follows a burst of packets or cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketName(pub Bucket);

const BUCKETS: [Entry<BucketName>; 2] = [
    (
        "single",
        BucketName(Bucket::Single),
        "single leaky bucket (SLB): after a burst each cell or packet leaves as soon as the bucket allows it",
    ),
    ("dual", BucketName(Bucket::Dual), "dual leaky bucket (DLB): after a burst nothing leaves until the bucket is full again"),
];

/// The connection that sends when several are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConflictName(pub Conflict);

const CONFLICTS: [Entry<ConflictName>; 4] = [
    ("lazy", ConflictName(Conflict::Lazy), "the connection with the earliest planned time"),
    (
        "next-free",
        ConflictName(Conflict::NextFree),
        "the connection that has booked the slot: the first free one when its cell was planned",
    ),
    ("cdvt", ConflictName(Conflict::Tolerance), "the connection with the earliest planned time plus CDVT"),
    ("priority", ConflictName(Conflict::Priority), "the connection with the lowest priority number, then the earliest planned time"),
];

/// What AAL5 carries before each frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncapsulationName(pub Encapsulation);

const ENCAPSULATIONS: [Entry<EncapsulationName>; 2] = [
    ("vc-multiplexed", EncapsulationName(Encapsulation::VcMultiplexed), "nothing: each connection carries one protocol"),
    ("llc-snap", EncapsulationName(Encapsulation::LlcSnap), "8 bytes of LLC/SNAP, which name the protocol"),
];

/// When cells are fetched from host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefetchName(pub Prefetch);

const PREFETCH: [Entry<PrefetchName>; 3] = [
    ("just-in-time", PrefetchName(Prefetch::JustInTime), "as late as the access latency allows"),
    ("demand", PrefetchName(Prefetch::Demand), "when the adapter has no cell of the connection"),
    ("whole-pdu", PrefetchName(Prefetch::WholePdu), "whole frames as soon as they come and buffers are free"),
];

/// The reaction to a policy that cannot keep its windows and deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Admission {
    /// A warning.
    #[default]
    Warn,
    /// An error.
    Refuse,
}

const ADMISSION: [Entry<Admission>; 2] =
    [("warn", Admission::Warn, "the policy is used, with a warning"), ("refuse", Admission::Refuse, "the policy is refused")];

/// The registered sources.
fn sources() -> Vec<Entry<SourceKind>> {
    SourceKind::ALL.iter().map(|&kind| (kind.name(), kind, kind.summary())).collect()
}

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

impl Holding {
    const ENTRIES: [Entry<Holding>; 3] = [
        ("exponential", Holding::Exponential, "periods without memory"),
        ("pareto", Holding::Pareto, "mostly short periods and a few very long ones; the sum of many such sources is self-similar"),
        ("constant", Holding::Constant, "periods that are all the same"),
    ];
}

#[cfg(test)]
mod tests;
