//! Topologies by kind: their nodes, and the links between them.

use crate::choice::TopologyKind;
use crate::diagnostic::{Diagnostic, Span, printable};
use crate::document::{TierTable, TopologyTable};
use crate::graphml::{self, Edge};
use crate::holes::number;
use crate::simulation::Simulation;
use crate::texts::Texts;
use crate::value::{At, Block, Text};
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt::Write;
use tidegate_sim::NodeId;
use tidegate_sim::routing::Choice;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The most links of a topology, counting each direction.
const MOST_LINKS: u64 = 400_000;

/// The most nodes of a graph between which paths are compared for a summary.
const MOST_COMPARED: usize = 300;

/// The links of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tier {
    Access,
    Fabric,
    Core,
}

impl Tier {
    fn key(self) -> &'static str {
        match self {
            Tier::Access => "access",
            Tier::Fabric => "fabric",
            Tier::Core => "core",
        }
    }
}

/// Two nodes that are connected. Hosts come first.
type Wire = (String, String, Tier);

/// Writes the links of all topologies out, behind those of the file. Tables that do not fit the schema are left for it to report.
pub(crate) fn expand(root: &mut DeTable<'_>, texts: &mut Texts, findings: &mut Vec<Diagnostic>) {
    let Some(DeValue::Table(topologies)) = root.get("topology").map(Spanned::get_ref) else { return };
    let mut new = Vec::new();
    for (name, value) in topologies {
        let DeValue::Table(tree) = value.get_ref() else { continue };
        let read = TopologyTable::deserialize(toml::de::Deserializer::from(Spanned::new(value.span(), tree.clone())));
        let Ok(table) = read else { continue };
        let found = judge(&table, &name.span()).and_then(|()| match &table.file {
            Some(file) => of_graph(name.get_ref(), file, texts).map(|edges| graph_links(&edges, tree, file.span.clone())),
            None => wires(name.get_ref(), name.span(), &table).map(|wires| links(&wires, tree, name.span())),
        });
        match found {
            Ok(links) => new.push((name.span(), links)),
            Err(finding) => findings.push(finding),
        }
    }
    for (span, links) in new {
        add_links(root, &span, links);
    }
}

/// The links of wires, in both directions, as a file would have them.
fn links<'i>(wires: &[Wire], tree: &DeTable<'i>, span: Span) -> Vec<Spanned<DeValue<'i>>> {
    let keys = [Tier::Access, Tier::Fabric, Tier::Core].map(|tier| {
        let own = tree.get(tier.key()).and_then(|own| own.get_ref().as_table());
        let value = |key: &str| own.and_then(|own| own.get_key_value(key)).or_else(|| tree.get_key_value(key));
        ["policy", "rate", "delay", "pause", "weight"]
            .into_iter()
            .filter_map(value)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Vec<_>>()
    });
    let text = |text: String| Spanned::new(span.clone(), DeValue::String(text.into()));
    let mut links = Vec::with_capacity(2 * wires.len());
    for (one, other, tier) in wires {
        for (from, to) in [(one, other), (other, one)] {
            let mut link = DeTable::new();
            for (key, value) in [("name", format!("{from}:{to}")), ("from", from.clone()), ("to", to.clone())] {
                link.insert(Spanned::new(span.clone(), key.into()), text(value));
            }
            for (key, value) in &keys[*tier as usize] {
                link.insert(key.clone(), value.clone());
            }
            links.push(Spanned::new(span.clone(), DeValue::Table(link)));
        }
    }
    links
}

/// The edges of a file, with names that begin with that of the topology.
fn of_graph(name: &str, file: &At<Text>, texts: &mut Texts) -> Result<Vec<Edge>, Diagnostic> {
    let text = texts.text("graph", &file.0).map_err(|problem| file.error(problem).help("names are relative to the folder of this file"))?;
    let mut edges = graphml::read(&text).map_err(|(at, problem)| {
        let line = text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        let finding = file.error(format!("the graph {}, line {line}: {}", file.0, printable(&problem)));
        finding.help("it is GraphML of one graph; docs/topologies.md lists the attributes")
    })?;
    for end in edges.iter_mut().flat_map(|edge| &mut edge.ends) {
        *end = format!("{name}-{}", printable(end));
    }
    Ok(edges)
}

/// The links of edges, one in each direction unless they are directed. What an edge does not say is that of the topology.
fn graph_links<'i>(edges: &[Edge], tree: &DeTable<'i>, span: Span) -> Vec<Spanned<DeValue<'i>>> {
    let text = |text: String| Spanned::new(span.clone(), DeValue::String(text.into()));
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut links = Vec::with_capacity(2 * edges.len());
    for edge in edges {
        let [one, other] = &edge.ends;
        let directions = if edge.is_directed { &[(one, other)][..] } else { &[(one, other), (other, one)] };
        for (from, to) in directions {
            let mut name = format!("{from}:{to}");
            let before = seen.entry(name.clone()).or_default();
            *before += 1;
            if *before > 1 {
                name = format!("{name}-{before}");
            }
            let mut link = DeTable::new();
            for key in ["policy", "rate", "delay", "pause"] {
                if let Some((key, value)) = tree.get_key_value(key) {
                    link.insert(key.clone(), value.clone());
                }
            }
            let texts = [("name", Some(name)), ("from", Some((*from).clone())), ("to", Some((*to).clone()))];
            let own = [("rate", edge.rate.clone()), ("delay", edge.delay.clone())];
            for (key, value) in texts.into_iter().chain(own).filter_map(|(key, value)| Some((key, value?))) {
                link.remove(key);
                link.insert(Spanned::new(span.clone(), key.into()), text(value));
            }
            if let Some(weight) = edge.weight {
                link.insert(Spanned::new(span.clone(), "weight".into()), number(weight, span.clone()));
            }
            links.push(Spanned::new(span.clone(), DeValue::Table(link)));
        }
    }
    links
}

/// What each kind needs, and what it may have.
fn judge(table: &TopologyTable, span: &Span) -> Result<(), Diagnostic> {
    let kind = table.kind.value.0;
    let (needs, tiers): (&[&str], &[&str]) = match kind {
        TopologyKind::Star => (&["hosts"], &["access"]),
        TopologyKind::Dumbbell => (&["hosts"], &["access", "core"]),
        TopologyKind::ParkingLot => (&["switches", "hosts"], &["access", "core"]),
        TopologyKind::LeafSpine => (&["leaves", "spines", "hosts"], &["access", "fabric"]),
        TopologyKind::FatTree => (&["k"], &["access", "fabric", "core"]),
        TopologyKind::GraphMl => (&["file"], &[]),
    };
    fn place<const MIN: u64, const MAX: u64>(value: &Option<At<crate::value::Whole<MIN, MAX>>>) -> Option<Span> {
        value.as_ref().map(|at| at.span.clone())
    }
    let numbers = [
        ("k", place(&table.k)),
        ("hosts", place(&table.hosts)),
        ("switches", place(&table.switches)),
        ("leaves", place(&table.leaves)),
        ("spines", place(&table.spines)),
        ("file", table.file.as_ref().map(|at| at.span.clone())),
    ];
    for (key, place) in numbers {
        match place {
            None if needs.contains(&key) => {
                let finding = Diagnostic::error(span.clone(), format!("a {} needs `{key}`", kind.name()));
                return Err(finding.context(table.kind.span.clone(), "chosen here").help(format!("it has {}", needs.join(", "))));
            }
            Some(place) if !needs.contains(&key) => {
                let finding = Diagnostic::error(place, format!("a {} has no `{key}`", kind.name()));
                return Err(finding.context(table.kind.span.clone(), "chosen here").help(format!("it has {}", needs.join(", "))));
            }
            _ => {}
        }
    }
    let place = |tier: &Option<Block<TierTable>>| tier.as_ref().map(|tier| tier.span.clone());
    for (key, place) in [("access", place(&table.access)), ("fabric", place(&table.fabric)), ("core", place(&table.core))] {
        if let (Some(place), false) = (place, tiers.contains(&key)) {
            let finding = Diagnostic::error(place, format!("a {} has no tier `{key}`", kind.name()));
            return Err(finding.context(table.kind.span.clone(), "chosen here").help(if tiers.is_empty() {
                "the edges of the graph have their own rates and delays".to_owned()
            } else {
                format!("its tiers are {}", tiers.join(", "))
            }));
        }
    }
    if let Some(k) = table.k.as_ref().filter(|k| k.value.0 % 2 == 1) {
        return Err(k.error("the switches of a fat tree have an even number of ports").help("write an even number"));
    }
    Ok(())
}

/// The wires of a topology, by tier.
fn wires(name: &str, span: Span, table: &TopologyTable) -> Result<Vec<Wire>, Diagnostic> {
    let given = |value: Option<u64>| value.unwrap_or(0);
    let k = given(table.k.as_ref().map(|at| at.value.0));
    let hosts = given(table.hosts.as_ref().map(|at| at.value.0));
    let switches = given(table.switches.as_ref().map(|at| at.value.0));
    let leaves = given(table.leaves.as_ref().map(|at| at.value.0));
    let spines = given(table.spines.as_ref().map(|at| at.value.0));
    let kind = table.kind.value.0;
    let links = 2 * match kind {
        TopologyKind::Star => hosts,
        TopologyKind::Dumbbell => 2 * hosts + 1,
        TopologyKind::ParkingLot => switches * hosts + switches - 1,
        TopologyKind::LeafSpine => leaves * (hosts + spines),
        TopologyKind::FatTree => 3 * k * k * k / 4,
        TopologyKind::GraphMl => 0,
    };
    if links > MOST_LINKS {
        let finding = Diagnostic::error(span, format!("the topology would have {links} links, counting each direction"));
        return Err(finding.help(format!("at most {MOST_LINKS} are possible: write smaller numbers")));
    }
    let node = |what: &str, number: u64| format!("{name}-{what}-{number}");
    let mut wires = Vec::new();
    match kind {
        TopologyKind::GraphMl => {}
        TopologyKind::Star => {
            wires.extend((1..=hosts).map(|host| (node("host", host), format!("{name}-switch"), Tier::Access)));
        }
        TopologyKind::Dumbbell => {
            for side in ["left", "right"] {
                wires.extend((1..=hosts).map(|host| (node(side, host), format!("{name}-{side}"), Tier::Access)));
            }
            wires.push((format!("{name}-left"), format!("{name}-right"), Tier::Core));
        }
        TopologyKind::ParkingLot => {
            for switch in 1..=switches {
                let own = (switch - 1) * hosts + 1..=switch * hosts;
                wires.extend(own.map(|host| (node("host", host), node("switch", switch), Tier::Access)));
            }
            wires.extend((1..switches).map(|switch| (node("switch", switch), node("switch", switch + 1), Tier::Core)));
        }
        TopologyKind::LeafSpine => {
            for leaf in 1..=leaves {
                let own = (leaf - 1) * hosts + 1..=leaf * hosts;
                wires.extend(own.map(|host| (node("host", host), node("leaf", leaf), Tier::Access)));
            }
            for leaf in 1..=leaves {
                wires.extend((1..=spines).map(|spine| (node("leaf", leaf), node("spine", spine), Tier::Fabric)));
            }
        }
        // Al-Fares, Loukissas and Vahdat 2008: k pods of k/2 edge and k/2 aggregation switches; the i-th of the latter has the i-th k/2 core switches.
        TopologyKind::FatTree => {
            let half = k / 2;
            for edge in 1..=k * half {
                let own = (edge - 1) * half + 1..=edge * half;
                wires.extend(own.map(|host| (node("host", host), node("edge", edge), Tier::Access)));
            }
            for edge in 1..=k * half {
                let pod = (edge - 1) / half;
                let own = pod * half + 1..=(pod + 1) * half;
                wires.extend(own.map(|switch| (node("edge", edge), node("agg", switch), Tier::Fabric)));
            }
            for switch in 1..=k * half {
                let place = (switch - 1) % half;
                let own = place * half + 1..=(place + 1) * half;
                wires.extend(own.map(|core| (node("agg", switch), node("core", core), Tier::Core)));
            }
        }
    }
    Ok(wires)
}

/// A line on each topology of a simulation: its nodes, links and longest path, and how much faster its hosts are than what is behind their switches.
pub(crate) fn describe(simulation: &Simulation) -> String {
    let network = &simulation.network;
    let graph = network.graph();
    let mut text = String::new();
    for (name, kind) in &simulation.topologies {
        let rest = |node: NodeId| network.nodes.get(node.0).and_then(|node| node.strip_prefix(name.as_str())?.strip_prefix('-'));
        let is_own = |node: NodeId| rest(node).is_some();
        let is_host = |node: NodeId| {
            let number =
                |what: &str| rest(node).and_then(|rest| rest.strip_prefix(what)).is_some_and(|number| number.parse::<u64>().is_ok());
            match kind {
                TopologyKind::Dumbbell => number("left-") || number("right-"),
                TopologyKind::GraphMl => is_own(node),
                _ => number("host-"),
            }
        };
        let nodes = (0..network.nodes.len()).map(NodeId).filter(|&node| is_own(node)).count();
        let hosts: Vec<NodeId> = (0..network.nodes.len()).map(NodeId).filter(|&node| is_host(node)).collect();
        let links = network.links.iter().filter(|link| is_own(link.from) && is_own(link.to)).count();
        // In a regular network the first host is as far from the last as any two.
        let (starts, ends) = if *kind == TopologyKind::GraphMl {
            (&hosts[..hosts.len().min(MOST_COMPARED)], &hosts[..])
        } else {
            (&hosts[..hosts.len().min(1)], &hosts[hosts.len().saturating_sub(1)..])
        };
        let mut longest = 0;
        for &end in ends.iter().take(MOST_COMPARED) {
            let table = graph.toward(end, |_| true);
            let lengths = starts.iter().filter_map(|&start| table.path(&graph, start, Choice::First)).map(|path| path.len());
            longest = longest.max(lengths.max().unwrap_or(0));
        }
        let (mut from_hosts, mut onward) = (vec![0u128; network.nodes.len()], vec![0u128; network.nodes.len()]);
        for link in network.links.iter().filter(|link| is_own(link.from) && is_own(link.to)) {
            let rate = u128::from(link.port.rate.bits_per_second());
            if is_host(link.from) {
                from_hosts[link.to.0] += rate;
            } else if !is_host(link.to) {
                onward[link.from.0] += rate;
            }
        }
        let ratios = from_hosts.iter().zip(&onward).filter(|(hosts, onward)| **hosts > 0 && **onward > 0);
        let most = ratios.map(|(&hosts, &onward)| hosts as f64 / onward as f64).max_by(f64::total_cmp);
        let most = most.map_or_else(String::new, |ratio| format!("; hosts send up to {ratio:.2} times what their switch forwards"));
        let (kind, count) = (kind.name(), hosts.len());
        let _ = writeln!(text, "  {name}: {kind}, {nodes} nodes, {count} of them hosts, {links} links, longest path {longest} links{most}");
    }
    if text.is_empty() { text } else { format!("\ntopologies\n{text}") }
}

/// Puts links behind those of the tree.
fn add_links<'i>(root: &mut DeTable<'i>, span: &Span, new: Vec<Spanned<DeValue<'i>>>) {
    if !root.contains_key("link") {
        root.insert(Spanned::new(span.clone(), "link".into()), Spanned::new(span.clone(), DeValue::Array(DeArray::new())));
    }
    if let Some(DeValue::Array(links)) = root.get_mut("link").map(Spanned::get_mut) {
        new.into_iter().for_each(|link| links.push(link));
    }
}
