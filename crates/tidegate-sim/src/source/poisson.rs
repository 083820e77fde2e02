//! Poisson arrivals: independent, exponentially distributed intervals, rounded to the nearest picosecond.

use super::LengthDistribution;
use super::role::{Clocked, Emission, Generator, TrafficSource};
use crate::fault::Fault;
use crate::random::Stream;
use crate::time::random_span;
use std::sync::Arc;

/// A Poisson source.
#[derive(Clone, PartialEq, Debug)]
pub struct Poisson {
    /// The mean number of packets per second, above 0.
    pub packets_per_second: f64,
    /// Their lengths.
    pub length: LengthDistribution,
}

impl TrafficSource for Poisson {
    const NAME: &'static str = "poisson";
    const SUMMARY: &'static str = "packets at independent, exponentially distributed intervals";

    fn check(&self) -> Result<(), Fault> {
        if !(self.packets_per_second.is_finite() && self.packets_per_second > 0.0) {
            return Err(Fault::new("packets_per_second", format!("{}", self.packets_per_second), "a number above 0"));
        }
        self.length.check()
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        Some(self.packets_per_second * self.length.mean() * 8.0)
    }

    fn events_per_second(&self) -> f64 {
        self.packets_per_second
    }
}

impl Clocked for Poisson {
    type Running = PoissonGenerator;

    fn start(&self, _headers: &Arc<[u32]>) -> PoissonGenerator {
        PoissonGenerator { mean_interval: 1e12 / self.packets_per_second, length: self.length.clone() }
    }
}

/// A running Poisson source.
#[derive(Clone, Debug)]
pub(crate) struct PoissonGenerator {
    mean_interval: f64,
    length: LengthDistribution,
}

impl PoissonGenerator {
    #[inline]
    fn interval(&self, stream: &mut Stream) -> u64 {
        random_span(self.mean_interval, stream.exponential())
    }
}

impl Generator for PoissonGenerator {
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        start.saturating_add(self.interval(stream))
    }

    #[inline]
    fn emit(&mut self, now: u64, stream: &mut Stream) -> Emission {
        let length = self.length.draw(stream);
        Emission { length, variant: 0, next: now.saturating_add(self.interval(stream)) }
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Stream;
    use crate::source::{LengthDistribution, Poisson, Source, transcripts};

    #[test]
    fn intervals_have_the_mean_and_the_variance_of_an_exponential() {
        let source = Source::Poisson(Poisson { packets_per_second: 1000.0, length: LengthDistribution::Fixed(100) });
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
