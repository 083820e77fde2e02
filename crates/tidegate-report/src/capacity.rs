//! What a machine forwards: one sentence, then tables; JSON, a Parquet table of delays, and one page.
//!
//! The command that ran the trials fills in a [`CapacityReport`]. [`capacity_terminal`] shows it as text, [`capacity_json`] as JSON, and
//! [`write_capacity`] puts `summary.json`, `delays.parquet` and `report.html` on disk.

use crate::columnar::{Column, Values};
use crate::error::ReportError;
use crate::figure::{Axis, Chart, Curve, Panel, Table};
use crate::folder::OutputFolder;
use crate::grid::{Cell, Grid, NOTHING, Tone, text_column};
use crate::html::{self, escaped};
use crate::model::PromiseResult;
use crate::plain::{plain, wrapped};
use crate::plot::{Legend, Plots, line_chart};
use crate::quantity::{self, NO_BREAK_SPACE};
use crate::table::{TerminalOptions, heading, render};
use serde::Serialize;
use std::path::PathBuf;

/// Version of the layout of a machine's `summary.json`. It rises when a field changes its meaning or goes; a new field leaves it.
pub const CAPACITY_SCHEMA: u32 = 1;

/// The answer to what a machine forwards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacityReport {
    /// Version of Tidegate that ran the trials.
    pub tidegate_version: String,
    /// What the file shows.
    pub title: String,
    /// The machine file.
    pub source: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
    /// The seed of every trial.
    pub seed: u64,
    /// The mean length of frames in bytes.
    pub mean_frame_bytes: f64,
    /// What each resource alone lets through.
    pub capacity: Vec<CeilingResult>,
    /// The resource with the least ceiling.
    pub bottleneck: String,
    /// The maximum loss-free forwarding rate.
    pub mlffr: ForwardingResult,
    /// Trials at parts of it.
    pub loads: Vec<LoadResult>,
    /// What was promised, and whether it held.
    pub promises: Vec<PromiseResult>,
}

/// The ceiling of one resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CeilingResult {
    /// Its name.
    pub resource: String,
    /// Packets per second; `None` if it never limits.
    pub packets_per_second: Option<f64>,
    /// Bits of frames per second.
    pub bits_per_second: Option<f64>,
    /// The part of it in use at the maximum loss-free forwarding rate.
    pub share: Option<f64>,
}

/// The maximum loss-free forwarding rate, in packets per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForwardingResult {
    /// The highest rate tried without too much loss; `None` if there is none.
    pub low: Option<f64>,
    /// The lowest rate tried with too much loss; `None` if the least ceiling itself is reached.
    pub high: Option<f64>,
    /// `low` in bits of frames per second.
    pub bits_per_second: Option<f64>,
    /// The part of packets whose loss counts as none.
    pub loss: f64,
    /// The least packets of a trial that decided.
    pub packets: f64,
    /// Trials run.
    pub trials: u64,
    /// Where packets were lost at `high`, until the trial ended.
    pub drops: LossCount,
}

/// Packets lost, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LossCount {
    /// In the receive FIFO, because the bus was late.
    pub fifo: u64,
    /// In the receive FIFO behind a full ring, because the processor was late.
    pub ring: u64,
    /// In the protocol queue.
    pub ipq: u64,
    /// In the queue of a flow or of the user process.
    pub fq: u64,
    /// In the interface queue.
    #[serde(rename = "if")]
    pub interface: u64,
}

impl LossCount {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.fifo + self.ring + self.ipq + self.fq + self.interface
    }
}

/// The trial at one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadResult {
    /// What it is called: "80 %", or "promised".
    pub name: String,
    /// Packets per second of all flows together.
    pub packets_per_second: f64,
    /// Bits of frames per second.
    pub bits_per_second: f64,
    /// The flows.
    pub flows: Vec<FlowLoad>,
    /// The mean number of packets of a turn, over turns that found nothing too; `None` without turns.
    pub batch_mean: Option<f64>,
    /// The 99th percentile of it.
    pub batch_p99: Option<u64>,
    /// The busy part of each core.
    pub busy_core: Vec<f64>,
    /// The busy part of the bus: one value for PCI, to the host and from it for PCI Express.
    pub busy_bus: Vec<f64>,
    /// The part of memory bandwidth in use; `None` if memory does not limit.
    pub busy_memory: Option<f64>,
    /// What pause of the processor the rings survive.
    pub survives: PauseResult,
}

/// The longest pause of the processor without loss, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PauseResult {
    /// With the descriptors of the ring alone.
    pub ring_s: Option<f64>,
    /// With the receive FIFO before it.
    pub with_fifo_s: Option<f64>,
}

/// One flow at one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowLoad {
    /// Its name.
    pub name: String,
    /// Packets that arrived in the measured time.
    pub offered: u64,
    /// Packets that left in the measured time.
    pub forwarded: u64,
    /// Packets lost.
    pub drops: LossCount,
    /// The mean delay in seconds; `None` if no packet left.
    pub delay_mean_s: Option<f64>,
    /// Quantiles of the delay.
    pub delay_quantiles: Vec<DelayQuantile>,
    /// The tail of the delay: seconds, and for each the part of packets beyond.
    #[serde(skip)]
    pub tail: (Vec<f64>, Vec<f64>),
}

/// One quantile of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayQuantile {
    /// The part of packets, 0 to 1.
    pub part: f64,
    /// The delay in seconds; `None` with fewer than 200 packets beyond it.
    pub seconds: Option<f64>,
}

impl CapacityReport {
    /// Whether everything that was promised held.
    pub fn promises_kept(&self) -> bool {
        self.promises.iter().all(|promise| promise.kept)
    }

    fn ceilings(&self) -> Table {
        let rows = self.capacity.iter().map(|ceiling| {
            let optional = |value: Option<f64>, show: fn(f64) -> String| value.map_or(NOTHING.to_owned(), show);
            vec![
                ceiling.resource.clone(),
                optional(ceiling.packets_per_second, quantity::packet_rate),
                optional(ceiling.bits_per_second, quantity::rate),
                optional(ceiling.share, quantity::ratio),
            ]
        });
        Table::new("What each resource lets through", &["resource", "packets", "frames", "used without loss"], rows.collect())
    }

    fn use_of_loads(&self) -> Table {
        let parts = |parts: &[f64]| match parts {
            [] => NOTHING.to_owned(),
            [one] => quantity::ratio(*one),
            [one, other] => format!("{}, {}", quantity::ratio(*one), quantity::ratio(*other)),
            more => {
                let extreme = |choose: fn(f64, f64) -> f64| quantity::ratio(more.iter().copied().fold(more[0], choose));
                format!("{} to {}", extreme(f64::min), extreme(f64::max))
            }
        };
        let rows = self.loads.iter().map(|load| {
            let time = |seconds: Option<f64>| seconds.map_or(NOTHING.to_owned(), quantity::time);
            vec![
                load.name.clone(),
                quantity::packet_rate(load.packets_per_second),
                parts(&load.busy_core),
                parts(&load.busy_bus),
                load.busy_memory.map_or(NOTHING.to_owned(), quantity::ratio),
                match (load.batch_mean, load.batch_p99) {
                    (Some(mean), Some(p99)) => format!("{mean:.2}, {p99}"),
                    _ => NOTHING.to_owned(),
                },
                time(load.survives.ring_s),
                time(load.survives.with_fifo_s),
            ]
        });
        let head = ["load", "packets", "CPU", "bus", "memory", "batch mean, p99", "pause: ring", "with FIFO"];
        Table::new("How busy the machine is, and what pause of the processor it survives", &head, rows.collect())
    }

    fn delays(&self) -> Table {
        let first = self.loads.first().and_then(|load| load.flows.first());
        let parts: Vec<f64> = first.map_or(Vec::new(), |flow| flow.delay_quantiles.iter().map(|quantile| quantile.part).collect());
        let mut head: Vec<String> = ["load", "flow", "offered", "lost", "mean"].map(str::to_owned).into();
        head.extend(parts.iter().map(|&part| percentile(part)));
        let mut rows = Vec::new();
        for load in &self.loads {
            for flow in &load.flows {
                let time = |seconds: Option<f64>| seconds.map_or(NOTHING.to_owned(), quantity::time);
                let lost = quantity::count(flow.drops.total());
                let mut row = vec![load.name.clone(), flow.name.clone(), quantity::count(flow.offered), lost, time(flow.delay_mean_s)];
                row.extend(flow.delay_quantiles.iter().map(|quantile| time(quantile.seconds)));
                rows.push(row);
            }
        }
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        Table::new("Delays from the last bit in to the last bit out", &head, rows)
    }

    fn tables(&self) -> Vec<Table> {
        if self.loads.is_empty() { vec![self.ceilings()] } else { vec![self.ceilings(), self.use_of_loads(), self.delays()] }
    }

    fn promise_grid(&self) -> Option<Grid> {
        let row = |promise: &PromiseResult| {
            let tone = if promise.kept { Tone::Kept } else { Tone::Broken };
            vec![Cell::plain(&promise.flow), Cell::plain(&promise.promise), Cell { tone, ..Cell::plain(&promise.measured) }]
        };
        let columns = ["flow", "promise", "measured"].map(text_column).into();
        (!self.promises.is_empty()).then(|| Grid::new("promises", columns, self.promises.iter().map(row).collect()))
    }

    fn charts(&self) -> Vec<Chart> {
        let several = self.loads.iter().any(|load| load.flows.len() > 1);
        let tail = |name: &str, flow: &FlowLoad| {
            let (x, y) = &flow.tail;
            Curve { x: x.iter().map(|seconds| seconds * 1e6).collect(), y: y.clone(), ..Curve::new(name) }
        };
        let panels: Vec<Panel> = if several {
            let panel = |load: &LoadResult| Panel {
                name: load.name.clone(),
                curves: load.flows.iter().map(|flow| tail(&flow.name, flow)).collect(),
            };
            self.loads.iter().map(panel).collect()
        } else {
            let curves = self.loads.iter().filter_map(|load| Some(tail(&load.name, load.flows.first()?))).collect();
            vec![Panel { name: "all loads".into(), curves }]
        };
        let tails = Chart {
            id: "delay-tail",
            title: "How many packets take longer".into(),
            x: Axis::logarithmic("delay (µs)"),
            y: Axis::logarithmic("part of packets beyond"),
            steps: true,
            panels,
        };
        let mut by_load: Vec<&LoadResult> = self.loads.iter().collect();
        by_load.sort_by(|a, b| a.packets_per_second.total_cmp(&b.packets_per_second));
        let parts = self.loads.first().and_then(|load| load.flows.first()).map_or(&[][..], |flow| &flow.delay_quantiles);
        let curve = |(index, quantile): (usize, &DelayQuantile)| {
            let mut curve = Curve::new(percentile(quantile.part));
            for load in &by_load {
                let worst = load.flows.iter().filter_map(|flow| flow.delay_quantiles.get(index)?.seconds).fold(0.0, f64::max);
                if worst > 0.0 {
                    curve.push(load.packets_per_second / 1e3, worst * 1e6);
                }
            }
            curve
        };
        let quantiles = Chart {
            id: "delay-load",
            title: "Delay against load".into(),
            x: Axis::linear("packets per second (thousands)"),
            y: Axis::logarithmic("delay of the slowest flow (µs)"),
            steps: false,
            panels: vec![Panel { name: "quantiles".into(), curves: parts.iter().enumerate().map(curve).collect() }],
        };
        vec![quantiles, tails]
    }
}

/// A quantile as people write it: "p99.9".
fn percentile(part: f64) -> String {
    let text = format!("{:.4}", part * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The report as text that ends with a line feed. Without colour it holds no escape sequence.
pub fn capacity_terminal(report: &CapacityReport, options: TerminalOptions) -> String {
    let mut text = heading(&report.title, options);
    text.push_str(&wrapped(&report.sentence, options.width));
    if let Some(promises) = report.promise_grid() {
        text.push_str(&format!("\n{}", render(&promises, options)));
    }
    for table in report.tables() {
        text.push_str(&format!("\n{}\n{}", table.title, render(&plain(&table), options)));
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    report.notes.iter().for_each(|note| text.push_str(&wrapped(&format!("note: {note}"), options.width)));
    text.replace(NO_BREAK_SPACE, " ")
}

/// `summary.json` as text, ending with a line feed.
pub fn capacity_json(report: &CapacityReport) -> String {
    #[derive(Serialize)]
    struct Summary<'a> {
        schema: u32,
        promises_kept: bool,
        #[serde(flatten)]
        report: &'a CapacityReport,
    }
    let summary = Summary { schema: CAPACITY_SCHEMA, promises_kept: report.promises_kept(), report };
    let mut text = serde_json::to_string_pretty(&summary).expect("the summary has only string keys, and writing to a string does not fail");
    text.push('\n');
    text
}

/// The whole page as text.
pub fn capacity_html(report: &CapacityReport) -> String {
    let mut body = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"circumstances\">{}</p>\n<p class=\"verdict\">{}</p>\n",
        escaped(&report.title),
        escaped(&report.source),
        escaped(&report.sentence)
    );
    if !report.promises.is_empty() {
        body.push_str("<ul class=\"verdicts\">\n");
        for promise in &report.promises {
            body.push_str(&html::verdict_item(Some(promise.kept), &promise.flow, &format!("{}: {}", promise.promise, promise.measured)));
        }
        body.push_str("</ul>\n");
    }
    report.notes.iter().for_each(|note| body.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(note))));
    body.push_str("</header>\n");
    let (mut plots, mut legend) = (Plots::default(), Legend::default());
    for chart in if report.loads.is_empty() { Vec::new() } else { report.charts() } {
        body.push_str(&html::section(chart.id, &escaped(&chart.title), ""));
        plots.lines.push(line_chart(chart.id.to_owned(), &chart, &mut legend));
    }
    body.push_str("<section class=\"tables\">\n<h2>Tables</h2>\n");
    report.tables().iter().for_each(|table| body.push_str(&html::table(&plain(table), &table.title, &report.title)));
    body.push_str("</section>\n");
    html::document(&report.title, &body, &report.tidegate_version, &plots)
}

/// The table of delays: the tail of every flow at every load, a row per point.
pub fn capacity_delays(report: &CapacityReport) -> Vec<Column<'_>> {
    let (mut loads, mut flows, mut rates, mut delays, mut parts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for load in &report.loads {
        for flow in &load.flows {
            let (x, y) = &flow.tail;
            loads.extend(std::iter::repeat_n(load.name.as_str(), x.len()));
            flows.extend(std::iter::repeat_n(flow.name.as_str(), x.len()));
            rates.extend(std::iter::repeat_n(load.packets_per_second, x.len()));
            delays.extend_from_slice(x);
            parts.extend_from_slice(y);
        }
    }
    vec![
        Column { name: "load", values: Values::Text(loads) },
        Column { name: "flow", values: Values::Text(flows) },
        Column { name: "packets_per_second", values: Values::Number(rates) },
        Column { name: "delay_s", values: Values::Number(delays) },
        Column { name: "share_beyond", values: Values::Number(parts) },
    ]
}

/// Writes `summary.json`, `delays.parquet` and `report.html` into `folder` and puts it in place, as [`write_all`](crate::write_all) does.
/// Returns their paths, the page last.
///
/// # Errors
/// [`ReportError::Output`], [`ReportError::Io`] or [`ReportError::Parquet`] if the file system refuses.
pub fn write_capacity(report: &CapacityReport, mut folder: OutputFolder) -> Result<Vec<PathBuf>, ReportError> {
    folder.write("summary.json", capacity_json(report).as_bytes())?;
    folder.write_table("delays.parquet", &capacity_delays(report))?;
    folder.write("report.html", capacity_html(report).as_bytes())?;
    Ok(folder.finish()?)
}

#[cfg(test)]
mod tests;
