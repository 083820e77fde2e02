//! Section 4.1: which of several due cells goes first, and the effect of a contract's CDVT.
//!
//! Every expected number follows from the rules by hand. The gates fail if the CDVT is left out of the conflict policy, of the shaper, or of the count
//! of cells that leave too late.

use super::bounds::{self, Order, rows};
use super::playback::{Source, cells_chart, play};
use crate::figure::{Curve, Figure, Gate, Panel};
use crate::prose;
use tidegate_atm::conformance::UsageParameterControl;
use tidegate_cells::{Adapter, CellContract, CellScheduler, CellSetup, Conflict, Connection, HeapScheduler, RateScaling, SLOT, Ticks};

/// The slots in which the second cells of X, Y and Z leave, by conflict policy. X and Z are planned for slot 5, Y for slot 6.
const SECOND_CELLS: [(Conflict, &str, [u32; 3]); 4] = [
    (Conflict::Lazy, "lazy", [5, 7, 6]),
    (Conflict::NextFree, "next free", [5, 6, 7]),
    (Conflict::Tolerance, "CDVT", [7, 6, 5]),
    (Conflict::Priority, "priority", [6, 7, 5]),
];

/// The connection that sends in each of the first 24 slots, of three that start at once; a dot is an empty slot.
const SCHEDULES: [(Conflict, &str, &str); 3] = [
    (Conflict::Lazy, "lazy", "0122012.012.0122012.012."),
    (Conflict::Tolerance, "CDVT", "1022102.102.1022102.102."),
    (Conflict::Priority, "priority", "1022102.102.1022102.102."),
];

/// The number of connections that start at once with one cell in as many slots each: the link is full.
const FULL_LINK: u64 = 5;

/// Slots in which cells of the connection with an interval of 4.5 slots are counted.
const END: u64 = 450;

/// A contract in whole slots.
fn constant(interval: u64, tolerance: u64, class: u8) -> CellContract {
    CellContract { delay_variation_tolerance: Ticks::slots(tolerance), class, ..CellContract::constant(Ticks::slots(interval)) }
}

/// X, Y and Z, whose second cells conflict.
fn conflicting() -> [Source; 3] {
    [(constant(4, 4, 1), 1), (constant(4, 1, 1), 2), (constant(2, 0, 0), 3)].map(|(contract, start)| Source { contract, start, cells: 2 })
}

/// Three connections with intervals of 4, 4 and 3 slots that start at once.
fn trio() -> [Source; 3] {
    [constant(4, 2, 1), constant(4, 1, 0), constant(3, 3, 1)].map(|contract| Source { contract, start: 0, cells: 24 })
}

/// A connection with an interval of 4.5 slots.
fn half_slots(tolerance: u64) -> Source {
    let peak = Ticks::ceil_of_ratio(9, 2).expect("two cells are more than none");
    let contract = CellContract { delay_variation_tolerance: Ticks::slots(tolerance), ..CellContract::constant(peak) };
    Source { contract, start: 0, cells: 200 }
}

pub(super) fn run(_progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::SCHILLER, "conflicts");
    figure.note(&[&format!(
            "The full link: {FULL_LINK} connections with T={FULL_LINK} that start at once. With a CDVT of d slots, those whose first cell is more than \
             d slots late are planned anew once, and no cell is late by more than d afterwards: {FULL_LINK} - 1 - d cells exceed the CDVT."
        ), "An interval of 4.5 slots: with a CDVT of one slot cells are 5 and 4 slots apart in turn, and the rate is kept; without, every cell \
         is rounded up and 10 % of the rate are lost. A policer without CDVT refuses every cell that is 4 slots after the last."]);
    for (conflict, name, expected) in SECOND_CELLS {
        let log = play(&conflicting(), conflict, RateScaling::strict(), 20);
        figure.bounds.extend(rows(&format!("{name}, second cells"), &bounds::of(&conflicting(), Order::of(conflict)), &log));
        let measured = log.curves.iter().map(|curve| curve.x.get(1).copied().unwrap_or(f64::NAN)).collect();
        figure.gates.push(Gate::exactly(format!("{name}: second cells of X, Y and Z"), "slot", measured, &expected.map(f64::from)));
    }
    let mut curves = Vec::new();
    for (conflict, name, expected) in SCHEDULES {
        let log = play(&trio(), conflict, RateScaling::strict(), expected.len() as u64);
        figure.bounds.extend(rows(&format!("{name}, three that start at once"), &bounds::of(&trio(), Order::of(conflict)), &log));
        let mut slots = vec!['.'; expected.len()];
        for (digit, curve) in ('0'..).zip(&log.curves) {
            curve.x.iter().for_each(|&slot| slots[slot as usize] = digit);
        }
        let differing = slots.iter().zip(expected.chars()).filter(|(found, expected)| **found != *expected).count();
        figure.gates.push(Gate::exactly(format!("{name}: of 24 slots, those with another cell"), "slots", vec![differing as f64], &[0.0]));
        figure.gates.push(Gate::exactly(format!("{name}: cells that the UPC refuses"), "cells", vec![log.refused() as f64], &[0.0]));
        curves.extend(log.curves.into_iter().map(|curve| Curve { name: format!("{name}, {}", curve.name), ..curve }));
    }
    let tolerances = [0, 1, 2, 3, 4];
    let exceeded = tolerances.map(exceeding);
    let expected = tolerances.map(|tolerance| (FULL_LINK - 1 - tolerance) as f64);
    let name = "full link: cells that exceed a CDVT of 0, 1, 2, 3 and 4 slots, as the scheduler counts them";
    figure.gates.push(Gate::exactly(name, "cells", exceeded.map(|(counted, _)| counted as f64).to_vec(), &expected));
    let name = "full link: the same, from the lateness of every cell";
    figure.gates.push(Gate::exactly(name, "cells", exceeded.map(|(_, seen)| seen as f64).to_vec(), &expected));
    let half = |tolerance| play(&[half_slots(tolerance)], Conflict::Lazy, RateScaling::strict(), END);
    let (kept, lost) = (half(1), half(0));
    let sent = [&kept, &lost].map(|log| log.curves[0].x.len() as f64).to_vec();
    let name = "interval of 4.5 slots, CDVT of 1 and 0 slots: cells in 450 slots";
    figure.gates.push(Gate::exactly(name, "cells", sent, &[100.0, 90.0]));
    let refused = [kept.refused(), strictly_refused(&kept.curves[0])].map(|refused| refused as f64).to_vec();
    let name = "interval of 4.5 slots: refused by a policer with the CDVT of 1 slot, and without";
    figure.gates.push(Gate::exactly(name, "cells", refused, &[0.0, 49.0]));
    figure.bounds.extend(rows("interval of 4.5 slots", &bounds::of(&[half_slots(1)], Order::Planned), &kept));
    figure.note(&[bounds::NOTE]);
    let panel = Panel::new("by conflict policy", curves);
    figure.charts.push(cells_chart("Three connections that start at once", vec![panel]));
    figure
}

/// The cells of a curve that a policer of 4.5 slots without CDVT refuses.
fn strictly_refused(curve: &Curve) -> u64 {
    let peak = Ticks::ceil_of_ratio(9, 2).expect("two cells are more than none");
    let mut control = UsageParameterControl::new(CellContract { delay_variation_tolerance: Ticks::ZERO, ..CellContract::constant(peak) });
    curve.x.iter().map(|&slot| u64::from(!control.accepts(slot as u64))).sum()
}

/// Counts the cells that leave later than the tolerance.
struct Lateness {
    tolerance: u64,
    exceeded: u64,
}

impl Adapter for Lateness {
    fn cell_sent(&mut self, _now: u64, _connection: Connection, late: Ticks) {
        self.exceeded += u64::from(late.0 > self.tolerance);
    }
}

/// The full link with this CDVT in slots: the cells that exceed it, as the scheduler counts and as the adapter sees.
fn exceeding(tolerance: u64) -> (u64, u64) {
    let setup = CellSetup { connections: FULL_LINK as u32, pdus: FULL_LINK as u32, transfer: None };
    let mut scheduler = HeapScheduler::new(&setup, Conflict::Lazy, RateScaling::strict());
    let mut lateness = Lateness { tolerance: tolerance * SLOT, exceeded: 0 };
    for _ in 0..FULL_LINK {
        let connection = scheduler.add(&constant(FULL_LINK, tolerance, 0)).expect("the contract can be kept");
        scheduler.post(connection, 100, 0, &mut lateness).expect("there is room for the PDU");
    }
    for slot in 0..100 * FULL_LINK {
        scheduler.send(slot, &mut lateness);
    }
    (scheduler.counts().beyond_tolerance, lateness.exceeded)
}
