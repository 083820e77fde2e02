//! Constant bit rate: packets of one length, evenly spaced without drift.

use super::Emission;
use super::spacing::Spacing;
use crate::random::Stream;
use tidegate_core::units::Rate;

/// A constant-bit-rate source.
#[derive(Clone, Debug)]
pub(crate) struct Cbr {
    spacing: Spacing,
    length: u32,
    random_phase: bool,
}

impl Cbr {
    pub(super) fn new(rate: Rate, length: u32, random_phase: bool) -> Cbr {
        Cbr { spacing: Spacing::new(rate, length), length, random_phase }
    }

    pub(super) fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
        start + if self.random_phase { stream.below(self.spacing.interval()) } else { 0 }
    }

    #[inline]
    pub(super) fn emit(&mut self, now: u64) -> Emission {
        Emission { length: self.length, variant: 0, next: now + self.spacing.next() }
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Stream;
    use crate::source::{Source, transcripts};
    use tidegate_core::units::Rate;

    #[test]
    fn a_thousand_bits_at_three_megabits_are_a_third_of_a_millisecond_apart() {
        let source = Source::Cbr { rate: Rate::new(3_000_000).unwrap(), length: 125, random_phase: false };
        let packets = transcripts::packets(&source, 5, 4, &mut Stream::new(1, 0, "cbr"));
        assert_eq!(packets, [(5, 125), (333_333_338, 125), (666_666_671, 125), (1_000_000_005, 125)]);
    }

    #[test]
    fn a_random_phase_lies_within_one_interval_and_differs_between_streams() {
        let source = Source::Cbr { rate: Rate::new(8_000).unwrap(), length: 1, random_phase: true };
        let first = |name| transcripts::packets(&source, 7, 1, &mut Stream::new(1, 0, name))[0].0;
        let phases = [first("a"), first("b"), first("c")];
        assert!(phases.iter().all(|&phase| (7..1_000_000_007).contains(&phase)), "{phases:?}");
        assert!(phases[0] != phases[1] && phases[1] != phases[2]);
    }
}
