//! Active queue management: what RFCs and the examples of ns-3 say of it, on ports of the core and with connections of the simulator.
//!
//! | module | holds |
//! |---|---|
//! | `bottleneck` | the port at which packets wait |
//! | `network` | connections through it |
//! | `report` | rows of results |
//! | `floods` | transcripts, and packets that come whatever is lost |
//! | `standing_queue` | one connection and ten: utilisation against the queue that stands |
//! | `round_trips` | connections of different round-trip times |
//! | `fair_queueing` | a queue per flow: a call, and marks for low latency |
//! | `dual_queue` | DualPI2: classic connections and those of low latency |
//! | `loads` | throughput against delay: the same loads under every AQM |

use crate::experiment::{Experiment, Plan};

mod bottleneck;
mod dual_queue;
mod fair_queueing;
mod floods;
mod loads;
mod network;
mod report;
mod round_trips;
mod standing_queue;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "aqm",
    title: "queues that stay short: what active queue management keeps of its promises",
    source: "RFC 8033 (PIE), RFC 8289 (CoDel), RFC 8290 (FQ-CoDel), RFC 9332 (DualPI2), and an example of ns-3",
    figures: &[
        Plan { id: "rules", effort: 1, run: floods::rules },
        Plan { id: "one-connection", effort: 2, run: standing_queue::one_connection },
        Plan { id: "ten-connections", effort: 2, run: standing_queue::ten_connections },
        Plan { id: "round-trips", effort: 1, run: round_trips::round_trips },
        Plan { id: "call", effort: 2, run: fair_queueing::call },
        Plan { id: "marks", effort: 3, run: fair_queueing::low_latency },
        Plan { id: "dualpi2", effort: 6, run: dual_queue::mixes },
        Plan { id: "dualpi2-grid", effort: 16, run: dual_queue::grid },
        Plan { id: "loads", effort: 40, run: loads::loads },
    ],
};

#[cfg(test)]
mod tests;
