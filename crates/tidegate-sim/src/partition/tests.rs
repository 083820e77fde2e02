//! Tests of [`super`].

use super::*;
use crate::source::Cbr;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};

fn link(from: usize, to: usize, microseconds: u64) -> crate::Link {
    let rate = Rate::new(1_000_000_000).unwrap();
    let port = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1500), &[FlowParameters::default()]).unwrap(),
        packet_limit: 100,
        longest_frame: 1500,
        remarks: Default::default(),
    };
    crate::Link {
        name: format!("{from}-{to}"),
        from: NodeId(from),
        to: NodeId(to),
        propagation: Duration::from_microseconds(microseconds),
        port,
        impairment: crate::Impairment::default(),
        cells: false,
        adapter: None,
        admission: None,
        workers: None,
    }
}

/// Leaves with hosts, and spines between them; every host sends to the one as far behind it as half of all. Spines come first.
fn leaf_spine(leaves: usize, spines: usize, hosts: usize) -> Network {
    let (leaf, host) = (|leaf: usize| spines + leaf, |host: usize| spines + leaves + host);
    let mut network = Network { nodes: (0..spines + leaves + leaves * hosts).map(|node| node.to_string()).collect(), ..Network::default() };
    let both = |a, b, microseconds| [link(a, b, microseconds), link(b, a, microseconds)];
    for number in 0..leaves * hosts {
        network.links.extend(both(host(number), leaf(number / hosts), 1));
    }
    for number in 0..leaves {
        (0..spines).for_each(|spine| network.links.extend(both(leaf(number), spine, 3)));
    }
    for number in 0..leaves * hosts {
        let to = (number + leaves * hosts / 2) % (leaves * hosts);
        let path = network.shortest_path(NodeId(host(number)), NodeId(host(to))).unwrap();
        let source = Source::Cbr(Cbr { rate: Rate::new(1_000_000).unwrap(), length: 125, random_phase: false });
        let (start, header) = (Duration::ZERO, Header::default());
        network.flows.push(FlowSpec { name: format!("{number}"), source, header, path, start, stop: None, tagging: None, shaping: None });
    }
    network
}

#[test]
fn hosts_stay_with_their_switch_and_loads_are_equal() {
    let network = leaf_spine(16, 2, 3);
    network.check().unwrap();
    for parts in [2, 4] {
        let partition = Partition::of(&network, parts).unwrap();
        assert_eq!(partition.parts, parts);
        let crossing = network.links.iter().filter(|link| partition.part_of(link.from) != partition.part_of(link.to));
        assert!(crossing.clone().all(|link| link.propagation == Duration::from_microseconds(3)));
        assert_eq!(partition.lookahead, 3_000_000);
        let is_with_its_leaf = |host: usize| partition.part_of(NodeId(18 + host)) == partition.part_of(NodeId(2 + host / 3));
        assert!((0..48).all(is_with_its_leaf), "{partition:?}");
        let (groups, mut loads) = (groups(&network, false), vec![0.0; parts]);
        let traffic = Traffic::of(&network, &groups);
        groups.iter().enumerate().for_each(|(node, &group)| loads[partition.part_of(NodeId(node)) as usize] += traffic.loads[group]);
        assert!(loads.iter().all(|&load| load <= partition.load / parts as f64 * 1.25), "{loads:?}");
    }
    // A packet is emitted and passes four ports: 48 flows of 1000 packets per second.
    assert_eq!(Partition::of(&network, 2).unwrap().load, 48.0 * 5000.0);
}

#[test]
fn what_must_not_be_parted_is_not() {
    let mut network = leaf_spine(4, 1, 2);
    // The only way between two leaves and the rest takes no time.
    let near = |link: &&mut crate::Link| [&link.from, &link.to].into_iter().any(|end| *end == NodeId(0));
    network.links.iter_mut().filter(near).for_each(|link| link.propagation = Duration::ZERO);
    let partition = Partition::of(&network, 2).unwrap();
    assert!((1..5).all(|leaf| partition.part_of(NodeId(leaf)) == partition.part_of(NodeId(0))), "{partition:?}");
    network.links.iter_mut().for_each(|link| link.propagation = Duration::ZERO);
    assert_eq!(Partition::of(&network, 2), None);
}

#[test]
fn there_are_no_more_parts_than_nodes_with_traffic() {
    let mut network = leaf_spine(2, 1, 1);
    network.flows.truncate(1);
    let partition = Partition::of(&network, 64).unwrap();
    // The host, its leaf, the spine and the other leaf have ports with traffic; the other host has none.
    assert!((2..=4).contains(&partition.parts), "{partition:?}");
}
