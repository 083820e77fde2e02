//! A leaky bucket that is asked at the first packet of a frame and charged for every packet of it.
//!
//! **Law.** The bucket drains at its rate and never overstates what has drained; a packet adds its length times the time of a byte, exactly.
//! **Source.** ATM Forum Traffic Management 4.0, the continuous-state leaky bucket; [`super::Gfr`] and [`super::GfrTm41`] apply it to frames.
//! **State.** 32 bytes: an instant, the level, the rate and the limit.
//! **Cost.** One multiplication, three shifts, no division.
//! **RTL twin.** None yet.
//! **Deviations.** The level saturates at 2^62 ticks, which only an endless frame reaches.

use super::contract::{Contract, ContractError, ContractField, Increment, TOO_SMALL};
use crate::contract_state::ContractState;
use crate::units::{SERIAL_HORIZON, Time, TimePerByte};

/// The highest level, in ticks.
const HIGHEST_LEVEL: u64 = 1 << 62;

/// The bucket. All amounts are in ticks of 2^-shift ps, with the shift of the rate's [`TimePerByte`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameBucket {
    /// When it was charged last (LCT, LPT) ...
    last: Time,
    /// ... and the level then, that packet included (X).
    level: u64,
    increment: Increment,
    limit: u64,
}

impl FrameBucket {
    /// A bucket of this limit in ticks, at most 2^62, started at [`Time::ZERO`].
    fn new(increment: TimePerByte, limit: u64) -> FrameBucket {
        FrameBucket { last: Time::ZERO, level: 0, increment: increment.into(), limit }
    }

    /// The bucket of a contract's minimum rate, whose limit is the burst tolerance divided by `divisor` and the delay variation tolerance.
    pub(super) fn of_minimum_rate(contract: &Contract, divisor: u64) -> Result<FrameBucket, ContractError> {
        let peak = contract.peak_rate.ok_or(ContractField::PeakRate.wrong("this policer needs it"))?;
        if peak < contract.rate {
            return Err(ContractField::PeakRate.wrong("must be at least the minimum rate"));
        }
        let longest = maximum_frame(contract);
        if longest < contract.longest_packet {
            return Err(ContractField::MaximumFrame.wrong("must be at least the longest packet"));
        }
        let burst = contract.burst.unwrap_or(longest.saturating_mul(2));
        if burst < longest {
            return Err(ContractField::Burst.wrong(TOO_SMALL));
        }
        let (increment, peak) = (contract.rate.time_per_byte(), peak.time_per_byte());
        let beyond = u128::from(burst - contract.longest_packet);
        // Rounded down as a whole: the time at the peak rate, which has the larger shift, is rounded up.
        let at_peak = (beyond * u128::from(peak.mantissa())).div_ceil(1 << (peak.shift() - increment.shift()));
        let burst_tolerance = (beyond * u128::from(increment.mantissa())).saturating_sub(at_peak);
        let tolerance = u128::from(contract.tolerance().picoseconds()) << increment.shift();
        let limit = burst_tolerance / u128::from(divisor) + tolerance;
        if limit > u128::from(HIGHEST_LEVEL)
            || (limit as u64 >> increment.shift()) + increment.ceil(longest).picoseconds() > SERIAL_HORIZON.picoseconds()
        {
            return Err(
                ContractField::Burst.wrong("with a frame and the tolerance takes more than 26 days at this rate: lower one of them")
            );
        }
        Ok(FrameBucket::new(increment, limit as u64))
    }

    /// The bucket of a contract's peak rate, whose limit is the delay variation tolerance.
    pub(super) fn of_peak_rate(contract: &Contract) -> Result<FrameBucket, ContractError> {
        let increment = contract.peak_rate.ok_or(ContractField::PeakRate.wrong("this policer needs it"))?.time_per_byte();
        let limit = u128::from(contract.tolerance().picoseconds()) << increment.shift();
        if limit > u128::from(HIGHEST_LEVEL) {
            return Err(ContractField::DelayVariationTolerance.wrong("exceeds 2^29 bytes at the peak rate: lower it"));
        }
        Ok(FrameBucket::new(increment, limit as u64))
    }

    /// Empties it at `now`.
    pub(super) fn start(&mut self, now: Time) {
        (self.last, self.level) = (now, 0);
    }

    #[inline]
    fn level_at(&self, now: Time) -> u64 {
        let shift = self.increment.shift();
        let elapsed = now.since(self.last).picoseconds();
        // A level is below 2^63 ticks: a time that would be longer than that in ticks has drained it.
        self.level.saturating_sub(elapsed.min(i64::MAX as u64 >> shift) << shift)
    }

    /// True if a packet that comes at `now` is not too early.
    #[inline]
    pub(super) fn has_room(&self, now: Time) -> bool {
        self.level_at(now) <= self.limit
    }

    /// Charges a packet that comes at `now`.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, length: u32) {
        let weight = self.increment.weight(length);
        (self.last, self.level) = (now, (self.level_at(now) + weight).min(HIGHEST_LEVEL));
    }

    /// Takes over what `old` has charged: exactly if the two are alike, else its bytes, but no more than bar a packet of `longest` bytes.
    pub(super) fn adopt(&mut self, now: Time, old: &FrameBucket, longest: u32) {
        if (self.increment, self.limit) == (old.increment, old.limit) {
            *self = *old;
            return;
        }
        let most = (self.limit + self.increment.weight(longest)).min(HIGHEST_LEVEL);
        self.level = self.increment.floor_from(old.increment, old.level_at(now)).min(most.into()) as u64;
        self.last = now;
    }

    /// Shows what was charged.
    pub(super) fn visit_state(&mut self, state: &mut dyn ContractState) {
        state.past(&mut self.last);
        state.number(&mut self.level, HIGHEST_LEVEL);
    }

    /// Moves the instant up to `now`.
    pub(super) fn refresh(&mut self, now: Time) {
        (self.last, self.level) = (now, self.level_at(now));
    }

    /// The level after the last packet charged, rounded up to a picosecond.
    #[cfg(test)]
    pub(super) fn level(&self) -> crate::units::Duration {
        crate::units::Duration::from_picoseconds(self.level.div_ceil(1 << self.increment.shift()))
    }

    /// The limit, rounded down to a picosecond.
    #[cfg(test)]
    pub(super) fn limit(&self) -> crate::units::Duration {
        crate::units::Duration::from_picoseconds(self.limit >> self.increment.shift())
    }
}

/// The longest frame of a contract: the longest packet unless given.
pub(super) fn maximum_frame(contract: &Contract) -> u32 {
    contract.maximum_frame.unwrap_or(contract.longest_packet)
}

/// Cells in slots, for the tests of both policers.
#[cfg(test)]
pub(super) mod slots {
    use crate::packet::{Colour, Part};
    use crate::policer::{Contract, Policer, Verdict};
    use crate::units::{Rate, Time};
    use alloc::string::String;

    /// Four bytes, so that a cell every four nanoseconds is 8 Gbit/s and every interval of slots a whole number of picoseconds per byte.
    pub const CELL: u32 = 4;

    /// MCR = 1/10 and PCR = 1/2 of a cell per slot, MFS of 5 and MBS of 10 cells, where a slot is a nanosecond.
    pub fn contract() -> Contract {
        let rate = |slots: u64| Rate::new(u64::from(CELL) * 8_000_000_000 / slots).unwrap();
        Contract { peak_rate: Some(rate(2)), maximum_frame: Some(5 * CELL), burst: Some(10 * CELL), ..Contract::new(rate(10), CELL) }
    }

    /// A frame of five green cells, one in two slots, of which the first comes in slot `start`.
    pub fn frame(policer: &mut impl Policer, start: u64) -> [Verdict; 5] {
        let part = |cell| Part::of(cell == 0, cell == 4);
        [0, 1, 2, 3, 4].map(|cell| policer.police_part(Time::from_nanoseconds(start + 2 * cell), CELL, Colour::Green, part(cell)))
    }

    /// Frames one after the other, one every `interval` slots: the first letter for those whose first cell conforms, else the second.
    pub fn frames(policer: &mut impl Policer, interval: u64, count: u64, letters: [char; 2]) -> String {
        let judge = |number| if frame(policer, interval * number)[0] == Verdict::Conform { letters[0] } else { letters[1] };
        (0..count).map(judge).collect()
    }
}
