//! How much of the machine a model needs: Figures 3.9 to 3.11.

use super::systems::{OURS, between};
use super::trials::{Case, figure, poisson, run_all};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_core::units::Duration;
use tidegate_router::{Fidelity, Machine, RouterOutcome, Trial, Variation};
use tidegate_sim::Histogram;

/// The models that are compared with the one per function, which stands for the system.
const MODELS: [&str; 5] =
    ["per level, another seed", "columns drawn one by one", "without noise", "single queue with entries", "single queue"];

const LOADS: [f64; 4] = [10e3, 20e3, 28e3, 32e3];

fn case(model: Option<usize>, load: f64, milliseconds: u64) -> Case {
    // A common part of 0.3 makes the correlation of the stages visible.
    let variation = match model {
        Some(1) => Variation::Lognormal { common: 0.316, own: 0.0, independent: true },
        _ => Variation::Lognormal { common: 0.3, own: 0.1, independent: false },
    };
    let system = Machine::system_one();
    let noise = if model == Some(2) { Vec::new() } else { system.noise.clone() };
    let fidelity = match model {
        None => Fidelity::Function,
        Some(3) => Fidelity::SingleQueue { entries: true },
        Some(4) => Fidelity::SingleQueue { entries: false },
        Some(_) => Fidelity::Level,
    };
    let seed = if model.is_none() { 1 } else { 2 };
    let trial =
        Trial { warm_up: Duration::from_milliseconds(100), fidelity, ..Trial::new(Duration::from_milliseconds(milliseconds), seed) };
    Case { machine: Machine { variation, noise, ..system }, flows: vec![poisson("flow", load, 512, 0, Some(1))], trial }
}

/// The greatest difference between two distributions (Kolmogorov and Smirnov), at the ends of the histograms' buckets.
fn distance(one: &Histogram, other: &Histogram) -> f64 {
    let ends = [one.tail().0, other.tail().0].concat();
    let limits = ends.into_iter().map(|seconds| (seconds * 1e12 + 0.5) as u64);
    limits.map(|limit| (one.share_beyond(limit) - other.share_beyond(limit)).abs()).fold(0.0, f64::max)
}

/// The distances of the models at each load, and the outcomes, the system's first.
pub fn distances(loads: &[f64], milliseconds: u64, progress: &dyn Fn(f64)) -> Vec<([f64; 5], Vec<RouterOutcome>)> {
    let of_load = |&load: &f64| {
        let models = (0..MODELS.len()).map(Some);
        std::iter::once(None).chain(models).map(move |model| case(model, load, milliseconds))
    };
    let cases: Vec<Case> = loads.iter().flat_map(of_load).collect();
    let outcomes = run_all(&cases, progress);
    let compared = |outcomes: &[RouterOutcome]| {
        let delays: Vec<&Histogram> = outcomes.iter().map(|outcome| &outcome.flows[0].delays).collect();
        let distances = std::array::from_fn(|model| distance(delays[0], delays[model + 1]));
        (distances, outcomes.to_vec())
    };
    outcomes.chunks(MODELS.len() + 1).map(compared).collect()
}

/// The gates on those distances.
pub fn gates(loads: &[f64], compared: &[([f64; 5], Vec<RouterOutcome>)]) -> Vec<Gate> {
    let of = |model: usize| compared.iter().map(|(distances, _)| distances[model]).collect::<Vec<f64>>();
    let limits = |limit: f64| Some(vec![limit; loads.len()]);
    let mut gates = vec![
        Gate::between("F3.9: model per level, another seed", "KS", of(0), None, limits(0.05)),
        Gate::between("F3.11: single queue with entries", "KS", of(3), limits(0.10), None),
        Gate::between("F3.11: single queue", "KS", of(4), limits(0.5), None),
    ];
    if loads[0] == 10e3 {
        gates.push(between("F3.10: columns drawn one by one, at 10 kpps", "KS", of(1)[0], 0.10, 1.0));
    }
    gates
}

/// Figures 3.9 to 3.11.
pub fn fidelity(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure("fidelity", "How much of the machine a model needs", "Figures 3.9 to 3.11");
    figure.paper_says(&[
        "A station per level is as good as one per function; a single queue is not. The costs of one packet are correlated.",
    ]);
    figure.note(&[
        OURS,
        "The model per function stands for the system. Functions of a level run back to back, so a station per level departs alike to the picosecond with \
         one seed; here it has another.",
        "KS is the greatest difference between the distributions of delays. Between two seeds it is about 0.01 to 0.02.",
        "System one, interrupts, one flow of Poisson arrivals for 1 s, costs with a common deviation of 0.3 and own ones of 0.1.",
    ]);
    let compared = distances(&LOADS, 1000, progress);
    figure.gates = gates(&LOADS, &compared);
    let row = |(model, name): (usize, &str)| {
        let cells = compared.iter().map(|(distances, _)| format!("{:.3}", distances[model]));
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let head = ["model", "10 kpps", "20 kpps", "28 kpps", "32 kpps"];
    figure.tables.push(Table::new("KS distance from the model per function", &head, MODELS.into_iter().enumerate().map(row).collect()));
    let panel = |(load, (_, outcomes)): (f64, &([f64; 5], Vec<RouterOutcome>))| {
        let names = std::iter::once("per function").chain(MODELS);
        let curve = |(name, outcome): (&str, &RouterOutcome)| {
            let (x, y) = outcome.flows[0].delays.tail();
            Curve { x: x.into_iter().map(|seconds| seconds * 1e6).collect(), y, ..Curve::new(name) }
        };
        Panel { name: format!("{:.0} kpps", load / 1e3), curves: names.zip(outcomes).map(curve).collect() }
    };
    let panels = LOADS.into_iter().zip(&compared).map(panel).collect();
    let (x, y) = (Axis::logarithmic("delay (us)"), Axis::logarithmic("part of the packets that are later"));
    figure.charts.push(Chart { id: "delays", title: "Delays by model".to_owned(), x, y, steps: false, panels });
    figure
}
