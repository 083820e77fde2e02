//! Builds a simulation from a file: the network and the experiment.

use crate::broker::Ports;
use crate::budget::Budgeted;
use crate::calls::{admission, calls, separate};
use crate::choice::{EqualPaths, SourceKind, TopologyKind};
use crate::contract::Wire;
use crate::diagnostic::{Diagnostic, Span, suggest};
use crate::document::{Direction, File, FlowTable, LinkTable, PoliceTable, PolicyLinkTable, ShapeTable, SimulationTable, SourceTable};
use crate::endpoint::Endpoint;
use crate::link::{WrittenDisturbance, WrittenLoss};
use crate::policy::Policy;
use crate::promise::Promise;
use crate::proof::arrivals::lengths;
use crate::rates::{judged, varying};
use crate::slots::NodeBounds;
use crate::source::{ReadCapture, longest_packet, source, wire_rate};
use crate::units::print_duration;
use crate::value::{At, Block, Name};
use std::collections::HashMap;
use tidegate_atm::adapter::AdapterSetup;
use tidegate_core::classifier::Header;
use tidegate_core::port::PortSetup;
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::experiment::MOST_SAMPLES;
use tidegate_sim::routing::{Choice, Graph, NextHops};
use tidegate_sim::time::LONGEST_DURATION;
use tidegate_sim::{Experiment, FlowSpec, Impairment, Link, LinkId, Network, NodeId, RoutedPath, Source, Subject, Tagging};

mod events;
mod failures;
mod group;
mod judging;
mod pairs;
mod paths;
pub(crate) mod pauses;
pub(crate) mod workloads;

pub use group::FlowGroup;

/// Bytes of an ATM cell.
const CELL: u32 = 53;

/// A checked simulation, ready to run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Nodes, links and flows.
    pub network: Network,
    /// Duration, replications and seed.
    pub experiment: Experiment,
    /// The tables that the flows come from, in the order of the file.
    pub groups: Vec<FlowGroup>,
    /// What workloads offer to each link in bit/s on the wire, and how many of them take what they get; empty without workloads.
    pub(crate) offered_by_workloads: Vec<(f64, usize)>,
    /// The sizes of each workload, as they are written.
    pub(crate) sizes: Vec<String>,
    /// The generated topologies: name and kind.
    pub(crate) topologies: Vec<(String, TopologyKind)>,
    /// For each link, the index of its policy.
    pub policy_of_link: Vec<usize>,
    /// For each link, the bounds of its port.
    pub bounds_of_link: Vec<Vec<NodeBounds>>,
    /// For each link with a rate of its own, its policy at that rate.
    pub(crate) own_policies: Vec<Option<Policy>>,
}

/// The most flows that have curves unasked. Those of 100,000 flows take 500 MB.
pub const MOST_FLOWS_WITH_CURVES: usize = 10_000;

impl Simulation {
    /// A note for results if its flows have no curves.
    pub fn note_of_curves(&self) -> Option<String> {
        let flows = self.network.flows.len();
        (!self.experiment.flow_series).then(|| {
            format!(
                "Only ports have curves: of {flows} flows, more than {MOST_FLOWS_WITH_CURVES}, throughput and window over time and the distributions of \
                 delay and jitter are left out. `sample` in [simulation] asks for them."
            )
        })
    }

    /// For each link, the sum of the mean rates of its sources in bit/s on the wire, and the number of its flows and workloads without a mean rate; both without calls.
    pub fn offered(&self) -> Vec<(f64, usize)> {
        let mut offered = vec![(0.0, 0); self.network.links.len()];
        let at_first = self.network.reroutes.iter().take_while(|reroute| reroute.at == Duration::ZERO).filter(|reroute| !reroute.is_back);
        let several: HashMap<usize, &[Vec<LinkId>]> = at_first.map(|reroute| (reroute.flow, &reroute.paths[..])).collect();
        for group in self.groups.iter().filter(|group| !self.asks(group)) {
            // Flows of one table may take different paths.
            for (index, flow) in self.network.flows.iter().enumerate().skip(group.first).take(group.count) {
                let one = std::slice::from_ref(&flow.path);
                let paths = several.get(&index).filter(|paths| !paths.is_empty()).map_or(one, |paths| paths);
                for link in paths.iter().flatten() {
                    match wire_rate(&flow.source, self.network.links[link.0].port.overhead) {
                        Some(rate) => offered[link.0].0 += rate / paths.len() as f64,
                        None => offered[link.0].1 += 1,
                    }
                }
            }
        }
        for (offered, (rate, open_ended)) in offered.iter_mut().zip(&self.offered_by_workloads) {
            *offered = (offered.0 + rate, offered.1 + open_ended);
        }
        offered
    }

    /// The policy of a link, at its rate.
    pub(crate) fn policy<'a>(&'a self, link: LinkId, policies: &'a [Policy]) -> &'a Policy {
        self.own_policies[link.0].as_ref().unwrap_or(&policies[self.policy_of_link[link.0]])
    }

    /// The policy of each link, at its rate; `None` if the policy has errors.
    fn policies_of_links<'a>(&'a self, policies: &'a [Option<Policy>]) -> Vec<Option<&'a Policy>> {
        let links = self.own_policies.iter().zip(&self.policy_of_link);
        links.map(|(own, &shared)| own.as_ref().or(policies[shared].as_ref())).collect()
    }

    /// True if the flows are calls.
    fn asks(&self, group: &FlowGroup) -> bool {
        self.network.calls.iter().any(|calls| calls.flows.first() == Some(&group.first))
    }

    /// Checks and builds simulation, links and flows. `None` if it reports an error, or if the file has no simulation.
    pub(crate) fn resolve(
        file: &File,
        policies: &[Option<Policy>],
        capture: &mut ReadCapture<'_>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Simulation> {
        let Some(table) = &file.simulation else {
            let orphan = file.flow.first().map(|flow| (flow.span.clone(), "flow"));
            let orphan = orphan.or(file.link.first().map(|link| (link.span.clone(), "link")));
            let orphan = orphan.or(file.workload.first().map(|workload| (workload.span.clone(), "workload")));
            let orphan = orphan.or(file.failure.first().map(|failure| (failure.span.clone(), "failure")));
            if let Some((span, what)) = orphan {
                let finding = Diagnostic::error(span, format!("a {what} without a simulation"));
                findings.push(finding.help("add [simulation] with a `duration`, or remove links and flows to make it a policy file"));
            }
            return None;
        };
        let before = findings.len();
        let experiment = experiment(table, findings);
        if file.flow.is_empty() && file.workload.is_empty() {
            findings.push(
                table
                    .error("a simulation without a flow")
                    .help("add a [[flow]] or a [[workload]], or remove [simulation] to make it a policy file"),
            );
        }
        let mut building = Building {
            file,
            policies,
            nodes: Vec::new(),
            node_of: HashMap::new(),
            links: Vec::new(),
            weights: Vec::new(),
            graph: None,
            next_hops: HashMap::new(),
            routed: Vec::new(),
            equal_paths: equal_paths(file, table),
            is_complete: true,
            policy_of_link: Vec::new(),
            bounds_of_link: Vec::new(),
            budgeted: Vec::new(),
            own_policies: Vec::new(),
            findings,
        };
        building.links();
        let mut simulation = building.flows(experiment, capture)?;
        simulation.experiment.flow_series = table.sample.is_some() || simulation.network.flows.len() <= MOST_FLOWS_WITH_CURVES;
        simulation.network.pauses = pauses::resolve(file, &simulation.policies_of_links(policies), findings);
        if findings[before..].iter().any(|finding| finding.severity == crate::diagnostic::Severity::Error) {
            return None;
        }
        let last_check = simulation.experiment.check().and_then(|()| simulation.network.check());
        if let Err(problem) = last_check {
            let span = match problem.subject {
                Subject::Experiment => table.span.clone(),
                Subject::Failure(failure) => file.failure[failure].span.clone(),
                Subject::Link(link) => file.link[link].name.span.clone(),
                Subject::Calls(calls) => {
                    let tables = file.flow.iter().filter_map(|flow| flow.calls.as_ref());
                    tables.map(|calls| calls.span.clone()).nth(calls).unwrap_or(table.span.clone())
                }
                Subject::Workload(workload) => file.workload[workload].name.span.clone(),
                Subject::Flow(flow) => {
                    let group = simulation.groups.iter().rposition(|group| group.first <= flow).unwrap_or(0);
                    file.flow[group].name.span.clone()
                }
            };
            findings.push(
                Diagnostic::error(span, format!("`{}`: {}", problem.key, problem.problem)).help(format!("expected {}", problem.expected)),
            );
            return None;
        }
        events::judge(file, &simulation.groups, &simulation.network, &simulation.experiment, findings);
        simulation.warn(file, findings);
        pauses::judge(file, &simulation.network, &simulation.policies_of_links(policies), findings);
        Some(simulation)
    }

    /// Warns of flows that start after the end of the simulation.
    fn warn(&mut self, file: &File, findings: &mut Vec<Diagnostic>) {
        for (group, table) in self.groups.iter().zip(&file.flow) {
            let flow = &self.network.flows[group.first];
            if flow.start >= self.experiment.duration {
                let span = table.start.as_ref().map_or(table.name.span.clone(), |at| at.span.clone());
                findings.push(Diagnostic::warning(span, format!("flow `{}` starts after the end of the simulation", group.name)));
            }
        }
    }
}

/// How paths of equal weight are used.
fn equal_paths(file: &File, table: &SimulationTable) -> EqualPaths {
    let has_many = !file.topology.0.is_empty() || !file.workload.is_empty() || file.flow.iter().any(|flow| flow.pairs.is_some());
    let unsaid = if has_many { EqualPaths::Flow } else { EqualPaths::First };
    table.equal_paths.as_ref().map_or(unsaid, |at| at.value.0)
}

fn experiment(table: &Block<SimulationTable>, findings: &mut Vec<Diagnostic>) -> Experiment {
    let duration = table.duration.value;
    let warm_up = table.warm_up.as_ref().map_or(Duration::ZERO, |at| at.value);
    if duration == Duration::ZERO || duration > LONGEST_DURATION {
        findings.push(table.duration.error("the duration is outside 1 ps to 26 days").help("write a duration like \"30 s\""));
    } else if let (true, Some(at)) = (warm_up >= duration, &table.warm_up) {
        let finding = at.error("the warm-up leaves nothing to measure");
        findings
            .push(finding.context(table.duration.span.clone(), "the whole duration").help("make the warm-up shorter than the duration"));
    }
    let usual = Duration::from_picoseconds((duration.saturating_sub(warm_up).picoseconds() / 100).max(1));
    let sample = table.sample.as_ref().map_or(usual, |at| at.value);
    if let Some(at) = &table.sample
        && (sample == Duration::ZERO || duration.picoseconds() / MOST_SAMPLES >= sample.picoseconds())
    {
        let finding = at.error(format!("one point every {} makes a million points or more", print_duration(sample)));
        findings.push(finding.context(table.duration.span.clone(), "over this time").help("write a longer interval"));
    }
    Experiment {
        duration,
        warm_up,
        seed: table.seed.as_ref().map_or(1, |at| at.value.0),
        replications: table.replications.as_ref().map_or(1, |at| at.value.0 as u32),
        sample_interval: Some(sample),
        flow_series: true,
    }
}

/// The state while links and flows are built.
struct Building<'a> {
    file: &'a File,
    policies: &'a [Option<Policy>],
    nodes: Vec<String>,
    node_of: HashMap<String, usize>,
    links: Vec<Link>,
    /// The weight of each link.
    weights: Vec<u32>,
    /// The finished network's graph.
    graph: Option<Graph>,
    /// The next hops toward the nodes that paths have been asked for.
    next_hops: HashMap<NodeId, NextHops>,
    /// The paths that are several, and those that are found again when links fail.
    routed: Vec<RoutedPath>,
    equal_paths: EqualPaths,
    /// False if a link is missing because of an error in its policy.
    is_complete: bool,
    policy_of_link: Vec<usize>,
    bounds_of_link: Vec<Vec<NodeBounds>>,
    own_policies: Vec<Option<Policy>>,
    /// The classes with budgets, by link.
    budgeted: Vec<Option<Budgeted>>,
    findings: &'a mut Vec<Diagnostic>,
}

/// The table `link` of a link's policy.
fn link_of_policy<'a>(file: &'a File, table: &LinkTable) -> Option<&'a PolicyLinkTable> {
    let (_, policy) = file.policy.0.iter().find(|(name, _)| name.0 == table.policy.0)?;
    policy.link.as_ref().map(|link| &link.value)
}

/// What a policy is to a link: its port, the bounds of its nodes, its cell scheduler, and its classes with budgets.
type Parts = (PortSetup, Vec<NodeBounds>, Option<AdapterSetup>, Option<Budgeted>);

fn parts(policy: &Policy) -> Parts {
    // What is wrong with budgets has been reported.
    (policy.setup(), policy.bounds.to_vec(), policy.adapter.clone(), Budgeted::of(policy).ok().flatten())
}

impl Building<'_> {
    fn links(&mut self) {
        report_duplicates(self.file.link.iter().map(|link| &link.name), "link", self.findings);
        for table in &self.file.link {
            let (from, to) = (self.node(&table.from), self.node(&table.to));
            if from == to {
                let finding = table.to.error(format!("link `{}` leads back to where it starts", table.name.0));
                self.findings.push(finding.context(table.from.span.clone(), "it starts here").help("name another node"));
            }
            let delay = table.delay.as_ref().or_else(|| link_of_policy(self.file, table)?.delay.as_ref());
            let propagation = delay.map_or(Duration::ZERO, |at| at.value);
            if let (true, Some(at)) = (propagation > LONGEST_DURATION, delay) {
                self.findings.push(at.error("a delay of more than 26 days cannot be simulated"));
            }
            let port = self.port(table);
            let name = table.name.0.clone();
            match port {
                Some((port, bounds, adapter, budgeted)) => {
                    let impairment = self.impairment(table, &port);
                    let policy = self.policy_of_link.last().and_then(|&index| self.policies[index].as_ref());
                    let admission = table
                        .admission
                        .as_ref()
                        .zip(policy)
                        .and_then(|(admits, policy)| admission(admits, policy, port.rate, propagation, self.findings));
                    let workers = policy.and_then(|policy| policy.workers.as_deref().cloned());
                    let cells = table.cells.as_ref().is_some_and(|at| at.value);
                    if let (true, Some(at)) = (cells && adapter.is_some(), &table.cells) {
                        let problem = format!("policy `{}` sends cells itself", table.policy.0);
                        let finding = at.error(problem).context(table.policy.span.clone(), "the policy");
                        self.findings.push(finding.help("remove `cells` from the link, or from the policy"));
                    } else if let (true, Some(at)) =
                        (cells && (port.longest_frame != CELL || port.overhead != Overhead::None), &table.cells)
                    {
                        let problem = format!("policy `{}` is not one for cells", table.policy.0);
                        let finding = at.error(problem).context(table.policy.span.clone(), "the policy");
                        self.findings.push(finding.help("give it longest_frame = \"53 B\" and no `overhead`, or remove `cells`"));
                    }
                    if let (true, Some(at)) = (cells && !port.remarks.is_empty(), &table.cells) {
                        let problem = format!("the policy `{}` sets code points, and cells have none", table.policy.0);
                        let finding = at.error(problem).context(table.policy.span.clone(), "the policy");
                        self.findings.push(finding.help("remove every `set` from the policy's classes, or `cells`"));
                    }
                    self.links.push(Link {
                        name,
                        from: NodeId(from),
                        to: NodeId(to),
                        propagation,
                        port,
                        impairment,
                        cells,
                        adapter,
                        admission,
                        workers,
                    });
                    self.weights.push(table.weight.as_ref().map_or(1, |at| at.value.0 as u32));
                    self.bounds_of_link.push(bounds);
                    self.budgeted.push(budgeted);
                }
                None => self.is_complete = false,
            }
        }
    }

    fn impairment(&mut self, table: &LinkTable, port: &PortSetup) -> Impairment {
        let (own, policy) = (WrittenLoss::of_link(table), link_of_policy(self.file, table));
        own.judge(self.findings);
        let written = own.or(policy.map(WrittenLoss::of_policy));
        written.judge_total(&table.name.0, self.findings);
        let seed = policy.and_then(|link| link.seed.as_ref()).map_or(1, |at| at.value.0);
        let loss = written.loss(seed);
        let rates = match (&table.rates, policy.and_then(|link| link.rates.as_ref())) {
            (Some(own), _) => {
                let longest = port.overhead.wire_length(port.longest_frame);
                judged(own, port.rate, longest, false, self.findings)
            }
            // Judged with the policy.
            (None, rates) => rates.and_then(|rates| varying(rates, port.rate, &mut Vec::new())),
        };
        // Where cells are sent the network says so.
        let own = WrittenDisturbance::of_link(table);
        own.judge(false, self.findings);
        let disturbance = own.or(policy.map(WrittenDisturbance::of_policy)).disturbance(seed);
        Impairment { loss, mark_above: table.mark_above.as_ref().map(|at| at.value.0), rates, disturbance }
    }

    fn node(&mut self, name: &Name) -> usize {
        *self.node_of.entry(name.0.clone()).or_insert_with(|| {
            self.nodes.push(name.0.clone());
            self.nodes.len() - 1
        })
    }

    /// The port of a link, its bounds, and its cell scheduler.
    fn port(&mut self, table: &LinkTable) -> Option<Parts> {
        let policies = &self.file.policy.0;
        let Some(index) = policies.iter().position(|(name, _)| name.0 == table.policy.0) else {
            let written = &table.policy.0;
            let directions = Direction::ALL.map(|direction| direction.policy(written));
            let [down, up] = &directions;
            self.findings.push(if directions.iter().all(|direction| policies.iter().any(|(name, _)| name.0 == *direction)) {
                let finding = table.policy.error(format!("policy `{written}` has two directions, and a link has one"));
                finding.help(format!("write `{down}` or `{up}`"))
            } else {
                let finding = table.policy.error(format!("there is no policy `{written}`"));
                suggest(finding, written, policies.iter().map(|(name, _)| name.0.as_str()), "policies of this file")
            });
            self.policy_of_link.push(0);
            return None;
        };
        self.policy_of_link.push(index);
        self.own_policies.push(None);
        match &table.rate {
            None => self.policies[index].as_ref().map(parts),
            // Errors of the policy itself have been reported.
            Some(_) if self.policies[index].is_none() => None,
            Some(rate) => {
                let (name, policy) = &policies[index];
                let policy = Policy::resolve(name, policy, Some(rate), self.findings)?;
                let port = parts(&policy);
                *self.own_policies.last_mut()? = Some(policy);
                Some(port)
            }
        }
    }

    fn flows(mut self, experiment: Experiment, capture: &mut ReadCapture<'_>) -> Option<Simulation> {
        report_duplicates(self.file.flow.iter().map(|flow| &flow.name), "flow", self.findings);
        let mut network = Network {
            nodes: std::mem::take(&mut self.nodes),
            links: std::mem::take(&mut self.links),
            weights: std::mem::take(&mut self.weights),
            flows: Vec::new(),
            calls: Vec::new(),
            broker: None,
            failures: Vec::new(),
            reroutes: Vec::new(),
            workloads: Vec::new(),
            pauses: Vec::new(),
        };
        self.graph = Some(network.graph());
        let (mut groups, mut tables_of_calls) = (Vec::new(), Vec::new());
        let budgeted = std::mem::take(&mut self.budgeted);
        let ports = Ports { budgeted: &budgeted };
        for table in &self.file.flow {
            let places = table.calls.as_ref().map(|calls| calls.places.value.0 as u32);
            let pairs = table.pairs.as_ref().map(|_| self.pairs(table, &network, experiment.seed).unwrap_or_default());
            let named = table.count.as_ref().map_or(1, |at| at.value.0 as u32);
            let count = places.unwrap_or(pairs.as_ref().map_or(named, |pairs| pairs.len() as u32));
            let mut source = source(&table.source, capture, self.findings);
            if let (Some(Source::Capture(_)), Some(header)) = (&source, &table.header) {
                self.findings.push(header.error("the packets of a capture bring their own headers").help("remove `header`"));
            }
            let is_tcp = table.source.kind.value == SourceKind::Tcp;
            let endpoint = Endpoint::resolve(table.header.as_ref(), is_tcp, count, self.findings);
            let (path, back) = match &pairs {
                Some(pairs) => {
                    let Some(&(from, to)) = pairs.first() else { continue };
                    (self.least(from, to, Choice::First), self.least(to, from, Choice::First))
                }
                None => {
                    let path = self.path(table, &network);
                    let back = self.back(table, path.as_deref(), &network);
                    (path, back)
                }
            };
            let start = table.start.as_ref().map_or(Duration::ZERO, |at| at.value);
            self.judge_times(table, start);
            let promise = table.promise.as_ref().map(|promise| Promise::resolve(promise, self.findings));
            groups.push(FlowGroup { name: table.name.0.clone(), first: network.flows.len(), count: count as usize, promise });
            if let Some(Source::Tcp(tcp)) = &mut source {
                let Some(back) = back else { continue };
                tcp.reverse_path = back;
            }
            let (Some(source), Some(path)) = (source, path) else { continue };
            let tagging = table.tag.as_ref().and_then(|tag| self.tagging(tag, &table.source, &source, &network.links[path[0].0]));
            let shaping = table.shape.as_ref().and_then(|shape| self.shaping(shape, &table.source, &source, &network.links[path[0].0]));
            let links: Vec<&Link> = path.iter().map(|link| &network.links[link.0]).collect();
            let takes_others = pairs.is_some() || self.equal_paths == EqualPaths::Packet || !self.file.failure.is_empty();
            let judged = |path: &[LinkId]| -> Vec<&Link> {
                if takes_others { network.links.iter().collect() } else { path.iter().map(|link| &network.links[link.0]).collect() }
            };
            self.judge_packets(table, &source, &judged(&path));
            if let (Source::Tcp(tcp), Some(request)) = (&source, &table.source.request) {
                let length = u32::try_from(request.value.0).unwrap_or(u32::MAX);
                self.judge_length(length, request.span.clone(), &judged(&tcp.reverse_path));
            }
            self.judge_promise(table, promise, &source, &links);
            if let Some(block) = &table.calls {
                let made = calls(table, block, &source, &path, &network, ports.are_on(&path), self.findings);
                tables_of_calls.extend(made.is_some().then_some(&table.value));
                network.calls.extend(made);
            }
            // Where one class has to stand for all, it is that of the longest packets.
            let (_, length) = lengths(&source, network.links[path[0].0].port.longest_frame);
            for index in 0..count {
                let name = if count == 1 { table.name.0.clone() } else { format!("{}-{}", table.name.0, index + 1) };
                let header = Header { length, ..endpoint.header(network.flows.len() as u32, index) };
                let stop = table.stop.as_ref().map(|at| at.value);
                let (mut source, mut path) = (source.clone(), path.clone());
                let one = table.calls.is_none().then(|| ends(&path, &network));
                let ends = pairs.as_ref().map_or(one, |pairs| pairs.get(index as usize).copied());
                if let Some(ends) = ends {
                    self.spread(table, ends, (network.flows.len(), &name, &header), &mut path, &mut source);
                }
                network.flows.push(FlowSpec { name, source, header, path, start, stop, tagging, shaping });
            }
        }
        self.failures(&mut network, experiment.duration);
        if self.is_complete {
            let firsts = groups.iter().map(|group: &FlowGroup| group.first);
            let flows: Vec<(usize, &FlowTable)> = firsts.zip(self.file.flow.iter().map(|flow| &flow.value)).collect();
            ports.settle(&mut network, &tables_of_calls, &flows, self.findings);
            separate(&mut network, self.policies, &self.policy_of_link, &tables_of_calls, self.findings);
        }
        let offered_by_workloads = self.workloads(&mut network, &experiment);
        self.is_complete.then_some(Simulation {
            network,
            experiment,
            groups,
            offered_by_workloads,
            sizes: self.file.workload.iter().map(|table| table.sizes.0.clone()).collect(),
            topologies: self.file.topology.0.iter().map(|(name, table)| (name.0.clone(), table.kind.value.0)).collect(),
            policy_of_link: self.policy_of_link,
            bounds_of_link: self.bounds_of_link,
            own_policies: self.own_policies,
        })
    }

    /// The contract of a tagging sender.
    fn tagging(&mut self, tag: &Block<PoliceTable>, table: &SourceTable, source: &Source, first: &Link) -> Option<Tagging> {
        crate::contract::tag(tag, &sender_wire(table, source, first), self.findings)
    }

    /// The contract of a shaping sender.
    fn shaping(&mut self, shape: &Block<ShapeTable>, table: &SourceTable, source: &Source, first: &Link) -> Option<ShapingContract> {
        if matches!(source, Source::Tcp(_) | Source::Greedy(_)) {
            let finding = shape.error("the network drives this source, not a clock");
            self.findings.push(finding.help("shape its class at the first port instead"));
            return None;
        }
        crate::contract::shape(shape, &sender_wire(table, source, first), self.findings)
    }
}

/// The nodes where a path starts and ends.
fn ends(path: &[LinkId], network: &Network) -> (NodeId, NodeId) {
    let node = |link: Option<&LinkId>, end: fn(&Link) -> NodeId| link.map_or(NodeId(0), |link| end(&network.links[link.0]));
    (node(path.first(), |link| link.from), node(path.last(), |link| link.to))
}

/// Reports names that occur twice.
pub(crate) fn report_duplicates<'a>(names: impl Iterator<Item = &'a At<Name>>, what: &str, findings: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for name in names {
        if let Some(first) = seen.insert(&name.0, name.span.clone()) {
            let finding = name.error(format!("another {what} is named `{}` already", name.0));
            findings.push(finding.context(first, "first used here").help("give each a name of its own"));
        }
    }
}

/// The first link of a sender's path, in whose bytes its contracts count.
fn sender_wire(table: &SourceTable, source: &Source, first: &Link) -> Wire {
    // The first port drops longer packets, and no IP packet is longer than 65,535 bytes.
    let most = if first.cells { 65_535 } else { first.port.longest_frame };
    let longest = longest_packet(source, table).map_or(most, |(longest, _)| longest);
    Wire { rate: first.port.rate, longest: first.overhead().wire_length(longest) }
}
