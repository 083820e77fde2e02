//! Calls end to end: what is refused, what a release leaves behind, and networks in which calls have no meaning.

mod networks;

use networks::speed::{self, Speed};
use networks::{flow, link, parameters, port, rate};
use tidegate_core::admission::{LinkSettings, Service, Target, TrafficSpec};
use tidegate_core::packet::DropReason;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, ServiceClass};
use tidegate_core::units::Duration;
use tidegate_sim::source::{LengthDistribution, Poisson};
use tidegate_sim::{Arrivals, Calls, Control, Experiment, Network, Source, Subject, run};

const PLACES: usize = 4;

/// Bursty sources behind slow access links, and one node that admits 3 flows of 300 kbit/s to 1 Mbit/s.
fn network() -> Network {
    let place = FlowParameters {
        class: Some(ServiceClass::Guaranteed),
        rate: Some(rate(1000)),
        tolerance: Some(Duration::ZERO),
        ..FlowParameters::default()
    };
    let mut node =
        link("node", 0, 1, Duration::from_milliseconds(1), port(1_000_000, SchedulerKind::IntegratedServices, &[place; PLACES], 10_000));
    node.admission = Some(LinkSettings::new(rate(1_000_000), 12_000, 1_000_000));
    let mut network = Network { nodes: (0..2 + PLACES).map(|node| node.to_string()).collect(), links: vec![node], ..Network::default() };
    for call in 0..PLACES {
        let access = networks::fifo(310_000, 10_000);
        network.links.push(link(&format!("access {call}"), 2 + call, 0, Duration::from_milliseconds(1), access));
        // At the rate of the access link, so that its queue is long when the call leaves.
        let source = Source::Poisson(Poisson { packets_per_second: 38.0, length: LengthDistribution::Fixed(1000) });
        network.flows.push(flow(&format!("call {call}"), source, call as u8, &[1 + call, 0]));
    }
    network.calls.push(Calls {
        name: "calls".into(),
        flows: (0..PLACES).collect(),
        arrivals: Arrivals::Poisson(Duration::from_seconds(4)),
        hold: Duration::from_seconds(10),
        traffic: TrafficSpec::new(12_000, 24_000, rate(300_000), rate(300_000)).unwrap(),
        target: Some(Target::Rate(300_000)),
        service: Service::Guaranteed,
        tolerance: None,
        enforces_reserve: false,
        brokered: None,
    });
    network
}

#[test]
fn the_release_follows_the_last_packet() {
    let experiment = Experiment { duration: Duration::from_seconds(2000), ..Experiment::default() };
    let outcome = run(&network(), &experiment, &Control::default()).unwrap();
    let calls = &outcome.calls[0];
    assert!(
        calls.admitted > 200
            && calls.requests == calls.admitted + calls.without_place + calls.refused.iter().map(|refused| refused.requests).sum::<u64>()
    );
    assert!(calls.refused.iter().all(|refused| refused.link.0 == 0) && !calls.refused.is_empty(), "{:?}", calls.refused);
    assert_eq!(outcome.ports[0].dropped[DropReason::Removed as usize].packets, 0);
    assert_eq!(outcome.flows.iter().map(|flow| flow.offered.packets - flow.delivered.packets - flow.in_network.packets).sum::<u64>(), 0);
    assert!(outcome.flows[..3].iter().all(|flow| flow.delivered.packets > 1000), "the fourth never fits");
}

#[test]
fn calls_without_a_meaning_are_refused() {
    let refused = |change: &dyn Fn(&mut Network)| {
        let mut network = network();
        change(&mut network);
        let problem = network.check().unwrap_err();
        (problem.subject, problem.key)
    };
    assert_eq!(refused(&|network| network.links[0].admission = None), (Subject::Calls(0), "flows"));
    assert_eq!(refused(&|network| network.calls[0].target = None), (Subject::Calls(0), "request"));
    assert_eq!(refused(&|network| network.calls[0].hold = Duration::ZERO), (Subject::Calls(0), "hold"));
    assert_eq!(refused(&|network| network.calls[0].flows.push(0)), (Subject::Calls(0), "flows"));
    let shares = parameters(SchedulerKind::DeficitRoundRobin, 0, 1000);
    let drr = port(1_000_000, SchedulerKind::DeficitRoundRobin, &[shares; PLACES], 1000);
    assert_eq!(refused(&|network| network.links[0].port = drr.clone()), (Subject::Calls(0), "flows"));
    let settings = |network: &mut Network| network.links[0].admission.as_mut().map(|settings| settings.utilisation = 0).unwrap();
    assert_eq!(refused(&settings), (Subject::Link(0), "admission"));
}

#[test]
fn a_hundred_thousand_calls_per_second_beside_10_gbps_lose_nothing() {
    let speed = Speed { places: 1500, ..Speed::default() };
    let experiment = Experiment { duration: Duration::from_milliseconds(40), ..Experiment::default() };
    let outcome = run(&speed.network(), &experiment, &Control::default()).unwrap();
    let admitted: u64 = outcome.calls.iter().map(|calls| calls.admitted).sum();
    let refused: u64 = outcome.calls.iter().map(|calls| calls.requests - calls.admitted).sum();
    assert!(admitted > 3500 && refused == 0, "{admitted} {refused}");
    assert_eq!(outcome.ports[0].dropped.iter().map(|dropped| dropped.packets).sum::<u64>(), 0);
    let sent = outcome.ports[0].sent.bytes as f64 * 8.0 / 0.04;
    assert!(sent > 0.98 * speed::LINK as f64, "{sent}");
}
