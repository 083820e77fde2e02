//! The broker of a network: it admits calls to classes with budgets of delay.

use crate::budget::Budgeted;
use crate::diagnostic::Diagnostic;
use crate::document::FlowTable;
use crate::proof::arrivals::{Overheads, lengths, of_source};
use std::sync::Arc;
use tidegate_bounds::admission::Budgets;
use tidegate_bounds::curve::Arrival;
use tidegate_core::admission::TrafficSpec;
use tidegate_core::classifier::Header;
use tidegate_core::packet::Colour;
use tidegate_sim::{Broker, BrokeredPath, BrokeredQueue, LinkId, Network, Source, reversed};

/// Links and the classes with budgets of their ports.
pub(crate) struct Ports<'a> {
    /// By link.
    pub budgeted: &'a [Option<Budgeted>],
}

impl Ports<'_> {
    /// True if a link of the path has classes with budgets.
    pub fn are_on(&self, path: &[LinkId]) -> bool {
        path.iter().any(|link| self.budgeted[link.0].is_some())
    }

    /// The number of the queue of a class that has a budget.
    fn queue(&self, link: usize, class: usize) -> Option<u32> {
        let before: usize = self.budgeted[..link].iter().flatten().map(|port| port.classes.len()).sum();
        let own = self.budgeted[link].as_ref()?.classes.iter().position(|&other| other == class)?;
        Some((before + own) as u32)
    }

    /// Gives the network its broker, and calls on paths with budgets their queues. `tables` has the table of each of the network's calls, `flows` those of all
    /// flows with the index of their first.
    pub fn settle(&self, network: &mut Network, tables: &[&FlowTable], flows: &[(usize, &FlowTable)], findings: &mut Vec<Diagnostic>) {
        if self.budgeted.iter().all(Option::is_none) {
            return;
        }
        let before = findings.len();
        for &(first, table) in flows.iter().filter(|(_, table)| table.calls.is_none()) {
            self.judge_other(network, first, table, findings);
        }
        for (number, table) in tables.iter().enumerate() {
            if self.are_on(&network.flows[network.calls[number].flows[0]].path) {
                let path = self.path(network, number, table, findings);
                network.calls[number].brokered = path;
            }
        }
        if findings.len() > before {
            return;
        }
        let (mut ports, mut queues) = (Vec::new(), Vec::new());
        for (number, (link, port)) in network.links.iter().zip(self.budgeted).enumerate() {
            let Some(port) = port else { continue };
            let here = network.calls.iter().filter(|calls| network.flows[calls.flows[0]].path.contains(&LinkId(number)));
            let shortest = here.map(|calls| calls.traffic.shortest_packet()).min().unwrap_or(0);
            ports.push(port.port(shortest, link.propagation));
            queues.extend(port.classes.iter().map(|&class| BrokeredQueue {
                link: LinkId(number),
                class,
                delays: if port.is_shared { port.classes.clone() } else { vec![class] },
            }));
        }
        network.broker = Some(Broker { control: Arc::new(Budgets::new(ports)), queues });
    }

    /// Reports a flow in a class with a budget that is no call.
    fn judge_other(&self, network: &Network, first: usize, table: &FlowTable, findings: &mut Vec<Diagnostic>) {
        let Some(flow) = network.flows.get(first) else { return };
        let back = if let Source::Tcp(tcp) = &flow.source { &tcp.reverse_path[..] } else { &[] };
        if matches!(flow.source, Source::Capture(_)) && self.are_on(&flow.path) {
            let finding = table.source.error("packets of a capture may come in a class with a budget, which is for calls alone");
            return findings.push(finding.help("replay the capture over links without budgets"));
        }
        let there = classes_on(network, &flow.path, flow.header).chain(classes_on(network, back, reversed(&flow.header)));
        if let Some((link, class)) = there.into_iter().find(|&(link, class)| self.queue(link, class).is_some()) {
            let name = &network.links[link].port.classifier.classes()[class].name;
            let problem = format!(
                "the packets of `{}` are in class `{name}` at link `{}`, whose budget is for calls alone",
                table.name.0, network.links[link].name
            );
            let help = "make it a call that is always there, with calls = { arrivals = \"permanent\" }, or match it in another class";
            findings.push(table.name.error(problem).help(help));
        }
    }

    /// The queues of calls; `None` if it reports an error.
    fn path(&self, network: &Network, number: usize, table: &FlowTable, findings: &mut Vec<Diagnostic>) -> Option<BrokeredPath> {
        let calls = table.calls.as_ref()?;
        let flow = &network.flows[network.calls[number].flows[0]];
        let mut queues = Vec::new();
        for (link, class) in classes_on(network, &flow.path, flow.header) {
            let Some(queue) = self.queue(link, class) else {
                let name = &network.links[link].port.classifier.classes()[class].name;
                let problem =
                    format!("class `{name}` at link `{}`, which `{}` passes, has no budget", network.links[link].name, table.name.0);
                findings.push(calls.error(problem).help("give it one, like budget = \"5 ms\": delays are promised for the whole path"));
                return None;
            };
            queues.push(queue);
        }
        let differs = |flow: &&usize| {
            let flow = &network.flows[**flow];
            !classes_on(network, &flow.path, flow.header).map(|(link, class)| self.queue(link, class)).eq(queues.iter().copied().map(Some))
        };
        if let Some(&flow) = network.calls[number].flows.iter().find(differs) {
            let problem = format!("`{}` is in another class than the other calls of `{}`", network.flows[flow].name, table.name.0);
            findings.push(calls.error(problem).help("match all calls of a flow in one class"));
            return None;
        }
        let own = |link: &LinkId| network.links[link.0].port.classifier.classes();
        // A class of the same name at every link.
        let alternative = |&class: &usize| {
            let name = &own(&flow.path[0])[class].name;
            let queue = |link: &LinkId| self.queue(link.0, own(link).iter().position(|class| class.name == *name)?);
            let path: Vec<u32> = flow.path.iter().map(queue).collect::<Option<_>>()?;
            (path != queues).then(|| (format!("class {name}"), path))
        };
        let alternatives = self.budgeted[flow.path[0].0].iter().flat_map(|port| &port.classes).filter_map(alternative).collect();
        Some(BrokeredPath { queues, alternatives })
    }
}

/// What calls declare, if they are admitted by budgets: with the shortest packet, and with what rounding adds to their burst. Warns of a source that may
/// send more.
pub(crate) fn declared(
    traffic: TrafficSpec,
    table: &FlowTable,
    source: &Source,
    path: &[LinkId],
    network: &Network,
    findings: &mut Vec<Diagnostic>,
) -> TrafficSpec {
    let wire = Overheads::of(path.iter().map(|link| network.links[link.0].overhead()));
    let longest = network.links[path[0].0].port.longest_frame;
    let rounded = traffic.with_burst(traffic.burst() + 1).unwrap_or(traffic);
    let problem = match of_source(source, &wire) {
        Ok(arrival) if is_within(&arrival, &rounded) => None,
        Ok(arrival) => {
            let (burst, rate) = (arrival.burst_bits().div_ceil(8), arrival.rate());
            Some(format!(
                "the source may send more than its calls declare: its rate is {rate} bit/s, with bursts of up to {burst} B on the wire"
            ))
        }
        Err(reason) => Some(format!("nothing holds the source to what its calls declare: {reason}")),
    };
    if let Some(problem) = problem {
        let help =
            "declare a larger `rate` or `burst`, or choose another source: delays are promised to calls that keep to what they declare";
        findings.push(Diagnostic::warning(table.source.kind.span.clone(), problem).help(help));
    }
    let shortest = wire.least_bits(lengths(source, longest).0).min(rounded.longest_packet());
    rounded.with_shortest_packet(shortest).unwrap_or(rounded)
}

/// True if no call that budgets admit sends more than it declares.
pub(crate) fn all_keep_to_what_they_declare(network: &Network) -> bool {
    let brokered = network.calls.iter().filter(|calls| calls.brokered.is_some());
    let keeps = |flow: &usize, traffic: &TrafficSpec| {
        let flow = &network.flows[*flow];
        let wire = Overheads::of(flow.path.iter().map(|link| network.links[link.0].overhead()));
        of_source(&flow.source, &wire).is_ok_and(|arrival| is_within(&arrival, traffic))
    };
    brokered.into_iter().all(|calls| calls.flows.iter().all(|flow| keeps(flow, &calls.traffic)))
}

/// True if a source of this curve keeps to burst and rate.
fn is_within(arrival: &Arrival, traffic: &TrafficSpec) -> bool {
    let rate = traffic.rate().bits_per_second();
    let allowed = Arrival::token_bucket(traffic.burst(), rate);
    let buckets = arrival.buckets();
    // The distance is largest at 0 or where the next bucket begins to hold.
    let kinks = buckets.windows(2).filter_map(|pair| {
        let slower = i128::from(pair[0].rate) - i128::from(pair[1].rate);
        (slower > 0).then(|| (pair[1].burst - pair[0].burst) / slower)
    });
    let holds = |t: i128| arrival.at(t).ok().zip(allowed.at(t).ok()).is_some_and(|(comes, allowed)| comes <= allowed);
    arrival.rate() <= rate && std::iter::once(0).chain(kinks.flat_map(|t| [t, t + 1])).all(holds)
}

/// The class of unmarked packets with this header at every link of the path.
fn classes_on<'a>(network: &'a Network, path: &'a [LinkId], mut header: Header) -> impl Iterator<Item = (usize, usize)> + 'a {
    path.iter().map(move |&LinkId(number)| {
        let link = &network.links[number];
        let class = link.port.classifier.class_of(link.port.classifier.classify(&header));
        if !link.cells {
            header = link.port.remarks.of(class, Colour::Green).of(header);
        }
        (number, class)
    })
}
