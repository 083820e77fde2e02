//! Cells that go from one port of cells to the next one by one, each at the instant at which it has left: the cells of other channels come in between, and
//! what the first port has dropped of a frame is missing behind it.
//!
//! The end of a frame says whose the packet is. Of a packet whose cells have all left, the last one makes it the next port's; one that had
//! lost a cell, or its end, is lost where that happened, and what is left of it goes on for the load that it is. A port takes the cell after the end of a
//! frame for the first of the next, as a switch does that sees nothing but cells.

use super::{Cell, CellPort, Fate, Resident, Watch, less};
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_atm::adapter::CELL;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, Flow, Part};
use tidegate_core::units::Time;

/// A cell that has left for another port of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure<T> {
    /// What the world attached to its packet, and the length of that.
    pub tag: T,
    pub length: u32,
    /// The number of its packet, increasing within a queue, and the cells of that.
    pub packet: u32,
    pub cells: u32,
    pub colour: Colour,
    /// When it has left.
    pub finish: u64,
    /// True if it is the end of a frame.
    pub is_last: bool,
    /// True if it is, and all other cells of its packet have left before it.
    pub is_whole: bool,
}

/// A cell on its way to this port.
#[derive(Clone, Copy, Debug)]
struct Coming<T> {
    cell: Departure<T>,
    at: u64,
    /// True if it will go on alone, too.
    goes_on: bool,
}

/// What a line has to do with single cells.
#[derive(Debug)]
pub(super) struct Stream<T> {
    coming: VecDeque<Coming<T>>,
    /// True from a cell that comes until the end of its frame.
    is_within: bool,
    /// The packets that cells in the queue are of, as far as they go on one by one; the first may have left already.
    onward: VecDeque<(u32, T, u32)>,
}

impl<T> Default for Stream<T> {
    fn default() -> Stream<T> {
        Stream { coming: VecDeque::new(), is_within: false, onward: VecDeque::new() }
    }
}

impl<T: Copy> Stream<T> {
    /// A cell has been let in that will go on alone.
    #[inline]
    pub(super) fn entered(&mut self, packet: u32, tag: T, length: u32) {
        if self.onward.back().is_none_or(|last| last.0 != packet) {
            self.onward.push_back((packet, tag, length));
        }
    }

    /// A cell of this packet has left the queue: what its packet is, if it goes on alone.
    #[inline]
    pub(super) fn left(&mut self, packet: u32) -> Option<(T, u32)> {
        // Numbers increase, and wrap.
        while self.onward.front().is_some_and(|first| (packet.wrapping_sub(first.0) as i32) > 0) {
            self.onward.pop_front();
        }
        self.onward.front().filter(|first| first.0 == packet).map(|&(_, tag, length)| (tag, length))
    }
}

impl<T: Copy> CellPort<T> {
    /// A cell is on its way to a queue, which it reaches at this instant, no earlier than those before it.
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

    /// The first of the cells that are on their way to a queue reaches it.
    #[inline]
    pub(super) fn arrive_alone<O: Observer<Cell>>(&mut self, now: u64, number: usize, observer: &mut O) {
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
        let mut watch = Watch { notes: &mut self.notes, observer };
        let content = Cell { packet, cells, part };
        self.port.offer_part(Time::from_picoseconds(now), part, Flow(number as u32), CELL, colour, content, &mut watch);
        self.wake = self.port.busy_until(Time::from_picoseconds(now)).map_or(now, Time::picoseconds);
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
}
