//! What several steps do with files below `target/package`.

use crate::cargo::{root, succeed};
use crate::failure::Failure;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the first scenario with a command that was built here.
pub fn runs(tidegate: &Path) -> Result<(), Failure> {
    let mut command = Command::new(tidegate);
    succeed(command.args(["run", "scenarios/quickstart.toml", "--json"]).current_dir(root()).stdout(Stdio::null()))
}

/// Makes a folder, if it is not there.
pub fn made(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))
}

/// A file could not be written.
pub fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}
