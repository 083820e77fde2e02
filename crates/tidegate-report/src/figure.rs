//! The figures of published experiments, with their gates, charts and tables.

use crate::bound::FlowBound;
use crate::estimate::Estimate;
use serde::Serialize;
use std::borrow::Cow;

/// One figure of a paper beside ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What the report calls it, unique within the experiment: "figure-3".
    pub id: &'static str,
    /// What it is about.
    pub title: String,
    /// Where the paper has it, such as "Figure 3, section 4.4".
    pub source: &'static str,
    /// What the paper shows and says, a sentence each.
    pub paper: Vec<String>,
    /// Parameters that the paper leaves open, and other remarks, a sentence each.
    pub notes: Vec<String>,
    /// The numbers that have to agree with the paper's.
    pub gates: Vec<Gate>,
    /// What is plotted.
    pub charts: Vec<Chart>,
    /// Numbers that are better read than plotted.
    pub tables: Vec<Table>,
    /// What is proven of the flows of its runs, beside their largest delays.
    pub bounds: Vec<FlowBound>,
}

impl Figure {
    /// A figure without content.
    pub fn new(id: &'static str, title: impl Into<String>, source: &'static str) -> Figure {
        let (paper, notes, gates, charts, tables, bounds) = Default::default();
        Figure { id, title: title.into(), source, paper, notes, gates, charts, tables, bounds }
    }

    /// Adds to what the paper shows and says, a sentence each.
    pub fn paper_says(&mut self, sentences: &[&str]) {
        self.paper.extend(sentences.iter().map(|&sentence| sentence.to_owned()));
    }

    /// Adds notes, a sentence each.
    pub fn note(&mut self, sentences: &[&str]) {
        self.notes.extend(sentences.iter().map(|&sentence| sentence.to_owned()));
    }

    /// True if every gate holds.
    pub fn passed(&self) -> bool {
        self.verdict() != Verdict::Failed
    }

    /// The worst verdict of its gates.
    pub fn verdict(&self) -> Verdict {
        self.gates.iter().map(Gate::verdict).max().unwrap_or(Verdict::Passed)
    }
}

/// How our numbers compare with the paper's, the better first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Verdict {
    /// Ours are in the paper's band.
    #[serde(rename = "passed")]
    Passed,
    /// Ours are in the band that is stated for them, which is not the paper's.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// Ours are outside the band that is required.
    #[serde(rename = "failed")]
    Failed,
}

/// The paper's band, where ours differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Departure {
    /// The least that the paper gives for each number; `None` without a lower limit.
    pub low: Option<Vec<f64>>,
    /// The most that the paper gives for each number; `None` without an upper limit.
    pub high: Option<Vec<f64>>,
    /// Why ours differs, one sentence.
    pub why: String,
}

/// Measured numbers, and the band that is required of them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gate {
    /// What is measured.
    pub name: String,
    /// The unit of all numbers, such as "cells".
    pub unit: &'static str,
    /// One number or several.
    pub measured: Vec<f64>,
    /// The least that each may be; `None` without a lower limit.
    pub low: Option<Vec<f64>>,
    /// The most that each may be; `None` without an upper limit.
    pub high: Option<Vec<f64>>,
    /// The paper's band, if ours differs: see [`Gate::not_reproduced`].
    #[serde(skip)]
    pub departure: Option<Departure>,
}

impl Gate {
    /// Each number has to be within its own limits.
    pub fn between(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, low: Option<Vec<f64>>, high: Option<Vec<f64>>) -> Gate {
        Gate { name: name.into(), unit, measured, low, high, departure: None }
    }

    /// States that the paper's band, which this gate has, is not reached, and why. Ours have to be from `low` to `high` instead, so that a fault
    /// still fails. The gate also fails if the paper's band is reached: then the statement is wrong.
    ///
    /// ```
    /// use tidegate_report::figure::{Gate, Verdict};
    /// let published = Gate::at_most("farthest source", "of the mean", 0.34, 0.2);
    /// assert_eq!(published.verdict(), Verdict::Failed);
    /// let stated = published.not_reproduced(&[0.3], &[0.4], "Slow start is part of the run.");
    /// assert_eq!(stated.verdict(), Verdict::NotReproduced);
    /// ```
    #[must_use]
    pub fn not_reproduced(self, low: &[f64], high: &[f64], why: impl Into<String>) -> Gate {
        let departure = Some(Departure { low: self.low, high: self.high, why: why.into() });
        Gate { low: Some(low.to_vec()), high: Some(high.to_vec()), departure, ..self }
    }

    /// The numbers have to be exactly `expected`.
    pub fn exactly(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, expected: &[f64]) -> Gate {
        Gate::within(name, unit, measured, expected, 0.0)
    }

    /// Each number may differ by `tolerance` from what is `expected`.
    pub fn within(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, expected: &[f64], tolerance: f64) -> Gate {
        let low = expected.iter().map(|value| value - tolerance).collect();
        let high = expected.iter().map(|value| value + tolerance).collect();
        Gate::between(name, unit, measured, Some(low), Some(high))
    }

    /// Each number may differ from what is `expected` by this `fraction` of it.
    pub fn near(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, expected: &[f64], fraction: f64) -> Gate {
        let low = expected.iter().map(|value| value - value.abs() * fraction).collect();
        let high = expected.iter().map(|value| value + value.abs() * fraction).collect();
        Gate::between(name, unit, measured, Some(low), Some(high))
    }

    /// Each of the numbers has to be `limit` or more.
    pub fn all_at_least(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, limit: f64) -> Gate {
        let low = vec![limit; measured.len()];
        Gate::between(name, unit, measured, Some(low), None)
    }

    /// Each of the numbers has to be `limit` or less.
    pub fn all_at_most(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, limit: f64) -> Gate {
        let high = vec![limit; measured.len()];
        Gate::between(name, unit, measured, None, Some(high))
    }

    /// The number has to be `limit` or less.
    pub fn at_most(name: impl Into<String>, unit: &'static str, measured: f64, limit: f64) -> Gate {
        Gate::all_at_most(name, unit, vec![measured], limit)
    }

    /// The number has to be `limit` or more.
    pub fn at_least(name: impl Into<String>, unit: &'static str, measured: f64, limit: f64) -> Gate {
        Gate::all_at_least(name, unit, vec![measured], limit)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.departure {
            _ if !is_between(&self.measured, &self.low, &self.high) => Verdict::Failed,
            None => Verdict::Passed,
            Some(paper) if is_between(&self.measured, &paper.low, &paper.high) => Verdict::Failed,
            Some(_) => Verdict::NotReproduced,
        }
    }

    /// True if every number is in the band that is required.
    pub fn passed(&self) -> bool {
        self.verdict() != Verdict::Failed
    }
}

/// True if every number is in its band. False for no number at all, and for a number too many or too few.
fn is_between(measured: &[f64], low: &Option<Vec<f64>>, high: &Option<Vec<f64>>) -> bool {
    let fits = |limits: &Option<Vec<f64>>, keeps: fn(f64, f64) -> bool| {
        limits.as_ref().is_none_or(|limits| {
            limits.len() == measured.len() && measured.iter().zip(limits).all(|(&measured, &limit)| keeps(measured, limit))
        })
    };
    let finite = !measured.is_empty() && measured.iter().all(|measured| measured.is_finite());
    finite && fits(low, |measured, low| measured >= low) && fits(high, |measured, high| measured <= high)
}

/// Whole numbers as a gate holds them.
pub fn numbers<const N: usize>(numbers: [u32; N]) -> [f64; N] {
    numbers.map(f64::from)
}

/// A plot: panels side by side on the same axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Unique within its figure.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// True if a value holds until the next point instead of running towards it.
    pub steps: bool,
    /// At least one.
    pub panels: Vec<Panel>,
}

impl Chart {
    /// A chart whose values run towards the next point.
    pub fn new(id: &'static str, title: impl Into<String>, x: Axis, y: Axis, panels: Vec<Panel>) -> Chart {
        Chart { id, title: title.into(), x, y, steps: false, panels }
    }

    /// The same with values that hold until the next point.
    #[must_use]
    pub fn stepwise(self) -> Chart {
        Chart { steps: true, ..self }
    }
}

/// An axis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Axis {
    /// The quantity and, for plain numbers, its unit in brackets.
    pub title: Cow<'static, str>,
    /// True if it is logarithmic; then what is not positive is not drawn.
    pub logarithmic: bool,
    /// What its values are: `bps`, `s`, `bytes` or `share`, which are written with units; empty for plain numbers.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
}

impl Axis {
    /// An axis with equal steps.
    pub const fn linear(title: &'static str) -> Axis {
        Axis { title: Cow::Borrowed(title), logarithmic: false, unit: "" }
    }

    /// An axis with equal ratios.
    pub const fn logarithmic(title: &'static str) -> Axis {
        Axis { title: Cow::Borrowed(title), logarithmic: true, unit: "" }
    }

    /// The axis with values of a unit: `bps`, `s`, `bytes` or `share`.
    #[must_use]
    pub fn of(self, unit: &'static str) -> Axis {
        Axis { unit, ..self }
    }
}

/// A pair of axes, as the page's script takes it.
#[derive(Serialize)]
pub(crate) struct Axes {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) steps: bool,
}

/// Curves on one pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// What distinguishes it from its neighbours.
    pub name: String,
    /// Its curves; a name means the same in all charts of a figure.
    pub curves: Vec<Curve>,
}

impl Panel {
    /// Curves under a name.
    pub fn new(name: impl Into<String>, curves: Vec<Curve>) -> Panel {
        Panel { name: name.into(), curves }
    }
}

/// One curve.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Curve {
    /// Unique within its panel.
    pub name: String,
    /// Never decreasing.
    pub x: Vec<f64>,
    /// As many as there are x.
    pub y: Vec<f64>,
    /// Half widths of the intervals around y, as many as there are x: `None` where there is no interval. Empty for a curve without intervals.
    pub half_widths: Vec<Option<f64>>,
}

impl Curve {
    /// A curve without points.
    pub fn new(name: impl Into<String>) -> Curve {
        Curve { name: name.into(), ..Curve::default() }
    }

    /// Adds a point.
    pub fn push(&mut self, x: f64, y: f64) {
        self.x.push(x);
        self.y.push(y);
    }

    /// Adds a point with its interval. All points of a curve are added by this, or none is.
    pub fn push_estimate(&mut self, x: f64, y: Estimate) {
        self.push(x, y.mean);
        self.half_widths.push(y.half_width);
    }

    /// The value reached before `x`, 0 before the first point. Of a counting curve: the count before `x`.
    pub fn before(&self, x: f64) -> f64 {
        match self.x.partition_point(|&place| place < x) {
            0 => 0.0,
            points => self.y[points - 1],
        }
    }

    /// The count of a counting curve from `start` to `end`, without `end`.
    pub fn between(&self, start: f64, end: f64) -> f64 {
        self.before(end) - self.before(start)
    }
}

/// A table: heads, and rows with one cell per head. Everything after the first column is a figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Table {
    /// What it holds.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these heads.
    pub fn new(title: impl Into<String>, head: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { title: title.into(), head: head.iter().map(|&name| name.to_owned()).collect(), rows }
    }
}

#[cfg(test)]
mod tests;
