//! The paths of flows: listed link by link, or the shortest one between two nodes.

use super::Building;
use crate::choice::{EqualPaths, SourceKind};
use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::document::FlowTable;
use crate::value::{At, Block, Name};
use tidegate_sim::routing::Choice;
use tidegate_sim::{LinkId, Network, NodeId};

impl Building<'_> {
    /// The links of a flow's path. `None` if it reports an error.
    pub(super) fn path(&mut self, table: &FlowTable, network: &Network) -> Option<Vec<LinkId>> {
        match (&table.path, &table.from, &table.to) {
            (Some(path), None, None) => self.listed_path(table, path),
            (None, Some(from), Some(to)) => {
                let path = self.shortest_path(from, to, network);
                self.warn_of_alternative(&to.span, path.as_deref(), "packets", "path", network);
                path
            }
            (Some(path), Some(end), _) | (Some(path), _, Some(end)) => {
                let finding = end.error(format!("flow `{}` has a path both ways: by its links and by its ends", table.name.0));
                self.findings.push(finding.context(path.span.clone(), "by its links").help("keep `path`, or `from` and `to`"));
                None
            }
            (None, from, to) => {
                let (span, lacks) = match (from, to) {
                    (Some(from), None) => (from.span.clone(), "lacks `to`, the node where it ends"),
                    (None, Some(to)) => (to.span.clone(), "lacks `from`, the node where it starts"),
                    _ => (table.name.span.clone(), "lacks `from` and `to`, or a `path`"),
                };
                self.findings.push(Diagnostic::error(span, format!("flow `{}` {lacks}", table.name.0)));
                None
            }
        }
    }

    /// The way back of a TCP flow.
    pub(super) fn back(&mut self, table: &FlowTable, path: Option<&[LinkId]>, network: &Network) -> Option<Vec<LinkId>> {
        let kind = &table.source.kind;
        if kind.value != SourceKind::Tcp {
            if let Some(back) = &table.back {
                let finding = back.error(format!("nothing comes back to a {} source", kind.value.name()));
                self.findings.push(finding.context(kind.span.clone(), "chosen here").help("remove `back`"));
            }
            return None;
        }
        let (first, last) = (path?.first()?, path?.last()?);
        let (start, end) = (network.links.get(first.0)?.from, network.links.get(last.0)?.to);
        let (from, to) = (&network.nodes[end.0], &network.nodes[start.0]);
        let Some(listed) = &table.back else {
            let back = self.least(end, start, Choice::First);
            if back.is_none() {
                let finding = table.name.error(format!("no links lead back from `{from}` to `{to}`"));
                self.findings.push(finding.context(kind.span.clone(), "acknowledgements come back as packets").help("add links for them"));
            }
            self.warn_of_alternative(&table.name.span, back.as_deref(), "acknowledgements", "back", network);
            return back;
        };
        let back = self.listed_path(table, listed)?;
        let ends = back.first().zip(back.last()).map(|(first, last)| (network.links[first.0].from, network.links[last.0].to));
        if ends != Some((end, start)) {
            let finding = listed.error("it does not lead back to where the flow starts");
            self.findings.push(finding.help(format!("list links from `{from}` to `{to}`")));
            return None;
        }
        Some(back)
    }

    /// Warns of another path of the same weight: the first in the file is taken.
    fn warn_of_alternative(&mut self, span: &Span, path: Option<&[LinkId]>, what: &str, key: &str, network: &Network) {
        let (Some(path), EqualPaths::First) = (path, self.equal_paths) else { return };
        let Some(other) = self.other(path, network) else { return };
        let names: Vec<String> = path.iter().map(|link| format!("\"{}\"", network.links[link.0].name)).collect();
        let problem = format!("{what} could take another path of the same weight, over `{}`", network.links[other.0].name);
        let finding = Diagnostic::warning(span.clone(), problem);
        self.findings.push(finding.help(format!(
            "the path taken is {key} = [{}]: write it, or the other one, or equal_paths = \"flow\" or \"packet\" in [simulation]",
            names.join(", ")
        )));
    }

    fn shortest_path(&mut self, from: &At<Name>, to: &At<Name>, network: &Network) -> Option<Vec<LinkId>> {
        let start = self.known_node(from, network);
        let end = self.known_node(to, network);
        let (start, end) = (start?, end?);
        if start == end {
            self.findings.push(to.error("a flow ends at another node than it starts").context(from.span.clone(), "it starts here"));
            return None;
        }
        // Paths may be missing because links are.
        let path = self.least(NodeId(start), NodeId(end), Choice::First).filter(|_| self.is_complete);
        if path.is_none() && self.is_complete {
            let finding = to.error(format!("no links lead from `{}` to `{}`", from.0, to.0));
            self.findings.push(
                finding.context(from.span.clone(), "from here").help("links have one direction: add the missing ones, or the one back"),
            );
        }
        path
    }

    /// The path of the least weight.
    pub(super) fn least(&mut self, from: NodeId, to: NodeId, choice: Choice) -> Option<Vec<LinkId>> {
        let graph = self.graph.as_ref()?;
        self.next_hops.entry(to).or_insert_with(|| graph.toward(to, |_| true)).path(graph, from, choice)
    }

    /// A link of another path of the same weight as a path of the least weight.
    fn other(&mut self, path: &[LinkId], network: &Network) -> Option<LinkId> {
        let (from, to) = (network.links[path.first()?.0].from, network.links[path.last()?.0].to);
        let graph = self.graph.as_ref()?;
        self.next_hops.entry(to).or_insert_with(|| graph.toward(to, |_| true)).other_than(graph, from, path)
    }

    fn known_node(&mut self, name: &At<Name>, network: &Network) -> Option<usize> {
        let found = self.node_of.get(&name.0).copied();
        if found.is_none() {
            let finding = name.error(format!("no link starts or ends at a node `{}`", name.0));
            self.findings.push(suggest(finding, &name.0, network.nodes.iter().map(String::as_str), "nodes"));
        }
        found
    }

    fn listed_path(&mut self, table: &FlowTable, path: &Block<Vec<At<Name>>>) -> Option<Vec<LinkId>> {
        if path.value.is_empty() {
            self.findings.push(path.error(format!("the path of flow `{}` is empty", table.name.0)).help("list at least one link"));
            return None;
        }
        let mut links: Vec<(LinkId, &At<Name>)> = Vec::new();
        for name in &path.value {
            let Some(index) = self.file.link.iter().position(|link| link.name.value == name.value) else {
                let finding = name.error(format!("there is no link `{}`", name.0));
                self.findings.push(suggest(finding, &name.0, self.file.link.iter().map(|link| link.name.0.as_str()), "links"));
                return None;
            };
            links.push((LinkId(index), name));
        }
        let mut visited: Vec<&Name> = vec![&self.file.link[links[0].0.0].from.value];
        for (position, &(link, name)) in links.iter().enumerate() {
            let link = &self.file.link[link.0];
            if let Some((before, earlier)) = position.checked_sub(1).map(|before| (&self.file.link[links[before].0.0], links[before].1))
                && before.to.value != link.from.value
            {
                let problem = format!(
                    "the path breaks: `{}` ends at `{}`, but `{}` starts at `{}`",
                    before.name.0, before.to.0, link.name.0, link.from.0
                );
                self.findings.push(name.error(problem).context(earlier.span.clone(), "the link before").help("list links that join up"));
                return None;
            }
            if visited.contains(&&link.to.value) {
                let problem = format!("the path comes back to `{}`", link.to.0);
                self.findings.push(name.error(problem).help("a path passes every node once at most"));
                return None;
            }
            visited.push(&link.to.value);
        }
        self.is_complete.then(|| links.into_iter().map(|(link, _)| link).collect())
    }
}
