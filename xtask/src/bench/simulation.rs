//! `cargo xtask bench-simulation`: packet-hops per second of CPU time of our simulator beside ns-3's, on the same network, in turns.
//!
//! Both run 15 (and other numbers of) TCP connections over one bottleneck, ours from `crates/tidegate-sim/examples/scenario_a.rs`, ns-3 from
//! `benches/peers/dumbbell.cc`. CPU time is that of the whole process, set-up included, as the kernel counts it for children that have ended.

use crate::cargo::{cargo, output, root, target_directory};
use crate::failure::Failure;
use clap::Parser;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds simulated.
const SECONDS: u32 = 20;
/// Runs of ours for one of ns-3, because the kernel counts time coarsely.
const SEEDS: u64 = 10;
/// Ticks per second in which the kernel counts.
const TICKS: f64 = 100.0;
const MODULES: &[&str] =
    &["core", "network", "internet", "point-to-point", "applications", "traffic-control", "stats", "bridge", "nix-vector-routing"];
const INSTALL: &str = "apt-get install build-essential pkg-config libns3-dev";

/// What `cargo xtask bench-simulation` is told.
#[derive(Parser)]
pub struct Options {
    /// Print an array instead of a table
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The numbers of connections
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [15, 50], value_parser = clap::value_parser!(u32).range(1..))]
    connections: Vec<u32>,
}

/// One program's round.
struct Round {
    hops: f64,
    cpu_seconds: f64,
    goodput: f64,
    drops: f64,
}

/// Measures and prints a table, or an array with `--json`.
///
/// # Errors
/// [`Failure::Environment`] without a C++ compiler or ns-3.
pub fn run(options: &Options) -> Result<(), Failure> {
    let &Options { json: is_json, rounds, ref connections } = options;
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-sim", "--example", "scenario_a"]))?;
    let target = target_directory()?;
    let (ours, peer) = (target.join("release/examples/scenario_a"), compile_ns3("dumbbell", &target.join("peers"))?);
    let version = output(Command::new("pkg-config").args(["--modversion", "ns3-core"]))?;
    let build = format!("ns-3 {} as packaged by Debian", version.trim());
    let mut rows = Vec::new();
    for &connections in connections {
        let (mut of_ours, mut of_peer) = (Vec::new(), Vec::new());
        for round in 1..=u64::from(rounds) {
            eprintln!("{connections} connections, round {round} of {rounds}");
            of_ours.push(timed(&ours, [connections.into(), SECONDS.into(), SEEDS], read_ours)?);
            of_peer.push(timed(&peer, [connections.into(), SECONDS.into(), round], read_peer)?);
        }
        let (us, them) = (rate(&mut of_ours), rate(&mut of_peer));
        let entry = |rate: f64, rounds: &[Round]| {
            let mean = |field: fn(&Round) -> f64| rounds.iter().map(field).sum::<f64>() / rounds.len() as f64;
            json!({"packet_hops_per_s": rate, "goodput_bps": mean(|round| round.goodput), "drops": mean(|round| round.drops)})
        };
        rows.push(json!({"connections": connections, "ours": entry(us, &of_ours), "peer": entry(them, &of_peer), "ratio": us / them, "build": build}));
    }
    if is_json {
        println!("{:#}", Value::Array(rows));
    } else {
        print!("{}", table(&rows, &build));
    }
    Ok(())
}

/// Compiles a program of `benches/peers/` that uses ns-3 into a folder.
///
/// # Errors
/// [`Failure::Environment`] without a C++ compiler or ns-3.
pub(super) fn compile_ns3(name: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let missing = || Failure::Environment(format!("a C++ compiler or ns-3 is missing; {INSTALL}"));
    output(Command::new("pkg-config").args(["--modversion", "ns3-core"])).map_err(|_| missing())?;
    std::fs::create_dir_all(folder).map_err(Failure::cannot("make", &folder))?;
    let program = folder.join(name);
    let mut command = Command::new("c++");
    command.arg("-O3").arg(root().join("benches/peers").join(format!("{name}.cc"))).arg("-o").arg(&program);
    command.args(MODULES.iter().map(|module| format!("-lns3-{module}")));
    if command.status().map_err(|_| missing())?.success() { Ok(program) } else { Err(missing()) }
}

/// Runs a program and reads what it prints: one line for each of its runs.
fn timed(program: &Path, arguments: [u64; 3], read: fn(&str) -> Option<[f64; 3]>) -> Result<Round, Failure> {
    let before = cpu_of_children()?;
    let text = output(Command::new(program).args(arguments.map(|argument| argument.to_string())))?;
    let cpu_seconds = cpu_of_children()? - before;
    let runs: Vec<[f64; 3]> = text.lines().filter_map(read).collect();
    if runs.is_empty() || cpu_seconds <= 0.0 {
        return Err(Failure::Check(format!("{} says nothing that is understood: {text}", program.display())));
    }
    let sum = |field: usize| runs.iter().map(|run| run[field]).sum::<f64>();
    let count = runs.len() as f64;
    Ok(Round { hops: sum(0), cpu_seconds, goodput: sum(1) / count, drops: sum(2) / count })
}

/// User and system time of the children that have ended, in seconds.
pub(super) fn cpu_of_children() -> Result<f64, Failure> {
    let lacking = || Failure::Environment("/proc/self/stat, which tells CPU time on Linux, cannot be read".to_owned());
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|_| lacking())?;
    // What follows the name in brackets begins with field 3; 16 and 17 are wanted.
    let rest = text.rsplit_once(") ").ok_or_else(lacking)?.1;
    let ticks: Option<f64> = rest.split(' ').skip(13).take(2).map(|word| word.parse::<f64>().ok()).sum();
    Ok(ticks.ok_or_else(lacking)? / TICKS)
}

/// Hops, goodput in bit/s and drops of a line such as "... (2180123 hops in ... goodput 148.5 Mbit/s, 2506 drops, ...".
fn read_ours(line: &str) -> Option<[f64; 3]> {
    let words: Vec<&str> = line.split([' ', '(', ',']).filter(|word| !word.is_empty()).collect();
    let before = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at.checked_sub(1)?)?.parse::<f64>().ok());
    Some([before("hops")?, before("Mbit/s")? * 1e6, before("drops")?])
}

fn read_peer(line: &str) -> Option<[f64; 3]> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some([value["packet_hops"].as_f64()?, value["goodput"].as_f64()?, value["drops"].as_f64()?])
}

/// The median of the rounds, which it sorts, in packet-hops per second of CPU time.
fn rate(rounds: &mut [Round]) -> f64 {
    rounds.sort_by(|a, b| (a.hops / a.cpu_seconds).total_cmp(&(b.hops / b.cpu_seconds)));
    let median = &rounds[rounds.len() / 2];
    median.hops / median.cpu_seconds
}

fn table(rows: &[Value], build: &str) -> String {
    let mut text =
        format!("TCP over one bottleneck, {SECONDS} s; packet-hops per second of CPU time, set-up included; the peer is {build}\n\n");
    text += &format!("{:>12}{:>14}{:>14}{:>8}{:>26}{:>20}\n", "connections", "ours, M/s", "ns-3, M/s", "ratio", "goodput, Mbit/s", "drops");
    for row in rows {
        let number = |side: &str, name: &str| row[side][name].as_f64().unwrap_or(f64::NAN);
        let pair = |name: &str, unit: f64, digits: usize| {
            format!("{:.digits$} | {:.digits$}", number("ours", name) / unit, number("peer", name) / unit)
        };
        text += &format!(
            "{:>12}{:>14.2}{:>14.3}{:>8.0}{:>26}{:>20}\n",
            row["connections"].to_string(),
            number("ours", "packet_hops_per_s") / 1e6,
            number("peer", "packet_hops_per_s") / 1e6,
            row["ratio"].as_f64().unwrap_or(f64::NAN),
            pair("goodput_bps", 1e6, 2),
            pair("drops", 1.0, 0)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line =
            "12.41 M packet-hops/s (2180123 hops in 0.176 s, 80.6 ns and 1.18 events each); goodput 148.496 Mbit/s, 2506 drops, Jain 0.193";
        assert_eq!(read_ours(line), Some([2_180_123.0, 148_496_000.0, 2506.0]));
        assert_eq!(read_ours("hops"), None);
        let line = r#"{"cpu_s": 1.2, "packet_hops": 199376, "goodput": 134438912, "drops": 609}"#;
        assert_eq!(read_peer(line), Some([199_376.0, 134_438_912.0, 609.0]));
        assert_eq!(read_peer("none"), None);
    }

    #[test]
    fn rates_are_medians() {
        let round = |cpu_seconds| Round { hops: 12.0, cpu_seconds, goodput: 0.0, drops: 0.0 };
        assert_eq!(rate(&mut [round(1.0), round(6.0), round(3.0)]), 4.0);
    }
}
