//! Charts of figures as the page's script takes them.

use crate::chart::{Curve, Entry, LinePanel, entry, rounded};
use crate::decimate;
use crate::figure::{Axes, Chart};
use serde::Serialize;

/// Points of one curve at most: a wide screen shows no more.
const POINTS_PER_CURVE: usize = 1500;

/// What the page's script draws.
#[derive(Default, Serialize)]
pub(crate) struct Plots {
    pub(crate) lines: Vec<LineChart>,
}

#[derive(Serialize)]
pub(crate) struct LineChart {
    id: String,
    title: String,
    legend: Vec<Entry>,
    panels: Vec<LinePanel>,
    axes: Axes,
}

/// One colour per name within a figure.
#[derive(Default)]
pub(crate) struct Legend {
    names: Vec<String>,
}

impl Legend {
    fn slot(&mut self, name: &str) -> i32 {
        let known = self.names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        i32::try_from(index).unwrap_or(i32::MAX)
    }
}

/// Half widths of intervals, as the page's script takes them: empty if there is no interval.
pub(crate) fn half_widths(of: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let half_widths: Vec<Option<f64>> = of.map(|width| width.map(rounded)).collect();
    if half_widths.iter().all(Option::is_none) { Vec::new() } else { half_widths }
}

/// A chart for the page, in the colours of its figure.
pub(crate) fn line_chart(id: String, chart: &Chart, colours: &mut Legend) -> LineChart {
    let mut legend: Vec<Entry> = Vec::new();
    let mut panels = Vec::new();
    for panel in &chart.panels {
        let mut curves = Vec::new();
        for curve in &panel.curves {
            let entry = entry(&mut legend, &curve.name, |name| colours.slot(name));
            let (x, y) = decimate::series(&curve.x, &curve.y, POINTS_PER_CURVE);
            let thin = |values: Vec<f64>| values.into_iter().map(rounded).collect();
            // Intervals of this many points would hide each other.
            let half_widths = if x.len() == curve.x.len() { half_widths(curve.half_widths.iter().copied()) } else { Vec::new() };
            curves.push(Curve { entry, x: thin(x), y: thin(y), half_widths });
        }
        panels.push(LinePanel { run: panel.name.clone(), curves, bands: Vec::new() });
    }
    let axes = Axes { x: chart.x.clone(), y: chart.y.clone(), steps: chart.steps };
    LineChart { id, title: chart.title.clone(), legend, panels, axes }
}
