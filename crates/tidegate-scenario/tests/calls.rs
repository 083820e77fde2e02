//! Calls of scenario files: every call has a queue of its own, and their blocking is that of Erlang's formula.

use std::collections::HashSet;
use std::path::Path;
use tidegate_core::admission::Offer;
use tidegate_core::units::Duration;
use tidegate_scenario::load;
use tidegate_sim::{Control, Experiment, run};

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

/// Voice and video by budgets over two links under strict priority, beside a source that fills the rest.
#[test]
fn calls_by_budgets_keep_their_delays_and_refusals_say_why() {
    let scenario = load(Path::new("tests/budgets.toml"), &[]).unwrap();
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    let outcome = run(&simulation.network, &simulation.experiment, &Control::default()).unwrap();
    for (calls, promised_ms) in outcome.calls.iter().zip([13, 43]) {
        // Two budgets and 3 ms of propagation.
        assert_eq!(calls.promised_delay, Some(Duration::from_milliseconds(promised_ms)));
        assert!(calls.admitted > 0 && calls.longest_delay_s.unwrap() <= promised_ms as f64 / 1e3, "{calls:?}");
        assert!(calls.refused.iter().all(|refused| refused.class.is_some() && refused.first.need > refused.first.have), "{calls:?}");
    }
    assert!(outcome.calls.iter().any(|calls| calls.refused.iter().any(|refused| !refused.first.offers.is_empty())));
    for port in &outcome.ports {
        for (class, budget_ms) in port.classes.iter().zip([5.0, 20.0]) {
            assert!(class.delays.maximum().unwrap() <= budget_ms / 1e3);
        }
    }
}

/// What is admitted with an offer of a refusal in the file is admitted.
#[test]
fn a_smaller_burst_is_offered_and_admitted() {
    let first = |burst: &str| {
        let keys = [
            format!("flow.film.calls.burst=\"{burst}\""),
            "flow.film.calls.arrivals=\"permanent\"".into(),
            "flow.film.calls.places=1".into(),
        ];
        let text = std::fs::read_to_string("tests/budgets.toml").unwrap().replace("interval = \"2 s\", hold = \"8 s\", ", "");
        let file = std::env::temp_dir().join(format!("tidegate-budgets-{}-{burst}.toml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let scenario = load(&file, &keys).unwrap();
        std::fs::remove_file(&file).unwrap();
        let simulation = scenario.variants[0].simulation.as_ref().unwrap();
        let experiment = Experiment { duration: Duration::from_seconds(1), ..simulation.experiment };
        let outcome = run(&simulation.network, &experiment, &Control::default()).unwrap();
        let film = outcome.calls.into_iter().nth(1).unwrap();
        (film.admitted, film.refused.first().map(|refused| refused.first))
    };
    let (admitted, refused) = first("30 kB");
    let offers = refused.unwrap().offers;
    let burst = offers.iter().find_map(|offer| if let Offer::Burst(bits) = offer { Some(bits / 8) } else { None });
    assert_eq!(admitted, 0);
    assert_eq!(first(&format!("{} B", burst.unwrap())).0, 1);
}
