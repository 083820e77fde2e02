//! A direction in three threads: an end system between two sockets.
//!
//! ```text
//! socket -> Intake: classify, police, admit --- rings ---> Outlet: transmit -> socket
//!              ^  \'-- arrivals --> decision engine -- winners --^  |
//!              \'------------- what became of each frame -----------\'
//! ```
//!
//! The intake keeps the port of the direction: it polices and admits there, and the port's queues say what is held. Its scheduler decides
//! nothing ([`Follower`]): the policy's scheduler is in the engine, and what it decided is repeated at the port when the frame has left, at
//! the same instant. So the port counts, records and balances as it does when it decides by itself.

mod follower;
mod intake;
mod outlet;

pub use intake::EngineRecord;
pub(crate) use intake::{Intake, Split};
pub(crate) use outlet::Outlet;

use crate::clock;
use crate::counters::DirectionCounters;
use crate::direction::Treatment;
use crate::io::Transmit;
use crate::outbox::{Outbox, Outcome};
use crate::pool::{FramePool, Lent};
use follower::Follower;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tidegate_core::packet::Flow;
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::AnyScheduler;
use tidegate_core::units::Time;
use tidegate_endsystem::{DecisionEngine, Descriptor, EndSystem, EngineCounters, Fate, QueueManager, Setup};
use tidegate_statistics::{Delays, PortRecorder};

/// The frames that all rings of a direction hold together, if the policy has so many flows that a ring for each of its whole buffer would
/// be too much memory.
const RING_FRAMES: u32 = 1 << 20;

/// The least that a ring holds.
const SHORTEST_RING: u32 = 64;

/// What the intake is told of a frame.
#[derive(Debug)]
enum Report {
    /// Its transmission starts at `at`, or it is discarded then.
    Decided { stream: Flow, slot: u32, length: u32, fate: Fate, at: Time },
    /// It has left its ring: its memory comes back, and what has become of it if it was transmitted.
    Back { lent: Lent, sent: Option<(u32, Outcome)> },
}

/// The most that is told of a frame before its slot can be used again.
const REPORTS_PER_FRAME: usize = 2;

/// What the threads of a direction tell each other beside frames.
#[derive(Debug)]
struct Flags {
    /// Set when everybody is to end, whatever is left.
    halt: AtomicBool,
    /// True if the outgoing interface is up and connected.
    sending: AtomicBool,
    /// Link time given up by the engine, in picoseconds.
    forgone: AtomicU64,
}

/// The three parts of a direction.
pub(crate) struct Parts<R, T, O> {
    pub(crate) intake: Intake<R, O>,
    pub(crate) engine: Engine,
    pub(crate) outlet: Outlet<T>,
}

/// Where a direction's decisions are made.
pub(crate) struct Engine {
    decisions: DecisionEngine<AnyScheduler>,
    flags: Arc<Flags>,
}

impl Engine {
    /// Decides until nothing can come any more, or until it is told to halt.
    pub(crate) fn run(&mut self) -> EngineCounters {
        let flags = &self.flags;
        self.decisions.run(clock::now, |engine| {
            flags.forgone.store(engine.counters().forgone.picoseconds(), Ordering::Relaxed);
            !flags.halt.load(Ordering::Relaxed)
        });
        self.decisions.counters()
    }
}

/// Opens a direction whose interfaces, the incoming and the outgoing one, are `connected` or not at `now`.
pub(crate) fn open<R, T: Transmit, O>(
    now: Time,
    setup: PortSetup,
    treatment: Treatment,
    receiver: R,
    transmitter: T,
    connected: [bool; 2],
    observer: O,
) -> io::Result<Parts<R, T, O>> {
    let pool = FramePool::new(treatment.slots, setup.longest_frame)?;
    let flows = setup.classifier.flows();
    let frames = setup.packet_limit.min(RING_FRAMES / flows.max(1) as u32).max(SHORTEST_RING);
    let mut queues = QueueManager::default();
    for _ in 0..flows {
        queues.admit(Descriptor::new(()).frames(frames)).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
    }
    // Who watches the clock has to know of a decision before its instant.
    let timing =
        Setup { catch_up: treatment.catch_up, ahead: treatment.spin, winners: 1024, ..Setup::real_time(setup.rate, setup.overhead) };
    let PortSetup { rate, overhead, classifier, policers, buffer, scheduler, packet_limit, longest_frame, remarks } = setup;
    let Ok(EndSystem { mut producers, engine, transmission }) = queues.open(&timing, |_| Ok::<_, std::convert::Infallible>(scheduler));
    let Some(producer) = producers.pop() else { unreachable!("an end system has a producer") };
    let setup =
        PortSetup { rate, overhead, classifier, policers, buffer, scheduler: Follower::default(), packet_limit, longest_frame, remarks };
    // Every frame in it has a slot, so it is never full.
    let (reporting, reports) = rtrb::RingBuffer::new(REPORTS_PER_FRAME * treatment.slots as usize);
    let flags = Arc::new(Flags { halt: AtomicBool::new(false), sending: AtomicBool::new(connected[1]), forgone: AtomicU64::new(0) });
    let [receiving, sending] = connected;
    let intake = Intake {
        receiver,
        recorder: PortRecorder::new(now, &setup.classifier),
        port: Port::new(now, setup),
        pool,
        observer,
        checksums: treatment.checksums,
        grain: timing.grain,
        ring: frames,
        producer: Some(producer),
        reports,
        flags: flags.clone(),
        counters: DirectionCounters { receiving, sending, ..DirectionCounters::default() },
        lateness: Delays::default(),
        busy: 0,
    };
    let outbox = Outbox::new(&treatment.link, treatment.number, rate, overhead, treatment.slots as usize);
    let engine = Engine { decisions: engine, flags: flags.clone() };
    Ok(Parts { intake, engine, outlet: Outlet::new(transmission, transmitter, outbox, reporting, flags) })
}

#[cfg(test)]
mod tests;
