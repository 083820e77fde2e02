//! Per-flow queues over one pool of packets, and the occupancy that other roles read.
//!
//! A queue and the head of its first packet share half a cache line, whose address follows from the number of the flow. The packets behind it
//! form a linked list through a pool, and move up one by one. All memory is allocated once, for the number of flows and the port's limit in
//! packets.

use crate::packet::{Colour, Ecn, Flow, Head, LONGEST_FRAME, Packet, Part};
use crate::prefetch::{prefetch, prefetch_in};
use crate::units::{Overhead, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

mod carry_over;
mod removal;
mod subset;
#[cfg(test)]
mod tests;

pub use carry_over::Numbered;
pub(crate) use subset::{Numbering, Subset};

/// No slot of the pool.
const NONE: u32 = u32::MAX;

/// The number of unused queues in front, half a page. A scheduler with the same number of bytes per flow starts at the beginning of a page, too;
/// without the offset, stores to one table would seem to alias loads from the other, because processors first compare the offset in the page.
const PADDING_QUEUES: usize = 64;

#[inline]
const fn place(flow: Flow) -> usize {
    flow.index() + PADDING_QUEUES
}

/// What a buffer manager reads of the buffer that it manages. A whole port has one ([`Occupancy`]), and so has each of its partitions.
pub trait Backlog {
    /// Packets queued in the buffer.
    fn packets(&self) -> u32;

    /// Bytes queued in the buffer, without link overhead.
    fn bytes(&self) -> u64;

    /// Packets queued for `flow`.
    fn flow_packets(&self, flow: Flow) -> u32;

    /// Bytes queued for `flow`.
    fn flow_bytes(&self, flow: Flow) -> u32;

    /// When the oldest packet of `flow` arrived; `None` if its queue is empty.
    fn waiting_since(&self, flow: Flow) -> Option<Time>;

    /// The whole port, whose flows have the port's numbers.
    fn port(&self) -> &Occupancy;
}

/// The packets of a queue that are marked, which means not green.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marked {
    /// How many.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u32,
}

/// How much is queued: in all, and per flow. The port owns it; buffer managers and observers read it.
#[derive(Clone, Debug)]
pub struct Occupancy {
    packets: u32,
    bytes: u64,
    flows: Vec<FlowQueue>,
}

/// One flow's queue: its size, its first packet, and the slots of its second and its last. Fields of packets that it does not hold are
/// meaningless.
// As small as it is, 65,536 of them lie on so few pages that processors find their translations at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct FlowQueue {
    packets: u32,
    bytes: u32,
    first: Queued,
    second: u32,
    last: u32,
}

/// A packet in a queue, but for its flow and its payload.
#[derive(Clone, Copy, Debug)]
struct Queued {
    arrival: Time,
    number: u32,
    kind: Kind,
}

/// A packet's length, from bit 26 on its ECN code point, from bit 28 on its colour, and from bit 30 on its part.
#[derive(Clone, Copy, Debug)]
struct Kind(u32);

impl Kind {
    #[inline]
    const fn new(length: u32, ecn: Ecn, colour: Colour, part: Part) -> Kind {
        debug_assert!(length <= LONGEST_FRAME);
        Kind(length | (ecn as u32) << 26 | (colour as u32) << 28 | (part as u32) << 30)
    }

    #[inline]
    const fn length(self) -> u32 {
        self.0 & LONGEST_FRAME
    }

    #[inline]
    const fn ecn(self) -> Ecn {
        Ecn::from_bits((self.0 >> 26) as u8)
    }

    #[inline]
    const fn colour(self) -> Colour {
        match self.0 >> 28 & 3 {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        }
    }

    #[inline]
    const fn part(self) -> Part {
        Part::of(self.0 >> 30 & 1 > 0, self.0 >> 31 > 0)
    }
}

impl Queued {
    const NONE: Queued = Queued { arrival: Time::ZERO, number: 0, kind: Kind(0) };

    #[inline]
    fn head(&self, overhead: Overhead) -> Head {
        let length = overhead.wire_length(self.kind.length());
        Head { length, number: self.number, arrival: self.arrival, colour: self.kind.colour() }
    }

    #[inline]
    const fn is_marked(&self) -> bool {
        self.kind.0 >> 28 & 3 > 0
    }

    #[inline]
    fn packet<P>(&self, flow: Flow, payload: P) -> Packet<P> {
        let kind = self.kind;
        let (colour, part, ecn) = (kind.colour(), kind.part(), kind.ecn());
        Packet { flow, length: kind.length(), arrival: self.arrival, colour, part, ecn, payload }
    }
}

impl Occupancy {
    /// This number of empty queues.
    pub fn new(flows: usize) -> Occupancy {
        let empty = FlowQueue { packets: 0, bytes: 0, first: Queued::NONE, second: NONE, last: NONE };
        Occupancy { packets: 0, bytes: 0, flows: alloc::vec![empty; PADDING_QUEUES + flows] }
    }

    /// A packet of `length` bytes has joined the queue of `flow`.
    #[inline]
    pub fn join(&mut self, flow: Flow, length: u32) {
        self.grow(flow, length);
    }

    #[inline]
    fn grow(&mut self, flow: Flow, length: u32) -> &mut FlowQueue {
        let queue = &mut self.flows[place(flow)];
        queue.packets += 1;
        queue.bytes += length;
        self.packets += 1;
        self.bytes += u64::from(length);
        queue
    }

    /// A packet of `length` bytes has left the queue of `flow`.
    #[inline]
    pub fn leave(&mut self, flow: Flow, length: u32) {
        self.shrink(flow, length);
    }

    #[inline]
    fn shrink(&mut self, flow: Flow, length: u32) -> &mut FlowQueue {
        let queue = &mut self.flows[place(flow)];
        queue.packets -= 1;
        queue.bytes -= length;
        self.packets -= 1;
        self.bytes -= u64::from(length);
        queue
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
        self.flows[place(flow)].packets
    }

    /// Bytes queued for `flow`.
    #[inline]
    pub fn flow_bytes(&self, flow: Flow) -> u32 {
        self.flows[place(flow)].bytes
    }

    /// The oldest packet of `flow`, without its payload.
    #[inline]
    pub fn oldest(&self, flow: Flow) -> Option<Packet<()>> {
        let queue = &self.flows[place(flow)];
        (queue.packets > 0).then(|| queue.first.packet(flow, ()))
    }

    /// The number of queues.
    #[inline]
    pub fn flows(&self) -> usize {
        self.flows.len() - PADDING_QUEUES
    }
}

impl Backlog for Occupancy {
    #[inline]
    fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn flow_packets(&self, flow: Flow) -> u32 {
        Occupancy::flow_packets(self, flow)
    }

    #[inline]
    fn flow_bytes(&self, flow: Flow) -> u32 {
        Occupancy::flow_bytes(self, flow)
    }

    #[inline]
    fn waiting_since(&self, flow: Flow) -> Option<Time> {
        let queue = &self.flows[place(flow)];
        (queue.packets > 0).then_some(queue.first.arrival)
    }

    #[inline]
    fn port(&self) -> &Occupancy {
        self
    }
}

/// A packet behind the first of its queue.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct Slot<P> {
    packet: Queued,
    payload: Option<P>,
    /// The packet behind this one, if there is one; of a free slot the next free one.
    next: u32,
    /// The packet before this one, if it is behind the first, too.
    previous: u32,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct Queues<P> {
    occupancy: Occupancy,
    /// Those of the first packets, by flow.
    payloads: Vec<Option<P>>,
    slots: Vec<Slot<P>>,
    free: u32,
    limit: u32,
    overhead: Overhead,
    next_number: u32,
    /// Lists of marked packets, if the buffer manager needs them.
    marked: Option<MarkedLists>,
    /// The latest flows of [`Queues::prefetch`], in a ring.
    hinted: [Flow; PAYLOAD_FETCH_LAG],
    /// How many have been named.
    named: usize,
}

/// For every queue a singly linked list of the slots with marked packets, in the order of the queue. The first packet of a queue has no slot:
/// if it is marked, it comes before its list.
#[derive(Clone, Debug)]
struct MarkedLists {
    /// The first and the last slot of each flow's list; [`NONE`] and meaningless if it is empty.
    ends: Vec<[u32; 2]>,
    /// The slot that follows in its list, by slot.
    next: Vec<u32>,
}

impl MarkedLists {
    fn new(flows: usize, slots: usize) -> MarkedLists {
        MarkedLists { ends: alloc::vec![[NONE; 2]; flows], next: alloc::vec![NONE; slots] }
    }

    #[inline]
    fn append(&mut self, flow: Flow, at: u32) {
        let [first, last] = &mut self.ends[flow.index()];
        if *first == NONE {
            *first = at;
        } else {
            self.next[*last as usize] = at;
        }
        *last = at;
        self.next[at as usize] = NONE;
    }

    #[inline]
    fn take_first(&mut self, flow: Flow) -> Option<u32> {
        let [first, _] = &mut self.ends[flow.index()];
        let at = *first;
        *first = *self.next.get(at as usize)?;
        Some(at)
    }

    /// `at` is the last. Its predecessor is found by a walk: managers that push out marked packets take the oldest.
    fn take_last(&mut self, flow: Flow, at: u32) {
        let [first, last] = &mut self.ends[flow.index()];
        if *first == at {
            *first = NONE;
            return;
        }
        let mut before = *first;
        while self.next[before as usize] != at {
            before = self.next[before as usize];
        }
        self.next[before as usize] = NONE;
        *last = before;
    }
}

/// The number of hints between fetching a queue and fetching the packets behind its first: enough for the queue itself to arrive.
const PAYLOAD_FETCH_LAG: usize = 8;

impl<P> Queues<P> {
    /// Empty queues for `flows` flows and at most `limit` packets in all. `overhead` turns a frame's length into the wire length that
    /// schedulers see.
    pub fn new(flows: usize, limit: u32, overhead: Overhead) -> Queues<P> {
        assert!(limit < NONE, "a port queues fewer than 2^32 - 1 packets");
        let mut payloads = Vec::with_capacity(flows);
        payloads.resize_with(flows, || None);
        let slots = Vec::with_capacity(limit as usize);
        Queues {
            occupancy: Occupancy::new(flows),
            payloads,
            slots,
            free: NONE,
            limit,
            overhead,
            next_number: 0,
            marked: None,
            hinted: [Flow(0); PAYLOAD_FETCH_LAG],
            named: 0,
        }
    }

    /// How much is queued.
    #[inline]
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// True if there is no room for another packet.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.occupancy.packets >= self.limit
    }

    /// The head of a flow's queue as schedulers see it.
    #[inline]
    pub fn head(&self, flow: Flow) -> Option<Head> {
        let queue = &self.occupancy.flows[place(flow)];
        (queue.packets > 0).then(|| queue.first.head(self.overhead))
    }

    /// Fetches what [`Queues::pop`] of this flow will touch in some turns.
    #[inline]
    pub fn prefetch(&mut self, flow: Flow) {
        prefetch_in(&self.occupancy.flows, place(flow));
        prefetch_in(&self.payloads, flow.index());
        let earlier = core::mem::replace(&mut self.hinted[self.named % PAYLOAD_FETCH_LAG], flow);
        self.named = self.named.wrapping_add(1);
        if let Some(queue) = self.occupancy.flows.get(place(earlier))
            && queue.packets > 1
        {
            self.expect_behind(queue.second, queue.last);
        }
    }

    /// Fetches the next first packet of a queue, and the link of its last.
    // A slot may lie on two cache lines.
    #[inline(never)]
    fn expect_behind(&self, second: u32, last: u32) {
        if let (Some(second), Some(last)) = (self.slots.get(second as usize), self.slots.get(last as usize)) {
            prefetch(&second.packet);
            prefetch(&second.next);
            prefetch(&last.next);
        }
    }

    /// Appends a packet to its flow's queue, and returns it as schedulers see it if it became the head. There must be room.
    // Always inlined, as `pop`: a packet that is written to memory in parts and read as a whole is waited for.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet<P>) -> Option<Head> {
        debug_assert!(!self.is_full());
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.append(number, packet)
    }

    #[inline(always)]
    fn append(&mut self, number: u32, packet: Packet<P>) -> Option<Head> {
        let Packet { flow, length, arrival, colour, part, ecn, payload } = packet;
        let packet = Queued { arrival, number, kind: Kind::new(length, ecn, colour, part) };
        let queue = self.occupancy.grow(flow, length);
        if queue.packets == 1 {
            queue.first = packet;
            self.payloads[flow.index()] = Some(payload);
            return Some(packet.head(self.overhead));
        }
        let slot = Slot { packet, payload: Some(payload), next: NONE, previous: queue.last };
        let mut at = self.free;
        if let Some(reused) = self.slots.get_mut(at as usize) {
            self.free = reused.next;
            *reused = slot;
        } else {
            // Within the capacity reserved by `new`: the packet path never allocates.
            at = self.slots.len() as u32;
            self.slots.push(slot);
        }
        if queue.packets == 2 {
            queue.second = at;
        } else {
            self.slots[queue.last as usize].next = at;
        }
        queue.last = at;
        if let Some(marked) = &mut self.marked
            && packet.is_marked()
        {
            marked.append(flow, at);
        }
        None
    }

    /// Takes the oldest packet of a flow, and returns with it the head that follows.
    // Always inlined: handed back through memory, a packet costs every transmission some 4 ns.
    #[inline(always)]
    pub fn pop(&mut self, flow: Flow) -> Option<(Packet<P>, Option<Head>)> {
        let first = &mut self.payloads[flow.index()];
        let payload = first.take()?;
        let length = self.occupancy.flows[place(flow)].first.kind.length();
        let queue = self.occupancy.shrink(flow, length);
        let packet = queue.first.packet(flow, payload);
        if queue.packets == 0 {
            return Some((packet, None));
        }
        let at = queue.second;
        let slot = &mut self.slots[at as usize];
        (queue.first, *first) = (slot.packet, slot.payload.take());
        (queue.second, slot.next) = (slot.next, self.free);
        self.free = at;
        if let Some(marked) = &mut self.marked
            && queue.first.is_marked()
        {
            marked.take_first(flow);
        }
        Some((packet, Some(queue.first.head(self.overhead))))
    }

    /// Takes the youngest packet of a flow.
    #[cold]
    pub fn pop_last(&mut self, flow: Flow) -> Option<Packet<P>> {
        if self.occupancy.flow_packets(flow) <= 1 {
            return self.pop(flow).map(|(packet, _)| packet);
        }
        let at = self.occupancy.flows[place(flow)].last;
        let slot = &mut self.slots[at as usize];
        let packet = slot.packet.packet(flow, slot.payload.take()?);
        slot.next = self.free;
        self.free = at;
        self.occupancy.shrink(flow, packet.length).last = slot.previous;
        if let Some(marked) = &mut self.marked
            && packet.colour != Colour::Green
        {
            marked.take_last(flow, at);
        }
        Some(packet)
    }

    /// Keeps a list of the marked packets of each queue from now on, for [`Queues::pop_marked`].
    pub fn keep_marked_lists(&mut self) {
        let mut marked = MarkedLists::new(self.occupancy.flows(), self.slots.capacity());
        for (flow, queue) in self.occupancy.flows[PADDING_QUEUES..].iter().enumerate() {
            let mut at = queue.second;
            for _ in 1..queue.packets {
                let slot = &self.slots[at as usize];
                if slot.packet.is_marked() {
                    marked.append(Flow(flow as u32), at);
                }
                at = slot.next;
            }
        }
        self.marked = Some(marked);
    }

    /// The marked packets of a flow's queue. It walks through the queue.
    pub fn marked(&self, flow: Flow) -> Marked {
        let queue = &self.occupancy.flows[place(flow)];
        let (mut marked, mut at) = (Marked::default(), queue.second);
        for index in 0..queue.packets {
            let mut packet = &queue.first;
            if index > 0 {
                let slot = &self.slots[at as usize];
                (packet, at) = (&slot.packet, slot.next);
            }
            if packet.is_marked() {
                marked.packets += 1;
                marked.bytes += packet.kind.length();
            }
        }
        marked
    }

    /// Moves arrival instants of packets that have been queued for very long up to where they still compare correctly.
    pub fn refresh(&mut self, now: Time) {
        let firsts = self.occupancy.flows.iter_mut().map(|queue| &mut queue.first);
        for packet in firsts.chain(self.slots.iter_mut().map(|slot| &mut slot.packet)) {
            packet.arrival = packet.arrival.later(now - SERIAL_HORIZON);
        }
    }
}
