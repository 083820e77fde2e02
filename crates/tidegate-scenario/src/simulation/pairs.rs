//! Flows of one table between many nodes: `pairs`, and which of the paths of equal weight each takes.

use super::Building;
use crate::choice::Pairs;
use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::document::FlowTable;
use crate::text::matches_pattern;
use crate::units::plural;
use crate::value::{At, Name};
use tidegate_core::classifier::Header;
use tidegate_sim::random::Stream;
use tidegate_sim::routing::{Choice, flow_hash};
use tidegate_sim::{LinkId, Network, NodeId, Source, reversed};

/// Start and end of a flow.
pub(super) type Ends = (NodeId, NodeId);

impl Building<'_> {
    /// Start and end of each flow of a table with `pairs`. `None` if it reports an error.
    pub(super) fn pairs(&mut self, table: &FlowTable, network: &Network, seed: u64) -> Option<Vec<Ends>> {
        let found = self.find_pairs(table, network, seed);
        let pairs = found.map_err(|finding| self.findings.push(finding)).ok()?;
        // Paths may be missing because links are.
        if !self.is_complete {
            return None;
        }
        let is_tcp = table.source.kind.value == crate::choice::SourceKind::Tcp;
        for &(from, to) in &pairs {
            for (from, to) in [Some((from, to)), is_tcp.then_some((to, from))].into_iter().flatten() {
                if self.least(from, to, Choice::First).is_none() {
                    let (from, to) = (&network.nodes[from.0], &network.nodes[to.0]);
                    let finding = table.name.error(format!("no links lead from `{from}` to `{to}`"));
                    self.findings.push(finding.help("links have one direction: add the missing ones, or write other patterns"));
                    return None;
                }
            }
        }
        Some(pairs)
    }

    fn find_pairs(&mut self, table: &FlowTable, network: &Network, seed: u64) -> Result<Vec<Ends>, Diagnostic> {
        let Some(pairs) = &table.pairs else { return Ok(Vec::new()) };
        let others: [(&str, Option<Span>); 5] = [
            ("path", table.path.as_ref().map(|key| key.span.clone())),
            ("back", table.back.as_ref().map(|key| key.span.clone())),
            ("calls", table.calls.as_ref().map(|key| key.span.clone())),
            ("tag", table.tag.as_ref().map(|key| key.span.clone())),
            ("shape", table.shape.as_ref().map(|key| key.span.clone())),
        ];
        if let Some((key, Some(span))) = others.into_iter().find(|(_, span)| span.is_some()) {
            let finding = Diagnostic::error(span, format!("`{key}` is for flows of one path, and `pairs` gives each its own"));
            return Err(finding.context(pairs.span.clone(), "chosen here").help(format!("remove `{key}`, or `pairs`")));
        }
        let Some(from) = &table.from else {
            let finding = pairs.error(format!("flow `{}` lacks `from`, the nodes where its flows start", table.name.0));
            return Err(finding.help("write a pattern, like from = \"dc-host-*\""));
        };
        let to = table.to.as_ref().unwrap_or(from);
        let (starts, ends) = (nodes(from, network)?, nodes(to, network)?);
        let count = table.count.as_ref().map(|at| at.value.0 as usize);
        let mut stream = Stream::new(seed, 0, &format!("pairs of {}", table.name.0));
        let mut below = |end: usize| stream.below(end as u64) as usize;
        let every: Vec<Ends> = match pairs.value.0 {
            Pairs::Random => {
                if let ([start], [end]) = (&starts[..], &ends[..])
                    && start == end
                {
                    return Err(to.error("a flow ends at another node than it starts").help("write patterns of several nodes"));
                }
                let draw = |_| loop {
                    let pair = (starts[below(starts.len())], ends[below(ends.len())]);
                    if pair.0 != pair.1 {
                        return pair;
                    }
                };
                return Ok((0..count.unwrap_or(starts.len())).map(draw).collect());
            }
            kind => listed(kind, (from, to, pairs.span.clone()), (starts, ends), &mut below)?,
        };
        if every.is_empty() {
            return Err(to.error("no flow has another end than its start").help("write patterns of several nodes"));
        }
        Ok((0..count.unwrap_or(every.len())).map(|flow| every[flow % every.len()]).collect())
    }

    /// Gives one flow its path between its ends, and the way back of its acknowledgements, but for paths that are listed.
    pub(super) fn spread(
        &mut self,
        table: &FlowTable,
        ends: Ends,
        flow: (usize, &str, &Header),
        path: &mut Vec<LinkId>,
        source: &mut Source,
    ) {
        let ((from, to), (number, name, header)) = (ends, flow);
        let choice = |header: &Header| self.equal_paths.choice(flow_hash(name, header));
        let (ahead, behind) = (choice(header), choice(&reversed(header)));
        if table.path.is_none() {
            *path = self.routed(number, false, (from, to), ahead);
        }
        if let (Source::Tcp(tcp), None) = (source, &table.back) {
            tcp.reverse_path = self.routed(number, true, (to, from), behind);
        }
    }
}

/// The nodes that match a pattern, in the order of the network.
pub(super) fn nodes(pattern: &At<Name>, network: &Network) -> Result<Vec<NodeId>, Diagnostic> {
    let nodes = network.nodes.iter().enumerate().filter(|(_, name)| matches_pattern(&pattern.0, name));
    let nodes: Vec<NodeId> = nodes.map(|(node, _)| NodeId(node)).collect();
    if nodes.is_empty() {
        let finding = pattern.error(format!("no node matches `{}`", pattern.0));
        return Err(suggest(finding, &pattern.0, network.nodes.iter().take(100).map(String::as_str), "nodes"));
    }
    Ok(nodes)
}

/// The pairs of a kind that lists them: of the nodes that two patterns match, chosen at a place of the file.
pub(super) fn listed(
    kind: Pairs,
    (from, to, place): (&At<Name>, &At<Name>, Span),
    (starts, ends): (Vec<NodeId>, Vec<NodeId>),
    below: &mut dyn FnMut(usize) -> usize,
) -> Result<Vec<Ends>, Diagnostic> {
    Ok(match kind {
        Pairs::Random => {
            starts.iter().flat_map(|&start| ends.iter().map(move |&end| (start, end))).filter(|(start, end)| start != end).collect()
        }
        Pairs::Permutation => {
            let is_one_set = starts == ends;
            let is_disjoint = starts.iter().all(|start| ends.binary_search(start).is_err());
            if starts.len() != ends.len() || !is_one_set && !is_disjoint || is_one_set && starts.len() == 1 {
                let problem = format!("`from` has {} and `to` has {}, and no permutation fits", plural(starts.len(), "node"), ends.len());
                let finding = to.error(problem).context(from.span.clone(), "where flows start");
                return Err(finding.help("name the same two nodes or more in both, or equally many others"));
            }
            let mut order = ends;
            for last in (1..order.len()).rev() {
                order.swap(last, below(last + 1));
            }
            if is_one_set {
                // Along a random cycle no node sends to itself.
                let mut pairs: Vec<Ends> = (0..order.len()).map(|at| (order[at], order[(at + 1) % order.len()])).collect();
                pairs.sort_unstable();
                pairs
            } else {
                starts.into_iter().zip(order).collect()
            }
        }
        Pairs::AllToOne => {
            let &[end] = &ends[..] else {
                let finding = to.error(format!("`to` names {} nodes, and all flows end at one", ends.len()));
                return Err(finding.context(place, "chosen here").help("write the name of one node"));
            };
            starts.into_iter().filter(|&start| start != end).map(|start| (start, end)).collect()
        }
    })
}
