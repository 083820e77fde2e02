//! A sweep: its points, which of them are missing, and their simulation.
//!
//! The folder holds `points.json`, which says what every point is, `points/point-00001.parquet` and so on, and once all are there `table.parquet` and
//! `report.html`. A table gets its name when it is complete, so several processes, or machines, may fill one folder, and any of them may be killed.

use crate::failure::Failure;
use crate::simulation_report::run_of;
use crate::sweep_figure::{Names, Until, index_of};
use crate::sweep_folder::{POINTS, part};
use crate::sweep_table::{Outline, numbers, result};
use clap::{Args, Parser};
use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tidegate_report::{METRICS, OutputFile, Parameter, Report, ReportError, Run, SweepResult, World, write_point};
use tidegate_scenario::sweep::{Axis, Design, Sweep};
use tidegate_scenario::{PolicyChange, Scenario};
use tidegate_sim::{Control, SimulationError};

/// What `tidegate sweep` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario file
    pub scenario: PathBuf,
    /// The folder of the sweep; points that are there already are not run again
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
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
    pub set: Vec<String>,
    /// Run this point only, from 1, and write its table
    #[arg(long, value_name = "N", conflicts_with = "slurm")]
    pub point: Option<usize>,
    /// The number of points that run at the same time; one per core by default
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print a SLURM job array that runs the points, and run nothing
    #[arg(long)]
    pub slurm: bool,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments alone, as a command of their own.
#[derive(Parser)]
#[command(name = "tidegate sweep", no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    arguments: Arguments,
}

/// A sweep, ready to run.
pub struct Study {
    arguments: Arguments,
    outline: Outline,
    /// The seed of the first point.
    seed: u64,
    replications: u32,
    until: Option<Until>,
    /// The captures that the scenario reads.
    captures: Vec<PathBuf>,
}

/// Replications before an interval is judged.
const FIRST_BATCH: u32 = 5;

impl Study {
    /// Reads a sweep from the arguments of `tidegate sweep`, and the scenario that they name.
    ///
    /// # Errors
    /// [`Failure::BadInput`] for arguments, [`Failure::Findings`] for a file that cannot be used.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Study, Failure> {
        let arguments = Words::try_parse_from(words).map_err(|error| Failure::BadInput(error.to_string()))?.arguments;
        let scenario = tidegate_scenario::load(&arguments.scenario, &arguments.set).map_err(Failure::Findings)?;
        Study::of(arguments, &scenario)
    }

    /// The sweep of a scenario that has been read.
    pub(crate) fn of(arguments: Arguments, scenario: &Scenario) -> Result<Study, Failure> {
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
            workloads: simulation.network.workloads.iter().map(|workload| workload.name.as_str()).collect(),
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
            let of_connections = names.flows.is_empty() && !names.workloads.is_empty();
            let metrics = if of_connections {
                ["completion_mean_s", "slowdown_mean", "slowdown_p99"]
            } else {
                ["throughput_bps", "loss", "delay_p99_s"]
            };
            let first = names.flows.first().or(names.workloads.first()).or(names.ports.first());
            let first = first.map(|name| (*name).to_owned()).unwrap_or_default();
            shown = metrics.iter().filter_map(|metric| Some((first.clone(), index_of(metric)?))).collect();
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
        let parameter = |(index, axis): (usize, &Axis)| {
            let values: Vec<String> = points.iter().map(|point| point[index].clone()).collect();
            let numbers = numbers(&values);
            Parameter::new(axis.key.clone(), values, numbers)
        };
        let outline = Outline {
            title: scenario.title.clone(),
            circumstances,
            parameters: sweep.axes.iter().enumerate().map(parameter).collect(),
            points: points.len(),
            design: sweep.design,
            shown,
            is_paired: !arguments.independent,
        };
        Ok(Study { outline, seed, replications, until, captures: scenario.captures.clone(), arguments })
    }

    /// What the sweep was told.
    pub(crate) fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        self.outline.points
    }

    /// The points, from 1, whose table is not there.
    pub fn missing(&self) -> Vec<usize> {
        (1..=self.points()).filter(|&point| !part(&self.arguments.out, point).exists()).collect()
    }

    /// Checks these points and begins the folder. A folder of points that cannot be run would only be in the way of the next sweep.
    ///
    /// # Errors
    /// The file cannot be used at one of the points; or the folder has the points of another sweep, or cannot be written.
    pub fn begin(&self, points: &[usize]) -> Result<(), Failure> {
        self.on_cores(points, &AtomicBool::new(false), |point| self.scenario(point).map(drop))?;
        let folder = &self.arguments.out;
        std::fs::create_dir_all(folder.join(POINTS)).map_err(|error| Failure::file(folder, "written", &error))?;
        agree(folder, &self.manifest()?)
    }

    /// Runs these points on all cores, in a folder that was begun, and writes the table of each. `progress` is called with the fraction that is done, from 0
    /// to 1. Once `cancel` is true, the points under way end without a table.
    ///
    /// # Errors
    /// The first failure ends the others.
    pub fn run(&self, points: &[usize], progress: &(dyn Fn(f64) + Sync), cancel: &AtomicBool) -> Result<(), Failure> {
        // Cores that would have no point of their own help with the replications of others.
        let threads = NonZeroUsize::new((cores() / self.jobs(points)).max(1));
        let done = AtomicU64::new(0);
        self.on_cores(points, cancel, |point| {
            let own = AtomicU64::new(0);
            let at = |part: f64| {
                let now = (1000.0 * part.clamp(0.0, 1.0)) as u64;
                let more = now.saturating_sub(own.fetch_max(now, Ordering::Relaxed));
                let all = more + done.fetch_add(more, Ordering::Relaxed);
                progress(all as f64 / (1000 * points.len()) as f64);
            };
            self.point(point, &Control { threads, cancel: Some(cancel), ..Control::default() }, &at)?;
            if !cancel.load(Ordering::Relaxed) {
                at(1.0);
            }
            Ok(())
        })
    }

    /// Reads the tables of all points, and writes `table.parquet` and `report.html`.
    ///
    /// # Errors
    /// A table cannot be read, or the folder cannot be written.
    pub fn finish(&self) -> Result<SweepResult, Failure> {
        let swept = result(&self.outline, &self.arguments.out)?;
        tidegate_report::write_sweep(&swept, &self.arguments.out).map_err(|error| written(&error))?;
        Ok(swept)
    }

    /// What every point is, and a hash of all texts and captures that results depend on: the same for every process that works on the sweep.
    fn manifest(&self) -> Result<String, Failure> {
        let files = crate::check::gather(&self.arguments.scenario, &self.arguments.set)?;
        let mut hash = Fnv::default();
        hash.text(&files.text);
        files.files.iter().for_each(|(name, text)| {
            hash.text(name);
            hash.text(text);
        });
        for capture in &self.captures {
            hash.bytes(&std::fs::read(capture).map_err(|error| Failure::file(capture, "read", &error))?);
        }
        let until = self.until.as_ref().map(|until| format!("{}.{}={}", until.name, METRICS[until.metric], until.part));
        let points = (0..self.points()).map(|index| {
            let values = self.outline.parameters.iter().map(|parameter| (parameter.key.clone(), parameter.values[index].clone().into()));
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

    /// The number of points that run at the same time.
    fn jobs(&self, points: &[usize]) -> usize {
        self.arguments.jobs.map_or(cores(), NonZeroUsize::get).min(points.len()).max(1)
    }

    /// Does something at every point, until `cancel` is true. The first failure makes it true.
    fn on_cores(&self, points: &[usize], cancel: &AtomicBool, work: impl Fn(usize) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let failure: Mutex<Option<Failure>> = Mutex::new(None);
        let worker = || {
            while let Some(&point) = points.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !cancel.load(Ordering::Relaxed)) {
                if let Err(error) = work(point) {
                    cancel.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..self.jobs(points)).for_each(|_| drop(scope.spawn(worker)));
            worker();
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// The values of a point, as `--set` takes them.
    fn settings(&self, point: usize) -> Vec<String> {
        self.outline.parameters.iter().map(|parameter| format!("{}={}", parameter.key, parameter.values[point - 1])).collect()
    }

    /// The scenario at a point.
    fn scenario(&self, point: usize) -> Result<Scenario, Failure> {
        let changes = [&self.arguments.set[..], &self.settings(point)].concat();
        tidegate_scenario::load(&self.arguments.scenario, &changes).map_err(Failure::Findings)
    }

    /// Runs a point and writes its table.
    fn point(&self, point: usize, control: &Control, progress: &(dyn Fn(f64) + Sync)) -> Result<(), Failure> {
        let settings = self.settings(point);
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
                let mut outcome = match tidegate_sim::run_with_changes(&simulation.network, &changes, &experiment, &control) {
                    Ok(outcome) => outcome,
                    Err(SimulationError::Cancelled) => return Ok(()),
                    Err(SimulationError::Refused(problem)) => {
                        return Err(Failure::BadInput(format!("error: {} with {}: {problem}", scenario.source, settings.join(", "))));
                    }
                    Err(error) => return Err(Failure::Defect(error.to_string())),
                };
                let mut rows = run_of(&variant.name, &mut outcome, false).replications;
                rows.iter_mut().for_each(|row| row.replication += done);
                run.replications.extend(rows);
            }
            done += batch;
            if self.until.as_ref().is_some_and(|until| report.runs.iter().all(|run| until.is_reached(run))) {
                break;
            }
        }
        write_point(&report, point, &self.outline.parameters, &part(&self.arguments.out, point)).map_err(|error| written(&error))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn written(error: &ReportError) -> Failure {
    Failure::BadInput(format!("error: {error}"))
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
