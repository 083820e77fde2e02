//! What the command says of links that fail: before the run, in its tables, and in `summary.json`.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn tidegate(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const SCENARIO: &str = "scenarios/failure.toml";

#[test]
fn the_check_the_table_and_the_summary_name_the_failure() {
    let checked = tidegate(&["check", SCENARIO]);
    assert!(
        checked.contains("  cut: 2 links down from 1 s, recovers at 2 s; routes avoid it from 1.001 s on until 2.001 s\n    other paths: "),
        "{checked}"
    );

    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let text = tidegate(&["run", SCENARIO, "--out", out.to_str().unwrap()]);
    for part in [
        "detection 50 ms: Failure cut: 2 links down from 1 s",
        "failure     from    until  lost in queues  on links  arriving",
        "link-down",
    ] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("queues</th>") && page.contains("link-down"));
    let summary: Value = serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    let variants = summary["runs"].as_array().unwrap();
    let arrived: Vec<u64> = variants.iter().map(|run| run["failures"][0]["arrived"]["packets"].as_u64().unwrap()).collect();
    // More comes to the dead link in 50 ms than in 1 ms.
    assert!(arrived.len() == 3 && arrived[0] < arrived[1], "{arrived:?}");
    // The drops of the ports are what was in queues and what came.
    for run in variants {
        let failure = &run["failures"][0];
        let of_failure: u64 = ["queued", "arrived"].iter().map(|key| failure[key]["packets"].as_u64().unwrap()).sum();
        let drops = run["ports"].as_array().unwrap().iter().flat_map(|port| port["drops"].as_array().unwrap());
        let down = drops.filter(|drop| drop["reason"] == "link-down");
        let of_ports: u64 = down.map(|drop| drop["volume"]["packets"].as_u64().unwrap()).sum();
        assert_eq!(of_failure, of_ports);
    }
}
