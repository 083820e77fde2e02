//! `tidegate replay`: a capture through a policy in virtual time.

use crate::Output;
use crate::failure::Failure;
use crate::log;
use crate::port_report::{add_port, judge_classes};
use crate::present::Destination;
use crate::progress::Progress;
use crate::simulation_report::cell_result;
use clap::Args;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_core::packet::DropReason;
use tidegate_replay::{CaptureError, CaptureReader, CaptureWriter, Interface, ReplayError, ReplaySetup, Replayed, replay};
use tidegate_report::{OutputFile, OutputFolder, Places, Report, Run, World};

/// What `tidegate replay` takes.
#[derive(Args)]
pub struct Arguments {
    /// The policy file (or a scenario, whose policies are used)
    policy: PathBuf,
    /// The capture: pcap or pcapng
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
    /// Where to write what was sent, with its new timestamps [default: CAPTURE.sent.pcapng, or DIR/sent.pcapng with --out]
    #[arg(long, value_name = "FILE")]
    sent: Option<PathBuf>,
    /// Where to write what was dropped, with the reasons [default: CAPTURE.dropped.pcapng, or DIR/dropped.pcapng with --out]
    #[arg(long, value_name = "FILE")]
    dropped: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.policy, &arguments.set)?;
    let policy = crate::check::choose(&scenario, arguments.name.as_deref(), "--policy")?;

    let capture_path = &arguments.capture;
    let file = File::open(capture_path).map_err(|error| Failure::file(capture_path, "opened", &error))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let in_capture = |error: CaptureError| Failure::BadInput(format!("error: {} {error}", capture_path.display()));
    let mut capture = CaptureReader::new(BufReader::with_capacity(1 << 20, file)).map_err(in_capture)?;

    let mut places = Places::default();
    places.input("the policy file", &arguments.policy);
    places.input("the capture", capture_path);
    scenario.captures.iter().for_each(|capture| places.input("a capture of the scenario", capture));
    let mut destination = Destination::among(&arguments.output, &mut places)?;
    // Both names are judged before either file is opened.
    let sent = Target::new(arguments, arguments.sent.as_deref(), "sent", &mut places)?;
    let dropped = Target::new(arguments, arguments.dropped.as_deref(), "dropped", &mut places)?;
    let what =
        |outcome: &str| format!("{} through policy {} of {}: {outcome}", capture_path.display(), policy.name, arguments.policy.display());
    let mut sent_file = sent.writer(&what("sent"), destination.folder())?;
    let mut dropped_file = dropped.writer(&what("dropped"), destination.folder())?;

    let progress = Progress::new(size, "replaying {wide_bar} {bytes} of {total_bytes}");
    let mut bytes = 0;
    let takes = |number: usize, interface: &Interface| match &arguments.interface {
        None => true,
        Some(wanted) => interface.name.as_deref() == Some(wanted) || wanted.parse() == Ok(number),
    };
    let setup = ReplaySetup { port: policy.setup(), adapter: policy.adapter.clone() };
    let replayed = replay(setup, &policy.link, &mut capture, takes, &mut sent_file, &mut dropped_file, |record| {
        bytes += record.data.len() as u64 + 16;
        progress.at(bytes);
    });
    drop(progress);
    let replayed = replayed.map_err(|error| match error {
        ReplayError::Capture(error) => in_capture(error),
        ReplayError::Output(error) => Failure::file(&sent.path, "written", &error),
        ReplayError::Unbalanced(error) => Failure::Defect(error.to_string()),
    })?;
    if replayed.counters.offered.packets == 0 {
        return Err(nothing_replayed(arguments, capture.interfaces(), &replayed));
    }
    let (sent_packets, dropped_packets) = (sent_file.packets(), dropped_file.packets());
    sent.finish(sent_file)?;
    dropped.finish(dropped_file)?;

    let mut report =
        Report::new(format!("{} through {}", file_name(capture_path), policy.name), World::Replay, file_name(&arguments.policy));
    report.duration_s = replayed.seconds;
    report.notes = notes(&replayed, policy.longest_frame);
    report.notes.extend(policy.notes());
    let mut run = Run::new("replay");
    add_port(&mut run, &policy.name, false, policy.rate, &replayed.recorder, replayed.seconds);
    for (class, &record) in run.ports.iter_mut().flat_map(|port| &mut port.classes).zip(&replayed.cells) {
        class.cells = Some(cell_result(record));
    }
    judge_classes(&mut run, &policy.classes, replayed.recorder.classes(), "", replayed.seconds);
    report.runs.push(run);
    let code = destination.present(&report)?;
    log::line(&format!("{sent_packets} packets sent: {}", sent.path.display()));
    log::line(&format!("{dropped_packets} packets dropped: {}", dropped.path.display()));
    Ok(code)
}

fn nothing_replayed(arguments: &Arguments, interfaces: &[Interface], replayed: &Replayed) -> Failure {
    let capture = arguments.capture.display();
    match &arguments.interface {
        Some(wanted) if replayed.skipped > 0 => {
            let known = interfaces.iter().enumerate().map(|(number, interface)| match &interface.name {
                Some(name) => format!("{number} ({name})"),
                None => number.to_string(),
            });
            let known = known.collect::<Vec<_>>().join(", ");
            Failure::BadInput(format!("error: {capture} has no packet of interface `{wanted}`; its interfaces are: {known}"))
        }
        _ => Failure::BadInput(format!("error: {capture} holds no packet to replay")),
    }
}

/// What the reader of the result should know and the tables do not show.
fn notes(replayed: &Replayed, longest_frame: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if replayed.cut_short {
        notes.push("The capture ends in the middle of a record; everything before it was replayed.".into());
    }
    if replayed.skipped > 0 {
        notes.push(format!("{} packets of other interfaces were left out.", replayed.skipped));
    }
    if replayed.disorder.packets > 0 {
        notes.push(format!(
            "{} packets bear a timestamp before that of an earlier packet, by up to {}; they were offered at the later time.",
            replayed.disorder.packets,
            tidegate_report::format_time(replayed.disorder.largest_nanoseconds as f64 / 1e9)
        ));
    }
    if replayed.lost.packets > 0 {
        notes.push(format!(
            "{} packets ({} bytes) that the port sent were lost on the link; the tables show what happened at the port.",
            replayed.lost.packets, replayed.lost.bytes
        ));
    }
    if replayed.without_fields > 0 {
        notes.push(crate::present::without_fields(replayed.without_fields));
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

/// Where one of the two captures goes.
struct Target {
    path: PathBuf,
    /// Its name in the folder of results, if it goes there.
    within: Option<&'static str>,
}

impl Target {
    fn new(arguments: &Arguments, asked: Option<&Path>, what: &'static str, places: &mut Places) -> Result<Target, Failure> {
        let name = if what == "sent" { "sent.pcapng" } else { "dropped.pcapng" };
        if let (None, Some(folder)) = (asked, &arguments.output.out) {
            return Ok(Target { path: folder.join(name), within: Some(name) });
        }
        let path = asked.map_or_else(|| PathBuf::from(format!("{}.{name}", file_stem(&arguments.capture))), Path::to_owned);
        places.output(&format!("--{what}"), &path)?;
        Ok(Target { path, within: None })
    }

    fn writer(&self, comment: &str, folder: Option<&mut OutputFolder>) -> Result<CaptureWriter<BufWriter<OutputFile>>, Failure> {
        let file = match (self.within, folder) {
            (Some(name), Some(folder)) => OutputFile::create(&folder.place_for(name))?,
            _ => OutputFile::create(&self.path)?,
        };
        CaptureWriter::new(BufWriter::new(file), comment).map_err(|error| Failure::file(&self.path, "written", &error))
    }

    fn finish(&self, writer: CaptureWriter<BufWriter<OutputFile>>) -> Result<(), Failure> {
        let buffered = writer.finish().map_err(|error| Failure::file(&self.path, "written", &error))?;
        let file = buffered.into_inner().map_err(|error| Failure::file(&self.path, "written", error.error()))?;
        Ok(file.finish()?)
    }
}

fn file_name(path: &Path) -> String {
    log::printable(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
