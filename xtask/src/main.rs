//! `cargo xtask`: the repository's tasks, from the gate that every change passes to the benchmarks beside other programs.

use clap::{Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

mod bench;
mod bench_live;
mod book;
mod cargo;
mod contributing;
mod debian;
mod environment;
mod failure;
mod fuzz;
mod mutants;
mod notebooks;
mod package;
mod python;
mod python_package;
mod rtl;
mod soak;
mod steps;
mod test;
mod tidy;

/// Repository tasks.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 a check failed, 2 bad input, 3 the environment lacks something";

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need, then run everything that gates
    Test(test::Options),
    /// Sweeps of the Python package on Ray and Dask, whose workers are killed, and a trace in Wireshark
    TestTools,
    /// Check the rules of layout and style that compilers do not know
    Tidy,
    /// Build the documentation as a book into book/, and check the links of every document
    Book,
    /// Mutate the kept corpus N times per target (20000 unless told) on the stable compiler
    Fuzz {
        /// A target, `--runs N`, `--seed N`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Every property test on many times its usual cases
    Soak {
        /// How many times
        #[arg(default_value_t = soak::TIMES, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        times: u32,
    },
    /// A guarded bridge between namespaces under load, changes, flaps, kills, pauses, reloads and scrapes, for this many hours
    SoakLive {
        /// Hours, such as 0.1
        #[arg(default_value_t = 1.0)]
        hours: f64,
        /// Draws what happens
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Seeded faults in the core, each of which a gate of `tidegate reproduce` or a test must catch
    ReproduceMutants {
        /// Only these faults; `aqm`, `intserv` or `router` for those of an experiment
        names: Vec<String>,
    },
    /// Cost per packet beside DPDK, measured alternately
    Bench(bench::Options),
    /// Simulated TCP beside ns-3: packet-hops per second of CPU time, measured in turns
    BenchSimulation(bench::simulation::Options),
    /// `tidegate live` beside the kernel's bridge, HTB and a bare forwarder: frames per second without loss, time per frame (as root)
    BenchLive(bench_live::Options),
    /// The router model's event loop beside the simulator's: events per second of CPU time, measured in turns
    BenchRouter(bench::router::Options),
    /// Build what is given to users, and try it: a Debian package, a static binary, a bill of materials
    Package(package::Options),
    /// Install the Python package in a fresh environment, and execute its notebooks there (minutes: it builds for release)
    Notebooks(notebooks::Options),
    /// Check the hardware design: a selection of designs, proofs and faults, with --deep all of them
    Rtl(rtl::Options),
    /// Synthesise, place and route what has changed, and write docs/rtl.md
    RtlReports(rtl::reports::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Test(options) => test::run(&options),
        Task::TestTools => python_package::run_with_tools(),
        Task::Tidy => tidy::run(),
        Task::Book => book::run(),
        Task::Fuzz { arguments } => fuzz::run(&arguments),
        Task::Soak { times } => soak::run(times),
        Task::SoakLive { hours, seed } => soak::run_live(hours, seed),
        Task::ReproduceMutants { names } => mutants::run(&names),
        Task::Bench(options) => bench::run(&options),
        Task::BenchSimulation(options) => bench::simulation::run(&options),
        Task::BenchLive(options) => bench_live::run(&options),
        Task::BenchRouter(options) => bench::router::run(&options),
        Task::Package(options) => package::run(&options),
        Task::Notebooks(options) => notebooks::run(&options),
        Task::Rtl(options) => rtl::run(&options),
        Task::RtlReports(options) => rtl::reports::run(&options),
    };
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    let (problem, code) = match failure {
        Failure::Check(problem) => (problem, 1),
        Failure::Usage(problem) => (problem, 2),
        Failure::Environment(problem) => (problem, 3),
    };
    eprintln!("error: {problem}");
    ExitCode::from(code)
}
