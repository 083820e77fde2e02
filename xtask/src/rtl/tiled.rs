//! The lockstep of the tiled engine with the software.
//!
//! What is compared, and with which traffic, is in `rtl/tb/src/bin/tiled`.

use super::Options;
use super::verilate::{self, Design, Effort, at_once};
use crate::Failure;
use crate::cargo::{cargo, output, target_directory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lanes, rounds, whether the network is a pipelined tree, and of how many decisions one is made for every one that is asked for: the large ones
/// are slow, in the simulation and in the scan. They come first, so that no core waits at the end.
const SIZES: &[(u32, u32, bool, u64)] = &[
    (32, 32, true, 10),
    (32, 512, true, 1000),
    (16, 4, true, 2),
    (16, 4, false, 2),
    (8, 2, true, 1),
    (8, 2, false, 1),
    (8, 4, true, 1),
    (8, 4, false, 1),
    (4, 32, true, 2),
];

/// Simulates all of them.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    let rows = at_once(SIZES, |&(lanes, rounds, is_pipelined, share)| {
        let name = format!("tiled-{}x{lanes}{}", lanes * rounds, if is_pipelined { "" } else { "-recirculating" });
        let library = verilate::library(&design(&name, lanes, rounds, is_pipelined, &sources, Effort::Some))?;
        let (is_equal, said) = compare(&bench, &library, lanes, rounds, options.decisions.div_ceil(share))?;
        println!("{name:<32}{}", said.trim_end());
        Ok((!is_equal).then_some(name))
    });
    let failed = rows.into_iter().filter_map(Result::transpose).collect::<Result<Vec<String>, Failure>>()?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}

/// The engine with so many lanes and rounds, made of these sources.
pub fn design(name: &str, lanes: u32, rounds: u32, is_pipelined: bool, sources: &BTreeMap<String, String>, effort: Effort) -> Design {
    let parameters = [("N", lanes), ("Rounds", rounds), ("Pipelined", u32::from(is_pipelined))];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_string())).to_vec();
    Design { name: name.to_owned(), top: "tiled".to_owned(), parameters, sources: sources.clone(), effort }
}

/// The bench, built anew if need be.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn bench() -> Result<PathBuf, Failure> {
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-lockstep"]))?;
    Ok(target_directory()?.join("release/tiled"))
}

/// Runs the bench on one library: whether the design does as the model, and what the bench said.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be run.
pub fn compare(bench: &Path, library: &Path, lanes: u32, rounds: u32, decisions: u64) -> Result<(bool, String), Failure> {
    let mut command = Command::new(bench);
    command.arg(library).args(["--lanes", &lanes.to_string(), "--rounds", &rounds.to_string(), "--decisions", &decisions.to_string()]);
    let output = command.output().map_err(|error| Failure::Environment(format!("cannot start {}: {error}", bench.display())))?;
    let [said, wrong] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match output.status.code() {
        Some(0) => Ok((true, said)),
        Some(1) => Ok((false, said)),
        _ => Err(Failure::Environment(format!("the bench ended with {}: {said}{wrong}", output.status))),
    }
}
