//! How workloads are shown: tables, the chart of slowdown by size, and the columns of `workloads.parquet`.

use crate::chart::{Curve, Entry, LineChart, LinePanel, entry, rounded};
use crate::columnar::{Column, Values};
use crate::estimate::Estimate;
use crate::figure::{Axes, Axis};
use crate::grid::{Cell, Columns, Grid, count, detail_column, number_column, of_run, text_column};
use crate::model::{Report, Run};
use crate::plot::half_widths;
use crate::quantity::{self, Shown, rate_estimate, time_estimate};
use crate::workload::{CompletionResult, RoundResult, WorkloadResult};

/// All tables of a run, with at most `limit` flows each.
pub(crate) fn tables(run: &Run, limit: usize) -> impl Iterator<Item = Grid> {
    grids(run).into_iter().flatten().chain(of_run(run, limit))
}

/// A number without a unit.
fn plain(estimate: Estimate) -> Cell {
    let digits = if estimate.mean < 10.0 { 2 } else { 1 };
    let half_width = estimate.half_width.map(|half_width| format!("±\u{a0}{half_width:.digits$}"));
    Cell::estimate(Shown { mean: format!("{:.digits$}", estimate.mean), half_width })
}

fn time(estimate: Estimate) -> Cell {
    Cell::estimate(time_estimate(estimate))
}

fn sizes(row: &CompletionResult) -> String {
    match (row.above_bytes, row.up_to_bytes) {
        (0, None) => "all".to_owned(),
        (above, None) => format!("above {}", quantity::bytes(above as f64)),
        (_, Some(most)) => format!("up to {}", quantity::bytes(most as f64)),
    }
}

/// The tables of the workloads of a run: connections by size, then rounds.
fn grids(run: &Run) -> [Option<Grid>; 3] {
    let mut columns = Columns::<&WorkloadResult>::new("workload", |workload| &workload.name);
    columns.add(number_column("connections"), |workload| count(workload.arrivals));
    columns.add(number_column("refused"), |workload| count(workload.refused));
    columns.add(number_column("unfinished"), |workload| count(workload.unfinished));
    columns.add(number_column("most at once"), |workload| count(workload.most_at_once.into()));
    columns.add(number_column("data offered"), |workload| Cell::estimate(rate_estimate(workload.offered_bps)));
    let mut workloads = columns.grid("workloads", 0, &run.workloads);
    if let Some(grid) = &mut workloads {
        grid.remarks = run.workloads.iter().flat_map(|workload| [biased(workload), cut_off(workload)]).flatten().collect();
    }

    let rows = run.workloads.iter().flat_map(|workload| workload.all.iter().chain(&workload.sizes).map(move |row| (workload, row)));
    let mut columns = Columns::<(&WorkloadResult, &CompletionResult)>::new("workload", |(workload, _)| &workload.name);
    columns.add(text_column("sizes"), |(_, row)| Cell::plain(sizes(row)));
    columns.add(number_column("complete"), |(_, row)| count(row.connections));
    columns.add(number_column("mean time"), |(_, row)| time(row.time_s));
    columns.add(detail_column("p50"), |(_, row)| time(row.time_quantiles_s[0]));
    columns.add(detail_column("p95"), |(_, row)| time(row.time_quantiles_s[1]));
    columns.add(number_column("p99"), |(_, row)| time(row.time_quantiles_s[2]));
    columns.add(number_column("mean slowdown"), |(_, row)| plain(row.slowdown));
    columns.add(number_column("p50"), |(_, row)| plain(row.slowdown_quantiles[0]));
    columns.add(number_column("p95"), |(_, row)| plain(row.slowdown_quantiles[1]));
    columns.add(number_column("p99"), |(_, row)| plain(row.slowdown_quantiles[2]));
    let completions = columns.grid("completion times", 0, rows);

    let rounds = run.workloads.iter().filter_map(|workload| Some((workload, workload.rounds?)));
    let mut columns = Columns::<(&WorkloadResult, RoundResult)>::new("workload", |(workload, _)| &workload.name);
    columns.add(number_column("rounds"), |(_, rounds)| count(rounds.arrivals));
    columns.add(number_column("refused"), |(_, rounds)| count(rounds.refused));
    columns.add(number_column("unfinished"), |(_, rounds)| count(rounds.unfinished));
    columns.add(number_column("overlapping"), |(_, rounds)| count(rounds.overlapping));
    columns.add(number_column("mean time"), |(_, rounds)| rounds.time_s.map_or_else(Cell::nothing, time));
    for (head, quantile) in [("p50", 0), ("p95", 1), ("p99", 2)] {
        columns.add(number_column(head), move |(_, rounds): &(&WorkloadResult, RoundResult)| {
            rounds.time_s.map_or_else(Cell::nothing, |_| time(rounds.time_quantiles_s[quantile]))
        });
    }
    [workloads, completions, columns.grid("rounds", 0, rounds)]
}

/// Why the figures of a workload are too good or missing, if they are.
fn biased(workload: &WorkloadResult) -> Option<String> {
    let (name, unfinished, refused) = (&workload.name, workload.unfinished, workload.refused);
    if workload.arrivals == 0 {
        return Some(format!("{name}: no connection arrived in the measured time."));
    }
    if unfinished + refused == 0 {
        return None;
    }
    let of = quantity::count(workload.arrivals);
    let mut what = Vec::new();
    if unfinished > 0 {
        what.push(format!("{} were not complete at the end", quantity::count(unfinished)));
    }
    if refused > 0 {
        what.push(format!("{} found no place", quantity::count(refused)));
    }
    Some(format!("{name}: of {of} connections {}; completion times are without them, and so too short.", what.join(" and ")))
}

/// How many connections of a workload found no path, if any did.
fn cut_off(workload: &WorkloadResult) -> Option<String> {
    let (arrivals, without_path) = (quantity::count(workload.arrivals), quantity::count(workload.without_path));
    let text =
        format!("{}: of {arrivals} connections {without_path} arrived while failures left no path; they waited for one.", workload.name);
    (workload.without_path > 0).then_some(text)
}

/// Slowdown over size: the mean and the 99 % quantile of every workload, one panel per run. `None` without two sizes.
pub(crate) fn chart(report: &Report) -> Option<LineChart> {
    let has_sizes = |run: &Run| run.workloads.iter().any(|workload| workload.sizes.len() > 1);
    if !report.runs.iter().any(has_sizes) {
        return None;
    }
    let mut legend: Vec<Entry> = Vec::new();
    let mut slots = Vec::new();
    let mut panels = Vec::new();
    for run in &report.runs {
        let mut curves = Vec::new();
        for workload in run.workloads.iter().filter(|workload| workload.sizes.len() > 1) {
            for (what, value) in [("mean", None), ("p99", Some(2))] {
                let name = format!("{} {what}", workload.name);
                let slot = |name: &str| {
                    let known = slots.iter().position(|known| known == name);
                    let index = known.unwrap_or_else(|| {
                        slots.push(name.to_owned());
                        slots.len() - 1
                    });
                    i32::try_from(index).unwrap_or(i32::MAX)
                };
                let of = |row: &CompletionResult| value.map_or(row.slowdown, |quantile: usize| row.slowdown_quantiles[quantile]);
                curves.push(Curve {
                    entry: entry(&mut legend, &name, slot),
                    x: workload.sizes.iter().map(|row| rounded(middle(row))).collect(),
                    y: workload.sizes.iter().map(|row| rounded(of(row).mean)).collect(),
                    half_widths: half_widths(workload.sizes.iter().map(|row| of(row).half_width)),
                });
            }
        }
        panels.push(LinePanel { run: run.name.clone(), curves, bands: Vec::new() });
    }
    let axes = Axes { x: Axis::logarithmic("size").of("bytes"), y: Axis::logarithmic("slowdown"), steps: false };
    Some(LineChart { id: "slowdown", title: "Slowdown by size", measure: "slowdown", legend, panels, left_out: 0, axes: Some(axes) })
}

/// The middle of the sizes on a logarithmic scale.
fn middle(row: &CompletionResult) -> f64 {
    let most = row.up_to_bytes.map_or(3.0 * row.above_bytes as f64, |most| most as f64);
    let least = if row.above_bytes == 0 { most / 3.0 } else { row.above_bytes as f64 };
    (least * most).sqrt()
}

/// A row of `workloads.parquet`: the connections of all sizes, those of some, or the rounds.
struct Row<'a> {
    run: &'a str,
    workload: &'a str,
    scope: &'static str,
    sizes: Option<(u64, Option<u64>)>,
    complete: u64,
    /// Arrived, refused, unfinished.
    arrivals: Option<[u64; 3]>,
    /// Of all connections: those that arrived without a path.
    without_path: Option<u64>,
    times: Option<(Estimate, [Estimate; 3])>,
    slowdowns: Option<(Estimate, [Estimate; 3])>,
}

fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for run in &report.runs {
        for workload in &run.workloads {
            let name = workload.name.as_str();
            let of = |scope, row: &CompletionResult, arrivals| Row {
                run: &run.name,
                workload: name,
                scope,
                sizes: Some((row.above_bytes, row.up_to_bytes)),
                complete: row.connections,
                arrivals,
                without_path: None,
                times: Some((row.time_s, row.time_quantiles_s)),
                slowdowns: Some((row.slowdown, row.slowdown_quantiles)),
            };
            let arrivals = Some([workload.arrivals, workload.refused, workload.unfinished]);
            let without_path = Some(workload.without_path);
            let empty = Row {
                run: &run.name,
                workload: name,
                scope: "all",
                sizes: None,
                complete: 0,
                arrivals,
                without_path,
                times: None,
                slowdowns: None,
            };
            let all = workload.all.as_ref().map(|all| Row { without_path, ..of("all", all, arrivals) });
            rows.push(all.unwrap_or(empty));
            rows.extend(workload.sizes.iter().map(|row| of("size", row, None)));
            rows.extend(workload.rounds.map(|rounds| Row {
                run: &run.name,
                workload: name,
                scope: "round",
                sizes: None,
                complete: rounds.arrivals - rounds.refused - rounds.unfinished,
                arrivals: Some([rounds.arrivals, rounds.refused, rounds.unfinished]),
                without_path: None,
                times: rounds.time_s.map(|mean| (mean, rounds.time_quantiles_s)),
                slowdowns: None,
            }));
        }
    }
    rows
}

/// The columns of `workloads.parquet`.
pub(crate) fn columns(report: &Report) -> Vec<Column<'_>> {
    let rows = rows(report);
    let column = |name, values| Column { name, values };
    let maybe = |value: &dyn Fn(&Row) -> Option<u64>| Values::OptionalCount(rows.iter().map(value).collect());
    let number = |value: &dyn Fn(&Row) -> Option<f64>| Values::OptionalNumber(rows.iter().map(value).collect());
    let mut columns = vec![
        column("run", Values::Text(rows.iter().map(|row| row.run).collect())),
        column("workload", Values::Text(rows.iter().map(|row| row.workload).collect())),
        column("scope", Values::Text(rows.iter().map(|row| row.scope).collect())),
        column("above_bytes", maybe(&|row| row.sizes.map(|sizes| sizes.0))),
        column("up_to_bytes", maybe(&|row| row.sizes.and_then(|sizes| sizes.1))),
        column("complete", Values::Count(rows.iter().map(|row| row.complete).collect())),
        column("arrivals", maybe(&|row| row.arrivals.map(|counts| counts[0]))),
        column("refused", maybe(&|row| row.arrivals.map(|counts| counts[1]))),
        column("unfinished", maybe(&|row| row.arrivals.map(|counts| counts[2]))),
        column("without_path", maybe(&|row| row.without_path)),
        column("time_mean_s", number(&|row| row.times.map(|times| times.0.mean))),
        column("time_mean_half_width_s", number(&|row| row.times.and_then(|times| times.0.half_width))),
    ];
    const TIMES: [[&str; 2]; 3] =
        [["time_p50_s", "time_p50_half_width_s"], ["time_p95_s", "time_p95_half_width_s"], ["time_p99_s", "time_p99_half_width_s"]];
    const SLOWDOWNS: [[&str; 2]; 3] = [
        ["slowdown_p50", "slowdown_p50_half_width"],
        ["slowdown_p95", "slowdown_p95_half_width"],
        ["slowdown_p99", "slowdown_p99_half_width"],
    ];
    for (quantile, [name, half_width]) in TIMES.into_iter().enumerate() {
        columns.push(column(name, number(&|row| row.times.map(|times| times.1[quantile].mean))));
        columns.push(column(half_width, number(&|row| row.times.and_then(|times| times.1[quantile].half_width))));
    }
    columns.push(column("slowdown_mean", number(&|row| row.slowdowns.map(|slowdowns| slowdowns.0.mean))));
    columns.push(column("slowdown_mean_half_width", number(&|row| row.slowdowns.and_then(|slowdowns| slowdowns.0.half_width))));
    for (quantile, [name, half_width]) in SLOWDOWNS.into_iter().enumerate() {
        columns.push(column(name, number(&|row| row.slowdowns.map(|slowdowns| slowdowns.1[quantile].mean))));
        columns.push(column(half_width, number(&|row| row.slowdowns.and_then(|slowdowns| slowdowns.1[quantile].half_width))));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::World;

    fn completions(above: u64, up_to: Option<u64>, slowdown: f64) -> CompletionResult {
        let (time, part) = (Estimate::with_half_width(0.002, 0.0001), Estimate::single(slowdown));
        CompletionResult {
            above_bytes: above,
            up_to_bytes: up_to,
            connections: 100,
            time_s: time,
            time_quantiles_s: [time; 3],
            slowdown: part,
            slowdown_quantiles: [part; 3],
        }
    }

    fn report() -> Report {
        let mut report = Report::new("title", World::Simulation, "file.toml");
        let rounds = RoundResult {
            arrivals: 10,
            refused: 1,
            unfinished: 2,
            overlapping: 3,
            time_s: Some(Estimate::single(0.004)),
            time_quantiles_s: [Estimate::single(0.004); 3],
        };
        let workload = WorkloadResult {
            name: "web".into(),
            arrivals: 210,
            refused: 4,
            unfinished: 6,
            without_path: 3,
            offered_bps: Estimate::single(1e9),
            most_at_once: 12,
            all: Some(completions(0, None, 2.0)),
            sizes: vec![completions(3_000, Some(10_000), 1.5), completions(10_000_000, Some(30_000_000), 12.5)],
            rounds: Some(rounds),
        };
        report.runs = vec![Run { workloads: vec![workload], ..Run::new("run") }];
        report
    }

    #[test]
    fn tables_have_sizes_rounds_and_what_is_missing() {
        let text = crate::terminal(&report(), crate::TerminalOptions { width: 160, colour: false });
        for part in [
            "up to 10 kB",
            "12.5",
            "of 210 connections 6 were not complete at the end and 4 found no place",
            "3 arrived while failures left no path",
            "overlapping",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_chart_and_the_columns_have_every_size() {
        let report = report();
        let chart = chart(&report).unwrap();
        assert_eq!(chart.panels[0].curves.len(), 2);
        assert_eq!(chart.panels[0].curves[1].y, [1.5, 12.5]);
        let columns = columns(&report);
        let Values::Text(scopes) = &columns[2].values else { panic!("scopes are texts") };
        assert_eq!(scopes[..], ["all", "size", "size", "round"]);
        let cut_off = columns.iter().find(|column| column.name == "without_path").unwrap();
        let Values::OptionalCount(cut_off) = &cut_off.values else { panic!("connections are counted") };
        assert_eq!(cut_off[..], [Some(3), None, None, None]);
        assert!(crate::report_html(&report).contains("id=\"slowdown\""));
        report.validate().unwrap();
    }
}
