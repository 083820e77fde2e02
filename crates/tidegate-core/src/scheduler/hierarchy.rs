//! Hierarchy: a tree of schedulers over the flows of a port, each of which shares what the node above it gets among its own children.
//!
//! **Law.**
//! 1. Every node's scheduler keeps its own promise among the node's children, each of which counts as one flow: it is backlogged while
//!    anything below it may be sent, its head is the packet that its own scheduler would send next, and it is charged for every packet
//!    sent below it. With one level the order of service is that of the scheduler alone.
//! 2. What is sent by a shaped flow, or by all flows below a shaped node together, is accepted by a policer of the same contract. A
//!    packet that may be sent is held back by no more than [`Hierarchy::GRANULE`].
//!
//! **Source.** J. C. R. Bennett, H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", IEEE/ACM Transactions on Networking 5(5), 1997,
//! section III (nodes with logical queues of one packet, restarted along the path when a packet has left), here for any disciplines.
//!
//! **State.** 48 bytes per flow and per node, 4 more for its place, 48 for a contract, and the nodes' schedulers.
//!
//! **Cost.** Per packet and level of the tree three calls of the node's scheduler: the child was served, who is next, and the head
//! is replaced by that one. An arrival to a queue that is not empty costs nothing, one to an empty queue a call per level up to the
//! first node on which it makes no difference.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** A node that has just been served keeps its place above until the packet's transmission is over, even if nothing is
//! left below it, and only then is its next packet found: until then the old head stands in for it. Thus a flow that becomes backlogged
//! meanwhile is considered in time on every level, as it is by a scheduler without a tree. A child whose head changes otherwise (a more
//! urgent packet came, or the head was pushed out) has its head replaced above, which is charged to nobody.

use super::{Decision, Scheduler};
use crate::packet::{Flow, Head};
use crate::port::MEMORY;
use crate::ready::{ReadyList, Wheel};
use crate::registry::AnyScheduler;
use crate::shaper::Allowance;
use crate::units::{Duration, Time};
use alloc::vec::Vec;

mod tree;

pub use tree::{HierarchyError, LeafSpec, Member, NodeSpec};

/// A tree of schedulers over the flows of one port.
///
/// Voice goes first; video and bulk share the rest 2:1, and bulk consists of two queues that share alike.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::registry::SchedulerKind;
/// use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, LeafSpec, NodeSpec, Scheduler};
/// use tidegate_core::units::{Rate, Time};
///
/// let rate = Rate::new(10_000_000).unwrap();
/// let none = FlowParameters::default();
/// let priority = |priority| FlowParameters { priority: Some(priority), ..none };
/// let weight = |weight| FlowParameters { weight: Some(weight), ..none };
/// let node = |parent, scheduler, parameters| NodeSpec { parent, scheduler, rate, parameters, shape: None };
/// let leaf = |parent, parameters| LeafSpec { parent, parameters, shape: None };
/// let nodes = [
///     node(None, SchedulerKind::StrictPriority, none),
///     node(Some(0), SchedulerKind::DeficitRoundRobin, priority(1)),
///     node(Some(1), SchedulerKind::DeficitRoundRobin, weight(1)),
/// ];
/// let leaves = [leaf(0, priority(0)), leaf(1, weight(2)), leaf(2, none), leaf(2, none)];
/// let mut tree = Hierarchy::build(1500, &nodes, &leaves).unwrap();
///
/// // Video and both bulk queues have plenty of packets of 1500 bytes, voice has one.
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// for flow in [3, 2, 1, 0] {
///     tree.activate(Time::ZERO, Flow(flow), head(flow));
/// }
/// let mut order = Vec::new();
/// for number in 4..11 {
///     let Decision::Serve(flow) = tree.select(Time::ZERO) else { unreachable!("something is backlogged") };
///     tree.served(Time::ZERO, flow, (flow != Flow(0)).then(|| head(number)));
///     order.push(flow.0);
/// }
/// assert_eq!(order, [0, 3, 1, 1, 2, 1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    /// The nodes and then the leaves, as children of the node above. Nobody is above the root: its entry holds only its contract.
    members: Vec<Child>,
    /// For each node in turn the members below it: its scheduler's `Flow` is a position in its part of this table.
    children: Vec<u32>,
    allowances: Vec<Allowance>,
    /// Members that have something to send, but not before an instant.
    waiting: Wheel,
    /// The node above the flow served last, until the nodes from there up are settled. The root needs no settling.
    served: Option<u32>,
}

#[derive(Clone, Debug)]
struct Node {
    scheduler: AnyScheduler,
    first_child: u32,
    /// A packet below this node is being transmitted, and what stands in for it above is not the next head yet.
    unsettled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    /// What it has to send, or last had: of a leaf its head, of a node its winner's.
    head: Head,
    /// The node above, and the position among that node's children.
    parent: u32,
    place: u32,
    /// The index of its allowance.
    allowance: u32,
    /// Backlogged in the eyes of the scheduler above.
    presented: bool,
    /// On the waiting list. Never both this and presented.
    waits: bool,
}

const ROOT: usize = 0;

/// In place of the index of an allowance.
const UNSHAPED: u32 = u32::MAX;

impl Hierarchy {
    /// Packets held back by a contract leave at most this much later than they might: half a microsecond.
    pub const GRANULE: Duration = Duration::from_nanoseconds(500);

    #[inline]
    fn child(&self, node: usize, place: Flow) -> usize {
        self.children[self.nodes[node].first_child as usize + place.index()] as usize
    }

    #[inline]
    fn leaf(&self, flow: Flow) -> usize {
        self.nodes.len() + flow.index()
    }

    /// What `node` has to send at `now`. A node that must wait is put on the waiting list.
    #[inline]
    fn winner(&mut self, now: Time, node: usize) -> Option<Head> {
        match self.nodes[node].scheduler.select(now) {
            Decision::Serve(place) | Decision::Discard(place) => Some(self.members[self.child(node, place)].head),
            Decision::WaitUntil(time) => {
                self.wait(node, time);
                None
            }
            Decision::Idle => None,
        }
    }

    /// What `member` may send of what it has to send: nothing before its contract allows it, and then it waits.
    #[inline]
    fn allowed(&mut self, now: Time, member: usize, head: Option<Head>) -> Option<Head> {
        let child = &mut self.members[member];
        child.head = head?;
        if child.allowance != UNSHAPED {
            let release = self.allowances[child.allowance as usize].release();
            if release.is_after(now) {
                self.wait(member, release);
                return None;
            }
        }
        head
    }

    #[inline]
    fn charge(&mut self, now: Time, member: usize, length: u32) {
        let allowance = self.members[member].allowance;
        if allowance != UNSHAPED {
            self.allowances[allowance as usize].charge(now, length);
        }
    }

    #[inline]
    fn wait(&mut self, member: usize, time: Time) {
        self.stop_waiting(member);
        self.waiting.insert(Flow(member as u32), time.picoseconds());
        self.members[member].waits = true;
    }

    #[inline]
    fn stop_waiting(&mut self, member: usize) {
        if core::mem::take(&mut self.members[member].waits) {
            self.waiting.remove(Flow(member as u32));
        }
    }

    /// `member` has `head` to send from now on, or nothing. Tells the node above, and every node further up on which this makes a
    /// difference. Nodes that are not settled yet, and the root, learn of it when they are asked.
    #[inline]
    fn present(&mut self, now: Time, mut member: usize, mut head: Option<Head>) {
        loop {
            self.stop_waiting(member);
            let before = self.members[member].head.number;
            head = self.allowed(now, member, head);
            let child = &mut self.members[member];
            let was_presented = core::mem::replace(&mut child.presented, head.is_some());
            let (parent, place) = (child.parent as usize, Flow(child.place));
            let node = &mut self.nodes[parent];
            match head {
                None if !was_presented => return,
                Some(head) if !was_presented => node.scheduler.activate(now, place, head),
                Some(head) if head.number == before => return,
                _ => node.scheduler.lost(now, place, head),
            }
            if parent == ROOT || node.unsettled {
                return;
            }
            head = self.winner(now, parent);
            member = parent;
        }
    }

    /// Finds the next heads along the path of the packet that was served last, from the bottom up.
    #[inline]
    fn settle(&mut self, now: Time) {
        let Some(mut node) = self.served.take() else { return };
        while node as usize != ROOT {
            let at = node as usize;
            self.nodes[at].unsettled = false;
            let head = self.winner(now, at);
            let head = self.allowed(now, at, head);
            let child = &mut self.members[at];
            child.presented = head.is_some();
            node = child.parent;
            self.nodes[node as usize].scheduler.lost(now, Flow(child.place), head);
        }
    }

    /// Presents the members whose time has come.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(Flow(member)) = self.waiting.pop_due(now.picoseconds()) {
            let member = member as usize;
            self.members[member].waits = false;
            let head = if member < self.nodes.len() { self.winner(now, member) } else { Some(self.members[member].head) };
            self.present(now, member, head);
        }
    }

    /// The flow at the end of the winners' path from the root down, and whether its head is to be discarded; otherwise the root's answer.
    #[inline]
    fn descend(&mut self, now: Time) -> Result<(Flow, bool), Decision> {
        let (mut node, mut late) = (ROOT, false);
        loop {
            let place = match self.nodes[node].scheduler.select(now) {
                Decision::Serve(place) => place,
                Decision::Discard(place) => {
                    late = true;
                    place
                }
                nothing if node == ROOT => return Err(nothing),
                _ => {
                    // It waits since the last time it was asked; its ancestors hear of it and are asked again.
                    let head = self.winner(now, node);
                    self.present(now, node, head);
                    (node, late) = (ROOT, false);
                    continue;
                }
            };
            let member = self.child(node, place);
            if self.members[member].head.number != self.members[node].head.number && node != ROOT {
                // Time alone has changed the node's mind: the same.
                let head = Some(self.members[member].head);
                self.present(now, node, head);
                (node, late) = (ROOT, false);
                continue;
            }
            match member.checked_sub(self.nodes.len()) {
                Some(leaf) => return Ok((Flow(leaf as u32), late)),
                None => node = member,
            }
        }
    }
}

impl Scheduler for Hierarchy {
    fn start(&mut self, now: Time) {
        for node in &mut self.nodes {
            node.scheduler.start(now);
        }
        for allowance in &mut self.allowances {
            allowance.start(now);
        }
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.present(now, self.leaf(flow), Some(head));
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        self.settle(now);
        self.release(now);
        let answer = self.descend(now);
        // The root's own contract delays everything.
        let root = self.members[ROOT].allowance;
        let release = if root == UNSHAPED { now } else { self.allowances[root as usize].release().later(now) };
        match answer {
            Ok((flow, true)) => Decision::Discard(flow),
            Ok((flow, false)) if release == now => Decision::Serve(flow),
            Ok(_) => Decision::WaitUntil(release),
            Err(answer) => {
                let first = self.waiting.first().map(|(key, _)| Time::from_picoseconds(key));
                match (answer, first) {
                    (Decision::WaitUntil(time), Some(first)) => Decision::WaitUntil(time.earlier(first).later(release)),
                    (Decision::WaitUntil(time), None) | (_, Some(time)) => Decision::WaitUntil(time.later(release)),
                    (answer, None) => answer,
                }
            }
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        let Child { head: Head { length, .. }, parent, place, .. } = self.members[leaf];
        self.charge(now, leaf, length);
        let next = self.allowed(now, leaf, next);
        self.members[leaf].presented = next.is_some();
        self.nodes[parent as usize].scheduler.served(now, Flow(place), next);
        let mut node = parent as usize;
        self.charge(now, node, length);
        while node != ROOT {
            self.nodes[node].unsettled = true;
            let Child { head, parent, place, .. } = self.members[node];
            node = parent as usize;
            self.nodes[node].scheduler.served(now, Flow(place), Some(head));
            self.charge(now, node, length);
        }
        self.served = Some(parent);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.present(now, self.leaf(flow), next);
    }

    #[inline]
    fn upcoming(&self) -> Option<Flow> {
        let mut node = ROOT;
        loop {
            let member = self.child(node, self.nodes[node].scheduler.upcoming()?);
            match member.checked_sub(self.nodes.len()) {
                Some(leaf) => return Some(Flow(leaf as u32)),
                None => node = member,
            }
        }
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - MEMORY;
        for node in &mut self.nodes {
            node.scheduler.refresh(now);
        }
        for member in &mut self.members {
            member.head.arrival = member.head.arrival.later(oldest);
        }
        for allowance in &mut self.allowances {
            allowance.refresh(now);
        }
        self.waiting.raise(oldest.picoseconds());
    }
}
