//! A row of the table of designs, and the designs that it stands for.

/// Names and values of parameters, as SystemVerilog writes them.
pub type Parameters = &'static [(&'static str, &'static str)];

/// One architecture in several sizes.
pub struct Variant {
    /// Its designs are called `name-size`.
    pub name: &'static str,
    /// Its name on the page of measurements.
    pub title: &'static str,
    pub top: &'static str,
    /// Those besides the size, as SystemVerilog writes them.
    pub parameters: Parameters,
    /// The parameter that makes the size, and the streams that each unit of it stands for.
    pub size: (&'static str, u32),
    /// The step of `cargo xtask rtl` that compares it with the software.
    pub step: &'static str,
    /// Its name in the bench's table of engines.
    pub engine: &'static str,
    pub compared: &'static [Compared],
    /// The sizes that are measured, in streams; none for a design that is compared only. What follows is about these.
    pub sizes: &'static [u32],
    /// Clock cycles from one decision to the next, of a number of streams.
    pub cycles: fn(u32) -> u32,
    /// How it is mapped to tables, of a number of streams.
    pub mapping: fn(u32) -> Mapping,
    /// What nextpnr is told besides, of a number of streams.
    pub place: fn(u32) -> Place,
}

/// A size that is simulated beside the software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    pub streams: u32,
    /// Parameters besides those of the variant.
    pub with: Parameters,
    /// One decision is compared for this many that are asked for: large designs are slow, in the simulation and in the software.
    pub share: u64,
    /// It is compared only if asked for.
    pub is_deep: bool,
}

impl Compared {
    pub const fn new(streams: u32) -> Compared {
        Compared { streams, with: &[], share: 1, is_deep: false }
    }

    pub const fn deep(self) -> Compared {
        Compared { is_deep: true, ..self }
    }

    pub const fn with(self, with: Parameters) -> Compared {
        Compared { with, ..self }
    }

    pub const fn one_in(self, share: u64) -> Compared {
        Compared { share, ..self }
    }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Options of nextpnr besides those that all designs share.
    pub options: &'static [&'static str],
    /// The clock, in megahertz and in speed grade 6, for which wires of paths that are too long are taken up and laid anew until there is none; in
    /// speed grade 8 it is a quarter more. What cannot be reached takes 1,500 rounds, so it is little more than what comes out.
    pub goal: Option<u32>,
}

impl Place {
    /// As nextpnr does unless told otherwise: placer `heap`, router `router1`.
    pub const USUAL: Place = Place::with(&[]);

    /// For designs that fill much of the device: the usual ones take hours to route them, or do not come to an end.
    pub const LARGE: Place = Place::with(&["--placer", "static", "--router", "router2"]);

    /// The same with a pin for the clock, see `flow`: elsewhere that router has found no way from it to the clock's network.
    pub const LARGE_PINNED: Place = Place::with(&["--placer", "static", "--router", "router2", "--lpf", "pins.lpf"]);

    /// For designs of some size that have to be fast: the placer of the usual ones, told to care for time, and a router that ends in minutes.
    pub const TIMED: Place = Place::with(&["--placer-heap-timingweight", "30", "--router", "router2", "--lpf", "pins.lpf"]);

    pub const fn with(options: &'static [&'static str]) -> Place {
        Place { options, goal: None }
    }

    pub const fn towards(self, goal: u32) -> Place {
        Place { goal: Some(goal), ..self }
    }
}

/// A module that is synthesised alone, for its area.
pub struct Part {
    pub name: &'static str,
    pub title: &'static str,
    pub top: &'static str,
    pub parameters: Parameters,
    /// What the paper gives for it: slices of Virtex-I, slices of Virtex-II, multipliers of Virtex-II.
    pub published: Option<(u32, Option<u32>, Option<u32>)>,
}

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
            place: Place::USUAL,
        }
    }
}

fn owned(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
    parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
