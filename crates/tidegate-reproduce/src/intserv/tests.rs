//! The gates in a short form, and faults of the setting that they have to see.

use super::blocking::{self, Calls};
use super::gates::{SCENARIOS, draws, gates};
use super::lot::{Case, Load, Mode};
use super::node::Options;
use super::results::Results;

fn short(load: Load, mode: Mode) -> Results {
    let case = Case { mode, seconds: 12, warm_up: 2, seeds: 1, ..Case::new(load, Options::tolerant(1000)) };
    Results::of(&case, &case.run())
}

#[test]
fn every_rule_holds() {
    for (letter, scenario) in SCENARIOS {
        for gate in gates(scenario, &draws(true)[..1]) {
            assert!(gate.passed(), "{letter}: {} {:?}", gate.name, gate.measured);
        }
    }
}

#[test]
fn conforming_flows_keep_their_promises_beside_one_that_does_not() {
    let results = short(Load::H1_NC, Mode::Static);
    assert_eq!((results.lost[0][0], results.lost[1][0], results.reordered[0]), (0.0, 0.0, 0.0));
    assert!(results.guaranteed_ms[0][0] < 4.65 && results.rogue_loss[0] > 50.0, "{:?} {:?}", results.guaranteed_ms, results.rogue_loss);
}

#[test]
fn calls_that_are_admitted_lose_nothing() {
    let results = short(Load::LIGHT, Mode::OneLink(1000));
    assert_eq!((results.lost[0][0], results.lost[1][0]), (0.0, 0.0));
    assert!(results.held[0] > 1.0 && results.controlled_ms[0][0] < 20.0, "{:?} {:?}", results.held, results.controlled_ms);
}

#[test]
fn blocking_is_that_of_erlang() {
    let run = blocking::run(&Calls { rates: [1.5; 4], x: 1.0, seconds: 4e5, seed: 1 });
    assert!((run.of_all() - blocking::erlang_b(6, 8.0)).abs() < 0.015, "{}", run.of_all());
    assert_eq!(run.left, 0);
}

#[test]
fn promises_hold_at_scale() {
    let figure = super::at_scale::short(&|_| {});
    assert!(figure.gates.len() > 5);
    for gate in &figure.gates {
        assert!(gate.passed(), "{}: {:?}", gate.name, gate.measured);
    }
}
