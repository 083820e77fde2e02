//! Runs the fuzz targets on the stable compiler for a fixed number of inputs.
//!
//! ```text
//! fuzz [TARGET] [--runs N] [--seed N]
//! ```
//!
//! Every run begins with the kept corpus and goes on with mutations of it from a seeded generator. The same command gives the same inputs on every
//! machine. An input that panics is written to `target/fuzz/`. The run then ends with exit code 1, or with an abort if the panic cannot be caught.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;
use tidegate_fuzz::mutation::Mutator;
use tidegate_fuzz::{TARGETS, Target};

/// The input that is being run, for the panic hook: a panic that may not unwind leaves no other trace.
static CURRENT: Mutex<Option<Input>> = Mutex::new(None);

struct Input {
    target: &'static str,
    number: u64,
    bytes: Vec<u8>,
}

/// What the command line asks for.
struct Options {
    targets: Vec<&'static Target>,
    runs: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    report_panics();
    let mut survived = true;
    for target in &options.targets {
        match run(target, options.runs, options.seed) {
            Ok(passed) => survived &= passed,
            Err(error) => {
                eprintln!("error: {}: the corpus cannot be read: {error}", target.name);
                return ExitCode::from(3);
            }
        }
    }
    ExitCode::from(u8::from(!survived))
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let all_names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    let mut options = Options { targets: TARGETS.iter().collect(), runs: 20_000, seed: 1 };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok()).ok_or(format!("{word} needs a number"));
        match word.as_str() {
            "--runs" => options.runs = number()?,
            "--seed" => options.seed = number()?,
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => options.targets = vec![target],
                None => return Err(format!("there is no target \"{name}\"; the targets are {}", all_names())),
            },
        }
    }
    Ok(options)
}

/// Runs one target up to the first input that panics; false if there was one.
fn run(target: &Target, runs: u64, seed: u64) -> io::Result<bool> {
    let corpus = target.corpus()?;
    let runs = runs.max(corpus.len() as u64);
    let started = Instant::now();
    let mut mutator = Mutator::new(seed, target.longest);
    let (mut accepted, mut megabytes) = (0u64, 0.0);
    for number in 0..runs {
        let input = match corpus.get(number as usize) {
            Some(kept) => kept.clone(),
            None => mutator.mutate(&corpus),
        };
        megabytes += input.len() as f64 * 1e-6;
        *CURRENT.lock().expect("the hook lets go of it") = Some(Input { target: target.name, number, bytes: input.clone() });
        match catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) {
            Ok(is_valid) => accepted += u64::from(is_valid),
            Err(_) => return Ok(false),
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{}: {runs} inputs from {} seeds, {megabytes:.1} MB, {accepted} accepted, {seconds:.1} s", target.name, corpus.len());
    Ok(true)
}

/// Has every panic write the input that caused it.
fn report_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        default(panic);
        if let Ok(mut current) = CURRENT.try_lock()
            && let Some(input) = current.take()
        {
            match keep(&input) {
                Ok(path) => eprintln!("error: {} panicked on input {}, kept as {}", input.target, input.number, path.display()),
                Err(error) => eprintln!("error: {} panicked on input {}, which cannot be kept: {error}", input.target, input.number),
            }
        }
    }));
}

fn keep(input: &Input) -> io::Result<PathBuf> {
    let folder = Path::new("target/fuzz");
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}-{}", input.target, input.number));
    fs::write(&path, &input.bytes)?;
    Ok(path)
}
