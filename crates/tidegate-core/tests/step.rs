//! Step marking, through a port: alone and after CoDel.

mod aqm;

use aqm::{Log, milliseconds, port, run};
use tidegate_core::aqm::{AqmField, AqmParameters, AqmSetup};
use tidegate_core::packet::{Ecn, Flow};
use tidegate_core::registry::AqmKind;
use tidegate_core::units::{Duration, Rate, Time};

fn setup() -> AqmSetup {
    AqmSetup { flows: 1, rate: Rate::new(10_000_000).unwrap(), longest_frame: 1514 }
}

/// Twenty packets of 1250 bytes at once, each of which takes 1 ms to send.
fn burst(kind: AqmKind, given: &AqmParameters, ecn: Ecn) -> Log {
    let mut port = port(setup().rate, Some(kind.build(&setup(), given).unwrap()), 0);
    let log = run(&mut port, (0..20).map(|_| (Time::ZERO, 1250)), ecn, milliseconds(30));
    assert_eq!((log.sent.len(), port.counters().marked.packets), (20, log.signals.len() as u64), "a step drops nothing");
    log
}

fn numbers(log: &Log) -> Vec<u32> {
    log.signals.iter().map(|signal| signal.packet).collect()
}

#[test]
fn packets_that_find_the_threshold_in_bytes_are_marked() {
    // The first arrival leaves at the second, so packet n finds n - 1 packets, or 0.
    let given = AqmParameters { mark_above: Some(12_500), ..AqmParameters::default() };
    assert_eq!(numbers(&burst(AqmKind::Step, &given, Ecn::Ect0)), (11..20).collect::<Vec<_>>());
    assert_eq!(numbers(&burst(AqmKind::Step, &given, Ecn::NotEct)), []);
    assert_eq!(numbers(&burst(AqmKind::Step, &given, Ecn::Ce)), [], "a mark from upstream is not counted");
    let one_more = AqmParameters { mark_above: Some(12_501), ..AqmParameters::default() };
    assert_eq!(numbers(&burst(AqmKind::Step, &one_more, Ecn::Ect0)), (12..20).collect::<Vec<_>>());
}

#[test]
fn packets_that_waited_longer_than_the_threshold_are_marked_alone_and_after_codel() {
    let given = AqmParameters { ce_threshold: Some(Duration::from_milliseconds(2)), ..AqmParameters::default() };
    let l4s = AqmParameters { ect1_only: Some(true), ..given.clone() };
    for kind in [AqmKind::Step, AqmKind::CoDel, AqmKind::Cobalt] {
        assert_eq!(numbers(&burst(kind, &given, Ecn::Ect0)), (3..20).collect::<Vec<_>>());
        assert_eq!(numbers(&burst(kind, &l4s, Ecn::Ect0)), []);
        assert_eq!(numbers(&burst(kind, &l4s, Ecn::Ect1)), (3..20).collect::<Vec<_>>());
    }
}

#[test]
fn a_step_shows_whether_the_queue_is_beyond_a_threshold() {
    let bytes = AqmParameters { mark_above: Some(12_500), ..AqmParameters::default() };
    let delay = AqmParameters { ce_threshold: Some(Duration::from_milliseconds(5)), ..AqmParameters::default() };
    // Packet n leaves at n ms: 20 - n are left after it, and those have waited for as long.
    for (given, shown) in [(bytes, [true, true, false, false]), (delay, [false, false, true, true])] {
        let states = [2, 5, 12, 18].map(|end| {
            let mut port = port(setup().rate, Some(AqmKind::Step.build(&setup(), &given).unwrap()), 0);
            run(&mut port, (0..20).map(|_| (Time::ZERO, 1250)), Ecn::Ect0, milliseconds(end));
            port.aqm_state(milliseconds(end), Flow(0)).unwrap()
        });
        assert_eq!(states.map(|state| state.is_signalling), shown);
        assert!(states.iter().all(|state| state.probability.is_none()));
    }
}

#[test]
fn a_step_needs_a_threshold() {
    let refused = |given: AqmParameters| AqmKind::Step.build(&setup(), &given).err().map(|error| error.field);
    assert_eq!(refused(AqmParameters::default()), Some(AqmField::MarkAbove));
    assert_eq!(refused(AqmParameters { mark_above: Some(0), ..AqmParameters::default() }), Some(AqmField::MarkAbove));
    assert_eq!(
        refused(AqmParameters { mark_above: Some(1), target: Some(Duration::ZERO), ..AqmParameters::default() }),
        Some(AqmField::Target)
    );
    let codel = AqmKind::CoDel.build(&setup(), &AqmParameters { ect1_only: Some(true), ..AqmParameters::default() });
    assert_eq!(codel.err().map(|error| error.field), Some(AqmField::Ect1Only));
}
