//! The gates of the figures; those of the loads at two points, those of the grid only in the command.

use super::{EXPERIMENT, loads};

fn failures(id: &str) -> Vec<String> {
    let plan = EXPERIMENT.figures.iter().find(|plan| plan.id == id).unwrap();
    let figure = (plan.run)(&|_| {});
    assert!(!figure.gates.is_empty(), "{id} holds something");
    figure.gates.iter().filter(|gate| !gate.passed()).map(|gate| format!("{} {:?}", gate.name, gate.measured)).collect()
}

#[test]
fn transcripts_hold() {
    assert_eq!(failures("rules"), [] as [String; 0]);
}

#[test]
fn one_connection_and_ten_use_the_link_as_published() {
    assert_eq!([failures("one-connection"), failures("ten-connections")].concat(), [] as [String; 0]);
}

#[test]
fn a_queue_per_flow_divides_the_link_and_keeps_a_call_short() {
    assert_eq!([failures("round-trips"), failures("call")].concat(), [] as [String; 0]);
}

#[test]
fn marks_keep_low_latency_low() {
    assert_eq!([failures("marks"), failures("dualpi2")].concat(), [] as [String; 0]);
}

#[test]
fn every_aqm_keeps_two_loads_short() {
    let failed: Vec<_> = loads::gates_at(&[2, 32], 8).into_iter().filter(|gate| !gate.passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
