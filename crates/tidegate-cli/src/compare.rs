//! `tidegate compare`: what differs between two results, and whether it can be chance.

use crate::failure::Failure;
use crate::present::{Destination, Output, terminal_options};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_report::{ComparedFigure, Comparison, Likelihood, METRICS, Measurement, REPLICATIONS, comparison_json, comparison_terminal};
use tidegate_sim::statistics::{Difference, adjusted};

/// What `tidegate compare` takes.
#[derive(Args)]
pub struct Arguments {
    /// A folder of `tidegate run --out` or `tidegate sweep`, or the table of one point
    first: PathBuf,
    /// What it is compared with
    second: PathBuf,
    /// Show every figure, not only those that differ
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: Output,
}

/// A probability below this one is no chance.
const LEVEL: f64 = 0.05;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let inputs = [("the first result", arguments.first.as_path()), ("the second result", arguments.second.as_path())];
    let destination = Destination::new(&arguments.output, &inputs)?;
    let names = [&arguments.first, &arguments.second].map(|path| path.display().to_string());
    let comparison = compare(names, &first, &second)?;
    let text =
        if destination.json() { comparison_json(&comparison) } else { comparison_terminal(&comparison, arguments.all, terminal_options()) };
    destination.deliver(&text, |folder| tidegate_report::write_comparison(&comparison, folder))?;
    Ok(ExitCode::from(u8::from(comparison.differs())))
}

/// The measurements of a folder of results, of a sweep, or of one table. The points of a sweep are part of the names of its runs.
fn read(path: &Path) -> Result<Vec<Measurement>, Failure> {
    let refused = |error: tidegate_report::ReportError| Failure::BadInput(format!("error: {error}"));
    if !path.is_dir() {
        return tidegate_report::read_measurements(path).map_err(refused);
    }
    let whole = path.join(REPLICATIONS);
    if whole.exists() {
        return tidegate_report::read_measurements(&whole).map_err(refused);
    }
    let parts = crate::sweep_folder::parts(path).unwrap_or_default();
    if parts.is_empty() {
        let problem = format!("holds no results: it has neither {REPLICATIONS} nor points of a sweep");
        return Err(Failure::BadInput(format!("error: {}: {problem}; name a folder that `tidegate run --out` wrote", path.display())));
    }
    let mut measurements = Vec::new();
    for part in parts {
        let mut rows = tidegate_report::read_measurements(&part).map_err(refused)?;
        rows.iter_mut().for_each(|row| row.run = format!("point {}, {}", row.point, row.run));
        measurements.extend(rows);
    }
    Ok(measurements)
}

/// Run, scope and name.
type Subject<'a> = (&'a str, &'a str, &'a str);

fn by_subject<'a>(rows: &'a [Measurement], only_run: &'a Option<String>) -> BTreeMap<Subject<'a>, Vec<&'a Measurement>> {
    let mut subjects = BTreeMap::<_, Vec<_>>::new();
    for row in rows {
        let run = only_run.as_deref().unwrap_or(&row.run);
        subjects.entry((run, row.scope.as_str(), row.name.as_str())).or_default().push(row);
    }
    subjects
}

/// The first three of these, and how many more there are.
fn listed(subjects: &[Subject<'_>]) -> String {
    let shown: Vec<String> = subjects.iter().take(3).map(|(run, scope, name)| format!("{scope} `{name}` of `{run}`")).collect();
    let more = if subjects.len() > 3 { format!(" and {} more", subjects.len() - 3) } else { String::new() };
    shown.join(", ") + &more
}

fn compare([first_name, second_name]: [String; 2], first: &[Measurement], second: &[Measurement]) -> Result<Comparison, Failure> {
    let runs = |rows: &[Measurement]| rows.iter().map(|row| row.run.clone()).collect::<BTreeSet<String>>();
    let (runs_of_first, runs_of_second) = (runs(first), runs(second));
    // Two results of one run each are compared whatever the runs are called.
    let only_run = (runs_of_first.len() == 1 && runs_of_second.len() == 1).then(|| runs_of_first.first().cloned().unwrap_or_default());
    let (of_first, of_second) = (by_subject(first, &only_run), by_subject(second, &only_run));
    let mut notes = Vec::new();
    for (name, has, lacks) in [(&first_name, &of_first, &of_second), (&second_name, &of_second, &of_first)] {
        let alone: Vec<Subject<'_>> = has.keys().filter(|subject| !lacks.contains_key(*subject)).copied().collect();
        if !alone.is_empty() {
            notes.push(format!("{name} alone has {}.", listed(&alone)));
        }
        let has_metric = |rows: &[&Measurement], metric: usize| rows.iter().any(|row| row.figures[metric].is_some());
        for (metric, metric_name) in METRICS.into_iter().enumerate() {
            let lacks_metric = |subject: &Subject<'_>| lacks.get(subject).is_some_and(|rows| !has_metric(rows, metric));
            let alone = has.iter().filter(|(subject, rows)| has_metric(rows, metric) && lacks_metric(subject));
            let alone: Vec<Subject<'_>> = alone.map(|(subject, _)| *subject).collect();
            if !alone.is_empty() {
                notes.push(format!("{name} alone has {metric_name} of {}.", listed(&alone)));
            }
        }
    }
    let seeds = |rows: &[Measurement]| rows.iter().map(|row| row.seed).collect::<BTreeSet<u64>>();
    let is_paired = seeds(first) == seeds(second);
    let mut figures = Vec::new();
    for (subject, rows) in &of_first {
        let Some(others) = of_second.get(subject) else { continue };
        for (index, metric) in METRICS.into_iter().enumerate() {
            figures.extend(compared(*subject, (index, metric), rows, others, is_paired));
        }
    }
    if figures.is_empty() {
        return Err(Failure::BadInput(format!("error: {first_name} and {second_name} have no flow, no port and no workload in common")));
    }
    let tested: Vec<usize> = (0..figures.len()).filter(|&index| figures[index].probability.is_some()).collect();
    let probabilities: Vec<f64> = tested.iter().filter_map(|&index| figures[index].probability).collect();
    for (index, probability) in tested.into_iter().zip(adjusted(&probabilities)) {
        let figure = &mut figures[index];
        figure.adjusted_probability = Some(probability);
        if figure.likelihood != Likelihood::Same {
            figure.likelihood = if probability < LEVEL { Likelihood::Differs } else { Likelihood::Chance };
        }
    }
    let test = if is_paired {
        "Pairs of the same seed and replication, Student's t, probabilities adjusted after Holm for the number of figures, 5 % in all."
    } else {
        "The seeds differ, so nothing is paired: Welch's t, probabilities adjusted after Holm for the number of figures, 5 % in all."
    };
    Ok(Comparison { first: first_name, second: second_name, test, notes, figures })
}

/// One figure on both sides; `None` if a side does not have it.
fn compared(
    (run, scope, name): Subject<'_>,
    (index, metric): (usize, &'static str),
    first: &[&Measurement],
    second: &[&Measurement],
    is_paired: bool,
) -> Option<ComparedFigure> {
    let values = |rows: &[&Measurement]| -> BTreeMap<(u64, u64), f64> {
        rows.iter().filter_map(|row| Some(((row.seed, row.replication), row.figures[index]?))).collect()
    };
    let (first, second) = (values(first), values(second));
    let pairs: Vec<(f64, f64)> = first.iter().filter_map(|(key, &value)| Some((value, *second.get(key)?))).collect();
    let (first, second): (Vec<f64>, Vec<f64>) =
        if is_paired { pairs.iter().copied().unzip() } else { (first.into_values().collect(), second.into_values().collect()) };
    let difference = if is_paired { Difference::paired(&pairs) } else { Difference::unpaired(&first, &second) }?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Some(ComparedFigure {
        run: run.to_owned(),
        scope: scope.to_owned(),
        name: name.to_owned(),
        metric,
        replications: first.len().min(second.len()),
        first: mean(&first),
        second: mean(&second),
        difference: difference.mean,
        half_width: difference.half_width,
        probability: difference.probability,
        adjusted_probability: None,
        likelihood: if first == second { Likelihood::Same } else { Likelihood::Unknown },
    })
}
