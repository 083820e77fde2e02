//! A port at which packets contend as ATM cells: each packet arrives as a train of cells, the cells of all trains meet in one port of the core, and
//! behind it they become packets again.
//!
//! **Law.** A packet leaves whole or is lost: it leaves if all of its cells do and nothing else has come in between them and the end of the frame before.
//! Every packet that has come is delivered, lost, or still inside; the cells obey the law of the port. Where the next port is one for cells, too, they go
//! there one by one ([`stream`]), and a packet that is whole is the next port's when its last cell has left.
//! **Source.** ITU-T I.363.5 for what a receiver makes of cells; trains are ours.
//! **State.** A train per packet that has not wholly arrived (or each of its cells, if it comes in single ones), 8 bytes per queued cell, a counter per
//! queue for the receiver.
//! **Cost.** Per cell an offer and a poll of the port and two changes of a small event set; nothing at all for the rest of the network, which sees a
//! packet arrive and a packet leave.
//! **RTL twin.** None.
//! **Deviations.** Contents are not carried: a receiver that would find a wrong CRC or length finds here that the cells are not those of one packet.
//! The cells of a queue (a virtual channel) come over one line, one packet after the other: what overlaps waits. So where packets of several other queues
//! or of sources come to one queue, each of them is collected first and comes as a train, as where virtual channels are merged.

use crate::events::Events;
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_atm::adapter::CELL;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet, Part};
use tidegate_core::port::{Next, Port, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Overhead, Time};

mod stream;

pub(crate) use stream::Departure;
use stream::Stream;

/// The cells of a frame of this many bytes.
#[inline]
pub(crate) const fn cells_of(bytes: u32) -> u32 {
    Overhead::Aal5.wire_length(bytes) / CELL
}

/// What a cell carries through the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    /// The packet that it is of, modulo 2^32.
    packet: u32,
    /// The cells of that packet.
    cells: u32,
    part: Part,
}

/// A packet that comes, as a train of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train<T> {
    /// What the world attached to it.
    pub tag: T,
    /// Its length in bytes.
    pub length: u32,
    /// Its colour.
    pub colour: Colour,
    /// When its first cell arrives.
    pub first: u64,
    /// The time from one of its cells to the next.
    pub pace: u64,
    /// True if its cells go on one by one.
    pub goes_on: bool,
}

/// What has become of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate<T> {
    /// Its last cell leaves the port at this instant, and all others have.
    Whole { tag: T, length: u32, colour: Colour, is_congested: bool, finish: u64 },
    /// It is lost, for the reason for which a cell of it was lost first.
    Lost { tag: T, length: u32, reason: DropReason },
}

/// The line over which the cells of one queue come, and the receiver at its end.
#[derive(Debug)]
struct Line<T> {
    waiting: VecDeque<Train<T>>,
    /// From when on another train may come.
    free: u64,
    /// Cells of the first train that have come, and the number of its packet.
    come: u32,
    packet: u32,
    /// Packets whose last cell has come to the port and has not left it.
    inside: VecDeque<Resident<T>>,
    /// Why the packet that is coming is lost, if a cell of it has been.
    reason: Option<DropReason>,
    /// What the receiver holds: cells since the last end of a frame, of which packet the last one is, and how many are of that.
    held: u32,
    holder: u32,
    own: u32,
    /// The worst colour of what it holds.
    colour: Colour,
    /// The cells that come, or go on, one by one.
    stream: Stream<T>,
}

#[derive(Clone, Copy, Debug)]
struct Resident<T> {
    tag: T,
    length: u32,
    packet: u32,
    reason: Option<DropReason>,
    /// True if much was queued when its last cell came.
    is_congested: bool,
}

/// The port.
pub(crate) struct CellPort<T> {
    port: Port<Cell>,
    lines: Vec<Line<T>>,
    /// The next cell of each line.
    arrivals: Events,
    /// When the port wants to transmit.
    wake: u64,
    packets: u32,
    /// What has come, or is on its way here in single cells, and has neither left nor been lost.
    pub inside: Volume,
    /// From how many queued bytes on a packet that comes in single cells is told that there is congestion.
    congested_above: u64,
    notes: Notes,
    /// Packets whose fate is decided, and not yet told.
    decided: VecDeque<Fate<T>>,
    /// The cell that has just left for another port of cells.
    departed: Option<Departure<T>>,
}

/// What the port has just dropped.
#[derive(Debug, Default)]
struct Notes {
    /// Why the cell that came was not let in.
    refused: Option<DropReason>,
    /// Cells that had been let in.
    victims: Vec<(Flow, Cell, DropReason)>,
}

/// Notes what is dropped, and tells the world's observer.
struct Watch<'a, O> {
    notes: &'a mut Notes,
    observer: &'a mut O,
}

impl<O: Observer<Cell>> Observer<Cell> for Watch<'_, O> {
    #[inline]
    fn offered(&mut self, now: Time, packet: &Packet<Cell>) {
        self.observer.offered(now, packet);
    }

    #[inline]
    fn marked(&mut self, now: Time, packet: &Packet<Cell>, from: Colour) {
        self.observer.marked(now, packet, from);
    }

    #[inline]
    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.observer.queued(now, packet, occupancy);
    }

    fn dropped(&mut self, now: Time, packet: Packet<Cell>, reason: DropReason, occupancy: &Occupancy) {
        match reason {
            DropReason::PushedOut | DropReason::Late => self.notes.victims.push((packet.flow, packet.payload, reason)),
            _ => self.notes.refused = Some(reason),
        }
        self.observer.dropped(now, packet, reason, occupancy);
    }

    #[inline]
    fn sent(&mut self, now: Time, packet: &Packet<Cell>, finish: Time, occupancy: &Occupancy) {
        self.observer.sent(now, packet, finish, occupancy);
    }
}

impl<T: Copy> CellPort<T> {
    /// A port for cells, built as one for packets is; its overhead is none, because a cell is what goes on the wire. From so many queued bytes on,
    /// packets that come in single cells are told that there is congestion.
    pub(crate) fn new(setup: PortSetup, congested_above: u64) -> CellPort<T> {
        let queues = setup.classifier.flows();
        let line = |_| Line {
            waiting: VecDeque::new(),
            free: 0,
            come: 0,
            packet: 0,
            inside: VecDeque::new(),
            reason: None,
            held: 0,
            holder: 0,
            own: 0,
            colour: Colour::Green,
            stream: Stream::default(),
        };
        CellPort {
            port: Port::new(Time::ZERO, setup),
            lines: (0..queues).map(line).collect(),
            arrivals: Events::new(queues),
            wake: NEVER,
            packets: 0,
            inside: Volume::default(),
            congested_above,
            notes: Notes::default(),
            decided: VecDeque::new(),
            departed: None,
        }
    }

    /// The port that the cells pass.
    pub(crate) fn port(&self) -> &Port<Cell> {
        &self.port
    }

    /// When something happens next.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.arrivals.first().0.min(self.wake)
    }

    /// A train comes to a queue. If the one before has not wholly come, it waits behind it.
    #[inline]
    pub(crate) fn push(&mut self, queue: Flow, train: Train<T>) {
        self.inside.add(train.length);
        let line = &mut self.lines[queue.index()];
        line.waiting.push_back(train);
        if line.waiting.len() == 1 {
            line.packet = self.packets;
            self.packets = self.packets.wrapping_add(1);
            self.arrivals.set(queue.index(), train.first.max(line.free));
        }
    }

    /// Plays what happens at the next instant.
    #[inline]
    pub(crate) fn step<O: Observer<Cell>>(&mut self, observer: &mut O) {
        let (at, line) = self.arrivals.first();
        // At one instant departures come before arrivals.
        if self.wake <= at {
            self.transmit(observer);
        } else {
            self.arrive(at, line, observer);
        }
        if !self.notes.victims.is_empty() {
            self.mourn();
        }
    }

    /// The next packet whose fate has been decided.
    #[inline]
    pub(crate) fn decided(&mut self) -> Option<Fate<T>> {
        self.decided.pop_front()
    }

    /// True if the last steps have sent a cell to another port of cells, or decided the fate of a packet.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.departed.is_some() || !self.decided.is_empty()
    }

    /// The cell that the last step has sent to another port of cells.
    #[inline]
    pub(crate) fn departed(&mut self) -> Option<Departure<T>> {
        self.departed.take()
    }

    /// Cells have been dropped that were in the queues: a packet that has lost its end that way will not leave.
    #[cold]
    fn mourn(&mut self) {
        for (queue, cell, reason) in self.notes.victims.drain(..) {
            let line = &mut self.lines[queue.index()];
            match line.inside.iter().position(|resident| resident.packet == cell.packet) {
                Some(place) if cell.part.is_last() => {
                    if let Some(Resident { tag, length, reason: first, .. }) = line.inside.remove(place) {
                        self.inside = less(self.inside, length);
                        self.decided.push_back(Fate::Lost { tag, length, reason: first.unwrap_or(reason) });
                    }
                }
                Some(place) => line.inside[place].reason = line.inside[place].reason.or(Some(reason)),
                None if line.packet == cell.packet => line.reason = line.reason.or(Some(reason)),
                // It has been lost before already, and this was one of the cells that are left of it.
                None => {}
            }
        }
    }

    #[inline]
    fn arrive<O: Observer<Cell>>(&mut self, now: u64, number: usize, observer: &mut O) {
        let line = &mut self.lines[number];
        let Some(&Train { tag, length, colour, pace, goes_on, .. }) = line.waiting.front() else {
            return self.arrive_alone(now, number, observer);
        };
        let (queue, cells, packet) = (Flow(number as u32), cells_of(length), line.packet);
        let part = Part::of(line.come == 0, line.come + 1 == cells);
        let mut watch = Watch { notes: &mut self.notes, observer };
        self.port.offer_part(Time::from_picoseconds(now), part, queue, CELL, colour, Cell { packet, cells, part }, &mut watch);
        self.wake = self.port.busy_until(Time::from_picoseconds(now)).map_or(now, Time::picoseconds);
        let loss = self.notes.refused.take();
        line.reason = line.reason.or(loss);
        if goes_on && loss.is_none() {
            line.stream.entered(packet, tag, length);
        }
        line.come += 1;
        if !part.is_last() {
            return self.arrivals.set(number, now + pace);
        }
        let reason = line.reason.take();
        line.waiting.pop_front();
        line.come = 0;
        line.free = now + pace;
        let next = match line.waiting.front() {
            Some(next) => {
                line.packet = self.packets;
                self.packets = self.packets.wrapping_add(1);
                next.first.max(line.free)
            }
            None => NEVER,
        };
        self.arrivals.set(number, next);
        if loss.is_some() {
            // The end of the frame is lost, and with it whatever is left of the frame for the one that follows.
            self.inside = less(self.inside, length);
            self.decided.extend(reason.map(|reason| Fate::Lost { tag, length, reason }));
        } else {
            line.inside.push_back(Resident { tag, length, packet, reason, is_congested: false });
        }
    }

    #[inline]
    fn transmit<O: Observer<Cell>>(&mut self, observer: &mut O) {
        let now = Time::from_picoseconds(self.wake);
        let mut watch = Watch { notes: &mut self.notes, observer };
        let transmission = match self.port.poll(now, &mut watch) {
            Next::Transmit(transmission) => transmission,
            Next::WaitUntil(time) => {
                self.wake = time.picoseconds();
                return;
            }
            Next::Idle => {
                self.wake = NEVER;
                return;
            }
        };
        let finish = transmission.finish.picoseconds();
        self.wake = if self.port.occupancy().packets() > 0 { finish } else { NEVER };
        let Packet { flow: queue, colour, payload: Cell { packet, cells, part }, .. } = transmission.packet;
        let line = &mut self.lines[queue.index()];
        line.own = if line.held > 0 && line.holder == packet { line.own + 1 } else { 1 };
        line.holder = packet;
        line.held += 1;
        line.colour = line.colour.max(colour);
        let onward = line.stream.left(packet);
        if !part.is_last() {
            let cell = |(tag, length)| Departure { tag, length, packet, cells, colour, finish, is_last: false, is_whole: false };
            self.departed = onward.map(cell);
            return;
        }
        // What goes on is whole if all of it does; whether other cells have come in between, the receiver behind the last port finds.
        let is_whole = line.own == cells && (onward.is_some() || line.held == cells);
        line.held = 0;
        let worst = std::mem::take(&mut line.colour);
        // Of a packet that has been lost at a port before this one, the end still comes.
        let resident = if line.inside.front().is_some_and(|first| first.packet == packet) { line.inside.pop_front() } else { None };
        let is_whole = is_whole && resident.is_some();
        let cell = |(tag, length)| Departure { tag, length, packet, cells, colour, finish, is_last: true, is_whole };
        self.departed = onward.map(cell);
        let Some(Resident { tag, length, reason, is_congested, .. }) = resident else { return };
        self.inside = less(self.inside, length);
        if !is_whole {
            // A packet of which nothing was dropped has been joined to one whose end was.
            self.decided.push_back(Fate::Lost { tag, length, reason: reason.unwrap_or(DropReason::PartialFrame) });
        } else if self.departed.is_none() {
            self.decided.push_back(Fate::Whole { tag, length, colour: worst, is_congested, finish });
        }
    }
}

fn less(volume: Volume, length: u32) -> Volume {
    Volume { packets: volume.packets - 1, bytes: volume.bytes - u64::from(length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_core::buffer::BufferParameters;
    use tidegate_core::classifier::{ClassRules, Classifier};
    use tidegate_core::registry::{BufferKind, SchedulerKind};
    use tidegate_core::scheduler::{FlowParameters, Setup};
    use tidegate_core::units::Rate;

    /// The time of a cell at 500 Mbit/s.
    const PACE: u64 = 848_000;

    fn port(queues: u32, cells: u32, kind: BufferKind, scheduler: SchedulerKind) -> CellPort<usize> {
        let rate = Rate::new(500_000_000).unwrap();
        let flows = vec![FlowParameters::default(); queues as usize];
        let parameters = BufferParameters { flows: queues as usize, packets: Some(cells), ..BufferParameters::default() };
        let setup = PortSetup {
            rate,
            overhead: Overhead::None,
            classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues, rules: vec![] }], 0).unwrap(),
            policers: vec![None],
            buffer: kind.build(&parameters).unwrap(),
            scheduler: scheduler.build(&Setup::new(rate, CELL), &flows).unwrap(),
            packet_limit: cells,
            longest_frame: CELL,
            remarks: Default::default(),
        };
        CellPort::new(setup, u64::MAX)
    }

    fn train(tag: usize, cells: u32, first: u64) -> Train<usize> {
        Train { tag, length: 48 * cells - 8, colour: Colour::Green, first, pace: PACE, goes_on: false }
    }

    fn play(port: &mut CellPort<usize>) -> Vec<Fate<usize>> {
        let mut fates = Vec::new();
        while port.next() != NEVER {
            port.step(&mut ());
            fates.extend(port.decided.drain(..));
        }
        fates
    }

    #[test]
    fn a_train_alone_passes_a_cell_behind_its_arrival() {
        let mut port = port(1, 10, BufferKind::TailDrop, SchedulerKind::Fifo);
        port.push(Flow(0), train(7, 5, 100));
        let whole = Fate::Whole { tag: 7, length: 232, colour: Colour::Green, is_congested: false, finish: 100 + 5 * PACE };
        assert_eq!(play(&mut port), [whole]);
        assert_eq!(port.inside, Volume::default());
    }

    #[test]
    fn trains_of_one_queue_come_one_after_the_other_and_those_of_two_at_once() {
        let mut port = port(2, 20, BufferKind::TailDrop, SchedulerKind::Fifo);
        port.push(Flow(0), train(0, 3, 0));
        port.push(Flow(0), train(1, 2, 0));
        port.push(Flow(1), train(2, 3, 0));
        let finishes: Vec<(usize, u64)> = play(&mut port)
            .iter()
            .map(|fate| match fate {
                Fate::Whole { tag, finish, .. } => (*tag, *finish / PACE),
                lost => panic!("{lost:?}"),
            })
            .collect();
        // 0 1 | 0 1 | 0 1 and then the two cells of the second train.
        assert_eq!(finishes, [(0, 5), (2, 6), (1, 8)]);
    }

    #[test]
    fn a_lost_end_of_a_frame_costs_the_next_one_too() {
        let mut port = port(2, 4, BufferKind::TailDrop, SchedulerKind::Fifo);
        // Three lines' worth of cells for a buffer of four: something has to go.
        port.push(Flow(0), train(0, 8, 0));
        port.push(Flow(1), train(1, 20, 0));
        port.push(Flow(0), train(2, 3, 60 * PACE));
        let fates = play(&mut port);
        let lost: Vec<usize> = fates.iter().filter_map(|fate| if let Fate::Lost { tag, .. } = fate { Some(*tag) } else { None }).collect();
        assert_eq!(fates.len(), 3);
        let ended = port.port().counters().dropped[DropReason::SharedLimit as usize].packets;
        assert!(ended > 0 && !lost.is_empty());
        assert_eq!(port.inside, Volume::default());
    }

    /// What a receiver would make of the cells that the port sends, from their contents alone.
    #[derive(Default)]
    struct Receiver {
        cells: Vec<Vec<(u32, u32, Part)>>,
        delivered: Vec<u32>,
    }

    impl Observer<Cell> for Receiver {
        fn sent(&mut self, _now: Time, packet: &Packet<Cell>, _finish: Time, _occupancy: &Occupancy) {
            let Cell { packet: number, cells, part } = packet.payload;
            let held = &mut self.cells[packet.flow.index()];
            held.push((number, cells, part));
            if part.is_last() {
                let all_of_one = held.iter().all(|cell| cell.0 == number);
                if all_of_one && held.len() as u32 == cells {
                    self.delivered.push(number);
                }
                held.clear();
            }
        }
    }

    proptest! {
        /// Every packet has one fate, in the order of its queue; whole ones are those that a receiver would reassemble; nothing is left over.
        #[test]
        fn packets_are_delivered_whole_or_lost(
            kind in prop::sample::select(vec![BufferKind::TailDrop, BufferKind::PartialPacketDiscard, BufferKind::EarlyPacketDiscard,
                BufferKind::SelectiveDrop, BufferKind::LongestQueuePushOut]),
            scheduler in prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::SelfClocked]),
            buffer in 1u32..40,
            trains in prop::collection::vec((0u32..3, 1u32..12, 0u64..30, 1u64..4), 0..60),
        ) {
            let mut port = port(3, buffer, kind, scheduler);
            let mut receiver = Receiver { cells: vec![Vec::new(); 3], ..Receiver::default() };
            let (mut now, mut fates) = (0, Vec::new());
            for (tag, &(queue, cells, pause, pace)) in trains.iter().enumerate() {
                now += pause * PACE;
                while port.next() <= now {
                    port.step(&mut receiver);
                    fates.extend(port.decided.drain(..));
                }
                port.push(Flow(queue), Train { pace: pace * PACE / 2, ..train(tag, cells, now) });
            }
            while port.next() != NEVER {
                port.step(&mut receiver);
                fates.extend(port.decided.drain(..));
            }
            prop_assert!(port.port().check().is_ok());
            prop_assert_eq!(port.inside, Volume::default());
            let mut seen: Vec<usize> = fates.iter().map(|fate| match fate { Fate::Whole { tag, .. } | Fate::Lost { tag, .. } => *tag }).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..trains.len()).collect::<Vec<_>>());
            let whole = fates.iter().filter(|fate| matches!(fate, Fate::Whole { .. })).count();
            prop_assert_eq!(whole, receiver.delivered.len());
            let cells: u64 = trains.iter().map(|train| u64::from(train.1)).sum();
            prop_assert_eq!(port.port().counters().offered.packets, cells);
        }
    }
}
