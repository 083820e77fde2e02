//! Links that fail and recover, and the paths that flows take from some instants on.
//!
//! While a link is down its port is empty and drops what comes, as [`DropReason::LinkDown`](tidegate_core::packet::DropReason::LinkDown). What is queued,
//! in transmission or on the link at the failure is lost with the same reason.
//!
//! **Routes.** A failure is noticed after its detection time, and so is the recovery: in between routes avoid the link ([`reroutes`]). An outage that ends
//! before it is detected moves no route. A packet keeps the path that held when it set out.
//!
//! **Which path.** A flow keeps those of its first paths that have no failed link. If none is left, it takes shortest paths over the other links, chosen
//! as the first ones were; when its first paths can be used again, it returns to them. So a failure moves no flow but those that cross it.

use crate::id::LinkId;
use crate::network::Network;
use crate::routing::{Choice, NextHops};
use std::collections::HashMap;
use tidegate_core::port::Volume;
use tidegate_core::units::Duration;

/// Links that are down for some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What to call it.
    pub name: String,
    /// The links; each fails and recovers at the same instants.
    pub links: Vec<LinkId>,
    /// When they fail, from the start of the simulation.
    pub at: Duration,
    /// When they recover; `None`: never.
    pub until: Option<Duration>,
    /// How long it takes until routes avoid them, and after the recovery until routes use them again.
    pub detection: Duration,
}

/// The packets of a flow, or what comes back to a TCP connection, take other paths from an instant on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reroute {
    /// The instant, from the start of the simulation.
    pub at: Duration,
    /// The flow, by its place in [`Network::flows`].
    pub flow: usize,
    /// True for what comes back: acknowledgements and requests.
    pub is_back: bool,
    /// The paths. Each packet takes one of them, each with the same probability. Without a path packets are lost where they set out.
    pub paths: Vec<Vec<LinkId>>,
}

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

/// What a failure took from all flows in one replication, warm-up included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailureStatistics {
    /// What was queued at the ports of the links.
    pub queued: Volume,
    /// What was in transmission or on the links.
    pub on_link: Volume,
    /// What came to the ports while the links were down.
    pub arrived: Volume,
}

impl FailureStatistics {
    /// All of it.
    pub fn lost(&self) -> Volume {
        self.queued + self.on_link + self.arrived
    }

    /// The sums of both.
    pub fn plus(self, other: FailureStatistics) -> FailureStatistics {
        FailureStatistics {
            queued: self.queued + other.queued,
            on_link: self.on_link + other.on_link,
            arrived: self.arrived + other.arrived,
        }
    }
}

impl Failure {
    /// From when to when routes avoid its links; `None` if it ends before it is detected.
    pub fn avoided(&self) -> Option<(Duration, Option<Duration>)> {
        let detected = |at: Duration| Duration::from_picoseconds(at.picoseconds().saturating_add(self.detection.picoseconds()));
        let from = detected(self.at);
        match self.until {
            Some(until) if until <= from => None,
            until => Some((from, until.map(detected))),
        }
    }
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
    let mut avoided: Vec<(Duration, bool, &[LinkId])> = Vec::new();
    for failure in &network.failures {
        let Some((from, until)) = failure.avoided() else { continue };
        avoided.push((from, true, &failure.links));
        avoided.extend(until.map(|until| (until, false, &failure.links[..])));
    }
    avoided.sort_by_key(|&(at, fails, _)| (at, fails));
    let graph = network.graph();
    // By link, the number of failures because of which routes avoid it.
    let mut failed = vec![0u32; network.links.len()];
    let mut present: HashMap<usize, Vec<Vec<LinkId>>> = HashMap::new();
    for of_instant in avoided.chunk_by(|a, b| a.0 == b.0) {
        for &(_, fails, links) in of_instant {
            links.iter().for_each(|link| if fails { failed[link.0] += 1 } else { failed[link.0] -= 1 });
        }
        let is_usable = |link: LinkId| failed[link.0] == 0;
        let mut toward: HashMap<usize, NextHops> = HashMap::new();
        for (index, path) in routed.iter().enumerate() {
            let left = || path.paths.iter().filter(|links| links.iter().all(|&link| is_usable(link)));
            let before = present.get(&index).map_or(&path.paths, |paths| paths);
            if !before.is_empty() && left().eq(before) {
                continue;
            }
            let mut paths: Vec<Vec<LinkId>> = left().cloned().collect();
            if let (true, Some((first, last))) = (paths.is_empty(), path.paths[0].first().zip(path.paths[0].last())) {
                let (from, to) = (network.links[first.0].from, network.links[last.0].to);
                let next_hops = toward.entry(to.0).or_insert_with(|| graph.toward(to, is_usable));
                paths = next_hops.choices(&graph, from, path.choice);
            }
            if paths != *before {
                all.push(reroute(of_instant[0].0, path, &paths));
                present.insert(index, paths);
            }
        }
    }
    all
}
