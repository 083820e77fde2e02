//! Builds calls and admission control of a simulation, and gives every call a queue of its own.

use crate::broker::declared;
use crate::choice::CallArrivals;
use crate::diagnostic::Diagnostic;
use crate::document::{AdmissionTable, CallsTable, FlowTable};
use crate::policy::{Class, Policy};
use crate::source::longest_packet;
use crate::units::{Limit, plural, print_size};
use crate::value::{At, Block};
use std::collections::HashSet;
use tidegate_core::admission::{LinkSettings, Service, Target, TrafficSpec};
use tidegate_core::classifier::{Header, Network as Addresses};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::units::{Duration, Rate};
use tidegate_sim::{Arrivals, Calls, LinkId, Network, Source};

/// What a link with this port admits calls to. `None` if it reports an error.
pub(crate) fn admission(
    table: &Block<AdmissionTable>,
    policy: &Policy,
    rate: Rate,
    propagation: Duration,
    findings: &mut Vec<Diagnostic>,
) -> Option<LinkSettings> {
    let held = |class: &Class| {
        let buffer = class.partition.map_or(&policy.buffer, |partition| &policy.partitions[partition].buffer);
        match buffer.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets.saturating_mul(u64::from(policy.longest_frame)),
        }
    };
    let Some(usual) = policy.classes.iter().filter(|class| class.places).map(held).min() else {
        let finding = table.error(format!("policy `{}` has no class with places for calls", policy.name));
        findings.push(finding.help("give a class below `intserv` places, like places = 16, or remove `admission`"));
        return None;
    };
    let longest = policy.overhead.wire_length(policy.longest_frame);
    let buffer = table.buffer.as_ref().map_or(usual, |at| at.value.0);
    if let (true, Some(at)) = (buffer > usual, &table.buffer) {
        let finding = at.error(format!("the buffer of a class with places holds {} at most", print_size(usual)));
        findings.push(finding.help("lower it, or raise the limit of that buffer"));
    }
    let mut settings = LinkSettings::new(rate, 8 * u64::from(longest), buffer.saturating_mul(8));
    settings.latency = propagation;
    if let Some(at) = &table.utilisation {
        settings.utilisation = (at.value.billionths() / 1000) as u32;
    }
    settings.sample = table.sample.as_ref().map_or(settings.sample, |at| at.value);
    settings.samples = table.samples.as_ref().map_or(settings.samples, |at| at.value.0 as u32);
    match tidegate_core::admission::Link::new(settings) {
        Ok(_) => Some(settings),
        Err(error) => {
            findings.push(table.error(format!("`admission`: {error}")));
            None
        }
    }
}

/// The calls of a flow, which are the next flows of the network. `None` if it reports an error.
pub(crate) fn calls(
    table: &FlowTable,
    calls: &Block<CallsTable>,
    source: &Source,
    path: &[LinkId],
    network: &Network,
    has_budgets: bool,
    findings: &mut Vec<Diagnostic>,
) -> Option<Calls> {
    let first = network.flows.len();
    let before = findings.len();
    if let Some(at) = &table.count {
        findings.push(at.error("a flow of calls has `places` in place of `count`").help("remove `count`"));
    }
    let kind = calls.arrivals.as_ref().map_or(CallArrivals::default(), |at| at.value.0);
    for (key, time) in [("interval", &calls.interval), ("hold", &calls.hold)] {
        match (time, kind) {
            (Some(at), CallArrivals::Permanent) => {
                findings.push(at.error(format!("`{key}` has no effect: permanent calls never leave")).help("remove it"));
            }
            (None, CallArrivals::Poisson | CallArrivals::AfterLast) => {
                let finding = calls.error(format!("the calls of `{}` lack `{key}`", table.name.0));
                findings.push(finding.help(format!("add one, like {key} = \"50 s\", or set arrivals = \"permanent\"")));
            }
            (Some(at), _) if at.value == Duration::ZERO => {
                findings.push(at.error(format!("`{key}` is 0")).help("write a mean time above 0"))
            }
            _ => {}
        }
    }
    if calls.service.value.0 == Service::ControlledLoad {
        let spans = [("delay", calls.delay.as_ref().map(|at| &at.span)), ("reserve", calls.reserve.as_ref().map(|at| &at.span))];
        for (key, span) in spans.into_iter().filter_map(|(key, span)| Some((key, span?))) {
            let finding = Diagnostic::error(span.clone(), format!("`{key}` has no effect: controlled load has no target"));
            findings.push(finding.help("remove it, or set service = \"guaranteed\""));
        }
    } else if let (Some(delay), Some(reserve)) = (&calls.delay, &calls.reserve) {
        let finding = reserve.error("a call asks for a delay or for a rate, not for both");
        findings.push(finding.context(delay.span.clone(), "the delay").help("keep one of them"));
    }
    if let (Some(at), true) = (&calls.reserve, calls.reserve.as_ref().is_some_and(|at| at.value < calls.rate.value)) {
        findings
            .push(at.error("it asks for less than it declares").context(calls.rate.span.clone(), "declared").help("at least its `rate`"));
    }
    let has_rates = path.iter().any(|link| network.links[link.0].admission.is_some());
    if has_budgets {
        judge_brokered(table, calls, has_rates, findings);
    } else if !has_rates {
        let finding = calls.error(format!("no link on the path of `{}` admits calls", table.name.0));
        let help = "add `admission` to a link, like admission = { utilisation = \"90 %\" }, or a `budget` to their class at every link";
        findings.push(finding.help(help));
    }
    let longest = longest_packet(source, &table.source).map_or(0, |(longest, _)| longest);
    let on_wire = path.iter().map(|link| network.links[link.0].overhead().wire_length(longest)).max().unwrap_or(longest);
    let packet = calls.packet.as_ref().map_or(u64::from(on_wire), |at| at.value.0);
    if let (Some(at), true) = (&calls.packet, packet < u64::from(on_wire)) {
        findings.push(
            at.error(format!("the source sends packets of {} on the wire", print_size(on_wire.into()))).help("declare at least that"),
        );
    }
    let burst = calls.burst.as_ref().map_or(packet, |at| at.value.0);
    let peak = calls.peak.as_ref().map_or(calls.rate.value, |at| at.value);
    let traffic = TrafficSpec::new(packet.saturating_mul(8), burst.saturating_mul(8), calls.rate.value, peak);
    let traffic = traffic.map_err(|error| findings.push(calls.error(format!("what the calls declare: {error}"))));
    if findings.len() > before {
        return None;
    }
    let mut traffic = traffic.ok()?;
    if has_budgets {
        traffic = declared(traffic, table, source, path, network, findings);
    }
    let time = |time: &Option<At<Duration>>| time.as_ref().map_or(Duration::ZERO, |at| at.value);
    let target = match (&calls.delay, &calls.reserve) {
        _ if calls.service.value.0 == Service::ControlledLoad => None,
        (Some(delay), _) => Some(Target::Delay(delay.value)),
        (None, reserve) => Some(Target::Rate(reserve.as_ref().unwrap_or(&calls.rate).value.bits_per_second())),
    };
    Some(Calls {
        name: table.name.0.clone(),
        flows: (first..first + calls.places.value.0 as usize).collect(),
        arrivals: match kind {
            CallArrivals::Poisson => Arrivals::Poisson(time(&calls.interval)),
            CallArrivals::AfterLast => Arrivals::AfterLast(time(&calls.interval)),
            CallArrivals::Permanent => Arrivals::Permanent,
        },
        hold: time(&calls.hold),
        traffic,
        target,
        service: calls.service.value.0,
        tolerance: calls.tolerance.as_ref().map(|at| at.value),
        enforces_reserve: calls.enforce_reserve.as_ref().is_some_and(|at| at.value),
        brokered: None,
    })
}

/// Reports keys that have no meaning for calls by budgets of delay.
fn judge_brokered(table: &FlowTable, calls: &Block<CallsTable>, has_rates: bool, findings: &mut Vec<Diagnostic>) {
    if has_rates {
        let finding = calls.error(format!("one link on the path of `{}` admits calls by their rates, another by budgets", table.name.0));
        findings.push(finding.help("let all links of the path admit in one way"));
    }
    if calls.service.value.0 == Service::ControlledLoad {
        let finding = calls.service.error("budgets promise delays, and controlled load asks for none");
        findings.push(finding.help("set service = \"guaranteed\""));
    }
    let tolerance = calls.tolerance.as_ref().map(|at| (at.span.clone(), "tolerance"));
    let reserve = calls.enforce_reserve.as_ref().map(|at| (at.span.clone(), "enforce_reserve"));
    for (span, key) in tolerance.into_iter().chain(reserve) {
        let finding = Diagnostic::error(span, format!("`{key}` has no effect: calls by budgets share the queue of their class"));
        findings.push(finding.help("remove it"));
    }
    if let Some(shape) = &table.shape {
        let finding = shape.error("a shape holds packets back after the call has left, and budgets need them gone");
        findings.push(finding.help("remove `shape`"));
    }
}

/// Chooses the source ports of calls so that the hash of the classifier gives each a queue of its own at every link that admits calls. `tables` has the
/// table of each of the network's calls, `policy_of_link` the policy of each link.
pub(crate) fn separate(
    network: &mut Network,
    policies: &[Option<Policy>],
    policy_of_link: &[usize],
    tables: &[&FlowTable],
    findings: &mut Vec<Diagnostic>,
) {
    let has_places = |network: &Network, link: usize, queue: Flow| {
        let class = network.links[link].port.classifier.class_of(queue);
        policies[policy_of_link[link]].as_ref().is_some_and(|policy| policy.classes[class].places)
    };
    let of_calls: Vec<usize> = network.calls.iter().flat_map(|calls| calls.flows.iter().copied()).collect();
    let mut taken: HashSet<(usize, Flow)> = HashSet::new();
    for (_, flow) in network.flows.iter().enumerate().filter(|(index, _)| !of_calls.contains(index)) {
        taken.extend(queues(network, &flow.path, flow.header));
    }
    for (number, table) in tables.iter().enumerate() {
        let Some(calls) = table.calls.as_ref().filter(|_| network.calls[number].brokered.is_none()) else { continue };
        let (path, flows) = (network.flows[network.calls[number].flows[0]].path.clone(), network.calls[number].flows.clone());
        for (nth, &flow) in flows.iter().enumerate() {
            let header = network.flows[flow].header;
            let usual = queues(network, &path, header);
            let without = usual.iter().find(|&&(link, queue)| !has_places(network, link, queue));
            if let Some(&(link, queue)) = without {
                let classifier = &network.links[link].port.classifier;
                let class = &classifier.classes()[classifier.class_of(queue)].name;
                let problem = format!(
                    "the packets of `{}` are in class `{class}` at link `{}`, which has no places",
                    table.name.0, network.links[link].name
                );
                findings.push(calls.error(problem).help("give the class `places`, or match the packets in a class that has them"));
                return;
            }
            let found = (0..=u16::MAX).map(|step| moved(header, step)).find(|header| {
                let queues = queues(network, &path, *header);
                queues.iter().all(|at| has_places(network, at.0, at.1) && !taken.contains(at))
            });
            let Some(header) = found else {
                let problem = format!("only {} of `{}` find a queue of their own", plural(nth, "call"), table.name.0);
                let help = "give the class as many `places` at every link as all calls in it have together, and match no other flow in it";
                findings.push(calls.places.error(problem).help(help));
                return;
            };
            taken.extend(queues(network, &path, header));
            network.flows[flow].header = header;
        }
    }
}

/// The queues of unmarked packets with this header at the links that admit calls.
fn queues(network: &Network, path: &[LinkId], mut header: Header) -> Vec<(usize, Flow)> {
    let mut found = Vec::new();
    for &LinkId(number) in path {
        let link = &network.links[number];
        let queue = link.port.classifier.classify(&header);
        if link.admission.is_some() {
            found.push((number, queue));
        }
        if !link.cells {
            header = link.port.remarks.of(link.port.classifier.class_of(queue), Colour::Green).of(header);
        }
    }
    found
}

/// The header with its source port moved by `step`; the same without ports.
fn moved(mut header: Header, step: u16) -> Header {
    if let Addresses::V4 { transport, .. } | Addresses::V6 { transport, .. } = &mut header.network
        && let Some((source, _)) = &mut transport.ports
    {
        *source = source.wrapping_add(step);
    }
    header
}
