//! Seeded faults of the engine on a heap.

use super::mutant::Mutant;

const HEAP: &str = "heap-16";

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        file: "heap_level",
        text: "assign pair[s] = late_q[s] ? node_q : pair_q[s];",
        replacement: "assign pair[s] = pair_q[s];",
        fault: "what the operation before brings up is not seen",
        design: HEAP,
    },
    Mutant {
        file: "heap_level",
        text: "(valid_q[Last] & (inserts | (Single & ~stays)));",
        replacement: "(valid_q[Last] & inserts);",
        fault: "the entry that goes up from the last level stays there, too",
        design: HEAP,
    },
    Mutant {
        file: "heap_level",
        text: "assign down_free_o    = side_free + IdWidth'(brought.claim.missing);",
        replacement: "assign down_free_o    = side_free;",
        fault: "places that become free are not counted",
        design: HEAP,
    },
    Mutant {
        file: "heap_tree",
        text: "entry: before_top ? first_q : before_side ? comes_q",
        replacement: "entry: before_side ? comes_q",
        fault: "an insertion that goes to the top is inserted twice",
        design: HEAP,
    },
    Mutant {
        file: "heap_pkg",
        text: "older:    precedes(a.arrival, b.arrival) | ((a.arrival == b.arrival) & below)",
        replacement: "older:    precedes(a.arrival, b.arrival)",
        fault: "among equals numbers do not decide",
        design: HEAP,
    },
    Mutant {
        file: "heap_pkg",
        text: "sure:     b.missing | (~a.missing & ~a.infinite & b.infinite),",
        replacement: "sure:     b.missing,",
        fault: "streams whose deadline never comes do not wait for the others",
        design: HEAP,
    },
    Mutant {
        file: "heap_pkg",
        text: "next.to_meet   = raised[8] ? 8'hff : raised[7:0];",
        replacement: "next.to_meet   = raised[7:0];",
        fault: "a denominator wraps",
        design: HEAP,
    },
    Mutant {
        file: "heap_worth",
        text: "first_q  <= valid_i ? met(terms_i, slack_i) : slack_i;",
        replacement: "first_q  <= met(terms_i, slack_i);",
        fault: "a stream comes back with what its window would be worth after service",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "busy_q   <= (last_q & (id_q == last_id_q)) |",
        replacement: "busy_q   <=",
        fault: "a stream has its turn before its record is written",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "| (push_q & (id_q == push_id_q));",
        replacement: "| 1'b0;",
        fault: "a stream has its turn while a packet is put in its queue",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "sweep_hit_q      <= rest_q.lapsed | rest_ahead[15] | (rest_ahead == '0);",
        replacement: "sweep_hit_q      <= 1'b0;",
        fault: "the deadline of a resting stream is not seen to come",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "assign overdue    = wins & (room_q < $signed({2'b00, terms_q.period}));",
        replacement: "assign overdue    = 1'b0;",
        fault: "deadlines run ahead without bound",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "space_q  <= records < 5'd13;",
        replacement: "space_q  <= 1'b1;",
        fault: "records are lost if the host is slow",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "if (popped_q) last_waiting_q.next <= ring_q;",
        replacement: "",
        fault: "the packet behind the next one does not move up",
        design: HEAP,
    },
    Mutant {
        file: "heap",
        text: "comes ? lapsed : after_miss) ? stream_q.standing.second",
        replacement: "after_miss) ? stream_q.standing.second",
        fault: "a window that begins anew is worth what is left of the one before",
        design: HEAP,
    },
];
