//! The port of an adapter: frames are policed and admitted as at any port, wait, and leave cell by cell.
//!
//! A frame counts as queued until its last cell starts to leave, and as sent then. So `offered = sent + dropped + queued` holds in frames.

use super::{AdapterSetup, CELL, CellRecord, Encapsulation, Engine, slot_time};
use std::collections::VecDeque;
use tidegate_core::buffer::{Admission, Arrival, BufferManager, Change};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet, Part};
use tidegate_core::policer::{Policer, Verdict};
use tidegate_core::port::{Counters, PortSetup, Unbalanced, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyBufferManager, AnyPolicer};
use tidegate_core::units::{Duration, Time};

/// A port at which the cell scheduler serves one connection per queue.
///
/// The caller keeps the clock in slots: slot n is the time from `n * slot` on, counted from an instant of the caller's.
#[derive(Debug)]
pub struct AdapterPort<T> {
    engine: Engine,
    encapsulation: Encapsulation,
    slot: Duration,
    /// The frames of each queue, the oldest first.
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
    /// A port that is empty at `now`, the start of slot 0. The scheduler, the overhead and the rate of `port` are not used but for the slot.
    ///
    /// # Panics
    /// If [`AdapterSetup::check`] has not been asked, or the classifier has another number of queues than there are contracts.
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

    /// How long a cell takes on the link.
    pub fn slot(&self) -> Duration {
        self.slot
    }

    /// What is queued.
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// What has become of all frames offered.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The frames that are queued, and their bytes.
    pub fn queued(&self) -> Volume {
        Volume { packets: u64::from(self.occupancy.packets()), bytes: self.occupancy.bytes() }
    }

    /// Whether offered, sent, dropped and queued frames agree.
    ///
    /// # Errors
    /// [`Unbalanced`] holds the figures that do not: a defect.
    pub fn check(&self) -> Result<(), Box<Unbalanced>> {
        self.counters.check(self.queued()).map_err(Box::new)
    }

    /// What has happened to the cells of each class, as far as the classes have queues.
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

    /// A frame of `length` bytes comes at `now` and may leave from `slot` on, the first that has not begun.
    // One argument more than a call may have without a remark: the clock is the caller's, so it tells both the time and the slot.
    #[allow(clippy::too_many_arguments)]
    pub fn offer<O: Observer<T>>(&mut self, now: Time, slot: u64, queue: Flow, length: u32, colour: Colour, payload: T, observer: &mut O) {
        let mut packet = Packet { flow: queue, length, arrival: now, colour, part: Part::Whole, payload };
        self.counters.offered.add(length);
        observer.offered(now, &packet);
        if length > self.longest_frame {
            return self.drop_frame(now, packet, DropReason::Oversize, observer);
        }
        let cells = self.encapsulation.cells_of(length);
        if let Some(policer) = &mut self.policers[self.class_of[queue.index()]] {
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
        let arrival = Arrival { flow: queue, length, colour: packet.colour, part: Part::Whole, now };
        match self.buffer.admit(&arrival, &self.occupancy) {
            Admission::Accept if self.occupancy.packets() < self.packet_limit => {}
            Admission::Refuse(reason) => return self.drop_frame(now, packet, reason, observer),
            // A manager that pushes out is refused where it is configured: the scheduler cannot take a frame back.
            Admission::Accept | Admission::PushOut(_) => return self.drop_frame(now, packet, DropReason::SharedLimit, observer),
        }
        self.occupancy.join(queue, length);
        self.buffer.changed(Change::joined(&packet), &self.occupancy);
        let seen = Packet { flow: queue, length, arrival: now, colour: packet.colour, part: Part::Whole, payload: () };
        observer.queued(now, &seen, &self.occupancy);
        self.queues[queue.index()].push_back(Waiting { packet, cells, sent: 0 });
        self.engine.post(queue.index(), cells, slot);
    }

    #[cold]
    fn drop_frame<O: Observer<T>>(&mut self, now: Time, packet: Packet<T>, reason: DropReason, observer: &mut O) {
        self.counters.dropped[reason as usize].add(packet.length);
        observer.dropped(now, packet, reason, &self.occupancy);
    }

    /// The next slot in which something happens; `None` if nothing is queued.
    pub fn next_slot(&self) -> Option<u64> {
        self.engine.next_slot()
    }

    /// Plays a slot that [`AdapterPort::next_slot`] has named and that starts at `now`: the cell that leaves in it.
    pub fn send<O: Observer<T>>(&mut self, now: Time, slot: u64, observer: &mut O) -> Option<CellSent<T>> {
        let (queue, is_last) = self.engine.play(slot)?;
        let waiting = self.queues[queue].front_mut()?;
        let (number, cells, flow) = (waiting.sent, waiting.cells, Flow(queue as u32));
        waiting.sent += 1;
        debug_assert_eq!(is_last, waiting.sent == cells, "the scheduler and the queue agree on where a frame ends");
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
