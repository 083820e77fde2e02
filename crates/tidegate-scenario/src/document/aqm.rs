//! The table of an AQM, exactly as it is written; see [`super`].

use crate::choice::AqmName;
use crate::units::Ratio;
use crate::value::{At, Block, Bytes, Gain, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Duration;

/// An AQM and what it is to keep to.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AqmTable {
    /// The algorithm.
    #[schemars(extend("examples" = ["codel"]))]
    pub kind: At<AqmName>,
    /// The delay in the queue that it aims at.
    #[schemars(extend("default" = "5 ms, 15 ms for `pie` and `dualpi2`; at least the time of one and a half of the longest frames", "examples" = ["15 ms"]))]
    pub target: Option<At<Duration>>,
    /// How long delays may stay above the target before anything is dropped or marked: the round-trip time of the longest paths.
    #[schemars(extend("default" = "100 ms, and as much more as the target is above 5 ms", "examples" = ["300 ms"]))]
    pub interval: Option<At<Duration>>,
    /// Whether packets whose transport understands it are marked (RFC 3168) in place of dropped.
    #[schemars(extend("default" = true))]
    pub ecn: Option<At<bool>>,
    /// Packets that have waited longer are dropped even if they could be marked, so that senders that ignore marks cannot fill the buffer.
    #[schemars(extend("default" = "the interval", "examples" = ["1 s"]))]
    pub mark_limit: Option<At<Duration>>,
    /// For `step`, and beside `codel` and `fq-codel`: packets that find this much queued are marked at once, if their transport understands it.
    #[schemars(extend("default" = "none", "examples" = ["30 kB"]))]
    pub mark_above: Option<At<Bytes>>,
    /// For `step`, and beside `codel` and `fq-codel`: packets that have waited longer are marked at once, if their transport understands it.
    #[schemars(extend("default" = "none", "examples" = ["1 ms"]))]
    pub ce_threshold: Option<At<Duration>>,
    /// With `mark_above` or `ce_threshold`: whether they hold for packets of L4S alone (ECT(1)).
    #[schemars(extend("default" = false))]
    pub ect1_only: Option<At<bool>>,
    /// For `pie` and `dualpi2`: the time between two updates of the probability with which packets are dropped or marked.
    #[schemars(extend("default" = "15 ms; 16 ms for `dualpi2`", "examples" = ["7.5 ms"]))]
    pub update_period: Option<At<Duration>>,
    /// For `pie` and `dualpi2`: how strongly the probability follows the distance of the delay from the target, in probability per second of delay.
    #[schemars(extend("default" = "0.125 Hz; 0.16 Hz for `dualpi2`", "examples" = ["0.25 Hz"]))]
    pub alpha: Option<At<Gain>>,
    /// For `pie` and `dualpi2`: how strongly the probability follows the trend of the delay.
    #[schemars(extend("default" = "1.25 Hz; 3.2 Hz for `dualpi2`", "examples" = ["2.5 Hz"]))]
    pub beta: Option<At<Gain>>,
    /// For `pie`: for how long after a quiet time nothing is dropped or marked.
    #[schemars(extend("default" = "150 ms", "examples" = ["100 ms"]))]
    pub max_burst: Option<At<Duration>>,
    /// For `pie`: up to this probability packets are marked; above it they are dropped even if they could be marked.
    #[schemars(extend("default" = "10 %", "examples" = ["25 %"]))]
    pub ecn_limit: Option<At<Ratio>>,
    /// For `pie`: whether drops that would come soon after one another, or late, are moved apart (RFC 8033, section 5.4). For `dualpi2`: whether signals
    /// are spread evenly, in place of drawn.
    #[schemars(extend("default" = true))]
    pub derandomise: Option<At<bool>>,
    /// For `pie`: whether a delay above 250 ms raises the probability by 2 % more with each update, as Linux has it.
    #[schemars(extend("default" = false))]
    pub steep: Option<At<bool>>,
    /// For `red` and `adaptive-red`: how likely a packet is to be dropped or marked, by the average queue.
    #[schemars(extend("default" = "by the rate: from 5 ms of it to 15 ms, at least from 5 longest frames to 15"))]
    pub curve: Option<Block<RedCurveTable>>,
    /// For `wred`: the same by colour.
    #[schemars(extend("default" = "the `curve` of `red` for all"))]
    pub curves: Option<Block<RedCurvesTable>>,
    /// For `wred`: the curves of packets that can be marked, which they are before others are dropped.
    #[schemars(extend("default" = "those of `curves`"))]
    pub marking_curves: Option<Block<RedCurvesTable>>,
    /// For `red`, `adaptive-red` and `wred`: a packet has the weight 2 to the power of minus this in the average queue.
    #[schemars(extend("default" = "9; by the rate for `adaptive-red`", "examples" = [9]))]
    pub averaging: Option<At<Whole<1, 24>>>,
    /// For `red`, `adaptive-red` and `wred`: whether the probability rises on to 1 at twice the upper threshold, or jumps there.
    #[schemars(extend("default" = true))]
    pub gentle: Option<At<bool>>,
    /// For `red`, `adaptive-red` and `wred`: whether packets that can be marked are marked beyond the upper threshold, too, in place of dropped.
    #[schemars(extend("default" = false))]
    pub mark_above_max: Option<At<bool>>,
    /// For `dualpi2`: the factor between the probability of marks of L4S traffic and the root of that of the rest. 2 gives senders of both equal rates.
    #[schemars(extend("default" = 2))]
    pub coupling: Option<At<Whole<1, 255>>>,
    /// For `dualpi2`: packets of L4S that have waited longer are marked.
    #[schemars(extend("default" = "1 ms", "examples" = ["0.8 ms"]))]
    pub step: Option<At<Duration>>,
    /// For `dualpi2`: within this time beyond the step the probability of a mark rises to 1.
    #[schemars(extend("default" = "0 s: at once", "examples" = ["0.4 ms"]))]
    pub ramp: Option<At<Duration>>,
    /// For `dualpi2`: whether in overload the queue grows, in place of drops of L4S traffic.
    #[schemars(extend("default" = false))]
    pub delay_on_saturation: Option<At<bool>>,
    /// For `codel`, `fq-codel`, `cobalt` and `dualpi2` behind the bottleneck: whether packets that they drop count as sent, since they have crossed it
    /// already. Such a packet takes the share of its queue, the tokens of shapes and its time on the link, up to a third of what the class is served.
    #[schemars(extend("default" = false))]
    pub ingress: Option<At<bool>>,
}

/// How likely a packet is to be dropped or marked, by the average queue: never below `min`, `probability` just below `max`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedCurveTable {
    /// The average queue up to which nothing is dropped or marked.
    #[schemars(extend("examples" = ["15 kB"]))]
    pub min: At<Bytes>,
    /// The average queue at which the probability is the one below.
    #[schemars(extend("examples" = ["45 kB"]))]
    pub max: At<Bytes>,
    /// The probability just below `max`.
    #[schemars(extend("examples" = ["10 %"]))]
    pub probability: At<Ratio>,
}

/// A curve for each colour. Those of better colours are not below those of worse ones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedCurvesTable {
    /// For green packets.
    pub green: Option<Block<RedCurveTable>>,
    /// For yellow packets.
    pub yellow: Option<Block<RedCurveTable>>,
    /// For red packets.
    pub red: Option<Block<RedCurveTable>>,
}
