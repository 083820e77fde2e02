//! What is synthesised, placed and routed, and what is simulated beside the software: one table, which all steps read.

use super::design::{Compared, Design, Mapping, Part, Place, Variant};

const LATTICE: (&str, &str) = ("Routing", "dwcs_pkg::Lattice");
const WINNER: (&str, &str) = ("Routing", "dwcs_pkg::Winner");
const EXACT: (&str, &str) = ("Routing", "dwcs_pkg::Exact");
const IN_TURN: (&str, &str) = ("Ahead", "0");
const AHEAD: (&str, &str) = ("Ahead", "1");

/// The paper's sizes.
pub const SIZES: &[u32] = &[4, 8, 16, 32];

/// The base architecture. Other rows name their differences.
const BASE: Variant = Variant {
    name: "base",
    title: "base",
    top: "sharestreams",
    parameters: &[LATTICE, IN_TURN],
    size: ("N", 1),
    step: "lockstep",
    engine: "base",
    compared: &[],
    sizes: SIZES,
    cycles: |n| n.ilog2() + 1,
    mapping: |_| Mapping::Small,
    place: |_| Place::USUAL,
};

/// One that is compared and not measured.
const COMPARED: Variant = Variant { title: "", sizes: &[], cycles: |_| 0, ..BASE };

const TILED: Variant = Variant { top: "tiled", step: "tiled", engine: "tiled", ..COMPARED };
const HEAP: Variant = Variant { top: "heap", parameters: &[], size: ("Streams", 1), step: "heap", engine: "heap", ..COMPARED };
const TILED_AXIS: Variant = Variant { top: "tiled_axis", step: "edges", engine: "tiled-axis", ..COMPARED };

const FOUR: Compared = Compared::new(4);
const EIGHT: Compared = Compared::new(8);
const SIXTEEN: Compared = Compared::new(16).deep();
const THIRTY_TWO: Compared = Compared::new(32).deep();
/// The port that shows a bench every stream; the measured design has none, and a host asks instead.
const OBSERVED: &[(&str, &str)] = &[("Observed", "1")];
const DEPTH_2: &[(&str, &str)] = &[("Depth", "2")];
const DEPTH_4: &[(&str, &str)] = &[("Depth", "4")];
const DEPTH_16: &[(&str, &str)] = &[("Depth", "16")];

pub const VARIANTS: &[Variant] = &[
    Variant { compared: &[FOUR, EIGHT, SIXTEEN, THIRTY_TWO], ..BASE },
    Variant {
        name: "winner-only",
        title: "winner-only",
        parameters: &[WINNER, IN_TURN],
        engine: "winner-only",
        compared: &[FOUR, EIGHT.deep(), SIXTEEN, THIRTY_TWO],
        ..BASE
    },
    Variant {
        name: "compute-ahead",
        title: "compute-ahead",
        parameters: &[LATTICE, AHEAD],
        engine: "compute-ahead",
        compared: &[FOUR, EIGHT.deep(), SIXTEEN, THIRTY_TWO],
        cycles: |n| n.ilog2(),
        ..BASE
    },
    Variant {
        name: "compute-ahead-winner-only",
        title: "compute-ahead, winner-only",
        parameters: &[WINNER, AHEAD],
        engine: "compute-ahead-winner-only",
        compared: &[FOUR, EIGHT.deep(), SIXTEEN, THIRTY_TWO],
        cycles: |n| n.ilog2(),
        ..BASE
    },
    Variant {
        name: "exact",
        title: "exact order",
        parameters: &[EXACT, IN_TURN],
        engine: "exact",
        compared: &[FOUR, EIGHT, SIXTEEN, THIRTY_TWO],
        cycles: |n| n.ilog2() * n.ilog2() + 1,
        ..BASE
    },
    Variant {
        name: "compute-ahead-exact",
        parameters: &[EXACT, AHEAD],
        engine: "compute-ahead-exact",
        compared: &[FOUR.deep(), EIGHT.deep()],
        ..COMPARED
    },
    Variant {
        name: "speculative",
        title: "speculative",
        top: "speculative",
        parameters: &[],
        engine: "speculative",
        compared: &[FOUR.with(OBSERVED), EIGHT.with(OBSERVED), SIXTEEN.with(OBSERVED), THIRTY_TWO.with(OBSERVED)],
        cycles: |_| 1,
        // Of more streams more tables make longer wires, and a slower clock.
        mapping: |streams| if streams <= 8 { Mapping::Short } else { Mapping::Small },
        place: |streams| match streams {
            4 => Place::USUAL,
            8 => Place::TIMED.towards(75),
            32 => Place::LARGE_PINNED.towards(49),
            _ => Place::LARGE_PINNED,
        },
        ..BASE
    },
    Variant {
        name: "speculative-as-synthesised",
        top: "speculative",
        parameters: &[],
        engine: "speculative-as-synthesised",
        compared: &[FOUR, EIGHT.deep(), SIXTEEN, THIRTY_TWO],
        ..COMPARED
    },
    Variant {
        name: "tiled",
        title: "tiled, 32 lanes, with queues",
        parameters: &[("N", "32")],
        size: ("Rounds", 32),
        compared: &[Compared::new(1024).one_in(10).deep()],
        sizes: &[1024],
        // Words in block RAM take two cycles, the tournament of 32 lanes six; see the module's header.
        cycles: |n| (n / 32).max(17),
        place: |_| Place::LARGE,
        ..TILED
    },
    // 16,384 streams fit if few packets can wait, and with few lanes: each has a table that takes a block RAM.
    Variant {
        name: "tiled-16",
        title: "tiled, 16 lanes, with queues of two",
        parameters: &[("N", "16"), ("Depth", "2")],
        size: ("Rounds", 16),
        compared: &[Compared::new(16_384).one_in(1000).deep()],
        sizes: &[16_384],
        cycles: |n| n / 16,
        ..TILED
    },
    Variant {
        name: "tiled-64",
        title: "tiled, 64 lanes, with queues",
        parameters: &[("N", "64")],
        size: ("Rounds", 64),
        sizes: &[1024],
        cycles: |n| (n / 64).max(16),
        place: |_| Place::LARGE,
        ..TILED
    },
    Variant { name: "tiled-4", parameters: &[("N", "4")], size: ("Rounds", 4), compared: &[Compared::new(128).one_in(2).deep()], ..TILED },
    Variant { name: "tiled-8", parameters: &[("N", "8")], size: ("Rounds", 8), compared: &[SIXTEEN, Compared::new(32)], ..TILED },
    Variant {
        name: "tiled-8-recirculating",
        parameters: &[("N", "8"), ("Pipelined", "0")],
        size: ("Rounds", 8),
        compared: &[Compared::new(16), THIRTY_TWO],
        ..TILED
    },
    Variant {
        name: "tiled-16-queues",
        parameters: &[("N", "16")],
        size: ("Rounds", 16),
        compared: &[Compared::new(64).one_in(2).deep()],
        ..TILED
    },
    Variant {
        name: "tiled-16-recirculating",
        parameters: &[("N", "16"), ("Pipelined", "0")],
        size: ("Rounds", 16),
        compared: &[Compared::new(64).one_in(2).deep()],
        ..TILED
    },
    // Cycles per decision where no deadline is missed and every winner has another packet; see the page.
    Variant {
        name: "heap",
        title: "heap, with queues",
        compared: &[
            FOUR.with(DEPTH_2).one_in(2).deep(),
            Compared::new(16).with(DEPTH_4),
            Compared::new(64).with(DEPTH_4).deep(),
            Compared::new(1024).one_in(10).deep(),
        ],
        sizes: &[1024],
        cycles: |n| if n > 256 { 6 } else { 5 },
        place: |_| Place::TIMED,
        ..HEAP
    },
    Variant {
        name: "heap-2",
        title: "heap, with queues of two",
        parameters: DEPTH_2,
        compared: &[Compared::new(16_384).one_in(200).deep()],
        sizes: &[16_384],
        cycles: |_| 6,
        place: |_| Place::TIMED,
        ..HEAP
    },
    Variant {
        name: "heap-block",
        parameters: &[("Block", "1")],
        compared: &[FOUR.with(DEPTH_2).one_in(4).deep(), Compared::new(64).with(DEPTH_4).one_in(2)],
        ..HEAP
    },
    Variant { name: "heap-distributed", parameters: &[("Block", "0")], compared: &[Compared::new(1024).one_in(20).deep()], ..HEAP },
    Variant {
        name: "axis",
        title: "base, with queues and AXI4-Stream",
        top: "sharestreams_axis",
        step: "edges",
        engine: "sharestreams-axis",
        compared: &[EIGHT.with(DEPTH_16).one_in(5)],
        ..BASE
    },
    Variant {
        name: "axis-compute-ahead-winner-only",
        top: "sharestreams_axis",
        parameters: &[WINNER, AHEAD],
        step: "edges",
        engine: "sharestreams-axis",
        compared: &[THIRTY_TWO.with(DEPTH_16).one_in(5)],
        ..COMPARED
    },
    Variant {
        name: "tiled-axis-8",
        parameters: &[("N", "8")],
        size: ("Rounds", 8),
        compared: &[Compared::new(16).with(DEPTH_4).one_in(5)],
        ..TILED_AXIS
    },
    Variant {
        name: "tiled-axis-16",
        parameters: &[("N", "16")],
        size: ("Rounds", 16),
        compared: &[Compared::new(64).with(&[("Depth", "8")]).one_in(10).deep()],
        ..TILED_AXIS
    },
    Variant {
        name: "heap-axis",
        top: "heap_axis",
        parameters: DEPTH_4,
        size: ("Streams", 1),
        step: "edges",
        engine: "heap-axis",
        compared: &[Compared::new(16).one_in(5), Compared::new(1024).one_in(10).deep()],
        ..COMPARED
    },
];

pub const PARTS: &[Part] = &[
    Part {
        name: "control-unit",
        title: "control unit (N = 4)",
        top: "control_unit",
        parameters: &[("K", "2")],
        published: Some((22, Some(22), None)),
    },
    Part {
        name: "decision-block",
        title: "decision block",
        top: "decision_block",
        parameters: &[],
        published: Some((190, Some(122), Some(2))),
    },
    Part {
        name: "register-block",
        title: "register block",
        top: "register_block",
        parameters: &[IN_TURN],
        published: Some((150, Some(148), None)),
    },
    Part {
        name: "register-block-ahead",
        title: "register block, compute-ahead",
        top: "register_block",
        parameters: &[AHEAD],
        published: None,
    },
];

/// Every design: parts, then small ones before large ones, so that the first results come soon.
pub fn all() -> Vec<Design> {
    let mut sized: Vec<(u32, Design)> =
        VARIANTS.iter().flat_map(|variant| variant.sizes.iter().map(|&streams| (streams, variant.design(streams)))).collect();
    sized.sort_by_key(|(streams, _)| *streams);
    PARTS.iter().map(Part::design).chain(sized.into_iter().map(|(_, design)| design)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_have_names_of_their_own_and_small_ones_come_first() {
        let all = all();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|design| design.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        let position = |name: &str| all.iter().position(|design| design.name == name).unwrap();
        assert!(position("decision-block") < position("exact-4") && position("exact-4") < position("base-32"));
        assert_eq!(all[position("base-32")].parameters[0], ("N".to_owned(), "32".to_owned()));
        assert_eq!(all[position("tiled-1024")].parameters[0], ("Rounds".to_owned(), "32".to_owned()));
    }

    #[test]
    fn cycles_are_those_of_the_timeline() {
        let cycles = |name: &str, streams| (VARIANTS.iter().find(|variant| variant.name == name).unwrap().cycles)(streams);
        assert_eq!([cycles("base", 4), cycles("base", 32)], [3, 6]);
        assert_eq!([cycles("compute-ahead", 4), cycles("compute-ahead-winner-only", 32)], [2, 5]);
        assert_eq!(cycles("exact", 8), 10);
    }
}
