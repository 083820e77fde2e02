//! What holds for all that a scheduler with options of its own serves.

use crate::choice::{Admission, DeadlineName, EarlyName, MarksName, OutOfProfileName, SharesName, StampingName};
use crate::value::{At, Bytes, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::Rate;

/// Options of the scheduler `dwcs`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DwcsTable {
    /// The event that a deadline refers to.
    #[schemars(extend("default" = "complete"))]
    pub deadline: Option<At<DeadlineName>>,
    /// Whether there may be service ahead of its period.
    #[schemars(extend("default" = "allow"))]
    pub early: Option<At<EarlyName>>,
    /// What windows and weights share out.
    #[schemars(extend("default" = "bytes"))]
    pub shares: Option<At<SharesName>>,
    /// The reaction to a policy that asks for more windows and deadlines than can be kept.
    #[schemars(extend("default" = "warn"))]
    pub admission: Option<At<Admission>>,
}

/// Options of the scheduler `intserv`; `svc` has `stamp` only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntServTable {
    /// When a head is stamped later than the virtual finish of the packet before.
    #[schemars(extend("default" = "keep"))]
    pub stamp: Option<At<StampingName>>,
    /// What a packet costs its flow that leaves before its virtual start.
    #[schemars(extend("default" = "refund"))]
    pub out_of_profile: Option<At<OutOfProfileName>>,
    /// Which packets leave marked.
    #[schemars(extend("default" = "early"))]
    pub marks: Option<At<MarksName>>,
    /// The packets out of profile that leave for every `best_effort_weight` packets of best effort, while both wait. With 0 they wait for
    /// their virtual start.
    #[schemars(extend("default" = 1))]
    pub out_of_profile_weight: Option<At<Whole<0, 1_073_741_824>>>,
    /// The packets of best effort that leave for every `out_of_profile_weight` packets out of profile, while both wait.
    #[schemars(extend("default" = 1))]
    pub best_effort_weight: Option<At<Whole<1, 1_073_741_824>>>,
}

/// The traffic that a flow of `intserv` has declared: a token bucket, in bytes on the wire.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileTable {
    /// The rate of its tokens.
    #[schemars(extend("examples" = ["1 Mbit/s"]))]
    pub rate: At<Rate>,
    /// Its depth: the declared burst, and what jitter on the way may add.
    #[schemars(extend("examples" = ["20 kB"]))]
    pub burst: At<Bytes>,
}
