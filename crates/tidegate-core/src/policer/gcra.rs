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

use super::contract::{Contract, ContractError, ContractField, MAX_WEIGHED, Violation};
use super::{Enforcement, Policer, Verdict};
use crate::packet::Colour;
use crate::port::MEMORY;
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
    terms: Terms,
}

/// What the two forms have in common: rate, limit and the fate of violating packets.
///
/// The arithmetic is in ticks of 2^-shift ps, with the shift of the rate's [`TimePerByte`]: the weight of a packet is its length times the
/// mantissa, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Terms {
    increment: TimePerByte,
    /// The tolerance L, in ticks, at most 2^62.
    limit: u64,
    violation: Violation,
}

impl Terms {
    fn new(increment: TimePerByte, limit: Duration) -> Option<Terms> {
        let limit = u128::from(limit.picoseconds()) << increment.shift();
        (limit <= 1 << 62).then_some(Terms { increment, limit: limit as u64, violation: Violation::Discard })
    }

    fn of(contract: &Contract) -> Result<Terms, ContractError> {
        let increment = contract.rate.time_per_byte();
        let beyond_first = u128::from(contract.burst_beyond_first_packet()?) * u128::from(increment.mantissa());
        let limit = beyond_first + (u128::from(contract.tolerance().picoseconds()) << increment.shift());
        if limit > 1 << 62 {
            return Err(ContractField::DelayVariationTolerance.wrong("with the burst exceeds 2^29 bytes at this rate: lower one of them"));
        }
        if (limit as u64 >> increment.shift()) + increment.ceil(contract.longest_packet).picoseconds() > MEMORY.picoseconds() {
            return Err(
                ContractField::Burst.wrong("with a packet and the tolerance takes more than 26 days at this rate: lower one of them")
            );
        }
        Ok(Terms { increment, limit: limit as u64, violation: contract.violation.unwrap_or_default() })
    }

    /// The weight of a packet, in ticks: below 2^62.
    #[inline]
    const fn weight(&self, length: u32) -> u64 {
        debug_assert!(length <= MAX_WEIGHED);
        length as u64 * self.increment.mantissa()
    }
}

impl VirtualScheduling {
    /// A policer of the rate whose time per byte is `increment`, with tolerance `limit`, started at `now`. It discards what violates.
    ///
    /// # Panics
    /// If the tolerance exceeds 2^29 bytes at the rate; [`Enforcement::build`] reports that as an error.
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> VirtualScheduling {
        let Some(terms) = Terms::new(increment, limit) else { panic!("a tolerance is at most 2^29 bytes at its rate") };
        VirtualScheduling { theoretical_arrival: now, excess: 0, terms }
    }

    /// The theoretical arrival time (TAT) of the next packet, rounded up to a picosecond.
    pub fn theoretical_arrival(&self) -> Time {
        self.theoretical_arrival
    }

    /// The backlog at `now` in ticks: the time from `now` to the theoretical arrival, and nothing if that has passed.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        (self.theoretical_arrival.since(now).picoseconds() << self.terms.increment.shift()).saturating_sub(self.excess)
    }
}

impl Policer for VirtualScheduling {
    fn start(&mut self, now: Time) {
        (self.theoretical_arrival, self.excess) = (now, 0);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let backlog = self.backlog(now);
        if backlog > self.terms.limit {
            return self.terms.violation.verdict(colour);
        }
        let backlog = backlog + self.terms.weight(length);
        // Rounded up to a picosecond, and what that added is remembered: the next backlog is exact again.
        let shift = self.terms.increment.shift();
        let ceiling = (backlog + ((1 << shift) - 1)) >> shift;
        self.theoretical_arrival = now + Duration::from_picoseconds(ceiling);
        self.excess = (ceiling << shift) - backlog;
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
        Ok(VirtualScheduling { theoretical_arrival: Time::ZERO, excess: 0, terms: Terms::of(contract)? })
    }
}

/// GCRA in the continuous-state leaky bucket form: a packet conforms if the bucket, drained up to its arrival, is not above the limit.
///
/// The registered policer is [`VirtualScheduling`]; this form says the same of every packet.
#[derive(Clone, Copy, Debug)]
pub struct LeakyBucket {
    last_conformance: Time,
    /// The level X after the last conforming packet, in ticks.
    level: u64,
    terms: Terms,
}

impl LeakyBucket {
    /// As [`VirtualScheduling::new`].
    ///
    /// # Panics
    /// As [`VirtualScheduling::new`].
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> LeakyBucket {
        LeakyBucket { last_conformance: now, level: 0, terms: VirtualScheduling::new(now, increment, limit).terms }
    }

    /// The policer of a contract, started at [`Time::ZERO`].
    ///
    /// # Errors
    /// As [`Enforcement::build`] of [`VirtualScheduling`].
    pub fn build(contract: &Contract) -> Result<LeakyBucket, ContractError> {
        Ok(LeakyBucket { last_conformance: Time::ZERO, level: 0, terms: Terms::of(contract)? })
    }

    /// The level X after the last conforming packet, rounded up to a picosecond.
    pub fn level(&self) -> Duration {
        let shift = self.terms.increment.shift();
        Duration::from_picoseconds((self.level + ((1 << shift) - 1)) >> shift)
    }

    /// When that packet came (LCT).
    pub fn last_conformance(&self) -> Time {
        self.last_conformance
    }

    #[inline]
    fn level_at(&self, now: Time) -> u64 {
        let shift = self.terms.increment.shift();
        let elapsed = now.since(self.last_conformance).picoseconds();
        // A level is below 2^63 ticks: a time that would be longer than that in ticks has drained it.
        self.level.saturating_sub(elapsed.min(i64::MAX as u64 >> shift) << shift)
    }
}

impl Policer for LeakyBucket {
    fn start(&mut self, now: Time) {
        (self.last_conformance, self.level) = (now, 0);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let level = self.level_at(now);
        if level > self.terms.limit {
            return self.terms.violation.verdict(colour);
        }
        self.level = level + self.terms.weight(length);
        self.last_conformance = now;
        Verdict::Conform
    }

    fn refresh(&mut self, now: Time) {
        (self.last_conformance, self.level) = (now, self.level_at(now));
    }
}

/// How many cells may follow each other at a spacing below the increment before one is early by more than the tolerance:
/// `1 + floor(limit / (increment - spacing))`; `None` if the spacing is not below the increment, for then all may.
pub fn back_to_back_cells(increment: Duration, limit: Duration, spacing: Duration) -> Option<u64> {
    let early = increment.saturating_sub(spacing).picoseconds();
    Some(1 + limit.picoseconds().checked_div(early)?)
}
