//! `cargo xtask soak`: every property test on many times its usual cases, for defects that one random schedule in thousands shows.
//!
//! Everything is compiled for speed, with assertions and overflow checks, because the gate's build would take hours.

use crate::cargo::{cargo, metadata, succeed};
use crate::failure::Failure;
use serde_json::Value;

/// How many times its usual cases every test gets unless something else is asked for.
pub const TIMES: u32 = 40;
/// What `proptest` takes for its cases, and for those that it may reject, unless its variables say something else.
const USUAL: [(&str, u32); 2] = [("PROPTEST_CASES", 256), ("PROPTEST_MAX_GLOBAL_REJECTS", 1024)];

/// Runs the unit tests of all crates and the integration tests that draw their cases.
///
/// # Errors
/// [`Failure::Check`] if a test fails.
pub fn run(times: u32) -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["test", "--profile", "soak", "--no-fail-fast", "--workspace", "--lib"]);
    for test in tests_that_draw(&metadata()?) {
        command.args(["--test", &test]);
    }
    for (variable, usual) in USUAL {
        command.env(variable, (times * usual).to_string());
    }
    println!("every property test on {times} times its cases");
    succeed(&mut command)
}

/// Runs the soak of a live bridge for this many hours.
///
/// # Errors
/// [`Failure::Usage`] for less than a second or more than a year; [`Failure::Check`] if it does not survive.
pub fn run_live(hours: f64, seed: u64) -> Result<(), Failure> {
    let seconds = hours * 3600.0;
    if !(1.0..=365.0 * 86_400.0).contains(&seconds) {
        return Err(Failure::Usage(format!("{hours} hours: a soak takes from a second to a year")));
    }
    crate::environment::prepare()?;
    let mut command = cargo();
    command.args(["test", "--release", "--package", "tidegate-cli", "--test", "live", "soak::", "--", "--nocapture"]);
    command.env("TIDEGATE_SOAK_SECONDS", format!("{seconds:.0}")).env("TIDEGATE_SOAK_SEED", seed.to_string());
    succeed(&mut command)
}

/// The names of the integration tests whose sources speak of `proptest`.
fn tests_that_draw(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let draws = |target: &&Value| {
        let source = target["src_path"].as_str().and_then(|path| std::fs::read_to_string(path).ok());
        target["kind"][0] == "test" && source.is_some_and(|source| source.contains("proptest"))
    };
    targets.filter(draws).filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_draw_their_cases_are_found() {
        let found = metadata().map(|metadata| tests_that_draw(&metadata)).unwrap_or_default();
        for test in ["conformance_scheduler", "any_network", "laws"] {
            assert!(found.iter().any(|name| name == test), "{test} is not among {found:?}");
        }
        assert!(!found.iter().any(|name| name == "commands"), "{found:?}");
    }
}
