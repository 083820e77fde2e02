//! `cargo xtask rtl`: everything that is checked about the hardware design in `rtl/`, in one order, with one verdict.

use crate::Failure;
use crate::steps::{self, Step};
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

mod designs;
mod edges;
mod flow;
mod formal;
mod grade;
mod heap;
mod lint;
mod lockstep;
mod mutants;
mod page;
mod plot;
pub mod reports;
mod results;
mod tiled;
mod tools;
mod verilate;

/// What a run passes to its steps.
pub struct Options {
    /// How many decisions of every variant are compared with the software.
    pub decisions: u64,
    /// The designs that are compared in lockstep, or whose faults are seeded, such as `speculative-4`; all of them if none is named.
    pub designs: Vec<String>,
    /// Proofs that take long are made, too.
    pub deep: bool,
    /// The placement, which is under way from the beginning: of one core it takes a minute, and nothing waits for it.
    placement: Mutex<Option<JoinHandle<Result<String, Failure>>>>,
}

/// Enough for the 16-bit clock to wrap, and few enough for every change to pass them.
const DECISIONS: u64 = 100_000;

const STEPS: &[Step<Options>] = &[
    Step { name: "lint", proves: "no warning of Verilator, of the style linter and of the house rules", run: |_| lint::run() },
    Step { name: "formal", proves: "orders, winners, permutations and handshakes, for every input", run: formal::run },
    Step { name: "lockstep", proves: "every variant decides as the software does", run: lockstep::run },
    Step { name: "tiled", proves: "so does the tiled engine, of up to 16,384 streams", run: tiled::run },
    Step { name: "heap", proves: "so does the engine on a heap, of up to 16,384 streams", run: heap::run },
    Step { name: "edges", proves: "engines between AXI4-Streams do as their hosts expect", run: edges::run },
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
    let mut options = Options { decisions: DECISIONS, designs: Vec::new(), deep: false, placement: Mutex::default() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| Failure::Usage(format!("{word} needs a value")));
        match word.as_str() {
            "--only" => names.push(value()?.as_str()),
            "--deep" => options.deep = true,
            "--design" => options.designs.push(value()?.clone()),
            "--decisions" => options.decisions = number(word, value()?)?,
            other => {
                let known = "rtl takes --only STEP, --design NAME, --decisions N, --deep";
                return Err(Failure::Usage(format!("unknown option \"{other}\"; {known}")));
            }
        }
    }
    Ok((names, options))
}

/// A number of at least 1.
fn number(option: &str, text: &str) -> Result<u64, Failure> {
    match text.parse() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Failure::Usage(format!("{option} needs a number of at least 1, not \"{text}\""))),
    }
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
