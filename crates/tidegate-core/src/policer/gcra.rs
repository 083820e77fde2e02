//! The generic cell rate algorithm GCRA(I, L) for packets of any length, in its two equivalent forms.
//!
//! **Law.** In every interval of length t the conforming packets before the last hold at most `(L + t) / I` packets' worth of bytes. With
//! `L = (burst - longest packet) at the rate + tolerance`, all of them hold at most `burst + rate * (t + tolerance)` bytes.
//! **Source.** ITU-T I.371 and ATM Forum Traffic Management 4.0, where every packet is one cell; I = 1 / rate.
//! **State.** Virtual scheduling: the theoretical arrival time (TAT) and the ticks by which it is rounded up. Leaky bucket: the level X and
//! the last conformance time (LCT). 32 bytes with the contract, 40 in the second form.
//! **Cost.** One multiplication, four shifts, no division and no branch.
//! **RTL twin.** None yet.
//! **Deviations.** A packet of n bytes adds n times the time of a byte instead of one fixed increment. The tolerance test is the
//! source's, on the backlog before the packet: a packet longer than the burst waits longer but is never refused for good. The
//! arithmetic carries what rounding to picoseconds would lose, so a long stream is accepted at the rate to within 2^-32.
//!
//! The forms agree packet by packet, and after each conforming packet `X = TAT - LCT`; the tests of this file assert both.

use super::contract::{Contract, ContractError, ContractField, Increment, Violation};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::packet::Colour;
use crate::units::{Duration, SERIAL_HORIZON, Time, TimePerByte};
use core::hint::select_unpredictable;

/// GCRA in the virtual scheduling form: a packet conforms if it comes no earlier than its theoretical arrival time less the tolerance.
///
/// ```
/// use tidegate_core::packet::Colour;
/// use tidegate_core::policer::{Policer, Verdict, VirtualScheduling};
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Packets of 100 bytes at 800 kbit/s: one per millisecond, up to half a millisecond early.
/// let rate = Rate::new(800_000).unwrap().time_per_byte();
/// let mut gcra = VirtualScheduling::new(Time::ZERO, rate, Duration::from_microseconds(500));
/// let at = |us: u64| Time::ZERO + Duration::from_microseconds(us);
/// assert_eq!(gcra.police(at(0), 100, Colour::Green), Verdict::Conform);
/// assert_eq!(gcra.police(at(499), 100, Colour::Green), Verdict::Discard);
/// assert_eq!(gcra.police(at(500), 100, Colour::Green), Verdict::Conform);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct VirtualScheduling {
    /// The theoretical arrival time rounded up to a picosecond.
    theoretical_arrival: Time,
    /// Holds the ticks by which it was rounded up, fewer than make a picosecond.
    terms: Terms<u32>,
}

const _: () = assert!(size_of::<VirtualScheduling>() == 32, "two flows per cache line");

/// What the two forms share: rate, limit and what becomes of violating packets.
///
/// The arithmetic is in ticks of 2^-shift ps, with the shift of the rate's [`TimePerByte`]: the weight of a packet is its length times the
/// mantissa, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Terms<T> {
    increment: Increment,
    /// The tolerance L, in ticks, at most 2^62.
    limit: u64,
    violation: Violation,
    /// Further state of one form, in what would be padding.
    excess: T,
}

impl<T: Default> Terms<T> {
    fn new(increment: TimePerByte, limit: Duration) -> Terms<T> {
        let limit = u128::from(limit.picoseconds()) << increment.shift();
        assert!(limit <= 1 << 62, "a tolerance is at most 2^29 bytes at its rate");
        Terms { increment: increment.into(), limit: limit as u64, violation: Violation::Discard, excess: T::default() }
    }

    fn of(contract: &Contract) -> Result<Terms<T>, ContractError> {
        let increment = contract.rate.time_per_byte();
        let beyond_first = u128::from(contract.burst_beyond_first_packet()?) * u128::from(increment.mantissa());
        let limit = beyond_first + (u128::from(contract.tolerance().picoseconds()) << increment.shift());
        if limit > 1 << 62 {
            return Err(ContractField::DelayVariationTolerance.wrong("with the burst exceeds 2^29 bytes at this rate: lower one of them"));
        }
        if (limit as u64 >> increment.shift()) + increment.ceil(contract.longest_packet).picoseconds() > SERIAL_HORIZON.picoseconds() {
            return Err(
                ContractField::Burst.wrong("with a packet and the tolerance takes more than 26 days at this rate: lower one of them")
            );
        }
        Ok(Terms {
            increment: increment.into(),
            limit: limit as u64,
            violation: contract.violation.unwrap_or_default(),
            excess: T::default(),
        })
    }
}

impl VirtualScheduling {
    /// A policer of the rate whose time per byte is `increment`, with tolerance `limit`, started at `now`. It discards what violates.
    ///
    /// # Panics
    /// If the tolerance exceeds 2^29 bytes at the rate; [`Algorithm::build`] reports that as an error.
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> VirtualScheduling {
        VirtualScheduling { theoretical_arrival: now, terms: Terms::new(increment, limit) }
    }

    /// The theoretical arrival time (TAT) of the next packet, rounded up to a picosecond.
    pub fn theoretical_arrival(&self) -> Time {
        self.theoretical_arrival
    }

    /// The backlog at `now` in ticks: the time from `now` to the theoretical arrival, and nothing if that has passed.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        (self.theoretical_arrival.since(now).picoseconds() << self.terms.increment.shift()).saturating_sub(u64::from(self.terms.excess))
    }
}

impl Policer for VirtualScheduling {
    fn start(&mut self, now: Time) {
        (self.theoretical_arrival, self.terms.excess) = (now, 0);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let backlog = self.backlog(now);
        let conforms = backlog <= self.terms.limit;
        let backlog = backlog + self.terms.increment.weight(length);
        // Rounded up to a picosecond; the excess is kept, which makes the next backlog exact.
        let shift = self.terms.increment.shift();
        let ceiling = (backlog + ((1 << shift) - 1)) >> shift;
        let arrival = now + Duration::from_picoseconds(ceiling);
        let excess = ((ceiling << shift) - backlog) as u32;
        // Selects, because which packet of a mixed stream conforms is not predictable.
        self.theoretical_arrival = select_unpredictable(conforms || fault!(GcraChargesViolations), arrival, self.theoretical_arrival);
        self.terms.excess = select_unpredictable(conforms, excess, self.terms.excess);
        select_unpredictable(conforms, Verdict::Conform, self.terms.violation.verdict(colour))
    }

    fn refresh(&mut self, now: Time) {
        if self.theoretical_arrival.is_before(now) {
            self.start(now);
        }
    }
}

impl Algorithm<Policing> for VirtualScheduling {
    const NAME: &'static str = "gcra";
    const SUMMARY: &'static str = "one rate with a tolerance: packets that come too early are outside";
    const REQUIRES: &'static [ContractField] = &[ContractField::Rate];
    const ACCEPTS: &'static [ContractField] = &[ContractField::Burst, ContractField::DelayVariationTolerance];

    fn build(contract: &Contract) -> Result<VirtualScheduling, ContractError> {
        Ok(VirtualScheduling { theoretical_arrival: Time::ZERO, terms: Terms::of(contract)? })
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
    terms: Terms<()>,
}

impl LeakyBucket {
    /// As [`VirtualScheduling::new`].
    ///
    /// # Panics
    /// As [`VirtualScheduling::new`].
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> LeakyBucket {
        LeakyBucket { last_conformance: now, level: 0, terms: Terms::new(increment, limit) }
    }

    /// The policer of a contract, started at [`Time::ZERO`].
    ///
    /// # Errors
    /// As [`Algorithm::build`] of [`VirtualScheduling`].
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
        self.level = level + self.terms.increment.weight(length);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// One slot is a nanosecond, and at 8 Gbit/s a byte takes one: GCRA(I, L) in slots is packets of I bytes and a tolerance of L ns.
    fn in_slots(limit: u64) -> (VirtualScheduling, LeakyBucket) {
        let rate = Rate::new(8_000_000_000).unwrap().time_per_byte();
        let limit = Duration::from_nanoseconds(limit);
        (VirtualScheduling::new(Time::ZERO, rate, limit), LeakyBucket::new(Time::ZERO, rate, limit))
    }

    #[test]
    fn transcript_of_gcra_10_15() {
        let (mut scheduling, mut bucket) = in_slots(15);
        let mut transcript = Vec::new();
        for slot in [0u64, 2, 5, 12, 18, 19, 30, 31, 60] {
            let now = Time::from_nanoseconds(slot);
            let conforms = scheduling.police(now, 10, Colour::Green) == Verdict::Conform;
            assert_eq!(conforms, bucket.police(now, 10, Colour::Green) == Verdict::Conform);
            let arrival = scheduling.theoretical_arrival().picoseconds() / 1000;
            transcript.push((conforms, arrival, bucket.level().picoseconds() / 1000));
        }
        let expected = [
            (true, 10, 10),
            (true, 20, 18),
            (true, 30, 25),
            (false, 30, 25),
            (true, 40, 22),
            (false, 40, 22),
            (true, 50, 20),
            (false, 50, 20),
            (true, 70, 10),
        ];
        assert_eq!(transcript, expected);
    }

    #[test]
    fn cells_in_adjacent_slots() {
        // GCRA(4.5, 7), (10, 15), (4, 9), (100, 380), in half slots of a nanosecond.
        for (increment, limit, cells) in [(9, 14, 3), (20, 30, 2), (8, 18, 4), (200, 760, 4)] {
            let (mut scheduling, _) = in_slots(limit);
            let passed =
                (0..).take_while(|i| scheduling.police(Time::from_nanoseconds(2 * i), increment, Colour::Green) == Verdict::Conform);
            assert_eq!(passed.count() as u64, cells);
            let ns = Duration::from_nanoseconds;
            assert_eq!(back_to_back_cells(ns(increment.into()), ns(limit), ns(2)), Some(cells));
        }
        assert_eq!(back_to_back_cells(Duration::from_nanoseconds(2), Duration::ZERO, Duration::from_nanoseconds(2)), None);
    }

    #[test]
    fn the_boundary_conforms_and_one_picosecond_earlier_does_not() {
        let (start, _) = in_slots(15);
        let boundary = Time::from_nanoseconds(20 - 15);
        for (at, verdict) in [(boundary, Verdict::Conform), (boundary - Duration::from_picoseconds(1), Verdict::Discard)] {
            let mut gcra = start;
            assert_eq!(gcra.police(Time::ZERO, 20, Colour::Green), Verdict::Conform);
            assert_eq!(gcra.police(at, 20, Colour::Green), verdict);
        }
    }

    #[test]
    fn marking_never_improves_a_packet() {
        let (mut gcra, _) = in_slots(0);
        gcra.terms.violation = Violation::Mark(Colour::Yellow);
        let mut verdict = |colour| gcra.police(Time::ZERO, 10, colour);
        assert_eq!(verdict(Colour::Green), Verdict::Conform);
        assert_eq!(verdict(Colour::Green), Verdict::Mark(Colour::Yellow));
        assert_eq!(verdict(Colour::Yellow), Verdict::Conform);
        assert_eq!(verdict(Colour::Red), Verdict::Conform);
    }

    proptest! {
        /// The two forms, over gaps that favour the instants at which a packet just conforms or just fails to.
        #[test]
        fn the_two_forms_are_equal(
            bps in prop_oneof![1_000u64..100_000, 1_000_000u64..=400_000_000_000],
            limit in 0u32..200_000,
            origin: u64,
            packets in proptest::collection::vec((1u32..10_000, 0u8..6, -2i64..3, any::<u32>()), 1..300),
        ) {
            let rate = Rate::new(bps).unwrap().time_per_byte();
            let mut now = Time::from_picoseconds(origin);
            let mut scheduling = VirtualScheduling::new(now, rate, rate.ceil(limit));
            let mut bucket = LeakyBucket::new(now, rate, rate.ceil(limit));
            for (length, kind, near, gap) in packets {
                now = match kind {
                    0 => now,
                    1 => now + rate.ceil(gap % 20_000),
                    2 => now + Duration::from_picoseconds(u64::from(gap)),
                    _ => {
                        let boundary = scheduling.theoretical_arrival() - rate.ceil(limit);
                        now.later(Time::from_picoseconds(boundary.picoseconds().wrapping_add_signed(near)))
                    }
                };
                let verdict = scheduling.police(now, length, Colour::Green);
                prop_assert_eq!(verdict, bucket.police(now, length, Colour::Green));
                if verdict == Verdict::Conform {
                    let ahead = scheduling.theoretical_arrival().since(bucket.last_conformance());
                    // X = TAT - LCT, to the tick.
                    prop_assert_eq!((ahead.picoseconds() << rate.shift()) - u64::from(scheduling.terms.excess), bucket.level);
                    prop_assert_eq!(ahead, bucket.level());
                }
            }
        }
    }
}
