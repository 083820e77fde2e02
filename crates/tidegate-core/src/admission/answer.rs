//! The answer to a request: what each hop promises, or which port refuses, why, and what it would admit instead.

use super::flow_spec::{FlowSpec, Service, Target};
use crate::units::{Duration, Rate};
use core::fmt;

/// Admitted with an allocation, or refused with a reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<'a> {
    /// Every hop has reserved.
    Admitted(Admitted<'a>),
    /// No hop has reserved.
    Refused(Refused),
}

/// What an admitted flow gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admitted<'a> {
    /// The allocation at every port of the path, in order. It is in memory of the admission control, valid until the next call.
    pub hops: &'a [Hop],
    /// The bound on the delay along the path, or `None` where the method proves none.
    pub delay: Option<Duration>,
    /// The slack term of RFC 2212: the target less the bound; zero without a target of delay.
    pub slack: Duration,
    /// How the flow was admitted.
    pub method: Method,
}

/// What one hop promises an admitted flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hop {
    /// The port.
    pub port: u32,
    /// The rate, in bit/s: `R` of guaranteed service; for controlled load the least that adaptive rate allocation leaves it.
    pub rate: u64,
    /// The buffer that is reserved, in bits; 0 for controlled load, which shares its partition, and for [`Method::Network`].
    pub buffer: u64,
    /// The jitter that the hops upstream may add, as the tolerance of a shaper or policer here: the sum over them of `M/rate + Lmax/C`, or of
    /// their budgets less the transmission of the shortest packet.
    pub tolerance: Duration,
    /// The part of the delay that this hop may use, where the method divides the delay among hops.
    pub budget: Option<Duration>,
}

/// How a flow was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Method {
    /// RFC 2212: the delay is proven for conforming traffic.
    GuaranteedService,
    /// By the budgets of delay along its path: the delay is proven for conforming traffic.
    Budgets,
    /// By the bounds of all flows together: the delay is proven for conforming traffic, and so are those of the others.
    Network,
    /// By the measured load: not proven.
    Measured,
}

fields! {
    /// What a refused flow lacks.
    #[non_exhaustive]
    pub enum Constraint {
        /// The rate that the target utilisation leaves; in bit/s.
        Rate = "rate",
        /// The buffer of guaranteed service; in bits.
        Buffer = "buffer",
        /// The delay target is below the part of the delay that no rate can shorten, or below the budgets of the path; in picoseconds.
        Target = "delay target",
        /// The flow would press controlled load below its sustained rates; in bit/s.
        RateGuarantee = "rate of controlled load",
        /// The delay of the port or queue would exceed its budget; in picoseconds.
        Budget = "delay budget",
        /// The delay of [`Refused::flow`] would exceed what that flow was promised; in picoseconds.
        Promise = "promised delay",
    }
}

impl Constraint {
    /// The unit of `have` and `need`.
    pub const fn unit(self) -> &'static str {
        match self {
            Constraint::Rate | Constraint::RateGuarantee => "bit/s",
            Constraint::Buffer => "bit",
            Constraint::Target | Constraint::Budget | Constraint::Promise => "ps",
        }
    }
}

/// What one port lacks for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// What is short.
    pub constraint: Constraint,
    /// What there is, in [`Constraint::unit`]. For [`Constraint::Target`]: the target.
    pub have: u64,
    /// What the flow needs, in the same unit. For [`Constraint::Target`]: the delay that no rate can shorten, or the sum of the budgets.
    pub need: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage { constraint, have, need } = self;
        write!(f, "{constraint}: needs {need} {unit}, has {have} {unit}", unit = constraint.unit())
    }
}

impl core::error::Error for Shortage {}

/// Why a flow was refused, and what would be admitted instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// The first port of the path that refuses; for [`Constraint::Target`] the last port. For [`Constraint::Budget`] and [`Constraint::Rate`] it may
    /// be a queue beside the path, which the flow would delay.
    pub port: u32,
    /// For [`Constraint::Promise`]: the flow whose promise would break.
    pub flow: Option<u64>,
    /// What is short.
    pub constraint: Constraint,
    /// What there is, as in [`Shortage::have`].
    pub have: u64,
    /// What the flow needs, as in [`Shortage::need`].
    pub need: u64,
    /// What would be admitted instead, each by itself; may be empty.
    pub offers: Offers,
}

impl Refused {
    /// A refusal without offers.
    pub const fn new(port: u32, shortage: Shortage) -> Refused {
        let Shortage { constraint, have, need } = shortage;
        Refused { port, flow: None, constraint, have, need, offers: Offers::NONE }
    }

    /// What the port lacks.
    pub const fn shortage(&self) -> Shortage {
        Shortage { constraint: self.constraint, have: self.have, need: self.need }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}: ", self.port)?;
        if let Some(flow) = self.flow {
            write!(f, "flow {flow}: ")?;
        }
        self.shortage().fmt(f)?;
        for (index, offer) in self.offers.iter().enumerate() {
            write!(f, "{} {offer}", if index == 0 { "; would admit" } else { " or" })?;
        }
        Ok(())
    }
}

/// A request that would be admitted: the refused one with this value in place of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Offer {
    /// The smallest target of delay, with all the rate that is free.
    Delay(Duration),
    /// The largest rate, in bit/s: `R` of guaranteed service, the sustained rate of controlled load.
    Rate(u64),
    /// The largest peak rate of controlled load, in bit/s.
    Peak(u64),
    /// The largest burst, in bits.
    Burst(u64),
    /// The largest sustained rate, in bit/s.
    Sustained(u64),
    /// Another path, by its index among [`FlowSpec::alternatives`].
    Path(u8),
}

impl Offer {
    /// The request that the offer is about: `spec` with the offered value; `None` if it has no such request.
    pub fn applied_to<'a>(self, spec: &FlowSpec<'a>) -> Option<FlowSpec<'a>> {
        let (burst, rate, peak) = (spec.traffic.burst(), spec.traffic.rate(), spec.traffic.peak());
        let new = |burst, rate, peak| spec.traffic.with(burst, rate, peak).ok();
        let mut target = spec.target;
        let traffic = match (self, spec.kind) {
            (Offer::Path(index), _) => return Some(FlowSpec { path: spec.alternatives.get(usize::from(index))?, ..*spec }),
            (Offer::Delay(delay), _) => return Some(FlowSpec { target: Some(Target::Delay(delay)), ..*spec }),
            (Offer::Rate(rate), Service::Guaranteed) => return Some(FlowSpec { target: Some(Target::Rate(rate)), ..*spec }),
            (Offer::Rate(rate), Service::ControlledLoad) => new(burst, Rate::new(rate).ok()?, peak),
            (Offer::Peak(peak), _) => new(burst, rate, Rate::new(peak).ok()?),
            (Offer::Burst(burst), _) => new(burst, rate, peak),
            (Offer::Sustained(rate), _) => {
                if let Some(Target::Rate(reserved)) = &mut target {
                    *reserved = rate.min(*reserved);
                }
                new(burst, Rate::new(rate).ok()?, peak)
            }
        };
        Some(FlowSpec { traffic: traffic?, target, ..*spec })
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offer::Delay(delay) => write!(f, "a delay target of {} ps", delay.picoseconds()),
            Offer::Rate(rate) => write!(f, "a rate of {rate} bit/s"),
            Offer::Peak(peak) => write!(f, "a peak rate of {peak} bit/s"),
            Offer::Burst(burst) => write!(f, "a burst of {burst} bit"),
            Offer::Sustained(rate) => write!(f, "a sustained rate of {rate} bit/s"),
            Offer::Path(index) => write!(f, "its alternative path {index}"),
        }
    }
}

/// The largest number of offers of one refusal.
const MOST_OFFERS: usize = 5;

/// The offers of a refusal; up to 5.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offers([Option<Offer>; MOST_OFFERS]);

impl Offers {
    /// No offer.
    pub const NONE: Offers = Offers([None; MOST_OFFERS]);

    /// The offers in order.
    pub fn iter(&self) -> impl Iterator<Item = Offer> + '_ {
        self.0.iter().flatten().copied()
    }

    /// True if there is no offer.
    pub const fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// Appends an offer.
    ///
    /// # Panics
    /// If there are five already.
    pub fn push(&mut self, offer: Offer) {
        let free = self.0.iter_mut().find(|place| place.is_none());
        *free.expect("a refusal has at most five offers") = Some(offer);
    }
}
