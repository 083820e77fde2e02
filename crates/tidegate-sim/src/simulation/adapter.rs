//! The port of an ATM adapter: frames wait in it whole, and leave as cells that the cell scheduler has chosen.
//!
//! It has one event: the next slot in which something happens. Slot n starts at n times the time of a cell, from the start of the simulation.
//! A frame leaves with its last cell. Random loss takes cells, and a frame that has lost a cell is lost at the end of the link.

use super::flows::PortWatch;
use super::packet::{InTransit, PacketMeta};
use crate::network::Link;
use crate::time::NEVER;
use tidegate_atm::adapter::{AdapterPort, CellRecord, CellSent};
use tidegate_atm::reassembly::Delivery;
use tidegate_core::packet::{Flow, Packet};
use tidegate_core::port::{Counters, Volume};
use tidegate_core::units::Time;
use tidegate_link::LossStream;

pub(super) struct AdapterLink {
    port: AdapterPort<PacketMeta>,
    classes: usize,
    slot: u64,
    /// What had happened to the cells of each class when the warm-up ended.
    before: Vec<CellRecord>,
    /// By queue: the number of the frame that is being sent, and whether the link has lost a cell of it.
    frames: Vec<(u32, Delivery)>,
    sent_frames: u32,
}

pub(super) struct AdapterCell {
    /// The frame that it is of.
    pub frame: InTransit,
    /// The number of the frame, and its cells.
    pub number: u32,
    pub cells: u32,
    /// When the cell has left.
    pub finish: u64,
    pub is_last: bool,
    /// True for the last cell of a frame of which the link has lost none.
    pub is_whole: bool,
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

    pub(super) fn accounts(&self) -> (Counters, Volume) {
        (*self.port.counters(), self.port.queued())
    }

    pub(super) fn restart(&mut self) {
        self.before = self.port.records(self.classes);
    }

    /// What has happened to the cells of each class since the warm-up.
    pub(super) fn records(&self) -> Vec<CellRecord> {
        self.port.records(self.classes).into_iter().zip(&self.before).map(|(now, &before)| now.since(before)).collect()
    }

    pub(super) fn next(&self) -> u64 {
        self.port.next_slot().map_or(NEVER, |slot| slot.saturating_mul(self.slot))
    }

    /// A frame comes. A segment with ECN is marked if `mark_above` bytes are queued, or more.
    pub(super) fn arrive(&mut self, now: u64, queue: Flow, mut packet: InTransit, mark_above: u64, watch: &mut PortWatch) {
        if packet.meta.mark_if_congested(self.port.occupancy().bytes(), mark_above) {
            watch.meter.ce_marked(queue, packet.length);
        }
        let slot = now.div_ceil(self.slot);
        self.port.offer(Time::from_picoseconds(now), slot, queue, packet.length, packet.colour, packet.meta, watch);
    }

    /// The next slot begins: the cell that leaves in it, if one does. `loss` takes cells on the link.
    pub(super) fn send(&mut self, loss: &mut Option<LossStream>, watch: &mut PortWatch) -> Option<AdapterCell> {
        let slot = self.port.next_slot()?;
        let (now, finish) = (slot * self.slot, (slot + 1) * self.slot);
        let CellSent { queue, number, cells, frame } = self.port.send(Time::from_picoseconds(now), slot, watch)?;
        let is_last = frame.is_some();
        if !is_last {
            watch.meter.sent_part(now, finish);
        }
        let (frame_number, delivery) = &mut self.frames[queue.index()];
        if number == 0 {
            *frame_number = self.sent_frames;
            self.sent_frames = self.sent_frames.wrapping_add(1);
        }
        let is_whole = delivery.send(number == 0, is_last, loss.as_mut().is_some_and(LossStream::loses_next));
        let in_transit = |packet: &Packet<PacketMeta>| InTransit { meta: packet.payload, length: packet.length, colour: packet.colour };
        let frame = frame.as_ref().or(self.port.head(queue)).map(in_transit)?;
        Some(AdapterCell { frame, number: *frame_number, cells, finish, is_last, is_whole })
    }
}
