//! Every target over a fixed number of inputs, and the runner's manners.

use std::process::{Command, Output};

fn fuzz(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuzz"));
    // A capture reader takes a buffer of 8 MB: from fresh pages it costs nothing, from recycled ones it has to be cleared each time.
    command.args(arguments).env("MALLOC_MMAP_THRESHOLD_", "1048576");
    command.output().expect("the runner starts")
}

#[test]
fn no_target_panics_on_twenty_thousand_inputs() {
    let output = fuzz(&["--runs", "20000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8_lossy(&output.stdout);
    for target in tidegate_fuzz::TARGETS {
        assert!(report.contains(&format!("{}: 20000 inputs", target.name)), "{report}");
    }
}

#[test]
fn the_same_seed_repeats_a_run() {
    let accepted = |seed: &str| {
        let report = String::from_utf8(fuzz(&["packets", "--runs", "5000", "--seed", seed]).stdout).expect("a report");
        report.split(", ").nth(2).map(str::to_owned)
    };
    assert!(accepted("7").is_some_and(|text| text.ends_with("accepted")));
    assert_eq!(accepted("7"), accepted("7"));
    assert_ne!(accepted("7"), accepted("8"));
}

#[test]
fn an_unknown_target_or_a_missing_number_is_refused() {
    for arguments in [&["pakets"][..], &["--runs"], &["--seed", "x"]] {
        let output = fuzz(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    }
}
