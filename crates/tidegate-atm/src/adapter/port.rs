//! The port of an adapter: frames are policed, admitted and queued as at any port, and leave cell by cell.
//!
//! A frame is queued until its last cell starts, and sent from then on. So `offered = sent + dropped + queued` holds in frames.

use super::{AdapterSetup, CELL, CellRecord, Encapsulation, Engine, slot_time};
use std::collections::VecDeque;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, Change};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::port::{Counters, PortSetup, Unbalanced, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyBufferManager, AnyPolicer};
use tidegate_core::units::{Duration, Time};

/// A port at which the cell scheduler serves one connection per queue.
///
/// The caller counts slots: slot n starts `n * slot` after an instant of the caller's choice.
#[derive(Debug)]
pub struct AdapterPort<T> {
    engine: Engine,
    encapsulation: Encapsulation,
    slot: Duration,
    /// The frames of each queue, oldest first.
    queues: Vec<VecDeque<Waiting<T>>>,
    class_of: Vec<usize>,
    policers: Vec<Option<AnyPolicer>>,
    buffer: AnyBufferManager,
    occupancy: Occupancy,
    counters: Counters,
    packet_limit: u32,
    longest_frame: u32,
}

#[derive(Debug)]
struct Waiting<T> {
    packet: Packet<T>,
    cells: u32,
    sent: u32,
}

/// A cell that leaves.
#[derive(Debug)]
pub struct CellSent<T> {
    /// Its queue.
    pub queue: Flow,
    /// Its number within its frame, from 0.
    pub number: u32,
    /// The cells of its frame.
    pub cells: u32,
    /// The frame, if this is its last cell.
    pub frame: Option<Packet<T>>,
}

impl<T> AdapterPort<T> {
    /// A port that is empty at `now`, the start of slot 0. The scheduler and the overhead of `port` are not used; its rate gives the slot.
    ///
    /// # Panics
    /// If [`AdapterSetup::check`] fails, or the classifier's number of queues is not the number of contracts.
    pub fn new(now: Time, setup: &AdapterSetup, mut port: PortSetup) -> AdapterPort<T> {
        let queues = port.classifier.flows();
        assert_eq!(queues, setup.contracts.len(), "one contract per queue");
        port.policers.iter_mut().flatten().for_each(|policer| policer.start(now));
        AdapterPort {
            engine: Engine::new(setup, port.packet_limit),
            encapsulation: setup.encapsulation,
            slot: slot_time(port.rate),
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            class_of: (0..queues).map(|queue| port.classifier.class_of(Flow(queue as u32))).collect(),
            policers: port.policers,
            buffer: port.buffer,
            occupancy: Occupancy::new(queues),
            counters: Counters::default(),
            packet_limit: port.packet_limit,
            longest_frame: port.longest_frame,
        }
    }

    /// The transmission time of a cell.
    pub fn slot(&self) -> Duration {
        self.slot
    }

    /// The occupancy of the queues.
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// The counters of frames.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The frames in queues, and their bytes.
    pub fn queued(&self) -> Volume {
        Volume { packets: u64::from(self.occupancy.packets()), bytes: self.occupancy.bytes() }
    }

    /// Checks the conservation law.
    ///
    /// # Errors
    /// [`Unbalanced`] with all the figures: a defect.
    pub fn check(&self) -> Result<(), Box<Unbalanced>> {
        self.counters.check(self.queued()).map_err(Box::new)
    }

    /// The cell counters of each class.
    pub fn records(&self, classes: usize) -> Vec<CellRecord> {
        let mut sums = vec![CellRecord::default(); classes];
        for (&class, &record) in self.class_of.iter().zip(&self.engine.host.records) {
            sums[class] = sums[class].plus(record);
        }
        sums
    }

    /// The oldest frame of a queue.
    pub fn head(&self, queue: Flow) -> Option<&Packet<T>> {
        self.queues[queue.index()].front().map(|waiting| &waiting.packet)
    }

    /// Offers a frame of `length` bytes at `now`. It may leave from `slot` on, the first slot that has not begun.
    // The caller counts slots, so it passes both the time and the slot.
    #[allow(clippy::too_many_arguments)]
    pub fn offer<O: Observer<T>>(&mut self, now: Time, slot: u64, queue: Flow, length: u32, colour: Colour, payload: T, observer: &mut O) {
        let mut packet = Packet { flow: queue, length, arrival: now, colour, part: Part::Whole, ecn: Ecn::NotEct, payload };
        self.counters.offered.add(length);
        observer.offered(now, &packet);
        if length > self.longest_frame {
            return self.drop_frame(now, packet, DropReason::Oversize, observer);
        }
        let cells = self.encapsulation.cells_of(length);
        if let Some(Some(policer)) = self.policers.get_mut(self.class_of[queue.index()]) {
            match policer.police(now, cells * CELL, colour) {
                Verdict::Conform => {}
                Verdict::Mark(colour) => {
                    let from = packet.colour;
                    packet.colour = colour;
                    observer.marked(now, &packet, from);
                }
                Verdict::Discard => return self.drop_frame(now, packet, DropReason::Policed, observer),
            }
        }
        let arrival = Arrival { ecn: Ecn::NotEct, flow: queue, length, colour: packet.colour, part: Part::Whole, now };
        match self.buffer.admit(&arrival, &self.occupancy) {
            Admission::Accept if self.occupancy.packets() < self.packet_limit => {}
            Admission::AcceptAs(colour) if self.occupancy.packets() < self.packet_limit => {
                let from = core::mem::replace(&mut packet.colour, colour);
                observer.marked(now, &packet, from);
            }
            Admission::Refuse(reason) => return self.drop_frame(now, packet, reason, observer),
            // The scheduler cannot return a frame, so a manager that pushes out is refused when it is configured.
            _ => return self.drop_frame(now, packet, DropReason::SharedLimit, observer),
        }
        self.occupancy.join(queue, length);
        self.buffer.changed(Change::joined(&packet), &self.occupancy);
        let seen = Packet { flow: queue, length, arrival: now, colour: packet.colour, part: Part::Whole, ecn: Ecn::NotEct, payload: () };
        observer.queued(now, &seen, &self.occupancy);
        self.queues[queue.index()].push_back(Waiting { packet, cells, sent: 0 });
        self.engine.post(queue.index(), cells, slot);
    }

    #[cold]
    fn drop_frame<O: Observer<T>>(&mut self, now: Time, packet: Packet<T>, reason: DropReason, observer: &mut O) {
        self.counters.dropped[reason as usize].add(packet.length);
        observer.dropped(now, packet, reason, &self.occupancy);
    }

    /// The next slot to pass to [`AdapterPort::send`]; `None` if no frame is queued.
    pub fn next_slot(&self) -> Option<u64> {
        self.engine.next_slot()
    }

    /// Advances to a slot that [`AdapterPort::next_slot`] has returned and that starts at `now`. The result is the cell that leaves in it.
    pub fn send<O: Observer<T>>(&mut self, now: Time, slot: u64, observer: &mut O) -> Option<CellSent<T>> {
        let (queue, is_last) = self.engine.advance(slot)?;
        let waiting = self.queues[queue].front_mut()?;
        let (number, cells, flow) = (waiting.sent, waiting.cells, Flow(queue as u32));
        waiting.sent += 1;
        debug_assert_eq!(is_last, waiting.sent == cells, "the scheduler and the queue agree on the end of a frame");
        let frame = if is_last { self.queues[queue].pop_front().map(|waiting| waiting.packet) } else { None };
        if let Some(packet) = &frame {
            self.occupancy.leave(flow, packet.length);
            self.buffer.changed(Change::left(packet), &self.occupancy);
            self.counters.sent.add(packet.length);
            observer.sent(now, packet, now + self.slot, &self.occupancy);
        }
        Some(CellSent { queue: flow, number, cells, frame })
    }
}
