//! Per-flow queues over one pool of packets, and the occupancy that everybody else reads.
//!
//! The pool is allocated once, for the port's limit in packets; a queue is a linked list through it, so a million empty queues cost
//! 16 bytes each and no packet is ever copied between queues.

use crate::packet::{Colour, Flow, Head, Packet, Part};
use crate::prefetch::prefetch;
use crate::units::Time;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// How many turns lie between fetching a queue and fetching its first packet; a power of two.
const STAGE: usize = 4;

/// How much is queued: in all, and per flow. The port owns it; buffer managers and observers read it.
#[derive(Clone, Debug)]
pub struct Occupancy {
    packets: u32,
    bytes: u64,
    flows: Vec<FlowQueue>,
}

/// One flow's queue: its list, whose ends are meaningless while it is empty, and its size.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u32,
}

impl Occupancy {
    /// Nothing in any of so many queues.
    pub fn new(flows: usize) -> Occupancy {
        let empty = FlowQueue { first: NONE, last: NONE, packets: 0, bytes: 0 };
        Occupancy { packets: 0, bytes: 0, flows: alloc::vec![empty; flows] }
    }

    /// A packet of `length` bytes has joined the queue of `flow`.
    #[inline]
    pub fn join(&mut self, flow: Flow, length: u32) {
        let queue = &mut self.flows[flow.index()];
        queue.packets += 1;
        queue.bytes += length;
        self.packets += 1;
        self.bytes += u64::from(length);
    }

    /// A packet of `length` bytes has left the queue of `flow`.
    #[inline]
    pub fn leave(&mut self, flow: Flow, length: u32) {
        let queue = &mut self.flows[flow.index()];
        queue.packets -= 1;
        queue.bytes -= length;
        self.packets -= 1;
        self.bytes -= u64::from(length);
    }

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
    /// Meaningless for the last packet of a queue; of a free slot the next free one.
    next: u32,
    /// Meaningless for the first packet of a queue.
    previous: u32,
    length: u32,
    number: u32,
    arrival: Time,
    colour: Colour,
    part: Part,
    payload: Option<P>,
}

impl<P> Slot<P> {
    #[inline]
    fn head(&self, overhead: crate::port::Overhead) -> Head {
        Head { length: overhead.wire_length(self.length), number: self.number, arrival: self.arrival, colour: self.colour }
    }
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
    /// The flows expected in the latest turns, and the number of turns.
    expected: [u32; STAGE],
    turn: usize,
}

impl<P> Queues<P> {
    /// Empty queues for `flows` flows and at most `limit` packets in all. `overhead` turns a frame's length into the wire length that
    /// schedulers see.
    pub fn new(flows: usize, limit: u32, overhead: crate::port::Overhead) -> Queues<P> {
        assert!(limit < NONE, "a port queues fewer than 2^32 - 1 packets");
        Queues {
            occupancy: Occupancy::new(flows),
            slots: Vec::with_capacity(limit as usize),
            free: NONE,
            limit,
            overhead,
            next_number: 0,
            expected: [0; STAGE],
            turn: 0,
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
        let queue = &self.occupancy.flows[flow.index()];
        (queue.packets > 0).then(|| self.slots[queue.first as usize].head(self.overhead))
    }

    /// Fetches what [`Queues::pop`] of this flow will touch, which is expected in some turns; to be told of one flow per turn. Its queue
    /// is fetched at once, and its first packet, which can then be found, some turns later.
    #[inline]
    pub fn expect(&mut self, flow: Flow) {
        prefetch(&self.occupancy.flows[flow.index()]);
        let earlier = core::mem::replace(&mut self.expected[self.turn % STAGE], flow.0);
        self.turn = self.turn.wrapping_add(1);
        let first = self.occupancy.flows[earlier as usize].first;
        if let Some(slot) = self.slots.get(first as usize) {
            prefetch(slot);
        }
    }

    /// Appends a packet to its flow's queue, and returns it as schedulers see it if it became the head. There must be room.
    // Always inlined, as `pop`: a packet that is written to memory in parts and read as a whole is waited for.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet<P>) -> Option<Head> {
        debug_assert!(!self.is_full());
        let queue = &mut self.occupancy.flows[packet.flow.index()];
        let is_head = queue.packets == 0;
        let Packet { length, arrival, colour, part, .. } = packet;
        let number = self.next_number;
        let slot = Slot { next: NONE, previous: queue.last, length, number, arrival, colour, part, payload: Some(packet.payload) };
        self.next_number = number.wrapping_add(1);
        let mut at = self.free;
        if let Some(reused) = self.slots.get_mut(at as usize) {
            self.free = reused.next;
            *reused = slot;
        } else {
            // Within the capacity reserved by `new`: the packet path never allocates.
            at = self.slots.len() as u32;
            self.slots.push(slot);
        }
        if is_head {
            queue.first = at;
        } else {
            self.slots[queue.last as usize].next = at;
        }
        queue.last = at;
        self.occupancy.join(packet.flow, length);
        is_head.then(|| Head { length: self.overhead.wire_length(length), number, arrival, colour })
    }

    /// Takes the oldest packet of a flow, and returns with it the head that follows.
    // Always inlined: handed back through memory, a packet costs every transmission some 4 ns.
    #[inline(always)]
    pub fn pop(&mut self, flow: Flow) -> Option<(Packet<P>, Option<Head>)> {
        let slots = self.slots.as_mut_slice();
        let queue = &mut self.occupancy.flows[flow.index()];
        if queue.packets == 0 {
            return None;
        }
        let at = queue.first;
        let slot = &mut slots[at as usize];
        let (next, length) = (slot.next, slot.length);
        let packet = Packet { flow, length, arrival: slot.arrival, colour: slot.colour, part: slot.part, payload: slot.payload.take()? };
        slot.next = self.free;
        self.free = at;
        queue.first = next;
        let head = if queue.packets > 1 { Some(slots[next as usize].head(self.overhead)) } else { None };
        self.occupancy.leave(flow, length);
        Some((packet, head))
    }

    /// Takes the youngest packet of a flow.
    #[cold]
    pub fn pop_last(&mut self, flow: Flow) -> Option<Packet<P>> {
        let queue = &mut self.occupancy.flows[flow.index()];
        if queue.packets == 0 {
            return None;
        }
        let at = queue.last;
        let slot = &mut self.slots[at as usize];
        let packet = Packet {
            flow,
            length: slot.length,
            arrival: slot.arrival,
            colour: slot.colour,
            part: slot.part,
            payload: slot.payload.take()?,
        };
        queue.last = slot.previous;
        slot.next = self.free;
        self.free = at;
        self.occupancy.leave(flow, packet.length);
        Some(packet)
    }

    /// Moves arrival instants of packets that have been queued for very long up to where they still compare correctly.
    pub fn refresh(&mut self, now: Time) {
        let oldest = now - crate::port::MEMORY;
        for slot in &mut self.slots {
            slot.arrival = slot.arrival.later(oldest);
        }
    }
}
