//! `tidegate live`: real packets between two network interfaces.

use crate::acks::AckFilterForm;
use crate::changes::{self, Change};
use crate::confinement::{self, Paths};
use crate::fail_open;
use crate::failure::Failure;
use crate::live_pages::Pages;
use crate::live_pairs::{Pair, PairArguments};
use crate::live_service::{Service, Source};
use crate::live_sockets::{listen, metrics_token, page_server};
use crate::live_ticker::Ticker;
use crate::log;
use crate::port_report::{add_port, judge_classes};
use crate::present::{Destination, Output};
use crate::queue_report::add_aqms;
use crate::signals;
use crate::supervision;
use crate::take_over::{HandingOver, Predecessor};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use tidegate_control::http::PageServer;
use tidegate_control::{Limits, Server};
use tidegate_live::{
    Checksums, Control, DirectionOutcome, EngineRecord, Heartbeat, Io, KernelCounters, LiveConfig, LiveError, Probe, Tick, Transfers,
};
use tidegate_report::{ChangeResult, KernelResult, Report, Run, World, format_time};
use tidegate_scenario::policy::Policy;
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
    #[command(flatten)]
    pairs: PairArguments,
    /// How frames come from interfaces and go to them: packet sockets; AF_XDP in the drivers, and packet sockets with a warning where it cannot be had; or
    /// AF_XDP only between network cards that have it (docs/live.md)
    #[arg(long, value_name = "SOCKETS", value_enum, default_value_t)]
    io: IoForm,
    /// Change a value of the file, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Stop after this long, such as "30 s"; otherwise SIGINT or SIGTERM stops
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    time: Option<tidegate_core::units::Duration>,
    /// Link time that may be made up for after waking late: the longest burst is this much of the rate
    #[arg(long, value_name = "DURATION", default_value = "2 ms", value_parser = duration)]
    catch_up: tidegate_core::units::Duration,
    /// Watch the clock for this long before each instant, and the interface for this long after each frame, instead of sleeping: more exact, but costs processor
    /// time
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
    #[arg(long, value_name = "CORE", requires = "end_system", conflicts_with = "pairs")]
    decision_core: Option<usize>,
    /// Listen on this Unix socket for `tidegate ctl`, which shows and changes the running bridge (docs/control.md)
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
    /// Take over from the process that listens at --control, without a gap: its queues, the state of its contracts, counters and sockets. The policies that run
    /// go on, and then this file is applied to them. If no process listens there, start as usual (docs/live.md)
    #[arg(long, requires = "control", conflicts_with_all = ["end_system", "probe", "force"])]
    take_over: bool,
    /// Let the group of this process use the control socket, too, and not its user alone
    #[arg(long, requires = "control")]
    share_control: bool,
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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["end_system", "pairs"])]
    probe: Option<PathBuf>,
    /// With --probe: the packets that memory is set aside for, 72 bytes each; later ones are counted only
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "probe", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    probe_packets: u32,
    /// Pass packets on unshaped when this process fails: a guardian, a process of its own, does it until the bridge is back (docs/live.md)
    #[arg(long, conflicts_with_all = ["end_system", "probe"])]
    fail_open: bool,
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

/// A value of `--io`.
#[derive(Clone, Copy, Default, ValueEnum)]
enum IoForm {
    #[default]
    Packet,
    Xdp,
    Auto,
}

impl From<IoForm> for Io {
    fn from(form: IoForm) -> Io {
        match form {
            IoForm::Packet => Io::Packet,
            IoForm::Xdp => Io::Xdp,
            IoForm::Auto => Io::Auto,
        }
    }
}

fn duration(text: &str) -> Result<tidegate_core::units::Duration, String> {
    units::duration(text).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let heartbeat = fail_open::heartbeat()?;
    if arguments.fail_open && heartbeat.is_none() {
        return fail_open::guard(&arguments.pairs.interfaces());
    }
    let (scenario, files) = crate::check::read_policies(&arguments.policy, &arguments.set)?;
    let own = arguments.pairs.pairs(&scenario, arguments.end_system)?;
    let asked = arguments.control.as_deref().filter(|_| arguments.take_over);
    let obstacle = if !matches!(arguments.io, IoForm::Packet) {
        Some("this one is to have AF_XDP sockets (--io)")
    } else {
        own.iter().any(Pair::has_workers).then_some("this one is to have several workers")
    };
    let predecessor = asked.map(|path| Predecessor::ask(path, obstacle)).transpose()?.flatten();
    let running = predecessor.as_ref().map(Predecessor::scenario).transpose()?;
    let room = own.iter().map(Pair::needs).fold((0, 0), |all, needs| (needs.0.max(all.0), needs.1.max(all.1)));
    let pairs = match (&predecessor, &running) {
        (Some(predecessor), Some(running)) => predecessor.pairs(running, &own)?,
        _ => own,
    };
    let configs = (0..).zip(&pairs).map(|(number, pair)| {
        let mut config = config(arguments, pair, heartbeat.clone().map(|page| (page, number)));
        if let Some(predecessor) = &predecessor {
            config.take_over = Some((predecessor.progress.clone(), number));
            config.options.packets = config.options.packets.max(room.0);
            config.options.longest_frame = room.1;
        }
        config
    });
    let configs: Vec<LiveConfig> = configs.collect();

    let output = Output { out: arguments.report.clone(), json: arguments.json };
    let destination = Destination::new(&output, &[("the policy file", &arguments.policy)])?;
    let recording = arguments.probe.as_deref().map(Recording::open).transpose()?;
    let own_socket = arguments.control.as_deref().filter(|_| predecessor.is_none());
    let server = own_socket.map(|path| listen(path, arguments.share_control)).transpose()?;
    let is_inherited = |address: &SocketAddr| predecessor.as_ref().is_some_and(|predecessor| predecessor.serves(*address));
    let token = metrics_token(arguments.metrics_token.as_deref())?;
    let own_address = arguments.metrics.filter(|address| !is_inherited(address));
    let pages = own_address.map(|address| page_server(address, token.clone())).transpose()?;
    // Rights belong to threads, so they are dropped before threads are started.
    tidegate_live::keep_network_rights_only(arguments.io.into())
        .map_err(|error| Failure::Environment(format!("error: rights that packets do not need cannot be given up: {error}")))?;
    let paths = Paths { policy: &arguments.policy, report: arguments.report.as_deref(), control: arguments.control.as_deref() };
    let confinement = confinement::confine(&paths);
    destination.check()?;
    log::in_background();
    confinement.into_iter().chain(confinement::closed(&files)).for_each(|warning| log::line(&warning));
    let service = match &predecessor {
        Some(predecessor) => {
            let source = Source { files: predecessor.files(), set: predecessor.offer.file.set.clone() };
            service(arguments, source, &configs, &pairs).following(&predecessor.offer)
        }
        None => service(arguments, Source { files, set: arguments.set.clone() }, &configs, &pairs),
    };
    let outcome = carry(arguments, configs, &pairs, &service, (destination, recording), (server, pages, token), predecessor);
    log::finish(LOG_FLUSH_LIMIT);
    outcome
}

/// The configuration of the bridge of one pair.
fn config(arguments: &Arguments, pair: &Pair<'_>, heartbeat: Option<(Heartbeat, usize)>) -> LiveConfig {
    let mut config = pair.config();
    config.heartbeat = heartbeat;
    let held = pair.held();
    let usual = if arguments.control.is_some() { held.saturating_mul(4).min(held.max(MOST_ROOM)) } else { 0 };
    let options = &mut config.options;
    options.io = arguments.io.into();
    options.catch_up = arguments.catch_up;
    options.spin = arguments.spin;
    options.drain = arguments.drain;
    options.batch = arguments.batch;
    options.ring = arguments.ring;
    options.ack_filter = arguments.ack_filter.map(AckFilter::from);
    options.end_system = arguments.end_system;
    options.decision_core = arguments.decision_core;
    options.force = arguments.force;
    options.packets = arguments.room.unwrap_or(usual);
    if arguments.complete_checksums {
        options.checksums = Checksums::Complete;
    }
    config
}

/// Carries packets until the stop, and reports.
fn carry(
    arguments: &Arguments,
    configs: Vec<LiveConfig>,
    pairs: &[Pair<'_>],
    service: &Service,
    (destination, recording): (Destination, Option<Recording>),
    (server, page_server, token): (Option<Server>, Option<PageServer>, Option<String>),
    mut predecessor: Option<Predecessor>,
) -> Result<ExitCode, Failure> {
    let signals::Requests { stop, hang_ups } = signals::requests()?;
    let started = Instant::now();
    let heartbeat = configs.first().and_then(|config| config.heartbeat.clone());
    let limit = arguments.time.map(|time| Duration::from_nanos(time.picoseconds() / 1000));
    let finished = AtomicBool::new(false);
    let in_place = std::io::stderr().is_terminal();
    let names = pairs.iter().flat_map(|pair| pair.policies).map(|policy| policy.name.as_str()).collect();
    let ticker = Mutex::new(Ticker::new(pairs.len(), names, arguments.quiet, in_place));
    let starting = AtomicUsize::new(pairs.len());
    let pages = Pages::new(service, arguments.metrics_classes);
    let offered = predecessor.as_ref().and_then(|predecessor| Duration::try_from_secs_f64(predecessor.offer.watchdog_s?).ok());
    let watchdog = supervision::watchdog().or(offered);
    let [is_followed, is_busy] = [(); 2].map(|()| AtomicBool::new(false));
    // A file that changes by itself, or sockets of other kinds, are not handed over.
    let obstacle = if pairs.iter().any(|pair| pair.changes.iter().any(|changes| !changes.is_empty())) {
        Some("its file has [[change]]".to_owned())
    } else if arguments.end_system {
        Some("it is an end system".to_owned())
    } else if pairs.iter().any(Pair::has_workers) {
        Some("it has several workers".to_owned())
    } else {
        None
    };
    let outcomes = std::thread::scope(|scope| {
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
        let serve = {
            let (finished, pages, stop, is_followed, is_busy, obstacle) = (&finished, &pages, &stop, &is_followed, &is_busy, &obstacle);
            move |server: Option<Server>, page_server: Option<PageServer>| {
                std::thread::scope(|scope| {
                    if let Some(server) = &page_server {
                        scope.spawn(|| server.serve(&service.pages, finished, |path| pages.page(path)));
                    }
                    let Some(server) = &server else { return };
                    let obstacle = obstacle.clone();
                    let pages = page_server.as_ref();
                    let handing_over = HandingOver { service, server, pages, watchdog, obstacle, stop, finished, is_followed, is_busy };
                    let take_over = |asked, stream| handing_over.talk(asked, stream);
                    server.serve(Limits::default(), &service.tally, finished, |request| service.answer(request), take_over);
                });
            }
        };
        match &mut predecessor {
            None => _ = scope.spawn(move || serve(server, page_server)),
            Some(predecessor) => {
                let count = pairs.len();
                let (path, stop) = (arguments.control.as_deref(), &stop);
                scope.spawn(move || {
                    let Ok((control, metrics)) = predecessor.take_over(count, stop) else { return };
                    service.carries();
                    let server = path.and_then(|path| match Server::inherited(control, path) {
                        Ok(server) => Some(server),
                        Err(error) => {
                            log::line(&format!("error: the control socket {} cannot be taken over: {error}", path.display()));
                            None
                        }
                    });
                    let is_wanted = arguments.metrics.is_some_and(|address| predecessor.serves(address));
                    let inherited = metrics.filter(|_| is_wanted).map(|socket| PageServer::inherited(socket, token));
                    serve(server, page_server.or(inherited));
                });
            }
        }
        if supervision::is_supervised() {
            let (controls, stop) = (configs.iter().map(|config| config.control.clone()).collect::<Vec<_>>(), (&*stop, &is_followed));
            scope.spawn(move || supervision::supervise(&controls, watchdog, stop, over));
        }
        let (stop, ticker, recording, starting, heartbeat) = (&stop, &ticker, &recording, &starting, &heartbeat);
        let bridge = move |number: usize, config: LiveConfig| {
            let started = Once::new();
            let on_tick = |tick: &Tick| {
                started.call_once(|| {
                    if supervision::one_is_ready(starting)
                        && let Some((heartbeat, _)) = heartbeat
                    {
                        heartbeat.ready();
                    }
                });
                lock(ticker).show(number, tick);
            };
            let progress = config.take_over.as_ref().map(|(progress, _)| progress.clone());
            let outcome = match recording {
                None => tidegate_live::run(config, stop, on_tick).map(|outcome| (outcome, None)),
                Some(_) => {
                    let probes = [Probe::new(arguments.probe_packets as usize), Probe::new(0)];
                    tidegate_live::run_observed(config, stop, on_tick, probes).map(|(outcome, [probe, _])| (outcome, Some(probe)))
                }
            };
            // One pair that cannot start, or fails, ends all.
            if let (Some(progress), Err(error)) = (progress, &outcome) {
                progress.fail(&error.to_string());
            }
            stop.store(true, Ordering::Relaxed);
            outcome
        };
        let bridges: Vec<_> = (0..).zip(configs).map(|(number, config)| scope.spawn(move || bridge(number, config))).collect();
        let join = |bridge: ScopedJoinHandle<_>| bridge.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let outcomes: Result<Vec<_>, LiveError> = bridges.into_iter().map(join).collect::<Vec<_>>().into_iter().collect();
        finished.store(true, Ordering::Relaxed);
        outcomes
    });
    lock(&ticker).end();
    let (outcomes, probes): (Vec<_>, Vec<_>) = outcomes?.into_iter().unzip();

    let joined: Vec<String> = pairs.iter().map(|pair| pair.interfaces.join(" and ")).collect();
    let mut report = Report::new(
        format!("{}, live", joined.join(", ")),
        World::Live,
        log::printable(&arguments.policy.file_name().unwrap_or_default().to_string_lossy()),
    );
    report.duration_s = outcomes.iter().map(|outcome| outcome.elapsed.as_secs_f64()).fold(0.0, f64::max);
    report.notes = outcomes.iter().flat_map(|outcome| outcome.notices.clone()).collect();
    let policies: BTreeMap<&str, &Policy> =
        pairs.iter().flat_map(|pair| pair.policies).map(|policy| (policy.name.as_str(), policy)).collect();
    report.notes.extend(policies.values().flat_map(|policy| policy.notes()));
    let mut run = Run::new("live");
    let directions = outcomes.iter().flat_map(|outcome| &outcome.directions);
    let decided = pairs.iter().flat_map(|pair| pair.policies.into_iter().zip(&pair.changes));
    for (direction, (policy, changes)) in directions.zip(decided) {
        direction.counters.check().map_err(|leak| Failure::Defect(leak.to_string()))?;
        report.notes.extend(add_direction(&mut run, direction, policy, changes, report.duration_s));
        report.notes.extend(direction_notes(direction, is_followed.load(Ordering::Relaxed)));
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
    if let (Some(recording), Some(probe)) = (recording, probes.into_iter().flatten().next()) {
        report.notes.push(recording.write(probe)?);
    }
    report.notes.extend(interruptions(hang_ups.load(Ordering::Relaxed), log::lost()));
    destination.present(&report)
}

/// The service of the control socket and of hang-ups.
fn service(arguments: &Arguments, source: Source, configs: &[LiveConfig], pairs: &[Pair<'_>]) -> Service {
    let path = &arguments.policy;
    let file = (path.clone(), arguments.set.clone());
    let control = Control::joined(configs.iter().map(|config| &config.control));
    let policies = pairs.iter().flat_map(|pair| pair.policies).cloned().collect();
    Service::new(control, pairs.iter().map(|pair| pair.interfaces.clone()).collect(), file, source, policies)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

fn add_direction(run: &mut Run, direction: &DirectionOutcome, policy: &Policy, changes: &[Change<'_>], seconds: f64) -> Vec<String> {
    let name = name_of(direction);
    let notes = add_port(run, &name, true, direction.rate, &direction.record, seconds);
    if let Some(port) = run.ports.last_mut() {
        let KernelCounters { received, dropped, .. } = direction.counters.kernel;
        port.kernel = Some(KernelResult { received_frames: received, dropped_frames: dropped });
        add_aqms(port, changes::policies(policy, changes));
    }
    judge_classes(run, &policy.classes, direction.record.classes(), &format!("{name} / "), seconds);
    notes
}

/// Notes about events outside the port, which the tables do not show.
fn direction_notes(direction: &DirectionOutcome, is_followed: bool) -> Vec<String> {
    let counters = &direction.counters;
    let name = name_of(direction);
    let mut notes = Vec::new();
    let KernelCounters { received, dropped, carried_past } = counters.kernel;
    if carried_past > 0 {
        notes.push(format!(
            "{name}: {carried_past} of the frames read had been carried by the guardian (--fail-open). They are in no table."
        ));
    }
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
    if counters.waiting().packets > 0 {
        let when = if is_followed { "went to the process that took over" } else { "were still queued at the end of the drain time" };
        notes.push(format!("{name}: {} packets {when}.", counters.waiting().packets));
    }
    if counters.in_flight.packets > 0 {
        let packets = counters.in_flight.packets;
        let when = if is_followed {
            "went with the link to the process that took over"
        } else {
            "were still on the link at the end of the drain time"
        };
        notes.push(format!("{name}: {packets} packets {when}."));
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
    if counters.passed_on.packets > 0 {
        notes.push(format!(
            "{name}: {} packets came to another worker than that of their class, and were passed on.",
            counters.passed_on.packets
        ));
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
