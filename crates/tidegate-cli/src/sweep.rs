//! `tidegate sweep`: one scenario under many settings, a table per point, and what is missing is run.
//!
//! The folder holds `points.json`, which says what every point is, `points/point-00001.parquet` and so on, and once all are there `table.parquet` and
//! `report.html`. A table gets its name when it is complete, so several processes, or machines, may fill one folder, and any of them may be killed.

use crate::failure::Failure;
use crate::present::{print, terminal_options};
use crate::progress::Progress;
use crate::simulation_report::run_of;
use crate::sweep_folder::{POINTS, part};
use crate::sweep_table::{Outline, result};
use clap::Args;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tidegate_report::{METRICS, OutputFile, Report, ReportError, Run, World, parameter_is_number, write_point};
use tidegate_scenario::sweep::{Axis, Design, Sweep};
use tidegate_scenario::{PolicyChange, Scenario};
use tidegate_sim::{Control, Estimate, SimulationError};

/// What `tidegate sweep` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario file
    scenario: PathBuf,
    /// The folder of the sweep; points that are there already are not run again
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A key and its values, instead of the file's axes: KEY=VALUE,VALUE,... or KEY=FROM..TO/STEPS, with " log" behind it in equal ratios
    #[arg(long = "axis", value_name = "KEY=VALUES")]
    axes: Vec<String>,
    /// Which values belong to one point, instead of the file's design: grid, zipped, latin-hypercube or random
    #[arg(long, value_name = "DESIGN")]
    design: Option<String>,
    /// The number of points of a design that is drawn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    points: Option<u32>,
    /// The seed of all random streams, instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    /// The number of replications of each point, instead of the file's; with --until the most
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: Option<u32>,
    /// Give every point a seed of its own; without it, all points have the same random streams, and differences are taken replication by replication
    #[arg(long)]
    independent: bool,
    /// End the replications of a point early, once the 95 % interval of a figure is within this part of its mean: NAME.METRIC=5%
    #[arg(long, value_name = "NAME.METRIC=PART")]
    until: Option<String>,
    /// A figure of the table on the terminal, such as voice.delay_p99_s
    #[arg(long = "show", value_name = "NAME.METRIC")]
    show: Vec<String>,
    /// Change a value of the file first, such as simulation.duration="5 s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run this point only, from 1, and write its table
    #[arg(long, value_name = "N", conflicts_with = "slurm")]
    point: Option<usize>,
    /// The number of points that run at the same time; one per core by default
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print a SLURM job array that runs the points, and run nothing
    #[arg(long)]
    slurm: bool,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

/// When the replications of a point are enough.
#[derive(Clone, PartialEq, Debug)]
struct Until {
    name: String,
    metric: usize,
    part: f64,
}

/// A sweep, ready to run.
struct Plan<'a> {
    arguments: &'a Arguments,
    outline: Outline,
    /// The seed of the first point.
    seed: u64,
    replications: u32,
    until: Option<Until>,
    /// Of each axis, whether its values are numbers in tables.
    numbers: Vec<bool>,
}

/// Replications before an interval is judged.
const FIRST_BATCH: u32 = 5;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.scenario, &arguments.set)?;
    let plan = Plan::of(arguments, &scenario)?;
    if arguments.slurm {
        print(&slurm_script(&plan)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = &arguments.out;
    let wanted = match arguments.point {
        Some(point) if !(1..=plan.outline.points.len()).contains(&point) => {
            return Err(Failure::BadInput(format!("error: --point {point}: the sweep has points 1 to {}", plan.outline.points.len())));
        }
        Some(point) => point..point + 1,
        None => 1..plan.outline.points.len() + 1,
    };
    let missing: Vec<usize> = wanted.filter(|&point| !part(folder, point).exists()).collect();
    // A folder of points that cannot be run would only be in the way.
    missing.iter().try_for_each(|&point| plan.scenario(point).map(drop))?;
    std::fs::create_dir_all(folder.join(POINTS)).map_err(|error| Failure::file(folder, "written", &error))?;
    agree(folder, &plan.manifest(&scenario)?)?;
    plan.run(&missing)?;
    if let Some(point) = arguments.point {
        crate::log::line(&format!("point {point} of {} is in {}", plan.outline.points.len(), part(folder, point).display()));
        return Ok(ExitCode::SUCCESS);
    }
    let swept = result(&plan.outline, folder)?;
    let text =
        if arguments.json { tidegate_report::sweep_json(&swept) } else { tidegate_report::sweep_terminal(&swept, terminal_options()) };
    print(&text)?;
    let paths = tidegate_report::write_sweep(&swept, folder).map_err(|error| written(&error))?;
    if let Some(page) = paths.last() {
        crate::log::line(&format!("{} of {} points were run; open {}", missing.len(), plan.outline.points.len(), page.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn written(error: &ReportError) -> Failure {
    Failure::BadInput(format!("error: {error}"))
}

impl<'a> Plan<'a> {
    fn of(arguments: &'a Arguments, scenario: &Scenario) -> Result<Plan<'a>, Failure> {
        let bad = |problem: String| Failure::BadInput(format!("error: {problem}"));
        let mut sweep = scenario.sweep.clone().unwrap_or_default();
        if !arguments.axes.is_empty() {
            let axes = arguments.axes.iter().map(|axis| Axis::parse(axis)).collect::<Result<_, _>>();
            sweep = Sweep { axes: axes.map_err(|problem| bad(format!("--axis: {problem}")))?, ..Sweep::default() };
        }
        if let Some(design) = &arguments.design {
            sweep.design = Design::named(design).map_err(|problem| bad(format!("--design: {problem}")))?;
            sweep.points = sweep.points.filter(|_| sweep.design.is_drawn());
        }
        sweep.points = arguments.points.or(sweep.points);
        if sweep.axes.is_empty() {
            return Err(bad(format!(
                "{} has no [sweep], and no --axis is given; write --axis link.access.rate=5 Mbit/s,10 Mbit/s",
                scenario.source
            )));
        }
        let Some(simulation) = &scenario.variants[0].simulation else {
            return Err(bad(format!("{} has nothing to simulate: it is a policy file", scenario.source)));
        };
        let names = Names {
            flows: simulation.network.flows.iter().map(|flow| flow.name.as_str()).collect(),
            ports: simulation.network.links.iter().map(|link| link.name.as_str()).collect(),
        };
        let experiment = &simulation.experiment;
        let seed = arguments.seed.unwrap_or(experiment.seed);
        let until = arguments
            .until
            .as_deref()
            .map(|text| Until::parse(text, &names))
            .transpose()
            .map_err(|problem| bad(format!("--until: {problem}")))?;
        let shown = arguments.show.iter().map(|text| names.figure(text)).collect::<Result<Vec<_>, _>>();
        let mut shown = shown.map_err(|problem| bad(format!("--show: {problem}")))?;
        if shown.is_empty() {
            shown.extend(until.as_ref().map(|until| (until.name.clone(), until.metric)));
        }
        if shown.is_empty() {
            let first = names.flows.first().or(names.ports.first()).map(|name| (*name).to_owned()).unwrap_or_default();
            shown =
                ["throughput_bps", "loss", "delay_p99_s"].iter().filter_map(|metric| Some((first.clone(), index_of(metric)?))).collect();
        }
        let points = sweep.points(seed).map_err(|problem| bad(format!("the sweep of {}: {problem}", scenario.source)))?;
        let replications = arguments.replications.unwrap_or(experiment.replications);
        let circumstances = format!(
            "{} points of {}, seed {seed}{}, {}{replications} replications of {} s",
            points.len(),
            scenario.source,
            if arguments.independent { " and the following" } else { "" },
            if until.is_some() { "at most " } else { "" },
            experiment.duration.picoseconds() as f64 / 1e12,
        );
        let outline = Outline {
            title: scenario.title.clone(),
            circumstances,
            keys: sweep.axes.iter().map(|axis| axis.key.clone()).collect(),
            points,
            design: sweep.design,
            shown,
            is_paired: !arguments.independent,
        };
        let of_axis = |axis: usize| outline.points.iter().map(move |point| point[axis].as_str());
        let numbers = (0..outline.keys.len()).map(|axis| parameter_is_number(of_axis(axis))).collect();
        Ok(Plan { arguments, outline, seed, replications, until, numbers })
    }

    /// What every point is, and a hash of all texts and captures that results depend on: the same for every process that works on the sweep.
    fn manifest(&self, scenario: &Scenario) -> Result<String, Failure> {
        let files = crate::check::gather(&self.arguments.scenario, &self.arguments.set)?;
        let mut hash = Fnv::default();
        hash.text(&files.text);
        files.files.iter().for_each(|(name, text)| {
            hash.text(name);
            hash.text(text);
        });
        for capture in &scenario.captures {
            hash.bytes(&std::fs::read(capture).map_err(|error| Failure::file(capture, "read", &error))?);
        }
        let until = self.until.as_ref().map(|until| format!("{}.{}={}", until.name, METRICS[until.metric], until.part));
        let points = self.outline.points.iter().enumerate().map(|(index, values)| {
            let values = self.outline.keys.iter().zip(values).map(|(key, value)| (key.clone(), value.as_str().into()));
            serde_json::json!({ "point": index + 1, "values": serde_json::Map::from_iter(values) })
        });
        let manifest = serde_json::json!({
            "tidegate_version": env!("CARGO_PKG_VERSION"),
            "texts": format!("{:016x}", hash.0),
            "set": self.arguments.set,
            "seed": self.seed,
            "independent": self.arguments.independent,
            "replications": self.replications,
            "until": until,
            "points": points.collect::<Vec<_>>(),
        });
        Ok(format!("{manifest:#}\n"))
    }

    /// Runs these points on all cores.
    fn run(&self, points: &[usize]) -> Result<(), Failure> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = self.arguments.jobs.map_or(cores, NonZeroUsize::get).min(points.len()).max(1);
        // Cores that would have no point of their own help with the replications of others.
        let threads = NonZeroUsize::new((cores / jobs).max(1));
        let progress = Progress::new(1000 * points.len() as u64, "sweeping {wide_bar} {percent} %  {left}");
        let (next, total, failed) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let failure: Mutex<Option<Failure>> = Mutex::new(None);
        let work = || {
            while let Some(&point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                let own = AtomicU64::new(0);
                let at = |part: f64| {
                    let now = (1000.0 * part.clamp(0.0, 1.0)) as u64;
                    let before = own.fetch_max(now, Ordering::Relaxed);
                    progress.at(total.fetch_add(now.saturating_sub(before), Ordering::Relaxed));
                };
                let control = Control { threads, cancel: Some(&failed), ..Control::default() };
                if let Err(error) = self.point(point, &control, &at) {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
                if failed.load(Ordering::Relaxed) {
                    return;
                }
                at(1.0);
            }
        };
        std::thread::scope(|scope| {
            (1..jobs).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        drop(progress);
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// The values of a point, as `--set` takes them.
    fn settings(&self, point: usize) -> Vec<String> {
        self.outline.keys.iter().zip(&self.outline.points[point - 1]).map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The scenario at a point.
    fn scenario(&self, point: usize) -> Result<Scenario, Failure> {
        let changes = [&self.arguments.set[..], &self.settings(point)].concat();
        let scenario = tidegate_scenario::load(&self.arguments.scenario, &changes);
        scenario.map_err(|problems| Failure::Findings(crate::check::drawn(&problems)))
    }

    /// Runs a point and writes its table.
    fn point(&self, point: usize, control: &Control, progress: &(dyn Fn(f64) + Sync)) -> Result<(), Failure> {
        let (values, settings) = (&self.outline.points[point - 1], self.settings(point));
        let scenario = self.scenario(point)?;
        let mut report = Report::new(&scenario.title, World::Simulation, &scenario.source);
        let seed = if self.arguments.independent { self.seed.wrapping_add(point as u64 - 1) } else { self.seed };
        report.seed = Some(seed);
        report.runs = scenario.variants.iter().map(|variant| Run::new(&variant.name)).collect();
        let mut done = 0;
        while done < self.replications {
            let batch = match &self.until {
                None => self.replications,
                Some(_) => FIRST_BATCH.max(done / 2).min(self.replications - done),
            };
            let parts = (self.replications as usize * scenario.variants.len()) as f64;
            for (index, (variant, run)) in scenario.variants.iter().zip(&mut report.runs).enumerate() {
                let Some(simulation) = &variant.simulation else {
                    return Err(Failure::BadInput(format!("error: {} has nothing to simulate: it is a policy file", scenario.source)));
                };
                let mut experiment = simulation.experiment;
                (experiment.seed, experiment.replications, experiment.sample_interval) = (seed, batch, None);
                let before = done as usize * scenario.variants.len() + index * batch as usize;
                let at = |part: f64| progress((before as f64 + part * f64::from(batch)) / parts);
                let control = Control { first_replication: done, progress: Some(&at), ..*control };
                let changes: Vec<_> = variant.changes.iter().map(PolicyChange::of_network).collect();
                let outcome = match tidegate_sim::run_with_changes(&simulation.network, &changes, &experiment, &control) {
                    Ok(outcome) => outcome,
                    Err(SimulationError::Cancelled) => return Ok(()),
                    Err(SimulationError::Refused(problem)) => {
                        return Err(Failure::BadInput(format!("error: {} with {}: {problem}", scenario.source, settings.join(", "))));
                    }
                    Err(error) => return Err(Failure::Defect(error.to_string())),
                };
                let mut rows = run_of(&variant.name, &outcome).replications;
                rows.iter_mut().for_each(|row| row.replication += done);
                run.replications.extend(rows);
            }
            done += batch;
            if self.until.as_ref().is_some_and(|until| report.runs.iter().all(|run| until.is_reached(run))) {
                break;
            }
        }
        let keys = self.outline.keys.iter().zip(values).zip(&self.numbers);
        let parameters: Vec<_> = keys.map(|((key, value), is_number)| (key.as_str(), value.as_str(), *is_number)).collect();
        write_point(&report, point as u64, &parameters, &part(&self.arguments.out, point)).map_err(|error| written(&error))
    }
}

/// What figures can be asked of.
struct Names<'a> {
    flows: Vec<&'a str>,
    ports: Vec<&'a str>,
}

impl Names<'_> {
    /// Reads `NAME.METRIC`.
    fn figure(&self, text: &str) -> Result<(String, usize), String> {
        let (name, metric) = text.rsplit_once('.').ok_or_else(|| format!("`{text}` is no NAME.METRIC, such as voice.delay_p99_s"))?;
        let metric = index_of(metric).ok_or_else(|| format!("there is no metric `{metric}`; there is {}", METRICS.join(", ")))?;
        if self.flows.iter().chain(&self.ports).any(|known| *known == name) {
            return Ok((name.to_owned(), metric));
        }
        let known: Vec<&str> = self.flows.iter().chain(&self.ports).take(20).copied().collect();
        Err(format!("there is no flow and no link `{name}`; there is {}", known.join(", ")))
    }
}

fn index_of(metric: &str) -> Option<usize> {
    METRICS.iter().position(|known| *known == metric)
}

impl Until {
    fn parse(text: &str, names: &Names<'_>) -> Result<Until, String> {
        let form = "write NAME.METRIC=PART, such as voice.delay_p99_s=5%";
        let (figure, part) = text.rsplit_once('=').ok_or(form)?;
        let (name, metric) = names.figure(figure.trim())?;
        let percent = part.trim().strip_suffix('%').ok_or(form)?;
        let percent: f64 = percent.trim().parse().map_err(|_| form)?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err(format!("{percent} % is no part; give more than 0 % and less than 100 %"));
        }
        Ok(Until { name, metric, part: percent / 100.0 })
    }

    /// True if the interval of the figure is small enough. A flow comes before a link of its name.
    fn is_reached(&self, run: &Run) -> bool {
        let is_port = !run.replications.iter().any(|row| !row.is_port && row.name == self.name);
        let rows = run.replications.iter().filter(|row| row.name == self.name && row.is_port == is_port);
        let values: Vec<f64> = rows.filter_map(|row| row.figures()[self.metric]).collect();
        Estimate::of(&values).is_some_and(|estimate| estimate.half_width.is_some_and(|width| width <= self.part * estimate.mean.abs()))
    }
}

/// The 64-bit FNV-1a hash of texts and their lengths.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        self.0 = bytes.iter().chain(&length).fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// Writes `points.json`, or refuses a folder that holds the points of another sweep.
fn agree(folder: &Path, manifest: &str) -> Result<(), Failure> {
    let place = folder.join("points.json");
    match std::fs::read_to_string(&place) {
        Ok(known) if known == manifest => Ok(()),
        Ok(_) => Err(Failure::BadInput(format!(
            "error: {} holds the points of another sweep: the file, the axes, the seed, the replications or the version of tidegate differ; name another \
             folder, or remove this one",
            folder.display()
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut file = OutputFile::create(&place)?;
            file.write_all(manifest.as_bytes()).map_err(|error| Failure::file(&place, "written", &error))?;
            Ok(file.finish()?)
        }
        Err(error) => Err(Failure::file(&place, "read", &error)),
    }
}

/// A job array: one task per point, each with the arguments of this command.
fn slurm_script(plan: &Plan<'_>) -> Result<String, Failure> {
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
        plan.outline.points.len(),
        quoted(&folder.display().to_string()),
    ))
}
