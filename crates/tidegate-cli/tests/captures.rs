//! Captures as a user meets them: what was left out is told in every world, damage is refused, and captures come and go through pipes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const POLICY: &str = r#"
[policy.p]
rate = "2 Mbit/s"
buffer = { limit = "50 packets" }
"#;

/// A simulation whose only flow is the capture beside it.
const SCENARIO: &str = r#"
[simulation]
duration = "10 s"
[[link]]
name = "l"
from = "x"
to = "y"
policy = "p"
[[flow]]
name = "f"
from = "x"
to = "y"
source = { kind = "capture", file = "c.pcap" }
"#;

struct Folder(PathBuf);

impl Folder {
    /// A folder with a scenario, its policy alone, and its capture.
    fn new(name: &str, capture: &[u8]) -> Folder {
        let path = std::env::temp_dir().join(format!("tidegate-captures-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("s.toml"), format!("{SCENARIO}{POLICY}")).unwrap();
        fs::write(path.join("p.toml"), POLICY).unwrap();
        fs::write(path.join("c.pcap"), capture).unwrap();
        Folder(path)
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("tidegate starts");
        // A command that refuses its arguments does not read.
        let _not_read = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn expect(&self, code: i32, arguments: &[&str]) -> (Vec<u8>, String) {
        self.feed(code, arguments, &[])
    }

    fn feed(&self, code: i32, arguments: &[&str], input: &[u8]) -> (Vec<u8>, String) {
        let Output { status, stdout, stderr } = self.run(arguments, input);
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}: {}{stderr}", String::from_utf8_lossy(&stdout));
        (stdout, stderr)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.0);
    }
}

/// A capture of frames with these milliseconds, captured lengths and lengths; each is ARP or IPv4, whose header is incomplete.
fn capture(records: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut file = Vec::new();
    [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].iter().for_each(|word| file.extend_from_slice(&word.to_le_bytes()));
    for &(milliseconds, captured, length) in records {
        for word in [1_700_000_000, milliseconds * 1000, captured, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        let frame = [&[2; 12][..], &[8, 6], &[0; 100]].concat();
        file.extend(frame.iter().take(captured.min(114) as usize));
    }
    file
}

fn offered(json: &[u8]) -> (u64, Vec<String>) {
    let json: serde_json::Value = serde_json::from_slice(json).unwrap();
    let notes = json["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect();
    (json["runs"][0]["ports"][0]["offered"]["packets"].as_u64().unwrap(), notes)
}

#[test]
fn run_and_replay_leave_out_and_order_alike() {
    let records = [(0, 100, 1000), (500, 0, 0), (400, 100, 1000), (100, 100, 1000), (600, 100, 1000)];
    let mut file = capture(&records);
    file.truncate(file.len() - 30);
    let folder = Folder::new("alike", &file);
    let wanted = [
        "in the middle of record 5: the last 86 bytes",
        "1 record of length 0 left out",
        "1 packet had a time stamp before that of an earlier packet, by up to 300 ms",
        "3 packets for an IP header: 3 of type 0x0806 (ARP)",
    ];
    let (run, _) = folder.expect(0, &["run", "s.toml", "--json"]);
    let (replay, _) = folder.expect(0, &["replay", "p.toml", "c.pcap", "--json", "--out", "results"]);
    for (packets, notes) in [offered(&run), offered(&replay)] {
        assert_eq!((packets, notes.len()), (3, wanted.len()), "{notes:?}");
        for (note, wanted) in notes.iter().zip(wanted) {
            assert!(note.contains(wanted), "{note}");
        }
    }
    let account = serde_json::json!([{
        "name": "c.pcap",
        "records": 4,
        "packets": 3,
        "other_interfaces": 0,
        "empty_records": 1,
        "out_of_order_packets": 1,
        "out_of_order_max_s": 0.3,
        "unseen": [{ "link_type": 1, "ethernet_type": 0x0806, "packets": 3 }],
        "ending": "cut",
        "unread_bytes": 86,
        "unknown_blocks": 0,
        "damaged_options": 0,
        "clamped_stamps": 0,
        "broken_frames": 0,
        "damaged_cells": 0,
        "other_cells": 0,
    }]);
    for json in [run, replay, fs::read(folder.0.join("results/summary.json")).unwrap()] {
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&json).unwrap()["captures"], account);
    }
    let page = fs::read_to_string(folder.0.join("results/report.html")).unwrap();
    let (check, notes) = folder.expect(0, &["check", "s.toml"]);
    assert!(!check.is_empty());
    for wanted in wanted {
        assert!(notes.contains(wanted) && page.contains(wanted), "{notes}");
    }
}

#[test]
fn damage_is_refused_unless_asked_for() {
    let mut file = capture(&[(0, 100, 1000), (10, 400_000, 400_000), (20, 100, 1000)]);
    let folder = Folder::new("damage", &file);
    for arguments in [&["run", "s.toml"][..], &["check", "s.toml"], &["replay", "p.toml", "c.pcap"]] {
        let (out, error) = folder.expect(2, arguments);
        assert!(out.is_empty() && error.contains("damaged at record 2") && error.contains("until"), "{error}");
        assert!(error.contains("246 bytes from there on were not read"), "{error}");
    }
    assert!(!Path::new(&folder.0.join("c.sent.pcapng")).exists());
    // A replay uses the policies of a scenario, and not its damaged sources.
    fs::write(folder.0.join("whole.pcap"), capture(&[(0, 100, 1000)])).unwrap();
    folder.expect(0, &["replay", "s.toml", "whole.pcap"]);
    let (json, _) = folder.expect(0, &["run", "s.toml", "--json", "--set", "flow.f.source.until_damage=true"]);
    let (packets, notes) = offered(&json);
    assert!(packets == 1 && notes[0].contains("damaged at record 2"), "{notes:?}");
    let (json, _) = folder.expect(0, &["replay", "p.toml", "c.pcap", "--json", "--until-damage"]);
    let (packets, notes) = offered(&json);
    assert!(packets == 1 && notes[0].contains("damaged at record 2"), "{notes:?}");
    file[4] = 7;
    let (_, error) = folder.feed(2, &["replay", "p.toml", "-"], &file);
    assert!(error.contains("version 7.4, and 2.x is expected"), "{error}");
}

#[test]
fn captures_come_and_go_through_pipes() {
    let file = capture(&[(0, 100, 1000), (10, 100, 1000)]);
    let folder = Folder::new("pipes", &[]);
    let (sent, table) = folder.feed(0, &["replay", "p.toml", "-", "--sent", "-"], &file);
    let mut reader = tidegate_replay::CaptureReader::new(&sent[..]).unwrap();
    assert_eq!(std::iter::from_fn(|| reader.next_record().unwrap()).count(), 2);
    assert!(table.contains("standard input through p"), "{table}");
    assert!(folder.0.join("stdin.dropped.pcapng").exists() && !folder.0.join("stdin.sent.pcapng").exists());
    // A reader that has gone is no error, and the report is complete.
    let command =
        format!("{} replay p.toml - --sent - --dropped d.pcapng <c.pcap | :; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_tidegate"));
    fs::write(folder.0.join("c.pcap"), capture(&vec![(0, 100, 1000); 20_000])).unwrap();
    let gone = Command::new("bash").args(["-c", &command]).current_dir(&folder.0).output().unwrap();
    assert!(gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains("packets sent: standard output"), "{gone:?}");
    let (dropped, _) = folder.feed(0, &["replay", "p.toml", "-", "--dropped", "-"], &file);
    assert_eq!(dropped[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let (out, error) = folder.feed(2, &["replay", "p.toml", "-", "--sent", "-", "--dropped", "-"], &file);
    assert!(out.is_empty() && error.contains("cannot both be standard output"), "{error}");
}

/// Eight frames of 1 ms each at the rate of the shape: three leave at once, three when the bucket is full after 3 ms, two after 6 ms.
#[test]
fn a_dual_bucket_pauses_in_run_and_replay() {
    const DUAL: &str = r#"
[policy.p]
rate = "100 Mbit/s"
longest_frame = "1000 B"
[[policy.p.class]]
name = "all"
shape = { rate = "8 Mbit/s", burst = "3000 B", bucket = "dual" }
"#;
    let folder = Folder::new("dual", &capture(&[(0, 60, 1000); 8]));
    for file in ["p.toml", "s.toml"] {
        let path = folder.0.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(POLICY, DUAL)).unwrap();
    }
    for arguments in [&["run", "s.toml", "--json"][..], &["replay", "p.toml", "c.pcap", "--json"]] {
        let (json, _) = folder.expect(0, arguments);
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let delay = &json["runs"][0]["flows"][0]["delay"];
        // The last bit of the last frame leaves after 6 ms and two frames of 80 us at the rate of the link.
        assert_eq!(delay["max_s"].as_f64(), Some(0.006_16), "{arguments:?}: {delay}");
        assert_eq!(delay["mean_s"]["mean"].as_f64(), Some(0.002_775), "{arguments:?}: {delay}");
    }
    let (text, _) = folder.expect(0, &["check", "p.toml"]);
    assert!(String::from_utf8(text).unwrap().contains("bursts of 3 kB, then nothing until the bucket is full again"));
}

/// A replay carries a policy of several workers exactly as one worker does, and says so.
#[test]
fn a_policy_of_several_workers_is_replayed_as_by_one_and_a_note_says_so() {
    let records: Vec<(u32, u32, u32)> = (0..200).map(|number| (number / 4, 100, 200 + number * 37 % 1200)).collect();
    let folder = Folder::new("workers", &capture(&records));
    let policy = |workers: &str| {
        format!(
            "[policy.p]\nrate = \"2 Mbit/s\"\nscheduler = \"drr\"\nbuffer = {{ limit = \"50 packets\" }}\n{workers}class = [{{ name = \"a\", match = [{{ \
             ethernet_type = \"arp\" }}] }}, {{ name = \"b\" }}]\n"
        )
    };
    let replayed = |workers: &str| {
        fs::write(folder.0.join("p.toml"), policy(workers)).unwrap();
        let (json, _) = folder.expect(0, &["replay", "p.toml", "c.pcap", "--json"]);
        let files = ["c.sent.pcapng", "c.dropped.pcapng"].map(|name| fs::read(folder.0.join(name)).unwrap());
        (offered(&json).1, files)
    };
    let (notes_of_two, two) = replayed("workers = 2\n");
    let (notes_of_one, one) = replayed("");
    assert!(two == one && one.iter().all(|file| file.len() > 1000), "the same packets at the same instants, and the same drops");
    let wanted = "Policy p: one worker has the whole link here. Between two interfaces it has 2 workers";
    let added: Vec<&String> = notes_of_two.iter().filter(|note| !notes_of_one.contains(note)).collect();
    assert!(added.len() == 1 && added[0].starts_with(wanted), "{added:?}");
}
