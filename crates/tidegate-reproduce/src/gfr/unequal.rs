//! Figures 4 and 5 and Table 1: unequal shares by the three mechanisms.

use super::network::{CATEGORIES, Case, Hosts, Mechanisms, Results, TCP_SHARE};
use super::report::{
    BUFFERS, KEPT, VERDICTS, add_bounds, categories_chart, category_heads, category_row, kept, means, notes, options, run_all,
    tagged_share, verdict_table,
};
use crate::figure::{Axis, Figure, Gate, Table};
use crate::prose;

/// Both buffers under one option.
fn unequal(id: &'static str, mechanisms: Mechanisms, progress: &dyn Fn(f64)) -> (Figure, Vec<Results>) {
    let mut figure = prose::figure(prose::GFR, id);
    figure.notes = notes();
    let results = run_all(&BUFFERS.map(|cells| Case::unequal(mechanisms, cells)), progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let names = BUFFERS.map(|cells| format!("{cells} cells"));
    let rows = names.iter().zip(&results).map(|(name, results)| category_row(name, results)).collect();
    let title = "What each category got of its target".into();
    figure.tables.push(Table { title, head: category_heads("buffer"), rows });
    figure.charts.push(categories_chart(&names, &results, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    (figure, results)
}

pub(super) fn figure_4(progress: &dyn Fn(f64)) -> Figure {
    let (mut figure, results) = unequal("figure-4", Mechanisms::new(true, true, false), progress);
    for ((cells, results), expected) in BUFFERS.iter().zip(&results).zip(&FIGURE_4) {
        let name = format!("{cells} cells");
        let categories = means(&results.categories());
        figure.gates.push(near(&name, &categories, &expected.categories, FIFO_TOLERANCE));
        figure.gates.push(Gate::at_least(format!("{name}: lowest category"), "of its target", categories[0], 2.5));
        let published = Gate::within(format!("{name}: highest category"), "of its target", vec![categories[4]], &[0.8], 0.05);
        let highest = expected.categories[4];
        figure.gates.push(published.not_reproduced(
            &[highest * (1.0 - FIFO_TOLERANCE)],
            &[0.745],
            "The paper gives neither the buffer of this figure nor the numbers of the categories between.",
        ));
        let falls = categories.windows(2).map(|pair| pair[0] - pair[1]).collect();
        figure.gates.push(Gate::all_at_least(format!("{name}: each category less than the one before, by"), "of its target", falls, 0.0));
        figure.gates.push(tagged_share(&name, results, &expected.tagged));
        figure.gates.push(protected(&name, results));
    }
    figure
}

/// The relative differences between seeds, with one queue and with a queue per connection.
const FIFO_TOLERANCE: f64 = 0.15;
const QUEUEING_TOLERANCE: f64 = 0.05;

/// The results of a run here: a band around them finds faults where the paper's band is wide or missing.
struct Measured {
    /// Of the target, by category.
    categories: [f64; 5],
    /// The part of the frames that the policer tags, by category.
    tagged: [f64; 5],
}

const FIGURE_4: [Measured; 2] = [
    Measured { categories: [2.98, 1.57, 1.06, 0.74, 0.65], tagged: [0.934, 0.912, 0.894, 0.866, 0.848] },
    Measured { categories: [2.68, 1.41, 1.06, 0.84, 0.70], tagged: [0.942, 0.919, 0.900, 0.877, 0.848] },
];

/// The categories are in a band around the results here.
fn near(name: &str, measured: &[f64], expected: &[f64; 5], tolerance: f64) -> Gate {
    Gate::near(format!("{name}: each category, as measured here before"), "of its target", measured.to_vec(), expected, tolerance)
}

/// The loss rate of untagged cells is at most a tenth of that of tagged ones.
fn protected(name: &str, results: &Results) -> Gate {
    let [tagged, untagged] = results.lost_percent();
    Gate::at_most(format!("{name}: lost of untagged cells, of the part lost of tagged ones"), "", untagged / tagged, 0.1)
}

/// Figure 5 here with 12,000 cells.
const FIGURE_5: [f64; 5] = [1.24, 1.21, 1.11, 1.05, 0.87];

pub(super) fn figure_5(progress: &dyn Fn(f64)) -> Figure {
    let (mut figure, results) = unequal("figure-5", Mechanisms::new(false, false, true), progress);
    let published = Gate::near("12000 cells: every category", "of its target", means(&results[0].categories()), &[1.0; 5], 0.1);
    let [low, high] = [1.0 - QUEUEING_TOLERANCE, 1.0 + QUEUEING_TOLERANCE].map(|part| FIGURE_5.map(|category| category * part));
    figure.gates.push(published.not_reproduced(
        &low,
        &high,
        "The paper names no buffer for this figure; its band is kept with 24,000 cells.",
    ));
    figure.gates.push(kept("24000 cells", &results[1]));
    figure.gates.push(near("24000 cells", &means(&results[1].categories()), &TABLE_1[4].categories, QUEUEING_TOLERANCE));
    for (cells, results) in BUFFERS.iter().zip(&results) {
        figure.gates.push(Gate::at_least(format!("{cells} cells: total"), "of what TCP can get", results.total().mean / TCP_SHARE, 0.9));
    }
    figure
}

/// The results of the eight options here.
const TABLE_1: [Measured; 8] = [
    Measured { categories: [3.13, 1.68, 1.01, 0.83, 0.56], tagged: [0.0; 5] },
    Measured { categories: [2.79, 1.46, 0.94, 0.82, 0.75], tagged: [0.0; 5] },
    Measured { categories: [3.11, 1.57, 1.01, 0.85, 0.59], tagged: [0.943, 0.913, 0.890, 0.876, 0.841] },
    Measured { categories: [2.68, 1.41, 1.06, 0.84, 0.70], tagged: [0.942, 0.919, 0.900, 0.877, 0.848] },
    Measured { categories: [1.10, 1.08, 1.04, 1.04, 1.00], tagged: [0.0; 5] },
    Measured { categories: [1.06, 1.04, 1.04, 1.03, 1.03], tagged: [0.0; 5] },
    Measured { categories: [1.21, 1.18, 1.10, 1.03, 0.91], tagged: [0.209, 0.190, 0.160, 0.141, 0.112] },
    Measured { categories: [1.06, 1.04, 1.04, 1.03, 1.03], tagged: [0.121, 0.096, 0.083, 0.077, 0.071] },
];

pub(super) fn table_1(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "table-1");
    figure.notes.splice(0..0, notes());
    figure.note(&[&format!("A guarantee counts as kept if every category gets {} to {} of its target.", KEPT.0, KEPT.1)]);
    figure.note(&[
        "Accounting is weighted buffer allocation with R = K/2; tagging alone goes with thresholds for tagged and untagged frames (5 and 9 tenths), nothing with \
         early packet discard (9 tenths). K is 24,000 cells.",
    ]);
    let results = options(Hosts::Paper, progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    for ((mechanisms, results), published) in Mechanisms::ALL.into_iter().zip(&results).zip(VERDICTS) {
        if let Some(published) = published {
            let found = f64::from(u8::from(kept("", results).passed()));
            let expected = f64::from(u8::from(published));
            figure.gates.push(Gate::exactly(
                format!("{}: guarantees are kept (1) or not (0)", mechanisms.name()),
                "",
                vec![found],
                &[expected],
            ));
        }
    }
    for ((mechanisms, results), expected) in Mechanisms::ALL.into_iter().zip(&results).zip(&TABLE_1) {
        let name = mechanisms.name();
        let tolerance = if mechanisms.queueing { QUEUEING_TOLERANCE } else { FIFO_TOLERANCE };
        figure.gates.push(near(&name, &means(&results.categories()), &expected.categories, tolerance));
        if mechanisms.tagging {
            figure.gates.push(tagged_share(&name, results, &expected.tagged));
            figure.gates.push(protected(&name, results));
        }
    }
    for (with, without, most) in [(3, 1, 0.1), (7, 5, 0.5)] {
        let [of, beside] = [with, without].map(|option: usize| Mechanisms::ALL[option].name());
        let [protected, alike] = [with, without].map(|option: usize| results[option].lost_percent()[1]);
        figure.gates.push(Gate::at_most(
            format!("{of}: lost of untagged cells, of what {beside} loses of them"),
            "",
            protected / alike,
            most,
        ));
    }
    figure.tables.push(verdict_table("What each category got of its target", &results, true));
    let names = Mechanisms::ALL.map(Mechanisms::name);
    figure.charts.push(categories_chart(&names, &results, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    figure
}
