//! Describes a file as text: policies with their trees, links with their load, flows with their promises.

use crate::aqm::QueueManagement;
use crate::bounds::summarised;
use crate::choice::NodeReading;
use crate::contract::{Bursts, counts_frames};
pub use crate::detail::Detail;
use crate::diagnostic::Problems;
use crate::failures;
use crate::guarantee::{Guarantee, LeastRate};
use crate::link::{describe_disturbance, describe_loss};
use crate::partition::{Buffer, Owner, Partition};
use crate::policy::workers::parts;
use crate::policy::{Class, Group, Policy};
use crate::promise::{Promise, about};
use crate::proof::Proof;
use crate::rates::describe as describe_rates;
use crate::remark;
use crate::scenario::{Scenario, Variant, load};
use crate::simulation::{FlowGroup, Simulation, pauses, workloads};
use crate::slots::{print_part, print_service};
use crate::source::describe;
use crate::topology;
use crate::units::{Limit, plural, print_count, print_duration, print_limit, print_rate, print_ratio, print_size, print_slots, print_time};
use std::fmt::Write;
use std::path::Path;
use tidegate_atm::adapter::AdapterSetup;
use tidegate_cells::{CellRate, Conflict, Mode, SLOT, Ticks};
use tidegate_core::classifier::Spread;
use tidegate_core::scheduler::{FlowParameters, ServiceClass};
use tidegate_core::shaper::{Bucket, ShapingContract};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_link::Link;
use tidegate_sim::Tagging;

/// Reads a file and describes it, warnings first.
///
/// # Errors
/// Everything that is wrong with the file or with an override.
pub fn check(path: &Path, overrides: &[String]) -> Result<String, Problems> {
    let scenario = load(path, overrides)?;
    let warnings = scenario.warnings.as_ref().map_or(String::new(), |warnings| format!("{warnings}\n"));
    Ok(warnings + &summary(&scenario, Detail::First))
}

/// Describes a scenario.
pub fn summary(scenario: &Scenario, detail: Detail) -> String {
    let mut text = format!("{}: {}\n", scenario.source, scenario.title);
    let first = &scenario.variants[0];
    if let Some(simulation) = &first.simulation {
        let experiment = &simulation.experiment;
        let warm_up = print_duration(experiment.warm_up);
        let replications = plural(experiment.replications as usize, "replication");
        let _ = writeln!(
            text,
            "{} simulated, {warm_up} of it warm-up; {replications}, seed {}",
            print_duration(experiment.duration),
            experiment.seed
        );
    }
    let mut flows_shown = String::new();
    let mut policies_shown = String::new();
    let variants = scenario.variants.len();
    for variant in &scenario.variants[..detail.of(variants)] {
        if scenario.variants.len() > 1 {
            let _ = writeln!(text, "\nvariant `{}`", variant.name);
        }
        let mut policies: String = variant.policies.iter().map(|one| policy(one, variant.until(one, 0), detail)).collect();
        for (index, change) in variant.changes.iter().enumerate() {
            let _ = writeln!(policies, "\nfrom {} on: {}", print_duration(change.at), change.what.join(", "));
            policies.extend(change.policies.iter().map(|one| policy(one, variant.until(one, index + 1), detail)));
        }
        if policies != policies_shown {
            text += &policies;
            policies_shown = policies;
        }
        let Some(simulation) = &variant.simulation else { continue };
        text += &topology::describe(simulation);
        text += &links(variant, simulation, detail);
        text += &failures::describe(simulation, detail);
        text += &pauses::describe(&simulation.network, detail);
        let flows = flows(simulation, detail) + &workloads::describe(&simulation.network, &simulation.sizes);
        if flows != flows_shown {
            text += &flows;
            flows_shown = flows;
        }
        text += &bounds(variant, detail);
    }
    text + &detail.rest(variants, "variants")
}

fn policy(policy: &Policy, until: Option<Duration>, detail: Detail) -> String {
    let overhead = match policy.overhead {
        Overhead::None => "no overhead".to_owned(),
        Overhead::ETHERNET => "Ethernet overhead (24 B per frame, at least 84 B in all)".to_owned(),
        Overhead::PerPacket { bytes, minimum: 0 } => format!("{bytes} B of overhead per frame"),
        Overhead::PerPacket { bytes, minimum } => format!("{bytes} B of overhead per frame, at least {minimum} B in all"),
        Overhead::Aal5 => "AAL5 overhead".to_owned(),
    };
    let is_shared = policy.classes.iter().any(|class| class.partition.is_none());
    let (shared, packets) = policy.buffer_of(None);
    let shared_buffer = if is_shared { buffer(shared, packets) } else { "no shared buffer".to_owned() };
    let longest = print_size(u64::from(policy.longest_frame));
    let until = until.map_or_else(String::new, |at| format!(" until {}", print_duration(at)));
    let mut text =
        format!("\npolicy `{}`{until}: {}, {overhead}, frames up to {longest}, {shared_buffer}\n", policy.name, print_rate(policy.rate));
    let scheduler = policy.adapter.as_ref().map_or(policy.scheduler.name().to_owned(), scheduled_cells);
    if let Some(condition) = policy.buffer_condition() {
        let _ = writeln!(text, "  {condition}");
    }
    if let Some((reading, utilisation)) = policy.preset {
        let reading = if reading == NodeReading::Paper { "paper" } else { "repaired" };
        let reserved = policy.classes.iter().filter(|class| class.parameters.class.is_some_and(|class| class != ServiceClass::BestEffort));
        let reserved: u64 = reserved.filter_map(|class| class.parameters.rate).map(Rate::bits_per_second).sum();
        let (reserved, most) = (about(reserved as f64), print_ratio(utilisation));
        let _ = writeln!(text, "  preset: intserv, reading {reading}; {reserved} reserved, at most {most} of the rate");
    }
    for partition in policy.partitions.iter().filter(|partition| partition.owner == Owner::Policy) {
        let _ = writeln!(text, "  {}: {}", partition.name, buffer(&partition.buffer, partition.packets));
    }
    let _ = writeln!(text, "  link: {}", listed([scheduler, slots_of(policy, None), behind(policy)]));
    text += &workers(policy, detail);
    let mut children = vec![Vec::new(); policy.groups.len() + 1];
    let slot = |parent: Option<usize>| parent.map_or(0, |group| group + 1);
    policy.groups.iter().enumerate().for_each(|(index, group)| children[slot(group.parent)].push(Member::Group(index)));
    policy.classes.iter().enumerate().for_each(|(index, class)| children[slot(class.parent)].push(Member::Class(index)));
    let mut rows = Vec::with_capacity(policy.groups.len() + policy.classes.len());
    branches(policy, &children, 0, "  ", &mut rows);
    let width = rows.iter().map(|(branch, _)| branch.chars().count()).max().unwrap_or(0);
    let count = rows.len();
    for (branch, member) in &rows[..detail.of(count)] {
        let _ = writeln!(text, "{}", format!("{branch:width$}  {}", remarks_of(policy, *member)).trim_end());
    }
    text + &detail.rest(count, "groups and classes")
}

/// Which of several workers has which classes, and what they share.
fn workers(policy: &Policy, detail: Detail) -> String {
    let Some(plan) = &policy.workers else { return String::new() };
    let mut text = format!(
        "  {} workers, whose rates are set anew every {}; no rate and no delay is guaranteed\n",
        plan.count,
        print_duration(plan.exchange_every)
    );
    let spanning: Vec<&str> = policy.spanning_groups(plan).collect();
    if !spanning.is_empty() {
        let _ = writeln!(text, "    on all workers: {}", names(&spanning, detail));
    }
    for (worker, part) in (0..).zip(parts(plan)).take(detail.of(plan.count as usize)) {
        let own = (0..policy.classes.len()).filter(|&class| policy.worker_of_class(class) == Some(worker));
        let own: Vec<&str> = own.map(|class| policy.classes[class].name.as_str()).collect();
        let _ = writeln!(text, "    worker {}, {:.1} % of the weights: {}", worker + 1, part * 100.0, names(&own, detail));
    }
    text + &detail.rest(plan.count as usize, "workers")
}

/// Names in a line, as many as are shown.
fn names(names: &[&str], detail: Detail) -> String {
    let shown = detail.of(names.len());
    let more = if shown < names.len() { format!(" and {} more", names.len() - shown) } else { String::new() };
    format!("{}{more}", names[..shown].join(", "))
}

/// A buffer that holds up to this many packets.
fn buffer(buffer: &Buffer, packets: u32) -> String {
    let mut text = format!("{} within {}", buffer.kind.name(), print_limit(buffer.limit));
    if let Limit::Bytes(_) = buffer.limit {
        let _ = write!(text, " and {}", print_count(packets.into()));
    }
    if let Some(alpha) = buffer.alpha {
        let _ = write!(text, ", alpha {}", 2f64.powi(alpha.exponent()));
    }
    let Buffer { threshold, tagged_threshold, scaling, .. } = *buffer;
    for (name, part) in [("threshold", threshold), ("tagged threshold", tagged_threshold), ("scaling", scaling)] {
        if let Some(part) = part {
            let _ = write!(text, ", {name} {}", print_ratio(part));
        }
    }
    text
}

fn own_buffer(partition: Option<&Partition>) -> String {
    partition.map_or(String::new(), |partition| format!("its own buffer: {}", buffer(&partition.buffer, partition.packets)))
}

/// A row of the tree.
#[derive(Clone, Copy)]
enum Member {
    Group(usize),
    Class(usize),
}

/// The rows of the tree below a node, of which these are the children of all nodes: the branch, and what it is of.
fn branches(policy: &Policy, children: &[Vec<Member>], node: usize, indent: &str, rows: &mut Vec<(String, Member)>) {
    for (position, &child) in children[node].iter().enumerate() {
        let is_last = position + 1 == children[node].len();
        let corner = if is_last { "└─" } else { "├─" };
        match child {
            Member::Group(index) => {
                let group = &policy.groups[index];
                rows.push((format!("{indent}{corner} {}: {}", group.name, group.scheduler.name()), child));
                let deeper = format!("{indent}{}", if is_last { "   " } else { "│  " });
                branches(policy, children, index + 1, &deeper, rows);
            }
            Member::Class(index) => rows.push((format!("{indent}{corner} {}", policy.classes[index].name), child)),
        }
    }
}

/// The text beside a branch.
fn remarks_of(policy: &Policy, member: Member) -> String {
    match member {
        Member::Group(index) => {
            let group = &policy.groups[index];
            let own = policy.partitions.iter().find(|partition| partition.owner == Owner::Group(index));
            let slots = slots_of(policy, Some(index));
            listed([share(&group.parameters, &group.guarantee), shape(&group.shape), slots, own_buffer(own)])
        }
        Member::Class(index) => class_text(policy, &policy.classes[index]),
    }
}

/// A class of a policy in words: its guarantee, rules, queues, limits and contracts.
pub(crate) fn class_text(policy: &Policy, class: &Class) -> String {
    listed([cell_contract(policy, class), class_remarks(policy, class)])
}

/// A group of a policy in words.
pub(crate) fn group_text(group: &Group) -> String {
    listed([group.scheduler.name().to_owned(), share(&group.parameters, &group.guarantee), shape(&group.shape)])
}

/// The limits of a class's queues and its AQM in words.
pub(crate) fn limits(policy: &Policy, class: &Class) -> String {
    listed(room(policy, class))
}

/// The limit of each queue of a class, its own buffer, the partition that it is in, and its AQM, in words.
fn room(policy: &Policy, class: &Class) -> [String; 4] {
    let limit = class.limit.map_or(String::new(), |limit| {
        let each = if class.queues == 1 { "" } else { " each" };
        format!("at most {}{each}", print_limit(limit))
    });
    let partition = class.partition.map(|partition| &policy.partitions[partition]);
    let own = partition.filter(|partition| partition.owner == Owner::Class);
    let named = partition.filter(|partition| partition.owner == Owner::Policy).map(|partition| format!("in {}", partition.name));
    [limit, own_buffer(own), named.unwrap_or_default(), class.aqm.as_deref().map_or(String::new(), managed)]
}

fn class_remarks(policy: &Policy, class: &Class) -> String {
    let matches = match (class.rules, class.is_added) {
        (_, true) => "everything else (added)".to_owned(),
        (0, false) => "everything else".to_owned(),
        (rules, false) => plural(rules, "rule"),
    };
    let queues = match (class.queues, &policy.adapter) {
        (1, _) if !class.places => String::new(),
        (queues, Some(_)) => format!("{queues} connections"),
        (queues, None) if class.places => format!("places for {}", plural(queues as usize, "call")),
        (queues, None) => {
            let by = if class.spread == Spread::CodePoint { " by code point" } else { "" };
            format!("{queues} queues{by} ({})", class.queue_scheduler.name())
        }
    };
    let police = class.police.as_ref().map_or(String::new(), |police| {
        let bursts = police.bursts().map_or(String::new(), |shown| bursts(shown, counts_frames(police.kind)));
        format!("policed to {}{bursts} ({})", print_rate(police.contract.rate), police.kind.name())
    });
    let [limit, own, named, aqm] = room(policy, class);
    let inside = if class.keeps_marks_inside() { "its colours change nothing on the wire (no `set`)" } else { "" };
    let remarks = remark::print(&class.remarks);
    let promise = class.promise.as_deref().map_or(String::new(), |promise| promised(*promise));
    listed([
        share(&class.parameters, &class.guarantee),
        matches,
        queues,
        limit,
        own,
        named,
        class.budget.map_or(String::new(), |budget| format!("calls within a budget of {}", print_duration(budget))),
        class.reserve.map_or(String::new(), |bytes| {
            format!("{} of it reserved{}", print_size(bytes), if class.queues == 1 { "" } else { " for each queue" })
        }),
        police,
        aqm,
        inside.to_owned(),
        remarks,
        shape(&class.shape),
        promise,
    ])
}

/// An AQM, in words.
fn managed(aqm: &QueueManagement) -> String {
    let rate = print_rate(aqm.rate);
    let drops = if aqm.parameters.ingress == Some(true) { ", drops count as sent" } else { "" };
    format!("kept short by {} for {rate}{drops}", aqm.kind.name())
}

/// The cell scheduler, in words.
fn scheduled_cells(adapter: &AdapterSetup) -> String {
    let conflict = match adapter.conflict {
        Conflict::Lazy => "lazy",
        Conflict::NextFree => "next-free",
        Conflict::Tolerance => "cdvt",
        Conflict::Priority => "priority",
    };
    let mut text = format!("cell scheduler, conflict policy {conflict}");
    let percent = |rate: CellRate| rate.0 as f64 * 100.0 / CellRate::LINK.0 as f64;
    for (priority, &share) in adapter.minimum_shares.iter().enumerate().filter(|(_, share)| share.0 > 0) {
        text += &format!(", at least {:.3} % for priority {priority} while it asks for that", percent(share));
    }
    if let Some(transfer) = &adapter.transfer {
        let time = transfer.cell_time.0 as f64 / SLOT as f64;
        text += &format!(
            "; transfers of up to {} cells, {} slots and {time:.3} per cell, {} cell buffers",
            transfer.burst, transfer.access_latency, transfer.buffer
        );
    }
    text
}

/// The contract of a class's connections, in words; empty if the port sends packets.
fn cell_contract(policy: &Policy, class: &Class) -> String {
    let Some(adapter) = &policy.adapter else { return String::new() };
    let before = policy.classes.iter().take_while(|other| other.name != class.name).map(|other| other.queues as usize).sum::<usize>();
    let contract = &adapter.contracts[before];
    let link = policy.rate.bits_per_second() as f64;
    let rate = |interval: Ticks| about(link * SLOT as f64 / interval.0 as f64);
    let mut text = format!("priority {}, PCR {}", contract.class, rate(contract.peak_interval));
    let kind = match contract.mode {
        Mode::Constant => String::new(),
        Mode::SingleBucket(sustained) => format!(", SCR {}, MBS {} (SLB)", rate(sustained.interval), sustained.maximum_burst_size),
        Mode::DualBucket(sustained) => format!(", SCR {}, MBS {} (DLB)", rate(sustained.interval), sustained.maximum_burst_size),
    };
    text += &kind;
    text + &format!(", CDVT {:.3} slots", contract.delay_variation_tolerance.0 as f64 / SLOT as f64)
}

fn share(parameters: &FlowParameters, guarantee: &Guarantee) -> String {
    let priority = parameters.priority.map(|priority| format!("priority {priority}"));
    let delay = parameters.delay.map(|delay| format!("delay {}", print_duration(delay)));
    let service = parameters.service.map(|request| match request.period {
        1 => print_service(&request),
        period => format!("{} every {}", print_service(&request), print_slots(period.into())),
    });
    let weight = parameters.weight.map(|weight| format!("weight {weight}"));
    let is_kept = |rate: &Rate| guarantee.rate() == Some(LeastRate::whole(rate.bits_per_second()));
    let rate = parameters.rate.filter(|rate| !is_kept(rate)).map(|rate| format!("rate {}", print_rate(rate)));
    let class = match parameters.class {
        None | Some(ServiceClass::BestEffort) => None,
        Some(ServiceClass::Guaranteed) => Some("guaranteed service".to_owned()),
        Some(ServiceClass::ControlledLoad) => Some("controlled load".to_owned()),
    };
    let tolerance = parameters.tolerance.filter(|tolerance| *tolerance > Duration::ZERO);
    let tolerance = tolerance.map(|tolerance| format!("tolerance {}", print_duration(tolerance)));
    listed([service, class, priority, delay, weight, rate, tolerance, Some(guarantee.to_string())].into_iter().flatten())
}

/// The slots of a node under `dwcs`, and whether its windows can be kept.
fn slots_of(policy: &Policy, node: Option<usize>) -> String {
    match policy.bounds.get(node.map_or(0, |group| group + 1)).and_then(|node| node.slots.as_ref()) {
        None => String::new(),
        Some(slots) => {
            let (needed, slot) = (print_part(slots.feasibility.utilisation), print_time(slots.slot.picoseconds().into()));
            format!("{needed} of its slots of {slot} needed, {}", slots.verdict_in_short())
        }
    }
}

/// Delay, loss and disturbance behind the port.
fn behind(policy: &Policy) -> String {
    let Link { delay, loss, rates, disturbance } = &policy.link;
    let extent = policy.link.extent(policy.rate, policy.overhead, policy.longest_frame);
    let delay = (*delay > Duration::ZERO).then(|| {
        format!("delay {}, up to {} ({}) on the way", print_duration(*delay), print_count(extent.packets), print_size(extent.bytes))
    });
    let disturbance = disturbance.as_ref().map(describe_disturbance);
    listed([rates.as_ref().map(describe_rates), delay, loss.as_ref().map(describe_loss), disturbance].into_iter().flatten())
}

/// Both measures of a burst, or only the maximum burst size.
fn bursts(Bursts { depth, maximum }: Bursts, only_maximum: bool) -> String {
    let depth = if only_maximum { String::new() } else { format!(", bursts of {}", print_size(depth.into())) };
    let maximum =
        maximum.map_or(String::new(), |maximum| format!(", at most {} back to back at the peak rate", print_size(maximum.into())));
    depth + &maximum
}

fn shape(shape: &Option<ShapingContract>) -> String {
    shape.as_ref().map_or(String::new(), |shape| {
        let peak = shape.peak.map_or(String::new(), |peak| format!(", peak {}", print_rate(peak)));
        let shown = bursts(Bursts::of_shape(shape), false);
        let pause = if shape.bucket == Bucket::Dual { ", then nothing until the bucket is full again" } else { "" };
        format!("shaped to {}{peak}{shown}{pause}", print_rate(shape.rate))
    })
}

fn promised(promise: Promise) -> String {
    format!("promised {}", promise.texts().join(", "))
}

fn links(variant: &Variant, simulation: &Simulation, detail: Detail) -> String {
    let mut text = "\nlinks\n".to_owned();
    let offered = simulation.offered();
    let count = simulation.network.links.len();
    for (index, link) in simulation.network.links.iter().enumerate().take(detail.of(count)) {
        let (from, to) = (&simulation.network.nodes[link.from.0], &simulation.network.nodes[link.to.0]);
        let policy = &variant.policies[simulation.policy_of_link[index]].name;
        let capacity = link.port.rate.bits_per_second() as f64;
        let (offered, open_ended) = offered[index];
        let load = format!("offered {} ({:.0} %)", about(offered), offered / capacity * 100.0);
        let greedy = match open_ended {
            0 => String::new(),
            1 => " and 1 source that takes what it gets".to_owned(),
            several => format!(" and {several} sources that take what they get"),
        };
        let too_much = if offered > capacity { "; more than it carries" } else { "" };
        let delay = print_duration(link.propagation);
        let _ = writeln!(
            text,
            "  {}: {from} -> {to}, {}, {delay}, policy `{policy}`; {load}{greedy}{too_much}",
            link.name,
            print_rate(link.port.rate)
        );
    }
    text + &detail.rest(count, "links")
}

fn flows(simulation: &Simulation, detail: Detail) -> String {
    let groups = simulation.groups.len();
    let mut text = if groups == 0 { String::new() } else { "\nflows\n".to_owned() };
    for FlowGroup { name, first, count, promise } in &simulation.groups[..detail.of(groups)] {
        let flow = &simulation.network.flows[*first];
        let path: Vec<&str> = flow.path.iter().map(|link| simulation.network.links[link.0].name.as_str()).collect();
        let others = &simulation.network.flows[*first..first + count];
        let lengths = others.iter().map(|flow| flow.path.len());
        let is_spread = simulation.network.reroutes.iter().any(|reroute| reroute.flow == *first && reroute.at == Duration::ZERO);
        let over = match (lengths.clone().min(), lengths.max()) {
            _ if others.iter().all(|other| other.path == flow.path) => path.join(", "),
            (Some(least), Some(most)) if least < most => format!("paths of {least} to {most} links"),
            _ => format!("several paths of {} links", path.len()),
        };
        let times = if *count == 1 { String::new() } else { format!(" x {count}") };
        let promise = promise.map_or(String::new(), |promise| format!("; {}", promised(promise)));
        let tags = flow.tagging.map_or(String::new(), |Tagging { policer, contract }| {
            format!("; tags what is beyond {} ({})", print_rate(contract.rate), policer.name())
        });
        let over = if is_spread { format!("{over}, each packet over this path or an equal one") } else { over };
        let _ = writeln!(text, "  {name}{times} over {over}: {}{tags}{promise}", describe(&flow.source));
    }
    text + &detail.rest(groups, "flows")
}

/// What is proven of the flows.
fn bounds(variant: &Variant, detail: Detail) -> String {
    let proven = Proof::of(variant).map_or_else(String::new, |proof| summarised(variant, &proof, detail));
    if proven.is_empty() { proven } else { format!("\nbounds (`tidegate bounds` tells more)\n{proven}") }
}

fn listed(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}
