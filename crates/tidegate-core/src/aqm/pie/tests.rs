//! Oracles of PIE's controller and of its drops at a fixed probability.

use super::*;
use crate::units::Rate;

fn build(given: &AqmParameters) -> Pie {
    let setup = AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 };
    Pie::build((&setup, given)).unwrap()
}

fn milliseconds(ms: u64) -> Ticks {
    Ticks::of(Duration::from_milliseconds(ms))
}

/// The probabilities after updates with these delays in milliseconds.
fn trajectory(rule: &Rule, start: u64, first: Ticks, delays: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut control = Control { probability: start, last_delay: first, ..Control::new(Duration::ZERO) };
    let update = |delay| {
        let last = core::mem::replace(&mut control.last_delay, milliseconds(delay));
        control.update(rule, milliseconds(delay), last);
        control.probability
    };
    delays.into_iter().map(update).collect()
}

#[test]
fn a_constant_delay_raises_the_probability_as_in_the_model() {
    let rule = build(&AqmParameters::default()).rule;
    let probabilities = trajectory(&rule, 0, Ticks::ZERO, [30; 400]);
    let expected = [
        (1, 1_385_382_761_789),
        (2, 2_440_914_680_417),
        (3, 3_496_446_599_045),
        (10, 20_384_957_297_096),
        (50, 531_262_405_913_169),
        (100, 3_300_978_160_393_773),
        (200, 12_893_652_236_887_593),
        (400, 39_915_269_353_771_593),
    ];
    for (update, probability) in expected {
        assert_eq!(probabilities[update - 1], probability, "update {update}");
    }
}

#[test]
fn a_growing_delay_raises_the_probability_as_in_the_model() {
    let rule = build(&AqmParameters::default()).rule;
    let probabilities = trajectory(&rule, 0, Ticks::ZERO, (0..200).map(|update| (5 * update).min(50)));
    let expected = [
        (1, 0),
        (4, 4_486_007_774_995),
        (6, 25_244_802_186_605),
        (11, 270_128_207_413_269),
        (20, 624_786_932_072_367),
        (50, 4_998_911_202_867_963),
        (100, 18_397_129_689_989_613),
        (200, 49_922_349_659_687_613),
    ];
    for (update, probability) in expected {
        assert_eq!(probabilities[update - 1], probability, "update {update}");
    }
}

#[test]
fn the_probability_decays_to_nothing_in_as_many_updates_as_in_the_model() {
    let rule = build(&AqmParameters::default()).rule;
    let probabilities = trajectory(&rule, ONE, milliseconds(20), [0; 300]);
    assert_eq!(probabilities.iter().position(|&probability| probability == 0), Some(203));
}

#[test]
fn long_delays_raise_the_probability_as_in_the_model() {
    for (steep, first, tenth, whole) in [(false, [20_050, 131_378, 576_691], 10, 55), (true, [2_020_050, 5_801_300, 9_582_550], 4, 26)] {
        let rule = build(&AqmParameters { steep: Some(steep), ..AqmParameters::default() }).rule;
        let probabilities = trajectory(&rule, 0, Ticks::ZERO, [300; 400]);
        for (&probability, millionths_of_percent) in probabilities.iter().zip(first) {
            let computed = (u128::from(probability) * 100_000_000 / u128::from(ONE)) as i64;
            assert!((computed - millionths_of_percent).abs() <= 10, "{computed} for {millionths_of_percent}");
        }
        let reaches = |least| probabilities.iter().position(|&probability| probability >= least).map(|index| index + 1);
        assert_eq!((reaches(ONE / 10), reaches(ONE)), (Some(tenth), Some(whole)), "steep: {steep}");
    }
}

#[test]
fn drops_at_one_percent_come_as_in_the_model() {
    let expected =
        [(true, 86, 1871, 851, [184, 147, 190, 160, 134, 177, 169, 245]), (false, 1, 1014, 880, [99, 62, 105, 75, 49, 92, 84, 160])];
    for (derandomise, least, tenths_of_mean, most, first) in expected {
        let rule = build(&AqmParameters { derandomise: Some(derandomise), ..AqmParameters::default() }).rule;
        let mut control = Control { probability: ONE / 100, last_delay: milliseconds(20), ..Control::new(Duration::ZERO) };
        let (mut gaps, mut last, mut draws) = (Vec::new(), -1, SplitMix64::new(1));
        for packet in 0..300_000 {
            if control.judge(&rule, Ecn::NotEct, 1_000_000, &mut draws) == Judgement::Drop {
                gaps.push(packet - last);
                last = packet;
            }
        }
        assert_eq!(gaps[..8], first);
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&least), Some(&most)));
        let sum: i64 = gaps.iter().sum();
        assert_eq!((10 * sum + gaps.len() as i64 / 2) / gaps.len() as i64, tenths_of_mean);
    }
}

#[test]
fn marks_give_way_to_drops_above_the_limit() {
    let rule = build(&AqmParameters { derandomise: Some(false), ..AqmParameters::default() }).rule;
    for (probability, ecn, expected) in [
        (ONE / 10, Ecn::Ect0, Judgement::Mark),
        (ONE / 10, Ecn::NotEct, Judgement::Drop),
        (ONE / 10 + 1, Ecn::Ect0, Judgement::Drop),
        (ONE, Ecn::Ce, Judgement::Drop),
    ] {
        let mut control = Control { probability, last_delay: milliseconds(20), ..Control::new(Duration::ZERO) };
        let mut draws = SplitMix64::new(3);
        let mut judge = || control.judge(&rule, ecn, 1_000_000, &mut draws);
        assert_eq!((0..1000).map(|_| judge()).find(|&judgement| judgement != Judgement::Pass), Some(expected));
    }
}

#[test]
fn idle_and_blocked_queues_are_made_up_for_in_few_steps() {
    let rule = build(&AqmParameters::default()).rule;
    let year = Time::ZERO + Duration::from_picoseconds(1 << 62);
    let busy =
        Control { probability: ONE, phase: Phase::Empty, last_delay: milliseconds(20), next: Time::ZERO, ..Control::new(Duration::ZERO) };
    let mut idle = busy;
    idle.catch_up(&rule, year);
    assert_eq!((idle.probability, idle.next, idle.burst), (0, year + rule.period, rule.max_burst));
    let mut blocked = Control { probability: 0, phase: Phase::Backlogged, head: Time::ZERO, ..busy };
    blocked.catch_up(&rule, year);
    assert_eq!((blocked.probability, blocked.next), (ONE, year + rule.period));
}
