//! A published experiment, and how each of its figures is run.

use crate::figure::Figure;

/// One published experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Authors, title, place and year.
    pub source: &'static str,
    /// Its figures in the order of the paper.
    pub figures: &'static [Plan],
}

/// A figure that can be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The figure's id in the report.
    pub id: &'static str,
    /// How long running it takes, relative to the others: for progress only.
    pub effort: u32,
    /// Runs it, and calls its argument with the fraction that is done.
    pub run: fn(&dyn Fn(f64)) -> Figure,
}
