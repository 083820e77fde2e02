//! The buffer manager's role: may this packet join its queue, and must another make room for it?
//!
//! **Laws** that every registered buffer manager keeps, checked by the conformance suite:
//! 1. after [`Admission::Accept`] the packet fits: no limit that the manager was given is exceeded;
//! 2. pushing out ends: every [`Admission::PushOut`] names a flow that holds a packet, and after finitely many of them the answer is
//!    accept or refuse;
//! 3. nothing is pushed out in vain: a packet for which others are pushed out is accepted in the end;
//! 4. the order within a queue is never touched.

use crate::packet::{Colour, DropReason, Flow, Packet, Part};
use crate::queue::Occupancy;
use crate::units::Time;

mod dynamic_threshold;
mod early_packet_discard;
mod fair_buffer_allocation;
mod frame_discard;
mod limits;
mod longest;
mod longest_queue_push_out;
mod partial_packet_discard;
mod selective_drop;
mod tag_sensitive;
mod tail_drop;
mod weighted_buffer_allocation;

pub use dynamic_threshold::DynamicThreshold;
pub use early_packet_discard::EarlyPacketDiscard;
pub use fair_buffer_allocation::FairBufferAllocation;
pub use frame_discard::FrameDiscard;
pub use limits::{Alpha, BufferError, BufferField, BufferParameters, Buffering, FlowLimit, Guarantee, Override, Reading, Scaling};
pub use longest_queue_push_out::LongestQueuePushOut;
pub use partial_packet_discard::PartialPacketDiscard;
pub use selective_drop::SelectiveDrop;
pub use tag_sensitive::TagSensitive;
pub use tail_drop::TailDrop;
pub use weighted_buffer_allocation::WeightedBufferAllocation;

/// A packet that asks for room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The queue it would join.
    pub flow: Flow,
    /// Its length in bytes, as the buffer counts it: without the link's overhead.
    pub length: u32,
    /// Its colour after policing.
    pub colour: Colour,
    /// Its position in its frame.
    pub part: Part,
    /// When it arrived.
    pub now: Time,
}

/// A queue has grown or shrunk by a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The queue.
    pub flow: Flow,
    /// The packet's length in bytes, without the link's overhead.
    pub length: u32,
    /// The packet's colour after policing.
    pub colour: Colour,
    /// True if the packet joined the queue, false if it left: transmitted, pushed out or late.
    pub has_joined: bool,
}

impl Change {
    /// The packet has joined its queue.
    #[inline]
    pub const fn joined<P>(packet: &Packet<P>) -> Change {
        Change { flow: packet.flow, length: packet.length, colour: packet.colour, has_joined: true }
    }

    /// The packet has left its queue.
    #[inline]
    pub const fn left<P>(packet: &Packet<P>) -> Change {
        Change { flow: packet.flow, length: packet.length, colour: packet.colour, has_joined: false }
    }
}

/// The packet to push out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The oldest packet of the flow's queue.
    Head(Flow),
    /// The youngest packet of the flow's queue.
    Tail(Flow),
}

/// What a buffer manager says of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Queue it.
    Accept,
    /// Drop it, for this reason.
    Refuse(DropReason),
    /// Drop this queued packet first, then ask again.
    PushOut(Victim),
}

/// Decides which packets may use a port's buffer. The port owns the occupancy; a manager reads it.
pub trait BufferManager {
    /// The reasons for which it drops packets, besides [`DropReason::FlowLimit`] and [`DropReason::SharedLimit`].
    const DROP_REASONS: &'static [DropReason] = &[];

    /// Judges an arrival. Called again after every push-out, with the occupancy that results.
    fn admit(&mut self, arrival: &Arrival, occupancy: &Occupancy) -> Admission;

    /// A queue has just grown or shrunk by a packet; `occupancy` includes the change.
    #[inline]
    fn changed(&mut self, change: Change, occupancy: &Occupancy) {
        let _ = (change, occupancy);
    }
}
