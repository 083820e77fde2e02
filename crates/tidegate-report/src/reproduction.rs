//! Published experiments beside ours: figures with gates, charts and tables.
//!
//! The command that ran the experiments fills in a [`Reproduction`]. [`reproduction_terminal`] shows it as text, [`reproduction_json`] as JSON, and
//! [`write_reproduction`] puts `summary.json`, `series.parquet` and `report.html` on disk.

mod files;
mod page;
mod terminal;

use crate::error::ReportError;
use crate::figure::{Curve, Figure, Verdict};
use crate::validate::{contradiction, in_order, same_length, unique};

pub use files::{REPRODUCTION_SCHEMA, reproduction_json, write_reproduction};
pub use page::reproduction_html;
pub use terminal::reproduction_terminal;

/// Every experiment that one command ran.
#[derive(Debug, Clone, PartialEq)]
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

    fn figures(&self) -> impl Iterator<Item = (&ExperimentResult, &Figure)> {
        self.experiments.iter().flat_map(|experiment| experiment.figures.iter().map(move |figure| (experiment, figure)))
    }

    /// Checks what every writer relies on: ids are unique, numbers finite, columns of equal length and x never decreases.
    ///
    /// # Errors
    /// The first contradiction found, with the figure and the curve or gate.
    pub fn validate(&self) -> Result<(), ReportError> {
        unique("report", "experiment", self.experiments.iter().map(|experiment| &experiment.id))?;
        for experiment in &self.experiments {
            let at = format!("experiment `{}`", experiment.id);
            unique(&at, "figure", experiment.figures.iter().map(|figure| figure.id))?;
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
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentResult {
    /// What the command line calls it.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// Its figures.
    pub figures: Vec<Figure>,
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

fn check_figure(at: &str, figure: &Figure) -> Result<(), ReportError> {
    for gate in &figure.gates {
        let at = format!("{at}, gate `{}`", gate.name);
        let published = gate.departure.iter().flat_map(|published| [published.low.as_ref(), published.high.as_ref()]);
        for numbers in [Some(&gate.measured), gate.low.as_ref(), gate.high.as_ref()].into_iter().chain(published).flatten() {
            finite(&at, numbers)?;
        }
    }
    for table in &figure.tables {
        let place = format!("{at}, table `{}`", table.title);
        table.rows.iter().try_for_each(|row| same_length(&place, &table.head, row))?;
    }
    unique(at, "chart", figure.charts.iter().map(|chart| chart.id))?;
    for chart in &figure.charts {
        let at = format!("{at}, chart `{}`", chart.id);
        unique(&at, "panel", chart.panels.iter().map(|panel| &panel.name))?;
        for panel in &chart.panels {
            unique(&format!("{at}, panel `{}`", panel.name), "curve", panel.curves.iter().map(|curve| &curve.name))?;
            panel.curves.iter().try_for_each(|curve| check_curve(&format!("{at}, curve `{}`", curve.name), curve))?;
        }
    }
    Ok(())
}

fn check_curve(at: &str, curve: &Curve) -> Result<(), ReportError> {
    finite(at, &curve.x)?;
    finite(at, &curve.y)?;
    same_length(at, &curve.x, &curve.y)?;
    in_order(at, &curve.x, |before, x| x >= before)
}

fn finite(at: &str, numbers: &[f64]) -> Result<(), ReportError> {
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(value) => contradiction(at, format!("{value} found, a finite number expected")),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bound::{BoundResult, FlowBound, PacketResult};
    use crate::figure::{Axis, Chart, Gate, Panel, Table};

    /// Three figures, one of which fails and one of which is not reproduced, with a name that would break a careless page.
    pub(crate) fn sample() -> Reproduction {
        let curve = |name: &str, slope: f64| Curve {
            x: (0..200).map(f64::from).collect(),
            y: (0..200).map(|x| f64::from(x) * slope).collect(),
            ..Curve::new(name)
        };
        let chart = |logarithmic| Chart {
            id: "cells",
            title: "Cells sent against slot".into(),
            x: if logarithmic { Axis::logarithmic("cell slot") } else { Axis::linear("cell slot") },
            y: Axis::linear("cells sent"),
            steps: !logarithmic,
            panels: vec![Panel { name: "all".into(), curves: vec![curve("VC 0", 0.1), curve("VC </script>", 0.25)] }],
        };
        let longest = PacketResult { replication: 2, number: 7, came_ps: 5, left_ps: 1_155_000_005, delay_ps: 1_155_000_000 };
        let bound = |run: &str, flow: &str, count, proven| FlowBound {
            run: run.into(),
            flow: flow.into(),
            count,
            bound: BoundResult::new(proven, Some(longest)),
        };
        let figure = |id: &'static str, gates, logarithmic| Figure {
            id,
            title: "Connections <on> a link".into(),
            source: "Figure 3, section 4.4",
            paper: vec!["The paper shows lines.".into()],
            notes: vec!["The paper gives no parameters.".into()],
            gates,
            tables: vec![Table {
                title: "Work per cell".into(),
                head: vec!["connections".into(), "comparisons".into()],
                rows: vec![vec!["1".into(), "2".into()], vec!["64 167".into(), "40".into()]],
            }],
            charts: vec![chart(logarithmic)],
            bounds: vec![
                bound("as <printed>", "guaranteed, path 1", 4, Ok((1_650_000_000, "SFA"))),
                bound("as <printed>", "TCP", 1, Err("source `tcp` is not limited".into())),
            ],
        };
        let deviation = Gate::at_most("deviation", "cells", 4.5, 5.0);
        let first =
            figure("figure-3", vec![Gate::exactly("cells of VC 0", "cells", vec![10.0, 20.0], &[10.0, 20.0]), deviation.clone()], false);
        let second = figure("figure-4", vec![Gate::within("cells of VC 1", "cells", vec![7.0], &[9.0], 1.0)], true);
        let missed = Gate::at_most("cells of VC 2", "cells", 7.5, 3.0).not_reproduced(&[7.0], &[8.0], "The paper's <clock> is not known.");
        let third = figure("figure-5", vec![deviation, missed], false);
        let mut reproduction = Reproduction::new();
        reproduction.experiments.push(ExperimentResult {
            id: "schiller".into(),
            title: "A cell-level scheduler".into(),
            source: "Schiller and Gunningberg, 1998".into(),
            figures: vec![first, second, third],
        });
        reproduction
    }

    fn refused(change: impl FnOnce(&mut Figure)) -> String {
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
