//! Tests of [`super`].

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
