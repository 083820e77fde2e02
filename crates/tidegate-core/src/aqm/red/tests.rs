//! Oracles of RED: the average, the curve, and the gaps between signals.

use super::*;
use crate::packet::{Colour, Ecn, Part};
use crate::queue::Occupancy;
use crate::units::Rate;
use curve::FRACTION;

/// Thresholds of a few units, as in the literature.
fn curve(percent: u32) -> RedCurve {
    RedCurve { min: 5, max: 15, max_probability: Probability::from_millionths(percent * 10_000).unwrap() }
}

/// A value in units of 2^-`bits`, in ten-thousandths, rounded.
fn rounded(value: u64, bits: u32) -> u64 {
    (value * 10_000 + (1 << (bits - 1))) >> bits
}

#[test]
fn the_average_approaches_a_constant_length() {
    let averaging = Averaging::new(9, Duration::from_milliseconds(1));
    let mut average = Average::NEW;
    let mut seen = Vec::new();
    for arrival in 1..=1000 {
        averaging.update(&mut average, Time::ZERO, 20);
        if [1, 10, 100, 355, 500, 1000].contains(&arrival) {
            seen.push(rounded(average.length, FRACTION));
        }
    }
    assert_eq!(seen, [391, 3_872, 35_510, 100_070, 124_727, 171_654]);
}

#[test]
fn the_average_falls_while_the_queue_is_empty() {
    let averaging = Averaging::new(9, Duration::from_milliseconds(1));
    let after = |milliseconds| {
        let mut average = Average::NEW;
        average.length = 10 << FRACTION;
        average.emptied(Time::ZERO);
        averaging.update(&mut average, Time::ZERO + Duration::from_milliseconds(milliseconds), 0);
        average.length
    };
    assert_eq!([0, 10, 100, 355, 1000, 10_000, 60_000].map(after), [654_080, 642_671, 538_980, 327_387, 92_771, 0, 0]);
}

#[test]
fn the_probability_rises_with_the_average() {
    let at = |gentle, hundredths: u64| {
        let average = (hundredths << FRACTION) / 100;
        // In units of 0.0001 %.
        (Curve::new(&curve(2), gentle).probability(average) * 1_000_000 + (1 << 31)) >> 32
    };
    let averages = [499, 500, 750, 1000, 1499, 1500, 2000, 2250, 2999, 3000];
    let expected = [0, 0, 5_000, 10_000, 19_980, 20_000, 346_667, 510_000, 999_346, 1_000_000];
    assert_eq!(averages.map(|average| at(true, average)), expected);
    assert_eq!((at(false, 1499), at(false, 1500)), (19_980, 1_000_000));
}

#[test]
fn gaps_between_signals_are_uniform() {
    let curve = Curve::new(&curve(2), true);
    let probability = curve.probability((15 << FRACTION) - 1);
    let (mut lots, mut draws) = (Lots::NEW, SplitMix64::new(1));
    let signals: Vec<usize> = (0..100_000).filter(|_| lots.hits(probability, &mut draws)).collect();
    let gaps: Vec<usize> = signals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..10], [38, 49, 23, 23, 39, 44, 27, 15, 40, 21]);
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&50)));
    assert_eq!((gaps.iter().sum::<usize>() * 100 + gaps.len() / 2) / gaps.len(), 2498);
}

/// What is said of an arrival at an average of this many bytes, at which it is certain that something is said, or impossible.
fn said(given: &AqmParameters, average: u64, ecn: Ecn) -> Judgement {
    let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
    let given = AqmParameters { curve: Some(curve(100)), averaging: Some(20), ..given.clone() };
    let mut red = Red::build((&setup, &given)).unwrap();
    red.queues[0].average.length = average << FRACTION;
    // The first packet inside the curve only draws a lot; the second is signalled if the lot is low.
    let arrival = Arrival { flow: Flow(0), length: 1000, colour: Colour::Green, part: Part::Whole, ecn, now: Time::ZERO };
    let (occupancy, mut draws) = (Occupancy::new(1), SplitMix64::new(1));
    let answers: Vec<Judgement> = (0..100).map(|_| red.admit(&arrival, &occupancy, &mut draws)).collect();
    answers.into_iter().find(|&said| said != Judgement::Pass).unwrap_or(Judgement::Pass)
}

#[test]
fn beyond_the_upper_threshold_even_packets_that_can_be_marked_are_dropped() {
    let usual = AqmParameters::default();
    assert_eq!(said(&usual, 4, Ecn::Ect0), Judgement::Pass);
    assert_eq!(said(&usual, 14, Ecn::Ect0), Judgement::Mark);
    assert_eq!(said(&usual, 14, Ecn::NotEct), Judgement::Drop);
    assert_eq!(said(&usual, 20, Ecn::Ect0), Judgement::Drop);
    assert_eq!(said(&AqmParameters { mark_above_max: Some(true), ..usual.clone() }, 20, Ecn::Ect0), Judgement::Mark);
    assert_eq!(said(&AqmParameters { ecn: Some(false), ..usual }, 14, Ecn::Ect0), Judgement::Drop);
}
