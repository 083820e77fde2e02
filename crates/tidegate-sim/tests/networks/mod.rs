//! Small networks for the tests: ports whose class is the packet's code point, links and flows.
#![allow(dead_code)]

pub mod any;
pub mod dumbbell;
pub mod fat_tree;
pub mod speed;

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Header, Network as NetworkLayer, Rule, Transport};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Parameter, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_link::Loss;
use tidegate_sim::{FlowSpec, Impairment, Link, LinkId, Network, NodeId, Source};

pub fn rate(bits_per_second: u64) -> Rate {
    Rate::new(bits_per_second).unwrap()
}

/// A header with this code point.
pub fn header(dscp: u8) -> Header {
    let transport = Transport { dscp, protocol: 17, fragment: false, ports: Some((1000, 2000)), ..Transport::default() };
    Header { network: NetworkLayer::V4 { source: 1, destination: 2, transport }, ethernet_type: 0x800, ..Header::default() }
}

/// As many classes, the i-th for code point i; the last takes everything else too.
pub fn classifier(classes: usize) -> Classifier {
    let rules = |class: usize| match class {
        _ if class + 1 == classes => Vec::new(),
        _ => vec![Rule { dscp: Some(CodePoints::one(class as u8)), ..Rule::default() }],
    };
    let classes = (0..classes).map(|class| ClassRules { name: format!("class {class}"), queues: 1, rules: rules(class) });
    Classifier::new(classes.collect(), 1).unwrap()
}

/// A port with as many classes as there are parameters, a buffer of `packet_limit` packets and frames of up to 1500 bytes.
pub fn port(bits_per_second: u64, scheduler: SchedulerKind, parameters: &[FlowParameters], packet_limit: u32) -> PortSetup {
    let rate = rate(bits_per_second);
    let longest_frame = 1500;
    PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: classifier(parameters.len()),
        policers: vec![None; parameters.len()],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: parameters.len(), ..BufferParameters::default() }).unwrap(),
        scheduler: scheduler.build(&Setup::new(rate, longest_frame), parameters).unwrap(),
        packet_limit,
        longest_frame,
        remarks: Default::default(),
    }
}

/// What a scheduler of this kind may be told of the `class`-th class, where each is to get `share` bits per second.
pub fn parameters(scheduler: SchedulerKind, class: u32, share: u64) -> FlowParameters {
    let uses = |parameter| scheduler.requires().contains(&parameter) || scheduler.accepts().contains(&parameter);
    let rated = uses(Parameter::Rate);
    FlowParameters {
        priority: uses(Parameter::Priority).then_some(class),
        weight: (uses(Parameter::Weight) && !rated).then_some(1),
        rate: rated.then(|| rate(share)),
        delay: uses(Parameter::Delay).then(|| Duration::from_milliseconds(u64::from(5 + 20 * class))),
        ..FlowParameters::default()
    }
}

/// A first-in first-out port with one class.
pub fn fifo(bits_per_second: u64, packet_limit: u32) -> PortSetup {
    port(bits_per_second, SchedulerKind::Fifo, &[FlowParameters::default()], packet_limit)
}

pub fn link(name: &str, from: usize, to: usize, propagation: Duration, port: PortSetup) -> Link {
    let (name, from, to) = (name.into(), NodeId(from), NodeId(to));
    Link {
        name,
        from,
        to,
        propagation,
        port,
        impairment: Impairment::default(),
        cells: false,
        adapter: None,
        admission: None,
        workers: None,
    }
}

pub fn flow(name: &str, source: Source, dscp: u8, path: &[usize]) -> FlowSpec {
    let path = path.iter().map(|&link| LinkId(link)).collect();
    FlowSpec { name: name.into(), source, header: header(dscp), path, start: Duration::ZERO, stop: None, tagging: None, shaping: None }
}

/// Random loss with this probability.
pub fn random_loss(probability: f64) -> Option<Loss> {
    Loss::new((probability * 1e9) as u64, 1).filter(|loss| loss.probability() > 0.0)
}

/// One link with this port and no propagation delay, and these flows on it.
pub fn one_link(port: PortSetup, flows: Vec<FlowSpec>) -> Network {
    Network { nodes: vec!["a".into(), "b".into()], links: vec![link("link", 0, 1, Duration::ZERO, port)], flows, ..Network::default() }
}
