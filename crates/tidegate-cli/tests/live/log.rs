//! Standard error never ends, stalls or spoils the command: closed, without a reader, full or not read, packets pass and the report is whole.

use crate::command::{Live, command_line, notes, pings_pass};
use crate::topology::{Place, Topology};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Write, pipe};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Duration;

const OPTIONS: &str = "--in tgb --out tgc";

/// What happens to a command whose log cannot be written is the same in all cases. The report counts the lines lost, at least `lost`.
fn packets_pass_and_the_report_is_whole(topology: &Topology, live: Live, lost: u64) {
    pings_pass(topology);
    // Long enough for a ticker line after the first one.
    std::thread::sleep(Duration::from_millis(2500));
    pings_pass(topology);
    live.signal(libc::SIGTERM);
    let ended = live.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The drain time is 1 s, of which an empty queue needs nothing, and the last lines of the log have 0.3 s.
    assert!(ended.elapsed < Duration::from_secs(30), "{ended:?}");
    let report = ended.report();
    assert!(report["runs"][0]["ports"][0]["sent"]["packets"].as_u64() > Some(20), "{report}");
    assert!(lines_lost(&report) >= lost, "at least {lost} lines of the log were lost: {report}");
}

fn lines_lost(report: &Value) -> u64 {
    let notes = notes(report);
    let count = notes.lines().find_map(|note| note.split_once(" lines of the log on standard error were lost")?.0.parse().ok());
    count.unwrap_or(0)
}

fn start(topology: &Topology, log: impl Into<std::process::Stdio>) -> Live {
    Live::start_with_log(topology, OPTIONS, &["--json"], log)
}

#[test]
fn a_closed_log_changes_nothing() {
    let topology = Topology::new();
    let mut shell = topology.process(Place::Middle, "sh -c");
    shell.arg(format!("exec {} 2>&-", command_line(&format!("{OPTIONS} --json"))));
    packets_pass_and_the_report_is_whole(&topology, Live::spawn(&mut shell), 0);
}

#[test]
fn a_log_whose_reader_has_gone_changes_nothing() {
    let topology = Topology::new();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    packets_pass_and_the_report_is_whole(&topology, start(&topology, writer), 3);
}

/// A device of the test's own with the numbers of `/dev/full`.
#[test]
fn a_full_device_changes_nothing() {
    let topology = Topology::new();
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("full");
    let made = Command::new("mknod").arg(&device).args(["c", "1", "7"]).status();
    assert!(made.is_ok_and(|status| status.success()), "mknod {}", device.display());
    let log = OpenOptions::new().write(true).open(&device).unwrap();
    packets_pass_and_the_report_is_whole(&topology, start(&topology, log), 3);
}

#[test]
fn a_pipe_that_is_full_from_the_start_changes_nothing() {
    let topology = Topology::new();
    let (_reader, writer) = pipe().unwrap();
    let log = filled_but_for(0, writer.into());
    packets_pass_and_the_report_is_whole(&topology, start(&topology, log), 3);
}

/// Room for one line: the reader stalls while the command runs.
#[test]
fn a_pipe_that_is_not_read_any_more_changes_nothing() {
    let topology = Topology::new();
    let (_reader, writer) = pipe().unwrap();
    let log = filled_but_for(4096, writer.into());
    packets_pass_and_the_report_is_whole(&topology, start(&topology, log), 1);
}

/// Fills a pipe except for `room` bytes.
fn filled_but_for(room: usize, pipe: OwnedFd) -> File {
    let size = rustix::pipe::fcntl_getpipe_size(&pipe).unwrap();
    let mut file = File::from(pipe);
    file.write_all(&vec![b'.'; size - room]).unwrap();
    file
}
