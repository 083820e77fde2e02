//! The decision engine takes in arrivals and decides which stream transmits next. It never sees a frame.

use crate::arrival::{Arrival, Grain};
use crate::next::Next;
use crate::setup::Setup;
use crate::streaming::{Disposition, StreamingUnit, Transfers, Winner};
use crate::waker::Waker;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::aqm::Judgement;
use tidegate_core::packet::{Flow, Packet, Part};
use tidegate_core::port::ClassAqms;
use tidegate_core::queue::Queues;
use tidegate_core::scheduler::{Decision, Scheduler};
use tidegate_core::units::{Duration, Overhead, Rate, SERIAL_HORIZON, Time, TimePerByte};

/// What an engine has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EngineCounters {
    /// Arrivals that were pushed.
    pub pushed: Transfers,
    /// Arrivals that were pulled.
    pub pulled: Transfers,
    /// Decisions to transmit.
    pub won: u64,
    /// Decisions to discard a head: it was late, or an AQM dropped it.
    pub discarded: u64,
    /// Arrivals whose offset seemed to be in the future, because their transfer took longer than half the range of an offset. Their transfer
    /// counts as their arrival. After another half of the range they would not be noticed.
    pub stale: u64,
    /// In real time: link time given up because the engine woke later than [`Setup::catch_up`].
    pub forgone: Duration,
}

/// The longest that an arrival waits to be pulled, in grains, above all low marks too: a quarter of an offset's range.
const PULL_INTERVAL_GRAINS: u64 = 1 << 14;

/// How the engine's time passes.
#[derive(Debug)]
pub(crate) enum Timing {
    Decisions,
    RealTime(Link),
}

/// The state of the link, as the engine computes it.
#[derive(Debug)]
pub(crate) struct Link {
    time_per_byte: TimePerByte,
    overhead: Overhead,
    busy_until: Time,
    ahead: Duration,
    catch_up: Duration,
    /// The start of the latest transmission decided.
    latest: Time,
    /// The start of the first transmission decided since the Transmission Engine last ran out of winners.
    first: Time,
    /// The Transmission Engine has handed over everything due up to this instant.
    progress: Arc<AtomicU64>,
    next_refresh: Time,
    /// Everything due up to this instant has been decided.
    decided_until: Time,
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
            decided_until: Time::ZERO,
        })
    }
}

impl Link {
    /// True if the Transmission Engine is behind by more than it may make up for.
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
        self.occupy(at, length);
    }

    /// The link is busy from `at` on for the time that `length` bytes take.
    #[inline]
    fn occupy(&mut self, at: Time, length: u32) {
        self.busy_until = at + self.time_per_byte.ceil(self.overhead.wire_length(length));
    }
}

/// The engine's own waker, and that of the part it wakes.
#[derive(Debug)]
pub(crate) struct Wakers {
    pub(crate) own: Waker,
    pub(crate) transmission: Waker,
}

/// Decides which stream transmits next, with any scheduler.
#[derive(Debug)]
pub struct DecisionEngine<S> {
    scheduler: S,
    /// The AQMs that are asked about departures, in real time.
    aqms: Option<ClassAqms>,
    unit: StreamingUnit,
    /// Arrivals that the scheduler knows.
    known: Queues<()>,
    /// Arrivals that the scheduler does not know yet.
    pending: VecDeque<(Time, Arrival)>,
    /// The arrivals of each stream in `known` and `pending`.
    levels: Vec<u32>,
    low_mark: u32,
    /// The number of streams whose level is below `low_mark`.
    low_streams: usize,
    grain: Grain,
    /// The time of the last pull.
    pulled: Time,
    timing: Timing,
    /// The engine's time.
    clock: Time,
    is_started: bool,
    wakers: Wakers,
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
        wakers: Wakers,
    ) -> DecisionEngine<S> {
        DecisionEngine {
            scheduler,
            aqms: None,
            unit,
            known: Queues::new(streams, frames, setup.overhead),
            pending: VecDeque::with_capacity(frames as usize),
            levels: vec![0; streams],
            low_mark: setup.low_mark,
            low_streams: streams,
            grain: setup.grain,
            pulled: Time::ZERO,
            timing,
            clock: Time::ZERO,
            is_started: false,
            wakers,
            counters: EngineCounters::default(),
        }
    }

    /// Asks these AQMs about the departures of all streams, in real time. Arrivals are judged where frames are admitted.
    pub fn manage(&mut self, aqms: ClassAqms) {
        self.aqms = Some(aqms).filter(ClassAqms::judge_departures);
    }

    /// What it has counted.
    pub fn counters(&self) -> EngineCounters {
        EngineCounters { pushed: self.unit.pushed, pulled: self.unit.pulled, ..self.counters }
    }

    /// Its scheduler.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// Takes in arrivals and decides everything that can be decided at `now`, the machine's time. An engine that counts decisions ignores `now`.
    pub fn poll(&mut self, now: Time) -> Next {
        // Read first: whatever a producer announced before it went is visible afterwards.
        let is_last = self.unit.is_abandoned();
        let decided = self.counters.won + self.counters.discarded;
        let next = match self.timing {
            Timing::Decisions => self.decide_by_count(),
            Timing::RealTime(_) => self.decide_in_time(now),
        };
        if self.counters.won + self.counters.discarded != decided {
            self.wakers.transmission.wake();
        }
        if is_last && next == Next::Waiting && self.held() == 0 && self.unit.is_empty() { Next::Ended } else { next }
    }

    /// Polls on this thread until every producer has gone and everything has been decided, or until `go_on` returns false. `go_on` is asked
    /// before every poll, at least every 10 ms. `clock` tells the machine's time.
    pub fn run(&mut self, clock: impl Fn() -> Time, mut go_on: impl FnMut(&DecisionEngine<S>) -> bool) {
        self.wakers.own.register();
        while go_on(self) && self.poll(clock()).sleep(&clock) {}
    }

    /// The number of arrivals that are not decided yet.
    fn held(&self) -> usize {
        self.known.occupancy().packets() as usize + self.pending.len()
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
                self.announce(self.clock, arrival, announced);
            }
            if self.unit.is_full() {
                return Next::Waiting;
            }
            match self.scheduler.select(self.clock) {
                Decision::Serve(stream) | Decision::ServeAs(stream, _) => {
                    is_low = self.take_head(stream, self.clock, Disposition::Sent);
                    self.clock += Duration::from_picoseconds(1);
                }
                Decision::Discard(stream) => is_low = self.take_head(stream, self.clock, Disposition::Late),
                // No stream may be served: the slots until then pass unused.
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
            // A transmission that starts at an instant is decided before an arrival at that instant is known.
            let start = link.busy_until.later(self.clock);
            while let Some((arrival, announced)) = self.pending.pop_front_if(|(arrival, _)| arrival.is_before(start)) {
                self.announce(arrival, arrival, announced);
            }
            if start.is_after(horizon) {
                return if self.held() > 0 { Next::At(start - ahead) } else { Next::Waiting };
            }
            if self.unit.is_full() || is_too_far_ahead {
                return Next::Waiting;
            }
            self.clock = start;
            match self.scheduler.select(start) {
                Decision::Serve(stream) | Decision::ServeAs(stream, _) => {
                    let disposition = self.judge(stream, start);
                    is_low = self.take_head(stream, start, disposition);
                }
                Decision::Discard(stream) => is_low = self.take_head(stream, start, Disposition::Late),
                Decision::WaitUntil(time) => {
                    if let Some((arrival, announced)) = self.pending.pop_front_if(|(arrival, _)| arrival.is_before(time)) {
                        self.announce(arrival, arrival, announced);
                    } else if time.is_after(horizon) {
                        return Next::At(time - ahead);
                    } else {
                        self.clock = time;
                    }
                }
                Decision::Idle => {
                    let Some((arrival, announced)) = self.pending.pop_front() else { return Next::Waiting };
                    self.announce(arrival, arrival, announced);
                }
            }
        }
    }

    /// Gives up link time older than the catch-up limit, and keeps instants comparable.
    fn keep_up(&mut self, now: Time) {
        let held = self.held();
        let Timing::RealTime(link) = &mut self.timing else { return };
        if !self.is_started {
            self.is_started = true;
            self.scheduler.start(now);
            (self.clock, link.busy_until, link.decided_until, link.next_refresh) = (now, now, now, now + SERIAL_HORIZON);
            // Nothing has been decided or carried out yet.
            link.latest = Time::from_picoseconds(link.progress.load(Ordering::Relaxed));
        }
        let oldest = now - link.catch_up;
        if held > 0 {
            self.counters.forgone = self.counters.forgone + oldest.since(link.busy_until.later(link.decided_until));
        }
        link.busy_until = link.busy_until.later(oldest);
        self.clock = self.clock.later(oldest);
        link.decided_until = now;
        if !now.is_before(link.next_refresh) {
            link.next_refresh = now + SERIAL_HORIZON;
            self.scheduler.refresh(now);
            self.aqms.iter_mut().for_each(|aqms| aqms.refresh(now));
            self.known.refresh(now);
        }
    }

    /// Takes in pushed arrivals, or pulls if a stream's level is low or offsets would soon be ambiguous. Offsets are resolved near `now`.
    fn take_in(&mut self, now: Time, pull: bool) {
        let DecisionEngine { unit, pending, levels, low_streams, low_mark, grain, pulled, timing, counters, .. } = self;
        let is_due = *low_streams > 0 || now.since(*pulled) >= grain.span(PULL_INTERVAL_GRAINS);
        let is_real_time = matches!(timing, Timing::RealTime(_));
        let take = |announced: Arrival| {
            let mut arrival = grain.nearest(now, announced.offset);
            // The clock may have been read shortly before the arrival was announced, but not this long before.
            if is_real_time && arrival.is_after(now + grain.span(PULL_INTERVAL_GRAINS)) {
                counters.stale += 1;
                arrival = grain.floor(now);
            }
            // Arrivals of several rings, or late pulls, may be out of order; in real time they are announced in order.
            let position = match pending.back() {
                Some((last, _)) if is_real_time && arrival.is_before(*last) => {
                    pending.partition_point(|(earlier, _)| !earlier.is_after(arrival))
                }
                _ => pending.len(),
            };
            pending.insert(position, (arrival, announced));
            let level = &mut levels[announced.stream as usize];
            *level += 1;
            if *level == *low_mark {
                *low_streams -= 1;
            }
        };
        if !pull {
            unit.take_pushed(take);
        } else if is_due {
            *pulled = now;
            unit.pull(take);
        }
    }

    /// Announces an arrival to the scheduler at `now`, or as soon after it as the engine's time allows.
    fn announce(&mut self, now: Time, arrival: Time, announced: Arrival) {
        self.clock = self.clock.later(now);
        let stream = Flow(announced.stream);
        let Arrival { length, colour, ecn, .. } = announced;
        let packet = Packet { flow: stream, length, arrival, colour, part: Part::Whole, ecn, payload: () };
        let became_head = self.known.push(packet);
        if let Some(aqms) = &mut self.aqms {
            aqms.joined(arrival, stream, length, self.known.occupancy());
        }
        if let Some(head) = became_head {
            self.scheduler.activate(self.clock, stream, head);
        }
    }

    /// What the AQMs say of the head of a stream whose transmission would start at `at`.
    #[inline]
    fn judge(&mut self, stream: Flow, at: Time) -> Disposition {
        match self.aqms.as_mut().map(|aqms| aqms.depart(at, stream, self.known.occupancy())) {
            None | Some(Judgement::Pass) => Disposition::Sent,
            Some(Judgement::Mark) => Disposition::Marked,
            Some(Judgement::Drop) => Disposition::Congested,
        }
    }

    /// Carries out a decision: the stream's head is transmitted at `at`, or discarded. True if the stream's level has just become low.
    fn take_head(&mut self, stream: Flow, at: Time, disposition: Disposition) -> bool {
        let Some((packet, next)) = self.known.pop(stream) else { unreachable!("the scheduler named a stream that is not backlogged") };
        match disposition {
            Disposition::Sent | Disposition::Marked => {
                self.scheduler.served(at, stream, next);
                self.counters.won += 1;
                if let Timing::RealTime(link) = &mut self.timing {
                    link.start(at, packet.length);
                }
            }
            Disposition::Congested if self.aqms.as_mut().is_some_and(|aqms| aqms.charge_drop(stream, packet.length)) => {
                self.scheduler.served(at, stream, next);
                self.counters.discarded += 1;
                if let Timing::RealTime(link) = &mut self.timing {
                    link.occupy(at, packet.length);
                }
            }
            Disposition::Late | Disposition::Congested => {
                self.scheduler.lost(at, stream, next);
                self.counters.discarded += 1;
            }
        }
        if let Some(aqms) = &mut self.aqms {
            if matches!(disposition, Disposition::Sent | Disposition::Marked) {
                aqms.sent(stream, packet.length);
            }
            aqms.left(at, stream, packet.length, self.known.occupancy());
        }
        self.unit.pass(Winner { at, stream, disposition });
        let level = &mut self.levels[stream.index()];
        *level -= 1;
        let is_low = *level + 1 == self.low_mark;
        self.low_streams += usize::from(is_low);
        is_low
    }
}
