//! A tree of heads in the order in which they become eligible, with the most urgent head of every subtree: no second queue, and no heads
//! that move in bursts.
//!
//! **Law**: the same as [`Calendar`](super::Calendar), to the last tie; a differential test compares them.
//!
//! **Source**: the augmented tree is that of Stoica and Abdel-Wahab, "Earliest eligible virtual deadline first", TR 95-22, Old Dominion
//! University, 1995. It is balanced as a treap, Seidel and Aragon, "Randomized search trees", Algorithmica 16, 1996, with priorities hashed
//! from the flow.
//!
//! **State**: 40 bytes per flow.
//!
//! **Cost**: O(log n) expected for every call, whatever the stamps.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: none.

use super::EligibleList;
use super::eligible_heads::{Entry, Stamp};
use crate::packet::Flow;
use crate::units::Time;
use alloc::vec;
use alloc::vec::Vec;

/// A treap of heads.
#[derive(Clone, Debug)]
pub struct EligibleTree {
    nodes: Vec<Node>,
    root: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    stamp: Stamp,
    left: u32,
    right: u32,
    /// The flow that leaves first of this subtree.
    best: u32,
    is_present: bool,
}

/// No node.
const NONE: u32 = u32::MAX;

/// The priority of a flow in the treap: a bijection, so no two are equal.
fn priority(flow: u32) -> u32 {
    let mixed = (flow ^ flow >> 16).wrapping_mul(0x7feb_352d);
    (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b)
}

impl EligibleTree {
    /// True if `one` leaves before `other`, once both are eligible.
    fn leaves_before(&self, one: u32, other: u32) -> bool {
        let entry = |flow: u32| Entry::new(Flow(flow), self.nodes[flow as usize].stamp);
        entry(one).leaves_before(&entry(other))
    }

    /// Of two flows the one that leaves first.
    fn better(&self, one: u32, other: u32) -> u32 {
        if one == NONE || (other != NONE && self.leaves_before(other, one)) { other } else { one }
    }

    fn best(&self, node: u32) -> u32 {
        if node == NONE { NONE } else { self.nodes[node as usize].best }
    }

    /// True if the head of `one` becomes eligible before that of `other`.
    fn is_left_of(&self, one: u32, other: u32) -> bool {
        let (first, second) = (self.nodes[one as usize].stamp.eligible, self.nodes[other as usize].stamp.eligible);
        first.is_before(second) || (first == second && one < other)
    }

    fn link(&mut self, node: u32, left: u32, right: u32) -> u32 {
        let best = self.better(self.better(node, self.best(left)), self.best(right));
        let linked = &mut self.nodes[node as usize];
        (linked.left, linked.right, linked.best) = (left, right, best);
        node
    }

    /// The parts of a subtree left and right of a flow that is not in it.
    fn split(&mut self, node: u32, flow: u32) -> (u32, u32) {
        if node == NONE {
            return (NONE, NONE);
        }
        let Node { left, right, .. } = self.nodes[node as usize];
        if self.is_left_of(node, flow) {
            let (nearer, farther) = self.split(right, flow);
            (self.link(node, left, nearer), farther)
        } else {
            let (farther, nearer) = self.split(left, flow);
            (farther, self.link(node, nearer, right))
        }
    }

    /// One tree of two, of which all of the first is left of all of the second.
    fn merge(&mut self, one: u32, other: u32) -> u32 {
        if one == NONE || other == NONE {
            return one.min(other);
        }
        if priority(one) > priority(other) {
            let Node { left, right, .. } = self.nodes[one as usize];
            let right = self.merge(right, other);
            self.link(one, left, right)
        } else {
            let Node { left, right, .. } = self.nodes[other as usize];
            let left = self.merge(one, left);
            self.link(other, left, right)
        }
    }

    /// The subtree without `flow`, which is in it.
    fn without(&mut self, node: u32, flow: u32) -> u32 {
        let Node { left, right, .. } = self.nodes[node as usize];
        if node == flow {
            self.merge(left, right)
        } else if self.is_left_of(flow, node) {
            let left = self.without(left, flow);
            self.link(node, left, right)
        } else {
            let right = self.without(right, flow);
            self.link(node, left, right)
        }
    }

    fn add(&mut self, flow: u32) {
        self.nodes[flow as usize].is_present = true;
        let (left, right) = self.split(self.root, flow);
        let alone = self.link(flow, NONE, NONE);
        let left = self.merge(left, alone);
        self.root = self.merge(left, right);
    }
}

impl EligibleList for EligibleTree {
    fn new(flows: usize) -> EligibleTree {
        let stamp = Stamp { eligible: Time::ZERO, finish: Time::ZERO, class: 0 };
        EligibleTree { nodes: vec![Node { stamp, left: NONE, right: NONE, best: NONE, is_present: false }; flows], root: NONE }
    }

    fn insert(&mut self, _now: Time, Flow(flow): Flow, stamp: Stamp) {
        debug_assert!(!self.nodes[flow as usize].is_present, "flow {flow} is in the list already");
        self.nodes[flow as usize].stamp = stamp;
        self.add(flow);
    }

    fn remove(&mut self, flow: Flow, _stamp: Stamp) {
        self.drop_first(flow);
    }

    fn drop_first(&mut self, Flow(flow): Flow) {
        debug_assert!(self.nodes[flow as usize].is_present, "flow {flow} is not in the list");
        self.nodes[flow as usize].is_present = false;
        self.root = self.without(self.root, flow);
    }

    fn replace(&mut self, flow: Flow, _old: Stamp, new: Stamp) {
        self.drop_first(flow);
        let kept = self.nodes[flow.index()].stamp.eligible;
        self.nodes[flow.index()].stamp = Stamp { eligible: kept, ..new };
        self.add(flow.0);
    }

    fn first(&mut self, now: Time, _stamp: impl FnMut(Flow, Option<Flow>) -> Option<Stamp>) -> Option<Flow> {
        let (mut node, mut best) = (self.root, NONE);
        while node != NONE {
            let Node { stamp, left, right, .. } = self.nodes[node as usize];
            node = if stamp.eligible.is_after(now) {
                left
            } else {
                best = self.better(self.better(best, node), self.best(left));
                right
            };
        }
        (best != NONE).then_some(Flow(best))
    }

    fn earliest(&self) -> Option<Time> {
        let mut node = self.nodes.get(self.root as usize)?;
        while node.left != NONE {
            node = &self.nodes[node.left as usize];
        }
        Some(node.stamp.eligible)
    }

    fn raise(&mut self, oldest: Time) {
        self.root = NONE;
        for flow in 0..self.nodes.len() {
            let Node { stamp, is_present, .. } = &mut self.nodes[flow];
            (stamp.eligible, stamp.finish) = (stamp.eligible.later(oldest), stamp.finish.later(oldest));
            if *is_present {
                self.add(flow as u32);
            }
        }
    }
}
