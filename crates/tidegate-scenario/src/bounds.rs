//! What is known of a port before a packet has been sent: shares, gaps and whether they are proven, as text and as JSON.

use crate::diagnostic::Problems;
use crate::guarantee::{Guarantee, LeastRate};
use crate::policy::Policy;
use crate::scenario::{Scenario, Variant};
use crate::units::{print_duration, print_rate, print_slots};
use serde_json::{Value, json};
use std::fmt::Write;
use tidegate_core::dwcs::{Feasibility, LeastService, Request, Service, Stream, Utilisation, Verdict, Window};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{DwcsOptions, Shares};
use tidegate_core::units::{Duration, PICOSECONDS_PER_SECOND, Rate};

/// What a node of the scheduling tree gives those below it.
#[derive(Clone, Debug)]
pub struct NodeBounds {
    /// The link, a group, or a class whose queues it serves.
    pub name: String,
    /// Who shares.
    pub scheduler: SchedulerKind,
    /// The rate that is shared.
    pub rate: Rate,
    /// What it is guaranteed of that; the rate itself for the link.
    pub guaranteed: Option<LeastRate>,
    /// True for the link itself: what the others get depends on the nodes above them.
    pub is_link: bool,
    /// What `dwcs` makes of the requests.
    pub slots: Option<Slots>,
    /// The classes and groups directly below, in the order of the streams of `slots`.
    pub members: Vec<MemberBounds>,
}

/// What a class or a group gets from the node above.
#[derive(Clone, Debug)]
pub struct MemberBounds {
    /// Its name.
    pub name: String,
    /// What it asks of `dwcs`.
    pub request: Option<Request>,
    /// What it is guaranteed while it is backlogged.
    pub guarantee: Guarantee,
}

/// The streams of a node under `dwcs`.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The time of a slot.
    pub slot: Duration,
    /// How the node goes about it.
    pub options: DwcsOptions,
    /// One per child.
    pub streams: Vec<Stream>,
    /// What they need together, and what follows.
    pub feasibility: Feasibility,
}

impl Slots {
    pub(crate) fn new(slot: Duration, options: DwcsOptions, streams: Vec<Stream>) -> Slots {
        Slots { slot, options, feasibility: Feasibility::of(&streams), streams }
    }

    /// Whether every stream has the rate of its window, whatever the others do.
    ///
    /// # Errors
    /// Why that is not so.
    pub(crate) fn keeps_rates(&self) -> Result<(), &'static str> {
        match self.feasibility.verdict {
            _ if self.feasibility.has_priority => Err("a static priority goes first"),
            Verdict::Kept if self.options.shares == Shares::Bytes => Ok(()),
            Verdict::Kept => Err("its share is one of packets, not of bytes"),
            Verdict::KeptIfAligned => Err("windows are kept only while the deadlines of all coincide"),
            Verdict::NotProven => Err("windows of different periods can be violated"),
            Verdict::Overloaded => Err("more slots are needed than there are"),
        }
    }

    /// True if windows are kept under the conditions that are printed beside it.
    fn keeps_windows(&self) -> bool {
        matches!(self.feasibility.verdict, Verdict::Kept | Verdict::KeptIfAligned)
    }

    /// The most slots from one service of a stream to its next, if that is known.
    pub fn longest_gap(&self, stream: &Stream) -> Option<u128> {
        match self.feasibility.verdict {
            Verdict::Kept | Verdict::KeptIfAligned => stream.longest_gap(),
            Verdict::NotProven => None,
            Verdict::Overloaded => stream.longest_gap_in_overload(&self.streams),
        }
    }

    /// The longest time that `slots` slots take on the link, in picoseconds. If shares are in bytes, each stream may once overdraw its slot by
    /// less than a packet: that is less than one slot more for each stream that is served in between.
    pub fn time(&self, slots: u128) -> u128 {
        let overdrawn = match self.options.shares {
            Shares::Packets => 0,
            Shares::Bytes => slots.min(self.streams.len() as u128),
        };
        (slots + overdrawn).saturating_mul(self.slot.picoseconds().into())
    }

    /// The least service of a stream, if its window is kept.
    fn least_service(&self, stream: &Stream) -> Option<LeastService> {
        stream.least_service().filter(|_| self.keeps_windows())
    }

    /// In a few words: can the windows be kept?
    pub(crate) fn verdict_in_short(&self) -> &'static str {
        match self.feasibility.verdict {
            Verdict::Kept => "windows are kept",
            Verdict::KeptIfAligned => "windows are kept while deadlines coincide",
            Verdict::NotProven => "not proven, as periods differ",
            Verdict::Overloaded => "windows are violated",
        }
    }

    /// One sentence: can the windows be kept?
    pub fn verdict(&self) -> &'static str {
        match self.feasibility.verdict {
            Verdict::Kept => "every window is kept, whenever packets come",
            Verdict::KeptIfAligned => {
                "every window is kept while the deadlines of all coincide: if all become backlogged together and stay so"
            }
            Verdict::NotProven => "nothing is proven: the slots suffice, but periods differ, and then windows can be violated all the same",
            Verdict::Overloaded => "windows are violated: more slots are needed than there are",
        }
    }
}

/// A request in the words of a file: `window 1 of 4`.
pub(crate) fn print_service(request: &Request) -> String {
    match request.service {
        Service::Window(Window { tolerated, deadlines }) => format!("window {tolerated} of {deadlines}"),
        Service::EarliestDeadline => "edf".to_owned(),
        Service::StaticPriority(rank) => format!("static-priority {rank}"),
        Service::FairShare(weight) => format!("fair-share {weight}"),
    }
}

/// A request's period in slots and in time, if it has one.
pub(crate) fn print_period(request: &Request, slot: Duration) -> Option<String> {
    let has_period = matches!(request.service, Service::Window(_) | Service::EarliestDeadline);
    has_period.then(|| {
        let time = u128::from(request.period) * u128::from(slot.picoseconds());
        format!("{} ({})", print_slots(request.period.into()), print_time(time))
    })
}

/// A part of the slots, as a fraction if it is short: `5/4 (125 %)`.
pub(crate) fn print_part(part: Utilisation) -> String {
    let percent = format!("{:.2}", as_number(part) * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    let is_short = (2..=100_000).contains(&part.denominator());
    if is_short { format!("{part} ({percent} %)") } else { format!("{percent} %") }
}

fn as_number(part: Utilisation) -> f64 {
    part.numerator() as f64 / part.denominator() as f64
}

/// A time in picoseconds, rounded up to four digits: enough for a bound.
pub(crate) fn print_time(picoseconds: u128) -> String {
    let mut unit = 1;
    while picoseconds.div_ceil(unit) >= 10_000 {
        unit *= 10;
    }
    match u64::try_from(picoseconds.div_ceil(unit) * unit).ok().filter(|&picoseconds| picoseconds <= Duration::MAX.picoseconds()) {
        Some(picoseconds) => print_duration(Duration::from_picoseconds(picoseconds)),
        None => "more than 106 days".to_owned(),
    }
}

/// The ports of a variant: those of its links, or one per policy if it simulates nothing.
fn ports(variant: &Variant) -> Vec<(String, &Policy, &[NodeBounds])> {
    match &variant.simulation {
        None => variant.policies.iter().map(|policy| (format!("policy `{}`", policy.name), policy, policy.bounds.as_slice())).collect(),
        Some(simulation) => {
            let links = simulation.network.links.iter().enumerate();
            let port = |(index, link): (usize, &tidegate_sim::Link)| {
                let policy = &variant.policies[simulation.policy_of_link[index]];
                (format!("link `{}`, policy `{}`", link.name, policy.name), policy, simulation.bounds_of_link[index].as_slice())
            };
            links.map(port).collect()
        }
    }
}

/// What is known of every port, for people.
pub fn text(scenario: &Scenario) -> String {
    let mut text = format!("{}: {}\n", scenario.source, scenario.title);
    for variant in &scenario.variants {
        if scenario.variants.len() > 1 {
            let _ = writeln!(text, "\nvariant `{}`", variant.name);
        }
        for (name, _, nodes) in ports(variant) {
            let contracts = "the cell scheduler keeps contracts, and no bound is computed for it";
            let rate = nodes.first().map_or(contracts.to_owned(), |node| print_rate(node.rate));
            let _ = writeln!(text, "\n{name}: {rate}");
            nodes.iter().for_each(|node| write_node(&mut text, node));
        }
    }
    text
}

fn write_node(text: &mut String, node: &NodeBounds) {
    let _ = write!(text, "  {}: {}", node.name, node.scheduler.name());
    let Some(slots) = &node.slots else {
        let _ = writeln!(text, "; no delay bound is computed for it");
        let rows = node.members.iter().map(|member| vec![member.name.clone(), member.guarantee.to_string()]);
        return write_rows(text, rows.collect());
    };
    let measure = match slots.options.shares {
        Shares::Bytes => "shares in bytes",
        Shares::Packets => "shares in packets",
    };
    let (slot, needed) = (print_time(slots.slot.picoseconds().into()), print_part(slots.feasibility.utilisation));
    let _ = writeln!(text, ", a slot is {slot}, {measure}; {needed} of the slots needed");
    let _ = writeln!(text, "    {}", slots.verdict());
    let mut rows =
        vec![["class or group", "service", "window", "period", "needs", "gets at least", "waits at most"].map(str::to_owned).to_vec()];
    rows.extend(node.members.iter().zip(&slots.streams).map(|(member, stream)| {
        let service = member.request.as_ref().map_or(String::new(), print_service);
        let window = if stream.is_fixed { String::new() } else { format!("{} of {}", stream.window.tolerated, stream.window.deadlines) };
        let period = member.request.as_ref().and_then(|request| print_period(request, slots.slot)).unwrap_or_default();
        let needs = if stream.is_fixed { String::new() } else { print_part(stream.utilisation()) };
        let gap = slots.longest_gap(stream).map_or("-".to_owned(), |gap| {
            let time = if node.is_link { format!(" ({})", print_time(slots.time(gap))) } else { String::new() };
            print_slots(gap) + &time
        });
        vec![member.name.clone(), service, window, period, needs, least(node, slots, member, stream), gap]
    }));
    write_rows(text, rows);
    for member in &node.members {
        if !matches!(member.guarantee, Guarantee::Rate(_)) {
            let _ = writeln!(text, "    * {}: {}", member.name, member.guarantee);
        }
    }
    for assumption in assumptions(node, slots) {
        let _ = writeln!(text, "    * {assumption}");
    }
}

/// The rate of a stream, in bytes or packets as its node shares them.
fn least(node: &NodeBounds, slots: &Slots, member: &MemberBounds, stream: &Stream) -> String {
    match (member.guarantee.rate(), packets_at_least(node, slots, stream)) {
        (Some(rate), _) => rate.to_string(),
        (None, Some(packets)) => format!("{packets:.1} packets/s"),
        (None, None) => "-".to_owned(),
    }
}

/// The packets per second of a stream of the link that shares in packets.
fn packets_at_least(node: &NodeBounds, slots: &Slots, stream: &Stream) -> Option<f64> {
    let least = slots.least_service(stream).filter(|_| node.is_link && slots.options.shares == Shares::Packets)?;
    Some(packets_per_second(slots, least))
}

fn packets_per_second(slots: &Slots, least: LeastService) -> f64 {
    least.ticks as f64 / least.of as f64 * PICOSECONDS_PER_SECOND as f64 / slots.slot.picoseconds() as f64
}

/// What the figures suppose.
fn assumptions(node: &NodeBounds, slots: &Slots) -> Vec<&'static str> {
    let mut assumptions = Vec::new();
    let known = |stream: &Stream| slots.longest_gap(stream).is_some();
    if slots.streams.iter().any(known) {
        assumptions.push("what a class gets and waits holds while it has packets that its contract lets pass");
        if slots.feasibility.verdict == Verdict::Overloaded {
            assumptions
                .push("waits in overload: from the literature, for equal periods and a penalty of 1; checked on random sets, not proven");
        }
        if node.is_link && slots.options.shares == Shares::Bytes {
            assumptions.push("in time, up to one slot more per class: the last packet of a slot may overdraw it, which is paid back later");
        }
        if !node.is_link {
            assumptions.push("slots of this node: in time they last as long as the node above lets them");
        }
    }
    if slots.feasibility.has_priority {
        assumptions.push("static priority reserves nothing and goes first: all figures are of the slots that it leaves");
    }
    assumptions
}

fn write_rows(text: &mut String, rows: Vec<Vec<String>>) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "    {}", cells.join("  ").trim_end());
    }
}

/// What is known of every port, for programs. Rates are in bit/s, times in seconds; what is not known is `null`.
pub fn json(scenario: &Scenario) -> Value {
    let variants: Vec<Value> = (scenario.variants.iter())
        .map(|variant| {
            let ports = ports(variant).into_iter().enumerate().map(|(index, (_, policy, nodes))| {
                let link = variant.simulation.as_ref().map(|simulation| simulation.network.links[index].name.clone());
                json!({ "link": link, "policy": policy.name, "nodes": nodes.iter().map(node_json).collect::<Vec<_>>() })
            });
            json!({ "name": variant.name, "ports": ports.collect::<Vec<_>>() })
        })
        .collect();
    let warnings = scenario.warnings.as_ref().map(Problems::to_string);
    json!({ "schema": 2, "source": scenario.source, "title": scenario.title, "warnings": warnings, "variants": variants })
}

fn node_json(node: &NodeBounds) -> Value {
    let members = node.members.iter().enumerate().map(|(index, member)| {
        let (rate, because) = member.guarantee.json();
        let mut value = json!({ "name": member.name, "rate_at_least_bps": rate, "not_more_because": because });
        if let (Some(slots), Value::Object(fields)) = (&node.slots, &mut value) {
            fields.extend(stream_json(node, slots, member, &slots.streams[index]));
        }
        value
    });
    let members: Vec<Value> = members.collect();
    let slots = node.slots.as_ref().map(|slots| {
        let verdict = match slots.feasibility.verdict {
            Verdict::Kept => "kept",
            Verdict::KeptIfAligned => "kept_if_aligned",
            Verdict::NotProven => "not_proven",
            Verdict::Overloaded => "overloaded",
        };
        json!({
            "slot_s": slots.slot.picoseconds() as f64 / PICOSECONDS_PER_SECOND as f64,
            "shares": if slots.options.shares == Shares::Bytes { "bytes" } else { "packets" },
            "utilisation": as_number(slots.feasibility.utilisation),
            "utilisation_fraction": slots.feasibility.utilisation.to_string(),
            "verdict": verdict,
            "has_static_priority": slots.feasibility.has_priority,
            "assumptions": assumptions(node, slots),
        })
    });
    json!({ "node": node.name, "scheduler": node.scheduler.name(), "rate_bps": node.guaranteed.map(LeastRate::json), "dwcs": slots, "members": members })
}

fn stream_json(node: &NodeBounds, slots: &Slots, member: &MemberBounds, stream: &Stream) -> serde_json::Map<String, Value> {
    let gap = slots.longest_gap(stream);
    let seconds = |picoseconds: u128| picoseconds as f64 / PICOSECONDS_PER_SECOND as f64;
    let is_fixed = stream.is_fixed;
    let fields = json!({
        "service": member.request.as_ref().map(print_service),
        "window": (!is_fixed).then_some([stream.window.tolerated, stream.window.deadlines]),
        "period_slots": stream.period.filter(|_| !is_fixed),
        "period_s": stream.period.filter(|_| !is_fixed).map(|period| seconds(u128::from(period) * u128::from(slots.slot.picoseconds()))),
        "utilisation": as_number(stream.utilisation()),
        "utilisation_fraction": stream.utilisation().to_string(),
        "packets_at_least_per_s": packets_at_least(node, slots, stream),
        "gap_at_most_slots": gap.and_then(|gap| u64::try_from(gap).ok()),
        "gap_at_most_s": gap.filter(|_| node.is_link).map(|gap| seconds(slots.time(gap))),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    }
}
