//! Published experiments, run again and held to their figures.
//!
//! An [`Experiment`] reproduces a paper figure by figure. A [`Figure`](figure::Figure) holds what the paper shows, the curves measured here, and [`Gate`](figure::Gate)s: numbers
//! and the bands within which they agree with the paper. Gates are computed from the plotted curves, so a plot cannot look right while its
//! gate is wrong. `docs/reproduce.md` lists all figures.
//!
//! | module | holds |
//! |---|---|
//! | [`aqm`] | RFC 8033, 8289, 8290 and 9332, active queue management |
//! | [`figure`] | figures, gates, charts and tables |
//! | [`gfr`] | Goyal et al., guaranteed frame rate for TCP over ATM |
//! | [`intserv`] | Wu et al., a per-flow node for integrated services |
//! | [`router`] | a software router, and the guard of its bus |
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

pub mod aqm;
mod experiment;
pub mod gfr;
pub mod intserv;
mod parallel;
mod prose;
mod proven;
pub mod router;
pub mod schiller;
pub mod sharestreams;

pub use experiment::{Experiment, Plan};
pub use tidegate_report::figure;

/// Every experiment. A new one is a module of this crate and a line here.
pub const EXPERIMENTS: &[Experiment] =
    &[schiller::EXPERIMENT, sharestreams::EXPERIMENT, gfr::EXPERIMENT, intserv::EXPERIMENT, router::EXPERIMENT, aqm::EXPERIMENT];

/// The experiment of an id, with all its figures ("schiller") or with one of them ("schiller/figure-3").
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

/// The figures of an id as [`find`] has them, each in its short form where it has one.
pub fn find_short(id: &str) -> Option<Vec<Plan>> {
    let (experiment, figures) = find(id)?;
    let short = if experiment.id == intserv::EXPERIMENT.id { intserv::SHORT } else { &[] };
    Some(figures.iter().map(|plan| *short.iter().find(|short| short.id == plan.id).unwrap_or(plan)).collect())
}

/// Runs the figures in turn. `progress` gets the fraction of all work that is done, from 0 to 1.
pub fn run(plans: &[Plan], progress: &dyn Fn(f64)) -> Vec<figure::Figure> {
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
mod tests;
