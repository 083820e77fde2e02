//! Queues that outlive the policy of their port: they move as records, and the pool of packets behind them as a whole.

use super::{Queues, place};
use crate::packet::{Flow, Head, Packet};
use crate::scheduler::Kept;

/// A packet outside its queue that keeps its number.
#[derive(Clone, Debug)]
pub struct Numbered<P> {
    /// The number by which its age compares with that of others.
    pub number: u32,
    /// The packet.
    pub packet: Packet<P>,
}

impl<P> Queues<P> {
    /// Takes over the queues of `kept` from `old`, whose other queues are empty; these queues are new. Packets that are more than the limit stay:
    /// none is accepted until they have left.
    pub fn take_over(&mut self, old: &mut Queues<P>, kept: &[Kept]) {
        self.next_number = old.next_number;
        // The larger pool is kept. Slots keep their numbers either way.
        if old.slots.capacity() >= self.slots.capacity() {
            core::mem::swap(&mut self.slots, &mut old.slots);
        } else {
            self.slots.append(&mut old.slots);
        }
        self.free = old.free;
        for kept in kept {
            let queue = old.occupancy.flows[place(kept.from)];
            if queue.packets > 0 {
                self.occupancy.flows[place(kept.to)] = queue;
                self.payloads[kept.to.index()] = old.payloads[kept.from.index()].take();
                self.occupancy.packets += queue.packets;
                self.occupancy.bytes += u64::from(queue.bytes);
            }
        }
        if self.marked.is_some() {
            self.keep_marked_lists();
        }
    }

    /// The number of the packet that is queued next.
    pub fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Shows the packets of a flow, the oldest first.
    pub fn visit(&self, flow: Flow, mut visitor: impl FnMut(&Packet<()>, &P)) {
        let queue = &self.occupancy.flows[place(flow)];
        let Some(first) = &self.payloads[flow.index()] else { return };
        visitor(&queue.first.packet(flow, ()), first);
        let mut at = queue.second;
        for _ in 1..queue.packets {
            let slot = &self.slots[at as usize];
            if let Some(payload) = &slot.payload {
                visitor(&slot.packet.packet(flow, ()), payload);
            }
            at = slot.next;
        }
    }

    /// Takes the oldest packet of a flow with its number.
    pub fn pop_numbered(&mut self, flow: Flow) -> Option<Numbered<P>> {
        let number = self.occupancy.flows[place(flow)].first.number;
        self.pop(flow).map(|(packet, _)| Numbered { number, packet })
    }

    /// Appends a packet to its flow's queue, under the number that it has; as [`Queues::push`] otherwise, even beyond the limit. The pool holds it,
    /// because it has come out of this pool.
    pub fn push_numbered(&mut self, packet: Numbered<P>) -> Option<Head> {
        self.append(packet.number, packet.packet)
    }
}
