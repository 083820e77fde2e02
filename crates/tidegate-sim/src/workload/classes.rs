//! The classes that packets of a workload's connections may have at each port, whatever their hosts and ports are, and where they may wait.

use super::Workload;
use super::reach::{Reach, weights};
use crate::error::{Problem, Subject};
use crate::id::{LinkId, NodeId};
use crate::network::Network;
use crate::route::{Routes, reversed};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::classifier::{Classifier, Header, Rule};

/// The classes of packets with this header for some addresses and ports, in order.
fn possible(classifier: &Classifier, header: &Header) -> Vec<usize> {
    let mut classes = Vec::new();
    for (class, rule) in classifier.rules() {
        // What differs from packet to packet, and exceptions, may hold or not.
        let (source, destination, source_port, destination_port, length, ecn) = (None, None, None, None, None, None);
        let of_all = Rule { source, destination, source_port, destination_port, length, ecn, not: Vec::new(), ..rule.clone() };
        if of_all.matches(header) {
            classes.push(class);
            if of_all == rule {
                return classes;
            }
        }
    }
    classes.push(classifier.classes().len() - 1);
    classes
}

/// A link, and a class of its port.
pub(crate) type Place = (LinkId, usize);

/// Where packets of these workloads may wait, with the place before, if there is one. Each once.
pub(crate) fn waiting(network: &Network, workloads: &[Workload], reach: &Reach) -> BTreeSet<(Place, Option<Place>)> {
    let mut all = BTreeSet::new();
    for workload in workloads {
        for is_back in [false, true] {
            let header = if is_back { reversed(&workload.header) } else { workload.header };
            // By link, the links before it, or none.
            let mut before: BTreeMap<LinkId, BTreeSet<Option<LinkId>>> = BTreeMap::new();
            for (from, to, _) in weights(workload, is_back) {
                behind(network, reach, (&from, to), &mut before);
            }
            let classes = |link: LinkId| possible(&network.links[link.0].port.classifier, &header);
            for (&link, links_before) in &before {
                for class in classes(link) {
                    for before in links_before {
                        match before {
                            None => all.extend([((link, class), None)]),
                            Some(before) => all.extend(classes(*before).into_iter().map(|came| ((link, class), Some((*before, came))))),
                        }
                    }
                }
            }
        }
    }
    all
}

/// Checks that no packet of a connection comes in a class in which calls have queues of their own: a call takes its queue along when it leaves.
///
/// # Errors
/// The first [`Problem`].
pub fn check_calls(network: &Network, reach: &Reach) -> Result<(), Problem> {
    if network.calls.is_empty() {
        return Ok(());
    }
    let classes = Routes::of(network).classes(network);
    let of_calls = network.calls.iter().flat_map(|calls| &calls.flows).flat_map(|&flow| &classes[flow]);
    let taken: BTreeSet<Place> = of_calls.filter(|(link, _)| network.links[link.0].admission.is_some()).copied().collect();
    for (index, workload) in network.workloads.iter().enumerate() {
        let places = waiting(network, std::slice::from_ref(workload), reach);
        if let Some(((LinkId(link), class), _)) = places.iter().find(|(place, _)| taken.contains(place)) {
            let (class, link) = (&network.links[*link].port.classifier.classes()[*class].name, &network.links[*link].name);
            let problem = format!("its packets may come in class `{class}` at link {link}, whose queues are those of calls");
            let expected = "a header, or rules of classes, by which they have another class".into();
            return Err(Problem { subject: Subject::Workload(index), name: workload.name.clone(), key: "header", problem, expected });
        }
    }
    Ok(())
}

/// Adds the links on shortest paths to a node, each with those before it.
fn behind(network: &Network, reach: &Reach, (from, to): (&[NodeId], NodeId), before: &mut BTreeMap<LinkId, BTreeSet<Option<LinkId>>>) {
    let Some(next_hops) = reach.toward(to) else { return };
    let mut is_reached = vec![false; network.nodes.len()];
    let mut waiting: Vec<NodeId> = Vec::new();
    for &start in from.iter().filter(|&&start| start != to) {
        next_hops.of(start).iter().for_each(|&link| before.entry(link).or_default().extend([None]));
        if !std::mem::replace(&mut is_reached[start.0], true) {
            waiting.push(start);
        }
    }
    while let Some(node) = waiting.pop() {
        for &link in next_hops.of(node) {
            let next = network.links[link.0].to;
            next_hops.of(next).iter().for_each(|&behind| before.entry(behind).or_default().extend([Some(link)]));
            if !std::mem::replace(&mut is_reached[next.0], true) {
                waiting.push(next);
            }
        }
    }
}
