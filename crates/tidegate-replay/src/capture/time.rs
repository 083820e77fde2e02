//! Time stamps of captures: from the units of a file to nanoseconds since 1970.
//!
//! Stamps are rounded to the nearest nanosecond. Those more than 9 000 000 000 s (285 years) before or after 1970 count as that instant; the reader
//! counts them.

/// The latest instant, in nanoseconds after 1970; the earliest is as far before it.
pub(crate) const FARTHEST: i64 = 9_000_000_000 * SECOND;
/// Nanoseconds in a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// The units of one interface's stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// As in the option `if_tsresol`: a power of ten, or of two if the highest bit is set, and how many units are in a second.
    pub(super) resolution: u8,
    /// Seconds to add (`if_tsoffset`).
    pub(super) offset: i64,
}

impl Scale {
    pub(super) const MICROSECONDS: Scale = Scale { resolution: 6, offset: 0 };

    /// The instant of a stamp, and whether it was out of range.
    pub(super) fn instant(self, stamp: u64) -> (i64, bool) {
        let (stamp, exponent) = (u128::from(stamp), u32::from(self.resolution & 0x7f));
        let since_offset = if self.resolution & 0x80 > 0 {
            let scaled = stamp * SECOND as u128;
            if exponent == 0 { scaled } else { (scaled + (1 << (exponent - 1))) >> exponent }
        } else if exponent <= 9 {
            stamp * 10u128.pow(9 - exponent)
        } else {
            // Beyond 10^-29 every stamp is less than half a nanosecond.
            10u128.checked_pow(exponent - 9).map_or(0, |units| (stamp + units / 2) / units)
        };
        in_range(since_offset as i128 + i128::from(self.offset) * i128::from(SECOND))
    }
}

/// The instant, or the nearest that is in range; true if it was not.
pub(super) fn in_range(nanoseconds: i128) -> (i64, bool) {
    let farthest = i128::from(FARTHEST);
    let clamped = nanoseconds.clamp(-farthest, farthest);
    (clamped as i64, clamped != nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resolution_is_read() {
        let instant = |resolution, stamp| Scale { resolution, offset: 0 }.instant(stamp).0;
        assert_eq!(instant(0, 7), 7 * SECOND);
        assert_eq!(instant(6, 1_000_001), SECOND + 1000);
        assert_eq!(instant(9, u64::MAX / 4), (u64::MAX / 4) as i64);
        assert_eq!((instant(12, 1499), instant(12, 1500)), (1, 2));
        assert_eq!(instant(28, u64::MAX), 2);
        assert_eq!((instant(29, u64::MAX), instant(127, u64::MAX)), (0, 0));
        assert_eq!(instant(0x80, 7), 7 * SECOND);
        assert_eq!(instant(0x8a, 1536), SECOND * 3 / 2);
        // 2^-32 s is 0.2328 ns.
        assert_eq!((instant(0xa0, 1), instant(0xa0, 3), instant(0xa0, 1 << 32)), (0, 1, SECOND));
        assert_eq!((instant(0xff, u64::MAX), instant(0x80 | 93, u64::MAX)), (0, 2));
        for resolution in 0..=255 {
            let (low, high) = (instant(resolution, 1), instant(resolution, u64::MAX));
            assert!(0 <= low && low <= high, "{resolution}");
        }
    }

    #[test]
    fn offsets_reach_before_1970_and_what_is_too_far_is_told() {
        let scale = |offset| Scale { resolution: 6, offset };
        assert_eq!(scale(-1_700_000_000).instant(5), (-1_700_000_000 * SECOND + 5000, false));
        assert_eq!(scale(i64::MIN).instant(0), (-FARTHEST, true));
        assert_eq!(scale(i64::MAX).instant(u64::MAX), (FARTHEST, true));
        assert_eq!(scale(9_000_000_000).instant(0), (FARTHEST, false));
        assert_eq!(Scale { resolution: 0x80, offset: i64::MAX }.instant(u64::MAX), (FARTHEST, true));
    }
}
