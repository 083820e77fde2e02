//! Seeded faults between an engine and its AXI4-Streams.

use super::mutant::Mutant;

const HEAP: &str = "heap-axis-16";
const TILED: &str = "tiled-axis-8-16";
const BASE: &str = "axis-8";

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        file: "heap_axis",
        text: "14'(record[IdWidth-1:0])};",
        replacement: "14'(record[IdWidth-2:0])};",
        fault: "the host is told the wrong stream",
        design: HEAP,
    },
    Mutant {
        file: "heap_axis",
        text: "else if (answer_valid_q && m_axis_status_tready_i) waits_q <= 1'b0;",
        replacement: "else waits_q <= 1'b0;",
        fault: "a question is taken before the answer to the last one",
        design: HEAP,
    },
    Mutant {
        file: "tiled_axis",
        text: "else if (m_axis_status_tready_i) answer_valid_q <= 1'b0;",
        replacement: "else answer_valid_q <= 1'b0;",
        fault: "an answer does not wait for the host",
        design: TILED,
    },
    Mutant {
        file: "tiled_axis",
        text: ".arrival_i(s_axis_arrival_tdata_i[15:0]),",
        replacement: ".arrival_i(s_axis_arrival_tdata_i[31:16]),",
        fault: "packets are as old as their streams' numbers",
        design: TILED,
    },
    Mutant {
        file: "sharestreams_axis",
        text: "if (s_axis_query_tvalid_i && s_axis_query_tready_o) begin",
        replacement: "if (s_axis_query_tvalid_i) begin",
        fault: "the next question changes an answer that was not taken",
        design: BASE,
    },
    Mutant {
        file: "streaming_unit",
        text: "assign push  = s_arrival_valid_i & (s_arrival_id_i == id_t'(i));",
        replacement: "assign push  = s_arrival_valid_i & (s_arrival_id_i[1:0] == 2'(i));",
        fault: "a packet is put in the queues of two streams",
        design: BASE,
    },
];
