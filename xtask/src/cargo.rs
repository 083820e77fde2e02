//! Running Cargo and other programs from the repository's root, and asking Cargo what the workspace holds.

use crate::failure::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root directory.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one level below the repository's root").to_path_buf()
}

/// The Cargo that runs this task, or the one on the path when the binary is started by hand.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command with its output passed through.
///
/// # Errors
/// [`Failure::Environment`] if the program cannot be started, [`Failure::Check`] if it does not end with 0.
pub fn succeed(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command.status().map_err(|error| Failure::Environment(format!("cannot start `{shown}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::Check(format!("`{shown}` ended with {status}"))) }
}

/// Runs a command beside others. What it was and what it wrote, to be printed once they have ended, and how it ended.
pub fn captured(command: &mut Command) -> (String, Result<(), Failure>) {
    let shown = shown(command);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return (String::new(), Err(Failure::Environment(format!("cannot start `{shown}`: {error}")))),
    };
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let ended = if output.status.success() { Ok(()) } else { Err(Failure::Check(format!("`{shown}` ended with {}", output.status))) };
    (format!("$ {shown}\n{error}{out}"), ended)
}

/// Runs a command and returns what it writes to standard output; what it writes to standard error passes through.
///
/// # Errors
/// [`Failure::Environment`] if the program cannot be started or does not end with 0.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = shown(command);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| Failure::Environment(format!("cannot start `{shown}`: {error}")))?;
    if !output.status.success() {
        return Err(Failure::Environment(format!("`{shown}` ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::Environment(format!("`{shown}` did not write UTF-8")))
}

/// What `cargo metadata` says of the workspace's own packages.
///
/// # Errors
/// [`Failure::Environment`] if Cargo cannot read the workspace.
pub fn metadata() -> Result<Value, Failure> {
    let text = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).map_err(|error| Failure::Environment(format!("cargo metadata is not JSON: {error}")))
}

/// Where Cargo puts what it builds.
///
/// # Errors
/// As [`metadata`].
pub fn target_directory() -> Result<PathBuf, Failure> {
    let metadata = metadata()?;
    let directory = metadata["target_directory"].as_str();
    directory.map(PathBuf::from).ok_or_else(|| Failure::Environment("cargo metadata names no target directory".to_owned()))
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
