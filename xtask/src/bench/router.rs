//! `cargo xtask bench-router`: events per second of CPU time of the router model beside the simulator's, measured in turns.

use crate::cargo::{cargo, succeed};
use crate::failure::Failure;
use clap::Parser;

/// What `cargo xtask bench-router` is told.
#[derive(Parser)]
pub struct Options {
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Builds the program that measures, and runs it.
///
/// # Errors
/// [`Failure::Check`] if it fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let program = ["run", "--quiet", "--release", "--package", "tidegate-router", "--example", "event_loop", "--"];
    succeed(cargo().args(program).arg(options.rounds.to_string()))
}
