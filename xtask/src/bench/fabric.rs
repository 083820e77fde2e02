//! `cargo xtask bench --only fabric`: a fat tree with many TCP connections in the simulator, and beside ns-3 and htsim where they are at hand.
//!
//! Three things are measured, each by processes of their own. `crates/tidegate-sim/examples/fabric.rs` tells the speed and the memory of the engine, with all
//! connections and with a hundredth of them. The command `tidegate run` simulates a file with the same network, once for hardly any time, which is its start-up.
//! The peers simulate a tree of at most eight ports per switch, in turns with the engine.

use super::simulation::{compile_ns3, cpu_of_children};
use crate::cargo::{cargo, output, root, target_directory};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Connections for each host.
const FLOWS_PER_HOST: f64 = 97.65625;
/// The simulated time, in microseconds.
const MICROSECONDS: u32 = 1_000;
/// The most ports per switch that peers simulate, and their connections for each host.
const MOST_PORTS_OF_PEERS: u32 = 8;
const FLOWS_PER_HOST_OF_PEERS: u32 = 10;
/// Runs of each program beside its peers.
const ROUNDS: usize = 3;
/// What is linked with `fabric_htsim.cc` from htsim's folder `datacenter`.
const HTSIM_OBJECTS: &[&str] = &["fat_tree_topology.o", "fat_tree_switch.o", "firstfit.o", "connection_matrix.o"];

/// A tree of this size: ports per switch, hosts, connections.
#[derive(Clone, Copy)]
struct Size {
    ports: u32,
    hosts: u32,
    flows: u32,
}

impl Size {
    fn of(ports: u32) -> Size {
        let hosts = ports * ports * ports / 4;
        Size { ports, hosts, flows: (f64::from(hosts) * FLOWS_PER_HOST) as u32 }
    }
}

/// Measures a tree whose switches have this number of ports, and prints a table or, with `is_json`, an object. `htsim` is the folder `sim` of a built htsim.
///
/// # Errors
/// [`Failure::Usage`] for an odd number of ports, [`Failure::Environment`] if a program fails.
pub fn run(ports: u32, htsim: Option<&Path>, is_json: bool) -> Result<(), Failure> {
    if ports % 2 == 1 || !(2..=32).contains(&ports) {
        return Err(Failure::Usage(format!("--ports {ports}: a fat tree has an even number of ports per switch, from 2 to 32")));
    }
    let build = ["build", "--quiet", "--release", "-p", "tidegate-sim", "-p", "tidegate-cli", "--example", "fabric", "--bin", "tidegate"];
    output(cargo().args(build))?;
    let target = target_directory()?;
    let (engine, command) = (target.join("release/examples/fabric"), target.join("release/tidegate"));
    let size = Size::of(ports);
    let few = (size.flows / 100).max(1);
    eprintln!("{} hosts, {} and {few} connections", size.hosts, size.flows);
    let (all, least) = (of_engine(&engine, ports, size.flows)?, of_engine(&engine, ports, few)?);
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    let per_flow = |all: f64, least: f64| (all - least) / f64::from(size.flows - few);
    let file = target.join("fabric.toml");
    std::fs::write(&file, scenario(size)).map_err(Failure::cannot("write", &file))?;
    eprintln!("the command");
    let (start_up_s, _) = of_command(&command, &file, &["--set", "simulation.duration=\"1 us\""])?;
    let (run_s, run_bytes) = of_command(&command, &file, &[])?;
    let count = format!("flow.pair.count={few}");
    let (_, least_bytes) = of_command(&command, &file, &["--set", &count])?;
    let (peers, left_out) = beside_peers(&engine, &target, ports.min(MOST_PORTS_OF_PEERS), htsim)?;
    let result = json!({
        "hosts": size.hosts, "flows": size.flows, "microseconds": MICROSECONDS,
        "packet_hops": all["packet_hops"], "packet_hops_per_s": number(&all, "packet_hops") / number(&all, "cpu_s"),
        "engine": {
            "start_up_s": number(&all, "network_s") + number(&all, "start_up_s"), "peak_bytes": all["peak_bytes"],
            "bytes_per_flow": per_flow(number(&all, "peak_bytes"), number(&least, "peak_bytes")),
        },
        "command": {
            "start_up_s": start_up_s, "cpu_s": run_s, "peak_bytes": run_bytes, "bytes_per_flow": per_flow(run_bytes, least_bytes),
        },
        "peers": peers,
        "left_out": left_out,
    });
    if is_json {
        println!("{result:#}")
    } else {
        print!("{}", table(&result))
    }
    Ok(())
}

/// What the engine's program says of a tree with these connections.
fn of_engine(program: &Path, ports: u32, flows: u32) -> Result<Value, Failure> {
    read(&output(Command::new(program).args([ports, flows, MICROSECONDS].map(|number| number.to_string())))?)
}

fn read(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Check(format!("a benchmark says nothing that is understood: {error}: {text}")))
}

/// CPU seconds of `tidegate run` with a file and these changes, and the most memory that it had.
fn of_command(program: &Path, file: &Path, changes: &[&str]) -> Result<(f64, f64), Failure> {
    let before = cpu_of_children()?;
    let mut command = Command::new(program);
    command.arg("run").arg(file).args(["--threads", "1"]).args(changes).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(Failure::cannot("start", &program))?;
    let mut peak = 0.0_f64;
    let status = loop {
        // The peak of a process that has ended is not told.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0.0) * 1024.0);
        match child.try_wait().map_err(Failure::cannot("wait for", &program))? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if !status.success() {
        return Err(Failure::Check(format!("tidegate run {} {} ended with {status}", file.display(), changes.join(" "))));
    }
    Ok((cpu_of_children()? - before, peak))
}

/// The network of the engine's program, as a file.
fn scenario(Size { ports, flows, .. }: Size) -> String {
    format!(
        r#"title = "Fat tree with random connections"

[simulation]
duration = "{MICROSECONDS} us"

[policy.switch]
rate = "10 Gbit/s"
buffer = {{ manager = "tail-drop", limit = "2 MB" }}

[[policy.switch.class]]
name = "all"

[topology.dc]
kind = "fat-tree"
k = {ports}
policy = "switch"
delay = "1 us"

[[flow]]
name = "pair"
from = "dc-host-*"
pairs = "random"
count = {flows}
source = {{ kind = "tcp", start_within = "200 us" }}
"#
    )
}

/// The engine and its peers on a tree of this size, in turns: of each the run whose speed is the median, with its packet-hops per second of CPU time, and
/// ours as a multiple of it. The second part says what is left out, and why.
fn beside_peers(engine: &Path, target: &Path, ports: u32, htsim: Option<&Path>) -> Result<(Vec<Value>, Vec<String>), Failure> {
    let flows = ports * ports * ports / 4 * FLOWS_PER_HOST_OF_PEERS;
    let folder = target.join("peers");
    let (mut programs, mut left_out) = (vec![("ours", engine.to_owned())], Vec::new());
    match compile_ns3("fabric", &folder) {
        Ok(program) => programs.push(("ns-3", program)),
        Err(Failure::Environment(problem)) => left_out.push(format!("ns-3 is left out: {problem}")),
        Err(failure) => return Err(failure),
    }
    match htsim {
        // What is asked for by name is not left out.
        Some(sim) => programs.push(("htsim", compile_htsim(sim, &folder)?)),
        None => left_out.push("htsim is left out: it is measured with --htsim FOLDER/sim".to_owned()),
    }
    left_out.iter().for_each(|line| eprintln!("{line}"));
    let mut rounds: Vec<Vec<Value>> = vec![Vec::new(); programs.len()];
    for round in 1..=ROUNDS {
        for ((name, program), rows) in programs.iter().zip(&mut rounds) {
            eprintln!("{name}, {ports} ports per switch, {flows} connections, round {round} of {ROUNDS}");
            let mut row = of_engine(program, ports, flows)?;
            // Peers start their connections within the time that they tell.
            let seconds = row["cpu_s"].as_f64().unwrap_or(f64::NAN) + row["start_up_s"].as_f64().unwrap_or(0.0);
            (row["name"], row["packet_hops_per_s"]) = ((*name).into(), (row["packet_hops"].as_f64().unwrap_or(f64::NAN) / seconds).into());
            rows.push(row);
        }
    }
    let speed = |row: &Value| row["packet_hops_per_s"].as_f64().unwrap_or(f64::NAN);
    let medians = rounds.into_iter().map(|mut rows| {
        rows.sort_by(|one, other| speed(one).total_cmp(&speed(other)));
        rows.swap_remove(ROUNDS / 2)
    });
    let mut medians: Vec<Value> = medians.collect();
    let ours = speed(&medians[0]);
    for row in &mut medians {
        row["ratio"] = (ours / speed(row)).into();
    }
    Ok((medians, left_out))
}

/// Compiles the program that simulates the tree with htsim. `sim` is the folder in which htsim was built.
fn compile_htsim(sim: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let program = folder.join("fabric_htsim");
    std::fs::create_dir_all(folder).map_err(Failure::cannot("make", &folder))?;
    let mut command = Command::new("c++");
    command.args(["-O3", "-std=c++17", "-w"]).arg("-I").arg(sim).arg("-I").arg(sim.join("datacenter"));
    command.arg(root().join("benches/peers/fabric_htsim.cc"));
    command.args(HTSIM_OBJECTS.iter().map(|object| sim.join("datacenter").join(object)));
    command.arg(sim.join("libhtsim.a")).arg("-o").arg(&program);
    match command.status() {
        Ok(status) if status.success() => Ok(program),
        _ => Err(Failure::Environment(format!(
            "htsim in {} cannot be linked: run `make libhtsim.a` there, then `make {}` in datacenter/",
            sim.display(),
            HTSIM_OBJECTS.join(" ")
        ))),
    }
}

fn table(result: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let mut text = format!(
        "A fat tree of {} hosts, {} TCP connections, {MICROSECONDS} us, CPU time of one thread\n\n{:>10}{:>14}{:>18}{:>16}{:>16}\n",
        result["hosts"], result["flows"], "", "start-up, s", "hops, M per s", "peak, MB", "kB per flow"
    );
    for name in ["engine", "command"] {
        let side = &result[name];
        let speed = if name == "engine" { format!("{:.2}", number(&result["packet_hops_per_s"]) / 1e6) } else { String::new() };
        let (start_up, peak, each) =
            (number(&side["start_up_s"]), number(&side["peak_bytes"]) / 1e6, number(&side["bytes_per_flow"]) / 1e3);
        text += &format!("{name:>10}{start_up:>14.2}{speed:>18}{peak:>16.0}{each:>16.2}\n");
    }
    text += &format!(
        "\nThe command takes {:.1} s in all. Memory per flow is that beyond a run with a hundredth of the connections.\n",
        number(&result["command"]["cpu_s"])
    );
    let rows = || result["peers"].as_array().into_iter().flatten();
    if let Some(first) = rows().next() {
        text += &format!(
            "\nBeside peers: {} hosts, {} TCP connections, {MICROSECONDS} us\n\n{:>10}{:>18}{:>8}{:>22}{:>10}\n",
            first["hosts"], first["flows"], "", "hops, M per s", "ratio", "goodput, Gbit/s", "drops"
        );
    }
    for row in rows() {
        let (speed, ratio, goodput) = (number(&row["packet_hops_per_s"]) / 1e6, number(&row["ratio"]), number(&row["goodput_bps"]) / 1e9);
        let drops = number(&row["drops"]);
        text += &format!("{:>10}{speed:>18.3}{ratio:>8.1}{goodput:>22.1}{drops:>10}\n", row["name"].as_str().unwrap_or(""));
    }
    for line in result["left_out"].as_array().into_iter().flatten() {
        text += &format!("{}\n", line.as_str().unwrap_or(""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_tree_has_100_000_connections() {
        let Size { hosts, flows, .. } = Size::of(16);
        assert_eq!((hosts, flows), (1024, 100_000));
        assert!(scenario(Size::of(4)).contains("count = 1562"));
        assert!(matches!(run(3, None, true), Err(Failure::Usage(_))));
    }

    #[test]
    fn the_table_has_a_row_for_each_side_and_peer() {
        let side = json!({"start_up_s": 1.5, "peak_bytes": 2e9, "bytes_per_flow": 9876, "cpu_s": 20});
        let row = |name: &str, speed, ratio| json!({"name": name, "hosts": 16, "flows": 160, "packet_hops_per_s": speed, "ratio": ratio, "goodput_bps": 110.0e9, "drops": 7});
        let peers = json!([row("ours", 9e6, 1.0), row("ns-3", 1.5e5, 60.0)]);
        let left_out = json!(["htsim is left out: it is not built"]);
        let result = json!({
            "hosts": 16, "flows": 1562, "packet_hops_per_s": 5e6, "engine": side, "command": side, "peers": peers, "left_out": left_out
        });
        let text = table(&result);
        assert!(text.contains("5.00") && text.contains("9.88"), "{text}");
        assert!(text.contains("ns-3             0.150    60.0                 110.0         7"), "{text}");
        assert!(text.ends_with("htsim is left out: it is not built\n"), "{text}");
    }
}
