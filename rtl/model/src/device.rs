//! The device: ShareStreams as hardware has it, 16 bits of time and 8 of a window, cycle by cycle.
//!
//! One register block per stream, half as many decision blocks as the network has ports, a network through which the streams' attributes
//! recirculate, and a control unit. This is the golden model that hardware is compared with, and an engine like [`Scan`](tidegate_core::dwcs::Scan): through
//! [`Dwcs`] it takes ticks of 64 bits, of which the blocks see 16.
//!
//! **Law.** In every [`Architecture`] the device decides as [`Scan`](tidegate_core::dwcs::Scan) with
//! [`Early::Clamp`](tidegate_core::dwcs::Early::Clamp), and its registers hold the same state. This requires periods at least as long as the
//! ticks between two decisions, denominators below 256, and heads whose ages differ by less than 2^15.
//!
//! **Source**: Krishnamurthy, Yalamanchili, Schwan and West, "ShareStreams: a scalable architecture and hardware support for high-speed QoS
//! packet schedulers", sections 3 and 4, Figures 5 to 8.
//!
//! **State**: the registers of `block` for each stream, the outputs of the decision blocks, a clock, and the winner that is being served.
//!
//! **Cost**: the cycles of its [`Timeline`]; as a program, O(N log N) per decision.
//!
//! **RTL twin**: this is the model of it: `block`, `decision` and `network` are modules of their own, and this file is the control unit.
//!
//! **Deviations**: a block misses at most one deadline per update, as one cycle allows. With periods shorter than the ticks between decisions
//! it therefore falls behind, while software counts every missed deadline. The control unit latches the arrivals of all dropped and served
//! heads in the cycle of the update; the paper does not say how many its memory delivers at once. The clock has 64 bits; hardware keeps 16, and
//! a flag for steps of more than 2^14 ticks.

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
    /// It moves on by one tick whenever a winner is served, whatever the calls say, as in the paper's experiments.
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
    /// Streams that the last decision has ordered behind the winner and that are still to be served.
    ordered: VecDeque<Flow>,
    /// Packets served since the last PRIORITY_UPDATE.
    served_since_update: u8,
    /// The time of the last update that was left out.
    left_out: u64,
    /// The clock at the last broadcast to the blocks.
    now: u64,
    /// The clock that counts decisions.
    decided: u64,
    /// The stream whose head is being served.
    winner: Option<Flow>,
    /// The answer to the last question, as long as nothing has changed.
    answer: Option<Choice>,
    blocks: Vec<Block>,
    attributes: Vec<Attributes>,
    network: Network,
    /// What the host has read from the counters.
    tallies: Vec<Tally>,
    updates: u64,
    schedule: Range<u64>,
    update: Option<u64>,
}

impl Device {
    /// A device for these streams, none of them backlogged, whose clock stands at `start`. More streams than the network has ports are tiled.
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

    /// LOAD of one stream between decisions: it begins anew with this contract, without a packet, its tally at 0, when the clock stands where
    /// it stood at the last update.
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

    /// What is built.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The network, with what the last decision left in it.
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

    /// The cycle after those so far.
    fn cycle(&self) -> u64 {
        1 + self.network.cycles() + self.updates
    }

    /// PRIORITY_UPDATE: the winner and the time go to all blocks.
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

    /// Updates the blocks if time has passed or a winner was served, unless the cadence lets the update wait for further winners.
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

    /// SCHEDULE: the blocks' attributes go over the network.
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

    /// The host adds up what the counters have moved on by.
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
mod tests {
    use super::*;
    use crate::network::Size;
    use tidegate_core::dwcs::Window;

    fn equal(streams: usize) -> Vec<Stream> {
        alloc::vec![Stream::windowed(Window::new(3, 4), 1); streams]
    }

    /// SCHEDULE and PRIORITY_UPDATE cycles of the first decisions.
    fn cycles(architecture: Architecture, streams: usize, decisions: u64) -> Vec<(Range<u64>, Option<u64>)> {
        let mut device = Device::new(architecture, Clock::Decisions, 0, &equal(streams)).unwrap();
        (0..streams as u32).for_each(|stream| device.activate(0, Flow(stream), 0));
        let mut seen = Vec::new();
        for arrival in 1..=decisions {
            let Choice::Serve(stream) = device.select(0) else { panic!("all streams are backlogged") };
            let schedule = device.schedule_cycles();
            device.served(stream, 0, Some(arrival));
            seen.push((schedule, None));
            device.select(0);
            seen.last_mut().unwrap().1 = device.update_cycle();
        }
        seen
    }

    /// Oracle S4.
    #[test]
    fn cycles_are_those_of_the_timeline() {
        let base = cycles(Architecture::base(Size::Eight), 8, 3);
        assert_eq!(base, [(1..4, Some(4)), (5..8, Some(8)), (9..12, Some(12))]);
        assert_eq!(cycles(Architecture::winner_only(Size::Eight), 8, 3), base);
        assert_eq!(cycles(Architecture::compute_ahead(Size::Eight), 8, 3), [(1..4, None), (4..7, None), (7..10, None)]);
        for size in Size::ALL {
            for architecture in [
                Architecture::base(size),
                Architecture::winner_only(size),
                Architecture::compute_ahead(size),
                Architecture { routing: Routing::Exact, ..Architecture::base(size) },
            ] {
                for streams in [1, size.ports(), 2 * size.ports(), 32] {
                    let tiles = streams.div_ceil(size.ports());
                    if streams > 32 || tiles > size.ports() || (tiles > 1 && architecture.routing == Routing::Exact) {
                        continue;
                    }
                    let timeline = architecture.timeline(streams);
                    for (seen, number) in cycles(architecture, streams, 5).into_iter().zip(0..) {
                        assert_eq!(seen, (timeline.schedule(number), timeline.update(number)), "{architecture:?}, {streams} streams");
                    }
                }
            }
        }
    }

    #[test]
    fn a_question_that_is_asked_again_costs_no_cycles() {
        let mut device = Device::new(Architecture::base(Size::Four), Clock::Outside, 0, &equal(4)).unwrap();
        assert_eq!(device.select(0), Choice::Idle);
        device.activate(0, Flow(2), 0);
        assert_eq!(device.select(0), Choice::Serve(Flow(2)));
        let cycles = device.schedule_cycles();
        assert_eq!(device.select(0), Choice::Serve(Flow(2)));
        assert_eq!(device.schedule_cycles(), cycles);
        device.served(Flow(2), 1, None);
        assert_eq!(device.select(1), Choice::Idle);
    }

    #[test]
    fn a_stream_that_is_loaded_anew_forgets_what_was() {
        let mut device = Device::new(Architecture::base(Size::Four), Clock::Outside, 0, &equal(3)).unwrap();
        (0..3).for_each(|stream| device.activate(0, Flow(stream), 0));
        assert_eq!(device.select(0), Choice::Serve(Flow(0)));
        device.served(Flow(0), 1, Some(1));
        assert_eq!(device.select(1), Choice::Serve(Flow(1)));
        let others = [0, 2].map(|stream| device.standing(Flow(stream)));
        let contract = Stream { first_deadline: Some(1), ..Stream::windowed(Window::new(0, 7), 9) };
        device.load(Flow(1), &contract).unwrap();
        let standing = device.standing(Flow(1));
        assert_eq!((standing.deadline, standing.tolerance, standing.tally), (1, Tolerance::of(contract.window), Tally::default()));
        // It has no packet, so the next one is served.
        assert_eq!(device.select(1), Choice::Serve(Flow(2)));
        assert_eq!([0, 2].map(|stream| device.standing(Flow(stream))), others);
        device.activate(1, Flow(1), 1);
        assert_eq!(device.standing(Flow(1)).deadline, 10);
        assert!(device.load(Flow(1), &Stream { penalty: 256, ..contract }).is_err());
        assert_eq!(device.standing(Flow(1)).deadline, 10);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let fits = Stream::windowed(Window::new(1, 2), 1);
        let refused = |architecture, start, streams: &[Stream]| Device::new(architecture, Clock::Outside, start, streams).unwrap_err();
        let base = Architecture::base(Size::Four);
        for (stream, word) in [
            (Stream { window: Window::new(1, 256), ..fits }, "255 deadlines"),
            (Stream { penalty: 256, ..fits }, "penalty"),
            (Stream { period: Some(16_385), ..fits }, "period"),
            (Stream { first_deadline: Some(16_485), ..fits }, "first deadline"),
            (Stream { window: Window::new(3, 2), ..fits }, "cannot tolerate"),
        ] {
            let error = refused(base, 100, &[fits, stream]);
            assert!(error.stream == Some(Flow(1)) && error.problem.contains(word), "{error}");
        }
        assert_eq!(refused(base, 0, &[fits; 17]).stream, Some(Flow(16)));
        assert_eq!(refused(Architecture::base(Size::ThirtyTwo), 0, &[fits; 33]).stream, Some(Flow(32)));
        assert_eq!(refused(Architecture { routing: Routing::Exact, ..base }, 0, &[fits; 5]).stream, Some(Flow(4)));
        let widest = Stream { window: Window::TIGHTEST, penalty: 255, period: Some(16_384), first_deadline: Some(16_484), ..fits };
        assert!(Device::new(base, Clock::Outside, 100, &[widest; 16]).is_ok());
    }

    #[test]
    fn counters_of_sixteen_bits_add_up() {
        let mut device = Device::new(Architecture::base(Size::Four), Clock::Decisions, 0, &equal(2)).unwrap();
        (0..2).for_each(|stream| device.activate(0, Flow(stream), 0));
        for arrival in 1..=140_000 {
            let Choice::Serve(stream) = device.select(0) else { panic!("both are backlogged") };
            device.served(stream, 0, Some(arrival / 16));
        }
        let met = [0, 1].map(|stream| device.standing(Flow(stream)).tally.met);
        assert!(met[0] > 1 << 16 && met[0] + met[1] == 140_000, "{met:?}");
    }
}
