//! What is proved of the design: groups of properties and their sizes.

/// A group of properties, proved for several sizes.
pub struct Harness {
    /// A module in a file of its name.
    pub name: &'static str,
    pub what: &'static str,
    /// A folder of modules, below `abstractions`, that replace those of the design.
    pub abstraction: Option<&'static str>,
    /// Yosys passes on the flattened design.
    pub passes: &'static [&'static str],
    pub sizes: &'static [Size],
}

pub struct Size {
    /// The parameters of the harness: names and values, with blanks between them.
    pub parameters: &'static str,
    pub method: Method,
    /// The cycles within which every `cover` statement can be reached.
    pub witness: u32,
    /// Proved only if asked for.
    pub is_deep: bool,
}

/// How a proof is made.
#[derive(Clone, Copy)]
pub enum Method {
    /// All inputs of a circuit without registers.
    Combinational,
    /// All runs of this many cycles, from any state that the harness allows.
    Bounded(u32),
    /// All runs, by induction over cycles.
    Induction,
}

impl Method {
    pub fn shown(self) -> String {
        match self {
            Method::Combinational => "combinational".to_owned(),
            Method::Bounded(cycles) => format!("{cycles} cycles"),
            Method::Induction => "induction".to_owned(),
        }
    }
}
