//! Goyal, Jain, Fahmy, Vandalore and Kalyanaraman: minimum rates for TCP over ATM's unspecified bit rate service (GFR).
//!
//! TCP connections of `tidegate-sim` send over AAL5 to one port, where their cells share a link. The port is the core's, with its policers, buffer
//! managers and schedulers: the eight options of the paper's Table 1 are eight settings of one policy. Every run lasts 20 s and is repeated with
//! eight seeds; figures are given with their 95 % confidence intervals.
//!
//! | module | holds |
//! |---|---|
//! | `network` | the network of Figure 2, and what the sources got in it |
//! | `bounds` | what is proven of the sources there |
//! | `report` | the cases that were run, and what their figures have in common |
//! | `equal` | Figure 3: equal shares |
//! | `unequal` | Figures 4 and 5, Table 1: unequal shares |
//! | `untagged` | the notes of Table 1: guarantees for untagged frames |
//! | `beyond` | what the paper does not have |
//! | `decisions` | tags and drops, cell by cell, against the paper's pseudo-code |
//! | `sweep` | what the paper leaves open: thresholds, Z, load, timers, start times |

use crate::experiment::{Experiment, Plan};

mod beyond;
mod bounds;
mod decisions;
mod equal;
mod network;
mod report;
mod sweep;
mod unequal;
mod untagged;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "gfr",
    title: "minimum rates for TCP over ATM: policing, buffer management, scheduling",
    source: "R. Goyal, R. Jain, S. Fahmy, B. Vandalore, S. Kalyanaraman, Design Issues for providing Minimum Rate Guarantees to the ATM Unspecified \
             Bit Rate Service, 1998",
    figures: &[
        Plan { id: "decisions", effort: 2, run: decisions::decisions },
        Plan { id: "figure-3", effort: 32, run: equal::figure_3 },
        Plan { id: "figure-3-open", effort: 52, run: equal::open_settings },
        Plan { id: "figure-4", effort: 16, run: unequal::figure_4 },
        Plan { id: "thresholds", effort: 32, run: sweep::thresholds },
        Plan { id: "utilisation", effort: 32, run: sweep::utilisation },
        Plan { id: "figure-5", effort: 16, run: unequal::figure_5 },
        Plan { id: "table-1", effort: 64, run: unequal::table_1 },
        Plan { id: "clp0", effort: 96, run: untagged::clp0 },
        Plan { id: "today", effort: 64, run: beyond::today },
        Plan { id: "round-trips", effort: 64, run: beyond::round_trips },
        Plan { id: "short-flows", effort: 64, run: beyond::short_flows },
    ],
};

#[cfg(test)]
mod tests;
