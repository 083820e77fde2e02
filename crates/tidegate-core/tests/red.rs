//! RED through a port: the relations that the test suite of ns-3 checks, and what becomes of the average while the queue is empty.

mod aqm;

use aqm::{milliseconds, port, run};
use tidegate_core::aqm::{AqmParameters, AqmSetup, Probability, RedCurve};
use tidegate_core::packet::{Ecn, Flow};
use tidegate_core::registry::AqmKind;
use tidegate_core::units::{Duration, Rate, Time};

/// Bytes of a packet.
const LENGTH: u32 = 500;

/// From 70 packets to 150, up to this many percent.
fn curve(max: u64, percent: u32) -> Option<RedCurve> {
    let max_probability = Probability::from_millionths(10_000 * percent)?;
    Some(RedCurve { min: 70 * u64::from(LENGTH), max: max * u64::from(LENGTH), max_probability })
}

/// Marks and drops of 300 packets at once, none of which leaves.
fn signals(given: &AqmParameters, ecn: Ecn) -> (usize, usize) {
    let rate = Rate::new(1000).unwrap();
    let setup = AqmSetup { flows: 1, rate, longest_frame: 1514 };
    let red = AqmKind::Red.build(&setup, given).unwrap();
    let log = run(&mut port(rate, Some(red), 1), (0..300).map(|_| (Time::ZERO, LENGTH)), ecn, milliseconds(1));
    let drops = log.signals.iter().filter(|signal| signal.is_drop).count();
    (log.signals.len() - drops, drops)
}

fn usual() -> AqmParameters {
    AqmParameters { curve: curve(150, 2), averaging: Some(7), ..AqmParameters::default() }
}

#[test]
fn lower_thresholds_larger_probabilities_and_a_jump_drop_more() {
    let drops = |given: AqmParameters| signals(&given, Ecn::NotEct).1;
    let some = drops(usual());
    assert!(some > 0);
    assert!(drops(AqmParameters { curve: curve(100, 2), ..usual() }) > some, "a lower upper threshold");
    assert!(drops(AqmParameters { curve: curve(150, 20), ..usual() }) > some, "a larger probability");
    assert!(drops(AqmParameters { gentle: Some(false), ..usual() }) > some, "a jump to 1 at the upper threshold");
    assert!(drops(AqmParameters { averaging: Some(5), ..usual() }) > some, "an average that follows faster");
}

#[test]
fn packets_that_can_be_marked_are_dropped_beyond_the_upper_threshold_alone() {
    let (marks, drops) = signals(&usual(), Ecn::Ect0);
    assert!(marks > 0 && drops > 0, "{marks} {drops}");
    let (marks, drops) = signals(&AqmParameters { curve: curve(1000, 50), ..usual() }, Ecn::Ect0);
    assert!(marks > 0 && drops == 0, "{marks} {drops}");
    let (marks, drops) = signals(&AqmParameters { ecn: Some(false), ..usual() }, Ecn::Ect0);
    assert!(marks == 0 && drops > 0, "{marks} {drops}");
}

/// 140 packets at once are marked at most, so that all averages are the same.
#[test]
fn the_probability_shown_is_that_of_the_steepest_curve() {
    let rate = Rate::new(1000).unwrap();
    let setup = AqmSetup { flows: 1, rate, longest_frame: 1514 };
    let shown = |kind: AqmKind, given: &AqmParameters| {
        let mut port = port(rate, Some(kind.build(&setup, given).unwrap()), 1);
        run(&mut port, (0..140).map(|_| (Time::ZERO, LENGTH)), Ecn::Ect0, milliseconds(1));
        port.aqm_state(milliseconds(1), Flow(0)).unwrap().probability.unwrap()
    };
    let of = |percent: u32| AqmParameters { curve: curve(150, percent), averaging: Some(4), ..AqmParameters::default() };
    let [low, high] = [2, 20].map(|percent| shown(AqmKind::Red, &of(percent)));
    assert!(low > 0 && high > 9 * low && high <= 1 << 32, "{low} {high}");
    assert_eq!(shown(AqmKind::AdaptiveRed, &of(20)), high, "before it has adapted");
    let curves = [curve(150, 2), curve(150, 2), curve(150, 20)];
    assert_eq!(shown(AqmKind::WeightedRed, &AqmParameters { curves, averaging: Some(4), ..AqmParameters::default() }), high);
}

#[test]
fn lone_packets_after_a_flood_get_through_in_the_end() {
    let rate = Rate::new(10_000_000).unwrap();
    let setup = AqmSetup { flows: 1, rate, longest_frame: 1514 };
    for kind in [AqmKind::Red, AqmKind::AdaptiveRed, AqmKind::WeightedRed] {
        let slow = AqmParameters { averaging: Some(12), ..AqmParameters::default() };
        // 100 Mbit/s for 0.3 s, then a packet every half second: none of these finds another.
        let flood = (0..3000).map(|number| (Time::ZERO + Duration::from_microseconds(100 * number), 1250));
        let lone = (2..60).map(|number| (milliseconds(500 * number), 1250));
        let log = run(&mut port(rate, Some(kind.build(&setup, &slow).unwrap()), 1), flood.chain(lone), Ecn::NotEct, milliseconds(30_000));
        let sent: Vec<_> = log.sent.iter().filter(|sent| sent.0.is_after(milliseconds(900))).map(|sent| sent.1).collect();
        assert!(sent.first().is_some_and(|&first| first > 3004), "{}: the average begins above the thresholds: {sent:?}", kind.name());
        assert!((3048..3058).all(|number| sent.contains(&number)), "{}: {sent:?}", kind.name());
    }
}
