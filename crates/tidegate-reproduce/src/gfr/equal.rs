//! Figure 3: equal shares by selective drop, and the settings that bring the farthest source closer to the mean.

use super::network::{CLOCK, Case, Clock, Results};
use super::report::{add_bounds, notes, run_all, with_interval};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::prose;

/// The paper's band of every source's throughput around the mean.
const WITHIN: f64 = 0.2;

/// A run, and the bands of its measurements here, from the lowest to the highest.
struct Run {
    sources: usize,
    /// The paper's throughput of a source, in Mbit/s.
    rate: f64,
    cells: u32,
    /// The mean throughput and its standard deviation, relative to that rate.
    mean: [f64; 2],
    deviation: [f64; 2],
    /// The largest relative deviation of a source from the mean of its run.
    farthest: [f64; 2],
}

const RUNS: [Run; 4] = [
    Run { sources: 15, rate: 8.2, cells: 12_000, mean: [0.99, 1.03], deviation: [0.13, 0.25], farthest: [0.3, 0.6] },
    Run { sources: 15, rate: 8.2, cells: 24_000, mean: [0.99, 1.03], deviation: [0.16, 0.3], farthest: [0.42, 0.85] },
    Run { sources: 50, rate: 2.5, cells: 12_000, mean: [0.98, 1.02], deviation: [0.05, 0.09], farthest: [0.2, 0.3] },
    Run { sources: 50, rate: 2.5, cells: 24_000, mean: [0.98, 1.02], deviation: [0.07, 0.13], farthest: [0.24, 0.5] },
];

pub(super) fn figure_3(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "figure-3");
    figure.notes.splice(0..0, notes());
    let cases = RUNS.map(|run| Case::equal(run.sources, run.cells));
    let results = run_all(&cases, progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let mut rows = Vec::new();
    let mut curves = ["mean", "mean and deviation", "mean less deviation"].map(Curve::new);
    for (number, (run, results)) in RUNS.iter().zip(&results).enumerate() {
        let rate = run.rate;
        let (mean, deviation, farthest) = (results.mean(rate), results.deviation(rate), results.farthest());
        let name = format!("{} sources, {} cells", run.sources, run.cells);
        let of = |what: &str, measured: f64, [low, high]: [f64; 2]| {
            Gate::between(format!("{name}: {what}"), "", vec![measured], Some(vec![low]), Some(vec![high]))
        };
        figure.gates.push(of(&format!("mean of what each got, of {rate} Mbit/s"), mean.mean, run.mean));
        figure.gates.push(of("standard deviation of that", deviation.mean, run.deviation));
        let published = Gate::at_most(format!("{name}: farthest source of a run"), "of the mean", farthest.mean, WITHIN);
        let [low, high] = run.farthest;
        figure.gates.push(published.not_reproduced(
            &[low],
            &[high],
            "It takes Z = 1 (figure-3-open); the paper gives no Z, and 0.8 is usual for selective drop.",
        ));
        for (curve, sign) in curves.iter_mut().zip([0.0, 1.0, -1.0]) {
            curve.push(number as f64 + 1.0, mean.mean + sign * deviation.mean);
        }
        rows.push([vec![name], spread(results, rate)].concat());
    }
    figure.tables.push(Table::new("What the sources got", &["run", "total Mbit/s", "mean", "deviation", "farthest", "Jain's index"], rows));
    let y = Axis::linear("throughput / 8.2 or 2.5 Mbit/s");
    figure.charts.push(Chart::new(
        "efficiency",
        "Mean and deviation of the four runs of the table, in its order",
        Axis::linear("run"),
        y,
        vec![Panel::new("", curves.into())],
    ));
    figure
}

/// Total, mean, deviation, farthest source and Jain's index.
fn spread(results: &Results, rate: f64) -> Vec<String> {
    vec![
        with_interval(results.total(), 1),
        with_interval(results.mean(rate), 3),
        with_interval(results.deviation(rate), 3),
        with_interval(results.farthest(), 3),
        with_interval(results.fairness(), 4),
    ]
}

/// The settings that the paper leaves open, one at a time, with 15 sources and 12,000 cells.
pub(super) fn open_settings(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "figure-3-open");
    figure.note(&[&format!(
        "15 sources, 12,000 cells, {OPEN_SEEDS} seeds; one setting at a time departs from Z = 0.8, R = 0.9 K, ticks of 100 ms, starts within 100 ms, 20 s."
    )]);
    let base = Case { seeds: OPEN_SEEDS, ..Case::equal(15, 12_000) };
    let with_clock = |tick, start_within| Case { clock: Clock { tick, start_within }, ..base.clone() };
    let settings = [
        ("as in figure-3", base.clone()),
        ("Z = 0.5", Case { scaling: 50, ..base.clone() }),
        ("Z = 1", Case { scaling: 100, ..base.clone() }),
        ("R = 0.5 K", Case { threshold: Some(50), ..base.clone() }),
        ("R = 0.7 K", Case { threshold: Some(70), ..base.clone() }),
        ("R = 0.5 K, Z = 0.5", Case { threshold: Some(50), scaling: 50, ..base.clone() }),
        ("ticks of 10 ms", with_clock(10, CLOCK.start_within)),
        ("ticks of 500 ms", with_clock(500, CLOCK.start_within)),
        ("all start at once", with_clock(CLOCK.tick, 0)),
        ("starts within 2 s", with_clock(CLOCK.tick, 2000)),
        ("60 s", Case { seconds: 60, ..base.clone() }),
    ];
    let (names, cases): (Vec<_>, Vec<_>) = settings.into_iter().unzip();
    let results = run_all(&cases, progress);
    results.iter().for_each(|results| add_bounds(&mut figure, "", results));
    let rows = names.iter().zip(&results).map(|(name, results)| [vec![(*name).to_owned()], spread(results, 8.2)].concat()).collect();
    figure.gates.push(Gate::at_most("Z = 1: farthest source of a run", "of the mean", results[2].farthest().mean, WITHIN));
    let others = results.iter().zip(&cases).filter(|(_, case)| case.scaling != 100).map(|(results, _)| results.farthest().mean).collect();
    figure.gates.push(Gate::all_at_least("every other setting: farthest source of a run", "of the mean", others, 0.25));
    let deviations = vec![results[1].deviation(8.2).mean, results[0].deviation(8.2).mean, results[2].deviation(8.2).mean];
    let (low, high) = (vec![0.2, 0.13, 0.05], vec![0.4, 0.26, 0.11]);
    figure.gates.push(Gate::between("Z = 0.5, 0.8 and 1: standard deviation", "of 8.2 Mbit/s", deviations, Some(low), Some(high)));
    figure.tables.push(Table::new(
        "One setting at a time",
        &["setting", "total Mbit/s", "mean", "deviation", "farthest", "Jain's index"],
        rows,
    ));
    figure
}

/// Seeds per setting, enough for differences of more than a few percent.
const OPEN_SEEDS: u32 = 4;
