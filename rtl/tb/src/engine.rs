//! The engines that are compared: what the bench has to know of each beyond its ports.

use tidegate_core::dwcs::{Stream, StreamError};
use tidegate_rtl_model::{Architecture, Clock, Device, Routing, Size, Update};

/// How an engine goes about a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As published, one decision after the other: the device model has its architecture, so cycles and the words at the network's ports are
    /// compared, too. The time is looked at in the last SCHEDULE cycle and packets in the update, or both in the first SCHEDULE
    /// cycle if blocks compute ahead.
    InSteps(Routing, Update),
    /// Several decisions are under way. Packets are fetched some cycles before they become heads, which `take_o` tells. The clock counts all
    /// decisions, or follows the time a few decisions late; no packet is older by it than 2^15 ticks. A LOAD that sets the clock is one of all
    /// streams. Up to so many decisions wait for the host.
    Pipelined { records: usize },
}

/// What is built, apart from the number of streams.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Its name on the command line.
    pub name: &'static str,
    pub kind: Kind,
    /// This many cycles after an update `status_o` shows what has become of the streams. `None` if the design is built without that port, as it is
    /// synthesised: then the answers to a host's questions are compared with the model.
    pub status_lag: Option<u64>,
}

const fn in_steps(name: &'static str, routing: Routing, update: Update) -> Engine {
    Engine { name, kind: Kind::InSteps(routing, update), status_lag: Some(2) }
}

/// All of them.
pub const ENGINES: &[Engine] = &[
    in_steps("base", Routing::Lattice, Update::InTurn),
    in_steps("winner-only", Routing::Winner, Update::InTurn),
    in_steps("compute-ahead", Routing::Lattice, Update::Ahead),
    in_steps("compute-ahead-winner-only", Routing::Winner, Update::Ahead),
    in_steps("exact", Routing::Exact, Update::InTurn),
    in_steps("compute-ahead-exact", Routing::Exact, Update::Ahead),
    Engine { name: "speculative", kind: Kind::Pipelined { records: 20 }, status_lag: Some(1) },
    Engine { name: "speculative-as-synthesised", kind: Kind::Pipelined { records: 20 }, status_lag: None },
];

impl Engine {
    /// The engine of this name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn named(name: &str) -> Result<Engine, String> {
        let names = || ENGINES.iter().map(|engine| engine.name).collect::<Vec<_>>().join(", ");
        ENGINES
            .iter()
            .find(|engine| engine.name == name)
            .copied()
            .ok_or_else(|| format!("there is no engine \"{name}\"; there are {}", names()))
    }

    /// Whether several decisions are under way.
    pub fn is_pipelined(&self) -> bool {
        matches!(self.kind, Kind::Pipelined { .. })
    }

    /// Its architecture with so many ports.
    pub fn architecture(&self, ports: usize) -> Option<Architecture> {
        let size = Size::ALL.into_iter().find(|size| size.ports() == ports)?;
        match self.kind {
            Kind::InSteps(routing, update) => Some(Architecture { size, routing, update }),
            Kind::Pipelined { .. } => None,
        }
    }

    /// Its golden model for these streams on so many ports, when the clock stands at `start`.
    ///
    /// # Errors
    /// If a stream has attributes that the model does not take, or there are more streams than it has registers for.
    pub fn golden(&self, ports: usize, start: u64, streams: &[Stream]) -> Result<Device, StreamError> {
        let size = Size::ALL.into_iter().find(|size| size.ports() == ports).unwrap_or(Size::ThirtyTwo);
        let architecture = self.architecture(ports).unwrap_or(Architecture::base(size));
        Device::new(architecture, Clock::Outside, start, streams)
    }
}
