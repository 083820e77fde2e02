//! The parking lot of Figure 6: five switches in a row, and four paths that all leave at the last.
//!
//! Path `Gk` enters at switch `k` and leaves at switch 5 to a host link of its own. Each path has one guaranteed flow, some of controlled load and
//! some TCP connections. Links have 10 Mbit/s, packets 1 kbit.

use super::node::{Member, Options, Tolerance, node};
use super::packets::{PACKET, header, mbps};
use tidegate_core::admission::{LinkSettings, Service, Target, TrafficSpec};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, ServiceClass, Setup};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::source::{Cbr, OnOff};
use tidegate_sim::tcp::{AfterIdle, Application, CongestionKind, EcnMode, Growth, RecoveryKind, Tcp, TimerKind, TimerSettings};
use tidegate_sim::{
    Arrivals, Calls, Control, Experiment, FlowSpec, Holding, Impairment, Link, LinkId, Network, NodeId, Outcome, Remainder, Source, run,
};

/// The switches but the last, that is the paths and the links between switches.
pub const PATHS: usize = 4;
/// The time of one kilometre of cable.
const PROPAGATION: Duration = Duration::from_picoseconds(5_000_000);
/// The time that a switch takes.
const PROCESSING: Duration = Duration::from_picoseconds(4_000_000);
/// The rate of a guaranteed flow in Mbit/s, which it reserves.
pub const GUARANTEED: f64 = 1.5;
/// Bytes of TCP's headers; the rest of a packet is data.
pub const HEADERS: u32 = 40;

/// What each path offers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Controlled-load flows of each path, and their peak rate in Mbit/s.
    pub controlled: usize,
    pub peak: f64,
    /// TCP connections of each path, and the rate of their hosts in Mbit/s.
    pub connections: usize,
    pub host_rate: f64,
    /// The controlled-load flow of the last path declares 1.5 Mbit/s and sends 10 Mbit/s in its on periods.
    pub non_conforming: bool,
    /// A flood of 8 Mbit/s in the guaranteed partition of the last path, reserved at 0.1 Mbit/s: marked or not.
    pub flood: Option<bool>,
}

impl Load {
    /// Table 3, light load.
    pub const LIGHT: Load = Load { controlled: 1, peak: 1.5, connections: 1, host_rate: 1.0, non_conforming: false, flood: None };
    /// Table 3, heavy load: 12 Mbit/s for a link of 10.
    pub const HEAVY: Load = Load { controlled: 2, connections: 2, host_rate: 10.0, ..Load::LIGHT };
    /// The heavy load that is feasible: one controlled-load flow per path.
    pub const H1: Load = Load { controlled: 1, ..Load::HEAVY };
    /// The load that the paper's own figures imply.
    pub const H2: Load = Load { peak: 0.83, ..Load::HEAVY };
    /// The first feasible heavy load with the flow that does not conform.
    pub const H1_NC: Load = Load { non_conforming: true, ..Load::H1 };
    /// The second.
    pub const H2_NC: Load = Load { non_conforming: true, ..Load::H2 };
}

/// How flows come and go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Table 3: all flows are permanent, and nothing is refused.
    Static,
    /// Flows of controlled load ask until they are admitted, and stay.
    Admitted,
    /// Guaranteed flows are permanent; each of controlled load idles 50 s, asks, and holds 100 s.
    Mixed,
    /// So do all flows.
    Slots,
    /// Each entry of Table 3 is a Poisson process of requests, 50 s apart, that hold 100 s.
    Dynamic,
    /// One link with two permanent guaranteed flows and four Poisson processes of controlled load, this many milliseconds apart, that hold 40 s (E10).
    OneLink(u64),
}

impl Mode {
    /// The flows that one entry of Table 3 may have at once.
    fn places(self, service: ServiceClass) -> usize {
        match (self, service) {
            (Mode::Dynamic, ServiceClass::Guaranteed) => 8,
            (Mode::Dynamic, ServiceClass::ControlledLoad) => 12,
            (Mode::OneLink(_), ServiceClass::ControlledLoad) => 24,
            _ => 1,
        }
    }

    /// True if flows of this service ask to be admitted.
    pub fn asks(self, service: ServiceClass) -> bool {
        self.arrivals(service) != Arrivals::Permanent
    }

    fn arrivals(self, service: ServiceClass) -> Arrivals {
        let seconds = Duration::from_seconds;
        match (self, service) {
            (Mode::Dynamic, _) => Arrivals::Poisson(seconds(50)),
            (Mode::OneLink(interval), ServiceClass::ControlledLoad) => Arrivals::Poisson(Duration::from_milliseconds(interval)),
            (Mode::Admitted, ServiceClass::ControlledLoad) => Arrivals::AfterLast(Duration::from_milliseconds(500)),
            (Mode::Mixed, ServiceClass::ControlledLoad) | (Mode::Slots, _) => Arrivals::AfterLast(seconds(50)),
            _ => Arrivals::Permanent,
        }
    }
}

/// A run with several seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub load: Load,
    pub mode: Mode,
    pub node: Options,
    /// A constant delay of the end systems, in microseconds.
    pub end_system: u64,
    /// TCP's timeout is fixed at one tick of 500 ms.
    pub fixed_timeout: bool,
    pub seconds: u64,
    pub warm_up: u64,
    pub seeds: u32,
}

/// The kind of a flow in the lot, and its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    pub service: ServiceClass,
    pub path: usize,
    /// The entry of Table 3 that it belongs to.
    pub entry: usize,
    /// It breaks its contract.
    pub rogue: bool,
}

/// The flows of a load, in the order of the network and of every node's members.
pub fn roles(load: &Load, mode: Mode) -> Vec<Role> {
    let (mut roles, mut entry) = (Vec::new(), 0);
    let services =
        [(1, ServiceClass::Guaranteed), (load.controlled, ServiceClass::ControlledLoad), (load.connections, ServiceClass::BestEffort)];
    for (count, service) in services {
        let is_one_link = matches!(mode, Mode::OneLink(_));
        let first = if is_one_link { PATHS - 1 } else { 0 };
        let count = match service {
            ServiceClass::Guaranteed if is_one_link => 2,
            ServiceClass::ControlledLoad if is_one_link => 4,
            _ => count,
        };
        for (path, number) in (first..PATHS).flat_map(|path| (0..count).map(move |number| (path, number))) {
            let rogue = load.non_conforming && service == ServiceClass::ControlledLoad && path + 1 == PATHS && number == 0;
            roles.extend(vec![Role { service, path, entry, rogue }; mode.places(service)]);
            entry += 1;
        }
    }
    roles.extend(load.flood.map(|_| Role { service: ServiceClass::Guaranteed, path: PATHS - 1, entry, rogue: true }));
    roles
}

impl Case {
    /// 300 s with a warm-up of 50 s and eight seeds.
    pub fn new(load: Load, node: Options) -> Case {
        Case { load, mode: Mode::Static, node, end_system: 0, fixed_timeout: false, seconds: 300, warm_up: 50, seeds: 8 }
    }

    pub fn run(&self) -> Outcome {
        let experiment = Experiment {
            duration: Duration::from_seconds(self.seconds),
            warm_up: Duration::from_seconds(self.warm_up),
            replications: self.seeds,
            ..Experiment::default()
        };
        run(&self.network(), &experiment, &Control::default()).expect("the network is sound, and conserves what it carries")
    }

    /// What the node behind a switch knows of each flow; `None` for a flow that does not pass.
    pub fn members(&self, roles: &[Role], switch: usize) -> Vec<Option<Member>> {
        roles.iter().map(|role| (role.path <= switch).then(|| self.member(role, switch))).collect()
    }

    /// The network of the case.
    pub fn network(&self) -> Network {
        let mut network = Network { nodes: (1..=PATHS + 1).map(|number| format!("switch {number}")).collect(), ..Network::default() };
        let roles = roles(&self.load, self.mode);
        for switch in 0..PATHS {
            let (port, delay) = (node(&self.members(&roles, switch), &self.node), PROPAGATION + PROCESSING);
            network.links.push(link(format!("link {}{}", switch + 1, switch + 2), NodeId(switch), NodeId(switch + 1), delay, port));
        }
        for (index, role) in roles.iter().enumerate() {
            self.connect(&mut network, index, role);
        }
        if self.mode != Mode::Static {
            self.add_calls(&mut network, &roles);
        }
        network
    }

    /// Lets flows come and go, one kind of calls for each entry of Table 3.
    fn add_calls(&self, network: &mut Network, roles: &[Role]) {
        network.links[..PATHS].iter_mut().for_each(|link| link.admission = Some(LinkSettings::new(mbps(10.0), 1000, 500_000)));
        let entries = roles.iter().map(|role| role.entry + 1).max().unwrap_or(0);
        for entry in 0..entries {
            let flows: Vec<usize> = (0..roles.len()).filter(|&flow| roles[flow].entry == entry).collect();
            let service = roles[flows[0]].service;
            let (burst, rate, target, asks) = match service {
                ServiceClass::Guaranteed => (15_000, GUARANTEED, Some(Target::Rate(1_500_000)), Service::Guaranteed),
                ServiceClass::ControlledLoad => (20_000, 1.0, None, Service::ControlledLoad),
                ServiceClass::BestEffort => continue,
            };
            network.calls.push(Calls {
                name: format!("entry {entry}"),
                flows,
                arrivals: self.mode.arrivals(service),
                hold: match self.mode {
                    Mode::Admitted => Duration::from_seconds(1_000_000),
                    Mode::OneLink(_) => Duration::from_seconds(40),
                    _ => Duration::from_seconds(100),
                },
                traffic: TrafficSpec::new(1000, burst, mbps(rate), mbps(1.5)).expect("the bucket holds a packet"),
                target,
                service: asks,
                enforces_reserve: self.node.enforces_reserve,
                brokered: None,
                tolerance: match self.node.tolerance {
                    Tolerance::Constant(microseconds) => Some(Duration::from_picoseconds(microseconds * 1_000_000)),
                    Tolerance::Jitter => None,
                },
            });
        }
    }

    /// What a node on the path of a flow knows of it.
    fn member(&self, role: &Role, switch: usize) -> Member {
        let upstream = (switch - role.path) as u64;
        if self.mode != Mode::Static && role.service != ServiceClass::BestEffort {
            // The place is vacant until a call is set up.
            return Member { service: role.service, rate: 0.001, burst: 20, upstream };
        }
        match role.service {
            ServiceClass::Guaranteed if role.rogue => Member::guaranteed(0.1, 1, upstream),
            ServiceClass::Guaranteed => Member::guaranteed(GUARANTEED, 15, upstream),
            ServiceClass::ControlledLoad => {
                // What adaptive rate allocation gives: controlled-load flows of equal rates share what guaranteed flows leave.
                let here = (switch + 1) as f64;
                let flood = if self.load.flood.is_some() && switch + 1 == PATHS { 0.1 } else { 0.0 };
                let left = (10.0 - GUARANTEED * here - flood) / (here * self.load.controlled as f64);
                // Whole bits per second, rounded down, so that the sum is not above the link's rate.
                let left = (left * 1e6 + 1e-3).floor() / 1e6;
                Member::controlled(left.min(1.5), upstream)
            }
            ServiceClass::BestEffort => Member::best_effort(),
        }
    }

    /// Adds a flow with the links of its two hosts.
    fn connect(&self, network: &mut Network, index: usize, role: &Role) {
        let (sender, receiver) = (NodeId(network.nodes.len()), NodeId(network.nodes.len() + 1));
        network.nodes.extend([format!("sender {index}"), format!("receiver {index}")]);
        let (entry, exit) = (NodeId(role.path), NodeId(PATHS));
        let end_system = Duration::from_picoseconds(self.end_system * 1_000_000);
        let is_tcp = role.service == ServiceClass::BestEffort;
        let begin = network.links.len();
        let rate = if is_tcp { self.load.host_rate } else { 10.0 };
        let is_shaped = role.service == ServiceClass::ControlledLoad && !role.rogue;
        network.links.push(link(format!("in {index}"), sender, entry, PROPAGATION + PROCESSING + end_system, plain(rate)));
        network.links.push(link(format!("out {index}"), exit, receiver, PROPAGATION, plain(10.0)));
        let mut path = vec![LinkId(begin)];
        path.extend((role.path..PATHS).map(LinkId));
        path.push(LinkId(begin + 1));
        let on_off = |peak: f64| OnOff {
            peak: mbps(peak),
            length: PACKET,
            on: Holding::Exponential { mean: Duration::from_milliseconds(2) },
            off: Holding::Exponential { mean: Duration::from_milliseconds(2) },
            remainder: Remainder::Carried,
        };
        let source = match role.service {
            ServiceClass::Guaranteed if role.rogue => Source::Cbr(Cbr { rate: mbps(8.0), length: PACKET, random_phase: true }),
            ServiceClass::Guaranteed => Source::Cbr(Cbr { rate: mbps(GUARANTEED), length: PACKET, random_phase: true }),
            ServiceClass::ControlledLoad => Source::OnOff(on_off(if role.rogue { 10.0 } else { self.load.peak })),
            ServiceClass::BestEffort => {
                // Acknowledgements pass as many switches and wait nowhere.
                let hops = (PATHS - role.path + 1) as u64;
                let back = Duration::from_picoseconds(500_000_000 + hops * 41_000_000);
                network.links.push(link(format!("back {index}"), receiver, sender, back, plain(10_000.0)));
                Source::Tcp(Box::new(self.tcp(LinkId(begin + 2))))
            }
        };
        let marked = role.rogue && self.load.flood == Some(true);
        let header = header(index, role.service, marked);
        let (start, stop, tagging) = (Duration::ZERO, None, None);
        // 20 packets at 1000 packets per second.
        let shaping = is_shaped.then(|| ShapingContract::new(mbps(1.0), 20 * PACKET, PACKET));
        network.flows.push(FlowSpec { name: format!("flow {index}"), source, header, path, start, stop, tagging, shaping });
    }

    fn tcp(&self, back: LinkId) -> Tcp {
        let tick = Duration::from_milliseconds(500);
        let limits = if self.fixed_timeout { (tick, tick) } else { (tick + tick, Duration::from_seconds(64)) };
        Tcp {
            congestion: CongestionKind::Reno,
            recovery: RecoveryKind::Reno,
            timer: TimerSettings { kind: TimerKind::Coarse, granularity: tick, minimum: limits.0, maximum: limits.1, initial: tick },
            segment: PACKET - HEADERS,
            headers: HEADERS,
            initial_window: 1,
            window: 524 * u64::from(PACKET - HEADERS),
            window_scale: true,
            delayed_ack: None,
            growth: Growth::Rfc5681,
            after_idle: AfterIdle::Rfc5681,
            limited_transmit: false,
            avoid_multiple_fast_retransmits: true,
            halves_pipe: false,
            prr: false,
            hystart: false,
            tail_loss_probe: false,
            dsack: false,
            handshake: false,
            ecn: EcnMode::Off,
            start_within: Duration::from_seconds(1),
            // 300 us, 10 us to either side.
            processing: Duration::from_picoseconds(290_000_000),
            jitter: Duration::from_picoseconds(20_000_000),
            application: Application::Endless,
            ..Tcp::modern(vec![back])
        }
    }
}

pub(super) fn link(name: String, from: NodeId, to: NodeId, propagation: Duration, port: PortSetup) -> Link {
    Link {
        name,
        from,
        to,
        propagation,
        port,
        impairment: Impairment::default(),
        cells: false,
        adapter: None,
        admission: None,
        workers: None,
    }
}

/// A port without losses.
fn plain(rate: f64) -> PortSetup {
    let rate = mbps(rate);
    let class = ClassRules { name: "all".into(), queues: 1, rules: vec![] };
    PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![class], 1).expect("one class"),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).expect("no limits"),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, PACKET), &[FlowParameters::default()]).expect("no parameters"),
        packet_limit: 10_000,
        longest_frame: PACKET,
        remarks: Default::default(),
    }
}
