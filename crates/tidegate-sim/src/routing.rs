//! Shortest paths by weight, all next hops of equal cost, and the choice among them.
//!
//! [`Graph::toward`] runs Dijkstra's algorithm once for a destination. The table that results holds, for every node, each link that begins a shortest
//! path. A path is then found in time proportional to its length.
//!
//! **Choice by flow.** With [`Choice::Hash`] each node picks one of its next hops by a hash of the flow and of the node. All packets of a flow
//! take one path, and two nodes choose independently. [`flow_hash`] is stable: it depends on the name and the header of the flow only.
//!
//! **Choice by packet.** With [`Choice::Spread`] a flow has all its shortest paths, up to [`MOST_PATHS`], and every packet takes one of them: random
//! packet spraying. **Source.** Dixit, Prakash, Hu and Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013.

use crate::id::{LinkId, NodeId};
use crate::random::stream_number;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::classifier::{Header, Network as Layer, Transport};

/// The ends and weights of links.
#[derive(Clone, Debug)]
pub struct Graph {
    edges: Vec<Edge>,
    /// The links that end at each node: `into[first[node]..first[node + 1]]`, in the order of the links.
    into: Vec<LinkId>,
    first_into: Vec<u32>,
    /// The links that leave each node, likewise.
    out_of: Vec<LinkId>,
    first_out_of: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: NodeId,
    to: NodeId,
    weight: u32,
}

/// How one of several next hops of equal cost is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The link that comes first in the network.
    First,
    /// By a hash of the flow, [`flow_hash`].
    Hash(u64),
    /// All of them; with more than [`MOST_PATHS`] those that this hash draws.
    Spread(u64),
}

/// How packets use several paths of equal weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EqualPaths {
    /// All take the one whose links come first in the network.
    #[default]
    First,
    /// Those of one flow take one path, by the hash of the flow.
    Flow,
    /// Each packet takes one of up to [`MOST_PATHS`] paths of its flow.
    Packet,
}

impl EqualPaths {
    /// The choice of the flow with this [`flow_hash`].
    pub fn choice(self, hash: u64) -> Choice {
        match self {
            EqualPaths::First => Choice::First,
            EqualPaths::Flow => Choice::Hash(hash),
            EqualPaths::Packet => Choice::Spread(hash),
        }
    }
}

/// The most paths that the packets of one flow are spread over.
pub const MOST_PATHS: usize = 16;

/// The most draws of paths, of which some are the same.
const MOST_DRAWS: u64 = 256;

/// For one destination, the links that begin shortest paths at each node.
#[derive(Clone, Debug)]
pub struct NextHops {
    to: NodeId,
    /// By node; `u64::MAX` where no path leads to the destination.
    distances: Vec<u64>,
    links: Vec<LinkId>,
    first: Vec<u32>,
}

impl Graph {
    /// The graph of links that are given by their ends and weight. A weight of 0 counts as 1, so that no cycle costs nothing. A link with an end that is no
    /// node is left out.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (NodeId, NodeId, u32)>) -> Graph {
        let edges: Vec<Edge> = edges.into_iter().map(|(from, to, weight)| Edge { from, to, weight: weight.max(1) }).collect();
        let is_whole = |edge: &Edge| edge.from.0 < nodes && edge.to.0 < nodes;
        let sorted = |end: fn(&Edge) -> NodeId| {
            let mut first = vec![0u32; nodes + 1];
            edges.iter().filter(|edge| is_whole(edge)).for_each(|edge| first[end(edge).0 + 1] += 1);
            (0..nodes).for_each(|node| first[node + 1] += first[node]);
            let mut links = vec![LinkId(0); first[nodes] as usize];
            let mut next = first.clone();
            for (index, edge) in edges.iter().enumerate().filter(|(_, edge)| is_whole(edge)) {
                let place = &mut next[end(edge).0];
                links[*place as usize] = LinkId(index);
                *place += 1;
            }
            (links, first)
        };
        let (into, first_into) = sorted(|edge| edge.to);
        let (out_of, first_out_of) = sorted(|edge| edge.from);
        Graph { edges, into, first_into, out_of, first_out_of }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.first_into.len() - 1
    }

    /// The next hops toward a node over the links that `is_usable` admits.
    pub fn toward(&self, to: NodeId, is_usable: impl Fn(LinkId) -> bool) -> NextHops {
        let nodes = self.nodes();
        let mut distances = vec![u64::MAX; nodes];
        let mut waiting = BinaryHeap::new();
        if to.0 < nodes {
            distances[to.0] = 0;
            waiting.push(Reverse((0u64, to.0)));
        }
        while let Some(Reverse((distance, node))) = waiting.pop() {
            if distance > distances[node] {
                continue;
            }
            for &link in &self.into[self.first_into[node] as usize..self.first_into[node + 1] as usize] {
                let edge = self.edges[link.0];
                let longer = distance + u64::from(edge.weight);
                if longer < distances[edge.from.0] && is_usable(link) {
                    distances[edge.from.0] = longer;
                    waiting.push(Reverse((longer, edge.from.0)));
                }
            }
        }
        let mut links = Vec::new();
        let mut first = vec![0u32; nodes + 1];
        for node in 0..nodes {
            for &link in &self.out_of[self.first_out_of[node] as usize..self.first_out_of[node + 1] as usize] {
                let edge = self.edges[link.0];
                let behind = distances[edge.to.0];
                if behind != u64::MAX && behind + u64::from(edge.weight) == distances[node] && is_usable(link) {
                    links.push(link);
                }
            }
            first[node + 1] = links.len() as u32;
        }
        NextHops { to, distances, links, first }
    }
}

impl NextHops {
    /// The links that begin a shortest path at a node, in the order of the network; none at the destination, and where no path leads to it.
    pub fn of(&self, node: NodeId) -> &[LinkId] {
        match (self.first.get(node.0), self.first.get(node.0 + 1)) {
            (Some(&first), Some(&end)) => &self.links[first as usize..end as usize],
            _ => &[],
        }
    }

    /// The sum of the weights on a shortest path from a node; `None` if there is no path.
    pub fn distance(&self, node: NodeId) -> Option<u64> {
        self.distances.get(node.0).copied().filter(|&distance| distance != u64::MAX)
    }

    /// By node, the number of its shortest paths, at most [`u64::MAX`].
    pub fn counts(&self, graph: &Graph) -> Vec<u64> {
        let mut nodes: Vec<usize> = (0..graph.nodes()).filter(|&node| self.distance(NodeId(node)).is_some()).collect();
        nodes.sort_by_key(|&node| self.distances[node]);
        let mut counts = vec![0u64; graph.nodes()];
        for node in nodes {
            let behind = self.of(NodeId(node)).iter().map(|link| counts[graph.edges[link.0].to.0]);
            counts[node] = if node == self.to.0 { 1 } else { behind.fold(0, u64::saturating_add) };
        }
        counts
    }

    /// The shortest paths that a choice makes: one at most, but for [`Choice::Spread`]. None if there is no path, or if the node is the destination.
    pub fn choices(&self, graph: &Graph, from: NodeId, choice: Choice) -> Vec<Vec<LinkId>> {
        let Choice::Spread(hash) = choice else { return self.path(graph, from, choice).into_iter().collect() };
        if from == self.to {
            return Vec::new();
        }
        let all = self.paths(graph, from, MOST_PATHS + 1);
        if all.len() <= MOST_PATHS {
            return all;
        }
        // The first in order have their first links in common; those that are drawn do not. 16 of 17 are drawn within 55 on average.
        let mut drawn: Vec<Vec<LinkId>> = Vec::new();
        for number in 0..MOST_DRAWS {
            let path = self.path(graph, from, Choice::Hash(mix(hash ^ mix(number))));
            drawn.extend(path.filter(|path| !drawn.contains(path)));
            if drawn.len() == MOST_PATHS {
                break;
            }
        }
        drawn
    }

    /// A shortest path from a node. `None` if there is none, or if the node is the destination.
    pub fn path(&self, graph: &Graph, from: NodeId, choice: Choice) -> Option<Vec<LinkId>> {
        let mut path = Vec::new();
        let mut node = from;
        while node != self.to {
            let links = self.of(node);
            let index = match choice {
                Choice::First => 0,
                Choice::Hash(hash) | Choice::Spread(hash) => choose(hash, node, links.len()),
            };
            let link = *links.get(index)?;
            path.push(link);
            node = graph.edges[link.0].to;
        }
        (!path.is_empty()).then_some(path)
    }

    /// The first `most` shortest paths from a node, in lexicographic order of their links.
    pub fn paths(&self, graph: &Graph, from: NodeId, most: usize) -> Vec<Vec<LinkId>> {
        let mut found = Vec::new();
        let mut path = Vec::new();
        // For each node of the path so far, the number of its next hops that have been tried.
        let mut tried = vec![0];
        let mut node = from;
        while found.len() < most {
            let next = tried.last().and_then(|&tried: &usize| self.of(node).get(tried).copied());
            match next {
                Some(link) => {
                    path.push(link);
                    node = graph.edges[link.0].to;
                    if node != self.to {
                        tried.push(0);
                        continue;
                    }
                    found.push(path.clone());
                    path.pop();
                }
                None => {
                    tried.pop();
                    if path.pop().is_none() {
                        break;
                    }
                }
            }
            node = path.last().map_or(from, |link| graph.edges[link.0].to);
            if let Some(tried) = tried.last_mut() {
                *tried += 1;
            }
        }
        found
    }

    /// The first link in the network that is on a shortest path from `from` but not on `path`.
    pub fn other_than(&self, graph: &Graph, from: NodeId, path: &[LinkId]) -> Option<LinkId> {
        let mut is_reached = vec![false; graph.nodes()];
        let mut waiting = vec![from];
        let mut least: Option<LinkId> = None;
        while let Some(node) = waiting.pop() {
            for &link in self.of(node) {
                if !path.contains(&link) {
                    least = Some(least.map_or(link, |least| least.min(link)));
                }
                let to = graph.edges[link.0].to;
                if !std::mem::replace(&mut is_reached[to.0], true) {
                    waiting.push(to);
                }
            }
        }
        least
    }
}

/// The hash of a flow: of its name, and of the addresses, the protocol and the ports of its header. It is the same on every machine and in every version.
pub fn flow_hash(name: &str, header: &Header) -> u64 {
    let ports = |transport: &Transport| {
        let (source, destination) = transport.ports.unwrap_or_default();
        u64::from(source) << 16 | u64::from(destination) | u64::from(transport.protocol) << 32
    };
    let halves = |address: u128| [address as u64, (address >> 64) as u64];
    let hash = stream_number(name);
    match &header.network {
        Layer::V4 { source, destination, transport } => {
            [u64::from(*source) << 32 | u64::from(*destination), ports(transport)].iter().fold(hash, |h, &w| mix(h ^ w))
        }
        Layer::V6 { source, destination, transport } => {
            let [[a, b], [c, d]] = [halves(*source), halves(*destination)];
            [a, b, c, d, ports(transport)].iter().fold(hash, |h, &w| mix(h ^ w))
        }
        _ => mix(hash),
    }
}

/// The number, below `count`, of the next hop that a flow of this hash takes at a node; 0 if there is none.
pub fn choose(hash: u64, node: NodeId, count: usize) -> usize {
    let drawn = mix(hash ^ mix(node.0 as u64));
    ((u128::from(drawn) * count as u128) >> 64) as usize
}

/// The number, below `count`, of the path that a packet takes: of this number among those of a flow that draws by this hash.
pub fn choose_path(hash: u64, packet: u64, count: u32) -> u32 {
    let drawn = mix(hash ^ mix(packet));
    ((u128::from(drawn) * u128::from(count)) >> 64) as u32
}

/// The output function of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
