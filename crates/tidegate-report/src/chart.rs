//! What the page's charts draw: which curves, in which colour, thinned out and rounded.

use std::collections::HashMap;

use serde::Serialize;

use crate::bounded_flows::{BoundedFlows, bounded_flows};
use crate::decimate::{self, Points};
use crate::figure::Axes;
use crate::grid::{drops_by_reason, prominent_flows};
use crate::model::{DistributionKind, DropCount, Report, Run, Series, SeriesKind};
use crate::quantity;

/// Curves in one panel: as many as there are colours that stay apart.
const CURVES_PER_PANEL: usize = 8;

/// Bars of bounds in one panel.
const BOUNDS_PER_PANEL: usize = 40;

/// Points of all curves together. At about 17 bytes each they make up the larger part of the page.
const POINTS_ON_THE_PAGE: usize = 40_000;

/// Points of one curve at most: a wide screen shows no more.
const POINTS_PER_CURVE: usize = 1500;

/// The colour of totals: the page's neutral one.
const NEUTRAL: i32 = -1;

/// Everything the page draws.
#[derive(Serialize)]
pub(crate) struct Charts {
    pub(crate) lines: Vec<LineChart>,
    pub(crate) bars: Option<BarChart>,
    pub(crate) bounds: Option<BoundChart>,
}

/// Curves over time or over delay, one panel per run.
#[derive(Serialize)]
pub(crate) struct LineChart {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What the vertical axis shows, without its unit.
    pub(crate) measure: &'static str,
    pub(crate) legend: Vec<Entry>,
    pub(crate) panels: Vec<LinePanel>,
    /// Curves that were left out of each panel, at most.
    pub(crate) left_out: usize,
    /// Its axes; `None` for those of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) axes: Option<Axes>,
}

/// A name and its colour: 0 and up from the palette, -1 neutral.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) slot: i32,
}

#[derive(Serialize)]
pub(crate) struct LinePanel {
    pub(crate) run: String,
    pub(crate) curves: Vec<Curve>,
}

#[derive(Serialize)]
pub(crate) struct Curve {
    /// Position in the legend.
    pub(crate) entry: usize,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
}

/// Dropped packets by reason, one panel per run.
#[derive(Serialize)]
pub(crate) struct BarChart {
    pub(crate) legend: Vec<Entry>,
    pub(crate) panels: Vec<BarPanel>,
}

#[derive(Serialize)]
pub(crate) struct BarPanel {
    pub(crate) run: String,
    pub(crate) bars: Vec<Bar>,
}

#[derive(Serialize)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) packets: u64,
    /// Positions in the legend with the packets of that flow or class.
    pub(crate) parts: Vec<(usize, u64)>,
}

/// Largest delays beside proven bounds, one panel per run.
#[derive(Serialize)]
pub(crate) struct BoundChart {
    pub(crate) panels: Vec<BoundPanel>,
    /// Bars that were left out of each panel, at most.
    pub(crate) left_out: usize,
}

#[derive(Serialize)]
pub(crate) struct BoundPanel {
    pub(crate) run: String,
    pub(crate) bars: Vec<BoundBar>,
}

/// The largest delay of a flow, or of equal ones, as a part of its bound.
#[derive(Serialize)]
pub(crate) struct BoundBar {
    pub(crate) label: String,
    /// Such as "8.93 ms, at most 11.75 ms (SFA)".
    pub(crate) figures: String,
    pub(crate) ratio: f64,
    pub(crate) held: bool,
    /// The colour of the flow.
    pub(crate) slot: i32,
}

/// Chooses, thins out and colours what the page draws. A kind of chart without data is left out.
pub(crate) fn charts(report: &Report) -> Charts {
    let palette = Palette::new(report);
    let throughput = chosen_series(report, SeriesKind::Throughput);
    let occupancy = chosen_series(report, SeriesKind::Occupancy);
    let delays = chosen_tails(report, DistributionKind::Delay);
    let jitter = chosen_tails(report, DistributionKind::Jitter);
    let curves = [&throughput.1, &occupancy.1, &delays.1, &jitter.1].iter().flat_map(|panels| panels.iter()).map(Vec::len).sum::<usize>();
    let limit = (POINTS_ON_THE_PAGE / curves.max(1)).clamp(64, POINTS_PER_CURVE);
    let thinned = |kind, chosen| line_chart(report, &palette, kind, chosen, limit);
    let lines = [thinned(&THROUGHPUT, throughput), thinned(&DELAY, delays), thinned(&JITTER, jitter), thinned(&OCCUPANCY, occupancy)];

    Charts { lines: lines.into_iter().flatten().collect(), bars: bar_chart(report, &palette), bounds: bound_chart(report, &palette) }
}

/// A named curve before it is thinned out.
struct Source<'a> {
    name: &'a str,
    x: &'a [f64],
    y: &'a [f64],
}

/// What a chart is called, what its vertical axis measures, and how its curves are thinned out.
struct Kind {
    id: &'static str,
    title: &'static str,
    measure: &'static str,
    thin: fn(&[f64], &[f64], usize) -> Points,
}

const THROUGHPUT: Kind = Kind { id: "throughput", title: "Throughput over time", measure: "throughput", thin: decimate::series };
const DELAY: Kind = Kind { id: "delay", title: "Delay distribution", measure: "packets delayed longer", thin: decimate::tail };
const JITTER: Kind = Kind { id: "jitter", title: "Jitter distribution", measure: "packets that differ more", thin: decimate::tail };
const OCCUPANCY: Kind = Kind { id: "occupancy", title: "Queue occupancy over time", measure: "queued", thin: decimate::series };

fn line_chart(report: &Report, palette: &Palette, kind: &Kind, (left_out, panels): Chosen, limit: usize) -> Option<LineChart> {
    if panels.iter().all(Vec::is_empty) {
        return None;
    }
    let mut legend: Vec<Entry> = Vec::new();
    let panels = report
        .runs
        .iter()
        .zip(panels)
        .map(|(run, sources)| LinePanel {
            run: run.name.clone(),
            curves: sources
                .into_iter()
                .map(|source| {
                    let (x, y) = (kind.thin)(source.x, source.y, limit);
                    Curve {
                        entry: entry(&mut legend, source.name, |name| palette.slot(name)),
                        x: x.into_iter().map(rounded).collect(),
                        y: y.into_iter().map(rounded).collect(),
                    }
                })
                .collect(),
        })
        .collect();
    Some(LineChart { id: kind.id, title: kind.title, measure: kind.measure, legend, panels, left_out, axes: None })
}

/// The curves of each run and how many were left out of the fullest one.
type Chosen<'a> = (usize, Vec<Vec<Source<'a>>>);

fn chosen_series(report: &Report, kind: SeriesKind) -> Chosen<'_> {
    choose(report, |run| {
        run.series
            .iter()
            .filter(|series| series.kind == kind && !series.values.is_empty())
            .map(|Series { name, times_s, values, .. }| Source { name, x: times_s, y: values })
            .collect()
    })
}

fn chosen_tails(report: &Report, kind: DistributionKind) -> Chosen<'_> {
    choose(report, |run| {
        run.distributions
            .iter()
            .filter(|distribution| distribution.kind == kind && !distribution.ccdf.is_empty())
            .map(|distribution| Source { name: &distribution.flow, x: &distribution.values_s, y: &distribution.ccdf })
            .collect()
    })
}

fn choose<'a>(report: &'a Report, sources: impl Fn(&'a Run) -> Vec<Source<'a>>) -> Chosen<'a> {
    let mut left_out = 0;
    let panels = report
        .runs
        .iter()
        .map(|run| {
            let mut sources = sources(run);
            if sources.len() > CURVES_PER_PANEL {
                left_out = left_out.max(sources.len() - CURVES_PER_PANEL);
                let flows = prominent_flows(run, CURVES_PER_PANEL);
                let prominent = |name: &str| flows.iter().any(|&index| run.flows[index].name == name);
                // The sort is stable: what is no flow's curve stays in the order in which it was measured.
                sources.sort_by_key(|source| !prominent(source.name));
                sources.truncate(CURVES_PER_PANEL);
            }
            sources
        })
        .collect();
    (left_out, panels)
}

/// `None` if no flow has a bound.
fn bound_chart(report: &Report, palette: &Palette) -> Option<BoundChart> {
    let mut left_out = 0;
    let panel = |run: &Run| {
        let (more, rows) = bounded_flows(run, BOUNDS_PER_PANEL);
        left_out = left_out.max(more);
        let bar = |flows: &BoundedFlows| {
            let (bound, packet) = (flows.bound.delay_ps?, flows.bound.longest?);
            let method = flows.bound.method.as_deref().unwrap_or_default();
            let measured = quantity::time(packet.delay_ps as f64 / 1e12);
            Some(BoundBar {
                label: flows.name(),
                figures: format!("{measured}, at most {} ({method})", quantity::time_at_most(bound)),
                ratio: rounded(flows.bound.ratio?),
                held: flows.bound.held == Some(true),
                slot: palette.slot(&flows.worst.name),
            })
        };
        BoundPanel { run: run.name.clone(), bars: rows.iter().filter_map(bar).collect() }
    };
    let panels: Vec<BoundPanel> = report.runs.iter().map(panel).collect();
    panels.iter().any(|panel| !panel.bars.is_empty()).then_some(BoundChart { panels, left_out })
}

fn bar_chart(report: &Report, palette: &Palette) -> Option<BarChart> {
    let several_ports = report.runs.iter().any(|run| run.ports.len() > 1);
    let mut legend = Vec::new();
    let panels: Vec<BarPanel> = report
        .runs
        .iter()
        .map(|run| BarPanel {
            run: run.name.clone(),
            bars: drops_by_reason(run)
                .into_iter()
                .map(|drop| Bar {
                    parts: parts(run, &drop, &mut legend, palette),
                    packets: drop.volume.packets,
                    label: if several_ports { format!("{}: {}", drop.port, drop.reason) } else { drop.reason },
                })
                .collect(),
        })
        .collect();
    let any = panels.iter().any(|panel| !panel.bars.is_empty());
    any.then_some(BarChart { legend, panels })
}

/// Whose packets were dropped: of which flows or, where their packets do not account for all that the port has dropped (it may count cells), of which
/// classes. Empty when flows and classes have counted more than the port, as they may when they were taken over different stretches of time: then
/// a bar in one colour is the honest one.
fn parts(run: &Run, drop: &DropCount, legend: &mut Vec<Entry>, palette: &Palette) -> Vec<(usize, u64)> {
    let of = |drops: &[DropCount]| {
        drops.iter().filter(|lost| lost.port == drop.port && lost.reason == drop.reason).map(|lost| lost.volume.packets).sum::<u64>()
    };
    let of_all = |shares: &[(&str, u64)]| shares.iter().map(|(_, packets)| packets).sum::<u64>();
    let mut shares: Vec<(&str, u64)> = run.flows.iter().map(|flow| (flow.name.as_str(), of(&flow.drops))).collect();
    if of_all(&shares) != drop.volume.packets {
        let port = run.ports.iter().find(|port| port.name == drop.port);
        let classes: Vec<(&str, u64)> =
            port.iter().flat_map(|port| &port.classes).map(|class| (class.name.as_str(), of(&class.drops))).collect();
        if of_all(&classes) == drop.volume.packets {
            shares = classes;
        } else if of_all(&shares) > drop.volume.packets {
            return Vec::new();
        }
    }
    shares.retain(|(_, packets)| *packets > 0);
    if shares.len() > CURVES_PER_PANEL {
        shares.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
        shares.truncate(CURVES_PER_PANEL);
    }
    shares.into_iter().map(|(name, packets)| (entry(legend, name, |name| palette.slot(name)), packets)).collect()
}

/// The position of a name in the legend, where it is added with the colour that `slot` gives it.
pub(crate) fn entry(legend: &mut Vec<Entry>, name: &str, slot: impl FnOnce(&str) -> i32) -> usize {
    legend.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
        legend.push(Entry { name: name.to_owned(), slot: slot(name) });
        legend.len() - 1
    })
}

/// One colour per thing on the whole page: a flow, its class and that class's queue share theirs.
struct Palette {
    slots: HashMap<String, i32>,
}

impl Palette {
    fn new(report: &Report) -> Self {
        let mut slots = HashMap::new();
        let mut next = 0;
        let mut take = || {
            next += 1;
            next - 1
        };
        for run in &report.runs {
            for index in prominent_flows(run, CURVES_PER_PANEL) {
                let flow = &run.flows[index];
                let slot = *slots.entry(flow.name.clone()).or_insert_with(&mut take);
                if let (Some(port), Some(class)) = (&flow.port, &flow.class) {
                    slots.entry(format!("{port} / {class}")).or_insert(slot);
                }
            }
        }
        for run in &report.runs {
            for port in &run.ports {
                let prefix = format!("{} / ", port.name);
                let of_classes = run.series.iter().any(|series| series.name.starts_with(&prefix));
                if of_classes {
                    slots.entry(port.name.clone()).or_insert(NEUTRAL);
                }
            }
            for series in &run.series {
                if series.kind == SeriesKind::Occupancy && !slots.contains_key(&series.name) {
                    slots.insert(series.name.clone(), take());
                }
            }
        }
        Self { slots }
    }

    /// Things without a colour of their own are drawn in the neutral one.
    fn slot(&self, name: &str) -> i32 {
        self.slots.get(name).copied().unwrap_or(NEUTRAL)
    }
}

/// Six significant digits: more than a screen can show, in a third of the bytes.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample_report;
    use std::sync::Arc;

    #[test]
    fn the_sample_fills_every_chart_for_every_run() {
        let charts = charts(&sample_report());
        let ids: Vec<&str> = charts.lines.iter().map(|chart| chart.id).collect();
        assert_eq!(ids, ["throughput", "delay", "jitter", "occupancy"]);
        for chart in &charts.lines {
            assert_eq!(chart.panels.len(), 2);
            for panel in &chart.panels {
                assert_eq!(panel.curves.len(), if chart.id == "occupancy" { 4 } else { 3 });
                assert!(panel.curves.iter().all(|curve| curve.x.len() > 100 && curve.x.len() == curve.y.len()));
            }
        }
        let bars = charts.bars.unwrap();
        let bar = &bars.panels[1].bars[0];
        assert_eq!(bar.parts.iter().map(|(_, packets)| packets).sum::<u64>(), bar.packets);
    }

    #[test]
    fn a_flow_keeps_its_colour_in_every_chart_and_a_total_has_none() {
        let charts = charts(&sample_report());
        let slots = |chart: usize| -> Vec<i32> { charts.lines[chart].legend.iter().map(|entry| entry.slot).collect() };
        assert_eq!(slots(0), [0, 1, 2]);
        assert_eq!(slots(1), [0, 1, 2]);
        assert_eq!(slots(2), [0, 1, 2]);
        assert_eq!(slots(3), [NEUTRAL, 0, 1, 2]);
        for entry in &charts.bars.unwrap().legend {
            assert!(charts.lines[0].legend.contains(entry), "{entry:?}");
        }
    }

    #[test]
    fn a_thousand_flows_leave_the_page_small() {
        let mut report = sample_report();
        let run = &mut report.runs[0];
        let times_s: Arc<[f64]> = (0..10_000).map(|step| f64::from(step) * 0.0123456).collect();
        for index in 0..1000 {
            let mut flow = run.flows[0].clone();
            flow.name = format!("flow {index}");
            run.series.push(Series {
                kind: SeriesKind::Throughput,
                name: flow.name.clone(),
                values: times_s.iter().map(|time| (time + f64::from(index)).sin() + 1.0).collect(),
                times_s: times_s.clone(),
            });
            run.flows.push(flow);
        }
        let charts = charts(&report);
        assert_eq!(charts.lines[0].panels[0].curves.len(), CURVES_PER_PANEL);
        assert_eq!(charts.lines[0].left_out, 1003 - CURVES_PER_PANEL);
        let names: Vec<&str> = charts.lines[0].legend.iter().map(|entry| entry.name.as_str()).collect();
        assert!(names.contains(&"voice") && names.contains(&"bulk"), "{names:?}");
        assert!(serde_json::to_string(&charts).unwrap().len() < 1_500_000);
    }

    #[test]
    fn flows_that_lost_more_than_the_port_dropped_leave_the_bar_undivided() {
        let mut report = sample_report();
        report.runs[1].flows[0].drops[0].volume.packets += 1;
        report.runs[1].ports[0].classes.clear();
        let bars = charts(&report).bars.unwrap();
        assert!(bars.panels[1].bars[0].parts.is_empty());
    }

    #[test]
    fn where_flows_do_not_account_for_all_that_a_port_dropped_its_classes_do() {
        let mut report = sample_report();
        let run = &mut report.runs[1];
        // The port counts cells, ten for a packet.
        let class_drops = |run: &Run| -> Vec<u64> {
            let of = |class: &crate::ClassResult| class.drops.iter().map(|drop| drop.volume.packets).sum();
            run.ports[0].classes.iter().map(of).filter(|packets| *packets > 0).collect()
        };
        for drop in run.ports[0].drops.iter_mut() {
            drop.volume.packets *= 10;
        }
        for drop in run.ports[0].classes.iter_mut().flat_map(|class| &mut class.drops) {
            drop.volume.packets *= 10;
        }
        let expected: u64 = class_drops(run).iter().sum();
        let bars = charts(&report).bars.unwrap();
        let parts: u64 = bars.panels[1].bars.iter().flat_map(|bar| &bar.parts).map(|(_, packets)| packets).sum();
        let all: u64 = bars.panels[1].bars.iter().map(|bar| bar.packets).sum();
        assert_eq!((parts, all), (expected, expected));
    }

    #[test]
    fn a_report_without_data_has_no_charts() {
        let report = Report::new("empty", crate::World::Replay, "policy.toml");
        let charts = charts(&report);
        assert!(charts.lines.is_empty() && charts.bars.is_none() && charts.bounds.is_none());
    }
}
