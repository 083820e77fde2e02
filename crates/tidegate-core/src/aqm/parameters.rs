//! What an AQM is built from, as an operator states it.

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
const LONGEST: Duration = Duration::from_seconds(3600);

impl Sojourn {
    /// What is given; a default grows at rates at which packets take long: the target to one and a half of the longest frame, the interval by as
    /// much and to twice the target.
    pub(super) fn of(setup: &AqmSetup, given: &AqmParameters) -> Result<Sojourn, AqmError> {
        let frame = setup.rate.time_per_byte().ceil(setup.longest_frame).picoseconds();
        let least = Duration::from_picoseconds((frame + frame.div_ceil(2)).max(TARGET.picoseconds()));
        let target = given.target.unwrap_or(least);
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
