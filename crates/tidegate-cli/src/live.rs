//! `tidegate live`: real packets between two network interfaces.

use crate::acks::AckFilterForm;
use crate::changes::{self, Change};
use crate::failure::Failure;
use crate::live_pages::Pages;
use crate::live_service::{Service, Source};
use crate::log;
use crate::port_report::{add_port, judge_classes};
use crate::present::{Destination, Output};
use crate::queue_report::add_aqms;
use crate::signals;
use clap::Args;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_control::http::{PageServer, PageTally};
use tidegate_control::{Limits, Server};
use tidegate_core::registry::SchedulerKind;
use tidegate_live::{
    Checksums, DirectionCounters, DirectionOutcome, EngineRecord, KernelCounters, LiveConfig, PortChange, Probe, Tick, Transfers,
};
use tidegate_report::{ChangeResult, KernelResult, Report, Run, World, format_rate, format_time};
use tidegate_scenario::policy::{Class, Policy};
use tidegate_scenario::units;
use tidegate_wire::AckFilter;

/// The most packets for which room is made without being asked, unless the policy holds more by itself: 400 MB in both directions.
const MOST_ROOM: u32 = 1 << 17;

/// The time for the last lines of the log at the end.
const LOG_FLUSH_LIMIT: Duration = Duration::from_millis(300);

/// The arguments of `tidegate live`.
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
    /// Which policy of the file, if it has several: for packets from --in to --out, and for the way back unless --reverse-policy is given. A policy of two
    /// directions holds up from --in to --out, and down on the way back
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
    /// Link time that may be made up for after waking late: the longest burst is this much of the rate
    #[arg(long, value_name = "DURATION", default_value = "2 ms", value_parser = duration)]
    catch_up: tidegate_core::units::Duration,
    /// Watch the clock for this long before each instant instead of sleeping: more exact, but costs processor time
    #[arg(long, value_name = "DURATION", default_value = "0 s", value_parser = duration)]
    spin: tidegate_core::units::Duration,
    /// The longest time for which queues are emptied, at the policy's rate, after the stop
    #[arg(long, value_name = "DURATION", default_value = "1 s", value_parser = duration)]
    drain: tidegate_core::units::Duration,
    /// The most packets taken in before what is due is sent: fewer shorten the wait of packets that may leave, more cost less per packet
    #[arg(long, value_name = "PACKETS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4096))]
    batch: u32,
    /// The frames that the kernel keeps for each direction until they are read; what comes on top is lost. Rounded up to whole blocks of memory, at most 32 MB
    #[arg(long, value_name = "FRAMES", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=65_536))]
    ring: u32,
    /// Complete unfinished checksums in software instead of passing them on to the outgoing interface
    #[arg(long)]
    complete_checksums: bool,
    /// Drop an acknowledgement of TCP from its queue when a later one joins that says all it says; `conservative` unless a form is given
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "conservative", conflicts_with = "end_system")]
    ack_filter: Option<AckFilterForm>,
    /// Use a thread each for receiving, deciding and transmitting in either direction, with a ring per flow between them (docs/end-system.md)
    #[arg(long)]
    end_system: bool,
    /// With --end-system: decide on this core of the machine
    #[arg(long, value_name = "CORE", requires = "end_system")]
    decision_core: Option<usize>,
    /// Listen on this Unix socket for `tidegate ctl`, which shows and changes the running bridge (docs/control.md)
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
    /// Serve metrics for Prometheus and a page to watch the bridge at this address, such as 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// The file with the token that requests for metrics have to bring; an address that others reach needs one
    #[arg(long, value_name = "FILE", requires = "metrics")]
    metrics_token: Option<PathBuf>,
    /// The most classes of a direction in metrics: those that sent most in the last second
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "metrics")]
    metrics_classes: usize,
    /// The packets that each port may hold at least: memory for policies that come later is set aside at the start. With --control four times what the policy may hold, unless given
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    room: Option<u32>,
    /// Record when each packet from --in to --out passed the stages of the path, for `tidegate model fit` (docs/live.md)
    #[arg(long, value_name = "FILE", conflicts_with = "end_system")]
    probe: Option<PathBuf>,
    /// With --probe: the packets that memory is set aside for, 72 bytes each; later ones are counted only
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "probe", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    probe_packets: u32,
    /// Start even if another process already carries packets on one of the interfaces
    #[arg(long)]
    force: bool,
    /// Do not print the state once a second
    #[arg(long, short)]
    quiet: bool,
    /// Write summary.json, Parquet tables and report.html into this folder when done; a folder of earlier results is replaced as a whole
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
    let (scenario, text) = crate::check::read_policies(&arguments.policy, &arguments.set)?;
    let both = scenario.directions(arguments.name.as_deref());
    let there = match both {
        Some([_, up]) => up,
        None => crate::check::choose(&scenario, arguments.name.as_deref(), "--policy")?,
    };
    let back = match (&arguments.reverse_policy, both) {
        (Some(name), _) => crate::check::choose(&scenario, Some(name), "--reverse-policy")?,
        (None, Some([down, _])) => down,
        (None, None) => there,
    };
    if let Some(policy) = [there, back].into_iter().find(|policy| policy.adapter.is_some()) {
        let name = &policy.name;
        return Err(Failure::BadInput(format!(
            "error: policy `{name}` sends cells, and a network interface sends frames\n  use `cells` in `tidegate run` and `tidegate replay`; \
             scheduler = \"rate-controlled\" shapes and shares frames by the same rules"
        )));
    }
    let is_keyed = |class: &&Class| class.queues > 1 && class.queue_scheduler == SchedulerKind::HostRoundRobin;
    let keyed = [there, back].into_iter().find_map(|policy| Some((policy, policy.classes.iter().find(is_keyed)?)));
    if let Some((policy, class)) = keyed.filter(|_| arguments.end_system) {
        return Err(Failure::BadInput(format!(
            "error: the scheduler of class `{}` of policy `{}` assigns queues by hosts, and an end system knows them by their hash alone\n  choose \
             queue_scheduler = \"sparse-round-robin\", or remove --end-system",
            class.name, policy.name
        )));
    }
    let changes = [there, back].map(|policy| changes::of_policy(&scenario, &policy.name));
    for (policy, change) in
        [there, back].into_iter().zip(&changes).flat_map(|(policy, changes)| changes.iter().map(move |change| (policy, change)))
    {
        let at = tidegate_scenario::units::print_duration(change.at);
        if arguments.end_system {
            return Err(Failure::BadInput(format!(
                "error: policy `{}` changes ({at} after the start), and an end system cannot follow\n  remove [[change]], or --end-system",
                policy.name
            )));
        }
        if change.setup.longest_frame > policy.longest_frame {
            return Err(Failure::BadInput(format!(
                "error: the longest_frame of policy `{}` grows ({at} after the start), and memory for frames is set aside at the start\n  give the \
                 policy the longer one from the start",
                policy.name
            )));
        }
    }
    let mut config = LiveConfig::new(&arguments.inside, &arguments.outside, there.setup(), back.setup());
    config.links = [there.link.clone(), back.link.clone()];
    config.changes = changes
        .each_ref()
        .map(|changes| changes.iter().map(|change| PortChange { after: change.at, setup: change.setup.clone() }).collect());
    config.options.catch_up = arguments.catch_up;
    config.options.spin = arguments.spin;
    config.options.drain = arguments.drain;
    config.options.batch = arguments.batch;
    config.options.ring = arguments.ring;
    config.options.ack_filter = arguments.ack_filter.map(AckFilter::from);
    config.options.end_system = arguments.end_system;
    config.options.decision_core = arguments.decision_core;
    config.options.force = arguments.force;
    let held = there.packet_limit.max(back.packet_limit);
    let usual = if arguments.control.is_some() { held.saturating_mul(4).min(held.max(MOST_ROOM)) } else { 0 };
    config.options.packets = arguments.room.unwrap_or(usual);
    if arguments.complete_checksums {
        config.options.checksums = Checksums::Complete;
    }

    let output = Output { out: arguments.report.clone(), json: arguments.json };
    let destination = Destination::new(&output, &[("the policy file", &arguments.policy)])?;
    let recording = arguments.probe.as_deref().map(Recording::open).transpose()?;
    let server = arguments.control.as_deref().map(listen).transpose()?;
    let pages = arguments.metrics.map(|address| page_server(address, arguments.metrics_token.as_deref())).transpose()?;
    // Rights belong to threads, so they are dropped before threads are started.
    tidegate_live::keep_network_rights_only()
        .map_err(|error| Failure::Environment(format!("error: rights that packets do not need cannot be given up: {error}")))?;
    destination.check()?;
    log::in_background();
    let service = service(arguments, text, &config, [there, back]);
    let outcome = carry(arguments, config, [there, back], &changes, &service, (destination, recording, server, pages));
    log::finish(LOG_FLUSH_LIMIT);
    outcome
}

/// Carries packets until the stop, and reports.
fn carry(
    arguments: &Arguments,
    config: LiveConfig,
    [there, back]: [&Policy; 2],
    changes: &[Vec<Change<'_>>; 2],
    service: &Service,
    (destination, recording, server, page_server): (Destination, Option<Recording>, Option<Server>, Option<PageServer>),
) -> Result<ExitCode, Failure> {
    let signals::Requests { stop, hang_ups } = signals::requests()?;
    let started = Instant::now();
    let limit = arguments.time.map(|time| Duration::from_nanos(time.picoseconds() / 1000));
    let finished = AtomicBool::new(false);
    let in_place = std::io::stderr().is_terminal();
    let mut ticker = Ticker { quiet: arguments.quiet, in_place, previous: None, names: [&there.name, &back.name] };
    let (pages, page_tally) = (Pages::new(service, arguments.metrics_classes), PageTally::default());
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
        let over = || finished.load(Ordering::Relaxed);
        let hang_ups = &hang_ups;
        scope.spawn(move || service.keep(hang_ups, over));
        if let Some(server) = &server {
            let finished = &finished;
            scope.spawn(move || server.serve(Limits::default(), &service.tally, finished, |request| service.answer(request)));
        }
        if let Some(server) = &page_server {
            let (finished, pages, tally) = (&finished, &pages, &page_tally);
            scope.spawn(move || server.serve(tally, finished, |path| pages.page(path)));
        }
        let on_tick = |tick: &Tick| ticker.show(tick);
        let outcome = match &recording {
            None => tidegate_live::run(config, &stop, on_tick).map(|outcome| (outcome, None)),
            Some(_) => {
                let probes = [Probe::new(arguments.probe_packets as usize), Probe::new(0)];
                tidegate_live::run_observed(config, &stop, on_tick, probes).map(|(outcome, [probe, _])| (outcome, Some(probe)))
            }
        };
        finished.store(true, Ordering::Relaxed);
        outcome
    });
    ticker.end();
    let (outcome, probe) = outcome.map_err(|error| {
        let message = format!("error: {error}");
        if error.exit_code() == 2 { Failure::BadInput(message) } else { Failure::Environment(message) }
    })?;

    let mut report = Report::new(
        format!("{} and {}, live", arguments.inside, arguments.outside),
        World::Live,
        log::printable(&arguments.policy.file_name().unwrap_or_default().to_string_lossy()),
    );
    report.duration_s = outcome.elapsed.as_secs_f64();
    report.notes = outcome.notices.clone();
    report.notes.extend(there.notes());
    if !std::ptr::eq(there, back) {
        report.notes.extend(back.notes());
    }
    let mut run = Run::new("live");
    for ((direction, policy), changes) in outcome.directions.iter().zip([there, back]).zip(changes) {
        direction.counters.check().map_err(|leak| Failure::Defect(leak.to_string()))?;
        add_direction(&mut run, direction, policy, changes, report.duration_s);
        report.notes.extend(direction_notes(direction));
        let notes = changes::notes(changes, direction.changes.iter().map(|change| change.switched));
        let done = direction.changes.iter().map(|change| (change.switched, Some(change.gap)));
        run.changes.extend(changes::results(changes, &name_of(direction), done));
        report.notes.extend(notes.into_iter().map(|note| format!("{} -> {}: {note}", direction.from, direction.to)));
        if let Some(longest) = direction.changes.iter().map(|change| change.gap).max() {
            let (from, to) = (&direction.from, &direction.to);
            let late = direction.changes.iter().map(|change| change.late.picoseconds()).max().unwrap_or(0);
            report.notes.push(format!(
                "{from} -> {to}: the port stood still for at most {:.3} ms at a change, and the latest change came {:.3} ms after its instant.",
                longest.as_secs_f64() * 1e3,
                late as f64 / 1e9
            ));
        }
    }
    let changed = service.history();
    report.notes.extend(changed.iter().map(told));
    run.changes.extend(changed);
    report.runs.push(run);
    if let (Some(recording), Some(probe)) = (recording, probe) {
        report.notes.push(recording.write(probe)?);
    }
    report.notes.extend(interruptions(hang_ups.load(Ordering::Relaxed), log::lost()));
    destination.present(&report)
}

/// The control socket, made before rights are given up: its folder may be another user's.
fn listen(path: &Path) -> Result<Server, Failure> {
    Server::bind(path).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("error: {}: {error}\n  name another control socket", path.display()))
        }
        _ => Failure::file(path, "made as a control socket", &error),
    })
}

/// The server of metrics and of the page to watch.
fn page_server(address: SocketAddr, token: Option<&Path>) -> Result<PageServer, Failure> {
    let token = token.map(|path| std::fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error))).transpose()?;
    let token = token.map(|text| text.trim().to_owned());
    if token.as_ref().is_some_and(|token| token.len() < 16) {
        return Err(Failure::BadInput(
            "error: the token for metrics has fewer than 16 characters\n  make one with `openssl rand -hex 16`".to_owned(),
        ));
    }
    PageServer::bind(address, token).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied if !address.ip().is_loopback() => Failure::BadInput(format!(
            "error: --metrics {address}: {error}\n  give one with --metrics-token FILE, or use 127.0.0.1:{}",
            address.port()
        )),
        _ => Failure::Environment(format!("error: --metrics {address}: cannot listen there: {error}")),
    })
}

/// The service of the control socket and of hang-ups.
fn service(arguments: &Arguments, text: String, config: &LiveConfig, policies: [&Policy; 2]) -> Service {
    let path = &arguments.policy;
    let source = Source { name: path.display().to_string(), text, set: arguments.set.clone() };
    let file = (path.clone(), arguments.set.clone());
    Service::new(config.control.clone(), config.interfaces.clone(), file, source, policies.map(Policy::clone))
}

/// A change through the control socket, in a sentence.
fn told(change: &ChangeResult) -> String {
    let (what, port) = (change.what.join(", "), change.port.as_deref().unwrap_or_default());
    let done = change.done.as_ref().map_or(String::new(), |done| {
        format!(
            ": {} classes went on, {} came, {} went; of the packets queued then {} stayed, {} moved, {} were dropped; the port stood still for {}",
            done.classes_kept,
            done.classes_added,
            done.classes_removed,
            done.kept.packets,
            done.moved.packets,
            done.dropped.packets,
            format_time(done.gap_s.unwrap_or_default())
        )
    });
    format!("{port}: changed after {} ({what}){done}.", format_time(change.at_s))
}

/// The file of a recording, opened before the run: afterwards there may be no right to.
struct Recording<'a> {
    path: &'a Path,
    file: File,
}

impl Recording<'_> {
    fn open(path: &Path) -> Result<Recording<'_>, Failure> {
        let written = |error| Failure::file(path, "written", &error);
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(written)?;
        if !file.metadata().map_err(written)?.is_file() {
            return Err(Failure::BadInput(format!("error: {}: this is no file; --probe takes the name of a file", path.display())));
        }
        Ok(Recording { path, file })
    }

    /// Writes the recording, and returns a note about it.
    fn write(mut self, probe: Probe) -> Result<String, Failure> {
        let name = self.path.display().to_string();
        let path = log::printable(&name);
        let trace = probe.finish().map_err(|error| Failure::Environment(format!("error: {path}: nothing was recorded: {error}")))?;
        let bytes = trace.to_bytes().map_err(|error| Failure::Defect(error.to_string()))?;
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(&bytes));
        written.map_err(|error| Failure::file(self.path, "written", &error))?;
        let lost = match trace.lost {
            0 => String::new(),
            lost => format!(", and {lost} more were not, because there was memory for {} only (--probe-packets)", trace.records.len()),
        };
        Ok(format!(
            "probe: the stages of {} packets were recorded in {path}{lost}; a stamp costs {} ns, and a packet has up to five.",
            trace.records.len(),
            trace.empty_cost
        ))
    }
}

/// Notes about the command itself.
fn interruptions(hang_ups: u64, lines_lost: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if hang_ups > 0 {
        notes.push(format!("The file was applied anew at a hang-up (SIGHUP: {hang_ups}); packets were carried on."));
    }
    if lines_lost > 0 {
        notes.push(format!("{lines_lost} lines of the log on standard error were lost, because it was not read or could not be written."));
    }
    notes
}

fn name_of(direction: &DirectionOutcome) -> String {
    format!("{} > {}", direction.from, direction.to)
}

fn add_direction(run: &mut Run, direction: &DirectionOutcome, policy: &Policy, changes: &[Change<'_>], seconds: f64) {
    let name = name_of(direction);
    add_port(run, &name, true, direction.rate, &direction.record, seconds);
    if let Some(port) = run.ports.last_mut() {
        let KernelCounters { received, dropped } = direction.counters.kernel;
        port.kernel = Some(KernelResult { received_frames: received, dropped_frames: dropped });
        add_aqms(port, changes::policies(policy, changes));
    }
    judge_classes(run, &policy.classes, direction.record.classes(), &format!("{name} / "), seconds);
}

/// Notes about events outside the port, which the tables do not show.
fn direction_notes(direction: &DirectionOutcome) -> Vec<String> {
    let counters = &direction.counters;
    let name = name_of(direction);
    let mut notes = Vec::new();
    let KernelCounters { received, dropped } = counters.kernel;
    if dropped > 0 {
        notes.push(format!(
            "{name}: the kernel lost {dropped} of {} frames before they were read, because they arrived faster than they were read. They are in no \
             table.",
            received + dropped
        ));
    }
    let outside = counters.refused.by_reason().into_iter().chain(counters.unsent.by_reason());
    for (reason, volume) in outside.filter(|(_, volume)| volume.packets > 0) {
        notes.push(format!("{name}: {} packets ({} bytes) dropped outside the port: {reason}.", volume.packets, volume.bytes));
    }
    if counters.queued.packets > 0 {
        notes.push(format!("{name}: {} packets were still queued at the end of the drain time.", counters.queued.packets));
    }
    if counters.in_flight.packets > 0 {
        let packets = counters.in_flight.packets;
        notes.push(format!("{name}: {packets} packets were still on the link at the end of the drain time."));
    }
    let (late, twice) = (counters.late.packets, counters.duplicated.packets);
    notes.extend((late > 0 || twice > 0).then(|| format!("{name}: {}", crate::present::disturbed(late, twice))));
    if counters.without_fields > 0 {
        notes.push(format!("{name}: {}", crate::present::without_fields(counters.without_fields)));
    }
    if counters.unseen > 0 {
        notes.push(format!("{name}: no rule could look into {} packets for an IP header.", counters.unseen));
    }
    if counters.super_frames > 0 {
        notes
            .push(format!("{name}: {} super-frames of segmentation offload were cut into packets before the port.", counters.super_frames));
    }
    if let Some(EngineRecord { engine, winners }) = &direction.engine {
        let each = |transfers: &Transfers| transfers.records as f64 / transfers.transfers.max(1) as f64;
        notes.push(format!(
            "{name}: the engine decided {} times, with {:.1} arrivals and {:.1} winners per transfer.",
            engine.won + engine.discarded,
            each(&engine.pulled),
            each(winners)
        ));
        if engine.stale > 0 {
            notes.push(format!(
                "{name}: {} arrivals reached the engine more than 34 ms late, and their transfer counted as their arrival.",
                engine.stale
            ));
        }
    }
    if let (Some(median), Some(tail)) = (direction.lateness.quantile_seconds(0.5), direction.lateness.quantile_seconds(0.99)) {
        let (median, tail) = (format_time(median), format_time(tail));
        notes.push(format!(
            "{name}: packets were handed to the kernel {median} after their instant in the median, {tail} at the 99th percentile."
        ));
    }
    notes
}

/// Prints rates and drops of both directions once a second; on a terminal the line replaces the one before.
struct Ticker<'a> {
    quiet: bool,
    in_place: bool,
    previous: Option<(Duration, [DirectionCounters; 2])>,
    names: [&'a str; 2],
}

impl Ticker<'_> {
    fn show(&mut self, tick: &Tick<'_>) {
        let clear = if self.in_place && self.previous.is_some() { "\r\x1b[2K" } else { "" };
        for notice in tick.notices {
            log::styled(&format!("{clear}{}\n", log::printable(notice)));
        }
        if self.quiet {
            return;
        }
        let Some((before, states)) = self.previous.replace((tick.elapsed, *tick.directions)) else {
            log::line(&format!("carrying packets through {} and {}; stop with Ctrl-C", self.names[0], self.names[1]));
            return;
        };
        let seconds = (tick.elapsed - before).as_secs_f64().max(1e-9);
        let half = |arrow: &str, now: &DirectionCounters, then: &DirectionCounters| {
            let bits = (now.delivered.bytes - then.delivered.bytes) as f64 * 8.0 / seconds;
            let dropped = |state: &DirectionCounters| state.dropped().map(|(_, volume)| volume.packets).sum::<u64>();
            let drops = dropped(now) - dropped(then);
            let DirectionCounters { queued, in_flight, kernel, .. } = *now;
            let (rate, lost) = (format_rate(bits), kernel.dropped - then.kernel.dropped);
            let lost = if lost > 0 { format!(", {lost} lost in the kernel") } else { String::new() };
            format!("{arrow} {rate:>12}, {drops} dropped, {} queued, {} in flight{lost}", queued.packets, in_flight.packets)
        };
        let line = format!(
            "{:>6} s  {}   {}",
            tick.elapsed.as_secs(),
            half("->", &tick.directions[0], &states[0]),
            half("<-", &tick.directions[1], &states[1])
        );
        if self.in_place { log::styled(&format!("{clear}{line}")) } else { log::line(&line) }
    }

    fn end(&self) {
        if self.in_place && self.previous.is_some() && !self.quiet {
            log::styled("\n");
        }
    }
}
