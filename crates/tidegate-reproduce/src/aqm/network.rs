//! TCP connections of different round-trip times through one bottleneck, in the simulator.

use super::bottleneck::{Discipline, LONGEST};
use crate::parallel;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::DropReason;
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_sim::source::Cbr;
use tidegate_sim::statistics::Histogram;
use tidegate_sim::tcp::{AfterIdle, CongestionKind, EcnMode, Growth, RecoveryKind, Tcp, TimerKind, TimerSettings};
use tidegate_sim::{Control, Experiment, FlowSpec, Impairment, Link, LinkId, Network, NodeId, Source, run};

/// Bytes of a packet, as the bottleneck counts it.
pub const PACKET: u32 = 1500;
/// Bytes of headers in it.
const HEADERS: u32 = 52;

/// A connection that always has data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sender {
    pub congestion: CongestionKind,
    pub ecn: EcnMode,
    /// The round-trip time in milliseconds while nothing waits.
    pub round_trip: u64,
    /// True if the receiver acknowledges every other segment, false if each at once.
    pub delays_ack: bool,
}

impl Sender {
    /// A sender of today: HyStart++, proportional rate reduction, tail loss probes. Its receiver acknowledges every segment at once, as published
    /// formulas assume.
    pub const fn new(congestion: CongestionKind, round_trip: u64) -> Sender {
        Sender { congestion, ecn: EcnMode::Off, round_trip, delays_ack: false }
    }

    /// The same, whose packets can be marked.
    #[must_use]
    pub const fn marked(self, ecn: EcnMode) -> Sender {
        Sender { ecn, ..self }
    }

    /// Every setting that decides a result is given here, so that other defaults leave the results as they are.
    fn tcp(&self, reverse_path: Vec<LinkId>) -> Tcp {
        Tcp {
            congestion: self.congestion,
            recovery: RecoveryKind::USUAL,
            timer: TimerSettings::default_for(TimerKind::Linux),
            segment: PACKET - HEADERS,
            headers: HEADERS,
            initial_window: 10,
            window: 8 << 20,
            window_scale: true,
            delayed_ack: self.delays_ack.then_some(Duration::from_milliseconds(40)),
            growth: Growth::Rfc5681,
            after_idle: AfterIdle::Linux,
            limited_transmit: true,
            avoid_multiple_fast_retransmits: true,
            halves_pipe: false,
            prr: true,
            hystart: true,
            tail_loss_probe: true,
            dsack: true,
            handshake: true,
            ecn: self.ecn,
            start_within: Duration::from_milliseconds(500),
            ..Tcp::modern(reverse_path)
        }
    }
}

/// A stream of packets at a constant rate, whatever is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// In kbit/s.
    pub rate: u64,
    /// Bytes of a packet.
    pub length: u32,
}

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub discipline: Discipline,
    /// In Mbit/s.
    pub rate: u64,
    pub senders: Vec<Sender>,
    /// Beside the connections; their results follow those of the connections.
    pub streams: Vec<Stream>,
    /// The measured seconds, after 20 s that are left out.
    pub seconds: u64,
    pub seeds: u32,
}

impl Case {
    /// Three runs of a minute.
    pub fn new(discipline: &Discipline, rate: u64, senders: Vec<Sender>) -> Case {
        Case { discipline: discipline.clone(), rate, senders, streams: Vec::new(), seconds: 60, seeds: 3 }
    }

    /// Runs it once per seed.
    pub fn run(&self) -> Results {
        let warm_up = Duration::from_seconds(20);
        let duration = Duration::from_seconds(self.seconds + 20);
        let experiment = Experiment { duration, warm_up, replications: self.seeds, ..Experiment::default() };
        let outcome = run(&self.network(), &experiment, &Control::default()).expect("the network is sound, and conserves what it carries");
        let seconds = (self.seconds * u64::from(self.seeds)) as f64;
        let mut flows = vec![FlowResult::default(); self.senders.len() + self.streams.len()];
        let (mut busy, mut delays, mut congestion, mut full, mut marked) = (0.0, Histogram::default(), 0, 0, 0);
        for replication in &outcome.replications {
            let port = &replication.ports[0];
            busy += port.utilisation / f64::from(self.seeds);
            for class in &port.classes {
                delays.merge(&class.delays);
                marked += class.ce_marked.packets;
            }
            congestion += port.dropped[DropReason::Congestion as usize].packets;
            full += port.dropped.iter().map(|volume| volume.packets).sum::<u64>();
            for (result, flow) in flows.iter_mut().zip(&replication.flows) {
                result.megabits += flow.delivered.bytes as f64 * 8e-6 / seconds;
                result.delays.merge(&flow.delays);
                result.dropped += flow.lost().packets;
            }
        }
        Results { case: self.clone(), utilisation: busy, delays, early: congestion, full: full - congestion, marked, flows }
    }

    fn network(&self) -> Network {
        let (entrance, exit) = (NodeId(0), NodeId(1));
        let mut nodes = vec!["entrance".to_owned(), "exit".to_owned()];
        let link = |name: String, from, to, milliseconds, port| {
            let propagation = Duration::from_milliseconds(milliseconds);
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
        };
        let mut links = vec![link("bottleneck".into(), entrance, exit, 0, self.discipline.port(megabits(self.rate)))];
        let headers = self.discipline.headers(self.senders.len() + self.streams.len());
        let mut flows = Vec::new();
        for (number, header) in headers.into_iter().enumerate() {
            let host = NodeId(nodes.len());
            nodes.push(format!("sender {number}"));
            let (inward, back) = (LinkId(links.len()), LinkId(links.len() + 1));
            let sender = self.senders.get(number);
            // Delays of flows are then those of queues; the way back makes the round trip.
            links.push(link(format!("in {number}"), host, entrance, 0, access()));
            links.push(link(format!("back {number}"), exit, host, sender.map_or(0, |sender| sender.round_trip), access()));
            let source = match sender {
                Some(sender) => Source::Tcp(Box::new(sender.tcp(vec![back]))),
                None => {
                    let Stream { rate, length } = self.streams[number - self.senders.len()];
                    Source::Cbr(Cbr { rate: Rate::new(1000 * rate).expect("a rate of a stream"), length, random_phase: true })
                }
            };
            flows.push(FlowSpec {
                name: format!("sender {number}"),
                source,
                header,
                path: vec![inward, LinkId(0)],
                start: Duration::ZERO,
                stop: None,
                tagging: None,
                shaping: None,
            });
        }
        Network { nodes, links, flows, ..Network::default() }
    }
}

/// The rate of access links in Mbit/s.
const ACCESS: u64 = 10_000;

/// A port without losses: of a link with one sender, or of acknowledgements.
fn access() -> PortSetup {
    let rate = megabits(ACCESS);
    PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).expect("one class"),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).expect("no limits"),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, LONGEST), &[FlowParameters::default()]).expect("no parameters"),
        packet_limit: 20_000,
        longest_frame: LONGEST,
        remarks: Default::default(),
    }
}

fn megabits(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).expect("rates of links")
}

/// What one connection got.
#[derive(Clone, Default, Debug)]
pub struct FlowResult {
    /// Mbit/s of packets.
    pub megabits: f64,
    pub dropped: u64,
    delays: Histogram,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Results {
    pub case: Case,
    /// The part of the time in which the bottleneck was sending.
    pub utilisation: f64,
    delays: Histogram,
    /// Packets that the AQM dropped.
    pub early: u64,
    /// Packets that were dropped otherwise.
    pub full: u64,
    /// Packets that the AQM marked.
    pub marked: u64,
    pub flows: Vec<FlowResult>,
}

impl Results {
    /// The time in the queue, in milliseconds, that a part of the packets did not exceed.
    pub fn delay(&self, part: f64) -> f64 {
        self.waiting(self.delays.quantile(part), PACKET, false)
    }

    /// The mean time in the queue in milliseconds.
    pub fn mean_delay(&self) -> f64 {
        self.waiting(self.delays.mean(), PACKET, false)
    }

    /// The time in the queue of a flow's packets, in milliseconds, that a part of them did not exceed.
    pub fn delay_of(&self, flow: usize, part: f64) -> f64 {
        self.waiting(self.flows[flow].delays.quantile(part), self.length(flow), true)
    }

    /// The mean time in the queue of a flow's packets in milliseconds.
    pub fn mean_delay_of(&self, flow: usize) -> f64 {
        self.waiting(self.flows[flow].delays.mean(), self.length(flow), true)
    }

    /// Bytes of a flow's packets.
    fn length(&self, flow: usize) -> u32 {
        flow.checked_sub(self.case.senders.len()).map_or(PACKET, |stream| self.case.streams[stream].length)
    }

    /// The part of a delay in seconds that is spent in the queue, in milliseconds: without the transmission, and on a path without the access link.
    fn waiting(&self, delay: Option<f64>, length: u32, is_path: bool) -> f64 {
        let on = |rate: u64| f64::from(length) * 8e-3 / rate as f64;
        let rest = on(self.case.rate) + if is_path { on(ACCESS) } else { 0.0 };
        (delay.unwrap_or(0.0) * 1e3 - rest).max(0.0)
    }

    /// Mbit/s of each connection.
    pub fn rates(&self) -> Vec<f64> {
        self.flows.iter().map(|flow| flow.megabits).collect()
    }
}

/// Runs all cases, several at once, and calls `progress` with the part that is done.
pub fn run_all(cases: &[Case], progress: &dyn Fn(f64)) -> Vec<Results> {
    parallel::run_all(cases, Case::run, progress)
}
