//! The paper's network: N sources, two switches, N destinations, and one port that all cells share, with any of the three mechanisms.

use tidegate_core::buffer::{BufferParameters, Guarantee, Scaling};
use tidegate_core::classifier::{ClassRules, Classifier, Header, Network as Layer, Prefix, Rule, Transport};
use tidegate_core::packet::Flow;
use tidegate_core::policer::Contract;
use tidegate_core::port::PortSetup;
use tidegate_core::port::Volume;
use tidegate_core::registry::{AnyPolicer, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_sim::Holding;
use tidegate_sim::source::Cbr;
use tidegate_sim::statistics::{ClassStatistics, FlowStatistics, Histogram, LongestDelay, Replication};
use tidegate_sim::tcp::{
    AfterIdle, Application, CongestionKind, EcnMode, Growth, RecoveryKind, Tcp, TimerKind, TimerSettings, TransferSize, Transfers,
};
use tidegate_sim::{Control, Estimate, Experiment, FlowSpec, Impairment, Link, LinkId, Network, NodeId, Source, Tagging, run};

/// Bytes of a cell.
pub const CELL: u32 = 53;
/// Bytes of a segment.
pub const SEGMENT: u32 = 1024;
/// TCP, IP and LLC/SNAP: the headers that AAL5 carries with a segment.
const HEADERS: u32 = 20 + 20 + 8;
/// Cells of a segment.
pub const CELLS: u32 = 23;
/// The rate of a link in Mbit/s of cells.
pub const LINK: f64 = 149.7;
/// The part of it that is TCP's data, in Mbit/s: 125.75.
pub const TCP_SHARE: f64 = LINK * SEGMENT as f64 / (CELL * CELLS) as f64;
/// Seeds per run.
pub const SEEDS: u32 = 8;

/// The targets of the five categories of sources, in Mbit/s of TCP data.
pub const CATEGORIES: [f64; 5] = [2.6, 5.3, 8.0, 10.7, 13.5];

/// What the port does for guarantees: the three columns of Table 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mechanisms {
    /// Per-VC accounting: weighted buffer allocation.
    pub accounting: bool,
    /// The network tags frames beyond the minimum rate.
    pub tagging: bool,
    /// Per-VC queues: self-clocked fair queueing.
    pub queueing: bool,
}

impl Mechanisms {
    /// The eight options in the order of the table.
    pub const ALL: [Mechanisms; 8] = [
        Mechanisms::new(false, false, false),
        Mechanisms::new(true, false, false),
        Mechanisms::new(false, true, false),
        Mechanisms::new(true, true, false),
        Mechanisms::new(false, false, true),
        Mechanisms::new(true, false, true),
        Mechanisms::new(false, true, true),
        Mechanisms::new(true, true, true),
    ];

    pub const fn new(accounting: bool, tagging: bool, queueing: bool) -> Mechanisms {
        Mechanisms { accounting, tagging, queueing }
    }

    /// One letter per mechanism, a dash where it is left out.
    pub fn name(self) -> String {
        [(self.accounting, 'A'), (self.tagging, 'T'), (self.queueing, 'Q')]
            .map(|(used, letter)| if used { letter } else { '-' })
            .iter()
            .collect()
    }

    /// The buffer manager, and its threshold in tenths of the buffer.
    fn buffer(self) -> (BufferKind, u64) {
        match self {
            Mechanisms { accounting: true, .. } => (BufferKind::WeightedBufferAllocation, 5),
            Mechanisms { tagging: true, .. } => (BufferKind::TagSensitive, 9),
            _ => (BufferKind::EarlyPacketDiscard, 9),
        }
    }
}

/// The end systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hosts {
    /// The paper's: SACK TCP with the arithmetic of 4.4BSD, one segment to begin with, every segment acknowledged.
    Paper,
    /// Today's: CUBIC, RFC 6298's timer, ten segments to begin with, delayed acknowledgements.
    Cubic,
}

impl Hosts {
    /// Every setting that decides a result is given here, so that other defaults leave the results as they are.
    fn tcp(self, back: Vec<LinkId>, clock: Clock) -> Tcp {
        let milliseconds = Duration::from_milliseconds;
        let common = Tcp {
            segment: SEGMENT,
            headers: HEADERS,
            window_scale: true,
            recovery: RecoveryKind::Sack,
            avoid_multiple_fast_retransmits: true,
            halves_pipe: false,
            prr: false,
            hystart: false,
            tail_loss_probe: false,
            dsack: false,
            ecn: EcnMode::Off,
            growth: Growth::Rfc5681,
            after_idle: AfterIdle::Rfc5681,
            start_within: milliseconds(clock.start_within),
            ..Tcp::modern(back)
        };
        match self {
            Hosts::Cubic => Tcp {
                congestion: CongestionKind::Cubic,
                timer: TimerSettings {
                    kind: TimerKind::Fine,
                    granularity: milliseconds(1),
                    minimum: milliseconds(200),
                    maximum: milliseconds(60_000),
                    initial: milliseconds(1_000),
                },
                initial_window: 10,
                window: 8 << 20,
                delayed_ack: Some(milliseconds(40)),
                limited_transmit: true,
                handshake: true,
                ..common
            },
            Hosts::Paper => Tcp {
                congestion: CongestionKind::Reno,
                // The least and the first wait are two and twelve ticks, as in 4.4BSD.
                timer: TimerSettings {
                    kind: TimerKind::Coarse,
                    granularity: milliseconds(clock.tick),
                    minimum: milliseconds(2 * clock.tick),
                    maximum: milliseconds(64_000),
                    initial: milliseconds(12 * clock.tick),
                },
                initial_window: 1,
                window: 600_000,
                delayed_ack: None,
                limited_transmit: false,
                handshake: false,
                ..common
            },
        }
    }
}

/// The paper leaves these times of its hosts open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// The interval of TCP's timer ticks, in milliseconds.
    pub tick: u64,
    /// Sources start at random within this many milliseconds.
    pub start_within: u64,
}

/// The values of all figures but the sweeps.
pub const CLOCK: Clock = Clock { tick: 100, start_within: 100 };

/// What a source sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sends {
    /// Endless data over TCP, none of it tagged.
    Endless,
    /// The same, but its host tags frames beyond the minimum rate.
    Tagged,
    /// Frames at twice its target regardless of losses, none of them tagged.
    Regardless,
    /// Web transfers over TCP, each over its own connection: Pareto with a mean of 30 kB and an exponent of 1.3, 100 ms apart on average.
    Short,
}

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The target of each source's TCP, in Mbit/s.
    pub targets: Vec<f64>,
    /// The buffer of the port, in cells (K).
    pub cells: u32,
    /// One of the eight options; `None` for selective drop with equal shares.
    pub mechanisms: Option<Mechanisms>,
    /// The threshold R in percent of the buffer; `None` for the mechanism's own.
    pub threshold: Option<u64>,
    /// Z in percent.
    pub scaling: u32,
    pub hosts: Hosts,
    pub clock: Clock,
    /// What each source sends.
    pub sends: Vec<Sends>,
    /// The round-trip time of each source without queueing, in milliseconds; 30 in the paper.
    pub round_trips: Vec<f64>,
    /// The length of the run in seconds.
    pub seconds: u64,
    pub seeds: u32,
}

impl Case {
    /// Equal shares by selective drop.
    pub fn equal(sources: usize, cells: u32) -> Case {
        Case::of(vec![TCP_SHARE / sources as f64; sources], cells, None)
    }

    /// Three sources in each of the five categories.
    pub fn unequal(mechanisms: Mechanisms, cells: u32) -> Case {
        Case::of(CATEGORIES.iter().flat_map(|&target| [target; 3]).collect(), cells, Some(mechanisms))
    }

    fn of(targets: Vec<f64>, cells: u32, mechanisms: Option<Mechanisms>) -> Case {
        let (round_trips, sends) = (vec![30.0; targets.len()], vec![Sends::Endless; targets.len()]);
        let (hosts, clock) = (Hosts::Paper, CLOCK);
        Case { targets, cells, mechanisms, threshold: None, scaling: 80, hosts, clock, sends, round_trips, seconds: 20, seeds: SEEDS }
    }

    /// Runs it once per seed.
    pub fn run(&self) -> Results {
        let network = self.network();
        let experiment = Experiment { duration: Duration::from_seconds(self.seconds), replications: self.seeds, ..Experiment::default() };
        let outcome = run(&network, &experiment, &Control::default()).expect("the network is sound, and conserves what it carries");
        let rate = |delivered: f64| delivered * 8.0 / self.seconds as f64 / 1e6;
        let data = |frames: Volume| rate(frames.packets as f64 * f64::from(SEGMENT));
        let rates =
            |of: &dyn Fn(&FlowStatistics) -> f64| outcome.replications.iter().map(|run| run.flows.iter().map(of).collect()).collect();
        let completion = |run: &Replication| {
            let transfers = run.flows.iter().filter_map(|flow| flow.tcp.as_ref()).map(|tcp| &tcp.completions);
            let mut all = Histogram::default();
            transfers.for_each(|completions| all.merge(completions));
            all.mean().map_or(f64::NAN, |seconds| seconds * 1e3)
        };
        Results {
            case: self.clone(),
            longest: outcome.replications.iter().map(|run| run.flows.iter().map(|flow| flow.longest).collect()).collect(),
            targets: self.targets.clone(),
            rates: rates(&|flow| flow.tcp.as_ref().map_or(data(flow.delivered), |tcp| rate(tcp.delivered as f64))),
            untagged: rates(&|flow| data(flow.delivered_untagged())),
            untagged_offered: rates(&|flow| data(flow.offered_untagged())),
            completions: outcome.replications.iter().map(completion).collect(),
            cells: outcome.replications.iter().map(|run| run.ports[0].classes.iter().map(Cells::of).collect()).collect(),
            seconds: self.seconds as f64,
        }
    }

    fn source(&self, source: usize, back: Vec<LinkId>) -> Source {
        let tcp = self.hosts.tcp(back, self.clock);
        let tcp = match self.sends[source] {
            Sends::Endless | Sends::Tagged => tcp,
            Sends::Regardless => {
                return Source::Cbr(Cbr { rate: mbps(2.0 * self.frame_rate(source)), length: SEGMENT + HEADERS, random_phase: true });
            }
            Sends::Short => Tcp {
                application: Application::Transfers(Transfers {
                    size: TransferSize::Pareto { mean: 30_000.0, shape: 1.3 },
                    count: None,
                    think: Some(Holding::Exponential { mean: Duration::from_milliseconds(100) }),
                    request: None,
                    reconnects: true,
                }),
                ..tcp
            },
        };
        Source::Tcp(Box::new(tcp))
    }

    /// The frames that a tagging source leaves untagged. The network's policer counts cells; the tolerance is the same.
    fn untagged(&self, source: usize) -> Tagging {
        let frame = CELLS * CELL;
        let contract = Contract {
            peak_rate: Some(mbps(LINK)),
            maximum_frame: Some(frame),
            // The network's MBS of two frames excludes the first cell; here the burst excludes the first frame.
            burst: Some(frame + (2 * CELLS - 1) * CELL),
            ..Contract::new(self.cell_rate(source), frame)
        };
        Tagging { policer: PolicerKind::Gfr, contract }
    }

    /// A source's target, with the headers of its frames.
    fn frame_rate(&self, source: usize) -> f64 {
        self.targets[source] * f64::from(SEGMENT + HEADERS) / f64::from(SEGMENT)
    }

    fn network(&self) -> Network {
        let (first, second) = (NodeId(0), NodeId(1));
        let mut nodes = vec!["switch 1".to_owned(), "switch 2".to_owned()];
        let link = |name: String, from, to, milliseconds: f64, port: PortSetup, cells| {
            let propagation = Duration::from_picoseconds((milliseconds * 1e9) as u64);
            Link {
                name,
                from,
                to,
                propagation,
                port,
                impairment: Impairment::default(),
                cells,
                adapter: None,
                admission: None,
                workers: None,
            }
        };
        let mut links = vec![
            link("bottleneck".into(), first, second, 0.0, self.bottleneck(), true),
            link("back".into(), second, first, 0.0, access(), false),
        ];
        let mut flows = Vec::new();
        for (source, &round_trip) in self.round_trips.iter().enumerate() {
            let (sender, receiver) = (NodeId(nodes.len()), NodeId(nodes.len() + 1));
            nodes.extend([format!("source {source}"), format!("destination {source}")]);
            let begin = links.len();
            // In the paper each of six links has a sixth of the delay. Here the shared links have none, so that round-trip times can differ.
            let quarter = round_trip / 4.0;
            links.push(link(format!("in {source}"), sender, first, quarter, access(), false));
            links.push(link(format!("out {source}"), second, receiver, quarter, access(), false));
            links.push(link(format!("from {source}"), receiver, second, quarter, access(), false));
            links.push(link(format!("to {source}"), first, sender, quarter, access(), false));
            let transport = Transport { dscp: 0, protocol: 6, fragment: false, ports: Some((1, 2)), ..Transport::default() };
            let network = Layer::V4 { source: address(source), destination: 1, transport };
            flows.push(FlowSpec {
                name: format!("source {source}"),
                source: self.source(source, vec![LinkId(begin + 2), LinkId(1), LinkId(begin + 3)]),
                header: Header { network, ethernet_type: 0x800, ..Header::default() },
                path: vec![LinkId(begin), LinkId(0), LinkId(begin + 1)],
                start: Duration::ZERO,
                stop: None,
                tagging: (self.sends[source] == Sends::Tagged).then(|| self.untagged(source)),
                shaping: None,
            });
        }
        Network { nodes, links, flows, ..Network::default() }
    }

    /// The minimum cell rate of a source: its TCP's target and what headers, padding and cells add to it.
    pub fn cell_rate(&self, source: usize) -> Rate {
        mbps(self.targets[source] * f64::from(CELL * CELLS) / f64::from(SEGMENT))
    }

    /// The port at which cells contend, with a class for each source.
    pub fn bottleneck(&self) -> PortSetup {
        let sources = self.targets.len();
        let class = |source: usize| {
            let rule = Rule { source: Some(Prefix::V4 { address: address(source), length: 32 }), ..Rule::default() };
            let is_last = source + 1 == sources;
            ClassRules { name: format!("source {source}"), queues: 1, rules: if is_last { vec![] } else { vec![rule] } }
        };
        let (kind, tenths) = self.mechanisms.map_or((BufferKind::SelectiveDrop, 9), Mechanisms::buffer);
        let takes_scaling = matches!(kind, BufferKind::SelectiveDrop | BufferKind::WeightedBufferAllocation);
        let guarantee = |source: usize| Guarantee { first_flow: Flow(source as u32), flows: 1, rate: self.cell_rate(source) };
        let is_weighted = kind == BufferKind::WeightedBufferAllocation;
        let buffer = BufferParameters {
            flows: sources,
            packets: Some(self.cells),
            threshold: Some(u64::from(self.cells) * self.threshold.unwrap_or(10 * tenths) / 100),
            scaling: takes_scaling.then(|| Scaling::new(self.scaling, 100).expect("Z is at most 1")),
            guarantees: if is_weighted { (0..sources).map(guarantee).collect() } else { vec![] },
            capacity: Some(mbps(LINK)),
            ..BufferParameters::default()
        };
        let policer = |source: usize| {
            let contract =
                Contract { peak_rate: Some(mbps(LINK)), maximum_frame: Some(CELLS * CELL), ..Contract::new(self.cell_rate(source), CELL) };
            PolicerKind::Gfr.build(&contract).expect("the minimum rate is below the peak rate")
        };
        let tags = self.mechanisms.is_some_and(|mechanisms| mechanisms.tagging);
        let policers: Vec<Option<AnyPolicer>> = (0..sources).map(|source| tags.then(|| policer(source))).collect();
        let queues = self.mechanisms.is_some_and(|mechanisms| mechanisms.queueing);
        let share = |source: usize| FlowParameters { rate: queues.then(|| self.cell_rate(source)), ..FlowParameters::default() };
        let scheduler = if queues { SchedulerKind::SelfClocked } else { SchedulerKind::Fifo };
        let shares: Vec<FlowParameters> = (0..sources).map(share).collect();
        PortSetup {
            rate: mbps(LINK),
            overhead: Overhead::None,
            classifier: Classifier::new((0..sources).map(class).collect(), 1).expect("one rule per source"),
            policers,
            aqms: Vec::new(),
            seed: 0,
            buffer: kind.build(&buffer).expect("thresholds within the buffer"),
            scheduler: scheduler.build(&Setup::new(mbps(LINK), CELL), &shares).expect("rates within the link"),
            packet_limit: self.cells,
            longest_frame: CELL,
            remarks: Default::default(),
        }
    }
}

/// A port without losses: of a link with one source, or of the path of acknowledgements.
fn access() -> PortSetup {
    let classifier = Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).expect("one class");
    let longest_frame = SEGMENT + HEADERS;
    PortSetup {
        rate: mbps(LINK),
        overhead: Overhead::Aal5,
        classifier,
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).expect("no limits"),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(mbps(LINK), CELL * CELLS), &[FlowParameters::default()]).expect("no parameters"),
        packet_limit: 20_000,
        longest_frame,
        remarks: Default::default(),
    }
}

fn address(source: usize) -> u32 {
    0x0A00_0000 + source as u32
}

/// A rate in Mbit/s.
pub fn mbps(rate: f64) -> Rate {
    Rate::new((rate * 1e6) as u64).expect("rates of this experiment are those of links")
}

/// What the sources got, by seed.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was run.
    pub case: Case,
    /// By seed and source, the packet with the largest delay.
    pub longest: Vec<Vec<Option<LongestDelay>>>,
    targets: Vec<f64>,
    /// By seed and source, in Mbit/s of data delivered in order.
    rates: Vec<Vec<f64>>,
    /// The same in frames that the sender did not tag, duplicates included.
    untagged: Vec<Vec<f64>>,
    /// The same as they were sent.
    untagged_offered: Vec<Vec<f64>>,
    /// By seed, the mean time of a completed transfer, in milliseconds.
    completions: Vec<f64>,
    /// By seed and source, the cells at the port.
    cells: Vec<Vec<Cells>>,
    seconds: f64,
}

/// The cells of one source at the port in one run.
#[derive(Clone, Copy, Debug)]
struct Cells {
    offered: f64,
    /// In frames that the port's policer tagged, with their last cells, which it leaves untagged.
    tagged: f64,
    lost: f64,
    lost_tagged: f64,
}

impl Cells {
    fn of(class: &ClassStatistics) -> Cells {
        let lost: u64 = class.dropped.iter().map(|volume| volume.packets).sum();
        let whole = f64::from(CELLS) / f64::from(CELLS - 1);
        Cells {
            offered: class.offered.packets as f64,
            tagged: class.marked.packets as f64 * whole,
            lost: lost as f64,
            lost_tagged: class.dropped_tagged.packets as f64,
        }
    }
}

impl Results {
    fn estimate(values: Vec<f64>) -> Estimate {
        Estimate::of(&values).unwrap_or(Estimate { mean: f64::NAN, half_width: None })
    }

    /// The results of some of the sources.
    pub fn of(&self, part: impl Fn(usize) -> bool) -> Results {
        let pick = |values: &Vec<f64>| values.iter().enumerate().filter(|&(source, _)| part(source)).map(|(_, &value)| value).collect();
        Results {
            case: self.case.clone(),
            longest: self.longest.clone(),
            targets: pick(&self.targets),
            rates: self.rates.iter().map(pick).collect(),
            untagged: self.untagged.iter().map(pick).collect(),
            untagged_offered: self.untagged_offered.iter().map(pick).collect(),
            completions: self.completions.clone(),
            cells: self
                .cells
                .iter()
                .map(|cells| cells.iter().enumerate().filter(|&(source, _)| part(source)).map(|(_, &cells)| cells).collect())
                .collect(),
            seconds: self.seconds,
        }
    }

    /// By category, the part of the cells that arrived in frames that the policer tagged.
    pub fn tagged(&self) -> Vec<f64> {
        self.by_category(|_, cells| cells.tagged / cells.offered)
    }

    /// By category, the least part of the arrivals that F-GCRA can have tagged: untagged frames hold at most `(t + BT/2) * MCR` cells and the frame
    /// that begins last. A source that always has a frame when the bucket has room attains it.
    pub fn least_tagged(&self) -> Vec<f64> {
        let cell = f64::from(CELL) * 8.0;
        let untagged = |target: f64| {
            let rate = target * 1e6 * f64::from(CELLS) / f64::from(SEGMENT) / 8.0;
            let burst_tolerance = f64::from(2 * CELLS - 1) * (1.0 / rate - cell / (LINK * 1e6));
            (self.seconds + burst_tolerance / 2.0) * rate + f64::from(CELLS)
        };
        self.by_category(|target, cells| (1.0 - untagged(target) / cells.offered).max(0.0))
    }

    /// Of the tagged and of the untagged cells that arrived in all runs, the part that was lost, in percent.
    pub fn lost_percent(&self) -> [f64; 2] {
        let sum = |of: fn(&Cells) -> f64| self.cells.iter().flatten().map(of).sum::<f64>();
        let tagged = sum(|cells| cells.lost_tagged) / sum(|cells| cells.tagged);
        let untagged = sum(|cells| cells.lost - cells.lost_tagged) / sum(|cells| cells.offered - cells.tagged);
        [tagged, untagged].map(|part| 100.0 * part)
    }

    /// The largest deviation of a source from the mean of its run, relative to that mean; over the seeds.
    pub fn farthest(&self) -> Estimate {
        let farthest = |rates: &Vec<f64>| rates.iter().map(|rate| (rate / mean(rates) - 1.0).abs()).fold(0.0, f64::max);
        Results::estimate(self.rates.iter().map(farthest).collect())
    }

    /// A mean over the seeds and the sources of each of five equal groups.
    fn by_category(&self, of: impl Fn(f64, &Cells) -> f64) -> Vec<f64> {
        let size = self.targets.len() / 5;
        let category = |group: usize| {
            let sources = group * size..(group + 1) * size;
            let values: Vec<f64> =
                self.cells.iter().flat_map(|cells| sources.clone().map(|source| of(self.targets[source], &cells[source]))).collect();
            mean(&values)
        };
        (0..5).map(category).collect()
    }

    /// The results in frames that senders did not tag.
    pub fn untagged(&self) -> Results {
        Results { rates: self.untagged.clone(), ..self.clone() }
    }

    /// Of the frames that senders did not tag, the part that was delivered, in percent.
    pub fn untagged_percent(&self) -> Estimate {
        let percent = |(arrived, sent): (&Vec<f64>, &Vec<f64>)| 100.0 * arrived.iter().sum::<f64>() / sent.iter().sum::<f64>();
        Results::estimate(self.untagged.iter().zip(&self.untagged_offered).map(percent).collect())
    }

    /// The mean time of a transfer, in milliseconds.
    pub fn completion(&self) -> Estimate {
        Results::estimate(self.completions.clone())
    }

    /// All sources together, in Mbit/s.
    pub fn total(&self) -> Estimate {
        Results::estimate(self.rates.iter().map(|rates| rates.iter().sum()).collect())
    }

    /// The mean of the sources' rates divided by `unit`.
    pub fn mean(&self, unit: f64) -> Estimate {
        Results::estimate(self.rates.iter().map(|rates| mean(rates) / unit).collect())
    }

    /// The standard deviation of the sources' rates divided by `unit`.
    pub fn deviation(&self, unit: f64) -> Estimate {
        let deviation = |rates: &Vec<f64>| {
            let squares: Vec<f64> = rates.iter().map(|rate| (rate - mean(rates)).powi(2)).collect();
            mean(&squares).sqrt() / unit
        };
        Results::estimate(self.rates.iter().map(deviation).collect())
    }

    /// Jain's index of the sources' efficiencies: 1 if all get the same part of their target.
    pub fn fairness(&self) -> Estimate {
        let jain = |rates: &Vec<f64>| {
            let parts: Vec<f64> = rates.iter().zip(&self.targets).map(|(rate, target)| rate / target).collect();
            let squares: Vec<f64> = parts.iter().map(|part| part * part).collect();
            mean(&parts).powi(2) / mean(&squares)
        };
        Results::estimate(self.rates.iter().map(jain).collect())
    }

    /// For each of five equal groups of sources the mean of what they got divided by what they were to get.
    pub fn categories(&self) -> Vec<Estimate> {
        let size = self.targets.len() / 5;
        let category = |group: usize| {
            let part = |rates: &Vec<f64>| {
                let parts = (group * size..(group + 1) * size).map(|source| rates[source] / self.targets[source]);
                parts.sum::<f64>() / size as f64
            };
            Results::estimate(self.rates.iter().map(part).collect())
        };
        (0..5).map(category).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
