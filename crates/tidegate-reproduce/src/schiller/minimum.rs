//! Section 4.5: minimum shares of the link in a long overload, and the stretch of intervals that follows from them.
//!
//! Under the lazy conflict policy only the stretch keeps a class to its grant, so a stretch computed from another grant changes every count.
//! Under priority the counts do not show such a fault, because owed cells are dispatched; cells that leave late do.

use super::bounds::{self, Order, rows};
use super::playback::{Log, Source, cells_chart, play};
use crate::figure::{Figure, Gate, Panel};
use crate::prose;
use tidegate_cells::{CLASSES, CellContract, CellRate, Conflict, RateScaling, SLOT, Sharing, Ticks};

/// Cells are counted from the first to the second of these slots: the overload lasts throughout.
const WINDOW: (u64, u64) = (2000, 12_000);

/// T and the class of each connection.
const CONNECTIONS: [(u64, u8); 4] = [(10, 0), (1, 1), (2, 1), (4, 2)];

/// Cells of each connection in [`WINDOW`] with a tenth of the link for class 2: it and class 0 get 0.1 of the link, class 1 the rest, 2 to 1.
const SHARED: [f64; 4] = [1000.0, 10_000.0 * 0.8 * 2.0 / 3.0, 10_000.0 * 0.8 / 3.0, 1000.0];

/// The same without a minimum share: class 1 gets 0.9 of the link, and class 2 the idle slots.
const STRICT: [f64; 4] = [1000.0, 6000.0, 3000.0, 0.0];

/// The relative tolerance of counts.
const TOLERANCE: f64 = 0.01;

/// Minimum shares with this many hundredths of the link for class 2.
fn shares(hundredths: u64) -> RateScaling {
    let mut minimum = [CellRate::ZERO; CLASSES];
    minimum[2] = CellRate::floor_of_ratio(hundredths, 100).expect("a hundred slots are more than none");
    RateScaling::new(minimum).expect("the share fits on the link")
}

/// The stretched intervals, in slots, of T = 1 in class 1 and T = 5 in class 2, while the classes ask for 0.1, 3.25 and 0.2 of the link.
fn stretched(mut sharing: RateScaling) -> Vec<f64> {
    for (class, hundredths) in [(0, 10), (1, 325), (2, 20)] {
        let demand = CellRate::floor_of_ratio(hundredths, 100).expect("a hundred slots are more than none");
        sharing.demand_changed(class, CellRate::ZERO, demand);
    }
    [(1, 1), (2, 5)].map(|(class, slots)| sharing.stretch(class).ceil_of(slots * SLOT) as f64 / SLOT as f64).to_vec()
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::SCHILLER, "minimum-shares");
    let expected = [3.25 / 0.85, 20.0];
    let name = "5 % for class 2: stretched intervals of T=1 in class 1 and T=5 in class 2";
    figure.gates.push(Gate::within(name, "slots", stretched(shares(5)), &expected, 1e-3));
    let name = "strict: stretched intervals of T=1 in class 1 and T=5 in class 2";
    figure.gates.push(Gate::within(name, "slots", stretched(RateScaling::strict()), &[3.25 / 0.9, 5.0], 1e-3));
    let sources = CONNECTIONS.map(|(interval, class)| {
        let contract = CellContract { class, ..CellContract::constant(Ticks::slots(interval)) };
        Source { contract, start: 0, cells: 60_000 }
    });
    let mut panels = Vec::new();
    for (conflict, name) in [(Conflict::Lazy, "lazy"), (Conflict::Tolerance, "CDVT"), (Conflict::Priority, "priority")] {
        let log = play(&sources, conflict, shares(10), WINDOW.1);
        let title = format!("{name}, a tenth for class 2: cells of T=10, T=1, T=2 and T=4");
        figure.gates.push(Gate::near(title, "cells", cells(&log), &SHARED, TOLERANCE));
        figure.gates.push(Gate::exactly(format!("{name}: cells that the UPC refuses"), "cells", vec![log.refused() as f64], &[0.0]));
        figure.bounds.extend(rows(name, &bounds::of(&sources, Order::Any), &log));
        panels.push(Panel::new(format!("{name}, a tenth for class 2"), log.curves));
    }
    let log = play(&sources, Conflict::Priority, RateScaling::strict(), WINDOW.1);
    figure.bounds.extend(rows("strict priority", &bounds::of(&sources, Order::Class), &log));
    figure.note(&[bounds::NOTE]);
    let cells = cells(&log);
    figure.gates.push(Gate::near("strict priority: cells of T=10, T=1 and T=2", "cells", cells[..3].to_vec(), &STRICT[..3], TOLERANCE));
    figure.gates.push(Gate::at_most("strict priority: cells of T=4", "cells", cells[3], 10.0));
    panels.push(Panel::new("strict priority", log.curves));
    figure.charts.push(cells_chart("Cells sent against slot", panels));
    figure
}

/// The cells of each connection in [`WINDOW`].
fn cells(log: &Log) -> Vec<f64> {
    log.curves.iter().map(|curve| curve.between(WINDOW.0 as f64, WINDOW.1 as f64)).collect()
}
