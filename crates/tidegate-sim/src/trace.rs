//! The life of every packet of a replication, step by step, in the order of time.

use crate::id::{LinkId, NodeId};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow};
use tidegate_core::units::Time;

/// What happens to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It reaches a port, in the colour with which it comes.
    Offered,
    /// A policer, a buffer manager or a scheduler gives it this colour.
    Coloured,
    /// An AQM or the link changes its code point to CE.
    Marked,
    /// It joins its queue.
    Queued {
        /// Bytes queued at the port, with its own.
        backlog: u64,
    },
    /// It is dropped at the port.
    Dropped(DropReason),
    /// Its transmission starts.
    Started {
        /// When its last bit leaves.
        finish: Time,
        /// Bytes queued at the port, without its own.
        backlog: u64,
    },
    /// It gets lost on the link.
    Lost,
    /// The link makes a copy, which has the same number.
    Copied,
    /// It reaches the end of its path.
    Delivered,
}

/// What a packet belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The flow at this place of [`Network::flows`](crate::Network::flows).
    Flow(usize),
    /// A connection of a workload.
    Connection(TracedConnection),
}

/// A connection of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedConnection {
    /// The workload, by its place in [`Network::workloads`](crate::Network::workloads).
    pub workload: usize,
    /// Its number among those of the workload, from 0, as in [`Completion`](crate::Completion).
    pub number: u64,
    /// Its sender.
    pub from: NodeId,
    /// Its receiver.
    pub to: NodeId,
}

/// One step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// When it happens. Steps of one instant come in the order in which they happen.
    pub at: Time,
    /// What happens.
    pub step: Step,
    /// The number of the packet, from 0 in the order in which they reach their first port. Packets of one flow or connection, instant and length are
    /// alike, and may change numbers where a link reorders them.
    pub packet: u64,
    /// What it belongs to.
    pub origin: Origin,
    /// It is on the way back: an acknowledgement.
    pub is_answer: bool,
    /// The link whose port or which itself it is at; `None` at the end of the path.
    pub link: Option<LinkId>,
    /// When its sender sent it.
    pub created: Time,
    /// Its frame in bytes.
    pub length: u32,
    /// Its queue at the port; `None` where it is at none.
    pub queue: Option<Flow>,
    /// Its colour after the step.
    pub colour: Colour,
    /// Its code point after the step.
    pub ecn: Ecn,
}

/// Sees every step of every packet of the first replication. Links that carry cells have no steps.
pub trait Tracer: Sync {
    /// The next step.
    fn step(&self, event: &TraceEvent);
}
