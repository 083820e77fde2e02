//! A fat tree: `k` pods of `k/2` edge and `k/2` aggregation switches, `k/2` hosts below each edge switch, `k^2/4` core switches.
//!
//! **Source.** M. Al-Fares and others, "A scalable, commodity data center network architecture", SIGCOMM 2008, section 3.

use super::dumbbell::fifo_of_bytes;
use super::{header, link};
use std::collections::HashMap;
use tidegate_core::classifier::{Header, Network as Layer};
use tidegate_core::port::PortSetup;
use tidegate_core::units::Duration;
use tidegate_sim::random::Stream;
use tidegate_sim::routing::{Choice, NextHops, flow_hash};
use tidegate_sim::tcp::Tcp;
use tidegate_sim::{FlowSpec, Link, LinkId, Network, NodeId, Source};

/// The hosts of a tree; their nodes are the first.
pub fn hosts(k: usize) -> usize {
    k * k * k / 4
}

/// Nodes and links, in both directions. All links have this rate, delay and buffer.
pub fn fat_tree(k: usize, bits_per_second: u64, propagation: Duration, buffer: u64) -> Network {
    let (half, hosts) = (k / 2, hosts(k));
    let (first_edge, first_aggregation, first_core) = (hosts, hosts + k * half, hosts + k * k);
    let mut links: Vec<Link> = Vec::new();
    let mut join = |below: usize, above: usize| {
        for (from, to) in [(below, above), (above, below)] {
            let port = PortSetup { longest_frame: 1514, ..fifo_of_bytes(bits_per_second, buffer) };
            links.push(link(&format!("{from}-{to}"), from, to, propagation, port));
        }
    };
    (0..hosts).for_each(|host| join(host, first_edge + host / half));
    for pod in 0..k {
        for (edge, above) in (0..half).flat_map(|edge| (0..half).map(move |above| (edge, above))) {
            join(first_edge + pod * half + edge, first_aggregation + pod * half + above);
            join(first_aggregation + pod * half + edge, first_core + edge * half + above);
        }
    }
    Network { nodes: (0..first_core + half * half).map(|node| node.to_string()).collect(), links, ..Network::default() }
}

/// Adds connections between random hosts, over paths that a hash chooses (ECMP).
pub fn add_random_flows(network: &mut Network, hosts: usize, flows: usize, tcp: impl Fn(Vec<LinkId>) -> Tcp) {
    let graph = network.graph();
    let mut stream = Stream::new(1, 0, "pairs");
    let mut toward: HashMap<usize, NextHops> = HashMap::new();
    for flow in 0..flows {
        let from = stream.below(hosts as u64) as usize;
        let to = (from + 1 + stream.below(hosts as u64 - 1) as usize) % hosts;
        let name = format!("flow {flow}");
        let mut path = |from: usize, to: usize, sender: usize| {
            let next_hops = toward.entry(to).or_insert_with(|| graph.toward(NodeId(to), |_| true));
            let hash = flow_hash(&name, &between(sender as u32, flow as u32));
            next_hops.path(&graph, NodeId(from), Choice::Hash(hash)).expect("a path")
        };
        let (path, back) = (path(from, to, from), path(to, from, to));
        let source = Source::Tcp(Box::new(tcp(back)));
        network.flows.push(FlowSpec {
            name,
            source,
            path,
            start: Duration::ZERO,
            stop: None,
            header: header(0),
            tagging: None,
            shaping: None,
        });
    }
}

/// A header that tells the packets of this sender and flow from others.
fn between(sender: u32, flow: u32) -> Header {
    let mut header = header(0);
    if let Layer::V4 { source, destination, .. } = &mut header.network {
        (*source, *destination) = (sender, flow);
    }
    header
}
