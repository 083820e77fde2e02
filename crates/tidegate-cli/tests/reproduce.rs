//! `tidegate reproduce` as its user runs it: verdicts, files, messages and exit codes.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn tidegate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate")).args(arguments).output().expect("tidegate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must end with 0.
fn done(arguments: &[&str]) -> String {
    let output = tidegate(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn figures_and_verdicts_are_seen_at_one_glance() {
    let table = done(&["reproduce", "schiller/figure-3", "schiller/figure-4"]);
    for (figure, gates) in [("figure-3", "all 13 gates hold"), ("figure-4", "all 17 gates hold")] {
        let line = table.lines().take(6).find(|line| line.contains(figure)).unwrap_or_else(|| panic!("{table}"));
        assert!(line.contains("✔ passed") && line.contains(gates), "{line}");
    }
    let counts = table.lines().find(|line| line.starts_with("VC 0: cells sent")).unwrap();
    assert!(counts.matches("10 20 30 40 50").count() == 2 && counts.contains("✔ passed"), "ours beside the expected: {counts}");
    assert!(table.contains("note: The paper gives no parameters."), "what is ours is said to be: {table}");
    assert!(!table.contains("FAILED"));
}

#[test]
fn a_second_paper_is_run_beside_the_first() {
    let table = done(&["reproduce", "schiller/figure-3", "sharestreams/figure-12", "sharestreams/figure-16"]);
    assert!(table.lines().take(8).filter(|line| line.contains("✔ passed")).count() == 3, "{table}");
    let counts = table.lines().find(|line| line.starts_with("packets in 57,339 decisions")).unwrap();
    assert!(counts.matches("19113 9556 14335 14335").count() == 2, "{counts}");
    let bandwidth = table.lines().find(|line| line.starts_with("settled bandwidth")).unwrap();
    assert!(bandwidth.contains("47.15 47.15 95.3 188.6 Mbyte/s"), "the paper's beside ours: {bandwidth}");
}

#[test]
fn transcripts_of_aqms_are_those_of_the_model() {
    let table = done(&["reproduce", "aqm/rules"]);
    assert!(table.lines().take(4).any(|line| line.contains("✔ passed") && line.contains("all 24 gates hold")), "{table}");
    assert!(table.contains("every flood") && table.contains("more comes than the link carries"), "why nothing is proven: {table}");
}

#[test]
fn json_holds_every_gate_with_its_numbers() {
    let json: Value = serde_json::from_str(&done(&["reproduce", "schiller/figure-4", "--json"])).unwrap();
    assert_eq!(json["passed"], true);
    let experiments = json["experiments"].as_array().unwrap();
    assert_eq!((experiments.len(), &experiments[0]["id"]), (1, &Value::from("schiller")));
    let figures = experiments[0]["figures"].as_array().unwrap();
    assert_eq!((figures.len(), &figures[0]["id"]), (1, &Value::from("figure-4")));
    for gate in figures[0]["gates"].as_array().unwrap() {
        assert_eq!(gate["passed"], true, "{gate}");
        assert!(!gate["measured"].as_array().unwrap().is_empty() && gate["unit"].is_string(), "{gate}");
        assert!(gate["low"].is_array() || gate["high"].is_array(), "{gate}");
    }
}

#[test]
fn a_folder_of_results_is_written_and_the_same_every_time() {
    let folder = |name: &str| std::env::temp_dir().join(format!("tidegate-reproduce-{}-{name}", std::process::id()));
    let read = |folder: PathBuf| {
        done(&["reproduce", "schiller/figure-3", "schiller/transfers", "--out", &folder.display().to_string()]);
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["report.html", "series.parquet", "summary.json"]);
        let content: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(folder.join(file)).unwrap()).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        content
    };
    let first = read(folder("a"));
    assert!(first == read(folder("b")));
    let page = text(&first[0]);
    assert!(page.contains("id=\"schiller-figure-3-cells\"") && page.contains("VC 9"));
}

#[test]
fn a_figure_that_is_asked_for_twice_is_run_once() {
    let json = done(&["reproduce", "schiller/figure-3", "schiller/figure-3", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["experiments"][0]["figures"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_id_ends_with_2_and_lists_the_known_ones() {
    for id in ["nobody", "schiller/figure-9", "schiller/", ""] {
        let output = tidegate(&["reproduce", id]);
        assert_eq!(output.status.code(), Some(2), "{id}");
        let error = text(&output.stderr);
        assert!(error.contains(&format!("`{id}`")) && error.contains("schiller/figure-3"), "{error}");
        assert!(output.stdout.is_empty());
    }
    let output = tidegate(&["reproduce", "schiller/figure-3", "--out", "/proc/nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/proc/nowhere"));
}

#[test]
fn the_help_lists_the_experiments() {
    let help = done(&["reproduce", "--help"]);
    assert!(help.contains("schiller") && help.contains("schiller/transfers"), "{help}");
}
