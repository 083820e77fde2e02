//! The lockstep bench: a Verilated ShareStreams engine beside the golden model of `tidegate-core`, decision by decision.
//!
//! `cargo xtask rtl` makes the shared library and runs this; by hand it serves to repeat a failure.
//!
//! | file | holds |
//! |---|---|
//! | `bench.cpp`, `design.rs` | the Verilated design: its ports and its clock |
//! | `layout.rs` | where the fields of packed structures lie |
//! | `engine.rs` | the engines, and the golden model of each |
//! | `bench.rs` | the comparison, cycle by cycle |
//! | `scenario.rs` | what both are put through |
//! | `mismatch.rs`, `trace.rs` | what is said if they differ, and the waveform of it |

use scenario::{Failure, SCENARIOS, Scenario, Setup};
use std::process::ExitCode;
use std::time::Instant;

mod bench;
mod design;
mod engine;
mod layout;
mod mismatch;
mod random;
mod scenario;
mod trace;

const HELP: &str = "\
A Verilated engine beside its golden model, decision by decision.

Usage: tidegate-lockstep LIBRARY --engine NAME --streams N [OPTIONS]

LIBRARY is a design as `cargo xtask rtl` builds it, below target/rtl.

Options:
  --engine NAME     base, winner-only, compute-ahead, compute-ahead-winner-only, exact, compute-ahead-exact, speculative,
                    speculative-as-synthesised (built with Observed = 0: answers to questions are compared)
  --streams N       The streams that it is built for
  --scenario NAME   Only this one (may be given again): random, adversarial, shares, mixtures, timeline, orders
  --decisions N     Decisions of random and adversarial traffic together (100000 unless told)
  --seed N          The seed of the first run (1 unless told); the seed of a failure repeats it at once
  --trace FILE      A waveform (VCD) of the ports in the last run, which is the one that fails

Exit codes: 0 the design does as the model, 1 it does not, 2 bad input
";

struct Options {
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
        // Most of what is asked for is random.
        let decisions = match scenario.name {
            "random" => options.decisions - options.decisions / 4,
            _ => options.decisions / 4,
        };
        match (scenario.run)(&options.setup, options.seed, decisions) {
            Ok(done) => {
                let (name, seconds) = (scenario.name, begun.elapsed().as_secs_f64());
                println!("scenario={name} decisions={} cycles={} seconds={seconds:.2}", done.decisions, done.cycles);
            }
            Err(Failure::Mismatch(mismatch, seed)) => {
                let Setup { library, engine, streams, .. } = &options.setup;
                println!("{mismatch}");
                println!("  scenario \"{}\": {}", scenario.name, scenario.about);
                println!(
                    "  to repeat: tidegate-lockstep {} --engine {} --streams {streams} --scenario {} --seed {seed}",
                    library.display(),
                    engine.name,
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
    let (mut library, mut engine, mut streams, mut trace) = (None, None, None, None);
    let (mut scenarios, mut decisions, mut seed) = (Vec::new(), 100_000, 1);
    let mut rest = arguments.iter();
    let number = |option: &str, value: &str| -> Result<u64, String> {
        value.replace('_', "").parse().map_err(|_| format!("{option} takes a number, not \"{value}\""))
    };
    while let Some(argument) = rest.next() {
        if !argument.starts_with("--") {
            if library.replace(argument.into()).is_some() {
                return Err("one library at a time".to_owned());
            }
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{argument} needs a value; see --help"))?;
        match argument.as_str() {
            "--engine" => engine = Some(engine::Engine::named(value)?),
            "--streams" => streams = Some(number(argument, value)? as usize),
            "--decisions" => decisions = number(argument, value)?,
            "--trace" => trace = Some(value.into()),
            "--seed" => seed = number(argument, value)?,
            "--scenario" => {
                let names = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
                let found = SCENARIOS.iter().find(|scenario| scenario.name == value);
                scenarios.push(found.ok_or_else(|| format!("there is no scenario \"{value}\"; there are {}", names()))?);
            }
            other => return Err(format!("unknown option \"{other}\"; see --help")),
        }
    }
    if scenarios.is_empty() {
        scenarios.extend(SCENARIOS);
    }
    let needed = |option: &str| format!("{option} is missing; see --help");
    let setup = Setup {
        library: library.ok_or_else(|| needed("the library"))?,
        engine: engine.ok_or_else(|| needed("--engine"))?,
        streams: streams.filter(|&streams| streams > 1).ok_or_else(|| needed("--streams, at least 2,"))?,
        trace,
    };
    Ok(Options { setup, scenarios, decisions, seed })
}
