//! Hierarchy: a tree of schedulers, each of which shares what its parent gives it among its own children.

use super::{BuildError, Decision, FlowParameters, Parameter, Scheduler, Setup};
use crate::packet::{Colour, Flow, Head};
use crate::port::MEMORY;
use crate::ready::{Heap, ReadyList};
use crate::registry::{AnyScheduler, SchedulerKind};
use crate::units::{Rate, Time};
use alloc::vec::Vec;
use core::fmt;

/// An inner node of the tree: a scheduler among the node's children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeSpec {
    /// The index of the node above, which comes earlier in the list; `None` for the root, which is the first.
    pub parent: Option<usize>,
    /// Who shares among this node's children.
    pub scheduler: SchedulerKind,
    /// What the scheduler of the node above needs to know of this node. Unused for the root.
    pub parameters: FlowParameters,
    /// The rate that this node's scheduler shares: the link's, or what the node is guaranteed of it.
    pub rate: Rate,
}

/// A leaf of the tree: one flow of the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafSpec {
    /// The index of the node above.
    pub parent: usize,
    /// What the scheduler of the node above needs to know of this flow.
    pub parameters: FlowParameters,
}

/// A node or a flow, in an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    /// The inner node of this index.
    Node(usize),
    /// The leaf of this flow.
    Leaf(Flow),
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Member::Node(index) => write!(f, "node {index}"),
            Member::Leaf(flow) => write!(f, "flow {}", flow.0),
        }
    }
}

/// Why a tree cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HierarchyError {
    /// There is no node at all, or the first has a parent.
    NoRoot,
    /// The member's parent is not a node that comes before it; only the first node has none.
    Parent(Member),
    /// Nothing hangs below this node, so it could never send.
    Childless(usize),
    /// More than 2^31 nodes and leaves.
    TooMany,
    /// The scheduler of `node` refuses its children's parameters.
    Parameters {
        /// The node whose scheduler it is.
        node: usize,
        /// The child at fault; `None` if all of them together are.
        child: Option<Member>,
        /// The parameter at fault.
        parameter: Parameter,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
}

impl fmt::Display for HierarchyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HierarchyError::NoRoot => write!(f, "a hierarchy begins with its root, a node without a parent"),
            HierarchyError::Parent(member) => write!(f, "{member}: its parent must be a node that comes before it"),
            HierarchyError::Childless(node) => write!(f, "node {node}: nothing hangs below it; remove it or give it a child"),
            HierarchyError::TooMany => write!(f, "a hierarchy has at most 2^31 nodes and flows"),
            HierarchyError::Parameters { node, child: Some(child), parameter, problem } => {
                write!(f, "{child}, below node {node}: {}: {problem}", parameter.name())
            }
            HierarchyError::Parameters { node, child: None, parameter, problem } => {
                write!(f, "node {node}: {}: {problem}", parameter.name())
            }
        }
    }
}

impl core::error::Error for HierarchyError {}

/// A tree of schedulers over the flows of one port.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    /// The nodes, then the leaves, as children of the node above. The root's entry is never presented to anybody.
    members: Vec<Child>,
    /// For each node in turn the members below it; a scheduler's `Flow` is a position in its node's part.
    children: Vec<u32>,
    /// Members that have something to send, but not before an instant.
    waiting: Heap,
}

const ROOT: usize = 0;

#[derive(Clone, Debug)]
struct Node {
    scheduler: AnyScheduler,
    first_child: u32,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    /// What it has to send, or last had: of a leaf its head, of a node its winner's.
    head: Head,
    /// The node above, and the position among that node's children.
    parent: u32,
    place: u32,
    /// Backlogged in the eyes of the scheduler above.
    presented: bool,
    /// On the waiting list: it has something to send, but not yet. Never both this and presented.
    waits: bool,
}

/// Why a member's head is no longer the one that was presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    Served,
    Changed,
}

impl Hierarchy {
    /// Builds the tree. `nodes` holds the root first and every other node after its parent; `leaves` holds one entry per flow of the
    /// port, in the order of the flows. `longest_packet` is the longest packet on the wire, in bytes.
    ///
    /// The order of siblings carries no meaning: ties break by the order of activation.
    ///
    /// # Errors
    /// [`HierarchyError`] names the first member that is wrong.
    pub fn build(longest_packet: u32, nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Result<Hierarchy, HierarchyError> {
        if nodes.first().is_none_or(|root| root.parent.is_some()) {
            return Err(HierarchyError::NoRoot);
        }
        let count = nodes.len() + leaves.len();
        if count > 1 << 31 {
            return Err(HierarchyError::TooMany);
        }
        let mut below: Vec<Vec<u32>> = alloc::vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate().skip(1) {
            let parent = node.parent.filter(|&parent| parent < index).ok_or(HierarchyError::Parent(Member::Node(index)))?;
            below[parent].push(index as u32);
        }
        for (index, leaf) in leaves.iter().enumerate() {
            let flow = Flow(index as u32);
            below.get_mut(leaf.parent).ok_or(HierarchyError::Parent(Member::Leaf(flow)))?.push((nodes.len() + index) as u32);
        }
        let nothing = Head { length: 0, number: 0, arrival: Time::ZERO, colour: Colour::Green };
        let root = Child { head: nothing, parent: 0, place: 0, presented: false, waits: false };
        let mut tree = Hierarchy {
            nodes: Vec::with_capacity(nodes.len()),
            members: alloc::vec![root; count],
            children: Vec::with_capacity(count - 1),
            waiting: Heap::new(count),
        };
        for (index, spec) in nodes.iter().enumerate() {
            let children = &below[index];
            if children.is_empty() {
                return Err(HierarchyError::Childless(index));
            }
            let member = |child: u32| match (child as usize).checked_sub(nodes.len()) {
                None => Member::Node(child as usize),
                Some(leaf) => Member::Leaf(Flow(leaf as u32)),
            };
            let mut parameters = Vec::with_capacity(children.len());
            for (place, &child) in children.iter().enumerate() {
                tree.members[child as usize].parent = index as u32;
                tree.members[child as usize].place = place as u32;
                parameters.push(match member(child) {
                    Member::Node(node) => nodes[node].parameters,
                    Member::Leaf(flow) => leaves[flow.index()].parameters,
                });
            }
            let setup = Setup { rate: spec.rate, longest_packet };
            let scheduler = spec.scheduler.build(&setup, &parameters).map_err(|BuildError { flow, parameter, problem }| {
                let child = flow.map(|flow| member(children[flow.index()]));
                HierarchyError::Parameters { node: index, child, parameter, problem }
            })?;
            tree.nodes.push(Node { scheduler, first_child: tree.children.len() as u32 });
            tree.children.extend_from_slice(children);
        }
        Ok(tree)
    }

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
        self.unwait(node);
        match self.nodes[node].scheduler.select(now) {
            Decision::Serve(place) | Decision::Discard(place) => Some(self.members[self.child(node, place)].head),
            Decision::WaitUntil(time) => {
                self.wait(node, time);
                None
            }
            Decision::Idle => None,
        }
    }

    #[inline]
    fn wait(&mut self, member: usize, time: Time) {
        self.waiting.insert(Flow(member as u32), time.picoseconds());
        self.members[member].waits = true;
    }

    #[inline]
    fn unwait(&mut self, member: usize) {
        if core::mem::take(&mut self.members[member].waits) {
            self.waiting.remove(Flow(member as u32));
        }
    }

    /// `member` now has `head` to send, or nothing. Tells the node above, and every node further up for which this changes something.
    #[inline]
    fn present(&mut self, now: Time, mut member: usize, mut head: Option<Head>, cause: Cause) {
        loop {
            let child = &mut self.members[member];
            let (parent, place) = (child.parent as usize, Flow(child.place));
            let was_presented = core::mem::replace(&mut child.presented, head.is_some());
            let before = child.head.number;
            if let Some(head) = head {
                child.head = head;
            }
            let scheduler = &mut self.nodes[parent].scheduler;
            match head {
                None if !was_presented => return,
                Some(head) if !was_presented => scheduler.activate(now, place, head),
                _ if cause == Cause::Served => scheduler.served(now, place, head),
                Some(head) if head.number == before => return,
                _ => scheduler.lost(now, place, head),
            }
            // The root answers to nobody: it is asked only when the link is free, as a scheduler without a tree is.
            if parent == ROOT {
                return;
            }
            head = self.winner(now, parent);
            member = parent;
        }
    }

    /// Presents the members whose time has come.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(Flow(member)) = self.waiting.pop_due(now.picoseconds()) {
            let member = member as usize;
            self.members[member].waits = false;
            let head = if member < self.nodes.len() { self.winner(now, member) } else { Some(self.members[member].head) };
            self.present(now, member, head, Cause::Changed);
        }
    }
}

impl Scheduler for Hierarchy {
    fn start(&mut self, now: Time) {
        for node in &mut self.nodes {
            node.scheduler.start(now);
        }
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.present(now, self.leaf(flow), Some(head), Cause::Changed);
    }

    fn select(&mut self, now: Time) -> Decision {
        self.release(now);
        let (mut node, mut late) = (ROOT, false);
        loop {
            let place = match self.nodes[node].scheduler.select(now) {
                Decision::Serve(place) => place,
                Decision::Discard(place) => {
                    late = true;
                    place
                }
                answer if node == ROOT => return self.sooner(answer),
                _ => unreachable!("a node without a winner is not presented"),
            };
            let member = self.child(node, place);
            if let Some(leaf) = member.checked_sub(self.nodes.len()) {
                let flow = Flow(leaf as u32);
                return if late { Decision::Discard(flow) } else { Decision::Serve(flow) };
            }
            let head = self.winner(now, member);
            if head.is_some_and(|head| head.number == self.members[member].head.number) {
                node = member;
            } else {
                // Time alone has changed the node's mind: its ancestors hear of it and are asked again.
                self.present(now, member, head, Cause::Changed);
                (node, late) = (ROOT, false);
            }
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.present(now, self.leaf(flow), next, Cause::Served);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let leaf = self.leaf(flow);
        self.unwait(leaf);
        self.present(now, leaf, next, Cause::Changed);
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
    }
}

impl Hierarchy {
    /// The answer of the root, or an earlier instant at which a waiting member may be presented.
    fn sooner(&mut self, answer: Decision) -> Decision {
        match (answer, self.waiting.first()) {
            (Decision::WaitUntil(time), Some((key, _))) => Decision::WaitUntil(time.earlier(Time::from_picoseconds(key))),
            (_, Some((key, _))) => Decision::WaitUntil(Time::from_picoseconds(key)),
            (answer, None) => answer,
        }
    }
}
