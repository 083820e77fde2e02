//! Sources played against a scheduler: for each connection a curve of its cells, and the cells that a policer of its contract refuses.

use crate::figure::{Axis, Chart, Curve, Panel};
use tidegate_atm::conformance::UsageParameterControl;
use tidegate_cells::{
    Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, Mode, Planner, RateScaling, Sustained, Ticks,
};
use tidegate_sim::host::{Bus, Host, Posting};

/// The slots of a planner's window.
pub const WINDOW: u32 = 64;

/// A connection and what it sends.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub contract: CellContract,
    /// The slot in which its only PDU is posted.
    pub start: u64,
    /// The length of that PDU in cells.
    pub cells: u32,
}

/// A contract in whole slots: T, and Ts and MBS if it has a sustained rate.
pub fn contract(peak: u64, mode: fn(Sustained) -> Mode, sustained: u64, maximum_burst_size: u32) -> CellContract {
    let sustained = Sustained { interval: Ticks::slots(sustained), maximum_burst_size };
    CellContract { mode: mode(sustained), ..CellContract::constant(Ticks::slots(peak)) }
}

/// What the connections sent.
#[derive(Debug)]
pub struct Log {
    /// By connection, the count of its cells.
    pub curves: Vec<Curve>,
    /// By connection, the cell that left latest after its planned time, the first of several.
    pub latest: Vec<Option<Latest>>,
    controls: Vec<UsageParameterControl>,
    refused: u64,
}

/// A cell that is late.
#[derive(Clone, Copy, Debug)]
pub struct Latest {
    /// Its number in the connection, from 1.
    pub number: u64,
    /// The slot in which it leaves.
    pub slot: u64,
    /// The time from the one that its shaper planned to that slot.
    pub late: Ticks,
}

impl Log {
    /// The cells that leave in another slot than in `other`, or in one of the two only.
    pub fn differing(&self, other: &Log) -> u64 {
        let pairs = self.curves.iter().zip(&other.curves);
        let differing = |(ours, theirs): (&Curve, &Curve)| {
            let moved = ours.x.iter().zip(&theirs.x).filter(|(ours, theirs)| ours != theirs).count();
            (moved + ours.x.len().abs_diff(theirs.x.len())) as u64
        };
        pairs.map(differing).sum()
    }

    /// The most slots by which a cell leaves later than the same cell of `other`.
    pub fn behind(&self, other: &Log) -> f64 {
        let pairs = self.curves.iter().zip(&other.curves).flat_map(|(ours, theirs)| ours.x.iter().zip(&theirs.x));
        pairs.map(|(ours, theirs)| ours - theirs).fold(0.0, f64::max)
    }

    /// The cells that the policers refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

impl Adapter for Log {
    fn cell_sent(&mut self, now: u64, connection: Connection, late: Ticks) {
        let curve = &mut self.curves[connection.index()];
        curve.push(now as f64, (curve.x.len() + 1) as f64);
        let latest = &mut self.latest[connection.index()];
        if latest.is_none_or(|latest| latest.late < late) {
            *latest = Some(Latest { number: curve.x.len() as u64, slot: now, late });
        }
        self.refused += u64::from(!self.controls[connection.index()].accepts(now));
    }
}

/// Plays the sources against the paper's scheduler until `end`.
pub fn play(sources: &[Source], conflict: Conflict, sharing: RateScaling, end: u64) -> Log {
    play_on(HeapScheduler::new(&setup(sources), conflict, sharing), sources, end)
}

/// Plays the sources against the planner with windows of this many slots until `end`.
pub fn play_planned(sources: &[Source], window: u32, sharing: RateScaling, end: u64) -> Log {
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
    let mut host = Host::new(Bus::IDLE, 0, "bus", Log { curves, latest: vec![None; sources.len()], controls, refused: 0 });
    host.run(&mut scheduler, &postings, end).expect("there is room for every PDU");
    host.observer
}

/// The plot of most figures: a curve of cells for each connection.
pub fn cells_chart(title: &str, panels: Vec<Panel>) -> Chart {
    Chart { id: "cells", title: title.into(), x: Axis::linear("cell slot"), y: Axis::linear("cells sent"), steps: true, panels }
}

/// The most slots by which a cell of a constant connection is away from its ideal slot.
pub fn deviation(source: &Source, curve: &Curve) -> f64 {
    let interval = source.contract.peak_interval.ceil_slots() as f64;
    let ideal = (0..).map(|cell| source.start as f64 + f64::from(cell) * interval);
    curve.x.iter().zip(ideal).map(|(slot, ideal)| (slot - ideal).abs()).fold(0.0, f64::max)
}
