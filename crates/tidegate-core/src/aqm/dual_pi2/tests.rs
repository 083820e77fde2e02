//! Oracles of DualPI2: the controller, the coupled probabilities, and the ramp.

use super::*;
use crate::units::Rate;

fn build(given: &AqmParameters) -> DualPi2 {
    let setup = AqmSetup { flows: 2, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
    DualPi2::build((&setup, given)).unwrap()
}

/// A probability in units of 0.0001 %, rounded.
fn millionths(probability: u64) -> u64 {
    (probability * 1_000_000 + (1 << 31)) >> 32
}

/// The probabilities after each update: the base, that of low-latency marks, that of classic signals, and whether that is an overload.
fn trajectory(delays: impl Iterator<Item = u64>) -> Vec<(u64, u64, u64, bool)> {
    let DualPi2 { rule, pairs, .. } = build(&AqmParameters::default());
    let mut pair = pairs[0];
    let after = |milliseconds| {
        pair.update(&rule, Duration::from_milliseconds(milliseconds));
        let said = pair.probabilities(&rule);
        (millionths(said.base), millionths(said.low_latency), millionths(said.classic), said.is_overload)
    };
    delays.map(after).collect()
}

#[test]
fn the_controller_follows_the_larger_delay() {
    let held = trajectory(core::iter::repeat_n(30, 400));
    assert_eq!(held[0], (98_400, 196_800, 9_683, false));
    assert_eq!(held[1], (100_800, 201_600, 10_161, false));
    assert_eq!(held[9], (120_000, 240_000, 14_400, false));
    assert_eq!(held[99], (336_000, 672_000, 112_896, false));
    assert_eq!(held[167], (499_200, 998_400, 249_201, false));
    assert_eq!(held[168], (501_600, 1_000_000, 251_603, true));
    assert_eq!(held[399], (1_000_000, 1_000_000, 1_000_000, true));
    assert!(trajectory(core::iter::repeat_n(15, 400)).iter().all(|said| said.0 == 48_000));
    let moving: Vec<u64> = trajectory([20, 25, 30, 35, 40, 15, 15].into_iter()).iter().map(|said| said.0).collect();
    assert_eq!([moving[0], moving[1], moving[2], moving[4], moving[6]], [64_800, 82_400, 100_800, 140_000, 60_000]);
}

#[test]
fn signals_are_spread_evenly_or_drawn() {
    let signals = |given: &AqmParameters, side, packets| {
        let DualPi2 { rule, mut pairs, .. } = build(given);
        pairs[0].probability = ONE / 10;
        let said = pairs[0].probabilities(&rule);
        let mut draws = SplitMix64::new(1);
        let mut hits = move |side| match side {
            CLASSIC => pairs[0].hits_squared(CLASSIC, said, &rule, &mut draws),
            _ => pairs[0].hits(LOW_LATENCY, said.low_latency, &rule, &mut draws),
        };
        if side == LOW_LATENCY && rule.draws {
            (0..packets).for_each(|_| _ = hits(CLASSIC));
        }
        (1..=packets).filter(|_| hits(side)).collect::<Vec<u32>>()
    };
    let usual = AqmParameters::default();
    let (classic, low_latency) = (signals(&usual, CLASSIC, 1000), signals(&usual, LOW_LATENCY, 1000));
    assert_eq!((classic.len(), classic[0], low_latency.len(), low_latency[0]), (9, 101, 199, 6));
    let drawn = AqmParameters { derandomise: Some(false), ..usual };
    assert_eq!((signals(&drawn, CLASSIC, 100_000).len(), signals(&drawn, LOW_LATENCY, 100_000).len()), (976, 19_884));
}

#[test]
fn the_ramp_rises_from_the_step() {
    let (step, ramp) = (Some(Duration::from_microseconds(800)), Some(Duration::from_microseconds(400)));
    let rule = build(&AqmParameters { step, ramp, ..AqmParameters::default() }).rule;
    let at = |microseconds| millionths(rule.of_step(Duration::from_microseconds(microseconds)));
    assert_eq!([800, 801, 900, 1000, 1199, 1200].map(at), [0, 2_458, 249_877, 499_918, 997_542, 1_000_000]);
    let rule = build(&AqmParameters::default()).rule;
    let step = Duration::from_milliseconds(1);
    assert_eq!((rule.of_step(step), rule.of_step(step + Duration::from_picoseconds(1))), (0, CERTAIN));
}
