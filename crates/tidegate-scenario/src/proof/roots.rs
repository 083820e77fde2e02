//! What the queues of a port without groups are guaranteed.

use super::arrivals::Lengths;
use crate::policy::Policy;
use tidegate_bounds::curve::{Arrival, Service};
use tidegate_bounds::network::{Server, Serving};
use tidegate_bounds::quantity::{NoBound, bits, up};
use tidegate_bounds::service::{Child, Node, Row, row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::PICOSECONDS_PER_SECOND;

/// What is known of the traffic of a port.
pub(super) struct Traffic<'a> {
    /// The rate of the link in bit/s, as its arithmetic keeps it.
    pub rate: u64,
    /// What comes to a queue of a class.
    pub arrival: &'a dyn Fn(usize, u32) -> Result<Arrival, NoBound>,
    /// The lengths of the frames there; `None` if there are none.
    pub lengths: &'a dyn Fn(usize, u32) -> Option<Lengths>,
    /// The number of a queue that is in use.
    pub number: &'a dyn Fn(usize, u32) -> Option<usize>,
}

/// What a queue is guaranteed.
#[derive(Clone, Debug)]
pub(super) struct PortQueue {
    /// By its scheduler.
    pub row: Row,
    /// As a server of a network; its line and its lengths are the caller's to fill in.
    pub server: Result<Server, NoBound>,
}

/// What each queue of each class is guaranteed; of queues that share their place, the first counts.
pub(super) fn queues(policy: &Policy, traffic: &Traffic<'_>) -> Vec<Vec<PortQueue>> {
    let wire = |length: u32| 8 * u64::from(policy.overhead.wire_length(length));
    let frames = wire(policy.longest_frame);
    let is_simple = policy.groups.is_empty() && policy.classes.iter().all(|class| class.queues == 1 && class.shape.is_none());
    let children = policy.classes.iter().enumerate().map(|(class, of)| {
        let lengths = (traffic.lengths)(class, 0);
        Child {
            shortest: wire(lengths.map_or(1, |lengths| lengths.0)),
            arrival: (traffic.arrival)(class, 0),
            rate: of.parameters.rate.map_or(0, |rate| rate.bits_per_second()),
            priority: of.parameters.priority.unwrap_or(0),
            ..Child::new(frames)
        }
    });
    let mut node = Node::new(policy.scheduler, policy.rate.bits_per_second(), children.collect());
    node.longest = frames;
    let of_class = |class: usize| {
        let known = is_simple && matches!(policy.scheduler, SchedulerKind::Fifo | SchedulerKind::Wf2qPlus | SchedulerKind::StrictPriority);
        if !known {
            let none = NoBound::Because("no curve of its scheduler is known");
            let row = Row { guaranteed: Err(none.clone()), strict: Err(none.clone()), delay: None };
            return PortQueue { row, server: Err(none) };
        }
        if policy.scheduler == SchedulerKind::Fifo {
            let row = Row { guaranteed: Ok(Service::link(traffic.rate)), strict: Ok(Service::link(traffic.rate)), delay: None };
            return PortQueue { row, server: Ok(Server::packets(Service::link(traffic.rate), true, traffic.rate, frames)) };
        }
        let row = row(&node, &Service::link(traffic.rate), class);
        let longest = wire((traffic.lengths)(class, 0).map_or(policy.longest_frame, |lengths| lengths.1));
        let serving = if policy.scheduler == SchedulerKind::StrictPriority {
            let rank = |other: usize| policy.classes[other].parameters.priority.unwrap_or(0);
            let higher = (0..policy.classes.len()).filter(|&other| other != class && rank(other) <= rank(class));
            let lower = (0..policy.classes.len()).filter(|&other| rank(other) > rank(class)).map(|_| frames).max().unwrap_or(0);
            let higher = higher.filter_map(|other| (traffic.number)(other, 0)).collect();
            Ok(Serving::Below { port: Service::link(traffic.rate), higher, lower })
        } else {
            row.guaranteed.clone().map(Serving::Fixed)
        };
        let rate = if policy.scheduler == SchedulerKind::Wf2qPlus { node.children[class].rate } else { traffic.rate };
        let server = serving.map(|serving| Server {
            serving,
            is_strict: policy.scheduler == SchedulerKind::StrictPriority,
            line: None,
            longest,
            packetiser: up(bits(longest), rate.max(1).into()).min(i128::from(PICOSECONDS_PER_SECOND) << 40),
        });
        PortQueue { row, server }
    };
    policy.classes.iter().enumerate().map(|(class, of)| vec![of_class(class); of.queues as usize]).collect()
}
