//! Which flows come over which edge, and the order in which servers can be computed.

use super::model::Network;
use std::collections::HashMap;

/// The flows that one server sends to the next, or that enter the network at one.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// The server before it; `None` where flows enter.
    pub(super) from: Option<usize>,
    /// The server behind it.
    pub(super) to: usize,
    /// Its flows, and which server of the flow's path is behind the edge.
    pub(super) flows: Vec<(usize, usize)>,
}

/// The edges of a network.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) edges: Vec<Edge>,
    /// The edges into each server.
    pub(super) into: Vec<Vec<usize>>,
    /// For each flow and hop the edge into it.
    pub(super) edge_of: Vec<Vec<usize>>,
    /// The servers in an order in which each comes after those that it depends on; `None` if there is a cycle.
    pub(super) order: Option<Vec<usize>>,
}

impl Layout {
    pub(super) fn new(network: &Network) -> Layout {
        let mut edges: Vec<Edge> = Vec::new();
        let mut numbers: HashMap<(Option<usize>, usize), usize> = HashMap::new();
        let mut edge_of = Vec::with_capacity(network.flows.len());
        for (number, flow) in network.flows.iter().enumerate() {
            let mut from = None;
            let mut own = Vec::with_capacity(flow.path.len());
            for (hop, &to) in flow.path.iter().enumerate() {
                let edge = *numbers.entry((from, to)).or_insert_with(|| {
                    edges.push(Edge { from, to, flows: Vec::new() });
                    edges.len() - 1
                });
                edges[edge].flows.push((number, hop));
                own.push(edge);
                from = Some(to);
            }
            edge_of.push(own);
        }
        let mut into = vec![Vec::new(); network.servers.len()];
        for (number, edge) in edges.iter().enumerate() {
            into[edge.to].push(number);
        }
        let order = order(network, &edges, &into);
        Layout { edges, into, edge_of, order }
    }
}

/// A topological order by Kahn's algorithm: a server depends on those before it, and on those before its related servers.
fn order(network: &Network, edges: &[Edge], into: &[Vec<usize>]) -> Option<Vec<usize>> {
    let count = network.servers.len();
    let (mut after, mut missing) = (vec![Vec::new(); count], vec![0usize; count]);
    for (server, parameters) in network.servers.iter().enumerate() {
        let related = parameters.related().into_iter().chain([server]);
        let mut before: Vec<usize> = related.flat_map(|other| into[other].iter().filter_map(|&edge| edges[edge].from)).collect();
        before.sort_unstable();
        before.dedup();
        for &other in &before {
            after[other].push(server);
        }
        missing[server] = before.len();
    }
    let mut order: Vec<usize> = (0..count).filter(|&server| missing[server] == 0).collect();
    let mut done = 0;
    while let Some(&server) = order.get(done) {
        done += 1;
        for &next in &after[server] {
            missing[next] -= 1;
            if missing[next] == 0 {
                order.push(next);
            }
        }
    }
    (order.len() == count).then_some(order)
}
