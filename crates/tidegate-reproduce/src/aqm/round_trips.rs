//! Connections of different round-trip times: what one queue gives each, and a queue per flow.

use super::bottleneck::Discipline;
use super::network::{Case, Results, Sender, run_all};
use super::report::{figure, table};
use crate::figure::{Figure, Gate};
use tidegate_core::registry::AqmKind;
use tidegate_sim::tcp::CongestionKind;

const ROUND_TRIPS: [u64; 4] = [20, 50, 100, 200];

fn cases() -> Vec<Case> {
    let disciplines = [
        Discipline::one("codel", AqmKind::CoDel),
        Discipline::per_flow("fq-codel", AqmKind::CoDel),
        Discipline::one("pie", AqmKind::Pie),
        Discipline::per_flow("fq-pie", AqmKind::Pie),
    ];
    let senders = ROUND_TRIPS.map(|round_trip| Sender::new(CongestionKind::Reno, round_trip)).to_vec();
    disciplines.iter().map(|discipline| Case::new(discipline, 10, senders.clone())).collect()
}

fn gates(results: &[Results]) -> Vec<Gate> {
    let mut gates = Vec::new();
    for (result, model) in results.iter().zip([[4.6, 2.92, 1.57, 0.85], [3.05, 2.58, 2.27, 1.93]]) {
        gates.push(Gate::near(format!("{}: rates", result.case.discipline.name), "Mbit/s", result.rates(), &model, 0.2));
    }
    let spread = |result: &Results| result.flows[0].megabits / result.flows[3].megabits;
    let wider = results.chunks(2).map(|pair| spread(&pair[0]) / spread(&pair[1])).collect();
    gates.push(Gate::all_at_least("codel, pie: spread of rates in one queue", "of that in a queue per flow", wider, 2.5));
    gates.push(Gate::all_at_least("utilisation", "of the link", results.iter().map(|result| result.utilisation).collect(), 0.97));
    gates
}

/// Four connections.
pub fn round_trips(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&cases(), progress);
    let title = "Four Reno connections of 20, 50, 100 and 200 ms, 10 Mbit/s";
    let mut figure = figure("round-trips", title, "RFC 8290, section 3");
    figure.paper_says(&["A queue per flow gives each backlogged flow the same share of bytes, whatever its round-trip time is."]);
    figure.note(&[
        "The bands of rates are a fifth around those of the model. A connection of 200 ms cannot fill its share at a target of 5 ms, and the others \
         use what it leaves.",
        "Means of three seeds, 60 s each.",
    ]);
    figure.gates = gates(&results);
    figure.tables.push(table("Four connections", &results));
    figure
}
