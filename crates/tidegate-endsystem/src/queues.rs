//! The Queue Manager: it admits streams and opens the end system that serves them.

use crate::account::{Account, ProducerCounters};
use crate::descriptor::{AdmissionError, Descriptor};
use crate::engine::{self, DecisionEngine, Timing};
use crate::producer::{Producer, ProducerStream};
use crate::setup::{Pace, Setup};
use crate::streaming::{Inlet, StreamingUnit};
use crate::transmission::{self, TransmissionEngine};
use crate::waker::Waker;
use rtrb::RingBuffer;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tidegate_core::packet::Flow;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::Rate;

/// Admits streams.
///
/// Streams are numbered from 0 in the order of admission, and all are admitted before the end system opens. A stream belongs to one producer:
/// to the first one, until [`QueueManager::next_producer`] begins another.
#[derive(Clone, Debug)]
pub struct QueueManager<A> {
    descriptors: Vec<Descriptor<A>>,
    /// The first stream of every producer.
    firsts: Vec<usize>,
    /// The capacity of all rings together, in frames.
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

    /// Streams admitted after this call belong to another producer.
    pub fn next_producer(&mut self) {
        self.firsts.push(self.descriptors.len());
    }

    /// Makes the rings of all streams and the parts around them. `build` makes the scheduler from the streams' attributes, in the order of
    /// their numbers.
    ///
    /// # Errors
    /// The error of `build`.
    ///
    /// # Panics
    /// If a mark or a limit of `setup` is below its least value.
    pub fn open<F, S: Scheduler, E>(self, setup: &Setup, build: impl FnOnce(Vec<A>) -> Result<S, E>) -> Result<EndSystem<F, S>, E> {
        assert!(setup.low_mark > 1 && setup.batch > 0 && setup.winners > 0, "a mark or a limit is too low: {setup:?}");
        let (engine_waker, transmission_waker) = (Waker::default(), Waker::default());
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
                streams.push(ProducerStream { ring: into, urgent: descriptor.urgent, when_full: descriptor.when_full });
                rings.push(out_of);
                owners.push(number as u32);
                attributes.push(descriptor.attributes);
            }
            // As long as its rings together: a frame that fits into its ring has room for its arrival.
            let ((push, pushed), (pull, pulled)) = (RingBuffer::new(urgent), RingBuffer::new(bulk));
            inlets.push(Inlet { pushed, pulled });
            producers.push(Producer {
                first: first as u32,
                streams,
                push,
                pull,
                grain: setup.grain,
                engine: engine_waker.clone(),
                room: Waker::default(),
                is_flushed: true,
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
        let wakers = engine::Wakers { own: engine_waker.clone(), transmission: transmission_waker.clone() };
        let engine = DecisionEngine::new(build(attributes)?, unit, timing, setup, count, self.frames, wakers);
        let rooms = producers.iter().map(|producer| producer.room.clone()).collect();
        let wakers = transmission::Wakers { own: transmission_waker, engine: engine_waker, rooms, owners };
        let transmission = TransmissionEngine::new(rings, won, link, setup, progress, wakers);
        Ok(EndSystem { producers, engine, transmission })
    }
}

/// The parts of an end system, one thread each.
#[derive(Debug)]
pub struct EndSystem<F, S> {
    /// Where frames come in.
    pub producers: Vec<Producer<F>>,
    /// Where the next stream is chosen.
    pub engine: DecisionEngine<S>,
    /// Where frames go out.
    pub transmission: TransmissionEngine<F>,
}

impl<F, S: Scheduler> EndSystem<F, S> {
    /// What became of everything. Exact while all parts are at rest.
    pub fn account(&mut self) -> Account {
        let producers: Vec<ProducerCounters> = self.producers.iter().map(|producer| *producer.counters()).collect();
        self.transmission.account(&producers)
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
        assert_eq!(queues.admit(Descriptor::new(()).frames(u32::MAX - 257)).unwrap(), Flow(1), "a refused stream takes no room");
    }
}
