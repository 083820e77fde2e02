//! The links that fail, and the paths that flows take then.

use super::{Building, report_duplicates};
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::FailureTable;
use crate::value::Block;
use tidegate_core::units::Duration;
use tidegate_sim::rerouting::reroutes;
use tidegate_sim::routing::Choice;
use tidegate_sim::{Failure, LinkId, Network, NodeId, RoutedPath};

/// The time until routes avoid a link, where the file does not say: what networks that protect their links are built for.
const DETECTION: Duration = Duration::from_milliseconds(50);
/// What is behind the name of a duplex link in that of its other direction.
const BACK: &str = "-back";

impl Building<'_> {
    /// Puts failures into a network that has its flows, and the paths that flows take because of them.
    pub(super) fn failures(&mut self, network: &mut Network, end: Duration) {
        report_duplicates(self.file.failure.iter().filter_map(|table| table.name.as_ref()), "failure", self.findings);
        for table in &self.file.failure {
            match failure(table, network) {
                Ok(failure) => {
                    if failure.at >= end {
                        self.findings.push(table.at.warning("this failure comes after the end of the simulation"));
                    }
                    network.failures.push(failure);
                }
                // Links may be missing because of errors in their policies.
                Err(finding) if self.is_complete => self.findings.push(finding),
                Err(_) => {}
            }
        }
        network.reroutes = reroutes(network, &self.routed);
    }

    /// The first path between two nodes by a choice. The others are kept, and so is what has to be found again when links fail.
    pub(super) fn routed(&mut self, flow: usize, is_back: bool, (from, to): (NodeId, NodeId), choice: Choice) -> Vec<LinkId> {
        let Some(graph) = &self.graph else { return Vec::new() };
        let paths = self.next_hops.entry(to).or_insert_with(|| graph.toward(to, |_| true)).choices(graph, from, choice);
        let first = paths.first().cloned().unwrap_or_default();
        if paths.len() > 1 || !paths.is_empty() && !self.file.failure.is_empty() {
            self.routed.push(RoutedPath { flow, is_back, choice, paths });
        }
        first
    }
}

fn failure(table: &Block<FailureTable>, network: &Network) -> Result<Failure, Diagnostic> {
    let (what, links) = match (&table.link, &table.node) {
        (Some(name), None) => {
            let Some(link) = network.links.iter().position(|link| link.name == name.0) else {
                let finding = name.error(format!("there is no link `{}`", name.0));
                return Err(suggest(finding, &name.0, network.links.iter().map(|link| link.name.as_str()), "links"));
            };
            let other = other_direction(network, link);
            (name, std::iter::once(link).chain(other).map(LinkId).collect())
        }
        (None, Some(name)) => {
            let Some(node) = network.nodes.iter().position(|node| *node == name.0) else {
                let finding = name.error(format!("no link starts or ends at a node `{}`", name.0));
                return Err(suggest(finding, &name.0, network.nodes.iter().map(String::as_str), "nodes"));
            };
            let links = network.links.iter().enumerate().filter(|(_, link)| link.from == NodeId(node) || link.to == NodeId(node));
            (name, links.map(|(index, _)| LinkId(index)).collect())
        }
        (Some(link), Some(node)) => {
            let finding = node.error("a failure of a link and of a node at once").context(link.span.clone(), "the link");
            return Err(finding.help("keep `link` or `node`, and write another [[failure]] for the other"));
        }
        (None, None) => return Err(table.error("the failure lacks a `link` or a `node`").help("write link = \"NAME\" or node = \"NAME\"")),
    };
    let (at, until) = (table.at.value, table.until.as_ref());
    if let Some(until) = until.filter(|until| until.value <= at) {
        let finding = until.error("it would recover before it fails").context(table.at.span.clone(), "it fails here");
        return Err(finding.help("write a later `until`, or remove it"));
    }
    let name = table.name.as_ref().unwrap_or(what).0.clone();
    let detection = table.detection.as_ref().map_or(DETECTION, |at| at.value);
    Ok(Failure { name, links, at, until: until.map(|until| until.value), detection })
}

/// The link in the other direction of a duplex link, or of a link that is named after its ends.
fn other_direction(network: &Network, link: usize) -> Option<usize> {
    let this = &network.links[link];
    let (from, to) = (&network.nodes[this.from.0], &network.nodes[this.to.0]);
    // Of several links between two nodes the names end in numbers.
    let after_its_ends = this.name.strip_prefix(&format!("{from}:{to}")).map(|number| format!("{to}:{from}{number}"));
    let names = [Some(format!("{}{BACK}", this.name)), this.name.strip_suffix(BACK).map(str::to_owned), after_its_ends];
    let is_back = |other: &&str| network.links.iter().any(|link| link.name == **other && (link.from, link.to) == (this.to, this.from));
    let name = names.iter().flatten().map(String::as_str).find(is_back)?;
    network.links.iter().position(|link| link.name == name)
}
