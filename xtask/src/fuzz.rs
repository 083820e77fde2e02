//! `cargo xtask fuzz`: the fuzz targets on the stable compiler, for as many inputs as asked. (The tests run 20000 of each.)
//!
//! The inputs are the kept corpus and mutations of it from a seeded generator, so a run is repeatable to the byte. Coverage-guided
//! fuzzing of the same targets needs a nightly compiler and cargo-fuzz: see `fuzz/README.md`.

use crate::cargo::{cargo, succeed};
use crate::failure::Failure;

/// Builds and runs the runner; its options pass through.
///
/// # Errors
/// [`Failure::Check`] if a target crashed or the options are wrong.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "tidegate-fuzz", "--bin", "fuzz", "--"]).args(arguments);
    // A capture reader takes a buffer of 8 MB: from fresh pages it costs nothing, from recycled ones it has to be cleared each time.
    succeed(command.env("MALLOC_MMAP_THRESHOLD_", "1048576"))
}
