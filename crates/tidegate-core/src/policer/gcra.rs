//! The generic cell rate algorithm GCRA(I, L) for packets of any length, in its virtual scheduling form.
//!
//! **Law.** In every interval of length t the conforming packets before the last hold at most `(L + t) / I` packets' worth of bytes. With
//! `L = (burst - longest packet) at the rate + tolerance`, all of them hold at most `burst + rate * (t + tolerance)` bytes.
//! **Source.** ITU-T I.371 and ATM Forum Traffic Management 4.0, where every packet is one cell; I = 1 / rate.
//! **State.** The theoretical arrival time (TAT) and the ticks by which it is rounded up; 32 bytes with the contract.
//! **Cost.** One multiplication, four shifts, no division and no branch.
//! **RTL twin.** None yet.
//! **Deviations.** A packet of n bytes adds n times the time of a byte instead of one fixed increment. The tolerance test is the
//! source's, on the backlog before the packet: a packet longer than the burst waits longer but is never refused for good. The
//! arithmetic carries what rounding to picoseconds would lose, so a long stream is accepted at the rate to within 2^-32.
//!
//! The tests compare it with the other form, the continuous-state leaky bucket: the verdicts agree, and after each conforming packet its level
//! and last conformance time are `X = TAT - LCT`.

use super::contract::{Contract, ContractError, ContractField, Increment, Violation};
use super::{Policer, Policing, Verdict};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
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
    /// The rate. The arithmetic is in ticks of 2^-shift ps, with the shift of its [`TimePerByte`]: the weight of a packet is its length times
    /// the mantissa, exactly.
    increment: Increment,
    /// The tolerance L, in ticks, at most 2^62.
    limit: u64,
    /// The ticks by which the theoretical arrival time was rounded up, fewer than make a picosecond.
    excess: u32,
    violation: Violation,
}

const _: () = assert!(size_of::<VirtualScheduling>() == 32, "two flows per cache line");

impl VirtualScheduling {
    /// A policer of the rate whose time per byte is `increment`, with tolerance `limit`, started at `now`. It discards what violates.
    ///
    /// # Panics
    /// If the tolerance exceeds 2^29 bytes at the rate; [`Algorithm::build`] reports that as an error.
    pub fn new(now: Time, increment: TimePerByte, limit: Duration) -> VirtualScheduling {
        let limit = u128::from(limit.picoseconds()) << increment.shift();
        assert!(limit <= 1 << 62, "a tolerance is at most 2^29 bytes at its rate");
        let (increment, limit) = (increment.into(), limit as u64);
        VirtualScheduling { theoretical_arrival: now, increment, limit, excess: 0, violation: Violation::Discard }
    }

    /// The theoretical arrival time (TAT) of the next packet, rounded up to a picosecond.
    pub fn theoretical_arrival(&self) -> Time {
        self.theoretical_arrival
    }

    /// The backlog at `now` in ticks: the time from `now` to the theoretical arrival, and nothing if that has passed.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        (self.theoretical_arrival.since(now).picoseconds() << self.increment.shift()).saturating_sub(u64::from(self.excess))
    }

    /// The theoretical arrival of a backlog in ticks, rounded up to a picosecond; the excess is kept, which makes the next backlog exact.
    #[inline(always)]
    fn arrival_of(&self, now: Time, backlog: u64) -> (Time, u32) {
        let shift = self.increment.shift();
        let ceiling = (backlog + ((1 << shift) - 1)) >> shift;
        (now + Duration::from_picoseconds(ceiling), ((ceiling << shift) - backlog) as u32)
    }
}

impl Policer for VirtualScheduling {
    fn start(&mut self, now: Time) {
        (self.theoretical_arrival, self.excess) = (now, 0);
    }

    #[inline]
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict {
        let backlog = self.backlog(now);
        let conforms = backlog <= self.limit;
        let (arrival, excess) = self.arrival_of(now, backlog + self.increment.weight(length));
        // Selects, because which packet of a mixed stream conforms is not predictable.
        self.theoretical_arrival = select_unpredictable(conforms || fault!(GcraChargesViolations), arrival, self.theoretical_arrival);
        self.excess = select_unpredictable(conforms, excess, self.excess);
        select_unpredictable(conforms, Verdict::Conform, self.violation.verdict(colour))
    }

    fn adopt(&mut self, now: Time, old: &VirtualScheduling, longest: u32) {
        if (self.increment, self.limit) == (old.increment, old.limit) {
            (self.theoretical_arrival, self.excess) = (old.theoretical_arrival, old.excess);
            return;
        }
        let most = self.limit + self.increment.weight(longest);
        let backlog = self.increment.floor_from(old.increment, old.backlog(now)).min(most.into()) as u64;
        (self.theoretical_arrival, self.excess) = self.arrival_of(now, backlog);
    }

    fn visit_state(&mut self, state: &mut dyn ContractState) {
        state.instant(&mut self.theoretical_arrival);
        let mut excess = self.excess.into();
        state.number(&mut excess, (1 << self.increment.shift()) - 1);
        self.excess = excess as u32;
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
        Ok(VirtualScheduling {
            theoretical_arrival: Time::ZERO,
            increment: increment.into(),
            limit: limit as u64,
            excess: 0,
            violation: contract.violation.unwrap_or_default(),
        })
    }
}

/// How many cells may follow each other at a spacing below the increment before one is early by more than the tolerance:
/// `1 + floor(limit / (increment - spacing))`; `None` if the spacing is not below the increment, for then all may.
pub fn back_to_back_cells(increment: Duration, limit: Duration, spacing: Duration) -> Option<u64> {
    let early = increment.saturating_sub(spacing).picoseconds();
    Some(1 + limit.picoseconds().checked_div(early)?)
}

#[cfg(test)]
mod tests;
