//! The two buckets that every policer with two tests is made of: levels that rise by a packet's weight and fall with time, in exact integer
//! arithmetic on one common tick.
//!
//! The tick is 2^-scale picoseconds; the scale is as large as the contract allows. A byte weighs the time of a byte at the bucket's rate, in
//! ticks, rounded up when the contract is read: that is the only rounding. A policer thus enforces rates that are at most 2^-32 below
//! those of the contract (2^-24 for extreme contracts, see [`TwinBuckets::new`]) and never above them. Nothing is divided, and no error grows
//! with the number of packets.
//!
//! Every sum stays below 2^63, so the sign of a difference says which is larger. In mixed traffic nobody can predict which test fails: a
//! sign turned into a mask costs less than a branch taken wrongly.

use super::contract::{ContractError, ContractField};
use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time};

/// Two buckets that drain together, and what else a policer knows of its contract; with up to 7 bytes of that, 64 bytes in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct TwinBuckets<T> {
    /// Up to when the levels are drained.
    last: Time,
    /// What has been poured in and has not yet drained, in ticks: at most 2^62.
    pub(super) levels: [u64; 2],
    /// What the tests compare with, in ticks: at most 2^61.
    capacities: [u64; 2],
    /// The weight of a byte, in ticks.
    weights: [u64; 2],
    scale: u8,
    pub(super) terms: T,
}

/// What one bucket has to be.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) rate: Rate,
    /// The field to blame if the rate's weight cannot be represented.
    pub(super) field: ContractField,
    /// Its capacity: bytes at the rate ...
    pub(super) bytes: u32,
    /// ... less the time of so many bytes at the other bucket's rate ...
    pub(super) less_bytes_of_other: u32,
    /// ... and a time.
    pub(super) time: Duration,
}

/// Packets of up to this length, 128 KiB, can always be weighed; longer ones if they are the longest of the contract.
const LEAST_LONGEST: u32 = 1 << 17;

/// Levels, capacities and weights of packets are at most 2 to this power.
const BITS: u32 = 61;

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
                capacity.max(longest * weight) <= 1 << BITS
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

    /// The ticks since the last call, or more than the buckets can hold if it was long ago.
    #[inline]
    pub(super) fn elapse(&mut self, now: Time) -> u64 {
        // What is cut off lies above 2^62, which both levels together do not reach if each had been full.
        let longest = (i64::MAX as u64) >> self.scale;
        let elapsed = now.since(self.last);
        self.last += elapsed;
        elapsed.picoseconds().min(longest) << self.scale
    }

    /// Lets time pass for both.
    #[inline]
    pub(super) fn drain(&mut self, now: Time) {
        let ticks = self.elapse(now);
        self.levels = [positive_part(self.levels[0], ticks), positive_part(self.levels[1], ticks)];
    }

    /// The weight of a packet of `length` bytes in a bucket.
    #[inline]
    pub(super) const fn weight(&self, bucket: usize, length: u32) -> u64 {
        length as u64 * self.weights[bucket]
    }

    /// 1 if the level of a bucket exceeds its capacity, else 0.
    #[inline]
    pub(super) const fn is_exceeded(&self, bucket: usize) -> u64 {
        self.capacities[bucket].wrapping_sub(self.levels[bucket]) >> 63
    }

    /// What a bucket can still take; there must not be too much in it already.
    #[inline]
    pub(super) const fn room(&self, bucket: usize) -> u64 {
        self.capacities[bucket] - self.levels[bucket]
    }
}

/// The weight of a byte in ticks of 2^-scale ps, rounded up.
fn weight(rate: Rate, scale: u32) -> u128 {
    (8 * u128::from(PICOSECONDS_PER_SECOND) << scale).div_ceil(u128::from(rate.bits_per_second()))
}

/// `a - b`, or nothing if `b` is larger.
///
/// Written out in 128 bits because the compiler recognises every shorter form as a saturating subtraction and gives it a branch.
#[inline]
pub(super) const fn positive_part(a: u64, b: u64) -> u64 {
    let difference = (a as u128).wrapping_sub(b as u128);
    let borrow = (difference >> 64) as u64;
    difference as u64 & !borrow
}
