//! The delays of the last second and of the last minute of one stream: a histogram that forgets.
//!
//! **Law.** A quantile is at least the true one of the packets in its window, and at most 1/16 (6.3 %) and 1.05 us above it; 1/4 if it is
//! coarse ([`RecentDelays::coarse`]). The maximum is exact.
//! The last second is the latest complete one. The last minute is the six latest complete stretches of ten seconds and what has followed, 60 to 70 s.
//!
//! **Source.** The buckets are those of an HDR histogram (G. Tene); the ring of stretches is the basic window of Zhu and Shasha, VLDB 2002.
//!
//! **State.** 120 bytes, and 36 bytes per bucket. There are 16 buckets per power of two from the least delay to the greatest, 4 if it is coarse.
//! For delays from 1 to 64 ms that is 3.9 kB, or 1.3 kB.
//!
//! **Cost.** Per packet one leading-zeros count and one increment. At the first packet of a second one pass over the buckets.

use tidegate_core::units::Duration;

/// Counts per bucket: the current second, the second before, and a ring of stretches of ten seconds.
const COUNTS: usize = FIRST_STRETCH + STRETCHES as usize;
/// Where the count of the current second is.
const CURRENT: usize = 0;
/// Where that of the second before is.
const PREVIOUS: usize = 1;
const FIRST_STRETCH: usize = 2;
/// Six complete stretches and the current one.
const STRETCHES: u64 = 7;
const STRETCH_SECONDS: u64 = 10;
/// Bits of picoseconds below the unit of 1.05 us.
const UNIT: u32 = 20;
/// The binary logarithm of the number of buckets per power of two.
const FINE: u32 = 4;
/// By how many powers of two the buckets of a coarse one are wider.
const COARSER: u32 = 2;
/// Buckets that are allocated at a time.
const BLOCK: usize = 8;

/// What [`RecentDelays`] covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// The latest complete second.
    Second,
    /// The last 60 to 70 s.
    Minute,
}

/// The delays of the last second and of the last minute.
///
/// ```
/// use tidegate_core::units::Duration;
/// use tidegate_statistics::{RecentDelays, Window};
/// let mut delays = RecentDelays::default();
/// delays.record(0, Duration::from_milliseconds(40));
/// delays.record(1, Duration::from_milliseconds(2));
/// delays.advance(2);
/// assert_eq!(delays.maximum_seconds(Window::Second), Some(0.002));
/// assert_eq!(delays.maximum_seconds(Window::Minute), Some(0.040));
/// delays.advance(80);
/// assert_eq!(delays.count(Window::Minute), 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RecentDelays {
    /// The number of the current second.
    second: u64,
    /// The bucket that `counts` starts with: a multiple of [`BLOCK`].
    base: usize,
    counts: Vec<[u32; COUNTS]>,
    /// The greatest delays in picoseconds.
    maxima: [u64; COUNTS],
    /// By how many powers of two the buckets are wider.
    coarser: u32,
}

impl RecentDelays {
    /// With a quarter of the buckets.
    pub fn coarse() -> RecentDelays {
        RecentDelays { coarser: COARSER, ..RecentDelays::default() }
    }

    #[inline]
    fn fine(&self) -> u32 {
        FINE - self.coarser
    }

    /// Records the delay of a packet in the second of this number. Seconds do not decrease; an earlier one counts as the current one.
    #[inline]
    pub fn record(&mut self, second: u64, delay: Duration) {
        if second > self.second {
            self.advance(second);
        }
        let delay = delay.picoseconds();
        let bucket = bucket_of(self.fine(), delay);
        if bucket.wrapping_sub(self.base) >= self.counts.len() {
            self.widen(bucket);
        }
        let count = &mut self.counts[bucket - self.base][CURRENT];
        *count = count.saturating_add(1);
        self.maxima[CURRENT] = self.maxima[CURRENT].max(delay);
    }

    /// The current second is the one of this number.
    #[cold]
    pub fn advance(&mut self, second: u64) {
        if second <= self.second {
            return;
        }
        let (ended, now) = (self.second / STRETCH_SECONDS, second / STRETCH_SECONDS);
        let stretch = |number: u64| FIRST_STRETCH + (number % STRETCHES) as usize;
        let is_next = second == self.second + 1;
        let entered = ended + 1..=now.min(ended + STRETCHES);
        for counts in &mut self.counts {
            let current = std::mem::take(&mut counts[CURRENT]);
            counts[PREVIOUS] = if is_next { current } else { 0 };
            counts[stretch(ended)] = counts[stretch(ended)].saturating_add(current);
            entered.clone().for_each(|number| counts[stretch(number)] = 0);
        }
        let current = std::mem::take(&mut self.maxima[CURRENT]);
        self.maxima[PREVIOUS] = if is_next { current } else { 0 };
        self.maxima[stretch(ended)] = self.maxima[stretch(ended)].max(current);
        entered.for_each(|number| self.maxima[stretch(number)] = 0);
        self.second = second;
    }

    /// The number of packets in the window.
    pub fn count(&self, window: Window) -> u64 {
        self.counts.iter().map(|counts| count_in(counts, window)).sum()
    }

    /// The delay in seconds that a share of `quantile` (0 to 1) of the packets in the window did not exceed; `None` without packets.
    pub fn quantile_seconds(&self, window: Window, quantile: f64) -> Option<f64> {
        let count = self.count(window);
        let rank = ((quantile * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut below = 0;
        for (bucket, counts) in self.counts.iter().enumerate() {
            below += count_in(counts, window);
            if below >= rank {
                return Some(seconds(upper_end(self.fine(), self.base + bucket).min(self.maximum(window))));
            }
        }
        None
    }

    /// The largest delay in the window in seconds; `None` without packets.
    pub fn maximum_seconds(&self, window: Window) -> Option<f64> {
        (self.count(window) > 0).then(|| seconds(self.maximum(window)))
    }

    fn maximum(&self, window: Window) -> u64 {
        match window {
            Window::Second => self.maxima[PREVIOUS],
            Window::Minute => self.maxima[FIRST_STRETCH..].iter().copied().max().unwrap_or(0).max(self.maxima[CURRENT]),
        }
    }

    /// Makes room for `bucket`.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        let first = bucket / BLOCK * BLOCK;
        if self.counts.is_empty() {
            self.base = first;
        }
        if first < self.base {
            self.counts.splice(0..0, std::iter::repeat_n([0; COUNTS], self.base - first));
            self.base = first;
        } else {
            let needed = first + BLOCK - self.base;
            self.counts.reserve_exact(needed - self.counts.len());
            self.counts.resize(needed, [0; COUNTS]);
        }
    }
}

fn count_in(counts: &[u32; COUNTS], window: Window) -> u64 {
    match window {
        Window::Second => u64::from(counts[PREVIOUS]),
        Window::Minute => counts[FIRST_STRETCH..].iter().map(|&count| u64::from(count)).sum::<u64>() + u64::from(counts[CURRENT]),
    }
}

#[inline]
fn bucket_of(fine: u32, delay: u64) -> usize {
    let value = delay >> UNIT;
    // Below 2^fine a bucket is one unit; the first power above it continues in steps of one.
    let shift = (63 - (value | ((1 << fine) - 1)).leading_zeros()).saturating_sub(fine);
    ((shift as usize) << fine) + (value >> shift) as usize
}

/// The greatest delay of a bucket.
fn upper_end(fine: u32, bucket: usize) -> u64 {
    let buckets = 1 << fine;
    let next = bucket + 1;
    let (shift, value) = if next < 2 * buckets { (0, next) } else { ((next >> fine) - 1, next - (((next >> fine) - 1) << fine)) };
    // The last bucket ends with the range.
    u64::try_from((value as u128) << (shift as u32 + UNIT)).unwrap_or(0).wrapping_sub(1)
}

fn seconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e12
}

#[cfg(test)]
mod tests;
