//! A port at which packets contend as ATM cells: trains of cells come in, and packets leave.
//!
//! **Law.** A packet leaves whole or is lost. It is whole if all of its cells leave, and no other cell comes between the end of the frame before and
//! its own. Every packet that has come is delivered, lost, or still inside; the cells obey the law of the port. To another port of cells they
//! go one by one ([`stream`]); the packet is the next port's from its last cell on.
//!
//! **Source.** ITU-T I.363.5 for what a receiver makes of cells. The trains are our own.
//!
//! **State.** A train per packet that has not wholly arrived, or each of its cells if they come one by one; 8 bytes per queued cell. A counter per
//! queue for the receiver.
//!
//! **Cost.** Per cell an offer and a poll of the port, and two changes of a small event set. The rest of the network sees only packets.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Contents are not carried: instead of a wrong CRC or length, the receiver finds cells of several packets. The cells of a queue (a
//! virtual channel) come over one line, one packet after the other; a packet that overlaps waits. Where packets of several queues or sources
//! meet in one queue, each packet is collected first and comes as a train, as at a merge of virtual channels.

use crate::events::Events;
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_atm::adapter::CELL;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Next, Port, PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Overhead, Time};

mod stream;

pub(crate) use stream::Departure;
use stream::{Coming, Stream};

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
    cells: u32,
    part: Part,
}

/// A packet that comes, as a train of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train<T> {
    /// What the world attached to it.
    pub tag: T,
    pub length: u32,
    pub colour: Colour,
    /// When its first cell arrives.
    pub first: u64,
    /// The time from one of its cells to the next.
    pub pace: u64,
    /// True if its cells go on one by one.
    pub goes_on: bool,
}

/// The outcome of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate<T> {
    /// Its last cell leaves the port at this instant, and all others have.
    Whole { tag: T, length: u32, colour: Colour, is_congested: bool, finish: u64 },
    /// It is lost, for the reason that its first lost cell was dropped for.
    Lost { tag: T, length: u32, reason: DropReason },
}

/// The line over which the cells of one queue come, and the receiver at its end.
#[derive(Debug)]
struct Line<T> {
    waiting: VecDeque<Train<T>>,
    /// From this instant on another train may come.
    free: u64,
    /// The number of cells of the first train that have come, and the number of its packet.
    come: u32,
    packet: u32,
    /// Packets whose last cell has come to the port and has not left it.
    inside: VecDeque<Resident<T>>,
    /// Why the arriving packet is lost, if a cell of it is.
    reason: Option<DropReason>,
    /// What the receiver holds: cells since the last end of a frame, the packet of the last one, and the cells of that packet.
    held: u32,
    holder: u32,
    own: u32,
    colour: Colour,
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

pub(crate) struct CellPort<T> {
    port: Port<Cell>,
    lines: Vec<Line<T>>,
    arrivals: Events,
    /// When the port wants to transmit.
    wake: u64,
    packets: u32,
    /// What has come, or is on its way here in single cells, and has neither left nor been lost.
    pub inside: Volume,
    /// The queued bytes from which on a packet that comes in single cells learns of congestion.
    congested_above: u64,
    notes: Notes,
    /// Packets whose outcome is decided and not yet reported.
    decided: VecDeque<Fate<T>>,
    /// The cell that has just left for another port of cells.
    departed: Option<Departure<T>>,
}

/// What the port has just dropped.
#[derive(Debug, Default)]
struct Notes {
    /// Why the cell that came was not let in.
    refused: Option<DropReason>,
    victims: Vec<(Flow, Cell, DropReason)>,
}

/// Notes what is dropped, and passes everything on to the observer outside.
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
    /// A port for cells, built like one for packets. It has no overhead, because cells go on the wire as they are. From `congested_above` queued
    /// bytes on, packets that come in single cells learn of congestion.
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

    pub(crate) fn port(&self) -> &Port<Cell> {
        &self.port
    }

    /// The instant of its next event.
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

    /// Plays the next event.
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
            self.lose_victims();
        }
    }

    /// The next packet whose outcome is decided.
    #[inline]
    pub(crate) fn decided(&mut self) -> Option<Fate<T>> {
        self.decided.pop_front()
    }

    /// True if a step has sent a cell to another port of cells, or decided the outcome of a packet.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.departed.is_some() || !self.decided.is_empty()
    }

    /// The cell that the last step has sent to another port of cells.
    #[inline]
    pub(crate) fn departed(&mut self) -> Option<Departure<T>> {
        self.departed.take()
    }

    /// Accounts for queued cells that were dropped: a packet that loses its end this way will not leave.
    #[cold]
    fn lose_victims(&mut self) {
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
                // The packet is lost already; this was a remaining cell of it.
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
        let arrival = Time::from_picoseconds(now);
        let cell = Packet { flow: queue, length: CELL, arrival, colour, part, ecn: Ecn::NotEct, payload: Cell { packet, cells, part } };
        self.port.offer_packet(cell, &mut Watch { notes: &mut self.notes, observer });
        self.wake = self.port.busy_until(arrival).map_or(now, Time::picoseconds);
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
            // The end of the frame is lost: what is left of the frame joins the next one.
            self.inside = less(self.inside, length);
            self.decided.extend(reason.map(|reason| Fate::Lost { tag, length, reason }));
        } else {
            line.inside.push_back(Resident { tag, length, packet, reason, is_congested: false });
        }
    }

    /// A cell reaches a queue at `at`, no earlier than those before it.
    #[inline]
    pub(crate) fn push_cell(&mut self, queue: Flow, at: u64, cell: Departure<T>, goes_on: bool) {
        if cell.is_whole {
            self.inside.add(cell.length);
        }
        let coming = &mut self.lines[queue.index()].stream.coming;
        coming.push_back(Coming { cell, at, goes_on });
        if coming.len() == 1 {
            self.arrivals.set(queue.index(), at);
        }
    }

    /// The next cell reaches its queue.
    #[inline]
    fn arrive_alone<O: Observer<Cell>>(&mut self, now: u64, number: usize, observer: &mut O) {
        let line = &mut self.lines[number];
        let Some(Coming { cell, goes_on, .. }) = line.stream.coming.pop_front() else { return };
        self.arrivals.set(number, line.stream.coming.front().map_or(NEVER, |next| next.at));
        let Departure { tag, length, packet, cells, colour, is_last, is_whole, .. } = cell;
        if line.packet != packet {
            (line.packet, line.reason) = (packet, None);
        }
        let part = Part::of(!line.stream.is_within, is_last);
        line.stream.is_within = !is_last;
        let is_congested = self.port.occupancy().bytes() >= self.congested_above;
        let arrival = Time::from_picoseconds(now);
        let cell = Packet {
            ecn: Ecn::NotEct,
            flow: Flow(number as u32),
            length: CELL,
            arrival,
            colour,
            part,
            payload: Cell { packet, cells, part },
        };
        self.port.offer_packet(cell, &mut Watch { notes: &mut self.notes, observer });
        self.wake = self.port.busy_until(arrival).map_or(now, Time::picoseconds);
        let loss = self.notes.refused.take();
        line.reason = line.reason.or(loss);
        if goes_on && loss.is_none() {
            line.stream.entered(packet, tag, length);
        }
        if !is_whole {
            return;
        }
        let reason = line.reason.take();
        match loss {
            None => line.inside.push_back(Resident { tag, length, packet, reason, is_congested }),
            Some(_) => {
                self.inside = less(self.inside, length);
                self.decided.extend(reason.map(|reason| Fate::Lost { tag, length, reason }));
            }
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
        // To another port of cells a packet goes on whole if all of it does; the receiver behind the last port finds cells in between.
        let is_whole = line.own == cells && (onward.is_some() || line.held == cells);
        line.held = 0;
        let worst = std::mem::take(&mut line.colour);
        // The end of a packet that was lost at an earlier port still comes.
        let resident = if line.inside.front().is_some_and(|first| first.packet == packet) { line.inside.pop_front() } else { None };
        let is_whole = is_whole && resident.is_some();
        let cell = |(tag, length)| Departure { tag, length, packet, cells, colour, finish, is_last: true, is_whole };
        self.departed = onward.map(cell);
        let Some(Resident { tag, length, reason, is_congested, .. }) = resident else { return };
        self.inside = less(self.inside, length);
        if !is_whole {
            // Nothing of this packet was dropped, but it has joined one whose end was.
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
mod tests;
