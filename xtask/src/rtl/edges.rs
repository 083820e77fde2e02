//! Engines between AXI4-Streams, as their hosts see them, beside the software.
//!
//! What is compared, and with which traffic, is in `rtl/tb/src/bin/edges`.

use super::Options;
use super::tiled;
use super::verilate::{self, Design, Effort, at_once};
use crate::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An engine with its streaming unit.
pub struct Edge {
    /// What it is called here.
    pub name: &'static str,
    top: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    /// What the bench has to know of it.
    arguments: &'static [&'static str],
    /// Of how many decisions one is made for every one that is asked for.
    share: u64,
}

pub const EDGES: &[Edge] = &[
    Edge {
        name: "edge-heap-1024",
        top: "heap_axis",
        parameters: &[("Streams", "1024"), ("Depth", "4")],
        arguments: &["--engine", "heap", "--streams", "1024", "--depth", "4"],
        share: 10,
    },
    Edge {
        name: "edge-tiled-64",
        top: "tiled_axis",
        parameters: &[("N", "16"), ("Rounds", "4"), ("Depth", "8")],
        arguments: &["--engine", "tiled", "--streams", "64", "--lanes", "16", "--depth", "8"],
        share: 10,
    },
    Edge {
        name: "edge-heap-16",
        top: "heap_axis",
        parameters: &[("Streams", "16"), ("Depth", "4")],
        arguments: &["--engine", "heap", "--streams", "16", "--depth", "4"],
        share: 5,
    },
    Edge {
        name: "edge-tiled-16",
        top: "tiled_axis",
        parameters: &[("N", "8"), ("Rounds", "2"), ("Depth", "4")],
        arguments: &["--engine", "tiled", "--streams", "16", "--lanes", "8", "--depth", "4"],
        share: 5,
    },
    Edge {
        name: "edge-base-8",
        top: "sharestreams_axis",
        parameters: &[("N", "8"), ("Routing", "0"), ("Ahead", "0")],
        arguments: &["--engine", "sharestreams", "--streams", "8", "--depth", "16"],
        share: 5,
    },
    Edge {
        name: "edge-compute-ahead-winner-only-32",
        top: "sharestreams_axis",
        parameters: &[("N", "32"), ("Routing", "2"), ("Ahead", "1")],
        arguments: &["--engine", "sharestreams", "--streams", "32", "--depth", "16"],
        share: 5,
    },
];

/// Simulates all of them.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    let rows = at_once(EDGES, |edge| {
        let library = verilate::library(&edge.design(edge.name, &sources, Effort::Some))?;
        let (is_equal, said) = edge.compare(&bench, &library, options.decisions.div_ceil(edge.share))?;
        println!("{:<36}{}", edge.name, said.trim_end());
        Ok((!is_equal).then_some(edge.name))
    });
    let failed = rows.into_iter().filter_map(Result::transpose).collect::<Result<Vec<&str>, Failure>>()?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}

impl Edge {
    /// The engine, made of these sources.
    pub fn design(&self, name: &str, sources: &BTreeMap<String, String>, effort: Effort) -> Design {
        let parameters = self.parameters.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Design { name: name.to_owned(), top: self.top.to_owned(), parameters, sources: sources.clone(), effort }
    }

    /// Runs the bench on a library of it: whether the design does as the model, and what the bench said.
    ///
    /// # Errors
    /// [`Failure::Environment`] if it cannot be run.
    pub fn compare(&self, bench: &Path, library: &Path, decisions: u64) -> Result<(bool, String), Failure> {
        let mut command = Command::new(bench);
        tiled::said(command.arg(library).args(self.arguments).args(["--decisions", &decisions.to_string()]))
    }
}

/// The bench, built anew if need be.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
fn bench() -> Result<PathBuf, Failure> {
    Ok(tiled::bench()?.with_file_name("edges"))
}
