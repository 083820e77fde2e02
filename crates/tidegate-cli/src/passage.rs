//! A capture on its way through the port of a policy, to a report.

use crate::acks::AckFilterForm;
use crate::capture_report::capture_result;
use crate::changes;
use crate::failure::Failure;
use crate::log;
use crate::port_report::{add_port, judge_classes};
use crate::queue_report::add_aqms;
use crate::simulation_report::cell_result;
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use tidegate_core::packet::DropReason;
use tidegate_replay::{CaptureError, CaptureReader, Interface, Outputs, PortChange, ReplayError, ReplaySetup, Replayed, replay};
use tidegate_report::{Report, Run, World};
use tidegate_scenario::{Policy, Scenario};
use tidegate_wire::AckFilter;

/// Names a standard stream in place of a capture.
pub const STREAM: &str = "-";

/// A capture, and the port that it passes.
pub struct Passage<'a> {
    /// The file of the policy, with its changes.
    pub scenario: &'a Scenario,
    /// The policy of the port.
    pub policy: &'a Policy,
    /// The capture.
    pub capture: &'a Path,
    /// The interface of the capture whose packets are taken; `None` for all.
    pub interface: Option<&'a str>,
    /// True if damage is the end.
    pub until_damage: bool,
    /// Which queued acknowledgements are dropped.
    pub ack_filter: Option<AckFilterForm>,
}

impl Passage<'_> {
    /// Begins to read the capture.
    pub fn begin<R: Read>(&self, file: R) -> Result<CaptureReader<BufReader<R>>, Failure> {
        let reader = CaptureReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| self.unusable(&error))?;
        Ok(reader.until_damage(self.until_damage))
    }

    /// What a capture that is written says of itself.
    pub fn comment(&self, outcome: &str) -> String {
        format!("{} through policy {} of {}: {outcome}", shown(self.capture), self.policy.name, self.scenario.source)
    }

    /// Pushes the capture through the port. `progress` is told the bytes that were read; `unwritable` says which output failed.
    pub fn report<R: BufRead, W: Write, X: Write>(
        &self,
        capture: &mut CaptureReader<R>,
        outputs: Outputs<'_, W, X>,
        progress: impl Fn(u64),
        unwritable: impl FnOnce(&io::Error) -> Failure,
    ) -> Result<Report, Failure> {
        let policy = self.policy;
        let mut bytes = 0;
        let takes = |number: usize, interface: &Interface| match self.interface {
            None => true,
            Some(wanted) => interface.name.as_deref() == Some(wanted) || wanted.parse() == Ok(number),
        };
        let changes = changes::of_policy(self.scenario, &policy.name);
        let setups = changes.iter().map(|change| PortChange { after: change.at, setup: change.setup.clone() });
        let setup = ReplaySetup {
            port: policy.setup(),
            adapter: policy.adapter.clone(),
            changes: setups.collect(),
            ack_filter: self.ack_filter.map(AckFilter::from),
        };
        let replayed = replay(setup, &policy.link, capture, takes, outputs, |record| {
            bytes += record.data.len() as u64 + 16;
            progress(bytes);
        });
        let replayed = replayed.map_err(|error| match error {
            ReplayError::Capture(error) => self.unusable(&error),
            ReplayError::Output(error) => unwritable(&error),
            ReplayError::Cells(problem) => Failure::BadInput(format!("error: --cells: {problem}")),
            ReplayError::Unbalanced(error) => Failure::Defect(error.to_string()),
        })?;
        if replayed.counters.offered.packets == 0 {
            return Err(self.nothing_replayed(capture.interfaces(), &replayed));
        }
        let (capture_name, source) = (file_name(self.capture), file_name(Path::new(&self.scenario.source)));
        let title = format!("{} through {}", shown(Path::new(&capture_name)), policy.name);
        let mut report = Report::new(title, World::Replay, source);
        report.duration_s = replayed.seconds;
        report.notes = notes(&replayed, policy.longest_frame);
        report.notes.extend(policy.notes_of_one_worker());
        report.notes.extend(policy.notes());
        report.notes.extend(changes::notes(&changes, replayed.changes.iter().map(|(_, switched)| *switched)));
        report.captures.push(capture_result(&capture_name, &replayed.account));
        let mut run = Run::new("replay");
        run.changes = changes::results(&changes, &policy.name, replayed.changes.iter().map(|(_, switched)| (*switched, None)));
        report.notes.extend(add_port(&mut run, &policy.name, false, policy.rate, &replayed.recorder, replayed.seconds));
        for (class, &record) in run.ports.iter_mut().flat_map(|port| &mut port.classes).zip(&replayed.cells) {
            class.cells = Some(cell_result(record));
        }
        run.ports.iter_mut().for_each(|port| add_aqms(port, changes::policies(policy, &changes)));
        judge_classes(&mut run, &policy.classes, replayed.recorder.classes(), "", replayed.seconds);
        report.runs.push(run);
        Ok(report)
    }

    fn unusable(&self, error: &CaptureError) -> Failure {
        let advice = match error {
            CaptureError::Damaged { .. } => "; with --until-damage the packets before it are replayed",
            _ => "",
        };
        Failure::BadInput(format!("error: {} {error}{advice}", shown(self.capture)))
    }

    fn nothing_replayed(&self, interfaces: &[Interface], replayed: &Replayed) -> Failure {
        let capture = shown(self.capture);
        match self.interface {
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
}

/// The name of a capture in a message.
pub fn shown(path: &Path) -> Cow<'_, str> {
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

fn file_name(path: &Path) -> String {
    log::printable(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}
