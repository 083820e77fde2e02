//! Poisson arrivals: independent, exponentially distributed intervals, rounded to the nearest picosecond.

use super::LengthDistribution;
use super::role::{Emission, Generator, TrafficSource};
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

    fn lengths(&self) -> Vec<(f64, f64)> {
        let LengthDistribution::Empirical(entries) = &self.length else { return vec![(self.length.mean(), 1.0)] };
        let total: f64 = entries.iter().map(|entry| entry.1).sum();
        entries.iter().map(|&(length, weight)| (f64::from(length), weight / total)).collect()
    }

    fn play_faster(&mut self, factor: f64) -> Option<()> {
        self.packets_per_second *= factor;
        Some(())
    }

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

    fn start(&self, _headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        Some(Box::new(PoissonGenerator { mean_interval: 1e12 / self.packets_per_second, length: self.length.clone() }))
    }
}

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
mod tests;
