//! `tidegate replay`: a capture through a policy in virtual time.

use crate::acks::AckFilterForm;
use crate::capture_report::capture_result;
use crate::changes;
use crate::failure::Failure;
use crate::log;
use crate::port_report::{add_port, judge_classes};
use crate::present::{Destination, Output};
use crate::progress::Progress;
use crate::queue_report::add_aqms;
use crate::simulation_report::cell_result;
use clap::Args;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_core::packet::DropReason;
use tidegate_replay::{
    CaptureError, CaptureReader, CaptureWriter, Interface, Outputs, PortChange, ReplayError, ReplaySetup, Replayed, replay,
};
use tidegate_report::{OutputFile, OutputFolder, Places, Report, Run, World};
use tidegate_wire::AckFilter;

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
    if arguments.ack_filter.is_some() && policy.adapter.is_some() {
        return Err(Failure::BadInput(format!(
            "error: --ack-filter: policy {} of {} sends cells, and no packet leaves the middle of such a queue\n  remove the option, or `cells`",
            policy.name,
            arguments.policy.display()
        )));
    }
    let capture_path = &arguments.capture;
    let stdout_is_taken = judge_outputs(arguments)?;
    let (file, size) = open(capture_path)?;
    let in_capture = |error: CaptureError| {
        let advice = match error {
            CaptureError::Damaged { .. } => "; with --until-damage the packets before it are replayed",
            _ => "",
        };
        Failure::BadInput(format!("error: {} {error}{advice}", shown(capture_path)))
    };
    let mut capture = CaptureReader::new(BufReader::with_capacity(1 << 20, file)).map_err(in_capture)?.until_damage(arguments.until_damage);

    let mut places = Places::default();
    places.input("the policy file", &arguments.policy);
    places.input("the capture", capture_path);
    scenario.captures.iter().for_each(|capture| places.input("a capture of the scenario", capture));
    let mut destination = Destination::among(&arguments.output, &mut places)?;
    // All names are judged before any file is opened.
    let sent = Target::new(arguments, arguments.sent.as_deref(), "sent", &mut places)?;
    let dropped = Target::new(arguments, arguments.dropped.as_deref(), "dropped", &mut places)?;
    let cells = arguments.cells.as_deref().map(|path| Target::new(arguments, Some(path), "cells", &mut places)).transpose()?;
    let what =
        |outcome: &str| format!("{} through policy {} of {}: {outcome}", shown(capture_path), policy.name, arguments.policy.display());
    let mut sent_file = sent.writer(&what("sent"), destination.folder())?;
    let mut dropped_file = dropped.writer(&what("dropped"), destination.folder())?;

    let mut cells_file = cells.as_ref().map(|cells| cells.writer(&what("ATM cells"), destination.folder())).transpose()?;

    let progress = Progress::new(size, "replaying {wide_bar} {bytes} of {total_bytes}");
    let mut bytes = 0;
    let takes = |number: usize, interface: &Interface| match &arguments.interface {
        None => true,
        Some(wanted) => interface.name.as_deref() == Some(wanted) || wanted.parse() == Ok(number),
    };
    let changes = changes::of_policy(&scenario, &policy.name);
    let setups = changes.iter().map(|change| PortChange { after: change.at, setup: change.setup.clone() });
    let setup = ReplaySetup {
        port: policy.setup(),
        adapter: policy.adapter.clone(),
        changes: setups.collect(),
        ack_filter: arguments.ack_filter.map(AckFilter::from),
    };
    let outputs = Outputs { sent: &mut sent_file, dropped: &mut dropped_file, cells: cells_file.as_mut() };
    let replayed = replay(setup, &policy.link, &mut capture, takes, outputs, |record| {
        bytes += record.data.len() as u64 + 16;
        progress.at(bytes);
    });
    drop(progress);
    let replayed = replayed.map_err(|error| match error {
        ReplayError::Capture(error) => in_capture(error),
        ReplayError::Output(error) => sent.unwritable(&error),
        ReplayError::Cells(problem) => Failure::BadInput(format!("error: --cells: {problem}")),
        ReplayError::Unbalanced(error) => Failure::Defect(error.to_string()),
    })?;
    if replayed.counters.offered.packets == 0 {
        return Err(nothing_replayed(arguments, capture.interfaces(), &replayed));
    }
    let (sent_packets, dropped_packets) = (sent_file.packets(), dropped_file.packets());
    sent.finish(sent_file)?;
    dropped.finish(dropped_file)?;
    let mut cells_written = None;
    if let (Some(cells), Some(file)) = (&cells, cells_file) {
        cells_written = Some(format!("{} cells sent: {}", file.packets(), cells.shown()));
        cells.finish(file)?;
    }

    let mut report = Report::new(
        format!("{} through {}", shown(Path::new(&file_name(capture_path))), policy.name),
        World::Replay,
        file_name(&arguments.policy),
    );
    report.duration_s = replayed.seconds;
    report.notes = notes(&replayed, policy.longest_frame);
    report.notes.extend(policy.notes());
    report.notes.extend(changes::notes(&changes, replayed.changes.iter().map(|(_, switched)| *switched)));
    report.captures.push(capture_result(&file_name(capture_path), &replayed.account));
    let mut run = Run::new("replay");
    run.changes = changes::results(&changes, &policy.name, replayed.changes.iter().map(|(_, switched)| (*switched, None)));
    report.notes.extend(add_port(&mut run, &policy.name, false, policy.rate, &replayed.recorder, replayed.seconds));
    for (class, &record) in run.ports.iter_mut().flat_map(|port| &mut port.classes).zip(&replayed.cells) {
        class.cells = Some(cell_result(record));
    }
    run.ports.iter_mut().for_each(|port| add_aqms(port, changes::policies(policy, &changes)));
    judge_classes(&mut run, &policy.classes, replayed.recorder.classes(), "", replayed.seconds);
    report.runs.push(run);
    destination.leave_stdout(stdout_is_taken);
    let code = destination.present(&report)?;
    log::line(&format!("{sent_packets} packets sent: {}", sent.shown()));
    log::line(&format!("{dropped_packets} packets dropped: {}", dropped.shown()));
    cells_written.iter().for_each(|line| log::line(line));
    Ok(code)
}

fn nothing_replayed(arguments: &Arguments, interfaces: &[Interface], replayed: &Replayed) -> Failure {
    let capture = shown(&arguments.capture);
    match &arguments.interface {
        Some(wanted) if replayed.account.other_interfaces > 0 => {
            let known = interfaces.iter().enumerate().map(|(number, interface)| match &interface.name {
                Some(name) => format!("{number} ({})", name.escape_debug()),
                None => number.to_string(),
            });
            let known = known.collect::<Vec<_>>().join(", ");
            Failure::BadInput(format!("error: {capture} has no packet of interface `{wanted}`; its interfaces are: {known}"))
        }
        _ => {
            let notes: String = replayed.account.notes().iter().map(|note| format!(". {}", note.trim_end_matches('.'))).collect();
            Failure::BadInput(format!("error: {capture} holds no packet to replay{notes}"))
        }
    }
}

/// Names a standard stream in place of a capture.
const STREAM: &str = "-";

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

/// The name of a capture in a message.
fn shown(path: &Path) -> Cow<'_, str> {
    if path == Path::new(STREAM) { "standard input".into() } else { path.to_string_lossy() }
}

/// What the reader of the result should know and the tables do not show.
fn notes(replayed: &Replayed, longest_frame: u32) -> Vec<String> {
    let mut notes = replayed.account.notes();
    if replayed.lost.packets > 0 {
        notes.push(format!(
            "{} packets ({} bytes) that the port sent were lost on the link; the tables show what happened at the port.",
            replayed.lost.packets, replayed.lost.bytes
        ));
    }
    let (late, twice) = (replayed.late.packets, replayed.duplicated.packets);
    notes.extend((late > 0 || twice > 0).then(|| crate::present::disturbed(late, twice)));
    if replayed.without_fields > 0 {
        notes.push(crate::present::without_fields(replayed.without_fields));
    }
    if replayed.padded > 0 {
        notes.push(format!("{} packets were captured only in part; in the cells of these zeros stand for the rest.", replayed.padded));
    }
    let oversize = replayed.counters.dropped[DropReason::Oversize as usize].packets;
    if oversize > 0 {
        notes.push(format!(
            "{oversize} packets are longer than the policy's longest_frame of {longest_frame} B and were dropped. Captures taken on hosts with \
             segmentation offload hold such packets: raise longest_frame to replay them."
        ));
    }
    notes
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
            Sink::Stream(_) => Ok(()),
        }
    }
}

/// What a capture is written into.
enum Sink {
    File(OutputFile),
    Stream(io::Stdout),
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
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stream(stream) => match stream.flush() {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                flushed => flushed,
            },
        }
    }
}

fn file_name(path: &Path) -> String {
    log::printable(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
