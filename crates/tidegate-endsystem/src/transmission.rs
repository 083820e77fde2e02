//! The Transmission Engine: it takes winners in batches and hands over the frames at the heads of their rings.

use crate::Next;
use crate::account::Account;
use crate::bell::Bell;
use crate::queues::{ProducerCounters, Setup};
use crate::streaming::{Transfers, Winner};
use rtrb::Consumer;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::packet::Flow;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Overhead, Time, TimePerByte};

/// A frame in its stream's ring.
#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) length: u32,
    pub(crate) frame: F,
}

/// What is to be done with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is to be transmitted.
    Sent,
    /// It is late and to be dropped.
    Late,
}

/// A frame that leaves its ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure<F> {
    /// Its stream.
    pub stream: Flow,
    /// Its length in bytes.
    pub length: u32,
    /// The frame.
    pub frame: F,
    /// What is to be done with it.
    pub fate: Fate,
    /// When, in the machine's time: its first bit leaves then.
    pub at: Time,
    /// The engine's time of the decision; in real time the same as `at`.
    pub decided: Time,
}

/// What a Transmission Engine has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmissionCounters {
    /// Winners that came in.
    pub winners: Transfers,
    /// Everything handed to the transmitter.
    pub sent: Volume,
    /// Everything discarded because it was late.
    pub late: Volume,
}

/// Whom it wakes, and who wakes it.
#[derive(Debug)]
pub(crate) struct Bells {
    pub(crate) own: Bell,
    pub(crate) engine: Bell,
    /// Of each producer.
    pub(crate) rooms: Vec<Bell>,
    /// The producer of each stream.
    pub(crate) owners: Vec<u32>,
}

/// Takes frames from the rings of those who won, at the link's rate.
#[derive(Debug)]
pub struct TransmissionEngine<F> {
    rings: Vec<Consumer<Queued<F>>>,
    won: Consumer<Winner>,
    batch: usize,
    /// Winners whose time has not come.
    agenda: VecDeque<Winner>,
    /// The link, if the engine does not keep track of it.
    link: Option<TimePerByte>,
    is_real_time: bool,
    overhead: Overhead,
    catch_up: Duration,
    busy_until: Time,
    /// The instant up to which everything has been handed over: written here, read by the engine.
    progress: Arc<AtomicU64>,
    bells: Bells,
    /// The producers that have got room since they were last rung, and of each producer whether it is one of them.
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
        bells: Bells,
    ) -> TransmissionEngine<F> {
        TransmissionEngine {
            rings,
            won,
            batch: setup.batch as usize,
            agenda: VecDeque::with_capacity(setup.batch as usize),
            link,
            is_real_time: matches!(setup.pace, crate::Pace::RealTime { .. }),
            overhead: setup.overhead,
            catch_up: setup.catch_up,
            busy_until: Time::ZERO,
            progress,
            relieved: Vec::with_capacity(bells.rooms.len()),
            is_relieved: vec![false; bells.rooms.len()],
            bells,
            counters: TransmissionCounters::default(),
        }
    }

    /// What it has done.
    pub fn counters(&self) -> &TransmissionCounters {
        &self.counters
    }

    /// Hands everything that is due at `now`, the machine's time, to `depart`, in the order of the decisions.
    pub fn turn(&mut self, now: Time, mut depart: impl FnMut(Departure<F>)) -> Next {
        // Looked at first: what the engine passed on before it went is then there.
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
        // Everything due has been handed over.
        self.progress.store(now.picoseconds(), Ordering::Release);
        if self.counters.winners.records != before || !self.relieved.is_empty() {
            self.bells.engine.ring();
            for producer in self.relieved.drain(..) {
                self.is_relieved[producer as usize] = false;
                self.bells.rooms[producer as usize].ring();
            }
        }
        match self.agenda.front() {
            Some(&winner) => Next::At(self.start_of(winner, now)),
            None if is_last && self.won.is_empty() => Next::Ended,
            None => Next::Waiting,
        }
    }

    /// Takes turns on this thread until the engine has gone and all winners' frames have been handed over, or until `go_on`, asked before
    /// every turn and at least every hundredth of a second, says no. `clock` tells the machine's time.
    pub fn run(
        &mut self,
        clock: impl Fn() -> Time,
        mut go_on: impl FnMut(&TransmissionEngine<F>) -> bool,
        mut depart: impl FnMut(Departure<F>),
    ) {
        self.listen();
        while go_on(self) && self.turn(clock(), &mut depart).sleep(&clock) {}
    }

    /// From now on the engine wakes the calling thread, for those who take turns by themselves.
    pub fn listen(&self) {
        self.bells.own.listen();
    }

    /// What has become of everything, with what the producers have counted. Exact while producers and engine are at rest.
    pub fn account(&mut self, producers: &[ProducerCounters]) -> Account {
        let mut account = Account { sent: self.counters.sent, late: self.counters.late, ..Account::default() };
        for producer in producers {
            for (sum, volume) in [(&mut account.offered, producer.offered), (&mut account.ring_full, producer.ring_full)] {
                sum.packets += volume.packets;
                sum.bytes += volume.bytes;
            }
        }
        for ring in &mut self.rings {
            let Ok(chunk) = ring.read_chunk(ring.slots()) else { continue };
            let (first, second) = chunk.as_slices();
            first.iter().chain(second).for_each(|queued| account.queued.add(queued.length));
        }
        account
    }

    /// Hands over what the rings still hold, stream by stream: for the memory of frames that will not be sent.
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

    /// When a winner's frame is to leave.
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
        let Winner { at: decided, stream, is_late } = winner;
        let Ok(Queued { length, frame }) = self.rings[stream.index()].pop() else {
            unreachable!("a stream has won more often than arrivals of it were announced")
        };
        let fate = if is_late {
            self.counters.late.add(length);
            Fate::Late
        } else {
            self.counters.sent.add(length);
            if let Some(link) = self.link {
                self.busy_until = at + link.ceil(self.overhead.wire_length(length));
            }
            Fate::Sent
        };
        let owner = self.bells.owners[stream.index()];
        if !std::mem::replace(&mut self.is_relieved[owner as usize], true) {
            self.relieved.push(owner);
        }
        Departure { stream, length, frame, fate, at, decided }
    }
}
