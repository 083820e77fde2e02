//! The results of a sweep: one table with the parameters, means, intervals and differences to the first point; and a page with a plot per figure.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Serialize;

use crate::columnar::{Column, Values};
use crate::error::{OutputError, ReportError};
use crate::figure::{Axis, Chart, Curve, Panel, Table};
use crate::html::{self, capitalised, escaped};
use crate::measurements::write_table_file;
use crate::metrics::{METRIC_WORDS, METRICS, shown_figure, unit_of};
use crate::model::Estimate;
use crate::output::OutputFile;
use crate::parameter::Parameter;
use crate::plain::{plain, unbroken, wrapped};
use crate::plot::{Legend, Plots, line_chart};
use crate::quantity::NO_BREAK_SPACE;
use crate::table::{TerminalOptions, heading, render};

/// Version of the layout of a sweep's JSON.
const SWEEP_SCHEMA: u32 = 1;

/// Points that a terminal shows, and curves of one plot.
const POINTS_SHOWN: usize = 60;
const CURVES_SHOWN: usize = 16;

/// A sweep with all its points.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SweepResult {
    /// The title of the scenario.
    pub title: String,
    /// What ran, one sentence.
    pub circumstances: String,
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
    /// The axes.
    pub parameters: Vec<Parameter>,
    /// Which points are one curve: those with the same text.
    pub curves: Vec<String>,
    /// The figures that the terminal shows: a flow's or port's name, and the index of a metric.
    pub shown: Vec<(String, usize)>,
    /// One row per point, run, and flow or port, in the order of points.
    pub rows: Vec<SweepRow>,
}

/// A flow or a port at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SweepRow {
    /// The number of the point, from 1.
    pub point: usize,
    /// The run, which is the variant's name.
    pub run: String,
    /// `flow` or `port`.
    pub scope: String,
    /// The flow's or the port's name.
    pub name: String,
    /// The replications.
    pub replications: u64,
    /// Mean and interval of every metric, and the difference to the first point.
    #[serde(skip)]
    pub figures: [Option<SweptFigure>; METRICS.len()],
}

/// A figure at one point.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SweptFigure {
    /// The mean over the replications.
    pub mean: Estimate,
    /// Its difference to the first point; `None` if that has no such figure.
    pub difference: Option<Estimate>,
}

/// The sweep as text that ends with a line feed.
pub fn sweep_terminal(sweep: &SweepResult, options: TerminalOptions) -> String {
    let mut text = format!("{}{}", heading(&sweep.title, options), wrapped(&sweep.circumstances, options.width));
    sweep.notes.iter().for_each(|note| text.push_str(&wrapped(&format!("note: {note}"), options.width)));
    text.push('\n');
    let mut table = table(sweep);
    let left_out = table.rows.len().saturating_sub(POINTS_SHOWN);
    table.rows.truncate(POINTS_SHOWN);
    text.push_str(&render(&plain(&table), options));
    if left_out > 0 {
        let _infallible = writeln!(text, "– {left_out} more are in table.parquet");
    }
    text.replace(NO_BREAK_SPACE, " ")
}

/// One row per point and run, with the figures that are shown.
fn table(sweep: &SweepResult) -> Table {
    let mut runs: Vec<&str> = Vec::new();
    for row in &sweep.rows {
        if !runs.contains(&row.run.as_str()) {
            runs.push(&row.run);
        }
    }
    let mut head = vec!["point".to_owned()];
    head.extend(sweep.parameters.iter().map(|parameter| parameter.key.clone()));
    if runs.len() > 1 {
        head.push("run".to_owned());
    }
    head.push("replications".to_owned());
    head.extend(sweep.shown.iter().map(|(name, metric)| format!("{name} {}", METRICS[*metric])));
    let mut rows = Vec::new();
    let mut rest = sweep.rows.as_slice();
    for index in 0..sweep.curves.len() {
        let (here, further) = rest.split_at(rest.partition_point(|row| row.point <= index + 1));
        rest = further;
        for run in &runs {
            let own: Vec<&SweepRow> = here.iter().filter(|row| row.run == *run).collect();
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(sweep.parameters.iter().map(|parameter| parameter.values[index].clone()));
            if runs.len() > 1 {
                cells.push((*run).to_owned());
            }
            cells.push(own.first().map_or(0, |row| row.replications).to_string());
            cells.extend(sweep.shown.iter().map(|(name, metric)| {
                let figure = own.iter().filter(|row| row.name == *name).find_map(|row| row.figures[*metric]);
                figure.map_or("–".to_owned(), |figure| {
                    let width =
                        figure.mean.half_width.map_or(String::new(), |width| format!(" ± {}", shown_figure(METRICS[*metric], width)));
                    format!("{}{width}", shown_figure(METRICS[*metric], figure.mean.mean))
                })
            }));
            rows.push(cells);
        }
    }
    Table { title: "Points".to_owned(), head, rows }
}

/// The sweep as JSON, ending with a line feed.
pub fn sweep_json(sweep: &SweepResult) -> String {
    let rows: Vec<serde_json::Value> = sweep
        .rows
        .iter()
        .map(|row| {
            let mut value = serde_json::to_value(row).expect("the row has only string keys");
            let value_of = |parameter: &Parameter| (parameter.key.clone(), parameter.values[row.point - 1].clone().into());
            let parameters = sweep.parameters.iter().map(value_of);
            value["parameters"] = serde_json::Value::Object(parameters.collect());
            for (metric, figure) in METRICS.iter().zip(&row.figures) {
                value[*metric] = serde_json::to_value(figure).expect("the figure has only string keys");
            }
            value
        })
        .collect();
    let summary = serde_json::json!({
        "schema": SWEEP_SCHEMA,
        "tidegate_version": env!("CARGO_PKG_VERSION"),
        "title": sweep.title,
        "notes": sweep.notes,
        "rows": rows,
    });
    format!("{summary:#}\n")
}

/// Writes `table.parquet` and `report.html` into the folder of the sweep, each complete in one step. Returns their paths, the page last.
///
/// # Errors
/// The file system refuses.
pub fn write_sweep(sweep: &SweepResult, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let paths = ["table.parquet", "report.html"].map(|name| folder.join(name));
    write_table_file(&sweep_columns(sweep), &paths[0])?;
    let mut file = OutputFile::create(&paths[1])?;
    std::io::Write::write_all(&mut file, sweep_html(sweep).as_bytes())
        .map_err(|error| OutputError::system(&paths[1], "written", &error))?;
    file.finish()?;
    Ok(paths.to_vec())
}

/// The name of a metric with another part before its unit: `delay_p99_half_width_s`.
fn with(metric: &str, part: &str) -> String {
    match metric.rsplit_once('_') {
        _ if part.is_empty() => metric.to_owned(),
        Some((quantity, unit @ ("s" | "bps" | "bytes"))) => format!("{quantity}_{part}_{unit}"),
        _ => format!("{metric}_{part}"),
    }
}

/// The names of the columns of all metrics: mean, half width, difference to the first point, and its half width.
static NAMES: LazyLock<Vec<[String; 4]>> = LazyLock::new(|| {
    METRICS.iter().map(|metric| ["", "half_width", "difference", "difference_half_width"].map(|part| with(metric, part))).collect()
});

/// The table of the sweep, as `table.parquet` has it.
pub fn sweep_columns(sweep: &SweepResult) -> Vec<Column<'_>> {
    let rows = &sweep.rows;
    let text = |name, value: fn(&SweepRow) -> &str| Column { name, values: Values::Text(rows.iter().map(value).collect()) };
    let mut columns = vec![Column { name: "point", values: Values::Count(rows.iter().map(|row| row.point as u64).collect()) }];
    columns.extend(sweep.parameters.iter().flat_map(|parameter| parameter.columns(rows.iter().map(|row| row.point - 1))));
    columns.extend([text("run", |row| &row.run), text("scope", |row| &row.scope), text("name", |row| &row.name)]);
    columns.push(Column { name: "replications", values: Values::Count(rows.iter().map(|row| row.replications).collect()) });
    for (metric, names) in NAMES.iter().enumerate() {
        let figures: [fn(&SweptFigure) -> Option<f64>; 4] = [
            |figure| Some(figure.mean.mean),
            |figure| figure.mean.half_width,
            |figure| figure.difference.map(|difference| difference.mean),
            |figure| figure.difference.and_then(|difference| difference.half_width),
        ];
        columns.extend(names.iter().zip(figures).map(|(name, figure)| {
            let values = rows.iter().map(|row| row.figures[metric].as_ref().and_then(figure)).collect();
            Column { name, values: Values::OptionalNumber(values) }
        }));
    }
    columns
}

/// The plot of one metric: one panel per run, one curve per flow or port, and per value of the further axes of a grid. What the terminal shows comes
/// first. Behind it, the most curves that one panel leaves out.
fn chart(sweep: &SweepResult, metric: usize) -> (Option<Chart>, usize) {
    let mut panels: Vec<Panel> = Vec::new();
    let (places, axis) = places(sweep);
    let mut order: Vec<(usize, &SweepRow)> = Vec::new();
    for row in sweep.rows.iter().filter(|row| row.figures[metric].is_some()) {
        order.push((sweep.shown.iter().position(|(name, _)| *name == row.name).unwrap_or(usize::MAX), row));
        if !panels.iter().any(|panel| panel.name == row.run) {
            panels.push(Panel::new(row.run.clone(), Vec::new()));
        }
    }
    order.sort_by(|(a, row), (b, other)| a.cmp(b).then(places[row.point - 1].total_cmp(&places[other.point - 1])));
    // By panel, the curves and their numbers.
    let mut known: Vec<HashMap<String, usize>> = vec![HashMap::new(); panels.len()];
    for (_, row) in order {
        let Some(figure) = row.figures[metric] else { continue };
        let Some(panel) = panels.iter().position(|panel| panel.name == row.run) else { continue };
        let group = &sweep.curves[row.point - 1];
        let name = if group.is_empty() { row.name.clone() } else { format!("{}, {group}", row.name) };
        let next = known[panel].len();
        let curve = *known[panel].entry(name.clone()).or_insert(next);
        let curves = &mut panels[panel].curves;
        if curve == curves.len() && curve < CURVES_SHOWN {
            curves.push(Curve::new(name));
        }
        if let Some(curve) = curves.get_mut(curve) {
            curve.push_estimate(places[row.point - 1], figure.mean);
        }
    }
    let left_out = known.iter().map(|curves| curves.len().saturating_sub(CURVES_SHOWN)).max().unwrap_or(0);
    let words = METRIC_WORDS[metric];
    let title = capitalised(&format!("{words} over {}", axis.title));
    let chart = Chart::new(METRICS[metric], title, axis, Axis::linear(words).of(unit_of(METRICS[metric])), panels);
    ((!chart.panels.is_empty()).then_some(chart), left_out)
}

/// Where points are on the horizontal axis of plots, and the axis: the first parameter as a number, or else the number of the point.
fn places(sweep: &SweepResult) -> (Vec<f64>, Axis) {
    let first = &sweep.parameters[0];
    match &first.numbers {
        Some(numbers) => {
            let axis = Axis { title: first.key.clone().into(), logarithmic: is_geometric(&numbers.values), unit: numbers.unit };
            (numbers.values.clone(), axis)
        }
        None => {
            let axis = Axis { title: format!("the number of the point, by {}", first.key).into(), logarithmic: false, unit: "" };
            ((1..=first.values.len()).map(|point| point as f64).collect(), axis)
        }
    }
}

/// True if values are closer to equal ratios than to equal steps, over a range of ten or more.
fn is_geometric(values: &[f64]) -> bool {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (Some(&low), Some(&high), Some(&middle)) = (values.first(), values.last(), values.get(values.len() / 2)) else { return false };
    values.len() > 2 && low > 0.0 && high >= 10.0 * low && middle < (low + high) / 4.0
}

/// The sweep as a page, which opens without a network.
pub fn sweep_html(sweep: &SweepResult) -> String {
    let mut body =
        format!("<header>\n<h1>{}</h1>\n<p class=\"circumstances\">{}</p>\n", escaped(&sweep.title), escaped(&sweep.circumstances));
    sweep.notes.iter().for_each(|note| body.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(note))));
    if sweep.rows.iter().flat_map(|row| &row.figures).flatten().any(|figure| figure.mean.half_width.is_some()) {
        body.push_str("<p class=\"note\">Bars in the plots are the 95 % intervals of the means.</p>\n");
    }
    body.push_str("</header>\n");
    let (mut plots, mut legend) = (Plots::default(), Legend::default());
    // First what the terminal shows.
    let mut metrics: Vec<usize> = (0..METRICS.len()).collect();
    metrics.sort_by_key(|metric| sweep.shown.iter().position(|(_, shown)| shown == metric).unwrap_or(usize::MAX));
    for metric in metrics {
        let (Some(chart), left_out) = chart(sweep, metric) else { continue };
        let more = match left_out {
            0 => String::new(),
            1 => "1 more curve is in table.parquet.".to_owned(),
            more => format!("{more} more curves are in table.parquet."),
        };
        body.push_str(&html::section(chart.id, &escaped(&chart.title), &more));
        plots.lines.push(line_chart(chart.id.to_owned(), &chart, &mut legend));
    }
    body.push_str("<section class=\"tables\">\n");
    body.push_str(&html::table(&plain(&table(sweep)), "Points", &unbroken(&sweep.title)));
    body.push_str("</section>\n");
    html::document(&sweep.title, &body, env!("CARGO_PKG_VERSION"), &plots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SweepResult {
        let mut figures = [None; METRICS.len()];
        figures[0] = Some(SweptFigure { mean: Estimate { mean: 5e5, half_width: Some(1e3) }, difference: None });
        let row =
            |point, run: &str| SweepRow { point, run: run.into(), scope: "flow".into(), name: "<voice>".into(), replications: 4, figures };
        SweepResult {
            title: "A <queue>".into(),
            circumstances: "2 points".into(),
            notes: vec!["A note.".into()],
            parameters: vec![
                Parameter::new("policy.line.rate".into(), vec!["2 Mbit/s".into(), "1 Mbit/s".into()], Some(("bps", vec![2e6, 1e6]))),
                Parameter::new("policy.line.weight".into(), vec!["1".into(), "3".into()], Some(("", vec![1.0, 3.0]))),
            ],
            curves: vec![String::new(); 2],
            shown: vec![("<voice>".into(), 0)],
            rows: vec![row(1, "a"), row(1, "b"), row(2, "a"), row(2, "b")],
        }
    }

    #[test]
    fn every_point_and_run_has_a_row_with_its_parameters() {
        let text = sweep_terminal(&sample(), TerminalOptions::default());
        assert!(text.contains("1 Mbit/s") && text.contains("500 kbit/s ± 1 kbit/s"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&sweep_json(&sample())).unwrap();
        assert_eq!(json["rows"].as_array().unwrap().len(), 4);
        assert_eq!(json["rows"][2]["parameters"]["policy.line.rate"], "1 Mbit/s");
        assert_eq!(json["rows"][2]["throughput_bps"]["mean"]["mean"], 5e5);
    }

    #[test]
    fn what_the_terminal_shows_is_drawn_first_and_few_curves_fit_a_plot() {
        let mut sweep = sample();
        let others = (0..40).flat_map(|number| {
            let of = |mut row: SweepRow| {
                row.name = format!("flow {number}");
                row.figures[METRICS.len() - 1] = row.figures[0];
                row
            };
            sweep.rows.iter().cloned().map(of).collect::<Vec<_>>()
        });
        sweep.rows = others.chain(sweep.rows.clone()).collect();
        sweep.shown = vec![("flow 30".into(), METRICS.len() - 1), ("<voice>".into(), 0)];
        let (drawn, left_out) = chart(&sweep, 0);
        let names: Vec<String> = drawn.unwrap().panels[0].curves.iter().map(|curve| curve.name.clone()).collect();
        assert_eq!((names[0].as_str(), names[1].as_str(), names[2].as_str()), ("flow 30", "<voice>", "flow 0"));
        assert_eq!((names.len(), left_out), (CURVES_SHOWN, 41 - CURVES_SHOWN));
        let page = sweep_html(&sweep);
        let place = |id: &str| page.find(&format!("<section class=\"chart\" id=\"{id}\"")).unwrap();
        assert!(place("slowdown_p99") < place("throughput_bps"));
    }

    #[test]
    fn values_in_equal_ratios_have_a_logarithmic_axis() {
        assert!(is_geometric(&[1.0, 10.0, 100.0]) && is_geometric(&[4e3, 2e4, 8e4, 4e5]));
        assert!(
            !is_geometric(&[1.0, 50.0, 100.0]) && !is_geometric(&[0.0, 1.0, 100.0]) && !is_geometric(&[1.0, 100.0]) && !is_geometric(&[])
        );
    }

    #[test]
    fn curves_run_to_the_right_and_the_page_is_safe() {
        let (chart, left_out) = chart(&sample(), 0);
        let chart = chart.unwrap();
        assert_eq!((chart.panels.len(), left_out), (2, 0));
        assert_eq!(chart.panels[0].curves[0].x, [1e6, 2e6]);
        assert_eq!(chart.panels[0].curves[0].half_widths, [Some(1e3); 2]);
        assert_eq!((chart.title.as_str(), chart.x.unit, chart.y.unit), ("Throughput over policy.line.rate", "bps", "bps"));
        assert!(super::chart(&sample(), 1).0.is_none());
        let folder = tempfile::tempdir().unwrap();
        let paths = write_sweep(&sample(), folder.path()).unwrap();
        let page = std::fs::read_to_string(&paths[1]).unwrap();
        assert!(
            page.contains("id=\"throughput_bps\"")
                && page.contains("\"half_widths\":[1000.0,1000.0]")
                && !page.contains("<voice>")
                && !page.contains("https://")
        );
        let sweep = sample();
        let names: Vec<&str> = sweep_columns(&sweep).iter().map(|column| column.name).collect();
        assert_eq!(names[..5], ["point", "policy.line.rate", "policy.line.rate_bps", "policy.line.weight", "run"]);
        assert_eq!(
            (with("delay_p99_s", "half_width"), with("loss", "difference")),
            ("delay_p99_half_width_s".into(), "loss_difference".into())
        );
    }
}
