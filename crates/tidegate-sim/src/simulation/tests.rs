//! A packet that gets lost or is invented is noticed at the end of a replication.

use super::data_plane::DataPlane;
use super::*;
use crate::experiment::Experiment;
use crate::id::{LinkId, NodeId};
use crate::network::{FlowSpec, Impairment, Link};
use crate::source::{Cbr, Source};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};

/// A link that loses a fifth of what it is offered.
fn overloaded() -> Network {
    let rate = Rate::new(1_000_000).unwrap();
    let port = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 125), &[FlowParameters::default()]).unwrap(),
        packet_limit: 4,
        longest_frame: 125,
        remarks: Default::default(),
    };
    let propagation = Duration::from_milliseconds(3);
    let link = |name: &str, from, to| Link {
        name: name.into(),
        from: NodeId(from),
        to: NodeId(to),
        propagation,
        port: port.clone(),
        impairment: Impairment::default(),
        cells: false,
        adapter: None,
        admission: None,
        workers: None,
    };
    let source = Source::Cbr(Cbr { rate: Rate::new(1_250_000).unwrap(), length: 125, random_phase: false });
    let (header, path, start) = (Header::default(), vec![LinkId(0), LinkId(1)], Duration::ZERO);
    let flow = FlowSpec { name: "flow".into(), source, header, path, start, stop: None, tagging: None, shaping: None };
    Network {
        nodes: vec!["a".into(), "b".into(), "c".into()],
        links: vec![link("ab", 0, 1), link("bc", 1, 2)],
        flows: vec![flow],
        ..Network::default()
    }
}

/// The error of a replication of 100 ms that is tampered with after half of it.
fn tampered(tamper: impl FnOnce(&mut Simulation)) -> Option<SimulationError> {
    let network = overloaded();
    let course = Course::of(&network, &[]).unwrap();
    let experiment = Experiment { duration: Duration::from_milliseconds(100), ..Experiment::default() };
    let mut simulation = Simulation::new(&network, &experiment, &course, 0, None, None, None);
    simulation.run_until(simulation.end / 2, &mut |_| true).unwrap();
    tamper(&mut simulation);
    simulation.run_until(simulation.end, &mut |_| true).unwrap();
    simulation.finish().err()
}

#[test]
fn a_packet_that_gets_lost_or_is_invented_is_noticed() {
    assert_eq!(tampered(|_| ()), None);
    let network = |error| matches!(error, Some(SimulationError::NotConserved { place, .. }) if place == "the network");
    assert!(network(tampered(|simulation| assert!(simulation.plane.flights.pop(&mut simulation.plane.links[0].flying).is_some()))));
    assert!(network(tampered(|simulation| {
        let DataPlane { links, flights, .. } = &mut simulation.plane;
        let twin = *flights.on(links[0].flying).last().unwrap();
        flights.push(&mut links[0].flying, twin);
    })));
    assert!(network(tampered(|simulation| simulation.plane.flows.meters[0].emitted.bytes += 1)));
    // A packet that one port counts for a class and another forgets.
    let class = tampered(|simulation| simulation.plane.links[1].rest.meter.offered(tidegate_core::packet::Flow(0), 125));
    assert!(matches!(class, Some(SimulationError::NotConserved { place, .. }) if place == "class all at link bc"));
}
