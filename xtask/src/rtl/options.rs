//! What `cargo xtask rtl` is told, and passes to its steps.

use crate::failure::Failure;
use clap::Parser;
use std::sync::Mutex;
use std::thread::JoinHandle;

#[derive(Parser, Default)]
pub struct Options {
    /// Only this step: lint, formal, lockstep, tiled, heap, edges, mutants, place
    #[arg(long, value_name = "STEP")]
    pub only: Vec<String>,
    /// Only this design, such as `speculative-4`, or its faults; without any those that run by default
    #[arg(long = "design", value_name = "NAME")]
    pub designs: Vec<String>,
    /// Decisions of every design that are compared with the software: 20000 unless told, 100000 with --deep
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub decisions: Option<u64>,
    /// What takes long runs, too
    #[arg(long)]
    pub deep: bool,
    /// The placement, which is under way from the beginning: of one core it takes a minute, and nothing waits for it.
    #[arg(skip)]
    pub placement: Mutex<Option<JoinHandle<Result<String, Failure>>>>,
}

impl Options {
    /// Decisions of every design. The 16-bit clock wraps in them, because runs begin just before it does.
    pub fn decisions(&self) -> u64 {
        self.decisions.unwrap_or(if self.deep { 100_000 } else { 20_000 })
    }

    /// Whether the design of this name takes part.
    pub fn selects(&self, design: &str, is_deep: bool) -> bool {
        if self.designs.is_empty() { self.deep || !is_deep } else { self.designs.iter().any(|name| name == design) }
    }
}
