//! Adapts an engine of Dynamic Window-Constrained Scheduling to the scheduler trait, for an end system that counts decisions.

use tidegate_core::dwcs::{Choice, Dwcs};
use tidegate_core::packet::{Flow, Head};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Parameter, Scheduler};
use tidegate_core::units::{Duration, Time};

/// Any [`Dwcs`] engine in the time of [`Pace::Decisions`](crate::Pace::Decisions): a tick is one picosecond, and a packet takes one tick.
///
/// ```
/// use tidegate_core::dwcs::{Order, Rules, Scan, Stream, Window};
/// use tidegate_core::packet::Colour;
/// use tidegate_core::units::Time;
/// use tidegate_endsystem::{Descriptor, QueueManager, Setup, Slots};
/// let mut queues = QueueManager::default();
/// let most = queues.admit(Descriptor::new(Stream::windowed(Window::new(3, 4), 1)))?;
/// let half = queues.admit(Descriptor::new(Stream::windowed(Window::new(1, 2), 1)))?;
/// let build = |streams: Vec<Stream>| Scan::new(Rules::default(), Order::default(), &streams).map(Slots::new);
/// let mut system = queues.open(&Setup::decisions(), build)?;
/// for (stream, frame) in [(most, "a"), (half, "b"), (half, "c")] {
///     system.producers[0].offer(stream, Time::ZERO, 64, Colour::Green, frame).unwrap();
/// }
/// system.engine.poll(Time::ZERO);
/// let mut sent = Vec::new();
/// system.transmission.poll(Time::ZERO, |departure| sent.push(departure.frame));
/// assert_eq!(sent, ["b", "a", "c"]); // 1 of 2 tolerates less than 3 of 4
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Slots<D> {
    engine: D,
    /// The engine's time, as a count and as an instant that wraps.
    tick: u64,
    clock: Time,
}

impl<D: Dwcs> Slots<D> {
    /// The scheduler that asks `engine`.
    pub fn new(engine: D) -> Slots<D> {
        Slots { engine, tick: 0, clock: Time::ZERO }
    }

    /// The adapted engine.
    pub fn engine(&self) -> &D {
        &self.engine
    }

    fn advance(&mut self, now: Time) -> u64 {
        self.tick += now.since(self.clock).picoseconds();
        self.clock = self.clock.later(now);
        self.tick
    }

    /// The tick of an instant near the engine's time.
    fn tick_of(&self, time: Time) -> u64 {
        (self.tick + time.since(self.clock).picoseconds()).saturating_sub(self.clock.since(time).picoseconds())
    }
}

impl<D: Dwcs> Scheduler for Slots<D> {
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        let tick = self.advance(now);
        self.engine.activate(tick, flow, self.tick_of(head.arrival));
    }

    fn select(&mut self, now: Time) -> Decision {
        let tick = self.advance(now);
        match self.engine.select(tick) {
            Choice::Serve(stream) => Decision::Serve(stream),
            Choice::Discard(stream) => Decision::Discard(stream),
            Choice::WaitUntil(instant) => Decision::WaitUntil(now + Duration::from_picoseconds(instant - tick)),
            Choice::Idle => Decision::Idle,
        }
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let tick = self.advance(now);
        let next = next.map(|head| self.tick_of(head.arrival));
        self.engine.served(flow, tick + 1, next);
    }

    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let next = next.map(|head| self.tick_of(head.arrival));
        self.engine.lost(flow, next);
    }

    /// Refused: an end system opens with its streams.
    fn change(&mut self, _now: Time, flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        let problem = "the streams of an end system are fixed when it opens: open another one";
        Err(BuildError { flow: Some(flow), parameter: Parameter::Service, problem })
    }

    fn forget(&mut self, _now: Time, _flow: Flow) {}
}
