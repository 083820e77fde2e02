//! What sources and contracts send at most, as arrival curves.
//!
//! Lengths are in bits on the wire of the flow's first port; [`rescaled`] converts a curve for a port with another overhead. Rates and bursts are
//! rounded up. A source without a curve has a reason ([`NoBound::Unlimited`]), and its neighbours keep their bounds where a scheduler isolates them.

use crate::curve::{Arrival, MOST_BUCKETS, TokenBucket};
use crate::quantity::{NoBound, Picobits, Picoseconds, bits, plus, times, up};
use tidegate_core::admission::TrafficSpec;
use tidegate_core::units::{Duration, Overhead};

/// `data` per `time` as a rate in bit/s, rounded up.
fn rate_of(data: Picobits, time: Picoseconds) -> Result<u64, NoBound> {
    if time <= 0 {
        return Err(NoBound::OutOfRange);
    }
    u64::try_from(up(data, time)).map_err(|_| NoBound::OutOfRange)
}

/// `count` sources of packets of `length` bits, one every `interval`, in any phase.
///
/// # Errors
/// An interval of 0, and a sum out of range.
///
/// ```
/// use tidegate_bounds::source::constant;
/// use tidegate_core::units::Duration;
/// let calls = constant(1_904, Duration::from_milliseconds(20), 20).unwrap();
/// assert_eq!((calls.burst_bits(), calls.rate()), (38_080, 1_904_000));
/// ```
pub fn constant(length: u64, interval: Duration, count: u64) -> Result<Arrival, NoBound> {
    let burst = times(bits(length), count.into())?;
    Ok(Arrival::new([TokenBucket { burst, rate: rate_of(burst, interval.picoseconds().into())? }]))
}

/// A cycle of frames of these bits, one every `interval`: the mean rate with the largest burst of any window, and the peak.
///
/// The window takes O(n) for n frames.
///
/// # Errors
/// No frame, an interval of 0, and a sum out of range.
pub fn frames(lengths: &[u64], interval: Duration) -> Result<Arrival, NoBound> {
    let interval = Picoseconds::from(interval.picoseconds());
    let (Some(&longest), count) = (lengths.iter().max(), lengths.len() as i128) else {
        return Err(NoBound::Because("a cycle without frames"));
    };
    let total = lengths.iter().try_fold(0, |sum, &length| plus(sum, bits(length)))?;
    let rate = rate_of(total, times(interval, count)?)?;
    // The largest sum of any window, by Kadane's algorithm over two cycles: what a longer one adds is at most 0 per cycle.
    let drained = times(rate.into(), interval)?;
    let (mut content, mut burst) = (0, 0);
    for &length in lengths.iter().chain(lengths) {
        content = plus((content - drained).max(0), bits(length))?;
        burst = burst.max(content);
    }
    let peak = TokenBucket { burst: bits(longest), rate: rate_of(bits(longest), interval)? };
    Ok(Arrival::new([peak, TokenBucket { burst, rate }]))
}

/// When a source that sends at a peak rate pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pauses {
    /// It sends for `on` and is silent for `off`, always.
    Constant {
        /// How long it sends.
        on: Duration,
        /// How long it is silent.
        off: Duration,
    },
    /// For random times: any burst is possible, so only the peak rate is sure.
    Random,
}

/// A source that sends packets of `length` bits at `peak` bit/s, with pauses.
///
/// # Errors
/// A sum out of range.
pub fn on_off(length: u64, peak: u64, pauses: Pauses) -> Result<Arrival, NoBound> {
    let fast = TokenBucket::of_bits(length, peak);
    let Pauses::Constant { on, off } = pauses else { return Ok(Arrival::new([fast])) };
    let (on, off) = (Picoseconds::from(on.picoseconds()), Picoseconds::from(off.picoseconds()));
    let sent = times(peak.into(), on)?;
    let rate = rate_of(sent, on + off)?;
    // L + p on (1 - r/p) = L + on (p - r).
    let burst = plus(bits(length), times(i128::from(peak) - i128::from(rate), on)?.max(0))?;
    Ok(Arrival::new([fast, TokenBucket { burst, rate }]))
}

/// A capture of packets, each an instant in ps and a length in bits, in order of time. The bound holds for this sequence only.
///
/// For eight rates from the mean to the peak the burst is the largest content of a queue that is served at that rate, the arriving packet
/// included.
///
/// # Errors
/// No packet, instants that fall, and numbers out of range.
pub fn capture(packets: &[(u64, u64)]) -> Result<Arrival, NoBound> {
    let [(first, _), .., (last, _)] = *packets else {
        return match packets {
            [(_, length)] => Ok(Arrival::token_bucket(*length, 0)),
            _ => Err(NoBound::Because("a capture without packets")),
        };
    };
    if !packets.is_sorted_by_key(|packet| packet.0) {
        return Err(NoBound::Because("a capture whose times fall"));
    }
    let total = packets.iter().try_fold(0, |sum, packet| plus(sum, bits(packet.1)))?;
    let mean = rate_of(total, Picoseconds::from((last - first).max(1)))?;
    let gaps = packets.windows(2).map(|pair| rate_of(bits(pair[1].1), Picoseconds::from((pair[1].0 - pair[0].0).max(1))));
    let peak = gaps.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(mean).max(mean);
    let steps = MOST_BUCKETS as u32 - 1;
    let mut buckets = Vec::with_capacity(MOST_BUCKETS);
    for step in 0..=steps {
        // Geometric steps: bursts of every time scale count.
        let rate = (mean as f64 * (peak as f64 / mean as f64).powf(f64::from(step) / f64::from(steps))).ceil() as u64;
        let (mut content, mut burst, mut before) = (0, 0, first);
        for &(time, length) in packets {
            let drained = times(rate.into(), Picoseconds::from(time - before))?;
            content = plus((content - drained).max(0), bits(length))?;
            (burst, before) = (burst.max(content), time);
        }
        buckets.push(TokenBucket { burst, rate });
    }
    Ok(Arrival::new(buckets))
}

/// What a policer passes that discards the rest, or a shaper: `burst` bits at `rate` bit/s, up to `tolerance` early.
///
/// # Errors
/// A sum out of range.
pub fn contract(rate: u64, burst: u64, tolerance: Duration) -> Result<Arrival, NoBound> {
    let early = times(rate.into(), tolerance.picoseconds().into())?;
    Ok(Arrival::new([TokenBucket { burst: plus(bits(burst), early)?, rate }]))
}

/// What a dual bucket passes: a [`contract`], and besides packets of up to `length` bits at `peak` bit/s with the same tolerance.
///
/// # Errors
/// A sum out of range.
pub fn dual_contract(rate: u64, burst: u64, peak: u64, length: u64, tolerance: Duration) -> Result<Arrival, NoBound> {
    Ok(contract(rate, burst, tolerance)?.min(&contract(peak, length, tolerance)?))
}

/// The GCRA of cells: `GCRA(increment, limit)` passes at most `1 + limit/increment + t/increment` cells of `cell` bits.
///
/// # Errors
/// An increment of 0, and a sum out of range.
///
/// ```
/// use tidegate_bounds::source::gcra;
/// use tidegate_core::units::Duration;
/// // GCRA(20, 144) in slots of 1 us, cells of 424 bit: 8.2 cells at a twentieth of the slots.
/// let us = Duration::from_microseconds;
/// let cells = gcra(us(20), us(144), 424).unwrap();
/// assert_eq!((cells.burst_bits(), cells.rate()), (3_477, 21_200_000)); // 8.2 * 424 = 3476.8
/// ```
pub fn gcra(increment: Duration, limit: Duration, cell: u64) -> Result<Arrival, NoBound> {
    let (increment, limit) = (Picoseconds::from(increment.picoseconds()), Picoseconds::from(limit.picoseconds()));
    let rate = rate_of(bits(cell), increment)?;
    let burst = up(times(bits(cell), increment + limit)?, increment);
    Ok(Arrival::new([TokenBucket { burst, rate }]))
}

/// The traffic specification of RFC 2215: `min(M + p t, b + r t)`.
pub fn traffic_spec(spec: &TrafficSpec) -> Arrival {
    let peak = TokenBucket::of_bits(spec.longest_packet(), spec.peak().bits_per_second());
    Arrival::new([peak, TokenBucket::of_bits(spec.burst(), spec.rate().bits_per_second())])
}

/// Sources that nothing limits, by the name that files use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unlimited {
    /// Poisson arrivals.
    Poisson,
    /// TCP.
    Tcp,
    /// Packets of random sizes and times.
    Random,
    /// Always backlogged.
    Greedy,
}

impl Unlimited {
    /// The reason to print.
    pub const fn reason(self) -> NoBound {
        NoBound::Unlimited(match self {
            Unlimited::Poisson => "poisson",
            Unlimited::Tcp => "tcp",
            Unlimited::Random => "random",
            Unlimited::Greedy => "greedy",
        })
    }
}

/// A curve that was stated for frames of `shortest` to `longest` bytes under one overhead, for a port with another: burst and rate grow by the
/// largest ratio of the two lengths on the wire.
///
/// # Errors
/// No length in the range, and numbers out of range.
///
/// ```
/// use tidegate_bounds::curve::Arrival;
/// use tidegate_bounds::source::rescaled;
/// use tidegate_core::units::Overhead;
/// // 200 bytes as they are, and with Ethernet's 24 bytes.
/// let curve = rescaled(&Arrival::token_bucket(1_600, 80_000), (200, 200), Overhead::None, Overhead::ETHERNET).unwrap();
/// assert_eq!((curve.burst_bits(), curve.rate()), (1_792, 89_600));
/// ```
pub fn rescaled(curve: &Arrival, (shortest, longest): (u32, u32), there: Overhead, here: Overhead) -> Result<Arrival, NoBound> {
    let (new, old) = largest_ratio(shortest, longest, there, here).ok_or(NoBound::Because("no length is in the range"))?;
    let scaled = |bucket: &TokenBucket| {
        let rate = u64::try_from(up(times(bucket.rate.into(), new)?, old)).map_err(|_| NoBound::OutOfRange)?;
        Ok(TokenBucket { burst: up(times(bucket.burst, new)?, old), rate })
    };
    Ok(Arrival::new(curve.buckets().iter().map(scaled).collect::<Result<Vec<_>, NoBound>>()?))
}

/// The largest `here / there` over all lengths: between the bends of both it is monotone, so the ends of the pieces are enough.
fn largest_ratio(shortest: u32, longest: u32, there: Overhead, here: Overhead) -> Option<(i128, i128)> {
    let mut lengths = vec![shortest, longest];
    for overhead in [there, here] {
        if let Overhead::PerPacket { bytes, minimum } = overhead {
            let bend = u32::from(minimum.saturating_sub(bytes));
            lengths.extend([bend.saturating_sub(1), bend, bend + 1]);
        }
    }
    if [there, here].contains(&Overhead::Aal5) {
        // Just above a cell, and just below it, on both sides of the ends of the range and of each bend; between them each cell adds the same.
        for length in lengths.clone() {
            let full = (length + 8) / 48 * 48;
            for cells in [full.saturating_sub(48), full, full + 48] {
                lengths.extend([cells.saturating_sub(8), cells.saturating_sub(7)]);
            }
        }
    }
    let wire = |overhead: Overhead, length: u32| i128::from(overhead.wire_length(length));
    let ratios = lengths.into_iter().filter(|length| (shortest..=longest).contains(length));
    let ratios = ratios.map(|length| (wire(here, length), wire(there, length))).filter(|ratio| ratio.1 > 0);
    ratios.max_by(|one, two| (one.0 * two.1).cmp(&(two.0 * one.1)))
}

#[cfg(test)]
mod tests;
