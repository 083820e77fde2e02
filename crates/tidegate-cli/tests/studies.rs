//! Studies of many runs: sweeps over parameters, and results that are compared.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn tidegate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate")).args(arguments).current_dir(folder).output().expect("tidegate starts")
}

/// Standard output, or standard error for exit code 2, of a command that must end with this code.
fn expect(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = tidegate(folder, arguments);
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{error}");
    if code == 2 { error } else { out }
}

/// Poisson packets into a queue of one link: nothing but random numbers differs between seeds.
const QUEUE: &str = r#"
title = "A queue"
[simulation]
duration = "2 s"
replications = 4
[policy.line]
rate = "1 Mbit/s"
scheduler = "fifo"
buffer = { manager = "tail-drop", limit = "20 kB" }
[[link]]
name = "line"
from = "here"
to = "there"
policy = "line"
[[flow]]
name = "data"
from = "here"
to = "there"
source = { kind = "poisson", rate = "700 kbit/s", packet = "500 B" }
"#;

/// A folder with the queue as `queue.toml`.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("queue.toml"), QUEUE).unwrap();
    folder
}

#[test]
fn the_same_run_compares_as_the_same() {
    let folder = folder();
    for out in ["a", "b"] {
        expect(0, folder.path(), &["run", "queue.toml", "--out", out]);
    }
    let text = expect(0, folder.path(), &["compare", "a", "b"]);
    assert!(text.contains("0 of ") && text.contains("0 can be chance") && text.contains("Student's t"), "{text}");
}

#[test]
fn a_difference_is_told_from_chance() {
    let folder = folder();
    let run = |out, more: &[&str]| expect(0, folder.path(), &[&["run", "queue.toml", "--replications", "10", "--out", out], more].concat());
    run("a", &[]);
    run("faster", &["--set", "policy.line.rate=2 Mbit/s"]);
    run("reseeded", &["--seed", "9"]);
    let text = expect(1, folder.path(), &["compare", "a", "faster"]);
    assert!(text.lines().any(|line| line.starts_with("data") && line.contains("delay_mean_s") && line.ends_with("differs")), "{text}");
    let text = expect(0, folder.path(), &["compare", "a", "reseeded"]);
    assert!(text.contains("0 of ") && text.contains("Welch"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&expect(1, folder.path(), &["compare", "a", "faster", "--json", "--out", "page"])).unwrap();
    let figure = |metric: &str| {
        let figures = json["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["name"] == "data" && figure["metric"] == metric).unwrap().clone()
    };
    let (delay, throughput) = (figure("delay_mean_s"), figure("throughput_bps"));
    assert_eq!((&delay["likelihood"], &delay["replications"]), (&"differs".into(), &10.into()));
    assert!(delay["difference"].as_f64().unwrap() < 0.0);
    assert!(throughput["likelihood"] != "differs", "{throughput}");
    assert!(folder.path().join("page/report.html").exists() && folder.path().join("page/comparison.parquet").exists());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path().join("empty")).unwrap();
    expect(0, folder.path(), &["run", "queue.toml", "--out", "a"]);
    assert!(expect(2, folder.path(), &["compare", "a", "empty"]).contains("empty: holds no results"));
    assert!(expect(2, folder.path(), &["compare", "a", "queue.toml"]).contains("is no table of results"));
    assert!(expect(2, folder.path(), &["compare", "a", "a/flows.parquet"]).contains("has no column"));
    assert!(expect(2, folder.path(), &["compare", "a", "nowhere"]).contains("nowhere: cannot be read"));
}

/// A switch with a slow line pauses the fast one before it.
const PAUSE: &str = r#"
[simulation]
duration = "200 ms"
warm_up = "20 ms"
replications = 2
[policy.line]
rate = "10 Mbit/s"
scheduler = "fifo"
buffer = { manager = "tail-drop", limit = "200 kB" }
[[link]]
name = "in"
from = "here"
to = "switch"
policy = "line"
duplex = true
delay = "10 us"
pause = { above = "6 kB", below = "3 kB" }
[[link]]
name = "out"
from = "switch"
to = "there"
policy = "line"
rate = "4 Mbit/s"
[[flow]]
name = "data"
from = "here"
to = "there"
source = { kind = "poisson", rate = "5 Mbit/s", packet = "1000 B" }
[sweep]
axis = ["link.out.rate = 4 Mbit/s, 9 Mbit/s"]
"#;

/// The table of the sweep has what a run of each point measures.
#[test]
fn a_sweep_has_the_pauses_of_ports_that_can_be_paused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("pause.toml"), PAUSE).unwrap();
    let json = |arguments: &[&str]| serde_json::from_str::<serde_json::Value>(&expect(0, folder.path(), arguments)).unwrap();
    let swept = json(&["sweep", "pause.toml", "--out", "s", "--show", "in.paused_s", "--json"]);
    let mean = |point: u64, name: &str, metric: &str| {
        let rows = swept["rows"].as_array().unwrap();
        rows.iter().find(|row| row["point"] == point && row["name"] == name).unwrap()[metric]["mean"]["mean"].as_f64()
    };
    for (point, rate) in [(1, "4 Mbit/s"), (2, "9 Mbit/s")] {
        let run = json(&["run", "pause.toml", "--set", &format!("link.out.rate={rate}"), "--json"]);
        let ports = run["runs"][0]["ports"].as_array().unwrap();
        let pause = &ports.iter().find(|port| port["name"] == "in").unwrap()["classes"][0]["pause"];
        let (paused, pauses) = (mean(point, "in", "paused_s").unwrap(), mean(point, "in", "pauses").unwrap());
        assert!((paused - pause["share"].as_f64().unwrap() * 0.18).abs() < 1e-9, "{paused} {pause}");
        assert_eq!(2.0 * pauses, pause["count"].as_f64().unwrap());
        assert_eq!([mean(point, "out", "pauses"), mean(point, "data", "paused_s")], [None, None]);
    }
    assert!(mean(1, "in", "paused_s").unwrap() > 0.01 && mean(2, "in", "pauses") == Some(0.0), "{swept}");
    let text = expect(0, folder.path(), &["sweep", "pause.toml", "--out", "t", "--show", "out.pauses", "--show", "data.goodput_bps"]);
    assert!(text.contains("out.pauses has no value at any point: only links whose far end pauses them have one."), "{text}");
    assert!(text.contains("data.goodput_bps has no value at any point: only flows with TCP have one."), "{text}");
}

#[test]
fn figures_that_one_result_alone_has_are_named() {
    let folder = TempDir::new().unwrap();
    let line = "pause = { above = \"6 kB\", below = \"3 kB\" }\n";
    fs::write(folder.path().join("with.toml"), PAUSE).unwrap();
    fs::write(folder.path().join("without.toml"), PAUSE.replace(line, "")).unwrap();
    for name in ["with", "without"] {
        expect(0, folder.path(), &["run", &format!("{name}.toml"), "--out", name]);
    }
    for order in [["with", "without"], ["without", "with"]] {
        let output = tidegate(folder.path(), &[&["compare"], &order[..]].concat());
        let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
        for metric in ["paused_s", "pauses"] {
            assert!(text.contains(&format!("with alone has {metric} of port `in` of")), "{text}");
        }
    }
}

const AXES: [&str; 2] = ["--axis", "policy.line.rate=1 Mbit/s,2 Mbit/s,4 Mbit/s"];

/// The arguments of a sweep over three rates into the folder `s`.
fn sweep<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", "queue.toml", "--out", "s"], &AXES[..], more].concat()
}

/// All names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The bytes of all files of a folder, by name.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

#[test]
fn a_sweep_measures_what_runs_would() {
    let folder = folder();
    let text = expect(0, folder.path(), &sweep(&[]));
    assert!(text.contains("4 Mbit/s") && text.contains("data delay_p99_s") && text.contains(" ± "), "{text}");
    assert_eq!(names(&folder.path().join("s")), ["points", "points.json", "report.html", "table.parquet"]);
    assert_eq!(names(&folder.path().join("s/points")), ["point-00001.parquet", "point-00002.parquet", "point-00003.parquet"]);
    expect(0, folder.path(), &["run", "queue.toml", "--out", "r", "--set", "policy.line.rate=4 Mbit/s"]);
    let text = expect(0, folder.path(), &["compare", "r", "s/points/point-00003.parquet", "--all"]);
    assert!(text.contains("0 of ") && text.contains("0 can be chance"), "{text}");
    expect(1, folder.path(), &["compare", "s/points/point-00001.parquet", "s/points/point-00002.parquet"]);
}

#[test]
fn batches_of_replications_are_those_of_one_run() {
    let folder = folder();
    let count = ["--replications", "12"];
    let watched = ["sweep", "queue.toml", "--out", "s", "--axis", "policy.line.rate=1 Mbit/s", "--until", "data.delay_p99_s=0.1%"];
    expect(0, folder.path(), &[&watched[..], &count].concat());
    expect(0, folder.path(), &[&["run", "queue.toml", "--out", "r"], &count[..]].concat());
    let json = expect(0, folder.path(), &["compare", "r", "s/points/point-00001.parquet", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for figure in json["figures"].as_array().unwrap() {
        assert_eq!((&figure["replications"], &figure["likelihood"]), (&12.into(), &"same".into()), "{figure}");
    }
}

#[test]
fn a_sweep_runs_what_is_missing_and_refuses_another_one() {
    let folder = folder();
    expect(0, folder.path(), &sweep(&[]));
    let points = folder.path().join("s/points");
    let before = contents(&points);
    fs::remove_file(points.join("point-00002.parquet")).unwrap();
    fs::write(points.join(".tidegate-half"), &before[0].1[..100]).unwrap();
    let output = tidegate(folder.path(), &sweep(&[]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 of 3 points were run"), "{output:?}");
    fs::remove_file(points.join(".tidegate-half")).unwrap();
    assert_eq!(contents(&points), before, "the point that was run again is the same to the byte");
    assert!(expect(2, folder.path(), &sweep(&["--seed", "5"])).contains("another sweep"));
    fs::write(folder.path().join("queue.toml"), QUEUE.replace("500 B", "400 B")).unwrap();
    assert!(expect(2, folder.path(), &sweep(&[])).contains("another sweep"));
}

/// What is killed leaves no table that is not complete, and the sweep goes on.
#[test]
fn a_killed_sweep_is_resumed() {
    let folder = folder();
    let slow = ["--set", "simulation.duration=20 s", "--axis", "policy.line.rate=1..8 Mbit/s/12"];
    let sweep = |out| [&["sweep", "queue.toml", "--out", out], &slow[..]].concat();
    let points = folder.path().join("s/points");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate")).args(sweep("s")).current_dir(folder.path()).spawn().unwrap();
    while !points.exists() || names(&points).iter().filter(|name| name.ends_with(".parquet")).count() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended before it was killed");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = names(&points).iter().filter(|name| name.ends_with(".parquet")).count();
    assert!(done < 12, "the sweep had ended");
    let output = tidegate(folder.path(), &sweep("s"));
    assert!(output.status.success(), "{output:?}");
    expect(0, folder.path(), &sweep("whole"));
    let tables = |out: &str| {
        let all = contents(&folder.path().join(out).join("points"));
        all.into_iter().filter(|(name, _)| name.ends_with(".parquet")).collect::<Vec<_>>()
    };
    assert_eq!(tables("s"), tables("whole"));
}

#[test]
fn points_run_one_by_one_as_a_job_array_does() {
    let folder = folder();
    let script = expect(0, folder.path(), &sweep(&["--slurm"]));
    assert!(script.contains("#SBATCH --array=1-3\n"), "{script}");
    assert!(!folder.path().join("s").exists());
    fs::write(folder.path().join("array.sh"), script).unwrap();
    for task in ["1", "2", "3"] {
        let status = Command::new("bash").arg(folder.path().join("array.sh")).env("SLURM_ARRAY_TASK_ID", task).status().unwrap();
        assert!(status.success(), "task {task}");
    }
    assert_eq!(names(&folder.path().join("s")), ["points", "points.json"]);
    let output = tidegate(folder.path(), &sweep(&[]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("0 of 3 points were run"), "{output:?}");
    assert!(expect(2, folder.path(), &sweep(&["--point", "4"])).contains("points 1 to 3"));
}

#[test]
fn the_axes_of_the_file_are_swept_until_an_interval_is_small() {
    let folder = folder();
    let axes = "\n[sweep]\naxis = [\"policy.line.rate = 1..2 Mbit/s\", \"policy.line.buffer.limit = 10 kB, 20 kB\"]\ndesign = \"latin-hypercube\"\npoints = 4\n";
    fs::write(folder.path().join("queue.toml"), format!("{QUEUE}{axes}")).unwrap();
    let arguments = ["sweep", "queue.toml", "--out", "s", "--json", "--replications", "40", "--until", "data.throughput_bps=4%"];
    let json: serde_json::Value = serde_json::from_str(&expect(0, folder.path(), &arguments)).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8, "a flow and a port at four points");
    for row in rows.iter().filter(|row| row["name"] == "data") {
        let (mean, width) =
            (row["throughput_bps"]["mean"]["mean"].as_f64().unwrap(), row["throughput_bps"]["mean"]["half_width"].as_f64().unwrap());
        let replications = row["replications"].as_u64().unwrap();
        assert!(width <= 0.04 * mean || replications == 40, "{row}");
        assert!((5..=40).contains(&replications));
    }
    assert!(rows.iter().any(|row| row["replications"].as_u64().unwrap() < 40));
    expect(0, folder.path(), &["check", "queue.toml"]);
    fs::write(folder.path().join("queue.toml"), format!("{QUEUE}\n[sweep]\naxis = [\"policy.line.rate = 2..1 Mbit/s/3\"]\n")).unwrap();
    assert!(expect(2, folder.path(), &["check", "queue.toml"]).contains("has to rise"));
}

#[test]
fn what_cannot_be_swept_is_refused() {
    let folder = folder();
    let said = |more: &[&str]| expect(2, folder.path(), &[&["sweep", "queue.toml", "--out", "s"], more].concat());
    assert!(said(&[]).contains("has no [sweep], and no --axis"));
    assert!(said(&["--axis", "policy.line.rate"]).contains("has no `=`"));
    assert!(said(&["--axis", "policy.lime.rate=1 Mbit/s"]).contains("lime"));
    assert!(said(&["--axis", "policy.line.rate=1 Mbit/s", "--until", "date.loss=5%"]).contains("no flow, no workload and no link `date`"));
    assert!(said(&["--axis", "policy.line.rate=1 Mbit/s", "--show", "data.los"]).contains("no metric `los`"));
    assert!(
        said(&["--axis", "policy.line.rate=1 Mbit/s", "--show", "data.utilisation"]).contains("the flow `data` has no utilisation; it has")
    );
    assert!(said(&["--axis", "policy.line.rate=1 Mbit/s", "--design", "girth"]).contains("grid"));
    assert!(said(&["--axis", "policy.line.rate=1 Mbit/s,fast"]).contains("fast"));
    assert!(!folder.path().join("s").exists(), "no folder is begun");
}
