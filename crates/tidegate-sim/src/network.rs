//! Nodes, links and flows, and the paths that flows take.

use crate::calls::{Broker, BrokeredPath, Calls};
use crate::error::{Problem, Subject};
use crate::failure::{Failure, Reroute};
use crate::id::{LinkId, NodeId};
use crate::routing::{Choice, Graph};
use crate::source::{Source, sender_shaper};
use crate::tagging::Tagging;
use crate::time::LONGEST_DURATION;
use crate::workload::Workload;
use std::collections::HashSet;
use tidegate_atm::adapter::{AdapterSetup, CELL, LONGEST_FRAME};
use tidegate_core::admission::{Link as AdmittingLink, LinkSettings, PathAdmission, RequestError, SettingsError};
use tidegate_core::classifier::Header;
use tidegate_core::exchange::Workers;
use tidegate_core::port::{PortSetup, VaryingRate};
use tidegate_core::registry::AnyScheduler;
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead};
use tidegate_link::{Disturbance, Loss};

/// What is simulated.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The links, each with the port that feeds it.
    pub links: Vec<Link>,
    /// What each link costs a path, at least 1; links beyond the end of this list cost 1.
    pub weights: Vec<u32>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// The flows that come and go.
    pub calls: Vec<Calls>,
    /// Admission to the queues of classes, for calls that ask it.
    pub broker: Option<Broker>,
    /// Links that fail.
    pub failures: Vec<Failure>,
    /// The paths that flows take in place of [`FlowSpec::path`], in the order of their instants.
    pub reroutes: Vec<Reroute>,
    /// TCP connections that come by themselves and go.
    pub workloads: Vec<Workload>,
    /// The links whose far ends pause the ports that feed them, each at most once.
    pub pauses: Vec<Pause>,
}

/// A link in one direction, and the output port that feeds it.
///
/// The port's buffer holds waiting packets; the one in transmission has left it. A system of K places, in the terms of queueing theory, is a buffer
/// of K - 1 packets.
#[derive(Clone, Debug)]
pub struct Link {
    /// A unique name.
    pub name: String,
    /// The node that the port belongs to.
    pub from: NodeId,
    /// The node that packets reach.
    pub to: NodeId,
    /// The time a bit takes to travel the link; at most [`LONGEST_DURATION`].
    pub propagation: Duration,
    /// The port; its rate is the link's.
    pub port: PortSetup,
    /// Losses, congestion marks, and rates that vary.
    pub impairment: Impairment,
    /// Whether packets contend at the port as ATM cells. The port is one for cells then: its overhead is none, its limits count cells, and its
    /// packets have 53 bytes. Packets from a link whose overhead is AAL5 arrive as that link's cells do, packets from any other link at the rate of
    /// this one. Between two such links cells go on one by one, as the first port sends them, if all packets of a queue of the second come from
    /// one queue of the first. Where queues are merged, each packet is collected before it goes on.
    pub cells: bool,
    /// The cell scheduler, if the port is that of an ATM adapter: whole frames wait in it, and AAL5 makes cells of them. The port's overhead is AAL5's
    /// then, and the scheduler of the [`Port`]'s setup is not used.
    ///
    /// [`Port`]: tidegate_core::port::Port
    pub adapter: Option<AdapterSetup>,
    /// What the port admits calls to; `None`: they pass without asking.
    pub admission: Option<LinkSettings>,
    /// The workers that share the link, each with a port of its own; `None`: one port has all of it. Every worker's port has the whole setup, and packets
    /// of its own parts only.
    pub workers: Option<Workers>,
}

/// What keeps workers from sharing this link, if anything does, and what would be right.
fn obstacle(workers: &Workers, link: &Link) -> Option<(String, String)> {
    let right = || "one worker, or a port of packets at one rate".to_owned();
    if link.cells || link.adapter.is_some() || link.admission.is_some() || link.impairment.rates.is_some() {
        return Some(("several workers share no cells, no admitted calls and no varying rate".into(), right()));
    }
    let checked = workers.check(link.port.rate, link.port.classifier.flows());
    checked.err().map(|error| (error.to_string(), right()))
}

impl Link {
    /// What the link adds to a packet: what its port says, or AAL5's if it carries the packet in cells.
    pub fn overhead(&self) -> Overhead {
        if self.cells { Overhead::Aal5 } else { self.port.overhead }
    }

    /// True if a packet may reach the far end with another code point or colour than it had on arrival. On ATM the colour is the bit for cell loss
    /// priority and goes with the cells; elsewhere it ends with the port unless the code point carries it.
    pub(crate) fn rewrites(&self) -> bool {
        let decides_colours = self.port.policers.iter().any(Option::is_some) && !self.carries_cells();
        decides_colours || !self.port.remarks.is_empty()
    }

    /// True if the port can give every flow a rate, as admission promises.
    fn gives_rates(&self) -> bool {
        let is_of_packets = !self.cells && self.adapter.is_none();
        let scheduler = &self.port.scheduler;
        is_of_packets
            && matches!(
                scheduler,
                AnyScheduler::IntegratedServices(_)
                    | AnyScheduler::ShapedVirtualClock(_)
                    | AnyScheduler::VirtualClock(_)
                    | AnyScheduler::Wf2qPlus(_)
                    | AnyScheduler::Hierarchy(_)
                    | AnyScheduler::DeficitTree(_)
            )
    }

    /// True if what goes over the link is cells.
    pub(crate) fn carries_cells(&self) -> bool {
        self.overhead() == Overhead::Aal5
    }
}

/// Losses, congestion marks, rates that vary, reordering and duplication.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Impairment {
    /// Random loss on the link, less than 1 in all, and the seed. A lost packet has been
    /// transmitted, and counts as sent by the port. The first replication of an experiment with the default seed loses the packets that a replay
    /// with this loss does, by their number on the link. Other links with the same loss, other replications and other seeds lose others.
    pub loss: Option<Loss>,
    /// The queued bytes from which on arriving packets of TCP connections with ECN get a congestion mark; `None` for never.
    pub mark_above: Option<u64>,
    /// The rates of the link from the start of the simulation, if they vary; the rate of the port's setup is not used then. Not where cells are sent, and
    /// not where calls are admitted.
    pub rates: Option<VaryingRate>,
    /// Packets that come late, so that others overtake them, and packets that come twice. Not where cells are sent.
    pub disturbance: Option<Disturbance>,
}

/// How the far end of a link pauses the port that feeds it; [`pause`](crate::pause) has the rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pause {
    /// The link; its far end counts and sends pause frames.
    pub link: LinkId,
    /// The classes of the link's port that are paused, each by itself: without loss behind the link if the buffers there have room.
    pub classes: Vec<usize>,
    /// The bytes of a class above which it is paused (XOFF).
    pub above: u64,
    /// The bytes of a class at which, or below which, its pause ends (XON); at most `above`.
    pub below: u64,
}

/// Packets from one source that take one path.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// A unique name; the flow's random stream is named after it.
    pub name: String,
    /// Where its packets come from.
    pub source: Source,
    /// The header that every port's classifier sees; a capture's packets bring their own.
    pub header: Header,
    /// The links it takes, at least one, each starting where the one before ends; [`Network::reroutes`] may give it others.
    pub path: Vec<LinkId>,
    /// When the source starts.
    pub start: Duration,
    /// When the source stops: nothing is emitted from then on. `None`: never.
    pub stop: Option<Duration>,
    /// The contract by which the sender tags. `None`: all packets have the colour of their header.
    pub tagging: Option<Tagging>,
    /// The contract to which the sender delays its packets; delays count from when they leave it. `None`: they leave when they are emitted. Not for
    /// sources that the network drives.
    pub shaping: Option<ShapingContract>,
}

/// The most links that a path may have.
pub const LONGEST_PATH: usize = u16::MAX as usize;

impl Network {
    /// The path of the least weight from one node to another; among equals the one whose links come first in [`Network::links`].
    /// `None` if there is none, or if both nodes are the same. For many paths use [`Network::graph`].
    pub fn shortest_path(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let graph = self.graph();
        graph.toward(to, |_| true).path(&graph, from, Choice::First)
    }

    /// The ends and weights of the links.
    pub fn graph(&self) -> Graph {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1));
        Graph::new(self.nodes.len(), self.links.iter().zip(weights).map(|(link, weight)| (link.from, link.to, weight)))
    }

    /// Checks everything that a simulation relies on.
    ///
    /// # Errors
    /// The first [`Problem`] in the order of links, flows, calls, failures.
    pub fn check(&self) -> Result<(), Problem> {
        self.check_links()?;
        self.check_flows()?;
        self.check_calls()?;
        self.check_failures()?;
        self.check_reroutes()?;
        self.check_workloads()?;
        self.check_pauses()
    }

    fn check_failures(&self) -> Result<(), Problem> {
        for (index, failure) in self.failures.iter().enumerate() {
            let refuse = |key, problem: String, expected: &str| {
                let subject = Subject::Failure(index);
                Err(Problem { subject, name: failure.name.clone(), key, problem, expected: expected.into() })
            };
            if !self.calls.is_empty() {
                return refuse(
                    "at",
                    "calls hold what they were admitted to, and no admission knows of failures".into(),
                    "no calls, or no failures",
                );
            }
            if failure.at > LONGEST_DURATION || failure.until.is_some_and(|until| until > LONGEST_DURATION) {
                return refuse("at", "later than 26 days".into(), "an instant within the experiment");
            }
            if failure.until.is_some_and(|until| until <= failure.at) {
                return refuse("until", "not after the failure".into(), "a later instant, or none");
            }
            for &LinkId(link) in &failure.links {
                let Some(link) = self.links.get(link) else {
                    return refuse("link", format!("link {link} does not exist"), "a link of the network");
                };
                if link.cells || link.adapter.is_some() || link.workers.is_some() {
                    let problem = format!("link {} carries cells, or several workers share it", link.name);
                    return refuse("link", problem, "links with one port of packets");
                }
            }
        }
        Ok(())
    }

    fn check_reroutes(&self) -> Result<(), Problem> {
        let called = |flow: usize| self.calls.iter().any(|calls| calls.flows.contains(&flow));
        if let Some(pair) = self.reroutes.windows(2).find(|pair| pair[1].at < pair[0].at) {
            let (subject, name) =
                (Subject::Flow(pair[1].flow), self.flows.get(pair[1].flow).map_or_else(String::new, |flow| flow.name.clone()));
            let problem = "it gets another path before one that comes earlier in the list".into();
            return Err(Problem { subject, name, key: "reroutes", problem, expected: "reroutes in the order of their instants".into() });
        }
        for reroute in &self.reroutes {
            let name = self.flows.get(reroute.flow).map_or_else(|| reroute.flow.to_string(), |flow| flow.name.clone());
            let refuse = |problem: String, expected: String| {
                Err(Problem { subject: Subject::Flow(reroute.flow), name: name.clone(), key: "reroutes", problem, expected })
            };
            let first = match self.flows.get(reroute.flow).map(|flow| (&flow.source, &flow.path)) {
                Some((Source::Tcp(tcp), _)) if reroute.is_back => &tcp.reverse_path,
                Some((_, path)) if !reroute.is_back => path,
                _ => return refuse("nothing takes this path".into(), "a flow, or the way back of a connection".into()),
            };
            if called(reroute.flow) {
                return refuse("calls keep the path on which they were admitted".into(), "a flow that is no call".into());
            }
            for path in &reroute.paths {
                if let Err((problem, expected)) = self.check_path(path) {
                    return refuse(problem, expected);
                }
                if self.ends(path) != self.ends(first) {
                    return refuse("it leads elsewhere".into(), "a path with the ends of the first".into());
                }
            }
        }
        Ok(())
    }

    /// The nodes where a path that has been checked starts and ends.
    fn ends(&self, path: &[LinkId]) -> Option<(NodeId, NodeId)> {
        path.first().zip(path.last()).map(|(first, last)| (self.links[first.0].from, self.links[last.0].to))
    }

    /// The number of links before this one with the same loss and seed.
    pub(crate) fn same_loss_before(&self, link: usize) -> usize {
        let [before @ .., this] = &self.links[..=link] else { return 0 };
        before.iter().filter(|before| before.impairment.loss == this.impairment.loss).count()
    }

    /// The number of links before this one with the same disturbance and seed.
    pub(crate) fn same_disturbance_before(&self, link: usize) -> usize {
        let [before @ .., this] = &self.links[..=link] else { return 0 };
        before.iter().filter(|before| before.impairment.disturbance == this.impairment.disturbance).count()
    }

    fn check_links(&self) -> Result<(), Problem> {
        let mut names = HashSet::new();
        for (index, link) in self.links.iter().enumerate() {
            let refuse = |key, problem: String, expected: String| {
                Err(Problem { subject: Subject::Link(index), name: link.name.clone(), key, problem, expected })
            };
            if !names.insert(link.name.as_str()) {
                return refuse("name", "another link has it".into(), "a unique name".into());
            }
            for (key, node) in [("from", link.from), ("to", link.to)] {
                if node.0 >= self.nodes.len() {
                    return refuse(key, format!("node {} does not exist", node.0), format!("a node below {}", self.nodes.len()));
                }
            }
            if link.impairment.loss.is_some_and(|loss| loss.probability() >= 1.0) {
                return refuse("loss", "every packet is lost".into(), "a probability of less than 1".into());
            }
            if link.impairment.rates.is_some() && (link.cells || link.adapter.is_some() || link.admission.is_some()) {
                let problem = "its rate varies, and cells have slots of one length, and admission gives one rate away";
                return refuse("rates", problem.into(), "one rate where cells are sent or calls are admitted".into());
            }
            if link.impairment.disturbance.is_some() && (link.cells || link.adapter.is_some()) {
                let problem = "its packets come late or twice, and cells of a connection keep their order".into();
                return refuse("disturbance", problem, "an undisturbed link where cells are sent".into());
            }
            if let Some((problem, expected)) = link.workers.as_ref().and_then(|workers| obstacle(workers, link)) {
                return refuse("workers", problem, expected);
            }
            if link.cells && (link.port.overhead != Overhead::None || link.port.longest_frame < CELL) {
                return refuse("cells", "its port is not one for cells".into(), "no overhead, and frames of 53 bytes and more".into());
            }
            if link.cells && !link.port.remarks.is_empty() {
                return refuse("cells", "its port sets code points, and cells have none".into(), "a port without remarks".into());
            }
            if let Some(adapter) = &link.adapter {
                if let Err(error) = adapter.check() {
                    return refuse("adapter", error.to_string(), "what the cell scheduler can keep".into());
                }
                if link.cells || link.port.overhead != Overhead::Aal5 || adapter.contracts.len() != link.port.classifier.flows() {
                    return refuse("adapter", "its port is not one for frames".into(), "AAL5 overhead and a contract per queue".into());
                }
                if link.port.longest_frame + adapter.encapsulation.header() > LONGEST_FRAME {
                    return refuse("longest_frame", "AAL5 cannot carry it".into(), format!("at most {LONGEST_FRAME} bytes"));
                }
            }
            if link.propagation > LONGEST_DURATION {
                return refuse("propagation", "longer than 26 days".into(), "a delay that can be simulated".into());
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), Problem> {
        let mut names = HashSet::new();
        let mut streams = HashSet::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let refuse = |key, problem: String, expected: String| {
                Err(Problem { subject: Subject::Flow(index), name: flow.name.clone(), key, problem, expected })
            };
            if !names.insert(flow.name.as_str()) {
                return refuse("name", "another flow has it".into(), "a unique name".into());
            }
            if !streams.insert(crate::random::stream_number(&flow.name)) {
                return refuse("name", "its random stream is that of another flow".into(), "any other name".into());
            }
            if let Err((problem, expected)) = self.check_path(&flow.path) {
                return refuse("path", problem, expected);
            }
            if let Source::Tcp(tcp) = &flow.source {
                if let Err((problem, expected)) = self.check_path(&tcp.reverse_path) {
                    return refuse("back", problem, expected);
                }
                if self.ends(&tcp.reverse_path) != self.ends(&flow.path).map(|(from, to)| (to, from)) {
                    return refuse("back", "it does not lead back".into(), "a path from where the flow ends to where it starts".into());
                }
            }
            if flow.start > LONGEST_DURATION {
                return refuse("start", "later than 26 days".into(), "a start within the experiment".into());
            }
            if flow.stop.is_some_and(|stop| stop <= flow.start) {
                return refuse("stop", "not after the start".into(), "a later instant, or none".into());
            }
            if flow.shaping.is_some() && matches!(flow.source, Source::Tcp(_) | Source::Greedy(_)) {
                return refuse("shape", "the network drives this source".into(), "a source that the clock drives".into());
            }
            if let Some(Err(fault)) = flow.shaping.as_ref().map(sender_shaper::check) {
                return refuse(fault.key, fault.problem, fault.expected);
            }
            if let Err(fault) = flow.source.check().and_then(|()| flow.tagging.map_or(Ok(()), |tagging| tagging.check())) {
                return refuse(fault.key, fault.problem, fault.expected);
            }
        }
        Ok(())
    }

    /// Admission control of ports with these settings, with room for all calls at each.
    pub(crate) fn path_admission(&self, settings: &[LinkSettings]) -> Result<PathAdmission, (u32, SettingsError)> {
        let flows = self.calls.iter().map(|calls| calls.flows.len()).sum();
        let with_room = |settings: &LinkSettings| {
            let mut settings = *settings;
            (settings.guaranteed_flows, settings.controlled_load_flows) = (flows as u32, flows as u32);
            settings
        };
        PathAdmission::new(&settings.iter().map(with_room).collect::<Vec<_>>(), flows, settings.len())
    }

    /// Whether the request of a call with this flow has a meaning.
    fn allocates(&self, calls: &Calls, flow: usize) -> Result<(), RequestError> {
        let settings: Vec<LinkSettings> = self.flows[flow].path.iter().filter_map(|link| self.links[link.0].admission).collect();
        let ports: Vec<u32> = (0..settings.len() as u32).collect();
        let Ok(mut admission) = PathAdmission::new(&settings, 1, ports.len()) else { return Ok(()) };
        admission.allocate(&calls.request(flow, &ports)).map(|_| ())
    }

    /// What [`Reach::of`](crate::workload::reach::Reach::of) does not check.
    fn check_workloads(&self) -> Result<(), Problem> {
        let mut names = HashSet::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let refuse = |key, problem: String, expected: String| {
                Err(Problem { subject: Subject::Workload(index), name: workload.name.clone(), key, problem, expected })
            };
            if !names.insert(workload.name.as_str()) {
                return refuse("name", "another workload has it".into(), "a unique name".into());
            }
            if self.broker.is_some() {
                let problem = "budgets promise delays to calls, and connections of a workload arrive at random, any number at once";
                return refuse("name", problem.into(), "calls that are admitted by rates".into());
            }
            if let Err(fault) = workload.check(self.nodes.len()) {
                return refuse(fault.key, fault.problem, fault.expected);
            }
        }
        Ok(())
    }

    fn check_calls(&self) -> Result<(), Problem> {
        let settings = self.links.iter().enumerate().filter_map(|(link, port)| Some((link, port.admission?)));
        for (link, settings) in settings {
            if let Err(error) = AdmittingLink::new(settings) {
                let (subject, name) = (Subject::Link(link), self.links[link].name.clone());
                let expected = "settings that admission control can use".into();
                return Err(Problem { subject, name, key: "admission", problem: error.to_string(), expected });
            }
        }
        let mut names = HashSet::new();
        let mut used = HashSet::new();
        for (index, calls) in self.calls.iter().enumerate() {
            let refuse = |key, problem: String, expected: &str| {
                let subject = Subject::Calls(index);
                Err(Problem { subject, name: calls.name.clone(), key, problem, expected: expected.into() })
            };
            if !names.insert(calls.name.as_str()) {
                return refuse("name", "other calls have it".into(), "a unique name");
            }
            if let Err(fault) = calls.check() {
                return refuse(fault.key, fault.problem, &fault.expected);
            }
            for &flow in &calls.flows {
                let Some(spec) = self.flows.get(flow) else {
                    return refuse("flows", format!("flow {flow} does not exist"), "flows of the network");
                };
                if !used.insert(flow) {
                    return refuse("flows", format!("flow {} is used by other calls", spec.name), "a flow of its own for every call");
                }
                if matches!(spec.source, Source::Tcp(_) | Source::Greedy(_) | Source::Capture(_)) || spec.stop.is_some() {
                    return refuse(
                        "flows",
                        format!("flow {} does not start anew", spec.name),
                        "sources that the clock drives, without a stop",
                    );
                }
                if let Some(link) = spec.path.iter().map(|link| &self.links[link.0]).find(|link| link.impairment.disturbance.is_some()) {
                    let problem = format!("packets may come late or twice over link {}, also after their call has ended", link.name);
                    return refuse("flows", problem, "undisturbed links on the paths of calls");
                }
                if let Some(path) = &calls.brokered {
                    if let Err(problem) = self.check_brokered(calls, flow, path) {
                        return refuse("brokered", problem, "queues of the broker, one at each link of the path");
                    }
                    continue;
                }
                let admitting: Vec<&Link> =
                    spec.path.iter().map(|link| &self.links[link.0]).filter(|link| link.admission.is_some()).collect();
                if admitting.is_empty() {
                    let problem = format!("no link of the path of flow {} admits flows", spec.name);
                    return refuse("flows", problem, "a path with a port that admits flows");
                }
                if let Some(link) = admitting.iter().find(|link| !link.gives_rates()) {
                    let problem = format!("the port of link {} gives no flow a rate of its own", link.name);
                    return refuse(
                        "flows",
                        problem,
                        "a port of packets under intserv, svc, virtual-clock or wf2q+ where flows are admitted",
                    );
                }
                if let Err(error) = self.allocates(calls, flow) {
                    return refuse("request", error.to_string(), "a request that can be answered");
                }
            }
        }
        Ok(())
    }

    /// What is wrong with the way of a call through the queues of the broker.
    fn check_brokered(&self, calls: &Calls, flow: usize, path: &BrokeredPath) -> Result<(), String> {
        let broker = self.broker.as_ref().ok_or("there is no broker")?;
        let links = &self.flows[flow].path;
        if path.queues.len() != links.len() {
            return Err(format!("{} queues on a path of {} links", path.queues.len(), links.len()));
        }
        for (&queue, &link) in path.queues.iter().zip(links) {
            let place = broker.queues.get(queue as usize).filter(|place| place.link == link);
            let place = place.ok_or_else(|| format!("queue {queue} is not one of link {}", self.links[link.0].name))?;
            let classes = self.links[link.0].port.classifier.classes().len();
            if place.delays.iter().any(|&class| class >= classes) || !place.delays.contains(&place.class) {
                return Err(format!("queue {queue} names classes that link {} does not have, or not its own", self.links[link.0].name));
            }
            if self.links[link.0].carries_cells() {
                return Err(format!("link {} carries cells", self.links[link.0].name));
            }
            if self.links[link.0].impairment.rates.is_some() {
                return Err(format!("the rate of link {} varies", self.links[link.0].name));
            }
        }
        let answer = broker.control.copied().request(&calls.request(flow, &path.queues)).map(|_| ());
        answer.map_err(|error| error.to_string())
    }

    /// What is wrong with a path, and what would be right.
    fn check_path(&self, path: &[LinkId]) -> Result<(), (String, String)> {
        if path.is_empty() {
            return Err(("no link in it".into(), "at least one link".into()));
        }
        if path.len() > LONGEST_PATH {
            return Err((format!("{} links in it", path.len()), format!("at most {LONGEST_PATH} links")));
        }
        if let Some(link) = path.iter().find(|link| link.0 >= self.links.len()) {
            return Err((format!("link {} does not exist", link.0), format!("a link below {}", self.links.len())));
        }
        for pair in path.windows(2) {
            let (before, after) = (&self.links[pair[0].0], &self.links[pair[1].0]);
            if before.to != after.from {
                let (end, begin) = (&self.nodes[before.to.0], &self.nodes[after.from.0]);
                let problem = format!("link {} ends at {end} but link {} starts at {begin}", before.name, after.name);
                return Err((problem, "links that join up".into()));
            }
        }
        Ok(())
    }
}
