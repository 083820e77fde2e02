//! `tidegate model validate`: a fitted machine beside other recordings, or beside traffic that passes now.

use crate::failure::Failure;
use crate::log;
use crate::model_rows::{self, bad, policies, port, recording};
use crate::present::print;
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
#[cfg(all(feature = "live", target_os = "linux"))]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(all(feature = "live", target_os = "linux"))]
use std::time::{Duration, Instant};
#[cfg(all(feature = "live", target_os = "linux"))]
use tidegate_live::{LiveConfig, Probe};
use tidegate_router::compare::{self, Comparison, Verdict};
use tidegate_router::direction::CostRows;
use tidegate_router::fit;
use tidegate_scenario::policy::Policy;
use tidegate_scenario::units;
use tidegate_statistics::StageTrace;

/// What `tidegate model validate` takes.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 accepted (the Levy distance of every comparison is at most .05), 1 refused, 5 not judged: the run was not stationary, or a \
hypervisor took more than 1 % of the processor's time."
)]
pub struct Arguments {
    /// The machine file that `tidegate model fit` wrote
    machine: PathBuf,
    /// Recordings of `tidegate live --probe` to compare with
    #[arg(value_name = "TRACE", required_unless_present = "live", conflicts_with = "live")]
    traces: Vec<PathBuf>,
    /// Carry packets between two interfaces and compare with them; something else has to send
    #[arg(long, requires_all = ["inside", "outside"])]
    live: bool,
    /// With --live: the interface that packets come from
    #[arg(long = "in", value_name = "INTERFACE", requires = "live")]
    inside: Option<String>,
    /// With --live: the interface that they leave by
    #[arg(long = "out", value_name = "INTERFACE", requires = "live")]
    outside: Option<String>,
    /// With --live: for how long
    #[arg(long = "for", value_name = "DURATION", default_value = "10 s", value_parser = duration, requires = "live")]
    time: tidegate_core::units::Duration,
    /// The policy file that the recordings were made with, or that --live uses [default: a link that holds nothing back]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Which policy of that file
    #[arg(long, value_name = "NAME", requires = "policy")]
    policy_name: Option<String>,
    /// The seed of the comparisons
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Fits of drawn blocks, from which the intervals of predictions come
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    bootstraps: u32,
    /// Write the complementary distributions here, to be plotted: the part of packets beyond each delay
    #[arg(long, value_name = "FILE")]
    ccdf: Option<PathBuf>,
}

fn duration(text: &str) -> Result<tidegate_core::units::Duration, String> {
    units::duration(text).map_err(|error| error.to_string())
}

/// The exit code of a comparison that judges nothing.
const NOT_JUDGED: u8 = 5;

/// Packets that memory is set aside for when live.
const LIVE_PACKETS: usize = 1_000_000;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let by_block = model_rows::read(&arguments.machine)?;
    let scenario = policies(arguments.policy.as_deref())?;
    let policy = crate::check::choose(&scenario, arguments.policy_name.as_deref(), "--policy-name")?;
    let mut found = Vec::new();
    if arguments.live {
        let trace = carried(arguments, policy)?;
        let comparison = judged(&by_block, &trace, policy, arguments).map_err(Failure::Environment)?;
        found.push(("live".to_owned(), comparison));
    }
    for path in &arguments.traces {
        let trace = recording(path, policy)?;
        let name = log::printable(&path.display().to_string()).into_owned();
        found.push((name, judged(&by_block, &trace, policy, arguments).map_err(|problem| bad(path, &problem))?));
    }
    let mut text = String::new();
    for (name, (comparison, intervals)) in &found {
        let _ = writeln!(text, "{name}: {}", model_rows::sentence(comparison));
        text += &model_rows::table(comparison, intervals);
        if comparison.woken < 0.5 {
            text += "  The thread was busy when most packets came: there a single queue is nearly as good.\n";
        }
    }
    if let Some(path) = &arguments.ccdf {
        let tables: Vec<String> = found.iter().map(|(name, (comparison, _))| model_rows::complementary(name, comparison)).collect();
        model_rows::write(path, &(model_rows::COMPLEMENTARY_COLUMNS.to_owned() + &tables.concat()))?;
    }
    print(&text)?;
    let verdicts = found.iter().map(|(_, (comparison, _))| comparison.verdict);
    Ok(if verdicts.clone().any(|verdict| matches!(verdict, Verdict::NotStationary(_) | Verdict::Stolen(_))) {
        ExitCode::from(NOT_JUDGED)
    } else if verdicts.clone().all(|verdict| verdict == Verdict::Accepted) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A comparison, and the intervals of the predictions.
fn judged(
    by_block: &[CostRows],
    trace: &StageTrace,
    policy: &Policy,
    arguments: &Arguments,
) -> Result<(Comparison, Vec<[f64; 2]>), String> {
    let rows = CostRows::together(by_block.iter().cloned());
    let comparison = compare::across(&rows, trace, &|| port(policy), arguments.seed).map_err(|error| error.to_string())?;
    if arguments.bootstraps == 0 {
        return Ok((comparison, Vec::new()));
    }
    let arrivals = fit::arrivals(trace, &trace.records).0;
    let intervals = compare::prediction_intervals(by_block, &arrivals, &|| port(policy), arguments.bootstraps, arguments.seed);
    Ok((comparison, intervals))
}

#[cfg(all(feature = "live", target_os = "linux"))]
/// Carries packets for a while, and records those from one interface to the other.
fn carried(arguments: &Arguments, policy: &Policy) -> Result<StageTrace, Failure> {
    let [inside, outside] = [&arguments.inside, &arguments.outside].map(|name| name.as_deref().unwrap_or_default());
    let mut config = LiveConfig::new(inside, outside, policy.setup(), policy.setup());
    config.links = [policy.link.clone(), policy.link.clone()];
    tidegate_live::keep_network_rights_only(config.options.io)
        .map_err(|error| Failure::Environment(format!("error: rights that packets do not need cannot be given up: {error}")))?;
    let (stop, started) = (AtomicBool::new(false), Instant::now());
    let limit = Duration::from_nanos(arguments.time.picoseconds() / 1000);
    let probes = [Probe::new(LIVE_PACKETS), Probe::new(0)];
    // Called once a second.
    let on_tick = |tick: &tidegate_live::Tick| {
        tick.notices.iter().for_each(|notice| log::line(&log::printable(notice)));
        if started.elapsed() >= limit {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let (outcome, [probe, _]) = tidegate_live::run_observed(config, &stop, on_tick, probes).map_err(|error| {
        let message = format!("error: {error}");
        if error.exit_code() == 2 { Failure::BadInput(message) } else { Failure::Environment(message) }
    })?;
    for direction in &outcome.directions {
        direction.counters.check().map_err(|leak| Failure::Defect(leak.to_string()))?;
    }
    probe.finish().map_err(|error| Failure::Environment(format!("error: {error}")))
}

#[cfg(not(all(feature = "live", target_os = "linux")))]
fn carried(_: &Arguments, _: &Policy) -> Result<StageTrace, Failure> {
    Err(Failure::Environment("error: this build carries no packets: --live needs Linux, and the feature `live`".to_owned()))
}
