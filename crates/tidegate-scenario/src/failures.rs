//! Failures of links in words: when routes avoid them, and what becomes of the flows on them.

use crate::detail::Detail;
use crate::simulation::Simulation;
use crate::units::{plural, print_duration};
use std::collections::BTreeSet;
use tidegate_core::units::Duration;
use tidegate_sim::{Failure, LinkId};

/// The most failures that results have a note for.
const MOST_NOTES: usize = 8;

/// The most flows that are named one by one.
const MOST_NAMED: usize = 12;

impl Simulation {
    /// A note for results for each failure; where there are many, for the first of them.
    pub fn notes_of_failures(&self) -> Vec<String> {
        let note = |failure: &Failure| {
            let flows: Vec<String> =
                effects(self, failure, Detail::First).into_iter().map(|line| format!(" {}.", capitalised(&line))).collect();
            format!("Failure {}.{}", head(failure), flows.concat())
        };
        let failures = &self.network.failures;
        let mut notes: Vec<String> = failures.iter().take(MOST_NOTES).map(note).collect();
        if let more @ 1.. = failures.len().saturating_sub(MOST_NOTES) {
            notes.push(format!("{} more; `tidegate check --all` tells of each.", plural(more, "failure")));
        }
        notes
    }
}

/// The failures of a simulation, as `check` lists them.
pub(crate) fn describe(simulation: &Simulation, detail: Detail) -> String {
    let failures = &simulation.network.failures;
    if failures.is_empty() {
        return String::new();
    }
    let mut text = "\nfailures\n".to_owned();
    for failure in &failures[..detail.of(failures.len())] {
        text += &format!("  {}\n", head(failure));
        effects(simulation, failure, detail).iter().for_each(|line| text += &format!("    {line}\n"));
    }
    text + &detail.rest(failures.len(), "failures")
}

/// What fails when, and when routes avoid it.
fn head(failure: &Failure) -> String {
    let until = failure.until.map_or_else(|| "never recovers".to_owned(), |until| format!("recovers at {}", print_duration(until)));
    let routes = match failure.avoided() {
        None => "routes stay, because it ends before it is detected".to_owned(),
        Some((from, until)) => {
            let until = until.map_or_else(String::new, |until| format!(" until {}", print_duration(until)));
            format!("routes avoid it from {} on{until}", print_duration(from))
        }
    };
    let links = plural(failure.links.len(), "link");
    format!("{}: {links} down from {}, {until}; {routes}", failure.name, print_duration(failure.at))
}

/// What becomes of the flows on its links; nothing is said of what does not occur.
fn effects(simulation: &Simulation, failure: &Failure, detail: Detail) -> Vec<String> {
    let network = &simulation.network;
    let avoided_from = failure.avoided().map(|(from, _)| from).filter(|&from| from > Duration::ZERO);
    let (mut moved, mut cut, mut kept) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for reroute in network.reroutes.iter().filter(|reroute| Some(reroute.at) == avoided_from) {
        if reroute.paths.is_empty() {
            cut.insert(reroute.flow)
        } else {
            moved.insert(reroute.flow)
        };
    }
    let crosses = |path: &[LinkId]| path.iter().any(|link| failure.links.contains(link));
    let is_rerouted: BTreeSet<usize> = network.reroutes.iter().filter(|reroute| !reroute.is_back).map(|reroute| reroute.flow).collect();
    kept.extend((0..network.flows.len()).filter(|flow| !is_rerouted.contains(flow) && crosses(&network.flows[*flow].path)));
    moved.retain(|flow| !cut.contains(flow));
    let name = |flow: usize| {
        let group = simulation.groups.iter().rposition(|group| group.first <= flow).unwrap_or(0);
        simulation.groups[group].name.as_str()
    };
    let line = |(what, flows): (&str, BTreeSet<usize>)| {
        // Few flows have their own names, many those of their tables.
        let own = |flow: usize| network.flows[flow].name.as_str();
        let is_few = flows.len() <= MOST_NAMED;
        let mut names: Vec<&str> = flows.iter().map(|&flow| if is_few { own(flow) } else { name(flow) }).collect();
        names.dedup();
        let shown = detail.of(names.len());
        let more = if shown < names.len() { format!(" and {} more", names.len() - shown) } else { String::new() };
        format!("{what}: {} ({}{more})", plural(flows.len(), "flow"), names[..shown].join(", "))
    };
    let all = [("other paths", moved), ("no path left", cut), ("the path kept, with its losses", kept)];
    let mut lines: Vec<String> = all.into_iter().filter(|(_, flows)| !flows.is_empty()).map(line).collect();
    if avoided_from.is_some() && !network.workloads.is_empty() {
        let names: Vec<&str> = network.workloads.iter().map(|workload| workload.name.as_str()).collect();
        lines.push(format!("other paths, where any is left: connections of {}", names.join(", ")));
    }
    lines
}

fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}
