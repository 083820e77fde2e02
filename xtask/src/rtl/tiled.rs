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

/// A size of the engine.
#[derive(Clone, Copy)]
pub struct Shape {
    pub lanes: u32,
    pub rounds: u32,
    /// The network is a pipelined tree.
    pub is_pipelined: bool,
    /// How many packets can wait for each stream.
    pub depth: u32,
}

impl Shape {
    /// The usual one with so many lanes and rounds.
    pub const fn new(lanes: u32, rounds: u32) -> Shape {
        Shape { lanes, rounds, is_pipelined: true, depth: 16 }
    }

    const fn recirculating(lanes: u32, rounds: u32) -> Shape {
        Shape { is_pipelined: false, ..Shape::new(lanes, rounds) }
    }

    const fn with_depth(self, depth: u32) -> Shape {
        Shape { depth, ..self }
    }
}

/// What is simulated, and of how many decisions one is made for every one that is asked for: the large ones are slow, in the simulation and in
/// the scan. They come first, so that no core waits at the end. That of 16,384 streams is the one that is placed.
const SIZES: &[(Shape, u64)] = &[
    (Shape::new(32, 32), 10),
    (Shape::new(16, 1024).with_depth(2), 1000),
    (Shape::new(16, 4), 2),
    (Shape::recirculating(16, 4), 2),
    (Shape::new(8, 2), 1),
    (Shape::recirculating(8, 2), 1),
    (Shape::new(8, 4), 1),
    (Shape::recirculating(8, 4), 1),
    (Shape::new(4, 32), 2),
];

/// Simulates all of them.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    let rows = at_once(SIZES, |&(shape, share)| {
        let Shape { lanes, rounds, is_pipelined, .. } = shape;
        let name = format!("tiled-{}x{lanes}{}", lanes * rounds, if is_pipelined { "" } else { "-recirculating" });
        let library = verilate::library(&design(&name, shape, &sources, Effort::Some))?;
        let (is_equal, said) = compare(&bench, &library, lanes, rounds, options.decisions.div_ceil(share))?;
        println!("{name:<32}{}", said.trim_end());
        Ok((!is_equal).then_some(name))
    });
    let failed = rows.into_iter().filter_map(Result::transpose).collect::<Result<Vec<String>, Failure>>()?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}

/// The engine of this size, made of these sources.
pub fn design(name: &str, shape: Shape, sources: &BTreeMap<String, String>, effort: Effort) -> Design {
    let Shape { lanes, rounds, is_pipelined, depth } = shape;
    let parameters = [("N", lanes), ("Rounds", rounds), ("Pipelined", u32::from(is_pipelined)), ("Depth", depth)];
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
    said(&mut command)
}

/// Runs a bench: whether the design does as the model, and what the bench said.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be run.
pub fn said(command: &mut Command) -> Result<(bool, String), Failure> {
    let bench = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure::Environment(format!("cannot start {bench}: {error}")))?;
    let [said, wrong] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match output.status.code() {
        Some(0) => Ok((true, said)),
        Some(1) => Ok((false, said)),
        _ => Err(Failure::Environment(format!("the bench ended with {}: {said}{wrong}", output.status))),
    }
}
