//! Constant bit rate: packets of one length, evenly spaced without drift.

use super::role::{Clocked, Emission, Generator, TrafficSource};
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

    fn check(&self) -> Result<(), Fault> {
        check_length("length", self.length)
    }

    fn mean_bits_per_second(&self) -> Option<f64> {
        Some(self.rate.bits_per_second() as f64)
    }

    fn events_per_second(&self) -> f64 {
        self.packets_per_second(self.length)
    }
}

impl Clocked for Cbr {
    type Running = CbrGenerator;

    fn start(&self, _headers: &Arc<[u32]>) -> CbrGenerator {
        CbrGenerator { spacing: Spacing::new(self.rate, self.length), length: self.length, random_phase: self.random_phase }
    }
}

/// A running constant-bit-rate source.
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
mod tests {
    use super::*;
    use crate::source::{Source, transcripts};

    #[test]
    fn a_thousand_bits_at_three_megabits_are_a_third_of_a_millisecond_apart() {
        let source = Source::Cbr(Cbr { rate: Rate::new(3_000_000).unwrap(), length: 125, random_phase: false });
        let packets = transcripts::packets(&source, 5, 4, &mut Stream::new(1, 0, "cbr"));
        assert_eq!(packets, [(5, 125), (333_333_338, 125), (666_666_671, 125), (1_000_000_005, 125)]);
    }

    #[test]
    fn a_random_phase_lies_within_one_interval_and_differs_between_streams() {
        let source = Source::Cbr(Cbr { rate: Rate::new(8_000).unwrap(), length: 1, random_phase: true });
        let first = |name| transcripts::packets(&source, 7, 1, &mut Stream::new(1, 0, name))[0].0;
        let phases = [first("a"), first("b"), first("c")];
        assert!(phases.iter().all(|&phase| (7..1_000_000_007).contains(&phase)), "{phases:?}");
        assert!(phases[0] != phases[1] && phases[1] != phases[2]);
    }
}
