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
//! | `conflicts` | section 4.1: conflict policies and the CDVT |
//! | `minimum` | section 4.5: minimum shares |
//! | `cost` | Figures 5 and 6: what a cell costs |
//! | `shaping` | Figure 6 again: what shaping alone costs |
//! | `transfers` | what section 4.4 claims about fetching cells just in time |

use crate::figure::Curve;
use crate::{Experiment, Plan};
use tidegate_atm::conformance::UsageParameterControl;
use tidegate_cells::{
    Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Mode, Planner, RateScaling, Sustained, Ticks,
};
use tidegate_sim::host::{Bus, Host, Posting};

mod conflicts;
mod cost;
mod minimum;
mod mixture;
mod overload;
mod shaping;
mod transfers;

/// The paper and its figures.
pub const EXPERIMENT: Experiment = Experiment {
    id: "schiller",
    title: "A cell-level scheduler in software",
    source: "J. Schiller and P. Gunningberg, Feasibility of a Software-based ATM cell-level scheduler with advanced shaping, 1998",
    figures: &[
        Plan { id: "figure-3", effort: 1, run: mixture::run },
        Plan { id: "figure-4", effort: 1, run: overload::run },
        Plan { id: "conflicts", effort: 1, run: conflicts::run },
        Plan { id: "minimum-shares", effort: 5, run: minimum::run },
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
    refused: u64,
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
        self.refused
    }
}

impl Adapter for Log {
    fn cell_sent(&mut self, now: u64, connection: Connection, _late: Ticks) {
        let curve = &mut self.curves[connection.index()];
        curve.push(now as f64, (curve.x.len() + 1) as f64);
        self.refused += u64::from(!self.controls[connection.index()].accepts(now));
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
    let mut host = Host::new(Bus::IDLE, 0, "bus", Log { curves, controls, refused: 0 });
    host.run(&mut scheduler, &postings, end).expect("there is room for every PDU");
    host.observer
}

/// The slots of a planner's window.
const WINDOW: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// All figures but the one with 64,167 connections, which takes seconds.
    #[test]
    fn every_gate_holds() {
        for run in [mixture::run, overload::run, conflicts::run, minimum::run, cost::few, transfers::run] {
            let figure = run(&|_| {});
            let failed: Vec<_> = figure.gates.iter().filter(|gate| !gate.passed()).collect();
            assert!(failed.is_empty(), "{}: {failed:#?}", figure.id);
        }
    }
}
