//! What the machine must have before the tests can run, and how to get it: Debian packages, Rust components, a Python package, cargo-deny,
//! mdBook.
//!
//! What is there already is left alone. What is missing is installed when this runs as root on a machine with `apt-get`; otherwise the
//! error says what to install.

use crate::cargo::{output, root, succeed, target_directory};
use crate::debian::{install, is_in, search_path, starts};
use crate::failure::Failure;
use crate::python::{PythonEnvironment, Wheel};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that the tests start.
struct Tool {
    /// Any one of these on the path will do.
    programs: &'static [&'static str],
    /// The Debian package that brings the first of them.
    package: &'static str,
    /// What the tests do with it.
    purpose: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { programs: &["ip"], package: "iproute2", purpose: "network namespaces for the live tests" },
    Tool { programs: &["sysctl"], package: "procps", purpose: "quiet interfaces in those namespaces" },
    Tool { programs: &["iperf3"], package: "iperf3", purpose: "TCP load for the live tests" },
    Tool { programs: &["ethtool"], package: "ethtool", purpose: "offload settings in the live tests" },
    Tool {
        programs: &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
        package: "chromium",
        purpose: "loading the report in a real browser",
    },
];

/// The bare-metal target that the core and the cell scheduler are built for: it has no standard library, so a use of one cannot compile.
pub const BARE_TARGET: &str = "x86_64-unknown-none";

/// The version of cargo-deny that is installed when there is none.
const CARGO_DENY: &str = "0.20.2";

/// The versions of cargo-deb and cargo-cyclonedx that make packages.
const CARGO_DEB: &str = "3.8.0";
const CARGO_CYCLONEDX: &str = "0.5.9";

/// The version of mdBook that the documentation is built with.
const MDBOOK: &str = "0.5.4";

/// The parser with which a test reads the metrics of a bridge: that of the client of Prometheus. The test looks for it in `tools/metrics` of the target directory.
const METRICS: PythonEnvironment = PythonEnvironment {
    folder: "metrics",
    what: "Prometheus' Python client",
    wheels: &[Wheel { package: "prometheus-client", version: "0.26.0" }],
};

/// Makes sure that everything the tests start is there.
///
/// # Errors
/// [`Failure::Environment`] naming what is missing and the command that installs it.
pub fn prepare() -> Result<(), Failure> {
    install_packages(&missing_tools(TOOLS, &search_path()))?;
    install_rust_components()?;
    METRICS.prepare()?;
    if !starts(Command::new("unshare").args(["--net", "true"])) {
        let problem = "this user may not make network namespaces, between which the live tests carry packets; run as root (`sudo -E cargo \
                       xtask test`), in a container with --privileged, or run the other steps with --only";
        return Err(Failure::Environment(problem.to_owned()));
    }
    println!("network namespaces: allowed");
    Ok(())
}

fn missing_tools(tools: &'static [Tool], path: &[PathBuf]) -> Vec<&'static Tool> {
    tools.iter().filter(|tool| !tool.programs.iter().any(|program| is_in(program, path))).collect()
}

fn install_packages(missing: &[&Tool]) -> Result<(), Failure> {
    for tool in missing {
        println!("missing: {} ({})", tool.programs[0], tool.purpose);
    }
    if missing.is_empty() {
        println!("programs: all there");
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    install(&packages)?;
    match missing.iter().find(|tool| !tool.programs.iter().any(|program| is_in(program, &search_path()))) {
        None => Ok(()),
        Some(tool) => Err(Failure::Environment(format!(
            "{} is installed and still there is no {} on the path",
            tool.package,
            tool.programs.join(" or ")
        ))),
    }
}

/// Makes sure that these programs are there, each of which the Debian package beside it brings.
///
/// # Errors
/// As [`install`].
pub fn require(programs: &[(&str, &str)]) -> Result<(), Failure> {
    let missing: Vec<&str> = programs.iter().filter(|(program, _)| !is_in(program, &search_path())).map(|(_, package)| *package).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

fn install_rust_components() -> Result<(), Failure> {
    let mut lacking = Vec::new();
    for (program, component) in [("rustfmt", "rustfmt"), ("cargo-clippy", "clippy")] {
        if !starts(Command::new(program).arg("--version")) {
            lacking.push(component);
        }
    }
    if !lacking.is_empty() {
        rustup(&[&["component", "add"][..], &lacking[..]].concat())?;
    }
    rust_target(BARE_TARGET)?;
    println!("Rust components: all there");
    Ok(())
}

/// Makes sure that there is a standard library for this target, or what stands for one.
///
/// # Errors
/// [`Failure::Environment`] if rustup cannot bring it.
pub fn rust_target(target: &str) -> Result<(), Failure> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
    let is_there = Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir();
    if is_there { Ok(()) } else { rustup(&["target", "add", target]) }
}

/// Runs rustup from the root, so that it acts on the toolchain that `rust-toolchain.toml` pins.
fn rustup(arguments: &[&str]) -> Result<(), Failure> {
    succeed(Command::new("rustup").args(arguments).current_dir(root())).map_err(|_| {
        Failure::Environment(format!("run `rustup {}` in the repository, or give this toolchain the same another way", arguments.join(" ")))
    })
}

/// The cargo-deny to run: the one on the path, or one built into the target directory without the parts that fetch advisories.
///
/// # Errors
/// [`Failure::Environment`] if it can be neither found nor built.
pub fn cargo_deny() -> Result<PathBuf, Failure> {
    if is_in("cargo-deny", &search_path()) {
        return Ok(PathBuf::from("cargo-deny"));
    }
    built("cargo-deny", CARGO_DENY, &[])
}

/// The cargo-deb to run, built into the target directory without a compressor of its own: it starts `xz`.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn cargo_deb() -> Result<PathBuf, Failure> {
    built("cargo-deb", CARGO_DEB, &[])
}

/// The cargo-cyclonedx to run, built into the target directory.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn cargo_cyclonedx() -> Result<PathBuf, Failure> {
    built("cargo-cyclonedx", CARGO_CYCLONEDX, &[])
}

/// The mdBook to run, built into the target directory with the search and without its web server. One on the path may have another version,
/// whose pages and links differ.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn mdbook() -> Result<PathBuf, Failure> {
    built("mdbook", MDBOOK, &["--features", "search"])
}

/// A program built from its crate into the target directory, if it is not there in this version. A debug build takes about a minute of
/// processor time; the release build takes ten times that and does the same.
fn built(name: &str, version: &str, features: &[&str]) -> Result<PathBuf, Failure> {
    let tools = target_directory()?.join("tools");
    let program = tools.join("bin").join(name);
    let is_there = || output(Command::new(&program).arg("--version")).is_ok_and(|text| text.contains(version));
    if !program.is_file() || !is_there() {
        let mut command = crate::cargo::cargo();
        command
            .args(["install", name, "--version", version, "--locked", "--debug", "--no-default-features"])
            .args(features)
            .arg("--root")
            .arg(&tools)
            .env("CARGO_TARGET_DIR", tools.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("RUSTFLAGS");
        succeed(&mut command)
            .map_err(|_| Failure::Environment(format!("{name} could not be built; `cargo install {name}@{version} --locked`")))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_counts_as_missing_only_if_none_of_its_programs_is_there() {
        let directory = std::env::temp_dir().join(format!("tidegate-xtask-environment-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("google-chrome"), "").unwrap();
        let missing: Vec<&str> = missing_tools(TOOLS, std::slice::from_ref(&directory)).iter().map(|tool| tool.package).collect();
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(missing.contains(&"iperf3"));
        assert!(!missing.contains(&"chromium"));
    }
}
