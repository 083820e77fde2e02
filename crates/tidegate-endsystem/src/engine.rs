//! The decision engine: it takes in arrivals and says whose frame is next. It never sees a frame.

use crate::Next;
use crate::arrival::{Arrival, Grain};
use crate::bell::Bell;
use crate::queues::Setup;
use crate::streaming::{StreamingUnit, Transfers, Winner};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::packet::{Flow, Packet, Part};
use tidegate_core::queue::Queues;
use tidegate_core::scheduler::{Decision, Scheduler};
use tidegate_core::units::{Duration, Overhead, Rate, SERIAL_HORIZON, Time, TimePerByte};

/// What an engine has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EngineCounters {
    /// Arrivals that came in at once.
    pub pushed: Transfers,
    /// Arrivals that were fetched in bulk.
    pub pulled: Transfers,
    /// Decisions to transmit.
    pub won: u64,
    /// Decisions to discard, because the head was late.
    pub discarded: u64,
    /// Arrivals whose offset could not be told apart: they took longer to be transferred than half the range of an offset. They count as
    /// having arrived at their transfer. (Older still, and they would go unnoticed.)
    pub stale: u64,
    /// In real time: link time given up because the engine was woken later than it may catch up for.
    pub forgone: Duration,
}

/// A quarter of an offset's range, in grains: whatever the marks say, arrivals wait no longer than this to be pulled.
const QUARTER: u64 = 1 << 14;

/// How the engine's time passes.
#[derive(Debug)]
pub(crate) enum Timing {
    Decisions,
    RealTime(Link),
}

/// The link as the engine keeps track of it.
#[derive(Debug)]
pub(crate) struct Link {
    time_per_byte: TimePerByte,
    overhead: Overhead,
    busy_until: Time,
    ahead: Duration,
    catch_up: Duration,
    /// When the latest transmission decided starts, when the first of those since the Transmission Engine had none left, and up to when they
    /// have been carried out.
    latest: Time,
    first: Time,
    progress: Arc<AtomicU64>,
    next_refresh: Time,
    /// The last instant up to which everything due was decided.
    worked: Time,
}

impl Timing {
    pub(crate) fn real_time(rate: Rate, setup: &Setup, progress: Arc<AtomicU64>) -> Timing {
        Timing::RealTime(Link {
            time_per_byte: rate.time_per_byte(),
            overhead: setup.overhead,
            busy_until: Time::ZERO,
            ahead: setup.ahead,
            catch_up: setup.catch_up,
            latest: Time::ZERO,
            first: Time::ZERO,
            progress,
            next_refresh: Time::ZERO,
            worked: Time::ZERO,
        })
    }
}

impl Link {
    /// True if the Transmission Engine lags so far behind that what it makes up for would be more than the catching up allows.
    fn is_too_far_ahead(&self) -> bool {
        self.latest.since(self.carried_out().later(self.first)) > self.ahead + self.catch_up
    }

    fn carried_out(&self) -> Time {
        Time::from_picoseconds(self.progress.load(Ordering::Acquire))
    }

    /// A transmission of `length` bytes starts at `at`.
    #[inline]
    fn start(&mut self, at: Time, length: u32) {
        if !self.latest.is_after(self.carried_out()) {
            self.first = at;
        }
        self.latest = at;
        self.busy_until = at + self.time_per_byte.ceil(self.overhead.wire_length(length));
    }
}

/// Whom the engine wakes, and who wakes it.
#[derive(Debug)]
pub(crate) struct Bells {
    pub(crate) own: Bell,
    pub(crate) transmission: Bell,
}

/// Decides whose frame is next, with any scheduler.
#[derive(Debug)]
pub struct DecisionEngine<S> {
    scheduler: S,
    unit: StreamingUnit,
    /// Arrivals that the scheduler knows of, and those that it is yet to be told of.
    store: Queues<()>,
    pending: VecDeque<(Time, Arrival)>,
    /// Of each stream, arrivals in either; and how many streams are below the mark at which a pull starts.
    levels: Vec<u32>,
    low_mark: u32,
    hungry: usize,
    grain: Grain,
    /// When arrivals were last pulled.
    pulled: Time,
    timing: Timing,
    /// The engine's time.
    clock: Time,
    is_started: bool,
    bells: Bells,
    counters: EngineCounters,
}

impl<S: Scheduler> DecisionEngine<S> {
    pub(crate) fn new(
        scheduler: S,
        unit: StreamingUnit,
        timing: Timing,
        setup: &Setup,
        streams: usize,
        frames: u32,
        bells: Bells,
    ) -> DecisionEngine<S> {
        DecisionEngine {
            scheduler,
            unit,
            store: Queues::new(streams, frames, setup.overhead),
            pending: VecDeque::with_capacity(frames as usize),
            levels: vec![0; streams],
            low_mark: setup.low_mark,
            hungry: streams,
            grain: setup.grain,
            pulled: Time::ZERO,
            timing,
            clock: Time::ZERO,
            is_started: false,
            bells,
            counters: EngineCounters::default(),
        }
    }

    /// What it has done.
    pub fn counters(&self) -> EngineCounters {
        EngineCounters { pushed: self.unit.pushed, pulled: self.unit.pulled, ..self.counters }
    }

    /// What decides.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// Takes in what has arrived and decides what can be decided at `now`, the machine's time. An engine whose time is the number of its
    /// decisions does not look at it.
    pub fn turn(&mut self, now: Time) -> Next {
        // Looked at first: what a producer announced before it went is then there.
        let is_last = self.unit.is_abandoned();
        let decided = self.counters.won + self.counters.discarded;
        let next = match self.timing {
            Timing::Decisions => self.decide_by_count(),
            Timing::RealTime(_) => self.decide_in_time(now),
        };
        if self.counters.won + self.counters.discarded != decided {
            self.bells.transmission.ring();
        }
        if is_last && next == Next::Waiting && self.held() == 0 && self.unit.is_empty() { Next::Ended } else { next }
    }

    /// Takes turns on this thread until every producer has gone and everything has been decided, or until `go_on`, asked before every turn
    /// and at least every hundredth of a second, says no. `clock` tells the machine's time.
    pub fn run(&mut self, clock: impl Fn() -> Time, mut go_on: impl FnMut(&DecisionEngine<S>) -> bool) {
        self.bells.own.listen();
        while go_on(self) && self.turn(clock()).sleep(&clock) {}
    }

    /// Arrivals that are not decided yet.
    fn held(&self) -> usize {
        self.store.occupancy().packets() as usize + self.pending.len()
    }

    fn decide_by_count(&mut self) -> Next {
        let mut is_low = true;
        self.take_in(self.clock, false);
        loop {
            if is_low {
                self.take_in(self.clock, true);
                is_low = false;
            }
            while let Some((arrival, announced)) = self.pending.pop_front() {
                self.tell(self.clock, arrival, announced);
            }
            if self.unit.is_full() {
                return Next::Waiting;
            }
            match self.scheduler.select(self.clock) {
                Decision::Serve(stream) => {
                    is_low = self.take_head(stream, self.clock, false);
                    self.clock += Duration::from_picoseconds(1);
                }
                Decision::Discard(stream) => is_low = self.take_head(stream, self.clock, true),
                // Nobody may be served: the slots until then pass unused.
                Decision::WaitUntil(time) => self.clock = time,
                Decision::Idle => return Next::Waiting,
            }
        }
    }

    fn decide_in_time(&mut self, now: Time) -> Next {
        self.keep_up(now);
        self.take_in(now, false);
        let mut is_low = true;
        loop {
            if is_low {
                self.take_in(now, true);
                is_low = false;
            }
            let Timing::RealTime(link) = &self.timing else { unreachable!("only real time has a link") };
            let (ahead, horizon) = (link.ahead, now + link.ahead);
            let is_too_far_ahead = link.is_too_far_ahead();
            // What starts at an instant starts before what arrives at it is looked at.
            let start = link.busy_until.later(self.clock);
            while let Some((arrival, announced)) = self.pending.pop_front_if(|(arrival, _)| arrival.is_before(start)) {
                self.tell(arrival, arrival, announced);
            }
            if start.is_after(horizon) {
                return if self.held() > 0 { Next::At(start - ahead) } else { Next::Waiting };
            }
            if self.unit.is_full() || is_too_far_ahead {
                return Next::Waiting;
            }
            self.clock = start;
            match self.scheduler.select(start) {
                Decision::Serve(stream) => is_low = self.take_head(stream, start, false),
                Decision::Discard(stream) => is_low = self.take_head(stream, start, true),
                Decision::WaitUntil(time) => {
                    if let Some((arrival, announced)) = self.pending.pop_front_if(|(arrival, _)| arrival.is_before(time)) {
                        self.tell(arrival, arrival, announced);
                    } else if time.is_after(horizon) {
                        return Next::At(time - ahead);
                    } else {
                        self.clock = time;
                    }
                }
                Decision::Idle => {
                    let Some((arrival, announced)) = self.pending.pop_front() else { return Next::Waiting };
                    self.tell(arrival, arrival, announced);
                }
            }
        }
    }

    /// Gives up link time that is too long past to be made up for, and keeps instants comparable.
    fn keep_up(&mut self, now: Time) {
        let held = self.held();
        let Timing::RealTime(link) = &mut self.timing else { return };
        if !self.is_started {
            self.is_started = true;
            self.scheduler.start(now);
            (self.clock, link.busy_until, link.worked, link.next_refresh) = (now, now, now, now + SERIAL_HORIZON);
            // Neither has anything been decided nor carried out.
            link.latest = Time::from_picoseconds(link.progress.load(Ordering::Relaxed));
        }
        let oldest = now - link.catch_up;
        if held > 0 {
            self.counters.forgone = self.counters.forgone + oldest.since(link.busy_until.later(link.worked));
        }
        link.busy_until = link.busy_until.later(oldest);
        self.clock = self.clock.later(oldest);
        link.worked = now;
        if !now.is_before(link.next_refresh) {
            link.next_refresh = now + SERIAL_HORIZON;
            self.scheduler.refresh(now);
            self.store.refresh(now);
        }
    }

    /// Takes in what has been pushed, or pulls if a stream's level is low or offsets would soon be ambiguous. `now` is what they are near to.
    fn take_in(&mut self, now: Time, pull: bool) {
        let DecisionEngine { unit, pending, levels, hungry, low_mark, grain, pulled, timing, counters, .. } = self;
        let is_time = *hungry > 0 || now.since(*pulled) >= grain.span(QUARTER);
        let is_real_time = matches!(timing, Timing::RealTime(_));
        let take = |announced: Arrival| {
            let mut arrival = grain.nearest(now, announced.offset);
            // The machine's clock may have been read a little before the arrival was announced, but not so long before.
            if is_real_time && arrival.is_after(now + grain.span(QUARTER)) {
                counters.stale += 1;
                arrival = grain.floor(now);
            }
            // Of several rings, or pulled late: in real time every arrival is told of at its instant.
            let place = match pending.back() {
                Some((last, _)) if is_real_time && arrival.is_before(*last) => {
                    pending.partition_point(|(earlier, _)| !earlier.is_after(arrival))
                }
                _ => pending.len(),
            };
            pending.insert(place, (arrival, announced));
            let level = &mut levels[announced.stream as usize];
            *level += 1;
            if *level == *low_mark {
                *hungry -= 1;
            }
        };
        if !pull {
            unit.take_pushed(take);
        } else if is_time {
            *pulled = now;
            unit.pull(take);
        }
    }

    /// Tells the scheduler of an arrival at `now`, or as soon after it as the engine's time allows.
    fn tell(&mut self, now: Time, arrival: Time, announced: Arrival) {
        self.clock = self.clock.later(now);
        let stream = Flow(announced.stream);
        let Arrival { length, colour, .. } = announced;
        let packet = Packet { flow: stream, length, arrival, colour, part: Part::Whole, payload: () };
        if let Some(head) = self.store.push(packet) {
            self.scheduler.activate(self.clock, stream, head);
        }
    }

    /// Carries out a decision: the stream's head is transmitted at `at`, or discarded. True if the level of the stream has just become
    /// low.
    fn take_head(&mut self, stream: Flow, at: Time, is_late: bool) -> bool {
        let Some((packet, next)) = self.store.pop(stream) else { unreachable!("the scheduler named a stream that is not backlogged") };
        if is_late {
            self.scheduler.lost(at, stream, next);
            self.counters.discarded += 1;
        } else {
            self.scheduler.served(at, stream, next);
            self.counters.won += 1;
            if let Timing::RealTime(link) = &mut self.timing {
                link.start(at, packet.length);
            }
        }
        self.unit.pass(Winner { at, stream, is_late });
        let level = &mut self.levels[stream.index()];
        *level -= 1;
        let is_low = *level + 1 == self.low_mark;
        self.hungry += usize::from(is_low);
        is_low
    }
}
