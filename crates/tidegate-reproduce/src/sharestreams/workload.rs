//! Streams and their packets, and a run of them on the device and on the engines that have to take the same decisions.

use crate::figure::{Curve, Gate};
use crate::proven::row;
use tidegate_bounds::quantity::NoBound;
use tidegate_core::dwcs::{Choice, Dwcs, Early, Missed, Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::Flow;
use tidegate_report::FlowBound;
use tidegate_rtl_model::{Architecture, Clock, Device, Size};

/// The clock of the paper's runs, in hertz.
pub const CLOCK: u64 = 23_000_000;

/// The streams and packets of a run.
pub struct Workload {
    pub streams: Vec<Stream>,
    /// The decisions of the run; one tick each.
    pub decisions: u64,
    /// The decision before which each stream gets its first packet.
    pub enters: Vec<u64>,
    /// The packets of each stream.
    pub packets: u64,
    /// The packets of a stream per unit of the arrival time.
    pub packets_per_arrival: u64,
}

impl Workload {
    /// Streams that are backlogged from the beginning to the end; their n-th packets arrive at time n.
    pub fn backlogged(streams: Vec<Stream>, decisions: u64) -> Workload {
        Workload { enters: vec![0; streams.len()], streams, decisions, packets: u64::MAX, packets_per_arrival: 1 }
    }
}

/// Streams with these windows and a period of one tick.
pub fn windows<const N: usize>(windows: [(u32, u32); N]) -> Vec<Stream> {
    windows.map(|(tolerated, deadlines)| Stream::windowed(Window::new(tolerated, deadlines), 1)).into()
}

/// The outcome of a run.
pub struct Run {
    /// The stream of every decision, from 0; the number of streams if none had a packet.
    pub winners: Vec<usize>,
    /// For each stream a curve that counts its packets against the decision.
    pub counts: Vec<Curve>,
    /// The decisions in which winner-only routing, compute-ahead blocks and the scan differ.
    pub differing: [f64; 3],
}

impl Run {
    /// Plays the workload on the device and on the engines that have to take the same decisions.
    pub fn new(workload: &Workload, progress: &dyn Fn(f64)) -> Run {
        let streams = &workload.streams;
        let device =
            |architecture| Device::new(architecture, Clock::Decisions, 0, streams).expect("the figure's streams fit into the registers");
        let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
        let winners = play(&mut device(Architecture::base(Size::Four)), workload);
        progress(0.4);
        let differing = |engine: &mut dyn Dwcs, done: f64| {
            let differing = play(engine, workload).iter().zip(&winners).filter(|(other, base)| other != base).count();
            progress(done);
            differing as f64
        };
        let differing = [
            differing(&mut device(Architecture::winner_only(Size::Four)), 0.6),
            differing(&mut device(Architecture::compute_ahead(Size::Four)), 0.8),
            differing(&mut Scan::new(rules, Order::default(), streams).expect("the figure's streams are valid"), 1.0),
        ];
        let mut counts: Vec<Curve> = (0..streams.len()).map(|stream| Curve::new(name(stream))).collect();
        for (decision, &winner) in winners.iter().enumerate() {
            if let Some(curve) = counts.get_mut(winner) {
                curve.push(decision as f64, (curve.x.len() + 1) as f64);
            }
        }
        Run { winners, counts, differing }
    }

    /// The packets of each stream in the decisions from `start` to `end`, without `end`.
    pub fn between(&self, start: u64, end: u64) -> Vec<f64> {
        self.counts.iter().map(|curve| curve.between(start as f64, end as f64)).collect()
    }

    /// For each stream, the part of all decisions before each of the `instants` that it has won.
    pub fn bandwidth(&self, instants: &[u64]) -> Vec<Curve> {
        let bandwidth = |counts: &Curve| {
            let mut curve = Curve::new(counts.name.clone());
            instants.iter().for_each(|&instant| curve.push(instant as f64, counts.before(instant as f64) / instant as f64));
            curve
        };
        self.counts.iter().map(bandwidth).collect()
    }

    /// The number of groups of four decisions that do not begin with `order`.
    pub fn disordered(&self, order: &[usize]) -> f64 {
        self.winners.chunks(4).filter(|four| !four.starts_with(&order[..order.len().min(four.len())])).count() as f64
    }

    pub fn same_winners(&self) -> Gate {
        Gate::exactly("other winners: WR, CA, scan of 64 bits", "decisions", self.differing.to_vec(), &[0.0; 3])
    }
}

/// The [winners](Run::winners) on an engine.
pub fn play(engine: &mut dyn Dwcs, workload: &Workload) -> Vec<usize> {
    let Workload { ref streams, decisions, ref enters, packets, packets_per_arrival } = *workload;
    let mut served = vec![0; streams.len()];
    let decide = |now| {
        let arriving = (0..streams.len()).filter(|&stream| enters[stream] == now);
        arriving.for_each(|stream| engine.activate(now, Flow(stream as u32), 0));
        let Choice::Serve(stream) = engine.select(now) else { return streams.len() };
        let served = &mut served[stream.index()];
        *served += 1;
        engine.served(stream, now + 1, (*served < packets).then_some(*served / packets_per_arrival));
        stream.index()
    };
    (0..decisions).map(decide).collect()
}

/// That nothing is proven of these streams, and why.
pub fn unproven(flow: &str, reason: NoBound) -> FlowBound {
    FlowBound { count: 4, ..row(flow.to_owned(), &Err(reason), None) }
}

/// A note of every run.
pub fn beside() -> String {
    "The winners are those of the device model in its base architecture. Beside it run winner-only routing (WR), compute-ahead register blocks \
     (CA) and the scan of 64 bits."
        .into()
}

/// The paper's name for a stream.
pub fn name(stream: usize) -> String {
    format!("Stream {}", stream + 1)
}
