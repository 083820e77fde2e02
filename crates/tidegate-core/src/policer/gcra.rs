//! The generic cell rate algorithm GCRA(I, L) for packets of any length, in its two equivalent forms.
//!
//! **Law.** In every interval of length t the conforming packets before the last hold at most `(L + t) / I` packets' worth of bytes; with
//! `L = (burst - longest packet) at the rate + tolerance`, all of them hold at most `burst + rate * (t + tolerance)` bytes.
//! **Source.** ITU-T I.371 and ATM Forum Traffic Management 4.0, where every packet is one cell; I = 1 / rate.
//! **State.** Virtual scheduling: the theoretical arrival time (TAT) and the ticks by which it is rounded up. Leaky bucket: the level X and
//! the last conformance time (LCT). 48 bytes with the contract.
//! **Cost.** One multiplication, three shifts, one test.
//! **RTL twin.** None yet.
//! **Deviations.** A packet of n bytes adds n times the time of a byte instead of one fixed increment. The tolerance test is the
//! source's, on the backlog before the packet, so a packet longer than the burst allows is delayed in effect but never starved. The arithmetic carries what
//! rounding to picoseconds would lose, so a long stream is accepted at the rate to within 2^-32.
//!
//! The forms agree packet by packet, and after each conforming packet `X = TAT - LCT`; the tests of this file assert both.

use super::bucket::Bucket;
use super::contract::{Contract, ContractError, ContractField, Violation, check_span};
use super::{Enforcement, Policer, Verdict};
use crate::packet::Colour;
use crate::units::{Duration, Time, TimePerByte};

/// GCRA in the virtual scheduling form: a packet conforms if it comes no earlier than its theoretical arrival time less the tolerance.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Policer, Verdict, VirtualScheduling};
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // 53-byte cells at 424 kbit/s: one per millisecond, up to half a millisecond early.
/// let rate = Rate::new(424_000).unwrap().time_per_byte();
/// let mut gcra = VirtualScheduling::new(Time::ZERO, rate, Duration::from_microseconds(500));
/// let at = |us: u64| Time::ZERO + Duration::from_microseconds(us);
/// assert_eq!(gcra.police(at(0), 53, Colour::Green), Verdict::Conform);
/// assert_eq!(gcra.police(at(499), 53, Colour::Green), Verdict::Discard);
/// assert_eq!(gcra.police(at(500), 53, Colour::Green), Verdict::Conform);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VirtualScheduling {
    /// The theoretical arrival time rounded up to a picosecond.
    theoretical_arrival: Time,
    /// The ticks by which it was rounded up.
    excess: u64,
    /// Its level is unused: the backlog is kept as an instant.
    bucket: Bucket,
    shift: u8,
    violation: Violation,
}

impl VirtualScheduling {
    /// A policer of the rate whose time per byte is `increment`, with tolerance `limit`, started at `now`. It discards what violates.
    ///
    /// # Panics
    /// If the tolerance exceeds 2^29 bytes at the rate, or 26 days; [`Enforcement::build`] reports that as an error.
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> VirtualScheduling {
        assert!(fits(increment, limit), "a tolerance is at most 2^29 bytes at its rate and at most 26 days");
        VirtualScheduling {
            theoretical_arrival: now,
            excess: 0,
            bucket: Bucket::of_ticks(increment, limit.picoseconds() << increment.shift()),
            shift: increment.shift() as u8,
            violation: Violation::Discard,
        }
    }

    /// The theoretical arrival time of the next packet, rounded up to a picosecond.
    pub fn theoretical_arrival(&self) -> Time {
        self.theoretical_arrival
    }

    /// The backlog at `now` in ticks: the time from `now` to the theoretical arrival, and nothing if that has passed.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        (self.theoretical_arrival.since(now).picoseconds() << self.shift).saturating_sub(self.excess)
    }
}

impl Policer for VirtualScheduling {
    fn start(&mut self, now: Time) {
        (self.theoretical_arrival, self.excess) = (now, 0);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let backlog = self.backlog(now);
        if self.bucket.exceeded_by(backlog) != 0 {
            return self.violation.verdict(colour);
        }
        let backlog = backlog + self.bucket.weight(length);
        // Rounded up to a picosecond, and what was added by that is remembered: the next backlog is exact again.
        let ceiling = (backlog + ((1 << self.shift) - 1)) >> self.shift;
        self.theoretical_arrival = now + Duration::from_picoseconds(ceiling);
        self.excess = (ceiling << self.shift) - backlog;
        Verdict::Conform
    }

    fn refresh(&mut self, now: Time) {
        if self.theoretical_arrival.is_before(now) {
            self.start(now);
        }
    }
}

impl Enforcement for VirtualScheduling {
    const NAME: &'static str = "gcra";
    const SUMMARY: &'static str = "one rate with a tolerance: packets that come too early are outside";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate];
    const ACCEPTS: &'static [ContractField] = &[ContractField::Burst, ContractField::DelayVariationTolerance];

    fn build(contract: &Contract) -> Result<VirtualScheduling, ContractError> {
        let bucket = LeakyBucket::build(contract)?.bucket;
        let increment = contract.rate.time_per_byte();
        Ok(VirtualScheduling { bucket, violation: contract.violation.unwrap_or_default(), ..VirtualScheduling::new(Time::ZERO, increment, Duration::ZERO) })
    }
}

/// GCRA in the continuous-state leaky bucket form: a packet conforms if the bucket, drained up to its arrival, is not above the limit.
#[derive(Clone, Copy, Debug)]
pub struct LeakyBucket {
    last_conformance: Time,
    bucket: Bucket,
    violation: Violation,
}

impl LeakyBucket {
    /// As [`VirtualScheduling::new`].
    ///
    /// # Panics
    /// As [`VirtualScheduling::new`].
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> LeakyBucket {
        LeakyBucket { last_conformance: now, bucket: VirtualScheduling::new(now, increment, limit).bucket, violation: Violation::Discard }
    }
}

impl Policer for LeakyBucket {
    fn start(&mut self, now: Time) {
        self.last_conformance = now;
        self.bucket.clear();
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let level = self.bucket.level_after(now.since(self.last_conformance));
        if self.bucket.exceeded_by(level) != 0 {
            return self.violation.verdict(colour);
        }
        self.bucket.set_level(level + self.bucket.weight(length));
        self.last_conformance = now;
        Verdict::Conform
    }

    fn refresh(&mut self, now: Time) {
        self.bucket.drain(now.since(self.last_conformance));
        self.last_conformance = now;
    }
}

impl LeakyBucket {
    /// Builds it from the contract that [`VirtualScheduling`] takes: the registered policer is the virtual scheduling form.
    ///
    /// # Errors
    /// As [`Enforcement::build`].
    pub fn build(contract: &Contract) -> Result<LeakyBucket, ContractError> {
        let increment = contract.rate.time_per_byte();
        let beyond = contract.burst_beyond_first_packet()?;
        let bucket = Bucket::of_ticks(increment, 0);
        let limit = limit_in_ticks(bucket.weight(beyond), contract.tolerance(), increment)?;
        check_span(Duration::from_picoseconds(limit >> increment.shift()), increment.ceil(contract.longest_packet))?;
        let bucket = Bucket::of_ticks(increment, limit);
        Ok(LeakyBucket { last_conformance: Time::ZERO, bucket, violation: contract.violation.unwrap_or_default() })
    }
}

/// A burst tolerance in ticks and a delay variation tolerance together, in ticks.
pub(super) fn limit_in_ticks(burst: u64, tolerance: Duration, rate: TimePerByte) -> Result<u64, ContractError> {
    let limit = (u128::from(tolerance.picoseconds()) << rate.shift()) + u128::from(burst);
    if limit > 1 << 62 {
        return Err(ContractField::DelayVariationTolerance.wrong("with the burst exceeds 2^29 bytes at this rate: lower one of them"));
    }
    Ok(limit as u64)
}

fn fits(rate: TimePerByte, limit: Duration) -> bool {
    limit <= crate::port::MEMORY && u128::from(limit.picoseconds()) << rate.shift() <= 1 << 62
}

/// How many cells may follow each other at a spacing below the increment before one is early by more than the tolerance:
/// `1 + floor(limit / (increment - spacing))`; `None` if the spacing is not below the increment, for then all may.
pub fn back_to_back_cells(increment: Duration, limit: Duration, spacing: Duration) -> Option<u64> {
    let early = increment.saturating_sub(spacing).picoseconds();
    Some(1 + limit.picoseconds().checked_div(early)?)
}
