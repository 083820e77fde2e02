//! How engines with queues outside go about decisions: what the bench has to know beyond their ports.

use tidegate_core::dwcs::{Stream, StreamError};
use tidegate_rtl_model::{Architecture, Clock, Device, Routing, Size, Update};

/// How an engine goes about a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As published, one decision after the other: the device model has its architecture, so cycles and the words at the network's ports are
    /// compared, too. The time is sampled in the last SCHEDULE cycle and packets in the update, or both in the first SCHEDULE cycle if blocks
    /// compute ahead.
    InSteps(Routing, Update),
    /// Several decisions are under way. Packets are fetched some cycles before they become heads, which `take_o` tells. The clock counts all
    /// decisions, or follows the time a few decisions late; by it no packet is older than 2^15 ticks. A LOAD that sets the clock is one of all
    /// streams. Up to `records` decisions wait for the host.
    Pipelined { records: usize },
}

/// What is built, apart from the number of streams.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub kind: Kind,
    /// Cycles from an update until `status_o` shows the streams after it. `None` if the design is built without that port, as it is synthesised:
    /// then the answers to a host's questions are compared with the model.
    pub status_lag: Option<u64>,
}

impl Timing {
    /// An engine as published.
    pub const fn in_steps(routing: Routing, update: Update) -> Option<Timing> {
        Some(Timing { kind: Kind::InSteps(routing, update), status_lag: Some(2) })
    }

    /// The speculative engine, with the port that shows every stream or without.
    pub const fn speculative(status_lag: Option<u64>) -> Option<Timing> {
        Some(Timing { kind: Kind::Pipelined { records: 20 }, status_lag })
    }

    /// Whether several decisions are under way.
    pub fn is_pipelined(&self) -> bool {
        matches!(self.kind, Kind::Pipelined { .. })
    }

    /// The published architecture with this many ports; `None` if the engine is another one.
    pub fn architecture(&self, ports: usize) -> Option<Architecture> {
        let size = Size::ALL.into_iter().find(|size| size.ports() == ports)?;
        match self.kind {
            Kind::InSteps(routing, update) => Some(Architecture { size, routing, update }),
            Kind::Pipelined { .. } => None,
        }
    }

    /// The golden model for these streams on this many ports, with the clock at `start`.
    ///
    /// # Errors
    /// If a stream has attributes that the model does not take, or there are more streams than it has registers for.
    pub fn golden(&self, ports: usize, start: u64, streams: &[Stream]) -> Result<Device, StreamError> {
        let size = Size::ALL.into_iter().find(|size| size.ports() == ports).unwrap_or(Size::ThirtyTwo);
        let architecture = self.architecture(ports).unwrap_or(Architecture::base(size));
        Device::new(architecture, Clock::Outside, start, streams)
    }
}
