//! Outputs of the command: what they may not replace, and what happens when they cannot be written.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tidegate_replay::CaptureReader;
use tidegate_wire::{LinkType, parse};

const POLICY: &str = "scenarios/policies/home-gateway.toml";
const CAPTURE: &str = "scenarios/captures/quic-video.pcap";

fn tidegate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments);
    in_the_workspace(command)
}

fn in_the_workspace(mut command: Command) -> Command {
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap());
    command
}

/// A private copy of the policy and the capture.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        let files = Files(TempDir::new().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        fs::copy(root.join(POLICY), files.at("policy.toml")).unwrap();
        fs::copy(root.join(CAPTURE), files.at("capture.pcap")).unwrap();
        files
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn replay(&self, more: &[&str]) -> Output {
        let (policy, capture) = (self.at("policy.toml"), self.at("capture.pcap"));
        tidegate(&[&["replay", &policy, &capture], more].concat()).output().unwrap()
    }

    /// Standard error of a replay that must be refused before anything is touched.
    fn refused(&self, more: &[&str]) -> String {
        let state = |name: &String| (name.clone(), fs::read(self.0.path().join(name)).ok());
        let before: Vec<_> = self.names().iter().map(state).collect();
        let output = self.replay(more);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(before == self.names().iter().map(state).collect::<Vec<_>>(), "{text}");
        text
    }
}

#[test]
fn an_output_replaces_no_input_and_no_other_output() {
    let files = Files::new();
    fs::hard_link(files.at("capture.pcap"), files.at("hard")).unwrap();
    for (input, wanted) in [("capture.pcap", "the capture"), ("hard", "the capture"), ("policy.toml", "the policy file")] {
        for option in ["--sent", "--dropped"] {
            let text = files.refused(&[option, &files.at(input)]);
            assert!(text.contains(&format!("{option} and {wanted}")), "{text}");
        }
    }
    let text = files.refused(&["--sent", &files.at("a"), "--dropped", &files.at("./a")]);
    assert!(text.contains("--dropped and --sent"), "{text}");
}

#[test]
fn a_folder_of_results_is_replaced_as_a_whole_or_not_at_all() {
    let files = Files::new();
    let out = files.at("out");
    assert!(files.replay(&["--out", &out]).status.success());
    let first = fs::read_dir(&out).unwrap().count();
    assert_eq!(first, 12);
    assert!(files.replay(&["--out", &out]).status.success());
    assert_eq!(fs::read_dir(&out).unwrap().count(), first);
    let again = tidegate(&["replay", &files.at("policy.toml"), &format!("{out}/sent.pcapng"), "--out", &out]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    fs::write(format!("{out}/notes.txt"), "mine").unwrap();
    assert!(files.refused(&["--out", &out]).contains("notes.txt"));
    assert_eq!(files.names(), ["capture.pcap", "out", "policy.toml"]);
}

#[test]
fn standard_output_that_is_full_ends_with_3_and_one_that_nobody_reads_with_0() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["disciplines"][..], &["schema"], &["check", POLICY], &["bounds", POLICY], &["--help"], &["run", "--help"]] {
        let output = tidegate(arguments).stdout(full()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {text}");
        assert_eq!(text.matches("standard output cannot be written").count(), 1, "{text}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = tidegate(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{arguments:?}");
    }
}

#[test]
fn standard_error_that_cannot_be_written_changes_nothing() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let files = Files::new();
    let arguments = ["replay", &files.at("policy.toml"), &files.at("capture.pcap"), "--out", &files.at("out")];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for stderr in [Stdio::from(full()), writer.into()] {
        assert_eq!(tidegate(&arguments).stdout(Stdio::null()).stderr(stderr).status().unwrap().code(), Some(0));
        assert_eq!(tidegate(&["check", "no-such-file"]).stderr(full()).status().unwrap().code(), Some(2));
    }
}

#[test]
fn a_signal_leaves_nothing_unfinished() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let files = Files::new();
        let (out, started) = (files.at("out"), Instant::now());
        let long = ["run", "scenarios/quickstart.toml", "--replications", "100000", "--out", &out];
        // A signal that is ignored at the start stays ignored, as it is below nohup.
        let mut by_default = Command::new("env");
        by_default.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_tidegate")]).args(long);
        let mut child = in_the_workspace(by_default).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while files.names().len() < 3 {
            assert!(started.elapsed() < Duration::from_secs(60), "no folder is begun");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        assert_eq!(files.names(), ["capture.pcap", "policy.toml"]);
        let mut text = String::new();
        child.stderr.unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
    }
}

/// The policy and a capture of a few frames, for an ATM adapter.
fn with_adapter() -> Files {
    let files = Files::new();
    let policy = "[policy.adapter]\nrate = \"10 Mbit/s\"\ncells = {}\n[[policy.adapter.class]]\nname = \"all\"\n";
    fs::write(files.at("policy.toml"), policy).unwrap();
    files
}

#[test]
fn cells_that_were_sent_are_a_capture_of_the_frames() {
    let files = with_adapter();
    let at = |name| files.at(name);
    let output = files.replay(&["--cells", &at("cells"), "--sent", &at("sent"), "--dropped", &at("dropped")]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains(&format!("cells sent: {}", at("cells"))), "{text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("zeros stand for the rest"));
    // The frames in the cells are sent again, and their cells are as many.
    let policy = at("policy.toml");
    let again = |capture: &str, cells: &str, sent: &str| {
        let output =
            tidegate(&["replay", &policy, capture, "--cells", cells, "--sent", sent, "--dropped", &at("dropped")]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let lines = |text: &str, what: &str| text.lines().find(|line| line.contains(what)).unwrap().split(' ').next().unwrap().to_owned();
    let second = again(&at("cells"), &at("cells2"), &at("sent2"));
    for what in [" packets sent", " packets dropped", " cells sent"] {
        assert_eq!(lines(&second, what), lines(&text, what));
    }
    assert_eq!(fs::metadata(at("cells")).unwrap().len() / 100, fs::metadata(at("cells2")).unwrap().len() / 100);
    // Standard output takes one capture.
    let piped = tidegate(&["replay", &policy, &at("capture.pcap"), "--cells", "-", "--sent", &at("sent"), "--dropped", &at("dropped")]);
    assert!({ piped }.output().unwrap().stdout.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let text = files.refused(&["--cells", "-", "--dropped", "-"]);
    assert!(text.contains("--dropped and --cells cannot both be standard output"), "{text}");
    let text = files.refused(&["--cells", &at("capture.pcap")]);
    assert!(text.contains("--cells and the capture"), "{text}");
}

#[test]
fn cells_are_refused_where_there_are_none() {
    let text = Files::new().refused(&["--cells", "cells"]);
    assert!(text.contains("--cells: policy") && text.contains("sends packets; `cells = {}`"), "{text}");
    let files = with_adapter();
    let policy = fs::read_to_string(files.at("policy.toml")).unwrap().replace("{}", "{ encapsulation = \"llc-snap\" }");
    fs::write(files.at("policy.toml"), policy).unwrap();
    let text = files.refused(&["--cells", &files.at("cells"), "--sent", &files.at("sent"), "--dropped", &files.at("dropped")]);
    assert!(text.contains("use \"vc-multiplexed\""), "{text}");
}

const QUICKSTART: [&str; 4] = ["run", "scenarios/quickstart.toml", "--variant", "without the policy"];

/// What a traced run says of its trace.
fn traced(more: &[&str]) -> String {
    let output = tidegate(&[&QUICKSTART, more].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "promises are broken without the policy: {}", String::from_utf8_lossy(&output.stderr));
    text.lines().find(|line| line.contains("Trace: ")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_capture_of_a_simulated_link_has_what_was_sent_and_dropped() {
    let files = TempDir::new().unwrap();
    let path = files.path().join("calls.pcapng");
    let said = traced(&["--trace", path.to_str().unwrap(), "--trace-flow", "call", "--trace-to", "3 s"]);
    let bytes = fs::read(&path).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    assert!(said.contains(&format!("Trace: {} packets", records.len())) && records.len() > 500, "{said}");
    assert!(records.iter().all(|record| record.length == 214 && parse(LinkType::Ethernet, &record.data).network.transport().is_some()));
    assert!(bytes.windows(9).any(|window| window == b"dropped: "), "without a policy the buffer overflows");
    assert!(records.iter().all(|record| record.nanoseconds < 3_000_000_000));
}

/// Packets of a connection have the addresses of its hosts, its ports and its name.
#[test]
fn a_capture_of_a_workload_tells_its_connections_apart() {
    let files = TempDir::new().unwrap();
    let path = |name: &str| files.path().join(name).display().to_string();
    let incast = ["run", "scenarios/incast.toml", "--variant", "8 senders", "--set", "simulation.duration=30 ms"];
    let traced = |more: &[&str]| {
        let output = tidegate(&[&incast, more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let options = ["--trace", &path("last.pcapng"), "--trace-link", "rack-switch:rack-host-1", "--trace-flow", "answers"];
    let said = traced(&options);
    let bytes = fs::read(path("last.pcapng")).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    assert!(said.contains(&format!("Trace: {} packets", records.len())) && records.len() > 500, "{said}");
    let mut ports = Vec::new();
    for record in &records {
        let (header, rest) = etherparse::Ipv4Header::from_slice(&record.data[14..]).unwrap();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        // The receiver is the first node.
        assert_eq!((header.destination, &header.source[..3]), ([10, 128, 0, 1], &[10, 128, 0][..]));
        ports.push(etherparse::TcpHeaderSlice::from_slice(rest).unwrap().source_port());
    }
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() > 8 && ports[0] == 49_152 && ports.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ports:?}");
    for (number, _) in ports.iter().enumerate() {
        let comment = format!("answers {number}");
        assert!(bytes.windows(comment.len()).any(|window| window == comment.as_bytes()), "{comment}");
    }
    // The same results with the trace of all packets, beside the table of connections.
    let of_files = |text: String| text.lines().filter(|line| !line.contains(" are in ")).map(str::to_owned).collect::<Vec<_>>();
    let both = traced(&["--trace", &path("steps.parquet"), "--completions", &path("connections.parquet")]);
    assert!(both.contains("steps of packets of the first replication") && both.contains("connections of all replications"), "{both}");
    assert_eq!(of_files(both), of_files(traced(&[])));
    let unknown = tidegate(&[&incast[..], &["--trace", &path("none.parquet"), "--trace-flow", "answer"]].concat()).output().unwrap();
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(unknown.status.code() == Some(2) && text.contains("there is no flow or workload `answer`; did you mean `answers`?"), "{text}");
}

#[test]
fn a_trace_replaces_nothing_if_the_table_of_connections_has_no_room() {
    let folder = TempDir::new().unwrap();
    let [trace, small] = ["steps.parquet", "small"].map(|name| folder.path().join(name));
    fs::write(&trace, "old").unwrap();
    fs::create_dir(&small).unwrap();
    let completions = small.join("connections.parquet");
    let run = "run scenarios/incast.toml --variant '8 senders' --set simulation.duration='100 ms'";
    let files = format!("--trace {} --completions {}", trace.display(), completions.display());
    let line = format!("mount -t tmpfs -o size=4k none {} && exec {} {run} {files}", small.display(), env!("CARGO_BIN_EXE_tidegate"));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &line]);
    let output = in_the_workspace(command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("connections.parquet"), "{text}");
    assert_eq!(fs::read_to_string(&trace).unwrap(), "old");
}

#[test]
fn a_table_of_steps_is_written_and_refusals_leave_nothing_behind() {
    let files = TempDir::new().unwrap();
    let path = |name: &str| files.path().join(name).display().to_string();
    let said = traced(&["--trace", &path("steps.parquet"), "--trace-link", "uplink", "--trace-from", "19900 ms"]);
    let bytes = fs::read(path("steps.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && !said.contains("Trace: 0"), "{said}");

    let refused = |more: &[&str], wanted: &str| {
        let output = tidegate(&[&QUICKSTART, more].concat()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(wanted), "{text}");
    };
    let capture = path("new.pcapng");
    refused(&["--trace", &capture, "--trace-flow", "cal"], "there is no flow or workload `cal`; did you mean `call`?");
    refused(&["--trace", &capture, "--trace-link", "upling"], "there is no link `upling`; did you mean `uplink`?");
    refused(&["--trace", &capture, "--trace-from", "2 s", "--trace-to", "1 s"], "nothing lies between");
    refused(&["--trace", &path("new.txt")], "NAME.parquet");
    refused(&["--trace", "scenarios/quickstart.toml"], "NAME.parquet");
    let all = tidegate(&["run", "scenarios/quickstart.toml", "--trace", &capture]).output().unwrap();
    assert!(all.status.code() == Some(2) && String::from_utf8_lossy(&all.stderr).contains("a trace is of one variant"), "{all:?}");
    let full = tidegate(&[&QUICKSTART[..], &["--trace", "/nowhere/steps.parquet"]].concat()).output().unwrap();
    assert_eq!(full.status.code(), Some(2), "{}", String::from_utf8_lossy(&full.stderr));
    assert_eq!(fs::read_dir(&files).unwrap().count(), 1);
}
