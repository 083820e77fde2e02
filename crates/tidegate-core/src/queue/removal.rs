//! Packets that leave a queue from its middle: the oldest marked one, and one that a world names.

use super::{Queues, place};
use crate::packet::{Flow, Packet};

impl<P> Queues<P> {
    /// Takes the oldest marked packet of a flow, and says whether it was the head. `None` if there is none, or if no lists are kept.
    #[cold]
    pub fn pop_marked(&mut self, flow: Flow) -> Option<(Packet<P>, bool)> {
        let queue = &self.occupancy.flows[place(flow)];
        if queue.packets > 0 && queue.first.is_marked() {
            return self.pop(flow).map(|(packet, _)| (packet, true));
        }
        let at = self.marked.as_mut()?.take_first(flow)?;
        self.unlink(flow, at).map(|packet| (packet, false))
    }

    /// The packets of a flow's queue with their payloads, the oldest first.
    pub fn walk(&self, flow: Flow) -> impl Iterator<Item = (Packet<()>, &P)> {
        let queue = &self.occupancy.flows[place(flow)];
        let first = self.payloads[flow.index()].as_ref().map(|payload| (queue.first.packet(flow, ()), payload));
        let (mut at, behind) = (queue.second, queue.packets.saturating_sub(1));
        let rest = (0..behind).map_while(move |_| {
            let slot = &self.slots[at as usize];
            at = slot.next;
            Some((slot.packet.packet(flow, ()), slot.payload.as_ref()?))
        });
        first.into_iter().chain(rest)
    }

    /// Takes the packet with this many others before it in its flow's queue. `None` if there is none, or if it is in a list of marked packets.
    #[cold]
    pub fn pop_at(&mut self, flow: Flow, before: u32) -> Option<Packet<P>> {
        if before == 0 {
            return self.pop(flow).map(|(packet, _)| packet);
        }
        let queue = &self.occupancy.flows[place(flow)];
        if before >= queue.packets {
            return None;
        }
        let at = (1..before).fold(queue.second, |at, _| self.slots[at as usize].next);
        if self.marked.is_some() && self.slots[at as usize].packet.is_marked() {
            return None;
        }
        self.unlink(flow, at)
    }

    /// Takes the packet in a slot out of its queue, behind the head.
    fn unlink(&mut self, flow: Flow, at: u32) -> Option<Packet<P>> {
        let queue = &mut self.occupancy.flows[place(flow)];
        let slot = &mut self.slots[at as usize];
        let (next, previous) = (slot.next, slot.previous);
        let packet = slot.packet.packet(flow, slot.payload.take()?);
        slot.next = self.free;
        self.free = at;
        // What is named beyond the ends of the queue is meaningless there: the successor of the last, the predecessor of the second.
        if at == queue.second {
            queue.second = next;
        } else {
            self.slots[previous as usize].next = next;
        }
        if at == queue.last {
            queue.last = previous;
        } else {
            self.slots[next as usize].previous = previous;
        }
        self.occupancy.shrink(flow, packet.length);
        Some(packet)
    }
}
