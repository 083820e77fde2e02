//! Policies that change while a file runs, simulated and in a replay: a class is added, given more and removed under traffic, and nothing is lost.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn tidegate(folder: &Path, arguments: &[&str]) -> (i32, String, Value) {
    let _ = fs::remove_dir_all(folder);
    let output =
        Command::new(env!("CARGO_BIN_EXE_tidegate")).args(arguments).arg("--out").arg(folder).current_dir("../..").output().unwrap();
    let report = fs::read_to_string(folder.join("summary.json")).unwrap_or_else(|_| "null".into());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), errors, serde_json::from_str(&report).unwrap())
}

fn packets(value: &Value) -> u64 {
    value["packets"].as_u64().unwrap()
}

fn changes(report: &Value) -> Vec<&str> {
    let notes = report["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
    notes.filter(|note| note.starts_with("Change at")).collect()
}

#[test]
fn a_simulation_adds_changes_and_removes_a_class_and_loses_nothing_by_it() {
    let folder = std::env::temp_dir().join(format!("tidegate-changes-{}", std::process::id()));
    // The queue is long enough for all that does not fit through the link: whatever is lost would be lost by a change.
    let arguments = ["run", "scenarios/changing-policy.toml", "--set", "policy.access.buffer.limit=8 MB"];
    let (code, errors, report) = tidegate(&folder, &arguments);
    assert_eq!(code, 0, "{errors}");
    let changes = changes(&report);
    assert_eq!(changes.len(), 3);
    assert!(changes[0].contains("1 came") && changes[2].contains("1 went"), "{changes:?}");
    assert!(changes.iter().all(|change| change.contains(", 0 were dropped")), "{changes:?}");
    let port = &report["runs"][0]["ports"][0];
    assert_eq!(packets(&port["offered"]), packets(&port["sent"]) + packets(&port["queued"]));
    let names: Vec<&str> = port["classes"].as_array().unwrap().iter().map(|class| class["name"].as_str().unwrap()).collect();
    let listed = report["runs"][0]["changes"].as_array().unwrap();
    assert_eq!(listed.iter().map(|change| change["at_s"].as_f64().unwrap()).collect::<Vec<_>>(), [4.0, 8.0, 12.0]);
    assert_eq!((&listed[0]["done"]["classes_added"], &listed[2]["done"]["classes_removed"]), (&1.into(), &1.into()));
    assert!(packets(&listed[0]["done"]["moved"]) > 0 && packets(&listed[0]["done"]["dropped"]) == 0, "{listed:?}");
    assert_eq!(names, ["voice", "rest", "games"], "a class that comes later has its statistics");
    assert!(packets(&port["classes"][2]["sent"]) > 1000);
    let again = tidegate(&folder, &arguments).2;
    assert_eq!(again["runs"], report["runs"], "the same seed, the same results");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_replay_adds_changes_and_removes_a_class_and_loses_nothing() {
    let folder = std::env::temp_dir().join(format!("tidegate-changed-replay-{}", std::process::id()));
    let policy = std::env::temp_dir().join(format!("tidegate-changes-{}.toml", std::process::id()));
    fs::write(
        &policy,
        r#"
[policy.access]
rate = "250 kbit/s"
buffer = { limit = "1000 packets" }
scheduler = "drr"
[[policy.access.class]]
name = "rest"

[[change]]
at = "500 ms"
[[change.add.policy.access.class]]
name = "video"
match = [{ protocol = "udp" }]
weight = 1

[[change]]
at = "1 s"
set = { "policy.access.class.video.weight" = 3, "policy.access.rate" = "400 kbit/s" }

[[change]]
at = "1500 ms"
remove = ["policy.access.class.video"]

[[change]]
at = "1 h"
set = { "policy.access.rate" = "1 Mbit/s" }
"#,
    )
    .unwrap();
    let (code, errors, report) = tidegate(&folder, &["replay", policy.to_str().unwrap(), "scenarios/captures/quic-video.pcap"]);
    assert_eq!(code, 0, "{errors}");
    let changes = changes(&report);
    assert_eq!(changes.len(), 4);
    assert!(changes[..3].iter().all(|change| change.contains(", 0 were dropped")), "{changes:?}");
    assert!(changes[3].contains("did not take place"), "{changes:?}");
    let listed = &report["runs"][0]["changes"];
    assert!(listed[0]["port"] == "access" && listed[0]["done"]["classes_kept"] == 1 && listed[3]["done"].is_null(), "{listed}");
    let port = &report["runs"][0]["ports"][0];
    assert_eq!(packets(&port["offered"]), packets(&port["sent"]));
    let video = &port["classes"][1];
    assert!(video["name"] == "video" && packets(&video["sent"]) > 0, "{video}");
    fs::remove_dir_all(folder).unwrap();
    fs::remove_file(policy).unwrap();
}

/// A node of integrated services by its preset, through a capture: a class comes, gets another rate, and goes.
#[test]
fn a_replay_through_the_preset_adds_changes_and_removes_a_class_and_loses_nothing() {
    let folder = std::env::temp_dir().join(format!("tidegate-preset-replay-{}", std::process::id()));
    let policy = std::env::temp_dir().join(format!("tidegate-preset-{}.toml", std::process::id()));
    fs::write(
        &policy,
        r#"
[policy.node]
kind = "intserv"
rate = "400 kbit/s"
buffer = { limit = "400 kB" }
partition = { guaranteed = { limit = "200 kB" }, controlled-load = { limit = "200 kB" } }
class = [
    { name = "control", match = [{ source_port = 443 }], service_class = "guaranteed", rate = "100 kbit/s" },
    { name = "rest" },
]

[[change]]
at = "500 ms"
add = { policy = { node = { class = [
    { name = "video", match = [{ protocol = "udp" }], service_class = "controlled-load", rate = "100 kbit/s" },
] } } }

[[change]]
at = "1 s"
set = { "policy.node.class.video.rate" = "250 kbit/s" }

[[change]]
at = "1500 ms"
remove = ["policy.node.class.video"]
"#,
    )
    .unwrap();
    let (code, errors, report) = tidegate(&folder, &["replay", policy.to_str().unwrap(), "scenarios/captures/quic-video.pcap"]);
    assert_eq!(code, 0, "{errors}");
    let changes = changes(&report);
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|change| change.contains(", 0 were dropped")), "{changes:?}");
    let port = &report["runs"][0]["ports"][0];
    assert_eq!(packets(&port["offered"]), packets(&port["sent"]), "{port}");
    let classes = port["classes"].as_array().unwrap();
    let names: Vec<&str> = classes.iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["control", "rest", "video"]);
    assert!(classes.iter().all(|class| packets(&class["sent"]) > 0), "{port}");
    fs::remove_dir_all(folder).unwrap();
    fs::remove_file(policy).unwrap();
}
