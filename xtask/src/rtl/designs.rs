//! What is synthesised, placed and routed, and what is simulated beside the software: one table, which all steps read.

use super::design::{Compared, Design, Mapping, Parameters, Part, Place, Variant};

const LATTICE: (&str, &str) = ("Routing", "dwcs_pkg::Lattice");
const WINNER: (&str, &str) = ("Routing", "dwcs_pkg::Winner");
const EXACT: (&str, &str) = ("Routing", "dwcs_pkg::Exact");
const IN_TURN: (&str, &str) = ("Ahead", "0");
const AHEAD: (&str, &str) = ("Ahead", "1");

/// The paper's sizes.
pub const SIZES: &[u32] = &[4, 8, 16, 32];

/// The published architecture. Other rows name their differences.
const BASE: Variant = Variant {
    name: "",
    title: "",
    top: "sharestreams",
    parameters: &[],
    size: ("N", 1),
    step: "lockstep",
    engine: "",
    compared: &[],
    sizes: SIZES,
    cycles: |n| n.ilog2() + 1,
    mapping: |_| Mapping::Small,
    place: |_| Place::USUAL,
};

/// One that the bench and the page know by the same name.
const fn named(name: &'static str, parameters: Parameters, compared: &'static [Compared]) -> Variant {
    Variant { name, title: name, engine: name, parameters, compared, ..BASE }
}

/// One that is compared and not measured.
const COMPARED: Variant = Variant { title: "", sizes: &[], cycles: |_| 0, ..BASE };

/// A tiled engine of this many lanes; it is measured where its row says so.
const fn tiled(name: &'static str, lanes: u32, parameters: Parameters, compared: &'static [Compared]) -> Variant {
    Variant { name, size: ("Rounds", lanes), parameters, compared, top: "tiled", step: "tiled", engine: "tiled", ..COMPARED }
}

/// An engine on a heap.
const fn heap(name: &'static str, parameters: Parameters, compared: &'static [Compared]) -> Variant {
    Variant { name, size: ("Streams", 1), parameters, compared, top: "heap", step: "heap", engine: "heap", ..COMPARED }
}

/// An engine between AXI4-Streams.
const fn edge(
    name: &'static str,
    (top, engine): (&'static str, &'static str),
    parameters: Parameters,
    compared: &'static [Compared],
) -> Variant {
    Variant { name, parameters, compared, top, step: "edges", engine, ..COMPARED }
}

const SHARESTREAMS_AXIS: (&str, &str) = ("sharestreams_axis", "sharestreams-axis");
const TILED_AXIS: (&str, &str) = ("tiled_axis", "tiled-axis");

const FOUR: Compared = Compared::new(4);
const EIGHT: Compared = Compared::new(8);
const SIXTEEN: Compared = Compared::new(16).deep();
const THIRTY_TWO: Compared = Compared::new(32).deep();
/// The port that shows a bench every stream; the measured design has none, and a host asks instead.
const OBSERVED: &[(&str, &str)] = &[("Observed", "1")];
const DEPTH_2: &[(&str, &str)] = &[("Depth", "2")];
const DEPTH_4: &[(&str, &str)] = &[("Depth", "4")];
const DEPTH_16: &[(&str, &str)] = &[("Depth", "16")];

/// What most rows compare by default, and what with `--deep`.
const SMALLEST: &[Compared] = &[FOUR, EIGHT.deep(), SIXTEEN, THIRTY_TWO];

pub const VARIANTS: &[Variant] = &[
    named("base", &[LATTICE, IN_TURN], SMALLEST),
    named("winner-only", &[WINNER, IN_TURN], SMALLEST),
    Variant { cycles: |n| n.ilog2(), ..named("compute-ahead", &[LATTICE, AHEAD], SMALLEST) },
    Variant {
        title: "compute-ahead, winner-only",
        cycles: |n| n.ilog2(),
        ..named("compute-ahead-winner-only", &[WINNER, AHEAD], SMALLEST)
    },
    Variant { title: "exact order", cycles: |n| n.ilog2() * n.ilog2() + 1, ..named("exact", &[EXACT, IN_TURN], SMALLEST) },
    Variant { sizes: &[], ..named("compute-ahead-exact", &[EXACT, AHEAD], &[FOUR.deep(), EIGHT.deep()]) },
    Variant {
        top: "speculative",
        cycles: |_| 1,
        // Of more streams more tables make longer wires, and a slower clock.
        mapping: |streams| if streams <= 8 { Mapping::Short } else { Mapping::Small },
        place: |streams| match streams {
            4 => Place::USUAL,
            8 => Place::TIMED.towards(75),
            32 => Place::LARGE_PINNED.towards(49),
            _ => Place::LARGE_PINNED,
        },
        ..named("speculative", &[], &[FOUR.with(OBSERVED), EIGHT.with(OBSERVED), SIXTEEN.with(OBSERVED), THIRTY_TWO.with(OBSERVED)])
    },
    Variant { top: "speculative", sizes: &[], ..named("speculative-as-synthesised", &[], SMALLEST) },
    Variant {
        title: "tiled, 32 lanes, with queues",
        sizes: &[1024],
        // Words in block RAM take two cycles, the tournament of 32 lanes six; see the module's header.
        cycles: |n| (n / 32).max(17),
        place: |_| Place::LARGE,
        ..tiled("tiled", 32, &[("N", "32")], &[Compared::new(1024).one_in(10).deep()])
    },
    // 16,384 streams fit if few packets can wait, and with few lanes: each has a table that takes a block RAM.
    Variant {
        title: "tiled, 16 lanes, with queues of two",
        sizes: &[16_384],
        cycles: |n| n / 16,
        ..tiled("tiled-16", 16, &[("N", "16"), ("Depth", "2")], &[Compared::new(16_384).one_in(1000).deep()])
    },
    Variant {
        title: "tiled, 64 lanes, with queues",
        sizes: &[1024],
        cycles: |n| (n / 64).max(16),
        place: |_| Place::LARGE,
        ..tiled("tiled-64", 64, &[("N", "64")], &[])
    },
    tiled("tiled-4", 4, &[("N", "4")], &[Compared::new(128).one_in(2).deep()]),
    tiled("tiled-8", 8, &[("N", "8")], &[SIXTEEN, Compared::new(32)]),
    tiled("tiled-8-recirculating", 8, &[("N", "8"), ("Pipelined", "0")], &[Compared::new(16), THIRTY_TWO]),
    tiled("tiled-16-queues", 16, &[("N", "16")], &[Compared::new(64).one_in(2).deep()]),
    tiled("tiled-16-recirculating", 16, &[("N", "16"), ("Pipelined", "0")], &[Compared::new(64).one_in(2).deep()]),
    // Cycles per decision where no deadline is missed and every winner has another packet; see the page.
    Variant {
        title: "heap, with queues",
        sizes: &[1024],
        cycles: |n| if n > 256 { 6 } else { 5 },
        place: |_| Place::TIMED,
        ..heap(
            "heap",
            &[],
            &[
                FOUR.with(DEPTH_2).one_in(2).deep(),
                Compared::new(16).with(DEPTH_4),
                Compared::new(64).with(DEPTH_4).deep(),
                Compared::new(1024).one_in(10).deep(),
            ],
        )
    },
    Variant {
        title: "heap, with queues of two",
        sizes: &[16_384],
        cycles: |_| 6,
        place: |_| Place::TIMED,
        ..heap("heap-2", DEPTH_2, &[Compared::new(16_384).one_in(200).deep()])
    },
    heap("heap-block", &[("Block", "1")], &[FOUR.with(DEPTH_2).one_in(4).deep(), Compared::new(64).with(DEPTH_4).one_in(2)]),
    heap("heap-distributed", &[("Block", "0")], &[Compared::new(1024).one_in(20).deep()]),
    Variant {
        title: "base, with queues and AXI4-Stream",
        sizes: SIZES,
        cycles: BASE.cycles,
        ..edge("axis", SHARESTREAMS_AXIS, &[LATTICE, IN_TURN], &[EIGHT.with(DEPTH_16).one_in(5)])
    },
    edge("axis-compute-ahead-winner-only", SHARESTREAMS_AXIS, &[WINNER, AHEAD], &[THIRTY_TWO.with(DEPTH_16).one_in(5)]),
    Variant { size: ("Rounds", 8), ..edge("tiled-axis-8", TILED_AXIS, &[("N", "8")], &[Compared::new(16).with(DEPTH_4).one_in(5)]) },
    Variant {
        size: ("Rounds", 16),
        ..edge("tiled-axis-16", TILED_AXIS, &[("N", "16")], &[Compared::new(64).with(&[("Depth", "8")]).one_in(10).deep()])
    },
    Variant {
        size: ("Streams", 1),
        ..edge("heap-axis", ("heap_axis", "heap-axis"), DEPTH_4, &[Compared::new(16).one_in(5), Compared::new(1024).one_in(10).deep()])
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
