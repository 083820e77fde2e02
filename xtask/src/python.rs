//! Python packages of pinned versions, in virtual environments below the target directory.

use crate::cargo::{succeed, target_directory};
use crate::debian::{install, starts};
use crate::failure::Failure;
use std::path::PathBuf;
use std::process::Command;

/// A Python package and the version of it that is installed.
pub struct Wheel {
    pub package: &'static str,
    pub version: &'static str,
}

/// A virtual environment. It is made when it is missing or its packages are others.
pub struct PythonEnvironment {
    /// The folder below `target/tools`.
    pub folder: &'static str,
    /// What it has, for messages.
    pub what: &'static str,
    pub wheels: &'static [Wheel],
}

/// A command that succeeds if Python can make virtual environments, and the Debian package that brings it.
const VENV: (&[&str], &str) = (&["python3", "-c", "import ensurepip, venv"], "python3-venv");

impl PythonEnvironment {
    /// Makes sure that its packages are there.
    ///
    /// # Errors
    /// [`Failure::Environment`] if something is missing and cannot be installed; it says what to do.
    pub fn prepare(&self) -> Result<(), Failure> {
        let what = self.what;
        let (test, package) = VENV;
        if !starts(Command::new(test[0]).args(&test[1..])) {
            install(&[package])?;
        }
        let folder = self.path()?;
        // The table is written last, so an installation that was cut short is made again.
        let stamp = folder.join("versions.txt");
        if std::fs::read_to_string(&stamp).is_ok_and(|text| text == self.versions()) {
            println!("{what}: all there");
            return Ok(());
        }
        let requirements: Vec<String> = self.wheels.iter().map(|wheel| format!("{}=={}", wheel.package, wheel.version)).collect();
        let advice = |_| {
            Failure::Environment(format!(
                "{what} could not be installed from https://pypi.org or the index that pip is configured for: python3 -m \
                 venv {0} && {0}/bin/pip install {1}",
                folder.display(),
                requirements.join(" ")
            ))
        };
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(advice)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        succeed(Command::new(folder.join("bin/python")).args(pip).args(&requirements)).map_err(advice)?;
        std::fs::write(&stamp, self.versions()).map_err(Failure::cannot("write", &stamp))
    }

    /// The path of one of its programs, whether it is there or not.
    ///
    /// # Errors
    /// As [`target_directory`].
    pub fn program(&self, name: &str) -> Result<PathBuf, Failure> {
        Ok(self.path()?.join("bin").join(name))
    }

    /// One line per package: its name, a blank, its version.
    pub fn versions(&self) -> String {
        self.wheels.iter().map(|wheel| format!("{} {}\n", wheel.package, wheel.version)).collect()
    }

    /// The version of one package.
    ///
    /// # Panics
    /// If the table does not have it.
    pub fn version(&self, package: &str) -> &'static str {
        self.wheels.iter().find(|wheel| wheel.package == package).map(|wheel| wheel.version).expect("the package is in the table")
    }

    fn path(&self) -> Result<PathBuf, Failure> {
        Ok(target_directory()?.join("tools").join(self.folder))
    }
}
