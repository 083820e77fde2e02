//! The buffer manager's role: may this packet join its queue, and must another make room for it?
//!
//! **Laws** that every registered buffer manager keeps, checked by the conformance suite:
//! 1. after [`Admission::Accept`] or [`Admission::AcceptAs`] the packet fits: no limit that the manager was given is exceeded;
//! 2. pushing out ends: every [`Admission::PushOut`] names a flow that holds a packet, and after finitely many of them the answer is
//!    accept or refuse;
//! 3. nothing is pushed out in vain: a packet for which others are pushed out is accepted in the end;
//! 4. the order within a queue is never touched;
//! 5. flows change while packets are queued. `change` holds from the flow's next arrival on and drops nothing. `forget` leaves nothing behind: the
//!    next flow in that place is treated as on a new manager;
//! 6. a manager that restores its queues and adopts another of the same parameters continues as the other would have.

use crate::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use crate::queue::{Backlog, Marked};
use crate::scheduler::Kept;
use crate::units::Time;

mod dynamic_threshold;
mod early_packet_discard;
mod fair_buffer_allocation;
mod fattest_flow;
mod frame_discard;
mod limits;
mod longest;
mod longest_queue_push_out;
mod marked_queues;
mod partial_packet_discard;
mod partitioned;
mod selective_drop;
mod selective_pushout;
mod selective_pushout_plus;
mod tag_sensitive;
mod tail_drop;
mod weighted_buffer_allocation;

pub use dynamic_threshold::DynamicThreshold;
pub use early_packet_discard::EarlyPacketDiscard;
pub use fair_buffer_allocation::FairBufferAllocation;
pub use fattest_flow::FattestFlow;
pub use frame_discard::FrameDiscard;
pub use limits::{
    Alpha, BufferError, BufferField, BufferParameters, Buffering, FlowLimit, FlowShare, Guarantee, Override, Reading, Reserve, Scaling,
};
pub use longest_queue_push_out::LongestQueuePushOut;
pub use partial_packet_discard::PartialPacketDiscard;
pub use partitioned::Partitioned;
pub use selective_drop::SelectiveDrop;
pub use selective_pushout::SelectivePushout;
pub use selective_pushout_plus::SelectivePushoutPlus;
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
    /// Its code point of congestion notification.
    pub ecn: Ecn,
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
    /// The oldest packet of the flow's queue that is marked, which means not green ([`BufferManager::needs_marked_lists`]).
    Marked(Flow),
}

/// What a buffer manager says of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Queue it.
    Accept,
    /// Queue it in this colour.
    AcceptAs(Colour),
    /// Drop it, for this reason.
    Refuse(DropReason),
    /// Drop this queued packet first, then ask again.
    PushOut(Victim),
}

/// Decides which packets may use a buffer. The port owns the occupancy; a manager reads it.
pub trait BufferManager {
    /// The reasons for which it drops packets, besides [`DropReason::FlowLimit`] and [`DropReason::SharedLimit`].
    const DROP_REASONS: &'static [DropReason] = &[];

    /// True if it names [`Victim::Marked`]: the port then keeps lists of the marked packets.
    fn needs_marked_lists(&self) -> bool {
        false
    }

    /// True if it drops queued packets to make room.
    fn pushes_out(&self) -> bool {
        Self::DROP_REASONS.contains(&DropReason::PushedOut)
    }

    /// Judges an arrival. Called again after every push-out, with the backlog that results.
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission;

    /// A queue has just grown or shrunk by a packet; `backlog` includes the change.
    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        let _ = (change, backlog);
    }

    /// `flow` has this share of the buffer from now on. A vacant place is filled with this call. An error changes nothing.
    ///
    /// # Errors
    /// [`BufferError`] for a value that is out of range, or that contradicts what other flows have.
    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, backlog: &O) -> Result<(), BufferError> {
        let _ = (flow, share, backlog);
        Ok(())
    }

    /// The partition of `flow`; 0 in a buffer without partitions.
    fn partition_of(&self, flow: Flow) -> u32 {
        let _ = flow;
        0
    }

    /// `flow`, whose queue is empty, leaves: its place is vacant until [`BufferManager::change`] fills it, and nothing of it is remembered.
    fn forget(&mut self, flow: Flow) {
        let _ = flow;
    }

    /// The queue of `flow` holds packets that this manager, which has just been built, was not told of one by one: as many as `backlog`
    /// says, of which `marked` are not green.
    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, backlog: &O) {
        let _ = (flow, marked, backlog);
    }

    /// Takes over from `old` what queued packets do not tell, after every queue has been restored. `kept` lists the flows that have a place in
    /// both, in increasing order of their new places.
    fn adopt(&mut self, old: &Self, kept: &[Kept])
    where
        Self: Sized,
    {
        let _ = (old, kept);
    }
}
