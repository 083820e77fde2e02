//! `cargo xtask`: the repository's tasks, from the gate that every change passes to the benchmarks beside other programs.

use failure::Failure;
use std::process::ExitCode;

mod bench;
mod book;
mod cargo;
mod contributing;
mod environment;
mod failure;
mod fuzz;
mod mutants;
mod rtl;
mod soak;
mod steps;
mod test;
mod tidy;

const HELP: &str = "\
Repository tasks.

Usage: cargo xtask <TASK> [OPTIONS]

Tasks:
  test [--only STEP]...    Install what the tests need, then run everything that gates
  tidy                     Check the rules of layout and style that compilers do not know
  book                     Build the documentation as a book into book/, and check the links of every document
  fuzz [TARGET] [--runs N] [--seed N]
                           Mutate the kept corpus N times per target (20000 unless told) on the stable compiler
  soak [TIMES]             Every property test on 40 times its usual cases, or TIMES times
  reproduce-mutants [NAME]...
                           Seeded faults in the core, each of which a gate of `tidegate reproduce` or a test must catch; `intserv` for
                           those of its experiment
  bench [--json] [--rounds N] [--core N] [--flows N,...] [--only NAME]...
                           Cost per packet beside DPDK, measured alternately
  bench-simulation [--json] [--rounds N] [--connections N,...]
                           Simulated TCP beside ns-3: packet-hops per second of CPU time, measured in turns
  rtl [--only STEP]... [--design NAME]... [--decisions N] [--deep]
                           Check the hardware design: a selection of designs, proofs and faults, with --deep all of them;
                           N decisions per design in lockstep with the software (20000 unless told, 100000 with --deep)
  rtl-reports [--only NAME]... [--seeds N] [--jobs N] [--render]
                           Synthesise, place and route what has changed, N seeds each (5 unless told), and write docs/rtl.md;
                           with --render only write it, from the results that are there

Steps of `test`, in order:
  environment format tidy clippy docs book no-std tests optimised contributing licences rtl

Steps of `rtl`, in order:
  lint formal lockstep tiled heap edges mutants place

Exit codes: 0 done, 1 a check failed, 2 bad input, 3 the environment lacks something
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        None => {
            print!("{HELP}");
            return ExitCode::from(2);
        }
        Some((task, rest)) => match task.as_str() {
            "test" => test::run(rest),
            "tidy" => tidy::run(rest),
            "book" => book::run(rest),
            "fuzz" => fuzz::run(rest),
            "reproduce-mutants" => mutants::run(rest),
            "soak" => soak::run(rest),
            "bench" => bench::run(rest),
            "bench-simulation" => bench::simulation::run(rest),
            "rtl" => rtl::run(rest),
            "rtl-reports" => rtl::reports::run(rest),
            "help" | "--help" | "-h" => {
                print!("{HELP}");
                Ok(())
            }
            other => Err(Failure::Usage(format!(
                "there is no task \"{other}\"; the tasks are test, tidy, book, fuzz, soak, reproduce-mutants, bench, bench-simulation, rtl, rtl-reports"
            ))),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Check(problem)) => {
            eprintln!("error: {problem}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(problem)) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
        Err(Failure::Environment(problem)) => {
            eprintln!("error: {problem}");
            ExitCode::from(3)
        }
    }
}
