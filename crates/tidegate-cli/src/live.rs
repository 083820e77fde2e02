//! `tidegate live`: real packets between two network interfaces.

use crate::Output;
use crate::failure::Failure;
use crate::port_report::{add_port, judge_classes};
use crate::present::present;
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_live::{Checksums, DirectionCounters, DirectionOutcome, DirectionState, EngineRecord, LiveConfig, Tick, Transfers};
use tidegate_report::{Report, Run, World, format_rate, format_time};
use tidegate_scenario::policy::Policy;
use tidegate_scenario::units;

/// Signals that come so close together are one request to stop.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// What `tidegate live` takes.
#[derive(Args)]
pub struct Arguments {
    /// The policy file (or a scenario, whose policies are used)
    policy: PathBuf,
    /// One interface
    #[arg(long = "in", value_name = "INTERFACE")]
    inside: String,
    /// The other interface
    #[arg(long = "out", value_name = "INTERFACE")]
    outside: String,
    /// Which policy of the file, if it has several: for packets from --in to --out, and for the way back unless --reverse-policy is given
    #[arg(long = "policy", value_name = "NAME")]
    name: Option<String>,
    /// Which policy of the file for packets from --out to --in
    #[arg(long, value_name = "NAME")]
    reverse_policy: Option<String>,
    /// Change a value of the file, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Stop after this long, such as "30 s"; otherwise SIGINT or SIGTERM stops
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    time: Option<tidegate_core::units::Duration>,
    /// Link time that may be made up for after waking late: the burst this allows is this much of the rate
    #[arg(long, value_name = "DURATION", default_value = "2 ms", value_parser = duration)]
    catch_up: tidegate_core::units::Duration,
    /// Watch the clock for this long before each instant instead of sleeping: more exact, at the cost of processor time
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = duration)]
    spin: tidegate_core::units::Duration,
    /// For how long queues are emptied, at the policy's rate, after the stop
    #[arg(long, value_name = "DURATION", default_value = "1 s", value_parser = duration)]
    drain: tidegate_core::units::Duration,
    /// Complete unfinished checksums in software instead of passing them on to the outgoing interface
    #[arg(long)]
    complete_checksums: bool,
    /// Give receiving, deciding and transmitting a thread each in either direction, with a ring per flow between them (docs/end-system.md)
    #[arg(long)]
    end_system: bool,
    /// With --end-system: make decisions on this core of the machine
    #[arg(long, value_name = "CORE", requires = "end_system")]
    decision_core: Option<usize>,
    /// Do not print the state once a second
    #[arg(long, short)]
    quiet: bool,
    /// Write summary.json, Parquet tables and report.html into this folder when done
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the summary as JSON instead of tables when done
    #[arg(long)]
    json: bool,
}

fn duration(text: &str) -> Result<tidegate_core::units::Duration, String> {
    units::duration(text).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.policy, &arguments.set)?;
    let there = crate::check::choose(&scenario, arguments.name.as_deref(), "--policy")?;
    let back = match &arguments.reverse_policy {
        Some(name) => crate::check::choose(&scenario, Some(name), "--reverse-policy")?,
        None => there,
    };
    if let Some(policy) = [there, back].into_iter().find(|policy| policy.adapter.is_some()) {
        let name = &policy.name;
        return Err(Failure::BadInput(format!(
            "error: policy `{name}` sends cells, and a network interface sends frames\n  use `cells` in `tidegate run` and `tidegate replay`; \
             scheduler = \"rate-controlled\" shapes and shares frames by the same rules"
        )));
    }
    let mut config = LiveConfig::new(&arguments.inside, &arguments.outside, there.setup(), back.setup());
    config.links = [there.link, back.link];
    config.options.catch_up = arguments.catch_up;
    config.options.spin = arguments.spin;
    config.options.drain = arguments.drain;
    config.options.end_system = arguments.end_system;
    config.options.decision_core = arguments.decision_core;
    if arguments.complete_checksums {
        config.options.checksums = Checksums::Complete;
    }

    let stop = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stop);
    let mut asked: Option<Instant> = None;
    ctrlc::set_handler(move || {
        // Who insists need not wait for the queues to be drained. `timeout` signals the command and then its group: that is one request.
        if asked.get_or_insert_with(Instant::now).elapsed() > ONE_REQUEST {
            std::process::exit(130);
        }
        on_signal.store(true, Ordering::Relaxed);
    })
    .map_err(|error| Failure::Environment(format!("error: signals cannot be caught: {error}")))?;

    let started = Instant::now();
    let limit = arguments.time.map(|time| Duration::from_nanos(time.picoseconds() / 1000));
    let finished = AtomicBool::new(false);
    let mut ticker =
        Ticker { quiet: arguments.quiet, in_place: std::io::stderr().is_terminal(), previous: None, names: [&there.name, &back.name] };
    let outcome = std::thread::scope(|scope| {
        if let Some(limit) = limit {
            let (stop, finished) = (&stop, &finished);
            scope.spawn(move || {
                while !finished.load(Ordering::Relaxed) && started.elapsed() < limit {
                    std::thread::sleep(Duration::from_millis(5).min(limit.saturating_sub(started.elapsed())));
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
        let outcome = tidegate_live::run(config, &stop, |tick| ticker.show(tick));
        finished.store(true, Ordering::Relaxed);
        outcome
    });
    ticker.end();
    let outcome = outcome.map_err(|error| {
        let message = format!("error: {error}");
        if error.exit_code() == 2 { Failure::BadInput(message) } else { Failure::Environment(message) }
    })?;

    let mut report = Report::new(
        format!("{} and {}, live", arguments.inside, arguments.outside),
        World::Live,
        arguments.policy.file_name().unwrap_or_default().to_string_lossy(),
    );
    report.duration_s = outcome.elapsed.as_secs_f64();
    report.notes = outcome.notices.clone();
    let mut run = Run::new("live");
    for (direction, policy) in outcome.directions.iter().zip([there, back]) {
        direction.counters.check().map_err(|leak| Failure::Defect(leak.to_string()))?;
        add_direction(&mut run, direction, policy, report.duration_s);
        report.notes.extend(remarks(direction));
    }
    report.runs.push(run);
    present(&report, &Output { out: arguments.report.clone(), json: arguments.json })
}

fn name_of(direction: &DirectionOutcome) -> String {
    format!("{} > {}", direction.from, direction.to)
}

fn add_direction(run: &mut Run, direction: &DirectionOutcome, policy: &Policy, seconds: f64) {
    let name = name_of(direction);
    add_port(run, &name, true, direction.rate, &direction.record, seconds);
    judge_classes(run, &policy.classes, direction.record.classes(), &format!("{name} / "), seconds);
}

/// What happened outside the port, where the tables do not reach.
fn remarks(direction: &DirectionOutcome) -> Vec<String> {
    let counters = &direction.counters;
    let name = name_of(direction);
    let mut remarks = Vec::new();
    let outside = counters.refused.by_reason().into_iter().chain(counters.unsent.by_reason());
    for (reason, volume) in outside.filter(|(_, volume)| volume.packets > 0) {
        remarks.push(format!("{name}: {} packets ({} bytes) dropped outside the port: {reason}.", volume.packets, volume.bytes));
    }
    if counters.queued.packets > 0 {
        remarks.push(format!("{name}: {} packets were still queued when the time for draining was up.", counters.queued.packets));
    }
    if counters.in_flight.packets > 0 {
        let packets = counters.in_flight.packets;
        remarks.push(format!("{name}: {packets} packets were still on their way along the link when the time for draining was up."));
    }
    if counters.super_frames > 0 {
        remarks
            .push(format!("{name}: {} super-frames of segmentation offload were cut into packets before the port.", counters.super_frames));
    }
    if let Some(EngineRecord { engine, winners }) = &direction.engine {
        let each = |transfers: &Transfers| transfers.records as f64 / transfers.transfers.max(1) as f64;
        remarks.push(format!(
            "{name}: the engine decided {} times; arrivals came to it {:.1} at a time, winners left it {:.1} at a time.",
            engine.won + engine.discarded,
            each(&engine.pulled),
            each(winners)
        ));
        if engine.stale > 0 {
            remarks.push(format!(
                "{name}: {} arrivals came to the engine more than 34 ms late and counted as younger than they were.",
                engine.stale
            ));
        }
    }
    if let (Some(median), Some(tail)) = (direction.lateness.quantile_seconds(0.5), direction.lateness.quantile_seconds(0.99)) {
        let (median, tail) = (format_time(median), format_time(tail));
        remarks.push(format!(
            "{name}: packets were handed to the kernel {median} after their instant in the median, {tail} at the 99th percentile."
        ));
    }
    remarks
}

/// Once a second: rates and drops of both directions, on one line that replaces itself where the terminal can.
struct Ticker<'a> {
    quiet: bool,
    in_place: bool,
    previous: Option<(Duration, [DirectionState; 2])>,
    names: [&'a str; 2],
}

impl Ticker<'_> {
    fn show(&mut self, tick: &Tick<'_>) {
        let clear = if self.in_place && self.previous.is_some() { "\r\x1b[2K" } else { "" };
        for notice in tick.notices {
            eprintln!("{clear}{notice}");
        }
        if self.quiet {
            return;
        }
        let Some((before, states)) = self.previous.replace((tick.elapsed, tick.directions.clone())) else {
            eprintln!("carrying packets through {} and {}; stop with Ctrl-C", self.names[0], self.names[1]);
            return;
        };
        let seconds = (tick.elapsed - before).as_secs_f64().max(1e-9);
        let half = |arrow: &str, now: &DirectionState, then: &DirectionState| {
            let bits = (now.counters.delivered.bytes - then.counters.delivered.bytes) as f64 * 8.0 / seconds;
            let dropped = |state: &DirectionState| state.counters.dropped().map(|(_, volume)| volume.packets).sum::<u64>();
            let drops = dropped(now) - dropped(then);
            let DirectionCounters { queued, in_flight, .. } = now.counters;
            format!("{arrow} {:>12}, {drops} dropped, {} queued, {} in flight", format_rate(bits), queued.packets, in_flight.packets)
        };
        let line = format!(
            "{:>6} s  {}   {}",
            tick.elapsed.as_secs(),
            half("->", &tick.directions[0], &states[0]),
            half("<-", &tick.directions[1], &states[1])
        );
        if self.in_place { eprint!("{clear}{line}") } else { eprintln!("{line}") }
    }

    fn end(&self) {
        if self.in_place && self.previous.is_some() && !self.quiet {
            eprintln!();
        }
    }
}
