//! `tidegate model` as a newcomer meets it: the answer, its files, its exit codes, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MACHINE: &str = r#"
[machine]
clock = "1 GHz"
bus = { kind = "pci" }
kernel = { kind = "polling", quota = 8 }
nic = [{ rate = "1 Gbit/s" }, { rate = "1 Gbit/s" }]
[[machine.stage]]
name = "forward"
cycles = 20000
level = "thread"
[[flow]]
name = "bulk"
input = "nic0"
output = "nic1"
jitter = 0.05
source = { kind = "cbr", rate = "10 Mbit/s", packet = "512 B" }
[question]
loads = [0.5]
quantiles = [0.5, 0.9]
loss = 1e-3
packets = 2000
"#;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn tidegate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate")).args(arguments).current_dir(project()).output().expect("tidegate starts")
}

/// Runs `tidegate model` on a file with this text; exit code, standard output and standard error.
fn model(text: &str, arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.toml");
    fs::write(&file, text).unwrap();
    let output = tidegate(&[&["model", file.to_str().unwrap()], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_answer_is_a_sentence_and_the_same_again() {
    let (code, answer, errors) = model(MACHINE, &[]);
    assert_eq!((code, errors.as_str()), (0, ""), "{answer}");
    let sentence = answer.lines().nth(1).unwrap();
    // 20 us per packet, without anything else.
    assert!(sentence.starts_with("forwards 50 kpps of 512 B (204.8 Mbit/s); the CPU limits; at 50 % of it 90 % leave within"), "{answer}");
    assert_eq!(model(MACHINE, &[]).1, answer);
}

#[test]
fn results_come_as_json_and_as_a_folder() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("out");
    let (code, answer, _) = model(MACHINE, &["--json", "--out", folder.to_str().unwrap(), "--set", "machine.clock=2 GHz"]);
    let json: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((code, json["bottleneck"].as_str()), (0, Some("CPU")));
    assert!((json["mlffr"]["low"].as_f64().unwrap() - 100e3).abs() < 2e3);
    assert_eq!(fs::read_to_string(folder.join("summary.json")).unwrap(), answer);
    assert!(fs::read_to_string(folder.join("report.html")).unwrap().contains("forwards"));
    assert!(fs::metadata(folder.join("delays.parquet")).unwrap().len() > 500);
}

#[test]
fn a_broken_promise_is_exit_code_1() {
    let promise = |rate: &str| format!("{MACHINE}[question.promise]\nrate = \"{rate}\"\ndelay = \"1 ms\"\n");
    let (code, answer, _) = model(&promise("60 kpps"), &[]);
    assert_eq!(code, 1, "{answer}");
    assert!(answer.contains("BROKEN"), "{answer}");
    let (code, answer, _) = model(&promise("40 kpps"), &[]);
    assert_eq!(code, 0, "{answer}");
}

#[test]
fn a_machine_that_forwards_nothing_says_where_packets_are_lost() {
    let text = MACHINE.replace("nic = [{ rate", "nic = [{ receive_fifo = \"100 B\", rate");
    let (code, answer, _) = model(&text, &[]);
    assert_eq!(code, 0, "{answer}");
    assert!(answer.lines().nth(1).unwrap().starts_with("forwards nothing without loss: even"), "{answer}");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let refused = |text: &str, arguments: &[&str]| {
        let (code, answer, errors) = model(text, arguments);
        assert_eq!((code, answer.as_str()), (2, ""), "{errors}");
        errors
    };
    assert!(refused(&MACHINE.replace("cycles", "cycels"), &[]).contains("did you mean `cycles`?"));
    assert!(refused(&MACHINE.replace("\"1 GHz\"", "1"), &[]).contains("machine.clock: write a unit"));
    assert!(refused("<html>", &[]).contains("this is not TOML"));
    let described = MACHINE.split("[[flow]]").next().unwrap();
    assert!(refused(described, &[]).contains("has nothing to forward"));
    assert!(refused(MACHINE, &["--set", "machine.clokc=5"]).contains("did you mean `clock`?"));
    let scenario = tidegate(&["model", "scenarios/quickstart.toml"]);
    assert_eq!(scenario.status.code(), Some(2));
    assert_eq!(tidegate(&["model"]).status.code(), Some(2));
}

#[test]
fn the_examples_are_read_and_the_schema_is_printed() {
    for name in ["pc-2002", "small-vm", "box-25g", "shared-pcie"] {
        let path = project().join(format!("scenarios/machines/{name}.toml"));
        let file = tidegate_scenario::machine::load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!file.flows.is_empty() && file.promise.is_some() && file.warnings.is_none());
    }
    let schema = tidegate(&["schema", "machine"]);
    assert!(String::from_utf8_lossy(&schema.stdout).contains("Tidegate machine"));
}

/// Beyond the thesis: the guard keeps the promise that round robin breaks.
#[test]
fn the_guard_protects_short_frames_on_a_shared_link() {
    let quick = [
        "--set",
        "question.packets=20000",
        "--set",
        "question.loss=1e-3",
        "--set",
        "question.loads=[]",
        "--set",
        "question.quantiles=[0.5]",
    ];
    let file = ["model", "scenarios/machines/shared-pcie.toml"];
    let guard = ["--set", "machine.guard={ period = \"50 us\", efficiency = 1 }"];
    let plain = tidegate(&[&file[..], &quick].concat());
    assert_eq!(plain.status.code(), Some(1), "{}", String::from_utf8_lossy(&plain.stdout));
    let guarded = tidegate(&[&file[..], &quick, &guard].concat());
    assert_eq!(guarded.status.code(), Some(0), "{}", String::from_utf8_lossy(&guarded.stdout));
}
