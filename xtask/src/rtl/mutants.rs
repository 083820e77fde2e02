//! Seeded faults: small changes to the design, one at a time, each of which the lockstep bench has to catch.
//!
//! By default one fault is seeded in each file; with `--deep` all are, and with `--design` those of the designs that are named.

use super::fault::Fault;
use super::lockstep::{Pair, bench, pairs};
use super::options::Options;
use super::parallel::at_once;
use super::sources::texts;
use super::verilate::Effort;
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

/// What the bench is told in each step: enough for every fault, which shows within a few thousand decisions.
const TRAFFIC: &[(&str, &[&str])] = &[
    ("lockstep", &["--decisions", "100000", "--scenario", "random", "--scenario", "adversarial", "--scenario", "orders"]),
    ("tiled", &["--decisions", "60000"]),
    ("heap", &["--decisions", "60000"]),
    ("edges", &["--decisions", "20000"]),
];

static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| Fault::list(include_str!("faults/lockstep.diff")));

/// The faults that run with these options, with their numbers.
fn selected(options: &Options) -> Vec<(usize, &'static Fault)> {
    let mut files = BTreeSet::new();
    FAULTS.iter().enumerate().filter(|(_, fault)| options.selects(fault.check, !files.insert(fault.file))).collect()
}

/// Seeds faults and runs the bench.
///
/// # Errors
/// [`Failure::Check`] naming the faults that were not caught, or whose text is not in the design any more.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = texts()?;
    // All texts first: a fault that cannot be seeded is found at once.
    let mutated = FAULTS.iter().map(|fault| fault.seed(&sources)).collect::<Result<Vec<_>, _>>()?;
    let jobs = selected(options);
    let caught = at_once(&jobs, |(number, fault)| {
        let mut sources = sources.clone();
        sources.insert(fault.file.to_owned(), mutated[*number].clone());
        caught_by(fault, &bench, *number, &sources)
    });
    let mut missed = Vec::new();
    println!("{:<18}{:<72}{:<28}caught by", "file", "fault", "design");
    for ((_, fault), check) in jobs.iter().zip(caught) {
        let (check, seconds) = check?;
        println!("{:<18}{:<72}{:<28}{:<13}{seconds:.1} s", fault.file, fault.what, fault.check, check.as_deref().unwrap_or("NOTHING"));
        if check.is_none() {
            missed.push(fault.what);
        }
    }
    println!("{} of {} faults caught; there are {}", jobs.len() - missed.len(), jobs.len(), mutated.len());
    if missed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not caught: {}", missed.join("; ")))) }
}

fn pair(fault: &Fault) -> Result<Pair, Failure> {
    let pair = pairs().find(|pair| pair.name() == fault.check);
    pair.ok_or_else(|| Failure::Check(format!("the fault \"{}\" is seeded in {}, which is no design", fault.what, fault.check)))
}

/// The check that finds the fault, if any does, and the seconds that it took.
fn caught_by(fault: &Fault, bench: &Path, number: usize, sources: &BTreeMap<String, String>) -> Result<(Option<String>, f64), Failure> {
    let begun = Instant::now();
    let pair = pair(fault)?;
    let library = pair.compiled(&format!("mutants/{number}"), sources, Effort::Least)?;
    let traffic = TRAFFIC.iter().find(|(step, _)| *step == pair.variant.step).map_or::<&[&str], _>(&[], |(_, words)| words);
    let outcome = pair.compare(bench, &library, traffic)?;
    Ok((outcome.failed.map(|(check, _)| check), begun.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_can_be_seeded_in_a_design_that_there_is() {
        let sources = texts().ok().unwrap();
        for fault in FAULTS.iter() {
            let mutated = fault.seed(&sources).ok().unwrap();
            assert_ne!(mutated, sources[fault.file], "{}", fault.what);
            assert!(pair(fault).is_ok(), "{}", fault.what);
        }
    }

    #[test]
    fn every_file_with_faults_has_one_by_default() {
        let options = |deep| Options { deep, ..Options::default() };
        let files: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.file).collect();
        let by_default = selected(&options(false));
        assert_eq!(by_default.len(), files.len());
        assert_eq!(selected(&options(true)).len(), FAULTS.len());
    }
}
