//! `cargo xtask notebooks`: a fresh virtual environment installs the package from the checkout and executes the notebooks, by two commands as a
//! reader would. It builds the package for release, which takes minutes.
//!
//! `cargo xtask test` runs the cells of the notebooks as well, on the build of the tests, and compares what they print.

use crate::cargo::{root, succeed, target_directory};
use crate::failure::Failure;
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo xtask notebooks` is told.
#[derive(Parser)]
pub struct Options {
    /// Put the executed notebooks in the place of those in the repository
    #[arg(long)]
    write: bool,
}

/// Installs the package in a fresh environment and executes every notebook.
///
/// # Errors
/// [`Failure::Check`] if a command fails, as it does for a cell that raises; [`Failure::Environment`] if a file cannot be written.
pub fn run(options: &Options) -> Result<(), Failure> {
    let folder = target_directory()?.join("notebooks");
    let _was_not_there = fs::remove_dir_all(&folder);
    let environment = folder.join("venv");
    let notebooks = notebooks(&root().join("python/notebooks"))?;
    succeed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let program = |name: &str| Command::new(environment.join("bin").join(name));
    succeed(program("pip").current_dir(root()).args(["install", "--disable-pip-version-check", ".[notebooks]"]))?;
    let mut execute = program("jupyter");
    execute.args(["nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.record_timing=False", "--output-dir"]);
    succeed(execute.current_dir(root()).arg(&folder).args(&notebooks))?;
    for notebook in notebooks.iter().filter(|_| options.write) {
        let executed = folder.join(notebook.file_name().expect("a file of a folder has a name"));
        fs::copy(&executed, notebook).map_err(Failure::cannot("write", notebook))?;
    }
    println!("{} notebooks executed in {}", notebooks.len(), folder.display());
    Ok(())
}

/// The notebooks of a folder.
fn notebooks(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::cannot("read", folder))? {
        let path = entry.map_err(Failure::cannot("read", folder))?.path();
        if path.extension().is_some_and(|extension| extension == "ipynb") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
