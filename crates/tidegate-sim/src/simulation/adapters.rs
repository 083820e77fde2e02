//! Links that an ATM adapter feeds: frames wait at their ports whole, and leave as cells that the cell scheduler has chosen.
//!
//! Such a link has one event: the next slot in which something happens. Slot n starts at n times the time of a cell, from the start of the simulation.
//! A frame leaves with its last cell. Random loss takes cells, and a frame that has lost a cell is lost at the end of the link.

use super::{Hop, MARKABLE, MARKED, Simulation, Tag, Watch};
use crate::cells::Departure;
use crate::network::Link;
use crate::time::NEVER;
use tidegate_atm::adapter::{AdapterPort, CellRecord, CellSent};
use tidegate_atm::reassembly::Delivery;
use tidegate_core::packet::{Colour, Packet};
use tidegate_core::port::{Counters, Volume};
use tidegate_core::units::Time;
use tidegate_link::LossStream;

/// The port of an adapter.
pub(super) struct AdapterLink {
    port: AdapterPort<Tag>,
    classes: usize,
    /// The time of a cell.
    slot: u64,
    /// What had happened to the cells of each class when the warm-up ended.
    before: Vec<CellRecord>,
    /// By queue: the number of the frame that is being sent, and whether the link has lost a cell of it.
    frames: Vec<(u32, Delivery)>,
    sent_frames: u32,
}

impl AdapterLink {
    /// The adapter of a link; `None` if it has none.
    pub(super) fn of(link: &Link) -> Option<AdapterLink> {
        let setup = link.adapter.as_ref()?;
        let port = AdapterPort::new(Time::ZERO, setup, link.port.clone());
        let classes = link.port.classifier.classes().len();
        let slot = port.slot().picoseconds();
        let frames = vec![(0, Delivery::default()); setup.contracts.len()];
        Some(AdapterLink { port, classes, slot, before: vec![CellRecord::default(); classes], frames, sent_frames: 0 })
    }

    pub(super) fn books(&self) -> (Counters, Volume) {
        (*self.port.counters(), self.port.queued())
    }

    /// The warm-up ends.
    pub(super) fn restart(&mut self) {
        self.before = self.port.records(self.classes);
    }

    /// What has happened to the cells of each class since the warm-up.
    pub(super) fn records(&self) -> Vec<CellRecord> {
        self.port.records(self.classes).into_iter().zip(&self.before).map(|(now, &before)| now.since(before)).collect()
    }

    /// When something happens next.
    fn next(&self) -> u64 {
        self.port.next_slot().map_or(NEVER, |slot| slot.saturating_mul(self.slot))
    }
}

impl Simulation<'_> {
    /// A frame comes to the adapter of its hop.
    pub(super) fn arrive_at_adapter(&mut self, now: u64, mut tag: Tag, length: u32, colour: Colour) {
        let hop = self.routes.hops[tag.cursor as usize];
        let rest = &mut *self.links[hop.link as usize].rest;
        let Some(adapter) = &mut rest.adapter else { return };
        if tag.word >= MARKABLE && adapter.port.occupancy().bytes() >= rest.mark_above {
            tag.word |= MARKED;
        }
        let mut watch = Watch {
            meter: &mut rest.meter,
            flows: &mut self.flows,
            routes: self.routes,
            greedy: &mut self.greedy,
            woken: &mut self.woken,
            backs: &mut self.backs,
        };
        let slot = now.div_ceil(adapter.slot);
        adapter.port.offer(Time::from_picoseconds(now), slot, hop.queue, length, colour, tag, &mut watch);
        self.events.set(rest.slot, adapter.next());
    }

    /// A slot of an adapter's link begins.
    pub(super) fn serve_adapter(&mut self, link: usize) {
        let rest = &mut *self.links[link].rest;
        let Some(adapter) = &mut rest.adapter else { return };
        let Some(slot) = adapter.port.next_slot() else { return self.events.set(rest.slot, NEVER) };
        let (now, finish) = (slot * adapter.slot, (slot + 1) * adapter.slot);
        let mut watch = Watch {
            meter: &mut rest.meter,
            flows: &mut self.flows,
            routes: self.routes,
            greedy: &mut self.greedy,
            woken: &mut self.woken,
            backs: &mut self.backs,
        };
        let sent = adapter.port.send(Time::from_picoseconds(now), slot, &mut watch);
        self.events.set(rest.slot, adapter.next());
        let Some(CellSent { queue, number, cells, frame }) = sent else { return };
        if frame.is_none() {
            rest.meter.sent_part(now, finish);
        }
        let is_last = frame.is_some();
        let (frame_number, delivery) = &mut adapter.frames[queue.index()];
        if number == 0 {
            *frame_number = adapter.sent_frames;
            adapter.sent_frames = adapter.sent_frames.wrapping_add(1);
        }
        let is_whole = delivery.send(number == 0, is_last, rest.loss.as_mut().is_some_and(LossStream::loses_next));
        let frame_number = *frame_number;
        let head = |packet: &Packet<Tag>| (packet.payload, packet.length, packet.colour);
        let Some((tag, length, colour)) = frame.as_ref().or(adapter.port.head(queue)).map(head) else { return };
        let (cursor, colour) = self.crossing(link, tag.cursor, colour);
        let hop = self.routes.hops[cursor as usize];
        if is_last && !is_whole {
            self.lose_damaged(link, hop, tag.word, length);
        }
        if hop.comes_one_by_one {
            if is_whole {
                self.packet_hops += 1;
                self.transmitted(hop);
            }
            // The cells of a damaged frame come, with errors.
            self.pass_cell(link, Departure { tag, length, packet: frame_number, cells, colour, finish, is_last, is_whole });
        } else if is_whole {
            self.carry(link, Tag { cursor, ..tag }, length, colour, finish);
        }
    }

    /// A frame that lost a cell on the link has wholly left the adapter.
    fn lose_damaged(&mut self, link: usize, hop: Hop, word: u32, length: u32) {
        self.packet_hops += 1;
        self.lose_on_link(link, hop, word, length);
        self.transmitted(hop);
    }
}
