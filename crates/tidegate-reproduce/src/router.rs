//! A software router: processor, bus and kernel as a network of queues, and the guard of the bus.
//!
//! Of the thesis the table of contents, the captions and the first chapter are known. Its text, its parameters and its numbers are not available, so every
//! figure is our experiment on the question of a caption. Gates are bands that a prototype of the model found and that hold when parameters change
//! by 20 %.
//!
//! | module | holds |
//! |---|---|
//! | `trials` | trials of machines, several at once |
//! | `oracles` | closed forms and transcripts |
//! | `fidelity` | how much of the machine a model needs |
//! | `costs` | what a stage costs, and which resource limits |
//! | `livelock` | interrupts, polling, quotas and feedback |
//! | `systems` | two systems under four kernels, and the guard's efficiency |
//! | `shares` | two conflicts of processor shares |
//! | `buses` | round robin, WF2Q+ and the guard on one bus |
//! | `queues` | receive queues on a PCI Express link, beyond the thesis |

use crate::experiment::{Experiment, Plan};

mod buses;
mod costs;
mod fidelity;
mod livelock;
mod oracles;
mod queues;
mod shares;
mod systems;
mod trials;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "router",
    title: "a software router: receive livelock, shares of the processor, and the guard of the I/O bus",
    source: "a thesis on software routers with the I/O Bus Utilization Guard, of which captions and first chapter are known",
    figures: &[
        Plan { id: "rules", effort: 20, run: oracles::rules },
        Plan { id: "fidelity", effort: 8, run: fidelity::fidelity },
        Plan { id: "regression", effort: 1, run: costs::regression },
        Plan { id: "capacity", effort: 20, run: costs::capacities },
        Plan { id: "livelock", effort: 12, run: livelock::livelock },
        Plan { id: "two-systems", effort: 60, run: systems::two_systems },
        Plan { id: "shares", effort: 20, run: shares::conflicts },
        Plan { id: "bus", effort: 12, run: buses::division },
        Plan { id: "period", effort: 12, run: buses::period },
        Plan { id: "bursts", effort: 60, run: buses::bursts },
        Plan { id: "efficiency", effort: 6, run: systems::efficiency },
        Plan { id: "receive-queues", effort: 6, run: queues::receive_queues },
    ],
};

#[cfg(test)]
mod tests;
