//! Seeded faults between an engine and its AXI4-Streams.

use super::Mutant;
use crate::Failure;
use crate::rtl::edges::EDGES;
use crate::rtl::verilate::{self, Effort};
use std::collections::BTreeMap;
use std::path::Path;

const HEAP: (&str, u32) = ("edge-heap", 16);
const TILED: (&str, u32) = ("edge-tiled", 16);
const BASE: (&str, u32) = ("edge-base", 8);

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        file: "heap_axis",
        text: "14'(record[IdWidth-1:0])};",
        replacement: "14'(record[IdWidth-2:0])};",
        fault: "the host is told the wrong stream",
        engine: HEAP,
    },
    Mutant {
        file: "heap_axis",
        text: "else if (answer_valid_q && m_axis_status_tready_i) waits_q <= 1'b0;",
        replacement: "else waits_q <= 1'b0;",
        fault: "a question is taken before the answer to the last one",
        engine: HEAP,
    },
    Mutant {
        file: "tiled_axis",
        text: "else if (m_axis_status_tready_i) answer_valid_q <= 1'b0;",
        replacement: "else answer_valid_q <= 1'b0;",
        fault: "an answer does not wait for the host",
        engine: TILED,
    },
    Mutant {
        file: "tiled_axis",
        text: ".arrival_i(s_axis_arrival_tdata_i[15:0]),",
        replacement: ".arrival_i(s_axis_arrival_tdata_i[31:16]),",
        fault: "packets are as old as their streams' numbers",
        engine: TILED,
    },
    Mutant {
        file: "sharestreams_axis",
        text: "if (s_axis_query_tvalid_i && s_axis_query_tready_o) begin",
        replacement: "if (s_axis_query_tvalid_i) begin",
        fault: "the next question changes an answer that was not taken",
        engine: BASE,
    },
    Mutant {
        file: "streaming_unit",
        text: "assign push  = s_arrival_valid_i & (s_arrival_id_i == id_t'(i));",
        replacement: "assign push  = s_arrival_valid_i & (s_arrival_id_i[1:0] == 2'(i));",
        fault: "a packet is put in the queues of two streams",
        engine: BASE,
    },
];

/// The check that finds a fault of the edge of this name in these sources, if any does; nothing if there is no such edge.
pub fn caught_by(bench: &Path, edge: &str, name: &str, sources: &BTreeMap<String, String>) -> Option<Result<Option<String>, Failure>> {
    let edge = EDGES.iter().find(|known| known.name == edge)?;
    let caught = || {
        let library = verilate::library(&edge.design(name, sources, Effort::Least))?;
        let (is_equal, said) = edge.compare(bench, &library, 20_000)?;
        // "seed 1: cycle 5: ...": the check is what follows.
        Ok((!is_equal).then(|| said.splitn(3, ':').nth(2).unwrap_or(&said).trim().chars().take(12).collect()))
    };
    Some(caught())
}
