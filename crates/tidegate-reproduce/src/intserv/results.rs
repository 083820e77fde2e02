//! What was measured in the parking lot, by seed.

use super::bounds;
use super::lot::{Case, PATHS, Role, roles};
use super::packets::PACKET;
use crate::proven::{beside, join};
use tidegate_core::port::Volume;
use tidegate_core::scheduler::ServiceClass;
use tidegate_report::FlowBound;
use tidegate_sim::statistics::{ClassStatistics, FlowStatistics, Replication};
use tidegate_sim::{Estimate, Histogram, Outcome};

/// The results of one run, a number per seed each.
#[derive(Clone, Debug)]
pub struct Results {
    /// The longest delays in milliseconds: of all guaranteed flows, and of that of path G1.
    pub guaranteed_ms: [Vec<f64>; 2],
    /// The same of the flows of controlled load that conform.
    pub controlled_ms: [Vec<f64>; 2],
    /// What each TCP connection delivered, in kB/s of whole packets.
    pub tcp: Vec<Vec<f64>>,
    /// What the last link carried in Mbit/s: guaranteed and controlled load in profile, both out of profile, best effort.
    pub last_link: [Vec<f64>; 4],
    /// Best-effort packets lost at each link, in percent of those offered there.
    pub best_effort_loss: [Vec<f64>; PATHS],
    /// Packets of conforming flows lost: guaranteed, controlled load, and those of both that were not marked.
    pub lost: [Vec<f64>; 3],
    /// Packets of conforming controlled load lost, in percent.
    pub controlled_loss: Vec<f64>,
    /// The part of conforming controlled-load packets that arrive marked, in percent.
    pub marked: Vec<f64>,
    /// The loss in percent and the longest delay in milliseconds of the flow that does not conform; empty without one.
    pub rogue_loss: Vec<f64>,
    pub rogue_ms: Vec<f64>,
    pub reordered: Vec<f64>,
    /// The requests that were refused, in percent: guaranteed and controlled load; empty if no flow asks.
    pub blocked: [Vec<f64>; 2],
    /// The mean number of calls of controlled load that hold.
    pub held: Vec<f64>,
    /// What is proven of the flows, beside their largest delays.
    pub bounds: Vec<FlowBound>,
    /// The delays on path G1 of the guaranteed flow and of the first of controlled load, over all seeds.
    pub delays: [Histogram; 2],
}

impl Results {
    pub fn of(case: &Case, outcome: &Outcome) -> Results {
        let roles = roles(&case.load, case.mode);
        let seconds = (case.seconds - case.warm_up) as f64;
        let lots: Vec<Lot<'_>> = outcome.replications.iter().map(|run| Lot { roles: &roles, run, seconds }).collect();
        let each = |of: &dyn Fn(&Lot<'_>) -> f64| -> Vec<f64> { lots.iter().map(of).collect() };
        let longest = |service| {
            [
                each(&|lot| lot.longest_ms(|role| role.service == service && !role.rogue)),
                each(&|lot| lot.longest_ms(|role| role.service == service && !role.rogue && role.path == 0)),
            ]
        };
        let rogue = roles.iter().any(|role| role.rogue);
        let first = |service| roles.iter().position(|role| role.service == service && role.path == 0);
        let delays = [ServiceClass::Guaranteed, ServiceClass::ControlledLoad].map(|service| {
            let mut all = Histogram::default();
            first(service).into_iter().for_each(|flow| outcome.replications.iter().for_each(|run| all.merge(&run.flows[flow].delays)));
            all
        });
        let (proven, mut bounds) = (bounds::of(case), Vec::new());
        (1..).zip(&outcome.replications).for_each(|(number, run)| join(&mut bounds, beside(&proven, number, run)));
        Results {
            bounds,
            guaranteed_ms: longest(ServiceClass::Guaranteed),
            controlled_ms: longest(ServiceClass::ControlledLoad),
            tcp: lots.iter().map(Lot::tcp).collect(),
            last_link: std::array::from_fn(|part| each(&|lot| lot.last_link()[part])),
            best_effort_loss: std::array::from_fn(|link| each(&|lot| lot.best_effort_loss(link))),
            lost: [
                each(&|lot| lot.lost(ServiceClass::Guaranteed)[0]),
                each(&|lot| lot.lost(ServiceClass::ControlledLoad)[0]),
                each(&|lot| lot.lost(ServiceClass::Guaranteed)[1] + lot.lost(ServiceClass::ControlledLoad)[1]),
            ],
            controlled_loss: each(&|lot| 100.0 * lot.lost(ServiceClass::ControlledLoad)[0] / lot.offered(ServiceClass::ControlledLoad)),
            marked: each(&|lot| lot.marked()),
            rogue_loss: if rogue { each(&|lot| lot.rogue_loss()) } else { Vec::new() },
            rogue_ms: if rogue { each(&|lot| lot.longest_ms(|role| role.rogue)) } else { Vec::new() },
            reordered: each(&|lot| {
                lot.run
                    .flows
                    .iter()
                    .zip(lot.roles)
                    .filter(|(_, role)| role.service != ServiceClass::BestEffort)
                    .map(|(flow, _)| flow.reordered as f64)
                    .sum()
            }),
            blocked: services(outcome, case, &roles),
            held: each(&|lot| {
                let is_controlled =
                    |entry: usize| roles.iter().any(|role| role.entry == entry && role.service == ServiceClass::ControlledLoad);
                lot.run.calls.iter().enumerate().filter(|(entry, _)| is_controlled(*entry)).map(|(_, calls)| calls.mean_held).sum()
            }),
            delays,
        }
    }

    /// The sum of what the TCP connections delivered, by seed.
    pub fn tcp_sum(&self) -> Vec<f64> {
        self.tcp.iter().map(|connections| connections.iter().sum()).collect()
    }

    /// How far apart the connections are, in parts of their mean, by seed.
    pub fn tcp_spread(&self) -> Vec<f64> {
        let spread = |connections: &Vec<f64>| {
            let mean = connections.iter().sum::<f64>() / connections.len() as f64;
            let (least, most) = connections.iter().fold((f64::MAX, 0.0f64), |(least, most), &rate| (least.min(rate), most.max(rate)));
            (most - least) / mean
        };
        self.tcp.iter().map(spread).collect()
    }
}

/// The requests of either service that were refused, in percent by seed.
fn services(outcome: &Outcome, case: &Case, roles: &[Role]) -> [Vec<f64>; 2] {
    [ServiceClass::Guaranteed, ServiceClass::ControlledLoad].map(|service| {
        if !case.mode.asks(service) {
            return Vec::new();
        }
        let is_of_service = |entry: usize| roles.iter().any(|role| role.entry == entry && role.service == service);
        let blocked = |run: &Replication| {
            let calls = run.calls.iter().enumerate().filter(|(entry, _)| is_of_service(*entry));
            let (refused, requests) =
                calls.fold((0, 0), |(refused, requests), (_, calls)| (refused + calls.all_refused(), requests + calls.requests));
            100.0 * refused as f64 / requests as f64
        };
        outcome.replications.iter().map(blocked).collect()
    })
}

/// The mean over the seeds with its interval.
pub fn estimate(values: &[f64]) -> Estimate {
    Estimate::of(values).unwrap_or(Estimate { mean: f64::NAN, half_width: None })
}

struct Lot<'a> {
    roles: &'a [Role],
    run: &'a Replication,
    seconds: f64,
}

impl Lot<'_> {
    fn flows(&self, of: impl Fn(&Role) -> bool) -> impl Iterator<Item = (usize, &Role, &FlowStatistics)> {
        let all = self.roles.iter().zip(&self.run.flows).enumerate();
        all.filter(move |(_, (role, _))| of(role)).map(|(index, (role, flow))| (index, role, flow))
    }

    /// The class of a flow at the port of a link between switches.
    fn class(&self, link: usize, flow: usize) -> &ClassStatistics {
        &self.run.ports[link].classes[flow]
    }

    fn longest_ms(&self, of: impl Fn(&Role) -> bool) -> f64 {
        self.flows(of).filter_map(|(.., flow)| flow.delays.maximum()).fold(0.0, f64::max) * 1e3
    }

    fn mbps(&self, volume: Volume) -> f64 {
        volume.bytes as f64 * 8.0 / self.seconds / 1e6
    }

    fn tcp(&self) -> Vec<f64> {
        let packets = |flow: &FlowStatistics| {
            let data = f64::from(PACKET - super::lot::HEADERS);
            flow.tcp.as_ref().map_or(0.0, |tcp| tcp.delivered as f64 / data)
        };
        let connections = self.flows(|role| role.service == ServiceClass::BestEffort);
        connections.map(|(.., flow)| packets(flow) * f64::from(PACKET) / 1e3 / self.seconds).collect()
    }

    fn last_link(&self) -> [f64; 4] {
        let mut parts = [0.0; 4];
        for (flow, role, _) in self.flows(|_| true) {
            let class = self.class(PATHS - 1, flow);
            let marked = self.mbps(class.sent_tagged);
            let unmarked = self.mbps(class.sent) - marked;
            match role.service {
                ServiceClass::Guaranteed => (parts[0], parts[2]) = (parts[0] + unmarked, parts[2] + marked),
                ServiceClass::ControlledLoad => (parts[1], parts[2]) = (parts[1] + unmarked, parts[2] + marked),
                ServiceClass::BestEffort => parts[3] += unmarked + marked,
            }
        }
        parts
    }

    fn best_effort_loss(&self, link: usize) -> f64 {
        let (mut lost, mut offered) = (0, 0);
        for (flow, ..) in self.flows(|role| role.service == ServiceClass::BestEffort) {
            let class = self.class(link, flow);
            lost += class.dropped.iter().map(|volume| volume.packets).sum::<u64>();
            offered += class.offered.packets;
        }
        if offered == 0 { 0.0 } else { 100.0 * lost as f64 / offered as f64 }
    }

    /// Packets of the conforming flows of a service lost at all nodes: all, and those that were not marked.
    fn lost(&self, service: ServiceClass) -> [f64; 2] {
        let mut lost = [0.0; 2];
        for (flow, ..) in self.flows(|role| role.service == service && !role.rogue) {
            for link in 0..PATHS {
                let class = self.class(link, flow);
                let all: u64 = class.dropped.iter().map(|volume| volume.packets).sum();
                lost[0] += all as f64;
                lost[1] += (all - class.dropped_tagged.packets) as f64;
            }
        }
        lost
    }

    fn offered(&self, service: ServiceClass) -> f64 {
        self.flows(|role| role.service == service && !role.rogue).map(|(.., flow)| flow.offered.packets as f64).sum()
    }

    fn marked(&self) -> f64 {
        let (mut marked, mut sent) = (0, 0);
        for (flow, ..) in self.flows(|role| role.service == ServiceClass::ControlledLoad && !role.rogue) {
            let class = self.class(PATHS - 1, flow);
            marked += class.sent_tagged.packets;
            sent += class.sent.packets;
        }
        100.0 * marked as f64 / sent as f64
    }

    fn rogue_loss(&self) -> f64 {
        let (lost, offered) = self
            .flows(|role| role.rogue)
            .fold((0, 0), |(lost, offered), (.., flow)| (lost + flow.lost().packets, offered + flow.offered.packets));
        100.0 * lost as f64 / offered as f64
    }
}
