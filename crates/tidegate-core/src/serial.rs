//! Comparisons on a wrapping 64-bit axis: picoseconds, virtual time, ticks of a cell slot, numbers of arrivals.
//!
//! Comparisons are serial: they hold while the two instants are within 2^63 of each other.

/// True if `a` lies before `b` on the shorter way round the axis.
#[inline]
pub const fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The later of two instants on the wrapping axis.
#[inline]
pub const fn later(a: u64, b: u64) -> u64 {
    if is_before(a, b) { b } else { a }
}

/// The earlier of two instants on the wrapping axis.
#[inline]
pub const fn earlier(a: u64, b: u64) -> u64 {
    if is_before(b, a) { b } else { a }
}
