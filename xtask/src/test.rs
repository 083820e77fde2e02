//! `cargo xtask test`: everything that gates, in one order, with one verdict.

use crate::cargo::{captured, cargo, metadata, root, succeed};
use crate::environment::{self, BARE_TARGET};
use crate::failure::Failure;
use crate::steps::{self, Step};
use clap::Parser;
use std::collections::BTreeSet;
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

/// Suites that wait for the clock most of the time: of their eight minutes, one is work. They run beside the others, which give way to them.
const WAITING: [&str; 2] = ["live", "namespaces"];

fn tests() -> Result<(), Failure> {
    let suites = test_suites()?;
    let (waiting, working): (Vec<String>, Vec<String>) = suites.into_iter().partition(|suite| WAITING.contains(&suite.as_str()));
    let named = |suites: &[String]| suites.iter().map(|suite| format!("--test={suite}")).collect::<Vec<_>>();
    let targets = [&["--lib", "--bins", "--examples"].map(str::to_owned)[..], &named(&working)].concat();
    let together = ["test", "--workspace"];
    succeed(cargo().args(together).arg("--no-run").args(&targets).args(named(&waiting)))?;
    let beside = std::thread::spawn(move || captured(cargo().args(together).arg("--no-fail-fast").args(named(&waiting))));
    let mut patient = Command::new("nice");
    patient.current_dir(root()).args(["-n", "10"]).arg(cargo().get_program()).args(together);
    let outcomes = [succeed(patient.arg("--no-fail-fast").args(targets)), succeed(cargo().args(["test", "--workspace", "--doc"]))];
    let (text, outcome) = beside.join().expect("it does not panic");
    println!("{text}");
    // All three have run, so that one run shows everything that is wrong.
    outcomes.into_iter().chain([outcome]).collect()
}

/// The names of the workspace's integration tests, each once.
fn test_suites() -> Result<BTreeSet<String>, Failure> {
    let metadata = metadata()?;
    let targets =
        metadata["packages"].as_array().into_iter().flatten().flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let tests = targets.filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "test")));
    Ok(tests.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect())
}

/// The optimisations of a release come from other parts of the compiler than those of the other tests, and have their own errors. The core is one crate:
/// what optimisation when linking could add does not reach into it, and takes as long again.
fn optimised() -> Result<(), Failure> {
    let suites = ["conformance_*", "guarantees", "textbooks"];
    let mut command = cargo();
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    succeed(command.args(["test", "--release", "--package", "tidegate-core"]).args(suites.map(|suite| format!("--test={suite}"))))
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
    fn every_suite_that_waits_is_one_of_the_workspace() {
        let suites = test_suites().ok().unwrap();
        assert!(WAITING.iter().all(|suite| suites.contains(*suite)) && suites.len() > 50, "{suites:?}");
    }

    #[test]
    fn an_unknown_step_or_option_is_refused() {
        assert_eq!(names(&["--only", "test"]), None);
        assert_eq!(names(&["--only"]), None);
        assert_eq!(names(&["--fast"]), None);
    }
}
