//! A buffer manager with queues, as a port has them, without a link.

#![allow(dead_code)]

use tidegate_core::buffer::{Admission, Arrival, BufferManager, Change, Victim};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::queue::Queues;
use tidegate_core::units::{Overhead, Time};

/// The queues and their manager. Payloads are the names of packets.
#[derive(Clone)]
pub struct Buffer<B> {
    pub manager: B,
    pub queues: Queues<u32>,
}

/// What became of an arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The colour in which it was queued, or why it was refused.
    pub fate: Result<Colour, DropReason>,
    /// What was pushed out for it: flow and name.
    pub pushed: Vec<(Flow, u32)>,
}

impl<B: BufferManager> Buffer<B> {
    pub fn new(manager: B, flows: usize, packets: u32) -> Buffer<B> {
        let mut queues = Queues::new(flows, packets, Overhead::None);
        if manager.needs_marked_lists() {
            queues.keep_marked_lists();
        }
        Buffer { manager, queues }
    }

    /// Offers a packet, and tells `watch` every answer before it is carried out.
    pub fn offer_part(&mut self, mut packet: Packet<u32>, mut watch: impl FnMut(Admission, &Queues<u32>)) -> Outcome {
        let Packet { flow, length, colour, part, arrival: now, .. } = packet;
        let arrival = Arrival { ecn: Ecn::NotEct, flow, length, colour, part, now };
        let mut pushed = Vec::new();
        loop {
            let said = self.manager.admit(&arrival, self.queues.occupancy());
            watch(said, &self.queues);
            let victim = match said {
                Admission::Refuse(reason) => return Outcome { fate: Err(reason), pushed },
                Admission::Accept => None,
                Admission::AcceptAs(colour) => {
                    packet.colour = colour;
                    None
                }
                Admission::PushOut(victim) => Some(victim),
            };
            let Some(victim) = victim else {
                assert!(!self.queues.is_full(), "the port has room for what its managers accept");
                self.queues.push(packet);
                self.manager.changed(Change::joined(&packet), self.queues.occupancy());
                return Outcome { fate: Ok(packet.colour), pushed };
            };
            let gone = match victim {
                Victim::Head(flow) => self.queues.pop(flow).map(|(packet, _)| packet),
                Victim::Tail(flow) => self.queues.pop_last(flow),
                Victim::Marked(flow) => self.queues.pop_marked(flow).map(|(packet, _)| packet),
            };
            let gone = gone.expect("what is pushed out is queued");
            self.manager.changed(Change::left(&gone), self.queues.occupancy());
            pushed.push((gone.flow, gone.payload));
        }
    }

    /// Offers a whole packet.
    pub fn offer(&mut self, flow: u32, length: u32, colour: Colour, name: u32) -> Outcome {
        self.offer_part(whole(flow, length, colour, name), |_, _| {})
    }

    /// The head of a flow leaves; its name.
    pub fn depart(&mut self, flow: u32) -> Option<u32> {
        let (packet, _) = self.queues.pop(Flow(flow))?;
        self.manager.changed(Change::left(&packet), self.queues.occupancy());
        Some(packet.payload)
    }
}

/// A packet that is a frame.
pub fn whole(flow: u32, length: u32, colour: Colour, name: u32) -> Packet<u32> {
    Packet { flow: Flow(flow), length, arrival: Time::ZERO, colour, part: Part::Whole, ecn: Ecn::NotEct, payload: name }
}
