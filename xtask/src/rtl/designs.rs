//! What is synthesised, placed and routed: a table that is easy to extend.

/// One architecture in several sizes.
pub struct Variant {
    /// Its designs are called `name-size`.
    pub name: &'static str,
    /// What a reader calls it.
    pub title: &'static str,
    pub top: &'static str,
    /// Those besides the size, as SystemVerilog writes them.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The parameter that makes the size, and how many streams one of it stands for.
    pub size: (&'static str, u32),
    /// Numbers of streams.
    pub sizes: &'static [u32],
    /// Clock cycles from one decision to the next, of a number of streams.
    pub cycles: fn(u32) -> u32,
    /// How it is mapped to tables, of a number of streams.
    pub mapping: fn(u32) -> Mapping,
    /// What nextpnr is told besides, of a number of streams.
    pub place: fn(u32) -> Place,
}

/// How synthesis maps a design to tables: `SCRIPTS` of `rtl/flow/synthesise.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Paths that are not the longest may become longer where that saves tables.
    Small,
    /// Every path is as short as it can be.
    Short,
}

impl Mapping {
    /// What the script calls it.
    pub fn name(self) -> &'static str {
        match self {
            Mapping::Small => "small",
            Mapping::Short => "short",
        }
    }
}

/// How a design is placed and routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Options of nextpnr besides those that all designs share.
    pub options: &'static [&'static str],
    /// The clock, in megahertz and in speed grade 6, for which wires of paths that are too long are taken up and laid anew until there is none; in
    /// speed grade 8 it is a quarter more. What cannot be reached takes 1,500 rounds, so it is little more than what comes out.
    pub goal: Option<u32>,
}

impl Place {
    const fn with(options: &'static [&'static str]) -> Place {
        Place { options, goal: None }
    }

    const fn towards(self, goal: u32) -> Place {
        Place { goal: Some(goal), ..self }
    }
}

/// As nextpnr does unless told otherwise: placer `heap`, router `router1`.
pub const USUAL: Place = Place::with(&[]);

/// For designs that fill much of the device: the usual ones take hours to route them, or do not come to an end.
pub const LARGE: Place = Place::with(&["--placer", "static", "--router", "router2"]);

/// The same with a pin for the clock, see `flow`: elsewhere that router has found no way from it to the clock's network.
pub const LARGE_PINNED: Place = Place::with(&["--placer", "static", "--router", "router2", "--lpf", "pins.lpf"]);

/// For designs of some size that have to be fast: the placer of the usual ones, told to care for time, and a router that ends in minutes.
pub const TIMED: Place = Place::with(&["--placer-heap-timingweight", "30", "--router", "router2", "--lpf", "pins.lpf"]);

/// A module that is synthesised alone, for its area.
pub struct Part {
    pub name: &'static str,
    pub title: &'static str,
    pub top: &'static str,
    pub parameters: &'static [(&'static str, &'static str)],
    /// What the paper gives for it: slices of Virtex-I, slices of Virtex-II, multipliers of Virtex-II.
    pub published: Option<(u32, Option<u32>, Option<u32>)>,
}

const LATTICE: (&str, &str) = ("Routing", "dwcs_pkg::Lattice");
const WINNER: (&str, &str) = ("Routing", "dwcs_pkg::Winner");
const EXACT: (&str, &str) = ("Routing", "dwcs_pkg::Exact");
const IN_TURN: (&str, &str) = ("Ahead", "0");
const AHEAD: (&str, &str) = ("Ahead", "1");

/// The paper's sizes.
pub const SIZES: &[u32] = &[4, 8, 16, 32];

pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "base",
        title: "base",
        top: "sharestreams",
        parameters: &[LATTICE, IN_TURN],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2() + 1,
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "winner-only",
        title: "winner-only",
        top: "sharestreams",
        parameters: &[WINNER, IN_TURN],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2() + 1,
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "compute-ahead",
        title: "compute-ahead",
        top: "sharestreams",
        parameters: &[LATTICE, AHEAD],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2(),
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "compute-ahead-winner-only",
        title: "compute-ahead, winner-only",
        top: "sharestreams",
        parameters: &[WINNER, AHEAD],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2(),
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "exact",
        title: "exact order",
        top: "sharestreams",
        parameters: &[EXACT, IN_TURN],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2() * n.ilog2() + 1,
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "speculative",
        title: "speculative",
        top: "speculative",
        parameters: &[],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |_| 1,
        // Of more streams more tables make longer wires, and a slower clock.
        mapping: |streams| if streams <= 8 { Mapping::Short } else { Mapping::Small },
        place: |streams| match streams {
            4 => USUAL,
            8 => TIMED.towards(75),
            32 => LARGE_PINNED.towards(49),
            _ => LARGE_PINNED,
        },
    },
    Variant {
        name: "tiled",
        title: "tiled, 32 lanes, with queues",
        top: "tiled",
        parameters: &[("N", "32")],
        size: ("Rounds", 32),
        sizes: &[1024],
        // Words in block RAM take two cycles, the tournament of 32 lanes six; see the module's header.
        cycles: |n| (n / 32).max(17),
        mapping: |_| Mapping::Small,
        place: |_| LARGE,
    },
    // So many streams fit if few packets can wait, and with few lanes: each has a table that takes a block RAM.
    Variant {
        name: "tiled-16",
        title: "tiled, 16 lanes, with queues of two",
        top: "tiled",
        parameters: &[("N", "16"), ("Depth", "2")],
        size: ("Rounds", 16),
        sizes: &[16_384],
        cycles: |n| n / 16,
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
    },
    Variant {
        name: "tiled-64",
        title: "tiled, 64 lanes, with queues",
        top: "tiled",
        parameters: &[("N", "64")],
        size: ("Rounds", 64),
        sizes: &[1024],
        cycles: |n| (n / 64).max(16),
        mapping: |_| Mapping::Small,
        place: |_| LARGE,
    },
    // Cycles per decision where nobody misses a deadline and every winner has another packet; see the page.
    Variant {
        name: "heap",
        title: "heap, with queues",
        top: "heap",
        parameters: &[],
        size: ("Streams", 1),
        sizes: &[1024],
        cycles: |n| if n > 256 { 6 } else { 5 },
        mapping: |_| Mapping::Small,
        place: |_| TIMED,
    },
    Variant {
        name: "heap-2",
        title: "heap, with queues of two",
        top: "heap",
        parameters: &[("Depth", "2")],
        size: ("Streams", 1),
        sizes: &[16_384],
        cycles: |_| 6,
        mapping: |_| Mapping::Small,
        place: |_| TIMED,
    },
    Variant {
        name: "axis",
        title: "base, with queues and AXI4-Stream",
        top: "sharestreams_axis",
        parameters: &[LATTICE, IN_TURN],
        size: ("N", 1),
        sizes: SIZES,
        cycles: |n| n.ilog2() + 1,
        mapping: |_| Mapping::Small,
        place: |_| USUAL,
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

/// One thing to synthesise and, unless it is a part, to place and route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    pub name: String,
    pub top: &'static str,
    pub parameters: Vec<(String, String)>,
    pub is_placed: bool,
    pub mapping: Mapping,
    pub place: Place,
}

impl Variant {
    /// The design for this many streams.
    pub fn design(&self, streams: u32) -> Design {
        let mut parameters = owned(self.parameters);
        parameters.insert(0, (self.size.0.to_owned(), (streams / self.size.1).to_string()));
        Design {
            name: format!("{}-{streams}", self.name),
            top: self.top,
            parameters,
            is_placed: true,
            mapping: (self.mapping)(streams),
            place: (self.place)(streams),
        }
    }
}

impl Part {
    pub fn design(&self) -> Design {
        Design {
            name: self.name.to_owned(),
            top: self.top,
            parameters: owned(self.parameters),
            is_placed: false,
            mapping: Mapping::Small,
            place: USUAL,
        }
    }
}

/// Every design: parts, then small ones before large ones, so that the first results come soon.
pub fn all() -> Vec<Design> {
    let mut sized: Vec<(u32, Design)> =
        VARIANTS.iter().flat_map(|variant| variant.sizes.iter().map(|&streams| (streams, variant.design(streams)))).collect();
    sized.sort_by_key(|(streams, _)| *streams);
    PARTS.iter().map(Part::design).chain(sized.into_iter().map(|(_, design)| design)).collect()
}

fn owned(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
    parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
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
