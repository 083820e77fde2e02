//! Divides the nodes of a network among the threads that simulate one replication together.
//!
//! Every part is a region of nodes, each with the ports of its links. Only packets, which take the propagation delay of a link to cross, connect two
//! parts. The least of these delays is the *lookahead*: so long no part can disturb another.
//!
//! **Method.** Nodes that must not be parted become one: those at both ends of a link without propagation delay, or of one that disturbs the order of
//! packets. So do the hosts of a connection whose ends share an application. Nodes with one neighbour, such as hosts, stay with it if enough others are left to
//! divide. The nodes where traffic starts are divided in their order into ranges of equal load.
//! Every other node joins the part with which it shares the most traffic; among equals, the one with the least load. Then nodes move where that lessens
//! the traffic between parts, within 5 % of equal load.
//!
//! **Load.** Packets per second at a port, a source or an end of a connection. Connections and greedy sources count with an equal share of the
//! narrowest link on their path.

use crate::id::{LinkId, NodeId};
use crate::network::{FlowSpec, Network};
use crate::source::Source;
use crate::tcp::{Application, Tcp};

/// What a part may have more than an equal share of the load.
const TOLERANCE: f64 = 1.05;
/// Groups of nodes per part from which on nodes stay with their only neighbour.
const GROUPS_PER_PART: usize = 4;
/// The most passes over all nodes that move them.
const PASSES: usize = 8;
/// The length of packets of which nothing is known, in bytes.
const USUAL_LENGTH: f64 = 1500.0;

/// The parts of a network.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Partition {
    /// The number of parts, each of which has traffic.
    pub parts: usize,
    /// By node.
    part_of: Vec<u32>,
    /// The least propagation delay of a link from one part to another, in picoseconds; not 0.
    pub lookahead: u64,
    /// Packets per second at all ports, sources and ends of connections together, about.
    pub load: f64,
}

/// One part of a network.
#[derive(Clone, Copy)]
pub(crate) struct Share<'a> {
    pub partition: &'a Partition,
    pub part: u32,
}

impl Share<'_> {
    /// True if a node is in this part.
    pub(crate) fn has(self, node: NodeId) -> bool {
        self.partition.part_of(node) == self.part
    }
}

/// True if a node is in this part; all nodes are in a network that is not divided.
pub(crate) fn has(share: Option<Share>, node: NodeId) -> bool {
    share.is_none_or(|share| share.has(node))
}

impl Partition {
    /// At most `threads` parts of a network that has been checked; `None` if it has but one.
    pub(crate) fn of(network: &Network, threads: usize) -> Option<Partition> {
        let count = |groups: &[usize]| groups.iter().max().map_or(0, |last| last + 1);
        let large = groups(network, true);
        let groups = if count(&large) >= GROUPS_PER_PART * threads { large } else { groups(network, false) };
        let traffic = Traffic::of(network, &groups);
        let threads = threads.min(traffic.loads.len());
        let part_of_group = traffic.divide(threads);
        // Parts without traffic are left out.
        let mut number = vec![None; threads];
        let mut parts = 0;
        for (&part, _) in part_of_group.iter().zip(&traffic.loads).filter(|(_, load)| **load > 0.0) {
            number[part as usize].get_or_insert_with(|| {
                parts += 1;
                parts as u32 - 1
            });
        }
        let part_of: Vec<u32> = groups.iter().map(|&group| number[part_of_group[group] as usize].unwrap_or(0)).collect();
        let crosses = |from: NodeId, to: NodeId| part_of[from.0] != part_of[to.0];
        let crossing = network.links.iter().filter(|link| crosses(link.from, link.to));
        let lookahead = crossing.map(|link| link.propagation.picoseconds()).min().unwrap_or(u64::MAX);
        (parts > 1).then(|| Partition { parts, part_of, lookahead, load: traffic.loads.iter().sum() })
    }

    pub(crate) fn part_of(&self, node: NodeId) -> u32 {
        self.part_of[node.0]
    }
}

/// By node, the number of the group of nodes that are not parted, in the order of their first nodes. `joins_ends`: nodes with one neighbour stay with it.
fn groups(network: &Network, joins_ends: bool) -> Vec<usize> {
    let mut leaders: Vec<usize> = (0..network.nodes.len()).collect();
    fn leader(leaders: &mut [usize], mut node: usize) -> usize {
        while leaders[node] != node {
            leaders[node] = leaders[leaders[node]];
            node = leaders[node];
        }
        node
    }
    let mut join = |a: NodeId, b: NodeId| {
        let (a, b) = (leader(&mut leaders, a.0), leader(&mut leaders, b.0));
        leaders[a.max(b)] = a.min(b);
    };
    for link in network.links.iter().filter(|link| link.propagation.picoseconds() == 0 || link.impairment.disturbance.is_some()) {
        join(link.from, link.to);
    }
    if joins_ends {
        let mut neighbours = vec![Neighbours::None; network.nodes.len()];
        let ends = network.links.iter().flat_map(|link| [(link.from, link.to), (link.to, link.from)]);
        ends.for_each(|(node, other)| neighbours[node.0] = neighbours[node.0].and(other));
        for (node, neighbours) in neighbours.into_iter().enumerate() {
            if let Neighbours::One(other) = neighbours {
                join(NodeId(node), other);
            }
        }
    }
    for flow in &network.flows {
        let Source::Tcp(tcp) = &flow.source else { continue };
        if matches!(&tcp.application, Application::Transfers(transfers) if transfers.request.is_some()) {
            let (from, to) = ends(network, flow);
            join(from, to);
        }
    }
    let mut groups = vec![usize::MAX; leaders.len()];
    let mut count = 0;
    for node in 0..leaders.len() {
        let leader = leader(&mut leaders, node);
        // A leader is the first node of its group.
        if leader == node {
            groups[node] = count;
            count += 1;
        }
        groups[node] = groups[leader];
    }
    groups
}

/// The nodes beside a node.
#[derive(Clone, Copy)]
enum Neighbours {
    None,
    One(NodeId),
    Several,
}

impl Neighbours {
    fn and(self, node: NodeId) -> Neighbours {
        match self {
            Neighbours::None => Neighbours::One(node),
            Neighbours::One(known) if known == node => self,
            _ => Neighbours::Several,
        }
    }
}

/// The nodes where the data of a flow starts and ends.
pub(crate) fn ends(network: &Network, flow: &FlowSpec) -> (NodeId, NodeId) {
    let [LinkId(first), LinkId(last)] = [flow.path[0], flow.path[flow.path.len() - 1]];
    (network.links[first].from, network.links[last].to)
}

/// The load of each group of nodes, and the traffic between them.
struct Traffic {
    loads: Vec<f64>,
    /// By group, true if traffic starts there.
    begins: Vec<bool>,
    /// By group, the groups beside it and the packets per second between them, in order.
    beside: Vec<Vec<(usize, f64)>>,
}

impl Traffic {
    fn of(network: &Network, groups: &[usize]) -> Traffic {
        let count = groups.iter().max().map_or(0, |last| last + 1);
        let (mut loads, mut begins) = (vec![0.0; count], vec![false; count]);
        let mut of_link = vec![0.0; network.links.len()];
        let sharing = sharing(network);
        for flow in &network.flows {
            let packets = packets_per_second(network, flow, &sharing);
            let (from, to) = ends(network, flow);
            begins[groups[from.0]] = true;
            loads[groups[from.0]] += packets;
            let back = if let Source::Tcp(tcp) = &flow.source {
                let acknowledgements = if tcp.delayed_ack.is_some() { packets / 2.0 } else { packets };
                loads[groups[to.0]] += packets;
                loads[groups[from.0]] += acknowledgements;
                tcp.reverse_path.iter().map(|link| (link, acknowledgements)).collect()
            } else {
                Vec::new()
            };
            for (link, packets) in flow.path.iter().map(|link| (link, packets)).chain(back) {
                of_link[link.0] += packets;
                loads[groups[network.links[link.0].from.0]] += packets;
            }
        }
        let mut beside = vec![Vec::new(); count];
        for (link, packets) in network.links.iter().zip(of_link) {
            let (from, to) = (groups[link.from.0], groups[link.to.0]);
            if from != to {
                beside[from].push((to, packets));
                beside[to].push((from, packets));
            }
        }
        Traffic { loads, begins, beside }
    }

    /// The part of each group.
    fn divide(&self, parts: usize) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let mut part_of = vec![NONE; self.loads.len()];
        let mut loads = vec![0.0; parts];
        let begins = || (0..part_of.len()).filter(|&group| self.begins[group]).collect::<Vec<_>>();
        let sources = begins();
        let total: f64 = sources.iter().map(|&group| self.loads[group]).sum();
        let mut before = 0.0;
        for group in sources {
            // By the middle of its load.
            let part = ((before + self.loads[group] / 2.0) / total * parts as f64) as usize;
            before += self.loads[group];
            part_of[group] = part.min(parts - 1) as u32;
            loads[part_of[group] as usize] += self.loads[group];
        }
        loop {
            let known = part_of.clone();
            for group in 0..known.len() {
                if known[group] == NONE && self.beside[group].iter().any(|&(other, _)| known[other] != NONE) {
                    let shared = self.shared(group, &known, parts);
                    let better =
                        |a: &usize, b: &usize| shared[*a].total_cmp(&shared[*b]).then(loads[*b].total_cmp(&loads[*a])).then(b.cmp(a));
                    let part = (0..parts).max_by(better).unwrap_or(0);
                    part_of[group] = part as u32;
                    loads[part] += self.loads[group];
                }
            }
            if known == part_of {
                break;
            }
        }
        // No traffic reaches what is left.
        part_of.iter_mut().filter(|part| **part == NONE).for_each(|part| *part = 0);
        self.improve(&mut part_of, &mut loads);
        part_of
    }

    /// The packets per second between a group and each part.
    fn shared(&self, group: usize, part_of: &[u32], parts: usize) -> Vec<f64> {
        let mut shared = vec![0.0; parts];
        for &(other, packets) in &self.beside[group] {
            if let Some(shared) = shared.get_mut(part_of[other] as usize) {
                *shared += packets;
            }
        }
        shared
    }

    /// Moves groups to parts with which they share more traffic, and away from parts with too much load.
    fn improve(&self, part_of: &mut [u32], loads: &mut [f64]) {
        let limit = TOLERANCE * loads.iter().sum::<f64>() / loads.len() as f64;
        for _ in 0..PASSES {
            let mut has_moved = false;
            for group in 0..part_of.len() {
                let (from, load) = (part_of[group] as usize, self.loads[group]);
                let shared = self.shared(group, part_of, loads.len());
                let is_heavy = loads[from] > limit;
                let gains = |to: usize| {
                    let is_lighter = loads[to] + load < loads[from];
                    if is_heavy { is_lighter } else { shared[to] > shared[from] && (loads[to] + load <= limit || is_lighter) }
                };
                let best = (0..loads.len()).filter(|&to| to != from && gains(to)).max_by(|&a, &b| shared[a].total_cmp(&shared[b]));
                if let Some(to) = best {
                    part_of[group] = to as u32;
                    loads[from] -= load;
                    loads[to] += load;
                    has_moved = true;
                }
            }
            if !has_moved {
                return;
            }
        }
    }
}

/// By link, the number of flows that the network drives.
fn sharing(network: &Network) -> Vec<u32> {
    let mut sharing = vec![0; network.links.len()];
    let driven = network.flows.iter().filter(|flow| matches!(flow.source, Source::Tcp(_) | Source::Greedy(_)));
    driven.flat_map(|flow| &flow.path).for_each(|link| sharing[link.0] += 1);
    sharing
}

fn packets_per_second(network: &Network, flow: &FlowSpec, sharing: &[u32]) -> f64 {
    let length = match &flow.source {
        Source::Tcp(tcp) => {
            let Tcp { segment, headers, .. } = **tcp;
            f64::from(segment + headers)
        }
        Source::Greedy(greedy) => f64::from(greedy.length),
        Source::Capture(_) => USUAL_LENGTH,
        source => return source.events_per_second(),
    };
    let share = |link: &LinkId| network.links[link.0].port.rate.bits_per_second() as f64 / f64::from(sharing[link.0].max(1));
    flow.path.iter().map(share).fold(f64::INFINITY, f64::min) / (8.0 * length)
}

#[cfg(test)]
mod tests;
