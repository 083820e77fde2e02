//! The table of proofs; what each harness proves, and why it may assume what it does, is in its header.

use super::harness::Method::{self, Bounded, Combinational, Induction};
use super::harness::{Fault, Harness, Size};

const fn size(parameters: &'static str, method: Method, witness: u32) -> Size {
    Size { parameters, method, witness, is_deep: false }
}

/// One that is proved only if asked for.
const fn deep(parameters: &'static str, method: Method, witness: u32) -> Size {
    Size { parameters, method, witness, is_deep: true }
}

/// All harnesses, those that take longest first, so that no core waits at the end; faults are seeded in the first size.
pub const HARNESSES: &[Harness] = &[
    Harness {
        name: "speculative_records",
        what: "the speculative engine names the first of all streams, and no record is lost or changed",
        abstraction: None,
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/speculative.sv",
            text: "assign room = records < ($clog2(Records) + 1)'(Records / 2);",
            replacement: "assign room = records < ($clog2(Records) + 1)'(Records);",
        }],
        sizes: &[size("N=4", Induction, 28)],
    },
    Harness {
        name: "tile_context",
        what: "a tile brings what was last written for it, and its arrivals become heads in order, each once",
        abstraction: Some("any_rank"),
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/tile_lane.sv",
                text: "assign write_round = load_i ? load_round_i : round4_q;",
                replacement: "assign write_round = load_i ? load_round_i : round3_q;",
            },
            Fault { file: "rtl/src/tile_lane.sv", text: "& (box_round_q == word_round_q)", replacement: "" },
            Fault {
                file: "rtl/src/tile_lane.sv",
                text: "varying2_q.read  <= varying1_q.read + PointerWidth'(pop);",
                replacement: "varying2_q.read  <= varying1_q.read + PointerWidth'(takes);",
            },
        ],
        sizes: &[size("Block=0", Bounded(16), 16), deep("Block=1", Bounded(17), 17)],
    },
    Harness {
        name: "tile_circulation",
        what: "tiles circulate: none is lost or under way twice, each takes part once in every decision",
        abstraction: Some("tiles"),
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/tiled.sv",
                text: "assign store      = push & (stored_valid | ~enter);",
                replacement: "assign store      = push;",
            },
            Fault { file: "rtl/src/tiled.sv", text: "pushed = x_wins ? lead_tile : x_tile;", replacement: "pushed = x_tile;" },
            Fault {
                file: "rtl/src/tiled.sv",
                text: "assign arrival_ready_o = ~arrival_valid_q | arrival_taken;",
                replacement: "assign arrival_ready_o = 1'b1;",
            },
            Fault { file: "rtl/src/tiled.sv", text: "& ~load_valid_i & ~load_q;", replacement: "& ~load_valid_i;" },
        ],
        sizes: &[size("Rounds=2", Bounded(40), 40)],
    },
    Harness {
        name: "speculative_windows",
        what: "windows of the speculative engine go by the rules, and a violation is worth what it raises",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/speculative_block.sv",
                text: "if (x_zero | x_one) missed_missed_known =",
                replacement: "if (x_zero) missed_missed_known =",
            },
            Fault {
                file: "rtl/src/speculative_block.sv",
                text: "mixed_ends         = m_zero ? x_two : x_one & m_one;",
                replacement: "mixed_ends         = m_zero ? x_two : x_one;",
            },
            Fault {
                file: "rtl/src/speculative_block.sv",
                text: "assign rests           = run_q ? ~valid_q : rested_q;",
                replacement: "assign rests           = 1'b1;",
            },
        ],
        sizes: &[size("", Induction, 8)],
    },
    Harness {
        name: "decision_order",
        what: "the decision block is a strict total order (all widths, products cut)",
        abstraction: None,
        passes: &["cutpoint t:$mul"],
        faults: &[Fault {
            file: "rtl/src/decision_block.sv",
            text: "(first_i.denominator > second_i.denominator)",
            replacement: "(first_i.denominator >= second_i.denominator)",
        }],
        sizes: &[size("Cut=1", Combinational, 1)],
    },
    Harness {
        name: "decision_order",
        what: "the decision block is a strict total order (small fractions, products kept)",
        abstraction: None,
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/decision_block.sv",
            text: "{1'b0, second_cross, tie}",
            replacement: "{1'b0, second_cross, 1'b1}",
        }],
        sizes: &[size("Operand=4", Combinational, 1), deep("Operand=5", Combinational, 1)],
    },
    Harness {
        name: "key_order",
        what: "keys of the speculative engine order as the decision block does (all widths, products cut)",
        abstraction: None,
        passes: &["cutpoint t:$mul"],
        faults: &[Fault {
            file: "rtl/src/key_block.sv",
            text: "assign first_wins_o = ~(second_i < first_i);",
            replacement: "assign first_wins_o = first_i < second_i;",
        }],
        sizes: &[size("", Combinational, 1)],
    },
    Harness {
        name: "choice_groups",
        what: "champions of groups have the winner that all streams have when they are compared with each other",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/champion_group.sv",
                text: "won_key  |= won_first[i] ? stepped[i] : '0;",
                replacement: "won_key  |= won_first[i] ? lost_i[i] : '0;",
            },
            Fault { file: "rtl/src/champion_group.sv", text: "= first_q[i] ? won_i[i] : lost_i[i];", replacement: "= won_i[i];" },
        ],
        sizes: &[size("N=4 G=2", Induction, 8), deep("N=4 G=2 Late=2", Induction, 8), deep("N=4 G=4", Induction, 8)],
    },
    Harness {
        name: "network_order",
        what: "port 0 has the first, port N-1 the last, in between the order of a lattice",
        abstraction: Some("by_deadline"),
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/shuffle_exchange.sv",
            text: "assign swap = ~first_wins;",
            replacement: "assign swap = ~first_wins & (j != 0);",
        }],
        sizes: &[
            size("N=4 Routing=Lattice", Bounded(4), 4),
            deep("N=8 Routing=Lattice", Bounded(5), 5),
            deep("N=16 Routing=Lattice", Bounded(6), 6),
            deep("N=32 Routing=Lattice Bits=1", Bounded(7), 7),
        ],
    },
    Harness {
        name: "network_order",
        what: "the ports are sorted",
        abstraction: Some("by_deadline"),
        passes: &[],
        faults: &[Fault { file: "rtl/src/shuffle_exchange.sv", text: "turns = origin[K-s-1];", replacement: "turns = origin[K-s];" }],
        sizes: &[
            size("N=4 Routing=Exact", Bounded(6), 6),
            deep("N=8 Routing=Exact Bits=1", Bounded(11), 11),
            deep("N=8 Routing=Exact", Bounded(11), 11),
            deep("N=16 Routing=Exact Bits=1", Bounded(18), 18),
        ],
    },
    Harness {
        name: "network_order",
        what: "the winner is the first of all",
        abstraction: Some("by_deadline"),
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/shuffle_exchange.sv",
            text: "assign ports_d[j]       = first_wins ? straight : swapped;",
            replacement: "assign ports_d[j]       = straight;",
        }],
        sizes: &[
            size("N=4 Routing=Winner", Bounded(4), 4),
            deep("N=8 Routing=Winner", Bounded(5), 5),
            deep("N=16 Routing=Winner", Bounded(6), 6),
            deep("N=32 Routing=Winner", Bounded(7), 7),
        ],
    },
    Harness {
        name: "network_permutation",
        what: "the network loses no stream and duplicates none",
        abstraction: Some("any"),
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/shuffle_exchange.sv",
            text: "assign ports_d[N/2+j]   = swap ? swapped[1] : straight[1];",
            replacement: "assign ports_d[N/2+j]   = straight[1];",
        }],
        sizes: &[
            size("N=4 Routing=Lattice", Induction, 6),
            deep("N=4 Routing=Exact", Induction, 6),
            deep("N=8 Routing=Lattice", Induction, 7),
            deep("N=8 Routing=Exact", Induction, 7),
            deep("N=16 Routing=Lattice", Induction, 8),
            deep("N=16 Routing=Exact", Induction, 8),
            deep("N=32 Routing=Exact", Induction, 9),
        ],
    },
    Harness {
        name: "register_invariants",
        what: "windows and deadlines within bounds, one step per update",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault { file: "rtl/src/window_rules.sv", text: "raised[8] ? 8'hff : raised[7:0]", replacement: "raised[7:0]" },
            Fault {
                file: "rtl/src/priority_outcomes.sv",
                text: "2'b11:   stepped = now_i;",
                replacement: "2'b11:   stepped = deadline_i + 16'(period_i);",
            },
        ],
        sizes: &[size("", Induction, 6)],
    },
    Harness {
        name: "register_ahead",
        what: "computing ahead is the same as updating in turn",
        abstraction: None,
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/register_block.sv",
            text: "assign period_from_now = 16'(contract_q.period) - finish_i;",
            replacement: "assign period_from_now = 16'(contract_q.period);",
        }],
        sizes: &[size("", Bounded(6), 6)],
    },
    Harness {
        name: "same_winner",
        what: "the same decisions as the base architecture",
        abstraction: Some("by_rank"),
        passes: &[],
        faults: &[Fault { file: "rtl/src/sharestreams.sv", text: "    assign winner = found_id;", replacement: "    assign winner = '0;" }],
        sizes: &[
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
    },
    Harness {
        name: "control_timeline",
        what: "phases follow the timeline, records wait until they are taken",
        abstraction: None,
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/control_unit.sv",
            text: "assign last      = schedules & (pass_q == Passes) & (dimension_q == 3'(K - 1));",
            replacement: "assign last      = schedules & (pass_q == Passes);",
        }],
        sizes: &[
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
    },
    Harness {
        name: "engine_handshake",
        what: "records stay unchanged until they are taken",
        abstraction: Some("by_rank"),
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/control_unit.sv",
            text: "assign shift_o     = schedules & (~last | update_o | ~Ahead);",
            replacement: "assign shift_o     = schedules;",
        }],
        sizes: &[
            size("N=4 Routing=Lattice Ahead=1", Induction, 12),
            deep("N=4 Routing=Lattice Ahead=0", Induction, 12),
            deep("N=4 Routing=Winner Ahead=0", Induction, 12),
            deep("N=4 Routing=Winner Ahead=1", Induction, 12),
            deep("N=4 Routing=Exact Ahead=0", Induction, 18),
            deep("N=4 Routing=Exact Ahead=1", Induction, 18),
            deep("N=8 Routing=Lattice Ahead=1", Induction, 12),
            deep("N=8 Routing=Winner Ahead=1", Induction, 12),
        ],
    },
    Harness {
        name: "fifo_order",
        what: "words leave in order, each once",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/fifo.sv",
                text: "assign push_ready_o = ~level_o[AddressWidth];",
                replacement: "assign push_ready_o = 1'b1;",
            },
            Fault { file: "rtl/src/fifo.sv", text: "if (pop_valid_o && pop_ready_i) read_q", replacement: "if (pop_ready_i) read_q" },
        ],
        sizes: &[size("Depth=4", Induction, 10), deep("Depth=2", Induction, 8), deep("Depth=16", Induction, 24)],
    },
    Harness {
        name: "heap_order",
        what: "the first entry of the heap precedes all others, and none is lost or duplicated",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/heap_level.sv",
                text: "assign up_valid_o = valid_q[Last] & ~inserts;",
                replacement: "assign up_valid_o = valid_q[Last] & ~inserts & ~stays;",
            },
            Fault {
                file: "rtl/src/heap_tree.sv",
                text: "assign side          = inserts_q ? pair_q[0].free == '0 : ~first_before;",
                replacement: "assign side          = ~first_before;",
            },
        ],
        sizes: &[size("Block=0", Bounded(32), 32), deep("Block=1", Bounded(38), 38), deep("Block=0 Bits=2", Bounded(36), 36)],
    },
    Harness {
        name: "heap_windows",
        what: "the heap's windows of x' and y' - x' go by the rules of window_rules (all widths)",
        abstraction: None,
        passes: &[],
        faults: &[Fault {
            file: "rtl/src/heap_pkg.sv",
            text: "if (slack.numerator == 8'd1 && slack.to_meet == '0) next = terms.whole;",
            replacement: "",
        }],
        sizes: &[size("", Combinational, 1)],
    },
    Harness {
        name: "tile_order",
        what: "the tournament over tiles delivers the first of all streams of a pass",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/tile_tree.sv",
                text: ": took_q ? served_before(to_x_q, below_x_q) : served_before(to_lead_q, below_lead_q));",
                replacement: ": served_before(to_lead_q, below_lead_q));",
            },
            Fault { file: "rtl/src/tile_match.sv", text: "else if (i > j) wins &= ~before_q[i][j];", replacement: "" },
            Fault {
                file: "rtl/src/tiled_pkg.sv",
                text: "(parts.older | (parts.as_old & otherwise))",
                replacement: "(parts.older | otherwise)",
            },
        ],
        sizes: &[
            size("N=4 Ways=4 Steps=2", Bounded(9), 9),
            deep("N=4 Ways=2 Steps=3", Bounded(13), 13),
            deep("N=8 Ways=4 Steps=2", Bounded(11), 11),
            deep("N=4 Ways=4 Steps=2 Bits=16", Bounded(9), 9),
            deep("N=4 Ways=2 Steps=3 Bits=16", Bounded(13), 13),
        ],
    },
    Harness {
        name: "tile_reports",
        what: "records of the tiled engine: none lost or changed, drops before the decision after them",
        abstraction: None,
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/tile_records.sv",
                text: "assign drop_space_o = drop_free_q != '0;",
                replacement: "assign drop_space_o = drop_ready;",
            },
            Fault {
                file: "rtl/src/tile_records.sv",
                text: "assign drop_first     = drop_valid & (drop_pass == turn_q);",
                replacement: "assign drop_first     = drop_valid;",
            },
        ],
        sizes: &[size("N=4", Induction, 16)],
    },
    Harness {
        name: "stream_edges",
        what: "AXI4-Stream words stay until they are taken, arrivals are conserved",
        abstraction: Some("by_rank"),
        passes: &[],
        faults: &[
            Fault {
                file: "rtl/src/streaming_unit.sv",
                text: "assign ask            = low[turn_q] & (~pull_valid_q | m_pull_ready_i) &",
                replacement: "assign ask            = low[turn_q] &",
            },
            Fault { file: "rtl/src/streaming_unit.sv", text: ".pop_ready_i(pop_i[i]),", replacement: ".pop_ready_i(pop_i[i] & ~push)," },
        ],
        sizes: &[
            size("Routing=Lattice Ahead=0", Induction, 16),
            deep("Routing=Winner Ahead=1", Induction, 16),
            deep("Routing=Exact Ahead=0", Induction, 20),
        ],
    },
];
