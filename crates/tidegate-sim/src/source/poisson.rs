//! Poisson arrivals: independent, exponentially distributed intervals, rounded to the nearest picosecond.

use super::{Emission, LengthDistribution, span};
use crate::random::Stream;

/// A Poisson source.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    mean_interval: f64,
    length: LengthDistribution,
}

impl Poisson {
    pub(super) fn new(packets_per_second: f64, length: LengthDistribution) -> Poisson {
        Poisson { mean_interval: 1e12 / packets_per_second, length }
    }

    pub(super) fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        start.saturating_add(self.interval(stream))
    }

    #[inline]
    pub(super) fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission {
        let length = self.length.draw(stream);
        Emission { length, variant: 0, next: now.saturating_add(self.interval(stream)) }
    }

    #[inline]
    fn interval(&self, stream: &mut Stream) -> u64 {
        span(self.mean_interval, stream.exponential())
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Stream;
    use crate::source::{LengthDistribution, Source, transcripts};

    #[test]
    fn intervals_have_the_mean_and_the_variance_of_an_exponential() {
        let source = Source::Poisson { packets_per_second: 1000.0, length: LengthDistribution::Fixed(100) };
        let packets = transcripts::packets(&source, 0, 100_001, &mut Stream::new(3, 0, "poisson"));
        let gaps: Vec<f64> = packets.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e9).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        // Five standard errors: 1 and sqrt(8) over the square root of n. Even spacing has variance 0, uniform intervals 1/3.
        assert!((mean - 1.0).abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.045, "{variance}");
    }
}
