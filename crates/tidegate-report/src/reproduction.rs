//! Published experiments beside ours: figures with gates, charts and tables.
//!
//! The command that ran the experiments fills in a [`Reproduction`]. [`reproduction_terminal`] shows it as text, [`reproduction_json`] as JSON, and
//! [`write_reproduction`] puts `summary.json`, `series.parquet` and `report.html` on disk.

mod files;
mod page;
mod terminal;

use crate::error::ReportError;
use serde::Serialize;
use std::collections::HashSet;

pub use files::{REPRODUCTION_SCHEMA, reproduction_json, write_reproduction};
pub use page::reproduction_html;
pub use terminal::reproduction_terminal;

/// Every experiment that one command ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reproduction {
    /// Version of Tidegate that ran them.
    pub tidegate_version: String,
    /// In the order in which they were asked for.
    pub experiments: Vec<ExperimentResult>,
}

impl Reproduction {
    /// Nothing yet: push the experiments.
    pub fn new() -> Self {
        Self { tidegate_version: env!("CARGO_PKG_VERSION").to_owned(), experiments: Vec::new() }
    }

    /// Whether every gate of every figure holds.
    pub fn passed(&self) -> bool {
        self.figures().all(|(_, figure)| figure.passed())
    }

    /// How many figures have each verdict.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (_, figure) in self.figures() {
            match figure.verdict() {
                Verdict::Passed => tally.passed += 1,
                Verdict::NotReproduced => tally.not_reproduced += 1,
                Verdict::Failed => tally.failed += 1,
            }
        }
        tally
    }

    fn figures(&self) -> impl Iterator<Item = (&ExperimentResult, &FigureResult)> {
        self.experiments.iter().flat_map(|experiment| experiment.figures.iter().map(move |figure| (experiment, figure)))
    }

    /// Checks what every writer relies on: ids are unique, numbers finite, columns of equal length and x never decreases.
    ///
    /// # Errors
    /// The first contradiction found, with the figure and the curve or gate.
    pub fn validate(&self) -> Result<(), ReportError> {
        let ids = self.experiments.iter().map(|experiment| experiment.id.as_str());
        unique("experiment", ids)?;
        for experiment in &self.experiments {
            let at = format!("experiment `{}`", experiment.id);
            unique(&format!("{at}, figure"), experiment.figures.iter().map(|figure| figure.id.as_str()))?;
            experiment.figures.iter().try_for_each(|figure| check_figure(&format!("{at}, {}", figure.id), figure))?;
        }
        Ok(())
    }
}

impl Default for Reproduction {
    fn default() -> Self {
        Self::new()
    }
}

/// One published experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentResult {
    /// What the command line calls it.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// Its figures.
    pub figures: Vec<FigureResult>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureResult {
    /// Unique within the experiment, such as "figure-3".
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Its place in the publication.
    pub source: String,
    /// What the publication shows, a sentence each.
    pub paper: Vec<String>,
    /// What else a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// When ours agrees with the publication's.
    pub gates: Vec<GateResult>,
    /// Figures that are better read than plotted.
    pub tables: Vec<PlainTable>,
    /// What is plotted; in `series.parquet`, not in `summary.json`.
    #[serde(skip)]
    pub charts: Vec<PlainChart>,
}

impl FigureResult {
    /// Whether every gate holds.
    pub fn passed(&self) -> bool {
        self.verdict() != Verdict::Failed
    }

    /// The worst verdict of its gates.
    pub fn verdict(&self) -> Verdict {
        self.gates.iter().map(|gate| gate.verdict).max().unwrap_or(Verdict::Passed)
    }
}

/// What a gate says, the better first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// Ours lies in the publication's band.
    #[serde(rename = "passed")]
    Passed,
    /// Ours lies in a band of its own, which is not the publication's.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// Ours lies outside its band.
    #[serde(rename = "failed")]
    Failed,
}

/// Figures by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Figures that came out as published.
    pub passed: usize,
    /// Figures of which a number did not, as stated.
    pub not_reproduced: usize,
    /// Figures of which a gate failed.
    pub failed: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { passed, not_reproduced, failed } = self;
        let figures = passed + not_reproduced + failed;
        let plural = if figures == 1 { "" } else { "s" };
        write!(formatter, "{figures} figure{plural}: {passed} passed, {not_reproduced} not reproduced, {failed} failed")
    }
}

/// The publication's band, where ours is another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepartureResult {
    /// The least that the publication gives for each number.
    pub low: Option<Vec<f64>>,
    /// The most that it gives.
    pub high: Option<Vec<f64>>,
    /// Why ours differs, one sentence.
    pub why: String,
}

/// Numbers and the band in which they had to lie.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateResult {
    /// What was measured.
    pub name: String,
    /// The unit of all numbers.
    pub unit: String,
    /// What came out.
    pub measured: Vec<f64>,
    /// The least that each might be.
    pub low: Option<Vec<f64>>,
    /// The most that each might be.
    pub high: Option<Vec<f64>>,
    /// Whether all lie in the band.
    pub passed: bool,
    /// The same, and whether the band is the publication's.
    pub verdict: Verdict,
    /// The publication's band, if it is not reproduced.
    pub published: Option<DepartureResult>,
}

/// A table: heads, and rows with one cell per head. Everything after the first column is a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlainTable {
    /// What it holds.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// Panels side by side on the same axes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainChart {
    /// Unique within its figure.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: PlainAxis,
    /// The vertical axis.
    pub y: PlainAxis,
    /// Whether a value holds until the next point instead of running towards it.
    pub steps: bool,
    /// At least one.
    pub panels: Vec<PlainPanel>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlainAxis {
    /// The quantity and, in brackets, its unit.
    pub title: String,
    /// Whether it is logarithmic; then what is not positive is not drawn.
    pub logarithmic: bool,
}

/// Curves on one pair of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainPanel {
    /// What sets it apart from its neighbours.
    pub name: String,
    /// Its curves; a name means the same in all charts of a figure.
    pub curves: Vec<PlainCurve>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainCurve {
    /// Unique within its panel.
    pub name: String,
    /// Never decreasing.
    pub x: Vec<f64>,
    /// As many as there are x.
    pub y: Vec<f64>,
}

fn check_figure(at: &str, figure: &FigureResult) -> Result<(), ReportError> {
    for gate in &figure.gates {
        let at = format!("{at}, gate `{}`", gate.name);
        let published = gate.published.iter().flat_map(|published| [published.low.as_ref(), published.high.as_ref()]);
        for numbers in [Some(&gate.measured), gate.low.as_ref(), gate.high.as_ref()].into_iter().chain(published).flatten() {
            finite(&at, numbers)?;
        }
    }
    for table in &figure.tables {
        if let Some(row) = table.rows.iter().find(|row| row.len() != table.head.len()) {
            let place = format!("{at}, table `{}`", table.title);
            return Err(ReportError::LengthMismatch { place, first: table.head.len(), second: row.len() });
        }
    }
    unique(&format!("{at}, chart"), figure.charts.iter().map(|chart| chart.id.as_str()))?;
    for chart in &figure.charts {
        let at = format!("{at}, chart `{}`", chart.id);
        unique(&format!("{at}, panel"), chart.panels.iter().map(|panel| panel.name.as_str()))?;
        for panel in &chart.panels {
            unique(&format!("{at}, panel `{}`, curve", panel.name), panel.curves.iter().map(|curve| curve.name.as_str()))?;
            panel.curves.iter().try_for_each(|curve| check_curve(&format!("{at}, curve `{}`", curve.name), curve))?;
        }
    }
    Ok(())
}

fn check_curve(at: &str, curve: &PlainCurve) -> Result<(), ReportError> {
    finite(at, &curve.x)?;
    finite(at, &curve.y)?;
    if curve.x.len() != curve.y.len() {
        return Err(ReportError::LengthMismatch { place: at.to_owned(), first: curve.x.len(), second: curve.y.len() });
    }
    match (1..curve.x.len()).find(|&index| curve.x[index] < curve.x[index - 1]) {
        Some(index) => Err(ReportError::OutOfOrder { place: at.to_owned(), index }),
        None => Ok(()),
    }
}

fn finite(at: &str, numbers: &[f64]) -> Result<(), ReportError> {
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(&value) => Err(ReportError::OutOfRange { place: at.to_owned(), value, expected: "a finite number" }),
        None => Ok(()),
    }
}

fn unique<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ReportError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ReportError::DuplicateName { place: place.to_owned(), name: name.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Three figures, one of which fails and one of which is not reproduced, with a name that would break a careless page.
    pub(crate) fn sample() -> Reproduction {
        let gate = |name: &str, measured: Vec<f64>, low: Option<Vec<f64>>, high: Option<Vec<f64>>, passed| GateResult {
            name: name.into(),
            unit: "cells".into(),
            measured,
            low,
            high,
            passed,
            verdict: if passed { Verdict::Passed } else { Verdict::Failed },
            published: None,
        };
        let curve = |name: &str, slope: f64| PlainCurve {
            name: name.into(),
            x: (0..200).map(f64::from).collect(),
            y: (0..200).map(|x| f64::from(x) * slope).collect(),
        };
        let chart = |logarithmic| PlainChart {
            id: "cells".into(),
            title: "Cells sent against slot".into(),
            x: PlainAxis { title: "cell slot".into(), logarithmic },
            y: PlainAxis { title: "cells sent".into(), logarithmic: false },
            steps: !logarithmic,
            panels: vec![PlainPanel { name: "all".into(), curves: vec![curve("VC 0", 0.1), curve("VC </script>", 0.25)] }],
        };
        let figure = |id: &str, gates, logarithmic| FigureResult {
            id: id.into(),
            title: "Connections <on> a link".into(),
            source: "Figure 3, section 4.4".into(),
            paper: vec!["The paper shows lines.".into()],
            notes: vec!["The paper gives no parameters.".into()],
            gates,
            tables: vec![PlainTable {
                title: "Work per cell".into(),
                head: vec!["connections".into(), "comparisons".into()],
                rows: vec![vec!["1".into(), "2".into()], vec!["64 167".into(), "40".into()]],
            }],
            charts: vec![chart(logarithmic)],
        };
        let first = figure(
            "figure-3",
            vec![
                gate("cells of VC 0", vec![10.0, 20.0], Some(vec![10.0, 20.0]), Some(vec![10.0, 20.0]), true),
                gate("deviation", vec![4.5], None, Some(vec![5.0]), true),
            ],
            false,
        );
        let second = figure("figure-4", vec![gate("cells of VC 1", vec![7.0], Some(vec![8.0]), Some(vec![10.0]), false)], true);
        let published = DepartureResult { low: None, high: Some(vec![3.0]), why: "The paper's <clock> is not known.".into() };
        let missed = gate("cells of VC 2", vec![7.5], Some(vec![7.0]), Some(vec![8.0]), true);
        let missed = GateResult { verdict: Verdict::NotReproduced, published: Some(published), ..missed };
        let third = figure("figure-5", vec![gate("deviation", vec![4.5], None, Some(vec![5.0]), true), missed], false);
        let mut reproduction = Reproduction::new();
        reproduction.experiments.push(ExperimentResult {
            id: "schiller".into(),
            title: "A cell-level scheduler".into(),
            source: "Schiller and Gunningberg, 1998".into(),
            figures: vec![first, second, third],
        });
        reproduction
    }

    fn refused(change: impl FnOnce(&mut FigureResult)) -> String {
        let mut reproduction = sample();
        change(&mut reproduction.experiments[0].figures[0]);
        reproduction.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_sample_is_accepted_and_one_failed_gate_fails_it_all() {
        let mut reproduction = sample();
        reproduction.validate().unwrap();
        assert!(!reproduction.passed());
        assert_eq!(reproduction.tally(), Tally { passed: 1, not_reproduced: 1, failed: 1 });
        reproduction.experiments[0].figures.remove(1);
        assert!(reproduction.passed(), "a figure that is stated not to be reproduced fails nothing");
        assert_eq!(reproduction.tally().to_string(), "2 figures: 1 passed, 1 not reproduced, 0 failed");
    }

    #[test]
    fn contradictions_are_named_with_their_place() {
        let nan = refused(|figure| figure.gates[0].measured[0] = f64::NAN);
        assert!(nan.contains("schiller") && nan.contains("figure-3") && nan.contains("cells of VC 0"), "{nan}");
        let short = refused(|figure| figure.charts[0].panels[0].curves[0].y.truncate(7));
        assert!(short.contains("VC 0") && short.contains("equally many"), "{short}");
        assert!(refused(|figure| figure.charts[0].panels[0].curves[1].x.reverse()).contains("out of order"));
        assert!(refused(|figure| figure.tables[0].rows[0].truncate(1)).contains("Work per cell"));
        let twin = refused(|figure| figure.charts[0].panels[0].curves[1].name = "VC 0".into());
        assert!(twin.contains("stands for two things"), "{twin}");
    }
}
