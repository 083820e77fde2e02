//! Figure 3: ten connections of all modes share a link that is not overloaded.

use super::bounds::{self, Order, rows};
use super::playback::{Source, WINDOW, cells_chart, contract, deviation, play, play_planned};
use crate::figure::{Curve, Figure, Gate, Panel, numbers};
use crate::prose;
use tidegate_cells::{CellContract, Conflict, Mode, RateScaling, Ticks};

/// The cells of the reference model by the slots of [`INSTANTS`], by connection.
const CELLS_SENT: [(usize, [u32; 5]); 9] = [
    (0, [10, 20, 30, 40, 50]),
    (1, [8, 16, 24, 32, 40]),
    (2, [10, 20, 30, 40, 50]),
    (3, [4, 12, 20, 28, 36]),
    (4, [0, 7, 14, 20, 20]),
    (5, [15, 22, 29, 35, 42]),
    (6, [6, 8, 12, 18, 24]),
    (8, [5, 10, 15, 20, 24]),
    (9, [0, 0, 13, 25, 36]),
];

/// The slots before which the cells of [`CELLS_SENT`] are counted.
const INSTANTS: [u32; 5] = [200, 400, 600, 800, 1000];

/// The connections with a constant bit rate.
const CONSTANT: [usize; 6] = [2, 3, 4, 7, 8, 9];

/// The most slots by which conflicts may move a cell of constant bit rate from its straight line.
const DEVIATION: f64 = 5.0;

/// The last slot of the plot: all connections are done by then.
const END: u64 = 1400;

fn sources() -> [Source; 10] {
    let dual = |peak, sustained, burst| contract(peak, Mode::DualBucket, sustained, burst);
    let single = |peak, sustained, burst| contract(peak, Mode::SingleBucket, sustained, burst);
    let constant = |peak| CellContract::constant(Ticks::slots(peak));
    [
        (dual(4, 20, 10), 0, 60),
        (dual(5, 25, 8), 50, 40),
        (constant(20), 0, 50),
        (constant(25), 100, 36),
        (constant(30), 200, 20),
        (single(6, 30, 12), 20, 45),
        (dual(8, 40, 6), 150, 24),
        (constant(50), 300, 14),
        (constant(40), 10, 24),
        (constant(16), 400, 36),
    ]
    .map(|(contract, start, cells)| {
        let contract = CellContract { delay_variation_tolerance: Ticks::slots(2), ..contract };
        Source { contract, start, cells }
    })
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let sources = sources();
    let log = play(&sources, Conflict::Lazy, RateScaling::strict(), END);
    let planned = play_planned(&sources, WINDOW, RateScaling::strict(), END);
    let mut figure = prose::figure(prose::SCHILLER, "figure-3");
    for (connection, expected) in CELLS_SENT {
        let measured = INSTANTS.iter().map(|&slot| log.curves[connection].before(slot.into())).collect();
        let name = format!("VC {connection}: cells sent");
        figure.gates.push(Gate::exactly(name, "cells", measured, &numbers(expected)));
    }
    let bursts = burst_starts(&log.curves[0]);
    figure.gates.push(Gate::exactly("VC 0 (DLB): its bursts of 10 cells begin", "slot", bursts, &numbers([0, 200, 400, 600, 800, 1000])));
    let farthest = CONSTANT.map(|number| deviation(&sources[number], &log.curves[number])).into_iter().fold(0.0, f64::max);
    figure.gates.push(Gate::at_most("CBR: farthest cell from its straight line", "slots", farthest, DEVIATION));
    let pairs = log.curves.iter().zip(&planned.curves);
    let difference = |slot: f64| pairs.clone().map(|(heap, planner)| (heap.before(slot) - planner.before(slot)).abs()).fold(0.0, f64::max);
    let differences = INSTANTS.map(|slot| difference(slot.into())).to_vec();
    let name = format!("planner, windows of {WINDOW} slots: any VC's cells sent, difference from the heap");
    figure.gates.push(Gate::exactly(name, "cells", differences, &[0.0; INSTANTS.len()]));
    let refused = vec![log.refused() as f64, planned.refused() as f64];
    figure.gates.push(Gate::exactly("cells that the UPC refuses, heap and planner", "cells", refused, &[0.0, 0.0]));
    figure.bounds = rows("", &bounds::of(&sources, Order::Planned), &log);
    figure.note(&[bounds::NOTE]);
    let panel = Panel::new("ten connections", log.curves);
    figure.charts.push(cells_chart("Cells sent against slot", vec![panel]));
    figure
}

/// The slots in which bursts of ten cells begin: those of cells after a pause.
fn burst_starts(curve: &Curve) -> Vec<f64> {
    let paused = |index: usize| index == 0 || curve.x[index] - curve.x[index - 1] > 10.0;
    (0..curve.x.len()).filter(|&index| paused(index)).map(|index| curve.x[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_sends_what_it_has() {
        let curves = &run(&|_| {}).charts[0].panels[0].curves;
        let sent: Vec<u32> = curves.iter().map(|curve| curve.x.len() as u32).collect();
        assert_eq!(sent, sources().map(|source| source.cells));
    }
}
