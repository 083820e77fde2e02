//! The table of engines: the parameters that make their number of streams, and the scenarios that compare them with their model.
//!
//! A new engine with queues inside implements [`crate::queued::Engine`], one with AXI4-Streams has an [`Edge`]; either gets a row here,
//! and a row in `xtask/src/rtl/designs.rs`.

use crate::host::{self, Edge};
use crate::parameters::Parameters;
use crate::queued::{self, Heap, Tiled};
use crate::scenario::OUTSIDE;
use crate::setup::{Run, Scenario};
use crate::timing::Timing;
use tidegate_rtl_model::{Routing, Update};

#[derive(Debug)]
pub struct Row {
    /// Its name on the command line.
    pub name: &'static str,
    /// How it decides, if its queues are outside.
    pub timing: Option<Timing>,
    /// The parameters whose product is the number of streams.
    size: &'static [&'static str],
    pub scenarios: &'static [Scenario],
}

const fn outside(name: &'static str, timing: Option<Timing>) -> Row {
    Row { name, timing, size: &["N"], scenarios: OUTSIDE }
}

const fn inside(name: &'static str, size: &'static [&'static str], scenarios: &'static [Scenario]) -> Row {
    Row { name, timing: None, size, scenarios }
}

pub const ENGINES: &[Row] = &[
    outside("base", Timing::in_steps(Routing::Lattice, Update::InTurn)),
    outside("winner-only", Timing::in_steps(Routing::Winner, Update::InTurn)),
    outside("compute-ahead", Timing::in_steps(Routing::Lattice, Update::Ahead)),
    outside("compute-ahead-winner-only", Timing::in_steps(Routing::Winner, Update::Ahead)),
    outside("exact", Timing::in_steps(Routing::Exact, Update::InTurn)),
    outside("compute-ahead-exact", Timing::in_steps(Routing::Exact, Update::Ahead)),
    outside("speculative", Timing::speculative(Some(1))),
    outside("speculative-as-synthesised", Timing::speculative(None)),
    inside("tiled", &["N", "Rounds"], &[random("a clock, a host and questions by chance", queued::random::<Tiled>)]),
    inside("heap", &["Streams"], &[random("a clock, a host and questions by chance", queued::random::<Heap>), LOADS]),
    inside("sharestreams-axis", &["N"], &[random(EDGE, |setup, seed, most| host::random(setup, Edge::sharestreams(), seed, most))]),
    inside(
        "tiled-axis",
        &["N", "Rounds"],
        &[random(EDGE, |setup, seed, most| host::random(setup, Edge::tiled(&setup.parameters)?, seed, most))],
    ),
    inside("heap-axis", &["Streams"], &[random(EDGE, |setup, seed, most| host::random(setup, Edge::heap(), seed, most))]),
];

const EDGE: &str = "a host at the AXI4-Streams: contracts, packets, decisions, questions";

const LOADS: Scenario =
    Scenario { name: "loads", about: "cycles per decision under several loads", quarters: 4, is_usual: false, run: queued::loads };

/// The only usual scenario of an engine.
const fn random(about: &'static str, run: Run) -> Scenario {
    Scenario { name: "random", about, quarters: 4, is_usual: true, run }
}

impl Row {
    /// The engine of this name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn named(name: &str) -> Result<&'static Row, String> {
        let names = || ENGINES.iter().map(|engine| engine.name).collect::<Vec<_>>().join(", ");
        ENGINES.iter().find(|engine| engine.name == name).ok_or_else(|| format!("there is no engine \"{name}\"; there are {}", names()))
    }

    /// The number of streams of a design with these parameters.
    pub fn streams(&self, parameters: &Parameters) -> Result<usize, String> {
        self.size.iter().try_fold(1, |product, name| Ok(product * parameters.get(name)?))
    }

    /// The scenarios of these names; the usual ones if there are no names.
    ///
    /// # Errors
    /// A name that no scenario has, and those that there are.
    pub fn selected(&self, names: &[&str]) -> Result<Vec<&'static Scenario>, String> {
        if names.is_empty() {
            return Ok(self.scenarios.iter().filter(|scenario| scenario.is_usual).collect());
        }
        let all = || self.scenarios.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
        let find = |name: &&str| {
            let found = self.scenarios.iter().find(|scenario| scenario.name == *name);
            found.ok_or_else(|| format!("{} has no scenario \"{name}\"; it has {}", self.name, all()))
        };
        names.iter().map(find).collect()
    }
}
