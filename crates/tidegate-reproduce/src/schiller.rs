//! Schiller and Gunningberg: a cell-level scheduler in software that shapes every connection and schedules its transfers.
//!
//! The paper prints its figures without their parameters. Those used here fit every sentence about them, and the notes of each figure give them.
//! So the lines of its plots cannot be compared point by point. Gates check what the text says about them, and the numbers of the algorithm's
//! reference model for the same parameters. They check the paper's scheduler on a heap, and compare the planner with that one.
//!
//! | module | holds |
//! |---|---|
//! | `playback` | sources played against a scheduler, and what they sent |
//! | `bounds` | how late a cell is at most |
//! | `mixture` | Figure 3: ten connections of all modes |
//! | `overload` | Figure 4: a transient overload |
//! | `conflicts` | section 4.1: conflict policies and the CDVT |
//! | `minimum` | section 4.5: minimum shares |
//! | `cost` | Figures 5 and 6: what a cell costs |
//! | `shaping` | Figure 6 again: what shaping alone costs |
//! | `transfers` | what section 4.4 claims about fetching cells just in time |

use crate::experiment::{Experiment, Plan};

mod bounds;
mod conflicts;
mod cost;
mod minimum;
mod mixture;
mod overload;
mod playback;
mod shaping;
mod transfers;

/// The paper and its figures.
pub const EXPERIMENT: Experiment = Experiment {
    id: "schiller",
    title: "A cell-level scheduler in software",
    source: "J. Schiller and P. Gunningberg, Feasibility of a Software-based ATM cell-level scheduler with advanced shaping, 1998",
    figures: &[
        Plan { id: "figure-3", effort: 1, run: mixture::run },
        Plan { id: "figure-4", effort: 1, run: overload::run },
        Plan { id: "conflicts", effort: 1, run: conflicts::run },
        Plan { id: "minimum-shares", effort: 5, run: minimum::run },
        Plan { id: "figure-5", effort: 6000, run: cost::many },
        Plan { id: "figure-6", effort: 100, run: cost::few },
        Plan { id: "transfers", effort: 100, run: transfers::run },
    ],
};

#[cfg(test)]
mod tests;
