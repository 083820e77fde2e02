//! The paper's figures and tables, and our gates beside them.

use super::blocking::{self, Calls};
use super::gates::{Draw, SCENARIOS, draws, gates};
use super::lot::{Case, Load, Mode, PATHS};
use super::node::{Options, Tolerance};
use super::results::{Results, estimate};
use crate::figure::{Axis, Chart, Curve, Figure, Gate, Panel, Table};
use crate::proven::named;
use std::cell::RefCell;
use tidegate_core::registry::BufferKind;
use tidegate_sim::Histogram;

/// A run that several figures may share.
type Done = (Case, Results);

thread_local! {
    static DONE: RefCell<Vec<Done>> = const { RefCell::new(Vec::new()) };
}

/// Runs the cases in turn, each of them once.
pub(super) fn run_all<const N: usize>(cases: [Case; N], progress: &dyn Fn(f64)) -> [Results; N] {
    let mut done = 0.0;
    cases.map(|case| {
        let known = DONE.with_borrow(|all| all.iter().find(|(known, _)| *known == case).map(|(_, results)| results.clone()));
        let results = known.unwrap_or_else(|| {
            let results = Results::of(&case, &case.run());
            DONE.with_borrow_mut(|all| all.push((case.clone(), results.clone())));
            results
        });
        done += 1.0;
        progress(done / N as f64);
        results
    })
}

/// A figure with the notes that all share.
pub(super) fn figure(id: &'static str, title: &str, source: &'static str, paper: &[&str], notes: &[&str]) -> Figure {
    let owned = |sentences: &[&str]| sentences.iter().map(|&sentence| sentence.to_owned()).collect();
    Figure { paper: owned(paper), notes: owned(notes), ..Figure::new(id, title, source) }
}

pub(super) fn with_interval(values: &[f64], decimals: usize) -> String {
    let estimate = estimate(values);
    match estimate.half_width {
        Some(half_width) => format!("{:.decimals$} ±{half_width:.decimals$}", estimate.mean),
        None => format!("{:.decimals$}", estimate.mean),
    }
}

/// The seeds' numbers, each within these limits.
pub(super) fn each(name: &str, unit: &'static str, measured: &[f64], low: f64, high: f64) -> Gate {
    let limits = |limit: f64| limit.is_finite().then(|| vec![limit; measured.len()]);
    Gate::between(name, unit, measured.to_vec(), limits(low), limits(high))
}

/// What is proven of the flows of these runs.
fn bounds<const N: usize>(figure: &mut Figure, runs: [(&str, &Results); N]) {
    runs.iter().for_each(|(name, results)| figure.bounds.extend(named(name, &results.bounds)));
}

/// No lower limit.
const NONE: f64 = f64::NEG_INFINITY;

/// What every run of the lot has to keep (R1), overload or not.
fn basic(name: &str, results: &Results, bound_ms: f64) -> Vec<Gate> {
    vec![
        each(&format!("R1, {name}: packets reordered"), "packets", &results.reordered, 0.0, 0.0),
        each(&format!("R1, {name}: longest delay of guaranteed flows"), "ms", &results.guaranteed_ms[0], 0.65, bound_ms),
        each(&format!("R1, {name}: guaranteed packets lost"), "packets", &results.lost[0], 0.0, 0.0),
    ]
}

/// The same where controlled load is feasible.
fn common(name: &str, results: &Results, bound_ms: f64) -> Vec<Gate> {
    let mut gates = basic(name, results, bound_ms);
    gates.push(each(&format!("R1, {name}: unmarked packets of conforming flows lost"), "packets", &results.lost[2], 0.0, 0.0));
    gates
}

/// The bound on guaranteed flows for paths of four nodes when every flow keeps its reservation, and the one of RFC 2212.
const SHARP_BOUND_MS: f64 = 1.65;
const BOUND_MS: f64 = 4.65;

const HEAD: [&str; 8] = [
    "run",
    "GS max ms",
    "CL max ms, all / G1",
    "TCP kB/s (sum)",
    "last link: GS, CL in profile",
    "out of profile, BE Mbit/s",
    "CL marked %",
    "BE loss %",
];

fn row(name: &str, results: &Results) -> Vec<String> {
    let tcp = results.tcp_sum();
    let mean = |values: &[f64], decimals: usize| format!("{:.decimals$}", estimate(values).mean);
    let connections = results.tcp.first().map_or(1, Vec::len) as f64;
    let each: Vec<f64> = tcp.iter().map(|sum| sum / connections).collect();
    vec![
        name.into(),
        with_interval(&results.guaranteed_ms[0], 3),
        format!("{} / {}", with_interval(&results.controlled_ms[0], 1), with_interval(&results.controlled_ms[1], 1)),
        format!("{} ({})", mean(&each, 1), with_interval(&tcp, 1)),
        format!("{}, {}", mean(&results.last_link[0], 3), mean(&results.last_link[1], 3)),
        format!("{}, {}", mean(&results.last_link[2], 3), mean(&results.last_link[3], 3)),
        mean(&results.marked, 1),
        mean(&results.best_effort_loss[PATHS - 1], 3),
    ]
}

/// A row of the paper's figures, `-` where it has none.
fn paper_row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The part of the packets that were delayed longer than x milliseconds, of a flow of either service on path G1.
fn delay_chart(id: &'static str, title: &str, delays: &[Histogram; 2]) -> Chart {
    let curve = |(name, histogram): (&str, &Histogram)| {
        let mut curve = Curve::new(name);
        for part in [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999] {
            if let Some(delay) = histogram.quantile(part) {
                curve.push(delay * 1e3, 1.0 - part);
            }
        }
        curve
    };
    let curves = [("guaranteed", &delays[0]), ("controlled load", &delays[1])].map(curve).to_vec();
    let (x, y) = (Axis::linear("end-to-end delay (ms)"), Axis::logarithmic("part of the packets that are later"));
    Chart { id, title: title.into(), x, y, steps: false, panels: vec![Panel { name: String::new(), curves }] }
}

/// The rules of the node, told apart by streams on one or two ports.
pub fn rules(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "rules",
        "The rules of the node, each under a load that shows it",
        "sections 2 and 3; the scenarios are ours",
        &["Shaped virtual clock, marks, selective push-out (plus), the order of schedulers and their weights; no figure tells them apart."],
        &[
            "Eight seeds and three loads; every number has to be in the band.",
            "A fault in any of these rules fails the gate named after it: `cargo xtask reproduce-mutants intserv`.",
        ],
    );
    figure.gates = rule_gates(&draws(false), progress);
    figure
}

/// The gates M to A over these draws.
pub(super) fn rule_gates(draws: &[Draw], progress: &dyn Fn(f64)) -> Vec<Gate> {
    let mut all = Vec::new();
    for (number, (_, scenario)) in SCENARIOS.iter().enumerate() {
        all.extend(gates(*scenario, draws));
        progress((number + 1) as f64 / SCENARIOS.len() as f64);
    }
    all
}

/// Figures 7 and 8, Table 4: light load.
pub fn light_load(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "light-load",
        "Light load: delays, and what TCP gets",
        "Figures 7 and 8, Table 4, section 4.2.1",
        &[
            "The 95 % intervals of the longest delays are 1.586 to 1.691 ms for guaranteed flows and 8.32 to 9.28 ms for controlled load.",
            "TCP1 to TCP4 get 33.2 to 31.7 kbps, 130.2 in sum; no guaranteed or controlled-load packet is lost, none is reordered.",
        ],
        &[
            "Table 4 must be in kB/s: 130.2 kB/s * 8 = 1042 kbit/s is what 9.0 Mbit/s of guaranteed and controlled load leave of 10. As kbit/s the link would \
             idle at seven eighths of the rest.",
            "Guaranteed flows are half a millisecond faster here: an end-system delay of 500 us, which Table 2 names for TCP, would explain it. It was added \
             after the gap was seen.",
            "With the rules as printed, a sixth of the packets of controlled load arrives marked, because jitter makes heads early; a tolerance of 1 ms \
             halves that.",
            "Eight seeds, 95 % intervals; the paper's figures stand beside ours and are no gates.",
        ],
    );
    let literal = Case::new(Load::LIGHT, Options::literal());
    let cases = [
        literal.clone(),
        Case { end_system: 500, node: Options::literal().weights(4, 1), ..literal.clone() },
        Case { node: Options::tolerant(1000), ..literal.clone() },
        Case { node: Options { tolerance: Tolerance::Jitter, ..Options::literal() }, ..literal.clone() },
        Case { fixed_timeout: true, ..literal },
    ];
    let [printed, closest, tolerant, jitter, fixed] = run_all(cases, progress);
    figure.gates.extend(light_load_gates(&printed));
    figure.gates.extend(common("light load, tolerance 1 ms", &tolerant, BOUND_MS));
    figure.gates.extend(common("light load, tolerance by jitter", &jitter, BOUND_MS));
    let rows = vec![
        paper_row(["paper", "1.586 to 1.691", "8.32 to 9.28", "32.6 (130.2)", "-", "-", "-", "0"]),
        row("as printed", &printed),
        row("end system 500 us, weights 4:1 (closest)", &closest),
        row("tolerance 1 ms", &tolerant),
        row("tolerance by jitter (preset)", &jitter),
        row("timeout fixed at 500 ms", &fixed),
    ];
    figure.tables.push(Table::new("Light load", &HEAD, rows));
    let runs = [
        ("as printed", &printed),
        ("end system 500 us, weights 4:1", &closest),
        ("tolerance 1 ms", &tolerant),
        ("tolerance by jitter", &jitter),
        ("timeout fixed", &fixed),
    ];
    bounds(&mut figure, runs);
    figure.charts.push(delay_chart("delays", "Delays on path G1", &printed.delays));
    figure
}

/// R1 and R2: light load under the rules as printed.
pub(super) fn light_load_gates(printed: &Results) -> Vec<Gate> {
    let mut gates = common("light load", printed, SHARP_BOUND_MS);
    gates.extend([
        each("R1: longest delay of guaranteed flows is typical", "ms", &printed.guaranteed_ms[0], 0.9, 1.45),
        each("R2: controlled load in profile at the last link", "Mbit/s", &printed.last_link[1], 2.40, 2.55),
        each("R2: out of profile there", "Mbit/s", &printed.last_link[2], 0.50, 0.76),
        each("R2: best effort there", "Mbit/s", &printed.last_link[3], 0.98, 1.02),
        each("R2: controlled load marked on arrival at the sinks", "percent", &printed.marked, 16.0, 19.0),
        each("R2: longest delay of controlled load", "ms", &printed.controlled_ms[0], 8.0, 20.0),
        each("R2: controlled-load packets lost", "packets", &printed.lost[1], 0.0, 0.0),
        each("R2: TCP, sum", "kB/s", &printed.tcp_sum(), 121.0, 128.0),
        each("R2: TCP connections apart", "of their mean", &printed.tcp_spread(), NONE, 0.10),
    ]);
    gates
}

/// Figures 7 and 9, Table 4: heavy load.
pub fn heavy_load(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "heavy-load",
        "Heavy load: three readings of Table 3",
        "Figures 7 and 9, Tables 3 and 4, section 4.2.1",
        &[
            "The 95 % intervals of the longest delays are 1.718 to 1.784 ms for guaranteed flows and 15.11 to 15.83 ms for controlled load.",
            "TCP1 to TCP8 get 11.2 to 10.1 kbps, 85.4 in sum; best effort loses 15.2 % at Link45 and 2.5 % at Link34; nothing else is lost.",
        ],
        &[
            "Table 3's heavy load offers 12 Mbit/s of controlled and guaranteed load to a link of 10: controlled load then loses a third and TCP starves. No \
             reading of it gives the paper's figures.",
            "H1 has one flow of controlled load per path. H2 has two with a peak of 0.83 Mbit/s, which follows from the paper's own sum of TCP (10 - 0.683 Mbit/s), \
             so its sum is no evidence; its equal shares and its delays are.",
            "The loss of best effort is not reproduced: Reno at 15 % holds three packets per round trip, a queue of 25 packets and not of 1000.",
        ],
    );
    let cases = [
        Case::new(Load::H1, Options::literal()),
        Case::new(Load::H2, Options::literal()),
        Case::new(Load::H2, Options::literal().weights(4, 1)),
        Case::new(Load::HEAVY, Options::literal()),
    ];
    let [h1, h2, h2_weighted, table] = run_all(cases, progress);
    figure.gates.extend(common("H1", &h1, SHARP_BOUND_MS));
    figure.gates.push(each("R1, H1: longest delay of controlled load", "ms", &h1.controlled_ms[0], NONE, 20.0));
    figure.gates.extend(common("H2", &h2, SHARP_BOUND_MS));
    figure.gates.extend(basic("Table 3", &table, SHARP_BOUND_MS));
    let loss = estimate(&h2.best_effort_loss[PATHS - 1]).mean;
    let published = Gate::within("best-effort loss at Link45", "percent", vec![loss], &[15.2], 1.0);
    let why = "TCP's own window keeps the queue short: see the notes.";
    figure.gates.push(published.not_reproduced(&[0.0], &[1.0], why));
    let starved = estimate(&table.tcp_sum()).mean;
    let published = Gate::within("TCP under Table 3's heavy load, sum", "kB/s", vec![starved], &[85.4], 4.0);
    let why = "Table 3 offers 12 Mbit/s of reserved traffic to a link of 10, so nothing is left for best effort.";
    figure.gates.push(published.not_reproduced(&[0.0], &[10.0], why));
    let rows = vec![
        paper_row(["paper", "1.718 to 1.784", "15.11 to 15.83", "10.7 (85.4)", "-", "-", "-", "15.2"]),
        row("H1", &h1),
        row("H2", &h2),
        row("H2, weights 4:1 (closest)", &h2_weighted),
        row("Table 3 as printed", &table),
    ];
    figure.tables.push(Table::new("Heavy load", &HEAD, rows));
    bounds(&mut figure, [("H1", &h1), ("H2", &h2), ("H2, weights 4:1", &h2_weighted), ("Table 3", &table)]);
    figure.charts.push(delay_chart("delays", "Delays on path G1, H1", &h1.delays));
    figure
}

const ROGUE_HEAD: [&str; 6] = ["run", "conforming CL lost %", "NC lost %", "NC max delay ms", "conforming CL max ms", "TCP kB/s (sum)"];

fn rogue_row(name: &str, results: &Results) -> Vec<String> {
    vec![
        name.into(),
        with_interval(&results.controlled_loss, 2),
        with_interval(&results.rogue_loss, 1),
        with_interval(&results.rogue_ms, 0),
        with_interval(&results.controlled_ms[0], 1),
        with_interval(&results.tcp_sum(), 1),
    ]
}

/// Figures 10 and 11: a flow of controlled load that does not conform.
pub fn non_conforming(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "non-conforming",
        "A flow that breaks its contract: as printed, and repaired",
        "Figures 10 and 11, section 4.2.2",
        &[
            "Conforming flows lose nothing and keep their bounds; the flow that does not conform loses heavily.",
            "TCP1 to TCP8 get 8.2 to 7.1 kbps, 61.4 in sum.",
        ],
        &[
            "With the rules as printed the conforming flows do lose packets: those that jitter made early were marked, and marked packets go first. The \
             paper reports no loss.",
            "A tolerance for jitter, or marks by the declared token bucket, repairs it: the loss is 0, as promised. The preset has the tolerance on.",
        ],
    );
    let printed = Case::new(Load::H1_NC, Options::literal());
    let cases = [
        printed.clone(),
        Case { node: Options::tolerant(1000), ..printed.clone() },
        Case { node: Options { tolerance: Tolerance::Jitter, ..Options::literal() }, ..printed.clone() },
        Case { node: Options::profile_marks(), ..printed },
        Case::new(Load::H2_NC, Options::tolerant(1000).weights(1, 2)),
    ];
    let [printed, tolerant, jitter, profile, second] = run_all(cases, progress);
    figure.gates.extend(printed_gates(&printed));
    figure.gates.extend(tolerant_gates(&tolerant));
    figure.gates.extend(repaired_gates("tolerance by jitter", &jitter));
    figure.gates.extend(repaired_gates("marks by profile", &profile));
    let rows = vec![
        paper_row(["paper", "0", "heavy", "-", "< 20", "61.4"]),
        rogue_row("H1, as printed", &printed),
        rogue_row("H1, tolerance 1 ms", &tolerant),
        rogue_row("H1, tolerance by jitter (preset)", &jitter),
        rogue_row("H1, marks by profile", &profile),
        rogue_row("H2, tolerance 1 ms, weights 1:2", &second),
    ];
    figure.tables.push(Table::new("With a flow that does not conform", &ROGUE_HEAD, rows));
    let runs = [
        ("H1, as printed", &printed),
        ("H1, tolerance 1 ms", &tolerant),
        ("H1, tolerance by jitter", &jitter),
        ("H1, marks by profile", &profile),
        ("H2, tolerance 1 ms, weights 1:2", &second),
    ];
    bounds(&mut figure, runs);
    figure.charts.push(delay_chart("delays", "Delays on path G1, tolerance 1 ms", &tolerant.delays));
    figure
}

/// R1 and R4: the flow that does not conform under the rules as printed.
pub(super) fn printed_gates(printed: &Results) -> Vec<Gate> {
    let mut gates = common("printed", printed, SHARP_BOUND_MS);
    gates.push(each("R4: conforming controlled load lost, as printed", "percent", &printed.controlled_loss, 0.4, 3.0));
    gates
}

/// R1 and the promise of R3 under a rule that repairs the marks.
fn repaired_gates(name: &str, results: &Results) -> Vec<Gate> {
    let mut gates = common(name, results, BOUND_MS);
    gates.push(each(&format!("R3, {name}: conforming packets lost"), "packets", &results.lost[1], 0.0, 0.0));
    gates
}

/// R1 and R3 with a tolerance of 1 ms.
pub(super) fn tolerant_gates(tolerant: &Results) -> Vec<Gate> {
    let mut gates = repaired_gates("tolerance 1 ms", tolerant);
    let ratio: Vec<f64> = tolerant.last_link[2].iter().zip(&tolerant.last_link[3]).map(|(excess, best)| excess / best).collect();
    gates.extend([
        each("R3: loss of the flow that does not conform", "percent", &tolerant.rogue_loss, 71.0, 75.5),
        each("R3: its longest delay", "ms", &tolerant.rogue_ms, 240.0, 300.0),
        each("R3: TCP, sum", "kB/s", &tolerant.tcp_sum(), 48.0, 55.0),
        each("R3: longest delay of conforming controlled load", "ms", &tolerant.controlled_ms[0], NONE, 24.0),
        each("R3: out of profile beside best effort", "ratio", &ratio, 0.92, 1.08),
    ]);
    gates
}

/// Figure 12: tail drop in place of selective push-out plus.
pub fn tail_drop(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "tail-drop",
        "The same flow under tail drop",
        "Figure 12, section 4.2.3",
        &["Even a conforming flow loses some 44 % of its packets; under SP+ it loses none."],
        &["Selective push-out plus isolates the flow that does not conform; tail drop lets it fill the partition."],
    );
    let node = |controlled| Options { controlled, ..Options::tolerant(1000) };
    let cases = [Case::new(Load::H1_NC, node(BufferKind::TailDrop)), Case::new(Load::H1_NC, Options::tolerant(1000))];
    let [tail_drop, push_out] = run_all(cases, progress);
    figure.gates.push(each("R4: conforming controlled load lost under tail drop", "percent", &tail_drop.controlled_loss, 30.0, 60.0));
    figure.gates.push(each("R4: packets of it lost unmarked", "packets", &tail_drop.lost[2], 1.0, f64::INFINITY));
    figure.gates.push(each("R3: lost under SP+", "packets", &push_out.lost[1], 0.0, 0.0));
    let rows = vec![
        paper_row(["paper, tail drop", "44", "-", "-", "-", "-"]),
        rogue_row("tail drop", &tail_drop),
        rogue_row("selective push-out plus", &push_out),
    ];
    figure.tables.push(Table::new("Tail drop and push-out", &ROGUE_HEAD, rows));
    bounds(&mut figure, [("tail drop", &tail_drop), ("selective push-out plus", &push_out)]);
    figure
}

/// E11: a flood in the partition of guaranteed service.
pub fn flood(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "flood",
        "A flood of guaranteed packets, marked and not",
        "beyond the paper",
        &["Selective push-out protects unmarked packets as far as it can; there is no limit per flow."],
        &[
            "The flood sends 8 Mbit/s on path G4 with a reservation of 0.1. Unmarked, it takes the partition from conforming flows, because push-out cannot tell \
             who floods. `reserve = \"enforce\"` takes packets beyond a flow's reserved buffer for marked, and restores the promise.",
        ],
    );
    let short = |case: Case| Case { seconds: 60, warm_up: 10, ..case };
    let load = |marked| Load { flood: Some(marked), ..Load::LIGHT };
    let cases = [
        short(Case::new(load(true), Options::tolerant(1000))),
        short(Case::new(load(false), Options { enforces_reserve: true, ..Options::tolerant(1000) })),
        short(Case::new(load(true), Options::literal())),
        short(Case::new(load(false), Options::literal())),
    ];
    let [marked, enforced, printed, unmarked] = run_all(cases, progress);
    for (name, results) in [("marked, tolerance 1 ms", &marked), ("unmarked, reserve enforced", &enforced)] {
        figure.gates.push(each(&format!("E11, {name}: conforming guaranteed packets lost"), "packets", &results.lost[0], 0.0, 0.0));
        figure.gates.push(each(&format!("E11, {name}: packets reordered"), "packets", &results.reordered, 0.0, 0.0));
    }
    figure.gates.push(each("unmarked, as printed: conforming guaranteed packets lost", "packets", &unmarked.lost[0], 1.0, f64::INFINITY));
    let row =
        |name: &str, results: &Results| vec![name.to_owned(), with_interval(&results.lost[0], 0), with_interval(&results.rogue_loss, 1)];
    let rows = vec![
        row("marked, as printed", &printed),
        row("marked, tolerance 1 ms", &marked),
        row("unmarked, as printed", &unmarked),
        row("unmarked, tolerance 1 ms and reserve enforced", &enforced),
    ];
    figure.tables.push(Table::new("A flood in the guaranteed partition", &["run", "conforming GS packets lost", "flood lost %"], rows));
    let runs = [
        ("marked, as printed", &printed),
        ("marked, tolerance 1 ms", &marked),
        ("unmarked, as printed", &unmarked),
        ("unmarked, tolerance 1 ms and reserve enforced", &enforced),
    ];
    bounds(&mut figure, runs);
    figure
}

/// E9: blocking against Erlang B and Kaufman and Roberts.
pub fn blocking(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "blocking",
        "Blocking of flows that come and go",
        "section 4.1 and reference 6, reconstructed",
        &["Admission control refuses flows that do not fit; its paper (ICC '99) is not to be had, and its rules are reconstructed."],
        &["All four paths cross the last link, so it alone blocks: its circuits are what nine tenths of it hold."],
    );
    let mut rows = Vec::new();
    let settings = [(1.5, 0.8), (1.5, 1.0), (1.5, 1.2), (1.0, 0.8), (1.0, 1.0), (1.0, 1.2)];
    for (number, (rate, x)) in settings.into_iter().enumerate() {
        let runs: Vec<_> = (1..=2).map(|seed| blocking::run(&Calls { rates: [rate; PATHS], x, seconds: 2e6, seed })).collect();
        let expected = blocking::erlang_b((9.0 / rate) as u32, 8.0 * x);
        let measured: Vec<f64> = runs.iter().map(blocking::Blocking::of_all).collect();
        let paths: Vec<f64> = runs.iter().flat_map(|run| run.by_path()).collect();
        let name = format!("E9, {rate} Mbit/s, load {x}");
        rows.push(vec![format!("{rate} Mbit/s, load {x}"), with_interval(&measured, 4), format!("{expected:.4}")]);
        figure.gates.push(Gate::within(&name, "of requests", measured, &[expected; 2], 0.004));
        figure.gates.push(Gate::within(format!("{name}: every path"), "of requests", paths, &[expected; 2 * PATHS], 0.012));
        figure.gates.push(each(
            &format!("{name}: held after the last has left"),
            "bit/s",
            &runs.iter().map(|run| run.left as f64).collect::<Vec<_>>(),
            0.0,
            0.0,
        ));
        progress((number + 1) as f64 / 7.0);
    }
    let run = blocking::run(&Calls { rates: [1.0, 2.0, 1.0, 2.0], x: 1.0, seconds: 2e6, seed: 1 });
    let expected = blocking::kaufman_roberts(9, &[(1, 4.0), (2, 4.0)]);
    let by_path = run.by_path();
    for (kind, (paths, expected)) in [[0, 2], [1, 3]].into_iter().zip(expected).enumerate() {
        let measured = paths.iter().map(|&path| by_path[path]).sum::<f64>() / 2.0;
        let name = format!("E9, Kaufman and Roberts: {} Mbit/s", kind + 1);
        rows.push(vec![format!("{} of 1 and 2 Mbit/s together", kind + 1), format!("{measured:.4}"), format!("{expected:.4}")]);
        figure.gates.push(Gate::within(name, "of requests", vec![measured], &[expected], 0.008));
    }
    progress(1.0);
    figure.tables.push(Table::new("Blocking", &["setting", "measured", "expected"], rows));
    figure
}

/// The flow modes of the spec: flows that come and go in the parking lot.
pub fn flow_modes(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = figure(
        "flow-modes",
        "Flows that come and go in the parking lot",
        "section 4.1: set-up and tear-down of flows",
        &[
            "Flows come with exponential times of 50 s and hold 100 s on average; admission control keeps the promises of those that are admitted.",
        ],
        &[
            "The paper does not say which of its flows come and go. Four readings: controlled load asks until it is admitted (admitted), comes and goes beside \
             permanent guaranteed flows (mixed), each entry of Table 3 has at most one flow (slots) or is a Poisson process (dynamic).",
            "Loads, delays and losses are far from the paper's in every reading: what was run there is not derivable from its text.",
            "E10: on one link with two guaranteed flows the measured load admits more flows than their peaks would, and fewer than their means.",
        ],
    );
    let case = |load, mode| Case { mode, seconds: 300, ..Case::new(load, Options::literal()) };
    let runs = [
        ("light, admitted", case(Load::LIGHT, Mode::Admitted)),
        ("light, mixed", case(Load::LIGHT, Mode::Mixed)),
        ("light, slots", case(Load::LIGHT, Mode::Slots)),
        ("light, dynamic", case(Load::LIGHT, Mode::Dynamic)),
        ("heavy, admitted", case(Load::HEAVY, Mode::Admitted)),
        ("heavy, mixed", case(Load::HEAVY, Mode::Mixed)),
        ("heavy, slots", case(Load::HEAVY, Mode::Slots)),
        ("heavy, dynamic", case(Load::HEAVY, Mode::Dynamic)),
    ];
    let names = runs.each_ref().map(|(name, _)| *name);
    let results = run_all(runs.map(|(_, case)| case), progress);
    let mut head = HEAD.to_vec();
    head.push("blocked GS, CL %");
    let mut rows = Vec::new();
    for (name, results) in names.iter().zip(&results) {
        figure.gates.extend(common(name, results, BOUND_MS));
        figure.gates.push(each(&format!("R1, {name}: longest delay of controlled load"), "ms", &results.controlled_ms[0], NONE, 20.0));
        let mut row = row(name, results);
        let blocked = |values: &Vec<f64>| if values.is_empty() { "-".to_owned() } else { with_interval(values, 0) };
        row.push(format!("{}, {}", blocked(&results.blocked[0]), blocked(&results.blocked[1])));
        rows.push(row);
    }
    one_link(&mut figure, 8, progress);
    figure.tables.push(Table::new("Flow modes", &head, rows));
    figure
}

/// E10: on one link the measured load decides.
pub(super) fn one_link(figure: &mut Figure, seeds: u32, progress: &dyn Fn(f64)) {
    let case = |interval| {
        let mode = Mode::OneLink(interval);
        Case { mode, seconds: 200, warm_up: 1, seeds, ..Case::new(Load::LIGHT, Options::literal()) }
    };
    let results = run_all([case(6250), case(5000), case(4167)], progress);
    for (load, results) in [0.8, 1.0, 1.2].into_iter().zip(&results) {
        let name = format!("E10, load {load}");
        bounds(figure, [(&name, results)]);
        let held = vec![estimate(&results.held).mean];
        figure.gates.extend([
            Gate::between(format!("{name}: mean flows of controlled load"), "flows", held, Some(vec![4.6]), Some(vec![5.8])),
            each(&format!("{name}: controlled-load packets lost"), "packets", &results.lost[1], 0.0, 0.0),
            each(&format!("{name}: longest delay of controlled load"), "ms", &results.controlled_ms[0], NONE, 20.0),
        ]);
    }
}
