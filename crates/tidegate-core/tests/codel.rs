//! Oracles of CoDel, through a port: when it drops and marks under constant overload.

mod aqm;

use aqm::{Signal, constant_rate, milliseconds, port, rounded, run};
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::packet::Ecn;
use tidegate_core::registry::{AnyAqm, AqmKind};
use tidegate_core::units::{Duration, Rate};

fn codel(rate: Rate, given: &AqmParameters) -> AnyAqm {
    AqmKind::CoDel.build(&AqmSetup { flows: 1, rate, longest_frame: 1514 }, given).unwrap()
}

fn short(signals: &[Signal]) -> Vec<(u64, u32)> {
    signals.iter().take(10).map(|signal| (rounded(signal.at), signal.packet)).collect()
}

/// 12.5 Mbit/s of 1250-byte packets at a link of 10 Mbit/s.
fn overload() -> impl Iterator<Item = (tidegate_core::units::Time, u32)> {
    constant_rate(Duration::from_microseconds(800), 1250)
}

#[test]
fn drops_under_overload_are_those_of_the_model() {
    let rate = Rate::new(10_000_000).unwrap();
    let mut port = port(rate, Some(codel(rate, &AqmParameters::default())), 0);
    let log = run(&mut port, overload(), Ecn::NotEct, milliseconds(2000));
    let expected = [(125, 125), (225, 226), (296, 298), (354, 357), (404, 408), (449, 454), (489, 495), (527, 534), (563, 571), (596, 605)];
    assert_eq!(short(&log.signals), expected);
    assert_eq!(log.signals.len(), 102);
    assert_eq!(port.counters().marked.packets, 0);
}

#[test]
fn marks_under_overload_are_those_of_the_model() {
    let rate = Rate::new(10_000_000).unwrap();
    let unlimited = AqmParameters { mark_limit: Some(Duration::from_seconds(3600)), ..AqmParameters::default() };
    let mut port = port(rate, Some(codel(rate, &unlimited)), 0);
    let log = run(&mut port, overload(), Ecn::Ect0, milliseconds(2000));
    assert_eq!(short(&log.signals)[..5], [(125, 125), (225, 225), (296, 296), (354, 354), (404, 404)]);
    assert!(log.signals.iter().all(|signal| !signal.is_drop));
    assert_eq!((log.signals.len(), port.counters().marked.packets), (102, 102));
}
