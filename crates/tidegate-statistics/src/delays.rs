//! Delays: mean, quantiles, extremes and jitter of a stream of packets.

use hdrhistogram::Histogram;
use tidegate_core::units::Duration;

/// The delays of the packets of one stream.
///
/// Mean, maximum and jitter are exact; quantiles come from a histogram with three significant decimal digits over nanoseconds.
///
/// ```
/// use tidegate_core::units::Duration;
/// use tidegate_statistics::Delays;
/// let mut delays = Delays::default();
/// for ms in [1, 3, 2] {
///     delays.record(Duration::from_milliseconds(ms));
/// }
/// assert_eq!(delays.mean_seconds(), Some(0.002));
/// assert_eq!(delays.jitter_seconds(), Some(0.0015)); // |3 - 1| and |2 - 3|
/// ```
#[derive(Clone, Debug)]
pub struct Delays {
    histogram: Histogram<u64>,
    sum: u128,
    maximum: Duration,
    previous: Option<Duration>,
    jitter_sum: u128,
    jitter_count: u64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            // One nanosecond to ten seconds to begin with; longer delays make it grow.
            histogram: Histogram::new_with_bounds(1, 10_000_000_000, 3)
                .map(auto)
                .unwrap_or_else(|_| unreachable!("the bounds are constant")),
            sum: 0,
            maximum: Duration::ZERO,
            previous: None,
            jitter_sum: 0,
            jitter_count: 0,
        }
    }
}

fn auto(mut histogram: Histogram<u64>) -> Histogram<u64> {
    histogram.auto(true);
    histogram
}

impl Delays {
    /// Records the delay of the next packet of the stream.
    pub fn record(&mut self, delay: Duration) {
        // Half a nanosecond up or down is far below the histogram's resolution wherever that matters.
        self.histogram.saturating_record(delay.picoseconds().div_ceil(1000));
        self.sum += u128::from(delay.picoseconds());
        self.maximum = self.maximum.max(delay);
        if let Some(previous) = self.previous {
            self.jitter_sum += u128::from(previous.picoseconds().abs_diff(delay.picoseconds()));
            self.jitter_count += 1;
        }
        self.previous = Some(delay);
    }

    /// Adds the delays of another stream. The step from one stream to the other is no jitter.
    pub fn merge(&mut self, other: &Delays) {
        if self.histogram.add(&other.histogram).is_err() {
            unreachable!("a histogram that grows by itself takes any other");
        }
        self.sum += other.sum;
        self.maximum = self.maximum.max(other.maximum);
        self.jitter_sum += other.jitter_sum;
        self.jitter_count += other.jitter_count;
        self.previous = None;
    }

    /// The number of packets.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean in seconds; `None` without packets.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64 / 1e12)
    }

    /// The delay in seconds that a share of `quantile` (0 to 1) of the packets did not exceed; `None` without packets.
    pub fn quantile_seconds(&self, quantile: f64) -> Option<f64> {
        // The histogram answers with the upper end of a bucket, which may lie above the largest value in it.
        (self.count() > 0).then(|| (self.histogram.value_at_quantile(quantile) as f64 / 1e9).min(self.maximum_seconds()))
    }

    /// The largest delay in seconds; 0 without packets.
    pub fn maximum_seconds(&self) -> f64 {
        self.maximum.picoseconds() as f64 / 1e12
    }

    /// The mean absolute difference between the delays of consecutive packets, in seconds; `None` with fewer than two.
    pub fn jitter_seconds(&self) -> Option<f64> {
        (self.jitter_count > 0).then(|| self.jitter_sum as f64 / self.jitter_count as f64 / 1e12)
    }

    /// The complementary distribution: points (delay in seconds, share of packets that took longer), delays rising.
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        let total = self.count() as f64;
        let mut below = 0;
        let mut points = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            below += bucket.count_at_value();
            points.push(((bucket.value_iterated_to() as f64 / 1e9).min(self.maximum_seconds()), 1.0 - below as f64 / total));
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_distribution_agree_with_a_sorted_list() {
        let mut delays = Delays::default();
        // A fixed, uneven sequence over four decades.
        let values: Vec<u64> = (1..=10_000u64).map(|i| (i * i * 7919) % 50_000_000_000 + 1000).collect();
        for &ps in &values {
            delays.record(Duration::from_picoseconds(ps));
        }
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let exact = sorted[(quantile * 10_000.0) as usize - 1] as f64 / 1e12;
            let ours = delays.quantile_seconds(quantile).unwrap();
            assert!((ours - exact).abs() <= exact * 0.002 + 1e-9, "{quantile}: {ours} {exact}");
        }
        let ccdf = delays.ccdf();
        assert!(ccdf.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 > w[1].1));
        assert_eq!(ccdf.last().unwrap(), &(delays.maximum_seconds(), 0.0));
    }

    #[test]
    fn merging_equals_recording_together_but_for_the_seam() {
        let (mut a, mut b) = (Delays::default(), Delays::default());
        a.record(Duration::from_seconds(100)); // beyond the initial bound
        b.record(Duration::from_milliseconds(1));
        b.record(Duration::from_milliseconds(2));
        a.merge(&b);
        assert_eq!(a.count(), 3);
        assert_eq!(a.maximum_seconds(), 100.0);
        assert!((a.jitter_seconds().unwrap() - 0.001).abs() < 1e-15);
        assert_eq!(Delays::default().mean_seconds(), None);
    }
}
