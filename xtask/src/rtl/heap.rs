//! The lockstep of the engine on a heap with the software.
//!
//! What is compared, and with which traffic, is in `rtl/tb/src/bin/heap`.

use super::Options;
use super::tiled;
use super::verilate::{self, Design, Effort, at_once};
use crate::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A size of the engine.
#[derive(Clone, Copy)]
pub struct Shape {
    pub streams: u32,
    /// How many packets can wait for each stream behind the next one.
    pub depth: u32,
    /// Large levels lie in block RAM.
    pub is_block: bool,
}

impl Shape {
    /// One of so many streams.
    pub const fn new(streams: u32, depth: u32, is_block: bool) -> Shape {
        Shape { streams, depth, is_block }
    }
}

/// What is simulated, and of how many decisions one is made for every one that is asked for: where all streams miss, the large ones are slow, in
/// the simulation and in the scan. They come first, so that no core waits at the end.
const SIZES: &[(Shape, u64)] = &[
    (Shape::new(1024, 16, true), 10),
    (Shape::new(16_384, 2, true), 200),
    (Shape::new(1024, 16, false), 20),
    (Shape::new(64, 4, true), 2),
    (Shape::new(64, 4, false), 1),
    (Shape::new(16, 4, false), 1),
    (Shape::new(4, 2, false), 2),
    (Shape::new(4, 2, true), 4),
];

/// Simulates all of them, then measures cycles per decision of the one with 1,024 streams.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    let rows = at_once(SIZES, |&(shape, share)| {
        let name = format!("heap-{}{}", shape.streams, if shape.is_block { "-block" } else { "" });
        let library = verilate::library(&design(&name, shape, &sources, Effort::Some))?;
        let (is_equal, said) = compare(&bench, &library, shape.streams, &["--decisions", &options.decisions.div_ceil(share).to_string()])?;
        println!("{name:<32}{}", said.trim_end());
        Ok((!is_equal).then_some(name))
    });
    let failed = rows.into_iter().filter_map(Result::transpose).collect::<Result<Vec<String>, Failure>>()?;
    if !failed.is_empty() {
        return Err(Failure::Check(format!("not as the model: {}", failed.join(", "))));
    }
    let library = verilate::library(&design("heap-1024-block", SIZES[0].0, &sources, Effort::Some))?;
    let (is_equal, said) = compare(&bench, &library, SIZES[0].0.streams, &["--cycles", "5000"])?;
    print!("{said}");
    if is_equal { Ok(()) } else { Err(Failure::Check("not as the model under a steady load".to_owned())) }
}

/// The engine of this size, made of these sources.
pub fn design(name: &str, shape: Shape, sources: &BTreeMap<String, String>, effort: Effort) -> Design {
    let parameters = [("Streams", shape.streams), ("Depth", shape.depth), ("Block", u32::from(shape.is_block))];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_string())).to_vec();
    Design { name: name.to_owned(), top: "heap".to_owned(), parameters, sources: sources.clone(), effort }
}

/// The bench, built anew if need be.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn bench() -> Result<PathBuf, Failure> {
    Ok(tiled::bench()?.with_file_name("heap"))
}

/// Runs the bench on one library: whether the design does as the model, and what the bench said.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be run.
pub fn compare(bench: &Path, library: &Path, streams: u32, arguments: &[&str]) -> Result<(bool, String), Failure> {
    let mut command = Command::new(bench);
    command.arg(library).args(["--streams", &streams.to_string()]).args(arguments);
    tiled::said(&mut command)
}
