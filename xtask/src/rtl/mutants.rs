//! Seeded faults: small changes to the design, one at a time, each of which the lockstep bench has to catch.
//!
//! By default one fault is seeded in each file; with `--deep` all are, and with `--design` those of the designs that are named.

use super::lockstep::{Pair, bench, pairs};
use super::options::Options;
use super::parallel::at_once;
use super::sources::texts;
use super::verilate::Effort;
use crate::failure::Failure;
use mutant::Mutant;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

mod edges;
mod events;
mod mutant;
mod streams;
mod tiles;

/// What the bench is told in each step: enough for every fault, which shows within a few thousand decisions.
const TRAFFIC: &[(&str, &[&str])] = &[
    ("lockstep", &["--decisions", "100000", "--scenario", "random", "--scenario", "adversarial", "--scenario", "orders"]),
    ("tiled", &["--decisions", "60000"]),
    ("heap", &["--decisions", "60000"]),
    ("edges", &["--decisions", "20000"]),
];

/// All faults.
fn all() -> impl Iterator<Item = &'static Mutant> {
    streams::MUTANTS.iter().chain(tiles::MUTANTS).chain(events::MUTANTS).chain(edges::MUTANTS)
}

/// The faults that run with these options, with their numbers.
fn selected(options: &Options) -> Vec<(usize, &'static Mutant)> {
    let mut files = BTreeSet::new();
    all().enumerate().filter(|(_, mutant)| options.selects(mutant.design, !files.insert(mutant.file))).collect()
}

/// Seeds faults and runs the bench.
///
/// # Errors
/// [`Failure::Check`] naming the faults that were not caught, or whose text is not in the design any more.
pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = bench()?;
    let sources = texts()?;
    // All texts first: a fault that cannot be seeded is found at once.
    let mutated = all().map(|mutant| mutant.seed(&sources)).collect::<Result<Vec<_>, _>>()?;
    let jobs = selected(options);
    let caught = at_once(&jobs, |(number, mutant)| caught_by(mutant, &bench, *number, &mutated[*number]));
    let mut missed = Vec::new();
    println!("{:<18}{:<72}{:<28}caught by", "file", "fault", "design");
    for ((_, mutant), check) in jobs.iter().zip(caught) {
        let (check, seconds) = check?;
        println!("{:<18}{:<72}{:<28}{:<13}{seconds:.1} s", mutant.file, mutant.fault, mutant.design, check.as_deref().unwrap_or("NOTHING"));
        if check.is_none() {
            missed.push(mutant.fault);
        }
    }
    println!("{} of {} faults caught; there are {}", jobs.len() - missed.len(), jobs.len(), mutated.len());
    if missed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not caught: {}", missed.join("; ")))) }
}

fn pair(mutant: &Mutant) -> Result<Pair, Failure> {
    let pair = pairs().find(|pair| pair.name() == mutant.design);
    pair.ok_or_else(|| Failure::Check(format!("the fault \"{}\" is seeded in {}, which is no design", mutant.fault, mutant.design)))
}

/// The check that finds the fault, if any does, and the seconds that it took.
fn caught_by(mutant: &Mutant, bench: &Path, number: usize, sources: &BTreeMap<String, String>) -> Result<(Option<String>, f64), Failure> {
    let begun = Instant::now();
    let pair = pair(mutant)?;
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
        for mutant in all() {
            let mutated = mutant.seed(&sources).ok().unwrap();
            assert_ne!(mutated[mutant.file], sources[mutant.file], "{}", mutant.fault);
            assert!(pair(mutant).is_ok(), "{}", mutant.fault);
        }
    }

    #[test]
    fn every_file_with_faults_has_one_by_default() {
        let options = |deep| Options { decisions: 1, designs: Vec::new(), deep, placement: std::sync::Mutex::default() };
        let files: BTreeSet<&str> = all().map(|mutant| mutant.file).collect();
        let by_default = selected(&options(false));
        assert_eq!(by_default.len(), files.len());
        assert_eq!(selected(&options(true)).len(), all().count());
    }
}
