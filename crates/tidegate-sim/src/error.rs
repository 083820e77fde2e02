//! What can be wrong with a network or an experiment, and what can go wrong while it runs.

use thiserror::Error;
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
    /// The failure of this index.
    Failure(usize),
    /// The workload of this index.
    Workload(usize),
}

/// Something in a network or an experiment that cannot be simulated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}{name}: {key}: {problem}; expected {expected}", subject.kind())]
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

impl Subject {
    fn kind(self) -> &'static str {
        match self {
            Subject::Experiment => "",
            Subject::Link(_) => "link ",
            Subject::Flow(_) => "flow ",
            Subject::Calls(_) => "calls ",
            Subject::Failure(_) => "failure ",
            Subject::Workload(_) => "workload ",
        }
    }
}

/// Why a simulation has no outcome.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum SimulationError {
    /// The network or the experiment is at fault; nothing was simulated.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// It was cancelled.
    #[error("the simulation was cancelled")]
    Cancelled,
    /// A port broke its conservation law: a defect of the port.
    #[error("internal error in replication {replication}: port of link {link}: {figures}")]
    Unbalanced {
        /// The replication, from 0.
        replication: u32,
        /// The link's name.
        link: String,
        /// The port's figures.
        figures: Box<Unbalanced>,
    },
    /// The simulator lost or invented a packet: a defect of the simulator.
    #[error(
        "internal error in replication {replication}: {place}: {} packets ({} bytes) went in, {} ({}) are accounted for",
        emitted.packets, emitted.bytes, accounted.packets, accounted.bytes
    )]
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
