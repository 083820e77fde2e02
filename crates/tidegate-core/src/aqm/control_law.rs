//! CoDel's control law: the time between drops shrinks with the square root of their number, computed without division or state.

use crate::units::Duration;

/// 1/sqrt(x) in Q.31, at the middle of each of the 192 intervals of width 1/256 in [1/4, 1).
static INVERSE_ROOTS: [u32; 192] = {
    let mut table = [0; 192];
    let mut index = 0;
    while index < 192 {
        // floor(2^31 / sqrt((2i + 1) / 512)) = isqrt(2^71 / (2i + 1)), with i from 64.
        table[index] = ((1u128 << 71) / (2 * (index as u128 + 64) + 1)).isqrt() as u32;
        index += 1;
    }
    table
};

/// The time until the next drop or mark after `count` of them: `interval / sqrt(count)`, short by at most 1e-9 of itself.
#[inline]
pub(super) fn spacing(interval: Duration, count: u32) -> Duration {
    if count <= 1 {
        return interval;
    }
    let half_shift = count.leading_zeros() / 2;
    // From 2^30 to 2^32.
    let x = u64::from(count) << (2 * half_shift);
    let mut y = u64::from(INVERSE_ROOTS[(x >> 24) as usize - 64]);
    for _ in 0..2 {
        // Newton's step for 1/sqrt(x), doubled precision each time.
        let square = (y * y) >> 31;
        let correction = (3u64 << 31) - ((u128::from(x) * u128::from(square)) >> 32) as u64;
        y = ((u128::from(y) * u128::from(correction)) >> 32) as u64;
    }
    Duration::from_picoseconds(((u128::from(interval.picoseconds()) * u128::from(y)) >> (47 - half_shift)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacings_are_those_of_the_model() {
        let interval = Duration::from_milliseconds(100);
        let expected = [
            (1, 100_000_000_000),
            (2, 70_710_678_119),
            (3, 57_735_026_907),
            (5, 44_721_359_538),
            (100, 10_000_000_000),
            (256, 6_249_999_994),
            (1_000_000, 99_999_999),
        ];
        for (count, picoseconds) in expected {
            assert_eq!(spacing(interval, count).picoseconds(), picoseconds, "{count}");
        }
    }
}
