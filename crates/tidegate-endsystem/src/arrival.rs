//! What the engine learns of a packet: its arrival time, in 16 bits.

use tidegate_core::packet::{Colour, Ecn};
use tidegate_core::units::{Duration, Time};

/// The unit of arrival offsets: 2^n picoseconds.
///
/// An offset is the low 16 bits of an instant in these units. The receiver takes the instant nearest to its own time, so offsets are
/// unambiguous within 32767 units either way.
///
/// ```
/// use tidegate_core::units::Time;
/// use tidegate_endsystem::Grain;
/// let grain = Grain::MICROSECOND;
/// let arrival = grain.floor(Time::from_nanoseconds(70_000_000));
/// let offset = grain.offset(arrival);
/// // The offset is understood 30 ms later (28610 units), but not 40 ms later (38147 units).
/// assert_eq!(grain.nearest(Time::from_nanoseconds(100_000_000), offset), arrival);
/// assert!(grain.nearest(Time::from_nanoseconds(110_000_000), offset).is_after(Time::from_nanoseconds(110_000_000)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grain(u32);

impl Grain {
    /// One picosecond: the unit of a clock that counts decisions.
    pub const TICK: Grain = Grain(0);

    /// 2^20 ps, 1.05 us: offsets are unambiguous for 34 ms.
    pub const MICROSECOND: Grain = Grain(20);

    /// 2^`exponent` picoseconds, for an exponent of at most 40.
    pub const fn new(exponent: u32) -> Option<Grain> {
        if exponent <= 40 { Some(Grain(exponent)) } else { None }
    }

    /// The last instant of whole units that is not after `time`.
    #[inline]
    pub const fn floor(self, time: Time) -> Time {
        Time::from_picoseconds(time.picoseconds() >> self.0 << self.0)
    }

    /// The duration of `units` units.
    pub(crate) const fn span(self, units: u64) -> Duration {
        Duration::from_picoseconds(units << self.0)
    }

    /// The offset of an instant: its low 16 bits in units.
    #[inline]
    pub const fn offset(self, time: Time) -> u16 {
        (time.picoseconds() >> self.0) as u16
    }

    /// The instant with this offset nearest to `reference`; of two equally near, the earlier.
    #[inline]
    pub const fn nearest(self, reference: Time, offset: u16) -> Time {
        let units = reference.picoseconds() >> self.0;
        let distance = offset.wrapping_sub(units as u16) as i16;
        Time::from_picoseconds(units.wrapping_add(distance as u64) << self.0)
    }
}

/// A packet's arrival on its way to the engine.
///
/// The paper passes the offset alone, into a memory partition of the stream. Here one ring serves all streams of a producer, and disciplines
/// other than DWCS need lengths and colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: u32,
    pub(crate) length: u32,
    pub(crate) offset: u16,
    pub(crate) colour: Colour,
    pub(crate) ecn: Ecn,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(ticks: u64) -> Time {
        Time::from_picoseconds(ticks)
    }

    #[test]
    fn an_offset_is_ambiguous_beyond_32767_units() {
        let grain = Grain::TICK;
        let now = at(100_000);
        for age in [0, 1, 32_767, 32_768] {
            assert_eq!(grain.nearest(now, grain.offset(at(100_000 - age))), at(100_000 - age));
        }
        // One unit older, it seems to be in the future; 65536 units older, it seems to be recent.
        assert_eq!(grain.nearest(now, grain.offset(at(100_000 - 32_769))), at(100_000 + 32_767));
        assert_eq!(grain.nearest(now, grain.offset(at(100_000 - 65_540))), at(100_000 - 4));
        assert_eq!(grain.nearest(now, grain.offset(at(132_767))), at(132_767));
    }

    #[test]
    fn instants_cross_the_wrap() {
        let grain = Grain::MICROSECOND;
        let arrival = grain.floor(at(u64::MAX - 5));
        assert_eq!(grain.nearest(at(20), grain.offset(arrival)), arrival);
    }

    proptest! {
        #[test]
        fn within_the_window_nothing_is_lost(exponent in 0u32..=40, reference: u64, units in -32_768i64..=32_767) {
            let grain = Grain::new(exponent).unwrap();
            let arrival = grain.floor(at((reference >> exponent).wrapping_add(units as u64) << exponent));
            prop_assert_eq!(grain.nearest(at(reference), grain.offset(arrival)), arrival);
        }
    }
}
