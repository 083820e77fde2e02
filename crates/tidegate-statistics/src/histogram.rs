//! Delays as a histogram whose buckets grow with the value.
//!
//! **Law.** A quantile is at least the true one, and at most 1/128 (0.8 %) and one nanosecond above it; 1/32 (3 %) in a coarse histogram. Mean and
//! maximum are exact. One made by [`Buckets::coarse`] has an eighth of the buckets, and errs by eight times as much. With a constant part, such as the propagation of a path, the 1/128 is of the rest.
//!
//! **State.** A value is counted in units of 1024 ps; each power of two is divided into 128 buckets, or 32. The first buckets that are hit are
//! listed: 4 bytes each, in at most twice the memory needed. From then on memory covers the range from the least to the greatest value, and is
//! at most twice what is needed. Each power of two takes 512 bytes, or 128; the double once a bucket has counted more than 2^32 values.
//!
//! **Cost.** One leading-zeros count and one increment; before that, while buckets are listed, a binary search.

use counts::Counts;

mod counts;

/// Bits of picoseconds below the unit.
const UNIT: u32 = 10;
/// By how many powers of two the buckets of a coarse histogram are wider.
const COARSER: u32 = 3;

/// A histogram of durations in picoseconds, fine enough for delays.
///
/// ```
/// use tidegate_statistics::Histogram;
/// let mut delays = Histogram::default();
/// for milliseconds in 1..=100 {
///     delays.record(milliseconds * 1_000_000_000);
/// }
/// assert_eq!(delays.mean(), Some(50.5e-3));
/// let median = delays.quantile(0.5).unwrap();
/// assert!((50e-3..50.4e-3).contains(&median));
/// assert_eq!(delays.share_beyond(99_900_000_000), 0.01);
/// ```
pub type Histogram = Buckets<7>;

/// A histogram with a quarter of the memory, for quantities that range from nothing to a second, such as differences between delays.
pub type CoarseHistogram = Buckets<5>;

/// Durations counted in buckets, 2^`FINE` for each power of two.
#[derive(Clone, Debug, Default)]
pub struct Buckets<const FINE: u32> {
    counts: Counts,
    sum: u128,
    maximum: u64,
    /// The part common to all durations. Buckets, sum and maximum count the rest.
    constant: u64,
    /// By how many powers of two the buckets are wider.
    coarser: u32,
}

impl<const FINE: u32> Buckets<FINE> {
    /// For durations of at least `constant` picoseconds; the resolution applies to the rest.
    ///
    /// ```
    /// use tidegate_statistics::Histogram;
    /// let mut delays = Histogram::above(250_000_000_000);
    /// delays.record(250_000_000_000 + 3_470_000_000);
    /// delays.record(251_000_000_000 + 9_000_000_000);
    /// let queueing = delays.quantile(0.5).unwrap() - 0.250;
    /// assert!((0.00347..0.0035).contains(&queueing));
    /// ```
    pub fn above(constant: u64) -> Buckets<FINE> {
        Buckets { constant, ..Buckets::default() }
    }

    /// With an eighth of the buckets, each eight times as wide.
    ///
    /// ```
    /// use tidegate_statistics::Histogram;
    /// let mut delays = Histogram::coarse();
    /// (1..=100).for_each(|milliseconds| delays.record(milliseconds * 1_000_000_000));
    /// assert!((50e-3..53.2e-3).contains(&delays.quantile(0.5).unwrap()));
    /// assert_eq!(delays.mean(), Some(50.5e-3));
    /// ```
    pub fn coarse() -> Buckets<FINE> {
        Buckets { coarser: COARSER, ..Buckets::default() }
    }

    /// The binary logarithm of the number of buckets for each power of two.
    #[inline]
    fn fine(&self) -> u32 {
        FINE - self.coarser
    }

    /// Counts a duration of `value` picoseconds.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_times(value, 1);
    }

    /// Counts a duration of `value` picoseconds `times` times, at least once.
    #[inline]
    pub fn record_times(&mut self, value: u64, times: u64) {
        debug_assert!(value >= self.constant, "{value} is below the constant part, {}", self.constant);
        let value = value.saturating_sub(self.constant);
        self.counts.add(bucket_of(self.fine(), value), times);
        self.sum += u128::from(value) * u128::from(times);
        self.maximum = self.maximum.max(value);
    }

    /// Adds everything that `other` has counted.
    ///
    /// # Panics
    /// If both have counted something, above different constants or in buckets of different widths.
    pub fn merge(&mut self, other: &Buckets<FINE>) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            (self.constant, self.coarser) = (other.constant, other.coarser);
        }
        let same = (self.constant, self.coarser) == (other.constant, other.coarser);
        assert!(same, "durations above the same constant, in buckets of the same width, are merged");
        if self.is_empty() {
            self.counts = other.counts.clone();
        } else {
            other.buckets().for_each(|(bucket, count)| self.counts.add(bucket, count));
        }
        self.sum += other.sum;
        self.maximum = self.maximum.max(other.maximum);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.buckets().map(|(_, count)| count).sum()
    }

    fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The mean in seconds, exact up to the last rounding; `None` if nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| (self.sum + u128::from(self.constant) * u128::from(self.count())) as f64 / self.count() as f64 / 1e12)
    }

    /// The greatest duration in seconds, exact; `None` if nothing was counted.
    pub fn maximum(&self) -> Option<f64> {
        (!self.is_empty()).then(|| seconds(self.constant + self.maximum))
    }

    /// The duration in seconds that a share of `part` of all does not exceed, as the upper end of its bucket and at most the maximum. `part`
    /// runs from 0 to 1. `None` if nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let count = self.count();
        let rank = ((part * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut below = 0;
        for (bucket, count) in self.buckets() {
            below += count;
            if below >= rank {
                return Some(seconds(self.constant + upper_end(self.fine(), bucket).min(self.maximum)));
            }
        }
        None
    }

    /// The share of durations beyond `limit` picoseconds: at least the true one, and more by those in the bucket of `limit` at most.
    pub fn share_beyond(&self, limit: u64) -> f64 {
        let Some(limit) = limit.checked_sub(self.constant) else { return if self.is_empty() { 0.0 } else { 1.0 } };
        if limit >= self.maximum {
            return 0.0;
        }
        let beyond: u64 = self.buckets().filter(|&(bucket, _)| upper_end(self.fine(), bucket) > limit).map(|(_, count)| count).sum();
        beyond as f64 / self.count() as f64
    }

    /// The tail as a curve: durations in seconds, and for each the share of durations beyond it, from 1 down to 0. One point per bucket
    /// that was hit, and one before the first.
    pub fn tail(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut durations, mut shares) = (Vec::new(), Vec::new());
        let all = self.count();
        let mut beyond = all;
        for (bucket, count) in self.buckets() {
            if durations.is_empty() {
                durations.push(seconds(self.constant + lower_end(self.fine(), bucket)));
                shares.push(1.0);
            }
            beyond -= count;
            durations.push(seconds(self.constant + upper_end(self.fine(), bucket).min(self.maximum)));
            shares.push(beyond as f64 / all as f64);
        }
        (durations, shares)
    }

    /// The buckets that were hit, in order, each with its count.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter()
    }
}

/// Two are equal if they have counted the same.
impl<const FINE: u32> PartialEq for Buckets<FINE> {
    fn eq(&self, other: &Buckets<FINE>) -> bool {
        self.constant == other.constant
            && self.coarser == other.coarser
            && self.sum == other.sum
            && self.maximum == other.maximum
            && self.buckets().eq(other.buckets())
    }
}

#[inline]
fn bucket_of(fine: u32, value: u64) -> usize {
    let value = value >> UNIT;
    // Below 2^fine a bucket is one unit; the first power above it continues in steps of one.
    let shift = (63 - (value | ((1 << fine) - 1)).leading_zeros()).saturating_sub(fine - 1).saturating_sub(1);
    ((shift as usize) << fine) + (value >> shift) as usize
}

/// The least value of a bucket.
fn lower_end(fine: u32, bucket: usize) -> u64 {
    let buckets = 1 << fine;
    if bucket < 2 * buckets {
        return (bucket as u64) << UNIT;
    }
    let shift = bucket / buckets - 1;
    ((bucket - shift * buckets) as u64) << (shift as u32 + UNIT)
}

/// The greatest value of a bucket.
fn upper_end(fine: u32, bucket: usize) -> u64 {
    lower_end(fine, bucket + 1).wrapping_sub(1)
}

fn seconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e12
}

#[cfg(test)]
mod tests;
