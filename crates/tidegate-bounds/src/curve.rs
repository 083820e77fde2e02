//! The two kinds of curves: arrivals as the least of token buckets, service as the largest of rate-latencies.
//!
//! * [`Arrival`] is concave: in any closed window of `t` at most `min(b_k + r_k t)` arrives; a packet counts whole at its arrival.
//! * [`Service`] is convex: at least `max(R_k (t - T_k))` is served, or 0 where that is negative.
//!
//! Source: J.-Y. Le Boudec, P. Thiran, *Network Calculus*, Springer 2001, chapters 1 and 3.

use crate::quantity::{NoBound, PICOBITS, Picobits, Picoseconds, bits, down, plus, times, up};
use num_rational::BigRational;

/// At most `burst + rate * t` in any window of `t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBucket {
    /// In picobits.
    pub burst: Picobits,
    /// In bit/s.
    pub rate: u64,
}

impl TokenBucket {
    /// A bucket of `burst` bits and `rate` bit/s.
    pub const fn of_bits(burst: u64, rate: u64) -> TokenBucket {
        TokenBucket { burst: bits(burst), rate }
    }

    /// What it lets pass in `t`.
    pub fn at(&self, t: Picoseconds) -> Result<Picobits, NoBound> {
        plus(self.burst, times(self.rate.into(), t)?)
    }
}

/// The buckets that an [`Arrival`] keeps at most. One that is dropped loosens the curve, and leaves it valid.
pub const MOST_BUCKETS: usize = 8;

/// A concave arrival curve: the least of up to [`MOST_BUCKETS`] token buckets.
///
/// ```
/// use tidegate_bounds::curve::{Arrival, TokenBucket};
/// let curve = Arrival::new([TokenBucket::of_bits(1_000, 10_000_000), TokenBucket::of_bits(15_000, 1_500_000)]);
/// assert_eq!((curve.burst_bits(), curve.rate(), curve.peak()), (1_000, 1_500_000, 10_000_000));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Rates fall, bursts rise, and each is the least somewhere.
    buckets: Vec<TokenBucket>,
}

impl Arrival {
    /// The least of these buckets.
    ///
    /// # Panics
    /// If there is none: such a source has no curve.
    pub fn new(buckets: impl IntoIterator<Item = TokenBucket>) -> Arrival {
        let mut given: Vec<TokenBucket> = buckets.into_iter().collect();
        assert!(!given.is_empty(), "an arrival curve needs a token bucket");
        if given.len() == 1 {
            return Arrival { buckets: given };
        }
        given.sort_unstable_by(|a, b| b.rate.cmp(&a.rate).then(b.burst.cmp(&a.burst)));
        let mut hull: Vec<TokenBucket> = Vec::with_capacity(given.len());
        for bucket in given {
            // One with a higher rate and no smaller burst is never the least.
            while hull.last().is_some_and(|last| last.burst >= bucket.burst) {
                hull.pop();
            }
            while let [.., first, middle] = hull[..] {
                let (one, two) = (kink(first, middle), kink(middle, bucket));
                let (Some(left), Some(right)) = (one.0.checked_mul(two.1), two.0.checked_mul(one.1)) else { break };
                if left < right {
                    break;
                }
                hull.pop();
            }
            hull.push(bucket);
        }
        while hull.len() > MOST_BUCKETS {
            let gap = |at: &usize| hull[at - 1].rate - hull[at + 1].rate;
            let least = (1..hull.len() - 1).min_by_key(gap).unwrap_or(1);
            hull.remove(least);
        }
        Arrival { buckets: hull }
    }

    /// One token bucket of `burst` bits and `rate` bit/s.
    pub fn token_bucket(burst: u64, rate: u64) -> Arrival {
        Arrival { buckets: vec![TokenBucket::of_bits(burst, rate)] }
    }

    /// The buckets: rates fall, bursts rise.
    pub fn buckets(&self) -> &[TokenBucket] {
        &self.buckets
    }

    /// The bucket of the long run.
    pub fn sustained(&self) -> TokenBucket {
        self.buckets[self.buckets.len() - 1]
    }

    /// The rate in the long run, in bit/s.
    pub fn rate(&self) -> u64 {
        self.sustained().rate
    }

    /// The rate of the first bucket, in bit/s.
    pub fn peak(&self) -> u64 {
        self.buckets[0].rate
    }

    /// What may come at once, in bits, rounded up.
    pub fn burst_bits(&self) -> u64 {
        u64::try_from(up(self.buckets[0].burst, PICOBITS)).unwrap_or(u64::MAX)
    }

    /// What may come in a closed window of `t`.
    pub fn at(&self, t: Picoseconds) -> Result<Picobits, NoBound> {
        let mut least = self.buckets[0].at(t)?;
        for bucket in &self.buckets[1..] {
            least = least.min(bucket.at(t)?);
        }
        Ok(least)
    }

    /// The lesser of two curves, which is also their convolution: both are 0 at 0.
    #[must_use]
    pub fn min(&self, other: &Arrival) -> Arrival {
        Arrival::new(self.buckets.iter().chain(&other.buckets).copied())
    }

    /// What arrives after a delay that varies by up to `jitter`: the curve at `t + jitter`.
    pub fn delayed(&self, jitter: Picoseconds) -> Result<Arrival, NoBound> {
        let later = |bucket: &TokenBucket| Ok(TokenBucket { burst: bucket.at(jitter)?, rate: bucket.rate });
        Ok(Arrival { buckets: self.buckets.iter().map(later).collect::<Result<_, NoBound>>()? })
    }

    /// What `count` sources of this curve send together.
    pub fn repeated(&self, count: u64) -> Result<Arrival, NoBound> {
        let many = |bucket: &TokenBucket| {
            let rate = bucket.rate.checked_mul(count).ok_or(NoBound::OutOfRange)?;
            Ok(TokenBucket { burst: times(bucket.burst, count.into())?, rate })
        };
        Ok(Arrival { buckets: self.buckets.iter().map(many).collect::<Result<_, NoBound>>()? })
    }

    /// The deconvolution by a service curve: what leaves a server, as a fluid. Buckets that are faster than the server are dropped.
    ///
    /// # Errors
    /// [`NoBound::Overloaded`] if no bucket is left, and out of range.
    pub fn deconvolved(&self, service: &Service) -> Result<Arrival, NoBound> {
        let mut buckets = Vec::new();
        for bucket in self.buckets.iter().filter(|bucket| bucket.rate <= service.rate()) {
            // The largest r u - beta(u) is at the latency or at a kink of the service.
            let mut most = times(bucket.rate.into(), service.latency())?;
            for pair in service.pieces().windows(2) {
                let (time, per, served) = bend(pair[0], pair[1])?;
                most = most.max(up(times(bucket.rate.into(), time)? - served, per));
            }
            buckets.push(TokenBucket { burst: plus(bucket.burst, most)?, rate: bucket.rate });
        }
        if buckets.is_empty() {
            return Err(NoBound::Overloaded { offered: self.rate().into(), served: service.rate() });
        }
        Ok(Arrival::new(buckets))
    }
}

/// Where the second bucket becomes the lesser one: the time is the first number divided by the second.
fn kink(first: TokenBucket, second: TokenBucket) -> (i128, i128) {
    (second.burst - first.burst, i128::from(first.rate - second.rate))
}

/// At least `rate * (t - latency)` in `t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLatency {
    /// In bit/s, above 0.
    pub rate: u64,
    /// In picoseconds.
    pub latency: Picoseconds,
}

/// A convex service curve: the largest of rate-latencies.
///
/// ```
/// use tidegate_bounds::curve::{RateLatency, Service};
/// let link = Service::link(10_000_000);
/// assert_eq!(link.pieces(), [RateLatency { rate: 10_000_000, latency: 0 }]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// Rates rise, latencies rise, and each is the largest somewhere.
    pieces: Vec<RateLatency>,
}

impl Service {
    /// The largest of these pieces; those without a rate are left out.
    ///
    /// # Errors
    /// [`NoBound::Because`] if none is left.
    pub fn new(pieces: impl IntoIterator<Item = RateLatency>) -> Result<Service, NoBound> {
        let mut given: Vec<RateLatency> = pieces.into_iter().filter(|piece| piece.rate > 0).collect();
        given.sort_unstable_by(|a, b| a.rate.cmp(&b.rate).then(b.latency.cmp(&a.latency)));
        let mut hull: Vec<RateLatency> = Vec::with_capacity(given.len());
        for piece in given {
            while hull.last().is_some_and(|last| last.latency >= piece.latency) {
                hull.pop();
            }
            while let [.., first, middle] = hull[..] {
                let (Ok(one), Ok(two)) = (bend(first, middle), bend(middle, piece)) else { break };
                let (Some(left), Some(right)) = (one.0.checked_mul(two.1), two.0.checked_mul(one.1)) else { break };
                if left < right {
                    break;
                }
                hull.pop();
            }
            hull.push(piece);
        }
        if hull.is_empty() { Err(NoBound::Because("nothing is left of the service")) } else { Ok(Service { pieces: hull }) }
    }

    /// A link of `rate` bit/s.
    ///
    /// # Panics
    /// If the rate is 0.
    pub fn link(rate: u64) -> Service {
        Service::rate_latency(rate, 0)
    }

    /// One piece.
    ///
    /// # Panics
    /// If the rate is 0.
    pub fn rate_latency(rate: u64, latency: Picoseconds) -> Service {
        assert!(rate > 0, "a service has a rate");
        Service { pieces: vec![RateLatency { rate, latency }] }
    }

    /// The pieces: rates and latencies rise.
    pub fn pieces(&self) -> &[RateLatency] {
        &self.pieces
    }

    /// The rate in the long run, in bit/s.
    pub fn rate(&self) -> u64 {
        self.pieces[self.pieces.len() - 1].rate
    }

    /// The time until service begins.
    pub fn latency(&self) -> Picoseconds {
        self.pieces[0].latency
    }

    /// What is surely served in `t`.
    pub fn at(&self, t: Picoseconds) -> Result<Picobits, NoBound> {
        let mut most = 0;
        for piece in &self.pieces {
            most = most.max(times(piece.rate.into(), t - piece.latency)?);
        }
        Ok(most)
    }

    /// The time in which this much is surely served, rounded up.
    pub fn time_for(&self, work: Picobits) -> Result<Picoseconds, NoBound> {
        let mut least = Picoseconds::MAX;
        for piece in &self.pieces {
            least = least.min(plus(up(work, piece.rate.into()), piece.latency)?);
        }
        Ok(least)
    }

    /// The part `share.0 / share.1` of all work but the first `work`: `share * (W - work)` in the notation of hierarchies. Rates are rounded down.
    pub fn share(&self, share: (u128, u128), work: Picobits) -> Result<Service, NoBound> {
        let (part, whole) = (i128::try_from(share.0), i128::try_from(share.1));
        let (Ok(part), Ok(whole)) = (part, whole) else { return Err(NoBound::OutOfRange) };
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let rate = u64::try_from(down(times(piece.rate.into(), part)?, whole)).map_err(|_| NoBound::OutOfRange)?;
            pieces.push(RateLatency { rate, latency: plus(piece.latency, up(work, piece.rate.into()))? });
        }
        Service::new(pieces)
    }

    /// The same service after `latency` more.
    pub fn later(&self, latency: Picoseconds) -> Service {
        let later = |piece: &RateLatency| RateLatency { latency: piece.latency + latency, ..*piece };
        Service { pieces: self.pieces.iter().map(later).collect() }
    }

    /// What traffic of higher priority and `lower` of other work leave: `[beta - alpha - lower]+`, not decreasing. The curve has to be strict.
    ///
    /// # Errors
    /// [`NoBound::Overloaded`] if no rate is left, and out of range.
    pub fn beside(&self, higher: &[TokenBucket], lower: Picobits) -> Result<Service, NoBound> {
        let mut pieces = Vec::with_capacity(self.pieces.len() * higher.len().max(1));
        let none = [TokenBucket { burst: 0, rate: 0 }];
        let higher = if higher.is_empty() { &none } else { higher };
        for piece in &self.pieces {
            for bucket in higher.iter().filter(|bucket| bucket.rate < piece.rate) {
                let rate = piece.rate - bucket.rate;
                let work = plus(plus(times(piece.rate.into(), piece.latency)?, bucket.burst)?, lower)?;
                pieces.push(RateLatency { rate, latency: up(work, rate.into()) });
            }
        }
        let offered = higher.iter().map(|bucket| bucket.rate).min().unwrap_or(0).into();
        Service::new(pieces).map_err(|_| NoBound::Overloaded { offered, served: self.rate() })
    }

    /// The convolution: two servers in a row as one. Slopes are merged in rising order; latencies of the result are rounded up.
    pub fn then(&self, next: &Service) -> Result<Service, NoBound> {
        if let ([one], [two]) = (&self.pieces[..], &next.pieces[..]) {
            return Ok(Service::rate_latency(one.rate.min(two.rate), plus(one.latency, two.latency)?));
        }
        let mut slopes: Vec<(u64, Option<BigRational>)> = self.slopes()?.into_iter().chain(next.slopes()?).collect();
        // One without an end comes last among equals.
        slopes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
        let start = plus(self.latency(), next.latency())?;
        let (mut time, mut served) = (BigRational::from_integer(start.into()), BigRational::from_integer(0.into()));
        let mut pieces = Vec::with_capacity(slopes.len());
        for (rate, length) in slopes {
            let speed = BigRational::from_integer(rate.into());
            let latency = (&time - &served / &speed).ceil().to_integer();
            pieces.push(RateLatency { rate, latency: i128::try_from(latency).map_err(|_| NoBound::OutOfRange)? });
            let Some(length) = length else { break };
            served += &speed * &length;
            time += length;
        }
        Service::new(pieces)
    }

    /// The segments after the latency: slope and length in time, the last without an end.
    fn slopes(&self) -> Result<Vec<(u64, Option<BigRational>)>, NoBound> {
        let mut from = BigRational::from_integer(self.latency().into());
        let mut slopes = Vec::with_capacity(self.pieces.len());
        for pair in self.pieces.windows(2) {
            let (time, per, _) = bend(pair[0], pair[1])?;
            let until = BigRational::new(time.into(), per.into());
            slopes.push((pair[0].rate, Some(&until - &from)));
            from = until;
        }
        slopes.push((self.rate(), None));
        Ok(slopes)
    }
}

/// Where the second piece overtakes the first: `(n, d, s)` with the time `n / d` and the service `s / d` until then.
pub(crate) fn bend(first: RateLatency, second: RateLatency) -> Result<(i128, i128, i128), NoBound> {
    let (one, two) = (i128::from(first.rate), i128::from(second.rate));
    let time = times(two, second.latency)? - times(one, first.latency)?;
    let served = times(times(one, second.latency - first.latency)?, two)?;
    Ok((time, two - one, served))
}

#[cfg(test)]
mod tests;
