//! Schiller and Gunningberg: a cell-level scheduler in software that shapes every connection and schedules its transfers.
//!
//! The paper prints its figures without their parameters; those here fit every sentence about them and stand in the notes of each
//! figure. Lines of its plots cannot be compared point by point therefore; what is gated is what the text says about them, and the
//! numbers that the algorithm's reference model gives for the same parameters. The paper's scheduler on a heap is held to them, and the
//! planner to that one.
//!
//! | module | holds |
//! |---|---|
//! | `mixture` | Figure 3: ten connections of all modes |
//! | `overload` | Figure 4: a transient overload |
//! | `cost` | Figures 5 and 6: what a cell costs |
//! | `transfers` | what section 4.4 claims about fetching cells just in time |

use crate::figure::Curve;
use crate::{Experiment, Plan};
use tidegate_core::cells::{
    Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Mode, Planner, RateScaling, SLOT, Sustained,
    Ticks,
};
use tidegate_sim::host::{Bus, Host, Posting};

mod cost;
mod mixture;
mod overload;
mod transfers;

/// The paper and its figures.
pub const EXPERIMENT: Experiment = Experiment {
    id: "schiller",
    title: "A cell-level scheduler in software",
    source: "J. Schiller and P. Gunningberg, Feasibility of a Software-based ATM cell-level scheduler with advanced shaping, 1998",
    figures: &[
        Plan { id: "figure-3", effort: 1, run: mixture::run },
        Plan { id: "figure-4", effort: 1, run: overload::run },
        Plan { id: "figure-5", effort: 6000, run: cost::many },
        Plan { id: "figure-6", effort: 100, run: cost::few },
        Plan { id: "transfers", effort: 100, run: transfers::run },
    ],
};

/// A connection and what it sends.
#[derive(Clone, Copy, Debug)]
struct Source {
    contract: CellContract,
    /// The slot in which its only PDU is posted.
    start: u64,
    /// The length of that PDU in cells.
    cells: u32,
}

/// A contract in whole slots: T, and Ts and MBS if it has a sustained rate.
fn contract(peak: u64, mode: fn(Sustained) -> Mode, sustained: u64, maximum_burst_size: u32) -> CellContract {
    let sustained = Sustained { interval: Ticks::slots(sustained), maximum_burst_size };
    CellContract { mode: mode(sustained), ..CellContract::constant(Ticks::slots(peak)) }
}

/// What came out of playing sources against a scheduler: for each connection a curve that counts its cells, and what a policer of its
/// contract refused.
#[derive(Debug)]
struct Log {
    curves: Vec<Curve>,
    controls: Vec<UsageParameterControl>,
}

impl Log {
    /// How many cells leave in another slot than in `other`, or there only.
    fn differing(&self, other: &Log) -> u64 {
        let pairs = self.curves.iter().zip(&other.curves);
        let differing = |(ours, theirs): (&Curve, &Curve)| {
            let moved = ours.x.iter().zip(&theirs.x).filter(|(ours, theirs)| ours != theirs).count();
            (moved + ours.x.len().abs_diff(theirs.x.len())) as u64
        };
        pairs.map(differing).sum()
    }

    /// By how many slots the latest cell leaves later than the same cell of `other`.
    fn behind(&self, other: &Log) -> f64 {
        let pairs = self.curves.iter().zip(&other.curves).flat_map(|(ours, theirs)| ours.x.iter().zip(&theirs.x));
        pairs.map(|(ours, theirs)| ours - theirs).fold(0.0, f64::max)
    }

    fn refused(&self) -> u64 {
        self.controls.iter().map(|control| control.refused).sum()
    }
}

impl Adapter for Log {
    fn cell_sent(&mut self, now: u64, connection: Connection, _late: Ticks) {
        let curve = &mut self.curves[connection.index()];
        curve.push(now as f64, (curve.x.len() + 1) as f64);
        self.controls[connection.index()].arrive(now);
    }
}

/// Plays the sources against the paper's scheduler until `end`.
fn play(sources: &[Source], conflict: Conflict, sharing: RateScaling, end: u64) -> Log {
    play_on(HeapScheduler::new(&setup(sources), conflict, sharing), sources, end)
}

/// Plays the sources against the planner with windows of so many slots until `end`.
fn play_planned(sources: &[Source], window: u32, sharing: RateScaling, end: u64) -> Log {
    let planner: Planner = Planner::with_window(&setup(sources), window, sharing);
    play_on(planner, sources, end)
}

/// A scheduler for these sources. All cells are on the adapter when they are posted.
fn setup(sources: &[Source]) -> CellSetup {
    CellSetup { connections: sources.len() as u32, pdus: sources.len() as u32, transfer: None }
}

fn play_on(mut scheduler: impl CellScheduler, sources: &[Source], end: u64) -> Log {
    let mut postings: Vec<Posting> = sources
        .iter()
        .map(|source| Posting {
            slot: source.start,
            connection: scheduler.add(&source.contract).expect("the figure's contracts can be kept"),
            cells: source.cells,
        })
        .collect();
    postings.sort_by_key(|posting| posting.slot);
    let curves = (0..sources.len()).map(|number| Curve::new(format!("VC {number}"))).collect();
    let controls = sources.iter().map(|source| UsageParameterControl::new(source.contract)).collect();
    let mut host = Host::new(Bus::IDLE, 0, "bus", Log { curves, controls });
    host.run(&mut scheduler, &postings, end).expect("there is room for every PDU");
    host.observer
}

/// UPC: the policer at the edge of the network, in the virtual scheduling form of the standards' coordinated test: peak rate with the
/// CDVT, sustained rate with the burst tolerance alone, which is stricter than the standards ask for.
#[derive(Debug)]
struct UsageParameterControl {
    contract: CellContract,
    /// When the next cell is expected at the peak and at the sustained rate, in ticks; `None` before the first.
    expected: Option<(u64, u64)>,
    refused: u64,
}

impl UsageParameterControl {
    fn new(contract: CellContract) -> UsageParameterControl {
        UsageParameterControl { contract, expected: None, refused: 0 }
    }

    fn arrive(&mut self, slot: u64) {
        let now = slot * SLOT;
        let (peak, sustained) = self.expected.unwrap_or((now, now));
        let tolerance = self.contract.delay_variation_tolerance.0;
        let burst = self.contract.mode.sustained().map(|sustained| (sustained.interval.0, self.contract.burst_tolerance().0));
        if now + tolerance < peak || burst.is_some_and(|(_, burst_tolerance)| now + burst_tolerance < sustained) {
            self.refused += 1;
            return;
        }
        let interval = burst.map_or(0, |(interval, _)| interval);
        self.expected = Some((peak.max(now) + self.contract.peak_interval.0, sustained.max(now) + interval));
    }
}

/// The slots of a planner's window.
const WINDOW: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// All figures but the one with 64,167 connections, which takes seconds.
    #[test]
    fn every_gate_holds() {
        for run in [mixture::run, overload::run, cost::few, transfers::run] {
            let figure = run(&|_| {});
            let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
            assert!(failed.is_empty(), "{}: {failed:#?}", figure.id);
        }
    }

    fn refused(contract: CellContract, slots: &[u64]) -> Vec<u64> {
        let mut control = UsageParameterControl::new(contract);
        let judge = |slot: &u64| {
            let before = control.refused;
            control.arrive(*slot);
            (control.refused > before).then_some(*slot)
        };
        slots.iter().filter_map(judge).collect()
    }

    #[test]
    fn the_policer_refuses_what_comes_early_and_forgets_it() {
        // GCRA(10, 15) with the arrivals of the published example.
        let mut constant = CellContract::constant(Ticks::slots(10));
        constant.delay_variation_tolerance = Ticks::slots(15);
        assert_eq!(refused(constant, &[0, 2, 5, 12, 18, 19, 30, 31, 60]), [12, 19, 31]);
    }

    #[test]
    fn a_burst_longer_than_the_maximum_is_refused() {
        let mut burst = contract(4, Mode::DualBucket, 20, 10);
        burst.delay_variation_tolerance = Ticks::ZERO;
        let slots: Vec<u64> = (0..12).map(|cell| 4 * cell).collect();
        assert_eq!(refused(burst, &slots), [40, 44]);
    }
}
