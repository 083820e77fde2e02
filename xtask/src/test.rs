//! `cargo xtask test`: everything that gates, in one order, with one verdict.

use crate::cargo::{cargo, root, succeed};
use crate::environment::{self, BARE_TARGET};
use crate::failure::Failure;
use crate::steps::{self, Step};
use clap::Parser;
use std::process::Command;

/// What `cargo xtask test` is told.
#[derive(Parser)]
pub struct Options {
    /// Only this step: environment, format, tidy, clippy, docs, book, no-std, no-live, tests, optimised, contributing, python, licences, unit, rtl
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
}

const STEPS: &[Step<()>] = &[
    Step { name: "environment", proves: "what the tests start is installed", run: |()| environment::prepare() },
    Step { name: "format", proves: "the sources are formatted", run: |()| format() },
    Step { name: "tidy", proves: "crate arrows, headers, dead files and the other house rules", run: |()| crate::tidy::run() },
    Step { name: "clippy", proves: "no compiler or clippy warning in any target", run: |()| clippy() },
    Step { name: "docs", proves: "the documentation builds without a warning", run: |()| docs() },
    Step { name: "book", proves: "the book builds and no link is broken", run: |()| crate::book::run() },
    Step {
        name: "no-std",
        proves: "the core, the cell scheduler and the model of the hardware need no operating system",
        run: |()| no_std(),
    },
    Step { name: "no-live", proves: "everything but `tidegate live` builds without it", run: |()| no_live() },
    Step { name: "tests", proves: "unit, conformance, integration, documentation and short fuzz tests", run: |()| tests() },
    Step { name: "optimised", proves: "the core keeps its laws as it is shipped: compiled for speed", run: |()| optimised() },
    Step { name: "contributing", proves: "the worked example of CONTRIBUTING.md works", run: |()| crate::contributing::run() },
    Step {
        name: "python",
        proves: "the Python package measures what the command measures, and its types hold",
        run: |()| crate::python_package::run(),
    },
    Step { name: "licences", proves: "licences, banned crates and sources of every dependency", run: |()| licences() },
    Step {
        name: "unit",
        proves: "systemd takes the unit of the package, and finds little exposure",
        run: |()| crate::package::check_unit(),
    },
    Step {
        name: "rtl",
        proves: "the hardware decides as the software does, and the rest of `cargo xtask rtl`",
        run: |()| crate::rtl::run(&crate::rtl::Options::default()),
    },
];

/// Runs the steps, or those named with `--only`.
///
/// # Errors
/// [`Failure::Check`] naming the steps that failed; [`Failure::Usage`] for an unknown step.
pub fn run(options: &Options) -> Result<(), Failure> {
    steps::run(&steps::selected(STEPS, &options.only)?, &())
}

fn format() -> Result<(), Failure> {
    succeed(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<(), Failure> {
    succeed(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn docs() -> Result<(), Failure> {
    succeed(cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn no_std() -> Result<(), Failure> {
    let packages = ["tidegate-core", "tidegate-cells", "tidegate-rtl-model"];
    succeed(cargo().arg("check").args(packages.map(|package| format!("--package={package}"))).args(["--target", BARE_TARGET]))
}

fn no_live() -> Result<(), Failure> {
    succeed(cargo().args(["check", "--package=tidegate-cli", "--no-default-features"]))
}

fn tests() -> Result<(), Failure> {
    succeed(cargo().args(["test", "--workspace"]))
}

/// The optimisations of a release come from other parts of the compiler than those of the other tests, and have their own errors.
fn optimised() -> Result<(), Failure> {
    let suites = ["conformance_*", "guarantees", "textbooks"];
    succeed(cargo().args(["test", "--release", "--package", "tidegate-core"]).args(suites.map(|suite| format!("--test={suite}"))))
}

fn licences() -> Result<(), Failure> {
    let program = environment::cargo_deny()?;
    // The advisory database would have to be fetched; the three other checks need only what Cargo has already.
    let mut command = Command::new(program);
    succeed(command.current_dir(root()).args([
        "--workspace",
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Option<Vec<&'static str>> {
        let options = Options::try_parse_from(["test"].iter().chain(arguments)).ok()?;
        steps::selected(STEPS, &options.only).ok().map(|steps| steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn only_selects_steps_in_the_fixed_order() {
        assert_eq!(names(&["--only", "tests", "--only", "format"]), Some(vec!["format", "tests"]));
        assert_eq!(names(&[]).map(|all| all.len()), Some(STEPS.len()));
    }

    #[test]
    fn an_unknown_step_or_option_is_refused() {
        assert_eq!(names(&["--only", "test"]), None);
        assert_eq!(names(&["--only"]), None);
        assert_eq!(names(&["--fast"]), None);
    }
}
