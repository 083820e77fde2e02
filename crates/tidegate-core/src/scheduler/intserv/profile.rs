//! The token bucket of a flow's declared traffic, as a theoretical arrival time with an exact remainder.

use super::super::exact_rate::ExactRate;
use super::super::{BuildError, FlowParameters, Parameter, Profile};
use crate::packet::Flow;
use crate::units::{Duration, MAX_BYTES, SERIAL_HORIZON, Time};

/// A token bucket that tells which packets a flow has declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The bucket is full from here on.
    full: Time,
    remainder: u64,
    rate: ExactRate,
    /// The time in which an empty bucket fills.
    depth: Duration,
}

impl Bucket {
    /// The bucket of a flow.
    pub(super) fn of(flow: Flow, given: &FlowParameters) -> Result<Bucket, BuildError> {
        let wrong = |problem| BuildError { flow: Some(flow), parameter: Parameter::Profile, problem };
        let profile = given.profile.ok_or(wrong("marks by profile need it for every flow that is not best effort"))?;
        if profile.burst == 0 || profile.burst > MAX_BYTES {
            return Err(wrong("a burst is at least 1 byte and less than 2^30 bytes"));
        }
        let bucket = Bucket::new(profile);
        if bucket.depth >= SERIAL_HORIZON {
            Err(wrong("the burst takes more than 26 days at this rate: raise the rate"))
        } else {
            Ok(bucket)
        }
    }

    /// A bucket without a use, for best effort.
    pub(super) const NONE: Bucket =
        Bucket { full: Time::ZERO, remainder: 0, rate: ExactRate::new(crate::units::Rate::MIN), depth: Duration::ZERO };

    fn new(profile: Profile) -> Bucket {
        let rate = ExactRate::new(profile.rate);
        // Rounded up: a picosecond more tolerance, never less than was declared.
        let (depth, remainder) = rate.time_of(profile.burst);
        let depth = Duration::from_picoseconds(depth + u64::from(remainder > 0));
        Bucket { full: Time::ZERO, remainder: 0, rate, depth }
    }

    pub(super) fn reset(&mut self, now: Time) {
        (self.full, self.remainder) = (now, 0);
    }

    /// True if the bucket has tokens for a packet of this length.
    #[inline]
    pub(super) fn covers(&self, now: Time, length: u32) -> bool {
        let (span, _) = self.rate.time_of(length);
        self.full.since(now).picoseconds() + span <= self.depth.picoseconds()
    }

    /// Takes tokens for a packet that is sent, if there are enough.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, length: u32) {
        if !self.covers(now, length) {
            return;
        }
        if self.full.is_before(now) {
            self.reset(now);
        }
        let (span, remainder) = self.rate.time_of(length);
        let parts = self.remainder + remainder;
        let carries = parts >= self.rate.parts();
        self.full += Duration::from_picoseconds(span + u64::from(carries));
        self.remainder = if carries { parts - self.rate.parts() } else { parts };
    }

    /// The tokens that the flow has used stay used.
    pub(super) fn continue_from(&mut self, old: &Bucket) {
        (self.full, self.remainder) = (old.full, old.rate.convert(old.remainder, self.rate));
    }

    pub(super) fn raise(&mut self, oldest: Time) {
        self.full = self.full.later(oldest);
    }
}
