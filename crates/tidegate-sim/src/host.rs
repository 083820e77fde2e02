//! What surrounds a cell scheduler: PDUs in host memory, a bus that brings their cells, the cell buffers of the adapter, the link's clock.
//!
//! A [`Host`] drives any [`CellScheduler`] slot by slot and answers its transfer requests. One engine serves them in the order of their
//! requests. A transfer takes one tenure of the bus per burst. Each tenure costs the access latency, a constant and a random part; each cell costs
//! its time on the bus:
//!
//! ```text
//! done = max(now, engine free) + bursts x (access latency + jitter) + cells x cell time, rounded up to a slot
//! ```
//!
//! With one burst per transfer and no jitter this is the engine that the scheduler plans with.
//!
//! **Order within a slot.** Transfers that are done arrive, then PDUs are posted, then the slot's cell leaves.
//!
//! **Source.** Schiller and Gunningberg, "Feasibility of a Software-based ATM cell-level scheduler with advanced shaping", section 4.4,
//! for what the adapter does. The model of the bus is our own.

use crate::random::Stream;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use tidegate_cells::{Adapter, CellError, CellScheduler, Connection, SLOT, Ticks};

/// How long transfers from host memory take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bus {
    /// From the start of a tenure to its first cell, at least.
    pub access_latency: Ticks,
    /// What is added to the access latency of each tenure.
    pub jitter: Jitter,
    /// The time of one cell on the bus.
    pub cell_time: Ticks,
    /// The most cells of one tenure.
    pub burst: NonZeroU32,
}

impl Bus {
    /// A bus that takes no time, for schedulers whose cells are on the adapter when they are posted.
    pub const IDLE: Bus = Bus { access_latency: Ticks::ZERO, jitter: Jitter::None, cell_time: Ticks::ZERO, burst: NonZeroU32::MAX };
}

/// The random part of a latency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Jitter {
    /// There is none.
    None,
    /// Anything from nothing to `most` is equally likely.
    Uniform {
        /// The longest.
        most: Ticks,
    },
    /// Exponential, given that it does not exceed `most`.
    Exponential {
        /// The mean if it were not cut off.
        mean: Ticks,
        /// The longest.
        most: Ticks,
    },
}

impl Jitter {
    /// The longest it can be.
    pub const fn most(self) -> Ticks {
        match self {
            Jitter::None => Ticks::ZERO,
            Jitter::Uniform { most } | Jitter::Exponential { most, .. } => most,
        }
    }

    fn draw(self, stream: &mut Stream) -> u64 {
        match self {
            Jitter::None => 0,
            Jitter::Uniform { most } => stream.below(most.0.saturating_add(1)),
            Jitter::Exponential { mean, most } => {
                // The inverse of the distribution function, cut off at `most`.
                let (mean, most) = (mean.0.max(1) as f64, most.0 as f64);
                let beyond = libm::exp(-most / mean);
                (-mean * libm::log1p(-stream.uniform() * (1.0 - beyond))).min(most) as u64
            }
        }
    }
}

/// A PDU that the host posts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posting {
    /// When.
    pub slot: u64,
    /// The connection that sends it.
    pub connection: Connection,
    /// Its length in cells.
    pub cells: u32,
}

/// A transfer on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Transfer {
    done: u64,
    connection: Connection,
    cells: u32,
}

/// What the host saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounts {
    /// Slots from the first to the last that was played.
    pub slots: u64,
    /// Cells that left.
    pub cells: u64,
    /// Times a connection was due and none of its cells was on the adapter.
    pub underruns: u64,
    /// Transfers that were requested.
    pub transfers: u64,
    /// The longest access latency of a request, in slots: from the request to its last cell, less the time of its cells on the bus.
    /// It includes the wait for earlier requests.
    pub longest_latency: u64,
    /// The most cell buffers in use at one time. A buffer is taken when its cell is requested and given back when the cell leaves.
    pub peak_buffers: u64,
    /// Buffers in use, summed over all slots.
    pub buffer_slots: u128,
    /// Slots in which the engine was at work, or will be with what was requested by the last slot.
    pub engine_slots: u64,
}

impl HostCounts {
    /// The mean number of cell buffers in use.
    pub fn mean_buffers(&self) -> f64 {
        self.buffer_slots as f64 / self.slots.max(1) as f64
    }

    /// The share of the time in which the engine was at work.
    pub fn engine_load(&self) -> f64 {
        self.engine_slots as f64 / self.slots.max(1) as f64
    }
}

/// Host memory, bus and clock around one scheduler; `A` observes all that the scheduler decides. Connections stay while it runs: the buffers
/// of a removed one would not be counted as given back.
#[derive(Debug)]
pub struct Host<A> {
    bus: Bus,
    stream: Stream,
    /// Observes everything.
    pub observer: A,
    transfers: VecDeque<Transfer>,
    engine_free: u64,
    buffers: u64,
    counted_to: u64,
    counts: HostCounts,
}

impl<A: Adapter> Host<A> {
    /// A host whose bus draws its jitter from the stream `name` of the experiment with this seed.
    pub fn new(bus: Bus, seed: u64, name: &str, observer: A) -> Host<A> {
        let (transfers, counts) = (VecDeque::new(), HostCounts::default());
        let stream = Stream::new(seed, 0, name);
        Host { bus, stream, observer, transfers, engine_free: 0, buffers: 0, counted_to: 0, counts }
    }

    /// What was counted so far.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// Posts `postings`, which are in the order of their slots, and lets the scheduler send up to `end`, exclusive, or until nothing is
    /// left to send. Returns the slot after the last that was played. Slots continue where the run before ended.
    ///
    /// # Errors
    /// Those of [`CellScheduler::post`].
    pub fn run(&mut self, scheduler: &mut impl CellScheduler, postings: &[Posting], end: u64) -> Result<u64, CellError> {
        let mut postings = postings.iter().copied().peekable();
        let mut slot = self.counted_to;
        if let Some(first) = postings.peek() {
            slot = slot.max(first.slot);
        }
        while slot < end {
            self.count_buffers(slot);
            while let Some(transfer) = self.transfers.front().copied().filter(|transfer| transfer.done <= slot) {
                self.transfers.pop_front();
                scheduler.arrived(transfer.connection, transfer.cells, slot, self);
            }
            while let Some(posting) = postings.next_if(|posting| posting.slot <= slot) {
                scheduler.post(posting.connection, posting.cells, slot, self)?;
            }
            scheduler.send(slot, self);
            slot += 1;
            let arrival = self.transfers.front().map(|transfer| transfer.done);
            let posting = postings.peek().map(|posting| posting.slot);
            match [scheduler.next_slot(slot), arrival, posting].into_iter().flatten().min() {
                Some(next) => slot = next.max(slot),
                None => break,
            }
        }
        let last = slot.min(end);
        self.count_buffers(last);
        Ok(last)
    }

    fn count_buffers(&mut self, now: u64) {
        let passed = now.saturating_sub(self.counted_to);
        self.counts.buffer_slots += u128::from(self.buffers) * u128::from(passed);
        self.counts.slots += passed;
        self.counted_to = self.counted_to.max(now);
    }
}

impl<A: Adapter> Adapter for Host<A> {
    fn cell_sent(&mut self, now: u64, connection: Connection, late: Ticks) {
        self.counts.cells += 1;
        // Without transfers a scheduler's cells take no buffer here.
        self.buffers = self.buffers.saturating_sub(1);
        self.observer.cell_sent(now, connection, late);
    }

    fn transfer_requested(&mut self, now: u64, connection: Connection, cells: u32) {
        let moving = u64::from(cells) * self.bus.cell_time.0;
        let mut ticks = moving;
        for _ in 0..cells.div_ceil(self.bus.burst.get()) {
            ticks += self.bus.access_latency.0 + self.bus.jitter.draw(&mut self.stream);
        }
        let taken = ticks.div_ceil(SLOT);
        self.engine_free = self.engine_free.max(now) + taken;
        self.transfers.push_back(Transfer { done: self.engine_free, connection, cells });
        self.buffers += u64::from(cells);
        self.counts.peak_buffers = self.counts.peak_buffers.max(self.buffers);
        self.counts.transfers += 1;
        self.counts.engine_slots += taken;
        let latency = self.engine_free - now - moving.div_ceil(SLOT);
        self.counts.longest_latency = self.counts.longest_latency.max(latency);
        self.observer.transfer_requested(now, connection, cells);
    }

    fn pdu_done(&mut self, now: u64, connection: Connection) {
        self.observer.pdu_done(now, connection);
    }

    fn queue_empty(&mut self, now: u64, connection: Connection) {
        self.observer.queue_empty(now, connection);
    }

    fn underrun(&mut self, now: u64, connection: Connection) {
        self.counts.underruns += 1;
        self.observer.underrun(now, connection);
    }
}

#[cfg(test)]
mod tests;
