//! `cargo xtask soak`: every property test on many times its usual cases, for defects that one random schedule in thousands shows.
//!
//! Everything is compiled for speed, with assertions and overflow checks, because the gate's build would take hours.

use crate::cargo::{cargo, metadata, succeed};
use crate::failure::Failure;
use serde_json::Value;

/// How many times its usual cases every test gets unless something else is asked for.
const TIMES: u32 = 40;
/// What `proptest` takes for its cases, and for those that it may reject, unless its variables say something else.
const USUAL: [(&str, u32); 2] = [("PROPTEST_CASES", 256), ("PROPTEST_MAX_GLOBAL_REJECTS", 1024)];

/// Runs the unit tests of all crates and the integration tests that draw their cases.
///
/// # Errors
/// [`Failure::Usage`] for arguments that are not one number of times, [`Failure::Check`] if a test fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let times = times(arguments)?;
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

fn times(arguments: &[String]) -> Result<u32, Failure> {
    match arguments {
        [] => Some(TIMES),
        [times] => times.parse().ok().filter(|times| (1..=100_000).contains(times)),
        _ => None,
    }
    .ok_or_else(|| Failure::Usage("soak takes how many times its cases each test gets, from 1 to 100000".to_owned()))
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
    fn a_number_of_times_or_none_is_understood() {
        let times = |words: &[&str]| times(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).ok();
        assert_eq!((times(&[]), times(&["3"])), (Some(TIMES), Some(3)));
        assert_eq!([times(&["0"]), times(&["many"]), times(&["1", "2"])], [None; 3]);
    }

    #[test]
    fn tests_that_draw_their_cases_are_found() {
        let found = metadata().map(|metadata| tests_that_draw(&metadata)).unwrap_or_default();
        for test in ["conformance_scheduler", "any_network", "laws"] {
            assert!(found.iter().any(|name| name == test), "{test} is not among {found:?}");
        }
        assert!(!found.iter().any(|name| name == "commands"), "{found:?}");
    }
}
