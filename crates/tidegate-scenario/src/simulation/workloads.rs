//! Workloads of a file: hosts, sizes, and the rate of arrivals that a load comes to.

use super::events::MOST_EVENTS;
use super::pairs::{listed, nodes};
use super::{Building, report_duplicates};
use crate::choice::{Hosts, Pairs};
use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::document::WorkloadTable;
use crate::endpoint::Endpoint;
use crate::sizes;
use crate::source::source;
use crate::units::{plural, print_duration};
use crate::value::Block;
use tidegate_core::units::Duration;
use tidegate_sim::random::Stream;
use tidegate_sim::tcp::{Application, Tcp, TransferSize, Transfers};
use tidegate_sim::workload::classes::check_calls;
use tidegate_sim::workload::reach::Reach;
use tidegate_sim::workload::{Pattern, Rhythm, Workload};
use tidegate_sim::{Experiment, Network, NodeId, Source};

/// The usual most connections at once.
const USUAL_PLACES: u32 = 10_000;

/// Arrivals per second before the load is known.
const UNIT: Rhythm = Rhythm::Poisson { per_second: 1.0 };

/// The keys of a source that say when and how much it sends, which the workload says.
const OF_TRANSFERS: [&str; 9] =
    ["transfer", "transfer_sizes", "transfers", "think", "holding", "pareto_shape", "request", "reconnect", "start_within"];

impl Building<'_> {
    /// Adds the workloads to the network. Returns what they offer to each link, in bit/s on the wire, and the number of workloads whose rate depends on the network.
    pub(super) fn workloads(&mut self, network: &mut Network, experiment: &Experiment) -> Vec<(f64, usize)> {
        let file = self.file;
        let before = self.findings.len();
        report_duplicates(file.workload.iter().map(|table| &table.name), "workload", self.findings);
        for table in &file.workload {
            match self.workload(table, network, experiment.seed) {
                Ok(workload) => network.workloads.push(workload),
                Err(finding) => self.findings.push(finding),
            }
        }
        // Paths may be missing because links are.
        if file.workload.is_empty() || self.findings.len() > before || !self.is_complete {
            return Vec::new();
        }
        let found = network.check().and_then(|()| Reach::of(network));
        let reach = match found.and_then(|reach| check_calls(network, &reach).map(|()| reach)) {
            Ok(reach) => reach,
            Err(problem) => {
                let span = match problem.subject {
                    tidegate_sim::Subject::Workload(index) => key_span(&file.workload[index], problem.key),
                    // What is wrong with links and flows is reported when all is built.
                    _ => return Vec::new(),
                };
                let key = match (problem.key, problem.subject) {
                    ("interval", tidegate_sim::Subject::Workload(index)) => {
                        rhythm_of(&file.workload[index]).map_or("interval", |(key, _)| key)
                    }
                    (key, _) => key,
                };
                let finding = Diagnostic::error(span, format!("`{key}`: {}", problem.problem));
                self.findings.push(finding.help(format!("expected {}", problem.expected)));
                return Vec::new();
            }
        };
        let mut offered = vec![(0.0, 0); network.links.len()];
        for (index, table) in file.workload.iter().enumerate() {
            let loads = reach.loads_per_arrival(network, &network.workloads[index]);
            match self.per_second(table, network, index, &loads) {
                Ok(Some(per_second)) => network.workloads[index].rhythm = Rhythm::Poisson { per_second },
                Ok(None) => {}
                Err(finding) => {
                    self.findings.push(finding);
                    return Vec::new();
                }
            }
            let arrivals = network.workloads[index].arrivals_per_second();
            if let Some(finding) = too_many(table, &network.workloads[index], experiment) {
                self.findings.push(finding);
                return Vec::new();
            }
            for ((offered, load), link) in offered.iter_mut().zip(loads).zip(&network.links) {
                match arrivals {
                    Some(arrivals) => offered.0 += load * arrivals * link.port.rate.bits_per_second() as f64,
                    None => offered.1 += usize::from(load > 0.0),
                }
            }
        }
        for table in &file.workload {
            if let Some(start) = table.start.as_ref().filter(|start| start.value >= experiment.duration) {
                let problem = format!("workload `{}` starts after the end of the simulation", table.name.0);
                self.findings.push(start.warning(problem));
            }
        }
        self.warn_of_overload(network, &offered);
        offered
    }

    /// Warns of the link that workloads overload most.
    fn warn_of_overload(&mut self, network: &Network, offered: &[(f64, usize)]) {
        let loads = network.links.iter().zip(offered).map(|(link, offered)| (link, offered.0 / link.port.rate.bits_per_second() as f64));
        let most = loads.filter(|(_, load)| *load > 1.0).max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((link, load)), Some(table)) = (most, self.file.workload.first()) else { return };
        let span = rhythm_of(table).map_or(table.name.span.clone(), |(_, span)| span);
        let problem = format!("workloads offer link `{}` {:.0} % of its rate: connections pile up", link.name, load * 100.0);
        self.findings.push(
            Diagnostic::warning(span, problem).help("results depend on how long is simulated; lower the load, or let places run out"),
        );
    }

    /// Poisson arrivals per second of a workload with a load.
    fn per_second(&self, table: &WorkloadTable, network: &Network, index: usize, loads: &[f64]) -> Result<Option<f64>, Diagnostic> {
        let Some(load) = &table.load else {
            return match &table.link {
                Some(link) => Err(link.error("`link` says what `load` is of, and there is none").help("add `load`, or remove `link`")),
                None => Ok(None),
            };
        };
        if load.value.billionths() == 0 {
            return Err(load.error("no load, no connection").help("write a load above 0 %"));
        }
        let wanted = load.value.as_f64();
        if let Some(name) = &table.link {
            let Some(at) = network.links.iter().position(|link| link.name == name.0) else {
                let finding = name.error(format!("there is no link `{}`", name.0));
                return Err(suggest(finding, &name.0, network.links.iter().map(|link| link.name.as_str()), "links"));
            };
            if loads[at] == 0.0 {
                let finding = name.error(format!("no data of workload `{}` crosses link `{}`", table.name.0, name.0));
                return Err(finding.help("name a link on the way from a sender to a receiver"));
            }
            return Ok(Some(wanted / loads[at]));
        }
        let (from, to) = ends(&network.workloads[index].pattern);
        let mean_load = |is_of_hosts: &dyn Fn(&tidegate_sim::Link) -> bool| {
            let links = network.links.iter().zip(loads).filter(|(link, load)| **load > 0.0 && is_of_hosts(link));
            let (used, all) = links.fold((0.0, 0.0), |(used, all), (link, load)| {
                let rate = link.port.rate.bits_per_second() as f64;
                (used + load * rate, all + rate)
            });
            if all > 0.0 { used / all } else { 0.0 }
        };
        let most = mean_load(&|link| from.binary_search(&link.from).is_ok()).max(mean_load(&|link| to.binary_search(&link.to).is_ok()));
        Ok(Some(wanted / most))
    }

    fn workload(&mut self, table: &Block<WorkloadTable>, network: &Network, seed: u64) -> Result<Workload, Diagnostic> {
        let rhythms: Vec<(&str, Span)> = all_rhythms(table);
        let rhythm = match &rhythms[..] {
            [_] => match (&table.interval, &table.period, &table.pause) {
                (Some(mean), ..) if mean.value == Duration::ZERO => {
                    return Err(mean.error("no time between arrivals").help("write a time above 0 s"));
                }
                (Some(mean), ..) => Rhythm::Poisson { per_second: 1e12 / mean.value.picoseconds() as f64 },
                (_, Some(period), _) if period.value == Duration::ZERO => {
                    return Err(period.error("no time between arrivals").help("write a time above 0 s"));
                }
                (_, Some(period), _) => Rhythm::Period(period.value),
                (_, _, Some(pause)) => Rhythm::Pause(pause.value),
                _ => UNIT,
            },
            [] => {
                let finding = table.name.error(format!("workload `{}` does not say when connections arrive", table.name.0));
                return Err(finding.help("add load = \"60 %\", or `interval`, `period` or `pause`"));
            }
            [(first, span), (second, other), ..] => {
                let finding = Diagnostic::error(other.clone(), format!("`{first}` and `{second}` both say when connections arrive"));
                return Err(finding.context(span.clone(), "also said here").help("keep one of them"));
            }
        };
        let pattern = self.pattern(table, network, seed)?;
        let request = table.request.as_ref().map(|at| u32::try_from(at.value.0).unwrap_or(u32::MAX));
        let tcp = self.tcp_of(table)?;
        let size = TransferSize::Fixed(1);
        let application = Application::Transfers(Transfers { size, count: Some(1), think: None, request, reconnects: false });
        let start = table.start.as_ref().map_or(Duration::ZERO, |at| at.value);
        if let Some(stop) = table.stop.as_ref().filter(|stop| stop.value <= start) {
            return Err(stop
                .error(format!("workload `{}` would stop before it starts", table.name.0))
                .help("write a later `stop`, or remove it"));
        }
        if let Some(header) = &table.header {
            let own = [
                ("source", header.source.as_ref().map(|at| at.span.clone())),
                ("destination", header.destination.as_ref().map(|at| at.span.clone())),
                ("source_port", header.source_port.as_ref().map(|at| at.span.clone())),
            ];
            if let Some((key, Some(span))) = own.into_iter().find(|(_, span)| span.is_some()) {
                let finding = Diagnostic::error(span, format!("`{key}` is that of the hosts and of each connection"));
                return Err(finding.help(format!("remove `{key}`")));
            }
        }
        let header = Endpoint::resolve(table.header.as_ref(), true, 1, self.findings).header(0, 0);
        Ok(Workload {
            name: table.name.0.clone(),
            pattern,
            rhythm,
            sizes: sizes::sizes(table)?,
            tcp: Tcp { application, ..tcp },
            header,
            places: table.places.as_ref().map_or(USUAL_PLACES, |at| at.value.0 as u32),
            start,
            stop: table.stop.as_ref().map(|at| at.value),
            equal_paths: self.equal_paths,
        })
    }

    /// The TCP of a workload, without its transfer.
    fn tcp_of(&mut self, table: &WorkloadTable) -> Result<Tcp, Diagnostic> {
        let Some(written) = &table.source else { return Ok(Tcp::modern(Vec::new())) };
        if let Some((key, span)) = written.given().into_iter().find(|(key, _)| OF_TRANSFERS.contains(key)) {
            let finding = Diagnostic::error(span, format!("`{key}` is not for the connections of a workload, which carry one size each"));
            return Err(finding.help(format!("remove `{key}`; the workload says when they arrive and what they carry")));
        }
        let before = self.findings.len();
        match source(written, &mut |_, _| Err("a workload reads no capture".to_owned()), self.findings) {
            Some(Source::Tcp(tcp)) => Ok(*tcp),
            None if self.findings.len() > before => Err(self.findings.remove(self.findings.len() - 1)),
            _ => {
                let finding = written.kind.error(format!("a workload has TCP connections, not a {} source", written.kind.value.name()));
                Err(finding.help("write kind = \"tcp\""))
            }
        }
    }

    fn pattern(&mut self, table: &WorkloadTable, network: &Network, seed: u64) -> Result<Pattern, Diagnostic> {
        let to = table.to.as_ref().unwrap_or(&table.from);
        let (starts, ends) = (nodes(&table.from, network)?, nodes(to, network)?);
        let hosts = table.pairs.as_ref().map_or(Hosts::Random, |at| at.value.0);
        let of_rounds =
            [("senders", table.senders.as_ref().map(|at| at.span.clone())), ("pause", table.pause.as_ref().map(|at| at.span.clone()))];
        if let (true, Some((key, Some(span)))) = (hosts != Hosts::Incast, of_rounds.into_iter().find(|(_, span)| span.is_some())) {
            let finding = Diagnostic::error(span, format!("`{key}` is for rounds of connections"));
            return Err(finding.help(format!("write pairs = \"incast\", or remove `{key}`")));
        }
        let place = table.pairs.as_ref().map_or(table.name.span.clone(), |at| at.span.clone());
        let mut stream = Stream::new(seed, 0, &format!("pairs of {}", table.name.0));
        let mut below = |end: usize| stream.below(end as u64) as usize;
        let has_two = starts.iter().any(|start| ends.iter().any(|end| start != end));
        if !has_two {
            return Err(to.error("a connection ends at another node than it starts").help("write patterns of several nodes"));
        }
        let alone = |end: &&NodeId| starts.iter().all(|start| start == *end);
        if let (Hosts::Random, Some(alone)) = (hosts, ends.iter().find(alone)) {
            let name = &network.nodes[alone.0];
            let finding = to
                .error(format!("node `{name}` receives, and no other node sends"))
                .context(table.from.span.clone(), "the nodes that send");
            return Err(finding.help(format!("leave `{name}` out of `to`, or write more nodes in `from`")));
        }
        Ok(match hosts {
            Hosts::Random => Pattern::Random { from: starts, to: ends },
            Hosts::Permutation => Pattern::Listed(listed(Pairs::Permutation, (&table.from, to, place), (starts, ends), &mut below)?),
            Hosts::AllToOne => Pattern::Listed(listed(Pairs::AllToOne, (&table.from, to, place), (starts, ends), &mut below)?),
            Hosts::Incast => {
                let others = |end: &NodeId| starts.iter().filter(|start| *start != end).count();
                let most = ends.iter().map(others).min().unwrap_or(0) as u32;
                let senders = table.senders.as_ref().map_or(most, |at| at.value.0 as u32);
                if senders > most || most == 0 {
                    let finding = table.senders.as_ref().map_or(table.from.error("a round has no sender"), |at| {
                        at.error(format!("{senders} senders of {most}, which is all but the receiver"))
                    });
                    return Err(finding
                        .context(table.from.span.clone(), "the nodes that send")
                        .help(format!("at most {most}, or more nodes in `from`")));
                }
                if let Some(places) = table.places.as_ref().filter(|places| places.value.0 < u64::from(senders)) {
                    let finding =
                        places.error(format!("{}, and a round has {senders} connections", plural(places.value.0 as usize, "place")));
                    let span = table.senders.as_ref().map_or(table.from.span.clone(), |at| at.span.clone());
                    return Err(finding
                        .context(span, "the senders of a round")
                        .help(format!("write at least {senders}, or fewer `senders`")));
                }
                Pattern::Incast { from: starts, to: ends, senders }
            }
        })
    }
}

/// An error if the connections of a workload would send more than [`MOST_EVENTS`] packets.
fn too_many(table: &WorkloadTable, workload: &Workload, experiment: &Experiment) -> Option<Diagnostic> {
    let members = if let Pattern::Incast { senders, .. } = workload.pattern { f64::from(senders) } else { 1.0 };
    let packets = 1.0 + workload.sizes.mean() / f64::from(workload.tcp.segment);
    let seconds = experiment.duration.picoseconds() as f64 / 1e12 * f64::from(experiment.replications);
    let events = workload.arrivals_per_second()? * seconds * members * packets;
    let problem =
        format!("workload `{}` would send about {events:.0e} packets, and at most {MOST_EVENTS:.0e} can be simulated", table.name.0);
    let span = rhythm_of(table).map_or(table.name.span.clone(), |(_, span)| span);
    (events > MOST_EVENTS).then(|| Diagnostic::error(span, problem).help("let fewer connections arrive, or simulate a shorter time"))
}

/// The senders and the receivers, each in order.
fn ends(pattern: &Pattern) -> (Vec<NodeId>, Vec<NodeId>) {
    let (mut from, mut to) = match pattern {
        Pattern::Random { from, to } | Pattern::Incast { from, to, .. } => (from.clone(), to.clone()),
        Pattern::Listed(pairs) => pairs.iter().copied().unzip(),
    };
    from.sort_unstable();
    to.sort_unstable();
    (from, to)
}

fn all_rhythms(table: &WorkloadTable) -> Vec<(&'static str, Span)> {
    let keys = [
        ("load", table.load.as_ref().map(|at| at.span.clone())),
        ("interval", table.interval.as_ref().map(|at| at.span.clone())),
        ("period", table.period.as_ref().map(|at| at.span.clone())),
        ("pause", table.pause.as_ref().map(|at| at.span.clone())),
    ];
    keys.into_iter().filter_map(|(key, span)| Some((key, span?))).collect()
}

/// The key that says when connections arrive.
fn rhythm_of(table: &WorkloadTable) -> Option<(&'static str, Span)> {
    all_rhythms(table).into_iter().next()
}

/// The place of a field of the simulator's.
fn key_span(table: &WorkloadTable, key: &str) -> Span {
    let found = match key {
        "interval" => rhythm_of(table).map(|(_, span)| span),
        "places" => table.places.as_ref().map(|at| at.span.clone()),
        "start" => table.start.as_ref().map(|at| at.span.clone()),
        "request" => table.request.as_ref().map(|at| at.span.clone()),
        "name" => Some(table.name.span.clone()),
        "header" => table.header.as_ref().map(|header| header.span.clone()),
        "sizes" => Some(table.sizes.span.clone()),
        "pairs" => Some(table.from.span.clone()),
        _ => table.source.as_ref().map(|block| block.span.clone()),
    };
    found.unwrap_or(table.name.span.clone())
}

/// The workloads of a network in words.
pub(crate) fn describe(network: &Network, names_of_sizes: &[String]) -> String {
    let mut text = String::new();
    for (workload, sizes_name) in network.workloads.iter().zip(names_of_sizes) {
        let hosts = match &workload.pattern {
            Pattern::Random { from, to } => format!("random pairs of {} senders and {} receivers", from.len(), to.len()),
            Pattern::Listed(pairs) => format!("{} pairs", pairs.len()),
            Pattern::Incast { from, to, senders } => {
                format!("rounds of {senders} of {} senders to one of {} receivers", from.len(), to.len())
            }
        };
        let rhythm = match workload.rhythm {
            Rhythm::Poisson { per_second } => format!("{per_second:.4} arrivals per second (Poisson)"),
            Rhythm::Period(period) => format!("every {}", print_duration(period)),
            Rhythm::Pause(pause) => format!("each {} after the one before", print_duration(pause)),
        };
        let sizes = sizes::describe(sizes_name, &workload.sizes);
        let (congestion, recovery) = (workload.tcp.congestion.name(), workload.tcp.recovery.name());
        text += &format!(
            "  {}: {hosts}, {rhythm}, {sizes}; TCP, {congestion} and {recovery}, at most {} at once\n",
            workload.name, workload.places
        );
    }
    if text.is_empty() { text } else { format!("\nworkloads\n{text}") }
}
