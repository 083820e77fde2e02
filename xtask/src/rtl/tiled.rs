//! The lockstep of the tiled engine with the software.
//!
//! What is compared, and with which traffic, is in `rtl/tb/src/bin/tiled`.

use super::Options;
use super::verilate::{self, Design};
use crate::Failure;
use crate::cargo::{cargo, output, target_directory};
use std::process::Command;

/// Lanes, rounds, whether the network is a pipelined tree, and of how many decisions one is made for every one that is asked for: the large ones
/// are slow, in the simulation and in the scan.
const SIZES: &[(u32, u32, bool, u64)] = &[
    (8, 2, true, 1),
    (8, 2, false, 1),
    (8, 4, true, 1),
    (8, 4, false, 1),
    (16, 4, true, 2),
    (16, 4, false, 2),
    (4, 32, true, 2),
    (32, 32, true, 10),
];

/// Simulates all of them.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-lockstep"]))?;
    let bench = target_directory()?.join("release/tiled");
    let sources = verilate::sources()?;
    let mut failed = Vec::new();
    for &(lanes, rounds, pipelined, share) in SIZES {
        let name = format!("tiled-{}x{lanes}{}", lanes * rounds, if pipelined { "" } else { "-recirculating" });
        let parameters = [("N", lanes), ("Rounds", rounds), ("Pipelined", u32::from(pipelined))];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_string())).to_vec();
        let library = verilate::library(&Design { name: name.clone(), top: "tiled".to_owned(), parameters, sources: sources.clone() })?;
        let mut command = Command::new(&bench);
        command.arg(library).args(["--lanes", &lanes.to_string(), "--rounds", &rounds.to_string()]);
        command.args(["--decisions", &options.decisions.div_ceil(share).to_string()]);
        let said = command.output().map_err(|error| Failure::Environment(format!("cannot start {}: {error}", bench.display())))?;
        println!("{name:<32}{}", String::from_utf8_lossy(&said.stdout).trim_end());
        if !said.status.success() {
            eprint!("{}", String::from_utf8_lossy(&said.stderr));
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}
