//! Krishnamurthy, Yalamanchili, Schwan and West: ShareStreams, packet schedulers in hardware.
//!
//! Every run uses the model of the device in its base architecture. The other two architectures and the scan of 64 bits run beside it and
//! have to take the same decisions. Counts of packets are exact; bytes and times depend on parameters that the paper does not print, and that
//! the notes give.
//!
//! | module | holds |
//! |---|---|
//! | `workload` | streams, and a run of the device, its other architectures and the scan |
//! | `host` | the end system of section 5.2, from the producers to the playout |
//! | `end_system` | Figures 12 and 13: its bandwidth and its queueing delay |
//! | `line_card` | Figures 14 to 16 and the run with deadlines: streams that are always backlogged |
//! | `packet_times` | sections 4 and 5: cycles, clocks and packet times |
//! | `rules` | Table 1: the order of two streams |
//! | `sorted_list` | section 4: the order that the network delivers |
//! | `cadence` | section 4: several packets per decision, and relaxed updates |

use crate::experiment::{Experiment, Plan};

mod cadence;
mod end_system;
mod host;
mod line_card;
mod packet_times;
mod rules;
mod sorted_list;
mod workload;

/// The paper and its figures.
pub const EXPERIMENT: Experiment = Experiment {
    id: "sharestreams",
    title: "Packet schedulers in hardware",
    source: "R. Krishnamurthy, S. Yalamanchili, K. Schwan and R. West, ShareStreams: A Scalable Architecture and Hardware Support for \
             High-Speed QoS Packet Schedulers",
    figures: &[
        Plan { id: "figure-12", effort: 60, run: end_system::bandwidth },
        Plan { id: "figure-13", effort: 60, run: end_system::delay },
        Plan { id: "figure-14", effort: 15, run: line_card::equal_shares },
        Plan { id: "deadlines", effort: 15, run: line_card::deadlines },
        Plan { id: "figure-15", effort: 30, run: line_card::static_priority },
        Plan { id: "figure-16", effort: 15, run: line_card::shares_beside_deadlines },
        Plan { id: "packet-times", effort: 1, run: packet_times::run },
        Plan { id: "table-1", effort: 1, run: rules::run },
        Plan { id: "sorted-list", effort: 60, run: sorted_list::run },
        Plan { id: "fewer-decisions", effort: 30, run: cadence::run },
    ],
};

#[cfg(test)]
mod tests;
