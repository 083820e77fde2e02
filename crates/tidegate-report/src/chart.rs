//! What the page's charts draw: which curves, in which colour, thinned out and rounded.

use std::collections::HashMap;

use serde::Serialize;

use crate::bounded_flows::{BoundedFlows, bounded_flows};
use crate::decimate::{self, Points};
use crate::figure::Axes;
use crate::grid::{drops_by_reason, prominent_flows};
use crate::model::{DistributionKind, DropCount, PortResult, Report, Run, Series, SeriesKind};
use crate::quantity;

/// Curves in one panel: as many as there are colours that stay apart.
const CURVES_PER_PANEL: usize = 8;

/// Bars of drops in one panel.
const DROPS_PER_PANEL: usize = 12;

/// Shaded failures in one panel.
const OUTAGES_PER_PANEL: usize = 100;

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
    /// Stretches of the horizontal axis that are shaded: failures of links. One without an end goes on to that of the axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bands: Vec<(f64, Option<f64>)>,
}

#[derive(Serialize)]
pub(crate) struct Curve {
    /// Position in the legend.
    pub(crate) entry: usize,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// Of the intervals around y; empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) half_widths: Vec<Option<f64>>,
}

/// Dropped packets by reason, one panel per run.
#[derive(Serialize)]
pub(crate) struct BarChart {
    pub(crate) legend: Vec<Entry>,
    pub(crate) panels: Vec<BarPanel>,
    /// Bars that were left out of each panel, at most.
    pub(crate) left_out: usize,
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
    let throughput = chosen_series(report, SeriesKind::Throughput);
    let occupancy = fullest_queues(report);
    let palette = Palette::new(report, &occupancy.1);
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
    over_time: bool,
}

const THROUGHPUT: Kind =
    Kind { id: "throughput", title: "Throughput over time", measure: "throughput", thin: decimate::series, over_time: true };
const DELAY: Kind =
    Kind { id: "delay", title: "Delay distribution", measure: "packets delayed longer", thin: decimate::tail, over_time: false };
const JITTER: Kind =
    Kind { id: "jitter", title: "Jitter distribution", measure: "packets that differ more", thin: decimate::tail, over_time: false };
const OCCUPANCY: Kind =
    Kind { id: "occupancy", title: "Queue occupancy over time", measure: "queued", thin: decimate::series, over_time: true };

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
            bands: if kind.over_time { outages(run) } else { Vec::new() },
            curves: sources
                .into_iter()
                .map(|source| {
                    let (x, y) = (kind.thin)(source.x, source.y, limit);
                    Curve {
                        entry: entry(&mut legend, source.name, |name| palette.slot(name)),
                        x: x.into_iter().map(rounded).collect(),
                        y: y.into_iter().map(rounded).collect(),
                        half_widths: Vec::new(),
                    }
                })
                .collect(),
        })
        .collect();
    Some(LineChart { id: kind.id, title: kind.title, measure: kind.measure, legend, panels, left_out, axes: None })
}

/// When links were down.
fn outages(run: &Run) -> Vec<(f64, Option<f64>)> {
    run.failures.iter().take(OUTAGES_PER_PANEL).map(|failure| (rounded(failure.at_s), failure.until_s.map(rounded))).collect()
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

/// The queues that held most at any time, in any run, so that all runs show the same ones. The only class of a port is left out beside the port.
fn fullest_queues(report: &Report) -> Chosen<'_> {
    let is_queue = |series: &&Series| series.kind == SeriesKind::Occupancy && !series.values.is_empty();
    let mut most: HashMap<&str, f64> = HashMap::new();
    for run in &report.runs {
        let only: Vec<String> = run.ports.iter().filter_map(only_class).collect();
        for series in run.series.iter().filter(is_queue).filter(|series| !only.contains(&series.name)) {
            let held = most.entry(&series.name).or_default();
            *held = series.values.iter().copied().fold(*held, f64::max);
        }
    }
    let mut names: Vec<(&str, f64)> = most.into_iter().collect();
    names.sort_by(|(a, held_a), (b, held_b)| held_b.total_cmp(held_a).then(a.cmp(b)));
    let left_out = names.len().saturating_sub(CURVES_PER_PANEL);
    names.truncate(CURVES_PER_PANEL);
    let mut panels = Vec::new();
    for run in &report.runs {
        let shown = run.series.iter().filter(is_queue).filter(|series| names.iter().any(|(name, _)| *name == series.name));
        panels.push(shown.map(|Series { name, times_s, values, .. }| Source { name, x: times_s, y: values }).collect());
    }
    (left_out, panels)
}

/// The name of the curve of the only class of a port, which is the same as that of the port.
fn only_class(port: &PortResult) -> Option<String> {
    let [class] = &port.classes[..] else { return None };
    Some(format!("{} / {}", port.name, class.name))
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
    let mut left_out = 0;
    let panels: Vec<BarPanel> = report
        .runs
        .iter()
        .map(|run| BarPanel {
            run: run.name.clone(),
            bars: most_drops(run, &mut left_out)
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
    any.then_some(BarChart { legend, panels, left_out })
}

/// The drops that the bars of a run show: the greatest, in the order of the ports.
fn most_drops(run: &Run, left_out: &mut usize) -> Vec<DropCount> {
    let mut drops = drops_by_reason(run);
    let more = drops.len().saturating_sub(DROPS_PER_PANEL);
    if more > 0 {
        *left_out = more.max(*left_out);
        let mut sizes: Vec<u64> = drops.iter().map(|drop| drop.volume.packets).collect();
        sizes.sort_unstable();
        let least = sizes[more];
        drops.retain(|drop| drop.volume.packets >= least);
        drops.truncate(DROPS_PER_PANEL);
    }
    drops
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
    /// `queues` has the curves of queues of each run.
    fn new(report: &Report, queues: &[Vec<Source<'_>>]) -> Self {
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
                if let Some(class) = only_class(port) {
                    if let Some(&slot) = slots.get(&class) {
                        slots.entry(port.name.clone()).or_insert(slot);
                    }
                } else if run.series.iter().any(|series| series.name.starts_with(&prefix)) {
                    slots.entry(port.name.clone()).or_insert(NEUTRAL);
                }
            }
        }
        for queue in queues.iter().flatten() {
            if !slots.contains_key(queue.name) {
                slots.insert(queue.name.to_owned(), take());
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
    use crate::failure::FailureResult;
    use crate::sample::sample_report;
    use crate::volume::Volume;
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

    /// Adds ports with one class each to the first run, whose queues hold `held` bytes at most.
    fn add_ports(report: &mut Report, held: &[f64]) {
        let run = &mut report.runs[0];
        for (number, &held) in held.iter().enumerate() {
            let mut port = run.ports[0].clone();
            port.name = format!("port {number}");
            port.classes.truncate(1);
            for name in [port.name.clone(), only_class(&port).unwrap()] {
                let times_s = Arc::from([1.0, 2.0]);
                run.series.push(Series { kind: SeriesKind::Occupancy, name, times_s, values: vec![0.0, held] });
            }
            for drop in &mut port.drops {
                drop.port.clone_from(&port.name);
                drop.volume.packets = held as u64;
            }
            run.ports.push(port);
        }
    }

    #[test]
    fn the_queues_that_held_most_are_drawn_and_an_only_class_is_its_port() {
        let mut report = sample_report();
        add_ports(&mut report, &[1.0, 9e9, 2.0, 8e9, 3.0, 7e9, 4.0, 5.0, 6.0, 0.0]);
        let charts = charts(&report);
        let occupancy = charts.lines.iter().find(|chart| chart.id == "occupancy").unwrap();
        let names: Vec<&str> = occupancy.legend.iter().map(|entry| entry.name.as_str()).collect();
        assert!(["port 1", "port 3", "port 5"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("port") && name.contains('/')), "{names:?}");
        assert_eq!(occupancy.panels[0].curves.len(), CURVES_PER_PANEL);
        assert_eq!(occupancy.left_out, 4 + 10 - CURVES_PER_PANEL);
        let slots: Vec<i32> = occupancy.legend.iter().filter(|entry| entry.name.starts_with("port ")).map(|entry| entry.slot).collect();
        let mut apart = slots.clone();
        apart.sort_unstable();
        apart.dedup();
        assert!(apart.len() == slots.len() && !slots.contains(&NEUTRAL), "{slots:?}");
    }

    #[test]
    fn failures_are_shaded_over_time_only() {
        let mut report = sample_report();
        let nothing = Volume::default();
        let cut = FailureResult { name: "cut".into(), at_s: 1.0, until_s: None, queued: nothing, on_link: nothing, arrived: nothing };
        report.runs[1].failures = vec![cut];
        let bands = charts(&report).lines.into_iter().map(|chart| (chart.id, chart.panels[0].bands.len(), chart.panels[1].bands.clone()));
        let expected = |id| (id, 0, if ["throughput", "occupancy"].contains(&id) { vec![(1.0, None)] } else { Vec::new() });
        assert_eq!(bands.collect::<Vec<_>>(), ["throughput", "delay", "jitter", "occupancy"].map(expected));
    }

    #[test]
    fn the_greatest_drops_are_drawn_in_the_order_of_the_ports() {
        let mut report = sample_report();
        report.runs[0].ports[0].drops =
            vec![DropCount { port: report.runs[0].ports[0].name.clone(), ..report.runs[1].ports[0].drops[0].clone() }];
        report.runs[0].flows.iter_mut().for_each(|flow| flow.drops.clear());
        let held: Vec<f64> = (0..30).map(|port| f64::from(port * 7 % 30 + 1) * 1e9).collect();
        add_ports(&mut report, &held);
        let bars = charts(&report).bars.unwrap();
        let packets: Vec<u64> = bars.panels[0].bars.iter().map(|bar| bar.packets).collect();
        let expected: Vec<u64> = held.iter().map(|&held| held as u64).filter(|&held| held > 18_000_000_000).collect();
        assert_eq!((packets, bars.left_out), (expected, 31 - DROPS_PER_PANEL));
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
