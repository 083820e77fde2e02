//! `tidegate model fit` and `tidegate model validate` on the recordings of the router's tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tidegate_statistics::StageTrace;

/// What a command printed, and its exit code.
fn model(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tidegate")).arg("model").args(arguments).current_dir(folder).output().expect("tidegate starts");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code().expect("an exit code"), text)
}

fn recording(rate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tidegate-router/tests/traces/bridge-{rate}.trace"))
}

/// A folder with both recordings, the policy that they were made with, and a machine fitted to the slow one.
fn fitted() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rate in ["10k", "30k"] {
        fs::copy(recording(rate), folder.path().join(format!("{rate}.trace"))).unwrap();
    }
    let policy = "[policy.wire]\nrate = \"10 Gbit/s\"\nscheduler = \"fifo\"\n[[policy.wire.class]]\nname = \"all\"\n";
    fs::write(folder.path().join("wire.toml"), policy).unwrap();
    let (code, text) = model(folder.path(), &["fit", "10k.trace", "--policy", "wire.toml", "--out", "machine.toml"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("10k.trace: half of it fitted, the other half judged: accepted: the Levy distance is 0.015"), "{text}");
    assert!(
        text.contains("not fitted, because fewer than three values were recorded: cycles (1), per_byte (1), per_route_bit (1)"),
        "{text}"
    );
    folder
}

#[test]
fn a_machine_that_was_fitted_is_validated_by_another_recording() {
    let folder = fitted();
    let validate = ["validate", "machine.toml", "30k.trace", "--policy", "wire.toml", "--bootstraps", "5", "--ccdf", "ccdf.csv"];
    let (code, text) = model(folder.path(), &validate);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("30k.trace: accepted: the Levy distance is 0.045") && text.contains("even : odd measured 0.035 / 0.022"),
        "{text}"
    );
    assert_eq!(model(folder.path(), &validate), (code, text), "the same seed");
    let ccdf = fs::read_to_string(folder.path().join("ccdf.csv")).unwrap();
    let parts: Vec<f64> = ccdf.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(parts.len() > 100 && parts.is_sorted_by(|one, next| one >= next) && parts[0] > 0.99 && parts[parts.len() - 1] == 0.0, "{ccdf}");
    let machine = fs::read_to_string(folder.path().join("machine.toml")).unwrap();
    for table in ["wake", "woken", "batched"] {
        let name = format!("machine.{table}.txt");
        assert!(machine.contains(&format!("table = \"{name}\"")) || machine.contains(&format!("woken = \"{name}\"")), "{machine}");
        assert!(fs::read_to_string(folder.path().join(name)).unwrap().lines().count() > 300);
    }
}

#[test]
fn what_cannot_be_judged_ends_with_5_and_what_is_refused_with_1() {
    let folder = fitted();
    let change = |change: &dyn Fn(&mut StageTrace)| {
        let mut trace = StageTrace::from_bytes(&fs::read(recording("30k")).unwrap()).unwrap();
        change(&mut trace);
        fs::write(folder.path().join("changed.trace"), trace.to_bytes().unwrap()).unwrap();
        model(folder.path(), &["validate", "machine.toml", "changed.trace", "--bootstraps", "0"])
    };
    let (code, text) = change(&|trace| trace.steal = 30_000);
    assert!(code == 5 && text.contains("not judged: a hypervisor took 3.0 % of the processor's time"), "{code}: {text}");
    // Every other twentieth of what is judged is slow.
    let is_slow = |number: u64| number.saturating_sub(500) / 475 % 2 == 1;
    let slow =
        |trace: &mut StageTrace| trace.records.iter_mut().filter(|record| is_slow(record.number)).for_each(|record| record.handed += 9000);
    let (code, text) = change(&slow);
    assert!(code == 5 && text.contains("not judged: even and odd twentieths"), "{code}: {text}");
    let (code, text) = change(&|trace| trace.records.iter_mut().for_each(|record| record.handed += 5000));
    assert!(code == 1 && text.contains("refused: the Levy distance is"), "{code}: {text}");
    let (code, text) = change(&|trace| trace.records.truncate(100));
    assert!(code == 2 && text.contains("100 packets of the recording passed all stages, and 1053 are needed"), "{code}: {text}");
    let (code, text) = change(&|trace| trace.records[7].flow = 4);
    assert!(code == 2 && text.contains("a packet is of flow 4, and policy `wire` has 1 (from 0)"), "{code}: {text}");
}

#[test]
fn bad_input_ends_with_2_and_says_what_would_be_right() {
    let folder = fitted();
    let refused = |arguments: &[&str], expected: &str| {
        let (code, text) = model(folder.path(), arguments);
        assert!(code == 2 && text.contains(expected), "{arguments:?}: {code}: {text}");
    };
    refused(&["fit", "wire.toml", "--out", "m.toml"], "wire.toml: this is no recording of stages");
    refused(&["fit", "10k.trace", "--out", "machine"], "the name of a machine file ends in .toml");
    refused(&["fit", "none.trace", "--out", "m.toml"], "none.trace: cannot be read");
    refused(&["validate", "wire.toml", "30k.trace"], "give a machine that `tidegate model fit` wrote");
    refused(&["validate", "machine.toml"], "TRACE");
    refused(&["validate", "machine.toml", "--live", "--in", "lo"], "--out");
    let rows = folder.path().join("machine.rows.txt");
    for (text, expected) in [
        ("0 woken 1 2 3 4 5\n0 asleep 1 2 3 4 5\n", "line 2: expected a block from 0"),
        ("1 woken 1 2 3 4 5\n", "line 1: expected"),
        ("0 woken 1 2 3 4\n", "line 1: expected"),
        ("0 woken 1 2 3 4 99999999999999999999\n", "line 1: expected"),
        ("# nothing\n", "there is no row in it"),
    ] {
        fs::write(&rows, text).unwrap();
        refused(&["validate", "machine.toml", "30k.trace"], expected);
    }
}
