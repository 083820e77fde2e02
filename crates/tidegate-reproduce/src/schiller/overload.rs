//! Figure 4: a transient overload, shared in proportion within a class and by priority among classes.

use super::bounds::{self, Order, rows};
use super::playback::{Log, Source, WINDOW, cells_chart, deviation, play, play_planned};
use crate::figure::{Figure, Gate, Panel, numbers};
use crate::prose;
use tidegate_cells::{CLASSES, CellContract, CellRate, Conflict, RateScaling, Ticks};

/// The intervals, in slots, of constant load; the overload begins with the second.
const INTERVALS: [(u32, u32); 4] = [(0, 200), (200, 250), (250, 300), (300, 390)];

/// The most by which a count in [`INTERVALS`] may differ from the expected one, in cells.
const TOLERANCE: f64 = 1.0;

/// The cells that the reference model sends in [`INTERVALS`] under strict priority, by connection.
const STRICT: [(usize, [u32; 4]); 6] =
    [(1, [50, 9, 5, 7]), (2, [40, 0, 0, 0]), (3, [20, 5, 5, 9]), (4, [0, 36, 20, 24]), (5, [0, 0, 20, 25]), (6, [0, 0, 0, 25])];

/// The same where class 2 has a minimum share.
const SHARED: [(usize, [u32; 4]); 2] = [(2, [40, 3, 2, 4]), (4, [0, 33, 19, 24])];

/// The fraction of its rate that class 1 gets in the last three of [`INTERVALS`]: 0.9 of the link over the demand of the class.
const FRACTIONS: [f64; 3] = [0.9 / 1.25, 0.9 / 2.25, 0.9 / 3.25];

/// The slot of the last cell of VC 4, which ends the overload, and its tolerance: the time of one cell at the rate by then.
const OVERLOAD_ENDS: (f64, f64) = (401.0, 4.0);

/// The last slot of the plot.
const END: u64 = 500;

/// The connections of the figure. The paper has no VC 0: a silent connection takes that number.
fn sources() -> [Source; 7] {
    let endless = END as u32;
    [(100, 7, END, 1), (4, 1, 0, endless), (5, 2, 0, endless), (10, 0, 0, 50), (1, 1, 200, 84), (1, 1, 250, 48), (1, 1, 300, 28)].map(
        |(interval, class, start, cells)| {
            let contract = CellContract { class, ..CellContract::constant(Ticks::slots(interval)) };
            Source { contract, start, cells }
        },
    )
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let mut minimum = [CellRate::ZERO; CLASSES];
    minimum[2] = CellRate::floor_of_ratio(1, 20).expect("twenty slots are more than none");
    let with_minimum = RateScaling::new(minimum).expect("a twentieth of the link fits on it");
    let strict = play(&sources(), Conflict::Priority, RateScaling::strict(), END);
    let shared = play(&sources(), Conflict::Priority, with_minimum, END);
    let planned = |window| play_planned(&sources(), window, RateScaling::strict(), END);
    let (by_slot, by_window) = (planned(1), planned(WINDOW));

    let mut figure = prose::figure(prose::SCHILLER, "figure-4");
    for (connection, expected) in STRICT {
        figure.gates.push(counts("strict", &strict, connection, expected));
    }
    let ideal = |rate: f64| {
        let slots = INTERVALS[1..].iter().map(|&(start, end)| f64::from(end - start));
        slots.zip(FRACTIONS).map(|(slots, fraction)| slots * fraction * rate).collect::<Vec<f64>>()
    };
    for (connection, rate) in [(1, 0.25), (4, 1.0)] {
        let name = format!("strict, VC {connection}: cells by proportion, from slot 200 on");
        figure.gates.push(Gate::within(name, "cells", cells(&strict, connection)[1..].to_vec(), &ideal(rate), TOLERANCE));
    }
    let slopes = |numbers: &[usize], interval: usize| {
        let cells: Vec<f64> = numbers.iter().map(|&number| cells(&strict, number)[interval]).collect();
        cells.iter().copied().fold(f64::MIN, f64::max) - cells.iter().copied().fold(f64::MAX, f64::min)
    };
    let differences = vec![slopes(&[4, 5], 2), slopes(&[4, 5, 6], 3)];
    let name = "strict, equal slopes: VC 4 and 5 from 250, VC 4, 5 and 6 from 300 differ by";
    figure.gates.push(Gate::all_at_most(name, "cells", differences, TOLERANCE));
    let disturbed = vec![straight(&strict)];
    figure.gates.push(Gate::exactly("strict, VC 3 (class 0): farthest cell from its straight line", "slots", disturbed, &[0.0]));
    let last = strict.curves[4].x.last().copied().unwrap_or(f64::NAN);
    let (ends, one_cell) = OVERLOAD_ENDS;
    figure.gates.push(Gate::within("strict, last cell of VC 4: the overload ends", "slot", vec![last], &[ends], one_cell));
    for (connection, expected) in SHARED {
        figure.gates.push(counts("5 % for class 2", &shared, connection, expected));
    }
    let differing = vec![by_slot.differing(&strict) as f64];
    figure.gates.push(Gate::exactly("planner, windows of 1 slot: cells in another slot than the heap's", "cells", differing, &[0.0]));
    let name = format!("planner, windows of {WINDOW} slots: farthest cell behind the heap's");
    figure.gates.push(Gate::at_most(name, "slots", by_window.behind(&strict), f64::from(WINDOW)));
    let disturbed = straight(&by_window);
    figure.gates.push(Gate::exactly("planner, VC 3 (class 0): farthest cell from its straight line", "slots", vec![disturbed], &[0.0]));
    let refused = [&strict, &shared, &by_window].map(|log| log.refused() as f64);
    figure.gates.push(Gate::exactly("cells that the UPC refuses, in each panel", "cells", refused.to_vec(), &[0.0; 3]));
    figure.bounds = rows("strict", &bounds::of(&sources(), Order::Class), &strict);
    figure.bounds.extend(rows("5 % for class 2", &bounds::of(&sources(), Order::Any), &shared));
    figure.note(&[bounds::NOTE]);
    let panel = |name: &str, log: Log| Panel { name: name.into(), curves: log.curves.into_iter().skip(1).collect() };
    let panels = vec![
        panel("strict priority", strict),
        panel("at least 5 % of the link for class 2", shared),
        panel("strict priority, planner", by_window),
    ];
    figure.charts.push(cells_chart("Cells sent against slot", panels));
    figure
}

/// The cells that a connection sends in each of [`INTERVALS`].
fn cells(log: &Log, connection: usize) -> [f64; 4] {
    INTERVALS.map(|(start, end)| log.curves[connection].between(start.into(), end.into()))
}

/// The most slots by which a cell of VC 3 is away from its ideal slot.
fn straight(log: &Log) -> f64 {
    deviation(&sources()[3], &log.curves[3])
}

fn counts(variant: &str, log: &Log, connection: usize, expected: [u32; 4]) -> Gate {
    let name = format!("{variant}, VC {connection}: cells per interval");
    Gate::within(name, "cells", cells(log, connection).to_vec(), &numbers(expected), TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_sharing_the_gates_would_fail() {
        // Without minimum shares class 2 starves, so the gates of the second panel must notice.
        let strict = play(&sources(), Conflict::Priority, RateScaling::strict(), END);
        assert!(SHARED.iter().any(|&(connection, expected)| !counts("", &strict, connection, expected).passed()));
        // First come, first served gives no class precedence.
        let lazy = play(&sources(), Conflict::Lazy, RateScaling::strict(), END);
        assert!(!counts("", &lazy, 3, STRICT[2].1).passed() || !counts("", &lazy, 2, STRICT[1].1).passed());
    }
}
