//! Networks of duplex links that fail.
#![allow(dead_code)]

use crate::networks::{fifo, link, parameters, port, rate};
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::policer::Contract;
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::units::Duration;
use tidegate_link::Disturbance;
use tidegate_sim::{Failure, LinkId, Network};

pub const CLASSES: usize = 3;

pub const fn micros(microseconds: u64) -> Duration {
    Duration::from_microseconds(microseconds)
}

/// Duplex links of 100 Mbit/s and 2 ms between these nodes: link 2i leads from the first to the second node of pair i, link 2i + 1 back.
pub fn duplex(nodes: usize, pairs: &[(usize, usize)]) -> Network {
    let mut network = Network { nodes: (0..nodes).map(|node| node.to_string()).collect(), ..Network::default() };
    for &(a, b) in pairs {
        for (from, to) in [(a, b), (b, a)] {
            network.links.push(link(&format!("{from}:{to}"), from, to, micros(2000), fifo(100_000_000, 100)));
        }
    }
    network
}

/// From 0 to 3 over 1 (links 0 and 2) or over 2 (links 4 and 6).
pub fn diamond() -> Network {
    duplex(4, &[(0, 1), (1, 3), (0, 2), (2, 3)])
}

pub fn failure(links: &[usize], at: u64, until: Option<u64>, detection: u64) -> Failure {
    let links = links.iter().map(|&link| LinkId(link)).collect();
    Failure { name: "cut".into(), links, at: micros(at), until: until.map(micros), detection: micros(detection) }
}

/// A port of three classes, with a policer for the first if there is a rate for it.
pub fn any_port(bits: u64, packets: u32, (scheduler, buffer, policed): (SchedulerKind, BufferKind, Option<u64>)) -> PortSetup {
    let parameters: Vec<_> = (0..CLASSES as u32).map(|class| parameters(scheduler, class, bits / 4)).collect();
    let mut setup = port(bits, scheduler, &parameters, packets);
    setup.buffer = buffer.build(&BufferParameters { flows: CLASSES, packets: Some(packets), ..BufferParameters::default() }).unwrap();
    setup.policers[0] = policed.map(|bits| PolicerKind::Gcra.build(&Contract::new(rate(bits), 1500)).unwrap());
    setup
}

/// Links of a random graph: a ring, so that all nodes are connected, and chords.
pub fn any_graph() -> impl Strategy<Value = Network> {
    (4usize..7).prop_flat_map(|nodes| {
        let chords = prop::collection::vec((0..nodes, 0..nodes), 0..6);
        let disturbances = prop::collection::vec(prop::option::weighted(0.1, (0u64..400_000_000, 0u64..9_000, 0u64..400_000_000)), 40);
        let kinds = (select(SchedulerKind::ALL), select(BufferKind::ALL), prop::option::of(100_000u64..2_000_000));
        (chords, prop::collection::vec((500_000u64..5_000_000, 1u32..20, 0u64..9_000, 1u32..3, kinds), 40), disturbances).prop_map(
            move |(chords, links, disturbances)| {
                let mut pairs: Vec<(usize, usize)> = (0..nodes).map(|node| (node, (node + 1) % nodes)).collect();
                pairs.extend(chords.into_iter().filter(|(a, b)| a != b));
                let mut network = duplex(nodes, &pairs);
                for (index, ((bits, limit, delay, weight, kinds), disturbed)) in links.into_iter().zip(disturbances).enumerate() {
                    let Some(link) = network.links.get_mut(index) else { break };
                    (link.name, link.port, link.propagation) = (index.to_string(), any_port(bits, limit, kinds), micros(delay));
                    link.impairment.disturbance = disturbed.and_then(|(late, by, twice)| Disturbance::new(late, micros(by), twice, 1));
                    network.weights.push(weight);
                }
                network
            },
        )
    })
}

pub fn any_failures() -> impl Strategy<Value = Vec<(Vec<usize>, u64, Option<u64>, u64)>> {
    let links = prop::collection::vec(0usize..40, 1..6);
    prop::collection::vec((links, 0u64..450_000, prop::option::of(1u64..300_000), 0u64..60_000), 1..5)
}

pub fn with_failures(network: &mut Network, failures: Vec<(Vec<usize>, u64, Option<u64>, u64)>) {
    for (links, at, lasts, detection) in failures {
        let mut links: Vec<usize> = links.into_iter().map(|link| link % network.links.len()).collect();
        links.sort_unstable();
        links.dedup();
        network.failures.push(failure(&links, at, lasts.map(|lasts| at + lasts), detection));
    }
}
