//! Calls of scenario files: every call has a queue of its own, and their blocking is that of Erlang's formula.

use std::collections::HashSet;
use std::path::Path;
use tidegate_scenario::load;
use tidegate_sim::{Control, run};

/// Nine circuits and 8 erlangs, but without packets: sources send one in 8 s.
#[test]
fn blocking_is_that_of_erlang_b() {
    let quiet = ["flow.call.source.rate=\"1 kbit/s\"", "flow.bulk.source.rate=\"1 kbit/s\"", "simulation.duration=\"50000 s\""];
    let scenario = load(Path::new("../../scenarios/dynamic-flows.toml"), &quiet.map(str::to_owned)).unwrap();
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let flows = &simulation.network.calls[0].flows;
    let port = &simulation.network.links[0].port;
    let queues: HashSet<_> = flows.iter().map(|&flow| port.classifier.classify(&simulation.network.flows[flow].header)).collect();
    assert_eq!(queues.len(), 16, "each call has a queue of its own");
    let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    let calls = &outcome.calls[0];
    let refused: u64 = calls.refused.iter().map(|refused| refused.requests).sum();
    assert!(calls.requests > 15_000 && calls.without_place == 0, "{calls:?}");
    let erlang = (1..=9).fold(1.0, |blocked, circuit| 8.0 * blocked / (f64::from(circuit) + 8.0 * blocked));
    let blocked = refused as f64 / calls.requests as f64;
    assert!((blocked - erlang).abs() < 0.02, "{blocked} and {erlang}: {calls:?}");
    assert!((calls.mean_held.mean - 8.0 * (1.0 - erlang)).abs() < 0.25, "{calls:?}");
}

#[test]
fn admitted_calls_lose_nothing_beside_a_full_link() {
    let short = ["simulation.duration=\"600 s\"", "simulation.replications=1"];
    let scenario = load(Path::new("../../scenarios/dynamic-flows.toml"), &short.map(str::to_owned)).unwrap();
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    let calls = outcome.flows.iter().filter(|flow| flow.name.starts_with("call-"));
    let (sent, lost) = calls.fold((0, 0), |(sent, lost), flow| {
        (sent + flow.delivered.packets, lost + flow.drops.iter().map(|drop| drop.2.packets).sum::<u64>())
    });
    assert!(sent > 1000 && lost == 0, "{sent} {lost}");
}
