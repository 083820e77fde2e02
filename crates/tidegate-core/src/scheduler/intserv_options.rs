//! What an operator may say of integrated services: the service of a flow, its traffic profile, and the options of a whole port.

use crate::units::Rate;

/// The service that a flow of [`IntegratedServices`](super::IntegratedServices) gets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ServiceClass {
    /// Guaranteed service (RFC 2212): a rate, and a bound on the delay that follows from it.
    Guaranteed,
    /// Controlled load (RFC 2211): a rate out of what guaranteed service leaves.
    ControlledLoad,
    /// What the other two leave.
    #[default]
    BestEffort,
}

impl ServiceClass {
    /// Every one, the most urgent first.
    pub const ALL: [ServiceClass; 3] = [ServiceClass::Guaranteed, ServiceClass::ControlledLoad, ServiceClass::BestEffort];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceClass::Guaranteed => "guaranteed",
            ServiceClass::ControlledLoad => "controlled-load",
            ServiceClass::BestEffort => "best-effort",
        }
    }
}

/// The traffic that a flow has declared: a token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Profile {
    /// The rate of its tokens.
    pub rate: Rate,
    /// Its depth in bytes on the wire: the declared burst, and what jitter on the way may add.
    pub burst: u32,
}

/// When a head is stamped later than the flow's last virtual finish.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Stamping {
    /// Only the first packet of a busy period starts anew; others follow on the one before, so a late flow catches up.
    #[default]
    Keep,
    /// Every head starts no earlier than the instant it becomes the head, as printed: a late flow loses its lateness.
    Literal,
}

/// What a packet costs that is sent before its virtual start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OutOfProfile {
    /// Nothing: the next head inherits its virtual start.
    #[default]
    Refund,
    /// As much as any other: the flow pays later for the idle capacity that it used.
    Charge,
}

/// Which packets leave marked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Marks {
    /// Those sent before their virtual start.
    #[default]
    Early,
    /// Those of them that the flow's [`Profile`] has no tokens for.
    Profile,
}

/// What an operator may say about all flows of one [`IntegratedServices`](super::IntegratedServices) together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IntServOptions {
    /// When heads are stamped; also for [`ShapedVirtualClock`](super::ShapedVirtualClock).
    pub stamp: Stamping,
    /// What a packet costs that is out of profile.
    pub out_of_profile: OutOfProfile,
    /// Which packets leave marked.
    pub marks: Marks,
    /// The packets out of profile that are sent for every [`IntServOptions::best_effort_weight`] packets of best effort. With 0 none are: they
    /// wait for their virtual start.
    pub out_of_profile_weight: u32,
    /// The packets of best effort that are sent for every [`IntServOptions::out_of_profile_weight`] packets out of profile, at least 1.
    pub best_effort_weight: u32,
}

impl Default for IntServOptions {
    fn default() -> IntServOptions {
        IntServOptions {
            stamp: Stamping::default(),
            out_of_profile: OutOfProfile::default(),
            marks: Marks::default(),
            out_of_profile_weight: 1,
            best_effort_weight: 1,
        }
    }
}
