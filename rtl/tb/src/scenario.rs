//! The scenarios: what the design and its model are put through.

use crate::bench::{Bench, Drive};
use crate::design::Design;
use crate::engine::Engine;
use crate::mismatch::{Checked, Mismatch};
use std::path::PathBuf;

mod orders;
mod published;
mod traffic;

/// A design and what it is said to be.
#[derive(Clone, Debug)]
pub struct Setup {
    pub library: PathBuf,
    pub engine: Engine,
    /// How many streams it has.
    pub streams: usize,
    /// Where the waveform of the last run goes.
    pub trace: Option<PathBuf>,
}

impl Setup {
    /// A bench with a new design.
    ///
    /// # Errors
    /// If the library holds no such design.
    pub fn bench(&self, seed: u64) -> Result<Bench, Failure> {
        let Setup { library, engine, streams, trace } = self;
        let design = Design::load(library, seed).map_err(Failure::Setup)?;
        Bench::new(design, *engine, *streams, trace.as_deref()).map_err(Failure::Setup)
    }
}

/// What a scenario did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    pub decisions: u64,
    pub cycles: u64,
}

impl Done {
    fn add(&mut self, bench: &Bench) {
        self.decisions += bench.decisions();
        self.cycles += bench.cycles();
    }
}

/// Why a scenario ended early.
#[derive(Debug)]
pub enum Failure {
    /// The design does not do as the model, for this seed.
    Mismatch(Box<Mismatch>, u64),
    /// The library does not hold what it is said to.
    Setup(String),
}

impl Failure {
    fn of(seed: u64) -> impl Fn(Box<Mismatch>) -> Failure {
        move |mismatch| Failure::Mismatch(mismatch, seed)
    }
}

/// One scenario.
pub struct Scenario {
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Runs about so many decisions, or its own number if that is part of it.
    pub run: fn(&Setup, u64, u64) -> Result<Done, Failure>,
}

/// All of them, in the order in which they run.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "random", about: "contracts, arrivals, time, back-pressure and pauses by chance", run: traffic::random },
    Scenario { name: "adversarial", about: "all miss at once, bursts, drops and a host that is slow", run: traffic::adversarial },
    Scenario { name: "shares", about: "published fair shares across the clock's wrap: S5, D2", run: published::shares },
    Scenario { name: "mixtures", about: "published mixtures of shares, deadlines and static priority: D5, D6", run: published::mixtures },
    Scenario { name: "timeline", about: "every SCHEDULE and PRIORITY_UPDATE cycle from LOAD on: S4", run: published::timeline },
    Scenario { name: "orders", about: "what the network delivers, and serial comparison: S1, S2, S3, S6", run: orders::run },
];

/// Runs until the design can be loaded.
fn stop(bench: &mut Bench, outside: bool, time: u64) -> Checked<()> {
    while !bench.is_loading() {
        bench.cycle(Drive { enable: false, outside, time, ready: true, load: None })?;
    }
    // More for the status of the last update, and for what the host has still to be given.
    for _ in 0..64 {
        bench.cycle(Drive { enable: false, outside, time, ready: true, load: None })?;
        if bench.is_drained() {
            return bench.ask(Drive { enable: false, outside, time, ready: true, load: None });
        }
    }
    bench.same("decision", "decisions left when nothing is decided any more", None, true, false)
}
