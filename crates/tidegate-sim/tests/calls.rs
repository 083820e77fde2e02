//! Calls end to end: what is refused, what a release leaves behind, calls beside workloads, and networks in which calls have no meaning.

mod connections;
mod networks;

use connections::{deep, workload};
use networks::speed::{self, Speed};
use networks::{flow, link, parameters, port, rate};
use tidegate_core::admission::{LinkSettings, Service, Target, TrafficSpec};
use tidegate_core::classifier::{Header, Network as Layer};
use tidegate_core::packet::DropReason;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, ServiceClass};
use tidegate_core::units::Duration;
use tidegate_sim::source::{LengthDistribution, Poisson};
use tidegate_sim::workload::Sizes;
use tidegate_sim::{Arrivals, Calls, Control, Experiment, Network, NodeId, Pattern, Rhythm, Source, Subject, Workload, run};

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

/// Connections from one node to another, with a code point of their own.
fn connections_between(from: usize, to: usize) -> Workload {
    let sizes = Sizes::new(&[(300.0, 0.5), (20_000.0, 1.0)]).unwrap();
    let mut some = workload("some", Pattern::Listed(vec![(NodeId(from), NodeId(to))]), Rhythm::Poisson { per_second: 2.0 }, sizes);
    (some.tcp.segment, some.header) = (1000, tcp_header(10));
    some
}

fn tcp_header(dscp: u8) -> Header {
    let mut header = networks::header(dscp);
    if let Layer::V4 { transport, .. } = &mut header.network {
        transport.protocol = 6;
    }
    header
}

/// The node has a class for all that is no call, and a link back.
fn with_best_effort() -> Network {
    let mut network = network();
    let place = FlowParameters { class: Some(ServiceClass::Guaranteed), rate: Some(rate(1000)), ..FlowParameters::default() };
    let mut parameters = vec![FlowParameters { tolerance: Some(Duration::ZERO), ..place }; PLACES];
    parameters.push(FlowParameters { class: Some(ServiceClass::BestEffort), ..FlowParameters::default() });
    network.links[0].port = port(1_000_000, SchedulerKind::IntegratedServices, &parameters, 10_000);
    network.links.push(link("back", 1, 0, Duration::from_milliseconds(1), networks::fifo(1_000_000, 10_000)));
    network
}

#[test]
fn connections_have_what_calls_leave_and_take_nothing_of_theirs() {
    let mut network = with_best_effort();
    network.workloads = vec![connections_between(0, 1)];
    let experiment = Experiment { duration: Duration::from_seconds(2000), ..Experiment::default() };
    let outcome = run(&network, &experiment, &Control::default()).unwrap();
    let (calls, workload, classes) = (&outcome.calls[0], &outcome.workloads[0], &outcome.ports[0].classes);
    assert!(calls.admitted > 200 && !calls.refused.is_empty(), "{calls:?}");
    assert_eq!(outcome.flows.iter().map(|flow| flow.offered.packets - flow.delivered.packets - flow.in_network.packets).sum::<u64>(), 0);
    assert!(workload.arrivals > 3_500 && workload.unfinished < 20, "{workload:?}");
    assert_eq!(outcome.ports[0].dropped.iter().map(|dropped| dropped.packets).sum::<u64>(), 0);
    // The last class has the connections, and the others nothing of them.
    let offered = |flow: usize| outcome.flows[flow].offered.packets - outcome.flows[flow].in_network.packets;
    assert!(
        (0..PLACES)
            .all(|call| classes[call].sent.packets >= offered(call) && classes[call].sent.packets <= outcome.flows[call].offered.packets)
    );
    assert!(classes[PLACES].sent.packets > 20_000, "{}", classes[PLACES].sent.packets);
}

#[test]
fn calls_and_connections_on_disjoint_paths_change_nothing_of_each_other() {
    let calls = network();
    let nodes = calls.nodes.len();
    let mut both = Network { nodes: (0..nodes + 2).map(|node| node.to_string()).collect(), ..calls.clone() };
    let delay = Duration::from_milliseconds(2);
    both.links.push(link("there", nodes, nodes + 1, delay, deep(1_000_000, 3)));
    both.links.push(link("back", nodes + 1, nodes, delay, deep(1_000_000, 1)));
    both.workloads = vec![connections_between(nodes, nodes + 1)];
    let apart = Network { flows: Vec::new(), calls: Vec::new(), ..both.clone() };
    let experiment = Experiment { duration: Duration::from_seconds(500), warm_up: Duration::from_seconds(20), ..Experiment::default() };
    let [both, calls, apart] = [both, calls, apart].map(|network| run(&network, &experiment, &Control::default()).unwrap());
    assert!(calls.calls[0].admitted > 50 && apart.workloads[0].arrivals > 800);
    assert_eq!((&both.calls, &both.flows, &both.ports[..=PLACES]), (&calls.calls, &calls.flows, &calls.ports[..]));
    assert_eq!((&both.workloads, &both.ports[PLACES + 1..]), (&apart.workloads, &apart.ports[PLACES + 1..]));
}

#[test]
fn connections_in_the_queues_of_calls_are_refused() {
    let mut network = with_best_effort();
    network.workloads = vec![connections_between(0, 1)];
    network.workloads[0].header = tcp_header(2);
    let experiment = Experiment { duration: Duration::from_seconds(1), ..Experiment::default() };
    let text = run(&network, &experiment, &Control::default()).unwrap_err().to_string();
    assert!(text.contains("may come in class `class 2` at link node, whose queues are those of calls"), "{text}");
    // The same class elsewhere is free.
    network.workloads[0].pattern = Pattern::Listed(vec![(NodeId(2), NodeId(0))]);
    network.links.push(link("to 2", 0, 2, Duration::ZERO, networks::fifo(1_000_000, 100)));
    run(&network, &experiment, &Control::default()).unwrap();
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
