//! `tidegate man` and `tidegate completions`: what packages install beside the command, from the command line as it is parsed.

use crate::failure::Failure;
use crate::present::print;
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Writes a page of section 1 for the command and each of its subcommands, such as `tidegate-live.1`.
pub fn write_pages(command: Command, folder: &Path) -> Result<ExitCode, Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::file(folder, "made", &error))?;
    clap_mangen::generate_to(command, folder).map_err(|error| Failure::file(folder, "written into", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completions of a shell.
pub fn print_completions(mut command: Command, shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "tidegate", &mut script);
    let script = String::from_utf8(script).map_err(|error| Failure::Defect(error.to_string()))?;
    print(&script).map(|()| ExitCode::SUCCESS)
}
