//! The table of proofs. The header of a harness says what it proves, and why it may assume what it does; `faults/proofs.diff` has the faults.

use super::harness::Method::{self, Bounded, Combinational, Induction};
use super::harness::{Harness, Size};

const fn harness(name: &'static str, what: &'static str, sizes: &'static [Size]) -> Harness {
    Harness { name, what, abstraction: None, passes: &[], sizes }
}

impl Harness {
    const fn with(self, abstraction: &'static str) -> Harness {
        Harness { abstraction: Some(abstraction), ..self }
    }
}

const fn size(parameters: &'static str, method: Method, witness: u32) -> Size {
    Size { parameters, method, witness, is_deep: false }
}

/// One that is proved only if asked for.
const fn deep(parameters: &'static str, method: Method, witness: u32) -> Size {
    Size { is_deep: true, ..size(parameters, method, witness) }
}

/// Products are arbitrary numbers.
const CUT: &[&str] = &["cutpoint t:$mul"];

/// All harnesses, those that take longest first, so that no core waits at the end; faults are seeded in the first size.
pub const HARNESSES: &[Harness] = &[
    harness(
        "speculative_records",
        "the speculative engine names the first of all streams, and no record is lost or changed",
        &[size("N=4", Induction, 28)],
    ),
    harness(
        "tile_context",
        "a tile brings what was last written for it, and its arrivals become heads in order, each once",
        &[size("Block=0", Bounded(16), 16), deep("Block=1", Bounded(17), 17)],
    )
    .with("any_rank"),
    harness(
        "tile_circulation",
        "tiles circulate: none is lost or under way twice, each takes part once in every decision",
        &[size("Rounds=2", Bounded(40), 40)],
    )
    .with("tiles"),
    harness(
        "speculative_windows",
        "windows of the speculative engine go by the rules, and a violation is worth what it raises",
        &[size("", Induction, 8)],
    ),
    Harness {
        passes: CUT,
        ..harness(
            "decision_order",
            "the decision block is a strict total order (all widths, products cut)",
            &[size("Cut=1", Combinational, 1)],
        )
    },
    harness(
        "decision_order",
        "the decision block is a strict total order (small fractions, products kept)",
        &[size("Operand=4", Combinational, 1), deep("Operand=5", Combinational, 1)],
    ),
    Harness {
        passes: CUT,
        ..harness(
            "key_order",
            "keys of the speculative engine order as the decision block does (all widths, products cut)",
            &[size("", Combinational, 1)],
        )
    },
    harness(
        "choice_groups",
        "champions of groups have the winner that all streams have when they are compared with each other",
        &[size("N=4 G=2", Induction, 8), deep("N=4 G=2 Late=2", Induction, 8), deep("N=4 G=4", Induction, 8)],
    ),
    harness(
        "network_order",
        "port 0 has the first, port N-1 the last, in between the order of a lattice",
        &[
            size("N=4 Routing=Lattice", Bounded(4), 4),
            deep("N=8 Routing=Lattice", Bounded(5), 5),
            deep("N=16 Routing=Lattice", Bounded(6), 6),
            deep("N=32 Routing=Lattice Bits=1", Bounded(7), 7),
        ],
    )
    .with("by_deadline"),
    harness(
        "network_order",
        "the ports are sorted",
        &[
            size("N=4 Routing=Exact", Bounded(6), 6),
            deep("N=8 Routing=Exact Bits=1", Bounded(11), 11),
            deep("N=8 Routing=Exact", Bounded(11), 11),
            deep("N=16 Routing=Exact Bits=1", Bounded(18), 18),
        ],
    )
    .with("by_deadline"),
    harness(
        "network_order",
        "the winner is the first of all",
        &[
            size("N=4 Routing=Winner", Bounded(4), 4),
            deep("N=8 Routing=Winner", Bounded(5), 5),
            deep("N=16 Routing=Winner", Bounded(6), 6),
            deep("N=32 Routing=Winner", Bounded(7), 7),
        ],
    )
    .with("by_deadline"),
    harness(
        "network_permutation",
        "the network loses no stream and duplicates none",
        &[
            size("N=4 Routing=Lattice", Induction, 6),
            deep("N=4 Routing=Exact", Induction, 6),
            deep("N=8 Routing=Lattice", Induction, 7),
            deep("N=8 Routing=Exact", Induction, 7),
            deep("N=16 Routing=Lattice", Induction, 8),
            deep("N=16 Routing=Exact", Induction, 8),
            deep("N=32 Routing=Exact", Induction, 9),
        ],
    )
    .with("any"),
    harness("register_invariants", "windows and deadlines within bounds, one step per update", &[size("", Induction, 6)]),
    harness("register_ahead", "computing ahead is the same as updating in turn", &[size("", Bounded(6), 6)]),
    harness(
        "same_winner",
        "the same decisions as the base architecture",
        &[
            size("N=4 Routing=Lattice Ahead=1", Bounded(4), 4),
            deep("N=4 Routing=Winner Ahead=0", Bounded(4), 4),
            deep("N=4 Routing=Winner Ahead=1", Bounded(4), 4),
            deep("N=4 Routing=Exact Ahead=0", Bounded(6), 6),
            deep("N=4 Routing=Exact Ahead=1", Bounded(5), 5),
            deep("N=8 Routing=Lattice Ahead=1", Bounded(5), 5),
            deep("N=8 Routing=Winner Ahead=0", Bounded(5), 5),
            deep("N=8 Routing=Winner Ahead=1", Bounded(5), 5),
            deep("N=4 Routing=Winner Ahead=0 States=1", Bounded(4), 4),
            deep("N=4 Routing=Winner Ahead=1 States=1", Bounded(4), 4),
        ],
    )
    .with("by_rank"),
    harness(
        "control_timeline",
        "phases follow the timeline, records wait until they are taken",
        &[
            size("K=2 Routing=Lattice Ahead=0", Induction, 8),
            deep("K=2 Routing=Lattice Ahead=1", Induction, 8),
            deep("K=2 Routing=Exact Ahead=0", Induction, 10),
            deep("K=2 Routing=Exact Ahead=1", Induction, 10),
            deep("K=3 Routing=Lattice Ahead=0", Induction, 9),
            deep("K=3 Routing=Lattice Ahead=1", Induction, 9),
            deep("K=3 Routing=Exact Ahead=0", Induction, 15),
            deep("K=3 Routing=Exact Ahead=1", Induction, 15),
            deep("K=4 Routing=Lattice Ahead=0", Induction, 10),
            deep("K=4 Routing=Lattice Ahead=1", Induction, 10),
            deep("K=4 Routing=Exact Ahead=0", Induction, 22),
            deep("K=4 Routing=Exact Ahead=1", Induction, 22),
            deep("K=5 Routing=Lattice Ahead=0", Induction, 11),
            deep("K=5 Routing=Lattice Ahead=1", Induction, 11),
            deep("K=5 Routing=Exact Ahead=0", Induction, 31),
            deep("K=5 Routing=Exact Ahead=1", Induction, 31),
        ],
    ),
    harness(
        "engine_handshake",
        "records stay unchanged until they are taken",
        &[
            size("N=4 Routing=Lattice Ahead=1", Induction, 12),
            deep("N=4 Routing=Lattice Ahead=0", Induction, 12),
            deep("N=4 Routing=Winner Ahead=0", Induction, 12),
            deep("N=4 Routing=Winner Ahead=1", Induction, 12),
            deep("N=4 Routing=Exact Ahead=0", Induction, 18),
            deep("N=4 Routing=Exact Ahead=1", Induction, 18),
            deep("N=8 Routing=Lattice Ahead=1", Induction, 12),
            deep("N=8 Routing=Winner Ahead=1", Induction, 12),
        ],
    )
    .with("by_rank"),
    harness(
        "fifo_order",
        "words leave in order, each once",
        &[size("Depth=4", Induction, 10), deep("Depth=2", Induction, 8), deep("Depth=16", Induction, 24)],
    ),
    harness(
        "heap_order",
        "the first entry of the heap precedes all others, and none is lost or duplicated",
        &[size("Block=0", Bounded(32), 32), deep("Block=1", Bounded(38), 38), deep("Block=0 Bits=2", Bounded(36), 36)],
    ),
    harness(
        "heap_windows",
        "the heap's windows of x' and y' - x' go by the rules of window_rules (all widths)",
        &[size("", Combinational, 1)],
    ),
    harness(
        "tile_order",
        "the tournament over tiles delivers the first of all streams of a pass",
        &[
            size("N=4 Ways=4 Steps=2", Bounded(9), 9),
            deep("N=4 Ways=2 Steps=3", Bounded(13), 13),
            deep("N=8 Ways=4 Steps=2", Bounded(11), 11),
            deep("N=4 Ways=4 Steps=2 Bits=16", Bounded(9), 9),
            deep("N=4 Ways=2 Steps=3 Bits=16", Bounded(13), 13),
        ],
    ),
    harness(
        "tile_reports",
        "records of the tiled engine: none lost or changed, drops before the decision after them",
        &[size("N=4", Induction, 16)],
    ),
    harness(
        "stream_edges",
        "AXI4-Stream words stay until they are taken, arrivals are conserved",
        &[
            size("Routing=Lattice Ahead=0", Induction, 16),
            deep("Routing=Winner Ahead=1", Induction, 16),
            deep("Routing=Exact Ahead=0", Induction, 20),
        ],
    )
    .with("by_rank"),
];
