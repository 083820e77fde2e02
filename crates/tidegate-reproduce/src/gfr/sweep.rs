//! What the paper tried without giving figures: the threshold R, and low load.

use super::network::{CATEGORIES, Case, Mechanisms, Results};
use super::report::{BUFFERS, add_bounds, categories_chart, category_heads, category_row, means, notes, run_all};
use crate::figure::{Axis, Figure, Gate, Table};
use crate::prose;

/// The thresholds tried, in percent of the buffer.
const THRESHOLDS: [u64; 5] = [10, 25, 50, 75, 90];

/// The total at each threshold, in Mbit/s: a low threshold costs throughput.
const TOTALS: [f64; 5] = [113.7, 120.2, 123.9, 124.1, 124.1];

/// Weighted buffer allocation with tags, by its threshold.
pub(super) fn thresholds(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "thresholds");
    figure.notes = notes();
    let case = |threshold| Case { threshold: Some(threshold), ..Case::unequal(Mechanisms::new(true, true, false), BUFFERS[0]) };
    let results = run_all(&THRESHOLDS.map(case), progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let names = THRESHOLDS.map(|threshold| format!("R = 0.{threshold:02} K"));
    let rows = names.iter().zip(&results).map(|(name, results)| {
        let mut row = category_row(name, results);
        row.push(format!("{:.3}", distance(results)));
        row
    });
    let mut head = category_heads("threshold");
    head.push("distance from the targets".into());
    figure.tables.push(Table { title: "What each category got of its target, 12,000 cells".into(), head, rows: rows.collect() });
    figure.charts.push(categories_chart(&names, &results, Axis::linear("target (Mbit/s)"), &CATEGORIES));
    let distances: Vec<f64> = results.iter().map(distance).collect();
    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let name = "distance from the targets at R = 0.5 K, of the least over all thresholds";
    figure.gates.push(Gate::at_most(name, "", distances[2] / least, 1.0).not_reproduced(
        &[1.001],
        &[1.25],
        "The thresholds differ by less than the seeds do: no threshold is best, and the lowest ones cost throughput.",
    ));
    let totals = results.iter().map(|results| results.total().mean).collect();
    figure.gates.push(Gate::near("total at each threshold, as measured here before", "Mbit/s", totals, &TOTALS, 0.015));
    figure
}

/// The root mean square of the relative distances of the categories from their targets.
fn distance(results: &Results) -> f64 {
    let squares: Vec<f64> = means(&results.categories()).iter().map(|part| (part - 1.0).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// The parts of the link that are guaranteed, in percent of the paper's targets.
const LOADS: [u64; 4] = [25, 50, 75, 100];

/// Accounting alone, and no mechanism, by the part of the link that is guaranteed; sources are endless.
pub(super) fn utilisation(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "utilisation");
    figure.notes.splice(0..0, notes());
    let options = [Mechanisms::new(true, false, false), Mechanisms::new(false, false, false)];
    let runs: Vec<(Mechanisms, u64)> = options.iter().flat_map(|&option| LOADS.map(|load| (option, load))).collect();
    let case = |&(mechanisms, load): &(Mechanisms, u64)| {
        let case = Case::unequal(mechanisms, 24_000);
        Case { targets: case.targets.iter().map(|target| target * load as f64 / 100.0).collect(), seeds: 4, ..case }
    };
    let results = run_all(&runs.iter().map(case).collect::<Vec<_>>(), progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let names: Vec<String> = runs.iter().map(|(mechanisms, load)| format!("{}, {load} % of the targets", mechanisms.name())).collect();
    let rows = names.iter().zip(&results).map(|(name, results)| category_row(name, results)).collect();
    figure.tables.push(Table { title: "What each category got of its minimum rate".into(), head: category_heads("option"), rows });
    figure.charts.push(categories_chart(&names, &results, Axis::linear("target at 100 % (Mbit/s)"), &CATEGORIES));
    let least: Vec<f64> = results.iter().map(|results| means(&results.categories()).into_iter().fold(f64::INFINITY, f64::min)).collect();
    let (accounting, nothing) = least.split_at(LOADS.len());
    let low = accounting[..2].to_vec();
    figure.gates.push(Gate::all_at_least("A-- with 25 and 50 % guaranteed: the category that gets least", "of its minimum rate", low, 1.0));
    let (low, high) = (Some(vec![0.7, 0.6]), Some(vec![0.97, 0.9]));
    let name = "A-- with 75 and 100 % guaranteed: the category that gets least";
    figure.gates.push(Gate::between(name, "of its minimum rate", accounting[2..].to_vec(), low, high));
    let more = accounting.iter().zip(nothing).map(|(accounting, nothing)| accounting / nothing).collect();
    figure.gates.push(Gate::all_at_least("what that category gets with accounting, of what it gets without", "", more, 1.05));
    figure
}
