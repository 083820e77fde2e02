//! Links at whose ports packets contend as cells.
//!
//! A cell link has one event, like any other link: the next instant at which something happens in its [`CellPort`]. From there on it is played for as long
//! as nothing else is due, so a cell costs no event of the network's.

use super::books::queued;
use super::{MARKABLE, MARKED, Simulation, Tag};
use crate::cells::{CELL, Cell, CellPort, Fate, Train};
use crate::network::Link;
use crate::route::{BACK, ENDPOINT};
use crate::statistics::port::PortMeter;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::port::{Counters, Overhead, Port, PortSetup, Volume};
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
        self.0.dropped(now.picoseconds(), cell.flow, cell.length, reason, occupancy.bytes());
    }

    #[inline]
    fn sent(&mut self, now: Time, cell: &Packet<Cell>, finish: Time, _occupancy: &Occupancy) {
        self.0.sent(now.picoseconds(), cell.flow, cell.length, cell.arrival.picoseconds(), finish.picoseconds());
    }
}

/// The time from one cell to the next of a packet on a link that carries cells, else 0.
pub(super) fn pace_of(link: &Link) -> u64 {
    let carries_cells = link.cells || link.port.overhead == Overhead::Aal5;
    if carries_cells { link.port.rate.time_per_byte().ceil(CELL).picoseconds() } else { 0 }
}

/// The port of a link's packets: a small one that stays empty where cells have a port of their own.
pub(super) fn packet_port(link: &Link) -> PortSetup {
    let setup = link.port.clone();
    if link.cells { PortSetup { packet_limit: 1, ..setup } } else { setup }
}

/// The books of the port that is used.
pub(super) fn books<'a>(port: &'a Port<Tag>, cells: Option<&'a CellPort<Tag>>) -> (&'a Counters, Volume) {
    match cells {
        Some(cells) => (cells.port().counters(), queued(cells.port())),
        None => (port.counters(), queued(port)),
    }
}

impl Simulation<'_> {
    /// True if the packet's next port is one at which cells contend.
    #[inline]
    pub(super) fn is_cell_link(&self, tag: Tag) -> bool {
        let link = self.routes.hops[tag.cursor as usize].link;
        link < ENDPOINT && self.links[link as usize].cells.is_some()
    }

    /// The first cell of a packet reaches the port of its hop; the others follow at this pace.
    pub(super) fn arrive_as_cells(&mut self, now: u64, pace: u64, mut tag: Tag, length: u32, colour: Colour) {
        let hop = self.routes.hops[tag.cursor as usize];
        let link = hop.link as usize;
        let mark_above = self.links[link].mark_above;
        if let Some(cells) = &mut self.links[link].cells {
            if tag.word >= MARKABLE && cells.port().occupancy().bytes() >= mark_above {
                tag.word |= MARKED;
            }
            cells.push(hop.queue, Train { tag, length, colour, first: now, pace });
            let next = cells.next();
            if next != self.events.at(link) {
                self.events.set(link, next);
            }
        }
    }

    /// Something happens at a port of cells: this, and all that follows before anything else in the network.
    pub(super) fn serve_cells(&mut self, link: usize) {
        let Some(mut cells) = self.links[link].cells.take() else { return };
        self.events.set(link, crate::source::NEVER);
        let mut horizon = self.events.first().0.min(self.limit);
        loop {
            self.event_count += 1;
            cells.step(&mut CellWatch(&mut self.links[link].meter));
            while let Some(fate) = cells.decided() {
                match fate {
                    Fate::Whole { tag, length, colour, finish } => {
                        self.forward(link, tag, length, colour, finish);
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
        self.events.set(link, cells.next());
        self.links[link].cells = Some(cells);
    }

    /// A packet of which a cell was lost.
    fn lose_as_cells(&mut self, link: usize, tag: Tag, length: u32, reason: DropReason) {
        self.links[link].lost.add(length);
        let hop = self.routes.hops[tag.cursor as usize];
        if hop.flow & BACK != 0 {
            return self.backs.lose(hop.flow & !BACK, tag.word, length);
        }
        self.flows[hop.flow as usize].lose(hop.place as usize, length, reason);
        if let (0, Some(Some(source))) = (hop.place, self.greedy.get_mut(hop.flow as usize)) {
            source.lost();
            self.woken.push(hop.flow);
        }
    }
}
