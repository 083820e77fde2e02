//! `tidegate run`: simulate every variant of a scenario.

use crate::capture_report::capture_result;
use crate::changes;
use crate::completions::CompletionFile;
use crate::failure::Failure;
use crate::packet_trace;
use crate::port_report::judged;
use crate::present::{Destination, Output};
use crate::progress::Progress;
use crate::proven;
use crate::queue_report::add_aqms;
use crate::simulation_report::run_of;
use clap::Args;
use std::iter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tidegate_core::units::Overhead;
use tidegate_report::{Places, PromiseResult, Report, World};
use tidegate_scenario::promise::Measured;
use tidegate_scenario::proof::Proof;
use tidegate_scenario::simulation::FlowGroup;
use tidegate_scenario::{PolicyChange, Scenario, Simulation, Variant};
use tidegate_sim::{CompletionSink, Control, Division, Experiment, FlowOutcome, Link, Network, Outcome, SimulationError, Tracer};

/// What `tidegate run` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario file
    scenario: PathBuf,
    /// The seed of all random streams, instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    /// The number of independent replications, instead of the file's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: Option<u32>,
    /// The number of threads, one per core if not given. Replications use them first. If there are fewer replications, each is divided among several
    /// threads: always if this option is given and it can be, else where the network is large enough to be done sooner
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Change a value of the file, such as policy.access.class.voice.weight=3 or simulation.duration="5 s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Simulate only the variants of these names
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,
    #[command(flatten)]
    trace: packet_trace::Options,
    /// Write every connection of workloads that is complete, of all replications, as a table (NAME.parquet)
    #[arg(long, value_name = "FILE")]
    completions: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.scenario, &arguments.set)?;
    let chosen = choose_variants(&scenario.variants, &arguments.variants, &scenario.source)?;
    let simulations = simulations_of(&scenario, &chosen, arguments.seed, arguments.replications)?;

    let mut inputs = vec![("the scenario", arguments.scenario.as_path())];
    inputs.extend(scenario.captures.iter().map(|capture| ("a capture of the scenario", capture.as_path())));
    let mut places = Places::default();
    inputs.iter().for_each(|(what, path)| places.input(what, path));
    let destination = Destination::among(&arguments.output, &mut places)?;
    let trace = arguments.trace.file(&mut places)?;
    let completions = arguments.completions.as_deref();
    if let Some(path) = completions {
        if path.extension().is_none_or(|extension| extension != "parquet") {
            let path = path.display();
            return Err(Failure::BadInput(format!(
                "error: --completions {path}: the file is a table of Parquet, so its name is NAME.parquet"
            )));
        }
        places.output("--completions", path)?;
    }
    let of_one = trace.map(|_| ("--trace", "a trace")).or(completions.map(|_| ("--completions", "a table of connections")));
    if let (Some((option, what)), [first, second, ..]) = (of_one, &simulations[..]) {
        let names = (&first.variant.name, &second.variant.name);
        return Err(Failure::BadInput(format!(
            "error: {option}: {what} is of one variant; choose it, such as --variant \"{}\" or \"{}\"",
            names.0, names.1
        )));
    }

    let progress = Progress::new(1000, "simulating {wide_bar} {percent} %  {left}");
    let at = |done: f64| progress.at((done * 1000.0) as u64);
    let files = Files { trace: trace.map(|path| (path, &arguments.trace)), completions };
    let mut report = report_of(&scenario, &simulations, (arguments.threads, &at), None, files)?;
    drop(progress);
    let excesses = proven::note_excesses(&mut report);
    let presented = destination.present(&report);
    if excesses.is_empty() {
        return presented;
    }
    let exceeded = proven::tell(&excesses, "file");
    presented.map(|_| exceeded)
}

/// Simulates every variant of `scenario`, with another seed and number of replications if they are given.
///
/// `progress` is called with the fraction that is done, from 0 to 1. The simulation ends with an error soon after `cancel` becomes true.
///
/// # Errors
/// [`Failure::BadInput`] if there is nothing to simulate, or the simulation refuses the network.
pub fn simulate(
    scenario: &Scenario,
    seed: Option<u64>,
    replications: Option<u32>,
    progress: &(dyn Fn(f64) + Sync),
    cancel: &AtomicBool,
) -> Result<Report, Failure> {
    let variants: Vec<&Variant> = scenario.variants.iter().collect();
    let simulations = simulations_of(scenario, &variants, seed, replications)?;
    let mut report = report_of(scenario, &simulations, (None, progress), Some(cancel), Files::default())?;
    proven::note_excesses(&mut report);
    report.validate().map_err(|error| Failure::Defect(error.to_string()))?;
    Ok(report)
}

/// A variant, what it simulates, and the experiment that the command asks for.
struct Simulated<'s> {
    variant: &'s Variant,
    simulation: &'s Simulation,
    experiment: Experiment,
}

/// What the variants simulate.
fn simulations_of<'s>(
    scenario: &Scenario,
    variants: &[&'s Variant],
    seed: Option<u64>,
    replications: Option<u32>,
) -> Result<Vec<Simulated<'s>>, Failure> {
    let mut simulations = Vec::new();
    for &variant in variants {
        let Some(simulation) = &variant.simulation else {
            return Err(Failure::BadInput(format!(
                "error: {} has nothing to simulate: it is a policy file; add [simulation], [[link]] and [[flow]], or use `tidegate replay` or \
                 `tidegate live`",
                scenario.source
            )));
        };
        let mut experiment = simulation.experiment;
        experiment.seed = seed.unwrap_or(experiment.seed);
        experiment.replications = replications.unwrap_or(experiment.replications);
        simulations.push(Simulated { variant, simulation, experiment });
    }
    Ok(simulations)
}

/// What is written while variants are simulated.
#[derive(Clone, Copy, Default)]
struct Files<'a> {
    trace: Option<(&'a Path, &'a packet_trace::Options)>,
    completions: Option<&'a Path>,
}

/// Simulates the variants one after the other.
fn report_of(
    scenario: &Scenario,
    simulations: &[Simulated<'_>],
    (threads, progress): (Option<NonZeroUsize>, &(dyn Fn(f64) + Sync)),
    cancel: Option<&AtomicBool>,
    files: Files<'_>,
) -> Result<Report, Failure> {
    let threads = threads.map(at_once);
    let mut report = Report::new(&scenario.title, World::Simulation, &scenario.source);
    report.notes.extend(scenario.description.clone());
    report.notes.extend(scenario.capture_notes());
    report.captures = scenario.accounts.iter().map(|(name, account)| capture_result(name, account)).collect();
    for note in simulations.iter().flat_map(|one| colour_notes(one.variant, one.simulation)) {
        if !report.notes.contains(&note) {
            report.notes.push(note);
        }
    }
    let first = &simulations[0].experiment;
    report.seed = Some(first.seed);
    report.replications = first.replications;
    report.duration_s = first.duration.picoseconds() as f64 / 1e12;
    report.warm_up_s = first.warm_up.picoseconds() as f64 / 1e12;

    for (number, &Simulated { variant, simulation, ref experiment }) in simulations.iter().enumerate() {
        let at = |done: f64| progress((number as f64 + done) / simulations.len() as f64);
        let variant_name = (simulations.len() > 1).then_some(variant.name.as_str());
        let division = if threads.is_some() { Division::WherePossible } else { Division::default() };
        let control = Control { threads, division, progress: Some(&at), ..Control::default() };
        let changes: Vec<_> = variant.changes.iter().map(PolicyChange::of_network).collect();
        let has_failed = AtomicBool::new(false);
        let trace = files.trace.map(|(path, options)| options.begin(path, simulation, &changes, &has_failed)).transpose()?;
        let tracer = trace.as_ref().map(|trace| trace as &dyn Tracer);
        let completions = files.completions.map(|path| CompletionFile::begin(path, &simulation.network, &has_failed)).transpose()?;
        let sink = completions.as_ref().map(|file| file as &dyn CompletionSink);
        // Commands that write a file are not cancelled from outside.
        let failed = (trace.is_some() || completions.is_some()).then_some(&has_failed);
        let control = Control { tracer, completions: sink, cancel: failed.or(cancel), ..control };
        if threads.is_some_and(|threads| threads.get() > experiment.replications as usize) {
            for obstacle in tidegate_sim::obstacles_to_division(&simulation.network, &changes, &control) {
                let of_variant = variant_name.map_or_else(String::new, |name| format!(" of {name}"));
                crate::log::line(&format!("warning: --threads: one thread simulates each replication{of_variant}: {obstacle}"));
            }
        }
        let outcome = tidegate_sim::run_with_changes(&simulation.network, &changes, experiment, &control);
        // A file that cannot be written ends the simulation, and says why. Then neither comes to its place.
        let written = [trace.map(packet_trace::TraceFile::end).transpose()?, completions.map(CompletionFile::end).transpose()?];
        let mut outcome = outcome.map_err(|error| match error {
            SimulationError::Refused(problem) => Failure::BadInput(format!("error: {}: {problem}", scenario.source)),
            error => Failure::Defect(error.to_string()),
        })?;
        for (file, note) in written.into_iter().flatten() {
            file.finish()?;
            report.notes.push(note);
        }
        report.notes.extend(changes::simulated(&variant.changes, &outcome, variant_name));
        let prefix = variant_name.map_or_else(String::new, |name| format!("{name}: "));
        report.notes.extend(simulation.notes_of_failures().into_iter().map(|note| prefix.clone() + &note));
        report.notes.extend(simulation.note_of_curves().map(|note| prefix.clone() + &note));
        report.notes.extend(disturbance_notes(&simulation.network, &outcome, variant_name));
        let changed = changes::simulated_results(&variant.changes, &outcome);
        let mut promises = flow_promises(simulation, &outcome);
        promises.extend(class_promises(variant, simulation, &outcome));
        let mut run = run_of(&variant.name, &mut outcome, experiment.flow_series);
        (run.changes, run.promises) = (changed, promises);
        for (link, port) in run.ports.iter_mut().enumerate() {
            let changes = variant.changes.iter().flat_map(|change| &change.ports).filter(|(of, _)| of.0 == link);
            let first = &variant.policies[simulation.policy_of_link[link]];
            add_aqms(port, iter::once(first).chain(changes.map(|(_, policy)| policy)));
        }
        // It knows nothing of the simulation, whose memory is free again.
        if let Some(proof) = Proof::of(variant) {
            proven::compare(&mut run, &simulation.groups, &proof, &outcome);
            proven::compare_classes(&mut run, &proof.delays_of_classes(variant), &outcome);
        }
        report.runs.push(run);
    }
    Ok(report)
}

/// As many threads as asked for, or as processors if those are fewer: with more regions than processors a run takes many times as long.
fn at_once(threads: NonZeroUsize) -> NonZeroUsize {
    let processors = std::thread::available_parallelism().unwrap_or(threads);
    if threads > processors {
        crate::log::line(&format!("note: --threads {threads}: this machine runs {processors} at once, so {processors} are used"));
    }
    threads.min(processors)
}

/// What came late and twice over each link, in all replications.
fn disturbance_notes(network: &Network, outcome: &Outcome, variant: Option<&str>) -> Vec<String> {
    let prefix = variant.map_or_else(String::new, |name| format!("{name}: "));
    let disturbed = network.links.iter().enumerate().filter(|(_, link)| link.impairment.disturbance.is_some());
    let note = |(index, link): (usize, &Link)| {
        let ports = || outcome.replications.iter().map(|run| &run.ports[index]);
        let late: u64 = ports().map(|port| port.late.packets).sum();
        let twice: u64 = ports().map(|port| port.duplicated.packets).sum();
        format!(
            "{prefix}Link {}: {late} packets came late, and {twice} came twice; copies count as delivered, but not as offered.",
            link.name
        )
    };
    disturbed.map(note).collect()
}

/// Notes on the colours that ports decide. On ATM, cells carry them.
fn colour_notes(variant: &Variant, simulation: &Simulation) -> Vec<String> {
    let links = simulation.network.links.iter().zip(&simulation.policy_of_link);
    links
        .filter(|(link, _)| link.overhead() != Overhead::Aal5)
        .flat_map(|(_, &policy)| variant.policies[policy].notes_of_simulation())
        .collect()
}

fn choose_variants<'s>(variants: &'s [Variant], names: &[String], source: &str) -> Result<Vec<&'s Variant>, Failure> {
    if names.is_empty() {
        return Ok(variants.iter().collect());
    }
    let find = |name: &String| {
        variants.iter().find(|variant| &variant.name == name).ok_or_else(|| {
            let known: Vec<String> = variants.iter().map(|variant| format!("`{}`", variant.name)).collect();
            Failure::BadInput(format!("error: {source} has no variant `{name}`; it has {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// A promise to a group of flows is a promise to each: the worst of each figure counts.
fn flow_promises(simulation: &Simulation, outcome: &Outcome) -> Vec<PromiseResult> {
    let judge = |group: &FlowGroup| {
        let promise = group.promise.as_ref()?;
        let flows = &outcome.flows[group.first..group.first + group.count];
        let quantile = |flow: &FlowOutcome, part| flow.delay.as_ref().and_then(|delay| delay.histogram.quantile(part));
        let measured = Measured {
            delay_quantile_s: &|part| flows.iter().map(|flow| quantile(flow, part)).collect::<Option<Vec<f64>>>().map(greatest),
            loss: flows.iter().map(|flow| (flow.offered.packets > 0).then_some(flow.loss.mean)).collect::<Option<Vec<f64>>>().map(greatest),
            rate_bps: flows.iter().map(|flow| flow.throughput_bps.mean).fold(f64::INFINITY, f64::min),
        };
        let name = if group.count > 1 { format!("{} (worst of {})", group.name, group.count) } else { group.name.clone() };
        Some(judged(&name, promise, &measured))
    };
    simulation.groups.iter().filter_map(judge).flatten().collect()
}

/// The promises to classes at their ports. A class to which nothing was offered is left out.
fn class_promises(variant: &Variant, simulation: &Simulation, outcome: &Outcome) -> Vec<PromiseResult> {
    let mut results = Vec::new();
    for (port, &policy) in outcome.ports.iter().zip(&simulation.policy_of_link) {
        let classes = port.classes.iter().zip(variant.policies[policy].classes.iter());
        for (measured, class) in classes.filter(|(measured, _)| measured.offered.packets > 0) {
            let Some(promise) = &class.promise else { continue };
            let figures = Measured {
                delay_quantile_s: &|part| measured.delays.quantile(part),
                loss: Some(measured.loss.mean),
                rate_bps: measured.throughput_bps.mean,
            };
            results.extend(judged(&format!("{} / {}", port.name, class.name), promise, &figures));
        }
    }
    results
}

fn greatest(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}
