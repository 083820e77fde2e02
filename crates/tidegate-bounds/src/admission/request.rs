//! The request for a flow, and the answer.

use crate::quantity::Picoseconds;
use std::fmt;

/// A flow that asks to come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// The caller's name of the flow.
    pub id: u64,
    /// The ports that it passes, in order; none twice.
    pub path: &'a [u32],
    /// Its class at every port; 0 is the most urgent one of strict priority.
    pub class: u16,
    /// Its burst in bits, at least its longest packet.
    pub burst: u64,
    /// Its rate in bit/s.
    pub rate: u64,
    /// Its longest packet in bits: no smaller burst is offered.
    pub longest: u32,
    /// Its shortest packet in bits; 0 if that is unknown.
    pub shortest: u32,
    /// The delay that it needs, propagation included.
    pub target: Picoseconds,
    /// Propagation along its path.
    pub propagation: Picoseconds,
}

/// What an admitted flow gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The bound on its delay, propagation included.
    pub delay: Picoseconds,
    /// Its ports.
    pub hops: Vec<Hop>,
}

/// What one port promises an admitted flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The port.
    pub port: u32,
    /// The delay there.
    pub budget: Picoseconds,
    /// What it may have in the queue, in bits.
    pub buffer: u64,
}

/// What a refused flow lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// The target is below the sum of budgets; in ps.
    Target,
    /// The delay of this class at the port exceeds its budget; in ps.
    Budget(u16),
    /// The rate of this class at the port, and of those before it; in bit/s.
    Rate(u16),
    /// The buffer of the port; in bits.
    Buffer,
    /// The path or the class does not exist, or the flow is admitted already.
    Meaning(&'static str),
    /// The promise of this flow would break; in ps.
    Promise(u64),
}

/// Why a flow was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The port that refuses, if it is one.
    pub port: Option<u32>,
    /// What is short.
    pub constraint: Constraint,
    /// What there is.
    pub have: i128,
    /// What the flow needs.
    pub need: i128,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = self.port {
            write!(f, "port {port}: ")?;
        }
        let Refused { have, need, .. } = self;
        match self.constraint {
            Constraint::Target => write!(f, "the target is {have} ps, and the budgets of the path are {need} ps"),
            Constraint::Budget(class) => write!(f, "class {class} has a budget of {have} ps, and would need {need} ps"),
            Constraint::Rate(class) => write!(f, "class {class} has {have} bit/s, and would need {need} bit/s"),
            Constraint::Buffer => write!(f, "the buffer has {have} bit, and would need {need} bit"),
            Constraint::Meaning(problem) => f.write_str(problem),
            Constraint::Promise(flow) => write!(f, "flow {flow} was promised {have} ps, and would need {need} ps"),
        }
    }
}

/// The refused request with one value in place of its own; it would be admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The smallest target, in ps.
    Target(Picoseconds),
    /// The largest burst, in bits: shape the flow to it.
    Burst(u64),
    /// The largest rate, in bit/s.
    Rate(u64),
    /// Another class.
    Class(u16),
    /// Another path, by its number among those that were given: of the shortest ones the one with the largest bottleneck.
    Path(usize),
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offer::Target(target) => write!(f, "a target of {target} ps"),
            Offer::Burst(burst) => write!(f, "shaped to a burst of {burst} bit"),
            Offer::Rate(rate) => write!(f, "a rate of {rate} bit/s"),
            Offer::Class(class) => write!(f, "class {class}"),
            Offer::Path(path) => write!(f, "path {path}"),
        }
    }
}
