//! A link whose rate varies: how long each of its rates lasts, and when a transmission ends.
//!
//! **Law.** A transmission ends when the bits that the link has carried since its start make up its length: the exact integral of the rate,
//! rounded up to a picosecond. What is rounded up is credited to a transmission that follows at once, so back-to-back packets fill a step to its end.
//! **Source.** None for the integral. Traces of delivery opportunities: R. Netravali and others, "Mahimahi: accurate record-and-replay for HTTP",
//! USENIX ATC 2015.
//! **State.** 24 bytes per step, and the place in them.
//! **Cost.** Per packet a constant, and a constant per step that ends during its transmission. No division but after a silence of a whole period.
//! **RTL twin.** None.
//! **Deviations.** None.

use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, SERIAL_HORIZON, Time};
use alloc::vec::Vec;
use core::fmt;

/// The rates of a link, step after step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VaryingRate {
    steps: Vec<RateStep>,
    period: Option<Duration>,
}

/// From an instant on the link has this rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateStep {
    /// The instant, from the start.
    pub at: Duration,
    /// The rate; `None` for an outage, in which nothing is carried.
    pub rate: Option<Rate>,
}

/// Why steps make no link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateStepError {
    /// The first step is not at 0, or there is none.
    Start,
    /// The step of this number, or the end of the period if there is none of it, comes less than [`VaryingRate::SHORTEST_STEP`] after the one before.
    TooShort(usize),
    /// The step of this number, or the period, is beyond [`VaryingRate::LONGEST`].
    TooLong(usize),
    /// The link is never up again after the last step, or never at all.
    Down,
}

impl fmt::Display for RateStepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateStepError::Start => f.write_str("the first step does not begin at 0"),
            RateStepError::TooShort(step) => write!(f, "step {step} comes less than 10 us after the one before"),
            RateStepError::TooLong(step) => write!(f, "step {step} comes later than 26 days after the start"),
            RateStepError::Down => f.write_str("the link stays down for ever"),
        }
    }
}

impl VaryingRate {
    /// The shortest step: 10 us.
    pub const SHORTEST_STEP: Duration = Duration::from_microseconds(10);
    /// The longest time that steps or a period may take: 26 days.
    pub const LONGEST: Duration = SERIAL_HORIZON;

    /// Steps in the order of their instants, the first at 0. With a `period` they repeat from its end on; without, the last one stays.
    ///
    /// # Errors
    /// [`RateStepError`], with the number of the step from 0.
    pub fn new(steps: Vec<RateStep>, period: Option<Duration>) -> Result<VaryingRate, RateStepError> {
        if steps.first().is_none_or(|first| first.at != Duration::ZERO) {
            return Err(RateStepError::Start);
        }
        let ends = steps.iter().skip(1).map(|step| step.at).chain(period);
        for (number, (begin, end)) in (1..).zip(steps.iter().map(|step| step.at).zip(ends)) {
            if end > VaryingRate::LONGEST {
                return Err(RateStepError::TooLong(number));
            }
            if end < begin + VaryingRate::SHORTEST_STEP {
                return Err(RateStepError::TooShort(number));
            }
        }
        let is_up = |step: &RateStep| step.rate.is_some();
        let comes_up = if period.is_some() { steps.iter().any(is_up) } else { steps.last().is_some_and(is_up) };
        if comes_up { Ok(VaryingRate { steps, period }) } else { Err(RateStepError::Down) }
    }

    /// The steps.
    pub fn steps(&self) -> &[RateStep] {
        &self.steps
    }

    /// After how long the steps repeat; `None` if the last one stays.
    pub fn period(&self) -> Option<Duration> {
        self.period
    }

    /// The least rate; `None` if the link has outages.
    pub fn least(&self) -> Option<Rate> {
        self.steps.iter().map(|step| step.rate).min().flatten()
    }

    /// The greatest rate.
    pub fn greatest(&self) -> Rate {
        self.steps.iter().filter_map(|step| step.rate).max().unwrap_or(Rate::MIN)
    }

    /// A bound on the time that a packet of this many bytes on the wire takes; [`Duration::MAX`] if that is more than [`VaryingRate::LONGEST`].
    pub fn longest_transmission(&self, bytes: u32) -> Duration {
        let mut longest = Duration::ZERO;
        for step in 0..self.steps.len() {
            let mut cursor = RateCursor::new(Time::ZERO, self);
            (0..step).for_each(|_| cursor.step());
            // What it takes of the step in which it starts, and then all of it from the next step on.
            let first = cursor.segment();
            let whole = if first.is_up() { first.time(u128::from(bytes) * BYTE) } else { first.length };
            longest = longest.max(if cursor.is_last() { whole } else { whole.min(first.length) + cursor.time_after_step(bytes) });
        }
        if longest > VaryingRate::LONGEST { Duration::MAX } else { longest }
    }
}

/// A byte in units of work: bits times picoseconds per second. A rate times a time is such a number, so nothing is rounded.
const BYTE: u128 = 8 * PICOSECONDS_PER_SECOND as u128;

#[derive(Clone, Copy, Debug)]
struct Segment {
    length: Duration,
    /// In bits per second; 0 for an outage.
    rate: u64,
    /// 2^(63 + the number of bits of `rate` - 1) / `rate`, rounded down.
    reciprocal: u64,
}

impl Segment {
    fn new(rate: Option<Rate>, length: Duration) -> Segment {
        let rate = rate.map_or(0, Rate::bits_per_second);
        let reciprocal = (1u128 << (63 + rate.max(1).ilog2())) / u128::from(rate.max(1));
        Segment { length, rate, reciprocal: reciprocal as u64 }
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.rate > 0
    }

    #[inline]
    fn work(&self, time: Duration) -> u128 {
        u128::from(time.picoseconds()) * u128::from(self.rate)
    }

    /// The time that an amount of work takes, rounded up, if the link is up. The work is below 2^28 bytes, which is below 2^71.
    #[inline]
    fn time(&self, work: u128) -> Duration {
        // The reciprocal is below 2^64, and rounding down costs less than two units of the quotient.
        let mut quotient = (((work >> 8) * u128::from(self.reciprocal)) >> (55 + self.rate.ilog2())) as u64;
        while self.work(Duration::from_picoseconds(quotient)) < work {
            quotient += 1;
        }
        Duration::from_picoseconds(quotient)
    }
}

/// A [`VaryingRate`] that runs: the present step, which only moves on.
#[derive(Clone, Debug)]
pub(super) struct RateCursor {
    segments: Vec<Segment>,
    period: Option<Duration>,
    at: usize,
    begin: Time,
    /// Where the present step ends, if it is not the last of all.
    end: Time,
    /// The end of the last transmission, and the work that the link could still have done when it was rounded up to that.
    finished: Time,
    credit: u128,
}

impl RateCursor {
    /// The steps count from `start`.
    pub(super) fn new(start: Time, rates: &VaryingRate) -> RateCursor {
        let ends = rates.steps.iter().skip(1).map(|step| step.at).chain([rates.period.unwrap_or(Duration::MAX)]);
        let segments: Vec<Segment> =
            rates.steps.iter().zip(ends).map(|(step, end)| Segment::new(step.rate, end.saturating_sub(step.at))).collect();
        let end = segments.first().map_or(start, |first| start + first.length);
        RateCursor { segments, period: rates.period, at: 0, begin: start, end, finished: start, credit: 0 }
    }

    #[inline]
    fn segment(&self) -> &Segment {
        &self.segments[self.at]
    }

    #[inline]
    fn is_last(&self) -> bool {
        self.period.is_none() && self.at + 1 == self.segments.len()
    }

    /// The next step is the present one.
    #[inline]
    fn step(&mut self) {
        self.at = if self.at + 1 == self.segments.len() { 0 } else { self.at + 1 };
        self.begin = self.end;
        self.end += self.segment().length;
    }

    /// The time of this many bytes from the begin of the next step on; about [`VaryingRate::LONGEST`] if it is more.
    fn time_after_step(mut self, bytes: u32) -> Duration {
        self.step();
        let (from, mut work) = (self.begin, u128::from(bytes) * BYTE);
        loop {
            let segment = self.segment();
            if self.is_last() || (segment.is_up() && work <= segment.work(segment.length)) {
                return self.begin.since(from) + segment.time(work);
            }
            work -= segment.work(segment.length);
            if self.end.since(from) > VaryingRate::LONGEST {
                return self.end.since(from);
            }
            self.step();
        }
    }

    /// Moves on to the step of `now`. Nothing before `now` is asked for afterwards.
    pub(super) fn move_to(&mut self, now: Time) {
        if self.is_last() || now.is_before(self.end) {
            return;
        }
        if let Some(period) = self.period {
            let whole = now.since(self.end).picoseconds() / period.picoseconds();
            self.end += Duration::from_picoseconds(whole * period.picoseconds());
        }
        while !self.is_last() && !now.is_before(self.end) {
            self.step();
        }
    }

    /// The end of a transmission of this many bytes that starts at `start`, which is no earlier than the end of the one before.
    #[inline(never)]
    pub(super) fn finish(&mut self, start: Time, bytes: u32) -> Time {
        self.move_to(start);
        let mut work = u128::from(bytes) * BYTE;
        if start == self.finished {
            work = work.saturating_sub(self.credit);
        }
        let mut from = start;
        loop {
            let segment = self.segment();
            let possible = segment.work(self.end.since(from));
            if self.is_last() || (segment.is_up() && work <= possible) {
                let time = segment.time(work);
                (self.finished, self.credit) = (from + time, segment.work(time) - work);
                return self.finished;
            }
            work -= possible;
            self.step();
            from = self.begin;
        }
    }
}

#[cfg(test)]
mod tests;
