//! `cargo xtask package`: what is given to users, below `target/package`: a Debian package, a static binary, a bill of materials.
//!
//! `cargo xtask test` checks the unit file; everything else is built and tried here.

use crate::cargo::{cargo, output, root, succeed};
use crate::environment;
use crate::failure::Failure;
use crate::steps::{self, Step};
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod crates;
mod files;
mod install;
mod system_calls;
mod unit;

use files::{made, not_written, runs};
pub use unit::check as check_unit;

/// What `cargo xtask package` is told.
#[derive(Parser)]
pub struct Options {
    /// Only this step: unit, build, deb, install, static, crates, elsewhere, materials
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Package a debug build, to try the package itself: a release takes minutes
    #[arg(long)]
    debug: bool,
}

/// The standard library for it comes with rustup; a linker for it is not needed.
const ELSEWHERE: &str = "aarch64-apple-darwin";

const STEPS: &[Step<Options>] = &[
    Step { name: "unit", proves: "systemd takes the unit, and its exposure is as low as is promised", run: |_| unit::check() },
    Step { name: "build", proves: "the command builds, with its manual pages and completions", run: build },
    Step { name: "deb", proves: "cargo-deb makes the Debian package", run: deb },
    Step {
        name: "install",
        proves: "the package is installed, and its bridge carries packets as an ordinary user",
        run: |_| install::try_it(&folder()),
    },
    Step { name: "static", proves: "the command builds without shared libraries", run: |_| without_libraries() },
    Step { name: "crates", proves: "`cargo install` works from packed crates alone", run: |_| crates::install(&folder()) },
    Step { name: "elsewhere", proves: "everything but `tidegate live` builds without Linux", run: |_| elsewhere() },
    Step { name: "materials", proves: "the bill of materials names every crate in the command", run: |_| materials() },
];

/// Runs the steps, or those named with `--only`.
///
/// # Errors
/// [`Failure::Check`] naming the steps that failed; [`Failure::Usage`] for an unknown step.
pub fn run(options: &Options) -> Result<(), Failure> {
    steps::run(&steps::selected(STEPS, &options.only)?, options)?;
    println!("what was made is in {}", folder().display());
    Ok(())
}

/// Where the results are. The package's list of files names it, so it does not follow `CARGO_TARGET_DIR`.
fn folder() -> PathBuf {
    root().join("target/package")
}

/// Builds the command, and what it says of itself. The binary is at `target/release/tidegate` in either case, where cargo-deb looks for it.
fn build(options: &Options) -> Result<(), Failure> {
    let profile: &[&str] = if options.debug { &[] } else { &["--release"] };
    let target = root().join("target");
    succeed(cargo().args(["build", "--package=tidegate-cli", "--bin=tidegate"]).args(profile).arg("--target-dir").arg(&target))?;
    let tidegate = target.join("release/tidegate");
    if options.debug {
        made(tidegate.parent().expect("a path of two parts"))?;
        fs::copy(target.join("debug/tidegate"), &tidegate).map_err(|error| not_written(&tidegate, &error))?;
    }
    let (pages, completions) = (folder().join("man"), folder().join("completions"));
    // A page of a command that is gone must not stay.
    let _was_not_there = fs::remove_dir_all(&pages);
    made(&completions)?;
    succeed(Command::new(&tidegate).arg("man").arg(&pages))?;
    for shell in ["bash", "zsh", "fish"] {
        let path = completions.join(format!("tidegate.{shell}"));
        let script = output(Command::new(&tidegate).args(["completions", shell]))?;
        fs::write(&path, script).map_err(|error| not_written(&path, &error))?;
    }
    Ok(())
}

fn deb(_: &Options) -> Result<(), Failure> {
    // cargo-deb asks dpkg-shlibdeps for the libraries that the binary needs.
    environment::require(&[("dpkg-shlibdeps", "dpkg-dev")])?;
    let program = environment::cargo_deb()?;
    let mut command = Command::new(program);
    command.current_dir(root()).args(["--package", "tidegate-cli", "--no-build"]).arg("--output").arg(folder().join("tidegate.deb"));
    succeed(command.env("CARGO_TARGET_DIR", root().join("target")))
}

/// A binary for machines with another libc, or none: with musl where its target is installed, else with a static glibc.
fn without_libraries() -> Result<(), Failure> {
    let triple = |libc: &str| format!("{}-unknown-linux-{libc}", std::env::consts::ARCH);
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
    let installed = |target: &String| Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir();
    let target = Some(triple("musl")).filter(installed).unwrap_or_else(|| triple("gnu"));
    let mut command = cargo();
    command.args(["build", "--release", "--package=tidegate-cli", "--bin=tidegate", "--target", &target]);
    // Flags for a target leave build scripts and macros of the compiler alone.
    succeed(command.env("RUSTFLAGS", "-C target-feature=+crt-static").arg("--target-dir").arg(root().join("target/static")))?;
    let tidegate = folder().join(format!("tidegate-{target}"));
    made(&folder())?;
    fs::copy(root().join("target/static").join(&target).join("release/tidegate"), &tidegate)
        .map_err(|error| not_written(&tidegate, &error))?;
    let linked = Command::new("ldd").arg(&tidegate).output().map_err(|error| Failure::Environment(format!("cannot start ldd: {error}")))?;
    let said = String::from_utf8_lossy(&linked.stdout).into_owned() + &String::from_utf8_lossy(&linked.stderr);
    if !said.contains("statically linked") && !said.contains("not a dynamic executable") {
        return Err(Failure::Check(format!("{} needs shared libraries: {said}", tidegate.display())));
    }
    runs(&tidegate)
}

/// Checks the command for a system that is not Linux.
fn elsewhere() -> Result<(), Failure> {
    environment::rust_target(ELSEWHERE)?;
    succeed(cargo().args(["check", "--package=tidegate-cli", "--bin=tidegate", "--target", ELSEWHERE]))
}

fn materials() -> Result<(), Failure> {
    let program = environment::cargo_cyclonedx()?;
    let mut command = Command::new(program);
    command.current_dir(root()).args([
        "cyclonedx",
        "--manifest-path",
        "crates/tidegate-cli/Cargo.toml",
        "--format",
        "json",
        "--override-filename",
        "bom",
    ]);
    succeed(&mut command)?;
    let mut found = None;
    // It writes beside the manifest of every member of the workspace.
    for folder in [root().join("crates"), root().join("benches"), root().join("rtl"), root()] {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let written = entry.path().join("bom.json");
            if written.is_file() {
                let text = fs::read_to_string(&written).map_err(|error| not_written(&written, &error))?;
                fs::remove_file(&written).map_err(|error| not_written(&written, &error))?;
                found = found.or_else(|| entry.path().ends_with("tidegate-cli").then_some(text));
            }
        }
    }
    let bill = found.ok_or_else(|| Failure::Check("cargo-cyclonedx wrote no bill of materials for tidegate-cli".to_owned()))?;
    made(&folder())?;
    let path = folder().join("tidegate.cdx.json");
    fs::write(&path, &bill).map_err(|error| not_written(&path, &error))?;
    let parsed: serde_json::Value =
        serde_json::from_str(&bill).map_err(|error| Failure::Check(format!("the bill is not JSON: {error}")))?;
    let names: Vec<&str> = parsed["components"].as_array().into_iter().flatten().filter_map(|part| part["name"].as_str()).collect();
    println!("{} components", names.len());
    let lacking: Vec<&str> = ["clap", "tidegate-core", "rustix"].into_iter().filter(|name| !names.contains(name)).collect();
    if lacking.is_empty() { Ok(()) } else { Err(Failure::Check(format!("the bill of materials lacks {}", lacking.join(", ")))) }
}
