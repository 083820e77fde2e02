//! What an AQM is built from, as an operator states it.

use super::probability::Probability;
use super::red_curve::RedCurve;
use crate::algorithm::{FieldError, Role};
use crate::units::{Duration, Rate};

/// The role of AQMs.
#[derive(Debug)]
pub enum QueueManagement {}

impl Role for QueueManagement {
    type Field = AqmField;
    type Parameters<'a> = (&'a AqmSetup, &'a AqmParameters);
    type Error = AqmError;
}

/// Why an AQM cannot be built.
pub type AqmError = FieldError<AqmField>;

/// Where an AQM works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AqmSetup {
    /// The number of queues of its class.
    pub flows: usize,
    /// The rate at which the class can be served: that of its node if the node has one, of the link otherwise.
    pub rate: Rate,
    /// The longest frame in bytes.
    pub longest_frame: u32,
}

impl AqmSetup {
    /// A target of `usual`, or of one and a half of the longest frame where that takes longer: no shorter one can be kept.
    pub(super) const fn usual_target(&self, usual: Duration) -> Duration {
        let frame = self.rate.time_per_byte().ceil(self.longest_frame).picoseconds();
        let least = frame + frame.div_ceil(2);
        if least > usual.picoseconds() { Duration::from_picoseconds(least) } else { usual }
    }
}

/// What an operator may state; `None` where the algorithm's own default holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AqmParameters {
    /// The delay in the queue that is aimed at.
    pub target: Option<Duration>,
    /// How long the delay may exceed the target before anything is said: a round-trip time of the longest paths.
    pub interval: Option<Duration>,
    /// True if packets whose transport understands it are marked in place of dropped; true unless given.
    pub ecn: Option<bool>,
    /// Packets that have waited longer are dropped even if they could be marked.
    pub mark_limit: Option<Duration>,
    /// Packets that find at least this many bytes in their queue are marked.
    pub mark_above: Option<u64>,
    /// Packets that have waited longer are marked, whatever else is decided.
    pub ce_threshold: Option<Duration>,
    /// True if the two thresholds above mark ECT(1) alone; false unless given.
    pub ect1_only: Option<bool>,
    /// The time between two updates of the probability.
    pub update_period: Option<Duration>,
    /// How strongly the probability follows the distance from the target.
    pub alpha: Option<Gain>,
    /// How strongly the probability follows the trend.
    pub beta: Option<Gain>,
    /// How long after a quiet time nothing is dropped or marked.
    pub max_burst: Option<Duration>,
    /// Up to this probability packets are marked, above it they are dropped.
    pub ecn_limit: Option<Probability>,
    /// True if drops that would come soon after one another, or late, are moved apart; true unless given.
    pub derandomise: Option<bool>,
    /// True if a delay above 250 ms raises the probability by 2 % more per update; false unless given.
    pub steep: Option<bool>,
    /// How likely a packet is to be signalled, by the average queue.
    pub curve: Option<RedCurve>,
    /// The same by colour: green, yellow and red.
    pub curves: [Option<RedCurve>; 3],
    /// The same for packets that can be marked, apart from drops.
    pub marking_curves: [Option<RedCurve>; 3],
    /// A packet has the weight of two to the power of minus this in the average.
    pub averaging: Option<u8>,
    /// True if the probability rises on to 1 at twice the upper threshold, false if it jumps there; true unless given.
    pub gentle: Option<bool>,
    /// True if packets that can be marked are marked beyond the upper threshold, too; false unless given.
    pub mark_above_max: Option<bool>,
    /// The factor between the probabilities of the low-latency and the classic queue.
    pub coupling: Option<u32>,
    /// Low-latency packets that have waited longer are marked.
    pub step: Option<Duration>,
    /// The probability of marks rises to 1 within this time after `step`.
    pub ramp: Option<Duration>,
    /// True if the classic queue grows in overload, in place of drops in the low-latency queue; false unless given.
    pub delay_on_saturation: Option<bool>,
    /// True if packets that are dropped at their turn count as served; false unless given.
    pub ingress: Option<bool>,
}

/// A gain of a controller in hertz: the change of a probability per second of delay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Gain(u32);

impl Gain {
    /// This many thousandths of a hertz; `None` above 1000 Hz.
    pub const fn from_millihertz(millihertz: u32) -> Option<Gain> {
        if millihertz > 1_000_000 { None } else { Some(Gain(millihertz)) }
    }

    pub(super) const fn millihertz(self) -> u32 {
        self.0
    }
}

fields! {
    /// One of the fields of [`AqmParameters`].
    pub enum AqmField {
        /// [`AqmParameters::target`].
        Target = "target",
        /// [`AqmParameters::interval`].
        Interval = "interval",
        /// [`AqmParameters::ecn`].
        Ecn = "ecn",
        /// [`AqmParameters::mark_limit`].
        MarkLimit = "mark_limit",
        /// [`AqmParameters::mark_above`].
        MarkAbove = "mark_above",
        /// [`AqmParameters::ce_threshold`].
        CeThreshold = "ce_threshold",
        /// [`AqmParameters::ect1_only`].
        Ect1Only = "ect1_only",
        /// [`AqmParameters::update_period`].
        UpdatePeriod = "update_period",
        /// [`AqmParameters::alpha`].
        Alpha = "alpha",
        /// [`AqmParameters::beta`].
        Beta = "beta",
        /// [`AqmParameters::max_burst`].
        MaxBurst = "max_burst",
        /// [`AqmParameters::ecn_limit`].
        EcnLimit = "ecn_limit",
        /// [`AqmParameters::derandomise`].
        Derandomise = "derandomise",
        /// [`AqmParameters::steep`].
        Steep = "steep",
        /// [`AqmParameters::curve`].
        Curve = "curve",
        /// [`AqmParameters::curves`].
        Curves = "curves",
        /// [`AqmParameters::marking_curves`].
        MarkingCurves = "marking_curves",
        /// [`AqmParameters::averaging`].
        Averaging = "averaging",
        /// [`AqmParameters::gentle`].
        Gentle = "gentle",
        /// [`AqmParameters::mark_above_max`].
        MarkAboveMax = "mark_above_max",
        /// [`AqmParameters::coupling`].
        Coupling = "coupling",
        /// [`AqmParameters::step`].
        Step = "step",
        /// [`AqmParameters::ramp`].
        Ramp = "ramp",
        /// [`AqmParameters::delay_on_saturation`].
        DelayOnSaturation = "delay_on_saturation",
        /// [`AqmParameters::ingress`].
        Ingress = "ingress",
    }
}

impl AqmField {
    pub(super) const fn wrong(self, problem: &'static str) -> AqmError {
        FieldError { field: self, problem }
    }
}

impl AqmParameters {
    /// True if `field` is given.
    pub fn has(&self, field: AqmField) -> bool {
        match field {
            AqmField::Target => self.target.is_some(),
            AqmField::Interval => self.interval.is_some(),
            AqmField::Ecn => self.ecn.is_some(),
            AqmField::MarkLimit => self.mark_limit.is_some(),
            AqmField::MarkAbove => self.mark_above.is_some(),
            AqmField::CeThreshold => self.ce_threshold.is_some(),
            AqmField::Ect1Only => self.ect1_only.is_some(),
            AqmField::UpdatePeriod => self.update_period.is_some(),
            AqmField::Alpha => self.alpha.is_some(),
            AqmField::Beta => self.beta.is_some(),
            AqmField::MaxBurst => self.max_burst.is_some(),
            AqmField::EcnLimit => self.ecn_limit.is_some(),
            AqmField::Derandomise => self.derandomise.is_some(),
            AqmField::Steep => self.steep.is_some(),
            AqmField::Curve => self.curve.is_some(),
            AqmField::Curves => self.curves != [None; 3],
            AqmField::MarkingCurves => self.marking_curves != [None; 3],
            AqmField::Averaging => self.averaging.is_some(),
            AqmField::Gentle => self.gentle.is_some(),
            AqmField::MarkAboveMax => self.mark_above_max.is_some(),
            AqmField::Coupling => self.coupling.is_some(),
            AqmField::Step => self.step.is_some(),
            AqmField::Ramp => self.ramp.is_some(),
            AqmField::DelayOnSaturation => self.delay_on_saturation.is_some(),
            AqmField::Ingress => self.ingress.is_some(),
        }
    }

    pub(crate) fn check(&self, required: &[AqmField], accepted: &[AqmField]) -> Result<(), AqmError> {
        if let Some(field) = required.iter().find(|&&field| !self.has(field)) {
            return Err(field.wrong("this AQM needs it"));
        }
        let is_used = |field: &AqmField| required.contains(field) || accepted.contains(field);
        match AqmField::ALL.iter().find(|field| self.has(**field) && !is_used(field)) {
            Some(field) => Err(field.wrong("this AQM does not use it")),
            None => Ok(()),
        }
    }
}

/// The target and interval of the algorithms that watch how long packets have waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sojourn {
    pub(super) target: Duration,
    pub(super) interval: Duration,
}

/// The usual target.
const TARGET: Duration = Duration::from_milliseconds(5);
/// The usual interval.
const INTERVAL: Duration = Duration::from_milliseconds(100);
/// The longest target and interval.
pub(super) const LONGEST: Duration = Duration::from_seconds(3600);

impl Sojourn {
    /// What is given; a default grows at rates at which packets take long: the target to one and a half of the longest frame, the interval by as
    /// much and to twice the target.
    pub(super) fn of(setup: &AqmSetup, given: &AqmParameters) -> Result<Sojourn, AqmError> {
        let target = given.target.unwrap_or_else(|| setup.usual_target(TARGET));
        let grown = (INTERVAL + target.saturating_sub(TARGET)).picoseconds().max(2 * target.picoseconds().min(LONGEST.picoseconds()));
        let interval = given.interval.unwrap_or(Duration::from_picoseconds(grown));
        if target == Duration::from_picoseconds(0) || target > LONGEST {
            return Err(AqmField::Target.wrong("must be above 0 and at most an hour"));
        }
        if interval < target {
            return Err(
                AqmField::Interval.wrong("must be at least the target: it is the time for which delays above the target are accepted")
            );
        }
        if interval > LONGEST {
            return Err(AqmField::Interval.wrong("must be at most an hour"));
        }
        Ok(Sojourn { target, interval })
    }
}
