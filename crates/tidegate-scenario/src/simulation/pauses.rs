//! Priority flow control of a file: reads `pause` of links, judges whether buffers have the room that it needs, and tells of it.

use crate::detail::Detail;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{File, LinkTable, PauseTable};
use crate::policy::Policy;
use crate::units::{Limit, plural, print_limit, print_size};
use crate::value::Block;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use tidegate_core::registry::BufferKind;
use tidegate_sim::pause::{MOST_CLASSES, Waiting, circle, headroom, links_back, waiting};
use tidegate_sim::source::Poisson;
use tidegate_sim::{FlowSpec, LengthDistribution, LinkId, Network, Pause, Source};

/// The fewest bytes of a packet whose source does not say: an IP header and one of TCP.
const SHORTEST_UNKNOWN: u64 = 40;

/// The most warnings of buffers without room; the others are like them.
const MOST_WARNINGS: usize = 5;

/// The pauses of the links of a file, in their order. `policies` has the policy of each link.
pub(super) fn resolve(file: &File, policies: &[Option<&Policy>], findings: &mut Vec<Diagnostic>) -> Vec<Pause> {
    let mut pauses = Vec::new();
    for (index, link) in file.link.iter().enumerate() {
        let (Some(table), Some(policy)) = (&link.pause, policies[index]) else { continue };
        match pause(table, link, LinkId(index), policy) {
            Ok(pause) => pauses.push(pause),
            Err(finding) => findings.push(finding),
        }
    }
    pauses
}

fn pause(table: &Block<PauseTable>, link: &LinkTable, number: LinkId, policy: &Policy) -> Result<Pause, Diagnostic> {
    let above = table.above.value.0;
    let below = table.below.as_ref().map_or(above / 5 * 4, |below| below.value.0);
    if let (true, Some(at)) = (below > above, &table.below) {
        let finding = at.error("a pause would end above the limit at which it begins");
        return Err(finding.context(table.above.span.clone(), "the limit").help("write `below` of at most `above`"));
    }
    let names = || policy.classes.iter().map(|class| class.name.as_str());
    let Some(written) = &table.classes else {
        let classes: Vec<usize> = (0..policy.classes.len()).collect();
        if classes.len() > MOST_CLASSES {
            let problem = format!(
                "policy `{}` has {}, and at most {MOST_CLASSES} can be paused",
                policy.name,
                format_args!("{} classes", classes.len())
            );
            return Err(table.error(problem).context(link.policy.span.clone(), "the policy").help("name those that are in `classes`"));
        }
        return Ok(Pause { link: number, classes, above, below });
    };
    let mut classes = Vec::new();
    for name in &written.value {
        let Some(class) = names().position(|known| known == name.value.0) else {
            let finding = name.error(format!("policy `{}` has no class `{}`", policy.name, name.value.0));
            return Err(suggest(finding, &name.value.0, names(), "its classes"));
        };
        if classes.contains(&class) {
            return Err(name.error(format!("class `{}` is named twice", name.value.0)).help("name each class once"));
        }
        classes.push(class);
    }
    if classes.is_empty() || classes.len() > MOST_CLASSES {
        let finding = written.error(format!("{} would be paused", format_args!("{} classes", classes.len())));
        return Err(finding.help(format!("name 1 to {MOST_CLASSES} classes, or remove `classes` to pause all")));
    }
    classes.sort_unstable();
    Ok(Pause { link: number, classes, above, below })
}

/// Warns where lossless packets may be lost behind the first port, and of circles. `policies` has the policy of each link.
pub(super) fn judge(file: &File, network: &Network, policies: &[Option<&Policy>], findings: &mut Vec<Diagnostic>) {
    if network.pauses.is_empty() {
        return;
    }
    let waiting = waiting(network);
    let shortages: Vec<(LinkId, String)> = ports(network, &waiting)
        .into_iter()
        .filter_map(|(port, used)| Some((port, shortage(network, policies[port.0]?, port, &used)?)))
        .collect();
    for (number, (port, problem)) in shortages.iter().enumerate().take(MOST_WARNINGS) {
        let more = shortages.len() - MOST_WARNINGS.min(shortages.len());
        let more = if number + 1 == MOST_WARNINGS && more > 0 { format!("; {more} more ports lack room") } else { String::new() };
        let finding = Diagnostic::warning(file.link[port.0].policy.span.clone(), format!("{problem}{more}"));
        findings.push(finding.help("give the class the room that pauses need, pause earlier, or keep other classes within limits"));
    }
    if let Some(circle) = circle(network, &waiting) {
        let names: Vec<&str> = circle.iter().take(8).map(|(link, _)| network.links[link.0].name.as_str()).collect();
        let more = if circle.len() > names.len() { " ..." } else { "" };
        let problem = format!("pauses may deadlock: packets over each of these links wait for the next: {}{more}", names.join(", "));
        let place = &file.link[circle[0].0.0];
        let span = place.pause.as_ref().map_or(place.name.span.clone(), |pause| pause.span.clone());
        findings.push(Diagnostic::warning(span, problem).help("choose paths without a circle, such as up and down a tree"));
    }
}

/// What a class of a port may have to hold; `None` if nothing there is counted.
type Used = BTreeMap<usize, Option<u64>>;

/// The classes in use at each port that holds what is counted.
fn ports(network: &Network, waiting: &[Waiting]) -> BTreeMap<LinkId, Used> {
    let back = links_back(network);
    let mut ports: BTreeMap<LinkId, Used> = BTreeMap::new();
    for &Waiting { port, class, counted } in waiting {
        let needs = ports.entry(port).or_default().entry(class).or_default();
        let Some((pause, _)) = counted else { continue };
        let Some(back) = back[pause] else { continue };
        let pause = &network.pauses[pause];
        let more = pause.above.saturating_add(headroom(&network.links[pause.link.0], &network.links[back.0]));
        *needs = Some(needs.unwrap_or(0).saturating_add(more));
    }
    ports.retain(|_, used| used.values().any(Option::is_some));
    ports
}

/// Why packets of a class that is never to lose any may be lost at a port; `None` if none may.
fn shortage(network: &Network, policy: &Policy, port: LinkId, used: &Used) -> Option<String> {
    let name = &network.links[port.0].name;
    let shortest = shortest(network, port);
    for (&number, needs) in used {
        let Some(needs) = *needs else { continue };
        let class = &policy.classes[number];
        let lost = |reason: String| Some(format!("packets of class `{}` may be lost at port `{name}`: {reason}", class.name));
        if let Some(aqm) = class.aqm.as_ref().filter(|aqm| aqm.kind.name() != "step") {
            return lost(format!("its AQM, {}, may drop them", aqm.kind.name()));
        }
        if class.police.is_some() {
            return lost("its policer may discard them".into());
        }
        if let Some(limit) = class.limit.filter(|&limit| !holds(limit, needs, shortest)) {
            return lost(format!("its limit is {}, and pauses let up to {} wait", print_limit(limit), print_size(needs)));
        }
        let (buffer, packets) = policy.buffer_of(class.partition);
        if !matches!(buffer.kind, BufferKind::TailDrop) {
            return lost(format!("`{}` may refuse packets before the buffer is full, or push others out", buffer.kind.name()));
        }
        let mut total = 0u64;
        for (&other, needs) in used.iter().filter(|(other, _)| policy.classes[**other].partition == class.partition) {
            let other = &policy.classes[other];
            let queues = u64::from(other.queues);
            let most = match (needs, other.limit) {
                (Some(needs), _) => *needs,
                (None, Some(Limit::Bytes(limit))) => limit.saturating_mul(queues),
                (None, Some(Limit::Packets(limit))) => limit.saturating_mul(queues).saturating_mul(policy.longest_frame.into()),
                (None, None) => return lost(format!("class `{}` has no limit, and may fill the buffer", other.name)),
            };
            total = total.saturating_add(most);
        }
        if !holds(buffer.limit, total, shortest) {
            return lost(format!("the buffer is {}, and up to {} may wait", print_limit(buffer.limit), print_size(total)));
        }
        if total / shortest > u64::from(packets) {
            return lost(format!("the buffer holds {packets} packets, and up to {} may wait", total / shortest));
        }
    }
    None
}

/// True if this many bytes, in packets of at least `shortest`, are within the limit.
fn holds(limit: Limit, bytes: u64, shortest: u64) -> bool {
    match limit {
        Limit::Bytes(size) => bytes <= size,
        Limit::Packets(packets) => bytes / shortest <= packets,
    }
}

/// The fewest bytes that a packet at a port has.
fn shortest(network: &Network, port: LinkId) -> u64 {
    let of_flow = |flow: &FlowSpec| match &flow.source {
        Source::Tcp(tcp) if tcp.reverse_path.contains(&port) => Some(SHORTEST_UNKNOWN),
        _ if !flow.path.contains(&port) => None,
        // Of an exponential length only the mean is known.
        Source::Poisson(Poisson { length: LengthDistribution::Exponential { .. }, .. }) => Some(1),
        source => Some(source.lengths().iter().map(|(length, _)| *length as u64).min().unwrap_or(SHORTEST_UNKNOWN)),
    };
    // Acknowledgements of workloads are no longer than their headers.
    let of_workloads = network.workloads.iter().map(|workload| u64::from(workload.tcp.headers));
    network.flows.iter().filter_map(of_flow).chain(of_workloads).min().unwrap_or(SHORTEST_UNKNOWN).max(1)
}

/// The pauses in words: limits and headroom of links, alike ones together, and the room that ports need.
pub(crate) fn describe(network: &Network, detail: Detail) -> String {
    if network.pauses.is_empty() {
        return String::new();
    }
    let waiting = waiting(network);
    let back = links_back(network);
    let counting: HashSet<usize> = waiting.iter().filter_map(|waiting| Some(waiting.counted?.0)).collect();
    let mut alike: Vec<(String, Vec<usize>)> = Vec::new();
    for (number, (pause, back)) in network.pauses.iter().zip(back).enumerate() {
        let (Some(back), true) = (back, counting.contains(&number)) else { continue };
        let link = &network.links[pause.link.0];
        let names = pause.classes.iter().map(|&class| format!("`{}`", link.port.classifier.classes()[class].name));
        let text = format!(
            "{} paused above {}, goes on at {}; headroom {} each",
            names.collect::<Vec<_>>().join(", "),
            print_size(pause.above),
            print_size(pause.below),
            print_size(headroom(link, &network.links[back.0]))
        );
        match alike.iter_mut().find(|(known, _)| *known == text) {
            Some((_, links)) => links.push(pause.link.0),
            None => alike.push((text, vec![pause.link.0])),
        }
    }
    let mut text = "\npauses (a paused class sends nothing; what is guaranteed holds while it is not paused)\n".to_owned();
    if alike.is_empty() {
        text += "  none: no node holds what came over a link with `pause`\n";
    }
    for (words, links) in &alike[..detail.of(alike.len())] {
        let first = &network.links[links[0]].name;
        let others = if links.len() > 1 { format!(" and {} like it", plural(links.len() - 1, "link")) } else { String::new() };
        let _ = writeln!(text, "  {first}{others}: {words}");
    }
    text += &detail.rest(alike.len(), "links");
    let mut rooms: Vec<(u64, String, usize)> = Vec::new();
    for (port, used) in ports(network, &waiting) {
        let link = &network.links[port.0];
        for (class, needs) in used {
            let Some(needs) = needs else { continue };
            let class = &link.port.classifier.classes()[class].name;
            match rooms.iter_mut().find(|(known, ..)| *known == needs) {
                Some((.., others)) => *others += 1,
                None => rooms.push((needs, format!("class `{class}` at port `{}`", link.name), 0)),
            }
        }
    }
    for (needs, place, others) in &rooms[..detail.of(rooms.len())] {
        let others = if *others > 0 { format!(" and {others} more") } else { String::new() };
        let _ = writeln!(text, "  room for {} without loss: {place}{others}", print_size(*needs));
    }
    text + &detail.rest(rooms.len(), "ports")
}
