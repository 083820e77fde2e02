//! `cargo xtask rtl`: everything that is checked about the hardware design in `rtl/`, in one order, with one verdict.

use crate::failure::Failure;
use crate::steps::{self, Step};
use options::{Options, number};
use std::sync::Mutex;
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

/// Decisions per design by default. The 16-bit clock wraps in them, because runs begin just before it does.
const DECISIONS: u64 = 20_000;
/// Decisions per design with `--deep`.
const DEEP_DECISIONS: u64 = 100_000;

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
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let (names, options) = parse(arguments)?;
    let steps = steps::selected(STEPS, &names)?;
    tools::prepare()?;
    if steps.iter().any(|step| step.name == "place") {
        *options.placement.lock().expect("no step panics") = Some(thread::spawn(place));
    }
    steps::run(&steps, &options)
}

fn parse(arguments: &[String]) -> Result<(Vec<&str>, Options), Failure> {
    let mut names = Vec::new();
    let mut decisions = None;
    let mut options = Options { decisions: DECISIONS, designs: Vec::new(), deep: false, placement: Mutex::default() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| Failure::Usage(format!("{word} needs a value")));
        match word.as_str() {
            "--only" => names.push(value()?.as_str()),
            "--deep" => options.deep = true,
            "--design" => options.designs.push(value()?.clone()),
            "--decisions" => decisions = Some(number(word, value()?)?),
            other => {
                let known = "rtl takes --only STEP, --design NAME, --decisions N, --deep";
                return Err(Failure::Usage(format!("unknown option \"{other}\"; {known}")));
            }
        }
    }
    options.decisions = decisions.unwrap_or(if options.deep { DEEP_DECISIONS } else { DECISIONS });
    if let Some(unknown) = options.designs.iter().find(|name| !lockstep::pairs().any(|pair| pair.name() == **name)) {
        let names: Vec<String> = lockstep::pairs().map(|pair| pair.name()).collect();
        return Err(Failure::Usage(format!("no design is called \"{unknown}\"; there are {}", names.join(", "))));
    }
    Ok((names, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn steps_and_decisions_are_read() {
        let arguments = words("--only lockstep --design base-4 --decisions 100000000 --deep --only lint");
        let (names, options) = parse(&arguments).ok().unwrap();
        assert_eq!(names, ["lockstep", "lint"]);
        assert_eq!((options.decisions, options.deep), (100_000_000, true));
        assert_eq!(options.designs, ["base-4"]);
        let selected: Vec<&str> = steps::selected(STEPS, &names).ok().unwrap().iter().map(|step| step.name).collect();
        assert_eq!(selected, ["lint", "lockstep"]);
    }

    #[test]
    fn nothing_said_means_everything() {
        let (names, options) = parse(&[]).ok().unwrap();
        assert_eq!((options.decisions, options.deep), (DECISIONS, false));
        assert_eq!(steps::selected(STEPS, &names).ok().unwrap().len(), STEPS.len());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["--only", "--decisions", "--decisions 0", "--decisions many", "--fast", "lint"] {
            assert!(matches!(parse(&words(bad)), Err(Failure::Usage(_))), "{bad}");
        }
        let arguments = words("--only simulate");
        let (names, _) = parse(&arguments).ok().unwrap();
        assert!(matches!(steps::selected(STEPS, &names), Err(Failure::Usage(_))));
    }
}
