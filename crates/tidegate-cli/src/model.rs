//! `tidegate model`: how much a machine forwards, what limits it, and how long packets take.

use crate::failure::Failure;
use crate::present::{Destination, Output, terminal_options};
use crate::progress::Progress;
use crate::{model_fit, model_validate};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tidegate_report::{
    CapacityReport, CeilingResult, DelayQuantile, FlowLoad, ForwardingResult, LoadResult, LossCount, PauseResult, PromiseResult,
    format_count, format_packet_rate, format_rate, format_ratio, format_time,
};
use tidegate_router::capacity::{Capacity, Load, Question, Unanswerable, capacity};
use tidegate_router::ceilings::{Ceilings, Pause, Resource};
use tidegate_router::{Bus, Losses, NoiseArrivals, RouterFlow};
use tidegate_scenario::machine::{MachineFile, MachinePromise};

/// What `tidegate model` takes.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Task>,
    /// The machine file
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Change a value of the file, such as machine.clock="2 GHz" or machine.nic.1.ring=1024
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The seed of all random streams, instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    output: Output,
}

const AFTER_HELP: &str = "Exit code 1 if a promise of the file is broken. docs/router.md says what is modelled and what is not; docs/machine-reference.md \
describes the file.";

/// Other things to do with models than to ask one.
#[derive(Subcommand)]
enum Task {
    /// Turn recordings of `tidegate live --probe` into a machine file
    Fit(model_fit::Arguments),
    /// Compare a fitted machine with other recordings, or with traffic that passes now
    Validate(model_validate::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match (&arguments.command, &arguments.file) {
        (Some(Task::Fit(arguments)), _) => model_fit::run(arguments),
        (Some(Task::Validate(arguments)), _) => model_validate::run(arguments),
        (None, Some(file)) => answer(file, arguments),
        (None, None) => Err(Failure::BadInput("error: name a machine file".to_owned())),
    }
}

fn answer(path: &Path, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = crate::check::load_machine(path, &arguments.set)?;
    let mut inputs = vec![("the machine file", path)];
    inputs.extend(file.files.iter().map(|other| ("a file of the machine", other.as_path())));
    judge_flows(&file)?;
    let destination = Destination::new(&arguments.output, &inputs)?;

    let progress = Progress::new(1000, "forwarding packets {wide_bar} {percent} %  {left}");
    let report = model_machine(&file, arguments.seed, &|done| progress.at((done * 1000.0) as u64), &AtomicBool::new(false));
    drop(progress);
    let report = report?;
    let text = if destination.json() {
        tidegate_report::capacity_json(&report)
    } else {
        tidegate_report::capacity_terminal(&report, terminal_options())
    };
    destination.deliver(&text, |folder| tidegate_report::write_capacity(&report, folder))?;
    Ok(ExitCode::from(u8::from(!report.promises_kept())))
}

fn judge_flows(file: &MachineFile) -> Result<(), Failure> {
    if file.flows.is_empty() {
        return Err(Failure::BadInput(format!(
            "error: {} has nothing to forward: it describes a machine only; add [[flow]] with `input`, `output` and a `source`",
            file.source
        )));
    }
    Ok(())
}

/// Answers the question of a machine file, with another seed if one is given.
///
/// `progress` is called with the fraction that is done, from 0 to 1. No further trial begins after `cancel` becomes true: it ends with an error.
///
/// # Errors
/// [`Failure::BadInput`] if the file has no flows, or a question that no trial can answer.
pub fn model_machine(
    file: &MachineFile,
    seed: Option<u64>,
    progress: &(dyn Fn(f64) + Sync),
    cancel: &AtomicBool,
) -> Result<CapacityReport, Failure> {
    judge_flows(file)?;
    let question = Question { seed: seed.unwrap_or(file.question.seed), ..file.question.clone() };
    let found = capacity(&file.machine, &file.flows, &question, progress, cancel);
    let bad = |problem: String| Failure::BadInput(format!("error: {}: {problem}", file.source));
    let found = found.map_err(|problem| match problem {
        Unanswerable::Invalid(invalid) => bad(invalid.to_string()),
        Unanswerable::NoRate => bad("the flows offer nothing; give each a source with a rate".to_owned()),
        Unanswerable::OutOfRange => bad(
            "at a rate that has to be tried, a source would leave 1 kbit/s to 400 Gbit/s, or a trial would last longer than 13 days; let flows differ \
             less in rate, or ask for fewer packets"
                .to_owned(),
        ),
        Unanswerable::Cancelled => bad("the trials were cancelled".to_owned()),
    })?;
    let ceilings = Ceilings::new(&file.machine, &file.flows).ok_or_else(|| Failure::Defect("flows without ceilings".to_owned()))?;
    Ok(report(file, &question, &ceilings, &found))
}

fn report(file: &MachineFile, question: &Question, ceilings: &Ceilings<'_>, found: &Capacity) -> CapacityReport {
    let bits = ceilings.traffic().mean_length() * 8.0;
    let forwarding = &found.forwarding;
    let p = 1.0 - question.loss.max(1e-9);
    let ceiling = |ceiling: tidegate_router::ceilings::Ceiling| {
        let packets = Some(ceiling.packets_per_second).filter(|packets| packets.is_finite());
        CeilingResult {
            resource: ceiling.resource.name().to_owned(),
            packets_per_second: packets,
            bits_per_second: packets.map(|packets| packets * bits),
            share: packets.and_then(|packets| Some(forwarding.low? / packets)),
        }
    };
    let mut loads: Vec<LoadResult> = question
        .loads
        .iter()
        .zip(&found.loads)
        .map(|(&part, load)| load_result(&format!("{}\u{a0}%", rounded(part * 100.0)), load, file, question, ceilings))
        .collect();
    loads.extend(found.promise.as_ref().map(|load| load_result("promised", load, file, question, ceilings)));
    CapacityReport {
        tidegate_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: file.title.clone(),
        source: file.source.clone(),
        sentence: sentence(file, question, ceilings, found),
        notes: notes(file, question, ceilings, found),
        seed: question.seed,
        mean_frame_bytes: ceilings.traffic().mean_length(),
        capacity: ceilings.all(p).map(ceiling).into(),
        bottleneck: ceilings.least().resource.name().to_owned(),
        mlffr: ForwardingResult {
            low: forwarding.low,
            high: forwarding.high,
            bits_per_second: forwarding.low.map(|low| low * bits),
            loss: question.loss,
            packets: forwarding.packets,
            trials: forwarding.trials as u64,
            drops: losses(&forwarding.losses),
        },
        loads,
        promises: file.promise.iter().zip(&found.promise).flat_map(|(promise, load)| judged(file, promise, load)).collect(),
    }
}

fn losses(losses: &Losses) -> LossCount {
    LossCount { fifo: losses.fifo, ring: losses.ring, ipq: losses.protocol_queue, fq: losses.flow_queue, interface: losses.interface_queue }
}

fn load_result(name: &str, load: &Load, file: &MachineFile, question: &Question, ceilings: &Ceilings<'_>) -> LoadResult {
    let outcome = &load.outcome;
    let flow = |(flow, measured): (&RouterFlow, &tidegate_router::FlowOutcome)| {
        let delays = &measured.delays;
        let quantile = |&part: &f64| {
            let enough = delays.count() as f64 >= Question::packets_for(part) * 0.99;
            DelayQuantile { part, seconds: delays.quantile(part).filter(|_| enough) }
        };
        FlowLoad {
            name: flow.name.clone(),
            offered: measured.offered,
            forwarded: measured.forwarded,
            drops: losses(&measured.lost),
            delay_mean_s: delays.mean(),
            delay_quantiles: question.quantiles.iter().map(quantile).collect(),
            tail: delays.tail(),
        }
    };
    let finite = |seconds: f64| Some(seconds).filter(|seconds| seconds.is_finite());
    let Pause { ring, with_fifo } = load.survives;
    LoadResult {
        name: name.to_owned(),
        packets_per_second: load.packets_per_second,
        bits_per_second: load.packets_per_second * ceilings.traffic().mean_length() * 8.0,
        flows: file.flows.iter().zip(&outcome.flows).map(flow).collect(),
        batch_mean: outcome.batches.mean(),
        batch_p99: outcome.batches.quantile(0.99).map(|size| size as u64),
        busy_core: outcome.cores.iter().map(tidegate_router::CoreUse::total).collect(),
        busy_bus: outcome.bus.clone(),
        busy_memory: ceilings.memory_use(load.packets_per_second),
        survives: PauseResult { ring_s: finite(ring), with_fifo_s: finite(with_fifo) },
    }
}

/// The answer: how much, what limits, how long packets take, and what the rings survive.
fn sentence(file: &MachineFile, question: &Question, ceilings: &Ceilings<'_>, found: &Capacity) -> String {
    let length = ceilings.traffic().mean_length();
    let is_one = ceilings.traffic().shares.iter().all(|share| share.length == length);
    let frames = if is_one { format!("{length:.0} B") } else { format!("{length:.0} B on average") };
    let limit = ceilings.least();
    let Some(low) = found.forwarding.low else {
        let tried = found.forwarding.high.filter(|high| *high > 0.0);
        let resource = ceilings.least().resource.name();
        return match tried {
            Some(high) => format!(
                "forwards nothing without loss: even {} of {frames}, 1 % of what the {resource} allows, lose packets {}",
                format_packet_rate(high),
                place(&found.forwarding.losses)
            ),
            None => "forwards nothing: noise and the guard take all of the CPU".to_owned(),
        };
    };
    let mut text = format!("forwards {} of {frames} ({})", format_packet_rate(low), format_rate(low * length * 8.0));
    let part = low / limit.packets_per_second;
    text += &match (found.forwarding.high, part) {
        (None, _) => format!("; the {} limits", limit.resource.name()),
        (Some(_), part) if part > 0.9 => format!("; the {} limits", limit.resource.name()),
        (Some(_), part) => {
            let what = limit.resource.name();
            format!(
                "; above that packets are lost {}, at {} of what the {what} allows",
                place(&found.forwarding.losses),
                format_ratio(rounded_part(part))
            )
        }
    };
    // The load closest to 80 %, with the highest quantile that has enough packets.
    let closest = question.loads.iter().zip(&found.loads).min_by(|a, b| (a.0 - 0.8).abs().total_cmp(&(b.0 - 0.8).abs()));
    let Some((part, load)) = closest else { return text };
    let mut quantiles: Vec<f64> = question.quantiles.clone();
    quantiles.sort_by(f64::total_cmp);
    let slowest = |part: f64| {
        let enough = |flow: &&tidegate_router::FlowOutcome| flow.delays.count() as f64 >= Question::packets_for(part) * 0.99;
        let flows = load.outcome.flows.iter().filter(enough).filter_map(|flow| flow.delays.quantile(part));
        flows.fold(None, |slowest: Option<f64>, delay| Some(slowest.map_or(delay, |slowest| slowest.max(delay))))
    };
    let shown = quantiles.iter().rev().find_map(|&quantile| Some((quantile, slowest(quantile)?)));
    if let Some((quantile, delay)) = shown {
        text += &format!("; at {} % of it {} % leave within {}", rounded(part * 100.0), rounded(quantile * 100.0), format_time(delay));
    }
    let ring = file.flows.iter().map(|flow| file.machine.nics[flow.input].ring).min().unwrap_or_default();
    if load.survives.ring.is_finite() {
        text += &format!("; ring {ring} survives pauses up to {} at that load", format_time(load.survives.ring));
    }
    text
}

/// Where packets are lost first: "in the receive ring (49 of 50)".
fn place(losses: &Losses) -> String {
    let places = [
        (losses.ring, "in the receive ring, because the CPU is late"),
        (losses.fifo, "in the receive FIFO, because the bus is late"),
        (losses.protocol_queue, "in the protocol queue"),
        (losses.flow_queue, "in the queue of a flow or a user process"),
        (losses.interface_queue, "in the interface queue"),
    ];
    places.into_iter().fold((0, "nowhere"), |most, place| if place.0 > most.0 { place } else { most }).1.to_owned()
}

/// What a reader has to know to trust the figures.
fn notes(file: &MachineFile, question: &Question, ceilings: &Ceilings<'_>, found: &Capacity) -> Vec<String> {
    let mut notes: Vec<String> = file.description.iter().cloned().collect();
    let forwarding = &found.forwarding;
    if forwarding.trials > 0 {
        notes.push(format!(
            "Without loss means at most {} of {} packets, in a search by {} trials to 1 %.",
            (forwarding.packets * question.loss + 1e-9) as u64,
            format_count(forwarding.packets as u64),
            forwarding.trials
        ));
    }
    let limit = ceilings.least();
    if forwarding.low.is_some_and(|low| low > 0.99 * limit.packets_per_second) && limit.resource == Resource::Processor {
        notes.push(
            "At this rate the CPU has no time left: queues grow with the length of the trial, and longer trials may lose packets."
                .to_owned(),
        );
    }
    if ceilings.imbalance() > file.machine.imbalance + 1e-9 {
        notes.push(format!(
            "The flows and channels of the file give one core {} of the forwarded packets; {} cores could share them.",
            format_ratio(ceilings.imbalance() / f64::from(file.machine.cores)),
            file.machine.cores
        ));
    }
    let trial_s = forwarding.low.map(|low| {
        let asked = question.duration.map_or(0.0, |duration| duration.picoseconds() as f64 / 1e12);
        (forwarding.packets / low).max(asked)
    });
    let rarest = file.machine.noise.iter().map(|noise| {
        let (NoiseArrivals::Periodic(interval) | NoiseArrivals::Poisson(interval)) = noise.arrivals;
        interval.picoseconds() as f64 / 1e12
    });
    let rarest = rarest.fold(0.0, f64::max);
    if let Some(trial_s) = trial_s.filter(|&trial| rarest * 5.0 > trial) {
        notes.push(format!(
            "A trial lasts {}, and the rarest noise comes once in {}: it is hardly seen. A longer `duration` of the question shows it.",
            format_time(trial_s),
            format_time(rarest)
        ));
    }
    if matches!(file.machine.bus, Bus::Pcie(_)) {
        notes.push("PCI Express is modelled by its bytes; its latency, a microsecond or less, is not part of delays.".to_owned());
    }
    if file.machine.memory.is_some() {
        notes.push("Memory bandwidth is a ceiling; trials do not queue for it.".to_owned());
    }
    let ring = ceilings.all(1.0 - question.loss.max(1e-9)).into_iter().find(|ceiling| ceiling.resource == Resource::Ring);
    if let Some(ring) = ring.filter(|ring| ring.packets_per_second < limit.packets_per_second) {
        notes.push(format!(
            "Above {} a pause as long as the longest that is expected can lose packets in a ring.",
            format_packet_rate(ring.packets_per_second)
        ));
    }
    notes
}

fn judged(file: &MachineFile, promise: &MachinePromise, load: &Load) -> Vec<PromiseResult> {
    let at = format_packet_rate(promise.rate as f64);
    let flows = match promise.flow {
        Some(flow) => &load.outcome.flows[flow..=flow],
        None => &load.outcome.flows[..],
    };
    let name = promise.flow.map_or_else(|| "all".to_owned(), |flow| file.flows[flow].name.clone());
    let offered: u64 = flows.iter().map(|flow| flow.offered).sum();
    let lost: u64 = flows.iter().map(|flow| flow.lost.total()).sum();
    let loss = lost as f64 / offered.max(1) as f64;
    let mut results = vec![PromiseResult {
        flow: name.clone(),
        promise: format!("at {at} in all loss at most {}", format_ratio(promise.loss)),
        measured: format!("{} ({lost} of {})", format_ratio(loss), format_count(offered)),
        kept: offered > 0 && loss <= promise.loss,
    }];
    if let Some(delay) = promise.delay {
        let part = promise.percentile.quantile();
        let slowest = flows.iter().map(|flow| flow.delays.quantile(part).unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
        let limit = delay.picoseconds() as f64 / 1e12;
        results.push(PromiseResult {
            flow: name,
            promise: format!("at {at} in all delay p{} at most {}", promise.percentile, format_time(limit)),
            measured: if slowest.is_finite() { format_time(slowest) } else { "no packet left".to_owned() },
            kept: slowest <= limit,
        });
    }
    results
}

/// Four significant digits at most, without zeros at the end.
fn rounded(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A part rounded to a hundredth.
fn rounded_part(part: f64) -> f64 {
    (part * 100.0).round() / 100.0
}
