//! The Queue Manager: it admits streams and opens the end system that serves them; and the producers' side of the queues.

use crate::account::Account;
use crate::arrival::{Arrival, Grain};
use crate::bell::Bell;
use crate::descriptor::{AdmissionError, Descriptor, WhenFull};
use crate::engine::{DecisionEngine, Timing};
use crate::streaming::{Inlet, StreamingUnit};
use crate::transmission::{Queued, TransmissionEngine};
use crate::{GLANCE, engine, transmission};
use rtrb::{PushError, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Volume;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::{Duration, Overhead, Rate, Time};

/// What the engine's time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// One tick, a picosecond of [`Time`], per decision, as on the line card of the paper. The engine decides as far ahead as the winners'
    /// ring reaches; the Transmission Engine spaces frames if there is a rate.
    Decisions {
        /// The link's rate; without one, frames leave as fast as they are taken.
        rate: Option<Rate>,
    },
    /// The machine's time. The engine knows when the link is free and decides for that instant.
    RealTime {
        /// The link's rate.
        rate: Rate,
    },
}

/// What all streams of an end system share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// What the engine's time is.
    pub pace: Pace,
    /// The unit of arrival offsets.
    pub grain: Grain,
    /// What the link adds to every frame.
    pub overhead: Overhead,
    /// A pull starts when the engine's store of a stream's arrivals falls below so many, at least 2: so the scheduler knows of the frame
    /// behind a head, if there is one, before the head is served.
    pub low_mark: u32,
    /// The most arrivals, and the most winners, per transfer, at least 1.
    pub batch: u32,
    /// How many winners may be on their way, at least 1.
    pub winners: u32,
    /// In real time: how long before its instant a decision may be made. More hides the time it takes to wake a thread; a packet that
    /// arrives meanwhile comes too late for the decision.
    pub ahead: Duration,
    /// How much link time may be made up for after a part was woken late: what leaves at once is at most this much of the rate.
    pub catch_up: Duration,
}

impl Setup {
    /// One tick per decision, as fast as winners are taken.
    pub const fn decisions() -> Setup {
        Setup {
            pace: Pace::Decisions { rate: None },
            grain: Grain::TICK,
            overhead: Overhead::None,
            low_mark: 16,
            batch: 256,
            winners: 256,
            ahead: Duration::ZERO,
            catch_up: Duration::from_milliseconds(2),
        }
    }

    /// The machine's time and a link of this rate.
    pub const fn real_time(rate: Rate, overhead: Overhead) -> Setup {
        Setup { pace: Pace::RealTime { rate }, grain: Grain::MICROSECOND, overhead, ..Setup::decisions() }
    }
}

/// Admits streams.
///
/// Streams are numbered in the order of their admission, from 0, and all of them are admitted before the end system opens. Each belongs to
/// one producer: those admitted first to the first one, those after [`QueueManager::next_producer`] to the next.
#[derive(Clone, Debug)]
pub struct QueueManager<A> {
    descriptors: Vec<Descriptor<A>>,
    /// The first stream of every producer.
    firsts: Vec<usize>,
    /// Frames that all rings hold.
    frames: u32,
}

impl<A> Default for QueueManager<A> {
    fn default() -> QueueManager<A> {
        QueueManager { descriptors: Vec::new(), firsts: vec![0], frames: 0 }
    }
}

impl<A> QueueManager<A> {
    /// Admits a stream and returns its number.
    ///
    /// # Errors
    /// [`AdmissionError`] if its ring would hold no frame, or all rings together 2^32 - 1 or more.
    pub fn admit(&mut self, descriptor: Descriptor<A>) -> Result<Flow, AdmissionError> {
        let stream = Flow(self.descriptors.len() as u32);
        let wrong = |problem| AdmissionError { stream, problem };
        if descriptor.frames == 0 {
            return Err(wrong("a ring of no frames would never pass anything on: at least 1 is right"));
        }
        let frames = self.frames.checked_add(descriptor.frames).filter(|frames| *frames < u32::MAX);
        let frames =
            frames.ok_or(wrong("all rings together hold fewer than 2^32 - 1 frames: make this one, or those before it, smaller"))?;
        self.frames = frames;
        self.descriptors.push(descriptor);
        Ok(stream)
    }

    /// The streams admitted from now on belong to a further producer.
    pub fn next_producer(&mut self) {
        self.firsts.push(self.descriptors.len());
    }

    /// Makes the rings of all streams and the parts around them. `build` makes the scheduler from the streams' attributes, in the order of
    /// their numbers.
    ///
    /// # Errors
    /// Whatever `build` says.
    ///
    /// # Panics
    /// If a mark or a limit of `setup` is below its least value.
    pub fn open<F, S: Scheduler, E>(self, setup: &Setup, build: impl FnOnce(Vec<A>) -> Result<S, E>) -> Result<EndSystem<F, S>, E> {
        assert!(setup.low_mark > 1 && setup.batch > 0 && setup.winners > 0, "a mark or a limit is too low: {setup:?}");
        let (engine_bell, transmission_bell) = (Bell::default(), Bell::default());
        let (mut producers, mut inlets) = (Vec::new(), Vec::new());
        let (mut rings, mut owners, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
        let count = self.descriptors.len();
        let ends = self.firsts.iter().skip(1).copied().chain([count]);
        let mut descriptors = self.descriptors.into_iter();
        for (number, (&first, end)) in self.firsts.iter().zip(ends).enumerate() {
            let mut streams = Vec::with_capacity(end - first);
            let (mut urgent, mut bulk) = (0, 0);
            for descriptor in descriptors.by_ref().take(end - first) {
                let (into, out_of) = RingBuffer::new(descriptor.frames as usize);
                *(if descriptor.urgent { &mut urgent } else { &mut bulk }) += descriptor.frames as usize;
                streams.push(Stream { ring: into, urgent: descriptor.urgent, when_full: descriptor.when_full });
                rings.push(out_of);
                owners.push(number as u32);
                attributes.push(descriptor.attributes);
            }
            // As long as its rings together, so that whoever has found room for a frame finds room for its arrival.
            let ((push, pushed), (pull, pulled)) = (RingBuffer::new(urgent), RingBuffer::new(bulk));
            inlets.push(Inlet { pushed, pulled });
            producers.push(Producer {
                first: first as u32,
                streams,
                push,
                pull,
                grain: setup.grain,
                engine: engine_bell.clone(),
                room: Bell::default(),
                is_quiet: true,
                counters: ProducerCounters::default(),
            });
        }
        let (winners, won) = RingBuffer::new(setup.winners as usize);
        let progress = Arc::new(AtomicU64::new(0));
        let (timing, link) = match setup.pace {
            Pace::Decisions { rate } => (Timing::Decisions, rate.map(Rate::time_per_byte)),
            Pace::RealTime { rate } => (Timing::real_time(rate, setup, progress.clone()), None),
        };
        let unit = StreamingUnit::new(inlets, winners, setup.batch as usize);
        let bells = engine::Bells { own: engine_bell.clone(), transmission: transmission_bell.clone() };
        let engine = DecisionEngine::new(build(attributes)?, unit, timing, setup, count, self.frames, bells);
        let rooms = producers.iter().map(|producer| producer.room.clone()).collect();
        let bells = transmission::Bells { own: transmission_bell, engine: engine_bell, rooms, owners };
        let transmission = TransmissionEngine::new(rings, won, link, setup, progress, bells);
        Ok(EndSystem { producers, engine, transmission })
    }
}

/// An end system's parts, each for a thread of its own.
#[derive(Debug)]
pub struct EndSystem<F, S> {
    /// Where frames come in.
    pub producers: Vec<Producer<F>>,
    /// Where it is decided whose is next.
    pub engine: DecisionEngine<S>,
    /// Where frames go out.
    pub transmission: TransmissionEngine<F>,
}

impl<F, S: Scheduler> EndSystem<F, S> {
    /// What has become of everything, while all parts are at rest.
    pub fn account(&mut self) -> Account {
        let producers: Vec<ProducerCounters> = self.producers.iter().map(|producer| *producer.counters()).collect();
        self.transmission.account(&producers)
    }
}

#[derive(Debug)]
struct Stream<F> {
    ring: rtrb::Producer<Queued<F>>,
    urgent: bool,
    when_full: WhenFull,
}

/// What a producer has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProducerCounters {
    /// Everything that was queued or dropped.
    pub offered: Volume,
    /// What was dropped because its ring was full.
    pub ring_full: Volume,
    /// How often a frame could not be taken and was to be brought again.
    pub turned_back: u64,
}

/// Why a frame was not queued. The frame comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal<F> {
    /// Its stream's ring is full: bring it again. Nothing was counted as offered.
    ComeAgain(F),
    /// Its stream's ring is full and its descriptor says drop: it has been counted.
    Dropped(F),
    /// The Transmission Engine has gone: nothing will ever be taken again. Nothing was counted.
    Closed(F),
}

/// Puts the frames of its streams into their rings and announces their arrivals.
///
/// When it goes, everything it announced is still decided and transmitted.
#[derive(Debug)]
pub struct Producer<F> {
    first: u32,
    streams: Vec<Stream<F>>,
    push: rtrb::Producer<Arrival>,
    pull: rtrb::Producer<Arrival>,
    grain: Grain,
    engine: Bell,
    room: Bell,
    /// True if the engine was rung after the latest arrival.
    is_quiet: bool,
    counters: ProducerCounters,
}

impl<F> Producer<F> {
    /// The streams that are this producer's.
    pub fn streams(&self) -> impl Iterator<Item = Flow> + use<F> {
        (self.first..self.first + self.streams.len() as u32).map(Flow)
    }

    /// What it has done.
    pub fn counters(&self) -> &ProducerCounters {
        &self.counters
    }

    /// Queues a frame of `length` bytes that arrived at `arrival` in the engine's time (cut to whole grains) and announces it. Arrivals of
    /// a stream come in their order.
    ///
    /// # Errors
    /// [`Refusal`], with the frame.
    ///
    /// # Panics
    /// If the stream is another producer's.
    #[inline]
    pub fn offer(&mut self, stream: Flow, arrival: Time, length: u32, colour: Colour, frame: F) -> Result<(), Refusal<F>> {
        let own = &mut self.streams[(stream.0.wrapping_sub(self.first)) as usize];
        let announcements = if own.urgent { &mut self.push } else { &mut self.pull };
        // Frames leave their rings after their arrivals have been read, but for those that a Transmission Engine clears away as it goes.
        let refused = if announcements.is_full() {
            Some(frame)
        } else {
            own.ring.push(Queued { length, frame }).err().map(|PushError::Full(queued)| queued.frame)
        };
        if let Some(frame) = refused {
            if own.ring.is_abandoned() {
                return Err(Refusal::Closed(frame));
            }
            return match own.when_full {
                WhenFull::Wait => {
                    self.counters.turned_back += 1;
                    Err(Refusal::ComeAgain(frame))
                }
                WhenFull::Drop => {
                    self.counters.offered.add(length);
                    self.counters.ring_full.add(length);
                    Err(Refusal::Dropped(frame))
                }
            };
        }
        self.counters.offered.add(length);
        let announced = Arrival { stream: stream.0, length, offset: self.grain.offset(arrival), colour };
        if announcements.push(announced).is_err() {
            unreachable!("there was room, and nobody else fills it");
        }
        if own.urgent {
            self.engine.ring();
        } else {
            self.is_quiet = false;
        }
        Ok(())
    }

    /// Lets the engine know that there is something to pull. To be called after a burst of offers.
    #[inline]
    pub fn flush(&mut self) {
        if !std::mem::replace(&mut self.is_quiet, true) {
            self.engine.ring();
        }
    }

    /// As [`Producer::offer`], but waits while the ring is full and its stream is not one that drops.
    ///
    /// # Errors
    /// [`Refusal::Dropped`] or [`Refusal::Closed`], with the frame.
    pub fn offer_and_wait(&mut self, stream: Flow, arrival: Time, length: u32, colour: Colour, frame: F) -> Result<(), Refusal<F>> {
        let mut frame = frame;
        loop {
            match self.offer(stream, arrival, length, colour, frame) {
                Err(Refusal::ComeAgain(back)) => frame = back,
                other => return other,
            }
            self.flush();
            self.room.listen();
            thread::park_timeout(GLANCE);
        }
    }
}

impl<F> Drop for Producer<F> {
    fn drop(&mut self) {
        // The engine may be waiting for what was announced; that this producer has gone it finds out by itself.
        self.engine.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_cannot_be_served_is_not_admitted() {
        let mut queues = QueueManager::default();
        assert_eq!(queues.admit(Descriptor::new(())).unwrap(), Flow(0));
        let error = queues.admit(Descriptor::new(()).frames(0)).unwrap_err();
        assert_eq!(error.to_string(), "stream 1: a ring of no frames would never pass anything on: at least 1 is right");
        let error = queues.admit(Descriptor::new(()).frames(u32::MAX - 256)).unwrap_err();
        assert!(error.stream == Flow(1) && error.problem.contains("smaller"), "{error}");
        assert_eq!(queues.admit(Descriptor::new(()).frames(u32::MAX - 257)).unwrap(), Flow(1), "those refused take no room");
    }
}
