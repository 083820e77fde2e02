//! The paths between the hosts of workloads, and the load that workloads bring to each link.

use super::{Pattern, Workload};
use crate::error::{Problem, Subject};
use crate::id::{LinkId, NodeId};
use crate::network::Network;
use crate::routing::{EqualPaths, Graph, MOST_PATHS, NextHops, flow_hash};
use tidegate_core::classifier::Header;

/// The next hops toward every host of a workload.
#[derive(Clone, Debug)]
pub struct Reach {
    pub(crate) graph: Graph,
    /// By node; `None` for those to which no workload sends.
    toward: Vec<Option<NextHops>>,
}

impl Reach {
    /// Finds the paths of all workloads of a network, and checks that they exist and that connections can take them.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn of(network: &Network) -> Result<Reach, Problem> {
        let mut reach = Reach { graph: network.graph(), toward: vec![None; network.nodes.len()] };
        for (index, workload) in network.workloads.iter().enumerate() {
            let refuse = |key, problem: String, expected: &str| {
                Err(Problem { subject: Subject::Workload(index), name: workload.name.clone(), key, problem, expected: expected.into() })
            };
            if let Err(fault) = workload.check(network.nodes.len()) {
                return refuse(fault.key, fault.problem, &fault.expected);
            }
            for is_back in [false, true] {
                for (from, to, _) in weights(workload, is_back) {
                    let found = reach.toward[to.0].get_or_insert_with(|| reach.graph.toward(to, |_| true));
                    if let Some(lost) = from.iter().find(|&&from| from != to && found.distance(from).is_none()) {
                        let (from, to) = (&network.nodes[lost.0], &network.nodes[to.0]);
                        return refuse("pairs", format!("no links lead from {from} to {to}"), "links in both directions");
                    }
                }
            }
        }
        reach.check(network)?;
        Ok(reach)
    }

    /// Checks that connections can take their paths. Of the ports only those may differ from the network's for which the paths were found.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub(crate) fn check(&self, network: &Network) -> Result<(), Problem> {
        for (index, workload) in network.workloads.iter().enumerate() {
            let refuse = |key, problem: String, expected: &str| {
                Err(Problem { subject: Subject::Workload(index), name: workload.name.clone(), key, problem, expected: expected.into() })
            };
            for is_back in [false, true] {
                for (link, share) in network.links.iter().zip(self.shares(network, workload, is_back)) {
                    // When links fail, connections may take any other link.
                    if share == 0.0 && network.failures.is_empty() {
                        continue;
                    }
                    let frame = if is_back { workload.tcp.headers } else { workload.tcp.frame() };
                    let expected = "a port of packets that lets them pass as they came";
                    if link.cells || link.adapter.is_some() {
                        return refuse("pairs", format!("link {} carries cells", link.name), expected);
                    }
                    if link.rewrites() {
                        return refuse("pairs", format!("a policer or code points at link {} change headers", link.name), expected);
                    }
                    let (most, name) = (link.port.longest_frame, &link.name);
                    if let Some(request) = workload.request().filter(|&request| is_back && request > most) {
                        return refuse("request", format!("a packet of {request} bytes, and link {name} accepts {most}"), "a shorter one");
                    }
                    if most < frame {
                        return refuse("source", format!("frames of {frame} bytes, and link {name} accepts {most}"), "shorter segments");
                    }
                }
            }
        }
        Ok(())
    }

    /// The paths of packets with this header while no link fails: one, unless each packet takes one of several. They exist if [`Reach::of`] has found them.
    pub(crate) fn paths(&self, workload: &Workload, header: &Header, (from, to): (NodeId, NodeId)) -> Vec<Vec<LinkId>> {
        let choice = workload.equal_paths.choice(flow_hash(&workload.name, header));
        self.toward[to.0].as_ref().map_or_else(Vec::new, |next_hops| next_hops.choices(&self.graph, from, choice))
    }

    /// The next hops toward a node, if a workload sends there.
    pub(crate) fn toward(&self, to: NodeId) -> Option<&NextHops> {
        self.toward[to.0].as_ref()
    }

    /// By link, how many connections of an arrival cross it on average; of acknowledgements if `is_back`. A connection whose packets take several paths
    /// counts in parts.
    pub fn shares(&self, network: &Network, workload: &Workload, is_back: bool) -> Vec<f64> {
        let mut shares = vec![0.0; network.links.len()];
        let mut inflow = vec![0.0; network.nodes.len()];
        for (from, to, weight) in weights(workload, is_back) {
            let Some(next_hops) = &self.toward[to.0] else { continue };
            let distance = |node: usize| next_hops.distance(NodeId(node));
            let mut nodes: Vec<usize> = (0..inflow.len()).filter(|&node| distance(node).is_some()).collect();
            // The farthest first: all that flows into a node has come before it is divided.
            nodes.sort_by_key(|&node| std::cmp::Reverse(distance(node)));
            // Packets take each of all paths equally often where those are few; of many, some are drawn link by link.
            let counts = if workload.equal_paths == EqualPaths::Packet { next_hops.counts(&self.graph) } else { Vec::new() };
            let is_by_paths = |node: usize| counts.get(node).is_some_and(|&paths| paths <= MOST_PATHS as u64);
            for by_paths in [false, true] {
                let starts = from.iter().filter(|&&from| from != to && is_by_paths(from.0) == by_paths);
                starts.for_each(|from| inflow[from.0] += weight);
                for &node in &nodes {
                    let flow = std::mem::take(&mut inflow[node]);
                    let links = next_hops.of(NodeId(node));
                    let used = if workload.equal_paths == EqualPaths::First { &links[..links.len().min(1)] } else { links };
                    if flow == 0.0 {
                        continue;
                    }
                    for link in used {
                        let next = network.links[link.0].to.0;
                        let part = if by_paths { counts[next] as f64 / counts[node] as f64 } else { 1.0 / used.len() as f64 };
                        shares[link.0] += flow * part;
                        inflow[next] += flow * part;
                    }
                }
            }
        }
        shares
    }

    /// By link, the load of a workload's data in parts of the link's rate, with headers and the overhead of the link, if its arrivals have a rate. First
    /// transmissions count, not retransmissions, acknowledgements and packets without data.
    pub fn loads(&self, network: &Network, workload: &Workload) -> Option<Vec<f64>> {
        let arrivals = workload.arrivals_per_second()?;
        Some(self.loads_per_arrival(network, workload).into_iter().map(|load| load * arrivals).collect())
    }

    /// The same for one arrival per second.
    pub fn loads_per_arrival(&self, network: &Network, workload: &Workload) -> Vec<f64> {
        let mut known: Vec<(tidegate_core::units::Overhead, f64)> = Vec::new();
        let mut bits = |overhead| match known.iter().find(|(of, _)| *of == overhead) {
            Some((_, bits)) => *bits,
            None => {
                let bits = workload.sizes.mean_of(|bytes| wire_bytes(workload, overhead, bytes)) * 8.0;
                known.push((overhead, bits));
                bits
            }
        };
        let shares = self.shares(network, workload, false);
        let load = |(link, share): (&crate::network::Link, f64)| {
            if share == 0.0 { 0.0 } else { share * bits(link.port.overhead) / link.port.rate.bits_per_second() as f64 }
        };
        network.links.iter().zip(shares).map(load).collect()
    }
}

/// What the segments of a connection take on a link.
fn wire_bytes(workload: &Workload, overhead: tidegate_core::units::Overhead, bytes: u64) -> f64 {
    let tcp = &workload.tcp;
    let (whole, rest) = (bytes / u64::from(tcp.segment), (bytes % u64::from(tcp.segment)) as u32);
    let short = if rest > 0 { overhead.wire_length(rest + tcp.headers) } else { 0 };
    whole as f64 * f64::from(overhead.wire_length(tcp.frame())) + f64::from(short)
}

/// The connections of an arrival by their end: the nodes where they start, the end, and the mean number from each; of acknowledgements if `is_back`.
pub(crate) fn weights(workload: &Workload, is_back: bool) -> Vec<(Vec<NodeId>, NodeId, f64)> {
    let grid = |from: &[NodeId], to: &[NodeId], weight: &dyn Fn(NodeId) -> f64| -> Vec<(Vec<NodeId>, NodeId, f64)> {
        if is_back {
            // What depends on the receiver goes with the start here.
            let equal = weight(to[0]);
            let is_equal = to.iter().all(|&to| weight(to) == equal);
            if is_equal {
                return from.iter().map(|&end| (to.to_vec(), end, equal)).collect();
            }
            return from
                .iter()
                .flat_map(|&end| to.iter().map(move |&start| (start, end)))
                .map(|(start, end)| (vec![start], end, weight(start)))
                .collect();
        }
        to.iter().map(|&end| (from.to_vec(), end, weight(end))).collect()
    };
    match &workload.pattern {
        Pattern::Random { from, to } => {
            let both = to.iter().filter(|node| from.contains(node)).count();
            let pairs = (from.len() * to.len() - both).max(1) as f64;
            grid(from, to, &|_| 1.0 / pairs)
        }
        Pattern::Listed(pairs) => {
            let weight = 1.0 / pairs.len() as f64;
            pairs.iter().map(|&(from, to)| if is_back { (vec![to], from, weight) } else { (vec![from], to, weight) }).collect()
        }
        Pattern::Incast { from, to, senders } => {
            let others = |receiver: NodeId| from.iter().filter(|&&sender| sender != receiver).count().max(1) as f64;
            grid(from, to, &|receiver| f64::from(*senders) / others(receiver) / to.len() as f64)
        }
    }
}
