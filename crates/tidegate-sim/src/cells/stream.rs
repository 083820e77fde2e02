//! Cells that go from one port of cells to the next one by one, each at the instant at which it has left.
//!
//! Cells of other channels come in between, and what the first port has dropped of a frame is missing behind it. The end of a frame
//! decides its packet. If all cells have left, the last one makes the packet the next port's. A packet that has lost a cell, or its end, is lost
//! where that happened; the rest of it goes on, as load. A port takes the cell after the end of a frame for the first of the next, as a switch
//! does that sees nothing but cells.

use std::collections::VecDeque;
use tidegate_core::packet::Colour;

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
pub(super) struct Coming<T> {
    pub cell: Departure<T>,
    pub at: u64,
    /// True if it will go on alone, too.
    pub goes_on: bool,
}

/// What a line has to do with single cells.
#[derive(Debug)]
pub(super) struct Stream<T> {
    pub coming: VecDeque<Coming<T>>,
    /// True from a cell that comes until the end of its frame.
    pub is_within: bool,
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
