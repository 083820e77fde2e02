//! Time, durations, rates, rates as fixed-point time per byte, and the length of a frame on the wire.
//!
//! Time is a count of picoseconds that wraps after 2^64 ps (213 days). Comparisons are serial: they hold while the two instants are within
//! 2^63 ps of each other. An instant that is kept longer than [`SERIAL_HORIZON`] is refreshed (see [`crate::port::Port`]).

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Picoseconds in one second.
pub const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// An instant: picoseconds since an origin of the caller's choice, modulo 2^64.
///
/// There is deliberately no `Ord`: a wrapping axis has no first element.
///
/// ```
/// use tidegate_core::units::{Duration, Time};
/// let late = Time::from_picoseconds(u64::MAX);
/// let later = late + Duration::from_picoseconds(5);
/// assert!(late.is_before(later));
/// assert_eq!(later.since(late).picoseconds(), 5);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);

    /// The instant `ps` picoseconds after the origin.
    pub const fn from_picoseconds(ps: u64) -> Time {
        Time(ps)
    }

    /// The instant `ns` nanoseconds after the origin, modulo the wrap.
    pub const fn from_nanoseconds(ns: u64) -> Time {
        Time(ns.wrapping_mul(1000))
    }

    /// Picoseconds since the origin, modulo 2^64.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// True if this instant is before `other` on the shorter way round.
    #[inline]
    pub const fn is_before(self, other: Time) -> bool {
        (self.0.wrapping_sub(other.0) as i64) < 0
    }

    /// True if this instant is after `other` on the shorter way round.
    #[inline]
    pub const fn is_after(self, other: Time) -> bool {
        other.is_before(self)
    }

    /// The later of the two instants.
    #[inline]
    pub const fn later(self, other: Time) -> Time {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of the two instants.
    #[inline]
    pub const fn earlier(self, other: Time) -> Time {
        if other.is_before(self) { other } else { self }
    }

    /// The time from `earlier` to this instant; zero if `earlier` is in fact later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        let distance = self.0.wrapping_sub(earlier.0);
        Duration(if (distance as i64) < 0 { 0 } else { distance })
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.wrapping_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Duration) -> Time {
        Time(self.0.wrapping_sub(span.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration that still compares correctly on the time axis: 2^63 - 1 ps, 106 days.
    pub const MAX: Duration = Duration(i64::MAX as u64);

    /// `ps` picoseconds.
    pub const fn from_picoseconds(ps: u64) -> Duration {
        Duration(ps)
    }

    /// `ns` nanoseconds.
    ///
    /// # Panics
    /// If the product does not fit in 64 bits (213 days).
    pub const fn from_nanoseconds(ns: u64) -> Duration {
        Duration(ns * 1000)
    }

    /// `us` microseconds, with the limit of [`Duration::from_nanoseconds`].
    pub const fn from_microseconds(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// `ms` milliseconds, with the limit of [`Duration::from_nanoseconds`].
    pub const fn from_milliseconds(ms: u64) -> Duration {
        Duration(ms * 1_000_000_000)
    }

    /// `s` seconds, with the limit of [`Duration::from_nanoseconds`].
    pub const fn from_seconds(s: u64) -> Duration {
        Duration(s * PICOSECONDS_PER_SECOND)
    }

    /// The duration in picoseconds.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// This duration less `other`, or zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

/// How long an instant may be kept without a refresh: 2^61 ps, 26 days.
pub const SERIAL_HORIZON: Duration = Duration(1 << 61);

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

/// A rate in bits per second, from 1 kbit/s to 400 Gbit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

/// A rate outside the range that the fixed-point arithmetic supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateOutOfRange(pub u64);

impl fmt::Display for RateOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a rate of {} bit/s is outside 1 kbit/s to 400 Gbit/s", self.0)
    }
}

impl core::error::Error for RateOutOfRange {}

impl Rate {
    /// The lowest supported rate: 1 kbit/s.
    pub const MIN: Rate = Rate(1_000);
    /// The highest supported rate: 400 Gbit/s.
    pub const MAX: Rate = Rate(400_000_000_000);

    /// A rate of `bits_per_second`.
    ///
    /// # Errors
    /// [`RateOutOfRange`] below [`Rate::MIN`] or above [`Rate::MAX`].
    pub const fn new(bits_per_second: u64) -> Result<Rate, RateOutOfRange> {
        if bits_per_second < Rate::MIN.0 || bits_per_second > Rate::MAX.0 {
            Err(RateOutOfRange(bits_per_second))
        } else {
            Ok(Rate(bits_per_second))
        }
    }

    /// The rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The rate as fixed-point picoseconds per byte.
    pub const fn time_per_byte(self) -> TimePerByte {
        TimePerByte::new(self)
    }
}

/// Picoseconds per byte of a rate in fixed point, with the leading 33 bits.
///
/// It is rounded up: its rate is at most the original one, and at most 2^-32 of it below. So a contract kept in this arithmetic is kept in
/// exact arithmetic. Bits per second would need a division per packet; this needs one multiplication, and a shift that is the same for all
/// rates.
///
/// ```
/// use tidegate_core::units::Rate;
/// let link = Rate::new(10_000_000).unwrap().time_per_byte();
/// assert_eq!(link.ceil(125).picoseconds(), 100_000_000); // 1000 bit at 10 Mbit/s: 100 us
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimePerByte(u64);

/// The number of fraction bits, which leaves room for 8 * 10^9 ps, a byte at the lowest rate.
const FRACTION: u32 = 31;

impl TimePerByte {
    /// No time at all, for a bucket that is absent.
    pub const ZERO: TimePerByte = TimePerByte(0);

    const fn new(rate: Rate) -> TimePerByte {
        // One byte is 8 bits, one second 10^12 ps: 8 * 10^12 / R ps per byte, between 20 and 8 * 10^9. The largest shift that keeps the
        // mantissa below 2^33 leaves it at 2^32 or more; the error bound follows.
        let per_byte = 8 * PICOSECONDS_PER_SECOND as u128;
        let rate = rate.0 as u128;
        let mut shift = 0;
        while (per_byte << (shift + 1)).div_ceil(rate) < 1 << 33 {
            shift += 1;
        }
        TimePerByte(((per_byte << shift).div_ceil(rate) as u64) << (FRACTION - shift))
    }

    /// The time of `bytes` bytes, rounded up to a whole picosecond: packets with this spacing never exceed the rate.
    #[inline]
    pub const fn ceil(self, bytes: u32) -> Duration {
        Duration(self.scaled(bytes, u64::MAX << (64 - FRACTION)))
    }

    /// The time of `bytes` bytes, rounded down: for allowances (a burst tolerance), which must not be too generous.
    #[inline]
    pub const fn floor(self, bytes: u32) -> Duration {
        Duration(self.scaled(bytes, 0))
    }

    /// The time of `bytes` bytes and of this many 2^-64 ps, rounded down.
    // The product of two 64-bit numbers is one instruction. Its upper half needs no shift if the smaller number is shifted before; a shift of
    // both halves takes several on some processors. The quotient fits while bytes < 2^30. Every packet and burst of a policy is checked
    // against that limit, and the overhead of a link does not raise it to 2^31.
    #[inline]
    const fn scaled(self, bytes: u32, more: u64) -> u64 {
        debug_assert!(bytes >> FRACTION == 0);
        (((((bytes as u64) << (64 - FRACTION)) as u128 * self.0 as u128) + more as u128) >> 64) as u64
    }

    /// The leading 33 bits: the time in ticks of 2^-[`TimePerByte::shift`] ps, between 2^32 and 2^33. The time of `bytes` bytes in ticks is a
    /// 64-bit number.
    pub const fn mantissa(self) -> u64 {
        self.0 >> (FRACTION - self.shift())
    }

    /// The number of fraction bits among the leading 33, at most 28; the lower the rate, the fewer.
    pub const fn shift(self) -> u32 {
        // Zero has no leading bits; any shift will do.
        (self.0 | 1 << (FRACTION + 4)).leading_zeros()
    }
}

/// The largest number of bytes that [`TimePerByte`] accepts in one step (2^30 - 1): the limit of packets, bursts and quanta.
pub const MAX_BYTES: u32 = (1 << 30) - 1;

/// The bytes that a link adds to every frame. The link, shapers, policers and schedulers all count [`Overhead::wire_length`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overhead {
    /// Nothing: rates count frames as they are.
    #[default]
    None,
    /// A fixed number of bytes per frame.
    PerPacket {
        /// The bytes that are added.
        bytes: u16,
        /// The least that a frame takes in all: Linux's `mpu` (minimum packet unit).
        minimum: u16,
    },
    /// Frames are carried as AAL5 over ATM: an 8-byte trailer, padding to whole cells, 53 bytes per 48 of payload.
    Aal5,
}

impl Overhead {
    /// Ethernet as captured, without the frame check sequence: 24 bytes for preamble (8), frame check sequence (4) and inter-frame gap
    /// (12). A frame of less than 60 bytes is padded to 60 (IEEE 802.3, 4.2.3.3), so that each takes at least 84 bytes.
    ///
    /// ```
    /// use tidegate_core::units::Overhead;
    /// assert_eq!(Overhead::ETHERNET.wire_length(1514), 1538);
    /// assert_eq!(Overhead::ETHERNET.wire_length(54), 84);
    /// ```
    pub const ETHERNET: Overhead = Overhead::PerPacket { bytes: 24, minimum: 84 };

    /// This many bytes per frame, whatever its length.
    pub const fn per_packet(bytes: u16) -> Overhead {
        Overhead::PerPacket { bytes, minimum: 0 }
    }

    /// The bytes that a frame of `length` bytes takes on the wire.
    #[inline]
    pub const fn wire_length(self, length: u32) -> u32 {
        match self {
            Overhead::None => length,
            Overhead::PerPacket { bytes, minimum } => {
                let (length, minimum) = (length + bytes as u32, minimum as u32);
                if length < minimum { minimum } else { length }
            }
            Overhead::Aal5 => (length + 8).div_ceil(48) * 53,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_stays_within_its_bounds(bps in 1_000u64..=400_000_000_000, bytes in 0u32..=MAX_BYTES) {
            let t = Rate::new(bps).unwrap().time_per_byte();
            let exact_numerator = u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND);
            let (ceil, floor) = (u128::from(t.ceil(bytes).0), u128::from(t.floor(bytes).0));
            // Never above the rate ...
            prop_assert!(ceil * u128::from(bps) >= exact_numerator);
            // ... and never further below it than 2^-32 and the one picosecond of the rounding.
            prop_assert!(((ceil - 1.min(ceil)) * u128::from(bps)) << 32 <= exact_numerator * ((1 << 32) + 1));
            prop_assert!(floor <= ceil && ceil - floor <= 1);
        }

        #[test]
        fn serial_comparison_is_translation_invariant(a: u64, step in 0u64..i64::MAX as u64) {
            let t = Time(a);
            let u = t + Duration(step);
            prop_assert_eq!(t.is_before(u), step > 0);
            prop_assert_eq!(u.since(t), Duration(step));
            prop_assert_eq!(t.later(u), u);
            prop_assert_eq!(t.earlier(u), t);
        }
    }

    #[test]
    fn the_mantissa_has_at_least_32_bits_of_precision() {
        for bps in [1_000, 1_001, 155_520_000, 10_000_000_000, 399_999_999_999, 400_000_000_000] {
            let t = Rate::new(bps).unwrap().time_per_byte();
            assert!((1 << 32..1 << 33).contains(&t.mantissa()) && t.shift() <= 28, "{bps}: {t:?}");
        }
        assert_eq!(Rate::new(999), Err(RateOutOfRange(999)));
        assert!(Rate::new(400_000_000_001).is_err());
    }

    #[test]
    fn short_frames_take_their_padding_on_ethernet_and_nowhere_else() {
        let lengths = |overhead: Overhead| [0, 54, 59, 60, 61, 1514].map(|length| overhead.wire_length(length));
        assert_eq!(lengths(Overhead::ETHERNET), [84, 84, 84, 84, 85, 1538]);
        assert_eq!(lengths(Overhead::per_packet(24)), [24, 78, 83, 84, 85, 1538]);
        assert_eq!(lengths(Overhead::PerPacket { bytes: 0, minimum: 60 }), [60, 60, 60, 60, 61, 1514]);
        assert_eq!(lengths(Overhead::None), [0, 54, 59, 60, 61, 1514]);
        assert_eq!(lengths(Overhead::Aal5), [53, 106, 106, 106, 106, 32 * 53]);
    }
}
