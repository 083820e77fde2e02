//! Shortest paths, beside slow models, and how hashes spread flows.

use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use tidegate_core::classifier::{Header, Network as Layer, Transport};
use tidegate_sim::routing::{Choice, Graph, choose, flow_hash};
use tidegate_sim::{LinkId, NodeId};

type Edges = Vec<(usize, usize, u32)>;

fn graph(nodes: usize, edges: &Edges) -> Graph {
    Graph::new(nodes, edges.iter().map(|&(from, to, weight)| (NodeId(from), NodeId(to), weight)))
}

/// Every simple path from one node to another with its weight.
fn all_paths(edges: &Edges, from: usize, to: usize) -> Vec<(u64, Vec<LinkId>)> {
    fn go(edges: &Edges, at: usize, to: usize, path: &mut Vec<LinkId>, seen: &mut Vec<usize>, found: &mut Vec<(u64, Vec<LinkId>)>) {
        if at == to && !path.is_empty() {
            return found.push((path.iter().map(|link| u64::from(edges[link.0].2)).sum(), path.clone()));
        }
        for (index, edge) in edges.iter().enumerate() {
            if edge.0 != at || seen.contains(&edge.1) {
                continue;
            }
            path.push(LinkId(index));
            seen.push(edge.1);
            go(edges, edge.1, to, path, seen, found);
            path.pop();
            seen.pop();
        }
    }
    let mut found = Vec::new();
    go(edges, from, to, &mut Vec::new(), &mut vec![from], &mut found);
    found
}

/// Breadth-first search from the start: the path with the fewest links, the first in the order of links among equals.
fn breadth_first(nodes: usize, edges: &Edges, from: usize, to: usize) -> Option<Vec<LinkId>> {
    let mut reached_by = vec![None; nodes];
    let mut waiting = VecDeque::from([from]);
    while let Some(node) = waiting.pop_front() {
        for (index, edge) in edges.iter().enumerate() {
            if edge.0 == node && edge.1 != from && reached_by[edge.1].is_none() {
                reached_by[edge.1] = Some(LinkId(index));
                waiting.push_back(edge.1);
            }
        }
    }
    let (mut path, mut at) = (Vec::new(), to);
    while at != from {
        let link = reached_by[at]?;
        path.push(link);
        at = edges[link.0].0;
    }
    path.reverse();
    (!path.is_empty()).then_some(path)
}

fn networks(weights: std::ops::Range<u32>) -> impl Strategy<Value = (usize, Edges)> {
    (2usize..7).prop_flat_map(move |nodes| {
        let edge = (0..nodes, 0..nodes, weights.clone()).prop_filter("a link has two ends", |edge| edge.0 != edge.1);
        (Just(nodes), prop::collection::vec(edge, 0..16))
    })
}

proptest! {
    #[test]
    fn the_shortest_of_all_paths_are_found((nodes, edges) in networks(1..4), hash: u64, failed in 0usize..16) {
        let graph = graph(nodes, &edges);
        for is_whole in [true, false] {
            let is_usable = |link: LinkId| is_whole || link.0 != failed;
            for to in 0..nodes {
                let table = graph.toward(NodeId(to), is_usable);
                for from in (0..nodes).filter(|&from| from != to) {
                    let mut paths = all_paths(&edges, from, to);
                    paths.retain(|(_, path)| path.iter().all(|&link| is_usable(link)));
                    let least = paths.iter().map(|path| path.0).min();
                    let mut shortest: Vec<Vec<LinkId>> =
                        paths.into_iter().filter(|path| Some(path.0) == least).map(|path| path.1).collect();
                    shortest.sort();
                    prop_assert_eq!(table.distance(NodeId(from)), least);
                    prop_assert_eq!(table.path(&graph, NodeId(from), Choice::First), shortest.first().cloned());
                    let hashed = table.path(&graph, NodeId(from), Choice::Hash(hash));
                    prop_assert_eq!(hashed.is_some(), least.is_some());
                    prop_assert!(hashed.is_none_or(|path| shortest.contains(&path)));
                    prop_assert_eq!(&table.paths(&graph, NodeId(from), 1000), &shortest);
                    prop_assert_eq!(table.paths(&graph, NodeId(from), 2), shortest.iter().take(2).cloned().collect::<Vec<_>>());
                    if let Some(first) = shortest.first() {
                        let links: BTreeSet<LinkId> = shortest.iter().flatten().copied().collect();
                        let other = links.into_iter().find(|link| !first.contains(link));
                        prop_assert_eq!(table.other_than(&graph, NodeId(from), first), other);
                    }
                }
            }
        }
    }

    /// Files without weights keep the paths that they had.
    #[test]
    fn without_weights_the_first_path_is_that_of_breadth_first_search((nodes, edges) in networks(1..2)) {
        let graph = graph(nodes, &edges);
        for to in 0..nodes {
            let table = graph.toward(NodeId(to), |_| true);
            for from in (0..nodes).filter(|&from| from != to) {
                prop_assert_eq!(table.path(&graph, NodeId(from), Choice::First), breadth_first(nodes, &edges, from, to));
            }
        }
    }
}

fn header(source: u32, port: u16) -> Header {
    let transport = Transport { protocol: 6, ports: Some((port, 80)), ..Transport::default() };
    Header { network: Layer::V4 { source, destination: 0xc000_0201, transport }, ..Header::default() }
}

#[test]
fn a_hash_spreads_flows_evenly_and_nodes_choose_independently() {
    let (mut counts, mut pairs) = ([0u32; 8], [[0u32; 8]; 8]);
    for flow in 0..64_000u32 {
        let hash = flow_hash("flow", &header(flow % 1000, (flow / 1000) as u16));
        let (one, two) = (choose(hash, NodeId(1), 8), choose(hash, NodeId(2), 8));
        counts[one] += 1;
        pairs[one][two] += 1;
    }
    // The standard deviations are 84 and 31.4.
    assert!(counts.iter().all(|count| count.abs_diff(8000) < 5 * 84), "{counts:?}");
    assert!(pairs.iter().flatten().all(|count| count.abs_diff(1000) < 5 * 32), "{pairs:?}");
    assert_eq!(choose(7, NodeId(0), 0), 0);
}

#[test]
fn the_hash_of_a_flow_reads_its_name_addresses_and_ports() {
    let base = flow_hash("a", &header(1, 1));
    assert_eq!(base, flow_hash("a", &header(1, 1)));
    let others = [flow_hash("b", &header(1, 1)), flow_hash("a", &header(2, 1)), flow_hash("a", &header(1, 2))];
    assert!(others.iter().all(|&other| other != base));
}
