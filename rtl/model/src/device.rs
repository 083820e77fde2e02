//! The device: ShareStreams with the registers of hardware, 16 bits of time and 8 of a window, cycle by cycle.
//!
//! It has one register block per stream and half as many decision blocks as the network has ports. The streams' attributes recirculate
//! through the network, and this file is the control unit. The device is the golden model of the hardware, and an engine like
//! [`Scan`](tidegate_core::dwcs::Scan): through [`Dwcs`] it takes ticks of 64 bits, of which the blocks see 16.
//!
//! **Law.** The device decides as [`Scan`](tidegate_core::dwcs::Scan) with [`Early::Clamp`](tidegate_core::dwcs::Early::Clamp), and its registers
//! hold the records of that, in every [`Architecture`]. This holds if periods are at least as long as the ticks between two decisions,
//! denominators stay below 256, and the ages of heads differ by less than 2^15.
//!
//! **Source**: Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams: a scalable architecture and hardware support for high-speed QoS
//! packet schedulers", sections 3 and 4, Figures 5 to 8.
//!
//! **State**: the registers of `block` for each stream, the outputs of the decision blocks, a clock, and the winner that is being served.
//!
//! **Cost**: the cycles of its [`Timeline`]; as a program, O(N log N) per decision.
//!
//! **RTL twin**: this is the model of it; `block`, `decision` and `network` are modules of their own.
//!
//! **Deviations**: a block misses at most one deadline per update, as one cycle allows. So it falls behind if periods are shorter than the ticks
//! between decisions, while software counts every missed deadline. The control unit latches the arrivals of all dropped and served heads in
//! the update cycle; the paper does not say how many its memory delivers at once. The clock has 64 bits; hardware keeps 16, and a bit for
//! more than 2^14 ticks since the last update.

use crate::block::{Block, Broadcast};
use crate::cadence::Cadence;
use crate::decision::Attributes;
use crate::network::{Network, Routing};
use crate::timeline::{Architecture, Update};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use tidegate_core::dwcs::{CLAMP, Choice, Dwcs, NEVER, Standing, Stream, StreamError, Tally, Tolerance};
use tidegate_core::packet::Flow;

/// The most streams of a device: their numbers have 5 bits.
pub const MOST_STREAMS: usize = 32;

/// What moves the device's clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Clock {
    /// The user of the device sets it: `now` and `finish` of every call count.
    #[default]
    Outside,
    /// One tick per service, as in the paper's experiments; the times of the calls are ignored.
    Decisions,
}

/// The device.
///
/// ```
/// use tidegate_rtl_model::{Architecture, Clock, Device, Size};
/// use tidegate_core::dwcs::{Choice, Dwcs, Stream, Window};
/// use tidegate_core::packet::Flow;
/// let streams = [(2, 4), (3, 4), (3, 4)].map(|(x, y)| Stream::windowed(Window::new(x, y), 1));
/// let mut device = Device::new(Architecture::base(Size::Four), Clock::Decisions, 0, &streams).unwrap();
/// (0..3).for_each(|stream| device.activate(0, Flow(stream), 0));
/// let mut winners = Vec::new();
/// for arrival in 1..=4 {
///     let Choice::Serve(stream) = device.select(0) else { unreachable!() };
///     device.served(stream, 0, Some(arrival));
///     winners.push(stream.0);
/// }
/// assert_eq!(winners, [0, 1, 2, 0]); // in proportion 2:1:1
/// assert_eq!((device.schedule_cycles(), device.update_cycle()), (10..12, Some(9)));
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    architecture: Architecture,
    cadence: Cadence,
    clock: Clock,
    /// Streams that the last decision has ordered behind the winner and that are not yet served.
    ordered: VecDeque<Flow>,
    /// Packets served since the last PRIORITY_UPDATE.
    served_since_update: u8,
    /// The time of the last omitted update.
    left_out: u64,
    /// The time of the last broadcast to the blocks.
    now: u64,
    /// The clock that counts decisions.
    decided: u64,
    /// The stream whose head is being served.
    winner: Option<Flow>,
    /// The answer of the last `select`, while nothing has changed.
    answer: Option<Choice>,
    blocks: Vec<Block>,
    attributes: Vec<Attributes>,
    network: Network,
    /// The counters as the host has read and extended them.
    tallies: Vec<Tally>,
    updates: u64,
    schedule: Range<u64>,
    update: Option<u64>,
}

impl Device {
    /// A device at the time `start` for these streams, none of them backlogged. More streams than the network has ports are tiled.
    ///
    /// # Errors
    /// [`StreamError`] names the first stream that does not fit: into the registers, or into the device.
    pub fn new(architecture: Architecture, clock: Clock, start: u64, streams: &[Stream]) -> Result<Device, StreamError> {
        let most = MOST_STREAMS.min(architecture.size.ports().pow(2));
        let mut blocks = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            let wrong = |problem| StreamError { stream: Some(Flow(index as u32)), problem };
            if index == most {
                return Err(wrong("a device has at most 32 streams, and at most as many tiles as its network has ports"));
            }
            if index >= architecture.size.ports() && architecture.routing == Routing::Exact {
                return Err(wrong("the exact order is known of one tile only: as many streams as the network has ports"));
            }
            Block::check(stream, start).map_err(wrong)?;
            blocks.push(Block::load(index as u8, stream, start, architecture.update));
        }
        Ok(Device {
            architecture,
            cadence: Cadence::default(),
            clock,
            ordered: VecDeque::with_capacity(architecture.size.ports()),
            served_since_update: 0,
            left_out: start,
            now: start,
            decided: start,
            winner: None,
            answer: None,
            attributes: Vec::with_capacity(blocks.len()),
            network: Network::new(architecture.size, architecture.routing),
            tallies: alloc::vec![Tally::default(); blocks.len()],
            blocks,
            updates: 0,
            schedule: 0..0,
            update: None,
        })
    }

    /// The same device with another cadence.
    ///
    /// # Errors
    /// [`StreamError`], without a stream, if the device cannot keep the cadence ([`Cadence::check`]).
    pub fn with_cadence(mut self, cadence: Cadence) -> Result<Device, StreamError> {
        cadence.check(self.architecture, self.blocks.len()).map_err(|problem| StreamError { stream: None, problem })?;
        self.cadence = cadence;
        Ok(self)
    }

    /// LOAD of one stream between decisions, at the time of the last update: it begins anew with this contract, without packets, its tally
    /// at 0.
    ///
    /// # Errors
    /// As [`Device::new`]; nothing is changed then.
    ///
    /// # Panics
    /// If the device has no such stream, or between [`Dwcs::served`] and [`Dwcs::select`]: hardware loads when no decision is under way.
    pub fn load(&mut self, stream: Flow, contract: &Stream) -> Result<(), StreamError> {
        assert!(self.winner.is_none(), "no decision is under way");
        Block::check(contract, self.now).map_err(|problem| StreamError { stream: Some(stream), problem })?;
        self.blocks[stream.index()] = Block::load(stream.0 as u8, contract, self.now, self.architecture.update);
        self.tallies[stream.index()] = Tally::default();
        self.answer = None;
        Ok(())
    }

    /// SCHEDULE and PRIORITY_UPDATE cycles so far.
    pub fn cycles(&self) -> u64 {
        self.cycle() - 1
    }

    /// The architecture.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The network as the last decision left it.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The SCHEDULE cycles of the last decision. LOAD is cycle 0.
    pub fn schedule_cycles(&self) -> Range<u64> {
        self.schedule.clone()
    }

    /// The last PRIORITY_UPDATE cycle, of the decision before; `None` if there was none, as in blocks that compute ahead.
    pub fn update_cycle(&self) -> Option<u64> {
        self.update
    }

    fn time(&self, outside: u64) -> u64 {
        match self.clock {
            Clock::Outside => outside,
            Clock::Decisions => self.decided,
        }
    }

    fn cycle(&self) -> u64 {
        1 + self.network.cycles() + self.updates
    }

    /// PRIORITY_UPDATE: winner and time are broadcast to all blocks.
    fn update(&mut self, now: u64) {
        if self.architecture.update == Update::InTurn {
            self.update = Some(self.cycle());
            self.updates += 1;
        }
        let (winner, at) = (self.winner.take(), Broadcast::new(now, self.now));
        for (block, index) in self.blocks.iter_mut().zip(0..) {
            block.update(at, winner == Some(Flow(index)));
        }
        self.now = now;
        self.served_since_update = 0;
        (0..self.blocks.len()).for_each(|index| self.read_counters(index));
    }

    /// Updates the blocks if time has passed or a winner was served, unless the cadence delays the update.
    fn update_if_due(&mut self, now: u64) {
        if self.winner.is_some() {
            self.served_since_update += 1;
            if self.served_since_update < self.cadence.packets_per_update {
                self.winner = None;
                self.left_out = now;
            } else {
                self.update(now);
            }
        } else if now > self.now.max(self.left_out) {
            self.update(now);
        }
    }

    /// SCHEDULE: the network orders the blocks' attributes.
    fn schedule(&mut self) -> Choice {
        let first = self.cycle();
        self.attributes.clear();
        self.attributes.extend(self.blocks.iter().map(Block::attributes));
        let winner = self.network.decide(&self.attributes);
        self.schedule = first..self.cycle();
        let behind = usize::from(self.cadence.packets_per_decision) - 1;
        self.ordered.clear();
        self.ordered.extend(self.network.order().skip(1).take(behind).filter(|next| next.valid).map(|next| Flow(next.id.into())));
        if winner.valid { Choice::Serve(Flow(winner.id.into())) } else { Choice::Idle }
    }

    /// The stream that the last decision has ordered next, if it still has a packet; otherwise a new decision.
    fn next_in_order(&mut self) -> Choice {
        while let Some(stream) = self.ordered.pop_front() {
            if self.blocks[stream.index()].attributes().valid {
                return Choice::Serve(stream);
            }
        }
        self.schedule()
    }

    /// The host extends the 16-bit counters of a block.
    fn read_counters(&mut self, index: usize) {
        let (counters, tally) = (self.blocks[index].counters(), &mut self.tallies[index]);
        let extend = |total: &mut u64, counter: u16| *total += u64::from(counter.wrapping_sub(*total as u16));
        extend(&mut tally.met, counters.met);
        extend(&mut tally.late, counters.late);
        extend(&mut tally.missed, counters.missed);
        extend(&mut tally.violations, counters.violations);
        extend(&mut tally.dropped, counters.dropped);
    }
}

impl Dwcs for Device {
    fn activate(&mut self, now: u64, stream: Flow, arrival: u64) {
        let now = self.time(now);
        if now.saturating_sub(self.now) > CLAMP {
            self.update(now);
        }
        self.blocks[stream.index()].activate(Broadcast::new(now, self.now), arrival as u16);
        self.answer = None;
    }

    fn select(&mut self, now: u64) -> Choice {
        let now = self.time(now);
        if now > self.now.max(self.left_out) || self.winner.is_some() {
            self.answer = None;
        }
        if let Some(answer) = self.answer {
            return answer;
        }
        self.update_if_due(now);
        let dropped = self.blocks.iter().position(Block::drops);
        let answer = dropped.map_or_else(|| self.next_in_order(), |index| Choice::Discard(Flow(index as u32)));
        self.answer = Some(answer);
        answer
    }

    fn served(&mut self, stream: Flow, finish: u64, next: Option<u64>) {
        self.decided += 1;
        let finish = self.time(finish);
        self.blocks[stream.index()].serve(Broadcast::new(finish, self.now), next.map(|arrival| arrival as u16));
        self.winner = Some(stream);
        self.answer = None;
        self.read_counters(stream.index());
    }

    fn lost(&mut self, stream: Flow, next: Option<u64>) {
        let at = Broadcast::new(self.now, self.now);
        self.blocks[stream.index()].lose(at, next.map(|arrival| arrival as u16));
        self.answer = None;
        self.read_counters(stream.index());
    }

    fn standing(&self, stream: Flow) -> Standing {
        let block = &self.blocks[stream.index()];
        let constraint = block.constraint();
        let deadline = block.deadline(Broadcast::new(self.now, self.now));
        Standing {
            deadline: deadline.map_or(NEVER, |ahead| self.now.saturating_add_signed(ahead.into())),
            tolerance: Tolerance {
                numerator: constraint.numerator.into(),
                in_violation: constraint.violation,
                denominator: constraint.denominator.into(),
            },
            tally: self.tallies[stream.index()],
        }
    }
}

#[cfg(test)]
mod tests;
