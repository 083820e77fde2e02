//! Tree of round robins: the link, groups, subscribers and their queues. Every node shares bytes or packets by weight, or by sparse round robin as
//! FQ-CoDel does among its queues, and any member may have a contract.
//!
//! **Law.** It answers every call as [`Hierarchy`](super::Hierarchy) does whose nodes have [`DeficitRoundRobin`](super::DeficitRoundRobin),
//! [`WeightedRoundRobin`](super::WeightedRoundRobin) and [`SparseRoundRobin`](super::SparseRoundRobin): the same packets at the same instants. Hence on
//! every level the fairness of these three, and of every contract that a policer accepts all its packets.
//!
//! **Source.** As for these four.
//!
//! **State.** 64 bytes per flow and per node: its turn, its contract of one bucket, and what it has to send. 4 bytes more, and 48 per contract
//! for those that have a peak rate and for changes, which a packet of a single bucket does not touch. 128 bytes per node. The waiting list of all.
//!
//! **Cost.** Per packet and level one cache line of the member and two of the node. A packet that waits for a contract costs one insertion in the
//! waiting list and one removal. To settle a node costs a step per turn that passes.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The general tree asks the scheduler of a node whenever something has changed below it. Here a node is asked if the front of its
//! ring may be another, or if a packet of it has left: otherwise it would give the same answer. A head is known by its length alone. Where a node
//! that goes on in another tree shares in another way than before, its members begin anew in the order of their numbers, not of their heads.

use super::hierarchy::Plan as Places;
use super::least::Least;
use super::tree_matches::ROOT;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Scheduler};
use crate::contract_state::ContractState;
use crate::packet::{Flow, Head};
use crate::prefetch::{prefetch_in, prefetch_whole};
use crate::ready::{ReadyList, Wheel};
use crate::shaper::Allowance;
use crate::units::{SERIAL_HORIZON, Time};
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

mod adopt;
mod build;
mod change;
mod expected_turns;
mod lookahead;
mod member;
mod node;
mod ring;

use expected_turns::ExpectedTurns;
use member::{Contract, Member};
use node::{FEW_MEMBERS, HINT_LAG, Node};

/// A tree of deficit, weighted and sparse round robin over the flows of one port.
///
/// Two sites share a link alike; in the first, two subscribers share 2:1.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::registry::SchedulerKind;
/// use tidegate_core::scheduler::{Decision, DeficitTree, FlowParameters, LeafSpec, NodeSpec, Scheduler};
/// use tidegate_core::units::{Rate, Time};
///
/// let node = |parent| NodeSpec::new(parent, SchedulerKind::DeficitRoundRobin, Rate::new(10_000_000).unwrap(), FlowParameters::default());
/// let leaf = |parent, weight| LeafSpec { parent, parameters: FlowParameters { weight: Some(weight), ..Default::default() }, shape: None };
/// let nodes = [node(None), node(Some(0)), node(Some(0))];
/// let mut tree = DeficitTree::build(1500, &nodes, &[leaf(1, 2), leaf(1, 1), leaf(2, 1)]).unwrap();
///
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// for flow in 0..3 {
///     tree.activate(Time::ZERO, Flow(flow), head(flow));
/// }
/// let mut order = Vec::new();
/// for number in 3..9 {
///     let Decision::Serve(flow) = tree.select(Time::ZERO) else { unreachable!("something is backlogged") };
///     tree.served(Time::ZERO, flow, Some(head(number)));
///     order.push(flow.0);
/// }
/// assert_eq!(order, [0, 2, 0, 2, 1, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct DeficitTree {
    /// The nodes and then the leaves.
    members: Vec<Member>,
    nodes: Vec<Node>,
    /// The place of a member's contract, if it has had one.
    contract_of: Vec<u32>,
    /// The contracts as a whole. The state of those with a single bucket is in the member's record.
    contracts: Vec<Allowance>,
    /// Members that have something to send, but not before an instant.
    waiting: Wheel,
    /// Nodes to be settled, the greatest index first, because members have higher indices than the nodes above them. Those above the flow served
    /// last may be missing. It has room for every node twice.
    unsettled: BinaryHeap<u32>,
    /// The node above the flow served last, while the nodes from there up count as in service.
    served: Option<u32>,
    /// The number of members that have stopped waiting and for which no other has been hinted yet.
    unnamed: usize,
    /// The nodes hinted last, in a ring.
    hinted: [u32; HINT_LAG],
    hints: usize,
    lookahead: ExpectedTurns,
    plan: Plan,
}

/// What only changes of the tree look at.
#[derive(Clone, Debug)]
struct Plan {
    /// What the least weight of a node gets per turn, in bytes: the longest packet.
    quantum: u32,
    /// Of each node: where its part of the table of children begins; behind the last, where that ends.
    first_child: Vec<u32>,
    /// For each node in turn the members in its places, or [`NO_MEMBER`].
    children: Vec<u32>,
    /// Of each member: its place below its node, or [`VACANT`].
    place: Vec<u32>,
    /// The weights of nodes with many places.
    weights: Vec<Option<Box<Least<u64>>>>,
    places: Places,
}

/// In place of a member: the place is free.
const NO_MEMBER: u32 = u32::MAX;

/// In place of a place: the leaf is not in the tree.
const VACANT: u32 = u32::MAX;

impl DeficitTree {
    #[inline]
    fn leaf(&self, flow: Flow) -> usize {
        self.nodes.len() + flow.index()
    }

    /// The contract of a member and its state.
    fn allowance_of(&self, member: usize) -> Option<Allowance> {
        let record = &self.members[member];
        (record.contract != Contract::None).then(|| record.allowance(&self.contracts[self.contract_of[member] as usize]))
    }

    /// The instant before which the member's contract forbids its next packet, if that lies ahead.
    #[inline]
    fn forbidden_until(&self, now: Time, member: usize) -> Option<Time> {
        let record = &self.members[member];
        let release = match record.contract {
            Contract::None => return None,
            Contract::Single => record.release(),
            Contract::Full => self.contracts[self.contract_of[member] as usize].release(),
        };
        release.is_after(now).then_some(release)
    }

    #[inline]
    fn charge(&mut self, now: Time, member: usize, length: u32) {
        let record = &mut self.members[member];
        match record.contract {
            Contract::None => {}
            Contract::Single => record.charge(now, length),
            Contract::Full => self.contracts[self.contract_of[member] as usize].charge(now, length),
        }
    }

    #[inline]
    fn wait(&mut self, member: usize, time: Time) {
        self.waiting.insert(Flow(member as u32), time.picoseconds());
        self.members[member].waits = true;
    }

    /// Notes that the front of `node` may be another. The root is asked every time.
    #[inline]
    fn unsettle(&mut self, node: usize) {
        if node != ROOT && !core::mem::replace(&mut self.nodes[node].is_unsettled, true) {
            self.unsettled.push(node as u32);
        }
    }

    /// `member`, which is neither presented nor waiting, has a head of `length` bytes to send from now on.
    #[inline]
    fn present(&mut self, now: Time, mut member: usize, length: u32) {
        loop {
            self.members[member].length = length;
            if let Some(release) = self.forbidden_until(now, member) {
                return self.wait(member, release);
            }
            let record = &mut self.members[member];
            record.presented = true;
            let parent = record.parent as usize;
            let is_suspended = core::mem::take(&mut record.suspended);
            let node = &mut self.nodes[parent];
            node.backlogged += 1;
            if is_suspended {
                node.suspended -= 1;
                node.ring.resume(&mut self.members, member as u32, length);
            } else {
                node.ring.activate(&mut self.members, member as u32, length);
            }
            if node.ring.is_changed_by(member as u32) {
                self.unsettle(parent);
            }
            let above = &self.members[parent];
            // A node that its contract holds back stays so.
            if parent == ROOT || above.presented || above.waits {
                return;
            }
            member = parent;
        }
    }

    /// `member`, which is presented, has nothing to send any more, or nothing that may be sent yet (`is_blocked`).
    #[inline]
    fn withdraw(&mut self, mut member: usize, mut is_blocked: bool) {
        loop {
            let record = &mut self.members[member];
            (record.presented, record.suspended) = (false, is_blocked);
            let parent = record.parent as usize;
            let node = &mut self.nodes[parent];
            node.backlogged -= 1;
            if is_blocked {
                node.suspended += 1;
                node.ring.suspend(&mut self.members, member as u32);
            } else {
                node.ring.leave(&mut self.members, member as u32);
            }
            let keeps_its_place = node.backlogged > 0 || node.in_service;
            is_blocked = node.suspended > 0;
            self.unsettle(parent);
            if parent == ROOT || keeps_its_place {
                return;
            }
            if !self.members[parent].presented {
                self.stop_waiting(parent);
                return self.forfeit(parent);
            }
            member = parent;
        }
    }

    /// The turns of `member`, which is not presented, and of the nodes above end if they were suspended and nothing below is any more.
    fn forfeit(&mut self, mut member: usize) {
        while member != ROOT && self.members[member].suspended {
            if self.nodes.get(member).is_some_and(|node| node.suspended + node.backlogged > 0) {
                return;
            }
            let record = &mut self.members[member];
            record.suspended = false;
            member = record.parent as usize;
            self.nodes[member].suspended -= 1;
        }
    }

    /// Presents the members whose time has come.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(Flow(member)) = self.waiting.pop_due(now.picoseconds()) {
            let member = member as usize;
            self.unnamed += 1;
            self.prefetch_waiting();
            self.members[member].waits = false;
            if member < self.nodes.len() {
                self.unsettle(member);
            }
            self.present(now, member, self.members[member].length);
        }
    }

    /// Settles all nodes whose front may be another, from the bottom up.
    #[inline]
    fn settle(&mut self, now: Time) {
        if let Some(above) = self.served.take() {
            let mut node = above as usize;
            while node != ROOT {
                self.nodes[node].in_service = false;
                node = self.members[node].parent as usize;
            }
            node = above as usize;
            if self.unsettled.is_empty() {
                // The usual case: what has changed is the path of the last packet.
                while node != ROOT {
                    self.settle_node(now, node);
                    node = self.members[node].parent as usize;
                }
                return;
            }
            while node != ROOT {
                self.unsettled.push(node as u32);
                node = self.members[node].parent as usize;
            }
        }
        while let Some(node) = self.unsettled.pop() {
            self.settle_node(now, node as usize);
        }
    }

    #[inline]
    fn settle_node(&mut self, now: Time, node: usize) {
        if !core::mem::take(&mut self.nodes[node].is_unsettled) || !self.members[node].presented {
            return;
        }
        let Some(front) = self.nodes[node].ring.settle(&mut self.members) else {
            return self.withdraw(node, self.nodes[node].suspended > 0);
        };
        let length = self.members[front as usize].length;
        if let Some(release) = self.forbidden_until(now, node) {
            self.withdraw(node, true);
            self.members[node].length = length;
            self.wait(node, release);
        } else if length != self.members[node].length {
            self.members[node].length = length;
            self.unsettle(self.members[node].parent as usize);
        }
    }

    /// The leaf at the end of the fronts' path from the root down.
    #[inline]
    fn descend(&mut self) -> Option<Flow> {
        let mut member = self.nodes[ROOT].ring.settle(&mut self.members)? as usize;
        while let Some(node) = self.nodes.get(member) {
            let Some(front) = node.ring.front() else { unreachable!("a node that is presented has something to send") };
            member = front as usize;
        }
        Some(Flow((member - self.nodes.len()) as u32))
    }

    /// Fetches members that will stop waiting in some turns, and what they lead to: the front below, and the node above.
    #[inline]
    fn prefetch_waiting(&self) {
        if let Some(Flow(ahead)) = self.waiting.ahead(PREFETCH_DISTANCE) {
            self.prefetch_member(ahead);
        }
        if let Some(Flow(ahead)) = self.waiting.ahead(PREFETCH_DISTANCE - HINT_LAG)
            && let Some(front) = self.nodes.get(ahead as usize).and_then(|node| node.ring.front())
        {
            self.prefetch_member(front);
        }
        if let Some(Flow(ahead)) = self.waiting.ahead(PREFETCH_DISTANCE / 2) {
            let parent = self.members[ahead as usize].parent;
            self.prefetch_member(parent);
        }
    }

    /// Fetches a member, and of a node the ring below.
    #[inline]
    fn prefetch_member(&self, member: u32) {
        prefetch_in(&self.members, member as usize);
        if let Some(node) = self.nodes.get(member as usize) {
            prefetch_whole(node);
        }
    }

    /// The leaf at the end of the fronts' path from `member` down, if the records there have been fetched.
    #[inline]
    fn front_leaf(&self, member: u32) -> Option<Flow> {
        let mut member = member as usize;
        while let Some(node) = self.nodes.get(member) {
            member = node.ring.front()? as usize;
        }
        Some(Flow((member - self.nodes.len()) as u32))
    }
}

impl Scheduler for DeficitTree {
    fn start(&mut self, now: Time) {
        // A clone has no spare capacity, and the packet path does not allocate.
        self.unsettled.reserve(2 * self.nodes.len());
        self.contracts.reserve_exact(self.members.len() - self.contracts.len());
        self.contracts.iter_mut().for_each(|contract| contract.start(now));
        let shaped = self.members.iter_mut().zip(&self.contract_of).filter(|(record, _)| record.contract != Contract::None);
        for (record, &contract) in shaped {
            record.keep(&self.contracts[contract as usize]);
        }
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.present(now, self.leaf(flow), head.length);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        self.release(now);
        self.settle(now);
        let answer = self.descend();
        // The root's own contract holds everything back.
        let root = self.forbidden_until(now, ROOT);
        if let Some(flow) = answer {
            return root.map_or(Decision::Serve(flow), Decision::WaitUntil);
        }
        let Some((first, _)) = self.waiting.first() else { return Decision::Idle };
        let first = Time::from_picoseconds(first);
        Decision::WaitUntil(root.map_or(first, |release| first.later(release)))
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        let Member { length, parent, .. } = self.members[leaf];
        self.charge(now, leaf, length);
        let mut node = parent as usize;
        self.served = Some(parent);
        let next = next.map(|head| head.length);
        let blocked = next.and_then(|_| self.forbidden_until(now, leaf));
        let stays = next.is_some() && blocked.is_none();
        let above = &mut self.nodes[node];
        above.ring.served(&mut self.members, leaf as u32, next);
        if !stays {
            above.backlogged -= 1;
            self.members[leaf].presented = false;
            if let Some(release) = blocked {
                above.suspended += 1;
                above.ring.suspend(&mut self.members, leaf as u32);
                self.members[leaf].suspended = true;
                self.wait(leaf, release);
            }
        }
        self.charge(now, node, length);
        while node != ROOT {
            let above = &mut self.nodes[node];
            (above.in_service, above.is_unsettled) = (true, true);
            let Member { length: head, parent, .. } = self.members[node];
            let member = node as u32;
            node = parent as usize;
            self.nodes[node].ring.served(&mut self.members, member, Some(head));
            self.charge(now, node, length);
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        let record = &mut self.members[leaf];
        match next {
            Some(head) => {
                record.length = head.length;
                let (parent, presented) = (record.parent as usize, record.presented);
                if presented {
                    self.unsettle(parent);
                }
            }
            None if record.presented => self.withdraw(leaf, false),
            None => {
                self.stop_waiting(leaf);
                self.forfeit(leaf);
            }
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.change_leaf(now, flow, parameters)
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.remove_leaf(flow);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        self.take_over(now, old, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        let served = self.served?;
        if let Some((node, member)) = self.turn_to_follow(served) {
            self.unnamed = 0;
            return self.look_ahead(node, member);
        }
        // One for each member that has stopped waiting, also if many have at once: they are next.
        if let Some(others) = self.unnamed.min(PREFETCH_DISTANCE).checked_sub(1) {
            self.unnamed = others;
            if let Some(Flow(member)) = self.waiting.ahead(PREFETCH_DISTANCE - 1 - others) {
                if let Some(leaf) = (member as usize).checked_sub(self.nodes.len()) {
                    return Some(Flow(leaf as u32));
                }
                // The ring below a node is fetched before the front of that ring is known.
                let Flow(node) = self.waiting.ahead((PREFETCH_DISTANCE - 1 - HINT_LAG).saturating_sub(others))?;
                return self.front_leaf(node);
            }
        }
        let mut above = served as usize;
        // Where few members take turns, the node above goes on to another before they come again.
        if above != ROOT && self.nodes[above].backlogged + self.nodes[above].suspended < FEW_MEMBERS {
            above = self.members[above].parent as usize;
        }
        let Flow(member) = self.nodes[above].ring.prefetch_hint();
        if let Some(leaf) = (member as usize).checked_sub(self.nodes.len()) {
            return Some(Flow(leaf as u32));
        }
        self.prefetch_member(member);
        let earlier = core::mem::replace(&mut self.hinted[self.hints % HINT_LAG], member);
        self.hints = self.hints.wrapping_add(1);
        let leaf = self.front_leaf(earlier)?;
        prefetch_in(&self.members, self.leaf(leaf));
        Some(leaf)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.members, self.leaf(flow));
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        for (member, record) in self.members.iter_mut().enumerate() {
            match record.contract {
                Contract::None => {}
                Contract::Single => record.visit_state(state),
                Contract::Full => self.contracts[self.contract_of[member] as usize].visit_state(state),
            }
        }
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        self.members.iter_mut().for_each(|record| record.refresh(oldest));
        self.contracts.iter_mut().for_each(|contract| contract.refresh(now));
        self.waiting.raise(oldest.picoseconds());
    }
}
