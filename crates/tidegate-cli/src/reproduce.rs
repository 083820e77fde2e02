//! `tidegate reproduce`: run published experiments and hold them to what was published.

use crate::failure::Failure;
use crate::present::{Destination, Output, terminal_options};
use crate::progress::Progress;
use crate::proven;
use clap::Args;
use std::process::ExitCode;
use tidegate_report::{ExperimentResult, Reproduction};
use tidegate_reproduce::{EXPERIMENTS, Experiment, Plan};

/// What `tidegate reproduce` takes.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Arguments {
    /// Experiments, or single figures of them, to run; without one, all experiments
    #[arg(value_name = "ID")]
    experiments: Vec<String>,
    #[command(flatten)]
    output: Output,
}

fn after_help() -> String {
    format!(
        "Experiments and their figures:\n{}\n\nExit code 1 if a gate fails, 4 if a packet took longer than is proven of its flow. A number of a paper that does not come out here is stated as \"not reproduced\", \
         with both numbers and the reason, and fails nothing.",
        list()
    )
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let chosen = choose(&arguments.experiments)?;
    let destination = Destination::new(&arguments.output, &[])?;
    let plans: Vec<Plan> = chosen.iter().flat_map(|(_, plans)| plans).copied().collect();
    let progress = Progress::new(1000, "running experiments {wide_bar} {percent} %  {left}");
    let mut figures = tidegate_reproduce::run(&plans, &|done| progress.at((done * 1000.0) as u64)).into_iter();
    drop(progress);
    let mut reproduction = Reproduction::new();
    for (experiment, plans) in chosen {
        reproduction.experiments.push(ExperimentResult {
            id: experiment.id.into(),
            title: experiment.title.into(),
            source: experiment.source.into(),
            figures: figures.by_ref().take(plans.len()).collect(),
        });
    }
    reproduction.validate().map_err(|error| Failure::Defect(error.to_string()))?;
    let text = if destination.json() {
        tidegate_report::reproduction_json(&reproduction)
    } else {
        tidegate_report::reproduction_terminal(&reproduction, terminal_options())
    };
    let delivered = destination.deliver(&text, |folder| tidegate_report::write_reproduction(&reproduction, folder));
    let excesses = proven::excesses_of(&reproduction);
    if !excesses.is_empty() {
        let exceeded = proven::tell(&excesses, "experiment");
        return delivered.map(|()| exceeded);
    }
    delivered?;
    Ok(ExitCode::from(u8::from(!reproduction.passed())))
}

/// The experiments that were asked for with the figures that were, each once.
fn choose(ids: &[String]) -> Result<Vec<(&'static Experiment, Vec<Plan>)>, Failure> {
    if ids.is_empty() {
        return Ok(EXPERIMENTS.iter().map(|experiment| (experiment, experiment.figures.to_vec())).collect());
    }
    let mut chosen: Vec<(&'static Experiment, Vec<Plan>)> = Vec::new();
    for id in ids {
        let Some((experiment, plans)) = tidegate_reproduce::find(id) else {
            return Err(Failure::BadInput(format!("error: there is no experiment `{id}`; there are\n{}", list())));
        };
        let index = chosen.iter().position(|(known, _)| known.id == experiment.id).unwrap_or_else(|| {
            chosen.push((experiment, Vec::new()));
            chosen.len() - 1
        });
        for plan in plans {
            if chosen[index].1.iter().all(|known| known.id != plan.id) {
                chosen[index].1.push(*plan);
            }
        }
    }
    Ok(chosen)
}

/// Every experiment with its figures.
fn list() -> String {
    let line = |experiment: &Experiment| {
        let figures: Vec<String> = experiment.figures.iter().map(|plan| format!("{}/{}", experiment.id, plan.id)).collect();
        format!("  {:<16} {}\n  {:<16} {}", experiment.id, experiment.title, "", figures.join(", "))
    };
    EXPERIMENTS.iter().map(line).collect::<Vec<_>>().join("\n")
}
