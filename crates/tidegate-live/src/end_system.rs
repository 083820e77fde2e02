//! A direction in three threads: an end system between two sockets.
//!
//! ```text
//! socket -> Intake: classify, police, admit --- rings ---> Outlet: transmit -> socket
//!              ^  \'-- arrivals --> decision engine -- winners --^  |
//!              \'---------- reports: decided, memory back ----------\'
//! ```
//!
//! The intake has the direction's port, which polices, admits and counts. The policy's scheduler is in the engine, and so are its AQMs where they judge
//! packets at their turn; the port's judge arrivals. Each of its decisions is
//! replayed at the port ([`ReplayScheduler`]) after the frame has left, with the instant of the decision. So the port counts and records the
//! same as a port that decides by itself.

mod intake;
mod outlet;
mod replay_scheduler;
mod reports;

use crate::class_queues::ClassQueues;
use crate::clock;
use crate::counters::DirectionCounters;
use crate::direction_loop::{DirectionLoop, DirectionOptions, DirectionReport, EngineRecord, Next};
use crate::error::ControlError;
use crate::io::{Receive, Transmit};
use crate::outbox::Outbox;
use crate::pool::FramePool;
use crate::port_change::{Asked, Needs, Replaced};
use crate::record::DirectionRecord;
use crate::watch::Frame;
use intake::Intake;
use outlet::Outlet;
use replay_scheduler::ReplayScheduler;
use reports::{Flags, REPORTS_PER_FRAME};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::ScopedJoinHandle;
use tidegate_core::classifier::Classifier;
use tidegate_core::observer::Observer;
use tidegate_core::port::{ClassAqms, Port, PortSetup};
use tidegate_core::registry::AnyScheduler;
use tidegate_core::units::Time;
use tidegate_endsystem::{DecisionEngine, Descriptor, EndSystem, EngineCounters, QueueManager, Setup};
use tidegate_statistics::Delays;

/// The greatest capacity of all rings of a direction together, in frames. A ring has room for the whole buffer of the policy, unless there
/// are too many flows for that.
const RING_FRAMES: u32 = 1 << 20;

/// The least capacity of a ring, in frames.
const SHORTEST_RING: u32 = 64;

/// The three parts of a direction.
pub(crate) struct Parts<R, T, O> {
    pub(crate) intake: Intake<R, O>,
    pub(crate) engine: Engine,
    pub(crate) outlet: Outlet<T>,
}

/// The decision engine of a direction.
pub(crate) struct Engine {
    decisions: DecisionEngine<AnyScheduler>,
    flags: Arc<Flags>,
}

impl Engine {
    /// Decides until no more frames can arrive, or until the halt flag is set.
    pub(crate) fn run(&mut self) -> EngineCounters {
        let flags = &self.flags;
        self.decisions.run(clock::now, |engine| {
            flags.forgone.store(engine.counters().forgone.picoseconds(), Ordering::Relaxed);
            !flags.halt.load(Ordering::Relaxed)
        });
        self.decisions.counters()
    }
}

/// Opens a direction at `now`. `connected` says whether the incoming and the outgoing interface are up.
pub(crate) fn open<R, T: Transmit, O>(
    now: Time,
    setup: PortSetup,
    direction_options: DirectionOptions,
    receiver: R,
    transmitter: T,
    connected: [bool; 2],
    observer: O,
) -> io::Result<Parts<R, T, O>> {
    let pool = FramePool::new(direction_options.slots, setup.longest_frame)?;
    let flows = setup.classifier.flows();
    let frames = setup.packet_limit.min(RING_FRAMES / flows.max(1) as u32).max(SHORTEST_RING);
    let mut queues = QueueManager::default();
    for _ in 0..flows {
        queues.admit(Descriptor::new(()).frames(frames)).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
    }
    // A thread that watches the clock must know a decision before its instant.
    let timing = Setup {
        catch_up: direction_options.catch_up,
        ahead: direction_options.spin,
        winners: 1024,
        ..Setup::real_time(setup.rate, setup.overhead)
    };
    let PortSetup { rate, overhead, classifier, policers, aqms, seed, buffer, scheduler, packet_limit, longest_frame, remarks } = setup;
    let Ok(EndSystem { mut producers, mut engine, transmission }) = queues.open(&timing, |_| Ok::<_, std::convert::Infallible>(scheduler));
    let Some(producer) = producers.pop() else { unreachable!("an end system has a producer") };
    engine.manage(ClassAqms::new(now, aqms.clone(), seed, &classifier));
    let setup = PortSetup {
        rate,
        overhead,
        classifier,
        policers,
        aqms,
        seed,
        buffer,
        scheduler: ReplayScheduler::default(),
        packet_limit,
        longest_frame,
        remarks,
    };
    // Every report is about a frame with a slot, so the ring is never full.
    let (reporting, reports) = rtrb::RingBuffer::new(REPORTS_PER_FRAME * direction_options.slots as usize);
    let flags = Arc::new(Flags { halt: AtomicBool::new(false), sending: AtomicBool::new(connected[1]), forgone: AtomicU64::new(0) });
    let [receiving, sending] = connected;
    let intake = Intake {
        receiver,
        record: DirectionRecord::new(now, &setup.classifier),
        port: Port::new(now, setup),
        pool,
        observer,
        checksums: direction_options.checksums,
        batch: direction_options.batch,
        grain: timing.grain,
        ring: frames,
        producer: Some(producer),
        reports,
        flags: flags.clone(),
        counters: DirectionCounters { receiving, sending, ..DirectionCounters::default() },
        lateness: Delays::default(),
        busy: 0,
    };
    let outbox = Outbox::new(&direction_options.link, direction_options.number, direction_options.slots as usize);
    let engine = Engine { decisions: engine, flags: flags.clone() };
    Ok(Parts { intake, engine, outlet: Outlet::new(transmission, transmitter, (rate.time_per_byte(), overhead), outbox, reporting, flags) })
}

/// The intake of a direction, and the threads of its two other parts.
pub(crate) struct EndSystemDirection<'scope, R, T, O> {
    pub(crate) intake: Intake<R, O>,
    pub(crate) engine: ScopedJoinHandle<'scope, EngineCounters>,
    pub(crate) outlet: ScopedJoinHandle<'scope, Outlet<T>>,
}

impl<R: Receive, T: Transmit, O: Observer<Frame>> DirectionLoop<O> for EndSystemDirection<'_, R, T, O> {
    fn poll(&mut self, now: Time, reading: bool) -> Next {
        self.intake.poll(now, reading)
    }

    fn maintain(&mut self, now: Time) -> bool {
        self.intake.maintain(now)
    }

    fn counters(&self) -> DirectionCounters {
        self.intake.counters()
    }

    fn record(&mut self) -> &mut DirectionRecord {
        &mut self.intake.record
    }

    fn add_queues(&self, now: Time, class: usize, most: u32, queues: &mut ClassQueues) -> bool {
        queues.add(&self.intake.port, now, class, most)
    }

    fn keeps_bytes(&self) -> bool {
        false
    }

    fn classifier(&self) -> &Classifier {
        self.intake.port.classifier()
    }

    fn switches(&self) -> u32 {
        self.intake.port.switches()
    }

    fn fits(&self, _needs: Needs) -> Result<(), ControlError> {
        Err(ControlError::EndSystem)
    }

    fn change(&mut self, change: Asked, reply: Sender<Replaced>) {
        drop(reply.send(Replaced::not(ControlError::EndSystem, change)));
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.intake.receiver.descriptor()
    }

    fn has_failed(&self) -> bool {
        self.engine.is_finished() || self.outlet.is_finished()
    }

    fn finish(mut self, now: Time) -> DirectionReport<O> {
        self.intake.close();
        self.intake.flags.halt.store(true, Ordering::Relaxed);
        self.engine.thread().unpark();
        self.outlet.thread().unpark();
        // A panic in a part is a defect, which continues in the caller.
        let engine = self.engine.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut outlet = self.outlet.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut report = self.intake.finish(now, outlet.queued());
        report.counters.late = outlet.late();
        DirectionReport { engine: Some(EngineRecord { engine, winners: outlet.winners() }), ..report }
    }
}

#[cfg(test)]
mod tests;
