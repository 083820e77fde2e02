//! The lockstep with the software: every variant in every size is simulated beside the device model, `tidegate-rtl-model`.
//!
//! What is compared, and with which traffic, is in `rtl/tb`.

use super::Options;
use super::designs::{self, VARIANTS};
use super::verilate::{self, Design, Effort, at_once};
use crate::Failure;
use crate::cargo::{cargo, output, target_directory};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Those of the designs that the bench compares, by the names that both have for them.
const ENGINES: &[&str] = &["base", "winner-only", "compute-ahead", "compute-ahead-winner-only", "exact", "speculative"];

/// What the bench calls an engine that is built as it is synthesised, without the port that shows every stream.
const AS_SYNTHESISED: &str = "speculative-as-synthesised";

/// Values of parameters that Verilator takes as numbers only.
const NUMBERS: &[(&str, &str)] = &[("dwcs_pkg::Lattice", "0"), ("dwcs_pkg::Exact", "1"), ("dwcs_pkg::Winner", "2")];

/// What the bench did with one design.
pub struct Outcome {
    /// Decisions and clock cycles, if the design does as the model.
    pub decisions: u64,
    pub cycles: u64,
    /// Cycles from one decision to the next when nothing waits.
    pub period: f64,
    /// The check that failed, and all that the bench said.
    pub failed: Option<(String, String)>,
}

/// Simulates all of them.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = verilate::sources()?;
    let compared = VARIANTS.iter().filter(|variant| ENGINES.contains(&variant.name));
    let all: Vec<(&str, u32)> = compared.flat_map(|variant| variant.sizes.iter().map(move |&streams| (variant.name, streams))).collect();
    let small = all.iter().filter(|(engine, streams)| *engine == "speculative" && (options.deep || *streams == 4));
    let sealed: Vec<(&str, u32)> = small.map(|&(_, streams)| (AS_SYNTHESISED, streams)).collect();
    let mut designs = chosen(&[all, sealed].concat(), &options.designs)?;
    // Those that take longest first, so that no core waits at the end.
    designs.sort_by_key(|(engine, streams)| Reverse((*streams, ENGINES.iter().position(|name| name == engine))));
    println!("{:<32}{:>12}{:>14}{:>8}  {:<8}{:>9}{:>9}", "design", "decisions", "cycles", "period", "result", "build s", "run s");
    let rows = at_once(&designs, |(engine, streams)| {
        let row = measured(&bench, engine, *streams, &sources, options.decisions)?;
        println!("{}", row.0);
        Ok(row.1)
    });
    let mut failed = Vec::new();
    for (row, (engine, streams)) in rows.into_iter().zip(&designs) {
        if let Some(said) = row? {
            println!("\n{engine}-{streams}:\n{said}");
            failed.push(format!("{engine}-{streams}"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}

/// The designs with these names, such as `speculative-4`; all of them if none is given.
fn chosen<'a>(all: &[(&'a str, u32)], names: &[String]) -> Result<Vec<(&'a str, u32)>, Failure> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |name: &String| {
        let design = all.iter().find(|(engine, streams)| format!("{engine}-{streams}") == *name);
        design.copied().ok_or_else(|| Failure::Usage(format!("lockstep compares no design \"{name}\"; base-4 is one")))
    };
    names.iter().map(find).collect()
}

/// The row of the table, and what the bench said if the design differs from the model.
fn measured(
    bench: &Path,
    engine: &str,
    streams: u32,
    sources: &BTreeMap<String, String>,
    decisions: u64,
) -> Result<(String, Option<String>), Failure> {
    let begun = Instant::now();
    let name = format!("{engine}-{streams}");
    let library = verilate::library(&design(&name, engine, streams, sources, Effort::Some)?)?;
    let built = begun.elapsed().as_secs_f64();
    let outcome = compare(bench, &library, engine, streams, &["--decisions", &decisions.to_string()])?;
    let Outcome { decisions, cycles, period, failed } = outcome;
    let result = if failed.is_none() { "equal" } else { "DIFFERS" };
    let run = begun.elapsed().as_secs_f64() - built;
    let row = format!("{name:<32}{decisions:>12}{cycles:>14}{period:>8.2}  {result:<8}{built:>9.1}{run:>9.1}");
    Ok((row, failed.map(|(_, said)| said)))
}

/// The design of `engine` for so many streams, made of these sources.
///
/// # Errors
/// [`Failure::Usage`] if there is no such engine.
pub fn design(name: &str, engine: &str, streams: u32, sources: &BTreeMap<String, String>, effort: Effort) -> Result<Design, Failure> {
    let measured = if engine == AS_SYNTHESISED { "speculative" } else { engine };
    let variant = VARIANTS.iter().find(|variant| variant.name == measured);
    let variant = variant.ok_or_else(|| Failure::Usage(format!("there is no design \"{engine}\"")))?;
    let designs::Design { top, mut parameters, .. } = variant.design(streams);
    for (_, value) in &mut parameters {
        if let Some((_, number)) = NUMBERS.iter().find(|(name, _)| name == value) {
            *value = (*number).to_owned();
        }
    }
    if top == "speculative" && engine != AS_SYNTHESISED {
        // A port that the measured design does without: there a host asks.
        parameters.push(("Observed".to_owned(), "1".to_owned()));
    }
    Ok(Design { name: name.to_owned(), top: top.to_owned(), parameters, sources: sources.clone(), effort })
}

/// The bench, built anew if need be.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn bench() -> Result<PathBuf, Failure> {
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-lockstep"]))?;
    Ok(target_directory()?.join("release/tidegate-lockstep"))
}

/// Runs the bench on one library.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be run.
pub fn compare(bench: &Path, library: &Path, engine: &str, streams: u32, options: &[&str]) -> Result<Outcome, Failure> {
    let mut command = Command::new(bench);
    command.arg(library).args(["--engine", engine, "--streams", &streams.to_string()]).args(options);
    let output = command.output().map_err(|error| Failure::Environment(format!("cannot start {}: {error}", bench.display())))?;
    let [said, wrong] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match outcome(&said) {
        outcome if output.status.success() != outcome.failed.is_some() => Ok(outcome),
        _ => Err(Failure::Environment(format!("the bench ended with {}: {said}{wrong}", output.status))),
    }
}

/// Reads what the bench says: a line of words like `name=value` for each scenario, and `failed=check` at the end if the design differs.
fn outcome(said: &str) -> Outcome {
    let mut outcome = Outcome { decisions: 0, cycles: 0, period: 0.0, failed: None };
    for line in said.lines() {
        let words: BTreeMap<&str, &str> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
        let number = |name: &str| words.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
        if let Some(scenario) = words.get("scenario") {
            outcome.decisions += number("decisions");
            outcome.cycles += number("cycles");
            if *scenario == "shares" {
                outcome.period = number("cycles") as f64 / number("decisions").max(1) as f64;
            }
        }
        if let Some(check) = words.get("failed") {
            outcome.failed = Some(((*check).to_owned(), said.to_owned()));
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_a_design_with_numbers_for_parameters() {
        for engine in ENGINES.iter().copied().chain([AS_SYNTHESISED]) {
            let design = design("x", engine, 8, &BTreeMap::new(), Effort::Some).ok().unwrap();
            assert!(design.parameters.iter().all(|(_, value)| value.parse::<u32>().is_ok()), "{engine}: {:?}", design.parameters);
        }
        assert!(design("x", "none", 8, &BTreeMap::new(), Effort::Some).is_err());
    }

    #[test]
    fn designs_are_chosen_by_name() {
        let all = [("base", 4), ("base", 8), ("exact", 8)];
        assert_eq!(chosen(&all, &[]).ok().unwrap(), all);
        assert_eq!(chosen(&all, &["exact-8".to_owned(), "base-4".to_owned()]).ok().unwrap(), [("exact", 8), ("base", 4)]);
        assert!(matches!(chosen(&all, &["base-5".to_owned()]), Err(Failure::Usage(_))));
    }

    #[test]
    fn what_the_bench_says_is_understood() {
        let fine = outcome("scenario=random decisions=7 cycles=90 seconds=0.1\nscenario=shares decisions=10 cycles=30 seconds=0.2\n");
        assert_eq!((fine.decisions, fine.cycles, fine.period), (17, 120, 3.0));
        assert!(fine.failed.is_none());
        let failed = outcome("check \"pop\" failed in cycle 3\n  clock 4\nfailed=pop\n").failed.unwrap();
        assert_eq!((failed.0.as_str(), failed.1.lines().count()), ("pop", 3));
    }
}
