//! The lockstep bench: a Verilated engine beside its golden model, decision by decision.
//!
//! `cargo xtask rtl` makes the shared library and runs this; by hand it serves to repeat a failure.
//!
//! | file | holds |
//! |---|---|
//! | `engine.rs` | the table of engines and their scenarios |
//! | `bench.cpp`, `design.rs`, `pins.rs` | the Verilated design: its ports and its clock |
//! | `layout.rs`, `reports.rs` | the fields of packed structures |
//! | `bench.rs`, `scenario.rs`, `timing.rs` | engines with queues outside, cycle by cycle |
//! | `queued.rs`, `contracts.rs` | engines with queues inside: tiled, heap |
//! | `host.rs` | engines between AXI4-Streams, as their hosts see them |
//! | `golden.rs`, `standing.rs` | the model of the last two, and what of a stream is compared with it |
//! | `mismatch.rs`, `trace.rs` | what is said of a difference, and the waveform of it |

use engine::Row;
use parameters::Parameters;
use setup::{Failure, Scenario, Setup};
use std::process::ExitCode;
use std::time::Instant;

mod bench;
mod contracts;
mod design;
mod engine;
mod golden;
mod host;
mod layout;
mod mismatch;
mod parameters;
mod pins;
mod queued;
mod random;
mod reports;
mod scenario;
mod setup;
mod standing;
mod timing;
mod trace;

const HELP: &str = "\
A Verilated engine beside its golden model, decision by decision.

Usage: tidegate-lockstep LIBRARY --engine NAME PARAMETER=VALUE... [OPTIONS]

LIBRARY is a design as `cargo xtask rtl` builds it, below target/rtl, with these parameters.

Options:
  --engine NAME     base, winner-only, compute-ahead, compute-ahead-winner-only, exact, compute-ahead-exact, speculative,
                    speculative-as-synthesised (built with Observed = 0: answers to questions are compared), tiled, heap,
                    sharestreams-axis, tiled-axis, heap-axis
  --scenario NAME   Only this one (may be given again): random, and of engines with queues outside adversarial, shares, mixtures,
                    timeline, orders; of the heap loads, which says how many cycles a decision takes
  --decisions N     Decisions of random and adversarial traffic together, or of each load (100000 unless told)
  --seed N          The seed of the first run (1 unless told); the seed of a failure repeats it at once
  --trace FILE      A waveform (VCD) of the ports in the last run, which is the one that fails; of engines with queues outside

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

struct Options {
    engine: &'static Row,
    setup: Setup,
    scenarios: Vec<&'static Scenario>,
    decisions: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() || arguments.iter().any(|word| word == "--help" || word == "-h") {
        print!("{HELP}");
        return if arguments.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    match options(&arguments) {
        Ok(options) => run(&options),
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> ExitCode {
    for scenario in &options.scenarios {
        let begun = Instant::now();
        match (scenario.run)(&options.setup, options.seed, options.decisions * scenario.quarters / 4) {
            Ok(done) => {
                let (name, seconds) = (scenario.name, begun.elapsed().as_secs_f64());
                let (decisions, cycles) = done.unhindered;
                let period = if decisions > 0 { format!(" period={:.2}", cycles as f64 / decisions as f64) } else { String::new() };
                println!("scenario={name} decisions={} cycles={}{period} seconds={seconds:.2}", done.decisions, done.cycles);
            }
            Err(Failure::Mismatch(mismatch, seed)) => {
                let Setup { design: library, parameters, .. } = &options.setup;
                let parameters: Vec<String> = parameters.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
                println!("{mismatch}");
                println!("  scenario \"{}\": {}", scenario.name, scenario.about);
                println!(
                    "  to repeat: tidegate-lockstep {} --engine {} {} --scenario {} --seed {seed}",
                    library.display(),
                    options.engine.name,
                    parameters.join(" "),
                    scenario.name
                );
                println!("failed={}", mismatch.check);
                return ExitCode::from(1);
            }
            Err(Failure::Setup(problem)) => {
                eprintln!("error: {problem}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let (mut library, mut engine, mut trace) = (None, None, None);
    let (mut names, mut parameters, mut decisions, mut seed) = (Vec::new(), Parameters::default(), 100_000, 1);
    let mut rest = arguments.iter();
    let number = |option: &str, value: &str| -> Result<u64, String> {
        value.replace('_', "").parse().map_err(|_| format!("{option} takes a number, not \"{value}\""))
    };
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") {
            if let Some((name, value)) = argument.split_once('=') {
                parameters.0.push((name.to_owned(), number(name, value)? as usize));
            } else if library.replace(argument.into()).is_some() {
                return Err("one library at a time".to_owned());
            }
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{argument} needs a value; see --help"))?;
        match argument.as_str() {
            "--engine" => engine = Some(Row::named(value)?),
            "--decisions" => decisions = number(argument, value)?,
            "--trace" => trace = Some(value.into()),
            "--seed" => seed = number(argument, value)?,
            "--scenario" => names.push(value.as_str()),
            other => return Err(format!("unknown option \"{other}\"; see --help")),
        }
    }
    let library = library.ok_or("the library is missing; see --help")?;
    let engine = engine.ok_or("--engine is missing; see --help")?;
    let streams = engine.streams(&parameters)?;
    if streams < 2 {
        return Err("a design has at least 2 streams".to_owned());
    }
    let scenarios = engine.selected(&names)?;
    Ok(Options { engine, setup: Setup { design: library, timing: engine.timing, parameters, streams, trace }, scenarios, decisions, seed })
}
