//! Sums of arrival curves, and their distances from a service curve: the delay and the backlog.
//!
//! **Law.** A first-in first-out server has the arrival curve `alpha` and the service curve `beta`. No bit waits longer than their horizontal
//! distance, and no more waits than the vertical one.
//!
//! **Source.** J.-Y. Le Boudec, P. Thiran, *Network Calculus*, Springer 2001, section 1.4.
//!
//! A sum of concave curves is a list of kinks. From line to line the intercept grows by a burst and the slope falls by a rate, both whole
//! numbers, so every distance is one rounded quotient.

use crate::curve::{Arrival, Service, TokenBucket, bend};
use crate::quantity::{NoBound, PICOBITS, Picobits, Picoseconds, as_bound, plus, times, up};

/// Where one curve of a sum goes over to its next bucket: after `step / drop` ps.
#[derive(Clone, Copy, Debug)]
struct Kink {
    step: Picobits,
    drop: u64,
}

impl Kink {
    /// Of two kinks, which comes first.
    fn order(&self, other: &Kink) -> core::cmp::Ordering {
        // Bursts below 2^87 pb and rates below 2^40 bit/s cannot overflow; beyond that the order of floats is as good as any for sorting,
        // and evaluation reports what is out of range.
        match (self.step.checked_mul(other.drop.into()), other.step.checked_mul(self.drop.into())) {
            (Some(one), Some(two)) => one.cmp(&two),
            _ => (self.step as f64 / self.drop as f64).total_cmp(&(other.step as f64 / other.drop as f64)),
        }
    }
}

/// A line of the curve, and the time from which it holds: `from.0 / from.1` ps.
#[derive(Clone, Copy, Debug)]
struct Line {
    burst: Picobits,
    rate: i128,
    from: (i128, i128),
}

/// The sum of arrival curves.
///
/// ```
/// use tidegate_bounds::aggregate::Aggregate;
/// use tidegate_bounds::curve::{Arrival, Service};
///
/// // 10 bit and 100 bit/s through 200 bit/s after 10 ms: 60 ms, and 11 bit.
/// let mut sum = Aggregate::default();
/// sum.add(&Arrival::token_bucket(10, 100)).unwrap();
/// let service = Service::rate_latency(200, 10_000_000_000);
/// assert_eq!(sum.delay(&service), Ok(60_000_000_000));
/// assert_eq!(sum.backlog_bits(&service), Ok(11));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Aggregate {
    burst: Picobits,
    rate: i128,
    kinks: Vec<Kink>,
}

impl Aggregate {
    /// The sum of these curves.
    pub fn of<'a>(curves: impl IntoIterator<Item = &'a Arrival>) -> Result<Aggregate, NoBound> {
        let mut sum = Aggregate::default();
        for curve in curves {
            sum.add(curve)?;
        }
        Ok(sum)
    }

    /// Adds a curve.
    pub fn add(&mut self, curve: &Arrival) -> Result<(), NoBound> {
        let buckets = curve.buckets();
        self.burst = plus(self.burst, buckets[0].burst)?;
        self.rate = plus(self.rate, buckets[0].rate.into())?;
        for pair in buckets.windows(2) {
            self.kinks.push(Kink { step: pair[1].burst - pair[0].burst, drop: pair[0].rate - pair[1].rate });
        }
        Ok(())
    }

    /// Adds a bucket on a line: the lesser of the two.
    pub(crate) fn add_on_line(&mut self, bucket: TokenBucket, line: Option<TokenBucket>) -> Result<(), NoBound> {
        let first = line.filter(|line| line.burst < bucket.burst || line.rate < bucket.rate).unwrap_or(bucket);
        self.burst = plus(self.burst, first.burst.min(bucket.burst))?;
        if first.burst < bucket.burst && first.rate > bucket.rate {
            self.rate = plus(self.rate, first.rate.into())?;
            self.kinks.push(Kink { step: bucket.burst - first.burst, drop: first.rate - bucket.rate });
        } else if bucket.burst < first.burst && bucket.rate > first.rate {
            self.rate = plus(self.rate, bucket.rate.into())?;
            self.kinks.push(Kink { step: first.burst - bucket.burst, drop: bucket.rate - first.rate });
        } else {
            self.rate = plus(self.rate, first.rate.min(bucket.rate).into())?;
        }
        Ok(())
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Aggregate) -> Result<(), NoBound> {
        self.burst = plus(self.burst, other.burst)?;
        self.rate = plus(self.rate, other.rate)?;
        self.kinks.extend_from_slice(&other.kinks);
        Ok(())
    }

    /// True if no curve was added, or only such as send nothing.
    pub fn is_empty(&self) -> bool {
        self.burst == 0 && self.rate == 0
    }

    /// The rate in the long run, in bit/s.
    pub fn rate(&self) -> i128 {
        self.rate - self.kinks.iter().map(|kink| i128::from(kink.drop)).sum::<i128>()
    }

    /// The lines of the sum as one curve; with more than eight some are dropped, which leaves it valid.
    pub fn as_arrival(&self) -> Result<Arrival, NoBound> {
        let bucket = |line: Line| Ok(TokenBucket { burst: line.burst, rate: u64::try_from(line.rate).map_err(|_| NoBound::OutOfRange)? });
        Ok(Arrival::new(self.lines()?.into_iter().map(bucket).collect::<Result<Vec<_>, NoBound>>()?))
    }

    fn lines(&self) -> Result<Vec<Line>, NoBound> {
        let mut line = Line { burst: self.burst, rate: self.rate, from: (0, 1) };
        if self.kinks.is_empty() {
            return Ok(vec![line]);
        }
        let mut kinks = self.kinks.clone();
        kinks.sort_unstable_by(Kink::order);
        let mut lines = Vec::with_capacity(kinks.len() + 1);
        for kink in kinks {
            lines.push(line);
            line =
                Line { burst: plus(line.burst, kink.step)?, rate: line.rate - i128::from(kink.drop), from: (kink.step, kink.drop.into()) };
        }
        lines.push(line);
        Ok(lines)
    }

    /// The largest horizontal distance from `service`, rounded up: the bound on the delay (`DELAY_UP`).
    ///
    /// # Errors
    /// [`NoBound::Overloaded`] if the sum outgrows the service in the long run, and out of range.
    pub fn delay(&self, service: &Service) -> Result<Picoseconds, NoBound> {
        let lines = self.lines()?;
        self.is_stable(&lines, service)?;
        let pieces = service.pieces();
        let mut longest = 0;
        for line in &lines {
            let (time, per) = line.from;
            let mut soonest = Picoseconds::MAX;
            for piece in pieces {
                let rate = i128::from(piece.rate);
                let behind = plus(times(line.burst, per)?, times(line.rate - rate, time)?)?;
                soonest = soonest.min(plus(up(behind, times(per, rate)?), piece.latency)?);
            }
            longest = longest.max(soonest);
            if line.rate <= pieces[0].rate.into() {
                // From here on every distance shrinks.
                break;
            }
        }
        for pair in pieces.windows(2) {
            // Where the service bends at n / d with s / d served: n / d less the time at which the sum reaches s / d.
            let (time, per, served) = bend(pair[0], pair[1])?;
            let mut distance = Some(up(time, per));
            for line in &lines {
                let behind = times(line.burst, per)? - served;
                if line.rate == 0 {
                    distance = distance.filter(|_| behind >= 0);
                    continue;
                }
                let late = up(plus(times(time, line.rate)?, behind)?, times(per, line.rate)?);
                distance = distance.map(|distance| distance.min(late));
            }
            longest = longest.max(distance.unwrap_or(0));
        }
        as_bound(longest)
    }

    /// The largest vertical distance from `service`, in picobits, rounded up: the bound on the backlog.
    ///
    /// # Errors
    /// As [`Aggregate::delay`].
    pub fn backlog(&self, service: &Service) -> Result<Picobits, NoBound> {
        let lines = self.lines()?;
        self.is_stable(&lines, service)?;
        let served = |time: i128, per: i128| {
            let mut most = 0;
            for piece in service.pieces() {
                most = most.max(times(piece.rate.into(), time - times(piece.latency, per)?)?);
            }
            Ok(most)
        };
        let mut most = 0;
        for line in &lines {
            let (time, per) = line.from;
            most = most.max(up(plus(times(line.burst, per)?, times(line.rate, time)?)? - served(time, per)?, per));
        }
        let mut bends = vec![(service.latency(), 1, 0)];
        for pair in service.pieces().windows(2) {
            bends.push(bend(pair[0], pair[1])?);
        }
        for (time, per, served) in bends {
            let mut come = i128::MAX;
            for line in &lines {
                come = come.min(plus(times(line.burst, per)?, times(line.rate, time)?)?);
            }
            most = most.max(up(come - served, per));
        }
        Ok(most)
    }

    /// [`Aggregate::backlog`] in bits, rounded up.
    pub fn backlog_bits(&self, service: &Service) -> Result<u64, NoBound> {
        u64::try_from(up(self.backlog(service)?, PICOBITS)).map_err(|_| NoBound::OutOfRange)
    }

    fn is_stable(&self, lines: &[Line], service: &Service) -> Result<(), NoBound> {
        let offered = lines[lines.len() - 1].rate;
        if offered > service.rate().into() {
            return Err(NoBound::Overloaded { offered: offered.unsigned_abs(), served: service.rate() });
        }
        Ok(())
    }
}

/// The bound on the delay of one curve through one service.
pub fn delay(arrival: &Arrival, service: &Service) -> Result<Picoseconds, NoBound> {
    Aggregate::of([arrival])?.delay(service)
}
