//! Wu, Hou, Zhang, Chao and Hamada: a per-flow node for integrated services.
//!
//! The node is the scheduler `intserv` of the core over three partitions of the buffer, and the parking lot of Figure 6 is a network of
//! `tidegate-sim`. The paper's own claims are blind to most mistakes, so gates of ours stand before its figures: one or two ports under streams that
//! tell the rules apart.
//!
//! | module | holds |
//! |---|---|
//! | `packets` | their length, headers and code points |
//! | `node` | the node as the policy of a port |
//! | `bench` | one port under streams of packets |
//! | `gates` | the gates M to A |
//! | `lot` | the parking lot, its loads and its flows |
//! | `bounds` | what is proven of delays there |
//! | `results` | what was measured there |
//! | `figures` | the paper's figures and tables |
//! | `blocking` | admission control against Erlang B |
//! | `video` | flows of controlled load from a capture |
//! | `at_scale` | 10,000 flows at 10 Gbit/s, and the same load under other policies |
//! | `short` | figures with few seeds, for runs with seeded faults |

use crate::experiment::{Experiment, Plan};

mod at_scale;
mod bench;
mod blocking;
mod bounds;
mod figures;
mod gates;
mod lot;
mod node;
mod packets;
mod results;
mod short;
mod video;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    id: "intserv",
    title: "a node that keeps guaranteed service, controlled load and best effort apart, flow by flow",
    source: "D. Wu, Y. T. Hou, Z.-L. Zhang, H. J. Chao, T. Hamada, A Node Architecture and Traffic Management Algorithms for Per-Flow Based \
             Integrated Services Support",
    figures: &[
        Plan { id: "rules", effort: 8, run: figures::rules },
        Plan { id: "light-load", effort: 60, run: figures::light_load },
        Plan { id: "heavy-load", effort: 60, run: figures::heavy_load },
        Plan { id: "non-conforming", effort: 80, run: figures::non_conforming },
        Plan { id: "tail-drop", effort: 20, run: figures::tail_drop },
        Plan { id: "flood", effort: 20, run: figures::flood },
        Plan { id: "flow-modes", effort: 80, run: figures::flow_modes },
        Plan { id: "blocking", effort: 4, run: figures::blocking },
        Plan { id: "at-scale", effort: 40, run: at_scale::at_scale },
    ],
};

/// Short forms of some figures, by the same ids.
pub(crate) const SHORT: &[Plan] = &[
    Plan { id: "rules", effort: 1, run: short::rules },
    Plan { id: "light-load", effort: 1, run: short::light_load },
    Plan { id: "non-conforming", effort: 2, run: short::non_conforming },
    Plan { id: "flow-modes", effort: 1, run: short::flow_modes },
    Plan { id: "at-scale", effort: 1, run: at_scale::short },
];

#[cfg(test)]
mod tests;
