//! The two measures of a burst, `burst` and `maximum_burst`, in numbers, and the law between shapes and policers of the same keys.

use proptest::prelude::*;
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Rate, Time};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Policy, parse_str};

const LONGEST: u32 = 1500;

/// A policy of one class of these keys, at 10 Mbit/s with frames of up to 1500 bytes and no overhead.
fn text(keys: &str) -> String {
    let class = "[[policy.p.class]]\nname = \"a\"\nmatch = [{ dscp = \"ef\" }]\n";
    format!("[policy.p]\nrate = \"10 Mbit/s\"\noverhead = \"none\"\nlongest_frame = \"1500 B\"\nscheduler = \"drr\"\n{class}{keys}\n")
}

fn policy(keys: &str) -> Policy {
    parse_str("policy.toml", &text(keys)).unwrap_or_else(|problems| panic!("{problems}")).policy(None).unwrap().clone()
}

fn shape(keys: &str) -> ShapingContract {
    policy(&format!("shape = {{ {keys} }}")).classes[0].shape.unwrap()
}

/// How many bytes of a backlogged stream leave back to back at 10 Mbit/s.
fn back_to_back(contract: &ShapingContract) -> u32 {
    let packet = Rate::new(10_000_000).unwrap().time_per_byte().ceil(LONGEST);
    let (mut allowance, mut now, mut bytes) = (contract.allowance().unwrap(), Time::ZERO, 0);
    while !allowance.release().is_after(now) {
        allowance.charge(now, LONGEST);
        now += packet;
        bytes += LONGEST;
    }
    bytes
}

/// How many packets of this length pass a policer, one every so long.
fn passing(keys: &str, length: u32, every: Duration) -> usize {
    let mut policer = policy(&format!("police = {{ {keys} }}")).classes[0].police.clone().unwrap().policer;
    let mut now = Time::ZERO;
    policer.start(now);
    let next = || {
        now += every;
        policer.police(now, length, Colour::Green)
    };
    std::iter::repeat_with(next).take(100).take_while(|&verdict| verdict == Verdict::Conform).count()
}

#[test]
fn a_depth_fills_meanwhile_and_a_maximum_burst_does_not() {
    let rates = "rate = \"5 Mbit/s\", peak_rate = \"10 Mbit/s\"";
    assert_eq!(back_to_back(&shape("rate = \"5 Mbit/s\", burst = \"15 kB\"")), 28_500);
    assert_eq!(
        back_to_back(&shape(&format!("{rates}, burst = \"15 kB\""))),
        28_500,
        "a peak rate that the link has anyway changes nothing"
    );
    assert_eq!(back_to_back(&shape(&format!("{rates}, maximum_burst = \"15 kB\""))), 15_000);

    let police = format!("policer = \"dual-gcra\", {rates}");
    let packet = Duration::from_microseconds(1200);
    assert_eq!(passing(&format!("{police}, burst = \"15 kB\""), LONGEST, packet), 19);
    assert_eq!(passing(&format!("{police}, maximum_burst = \"15 kB\""), LONGEST, packet), 10);
    assert_eq!(passing("policer = \"gcra\", rate = \"5 Mbit/s\", burst = \"15 kB\"", LONGEST, packet), 19);
}

#[test]
fn short_frames_pass_a_gcra_only_while_a_longest_one_would() {
    let burst = "rate = \"1 Mbit/s\", burst = \"3000 B\"";
    let at_once = |policer: &str, length| passing(&format!("policer = \"{policer}\", {burst}"), length, Duration::ZERO);
    assert_eq!([LONGEST, 500].map(|length| at_once("gcra", length)), [2, 4]);
    let bucket = |length| passing(&format!("policer = \"sr-tcm\", {burst}, excess_burst = \"0 B\""), length, Duration::ZERO);
    assert_eq!([LONGEST, 500].map(bucket), [2, 6]);
}

#[test]
fn the_summary_prints_both_measures() {
    let shown = |keys: &str| summary(&parse_str("policy.toml", &text(keys)).unwrap(), Detail::All);
    let rates = "rate = \"5 Mbit/s\", peak_rate = \"10 Mbit/s\"";
    for (keys, expected) in [
        (
            format!("shape = {{ {rates}, burst = \"15 kB\" }}"),
            "peak 10 Mbit/s, bursts of 15 kB, at most 28.5 kB back to back at the peak rate",
        ),
        (format!("shape = {{ {rates}, maximum_burst = \"15 kB\" }}"), "bursts of 8250 B, at most 15 kB back to back at the peak rate"),
        (
            format!("police = {{ policer = \"dual-gcra\", {rates}, maximum_burst = \"15 kB\" }}"),
            "policed to 5 Mbit/s, bursts of 8250 B, at most 15 kB back to back at the peak rate (dual-gcra)",
        ),
        (
            format!("police = {{ policer = \"gfr\", {rates}, maximum_burst = \"15 kB\" }}"),
            "policed to 5 Mbit/s, at most 15 kB back to back at the peak rate (gfr)",
        ),
        (
            "police = { policer = \"gcra\", rate = \"5 Mbit/s\", burst = \"15 kB\" }".to_owned(),
            "policed to 5 Mbit/s, bursts of 15 kB (gcra)",
        ),
        (
            "shape = { rate = \"5 Mbit/s\", burst = \"15 kB\", bucket = \"dual\" }".to_owned(),
            "shaped to 5 Mbit/s, bursts of 15 kB, then nothing until the bucket is full again",
        ),
    ] {
        let text = shown(&keys);
        assert!(text.contains(expected), "{expected:?} is missing in\n{text}");
    }
}

proptest! {
    /// What is shaped is accepted by a policer of the same keys, and by the one of the sustained rate and depth alone.
    #[test]
    fn what_is_shaped_is_accepted(
        rate in 100u64..5_000,
        above in 1u64..5_000,
        burst in LONGEST..20_000,
        key in prop::sample::select(vec!["burst", "maximum_burst"]),
        packets in prop::collection::vec((40u32..=LONGEST, 0u64..3_000_000_000), 1..200),
    ) {
        let tolerance = "delay_variation_tolerance = \"1200 us\"";
        let rates = format!("rate = \"{rate} kbit/s\", peak_rate = \"{} kbit/s\", {key} = \"{burst} B\", {tolerance}", rate + above);
        let class = policy(&format!("shape = {{ {rates} }}\npolice = {{ policer = \"dual-gcra\", {rates} }}")).classes[0].clone();
        let single = format!("police = {{ policer = \"gcra\", rate = \"{rate} kbit/s\", burst = \"{burst} B\", {tolerance} }}");
        let single = policy(&single).classes[0].clone();
        let (mut policer, mut single) = (class.police.unwrap().policer, single.police.unwrap().policer);
        let (mut allowance, mut now) = (class.shape.unwrap().allowance().unwrap(), Time::ZERO);
        policer.start(now);
        single.start(now);
        allowance.start(now);
        for (length, late) in packets {
            now = allowance.release().later(now) + Duration::from_picoseconds(late.saturating_sub(1_000_000_000));
            allowance.charge(now, length);
            prop_assert_eq!(policer.police(now, length, Colour::Green), Verdict::Conform);
            prop_assert_eq!(single.police(now, length, Colour::Green), Verdict::Conform);
        }
    }

    /// In any time that begins with a silence, what passes is at most `burst` and what the rate lets through, whatever the peak rate.
    #[test]
    fn what_is_shaped_stays_within_its_depth(rate in 100u64..5_000, above in 1u64..5_000, burst in LONGEST..20_000, length in 40u32..=LONGEST) {
        let keys = format!("rate = \"{rate} kbit/s\", peak_rate = \"{} kbit/s\", burst = \"{burst} B\"", rate + above);
        let mut allowance = shape(&keys).allowance().unwrap();
        let mut bytes = 0u128;
        for _ in 0..100 {
            let now = allowance.release();
            allowance.charge(now, length);
            bytes += u128::from(length);
            let by_rate = u128::from(now.since(Time::ZERO).picoseconds()) * u128::from(rate) * 1000;
            prop_assert!(bytes * 8_000_000_000_000 <= u128::from(burst) * 8_000_000_000_000 + by_rate);
        }
    }
}
