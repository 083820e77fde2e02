//! The bucket that every policer is made of: a level that rises by a packet's weight and falls with time, in exact integer arithmetic.
//!
//! The unit is a tick of 2^-shift picoseconds, where the mantissa and the shift are those of the rate's [`TimePerByte`]. A packet of n bytes
//! weighs n times the mantissa, and a picosecond is 2^shift ticks: neither is rounded, so the only rounding in a policer is that of the
//! mantissa when the contract is read, up by at most 2^-32 of itself, and a policer enforces a rate that much below the contract's and
//! never one above it. There is no division, and no error that grows with the number of packets.
//!
//! Capacities and weights are below 2^62, which keeps every sum below 2^63 and lets the sign of a difference say which is larger: in mixed
//! traffic nobody can predict which test fails, and a sign turned into a mask costs less than a branch that is taken wrongly.
//!
//! 24 bytes: two of them, an instant and the contract's remaining choices are one cache line.

use crate::units::{Duration, Rate, TimePerByte};

/// The largest number of bytes that a bucket accepts as a packet or a burst: 2^29 - 1.
pub(super) const MAX_WEIGHED: u32 = (1 << 29) - 1;

/// A bucket with its rate and its capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket {
    /// What has been poured in and has not yet drained, in ticks; below 2^63.
    level: u64,
    /// The level that a test compares with, in ticks; at most 2^62.
    capacity: u64,
    /// The mantissa of the time per byte without its leading bit, which is always 2^32.
    mantissa: u32,
    shift: u8,
}

impl Bucket {
    /// An empty bucket of the rate's speed that holds `bytes` bytes, exactly.
    pub(super) fn of_bytes(rate: Rate, bytes: u32) -> Bucket {
        let bucket = Bucket::of_ticks(rate.time_per_byte(), 0);
        Bucket { capacity: bucket.weight(bytes), ..bucket }
    }

    /// An empty bucket of capacity `ticks`, at most 2^62.
    pub(super) fn of_ticks(rate: TimePerByte, ticks: u64) -> Bucket {
        debug_assert!(rate.mantissa() >> 32 == 1 && ticks <= 1 << 62);
        Bucket { level: 0, capacity: ticks, mantissa: rate.mantissa() as u32, shift: rate.shift() as u8 }
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.level = 0;
    }

    /// The weight of a packet of `length` bytes, in ticks: below 2^62.
    #[inline]
    pub(super) const fn weight(&self, length: u32) -> u64 {
        debug_assert!(length <= MAX_WEIGHED);
        length as u64 * (1 << 32 | self.mantissa as u64)
    }

    /// A span of time in ticks, or more than a bucket can hold if it is that long.
    #[inline]
    pub(super) const fn ticks(&self, elapsed: Duration) -> u64 {
        // What is cut off lies beyond 2^63 - 2^28 ticks; a level, and the sum of two capacities, is at most 2^63 - 2^33.
        let longest = (i64::MAX as u64) >> self.shift;
        let elapsed = elapsed.picoseconds();
        (if elapsed < longest { elapsed } else { longest }) << self.shift
    }

    /// The level after `elapsed` more time.
    #[inline]
    pub(super) const fn level_after(&self, elapsed: Duration) -> u64 {
        positive_part(self.level, self.ticks(elapsed))
    }

    /// 1 if `level` exceeds the capacity, else 0.
    #[inline]
    pub(super) const fn exceeded_by(&self, level: u64) -> u64 {
        self.capacity.wrapping_sub(level) >> 63
    }

    #[inline]
    pub(super) const fn set_level(&mut self, level: u64) {
        self.level = level;
    }

    /// Lets `elapsed` time pass.
    #[inline]
    pub(super) const fn drain(&mut self, elapsed: Duration) {
        self.level = self.level_after(elapsed);
    }

    /// Lets `ticks` drain away, and returns those that found the bucket empty.
    #[inline]
    pub(super) const fn drain_ticks(&mut self, ticks: u64) -> u64 {
        let rest = positive_part(ticks, self.level);
        self.level = positive_part(self.level, ticks);
        rest
    }

    /// True if a packet of this weight fits.
    #[inline]
    pub(super) const fn fits(&self, weight: u64) -> bool {
        self.level + weight <= self.capacity
    }

    /// True if a packet of this weight fits and leaves room, however little.
    #[inline]
    pub(super) const fn fits_with_room(&self, weight: u64) -> bool {
        self.level + weight < self.capacity
    }

    /// Pours a packet of this weight in.
    #[inline]
    pub(super) const fn pour(&mut self, weight: u64) {
        self.level += weight;
    }
}

/// `a - b`, or nothing if `b` is larger; both below 2^63.
#[inline]
const fn positive_part(a: u64, b: u64) -> u64 {
    let difference = a.wrapping_sub(b) as i64;
    (difference & !(difference >> 63)) as u64
}
