//! `tidegate replay`: a capture through a policy in virtual time.

use crate::acks::AckFilterForm;
use crate::failure::Failure;
use crate::log;
use crate::passage::{Passage, STREAM};
use crate::present::{Destination, Output};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_replay::{CaptureWriter, Outputs};
use tidegate_report::{OutputFile, OutputFolder, Places, Report};
use tidegate_scenario::{Policy, Scenario};

/// What `tidegate replay` takes.
#[derive(Args)]
pub struct Arguments {
    /// The policy file (or a scenario, whose policies are used)
    policy: PathBuf,
    /// The capture: pcap or pcapng, also compressed with gzip or zstd; `-` is standard input
    capture: PathBuf,
    /// Which policy of the file, if it has several
    #[arg(long = "policy", value_name = "NAME")]
    name: Option<String>,
    /// Replay only packets of this interface of the capture: its name, or its number from 0
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<String>,
    /// Change a value of the file, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Use what is before damage in the middle of the capture, instead of refusing it
    #[arg(long)]
    until_damage: bool,
    /// Drop an acknowledgement of TCP from its queue when a later one joins that says all it says; `conservative` unless a form is given
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "conservative")]
    ack_filter: Option<AckFilterForm>,
    /// Where to write what was sent (`-`: standard output), with its new timestamps [default: CAPTURE.sent.pcapng, or DIR/sent.pcapng with --out]
    #[arg(long, value_name = "FILE")]
    sent: Option<PathBuf>,
    /// Where to write what was dropped (`-`: standard output), with the reasons [default: CAPTURE.dropped.pcapng, or DIR/dropped.pcapng with --out]
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    /// For a policy with `cells`: where to write the ATM cells that were sent (`-`: standard output). Such a file is a capture of the frames in them
    #[arg(long, value_name = "FILE")]
    cells: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load_policies(&arguments.policy, &arguments.set)?;
    let policy = crate::check::choose(&scenario, arguments.name.as_deref(), "--policy")?;

    if arguments.cells.is_some() && policy.adapter.is_none() {
        return Err(Failure::BadInput(format!(
            "error: --cells: policy {} of {} sends packets; `cells = {{}}` in [policy.{}] makes its port that of an ATM adapter",
            policy.name,
            arguments.policy.display(),
            policy.name
        )));
    }
    judge_ack_filter(arguments.ack_filter, policy, "--ack-filter", &scenario.source)?;
    let stdout_is_taken = judge_outputs(arguments)?;
    let passage = Passage {
        scenario: &scenario,
        policy,
        capture: &arguments.capture,
        interface: arguments.interface.as_deref(),
        until_damage: arguments.until_damage,
        ack_filter: arguments.ack_filter,
    };
    let (file, size) = open(&arguments.capture)?;
    let mut capture = passage.begin(file)?;

    let mut places = Places::default();
    places.input("the policy file", &arguments.policy);
    places.input("the capture", &arguments.capture);
    scenario.captures.iter().for_each(|capture| places.input("a capture of the scenario", capture));
    let mut destination = Destination::among(&arguments.output, &mut places)?;
    // All names are judged before any file is opened.
    let sent = Target::new(arguments, arguments.sent.as_deref(), "sent", &mut places)?;
    let dropped = Target::new(arguments, arguments.dropped.as_deref(), "dropped", &mut places)?;
    let cells = arguments.cells.as_deref().map(|path| Target::new(arguments, Some(path), "cells", &mut places)).transpose()?;
    let mut sent_file = sent.writer(&passage.comment("sent"), destination.folder())?;
    let mut dropped_file = dropped.writer(&passage.comment("dropped"), destination.folder())?;
    let mut cells_file = cells.as_ref().map(|cells| cells.writer(&passage.comment("ATM cells"), destination.folder())).transpose()?;

    let progress = Progress::new(size, "replaying {wide_bar} {bytes} of {total_bytes}");
    let outputs = Outputs { sent: &mut sent_file, dropped: &mut dropped_file, cells: cells_file.as_mut() };
    let report = passage.report(&mut capture, outputs, |bytes| progress.at(bytes), |error| sent.unwritable(error));
    drop(progress);
    let report = report?;
    let (sent_packets, dropped_packets) = (sent_file.packets(), dropped_file.packets());
    sent.finish(sent_file)?;
    dropped.finish(dropped_file)?;
    let mut cells_written = None;
    if let (Some(cells), Some(file)) = (&cells, cells_file) {
        cells_written = Some(format!("{} cells sent: {}", file.packets(), cells.shown()));
        cells.finish(file)?;
    }
    destination.leave_stdout(stdout_is_taken);
    let code = destination.present(&report)?;
    log::line(&format!("{sent_packets} packets sent: {}", sent.shown()));
    log::line(&format!("{dropped_packets} packets dropped: {}", dropped.shown()));
    cells_written.iter().for_each(|line| log::line(line));
    Ok(code)
}

/// What [`replay_capture`] takes besides the scenario and the capture.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReplayOptions<'a> {
    /// Which policy of the file, if it has several.
    pub policy: Option<&'a str>,
    /// Replay only packets of this interface of the capture: its name, or its number from 0.
    pub interface: Option<&'a str>,
    /// Use what is before damage in the middle of the capture, instead of refusing it.
    pub until_damage: bool,
    /// Which queued acknowledgements are dropped: `conservative` or `aggressive`.
    pub ack_filter: Option<&'a str>,
    /// Where to write what was sent.
    pub sent: Option<&'a Path>,
    /// Where to write what was dropped.
    pub dropped: Option<&'a Path>,
}

/// Pushes a capture through a policy of `scenario` in virtual time.
///
/// `progress` is called with the fraction that is done, from 0 to 1. The replay ends with an error soon after `cancel` becomes true.
///
/// # Errors
/// [`Failure::BadInput`] for a policy, capture or interface that is not there, a capture that is damaged, and a file that cannot be written.
pub fn replay_capture(
    scenario: &Scenario,
    capture: &Path,
    options: ReplayOptions<'_>,
    progress: &(dyn Fn(f64) + Sync),
    cancel: &AtomicBool,
) -> Result<Report, Failure> {
    let ReplayOptions { policy, interface, until_damage, ack_filter, sent, dropped } = options;
    let policy = scenario.policy(policy).map_err(|problem| Failure::BadInput(format!("error: {problem}")))?;
    let ack_filter = ack_filter.map(|form| AckFilterForm::from_str(form, false)).transpose();
    let ack_filter = ack_filter.map_err(|_| Failure::BadInput("error: ack_filter is \"conservative\" or \"aggressive\"".to_owned()))?;
    judge_ack_filter(ack_filter, policy, "ack_filter", &scenario.source)?;
    let passage = Passage { scenario, policy, capture, interface, until_damage, ack_filter };
    let file = File::open(capture).map_err(|error| Failure::file(capture, "opened", &error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut reader = passage.begin(Cancellable { file, cancel })?;
    let mut places = Places::default();
    places.input("the scenario", Path::new(&scenario.source));
    places.input("the capture", capture);
    let targets = [("sent", sent), ("dropped", dropped)];
    for (what, path) in targets {
        path.map_or(Ok(()), |path| places.output(what, path))?;
    }
    let [sent, dropped] = targets.map(|(_, path)| path.map(|path| Target { path: path.to_owned(), within: None }));
    let writer = |target: &Option<Target>, what| match target {
        Some(target) if target.is_stream() => Err(Failure::BadInput(format!("error: {what} is `-`, standard output; name a file"))),
        Some(target) => target.writer(&passage.comment(what), None),
        None => CaptureWriter::new(BufWriter::new(Sink::Nowhere), "").map_err(|error| Failure::Defect(error.to_string())),
    };
    let (mut sent_file, mut dropped_file) = (writer(&sent, "sent")?, writer(&dropped, "dropped")?);
    let outputs = Outputs { sent: &mut sent_file, dropped: &mut dropped_file, cells: None };
    let at = |bytes: u64| progress(if size > 0 { (bytes as f64 / size as f64).min(1.0) } else { 0.0 });
    let unwritable = |error: &io::Error| {
        let failed = sent.as_ref().or(dropped.as_ref());
        failed.map_or_else(|| Failure::Defect(error.to_string()), |target| target.unwritable(error))
    };
    let report = passage.report(&mut reader, outputs, at, unwritable)?;
    sent.map_or(Ok(()), |target| target.finish(sent_file))?;
    dropped.map_or(Ok(()), |target| target.finish(dropped_file))?;
    report.validate().map_err(|error| Failure::Defect(error.to_string()))?;
    Ok(report)
}

/// A file whose reading ends with an error soon after `cancel` becomes true.
struct Cancellable<'a> {
    file: File,
    cancel: &'a AtomicBool,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("the replay was cancelled"));
        }
        self.file.read(bytes)
    }
}

/// Refuses to drop acknowledgements of a port of cells.
fn judge_ack_filter(form: Option<AckFilterForm>, policy: &Policy, option: &str, source: &str) -> Result<(), Failure> {
    if form.is_none() || policy.adapter.is_none() {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "error: {option}: policy {} of {source} sends cells, and no packet leaves the middle of such a queue\n  remove the option, or `cells`",
        policy.name
    )))
}

/// Opens the capture; returns its size as well, 0 if unknown.
fn open(path: &Path) -> Result<(Box<dyn Read>, u64), Failure> {
    if path == Path::new(STREAM) {
        return Ok((Box::new(io::stdin()), 0));
    }
    let file = File::open(path).map_err(|error| Failure::file(path, "opened", &error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((Box::new(file), size))
}

/// True if standard output carries a capture. Refuses two captures, and a terminal.
fn judge_outputs(arguments: &Arguments) -> Result<bool, Failure> {
    let named = [("--sent", &arguments.sent), ("--dropped", &arguments.dropped), ("--cells", &arguments.cells)];
    let taking: Vec<&str> =
        named.iter().filter(|(_, path)| path.as_deref() == Some(Path::new(STREAM))).map(|(option, _)| *option).collect();
    if let [first, second, ..] = taking[..] {
        let problem = format!("error: {first} and {second} cannot both be standard output: name a file for one of them");
        return Err(Failure::BadInput(problem));
    }
    let is_taken = !taking.is_empty();
    if is_taken && io::stdout().is_terminal() {
        let problem = "error: a capture is binary and standard output is a terminal: redirect it, or name a file";
        return Err(Failure::BadInput(problem.into()));
    }
    Ok(is_taken)
}

/// Where one of the captures goes.
struct Target {
    path: PathBuf,
    /// Its name in the folder of results, if it goes there.
    within: Option<&'static str>,
}

impl Target {
    fn new(arguments: &Arguments, asked: Option<&Path>, what: &'static str, places: &mut Places) -> Result<Target, Failure> {
        let name = match what {
            "sent" => "sent.pcapng",
            "dropped" => "dropped.pcapng",
            _ => "cells.pcapng",
        };
        if let (None, Some(folder)) = (asked, &arguments.output.out) {
            return Ok(Target { path: folder.join(name), within: Some(name) });
        }
        let stem = || if arguments.capture == Path::new(STREAM) { "stdin".into() } else { file_stem(&arguments.capture) };
        let path = asked.map_or_else(|| PathBuf::from(format!("{}.{name}", stem())), Path::to_owned);
        let target = Target { path, within: None };
        if !target.is_stream() {
            places.output(&format!("--{what}"), &target.path)?;
        }
        Ok(target)
    }

    fn is_stream(&self) -> bool {
        self.path == Path::new(STREAM)
    }

    /// Its name in a message.
    fn shown(&self) -> Cow<'_, str> {
        if self.is_stream() { "standard output".into() } else { self.path.to_string_lossy() }
    }

    fn writer(&self, comment: &str, folder: Option<&mut OutputFolder>) -> Result<CaptureWriter<BufWriter<Sink>>, Failure> {
        let file = match (self.within, folder) {
            (Some(name), Some(folder)) => Sink::File(OutputFile::create(&folder.place_for(name))?),
            _ if self.is_stream() => Sink::Stream(io::stdout()),
            _ => Sink::File(OutputFile::create(&self.path)?),
        };
        CaptureWriter::new(BufWriter::new(file), comment).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        if self.is_stream() {
            Failure::Environment(format!("error: standard output cannot be written: {error}"))
        } else {
            Failure::file(&self.path, "written", error)
        }
    }

    fn finish(&self, writer: CaptureWriter<BufWriter<Sink>>) -> Result<(), Failure> {
        let buffered = writer.finish().map_err(|error| self.unwritable(&error))?;
        match buffered.into_inner().map_err(|error| self.unwritable(error.error()))? {
            Sink::File(file) => Ok(file.finish()?),
            Sink::Stream(_) | Sink::Nowhere => Ok(()),
        }
    }
}

/// What a capture is written into.
enum Sink {
    File(OutputFile),
    Stream(io::Stdout),
    Nowhere,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            // A reader that has gone, such as `head`, is no error: the replay goes on to its report.
            Sink::Stream(stream) => match stream.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
                written => written,
            },
            Sink::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stream(stream) => match stream.flush() {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                flushed => flushed,
            },
            Sink::Nowhere => Ok(()),
        }
    }
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
