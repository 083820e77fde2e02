//! `tidegate sweep`: one scenario under many settings, a table per point, and what is missing is run.

use crate::failure::Failure;
use crate::present::{print, terminal_options};
use crate::progress::Progress;
use crate::sweep_folder::part;
use crate::sweep_study::{Arguments, Study};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.scenario, &arguments.set)?;
    let study = Study::of(arguments, &scenario)?;
    let arguments = study.arguments();
    if arguments.slurm {
        print(&slurm_script(study.points())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut missing = study.missing();
    if let Some(point) = arguments.point {
        if !(1..=study.points()).contains(&point) {
            return Err(Failure::BadInput(format!("error: --point {point}: the sweep has points 1 to {}", study.points())));
        }
        missing.retain(|&other| other == point);
    }
    study.begin(&missing)?;
    let total = 1000 * missing.len() as u64;
    let progress = Progress::new(total, "sweeping {wide_bar} {percent} %  {left}");
    study.run(&missing, &|part| progress.at((part * total as f64) as u64), &AtomicBool::new(false))?;
    drop(progress);
    if let Some(point) = arguments.point {
        crate::log::line(&format!("point {point} of {} is in {}", study.points(), part(&arguments.out, point).display()));
        return Ok(ExitCode::SUCCESS);
    }
    let swept = study.finish()?;
    let text =
        if arguments.json { tidegate_report::sweep_json(&swept) } else { tidegate_report::sweep_terminal(&swept, terminal_options()) };
    print(&text)?;
    crate::log::line(&format!(
        "{} of {} points were run; open {}",
        missing.len(),
        study.points(),
        arguments.out.join("report.html").display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// A job array: one task per point, each with the arguments of this command.
fn slurm_script(points: usize) -> Result<String, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::Environment(format!("error: the command does not find itself: {error}")))?;
    let folder = std::env::current_dir().map_err(|error| Failure::Environment(format!("error: the current folder is unknown: {error}")))?;
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--slurm").map(|argument| quoted(&argument)).collect();
    let command = format!("{} {}", quoted(&own.display().to_string()), arguments.join(" "));
    Ok(format!(
        "#!/bin/bash\n#SBATCH --job-name=tidegate-sweep\n#SBATCH --array=1-{}\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n\
         # Submit with sbatch. Tasks that fail may be submitted again; afterwards this makes the table, and runs what is still missing:\n\
         #   {command}\nset -eu\ncd {}\nexec {command} --jobs 1 --point \"${{SLURM_ARRAY_TASK_ID:?}}\"\n",
        points,
        quoted(&folder.display().to_string()),
    ))
}
