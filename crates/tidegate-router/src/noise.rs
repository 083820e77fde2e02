//! Noise: work that preempts every level of a core, and the times that distributions describe.

use crate::machine::{Distribution, Noise, NoiseArrivals};
use tidegate_sim::random::Stream;

/// Draws a time, in picoseconds.
pub(crate) fn draw(distribution: &Distribution, stream: &mut Stream) -> u64 {
    match distribution {
        Distribution::Constant(time) => time.picoseconds(),
        Distribution::Exponential { least, beyond } => {
            least.picoseconds() + (beyond.picoseconds() as f64 * stream.exponential() + 0.5) as u64
        }
        Distribution::Table(times) => times.get(stream.below(times.len() as u64) as usize).map_or(0, |time| time.picoseconds()),
    }
}

/// A running source of noise.
#[derive(Debug)]
pub(crate) struct NoiseSource {
    noise: Noise,
    stream: Stream,
}

impl NoiseSource {
    pub(crate) fn new(noise: &Noise, stream: Stream) -> NoiseSource {
        NoiseSource { noise: noise.clone(), stream }
    }

    /// When it strikes first: at a random phase of its interval, or after an exponential one.
    pub(crate) fn first(&mut self) -> u64 {
        match self.noise.arrivals {
            NoiseArrivals::Periodic(interval) => self.stream.below(interval.picoseconds()),
            NoiseArrivals::Poisson(mean) => (mean.picoseconds() as f64 * self.stream.exponential() + 0.5) as u64,
        }
    }

    /// It strikes at `now`: its work, and when it strikes next.
    pub(crate) fn strike(&mut self, now: u64) -> (u64, u64) {
        let work = draw(&self.noise.cost, &mut self.stream);
        let next = match self.noise.arrivals {
            NoiseArrivals::Periodic(interval) => interval.picoseconds(),
            NoiseArrivals::Poisson(mean) => (mean.picoseconds() as f64 * self.stream.exponential() + 0.5) as u64,
        };
        (work, now + next)
    }

    /// Its core.
    pub(crate) fn core(&self) -> usize {
        self.noise.core as usize
    }
}
