//! Ids, and the order in which figures are run.

use super::*;
use std::collections::HashSet;

#[test]
fn an_id_names_an_experiment_or_one_of_its_figures() {
    let (experiment, figures) = find("schiller").unwrap();
    assert_eq!((experiment.id, figures.len()), ("schiller", experiment.figures.len()));
    let (experiment, figures) = find("schiller/figure-4").unwrap();
    assert_eq!((experiment.id, figures.len(), figures[0].id), ("schiller", 1, "figure-4"));
    for nothing in ["", "unknown", "schiller/", "schiller/figure-9", "/figure-3", "Schiller"] {
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
