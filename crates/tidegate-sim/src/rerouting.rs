//! The paths that flows take when links fail and recover: [`crate::failure`] has the rules.

use crate::failure::Reroute;
use crate::id::LinkId;
use crate::network::Network;
use crate::routing::{Choice, NextHops};
use std::collections::HashMap;
use tidegate_core::units::Duration;

/// A path that is found by its ends, and is found again when links fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutedPath {
    /// The flow, by its place in [`Network::flows`].
    pub flow: usize,
    /// True for what comes back to a TCP connection.
    pub is_back: bool,
    /// How one of several equal paths is chosen.
    pub choice: Choice,
    /// The paths that it takes while no link has failed, at least one.
    pub paths: Vec<Vec<LinkId>>,
}

/// What routes avoid from each instant on at which that changes: by link, true if they do.
pub(crate) fn avoided(network: &Network) -> Vec<(Duration, Vec<bool>)> {
    let mut changes: Vec<(Duration, bool, &[LinkId])> = Vec::new();
    for failure in &network.failures {
        let Some((from, until)) = failure.avoided() else { continue };
        changes.push((from, true, &failure.links));
        changes.extend(until.map(|until| (until, false, &failure.links[..])));
    }
    changes.sort_by_key(|&(at, fails, _)| (at, fails));
    // By link, the number of failures because of which routes avoid it.
    let mut failed = vec![0u32; network.links.len()];
    let of_instant = |of_instant: &[(Duration, bool, &[LinkId])]| {
        for &(_, fails, links) in of_instant {
            links.iter().for_each(|link| if fails { failed[link.0] += 1 } else { failed[link.0] -= 1 });
        }
        (of_instant[0].0, failed.iter().map(|&failures| failures > 0).collect())
    };
    changes.chunk_by(|a, b| a.0 == b.0).map(of_instant).collect()
}

/// Those of a flow's first paths that have no failed link, or others if none is left.
pub(crate) fn left(
    first: &[Vec<LinkId>],
    is_usable: impl Fn(LinkId) -> bool,
    others: impl FnOnce() -> Vec<Vec<LinkId>>,
) -> Vec<Vec<LinkId>> {
    let left: Vec<Vec<LinkId>> = first.iter().filter(|path| path.iter().all(|&link| is_usable(link))).cloned().collect();
    if left.is_empty() { others() } else { left }
}

/// The paths that flows take because of the network's failures, in the order of their instants. Paths that are several from the start are there too, at
/// the start.
pub fn reroutes(network: &Network, routed: &[RoutedPath]) -> Vec<Reroute> {
    let reroute = |at: Duration, path: &RoutedPath, paths: &[Vec<LinkId>]| Reroute {
        at,
        flow: path.flow,
        is_back: path.is_back,
        paths: paths.to_vec(),
    };
    let several = routed.iter().filter(|path| path.paths.len() > 1);
    let mut all: Vec<Reroute> = several.map(|path| reroute(Duration::ZERO, path, &path.paths)).collect();
    let graph = network.graph();
    let mut present: HashMap<usize, Vec<Vec<LinkId>>> = HashMap::new();
    for (at, avoided) in avoided(network) {
        let is_usable = |link: LinkId| !avoided[link.0];
        let mut toward: HashMap<usize, NextHops> = HashMap::new();
        for (index, path) in routed.iter().enumerate() {
            if !present.contains_key(&index) && path.paths.iter().flatten().all(|&link| is_usable(link)) {
                continue;
            }
            let before = present.get(&index).map_or(&path.paths, |paths| paths);
            let paths = left(&path.paths, is_usable, || {
                let Some((first, last)) = path.paths[0].first().zip(path.paths[0].last()) else { return Vec::new() };
                let (from, to) = (network.links[first.0].from, network.links[last.0].to);
                let next_hops = toward.entry(to.0).or_insert_with(|| graph.toward(to, is_usable));
                next_hops.choices(&graph, from, path.choice)
            });
            if paths != *before {
                all.push(reroute(at, path, &paths));
                present.insert(index, paths);
            }
        }
    }
    all
}
