//! 10,000 flows at 10 Gbit/s: the node with its repairs, and the same load under other policies.
//!
//! Three links in a row. At the beginning of each a third of all flows comes in, and all leave behind the last: the first link has room, the last is
//! overloaded. Guaranteed flows send at a constant rate, controlled load is video; some flows of both break their contracts, and best effort offers more
//! than is left.

use super::bounds;
use super::figures::{each, figure, with_interval};
use super::lot::link;
use super::node::{Member, Options, Tolerance, node};
use super::packets::{address, dscp, header, mbps};
use super::video::Video;
use crate::figure::{Figure, Table};
use crate::proven::{Proven, arrival, beside, join, named, of_flow};
use tidegate_bounds::curve::Service;
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::service as calculus;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Rule};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{AnyBufferManager, BufferKind, PartitionSpec, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, ServiceClass, Setup};
use tidegate_core::units::Duration;
use tidegate_report::FlowBound;
use tidegate_sim::random::Stream as Random;
use tidegate_sim::source::Cbr;
use tidegate_sim::statistics::{FlowStatistics, Replication};
use tidegate_sim::{Control, Experiment, FlowSpec, LinkId, Network, NodeId, Source, run};

/// The links in a row.
const LINKS: usize = 3;
/// The longest packet in bytes; that of guaranteed flows and of best effort.
const PACKET: u32 = 1500;
/// The rate of a guaranteed flow in Mbit/s: its peak, its declared rate and its reservation.
const GUARANTEED: f64 = 1.5;
/// The peak rate of controlled load in Mbit/s.
const PEAK: f64 = 0.8;
/// Its declared rate in Mbit/s.
const SUSTAINED: f64 = 0.6;
/// What flows that break their contracts send, in Mbit/s.
const ROGUE: f64 = 50.0;
/// What a best-effort flow sends, in Mbit/s.
const BEST_EFFORT: f64 = 100.0;
/// The time of one kilometre of cable.
const PROPAGATION: Duration = Duration::from_picoseconds(5_000_000);
/// Reserved packets of a guaranteed flow.
const RESERVED: u32 = 4;

/// How many flows there are, and how long they are watched.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Size {
    /// The rate of a link in Mbit/s.
    link: f64,
    /// Flows that enter at each link: guaranteed and controlled load, those of both that break their contracts included, and best effort.
    guaranteed: usize,
    controlled: usize,
    best_effort: usize,
    /// Those that break their contracts.
    rogue_guaranteed: usize,
    rogue_controlled: usize,
    /// The buffer of a port in packets: guaranteed, controlled load, best effort.
    buffer: [u32; 3],
    warm_up: u64,
    milliseconds: u64,
    seeds: u64,
}

const FULL: Size = Size {
    link: 10_000.0,
    guaranteed: 1334,
    controlled: 2000,
    best_effort: 20,
    rogue_guaranteed: 4,
    rogue_controlled: 20,
    buffer: [16_000, 20_000, 4000],
    warm_up: 60,
    milliseconds: 260,
    seeds: 8,
};

/// A twentieth of it.
const SHORT: Size = Size {
    link: 500.0,
    guaranteed: 67,
    controlled: 100,
    best_effort: 1,
    rogue_guaranteed: 1,
    rogue_controlled: 1,
    buffer: [800, 1000, 200],
    seeds: 1,
    ..FULL
};

/// What a port does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Policy {
    /// The paper's node with its repairs.
    Node,
    /// A queue per flow by its rate, and one buffer without push-out.
    FairQueueing,
    /// A queue and a rate for each of the three services, and a buffer for each.
    Classes,
    /// A queue per flow by its weight; the longest gives way.
    RoundRobin,
}

const POLICIES: [(&str, Policy); 4] = [
    ("this node, with repairs", Policy::Node),
    ("WF2Q+, tail drop", Policy::FairQueueing),
    ("class-based WFQ, three queues", Policy::Classes),
    ("DRR, longest queue gives way", Policy::RoundRobin),
];

/// A flow, and the link at which it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Role {
    service: ServiceClass,
    entry: usize,
    is_rogue: bool,
}

impl Role {
    /// Such as "guaranteed, 3 links".
    fn name(&self) -> String {
        let breaks = if self.is_rogue { ", breaks its contract" } else { "" };
        let links = LINKS - self.entry;
        format!("{}, {links} link{}{breaks}", self.service.name(), if links == 1 { "" } else { "s" })
    }
}

impl Size {
    fn roles(&self) -> Vec<Role> {
        let services = [
            (ServiceClass::Guaranteed, self.guaranteed, self.rogue_guaranteed),
            (ServiceClass::ControlledLoad, self.controlled, self.rogue_controlled),
            (ServiceClass::BestEffort, self.best_effort, 0),
        ];
        let of_service = |(service, flows, rogues)| {
            (0..LINKS).flat_map(move |entry| (0..flows).map(move |flow| Role { service, entry, is_rogue: flow < rogues }))
        };
        services.into_iter().flat_map(of_service).collect()
    }

    /// What adaptive rate allocation gives a flow of controlled load at a link, in Mbit/s.
    fn controlled_rate(&self, at: usize) -> f64 {
        let entries = (at + 1) as f64;
        let left = self.link - entries * self.guaranteed as f64 * GUARANTEED;
        // Whole bits per second, rounded down.
        (left / (entries * self.controlled as f64) * 1e6).floor().min(PEAK * 1e6) / 1e6
    }

    /// The bound on a conforming guaranteed flow that enters here, in milliseconds: of RFC 2212 with p = r = R.
    fn guaranteed_bound_ms(&self, entry: usize) -> f64 {
        let hops = (LINKS - entry) as f64;
        let packet = |rate: f64| f64::from(PACKET) * 8.0 / rate * 1e-3;
        (hops + 1.0) * packet(GUARANTEED) + hops * (packet(self.link) + PROPAGATION.picoseconds() as f64 * 1e-9)
    }

    /// The same of controlled load: its burst at the least rate on the path, a packet at the rate of each hop, and the lateness below guaranteed flows.
    fn controlled_bound_ms(&self, entry: usize, video: &Video) -> f64 {
        let packet = f64::from(PACKET) * 8e-3;
        let rate = self.controlled_rate(LINKS - 1);
        let burst = video.burst() as f64 * 8e-3 * (1.0 - rate / PEAK).max(0.0);
        let late = |at: usize| {
            let (above, flows) = ((at + 1) as f64 * self.guaranteed as f64 * GUARANTEED, self.guaranteed as f64);
            // A guaranteed flow may send its packet, and early ones within its tolerance: a packet for each hop upstream.
            let early: f64 = (0..=at).map(|from| flows * (1.0 + (at - from) as f64 * (1.0 + GUARANTEED / self.link))).sum();
            packet / self.controlled_rate(at) + packet * (early + 1.0) / (self.link - above) + PROPAGATION.picoseconds() as f64 * 1e-9
        };
        (burst + packet) / rate + (entry..LINKS).map(late).sum::<f64>()
    }

    /// What a node at this link knows of each flow; `None` for a flow that does not pass.
    fn members(&self, at: usize, roles: &[Role]) -> Vec<Option<Member>> {
        let member = |role: &Role| {
            (role.entry <= at).then(|| {
                let upstream = (at - role.entry) as u64;
                match role.service {
                    ServiceClass::Guaranteed => Member::guaranteed(GUARANTEED, RESERVED, upstream),
                    ServiceClass::ControlledLoad => Member::controlled(self.controlled_rate(at), upstream),
                    ServiceClass::BestEffort => Member::best_effort(),
                }
            })
        };
        roles.iter().map(member).collect()
    }

    fn options(&self) -> Options {
        Options {
            tolerance: Tolerance::Jitter,
            enforces_reserve: true,
            partitions: self.buffer,
            link: self.link,
            packet: PACKET,
            ..Options::literal()
        }
    }

    /// The weight of a flow in half a Mbit/s; a visit serves at least a packet.
    fn weight(&self, service: ServiceClass) -> u32 {
        (self.rate(service).min(GUARANTEED) * 2.0).round().max(1.0) as u32
    }

    fn port(&self, policy: Policy, at: usize, roles: &[Role]) -> PortSetup {
        let own = node(&self.members(at, roles), &self.options());
        let setup = Setup::new(mbps(self.link), PACKET);
        let packets = Some(self.buffer.iter().sum());
        let limits = |flows: usize, packets: Option<u32>| BufferParameters { flows, packets, ..BufferParameters::default() };
        let shared = |kind: BufferKind| kind.build(&limits(roles.len(), packets)).expect("a limit in packets");
        let scheduler = |kind: SchedulerKind, flows: &[FlowParameters]| kind.build(&setup, flows).expect("rates and weights are given");
        match policy {
            Policy::Node => own,
            Policy::FairQueueing => {
                let rates: Vec<FlowParameters> = roles.iter().map(|role| rated(self.rate(role.service))).collect();
                PortSetup {
                    scheduler: scheduler(SchedulerKind::Wf2qPlus, &rates),
                    buffer: shared(BufferKind::TailDrop),
                    remarks: Remarks::default(),
                    ..own
                }
            }
            Policy::RoundRobin => {
                let weighted = |role: &Role| FlowParameters { weight: Some(self.weight(role.service)), ..FlowParameters::default() };
                let weights: Vec<FlowParameters> = roles.iter().map(weighted).collect();
                PortSetup {
                    scheduler: scheduler(SchedulerKind::DeficitRoundRobin, &weights),
                    buffer: shared(BufferKind::LongestQueuePushOut),
                    remarks: Remarks::default(),
                    ..own
                }
            }
            Policy::Classes => {
                let services = [ServiceClass::Guaranteed, ServiceClass::ControlledLoad, ServiceClass::BestEffort];
                let flows = [self.guaranteed, self.controlled, self.best_effort].map(|flows| (LINKS * flows) as f64);
                let rates = [0, 1, 2].map(|place| rated(flows[place] * self.rate(services[place])));
                let specs = self.buffer.map(|packets| PartitionSpec { kind: BufferKind::TailDrop, parameters: limits(1, Some(packets)) });
                let class = |service: ServiceClass| Rule { dscp: Some(CodePoints::one(dscp(service, false))), ..Rule::default() };
                let classes = [
                    ("guaranteed", vec![class(ServiceClass::Guaranteed)]),
                    ("controlled load", vec![class(ServiceClass::ControlledLoad)]),
                    ("best effort", vec![]),
                ]
                .map(|(name, rules)| ClassRules { name: name.into(), queues: 1, rules });
                PortSetup {
                    classifier: Classifier::new(classes.into(), 1).expect("two rules"),
                    policers: vec![None; 3],
                    scheduler: scheduler(SchedulerKind::Wf2qPlus, &rates),
                    buffer: AnyBufferManager::partitioned(&specs, &[Some(0), Some(1), Some(2)]).expect("a partition for each service"),
                    remarks: Remarks::default(),
                    ..own
                }
            }
        }
    }

    /// The rate that a flow of a service is given under policies without adaptive rates, in Mbit/s.
    fn rate(&self, service: ServiceClass) -> f64 {
        match service {
            ServiceClass::Guaranteed => GUARANTEED,
            ServiceClass::ControlledLoad => SUSTAINED,
            ServiceClass::BestEffort => {
                let reserved = self.guaranteed as f64 * GUARANTEED + self.controlled as f64 * SUSTAINED;
                (self.link / LINKS as f64 - reserved) / self.best_effort as f64 - 1e-4
            }
        }
    }

    fn network(&self, policy: Policy, seed: u64) -> Network {
        let roles = self.roles();
        let mut network = Network { nodes: (0..=LINKS).map(|number| format!("node {number}")).collect(), ..Network::default() };
        for at in 0..LINKS {
            let port = self.port(policy, at, &roles);
            network.links.push(link(format!("link {}", at + 1), NodeId(at), NodeId(at + 1), PROPAGATION, port));
        }
        let video = Video::new(PEAK);
        let mut random = Random::new(seed, 0, "video");
        let end = Duration::from_milliseconds(self.milliseconds);
        for (index, role) in roles.iter().enumerate() {
            let header = header(index, role.service, false);
            let constant = |rate: f64| Source::Cbr(Cbr { rate: mbps(rate), length: PACKET, random_phase: true });
            let source = match role.service {
                ServiceClass::BestEffort => constant(BEST_EFFORT),
                _ if role.is_rogue => constant(ROGUE),
                ServiceClass::Guaranteed => constant(GUARANTEED),
                ServiceClass::ControlledLoad => video.source(random.uniform(), end, header),
            };
            network.flows.push(FlowSpec {
                name: format!("flow {index} from {:x}", address(index)),
                source,
                header,
                path: (role.entry..LINKS).map(LinkId).collect(),
                start: Duration::ZERO,
                stop: None,
                tagging: None,
                shaping: None,
            });
        }
        network
    }
}

/// What is proven.
impl Size {
    /// The port of a link as the calculus knows it; `None` if flows share queues.
    fn described(&self, policy: Policy, at: usize, roles: &[Role]) -> Option<calculus::Node> {
        let child = |role: &Role| calculus::Child::new(if role.entry <= at { 8 * u64::from(PACKET) } else { 0 });
        let (kind, children): (_, Vec<calculus::Child>) = match policy {
            Policy::Node => return Some(bounds::described(&self.members(at, roles), &self.options())),
            Policy::Classes => return None,
            Policy::FairQueueing => {
                let rate = |role: &Role| mbps(self.rate(role.service)).bits_per_second();
                let children = roles.iter().map(|role| calculus::Child { rate: rate(role), ..child(role) });
                (SchedulerKind::Wf2qPlus, children.collect())
            }
            Policy::RoundRobin => {
                // The quantum of the least weight is a packet, and the least is 1; flows that do not pass take no turns.
                let of =
                    |role: &Role| calculus::Child { quantum: child(role).longest * u64::from(self.weight(role.service)), ..child(role) };
                (SchedulerKind::DeficitRoundRobin, roles.iter().map(of).collect())
            }
        };
        Some(calculus::Node::new(kind, mbps(self.link).bits_per_second(), children))
    }

    /// The name and the bound of each flow, in the order of the network.
    fn proven(&self, policy: Policy, network: &Network) -> Vec<(String, Proven)> {
        let roles = self.roles();
        let nodes: Option<Vec<calculus::Node>> = (0..LINKS).map(|at| self.described(policy, at, &roles)).collect();
        let of = |flow: usize, role: &Role| {
            let Some(nodes) = &nodes else { return Err(NoBound::Because("flows that send more than their rate share its queue")) };
            let spec = &network.flows[flow];
            let is_video = role.service == ServiceClass::ControlledLoad && !role.is_rogue;
            let arrival = if is_video { Video::new(PEAK).curve() } else { arrival(spec) };
            of_flow(network, spec, arrival, &|LinkId(link)| calculus::row(&nodes[link], &Service::link(nodes[link].rate), flow).guaranteed)
        };
        // All flows of a role have the same bound.
        let mut known: Vec<(Role, Proven)> = Vec::new();
        let proven = |(flow, role): (usize, &Role)| {
            let index = known.iter().position(|(other, _)| other == role).unwrap_or_else(|| {
                known.push((*role, of(flow, role)));
                known.len() - 1
            });
            (role.name(), known[index].1.clone())
        };
        roles.iter().enumerate().map(proven).collect()
    }
}

fn rated(rate: f64) -> FlowParameters {
    FlowParameters { rate: Some(mbps(rate)), ..FlowParameters::default() }
}

/// What a policy did, a number per seed each.
#[derive(Clone, Default, Debug)]
struct Results {
    /// Conforming flows: packets lost, loss in percent, the longest delay in milliseconds, and the longest by its bound; guaranteed and controlled load.
    lost: [Vec<f64>; 2],
    loss: [Vec<f64>; 2],
    longest_ms: [Vec<f64>; 2],
    of_bound: [Vec<f64>; 2],
    /// Conforming packets that came behind a later one.
    reordered: Vec<f64>,
    /// What is proven of the flows, beside their largest delays.
    bounds: Vec<FlowBound>,
    /// The part of the last link that was idle, in percent.
    idle: Vec<f64>,
    /// What links before carried of packets that were dropped later, in percent of one link.
    wasted: Vec<f64>,
    /// Delivered in percent of a link: best effort, and flows that break their contracts.
    best_effort: Vec<f64>,
    rogue: Vec<f64>,
}

impl Results {
    fn of(size: &Size, policy: Policy, progress: &dyn Fn(f64)) -> Results {
        let mut results = Results::default();
        for seed in 1..=size.seeds {
            let experiment = Experiment {
                duration: Duration::from_milliseconds(size.milliseconds),
                warm_up: Duration::from_milliseconds(size.warm_up),
                replications: 1,
                seed,
                ..Experiment::default()
            };
            let network = size.network(policy, seed);
            let proven = size.proven(policy, &network);
            let outcome = run(&network, &experiment, &Control::default());
            let outcome = outcome.expect("the network is sound, and conserves what it carries");
            join(&mut results.bounds, beside(&proven, seed as u32, &outcome.replications[0]));
            results.add(size, &outcome.replications[0]);
            progress(seed as f64 / size.seeds as f64);
        }
        results
    }

    fn add(&mut self, size: &Size, run: &Replication) {
        let roles = size.roles();
        let video = Video::new(PEAK);
        let bounds = [0, 1, 2].map(|entry| [size.guaranteed_bound_ms(entry), size.controlled_bound_ms(entry, &video)]);
        let whole = size.link * 1e6 * (size.milliseconds - size.warm_up) as f64 * 1e-3 / 800.0;
        let flows = |of: &dyn Fn(&Role) -> bool| -> Vec<(&Role, &FlowStatistics)> {
            roles.iter().zip(&run.flows).filter(|(role, _)| of(role)).collect()
        };
        for (place, service) in [ServiceClass::Guaranteed, ServiceClass::ControlledLoad].into_iter().enumerate() {
            let conforming = flows(&|role| role.service == service && !role.is_rogue);
            let lost: u64 = conforming.iter().map(|(_, flow)| flow.lost().packets).sum();
            let offered: u64 = conforming.iter().map(|(_, flow)| flow.offered.packets).sum();
            let longest = |flow: &FlowStatistics| flow.delays.maximum().unwrap_or(0.0) * 1e3;
            self.lost[place].push(lost as f64);
            self.loss[place].push(100.0 * lost as f64 / offered as f64);
            self.longest_ms[place].push(conforming.iter().map(|(_, flow)| longest(flow)).fold(0.0, f64::max));
            let of_bound = conforming.iter().map(|(role, flow)| longest(flow) / bounds[role.entry][place]);
            self.of_bound[place].push(of_bound.fold(0.0, f64::max));
        }
        let promised = flows(&|role| role.service != ServiceClass::BestEffort);
        self.reordered.push(promised.iter().map(|(_, flow)| flow.reordered as f64).sum());
        self.idle.push(100.0 * (1.0 - run.ports[LINKS - 1].utilisation));
        let wasted = |(role, flow): (&Role, &FlowStatistics)| -> u64 {
            flow.dropped.iter().map(|(link, _, dropped)| (link.0 - role.entry) as u64 * dropped.bytes).sum()
        };
        self.wasted.push(flows(&|_| true).into_iter().map(wasted).sum::<u64>() as f64 / whole);
        let delivered = |of: &dyn Fn(&Role) -> bool| flows(of).iter().map(|(_, flow)| flow.delivered.bytes as f64).sum::<f64>() / whole;
        self.best_effort.push(delivered(&|role| role.service == ServiceClass::BestEffort));
        self.rogue.push(delivered(&|role| role.is_rogue));
    }

    fn row(&self, name: &str) -> Vec<String> {
        let pair = |[guaranteed, controlled]: &[Vec<f64>; 2], decimals| {
            format!("{}, {}", with_interval(guaranteed, decimals), with_interval(controlled, decimals))
        };
        vec![
            name.into(),
            pair(&self.loss, 2),
            pair(&self.longest_ms, 3),
            pair(&self.of_bound, 3),
            with_interval(&self.idle, 2),
            with_interval(&self.wasted, 1),
            with_interval(&self.best_effort, 2),
            with_interval(&self.rogue, 2),
        ]
    }
}

const HEAD: [&str; 8] = [
    "policy",
    "conforming GS, CL lost %",
    "GS, CL max ms",
    "GS, CL max / bound",
    "last link idle %",
    "carried in vain, % of a link",
    "best effort, % of a link",
    "contract breakers, % of a link",
];

fn build(size: &Size, policies: &[(&str, Policy)], progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "at-scale",
        "10,000 flows at 10 Gbit/s, and the same load under other policies",
        "beyond the paper",
        &["The paper's runs have 8 to 24 flows at 10 Mbit/s; its algorithms are said to be simple enough for high speed."],
        &[
            "Three links in a row; a third of 4002 guaranteed flows (1.5 Mbit/s), 6000 of controlled load and 60 of best effort (100 Mbit/s) enters at each, and all \
             leave behind the last. Of the reserved flows 12 guaranteed and 60 of controlled load send 50 Mbit/s each, unmarked.",
            "Controlled load is a captured video over QUIC in a loop, at 0.8 Mbit/s at most; each flow begins anywhere in it.",
            "The node has its repairs on: a tolerance for the jitter of the hops upstream, and reserves enforced. Rates of controlled load are those of adaptive rate \
             allocation.",
            "The bound of guaranteed flows is that of RFC 2212. That of controlled load adds the lateness below guaranteed flows; it is ours.",
            "The same buffer for all: 40,000 packets a port. Rates of WF2Q+ and weights of DRR are the reservations; class-based WFQ has their sums.",
            "Eight seeds of 0.2 s behind 0.06 s, 95 % intervals.",
        ],
    );
    let mut rows = Vec::new();
    for (number, &(name, policy)) in policies.iter().enumerate() {
        let of = policies.len() as f64;
        let results = Results::of(size, policy, &|part| progress((number as f64 + part) / of));
        if policy == Policy::Node {
            figure.gates = vec![
                each("conforming guaranteed packets lost", "packets", &results.lost[0], 0.0, 0.0),
                each("conforming controlled-load packets lost", "packets", &results.lost[1], 0.0, 0.0),
                each("longest delay of conforming guaranteed flows", "of the bound", &results.of_bound[0], 0.0, 1.0),
                each("longest delay of conforming controlled load", "of the bound", &results.of_bound[1], 0.0, 1.0),
                each("longest delay of conforming guaranteed flows is typical", "ms", &results.longest_ms[0], 0.0, 0.5),
                each("reserved packets reordered", "packets", &results.reordered, 0.0, 0.0),
                each("last link idle", "percent", &results.idle, -0.01, 0.1),
                each("best effort delivered", "percent of a link", &results.best_effort, 5.0, 20.0),
            ];
        }
        figure.bounds.extend(named(name, &results.bounds));
        rows.push(results.row(name));
    }
    figure.tables.push(Table::new("Who keeps the promises, and who wastes what", &HEAD, rows));
    figure
}

/// The node and three other policies.
pub fn at_scale(progress: &dyn Fn(f64)) -> Figure {
    build(&FULL, &POLICIES, progress)
}

/// The node alone with a twentieth of the flows.
pub fn short(progress: &dyn Fn(f64)) -> Figure {
    build(&SHORT, &POLICIES[..1], progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_packet_is_later_than_is_proven_under_any_policy() {
        let figure = build(&SHORT, &POLICIES, &|_| {});
        for (name, policy) in POLICIES {
            let guaranteed: Vec<_> = figure
                .bounds
                .iter()
                .filter(|row| row.run == name && row.flow.starts_with("guaranteed") && !row.flow.ends_with("contract"))
                .collect();
            assert_eq!(guaranteed.len(), LINKS, "{name}");
            assert!(guaranteed.iter().all(|row| row.bound.held.is_some() == (policy != Policy::Classes)), "{guaranteed:?}");
        }
        assert!(figure.bounds.iter().all(|row| row.bound.held != Some(false)), "{:?}", figure.bounds);
    }
}
