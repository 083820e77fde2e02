//! The Streaming Unit carries arrivals into the engine, by push or by pull, and winners out of it, in batches.

use crate::arrival::Arrival;
use rtrb::{Consumer, Producer};
use tidegate_core::packet::Flow;
use tidegate_core::units::Time;

/// Transfers in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfers {
    /// Transfers that were not empty.
    pub transfers: u64,
    /// Arrivals or winners carried.
    pub records: u64,
    /// The most records in one transfer.
    pub largest: u64,
    /// The bytes of all records.
    pub bytes: u64,
}

impl Transfers {
    /// Counts one transfer of `records` records of type `R`.
    #[inline]
    pub(crate) fn add<R>(&mut self, records: usize) {
        self.transfers += 1;
        self.records += records as u64;
        self.largest = self.largest.max(records as u64);
        self.bytes += (records * size_of::<R>()) as u64;
    }
}

/// A frame in its stream's ring.
#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) length: u32,
    pub(crate) frame: F,
}

/// What to do with a frame that leaves its ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Transmit it.
    Sent,
    /// Transmit it with the mark "congestion experienced".
    Marked,
    /// Drop it: it is late.
    Late,
    /// Drop it: its queue is too long, by the word of an AQM.
    Congested,
}

/// A decision on its way to the Transmission Engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Winner {
    /// When the decision was made; in real time, when the transmission starts.
    pub(crate) at: Time,
    pub(crate) stream: Flow,
    pub(crate) disposition: Disposition,
}

/// The arrivals of one producer's streams.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub(crate) pushed: Consumer<Arrival>,
    pub(crate) pulled: Consumer<Arrival>,
}

/// The engine's end of all transfers.
#[derive(Debug)]
pub(crate) struct StreamingUnit {
    inlets: Vec<Inlet>,
    winners: Producer<Winner>,
    /// The most arrivals per transfer.
    batch: usize,
    pub(crate) pushed: Transfers,
    pub(crate) pulled: Transfers,
}

impl StreamingUnit {
    pub(crate) fn new(inlets: Vec<Inlet>, winners: Producer<Winner>, batch: usize) -> StreamingUnit {
        StreamingUnit { inlets, winners, batch, pushed: Transfers::default(), pulled: Transfers::default() }
    }

    /// True if all producers have gone. Their last announcements may still be in the rings.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.inlets.iter().all(|inlet| inlet.pushed.is_abandoned() && inlet.pulled.is_abandoned())
    }

    /// True if no arrival waits to be taken in.
    pub(crate) fn is_empty(&self) -> bool {
        self.inlets.iter().all(|inlet| inlet.pushed.is_empty() && inlet.pulled.is_empty())
    }

    #[inline]
    pub(crate) fn take_pushed(&mut self, mut take: impl FnMut(Arrival)) {
        for inlet in &mut self.inlets {
            transfer(&mut inlet.pushed, self.batch, &mut self.pushed, &mut take);
        }
    }

    /// Pulls all arrivals that were announced.
    #[inline]
    pub(crate) fn pull(&mut self, mut take: impl FnMut(Arrival)) {
        for inlet in &mut self.inlets {
            transfer(&mut inlet.pulled, self.batch, &mut self.pulled, &mut take);
        }
    }

    /// True if the ring of winners is full.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.winners.is_full()
    }

    /// Passes a winner on. The ring must have room.
    #[inline]
    pub(crate) fn pass(&mut self, winner: Winner) {
        if self.winners.push(winner).is_err() {
            unreachable!("a winner was passed on to a full ring");
        }
    }
}

/// Empties a ring, at most `batch` arrivals per transfer.
#[inline]
fn transfer(ring: &mut Consumer<Arrival>, batch: usize, count: &mut Transfers, take: &mut impl FnMut(Arrival)) {
    loop {
        let number = ring.slots().min(batch);
        if number == 0 {
            return;
        }
        let Ok(chunk) = ring.read_chunk(number) else { return };
        count.add::<Arrival>(number);
        let (first, second) = chunk.as_slices();
        first.iter().chain(second).for_each(|arrival| take(*arrival));
        chunk.commit_all();
    }
}
