//! Published experiments, run again and held to their figures.
//!
//! An [`Experiment`] stands for a paper, and each of its figures for one of the paper's: what the paper shows, what came out here,
//! curves to plot, and [`Gate`]s that say in numbers when the two agree. Gates are computed from the curves that are plotted, so a plot
//! cannot look right while its gate is wrong. `docs/reproduce.md` lists what there is.
//!
//! | module | holds |
//! |---|---|
//! | [`figure`] | figures, gates, charts and tables |
//! | [`gfr`] | Goyal et al., guaranteed frame rate for TCP over ATM |
//! | [`schiller`] | Schiller and Gunningberg, a cell-level scheduler in software |
//! | [`sharestreams`] | Krishnamurthy et al., packet schedulers in hardware |
//!
//! ```
//! let (experiment, figures) = tidegate_reproduce::find("schiller/figure-3").unwrap();
//! assert!(experiment.source.contains("Schiller"));
//! let figure = &tidegate_reproduce::run(figures, &|_| {})[0];
//! assert!(figure.passed());
//! ```
#![warn(missing_docs)]

pub mod figure;
pub mod gfr;
pub mod schiller;
pub mod sharestreams;

pub use figure::{Axis, Chart, Curve, Departure, Figure, Gate, Panel, Table, Verdict};

/// One published experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// What the command line calls it.
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
    /// What the report calls the figure.
    pub id: &'static str,
    /// How long running it takes, relative to the others: for progress only.
    pub effort: u32,
    /// Runs it; is told now and then which fraction is done.
    pub run: fn(&dyn Fn(f64)) -> Figure,
}

/// Every experiment there is. A new one is a module of this crate and a line here.
pub const EXPERIMENTS: &[Experiment] = &[schiller::EXPERIMENT, sharestreams::EXPERIMENT, gfr::EXPERIMENT];

/// What an id names: an experiment with all its figures ("schiller"), or with one of them ("schiller/figure-3").
pub fn find(id: &str) -> Option<(&'static Experiment, &'static [Plan])> {
    let (experiment, figure) = match id.split_once('/') {
        Some((experiment, figure)) => (experiment, Some(figure)),
        None => (id, None),
    };
    let experiment = EXPERIMENTS.iter().find(|known| known.id == experiment)?;
    let Some(figure) = figure else { return Some((experiment, experiment.figures)) };
    let index = experiment.figures.iter().position(|plan| plan.id == figure)?;
    Some((experiment, &experiment.figures[index..=index]))
}

/// Runs the figures in turn. `progress` is told which fraction of all is done, from 0 to 1.
pub fn run(plans: &[Plan], progress: &dyn Fn(f64)) -> Vec<Figure> {
    let total = f64::from(plans.iter().map(|plan| plan.effort).sum::<u32>().max(1));
    let mut done = 0.0;
    let run = |plan: &Plan| {
        let effort = f64::from(plan.effort);
        let figure = (plan.run)(&|part| progress((done + part * effort) / total));
        done += effort;
        progress(done / total);
        figure
    };
    plans.iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn an_id_names_an_experiment_or_one_of_its_figures() {
        let (experiment, figures) = find("schiller").unwrap();
        assert_eq!((experiment.id, figures.len()), ("schiller", experiment.figures.len()));
        let (experiment, figures) = find("schiller/figure-4").unwrap();
        assert_eq!((experiment.id, figures.len(), figures[0].id), ("schiller", 1, "figure-4"));
        for nothing in ["", "nobody", "schiller/", "schiller/figure-9", "/figure-3", "Schiller"] {
            assert!(find(nothing).is_none(), "{nothing}");
        }
    }

    #[test]
    fn a_figure_bears_the_id_of_its_plan_and_progress_ends_at_one() {
        let (_, plans) = find("schiller").unwrap();
        let cheap: Vec<Plan> = plans.iter().filter(|plan| plan.effort < 1000).copied().collect();
        let last = std::cell::Cell::new(0.0);
        let figures = run(&cheap, &|done| {
            assert!(done >= last.get() && done <= 1.0 + 1e-9, "{done}");
            last.set(done);
        });
        assert!((last.get() - 1.0).abs() < 1e-9);
        assert!(figures.iter().zip(&cheap).all(|(figure, plan)| figure.id == plan.id));
    }

    #[test]
    fn ids_are_unique_and_fit_a_command_line() {
        let mut seen = HashSet::new();
        for experiment in EXPERIMENTS {
            assert!(seen.insert(experiment.id), "{}", experiment.id);
            let figures: HashSet<_> = experiment.figures.iter().map(|plan| plan.id).collect();
            assert_eq!(figures.len(), experiment.figures.len());
            let plain = |id: &str| id.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-');
            assert!(plain(experiment.id) && figures.iter().all(|id| plain(id)));
        }
    }
}
