//! Prints what holds before a packet is sent, as text and as JSON: the bounds of flows and queues. Of every port: guaranteed rates, longest gaps,
//! and whether they are proven.

use crate::detail::Detail;
use crate::diagnostic::{Problems, alternatives, closest};
use crate::guarantee::{Guarantee, LeastRate};
use crate::policy::Policy;
use crate::proof::Proof;
use crate::scenario::{Scenario, Variant};
use crate::slots::{as_number, print_part, print_period, print_service};
use crate::units::{print_duration, print_rate, print_slots, print_time};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write;
use tidegate_core::dwcs::{LeastService, Stream, Verdict};
use tidegate_core::scheduler::Shares;
use tidegate_core::units::{Duration, PICOSECONDS_PER_SECOND};
use tidegate_sim::LinkId;

mod flow;
mod flows;
mod proven;
mod queues;
mod rows;

use proven::Proven;
use rows::write_rows;

pub use crate::slots::{MemberBounds, NodeBounds, Slots};
pub use proven::{Question, bounded_by};
pub use tidegate_bounds::end_to_end::Method;

/// A port, under the policy that it has for a time.
struct Port<'s> {
    /// The link; `None` if the file has no simulation, for the port of a policy.
    link: Option<&'s str>,
    policy: &'s Policy,
    nodes: &'s [NodeBounds],
    /// The instant at which a change gives it another policy.
    until: Option<Duration>,
}

impl<'s> Port<'s> {
    fn of_policy(variant: &'s Variant, policy: &'s Policy, changes: usize) -> Port<'s> {
        Port { link: None, policy, nodes: &policy.bounds, until: variant.until(policy, changes) }
    }

    fn name(&self) -> String {
        let link = self.link.map_or_else(String::new, |link| format!("link `{link}`, "));
        let until = self.until.map_or_else(String::new, |at| format!(" until {}", print_duration(at)));
        format!("{link}policy `{}`{until}", self.policy.name)
    }

    fn write(&self, text: &mut String) {
        let contracts = "the cell scheduler keeps contracts, and no bound is computed for it";
        let rate = self.nodes.first().map_or(contracts.to_owned(), |node| print_rate(node.rate));
        let _ = writeln!(text, "\n{}: {rate}", self.name());
        if let Some(condition) = self.policy.buffer_condition() {
            let _ = writeln!(text, "  {condition}");
        }
        self.nodes.iter().for_each(|node| write_node(text, node));
    }

    fn json(&self) -> Value {
        let nodes: Vec<Value> = self.nodes.iter().map(node_json).collect();
        let until = self.until.map(seconds);
        json!({ "link": self.link, "policy": self.policy.name, "until_s": until, "condition": self.policy.buffer_condition(), "nodes": nodes })
    }
}

fn seconds(time: Duration) -> f64 {
    time.picoseconds() as f64 / PICOSECONDS_PER_SECOND as f64
}

/// The ports of a variant when it starts: one per link, or one per policy if the file has no simulation.
fn ports(variant: &Variant) -> Vec<Port<'_>> {
    match &variant.simulation {
        None => variant.policies.iter().map(|policy| Port::of_policy(variant, policy, 0)).collect(),
        Some(simulation) => {
            let links = simulation.network.links.iter().zip(&simulation.policy_of_link).zip(&simulation.bounds_of_link);
            links
                .map(|((link, &policy), nodes)| Port {
                    link: Some(&link.name),
                    nodes,
                    ..Port::of_policy(variant, &variant.policies[policy], 0)
                })
                .collect()
        }
    }
}

/// The ports that the change of this index makes others.
fn changed_ports(variant: &Variant, index: usize) -> Vec<Port<'_>> {
    let change = &variant.changes[index];
    let Some(simulation) = &variant.simulation else {
        return change.policies.iter().map(|policy| Port::of_policy(variant, policy, index + 1)).collect();
    };
    let mut ports = Vec::new();
    for (LinkId(link), of_link) in &change.ports {
        let name = &variant.policies[simulation.policy_of_link[*link]].name;
        let policy = change.policies.iter().find(|policy| policy.name == *name);
        let link = Some(simulation.network.links[*link].name.as_str());
        ports.extend(policy.map(|policy| Port { link, nodes: &of_link.bounds, ..Port::of_policy(variant, policy, index + 1) }));
    }
    ports
}

/// A file and what is proven of it.
pub struct Report<'s> {
    scenario: &'s Scenario,
    question: Question,
    /// Of each variant; `None` for a policy file, and for variants that are not printed.
    proofs: Vec<Option<Proof>>,
}

impl<'s> Report<'s> {
    /// Proves what is asked of a file; `progress` is told which part of it is done, from 0 to 1.
    ///
    /// # Errors
    /// One sentence: a question about flows of a file that has none, or about a flow that it does not have.
    pub fn of(scenario: &'s Scenario, question: Question, progress: &dyn Fn(f64)) -> Result<Report<'s>, String> {
        let has_flows = scenario.variants.iter().any(|variant| variant.simulation.is_some());
        match &question.flow {
            _ if !has_flows && (question.flow.is_some() || question.method.is_some()) => {
                return Err(format!("{} is a policy file: it has no flows, and bounds of flows need [[flow]] tables", scenario.source));
            }
            Some(name) => check_flow(scenario, name)?,
            None => {}
        }
        let shown = question.detail.of(scenario.variants.len());
        let prove = |(index, variant): (usize, &Variant)| {
            let simulation = variant.simulation.as_ref().filter(|_| index < shown)?;
            let of_method = matches!(question.method, Some(Method::PayMultiplexingOnce | Method::Program));
            let asked = proven::asked(simulation, question.flow.as_deref());
            let by_all = |flow: usize| (of_method || question.flow.is_some()) && asked.contains(&flow);
            let part = |done: usize, all: usize| progress((index as f64 + done as f64 / all.max(1) as f64) / shown as f64);
            Proof::in_detail(variant, &by_all, &part)
        };
        let proofs = scenario.variants.iter().enumerate().map(prove).collect();
        Ok(Report { scenario, question, proofs })
    }

    /// The bounds of every flow, queue and port as text; of one flow if the question names it.
    pub fn text(&self) -> String {
        let scenario = self.scenario;
        let mut text = format!("{}: {}\n", scenario.source, scenario.title);
        let count = scenario.variants.len();
        for (variant, proof) in scenario.variants.iter().zip(&self.proofs).take(self.question.detail.of(count)) {
            if count > 1 {
                let _ = writeln!(text, "\nvariant `{}`", variant.name);
            }
            let proven = Proven::of(variant, proof.as_ref(), &self.question);
            if let (Some(proven), Some(_)) = (&proven, &self.question.flow) {
                flow::write_detail(&mut text, proven);
                continue;
            }
            if let Some(proven) = proven {
                flows::write_flows(&mut text, &proven);
                queues::write_queues(&mut text, &proven);
            }
            ports(variant).iter().for_each(|port| port.write(&mut text));
            for (index, change) in variant.changes.iter().enumerate() {
                let _ = writeln!(text, "\nfrom {} on: {}", print_duration(change.at), change.what.join(", "));
                changed_ports(variant, index).iter().for_each(|port| port.write(&mut text));
            }
        }
        text + &self.question.detail.rest(count, "variants")
    }

    /// The same as JSON, never cut. Of ports, rates are in bit/s and times in seconds; of flows and queues, times are in picoseconds. Unknown values are
    /// `null`.
    pub fn json(&self) -> Value {
        let scenario = self.scenario;
        let variants = scenario.variants.iter().zip(&self.proofs).map(|(variant, proof)| {
            let proven = Proven::of(variant, proof.as_ref(), &self.question);
            let links = proven.as_ref().and_then(Proven::asked_links);
            let is_asked = |port: &Port<'_>| links.as_ref().is_none_or(|links| port.link.is_some_and(|link| links.contains(&link)));
            let all = |ports: Vec<Port<'_>>| ports.iter().filter(|port| is_asked(port)).map(Port::json).collect::<Vec<_>>();
            let changes = variant.changes.iter().enumerate().map(
                |(index, change)| json!({ "at_s": seconds(change.at), "what": change.what, "ports": all(changed_ports(variant, index)) }),
            );
            json!({
                "name": variant.name,
                "flows": proven.as_ref().map_or_else(Vec::new, flows::flows_json),
                "queues": proven.as_ref().map_or_else(Vec::new, queues::queues_json),
                "buffers": proven.as_ref().map_or_else(Vec::new, queues::buffers_json),
                "ports": all(ports(variant)),
                "changes": changes.collect::<Vec<_>>(),
            })
        });
        let warnings = scenario.warnings.as_ref().map(Problems::to_string);
        let variants = variants.collect::<Vec<_>>();
        json!({ "schema": SCHEMA, "source": scenario.source, "title": scenario.title, "warnings": warnings, "variants": variants })
    }
}

/// The version of the JSON.
const SCHEMA: u32 = 3;

/// The most names of flows in a message.
const MOST_NAMES: usize = 20;

/// Refuses a flow that no variant has.
fn check_flow(scenario: &Scenario, name: &str) -> Result<(), String> {
    let simulations = || scenario.variants.iter().filter_map(|variant| variant.simulation.as_ref());
    let tables = || simulations().flat_map(|simulation| simulation.groups.iter().map(|group| group.name.as_str()));
    let flows = || simulations().flat_map(|simulation| simulation.network.flows.iter().map(|flow| flow.name.as_str()));
    if tables().chain(flows()).any(|known| known == name) {
        return Ok(());
    }
    let source = &scenario.source;
    Err(match closest(name, tables()).or_else(|| closest(name, flows())) {
        Some(guess) => format!("{source} has no flow `{name}`; did you mean `{guess}`?"),
        None => {
            let mut seen = HashSet::new();
            let known: Vec<&str> = tables().filter(|table| seen.insert(*table)).collect();
            let more = if known.len() > MOST_NAMES { format!(" (the first {MOST_NAMES} of {})", known.len()) } else { String::new() };
            let known = alternatives(known.into_iter().take(MOST_NAMES)).replace(" or ", " and ");
            format!("{source} has no flow `{name}`; its flows are {known}{more}")
        }
    })
}

/// The bounds of every flow, queue and port as text.
pub fn text(scenario: &Scenario) -> String {
    // A question that names nothing is never refused.
    Report::of(scenario, Question::default(), &|_| {}).map_or_else(|refused| refused, |report| report.text())
}

/// One line for the equal flows of each table of a variant: the bound on their delay, or why there is none. Empty for a policy file.
pub(crate) fn summarised(variant: &Variant, proof: &Proof, detail: Detail) -> String {
    let question = Question { detail, ..Question::default() };
    Proven::of(variant, Some(proof), &question).map_or_else(String::new, |proven| flows::summarised(&proven))
}

fn write_node(text: &mut String, node: &NodeBounds) {
    let _ = write!(text, "  {}: {}", node.name, node.scheduler.name());
    let Some(slots) = &node.slots else {
        text.push('\n');
        let rows = node.members.iter().map(|member| vec![member.name.clone(), member.guarantee.to_string()]);
        return write_rows(text, &rows.collect::<Vec<_>>());
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
    write_rows(text, &rows);
    for member in &node.members {
        if !matches!(member.guarantee, Guarantee::Rate(_)) {
            let _ = writeln!(text, "    * {}: {}", member.name, member.guarantee);
        }
    }
    for assumption in assumptions(node, slots) {
        let _ = writeln!(text, "    * {assumption}");
    }
}

/// The least rate of a stream, in the unit that its node shares: bits or packets.
fn least(node: &NodeBounds, slots: &Slots, member: &MemberBounds, stream: &Stream) -> String {
    match (member.guarantee.rate(), packets_at_least(node, slots, stream)) {
        (Some(rate), _) => rate.to_string(),
        (None, Some(packets)) => format!("{packets:.1} packets/s"),
        (None, None) => "-".to_owned(),
    }
}

/// The least packets per second of a stream, if the link shares packets.
fn packets_at_least(node: &NodeBounds, slots: &Slots, stream: &Stream) -> Option<f64> {
    let least = slots.least_service(stream).filter(|_| node.is_link && slots.options.shares == Shares::Packets)?;
    Some(packets_per_second(slots, least))
}

fn packets_per_second(slots: &Slots, least: LeastService) -> f64 {
    least.ticks as f64 / least.of as f64 * PICOSECONDS_PER_SECOND as f64 / slots.slot.picoseconds() as f64
}

/// The assumptions behind the figures of a node.
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

/// The bounds of every flow, queue and port as JSON.
pub fn json(scenario: &Scenario) -> Value {
    Report::of(scenario, Question { detail: Detail::All, ..Question::default() }, &|_| {}).map_or(Value::Null, |report| report.json())
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

#[cfg(test)]
mod tests;
