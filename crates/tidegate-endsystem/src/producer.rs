//! The producers' side of the rings: a frame is queued, and its arrival is announced to the engine.

use crate::account::ProducerCounters;
use crate::arrival::{Arrival, Grain};
use crate::descriptor::WhenFull;
use crate::next::IDLE_POLL_INTERVAL;
use crate::streaming::Queued;
use crate::waker::Waker;
use rtrb::PushError;
use std::thread;
use tidegate_core::packet::{Colour, Ecn, Flow};
use tidegate_core::units::Time;

#[derive(Debug)]
pub(crate) struct ProducerStream<F> {
    pub(crate) ring: rtrb::Producer<Queued<F>>,
    pub(crate) urgent: bool,
    pub(crate) when_full: WhenFull,
}

/// Why a frame was not queued. The frame comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal<F> {
    /// Its stream's ring is full: offer it again. Nothing was counted as offered.
    ComeAgain(F),
    /// Its stream's ring is full and its descriptor says drop: it has been counted.
    Dropped(F),
    /// The Transmission Engine has gone, so no frame will ever be taken again. Nothing was counted.
    Closed(F),
}

/// Puts the frames of its streams into their rings and announces their arrivals.
///
/// After a producer is dropped, everything it announced is still decided and transmitted.
#[derive(Debug)]
pub struct Producer<F> {
    pub(crate) first: u32,
    pub(crate) streams: Vec<ProducerStream<F>>,
    pub(crate) push: rtrb::Producer<Arrival>,
    pub(crate) pull: rtrb::Producer<Arrival>,
    pub(crate) grain: Grain,
    pub(crate) engine: Waker,
    pub(crate) room: Waker,
    /// True if the engine was woken after the latest arrival.
    pub(crate) is_flushed: bool,
    pub(crate) counters: ProducerCounters,
}

impl<F> Producer<F> {
    /// The streams of this producer.
    pub fn streams(&self) -> impl Iterator<Item = Flow> + use<F> {
        (self.first..self.first + self.streams.len() as u32).map(Flow)
    }

    /// What it has counted.
    pub fn counters(&self) -> &ProducerCounters {
        &self.counters
    }

    /// Queues a frame of `length` bytes and announces that it arrived at `arrival`, in the engine's time, rounded down to whole grains.
    /// Arrivals of one stream do not decrease.
    ///
    /// # Errors
    /// [`Refusal`], with the frame.
    ///
    /// # Panics
    /// If the stream is another producer's.
    #[inline]
    pub fn offer(&mut self, stream: Flow, arrival: Time, length: u32, colour: Colour, frame: F) -> Result<(), Refusal<F>> {
        self.offer_markable(stream, arrival, length, colour, Ecn::NotEct, frame)
    }

    /// The same for a frame with this code point of congestion notification, which an AQM of the engine may ask to be marked.
    ///
    /// # Errors
    /// [`Refusal`], with the frame.
    ///
    /// # Panics
    /// If the stream is another producer's.
    #[inline]
    pub fn offer_markable(
        &mut self,
        stream: Flow,
        arrival: Time,
        length: u32,
        colour: Colour,
        ecn: Ecn,
        frame: F,
    ) -> Result<(), Refusal<F>> {
        let own = &mut self.streams[(stream.0.wrapping_sub(self.first)) as usize];
        let announcements = if own.urgent { &mut self.push } else { &mut self.pull };
        // An arrival is read before its frame leaves the ring, except when a Transmission Engine clears its rings at the end.
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
        let announced = Arrival { stream: stream.0, length, offset: self.grain.offset(arrival), colour, ecn };
        if announcements.push(announced).is_err() {
            unreachable!("there was room, and this producer alone fills it");
        }
        if own.urgent {
            self.engine.wake();
        } else {
            self.is_flushed = false;
        }
        Ok(())
    }

    /// Wakes the engine if arrivals wait to be pulled. Call it after a burst of offers.
    #[inline]
    pub fn flush(&mut self) {
        if !std::mem::replace(&mut self.is_flushed, true) {
            self.engine.wake();
        }
    }

    /// As [`Producer::offer`], but waits while the ring is full, unless the stream drops frames then.
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
            self.room.register();
            thread::park_timeout(IDLE_POLL_INTERVAL);
        }
    }
}

impl<F> Drop for Producer<F> {
    fn drop(&mut self) {
        // The engine may be waiting for what was announced; it sees by itself that this producer has gone.
        self.engine.wake();
    }
}
