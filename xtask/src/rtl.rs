//! `cargo xtask rtl`: everything that is checked about the hardware design in `rtl/`, in one order, with one verdict.

use crate::failure::Failure;
use crate::steps::{self, Step};
pub use options::Options;
use std::thread;

mod design;
mod designs;
mod fault;
mod flow;
mod formal;
mod grade;
mod lint;
mod lockstep;
mod mutants;
mod options;
mod page;
mod parallel;
mod plot;
pub mod reports;
mod results;
mod sources;
mod tools;
mod verilate;

const STEPS: &[Step<Options>] = &[
    Step { name: "lint", proves: "no warning of Verilator, of the style linter and of the house rules", run: lint::run },
    Step { name: "formal", proves: "orders, winners, permutations and handshakes, for every input", run: formal::run },
    Step {
        name: "lockstep",
        proves: "the paper's variants and the speculative engine decide as the software does",
        run: |options| lockstep::run("lockstep", options),
    },
    Step { name: "tiled", proves: "so does the tiled engine", run: |options| lockstep::run("tiled", options) },
    Step { name: "heap", proves: "so does the engine on a heap", run: |options| lockstep::run("heap", options) },
    Step {
        name: "edges",
        proves: "so do engines between AXI4-Streams, as their hosts see them",
        run: |options| lockstep::run("edges", options),
    },
    Step { name: "mutants", proves: "seeded faults are caught", run: mutants::run },
    Step { name: "place", proves: "a small design can be synthesised, placed and routed", run: placed },
];

/// Waits for the placement.
fn placed(options: &Options) -> Result<(), Failure> {
    let placement = options.placement.lock().expect("no step panics").take();
    let placement = placement.map_or_else(place, |begun| begun.join().expect("it does not panic"));
    println!("{}", placement?);
    Ok(())
}

/// The smallest design of the first architecture, as it comes out.
fn place() -> Result<String, Failure> {
    flow::try_out(&designs::VARIANTS[0].design(designs::VARIANTS[0].sizes[0]))
}

/// Installs the tools, then runs the steps, or those named with `--only`.
///
/// # Errors
/// [`Failure::Check`] naming the steps that failed; [`Failure::Usage`] for what is not understood; [`Failure::Environment`] if the tools
/// cannot be installed.
pub fn run(options: &Options) -> Result<(), Failure> {
    let steps = selected(options)?;
    tools::prepare()?;
    if steps.iter().any(|step| step.name == "place") {
        *options.placement.lock().expect("no step panics") = Some(thread::spawn(place));
    }
    steps::run(&steps, options)
}

/// The steps to run, if they and the designs are known.
fn selected(options: &Options) -> Result<Vec<&'static Step<Options>>, Failure> {
    if let Some(unknown) = options.designs.iter().find(|name| !lockstep::pairs().any(|pair| pair.name() == **name)) {
        let names: Vec<String> = lockstep::pairs().map(|pair| pair.name()).collect();
        return Err(Failure::Usage(format!("no design is called \"{unknown}\"; there are {}", names.join(", "))));
    }
    steps::selected(STEPS, &options.only)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn parsed(words: &str) -> Option<(Options, Vec<&'static str>)> {
        let options = Options::try_parse_from(["rtl"].into_iter().chain(words.split_whitespace())).ok()?;
        let steps = selected(&options).ok()?.iter().map(|step| step.name).collect();
        Some((options, steps))
    }

    #[test]
    fn steps_and_decisions_are_read() {
        let (options, steps) = parsed("--only lockstep --design base-4 --decisions 100000000 --deep --only lint").unwrap();
        assert_eq!((options.decisions(), options.deep), (100_000_000, true));
        assert_eq!(options.designs, ["base-4"]);
        assert_eq!(steps, ["lint", "lockstep"]);
    }

    #[test]
    fn nothing_said_means_everything() {
        let (options, steps) = parsed("").unwrap();
        assert_eq!((options.decisions(), options.deep), (20_000, false));
        assert_eq!(steps.len(), STEPS.len());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["--only", "--decisions", "--decisions 0", "--decisions many", "--fast", "lint", "--only simulate", "--design base-5"] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
    }
}
