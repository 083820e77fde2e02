//! The paths that connections of workloads take while routes avoid some links.
//!
//! A connection keeps those of its first paths that are left. If none is left it takes shortest paths over the other links, chosen as the first ones were.
//! So its paths depend on its header and on the links that routes avoid at the instant, and not on when it arrived.

use super::Workload;
use super::reach::Reach;
use crate::id::{LinkId, NodeId};
use crate::rerouting::left;
use crate::routing::{NextHops, flow_hash};
use std::collections::HashMap;
use tidegate_core::classifier::Header;

pub(crate) struct Detours<'a> {
    reach: &'a Reach,
    /// By link, true if routes avoid it; empty before the first failure.
    avoided: &'a [bool],
    /// The next hops over the other links, by the node where they lead. Few connections need them, so each is found when it is needed first.
    toward: HashMap<NodeId, NextHops>,
}

impl<'a> Detours<'a> {
    pub(crate) fn new(reach: &'a Reach) -> Detours<'a> {
        Detours { reach, avoided: &[], toward: HashMap::new() }
    }

    /// Routes avoid these links from now on, and no others.
    pub(crate) fn avoid(&mut self, links: &'a [bool]) {
        self.avoided = links;
        self.toward.clear();
    }

    /// The first paths of packets with this header, which a failure does not change.
    pub(crate) fn first(&self, workload: &Workload, header: &Header, ends: (NodeId, NodeId)) -> Vec<Vec<LinkId>> {
        self.reach.paths(workload, header, ends)
    }

    /// The present paths of packets with this header and these first paths. Empty if none is left.
    pub(crate) fn present(
        &mut self,
        workload: &Workload,
        header: &Header,
        (from, to): (NodeId, NodeId),
        first: Vec<Vec<LinkId>>,
    ) -> Vec<Vec<LinkId>> {
        let Detours { reach, avoided, toward } = self;
        let is_usable = |link: LinkId| !avoided.get(link.0).copied().unwrap_or(false);
        if first.iter().flatten().all(|&link| is_usable(link)) {
            return first;
        }
        left(&first, is_usable, || {
            let next_hops = toward.entry(to).or_insert_with(|| reach.graph.toward(to, is_usable));
            next_hops.choices(&reach.graph, from, workload.equal_paths.choice(flow_hash(&workload.name, header)))
        })
    }
}
