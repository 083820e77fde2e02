//! Units and named roundings: time in ps, data in pb (10^-12 bit), rates in bit/s, so that a rate times a time is data without a division.
//!
//! Every division has a direction that keeps a bound a bound. Delays, latencies, bursts and the rates that sources need are rounded up; rates
//! that a scheduler gives are rounded down. A product that leaves 127 bits is [`NoBound::OutOfRange`]; nothing wraps.

use tidegate_core::units::PICOSECONDS_PER_SECOND;

/// A time in picoseconds. Sums of times stay far below 2^127.
pub type Picoseconds = i128;

/// An amount of data in picobits (10^-12 bit): bit/s times ps.
pub type Picobits = i128;

/// Picobits in one bit.
pub const PICOBITS: Picobits = PICOSECONDS_PER_SECOND as Picobits;

/// Longer times are no bound: 2^63 ps, 106 days.
pub const LONGEST: Picoseconds = 1 << 63;

/// Why there is no bound.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoBound {
    /// In the long run more comes than is served.
    #[error("overloaded: up to {offered} bit/s come, and {served} bit/s are sure to be served")]
    Overloaded {
        /// The rate of arrivals in the long run, in bit/s.
        offered: u128,
        /// The rate of service in the long run, in bit/s.
        served: u64,
    },
    /// A number exceeds 127 bits, or a time 106 days.
    #[error("out of range: the bound exceeds 106 days, or its numbers 127 bits")]
    OutOfRange,
    /// A source that nothing limits.
    #[error("source `{0}` is not limited")]
    Unlimited(&'static str),
    /// A cycle of servers whose bounds grow from round to round.
    #[error("the cycle through servers {servers:?} does not settle at a load of {load_percent} %")]
    Unsettled {
        /// The servers whose delays still grow.
        servers: Vec<usize>,
        /// The highest load among them.
        load_percent: u64,
    },
    /// A shape whose bucket overflows while it waits for its turn.
    #[error("its burst of {burst} bit is too small to wait for its turn; {enough} bit would do")]
    ShortBurst {
        /// The burst of the shape, in bits.
        burst: u64,
        /// The burst that would be enough, in bits.
        enough: u64,
    },
    /// The node above gives a rate, and not in every interval.
    #[error("`{0}` above may punish the group for idle capacity that it used")]
    Punished(&'static str),
    /// Any other reason, as a clause.
    #[error("{0}")]
    Because(&'static str),
}

/// `a / b` rounded up (`DELAY_UP`, `LATENCY_UP`, `BURST_UP`, `RATE_NEEDED_UP`); `b` is positive.
#[inline]
pub fn up(a: i128, b: i128) -> i128 {
    debug_assert!(b > 0);
    if a >> 63 == 0 && b >> 63 == 0 {
        // A division of 64 bits costs a fifth of one of 128.
        return i128::from((a as u64).div_ceil(b as u64));
    }
    let quotient = a.div_euclid(b);
    quotient + i128::from(a.rem_euclid(b) > 0)
}

/// `a / b` rounded down (`RATE_GIVEN_DOWN`); `b` is positive.
#[inline]
pub fn down(a: i128, b: i128) -> i128 {
    a.div_euclid(b)
}

/// `a * b`, or out of range.
#[inline]
pub fn times(a: i128, b: i128) -> Result<i128, NoBound> {
    match (i64::try_from(a), i64::try_from(b)) {
        // One instruction, in place of a product of 128 bits that is checked.
        (Ok(a), Ok(b)) => Ok(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b).ok_or(NoBound::OutOfRange),
    }
}

/// `a + b`, or out of range.
#[inline]
pub fn plus(a: i128, b: i128) -> Result<i128, NoBound> {
    a.checked_add(b).ok_or(NoBound::OutOfRange)
}

/// This many bits in picobits.
#[inline]
pub const fn bits(bits: u64) -> Picobits {
    bits as Picobits * PICOBITS
}

/// A time as a bound, if it is one: not negative and at most [`LONGEST`].
pub(crate) fn as_bound(time: Picoseconds) -> Result<Picoseconds, NoBound> {
    if time > LONGEST { Err(NoBound::OutOfRange) } else { Ok(time.max(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn roundings_go_their_way(a in any::<i64>(), shift in 0u32..60, b in 1i128..1 << 70) {
            let a = i128::from(a) << shift;
            prop_assert!(up(a, b) * b >= a && (up(a, b) - 1) * b < a);
            prop_assert!(down(a, b) * b <= a && (down(a, b) + 1) * b > a);
        }
    }
}
