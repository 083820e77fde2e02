//! A queue per flow: a call beside downloads, and marks for senders that keep delays low.

use super::bottleneck::Discipline;
use super::network::{Case, Results, Sender, Stream, run_all};
use super::report::{figure, table};
use crate::figure::{Figure, Gate, Table};
use tidegate_core::aqm::AqmParameters;
use tidegate_core::registry::AqmKind;
use tidegate_core::units::Duration;
use tidegate_sim::tcp::{CongestionKind, EcnMode};

/// Connections beside the call, whose number is also the place of the call among the flows.
const DOWNLOADS: usize = 8;

fn call_cases() -> Vec<Case> {
    let disciplines = [
        Discipline::per_flow("fq-codel", AqmKind::CoDel),
        Discipline::per_flow("fq-pie", AqmKind::Pie),
        Discipline::one("codel", AqmKind::CoDel),
        Discipline::one("pie", AqmKind::Pie),
        Discipline::tail_drop("tail drop, 1000 packets", 1000),
    ];
    let case = |discipline: &Discipline| Case {
        streams: vec![Stream { rate: 100, length: 250 }],
        ..Case::new(discipline, 10, vec![Sender::new(CongestionKind::Cubic, 40); DOWNLOADS])
    };
    disciplines.iter().map(case).collect()
}

fn call_gates(results: &[Results]) -> Vec<Gate> {
    let [fq_codel, fq_pie, codel, pie, tail_drop] = results else { return Vec::new() };
    let packets = |result: &Results| result.delay_of(DOWNLOADS, 0.99) / 1.2;
    let lost = |result: &Results| result.flows[DOWNLOADS].dropped as f64;
    let fair = [fq_codel, fq_pie].iter().flat_map(|result| result.rates()[..DOWNLOADS].to_vec()).collect();
    vec![
        Gate::all_at_most(
            "a queue per flow: 99 % of the call's delay",
            "packets of the link",
            vec![packets(fq_codel), packets(fq_pie)],
            4.0,
        ),
        Gate::exactly("a queue per flow: packets of the call that are dropped", "packets", vec![lost(fq_codel), lost(fq_pie)], &[0.0; 2]),
        Gate::near("a queue per flow: downloads", "Mbit/s", fair, &[9.9 / 8.0; 2 * DOWNLOADS], 0.02),
        Gate::all_at_most(
            "one queue, codel and pie: 99 % of the call's delay",
            "ms",
            vec![codel.delay_of(DOWNLOADS, 0.99), pie.delay_of(DOWNLOADS, 0.99)],
            50.0,
        ),
        Gate::at_least("tail drop: median of the call's delay", "ms", tail_drop.delay_of(DOWNLOADS, 0.5), 500.0),
        Gate::all_at_least("utilisation", "of the link", results.iter().map(|result| result.utilisation).collect(), 0.99),
    ]
}

/// A call.
pub fn call(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&call_cases(), progress);
    let title = "A call of 100 kbit/s beside eight CUBIC downloads, 10 Mbit/s, 40 ms";
    let mut figure = figure("call", title, "RFC 8290, sections 1.3 and 4.2");
    figure.paper_says(&["A flow that sends less than its share goes before flows that have used up a turn, so its packets hardly wait."]);
    figure.note(&["A packet of 1500 bytes takes 1.2 ms. Means of three seeds, 60 s each."]);
    figure.gates = call_gates(&results);
    figure.tables.push(table("Downloads", &results));
    let row = |result: &Results| {
        let delays = [0.5, 0.99, 0.999].map(|part| format!("{:.2}", result.delay_of(DOWNLOADS, part)));
        [vec![result.case.discipline.name.to_owned()], delays.to_vec(), vec![result.flows[DOWNLOADS].dropped.to_string()]].concat()
    };
    figure.tables.push(Table::new("The call", &["queue", "delay p50 (ms)", "p99", "p99.9", "dropped"], results.iter().map(row).collect()));
    figure
}

fn low_latency_cases() -> Vec<Case> {
    let plain = Discipline::per_flow("fq-codel", AqmKind::CoDel);
    let threshold = AqmParameters { ce_threshold: Some(Duration::from_milliseconds(1)), ..AqmParameters::default() };
    let low = plain.clone().with(threshold).named("fq-codel, marks above 1 ms");
    let cubic = Sender::new(CongestionKind::Cubic, 80);
    let dctcp = Sender { delays_ack: true, ..Sender::new(CongestionKind::Dctcp, 1).marked(EcnMode::Dctcp) };
    let cases = [
        Case::new(&plain, 100, vec![cubic]),
        Case::new(&plain, 100, vec![cubic.marked(EcnMode::Classic)]),
        Case::new(&low, 100, vec![dctcp]),
        Case::new(&low, 100, vec![dctcp; 2]),
    ];
    cases.map(|case| Case { seeds: 1, ..case }).to_vec()
}

fn low_latency_gates(results: &[Results]) -> Vec<Gate> {
    let [cubic, marked, dctcp, two] = results else { return Vec::new() };
    let median = |result: &Results| result.delay(0.5);
    let marks = |result: &Results| result.marked as f64 / (10 * result.case.seconds) as f64;
    let lost = [marked, dctcp, two].map(|result| (result.early + result.full) as f64);
    vec![
        Gate::all_at_most("one CUBIC: 95 % of the delay, without and with ECN", "ms", vec![cubic.delay(0.95), marked.delay(0.95)], 5.0),
        Gate::exactly("with ECN: drops of one CUBIC, one DCTCP, two DCTCP", "packets", lost.to_vec(), &[0.0; 3]),
        Gate::all_at_least("one DCTCP, two: utilisation", "of the link", vec![dctcp.utilisation, two.utilisation], 0.98),
        Gate::between(
            "one DCTCP, two: median of the delay",
            "ms",
            vec![median(dctcp), median(two)],
            Some(vec![0.5; 2]),
            Some(vec![1.2; 2]),
        ),
        Gate::near("one DCTCP: marks per 100 ms", "packets", vec![marks(dctcp)], &[160.0], 0.2),
        Gate::between("two DCTCP: marks per 100 ms", "packets", vec![marks(two)], Some(vec![150.0]), Some(vec![250.0])),
        Gate::near("two DCTCP: rates", "Mbit/s", two.rates(), &[50.0; 2], 0.02),
    ]
}

/// Marks for low latency.
pub fn low_latency(progress: &dyn Fn(f64)) -> Figure {
    let results = run_all(&low_latency_cases(), progress);
    let title = "FQ-CoDel, 100 Mbit/s: CUBIC over 80 ms, and DCTCP over 1 ms with marks above 1 ms";
    let mut figure = figure("marks", title, "the example fqcodel-l4s-example of ns-3");
    figure.paper_says(&[
        "One connection of 80 ms: a queue of less than 5 ms with spikes; with ECN no drops.",
        "One DCTCP of 1 ms: just below 100 Mbit/s, a queue of 0.5 to 1.2 ms, about 160 marks per 100 ms, no drops.",
        "Two DCTCP: equal rates, from 150 to below 250 marks per 100 ms.",
    ]);
    figure.note(&[
        "The example has BIC in place of CUBIC, and its drops depend on that. DCTCP's receivers delay acknowledgements, as in ns-3.",
        "One seed, 60 s each.",
    ]);
    figure.gates = low_latency_gates(&results);
    figure.tables.push(table("FQ-CoDel", &results));
    figure
}
