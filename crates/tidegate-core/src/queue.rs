//! Per-flow queues over one pool of packets, and the occupancy that everybody else reads.
//!
//! The pool is allocated once, for the port's limit in packets; a queue is a linked list through it, so a million empty queues cost
//! 16 bytes each and no packet is ever copied between queues.

use crate::packet::{Colour, Flow, Head, Packet};
use crate::prefetch::prefetch;
use crate::units::Time;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// How much is queued: in all, and per flow. The port owns it; buffer managers and observers read it.
#[derive(Clone, Debug)]
pub struct Occupancy {
    packets: u32,
    bytes: u64,
    flows: Vec<FlowQueue>,
}

/// One flow's queue: its list and its size.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u32,
}

impl Occupancy {
    /// Packets queued at the port.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes queued at the port, without link overhead.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets queued for `flow`.
    #[inline]
    pub fn flow_packets(&self, flow: Flow) -> u32 {
        self.flows[flow.index()].packets
    }

    /// Bytes queued for `flow`.
    #[inline]
    pub fn flow_bytes(&self, flow: Flow) -> u32 {
        self.flows[flow.index()].bytes
    }

    /// The number of queues.
    #[inline]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }
}

#[derive(Clone, Debug)]
struct Slot<P> {
    next: u32,
    previous: u32,
    length: u32,
    number: u32,
    arrival: Time,
    colour: Colour,
    payload: Option<P>,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct Queues<P> {
    occupancy: Occupancy,
    slots: Vec<Slot<P>>,
    free: u32,
    limit: u32,
    overhead: crate::port::Overhead,
    next_number: u32,
}

impl<P> Queues<P> {
    /// Empty queues for `flows` flows and at most `limit` packets in all. `overhead` turns a frame's length into the wire length that
    /// schedulers see.
    pub fn new(flows: usize, limit: u32, overhead: crate::port::Overhead) -> Queues<P> {
        assert!(limit < NONE, "a port queues fewer than 2^32 - 1 packets");
        let empty = FlowQueue { first: NONE, last: NONE, packets: 0, bytes: 0 };
        Queues {
            occupancy: Occupancy { packets: 0, bytes: 0, flows: alloc::vec![empty; flows] },
            slots: Vec::with_capacity(limit as usize),
            free: NONE,
            limit,
            overhead,
            next_number: 0,
        }
    }

    /// How much is queued.
    #[inline]
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// True if the pool has no room for another packet.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.occupancy.packets == self.limit
    }

    /// The head of a flow's queue as schedulers see it.
    #[inline]
    pub fn head(&self, flow: Flow) -> Option<Head> {
        let first = self.occupancy.flows[flow.index()].first;
        if first == NONE {
            return None;
        }
        let slot = &self.slots[first as usize];
        Some(Head { length: self.overhead.wire_length(slot.length), number: slot.number, arrival: slot.arrival, colour: slot.colour })
    }

    /// Fetches what [`Queues::pop`] of this flow will touch.
    #[inline]
    pub fn prefetch(&self, flow: Flow) {
        let first = self.occupancy.flows[flow.index()].first;
        if first != NONE {
            prefetch(&self.slots[first as usize]);
        }
    }

    /// Appends a packet to its flow's queue; true if it became the head. There must be room.
    #[inline]
    pub fn push(&mut self, packet: Packet<P>) -> bool {
        debug_assert!(!self.is_full());
        let queue = &mut self.occupancy.flows[packet.flow.index()];
        let slot = Slot {
            next: NONE,
            previous: queue.last,
            length: packet.length,
            number: self.next_number,
            arrival: packet.arrival,
            colour: packet.colour,
            payload: Some(packet.payload),
        };
        self.next_number = self.next_number.wrapping_add(1);
        let at = if self.free == NONE {
            // Within the capacity reserved by `new`: the packet path never allocates.
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        } else {
            let at = self.free;
            let reused = &mut self.slots[at as usize];
            self.free = reused.next;
            *reused = slot;
            at
        };
        let was_empty = queue.first == NONE;
        if was_empty {
            queue.first = at;
        } else {
            self.slots[queue.last as usize].next = at;
        }
        queue.last = at;
        queue.packets += 1;
        queue.bytes += packet.length;
        self.occupancy.packets += 1;
        self.occupancy.bytes += u64::from(packet.length);
        was_empty
    }

    /// Takes the oldest packet of a flow.
    // Always inlined, and the rare `pop_last` never: handed back through memory, a packet costs every transmission some 4 ns.
    #[inline(always)]
    pub fn pop(&mut self, flow: Flow) -> Option<Packet<P>> {
        let first = self.occupancy.flows[flow.index()].first;
        self.take(flow, first)
    }

    /// Takes the youngest packet of a flow.
    #[cold]
    pub fn pop_last(&mut self, flow: Flow) -> Option<Packet<P>> {
        let last = self.occupancy.flows[flow.index()].last;
        self.take(flow, last)
    }

    #[inline(always)]
    fn take(&mut self, flow: Flow, at: u32) -> Option<Packet<P>> {
        if at == NONE {
            return None;
        }
        let slot = &mut self.slots[at as usize];
        let (next, previous, length) = (slot.next, slot.previous, slot.length);
        let packet = Packet { flow, length, arrival: slot.arrival, colour: slot.colour, payload: slot.payload.take()? };
        slot.next = self.free;
        self.free = at;
        let queue = &mut self.occupancy.flows[flow.index()];
        if previous == NONE {
            queue.first = next;
        } else {
            self.slots[previous as usize].next = next;
        }
        if next == NONE {
            queue.last = previous;
        } else {
            self.slots[next as usize].previous = previous;
        }
        queue.packets -= 1;
        queue.bytes -= length;
        self.occupancy.packets -= 1;
        self.occupancy.bytes -= u64::from(length);
        Some(packet)
    }

    /// Moves arrival instants of packets that have been queued for very long up to where they still compare correctly.
    pub(crate) fn refresh(&mut self, now: Time) {
        let oldest = now - crate::port::MEMORY;
        for slot in &mut self.slots {
            slot.arrival = slot.arrival.later(oldest);
        }
    }
}
