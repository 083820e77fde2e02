//! The Transmission Engine takes winners in batches and hands over the frames at the heads of their rings.

use crate::account::{Account, ProducerCounters};
use crate::next::Next;
use crate::setup::{Pace, Setup};
use crate::streaming::{Disposition, Queued, Transfers, Winner};
use crate::waker::Waker;
use rtrb::Consumer;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::packet::Flow;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Overhead, Time, TimePerByte};

/// A frame that leaves its ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure<F> {
    /// Its stream.
    pub stream: Flow,
    /// Its length in bytes.
    pub length: u32,
    /// The frame.
    pub frame: F,
    /// What to do with it.
    pub disposition: Disposition,
    /// When its first bit leaves, in the machine's time.
    pub at: Time,
    /// The engine's time of the decision; in real time the same as `at`.
    pub decided: Time,
}

/// What a Transmission Engine has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmissionCounters {
    /// Winners that came in.
    pub winners: Transfers,
    /// Frames handed to the transmitter.
    pub sent: Volume,
    /// Frames discarded because they were late.
    pub late: Volume,
    /// Frames dropped by an AQM.
    pub congested: Volume,
}

/// The Transmission Engine's own waker, and those of the parts it wakes.
#[derive(Debug)]
pub(crate) struct Wakers {
    pub(crate) own: Waker,
    pub(crate) engine: Waker,
    /// One per producer: its rings have room again.
    pub(crate) rooms: Vec<Waker>,
    /// The producer of each stream.
    pub(crate) owners: Vec<u32>,
}

/// Takes winners' frames from their rings, at the link's rate.
#[derive(Debug)]
pub struct TransmissionEngine<F> {
    rings: Vec<Consumer<Queued<F>>>,
    won: Consumer<Winner>,
    batch: usize,
    /// Winners whose start is in the future.
    agenda: VecDeque<Winner>,
    /// The link's rate, if the engine does not keep track of the link.
    link: Option<TimePerByte>,
    is_real_time: bool,
    overhead: Overhead,
    catch_up: Duration,
    busy_until: Time,
    /// Everything due up to this instant has been handed over. Written here, read by the engine.
    progress: Arc<AtomicU64>,
    wakers: Wakers,
    /// The producers whose rings have gained room since their last wake-up, as a list and as a flag per producer.
    relieved: Vec<u32>,
    is_relieved: Vec<bool>,
    counters: TransmissionCounters,
}

impl<F> TransmissionEngine<F> {
    pub(crate) fn new(
        rings: Vec<Consumer<Queued<F>>>,
        won: Consumer<Winner>,
        link: Option<TimePerByte>,
        setup: &Setup,
        progress: Arc<AtomicU64>,
        wakers: Wakers,
    ) -> TransmissionEngine<F> {
        TransmissionEngine {
            rings,
            won,
            batch: setup.batch as usize,
            agenda: VecDeque::with_capacity(setup.batch as usize),
            link,
            is_real_time: matches!(setup.pace, Pace::RealTime { .. }),
            overhead: setup.overhead,
            catch_up: setup.catch_up,
            busy_until: Time::ZERO,
            progress,
            relieved: Vec::with_capacity(wakers.rooms.len()),
            is_relieved: vec![false; wakers.rooms.len()],
            wakers,
            counters: TransmissionCounters::default(),
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> &TransmissionCounters {
        &self.counters
    }

    /// Hands every frame that is due at `now`, the machine's time, to `depart`, in the order of the decisions.
    pub fn poll(&mut self, now: Time, mut depart: impl FnMut(Departure<F>)) -> Next {
        // Read first: whatever the engine passed on before it went is visible afterwards.
        let is_last = self.won.is_abandoned();
        let before = self.counters.winners.records;
        while !self.agenda.is_empty() || self.take_winners() {
            let Some(&winner) = self.agenda.front() else { break };
            let at = self.start_of(winner, now);
            if at.is_after(now) {
                break;
            }
            self.agenda.pop_front();
            depart(self.take_frame(winner, at));
        }
        self.progress.store(now.picoseconds(), Ordering::Release);
        if self.counters.winners.records != before || !self.relieved.is_empty() {
            self.wakers.engine.wake();
            for producer in self.relieved.drain(..) {
                self.is_relieved[producer as usize] = false;
                self.wakers.rooms[producer as usize].wake();
            }
        }
        match self.agenda.front() {
            Some(&winner) => Next::At(self.start_of(winner, now)),
            None if is_last && self.won.is_empty() => Next::Ended,
            None => Next::Waiting,
        }
    }

    /// Polls on this thread until the engine has gone and all winners' frames have been handed over, or until `go_on` returns false. `go_on` is
    /// asked before every poll, at least every 10 ms. `clock` tells the machine's time.
    pub fn run(
        &mut self,
        clock: impl Fn() -> Time,
        mut go_on: impl FnMut(&TransmissionEngine<F>) -> bool,
        mut depart: impl FnMut(Departure<F>),
    ) {
        self.register();
        while go_on(self) && self.poll(clock(), &mut depart).sleep(&clock) {}
    }

    /// Makes the engine wake the calling thread. [`TransmissionEngine::run`] does this by itself.
    pub fn register(&self) {
        self.wakers.own.register();
    }

    /// What became of everything, given the producers' counters. Exact while producers and engine are at rest.
    pub fn account(&mut self, producers: &[ProducerCounters]) -> Account {
        let mut account =
            Account { sent: self.counters.sent, late: self.counters.late, congested: self.counters.congested, ..Account::default() };
        for producer in producers {
            account.offered += producer.offered;
            account.ring_full += producer.ring_full;
        }
        for ring in &mut self.rings {
            let Ok(chunk) = ring.read_chunk(ring.slots()) else { continue };
            let (first, second) = chunk.as_slices();
            first.iter().chain(second).for_each(|queued| account.queued.add(queued.length));
        }
        account
    }

    /// Hands over the frames that are still in rings and will not be sent, stream by stream.
    pub fn clear(mut self, mut take: impl FnMut(Flow, F)) {
        for (index, ring) in self.rings.iter_mut().enumerate() {
            while let Ok(Queued { frame, .. }) = ring.pop() {
                take(Flow(index as u32), frame);
            }
        }
    }

    /// Takes a batch of winners; false if there is none.
    fn take_winners(&mut self) -> bool {
        let number = self.won.slots().min(self.batch);
        let Ok(chunk) = self.won.read_chunk(number) else { return false };
        if number > 0 {
            self.counters.winners.add::<Winner>(number);
            self.agenda.extend(chunk);
        }
        number > 0
    }

    /// The instant at which a winner's frame starts.
    fn start_of(&self, winner: Winner, now: Time) -> Time {
        if self.is_real_time {
            winner.at
        } else if self.link.is_some() {
            self.busy_until.later(now - self.catch_up)
        } else {
            now
        }
    }

    fn take_frame(&mut self, winner: Winner, at: Time) -> Departure<F> {
        let Winner { at: decided, stream, disposition } = winner;
        let Ok(Queued { length, frame }) = self.rings[stream.index()].pop() else {
            unreachable!("a stream has won more often than arrivals of it were announced")
        };
        match disposition {
            Disposition::Late => self.counters.late.add(length),
            Disposition::Congested => self.counters.congested.add(length),
            Disposition::Sent | Disposition::Marked => {
                self.counters.sent.add(length);
                if let Some(link) = self.link {
                    self.busy_until = at + link.ceil(self.overhead.wire_length(length));
                }
            }
        }
        let owner = self.wakers.owners[stream.index()];
        if !std::mem::replace(&mut self.is_relieved[owner as usize], true) {
            self.relieved.push(owner);
        }
        Departure { stream, length, frame, disposition, at, decided }
    }
}
