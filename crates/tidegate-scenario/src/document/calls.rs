//! The tables of calls and of admission control, exactly as they are written; see [`super`].

use crate::choice::{ArrivalsName, CallServiceName};
use crate::units::Ratio;
use crate::value::{At, Bytes, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// Calls: requests of the flow for admission at the links of its path: hop by hop for rates of their own, or for the whole path at once by the
/// budgets of their classes. An admitted call sends, holds, and leaves. Rates and sizes count bytes on the wire, overhead included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallsTable {
    /// The service that they ask for.
    pub service: At<CallServiceName>,
    /// The most calls at once; a request that finds none free is refused. Each is a flow with a queue of its own in a class with `places`; in a class with
    /// a `budget` calls share the queue.
    #[schemars(extend("examples" = [16]))]
    pub places: At<Whole<1, 10_000>>,
    /// When requests come.
    #[schemars(extend("default" = "poisson"))]
    pub arrivals: Option<At<ArrivalsName>>,
    /// The mean time between requests, for `after-last` from when a call has left or was refused.
    #[schemars(extend("default" = "none; all but `permanent` calls need it", "examples" = ["50 s"]))]
    pub interval: Option<At<Duration>>,
    /// The mean time that a call holds; exponential.
    #[schemars(extend("default" = "none; all but `permanent` calls need it", "examples" = ["100 s"]))]
    pub hold: Option<At<Duration>>,
    /// The sustained rate that it declares.
    #[schemars(extend("examples" = ["1 Mbit/s"]))]
    pub rate: At<Rate>,
    /// The burst that it declares.
    #[schemars(extend("default" = "one packet", "examples" = ["15 kB"]))]
    pub burst: Option<At<Bytes>>,
    /// The peak rate that it declares.
    #[schemars(extend("default" = "the sustained rate", "examples" = ["2 Mbit/s"]))]
    pub peak: Option<At<Rate>>,
    /// The longest packet that it declares.
    #[schemars(extend("default" = "the longest packet of the source, with the overhead of the links", "examples" = ["1000 B"]))]
    pub packet: Option<At<Bytes>>,
    /// For guaranteed service: the bound on the delay of the whole path that it asks for. Admission computes the rate, or compares the budgets of the
    /// path.
    #[schemars(extend("default" = "none: it asks for a rate", "examples" = ["20 ms"]))]
    pub delay: Option<At<Duration>>,
    /// For guaranteed service: the rate that it asks for at every link, in place of `delay`.
    #[schemars(extend("default" = "its `rate`", "examples" = ["2 Mbit/s"]))]
    pub reserve: Option<At<Rate>>,
    /// How early a packet may come at every port and still be in profile.
    #[schemars(extend("default" = "the jitter that the links before may add", "examples" = ["0 s"]))]
    pub tolerance: Option<At<Duration>>,
    /// For guaranteed service: true if packets beyond the buffer that a call has reserved count as marked. The buffer's manager has to be `selective-pushout` or
    /// `selective-pushout-plus`.
    #[schemars(extend("default" = false))]
    pub enforce_reserve: Option<At<bool>>,
}

/// What a port admits calls to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmissionTable {
    /// The part of the rate that admission gives away.
    #[schemars(extend("default" = "90 %", "examples" = ["90 %"]))]
    pub utilisation: Option<At<Ratio>>,
    /// The buffer that guaranteed calls may reserve in all.
    #[schemars(extend("default" = "what the smallest buffer of a class with places holds of the longest frames", "examples" = ["60 kB"]))]
    pub buffer: Option<At<Bytes>>,
    /// The length of a sample of the load of controlled load.
    #[schemars(extend("default" = "the time of 100 kbit on the link", "examples" = ["10 ms"]))]
    pub sample: Option<At<Duration>>,
    /// The samples of a window: the largest of them is the measured load.
    #[schemars(extend("default" = 10))]
    pub samples: Option<At<Whole<1, 1000>>>,
}
