//! The port of a replay: one for packets, or that of an ATM adapter, which sends each frame as AAL5 cells.
//!
//! The adapter's slots count from the start of the replay. A frame leaves with its last cell. Random loss takes cells. A frame without one of its
//! cells is lost at the end of the link. So is the frame after a lost last cell, because AAL5 joins it to the one before.

use super::error::ReplayError;
use super::segments::Segments;
use super::watcher::{Frame, LOST, Watcher};
use crate::capture::{Interface, Record};
use tidegate_atm::adapter::{AdapterPort, AdapterSetup, CellRecord, CellSent, Encapsulation};
use tidegate_atm::reassembly::Delivery;
use tidegate_core::classifier::{Classifier, FlowKey, Header};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::{Counters, Port, PortSetup, Switched, Transition, Transmission, Unbalanced};
use tidegate_core::remark::{Remark, Remarks};
use tidegate_core::units::{Duration, SERIAL_HORIZON, Time};
use tidegate_link::{Link, LossStream};
use tidegate_wire::{AckFilter, PureAck, markable, parse};

/// What a replay sends its packets through.
#[derive(Clone, Debug)]
pub struct ReplaySetup {
    /// The port.
    pub port: PortSetup,
    /// The cell scheduler, if the port is that of an ATM adapter; the scheduler of `port` is not used then.
    pub adapter: Option<AdapterSetup>,
    /// The policies that the port switches to, in the order of their instants; not for an adapter.
    pub changes: Vec<PortChange>,
    /// Which queued acknowledgements of TCP are dropped when a later one joins them; not for an adapter.
    pub ack_filter: Option<AckFilter>,
}

/// A new policy for the port of a replay.
#[derive(Clone, Debug)]
pub struct PortChange {
    /// When it takes over: since the first packet.
    pub after: Duration,
    /// The policy.
    pub setup: PortSetup,
}

impl From<PortSetup> for ReplaySetup {
    fn from(port: PortSetup) -> ReplaySetup {
        ReplaySetup { port, adapter: None, changes: Vec::new(), ack_filter: None }
    }
}

pub(super) enum ReplayPort {
    Packets(Box<Port<Box<Frame>>>),
    Cells(Box<CellPort>),
}

/// The adapter, and its clock.
pub(super) struct CellPort {
    port: AdapterPort<Box<Frame>>,
    classifier: Classifier,
    remarks: Remarks,
    slot: Duration,
    /// An instant at which a slot starts, and its number. It follows the clock, which wraps.
    base: Time,
    base_slot: u64,
    loss: Option<LossStream>,
    /// By queue: what a receiver at the end of the link makes of the cells.
    deliveries: Vec<Delivery>,
    encapsulation: Encapsulation,
    /// What makes the cells that are written, and the delay of the link.
    segments: Option<(Segments, Duration)>,
}

impl ReplayPort {
    /// A port that is empty at `start`, from where on rates that vary count. For an adapter the random loss of the link is taken over from `link`.
    pub(super) fn new(start: Time, setup: ReplaySetup, link: &mut Link) -> ReplayPort {
        let ReplaySetup { port, adapter, .. } = setup;
        let Some(adapter) = adapter else {
            let mut port = Port::new(start, port);
            if let Some(rates) = &link.rates {
                port.vary_rate(start, rates);
            }
            return ReplayPort::Packets(Box::new(port));
        };
        let (classifier, remarks) = (port.classifier.clone(), port.remarks.clone());
        let deliveries = vec![Delivery::default(); classifier.flows()];
        let encapsulation = adapter.encapsulation;
        let port = AdapterPort::new(start, &adapter, port);
        let slot = port.slot();
        let loss = link.loss.take().map(|loss| LossStream::new(loss, 0));
        let cells =
            CellPort { port, classifier, remarks, slot, base: start, base_slot: 0, loss, deliveries, encapsulation, segments: None };
        ReplayPort::Cells(Box::new(cells))
    }

    /// Leaves with the watcher from now on every cell that comes to the end of a link of this delay; what the cells carry before each frame.
    pub(super) fn write_cells(&mut self, delay: Duration) -> Result<Encapsulation, ReplayError> {
        let ReplayPort::Cells(cells) = self else { return Err(ReplayError::Cells("the port sends packets".into())) };
        cells.segments = Some((Segments::new(cells.encapsulation, &cells.classifier)?, delay));
        Ok(cells.encapsulation)
    }

    /// Prepares for frames of this interface of the capture.
    pub(super) fn expect(&mut self, number: usize, interface: &Interface) -> Result<(), ReplayError> {
        match self {
            ReplayPort::Cells(cells) => cells.segments.as_mut().map_or(Ok(()), |(segments, _)| segments.expect(number, interface)),
            ReplayPort::Packets(_) => Ok(()),
        }
    }

    /// Frames whose cells have zeros for what the capture does not hold.
    pub(super) fn padded(&self) -> u64 {
        match self {
            ReplayPort::Cells(cells) => cells.segments.as_ref().map_or(0, |(segments, _)| segments.padded()),
            ReplayPort::Packets(_) => 0,
        }
    }

    pub(super) fn classifier(&self) -> &Classifier {
        match self {
            ReplayPort::Packets(port) => port.classifier(),
            ReplayPort::Cells(cells) => &cells.classifier,
        }
    }

    /// What a packet of this flow is given on the wire if it leaves in this colour.
    pub(super) fn remark(&self, flow: Flow, colour: Colour) -> Remark {
        match self {
            ReplayPort::Packets(port) => port.remark(flow, colour),
            ReplayPort::Cells(cells) => cells.remarks.of(cells.classifier.class_of(flow), colour),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        match self {
            ReplayPort::Packets(port) => port.counters(),
            ReplayPort::Cells(cells) => cells.port.counters(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Box<Unbalanced>> {
        match self {
            ReplayPort::Packets(port) => port.check().map_err(Box::new),
            ReplayPort::Cells(cells) => cells.port.check(),
        }
    }

    /// What has happened to the cells of each class; empty if the port sends packets.
    pub(super) fn records(&self) -> Vec<CellRecord> {
        match self {
            ReplayPort::Packets(_) => Vec::new(),
            ReplayPort::Cells(cells) => cells.port.records(cells.classifier.classes().len()),
        }
    }

    /// Switches to another policy at `now`; everything due before has been sent.
    pub(super) fn switch(&mut self, now: Time, setup: PortSetup, interfaces: &[Interface], watcher: &mut Watcher) -> Switched {
        let ReplayPort::Packets(port) = self else { return Switched::default() };
        let transition = Transition::prepare(port, setup);
        let classifier = transition.classifier().clone();
        watcher.recorder.expect(&classifier);
        let classify = |&Record { interface, length, ref data, .. }: &Record| {
            classifier.classify(&Header { length, ..parse(interfaces[interface].link, data) })
        };
        let (switched, _) = port.switch(now, transition, |_, frame| Some(classify(&frame.record)), watcher);
        watcher.recorder.switched();
        switched
    }

    /// The code point of a frame, if the port has an AQM that may mark it.
    pub(super) fn ecn(&self, header: &Header) -> Ecn {
        if matches!(self, ReplayPort::Packets(port) if port.has_aqm()) { markable(header) } else { Ecn::NotEct }
    }

    pub(super) fn offer(&mut self, packet: Packet<Box<Frame>>, key: Option<FlowKey>, watcher: &mut Watcher) {
        match self {
            ReplayPort::Packets(port) => {
                port.offer_keyed(packet, key, watcher);
            }
            ReplayPort::Cells(cells) => {
                let Packet { flow, length, arrival: now, colour, payload: frame, .. } = packet;
                let slot = cells.base_slot + now.since(cells.base).picoseconds().div_ceil(cells.slot.picoseconds());
                cells.port.offer(now, slot, flow, length, colour, frame, watcher);
            }
        }
    }

    /// `newest` has joined the queue of `flow`: drops the acknowledgement there that it makes redundant.
    pub(super) fn filter_acks(
        &mut self,
        now: Time,
        flow: Flow,
        (filter, newest): (AckFilter, &PureAck),
        interfaces: &[Interface],
        watcher: &mut Watcher,
    ) {
        let ReplayPort::Packets(port) = self else { return };
        let read = |frame: &Frame| PureAck::read(interfaces[frame.record.interface].link, &frame.record.data);
        let queued = port.queued(flow).map(|(packet, frame)| AckFilter::may_filter(packet.length).then(|| read(frame))?);
        if let Some(before) = filter.redundant(newest, queued) {
            port.withdraw(now, flow, before as u32, DropReason::AckFiltered, watcher);
        }
    }

    /// Sends all that is due up to and including `now`, at most [`SERIAL_HORIZON`] after the call before. When to come back; `None` if nothing is queued.
    pub(super) fn advance(&mut self, now: Time, watcher: &mut Watcher, mut leaves: impl FnMut(Transmission<Box<Frame>>)) -> Option<Time> {
        match self {
            ReplayPort::Packets(port) => port.advance(now, watcher, leaves),
            ReplayPort::Cells(cells) => cells.advance(now, watcher, &mut leaves),
        }
    }
}

impl CellPort {
    fn advance(&mut self, now: Time, watcher: &mut Watcher, leaves: &mut impl FnMut(Transmission<Box<Frame>>)) -> Option<Time> {
        let slot = self.slot.picoseconds();
        let whole = now.since(self.base).picoseconds() / slot;
        let (base, base_slot) = (self.base, self.base_slot);
        let start_of = |number: u64| base + Duration::from_picoseconds((number - base_slot) * slot);
        (self.base, self.base_slot) = (start_of(base_slot + whole), base_slot + whole);
        loop {
            let next = self.port.next_slot()?;
            if next > self.base_slot {
                let ahead = (next - self.base_slot).min(SERIAL_HORIZON.picoseconds() / slot);
                return Some(self.base + Duration::from_picoseconds(ahead * slot));
            }
            let start = start_of(next);
            let Some(CellSent { queue, number, frame, .. }) = self.port.send(start, next, watcher) else { continue };
            let is_lost = self.loss.as_mut().is_some_and(LossStream::loses_next);
            if let Some((segments, delay)) = &mut self.segments {
                let packet = frame.as_ref().or_else(|| self.port.head(queue)).expect("a cell is part of the oldest frame of its queue");
                let remark = self.remarks.of(self.classifier.class_of(queue), packet.colour);
                let cell = segments.next_cell(packet, remark, &self.classifier);
                if !is_lost {
                    watcher.cells.push((start + self.slot + *delay, packet.payload.record.interface, cell));
                }
            }
            let is_delivered = self.deliveries[queue.index()].send(number == 0, frame.is_some(), is_lost);
            match frame {
                None => watcher.recorder.transmitting(self.slot),
                Some(packet) if !is_delivered => {
                    watcher.lost.add(packet.length);
                    watcher.drops.push((start, packet, LOST));
                }
                Some(packet) => leaves(Transmission { packet, start, finish: start + self.slot }),
            }
        }
    }
}
