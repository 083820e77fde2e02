//! What can be wrong with a network or an experiment, and what can go wrong while it runs.

use std::fmt;
use tidegate_core::port::{Unbalanced, Volume};

/// What a [`Problem`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The experiment.
    Experiment,
    /// The link of this index.
    Link(usize),
    /// The flow of this index.
    Flow(usize),
    /// The calls of this index.
    Calls(usize),
}

/// Something in a network or an experiment that cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What the value belongs to; the reader of a file points at the place.
    pub subject: Subject,
    /// The name of the subject, or `experiment`.
    pub name: String,
    /// The field.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.subject {
            Subject::Experiment => "",
            Subject::Link(_) => "link ",
            Subject::Flow(_) => "flow ",
            Subject::Calls(_) => "calls ",
        };
        write!(f, "{kind}{}: {}: {}; expected {}", self.name, self.key, self.problem, self.expected)
    }
}

impl std::error::Error for Problem {}

/// Why a simulation has no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum SimulationError {
    /// The network or the experiment is at fault; nothing was simulated.
    Refused(Problem),
    /// It was cancelled.
    Cancelled,
    /// A port broke its conservation law: a defect of the port.
    Unbalanced {
        /// The replication, from 0.
        replication: u32,
        /// The link's name.
        link: String,
        /// The port's figures.
        figures: Box<Unbalanced>,
    },
    /// The simulator lost or invented a packet: a defect of the simulator.
    NotConserved {
        /// The replication, from 0.
        replication: u32,
        /// What does not add up: the network, or a flow or a class by name.
        place: String,
        /// What sources put in.
        emitted: Volume,
        /// What was delivered, was dropped or is under way.
        accounted: Volume,
    },
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulationError::Refused(problem) => problem.fmt(f),
            SimulationError::Cancelled => f.write_str("the simulation was cancelled"),
            SimulationError::Unbalanced { replication, link, figures } => {
                write!(f, "internal error in replication {replication}: port of link {link}: {figures}")
            }
            SimulationError::NotConserved { replication, place, emitted, accounted } => write!(
                f,
                "internal error in replication {replication}: {place}: {} packets ({} bytes) went in, {} ({}) are accounted for",
                emitted.packets, emitted.bytes, accounted.packets, accounted.bytes
            ),
        }
    }
}

impl std::error::Error for SimulationError {}

impl From<Problem> for SimulationError {
    fn from(problem: Problem) -> SimulationError {
        SimulationError::Refused(problem)
    }
}
