//! Links at whose ports packets contend as cells.
//!
//! A cell link has one event, like any other link: the next instant at which something happens in its [`CellPort`]. From there on it is played for as long
//! as nothing else is due, so a cell costs no event of the network's.

use super::{MARKABLE, MARKED, Simulation, Tag};
use crate::cells::{Cell, Departure, Fate, Train};
use crate::network::Link;
use crate::statistics::port::PortMeter;
use tidegate_atm::adapter::CELL;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;

/// Watches the cells of a port on behalf of the statistics, which count cells there.
struct CellWatch<'a>(&'a mut PortMeter);

impl Observer<Cell> for CellWatch<'_> {
    #[inline]
    fn offered(&mut self, _now: Time, cell: &Packet<Cell>) {
        self.0.offered(cell.flow, cell.length);
    }

    #[inline]
    fn marked(&mut self, _now: Time, cell: &Packet<Cell>, _from: Colour) {
        self.0.marked(cell.flow, cell.length);
    }

    #[inline]
    fn queued(&mut self, now: Time, cell: &Packet<()>, _occupancy: &Occupancy) {
        self.0.queued(now.picoseconds(), cell.flow, cell.length);
    }

    fn dropped(&mut self, now: Time, cell: Packet<Cell>, reason: DropReason, occupancy: &Occupancy) {
        self.0.dropped(now.picoseconds(), cell.flow, cell.length, cell.colour, reason, occupancy.bytes());
    }

    #[inline]
    fn sent(&mut self, now: Time, cell: &Packet<Cell>, finish: Time, _occupancy: &Occupancy) {
        self.0.sent(now.picoseconds(), cell.flow, cell.length, cell.arrival.picoseconds(), finish.picoseconds());
    }
}

/// The time from one cell to the next of a packet on a link that carries cells, else 0. It is rounded down: rounded up, the cells of packets that follow
/// each other without a gap would fall behind the packets little by little, and sources would drift past each other.
pub(super) fn pace_of(link: &Link) -> u64 {
    if link.carries_cells() { link.port.rate.time_per_byte().floor(CELL).picoseconds() } else { 0 }
}

impl Simulation<'_> {
    /// The first cell of a packet reaches the port of its hop; the others follow at this pace.
    pub(super) fn arrive_as_cells(&mut self, now: u64, pace: u64, mut tag: Tag, length: u32, colour: Colour) {
        let hop = self.routes.hops[tag.cursor as usize];
        let link = hop.link as usize;
        let rest = &mut *self.links[link].rest;
        if let Some(cells) = &mut rest.cells {
            if tag.word >= MARKABLE && cells.port().occupancy().bytes() >= rest.mark_above {
                tag.word |= MARKED;
            }
            let goes_on = self.routes.hops[tag.cursor as usize + 1].comes_one_by_one;
            cells.push(hop.queue, Train { tag, length, colour, first: now, pace, goes_on });
            let next = cells.next();
            if next != self.events.at(rest.slot) {
                self.events.set(rest.slot, next);
            }
        }
    }

    /// Something happens at a port of cells: this, and all that follows before anything else in the network.
    pub(super) fn serve_cells(&mut self, link: usize) {
        let rest = &mut *self.links[link].rest;
        let slot = rest.slot;
        let Some(mut cells) = rest.cells.take() else { return };
        self.events.set(slot, crate::time::NEVER);
        let mut horizon = self.events.first().0.min(self.limit);
        loop {
            self.event_count += 1;
            cells.step(&mut CellWatch(&mut self.links[link].rest.meter));
            if let Some(cell) = cells.departed() {
                self.pass_on(link, cell);
                horizon = self.events.first().0.min(self.limit);
            }
            while let Some(fate) = cells.decided() {
                match fate {
                    Fate::Whole { mut tag, length, colour, is_congested, finish } => {
                        if is_congested && tag.word >= MARKABLE {
                            tag.word |= MARKED;
                        }
                        self.forward(link, Tag { cursor: tag.cursor + 1, ..tag }, length, colour, finish);
                        horizon = self.events.first().0.min(self.limit);
                    }
                    Fate::Lost { tag, length, reason } => self.lose_as_cells(link, tag, length, reason),
                }
            }
            // Greedy sources look at their first queue at the instant of every change.
            if cells.next() >= horizon || !self.greedy.is_empty() {
                break;
            }
        }
        self.events.set(slot, cells.next());
        self.links[link].rest.cells = Some(cells);
    }

    /// A cell has left for the next port of cells, and with it its packet if it was the last of a whole one.
    fn pass_on(&mut self, link: usize, mut cell: Departure<Tag>) {
        if cell.is_whole {
            let hop = self.routes.hops[cell.tag.cursor as usize + 1];
            // What is lost on the link are the contents of the packet: its cells come, with errors.
            cell.is_whole = !self.loses(link, hop, cell.tag.word, cell.length);
            self.packet_hops += 1;
            self.transmitted(hop);
        }
        self.pass_cell(link, cell);
    }

    /// A cell is on its way to the next port of cells, as one of a whole packet or not.
    pub(super) fn pass_cell(&mut self, link: usize, mut cell: Departure<Tag>) {
        cell.tag.cursor += 1;
        let [hop, next] = [0, 1].map(|ahead| self.routes.hops[cell.tag.cursor as usize + ahead]);
        let at = cell.finish + self.links[link].propagation;
        let rest = &mut *self.links[hop.link as usize].rest;
        if let Some(cells) = &mut rest.cells {
            cells.push_cell(hop.queue, at, cell, next.comes_one_by_one);
            let due = cells.next();
            if due != self.events.at(rest.slot) {
                self.events.set(rest.slot, due);
            }
        }
    }

    /// A packet of which a cell was lost.
    fn lose_as_cells(&mut self, link: usize, tag: Tag, length: u32, reason: DropReason) {
        self.links[link].rest.lost.add(length);
        self.lose(self.routes.hops[tag.cursor as usize], tag.word, length, reason);
    }
}
