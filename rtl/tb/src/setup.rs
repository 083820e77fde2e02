//! What a scenario is given, and what it gives back.

use crate::design::Design;
use crate::mismatch::Mismatch;
use crate::parameters::Parameters;
use crate::timing::Timing;
use std::path::PathBuf;

/// A design and what it is said to be.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The shared library of the compiled design.
    pub design: PathBuf,
    /// How it decides, if its queues are outside.
    pub timing: Option<Timing>,
    pub parameters: Parameters,
    pub streams: usize,
    /// Where the waveform of the last run goes.
    pub trace: Option<PathBuf>,
}

impl Setup {
    /// The design before its reset.
    ///
    /// # Errors
    /// If the library holds none.
    pub fn design(&self, seed: u64) -> Result<Design, Failure> {
        Design::load(&self.design, seed).map_err(Failure::Setup)
    }
}

/// What a scenario did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    pub decisions: u64,
    pub cycles: u64,
    /// Decisions that nothing held up, and their cycles.
    pub unhindered: (u64, u64),
}

impl Done {
    pub fn add(&mut self, more: Done) {
        self.decisions += more.decisions;
        self.cycles += more.cycles;
        self.unhindered = (self.unhindered.0 + more.unhindered.0, self.unhindered.1 + more.unhindered.1);
    }
}

/// Why a scenario ended early.
#[derive(Debug)]
pub enum Failure {
    /// The design differs from the model, for this seed.
    Mismatch(Box<Mismatch>, u64),
    /// The library does not hold what it is said to.
    Setup(String),
}

impl Failure {
    /// A difference in the run of this seed.
    pub fn of(seed: u64) -> impl Fn(Box<Mismatch>) -> Failure {
        move |mismatch| Failure::Mismatch(mismatch, seed)
    }
}

impl From<String> for Failure {
    fn from(problem: String) -> Failure {
        Failure::Setup(problem)
    }
}

/// Runs a scenario with a first seed for about this many decisions, or for its own number if that is part of it.
pub type Run = fn(&Setup, u64, u64) -> Result<Done, Failure>;

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
    /// Quarters of the decisions that are asked for.
    pub quarters: u64,
    /// It runs if no scenario is named.
    pub is_usual: bool,
    pub run: Run,
}

/// Runs seed after seed until `decisions` have been made. A run is told its seed, and how many decisions are left.
pub fn until(decisions: u64, first: u64, mut run: impl FnMut(u64, u64) -> Result<Done, Failure>) -> Result<Done, Failure> {
    let mut done = Done::default();
    for seed in first.. {
        if done.decisions >= decisions {
            break;
        }
        let more = run(seed, decisions - done.decisions)?;
        done.add(Done { decisions: more.decisions.max(1), ..more });
    }
    Ok(done)
}
