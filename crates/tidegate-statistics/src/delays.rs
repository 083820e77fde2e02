//! Delays: mean, quantiles, extremes and jitter of a stream of packets.

use crate::{CoarseHistogram, Histogram};
use tidegate_core::units::Duration;

/// The delays of the packets of one stream.
///
/// Jitter is the absolute difference between the delays of consecutive packets. Means and maxima are exact; quantiles are those of a
/// [`Histogram`], of jitter those of a [`CoarseHistogram`].
///
/// ```
/// use tidegate_core::units::Duration;
/// use tidegate_statistics::Delays;
/// let mut delays = Delays::default();
/// for ms in [1, 3, 2] {
///     delays.record(Duration::from_milliseconds(ms));
/// }
/// assert_eq!(delays.mean_seconds(), Some(0.002));
/// assert_eq!(delays.jitter().mean(), Some(0.0015)); // |3 - 1| and |2 - 3|
/// assert_eq!(delays.jitter().maximum(), Some(0.002));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Delays {
    histogram: Histogram,
    previous: Option<Duration>,
    jitter: CoarseHistogram,
}

impl Delays {
    /// With coarse histograms ([`Histogram::coarse`]).
    pub fn coarse() -> Delays {
        Delays { histogram: Histogram::coarse(), previous: None, jitter: CoarseHistogram::coarse() }
    }

    /// Records the delay of the next packet of the stream.
    pub fn record(&mut self, delay: Duration) {
        self.histogram.record(delay.picoseconds());
        if let Some(previous) = self.previous {
            self.jitter.record(previous.picoseconds().abs_diff(delay.picoseconds()));
        }
        self.previous = Some(delay);
    }

    /// Adds the delays of another stream. The step from one stream to the other is no jitter.
    pub fn merge(&mut self, other: &Delays) {
        self.histogram.merge(&other.histogram);
        self.jitter.merge(&other.jitter);
        self.previous = None;
    }

    /// The number of packets.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The mean in seconds; `None` without packets.
    pub fn mean_seconds(&self) -> Option<f64> {
        self.histogram.mean()
    }

    /// The delay in seconds that a share of `quantile` (0 to 1) of the packets did not exceed; `None` without packets.
    pub fn quantile_seconds(&self, quantile: f64) -> Option<f64> {
        self.histogram.quantile(quantile)
    }

    /// The largest delay in seconds; `None` without packets.
    pub fn maximum_seconds(&self) -> Option<f64> {
        self.histogram.maximum()
    }

    /// The tail: delays in seconds, rising, and for each the share of packets that took longer, falling from 1 to 0.
    pub fn tail(&self) -> (Vec<f64>, Vec<f64>) {
        self.histogram.tail()
    }

    /// The absolute differences between the delays of consecutive packets: none with fewer than two packets.
    pub fn jitter(&self) -> &CoarseHistogram {
        &self.jitter
    }
}

#[cfg(test)]
mod tests;
