//! The lockstep with the software: the designs of the table are simulated beside their golden models.
//!
//! What is compared, and with which traffic, is in `rtl/tb`.

use super::design::{Compared, Variant};
use super::designs::VARIANTS;
use super::options::Options;
use super::parallel::at_once;
use super::sources::texts;
use super::verilate::{self, Design, Effort};
use crate::cargo::{cargo, output, target_directory};
use crate::failure::Failure;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// SystemVerilog names of values, where Verilator and the bench take numbers only.
const NUMBERS: &[(&str, &str)] = &[("dwcs_pkg::Lattice", "0"), ("dwcs_pkg::Exact", "1"), ("dwcs_pkg::Winner", "2")];

/// What the bench did with one design.
pub struct Outcome {
    pub decisions: u64,
    pub cycles: u64,
    /// Cycles from one decision to the next when nothing waits, if the bench has measured it.
    pub period: String,
    /// The check that failed, and all that the bench said.
    pub failed: Option<(String, String)>,
}

/// A design of the table in one size.
#[derive(Clone, Copy)]
pub struct Pair {
    pub variant: &'static Variant,
    pub size: &'static Compared,
}

/// All pairs of a design and its model.
pub fn pairs() -> impl Iterator<Item = Pair> {
    VARIANTS.iter().flat_map(|variant| variant.compared.iter().map(move |size| Pair { variant, size }))
}

/// Simulates the designs of one step.
///
/// # Errors
/// [`Failure::Check`] naming those that differ from the model, after what differs has been printed; [`Failure::Environment`] if a tool is
/// missing.
pub fn run(step: &str, options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = texts()?;
    let of_step = pairs().filter(|pair| pair.variant.step == step).count();
    let mut pairs: Vec<Pair> =
        pairs().filter(|pair| pair.variant.step == step && options.selects(&pair.name(), pair.size.is_deep)).collect();
    // Those that take longest first, so that no core waits at the end.
    pairs.sort_by_key(|pair| Reverse(pair.size.streams));
    println!("{:<34}{:>10}{:>13}{:>8}  {:<8}{:>9}{:>9}", "design", "decisions", "cycles", "period", "result", "build s", "run s");
    let rows = at_once(&pairs, |pair| pair.measured(&bench, &sources, options.decisions()));
    if !options.deep && options.designs.is_empty() {
        println!("left to --deep: {} of {of_step} designs", of_step - pairs.len());
    }
    let mut failed = Vec::new();
    for (row, pair) in rows.into_iter().zip(&pairs) {
        if let Some(said) = row? {
            println!("\n{}:\n{said}", pair.name());
            failed.push(pair.name());
        }
    }
    if step == "heap" && options.deep {
        loads(&bench, &sources)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not as the model: {}", failed.join(", ")))) }
}

/// Measures the cycles per decision of the engine by events under several loads.
fn loads(bench: &Path, sources: &BTreeMap<String, String>) -> Result<(), Failure> {
    let Some(pair) = pairs().find(|pair| pair.name() == "heap-1024") else { return Ok(()) };
    let library = pair.compiled(&pair.name(), sources, Effort::Some)?;
    let outcome = pair.compare(bench, &library, &["--scenario", "loads", "--decisions", "5000"])?;
    outcome.failed.map_or(Ok(()), |(_, said)| Err(Failure::Check(format!("not as the model under a steady load: {said}"))))
}

impl Pair {
    /// Such as `base-4`.
    pub fn name(&self) -> String {
        format!("{}-{}", self.variant.name, self.size.streams)
    }

    /// Names and numbers.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let mut parameters = self.variant.design(self.size.streams).parameters;
        parameters.extend(self.size.with.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        numbers(parameters)
    }

    /// The design of these sources as a library, kept under `name`.
    ///
    /// # Errors
    /// As [`verilate::library`].
    pub fn compiled(&self, name: &str, sources: &BTreeMap<String, String>, effort: Effort) -> Result<PathBuf, Failure> {
        let (top, parameters) = (self.variant.top.to_owned(), self.parameters());
        verilate::library(&Design { name: name.to_owned(), top, parameters, sources: sources.clone(), effort })
    }

    /// Prints a row of the table; what the bench said if the design differs from the model.
    fn measured(&self, bench: &Path, sources: &BTreeMap<String, String>, decisions: u64) -> Result<Option<String>, Failure> {
        let begun = Instant::now();
        let name = self.name();
        let library = self.compiled(&name, sources, Effort::Some)?;
        let built = begun.elapsed().as_secs_f64();
        let outcome = self.compare(bench, &library, &["--decisions", &decisions.div_ceil(self.size.share).to_string()])?;
        let Outcome { decisions, cycles, period, failed } = outcome;
        let result = if failed.is_none() { "equal" } else { "DIFFERS" };
        let run = begun.elapsed().as_secs_f64() - built;
        println!("{name:<34}{decisions:>10}{cycles:>13}{period:>8}  {result:<8}{built:>9.1}{run:>9.1}");
        Ok(failed.map(|(_, said)| said))
    }

    /// Runs the bench on a library of this design.
    ///
    /// # Errors
    /// [`Failure::Environment`] if it cannot be run.
    pub fn compare(&self, bench: &Path, library: &Path, options: &[&str]) -> Result<Outcome, Failure> {
        let mut command = Command::new(bench);
        command.arg(library).args(["--engine", self.variant.engine]).args(options);
        command.args(self.parameters().iter().map(|(name, value)| format!("{name}={value}")));
        let output = command.output().map_err(Failure::cannot("start", &bench))?;
        let [said, wrong] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match outcome(&said) {
            outcome if output.status.success() != outcome.failed.is_some() => Ok(outcome),
            _ => Err(Failure::Environment(format!("the bench ended with {}: {said}{wrong}", output.status))),
        }
    }
}

pub fn numbers(mut parameters: Vec<(String, String)>) -> Vec<(String, String)> {
    for (_, value) in &mut parameters {
        if let Some((_, number)) = NUMBERS.iter().find(|(name, _)| name == value) {
            *value = (*number).to_owned();
        }
    }
    parameters
}

/// The bench, built anew if need be.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be built.
pub fn bench() -> Result<PathBuf, Failure> {
    output(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-lockstep"]))?;
    Ok(target_directory()?.join("release/tidegate-lockstep"))
}

/// Reads what the bench says: a line of words like `name=value` for each scenario, and `failed=check` at the end if the design differs. Lines
/// about loads are passed on.
fn outcome(said: &str) -> Outcome {
    let mut outcome = Outcome { decisions: 0, cycles: 0, period: String::new(), failed: None };
    for line in said.lines() {
        let words: BTreeMap<&str, &str> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
        let number = |name: &str| words.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
        if words.contains_key("scenario") {
            outcome.decisions += number("decisions");
            outcome.cycles += number("cycles");
            outcome.period = words.get("period").map_or(outcome.period, |period| (*period).to_owned());
        } else if words.contains_key("load") {
            println!("{line}");
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
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_has_a_name_of_its_own_and_numbers_for_parameters() {
        let names: BTreeSet<String> = pairs().map(|pair| pair.name()).collect();
        assert_eq!(names.len(), pairs().count());
        for pair in pairs() {
            assert!(pair.parameters().iter().all(|(_, value)| value.parse::<u32>().is_ok()), "{}: {:?}", pair.name(), pair.parameters());
        }
    }

    /// What runs by default has every engine of the bench in it.
    #[test]
    fn every_engine_is_compared_by_default() {
        for variant in VARIANTS.iter().filter(|variant| variant.name != "compute-ahead-exact") {
            assert!(pairs().any(|pair| pair.variant.engine == variant.engine && !pair.size.is_deep), "{}", variant.engine);
        }
    }

    #[test]
    fn what_the_bench_says_is_understood() {
        let fine =
            outcome("scenario=random decisions=7 cycles=90 seconds=0.1\nscenario=shares decisions=10 cycles=30 period=3.00 seconds=0.2\n");
        assert_eq!((fine.decisions, fine.cycles, fine.period.as_str()), (17, 120, "3.00"));
        assert!(fine.failed.is_none());
        let failed = outcome("check \"pop\" failed in cycle 3\n  clock 4\nfailed=pop\n").failed.unwrap();
        assert_eq!((failed.0.as_str(), failed.1.lines().count()), ("pop", 3));
    }
}
