//! `cargo xtask bench`: cost per packet of our policers and schedulers beside DPDK's, measured alternately in one run.
//!
//! For every operation and number of flows, all contestants are started and set up. Then they take turns on the same core, one round each.
//! A round takes tens of milliseconds, so that a disturbance hits all of them: medians and ratios hold although absolute figures drift.

use crate::cargo::{cargo, output, root, succeed, target_directory};
use crate::failure::Failure;
use clap::Parser;
use contest::{Contestant, Measurement, measure};
use load::Load;
use std::path::{Path, PathBuf};
use std::process::Command;

mod contest;
mod fabric;
mod load;
pub mod router;
pub mod simulation;
mod table;

/// What `cargo xtask bench` is told.
#[derive(Parser)]
pub struct Options {
    /// Print an array instead of a table
    #[arg(long)]
    json: bool,
    /// Compile both sides for this very processor
    #[arg(long)]
    native: bool,
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The core on which everything is measured
    #[arg(long, value_name = "N", default_value_t = last_core())]
    core: u32,
    /// The numbers of packets that wait in every flow of a scheduler
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1, 16], value_parser = clap::value_parser!(u32).range(1..))]
    backlog: Vec<u32>,
    /// The numbers of flows
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1, 1_024, 65_536, 1_048_576], value_parser = clap::value_parser!(u32).range(1..))]
    flows: Vec<u32>,
    /// Only this operation, or all those of this name before the slash; "calls" alone for set-up and release of calls in the simulator, "fabric" alone for
    /// a large network there
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// With fabric: the ports of each switch of the fat tree; 4 for a quick try
    #[arg(long, value_name = "K", default_value_t = 16)]
    ports: u32,
    /// With fabric: the folder `sim` of a built htsim, to be measured too
    #[arg(long, value_name = "FOLDER")]
    htsim: Option<PathBuf>,
}

fn last_core() -> u32 {
    std::thread::available_parallelism().map_or(0, |count| count.get() as u32 - 1)
}

/// What is measured, beside DPDK except for those of [`WITHOUT_PEERS`].
const GROUPS: [&str; 9] = ["police", "schedule", "buffer", "cells", "admission", "change", "guard", "aqm", "classify"];

/// Operations that DPDK does not have.
const WITHOUT_PEERS: [&str; 5] = ["buffer", "admission", "change", "guard", "classify"];

/// What the names of transitions between policies begin with: they are not on the packet path, and allocate.
const TRANSITION: &str = "transition/";
/// Operations by the beginning of their names, and the most flows with which they are measured: more take gigabytes, or hours.
const MOST_FLOWS: [(&str, u32); 2] = [(TRANSITION, 65_536), ("every-corner", 4096)];

/// What is measured with one packet per flow only: a tree that is compared with another form of itself, one with packets of its own, and flows of one
/// host, whose quanta are so small that a packet takes a turn per byte.
const ONE_PACKET: [&str; 3] = ["subscribers/general-", "subscribers/4x4-", "host-round-robin"];
/// Contestants that start together when they hold more than [`MANY_PACKETS`] each.
const FEW_CONTESTANTS: usize = 12;
/// More packets take a contestant some hundred megabytes, and the peer gigabytes.
const MANY_PACKETS: u64 = 500_000;

/// What measures calls in the simulator; it has no peer and is asked for by name.
const CALLS: &str = "calls";
/// What measures a large network in the simulator; it is asked for by name, too.
const FABRIC: &str = "fabric";

/// Measures the CPU time of calls in the simulator.
fn calls(is_json: bool) -> Result<(), Failure> {
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-sim", "--example", CALLS]))?;
    let text = output(&mut Command::new(target_directory()?.join("release/examples").join(CALLS)))?;
    let rows: Vec<Vec<f64>> = text.lines().map(|line| line.split(',').filter_map(|word| word.parse().ok()).collect()).collect();
    let mut entries = Vec::new();
    for row in &rows {
        let &[permanent, alone, beside, dropped] = &row[..] else {
            return Err(Failure::Check(format!("the benchmark of calls says nothing that is understood: {text}")));
        };
        entries.push(serde_json::json!({"permanent": permanent, "alone_ns": alone, "beside_10_gbps_ns": beside, "dropped": dropped}));
    }
    if is_json {
        println!("{:#}", serde_json::Value::Array(entries));
        return Ok(());
    }
    println!("CPU time per call in the simulator, set-up and release, 100,000 calls per simulated second\n");
    println!("{:>16}{:>12}{:>34}{:>14}", "permanent flows", "alone, ns", "with 10 Gbit/s of packets, ns", "packets lost");
    rows.iter().for_each(|row| println!("{:>16}{:>12}{:>34}{:>14}", row[0], row[1], row[2], row[3]));
    Ok(())
}

/// Builds both sides, measures, and prints a table or, with `--json`, an array.
///
/// # Errors
/// [`Failure::Usage`] for an unknown operation, [`Failure::Environment`] without a C compiler or DPDK, [`Failure::Check`] if the packet
/// path allocated.
pub fn run(options: &Options) -> Result<(), Failure> {
    if options.only == [CALLS] {
        return calls(options.json);
    }
    if options.only == [FABRIC] {
        return fabric::run(options.ports, options.htsim.as_deref(), options.json);
    }
    // The compiler makes the machine busy.
    let conditions = conditions(options);
    let programs = build(options)?;
    let operations = output(Command::new(&programs.ours).arg("list"))?;
    let of_group = |group| operations.lines().filter_map(move |line| line.strip_prefix(group)).map(str::trim);
    let is_meant = |name: &str, only: &str| name == only || name.split('/').next() == Some(only);
    for only in &options.only {
        if !GROUPS.into_iter().flat_map(of_group).any(|name| is_meant(name, only)) {
            let names: Vec<&str> = GROUPS.into_iter().flat_map(of_group).chain([CALLS, FABRIC]).collect();
            return Err(Failure::Usage(format!("no operation is called \"{only}\"; there are {}", names.join(", "))));
        }
    }
    let mut measurements = Vec::new();
    if !options.json {
        println!("{conditions}");
    }
    for group in GROUPS {
        let wanted = |name: &&str| options.only.is_empty() || options.only.iter().any(|only| is_meant(name, only));
        let names: Vec<&str> = of_group(group).filter(wanted).collect();
        for &flows in &options.flows {
            let is_measured = |name: &&str| MOST_FLOWS.iter().all(|(of, most)| flows <= *most || !name.starts_with(of));
            let names: Vec<&str> = names.iter().copied().filter(is_measured).collect();
            let backlogs = if group == "schedule" { &options.backlog[..] } else { &[1] };
            for &backlog in backlogs {
                let load = Load { flows, backlog };
                let is_measured = |name: &&str| backlog == 1 || !ONE_PACKET.iter().any(|prefix| name.starts_with(prefix));
                let names: Vec<&str> = names.iter().copied().filter(is_measured).collect();
                let together = if load.packets() > MANY_PACKETS { FEW_CONTESTANTS } else { usize::MAX };
                for names in names.chunks(together) {
                    let contestants = contestants(group, names, load, &programs, options);
                    eprintln!("{group}, {}: {} contestants, {} rounds each", load.text(), contestants.len(), options.rounds);
                    let measured = measure(group, load, &contestants, options.rounds)?;
                    if !options.json {
                        print!("{}", table::text(&measured));
                    }
                    measurements.extend(measured);
                }
            }
        }
    }
    if options.json {
        println!("{}", table::json(&measurements));
    }
    let on_packet_path = |m: &&Measurement| m.allocations > 0 && !m.name.starts_with(TRANSITION);
    let allocating: Vec<String> = measurements.iter().filter(on_packet_path).map(Measurement::label).collect();
    if allocating.is_empty() {
        Ok(())
    } else {
        Err(Failure::Check(format!("memory was allocated on the packet path of {}", allocating.join(", "))))
    }
}

/// What was built for this run.
struct Programs {
    ours: PathBuf,
    peers: PathBuf,
}

impl Programs {
    /// The program of a group's peers.
    fn peer(&self, group: &str) -> PathBuf {
        self.peers.join(match group {
            "police" => "meter",
            "aqm" => "aqm",
            _ => "sched",
        })
    }
}

fn build(options: &Options) -> Result<Programs, Failure> {
    let target = target_directory()?;
    let peers = target.join("peers");
    std::fs::create_dir_all(&peers).map_err(Failure::cannot("make", &peers))?;
    for name in ["meter", "sched", "aqm"] {
        compile_peer(name, &peers, options.native)?;
    }
    let mut command = cargo();
    command.args(["build", "--quiet", "--release", "--package", "tidegate-bench"]);
    let mut ours = target.join("release");
    if options.native {
        // Other flags make other artefacts: a directory of their own keeps the usual ones warm.
        let native = target.join("native");
        command.env("RUSTFLAGS", "-C target-cpu=native").env("CARGO_TARGET_DIR", &native);
        ours = native.join("release");
    }
    quietly(&mut command)?;
    Ok(Programs { ours: ours.join("tidegate-bench"), peers })
}

/// Compiles one program of `benches/peers/` as DPDK's own build would, or for this very processor.
fn compile_peer(name: &str, folder: &Path, native: bool) -> Result<(), Failure> {
    let lacking = |what: &str| Failure::Environment(format!("{what} is missing; apt-get install build-essential pkg-config dpdk-dev"));
    let flags = |what: &str| output(Command::new("pkg-config").args([what, "libdpdk"])).map_err(|_| lacking("DPDK (libdpdk)"));
    let mut command = Command::new("cc");
    command.args(["-O3", "-Wall", "-Wextra", "-Wno-deprecated-declarations"]).args(flags("--cflags")?.split_whitespace());
    if native {
        command.arg("-march=native");
    }
    command.arg(root().join("benches/peers").join(format!("{name}.c"))).arg("-o").arg(folder.join(name));
    command.args(flags("--libs")?.split_whitespace());
    quietly(&mut command).map_err(|failure| match failure {
        Failure::Environment(_) => lacking("a C compiler"),
        other => other,
    })
}

/// Runs a command whose name would only get between the rows of the table.
fn quietly(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => succeed(command),
        Err(error) => Err(Failure::Environment(format!("cannot start {}: {error}", command.get_program().to_string_lossy()))),
    }
}

fn contestants(group: &str, names: &[&str], load: Load, programs: &Programs, options: &Options) -> Vec<Contestant> {
    let mut all = Vec::new();
    for name in names {
        let mut command = Command::new("taskset");
        command.args(["-c", &options.core.to_string()]).arg(&programs.ours).args([group, name, &load.flows.to_string()]);
        if group == "schedule" {
            command.arg(load.backlog.to_string());
        }
        all.push(Contestant { name: (*name).to_owned(), is_ours: true, command });
    }
    for (name, arguments) in peers(group, load, options) {
        let mut command = Command::new(programs.peer(group));
        command.args(arguments);
        all.push(Contestant { name, is_ours: false, command });
    }
    all
}

/// The peers of a group, with the arguments that make them do the same work.
fn peers(group: &str, load: Load, options: &Options) -> Vec<(String, Vec<String>)> {
    let (flows, core) = (load.flows.to_string(), options.core.to_string());
    if WITHOUT_PEERS.contains(&group) {
        return Vec::new();
    }
    if group == "aqm" {
        let aqms = [(table::RING, "ring"), ("ring, rte_red by colour", "wred"), ("ring, rte_pie", "pie")];
        return aqms.map(|(name, aqm)| (name.to_owned(), vec![flows.clone(), aqm.to_owned(), core.clone()])).to_vec();
    }
    if group != "police" {
        return vec![("rte_sched".to_owned(), vec![flows, load.backlog.to_string(), core])];
    }
    let variants = [("own", "plain"), ("own", "prefetch"), ("shared", "plain"), ("shared", "prefetch")];
    variants
        .map(|(contracts, access)| {
            (format!("rte_meter {contracts} {access}"), vec![flows.clone(), contracts.to_owned(), access.to_owned(), core.clone()])
        })
        .to_vec()
}

/// What a reader must know to judge the figures.
fn conditions(options: &Options) -> String {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("an unknown processor", |rest| rest.trim_start_matches(['\t', ' ', ':']));
    let load = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0);
    let warning = if load > 1.5 {
        format!("\nwarning: the machine is busy with other things (load {load:.1}); trust no figure")
    } else {
        String::new()
    };
    format!(
        "core {} of {model}; both sides compiled {}; median (least-most) of {} alternating rounds{warning}",
        options.core,
        if options.native { "for this processor" } else { "as shipped" },
        options.rounds,
    )
}
