//! Two conflicts of processor shares: how much input gets, and how long a process runs: the question of Figures 3.20 and 3.21.

use super::systems::{Build, OURS, System, point, shares};
use super::trials::{Case, Extent, by_point, figure, kept, mean, quantile, run_all, total};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_router::{Machine, RouterOutcome};

const WEIGHTS: [f64; 6] = [0.5, 1.0, 2.0, 3.0, 4.0, 8.0];
const LOADS: [f64; 3] = [60e3, 120e3, 200e3];
const BATCHES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Every weight of the input process at every load of the third flow.
fn balance_points(extent: Extent, progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let machine = |weight: f64| Machine { kernel: shares(8, weight), ..Build::Shares.machine(System::One) };
    let cases: Vec<Case> = LOADS
        .iter()
        .flat_map(|&third| WEIGHTS.iter().flat_map(move |&weight| point(&machine(weight), System::One, third, extent)))
        .collect();
    by_point(run_all(&cases, progress), extent.seeds)
}

/// Totals fall with the weight; protection is best between.
fn balance_gates(points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let mut gates = Vec::new();
    for (row, third) in points.chunks(WEIGHTS.len()).zip(LOADS) {
        let totals: Vec<f64> = row.iter().map(|outcomes| mean(outcomes, total)).collect();
        let rise = totals.windows(2).map(|pair| pair[1] / pair[0]).fold(0.0, f64::max);
        let name = format!("balance, {:.0} kpps: total from one weight of input to the next", third / 1e3);
        gates.push(Gate::at_most(name, "of the one before", rise, 1.005));
        if third > 60e3 {
            let keeps: Vec<f64> = row.iter().map(|outcomes| mean(outcomes, |outcome| kept(outcome, 0))).collect();
            let best = keeps.iter().copied().fold(0.0, f64::max);
            let name = format!("balance, {:.0} kpps: flow 1 keeps at the least weight", third / 1e3);
            gates.push(Gate::at_most(name, "of the best weight", keeps[0] / best, 0.7));
        }
    }
    gates
}

/// Batches under the guard at 1.5 times the capacity.
pub fn batch_points(batches: &[u32], extent: Extent, progress: &dyn Fn(f64)) -> Vec<Vec<RouterOutcome>> {
    let machine = |batch: u32| Machine { kernel: shares(batch, 1.0), ..Build::Guarded.machine(System::One) };
    let cases: Vec<Case> = batches.iter().flat_map(|&batch| point(&machine(batch), System::One, 60e3, extent)).collect();
    by_point(run_all(&cases, progress), extent.seeds)
}

/// Longer batches forward more and delay more.
pub fn batch_gates(points: &[Vec<RouterOutcome>]) -> Vec<Gate> {
    let of = |of: &dyn Fn(&RouterOutcome) -> f64| points.iter().map(|outcomes| mean(outcomes, of)).collect::<Vec<f64>>();
    let (totals, delays) = (of(&total), of(&|outcome| quantile(outcome, 0, 0.99)));
    let least_step = |values: &[f64]| values.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
    let whole = |values: &[f64]| values.last().zip(values.first()).map_or(0.0, |(last, first)| last / first);
    vec![
        Gate::at_least("batch: total from one batch to the next", "of the one before", least_step(&totals), 1.0),
        Gate::at_least("batch: 99 % quantile from one batch to the next", "of the one before", least_step(&delays), 1.0),
        Gate::at_least("batch: total of the longest", "of batches of one", whole(&totals), 1.10),
        Gate::at_least("batch: 99 % quantile of the longest", "of batches of one", whole(&delays), 3.0),
    ]
}

/// Both conflicts.
pub fn conflicts(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("shares", "Two conflicts of processor shares", "Figures 3.20 and 3.21");
    figure.paper_says(&["Shares of the processor need a balance between input and flows, and a compromise between throughput and delay."]);
    figure.note(&[
        OURS,
        "A small weight of input: the interface drops without regard to flows. A large one: input receives packets that die in the queues of flows.",
        "With a receive channel per flow, under the guard, there is no input process and no such conflict.",
        "System one, flows 1 and 2 at 15 kpps, means of three seeds; batches at 60 kpps of flow 3, under the guard.",
    ]);
    let balance = balance_points(Extent::FULL, &|done| progress(0.6 * done));
    let batches = batch_points(&BATCHES, Extent::FULL, &|done| progress(0.6 + 0.4 * done));
    figure.gates.extend(balance_gates(&balance));
    figure.gates.extend(batch_gates(&batches));
    let cell =
        |outcomes: &Vec<RouterOutcome>| format!("{:.1} / {:.0}", mean(outcomes, total), 100.0 * mean(outcomes, |outcome| kept(outcome, 0)));
    let row = |(outcomes, third): (&[Vec<RouterOutcome>], f64)| {
        std::iter::once(format!("{:.0} kpps", third / 1e3)).chain(outcomes.iter().map(cell)).collect()
    };
    let weights: Vec<String> = WEIGHTS.iter().map(|weight| format!("weight {weight}")).collect();
    let mut head = vec!["flow 3"];
    head.extend(weights.iter().map(String::as_str));
    let rows = balance.chunks(WEIGHTS.len()).zip(LOADS).map(row).collect();
    figure.tables.push(Table::new("Total kpps / flow 1 keeps %", &head, rows));
    let row = |(batch, outcomes): (u32, &Vec<RouterOutcome>)| {
        let (total, delay) = (mean(outcomes, total), mean(outcomes, |outcome| quantile(outcome, 0, 0.99)));
        vec![batch.to_string(), format!("{total:.1}"), format!("{delay:.0}")]
    };
    let rows = BATCHES.into_iter().zip(&batches).map(row).collect();
    figure.tables.push(Table::new("Batches", &["batch", "total kpps", "flow 1 p99 us"], rows));
    let panel = |name: &str, of: &dyn Fn(&RouterOutcome) -> f64| {
        let curve = |(outcomes, third): (&[Vec<RouterOutcome>], f64)| {
            let mut curve = Curve::new(format!("flow 3 at {:.0} kpps", third / 1e3));
            WEIGHTS.iter().zip(outcomes).for_each(|(weight, outcomes)| curve.push(*weight, mean(outcomes, of)));
            curve
        };
        Panel { name: name.to_owned(), curves: balance.chunks(WEIGHTS.len()).zip(LOADS).map(curve).collect() }
    };
    let panels = vec![panel("forwarded in all (kpps)", &total), panel("flow 1 keeps (%)", &|outcome| 100.0 * kept(outcome, 0))];
    let (x, y) = (Axis::logarithmic("weight of the input process"), Axis::linear("kpps, percent"));
    figure.charts.push(Chart { id: "balance", title: "Input against flows".to_owned(), x, y, steps: false, panels });
    figure
}
