//! Instants and spans of the simulator: 64-bit picoseconds from the start of the simulation, which never wrap.

use tidegate_core::units::Duration;

/// The longest duration, propagation delay or start time that can be simulated: 2^61 ps, 26 days.
pub const LONGEST_DURATION: Duration = Duration::from_picoseconds(1 << 61);

/// The instant of an event that never happens: later than any other, and adding one to it does not overflow.
pub const NEVER: u64 = u64::MAX >> 1;

pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.picoseconds() as f64 / 1e12
}

/// A time divided by a factor, to the nearest picosecond; `None` beyond the longest time.
pub(crate) fn divided(time: Duration, factor: f64) -> Option<Duration> {
    let picoseconds = time.picoseconds() as f64 / factor + 0.5;
    (picoseconds < Duration::MAX.picoseconds() as f64).then(|| Duration::from_picoseconds(picoseconds as u64))
}

/// `mean` picoseconds times a random `draw`, rounded to the nearest picosecond; it saturates at 2^64 - 1.
#[inline]
pub(crate) fn random_span(mean: f64, draw: f64) -> u64 {
    (mean * draw + 0.5) as u64
}
