//! Constant bit rate: packets of one length, evenly spaced without drift.

use super::role::{Emission, Generator, TrafficSource, multiplied};
use super::spacing::Spacing;
use crate::fault::{Fault, check_length};
use crate::random::Stream;
use std::sync::Arc;
use tidegate_core::units::Rate;

/// A constant-bit-rate source.
#[derive(Clone, PartialEq, Debug)]
pub struct Cbr {
    /// Bits of frames per second.
    pub rate: Rate,
    /// Frame length in bytes.
    pub length: u32,
    /// True to draw the first packet's instant uniformly from the first interval, which keeps several sources out of step; false to emit it
    /// at the start.
    pub random_phase: bool,
}

impl TrafficSource for Cbr {
    const NAME: &'static str = "cbr";
    const SUMMARY: &'static str = "constant bit rate: packets of one size, evenly spaced";

    fn lengths(&self) -> Vec<(f64, f64)> {
        vec![(f64::from(self.length), 1.0)]
    }

    fn play_faster(&mut self, factor: f64) -> Option<()> {
        self.rate = multiplied(self.rate, factor)?;
        Some(())
    }

    fn check(&self) -> Result<(), Fault> {
        check_length("length", self.length)
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        Some(self.rate.bits_per_second() as f64)
    }

    fn events_per_second(&self) -> f64 {
        self.packets_per_second(self.length)
    }

    fn start(&self, _headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        Some(Box::new(CbrGenerator { spacing: Spacing::new(self.rate, self.length), length: self.length, random_phase: self.random_phase }))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CbrGenerator {
    spacing: Spacing,
    length: u32,
    random_phase: bool,
}

impl Generator for CbrGenerator {
    fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        start + if self.random_phase { stream.below(self.spacing.interval()) } else { 0 }
    }

    #[inline]
    fn emit(&mut self, now: u64, _stream: &mut Stream) -> Emission {
        Emission { length: self.length, variant: 0, next: now + self.spacing.next() }
    }
}

#[cfg(test)]
mod tests;
