//! How scenarios begin and end.

use crate::bench::{Bench, Drive};
use crate::mismatch::Checked;
use crate::setup::{Done, Failure, Setup};

/// A bench with a new design.
///
/// # Errors
/// If the library holds no such design, or one with queues inside.
pub fn begin(setup: &Setup, seed: u64) -> Result<Bench, Failure> {
    let timing = setup.timing.ok_or_else(|| Failure::Setup("this scenario is one of engines with queues outside".to_owned()))?;
    Ok(Bench::new(setup.design(seed)?, timing, setup.streams, setup.trace.as_deref())?)
}

pub fn done(bench: &Bench) -> Done {
    Done { decisions: bench.decisions(), cycles: bench.cycles(), unhindered: (0, 0) }
}

/// Runs until the design can be loaded, and asks about every stream.
pub fn stop(bench: &mut Bench, outside: bool, time: u64) -> Checked<()> {
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
