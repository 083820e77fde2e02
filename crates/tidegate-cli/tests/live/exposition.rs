//! The metrics of a bridge, read by the parser of Prometheus' Python client; and what the dashboard for Grafana and the documentation say of them.

use crate::command::{HOST2, Live, pings_pass};
use crate::control::page;
use crate::topology::{Place, Topology, eventually};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PORT: u16 = 9100;
/// A name that has to be escaped.
const AWKWARD: &str = r"video 4K\";
const POLICY: &str = r#"
[policy.access]
rate = "5 Mbit/s"
scheduler = "drr"
class = [
    { name = 'video 4K\', match = [{ destination_port = 6001 }], weight = 3, limit = "20 packets" },
    { name = "rest", weight = 1 },
]
"#;

/// The Python that has the client of Prometheus: `cargo xtask test` installs it below the target directory.
fn python() -> PathBuf {
    let tidegate = Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let mut candidates = tidegate.ancestors().map(|folder| folder.join("tools/metrics/bin/python"));
    candidates.find(|python| python.exists()).unwrap_or_else(|| {
        panic!("no folder above {} has tools/metrics: run `cargo xtask test --only environment` first", tidegate.display())
    })
}

/// The families of metrics of a text, or what is wrong with it.
fn read(text: &str) -> Result<Vec<Value>, String> {
    let mut child = Command::new(python())
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/exposition.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("Python reads");
    let output = child.wait_with_output().expect("Python ends");
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("JSON")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The metrics of a bridge that has sent and dropped packets.
fn exposition() -> String {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("access.toml");
    fs::write(&policy, POLICY).unwrap();
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link set lo up");
    let live = Live::start_policy(&topology, &policy, &format!("--in tgb --out tgc --quiet --json --metrics 127.0.0.1:{PORT}"));
    pings_pass(&topology);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for _ in 0..100 {
            socket.send_to(&[7; 958], (HOST2, 6001)).expect("a datagram can be sent");
        }
    });
    let mut text = String::new();
    eventually("drops are in the metrics", Duration::from_secs(10), || {
        text = page(&topology, PORT, "/metrics", "Host: 127.0.0.1\r\n").1;
        text.contains("tidegate_class_dropped_packets_total{")
    });
    live.signal(libc::SIGTERM);
    assert_eq!(live.wait().code, Some(0));
    text
}

/// The names of samples, with their labels and the values of these.
type Known<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a str>>>;

fn known(families: &[Value]) -> Known<'_> {
    let mut known = Known::new();
    for sample in families.iter().flat_map(|family| family["samples"].as_array().expect("samples")) {
        let labels = known.entry(sample["name"].as_str().expect("a name")).or_default();
        for (label, value) in sample["labels"].as_object().expect("labels") {
            labels.entry(label).or_default().insert(value.as_str().expect("text"));
        }
    }
    known
}

#[test]
fn metrics_are_what_others_read_and_what_the_dashboard_and_the_documentation_name() {
    let text = exposition();
    let families = read(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let samples: Vec<&Value> = families.iter().flat_map(|family| family["samples"].as_array().unwrap()).collect();
    let value = |name: &str, wanted: &[(&str, &str)]| {
        let is_wanted = |sample: &&&Value| sample["name"] == name && wanted.iter().all(|(label, value)| sample["labels"][label] == *value);
        let sample = samples.iter().find(is_wanted).unwrap_or_else(|| panic!("{name} {wanted:?}: {text}"));
        sample["value"].as_f64().unwrap()
    };
    let there = ("direction", "tgb > tgc");
    let [offered, sent] =
        ["offered", "sent"].map(|stage| value("tidegate_class_packets_total", &[there, ("class", AWKWARD), ("stage", stage)]));
    let dropped: f64 = samples
        .iter()
        .filter(|sample| sample["name"] == "tidegate_class_dropped_packets_total" && sample["labels"]["class"] == AWKWARD)
        .map(|sample| sample["value"].as_f64().unwrap())
        .sum();
    let queued = value("tidegate_class_queued_packets", &[there, ("class", AWKWARD)]);
    assert!(offered > 20.0 && dropped > 0.0, "{text}");
    assert_eq!(offered, sent + dropped + queued, "{text}");

    faults_are_found(&text);
    let known = known(&families);
    the_dashboard_asks_for_what_exists(&known);
    let documentation = file("docs/control.md");
    let unnamed: Vec<_> = known.keys().filter(|name| !documentation.contains(&format!("`{name}`"))).collect();
    assert!(unnamed.is_empty(), "docs/control.md does not name {unnamed:?}");
}

/// Each of these faults of an exposition is found.
fn faults_are_found(text: &str) {
    let first = text.lines().find(|line| line.starts_with("tidegate_packets_total{")).expect("a series");
    let help = text.lines().find(|line| line.starts_with("# HELP tidegate_packets ")).expect("its help");
    let last = text.lines().rfind(|line| line.starts_with("tidegate_packets_total{")).expect("another series");
    for (fault, damaged, part) in [
        ("no TYPE", text.replace("# TYPE tidegate_packets counter\n", ""), "has no TYPE"),
        ("no HELP", text.replace(&format!("{help}\n"), ""), "has no HELP"),
        ("a series twice in a row", text.replace(first, &format!("{first}\n{first}")), "occurs twice"),
        ("a series again later", text.replace(last, &format!("{last}\n{first}")), "ValueError"),
        ("a backslash that is not escaped", text.replace(r#"4K\\""#, r#"4K\""#), "ValueError"),
        ("a quotation mark that is not escaped", text.replace(r#"4K\\""#, r#"4"K""#), "ValueError"),
        ("a counter without its suffix", text.replace("tidegate_packets_total{", "tidegate_packets{"), "ValueError"),
        ("no end", text.replace("# EOF\n", ""), "# EOF"),
    ] {
        assert_ne!(damaged, text, "{fault}");
        match read(&damaged) {
            Ok(_) => panic!("not found: {fault}"),
            Err(problem) => assert!(problem.contains(part), "{fault}: {problem}"),
        }
    }
}

/// Every metric, label and value in a query of the dashboard exists, and every metric is in a query.
fn the_dashboard_asks_for_what_exists(known: &Known<'_>) {
    let dashboard: Value = serde_json::from_str(&file("docs/grafana/tidegate.json")).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, &mut queries);
    assert!(queries.len() > 15, "{queries:?}");
    let mut asked = BTreeSet::new();
    for query in queries {
        for (at, _) in query.match_indices("tidegate_") {
            let rest = &query[at..];
            let (name, rest) = rest.split_at(rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len()));
            let labels = known.get(name).unwrap_or_else(|| panic!("{name} is no metric: {query}"));
            asked.insert(name);
            let matchers = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(matchers, _)| matchers);
            for (label, value) in matchers.split(',').filter_map(|matcher| matcher.split_once('=')) {
                // Prometheus adds the name of the bridge that it asked.
                if label == "instance" {
                    continue;
                }
                let values = labels.get(label).unwrap_or_else(|| panic!("{name} has no label {label}: {query}"));
                let is_exact = !value.starts_with('~');
                assert!(!is_exact || values.contains(value.trim_matches('"')), "{label} of {name} has no value {value}: {query}");
            }
        }
        for (at, _) in query.match_indices("by (") {
            for label in query[at + 4..].split(')').next().unwrap_or_default().split(',').map(str::trim) {
                assert!(label == "instance" || known.values().any(|labels| labels.contains_key(label)), "no metric has {label}: {query}");
            }
        }
    }
    let unasked: Vec<_> = known.keys().filter(|name| !asked.contains(*name)).collect();
    assert!(unasked.is_empty(), "the dashboard does not show {unasked:?}");
}

/// The queries of a dashboard: of panels, annotations and variables.
fn collect<'a>(value: &'a Value, queries: &mut Vec<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, queries)),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(query) if ["expr", "query", "definition"].contains(&key.as_str()) => queries.push(query),
                    value => collect(value, queries),
                }
            }
        }
        _ => {}
    }
}

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).expect("a file of the repository")
}
