//! Hierarchy: a tree of schedulers over the flows of a port. Each shares the service of its node among the node's children.
//!
//! **Law.**
//! 1. Every node's scheduler keeps its own law among the node's children, each of which counts as one flow. A child is backlogged while any
//!    packet below it may be sent. Its head is the packet that its own scheduler would send next, and it is charged for every packet sent
//!    below it. With one level the order of service is that of the scheduler alone.
//! 2. A policer of the same contract accepts all packets of a shaped flow, or of all flows below a shaped node together. A packet that may be
//!    sent is not held back.
//! 3. A leaf that comes, changes or goes does so by the laws of the scheduler above it and of its contract ([`Allowance::change`]). A tree that
//!    takes over from one of the same form continues as that one would have. Members may have other numbers, but siblings keep their order.
//!    Contracts that stay are kept across any such change.
//!
//! **Source.** J. C. R. Bennett, H. Zhang, "Hierarchical Packet Fair Queueing Algorithms", IEEE/ACM Transactions on Networking 5(5), 1997,
//! section III: nodes with logical queues of one packet, restarted along the path when a packet has left. Here nodes have any scheduler.
//!
//! **State.** 72 bytes per flow and per node, and 48 per contract, which are reserved for every flow and node. Per node 8 bytes, and in a large
//! tree 96 more. The waiting list of all, and the nodes' schedulers.
//!
//! **Cost.** Per packet and level of the tree: one `served` and two `select` of the node's scheduler, and one head replaced in the scheduler
//! above. An arrival to a queue that is not empty costs nothing. One to an empty queue costs an activation per level, up to the first node
//! that is already backlogged. A change of a leaf costs one of the scheduler above it. To take over costs a few steps per flow and node.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The source restarts the path of a packet when its transmission is over; here that happens when the link asks for the next
//! packet. Until then a node keeps its place above, with the old head in place of the next, even if nothing is left below it. The winner of a
//! node that becomes backlogged or changes is determined only when the link asks, too. Every scheduler in the tree is thus asked when a
//! scheduler without a tree would be, and a flow that becomes backlogged during a transmission is considered on every level. If the winner is
//! another packet than assumed, its head is replaced above, which is charged to no flow. A node is not asked because of a packet that is lost
//! before the link asks: a scheduler's answer may depend on when it is asked. A suspended node resumes above when a packet comes below it. If
//! that packet is lost at once, the node is suspended again, which changes nothing above.

use super::tree_matches::ROOT;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Scheduler};
use crate::classifier::FlowKey;
use crate::contract_state::ContractState;
use crate::packet::{Colour, Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::shaper::Allowance;
use crate::units::{SERIAL_HORIZON, Time};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

mod adopt;
mod change;
mod node;
mod node_scheduler;
mod prefetch_predictor;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use change::of_flow;
pub(super) use node::Plan;
use node::{Child, News, Node, UNSHAPED};
use prefetch_predictor::PrefetchPredictor;
pub(super) use tree::{Children, vacant_places};
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
/// let node = |parent, scheduler, parameters| NodeSpec::new(parent, scheduler, rate, parameters);
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
pub struct Hierarchy<S> {
    nodes: Vec<Node<S>>,
    /// The nodes and then the leaves, as children of the node above. No node is above the root, whose entry holds only its contract.
    members: Vec<Child>,
    /// For each node in turn the members below it. A `Flow` of its scheduler is a position in its part of this table.
    children: Vec<u32>,
    allowances: Vec<Allowance>,
    /// Members that have something to send, but not before an instant.
    waiting: Wheel,
    /// Nodes whose winner may have changed since it was presented, the greatest index first, because children have higher indices than their
    /// parents. It has room for all nodes.
    unsettled: BinaryHeap<u32>,
    /// The node above the flow served last, while the nodes from there up count as in service.
    served: Option<u32>,
    /// The number of members that have stopped waiting and for which no other has been hinted yet.
    unnamed: usize,
    /// Only for a tree too large to stay in the cache.
    predictor: Option<PrefetchPredictor>,
    plan: Plan,
}

/// What the nodes of a path say of the packet at its end, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Send,
    SendAs(Colour),
    Discard,
}

impl<S: Scheduler> Hierarchy<S> {
    #[inline]
    fn child(&self, node: usize, place: Flow) -> usize {
        self.children[self.nodes[node].first_child as usize + place.index()] as usize
    }

    #[inline]
    fn leaf(&self, flow: Flow) -> usize {
        self.nodes.len() + flow.index()
    }

    /// The instant before which the member's contract forbids its next packet, if that lies ahead.
    #[inline]
    fn forbidden_until(&self, now: Time, member: usize) -> Option<Time> {
        let allowance = self.members[member].allowance;
        if allowance == UNSHAPED {
            return None;
        }
        let release = self.allowances[allowance as usize].release();
        release.is_after(now).then_some(release)
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
        self.waiting.insert(Flow(member as u32), time.picoseconds());
        self.members[member].waits = true;
    }

    #[inline]
    fn stop_waiting(&mut self, member: usize) {
        if core::mem::take(&mut self.members[member].waits) {
            self.waiting.remove(Flow(member as u32));
        }
    }

    /// Notes that `node` has to be asked anew. The root is asked every time.
    #[inline]
    fn unsettle(&mut self, node: usize, news: News) {
        if node != ROOT && core::mem::replace(&mut self.nodes[node].news, news) == News::None {
            self.unsettled.push(node as u32);
        }
    }

    /// `member`, which is neither presented nor waiting, has `head` to send from now on.
    #[inline]
    fn present(&mut self, now: Time, mut member: usize, head: Head) {
        loop {
            self.members[member].head = head;
            if let Some(release) = self.forbidden_until(now, member) {
                return self.wait(member, release);
            }
            let child = &mut self.members[member];
            child.presented = true;
            let (parent, place) = (child.parent as usize, Flow(child.place));
            let is_suspended = core::mem::take(&mut child.suspended);
            let node = &mut self.nodes[parent];
            if is_suspended {
                node.suspended -= 1;
                node.scheduler.resume(now, place, head);
            } else {
                node.scheduler.activate(now, place, head);
            }
            node.backlogged += 1;
            let is_first = matches!(node.news, News::None | News::WentAgain);
            self.unsettle(parent, if is_first { News::Came(place.0) } else { News::Some });
            let above = &self.members[parent];
            if parent == ROOT || above.presented {
                return;
            }
            // A node that its contract holds back stays so; one whose scheduler waits is asked again.
            if above.waits {
                if !core::mem::take(&mut self.nodes[parent].scheduler_waits) {
                    return;
                }
                self.stop_waiting(parent);
                self.unsettle(parent, News::Some);
            }
            member = parent;
        }
    }

    /// `member`, which is presented, has nothing to send any more, or nothing that may be sent yet (`is_blocked`).
    #[inline]
    fn withdraw(&mut self, now: Time, mut member: usize, mut is_blocked: bool) {
        loop {
            let child = &mut self.members[member];
            (child.presented, child.suspended) = (false, is_blocked);
            let (parent, place) = (child.parent as usize, Flow(child.place));
            let node = &mut self.nodes[parent];
            if is_blocked {
                node.suspended += 1;
                node.scheduler.suspend(now, place);
            } else {
                node.scheduler.lost(now, place, None);
            }
            node.backlogged -= 1;
            let keeps_its_place = node.backlogged > 0 || node.in_service;
            // A node that was not asked since the packet came is not asked because of it: a packet lost at once changes nothing.
            let had_just_come = node.news == News::Came(place.0);
            self.unsettle(parent, if had_just_come { News::WentAgain } else { News::Some });
            if parent == ROOT || keeps_its_place {
                return;
            }
            if !self.members[parent].presented {
                self.nodes[parent].scheduler_waits = false;
                self.stop_waiting(parent);
                return self.forfeit(parent);
            }
            is_blocked = self.nodes[parent].suspended > 0;
            member = parent;
        }
    }

    /// The turns of `member`, which is not presented, and of the nodes above end if they were suspended and nothing below is any more.
    fn forfeit(&mut self, mut member: usize) {
        while member != ROOT && self.members[member].suspended {
            if self.nodes.get(member).is_some_and(|node| node.suspended + node.backlogged > 0) {
                return;
            }
            let child = &mut self.members[member];
            child.suspended = false;
            member = child.parent as usize;
            self.nodes[member].suspended -= 1;
        }
    }

    /// `member`, which is presented, has another head.
    #[inline]
    fn replace(&mut self, now: Time, member: usize, head: Head) {
        let child = &mut self.members[member];
        child.head = head;
        let (parent, place) = (child.parent as usize, Flow(child.place));
        self.nodes[parent].scheduler.lost(now, place, Some(head));
        self.unsettle(parent, News::Some);
    }

    /// Fetches what a member that has been fetched leads to.
    #[inline]
    fn prefetch_member(&self, member: usize) {
        let child = &self.members[member];
        let above = &self.nodes[child.parent as usize];
        if child.allowance != UNSHAPED {
            prefetch_in(&self.allowances, child.allowance as usize);
        }
        prefetch_in(&self.children, above.first_child as usize + child.place as usize);
        above.scheduler.prefetch(Flow(child.place));
    }

    /// The leaf that the predictor expects, whose path is fetched in steps; `None` if no leaf is to be fetched now.
    #[inline]
    fn predict(&mut self) -> Option<usize> {
        let [leaf, sooner, earlier] = self.predictor.as_mut()?.advance(&self.nodes, &self.members)?;
        self.prefetch_member(sooner);
        // The node's scheduler may predict by itself which flow comes after which.
        let earlier = &self.members[earlier];
        self.nodes[earlier.parent as usize].scheduler.prefetch(Flow(earlier.place));
        Some(leaf)
    }

    /// The leaf at the end of the path of the schedulers' hints, from the root down.
    #[inline]
    fn ask_for_hint(&mut self) -> Option<usize> {
        let mut node = ROOT;
        loop {
            let hint = self.nodes[node].scheduler.prefetch_hint()?;
            let member = self.child(node, hint);
            if member >= self.nodes.len() {
                prefetch_in(&self.members, member);
                return Some(member);
            }
            node = member;
        }
    }

    /// Presents the members whose time has come.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(Flow(member)) = self.waiting.pop_due(now.picoseconds()) {
            let member = member as usize;
            self.unnamed += 1;
            if let Some(Flow(ahead)) = self.waiting.ahead(PREFETCH_DISTANCE) {
                prefetch_in(&self.members, ahead as usize);
            }
            if let Some(Flow(ahead)) = self.waiting.ahead(PREFETCH_DISTANCE / 2) {
                self.prefetch_member(ahead as usize);
            }
            self.members[member].waits = false;
            if let Some(node) = self.nodes.get_mut(member) {
                node.scheduler_waits = false;
                self.unsettle(member, News::Some);
            }
            self.present(now, member, self.members[member].head);
        }
    }

    /// Finds the winners of all nodes that may have a new one, from the bottom up.
    #[inline]
    fn settle(&mut self, now: Time) {
        if let Some(mut node) = self.served.take() {
            while node as usize != ROOT {
                self.nodes[node as usize].in_service = false;
                node = self.members[node as usize].parent;
            }
        }
        while let Some(node) = self.unsettled.pop() {
            let node = node as usize;
            let news = core::mem::replace(&mut self.nodes[node].news, News::None);
            if news != News::WentAgain && self.members[node].presented {
                self.settle_node(now, node);
            }
        }
    }

    #[inline]
    fn settle_node(&mut self, now: Time, node: usize) {
        let winner = match self.nodes[node].scheduler.select(now) {
            Decision::Serve(place) | Decision::ServeAs(place, _) | Decision::Discard(place) => self.members[self.child(node, place)].head,
            Decision::WaitUntil(time) => {
                self.withdraw(now, node, true);
                self.nodes[node].scheduler_waits = true;
                return self.wait(node, time);
            }
            Decision::Idle => return self.withdraw(now, node, self.nodes[node].suspended > 0),
        };
        if let Some(release) = self.forbidden_until(now, node) {
            self.withdraw(now, node, true);
            self.members[node].head = winner;
            self.wait(node, release);
        } else if winner.number != self.members[node].head.number {
            self.replace(now, node, winner);
        }
    }

    /// What to do with the flow at the end of the winners' path from the root down; otherwise the root's answer. A packet that several nodes
    /// mark leaves in the worst of their colours.
    #[inline]
    fn descend(&mut self, now: Time) -> Result<(Flow, Verdict), Decision> {
        let (mut node, mut verdict) = (ROOT, Verdict::Send);
        loop {
            let member = match self.nodes[node].scheduler.select(now) {
                Decision::Serve(place) => Some(self.child(node, place)),
                Decision::ServeAs(place, colour) => {
                    verdict = verdict.max(Verdict::SendAs(colour));
                    Some(self.child(node, place))
                }
                Decision::Discard(place) => {
                    verdict = Verdict::Discard;
                    Some(self.child(node, place))
                }
                nothing if node == ROOT => return Err(nothing),
                _ => None,
            };
            match member {
                Some(member) if node == ROOT || self.members[member].head.number == self.members[node].head.number => {
                    match member.checked_sub(self.nodes.len()) {
                        Some(leaf) => return Ok((Flow(leaf as u32), verdict)),
                        None => node = member,
                    }
                }
                _ => {
                    // The node's answer has changed with time alone: the nodes above are told and asked again.
                    self.unsettle(node, News::Some);
                    self.settle(now);
                    (node, verdict) = (ROOT, Verdict::Send);
                }
            }
        }
    }
}

impl<S: Scheduler> Scheduler for Hierarchy<S> {
    fn start(&mut self, now: Time) {
        // A clone has no spare capacity, and neither the packet path nor a change allocates.
        self.unsettled.reserve(self.nodes.len());
        self.allowances.reserve(self.members.len() - self.allowances.len());
        for node in &mut self.nodes {
            node.scheduler.start(now);
        }
        for allowance in &mut self.allowances {
            allowance.start(now);
        }
    }

    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        let leaf = &self.members[self.leaf(flow)];
        let (parent, place) = (leaf.parent as usize, Flow(leaf.place));
        let place = self.nodes[parent].scheduler.assign(place, key);
        Flow((self.child(parent, place) - self.nodes.len()) as u32)
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.present(now, self.leaf(flow), head);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        self.release(now);
        self.settle(now);
        let answer = self.descend(now);
        // The root's own contract holds everything back.
        let root = self.forbidden_until(now, ROOT);
        match answer {
            Ok((flow, Verdict::Discard)) => Decision::Discard(flow),
            Ok((flow, Verdict::Send)) => root.map_or(Decision::Serve(flow), Decision::WaitUntil),
            Ok((flow, Verdict::SendAs(colour))) => root.map_or(Decision::ServeAs(flow, colour), Decision::WaitUntil),
            Err(answer) => {
                let first = self.waiting.first().map(|(key, _)| Time::from_picoseconds(key));
                let next = match (answer, first) {
                    (Decision::WaitUntil(time), Some(first)) => time.earlier(first),
                    (Decision::WaitUntil(time), None) | (_, Some(time)) => time,
                    (answer, None) => return answer,
                };
                Decision::WaitUntil(root.map_or(next, |release| next.later(release)))
            }
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        let Child { head: Head { length, .. }, parent, place, allowance, .. } = self.members[leaf];
        // The turns of shaped flows follow their releases, not their last round.
        if let Some(predictor) = &mut self.predictor
            && allowance == UNSHAPED
        {
            predictor.turn_of(&mut self.members, parent, leaf as u32);
        }
        self.charge(now, leaf, length);
        let mut suspended = None;
        if let Some(head) = next {
            self.members[leaf].head = head;
            if let Some(release) = self.forbidden_until(now, leaf) {
                self.wait(leaf, release);
                suspended = next;
            }
        }
        let stays = next.is_some() && suspended.is_none();
        (self.members[leaf].presented, self.members[leaf].suspended) = (stays, suspended.is_some());
        self.served = Some(parent);
        let mut node = parent as usize;
        let above = &mut self.nodes[node];
        above.backlogged -= u32::from(!stays);
        match suspended {
            Some(head) => {
                above.suspended += 1;
                above.scheduler.served_and_suspended(now, Flow(place), head);
            }
            None => above.scheduler.served(now, Flow(place), next),
        }
        self.charge(now, node, length);
        while node != ROOT {
            self.nodes[node].in_service = true;
            self.unsettle(node, News::Some);
            let Child { head, parent, place, .. } = self.members[node];
            node = parent as usize;
            self.nodes[node].scheduler.served(now, Flow(place), Some(head));
            self.charge(now, node, length);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        match next {
            Some(head) if self.members[leaf].presented => self.replace(now, leaf, head),
            Some(head) => self.members[leaf].head = head,
            None if self.members[leaf].presented => self.withdraw(now, leaf, false),
            None => {
                self.stop_waiting(leaf);
                self.forfeit(leaf);
            }
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.change_leaf(now, flow, parameters)
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.remove_leaf(now, flow);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        self.take_over(now, old, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        // One for each member that has stopped waiting, also if many have at once: they are next.
        if let Some(others) = self.unnamed.min(PREFETCH_DISTANCE).checked_sub(1) {
            self.unnamed = others;
            if let Some(Flow(member)) = self.waiting.ahead(PREFETCH_DISTANCE - 1 - others)
                && let Some(leaf) = (member as usize).checked_sub(self.nodes.len())
            {
                return Some(Flow(leaf as u32));
            }
        }
        let is_predicted = self.predictor.as_ref()?.is_enabled();
        let member = if is_predicted { self.predict()? } else { self.ask_for_hint()? };
        member.checked_sub(self.nodes.len()).map(|leaf| Flow(leaf as u32))
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.members, self.leaf(flow));
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        for member in &self.members {
            if let Some(allowance) = self.allowances.get_mut(member.allowance as usize) {
                allowance.visit_state(state);
            }
        }
        self.nodes.iter_mut().for_each(|node| node.scheduler.visit_contracts(state));
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
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
