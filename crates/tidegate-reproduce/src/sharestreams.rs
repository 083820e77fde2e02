//! Krishnamurthy, Yalamanchili, Schwan and West: ShareStreams, packet schedulers in hardware.
//!
//! Every run is made on the model of the device in its base architecture. The other two architectures and the scan of 64 bits run beside it
//! and have to decide the same. Counts of packets are exact; bytes and times depend on parameters that the paper does not print, which
//! stand in the notes.
//!
//! | module | holds |
//! |---|---|
//! | `host` | the end system of section 5.2, from the producers to the playout |
//! | `end_system` | Figures 12 and 13: its bandwidth and its queueing delay |
//! | `line_card` | Figures 14 to 16 and the run with deadlines: streams that are always backlogged |
//! | `packet_times` | sections 4 and 5: cycles, clocks and packet times |
//! | `rules` | Table 1: the order of two streams |
//! | `sorted_list` | section 4: the order that the network delivers |
//! | `cadence` | section 4: several packets per decision, and relaxed updates |

use crate::figure::{Curve, Gate};
use crate::{Experiment, Plan};
use tidegate_core::dwcs::{Choice, Dwcs, Early, Missed, Order, Rules, Scan, Stream, Window};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::{Architecture, Clock, Device, Size};

mod cadence;
mod end_system;
mod host;
mod line_card;
mod packet_times;
mod rules;
mod sorted_list;

/// The paper and its figures.
pub const EXPERIMENT: Experiment = Experiment {
    id: "sharestreams",
    title: "Packet schedulers in hardware",
    source: "R. Krishnamurthy, S. Yalamanchili, K. Schwan and R. West, ShareStreams: A Scalable Architecture and Hardware Support for \
             High-Speed QoS Packet Schedulers",
    figures: &[
        Plan { id: "figure-12", effort: 60, run: end_system::bandwidth },
        Plan { id: "figure-13", effort: 60, run: end_system::delay },
        Plan { id: "figure-14", effort: 15, run: line_card::equal_shares },
        Plan { id: "deadlines", effort: 15, run: line_card::deadlines },
        Plan { id: "figure-15", effort: 30, run: line_card::static_priority },
        Plan { id: "figure-16", effort: 15, run: line_card::shares_beside_deadlines },
        Plan { id: "packet-times", effort: 1, run: packet_times::run },
        Plan { id: "table-1", effort: 1, run: rules::run },
        Plan { id: "sorted-list", effort: 60, run: sorted_list::run },
        Plan { id: "fewer-decisions", effort: 30, run: cadence::run },
    ],
};

/// The clock of the paper's runs, in hertz.
const CLOCK: u64 = 23_000_000;

/// What a run schedules.
struct Workload {
    streams: Vec<Stream>,
    /// The decisions of the run; one tick each.
    decisions: u64,
    /// When each stream gets its first packet.
    enters: Vec<u64>,
    /// How many packets each of them has.
    packets: u64,
    /// How many packets of a stream arrive per unit of the arrival time.
    packets_per_arrival: u64,
}

impl Workload {
    /// Streams that are backlogged from the beginning to the end; their n-th packets arrive at time n.
    fn backlogged(streams: Vec<Stream>, decisions: u64) -> Workload {
        Workload { enters: vec![0; streams.len()], streams, decisions, packets: u64::MAX, packets_per_arrival: 1 }
    }
}

/// Streams with these windows and a period of one tick.
fn windows<const N: usize>(windows: [(u32, u32); N]) -> Vec<Stream> {
    windows.map(|(tolerated, deadlines)| Stream::windowed(Window::new(tolerated, deadlines), 1)).into()
}

/// What came out of a run.
struct Run {
    /// The stream of every decision, from 0; the number of streams where none had a packet.
    winners: Vec<usize>,
    /// For each stream a curve that counts its packets against the decision.
    counts: Vec<Curve>,
    /// In how many decisions winner-only routing, compute-ahead blocks and the scan differ.
    differing: [f64; 3],
}

impl Run {
    /// Plays the workload on the device and on what has to decide the same.
    fn new(workload: &Workload, progress: &dyn Fn(f64)) -> Run {
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

    /// The packets of each stream in the decisions from `start` (included) to `end` (left out).
    fn between(&self, start: u64, end: u64) -> Vec<f64> {
        self.counts.iter().map(|curve| curve.between(start as f64, end as f64)).collect()
    }

    /// For each stream, the share of all decisions before an instant that it has won, at `instants`.
    fn bandwidth(&self, instants: &[u64]) -> Vec<Curve> {
        let bandwidth = |counts: &Curve| {
            let mut curve = Curve::new(counts.name.clone());
            instants.iter().for_each(|&instant| curve.push(instant as f64, counts.before(instant as f64) / instant as f64));
            curve
        };
        self.counts.iter().map(bandwidth).collect()
    }

    /// How many groups of four decisions do not begin with `order`.
    fn disordered(&self, order: &[usize]) -> f64 {
        self.winners.chunks(4).filter(|four| !four.starts_with(&order[..order.len().min(four.len())])).count() as f64
    }

    fn same_winners(&self) -> Gate {
        Gate::exactly("other winners: WR, CA, scan of 64 bits", "decisions", self.differing.to_vec(), &[0.0; 3])
    }
}

/// The [winners](Run::winners) on an engine.
fn play(engine: &mut dyn Dwcs, workload: &Workload) -> Vec<usize> {
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

/// What the notes of every run say.
fn beside() -> String {
    "The winners are those of the device model in its base architecture. Beside it run winner-only routing (WR), compute-ahead register blocks \
     (CA) and the scan of 64 bits."
        .into()
}

/// What the paper calls a stream.
fn name(stream: usize) -> String {
    format!("Stream {}", stream + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_holds() {
        for plan in EXPERIMENT.figures {
            let figure = (plan.run)(&|_| {});
            let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
            assert!(failed.is_empty(), "{}: {failed:#?}", figure.id);
            assert!(!figure.gates.is_empty() && !figure.paper.is_empty(), "{}", figure.id);
        }
    }

    #[test]
    fn another_winner_is_noticed() {
        let workload = Workload::backlogged(windows([(7, 8), (14, 16), (6, 8), (4, 8)]), 1000);
        let mut run = Run::new(&workload, &|_| {});
        assert!(run.same_winners().passed());
        let others = Workload { streams: windows([(7, 8), (14, 16), (6, 8), (5, 8)]), ..workload };
        let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
        let other = play(&mut Scan::new(rules, Order::default(), &others.streams).unwrap(), &others);
        run.differing[2] = other.iter().zip(&run.winners).filter(|(other, base)| other != base).count() as f64;
        assert!(!run.same_winners().passed());
        assert!(run.disordered(&[3, 2]) > 0.0);
    }

    #[test]
    fn a_stream_that_has_sent_all_is_not_served() {
        let workload = Workload { packets: 5, ..Workload::backlogged(windows([(1, 2), (1, 2)]), 12) };
        let run = Run::new(&workload, &|_| {});
        assert_eq!(run.between(0, 12), [5.0, 5.0]);
        assert_eq!(run.winners[10..], [2, 2]);
    }
}
