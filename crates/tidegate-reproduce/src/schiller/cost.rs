//! Figures 5 and 6: the cost of a cell when all connections are identical and start at once, the worst case for a ready list.

use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::prose;
use std::time::Instant;
use tidegate_cells::{
    Adapter, CellContract, CellError, CellScheduler, CellSetup, Conflict, Connection, Counts, HeapScheduler, Planner, Prefetch,
    RateScaling, SLOT, Ticks, TransferSetup, Work, aal5_cells,
};
use tidegate_core::units::Rate;
use tidegate_sim::host::{Bus, Host, Posting};

/// The rate of a connection in bit/s: 64,167 connections ask for 616 of 622.08 Mbit/s.
const CONNECTION: u64 = 9_600;
/// The rate of the adapter's link, in bit/s.
const LINK: u64 = 622_080_000;

/// The PDUs of a connection.
const PDUS: u32 = 5;
/// The cells of a PDU of 5000 bytes.
const PDU: u32 = aal5_cells(5000);

/// The most cells of a transfer, and the buffers of every connection.
const BURST: u32 = 8;

/// Points of a curve.
const BINS: usize = 200;

/// Longer times, in nanoseconds, count as this in quantiles.
const LONGEST: usize = 1 << 16;

/// The paper's figure for one number of connections, in cycles of a PentiumPro at 200 MHz.
struct Published {
    connections: u32,
    cycles: u32,
    /// The word before the number: "about", "under" or "up to".
    says: &'static str,
}

/// One cycle of the paper's PentiumPro, in nanoseconds.
const CYCLE: u32 = 5;

/// Runs Figure 5.
pub(super) fn many(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::SCHILLER, "figure-5");
    fill(&mut figure, &[Published { connections: 64_167, cycles: 600, says: "up to" }], progress);
    figure
}

/// Runs Figure 6.
pub(super) fn few(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::SCHILLER, "figure-6");
    let published = [(1000, 350, "under"), (100, 300, "under"), (1, 160, "about")];
    fill(&mut figure, &published.map(|(connections, cycles, says)| Published { connections, cycles, says }), progress);
    figure.tables.push(super::shaping::table());
    figure.note(&[
        "Shaping alone: one call of the shaper per cell, the connections in turn, the fastest of seven rounds; cycles by a chain of dependent \
         multiplications of three cycles each. It is a figure of this machine, and no gate.",
    ]);
    figure
}

fn fill(figure: &mut Figure, cases: &[Published], progress: &dyn Fn(f64)) {
    figure.note(&[
        "Every connection sends 5 PDUs of 5000 bytes (105 cells each) at 9600 bit/s on a link of 622.08 Mbit/s; all are posted in slot \
         0. Transfers of 8 cells are requested just in time; the engine that makes them takes no time here, since the processor does not \
         wait for it.",
        "Gates are on counted work, which is the same on every machine: one removal (two comparisons per level) and one insertion (one) \
         in a binary heap. Times are those of this run, per cell, less the cost of reading the clock; they hold whatever else the \
         machine did, so read the longest with care.",
        "The planner works for up to 64 cells at a time, in the call for the first of them: it is its mean that compares. A slot lasts \
         681.6 ns at 622.08 and 2726 ns at 155.52 Mbit/s.",
    ]);
    let cells = |case: &Published| f64::from(case.connections * PDUS * PDU);
    let total: f64 = 2.0 * cases.iter().map(cells).sum::<f64>();
    let mut done = 0.0;
    let mut measured = Vec::new();
    for case in cases {
        let setup = setup(case.connections);
        let heap = HeapScheduler::<RateScaling>::new(&setup, Conflict::Lazy, RateScaling::strict());
        let heap = measure(heap, HeapScheduler::work, case.connections, &|part| progress((done + part * cells(case)) / total));
        done += cells(case);
        let planner = Planner::<RateScaling>::new(&setup, RateScaling::strict());
        let planner = measure(planner, |_| Work::default(), case.connections, &|part| progress((done + part * cells(case)) / total));
        done += cells(case);
        measured.push((case, heap, planner));
    }
    for (case, heap, planner) in &measured {
        let connections = name(case.connections);
        let sent = vec![heap.sent as f64, planner.sent as f64];
        figure.gates.push(Gate::exactly(format!("{connections}: cells sent, heap and planner"), "cells", sent, &[cells(case); 2]));
        let (comparisons, entries) = bounds(case.connections);
        let most = heap.comparisons.most() as f64;
        figure.gates.push(Gate::at_most(
            format!("{connections}: most comparisons of one cell in the heap"),
            "comparisons",
            most,
            comparisons,
        ));
        let most = heap.entries.most() as f64;
        figure.gates.push(Gate::at_most(format!("{connections}: most heap entries written for one cell"), "entries", most, entries));
    }
    let cells_axis = Axis::linear("cells sent per connection");
    let panels = |curves: &dyn Fn(&Measured, &Measured, u32) -> Vec<Curve>| {
        let panel = |(case, heap, planner): &(&Published, Measured, Measured)| Panel {
            name: name(case.connections),
            curves: curves(heap, planner, case.connections),
        };
        // One connection makes no heap: its curves are points at zero.
        measured.iter().filter(|(case, ..)| case.connections > 1).map(panel).collect::<Vec<Panel>>()
    };
    let work = panels(&|heap, _, connections| {
        vec![
            heap.comparisons.means("comparisons, mean", connections),
            heap.comparisons.maxima("comparisons, most", connections),
            heap.entries.means("entries, mean", connections),
            heap.entries.maxima("entries, most", connections),
        ]
    });
    let y = Axis::linear("comparisons, entries written");
    figure.charts.push(Chart::new("work", "Work of the heap per cell", cells_axis.clone(), y, work));
    let time = panels(&|heap, planner, connections| {
        vec![heap.nanoseconds.means("the paper's heap", connections), planner.nanoseconds.means("planner", connections)]
    });
    figure.charts.push(Chart::new("time", "Time per cell, means of bins", cells_axis, Axis::linear("time (ns)"), time));
    figure.tables.push(table(&measured));
}

fn name(connections: u32) -> String {
    match connections {
        1 => "one connection".into(),
        connections => format!("{connections} connections"),
    }
}

/// The most comparisons and entries of one removal and one insertion in a binary heap of `connections`.
fn bounds(connections: u32) -> (f64, f64) {
    let levels = f64::from(connections.max(1).ilog2());
    (3.0 * levels, 2.0 * (levels + 1.0))
}

fn setup(connections: u32) -> CellSetup {
    let transfer = TransferSetup {
        prefetch: Prefetch::JustInTime,
        access_latency: 4,
        cell_time: Ticks(SLOT / 2),
        burst: BURST,
        buffer: connections * BURST,
    };
    CellSetup { connections, pdus: connections * PDUS, transfer: Some(transfer) }
}

/// A number per cell: its sum and its maximum in every bin.
#[derive(Clone, Debug)]
struct Quantity {
    sums: Vec<u64>,
    most: Vec<u64>,
    cells_per_bin: u64,
    cells: u64,
}

impl Quantity {
    fn new(cells: u64) -> Quantity {
        Quantity { sums: vec![0; BINS], most: vec![0; BINS], cells_per_bin: cells.div_ceil(BINS as u64).max(1), cells: 0 }
    }

    fn add(&mut self, value: u64) {
        let bin = ((self.cells / self.cells_per_bin) as usize).min(BINS - 1);
        self.sums[bin] += value;
        self.most[bin] = self.most[bin].max(value);
        self.cells += 1;
    }

    fn mean(&self) -> f64 {
        self.sums.iter().sum::<u64>() as f64 / self.cells.max(1) as f64
    }

    fn most(&self) -> u64 {
        self.most.iter().copied().max().unwrap_or(0)
    }

    /// For each bin with cells, the number of the cell after it, and its number of cells.
    fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let starts = (0..BINS as u64).map(|bin| bin * self.cells_per_bin).take_while(|&start| start < self.cells);
        starts.map(|start| {
            let end = (start + self.cells_per_bin).min(self.cells);
            (end, end - start)
        })
    }

    /// The means of the bins against the cells of each connection.
    fn means(&self, name: &str, connections: u32) -> Curve {
        self.curve(name, connections, self.bins().zip(&self.sums).map(|((_, cells), &sum)| sum as f64 / cells as f64))
    }

    /// The maxima of the bins, likewise.
    fn maxima(&self, name: &str, connections: u32) -> Curve {
        self.curve(name, connections, self.bins().zip(&self.most).map(|(_, &most)| most as f64))
    }

    fn curve(&self, name: &str, connections: u32, y: impl Iterator<Item = f64>) -> Curve {
        let x = self.bins().map(|(end, _)| end as f64 / f64::from(connections)).collect();
        Curve { x, y: y.collect(), ..Curve::new(name) }
    }
}

/// The measurements of one run.
#[derive(Debug)]
struct Measured {
    sent: u64,
    comparisons: Quantity,
    entries: Quantity,
    nanoseconds: Quantity,
    /// By nanoseconds, the number of cells that took as long.
    times: Vec<u32>,
}

impl Measured {
    /// The time that this part of the cells did not exceed.
    fn quantile(&self, part: f64) -> usize {
        let wanted = (self.sent as f64 * part).ceil() as u64;
        let mut passed = 0;
        let reaches = |&count: &u32| {
            passed += u64::from(count);
            passed >= wanted
        };
        self.times.iter().position(reaches).unwrap_or(LONGEST - 1)
    }
}

/// A scheduler under measurement: every call of `send` is timed, and its work counted.
struct Metered<'a, S> {
    scheduler: S,
    work: fn(&S) -> Work,
    clock_cost: u64,
    /// Nanoseconds that belong to the next cell.
    unassigned: u64,
    measured: Measured,
    total: u64,
    progress: &'a dyn Fn(f64),
}

impl<S: CellScheduler> CellScheduler for Metered<'_, S> {
    fn add(&mut self, contract: &CellContract) -> Result<Connection, CellError> {
        self.scheduler.add(contract)
    }

    fn change(&mut self, connection: Connection, contract: &CellContract, now: u64) -> Result<(), CellError> {
        self.scheduler.change(connection, contract, now)
    }

    fn remove(&mut self, connection: Connection, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        self.scheduler.remove(connection, now, adapter)
    }

    fn post(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) -> Result<(), CellError> {
        self.scheduler.post(connection, cells, now, adapter)
    }

    fn arrived(&mut self, connection: Connection, cells: u32, now: u64, adapter: &mut impl Adapter) {
        self.scheduler.arrived(connection, cells, now, adapter);
    }

    fn send(&mut self, now: u64, adapter: &mut impl Adapter) -> Option<Connection> {
        let before = (self.work)(&self.scheduler);
        let started = Instant::now();
        let sent = self.scheduler.send(now, adapter);
        let elapsed = started.elapsed();
        // Work in an empty slot is charged to the next cell.
        self.unassigned += (elapsed.as_nanos() as u64).saturating_sub(self.clock_cost);
        sent?;
        let after = (self.work)(&self.scheduler);
        let nanoseconds = std::mem::take(&mut self.unassigned);
        let measured = &mut self.measured;
        measured.sent += 1;
        measured.comparisons.add(after.comparisons - before.comparisons);
        measured.entries.add(after.entries - before.entries);
        measured.nanoseconds.add(nanoseconds);
        measured.times[(nanoseconds as usize).min(LONGEST - 1)] += 1;
        if measured.sent.is_multiple_of(1 << 16) {
            (self.progress)(measured.sent as f64 / self.total as f64);
        }
        sent
    }

    fn next_slot(&self, now: u64) -> Option<u64> {
        self.scheduler.next_slot(now)
    }

    fn counts(&self) -> Counts {
        self.scheduler.counts()
    }

    fn refresh(&mut self, now: u64) {
        self.scheduler.refresh(now);
    }
}

/// Plays the worst case of this many connections.
fn measure<S: CellScheduler>(scheduler: S, work: fn(&S) -> Work, connections: u32, progress: &dyn Fn(f64)) -> Measured {
    let total = u64::from(connections * PDUS * PDU);
    let quantity = Quantity::new(total);
    let measured =
        Measured { sent: 0, comparisons: quantity.clone(), entries: quantity.clone(), nanoseconds: quantity, times: vec![0; LONGEST] };
    let mut metered = Metered { scheduler, work, clock_cost: clock_cost(), unassigned: 0, measured, total, progress };
    let rate = |bits_per_second| Rate::new(bits_per_second).expect("the rates of the figure are in range");
    let contract = CellContract::constant(Ticks::ceil_of_rate(rate(CONNECTION), rate(LINK)));
    let mut postings = Vec::with_capacity((connections * PDUS) as usize);
    for _ in 0..connections {
        let connection = metered.add(&contract).expect("the contract can be kept");
        postings.extend([Posting { slot: 0, connection, cells: PDU }; PDUS as usize]);
    }
    let mut host = Host::new(Bus::IDLE, 0, "bus", ());
    host.run(&mut metered, &postings, u64::MAX).expect("there is room for every PDU");
    metered.measured
}

/// The median of the nanoseconds between two successive readings of the clock.
fn clock_cost() -> u64 {
    let mut costs: Vec<u64> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as u64).collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

fn table(measured: &[(&Published, Measured, Measured)]) -> Table {
    let head = ["connections", "mean", "median", "99.9 %", "longest", "comparisons", "most", "entries", "most"];
    let times = |measured: &Measured| {
        let quantile = |part| format!("{} ns", measured.quantile(part));
        let mean = format!("{:.1} ns", measured.nanoseconds.mean());
        vec![mean, quantile(0.5), quantile(0.999), format!("{} ns", measured.nanoseconds.most())]
    };
    let mut rows = Vec::new();
    for (case, heap, planner) in measured {
        let row = |label: &str, cells: Vec<String>| {
            let mut row = vec![format!("{}, {label}", case.connections)];
            row.extend(cells);
            row.resize(head.len(), "–".into());
            row
        };
        rows.push(row(&format!("paper, {} {} cycles", case.says, case.cycles), vec![format!("{} ns", case.cycles * CYCLE)]));
        let mut cells = times(heap);
        for quantity in [&heap.comparisons, &heap.entries] {
            cells.extend([format!("{:.1}", quantity.mean()), quantity.most().to_string()]);
        }
        rows.push(row("the paper's heap", cells));
        rows.push(row("planner", times(planner)));
    }
    Table::new("Time per cell in this run, and counted work per cell", &head, rows)
}

#[cfg(test)]
mod tests;
