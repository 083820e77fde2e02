//! The gates in a short form, and faults of the setting that they have to see.

use super::blocking::{self, Calls};
use super::gates::{SCENARIOS, draws, gates};
use super::lot::{Case, Load, Mode};
use super::node::{Options, Tolerance};
use super::results::Results;
use tidegate_report::{BoundResult, FlowBound};

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
fn no_packet_is_later_than_is_proven() {
    let lot = |load, node, mode| Case { mode, seconds: 6, warm_up: 1, seeds: 1, ..Case::new(load, node) };
    let bounds = |case: Case| Results::of(&case, &case.run()).bounds;
    let find = |rows: &[FlowBound], name: &str| rows.iter().find(|row| row.flow == name).unwrap().bound.clone();
    let jitter = Options { tolerance: Tolerance::Jitter, ..Options::literal() };
    for (load, node) in [
        (Load::LIGHT, Options::literal()),
        (Load::HEAVY, jitter),
        (Load::H1, Options::profile_marks()),
        (Load::H1_NC, Options::tolerant(1000)),
        (Load { flood: Some(false), ..Load::LIGHT }, Options { enforces_reserve: true, ..jitter }),
    ] {
        let rows = bounds(lot(load, node, Mode::Static));
        for row in &rows {
            let BoundResult { ratio, reason, longest, .. } = &row.bound;
            // Two flows of controlled load on a path, and one beside a flood, are given less than they send.
            let is_feasible = load.controlled == 1 && load.flood.is_none();
            let is_limited = row.flow.starts_with("guaranteed") || row.flow.starts_with("controlled") && is_feasible;
            let is_limited = is_limited && !row.flow.ends_with("contract");
            assert_eq!(ratio.is_some(), is_limited, "{}: {:?}", row.flow, reason);
            assert!((longest.is_some() || !is_limited) && row.bound.held != Some(false), "{row:?}");
        }
        let first = find(&rows, "guaranteed, path 1");
        // RFC 2212 with a burst of one packet: five times L/r and four times L/C; the sender's link, and 50 us of cable and switches.
        let bound = 5 * 666_666_667 + 5 * 100_000_000 + 50_000_000;
        assert!((bound..bound + 10).contains(&first.delay_ps.unwrap()), "{first:?}");
        assert!(first.ratio.unwrap() > 0.2, "{first:?}");
        assert_eq!(find(&rows, "TCP, path 1").reason.as_deref(), Some("source `tcp` is not limited"));
    }
    // Guaranteed flows that stay keep their bound while others come and go.
    let rows = bounds(lot(Load::LIGHT, Options::literal(), Mode::Mixed));
    assert!(find(&rows, "guaranteed, path 1").held == Some(true) && find(&rows, "controlled load, path 1").held.is_none());
    let rows = bounds(lot(Load::LIGHT, Options::literal(), Mode::Slots));
    assert!(find(&rows, "guaranteed, path 1").reason.is_some_and(|reason| reason.starts_with("it comes and goes")));
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
    let of = |service: &str| {
        figure.bounds.iter().filter(|row| row.flow.starts_with(service) && !row.flow.ends_with("contract")).collect::<Vec<_>>()
    };
    for row in [of("guaranteed"), of("controlled-load")].concat() {
        assert!(row.bound.held == Some(true) && row.bound.ratio.is_some_and(|ratio| ratio > 0.01), "{row:?}");
    }
    assert_eq!((of("guaranteed").len(), of("controlled-load").len(), of("best-effort").len()), (3, 3, 3));
    for gate in &figure.gates {
        assert!(gate.passed(), "{}: {:?}", gate.name, gate.measured);
    }
}
