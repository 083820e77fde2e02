//! The two buckets of a policer with two tests. Their levels rise by a packet's weight and fall with time, in exact integer arithmetic on one
//! common tick.
//!
//! The tick is 2^-scale picoseconds; the scale is as large as the contract allows. A byte weighs the time of a byte at the bucket's rate,
//! in ticks, rounded up when the contract is read: that is the only rounding. A policer thus enforces rates that are at most 2^-32 below
//! those of the contract (2^-24 for extreme contracts, see [`TwinBuckets::new`]) and never above them. Nothing is divided, and no error
//! grows with the number of packets.
//!
//! Every sum stays below 2^63, so the sign of a difference says which is larger. In mixed traffic the failing test is not predictable: a
//! sign turned into a mask costs less than a mispredicted branch.

mod decision;

pub(super) use decision::{COLOURS, Decision, Decisions, Row, decisions};

use super::contract::{ContractError, ContractField};
use crate::contract_state::ContractState;
use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time};
use core::hint::select_unpredictable;

/// Two buckets that drain together, and further terms of a contract: 64 bytes with up to 7 bytes of terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct TwinBuckets<T> {
    /// The instant up to which the levels are drained.
    last: Time,
    /// What was charged and has not yet drained, in ticks: at most 2^62.
    pub(super) levels: [u64; 2],
    /// The capacities, in ticks: at most 2^61.
    capacities: [u64; 2],
    /// The weight of a byte, in ticks.
    weights: [u64; 2],
    scale: u8,
    pub(super) terms: T,
}

#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) rate: Rate,
    /// The field to blame if the rate's weight cannot be represented.
    pub(super) field: ContractField,
    /// Its capacity: bytes at the rate ...
    pub(super) bytes: u32,
    /// ... less the time of this number of bytes at the other bucket's rate ...
    pub(super) less_bytes_of_other: u32,
    /// ... and a time.
    pub(super) time: Duration,
}

/// Packets of up to this length, 128 KiB, can always be weighed; longer ones if they are the longest of the contract.
const LEAST_LONGEST: u32 = 1 << 17;

/// Levels, capacities and weights of packets are at most 2 to this power.
const LEVEL_BITS: u32 = 61;

impl<T> TwinBuckets<T> {
    /// Two empty buckets, started at [`Time::ZERO`], for packets of up to `longest` bytes.
    ///
    /// # Errors
    /// If a capacity or the longest packet takes longer than 2^61 ps, or if the tick that the slower bucket imposes is too coarse for the
    /// faster one: less than 2^24 ticks per byte. The precision of a rate is the smaller of 2^-32 and one tick per byte.
    pub(super) fn new(longest: u32, demands: [Demand; 2], terms: T) -> Result<TwinBuckets<T>, ContractError> {
        let longest = u128::from(longest.max(LEAST_LONGEST));
        let mut scale = 0;
        // The largest scale at which the capacities and the longest packets stay within the bits; one step of the scale doubles them all.
        let fits = |scale: u32| {
            demands.iter().all(|demand| {
                let weight = weight(demand.rate, scale);
                let capacity = u128::from(demand.bytes) * weight + (u128::from(demand.time.picoseconds()) << scale);
                capacity.max(longest * weight) <= 1 << LEVEL_BITS
            })
        };
        if !fits(0) {
            return Err(ContractField::Burst.wrong("with the tolerance takes more than 26 days at this rate: lower one of them"));
        }
        while scale < 60 && fits(scale + 1) {
            scale += 1;
        }
        let weights = demands.map(|demand| weight(demand.rate, scale) as u64);
        if let Some(i) = (0..2).find(|&i| weights[i] < 1 << 24) {
            return Err(demands[i]
                .field
                .wrong("is too far above the other rate for a burst or tolerance this long: lower one of the three"));
        }
        let capacities = core::array::from_fn(|i| {
            let demand = &demands[i];
            let all = u64::from(demand.bytes) * weights[i] + (demand.time.picoseconds() << scale);
            all.saturating_sub(u64::from(demand.less_bytes_of_other) * weights[1 - i])
        });
        Ok(TwinBuckets { last: Time::ZERO, levels: [0; 2], capacities, weights, scale: scale as u8, terms })
    }

    /// Empties both at `now`.
    pub(super) fn start(&mut self, now: Time) {
        self.last = now;
        self.levels = [0; 2];
    }

    /// Takes over what `old` has charged: exactly if the buckets are alike. Otherwise each takes its bytes, rounded down by less than a tick, but no
    /// more than its capacity and the time of `beyond` bytes.
    pub(super) fn adopt(&mut self, now: Time, old: &TwinBuckets<T>, beyond: u32)
    where
        T: Copy,
    {
        if (self.capacities, self.weights, self.scale) == (old.capacities, old.weights, old.scale) {
            (self.last, self.levels) = (old.last, old.levels);
            return;
        }
        let mut old = *old;
        old.drain(now);
        self.last = now;
        self.levels = core::array::from_fn(|i| {
            let level = u128::from(old.levels[i]) * u128::from(self.weights[i]) / u128::from(old.weights[i]);
            level.min(u128::from(self.capacities[i] + u64::from(beyond) * self.weights[i])) as u64
        });
    }

    /// Shows what was charged.
    pub(super) fn visit_state(&mut self, state: &mut dyn ContractState) {
        state.past(&mut self.last);
        self.levels.iter_mut().for_each(|level| state.number(level, 2 << LEVEL_BITS));
    }

    /// The ticks since the last call, or more than the buckets can hold if it was long ago.
    #[inline]
    pub(super) fn elapse(&mut self, now: Time) -> u64 {
        // The cut is above 2^62 ticks, which no level reaches.
        let longest = (i64::MAX as u64) >> self.scale;
        let elapsed = now.picoseconds().wrapping_sub(self.last.picoseconds());
        debug_assert!(elapsed <= i64::MAX as u64, "time runs backwards");
        self.last = now;
        select_unpredictable(elapsed < longest, elapsed, longest) << self.scale
    }

    /// Lets time pass for both.
    #[inline]
    pub(super) fn drain(&mut self, now: Time) {
        let ticks = self.elapse(now);
        self.levels = [positive_part(self.levels[0], ticks), positive_part(self.levels[1], ticks)];
    }

    /// The weights of a packet of `length` bytes in the two buckets.
    #[inline]
    pub(super) const fn weights_of(&self, length: u32) -> [u64; 2] {
        [length as u64 * self.weights[0], length as u64 * self.weights[1]]
    }

    /// 1 if the level of a bucket exceeds its capacity, else 0.
    #[inline]
    pub(super) const fn is_exceeded(&self, bucket: usize) -> u64 {
        self.capacities[bucket].wrapping_sub(self.levels[bucket]) >> 63
    }

    /// The number of ticks in a picosecond, as a power of two.
    #[cfg(test)]
    pub(super) const fn scale(&self) -> u32 {
        self.scale as u32
    }

    /// 1 if a packet of this weight would not fit into a bucket, else 0.
    #[inline]
    pub(super) const fn lacks_room(&self, bucket: usize, weight: u64) -> u64 {
        self.capacities[bucket].wrapping_sub(self.levels[bucket] + weight) >> 63
    }
}

/// The weight of a byte in ticks of 2^-scale ps, rounded up.
fn weight(rate: Rate, scale: u32) -> u128 {
    ((8 * u128::from(PICOSECONDS_PER_SECOND)) << scale).div_ceil(u128::from(rate.bits_per_second()))
}

/// `a - b`, or nothing if `b` is larger; both are below 2^63.
// The sign as a mask: compilers make a branch of a select, and whether a bucket has run dry is no more predictable than a test.
#[inline]
pub(super) const fn positive_part(a: u64, b: u64) -> u64 {
    let difference = a.wrapping_sub(b) as i64;
    (difference & !(difference >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand(rate: Rate, bytes: u32, time: Duration) -> Demand {
        Demand { rate, field: ContractField::PeakRate, bytes, less_bytes_of_other: 0, time }
    }

    proptest! {
        #[test]
        fn weights_are_rounded_up_and_by_little(
            slow in 1_000u64..=400_000_000_000,
            ratio in 1u64..10_000,
            bytes in 0u32..1 << 24,
            us in 0u64..100_000,
        ) {
            let fast = slow.saturating_mul(ratio).min(400_000_000_000);
            let rates = [slow, fast].map(|bps| Rate::new(bps).unwrap());
            let tolerance = Duration::from_microseconds(us);
            let built = TwinBuckets::new(1500, [demand(rates[0], bytes, tolerance), demand(rates[1], bytes, tolerance)], ());
            let Ok(buckets) = built else {
                // Refused only where the fast rate would get less than 24 bits, with one bit lost to whole powers of two.
                let at_tolerance = (u128::from(tolerance.picoseconds()) * u128::from(fast)) >> 42;
                let longest = u128::from(bytes.max(1 << 17)) * u128::from(fast / slow) + at_tolerance;
                prop_assert!(longest >> 33 > 0, "{longest}");
                return Ok(());
            };
            for (i, rate) in rates.into_iter().enumerate() {
                let exact = (8 * u128::from(PICOSECONDS_PER_SECOND)) << buckets.scale;
                let (weight, bps) = (u128::from(buckets.weights[i]), u128::from(rate.bits_per_second()));
                prop_assert!(weight * bps >= exact && (weight - 1) * bps < exact);
                prop_assert!(weight >= 1 << 24);
                prop_assert!(buckets.capacities[i] <= 1 << LEVEL_BITS && weight << 17 <= 1 << LEVEL_BITS);
            }
            // At equal rates and ordinary bursts nothing is lost of the 32 bits.
            if fast == slow && bytes < 1 << 28 && us < 100 {
                prop_assert!(buckets.weights[0] >= 1 << 32);
            }
        }

        #[test]
        fn draining_in_steps_is_draining_at_once(
            bps in 1_000u64..=400_000_000_000,
            level in 0u64..1 << 62,
            steps in proptest::collection::vec(0u64..1 << 60, 1..6),
            origin: u64,
        ) {
            let rate = Rate::new(bps).unwrap();
            let mut at_once = TwinBuckets::new(1500, [demand(rate, 9000, Duration::ZERO); 2], ()).unwrap();
            let mut now = Time::from_picoseconds(origin);
            at_once.start(now);
            at_once.levels = [level, level / 3];
            let mut stepwise = at_once;
            for step in steps {
                now += Duration::from_picoseconds(step >> (step % 60));
                stepwise.drain(now);
            }
            at_once.drain(now);
            prop_assert_eq!(stepwise.levels, at_once.levels);
        }
    }

    #[test]
    fn positive_part_is_a_saturating_difference() {
        for (a, b) in [(0, 0), (1, 0), (0, 1), (5, 3), (3, 5), (1 << 62, 1), (1, 1 << 62), ((1 << 63) - 1, 0), (0, (1 << 63) - 1)] {
            assert_eq!(positive_part(a, b), u64::saturating_sub(a, b));
        }
    }
}
