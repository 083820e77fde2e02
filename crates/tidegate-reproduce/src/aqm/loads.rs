//! Throughput against delay: the same loads under every AQM, from one connection to 64.

use super::bottleneck::Discipline;
use super::network::{Case, Results, Sender, Stream, run_all};
use super::report::figure;
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use tidegate_core::aqm::{AqmParameters, Probability, RedCurve};
use tidegate_core::registry::AqmKind;
use tidegate_core::units::Duration;
use tidegate_sim::tcp::{CongestionKind, EcnMode};

/// Numbers of connections.
const LOADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The round-trip times of connections, in turn, in milliseconds.
const ROUND_TRIPS: [u64; 3] = [40, 20, 80];
/// The rate of the link in Mbit/s.
const RATE: u64 = 20;

/// What is beside the connections of every load.
const CALL: Stream = Stream { rate: 100, length: 250 };

/// What the connections of a load are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// CUBIC whose packets cannot be marked.
    Drops,
    /// CUBIC with ECN.
    Marks,
    /// Every other one is Prague, the rest CUBIC without ECN.
    Mixed,
}

impl Kind {
    /// What charts call it.
    const fn name(self) -> &'static str {
        match self {
            Kind::Drops => "without ECN",
            Kind::Marks => "with ECN",
            Kind::Mixed => "half of them Prague",
        }
    }

    fn sender(self, number: usize) -> Sender {
        let round_trip = ROUND_TRIPS[number % ROUND_TRIPS.len()];
        let cubic = Sender { delays_ack: true, ..Sender::new(CongestionKind::Cubic, round_trip) };
        match self {
            Kind::Drops => cubic,
            Kind::Marks => cubic.marked(EcnMode::Classic),
            Kind::Mixed if number.is_multiple_of(2) => Sender { congestion: CongestionKind::Prague, ..cubic }.marked(EcnMode::L4s),
            Kind::Mixed => cubic,
        }
    }
}

/// Every AQM with its usual parameters, and none, with the kinds of loads that it is shown with.
fn shown() -> Vec<(Discipline, Vec<Kind>)> {
    let red = RedCurve { min: 15_000, max: 45_000, max_probability: Probability::from_millionths(100_000).unwrap_or_default() };
    let red = AqmParameters { curve: Some(red), ..AqmParameters::default() };
    let step = AqmParameters { ce_threshold: Some(Duration::from_milliseconds(5)), ..AqmParameters::default() };
    let both = vec![Kind::Drops, Kind::Marks];
    let one = |name, kind| (Discipline::one(name, kind), both.clone());
    vec![
        (Discipline::tail_drop("none", 500), vec![Kind::Drops]),
        one("codel", AqmKind::CoDel),
        one("cobalt", AqmKind::Cobalt),
        one("pie", AqmKind::Pie),
        (Discipline::one("red", AqmKind::Red).with(red), both.clone()),
        one("adaptive-red", AqmKind::AdaptiveRed),
        (Discipline::one("step", AqmKind::Step).with(step), vec![Kind::Marks]),
        (Discipline::per_flow("fq-codel", AqmKind::CoDel), both.clone()),
        (Discipline::per_flow("fq-pie", AqmKind::Pie), both.clone()),
        (Discipline::dual_pi2(), vec![Kind::Drops, Kind::Marks, Kind::Mixed]),
    ]
}

/// The loads of one AQM and kind.
struct Row {
    name: &'static str,
    kind: Kind,
    results: Vec<Results>,
}

impl Row {
    fn throughputs(&self) -> Vec<f64> {
        self.results.iter().map(|result| result.rates().iter().sum()).collect()
    }

    fn delays(&self) -> Vec<f64> {
        self.results.iter().map(|result| result.delay(0.99)).collect()
    }

    /// Of the flow that is to wait little: the call, or a Prague connection.
    fn short_delays(&self) -> Vec<f64> {
        let flow = |result: &Results| if self.kind == Kind::Mixed { 0 } else { result.flows.len() - 1 };
        self.results.iter().map(|result| result.delay_of(flow(result), 0.99)).collect()
    }
}

fn rows(loads: &[usize], seconds: u64, progress: &dyn Fn(f64)) -> Vec<Row> {
    let kinds: Vec<(Discipline, Kind)> =
        shown().into_iter().flat_map(|(discipline, kinds)| kinds.into_iter().map(move |kind| (discipline.clone(), kind))).collect();
    let case = |(discipline, kind): &(Discipline, Kind), &load: &usize| {
        let senders = (0..load).map(|number| kind.sender(number)).collect();
        Case { seconds, seeds: 1, streams: vec![CALL], ..Case::new(discipline, RATE, senders) }
    };
    let cases: Vec<Case> = kinds.iter().flat_map(|shown| loads.iter().map(move |load| case(shown, load))).collect();
    let results = run_all(&cases, progress);
    let row = |((discipline, kind), results): (&(Discipline, Kind), &[Results])| Row {
        name: discipline.name,
        kind: *kind,
        results: results.to_vec(),
    };
    kinds.iter().zip(results.chunks(loads.len())).map(row).collect()
}

/// A panel per AQM.
fn panels(rows: &[Row], loads: &[usize], of: &dyn Fn(&Row) -> Vec<f64>) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for row in rows {
        let (x, y) = (loads.iter().map(|&load| load as f64).collect(), of(row));
        let curve = Curve { x, y, ..Curve::new(row.kind.name()) };
        match panels.last_mut() {
            Some(panel) if panel.name == row.name => panel.curves.push(curve),
            _ => panels.push(Panel::new(row.name, vec![curve])),
        }
    }
    panels
}

/// A row per AQM and kind, a column per load.
fn table(title: &str, rows: &[Row], loads: &[usize], of: &dyn Fn(&Row) -> Vec<f64>) -> Table {
    let heads: Vec<String> = loads.iter().map(usize::to_string).collect();
    let head: Vec<&str> = ["queue", "connections"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let row = |row: &Row| {
        let values = of(row).into_iter().map(|value| format!("{value:.1}"));
        [row.name.to_owned(), row.kind.name().to_owned()].into_iter().chain(values).collect()
    };
    Table::new(title, &head, rows.iter().map(row).collect())
}

/// What every AQM keeps of throughput and delay under these loads.
fn gates(rows: &[Row], loads: &[usize]) -> Vec<Gate> {
    let of = |name: &str, of: &dyn Fn(&Row) -> Vec<f64>| -> Vec<f64> { rows.iter().filter(|row| row.name == name).flat_map(of).collect() };
    let most = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
    let largest = |names: &[&str], what: &dyn Fn(&Row) -> Vec<f64>| names.iter().map(|name| most(of(name, what))).collect::<Vec<_>>();
    let from_two = |row: &Row| -> Vec<f64> {
        row.throughputs().into_iter().zip(loads).filter(|(_, load)| **load > 1).map(|(value, _)| value / RATE as f64).collect()
    };
    let least = |row: &Row| from_two(row).into_iter().fold(1.0, f64::min);
    let few = |row: &Row| -> Vec<f64> {
        row.short_delays().into_iter().zip(loads).filter(|(_, load)| **load <= 32).map(|(value, _)| value).collect()
    };
    let prague = |row: &Row| if row.kind == Kind::Mixed { few(row) } else { Vec::new() };
    let full = rows.iter().filter(|row| row.name != "step").map(least).collect();
    let delays = &Row::delays;
    vec![
        Gate::all_at_least("least throughput of two connections or more, all but the step", "of the link", full, 0.95),
        Gate::at_least("step: the same", "of the link", rows.iter().filter(|row| row.name == "step").map(least).fold(1.0, f64::min), 0.85),
        Gate::at_least("none: least 99 % of the delay", "ms", of("none", delays).into_iter().fold(f64::MAX, f64::min), 280.0),
        Gate::all_at_most("codel, step: largest 99 % of the delay", "ms", largest(&["codel", "step"], delays), 70.0),
        Gate::all_at_most("pie, red, dualpi2, cobalt: the same", "ms", largest(&["pie", "red", "dualpi2", "cobalt"], delays), 36.0),
        Gate::all_at_most("adaptive-red: the same", "ms", largest(&["adaptive-red"], delays), 25.0),
        Gate::all_at_most(
            "fq-codel, fq-pie: 99 % of the call's delay, up to 32 connections",
            "ms",
            largest(&["fq-codel", "fq-pie"], &few),
            5.0,
        ),
        Gate::at_most("dualpi2: 99 % of the delay of a Prague connection, up to 32", "ms", most(of("dualpi2", &prague)), 2.5),
    ]
}

/// The gates at some loads, of shorter runs.
#[cfg(test)]
pub fn gates_at(loads: &[usize], seconds: u64) -> Vec<Gate> {
    gates(&rows(loads, seconds, &|_| {}), loads)
}

/// Throughput and delay under every AQM.
pub fn loads(progress: &dyn Fn(f64)) -> Figure {
    let rows = rows(&LOADS, 30, progress);
    let mut figure = figure(
        "loads",
        "Throughput against delay: 1 to 64 connections and a call on a link of 20 Mbit/s",
        "not published: every AQM under the same loads",
    );
    figure.note(&[
        "Connections of 40, 20 and 80 ms in turn, CUBIC with delayed acknowledgements; a call of 100 kbit/s in packets of 250 bytes. 30 s after 20 s \
         that are left out, one seed.",
        "AQMs have their usual parameters. RED rises to 10 % from 15 to 45 kB, the step is at 5 ms and marks only; without an AQM the buffer holds 500 \
         packets, which take 300 ms.",
        "Where half of the connections are Prague, the last table has the first of them in place of the call.",
    ]);
    figure.gates = gates(&rows, &LOADS);
    let x = Axis::logarithmic("connections");
    let delays = "99 % of the delay in the queue";
    let short = "99 % of the delay of the call, or of a Prague connection";
    let milliseconds = Axis::logarithmic("delay (ms)");
    figure.charts = vec![
        Chart::new("throughput", "Throughput", x.clone(), Axis::linear("throughput (Mbit/s)"), panels(&rows, &LOADS, &Row::throughputs)),
        Chart::new("delay", delays, x.clone(), milliseconds.clone(), panels(&rows, &LOADS, &Row::delays)),
        Chart::new("short-delay", short, x, milliseconds, panels(&rows, &LOADS, &Row::short_delays)),
    ];
    figure.tables = vec![
        table("Throughput (Mbit/s) by number of connections", &rows, &LOADS, &Row::throughputs),
        table(&format!("{delays} (ms)"), &rows, &LOADS, &Row::delays),
        table(&format!("{short} (ms)"), &rows, &LOADS, &Row::short_delays),
    ];
    figure
}
