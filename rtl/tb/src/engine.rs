//! The engines that are compared: what the bench has to know of each beyond its ports.

use tidegate_core::dwcs::device::{Architecture, Clock, Device, Routing, Size, Update};
use tidegate_core::dwcs::{Choice, Dwcs, Early, Missed, Order, Rules, Scan, Standing, Stream, StreamError};
use tidegate_core::packet::Flow;

/// How an engine goes about a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As published, one decision after the other: the device model has its architecture, so cycles and the words at the network's ports are
    /// compared, too. Time and new packets are looked at in the cycle of the update, or in the first one if blocks compute ahead.
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
    /// So many cycles after an update `status_o` shows what has become of the streams.
    pub status_lag: u64,
}

const fn in_steps(name: &'static str, routing: Routing, update: Update) -> Engine {
    Engine { name, kind: Kind::InSteps(routing, update), status_lag: 1 }
}

/// All of them.
pub const ENGINES: &[Engine] = &[
    in_steps("base", Routing::Lattice, Update::InTurn),
    in_steps("winner-only", Routing::Winner, Update::InTurn),
    in_steps("compute-ahead", Routing::Lattice, Update::Ahead),
    in_steps("compute-ahead-winner-only", Routing::Winner, Update::Ahead),
    in_steps("exact", Routing::Exact, Update::InTurn),
    in_steps("compute-ahead-exact", Routing::Exact, Update::Ahead),
    Engine { name: "speculative", kind: Kind::Pipelined { records: 20 }, status_lag: 1 },
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
    /// If a stream has attributes that the model does not take.
    pub fn golden(&self, ports: usize, start: u64, streams: &[Stream]) -> Result<Golden, StreamError> {
        let Some(size) = Size::ALL.into_iter().find(|size| size.ports() == ports) else {
            let rules = Rules { missed: Missed::Complete, early: Early::Clamp };
            let placed = |stream: &Stream| Stream { first_deadline: Some(stream.first_deadline.unwrap_or(start)), ..*stream };
            let streams: Vec<Stream> = streams.iter().map(placed).collect();
            return Scan::new(rules, Order::DeadlineFirst, &streams).map(Golden::Scan);
        };
        let architecture = self.architecture(ports).unwrap_or(Architecture::base(size));
        Device::new(architecture, Clock::Outside, start, streams).map(|device| Golden::Device(Box::new(device)))
    }
}

/// What a design is compared with.
#[derive(Debug)]
pub enum Golden {
    /// The device model, of as many streams as a device takes.
    Device(Box<Device>),
    /// The scan with clamped deadlines, which does the same as long as no period is shorter than the ticks between two updates, and no
    /// denominator reaches 255.
    Scan(Scan),
}

impl Golden {
    fn engine(&mut self) -> &mut dyn Dwcs {
        match self {
            Golden::Device(device) => device.as_mut(),
            Golden::Scan(scan) => scan,
        }
    }

    /// See [`Dwcs::activate`].
    pub fn activate(&mut self, now: u64, stream: usize, arrival: u64) {
        self.engine().activate(now, Flow(stream as u32), arrival);
    }

    /// See [`Dwcs::select`].
    pub fn select(&mut self, now: u64) -> Choice {
        self.engine().select(now)
    }

    /// See [`Dwcs::served`].
    pub fn served(&mut self, stream: usize, finish: u64, next: Option<u64>) {
        self.engine().served(Flow(stream as u32), finish, next);
    }

    /// See [`Dwcs::lost`].
    pub fn lost(&mut self, stream: usize, next: Option<u64>) {
        self.engine().lost(Flow(stream as u32), next);
    }

    /// See [`Dwcs::standing`].
    pub fn standing(&self, stream: usize) -> Standing {
        match self {
            Golden::Device(device) => device.standing(Flow(stream as u32)),
            Golden::Scan(scan) => scan.standing(Flow(stream as u32)),
        }
    }
}
