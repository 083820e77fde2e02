//! The link behind a policy's port, and the links of a simulation.

use super::{AdmissionTable, PolicyName};
use crate::choice::TraceFormatName;
use crate::rate_trace::StepRate;
use crate::units::Ratio;
use crate::value::{At, Block, Bytes, Name, Text, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::port::RateStep;
use tidegate_core::units::{Duration, Rate};

/// The link behind the port of a policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyLinkTable {
    /// The time a bit takes from one end to the other. A simulated link may override it.
    #[schemars(extend("default" = "0 s", "examples" = ["15 ms"]))]
    pub delay: Option<At<Duration>>,
    /// Rates that vary, in place of the policy's `rate`. A simulated link may override them.
    #[schemars(extend("default" = "one rate", "examples" = [{ "steps": [{ "at": "10 s", "rate": "5 Mbit/s" }] }]))]
    pub rates: Option<Block<RatesTable>>,
    /// The share of packets that are lost on the link after they have been transmitted, each independently of all others. A simulated link
    /// may override it.
    #[schemars(extend("default" = "0 %", "examples" = ["0.1 %"]))]
    pub loss: Option<At<Ratio>>,
    /// Losses in bursts, in place of `loss`. A simulated link may override them.
    #[schemars(extend("default" = "none", "examples" = [{ "good_to_bad": "0.1 %", "bad_to_good": "25 %" }]))]
    pub gilbert_elliott: Option<Block<GilbertElliottTable>>,
    /// Packets that come late, so that others overtake them. A simulated link may override it.
    #[schemars(extend("default" = "none", "examples" = [{ "share": "1 %", "by": "5 ms" }]))]
    pub reorder: Option<Block<ReorderTable>>,
    /// The share of packets that come twice, each independently of all others; the copy comes right behind. A simulated link may override it.
    #[schemars(extend("default" = "0 %", "examples" = ["0.1 %"]))]
    pub duplicate: Option<At<Ratio>>,
    /// The seed of what is lost, late and twice: the same seed means the same packets, by their number on the link, live, in replays, and in the
    /// first replication of a simulation whose own `seed` is 1. Both directions of a bridge may have one seed, and so may links of a simulation: their
    /// packets are drawn independently nevertheless.
    #[schemars(extend("default" = 1))]
    pub seed: Option<At<Whole<0, { i64::MAX as u64 }>>>,
}

/// Losses in bursts, by the two states of Gilbert and Elliott: a state lasts for some packets, and each has its own chance of loss.
/// The mean length of a burst is 1 / `bad_to_good` packets. The share of packets in the bad state is `good_to_bad` / (`good_to_bad` + `bad_to_good`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottTable {
    /// The chance that the bad state follows behind a packet in the good one (p). More than 0 %.
    #[schemars(extend("examples" = ["0.1 %"]))]
    pub good_to_bad: At<Ratio>,
    /// The chance that the good state follows behind a packet in the bad one (r). More than 0 %.
    #[schemars(extend("examples" = ["25 %"]))]
    pub bad_to_good: At<Ratio>,
    /// The chance that a packet is lost in the bad state (1 - h).
    #[schemars(extend("default" = "100 %", "examples" = ["50 %"]))]
    pub loss_in_bad: Option<At<Ratio>>,
    /// The chance that a packet is lost in the good state (1 - k).
    #[schemars(extend("default" = "0 %", "examples" = ["0.01 %"]))]
    pub loss_in_good: Option<At<Ratio>>,
}

/// Rates that the link has in place of one `rate`, from the start of the run on. Schedulers and policers keep the policy's rate; so weights share
/// what there is, and nothing is guaranteed. A packet on the link goes on at the next rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatesTable {
    /// The steps, in the order of their instants. Until the first the link has its `rate`.
    #[schemars(extend("default" = "none", "examples" = [[{ "at": "10 s", "rate": "5 Mbit/s" }]]))]
    pub steps: Option<Vec<Block<RateStepTable>>>,
    /// A trace in place of `steps`: the name of a text file, relative to this one. Lines that begin with `#` are comments.
    #[schemars(extend("default" = "none", "examples" = ["lte-down.txt"]))]
    pub trace: Option<At<Text>>,
    /// How the trace is written.
    #[schemars(extend("default" = "rates"))]
    pub format: Option<At<TraceFormatName>>,
    /// For `mahimahi`: the bytes on the wire that one line stands for.
    #[schemars(extend("default" = "1500 B"))]
    pub opportunity: Option<At<Bytes>>,
    /// After how long the rates begin anew.
    #[schemars(extend("default" = "the last rate stays", "examples" = ["30 s"]))]
    pub repeat: Option<At<Duration>>,
    /// What the trace holds, once it has been read: its steps, and its period if it has one.
    #[serde(skip)]
    #[schemars(skip)]
    pub read: Option<(Vec<RateStep>, Option<Duration>)>,
}

/// From an instant on the link has this rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStepTable {
    /// The instant: since the start, or since the first packet of a capture.
    #[schemars(extend("examples" = ["10 s"]))]
    pub at: At<Duration>,
    /// The rate; 0 for an outage.
    #[schemars(extend("examples" = ["5 Mbit/s"]))]
    pub rate: At<StepRate>,
}

/// Packets that come late, so that others overtake them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderTable {
    /// The share of packets that come late, each independently of all others.
    #[schemars(extend("examples" = ["1 %"]))]
    pub share: At<Ratio>,
    /// How much later than the others they come. Late packets keep their order.
    #[schemars(extend("examples" = ["5 ms"]))]
    pub by: At<Duration>,
}

/// A link in one direction, with the output port that feeds it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// Repeats the table for each value of its variables: a range with both ends, or a list. Texts have holes with a variable or arithmetic: `{i}`, `{i+1}`.
    #[serde(default, rename = "for")]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    #[schemars(schema_with = "super::changes", extend("default" = "none", "examples" = [{ "i": "1..8" }]))]
    pub repeat: super::Ignored,
    /// A name that no other link has.
    #[schemars(extend("examples" = ["access"]))]
    pub name: At<Name>,
    /// The node it leaves.
    #[schemars(extend("examples" = ["home"]))]
    pub from: At<Name>,
    /// The node it leads to.
    #[schemars(extend("examples" = ["internet"]))]
    pub to: At<Name>,
    /// True for a link in each direction: `access` from `from` to `to`, and `access-back` from `to` to `from`. Both have all other keys of this table.
    /// `--set` and variants change either by its name.
    #[schemars(extend("default" = false))]
    #[expect(dead_code, reason = "it is read from the file's tree, and stands here for the schema")]
    pub duplex: Option<At<bool>>,
    /// What the link costs a path. Paths between `from` and `to` of a flow have the least sum.
    #[schemars(extend("default" = 1))]
    pub weight: Option<At<Whole<1, 1_000_000>>>,
    /// The policy of the port that feeds it, or one direction of a policy: `home.down`.
    #[schemars(extend("examples" = ["access"]))]
    pub policy: At<PolicyName>,
    /// Its rate.
    #[schemars(extend("default" = "the policy's"))]
    pub rate: Option<At<Rate>>,
    /// Rates that vary, in place of `rate`.
    #[schemars(extend("default" = "the policy's", "examples" = [{ "steps": [{ "at": "10 s", "rate": "5 Mbit/s" }] }]))]
    pub rates: Option<Block<RatesTable>>,
    /// The time a bit takes from one end to the other.
    #[schemars(extend("default" = "the policy's", "examples" = ["5 ms"]))]
    pub delay: Option<At<Duration>>,
    /// The share of packets that are lost on the link after they have been transmitted, each independently of all others.
    #[schemars(extend("default" = "the policy's", "examples" = ["0.1 %"]))]
    pub loss: Option<At<Ratio>>,
    /// Losses in bursts, in place of `loss`.
    #[schemars(extend("default" = "the policy's", "examples" = [{ "good_to_bad": "0.1 %", "bad_to_good": "25 %" }]))]
    pub gilbert_elliott: Option<Block<GilbertElliottTable>>,
    /// Packets that come late, so that others overtake them. The random numbers are those of the policy's `link.seed`.
    #[schemars(extend("default" = "the policy's", "examples" = [{ "share": "1 %", "by": "5 ms" }]))]
    pub reorder: Option<Block<ReorderTable>>,
    /// The share of packets that come twice, each independently of all others; the copy comes right behind.
    #[schemars(extend("default" = "the policy's", "examples" = ["0.1 %"]))]
    pub duplicate: Option<At<Ratio>>,
    /// From how many queued bytes on packets of TCP connections with `ecn` get a congestion mark when they come to the port. All classes count together, also
    /// as cells; at a port of packets with one queue, `aqm = { kind = "step", mark_above = ... }` of its class marks the same packets.
    #[schemars(extend("default" = "never", "examples" = ["30 kB"]))]
    pub mark_above: Option<At<Bytes>>,
    /// Admission control at the port: calls ask for their rate and their buffer here. Its capacity is the rate of the link.
    #[schemars(extend("default" = "none: calls pass without asking", "examples" = [{ "utilisation": "90 %" }]))]
    pub admission: Option<Block<AdmissionTable>>,
    /// Priority flow control (IEEE 802.1Qbb): the node at the far end pauses classes of the port when it holds too much that came over this link.
    #[schemars(extend("default" = "none", "examples" = [{ "classes": ["lossless"], "above": "100 kB", "below": "80 kB" }]))]
    pub pause: Option<Block<PauseTable>>,
    /// True if packets contend at the port as ATM cells: AAL5 cuts them up before it, and a packet that loses a cell is lost behind it. The policy counts
    /// cells then: `longest_frame = "53 B"`, no `overhead`, and a packet in its limits is a cell. Packets that come over a link with
    /// `overhead = "aal5"` come cell by cell; those from another link of cells come as their cells have left it, if each queue here gets its packets from
    /// one queue there.
    #[schemars(extend("default" = false))]
    pub cells: Option<At<bool>>,
}

/// When the node at the end of a link pauses classes of the port that feeds it. It counts, for each class by itself, the bytes that came over the link and wait
/// in the node's ports. The pause frames take the link in the other direction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseTable {
    /// The bytes of a class above which it is paused (XOFF). `tidegate check` prints what may still come, the headroom.
    #[schemars(extend("examples" = ["100 kB"]))]
    pub above: At<Bytes>,
    /// The bytes of a class at which it goes on (XON).
    #[schemars(extend("default" = "80 % of `above`", "examples" = ["80 kB"]))]
    pub below: Option<At<Bytes>>,
    /// The classes of the link's policy that are paused; at most 8. The others go on, and are lost where buffers are full.
    #[schemars(extend("default" = "all classes of the policy", "examples" = [["lossless"]]))]
    pub classes: Option<Block<Vec<At<Name>>>>,
}
