//! What an experiment shows: figures with their gates, charts and tables.

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
    /// Parameters that the paper leaves open, and whatever else a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// When ours agrees with the paper's.
    pub gates: Vec<Gate>,
    /// What is plotted.
    pub charts: Vec<Chart>,
    /// Figures that are better read than plotted.
    pub tables: Vec<Table>,
}

impl Figure {
    /// A figure without content.
    pub fn new(id: &'static str, title: impl Into<String>, source: &'static str) -> Figure {
        let (paper, notes) = (Vec::new(), Vec::new());
        Figure { id, title: title.into(), source, paper, notes, gates: Vec::new(), charts: Vec::new(), tables: Vec::new() }
    }

    /// Whether every gate holds.
    pub fn passed(&self) -> bool {
        self.gates.iter().all(Gate::passed)
    }
}

/// What a gate says of the paper's number and ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Ours lies in the paper's band.
    Passed,
    /// Ours lies where it always lies, and that is outside the paper's band.
    NotReproduced,
    /// Ours lies outside the band that it has to lie in.
    Failed,
}

/// The paper's band, where ours is another.
#[derive(Clone, PartialEq, Debug)]
pub struct Departure {
    /// The least that the paper gives for each number; `None` without a lower limit.
    pub low: Option<Vec<f64>>,
    /// The most that the paper gives for each number; `None` without an upper limit.
    pub high: Option<Vec<f64>>,
    /// Why ours differs, one sentence.
    pub why: String,
}

/// Numbers that were measured and the band in which they have to lie.
#[derive(Clone, PartialEq, Debug)]
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
    /// The paper's band, if ours is another: see [`Gate::not_reproduced`].
    pub departure: Option<Departure>,
}

impl Gate {
    /// Each number has to lie between its own limits.
    pub fn between(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, low: Option<Vec<f64>>, high: Option<Vec<f64>>) -> Gate {
        Gate { name: name.into(), unit, measured, low, high, departure: None }
    }

    /// States that the paper's band, which this gate has, is not reached, and why. Ours has to lie from `low` to `high` instead, so that a fault
    /// still fails. The gate also fails once the paper's band is reached: then the statement is wrong.
    ///
    /// ```
    /// use tidegate_reproduce::figure::{Gate, Verdict};
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

    /// Each number may differ by the `fraction` of what is `expected`.
    pub fn near(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, expected: &[f64], fraction: f64) -> Gate {
        let low = expected.iter().map(|value| value - value.abs() * fraction).collect();
        let high = expected.iter().map(|value| value + value.abs() * fraction).collect();
        Gate::between(name, unit, measured, Some(low), Some(high))
    }

    /// Each of the numbers may be `limit` and more.
    pub fn all_at_least(name: impl Into<String>, unit: &'static str, measured: Vec<f64>, limit: f64) -> Gate {
        let low = vec![limit; measured.len()];
        Gate::between(name, unit, measured, Some(low), None)
    }

    /// The number may be `limit` and less.
    pub fn at_most(name: impl Into<String>, unit: &'static str, measured: f64, limit: f64) -> Gate {
        Gate::between(name, unit, vec![measured], None, Some(vec![limit]))
    }

    /// The number may be `limit` and more.
    pub fn at_least(name: impl Into<String>, unit: &'static str, measured: f64, limit: f64) -> Gate {
        Gate::all_at_least(name, unit, vec![measured], limit)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.departure {
            _ if !lies_between(&self.measured, &self.low, &self.high) => Verdict::Failed,
            None => Verdict::Passed,
            Some(paper) if lies_between(&self.measured, &paper.low, &paper.high) => Verdict::Failed,
            Some(_) => Verdict::NotReproduced,
        }
    }

    /// Whether it holds: whether every number lies in the band that it has to lie in.
    pub fn passed(&self) -> bool {
        self.verdict() != Verdict::Failed
    }
}

/// Whether every number lies in its band. Nothing measured, or a number too many or too few, lies in none.
fn lies_between(measured: &[f64], low: &Option<Vec<f64>>, high: &Option<Vec<f64>>) -> bool {
    let fits = |limits: &Option<Vec<f64>>, keeps: fn(f64, f64) -> bool| {
        limits.as_ref().is_none_or(|limits| {
            limits.len() == measured.len() && measured.iter().zip(limits).all(|(&measured, &limit)| keeps(measured, limit))
        })
    };
    let finite = !measured.is_empty() && measured.iter().all(|measured| measured.is_finite());
    finite && fits(low, |measured, low| measured >= low) && fits(high, |measured, high| measured <= high)
}

/// Whole numbers as they stand in a gate.
pub(crate) fn numbers<const N: usize>(numbers: [u32; N]) -> [f64; N] {
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
    /// Whether a value holds until the next point instead of running towards it.
    pub steps: bool,
    /// At least one.
    pub panels: Vec<Panel>,
}

/// An axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The quantity and, in brackets, its unit.
    pub title: &'static str,
    /// Whether it is logarithmic.
    pub logarithmic: bool,
}

impl Axis {
    /// An axis with equal steps.
    pub const fn linear(title: &'static str) -> Axis {
        Axis { title, logarithmic: false }
    }

    /// An axis with equal ratios.
    pub const fn logarithmic(title: &'static str) -> Axis {
        Axis { title, logarithmic: true }
    }
}

/// Curves on one pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// What sets it apart from its neighbours.
    pub name: String,
    /// Its curves; a name stands for the same thing in all charts of a figure.
    pub curves: Vec<Curve>,
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
}

impl Curve {
    /// A curve without points.
    pub fn new(name: impl Into<String>) -> Curve {
        Curve { name: name.into(), x: Vec::new(), y: Vec::new() }
    }

    /// Adds a point.
    pub fn push(&mut self, x: f64, y: f64) {
        self.x.push(x);
        self.y.push(y);
    }

    /// The value reached before `x`, 0 before the first point: for a curve that counts, what was counted before `x`.
    pub fn before(&self, x: f64) -> f64 {
        match self.x.partition_point(|&place| place < x) {
            0 => 0.0,
            points => self.y[points - 1],
        }
    }

    /// What a counting curve counted from `start` (included) to `end` (left out).
    pub fn between(&self, start: f64, end: f64) -> f64 {
        self.before(end) - self.before(start)
    }
}

/// A table: heads, and rows with one cell per head. Everything after the first column is a figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What it holds.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_holds_within_its_band_and_at_its_limits() {
        assert!(Gate::within("a", "cells", vec![9.0, 11.0], &[10.0, 10.0], 1.0).passed());
        assert!(!Gate::within("a", "cells", vec![9.0, 12.0], &[10.0, 10.0], 1.0).passed());
        assert!(Gate::exactly("a", "cells", vec![3.0], &[3.0]).passed());
        assert!(!Gate::exactly("a", "cells", vec![3.0], &[4.0]).passed());
        assert!(Gate::near("a", "cells", vec![98.0, -9.8], &[100.0, -10.0], 0.02).passed());
        assert!(!Gate::near("a", "cells", vec![100.0, -9.7], &[100.0, -10.0], 0.02).passed());
        assert!(Gate::all_at_least("a", "cells", vec![5.0, 6.0], 5.0).passed());
        assert!(!Gate::all_at_least("a", "cells", vec![5.0, 4.0], 5.0).passed());
        assert!(Gate::at_most("a", "slots", 5.0, 5.0).passed());
        assert!(!Gate::at_most("a", "slots", 5.5, 5.0).passed());
        assert!(Gate::at_least("a", "slots", 5.0, 5.0).passed());
        assert!(!Gate::at_least("a", "slots", 4.0, 5.0).passed());
    }

    #[test]
    fn a_gate_without_its_numbers_fails() {
        assert!(!Gate::exactly("a", "cells", vec![], &[]).passed());
        assert!(!Gate::exactly("a", "cells", vec![1.0], &[1.0, 1.0]).passed());
        assert!(!Gate::exactly("a", "cells", vec![1.0, 1.0], &[1.0]).passed());
        assert!(!Gate::at_most("a", "cells", f64::NAN, 1.0).passed());
        assert!(!Gate::at_least("a", "cells", f64::INFINITY, 1.0).passed());
    }

    #[test]
    fn what_is_not_reproduced_is_held_to_its_own_band_and_must_miss_the_papers() {
        let verdict = |measured| Gate::at_most("a", "", measured, 0.2).not_reproduced(&[0.3], &[0.4], "It is so.").verdict();
        assert_eq!([0.29, 0.3, 0.4, 0.41].map(verdict), [Verdict::Failed, Verdict::NotReproduced, Verdict::NotReproduced, Verdict::Failed]);
        let wide = Gate::at_most("a", "", 0.15, 0.2).not_reproduced(&[0.1], &[0.4], "It is so.");
        assert_eq!(wide.verdict(), Verdict::Failed, "the paper's band is reached: the statement is wrong");
    }

    #[test]
    fn a_counting_curve_answers_for_half_open_intervals() {
        let curve = Curve { name: "a".into(), x: vec![0.0, 10.0, 20.0], y: vec![1.0, 2.0, 3.0] };
        assert_eq!([0.0, 0.5, 10.0, 10.5, 99.0].map(|x| curve.before(x)), [0.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!(curve.between(0.0, 20.0), 2.0);
        assert_eq!(curve.between(10.0, 21.0), 2.0);
    }
}
