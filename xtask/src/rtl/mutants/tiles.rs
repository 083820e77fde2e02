//! Seeded faults of the tiled engine.

use super::mutant::Mutant;

const TILED: &str = "tiled-8-32";

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        file: "tile_lane",
        text: "ahead1_q           <= word_q.varying.state.deadline - finish_i;",
        replacement: "ahead1_q           <= word_q.varying.state.deadline - finish1_q;",
        fault: "a tile steps to the end of the service before",
        design: TILED,
    },
    Mutant {
        file: "tile_lane",
        text: "& ~level[PointerWidth-1];",
        replacement: ";",
        fault: "a letter box is emptied into a queue that is full",
        design: TILED,
    },
    Mutant {
        file: "tile_tree",
        text: ": took_q ? served_before(to_x_q, below_x_q) : served_before(to_lead_q, below_lead_q));",
        replacement: ": served_before(to_lead_q, below_lead_q));",
        fault: "a tile is not compared with the one that took the lead just before",
        design: TILED,
    },
    Mutant {
        file: "tile_tree",
        text: "below_lead_q <= exits[Depths].round < lead_round_q;",
        replacement: "below_lead_q <= exits[Depths].round > lead_round_q;",
        fault: "among equals the tile with the larger number leads",
        design: TILED,
    },
    Mutant {
        file: "window_rank",
        text: "numerator_i == '0 ? ~denominator_i : numerator_i",
        replacement: "numerator_i",
        fault: "of two windows without tolerance none goes first",
        design: TILED,
    },
    Mutant {
        file: "tiled",
        text: "pushed = x_wins ? lead_tile : x_tile;",
        replacement: "pushed = x_tile;",
        fault: "a leader that has lost does not circulate",
        design: TILED,
    },
    Mutant {
        file: "tile_records",
        text: "assign drop_first     = drop_valid & (drop_pass == turn_q);",
        replacement: "assign drop_first     = drop_valid & ~decision_valid;",
        fault: "drops are told after the decision that follows them",
        design: TILED,
    },
];
