//! The scheduling tree of a port in the terms of the calculus.

use super::members::{Below, Members, pauses};
use tidegate_bounds::curve::Service;
use tidegate_bounds::hierarchy::{Branch, Shape, Tree, TreeNode};
use tidegate_bounds::network::Serving;
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::service::{Child, Node, Row};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::shaper::ShapingContract;

/// The node and the child of it that serve a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Place {
    pub node: usize,
    pub child: usize,
}

/// The tree, and where the queues are in it.
pub(super) struct Described {
    pub tree: Tree,
    /// The place above each node; `None` for the link.
    pub above: Vec<Option<Place>>,
    /// The node of the port that each describes; `None` for the peak rate of a shape and for a link without a scheduler.
    pub of: Vec<Option<usize>>,
    /// Where each leaf is.
    pub places: Vec<Place>,
    /// Why a leaf has no bound.
    pub reasons: Vec<Option<NoBound>>,
}

impl Described {
    /// Describes a port.
    pub(super) fn of(members: &Members<'_>) -> Described {
        let leaves = members.parts.leaves();
        let tree = Tree { nodes: Vec::new() };
        let mut described =
            Described { tree, above: Vec::new(), of: Vec::new(), places: vec![Place::default(); leaves], reasons: vec![None; leaves] };
        if members.is_one_queue(0) {
            let number = described.begin(None, None);
            let whole = Below::Node(0);
            let node = Node::new(SchedulerKind::StrictPriority, members.traffic.rate, vec![members.child(whole)]);
            let branches = vec![described.branch(members, whole, Place { node: number, child: 0 }, None)];
            described.tree.nodes[number] = TreeNode { node, branches };
        } else {
            described.node(members, 0, None, None);
        }
        described
    }

    /// A node to be filled in, whose number is lower than those of the nodes below.
    fn begin(&mut self, of: Option<usize>, above: Option<Place>) -> usize {
        self.tree.nodes.push(TreeNode { node: Node::new(SchedulerKind::Fifo, 0, Vec::new()), branches: Vec::new() });
        self.above.push(above);
        self.of.push(of);
        self.tree.nodes.len() - 1
    }

    /// Describes a node and what is below it.
    fn node(&mut self, members: &Members<'_>, node: usize, above: Option<Place>, reason: Option<NoBound>) -> usize {
        let number = self.begin(Some(node), above);
        let reason = reason.or_else(|| members.unproven(node));
        let below = &members.below[node];
        let any_order = members.node(node).scheduler == SchedulerKind::Fifo && below.len() > 1;
        let mut branches = Vec::with_capacity(below.len());
        for (child, &member) in below.iter().enumerate() {
            let in_any_order = any_order && matches!(member, Below::Node(_));
            let unsteady = in_any_order.then_some(NoBound::Because("first in, first out among groups, none of them is served steadily"));
            branches.push(self.branch(members, member, Place { node: number, child }, reason.clone().or(unsteady)));
        }
        self.tree.nodes[number] = TreeNode { node: members.node_of(node), branches };
        number
    }

    /// Describes the shape of a member, and what is below.
    fn branch(&mut self, members: &Members<'_>, member: Below, place: Place, reason: Option<NoBound>) -> Branch {
        let is_kept_inside = self.of[place.node].is_some_and(|node| members.keeps_contracts(node));
        let Some(contract) = members.shape(member).filter(|_| !is_kept_inside) else {
            return Branch { node: self.below(members, member, place, reason), shape: None };
        };
        let pause = pauses(&contract).then_some(NoBound::Because("its dual bucket pauses after a burst until it is full"));
        let reason = reason.or(pause);
        let shape = |rate, burst: u64| Shape { rate: members.kept(rate, member), burst: 8 * burst, tolerance: contract.tolerance };
        let sustained = shape(contract.rate, least_depth(&contract));
        let Some(peak) = contract.peak else {
            return Branch { node: self.below(members, member, place, reason), shape: Some(sustained) };
        };
        let first = self.begin(None, Some(place));
        let peak = shape(peak, contract.longest_packet.into());
        let node = Node::new(SchedulerKind::StrictPriority, peak.rate, vec![Child::new(members.longest)]);
        let below = self.below(members, member, Place { node: first, child: 0 }, reason);
        self.tree.nodes[first] = TreeNode { node, branches: vec![Branch { node: below, shape: Some(sustained) }] };
        Branch { node: Some(first), shape: Some(peak) }
    }

    /// Describes a member behind its shape: a node, or one queue at `place`.
    fn below(&mut self, members: &Members<'_>, member: Below, place: Place, reason: Option<NoBound>) -> Option<usize> {
        match member {
            Below::Node(node) if !members.is_one_queue(node) => Some(self.node(members, node, Some(place), reason)),
            _ => {
                for leaf in members.leaves_below(member) {
                    self.places[leaf] = place;
                    self.reasons[leaf] = reason.clone();
                }
                None
            }
        }
    }

    /// The strict curve of a node.
    pub(super) fn strict(&self, members: &Members<'_>, rows: &[Vec<Row>], node: usize) -> Result<Service, NoBound> {
        match self.above[node] {
            None => Ok(Service::link(members.traffic.rate)),
            Some(above) => rows[above.node][above.child].strict.clone(),
        }
    }

    /// True if another child of the node has the priority of this one.
    pub(super) fn has_equals(&self, place: Place) -> bool {
        let children = &self.tree.nodes[place.node].node.children;
        children.iter().enumerate().any(|(child, other)| child != place.child && other.priority == children[place.child].priority)
    }

    /// How a scheduler serves a queue whose service depends on the traffic of others, if that is not known yet or a network follows it better.
    pub(super) fn serving(&self, members: &Members<'_>, rows: &[Vec<Row>], place: Place) -> Option<Result<Serving, NoBound>> {
        let TreeNode { node, branches } = &self.tree.nodes[place.node];
        let below = &members.below[self.of[place.node]?];
        if branches[place.child].shape.is_some() {
            return None;
        }
        let port = || self.strict(members, rows, place.node);
        match node.kind {
            SchedulerKind::EarliestDeadlineFirst => {
                let mut classes = Vec::new();
                for (&member, child) in below.iter().zip(&node.children) {
                    let delay = child.delay.unwrap_or(0);
                    classes.extend(members.numbers(member).into_iter().map(|number| (number, delay, child.longest)));
                }
                Some(port().map(|port| Serving::Deadline { port, classes }))
            }
            SchedulerKind::StrictPriority => {
                let own = node.children[place.child].priority;
                let others = || node.children.iter().zip(below).enumerate().filter(|(child, _)| *child != place.child);
                let first = || others().filter(|(_, (child, _))| child.priority <= own);
                let is_steady = first().any(|(_, (child, _))| child.priority == own) && rows[place.node][place.child].guaranteed.is_ok();
                if is_steady || first().any(|(_, (_, member))| members.is_held(*member)) {
                    return None;
                }
                let higher = first().flat_map(|(_, (_, member))| members.numbers(*member)).collect();
                let lower = others().filter(|(_, (child, _))| child.priority > own).map(|(_, (child, _))| child.longest).max().unwrap_or(0);
                Some(port().map(|port| Serving::Below { port, higher, lower }))
            }
            _ => None,
        }
    }
}

/// The depth of a shape's bucket in bytes, rounded down: with a peak rate it fills while a burst leaves.
fn least_depth(contract: &ShapingContract) -> u64 {
    let (longest, beyond) = (u64::from(contract.longest_packet), contract.burst.saturating_sub(contract.longest_packet));
    let Some(peak) = contract.peak else { return longest + u64::from(beyond) };
    let (rate, peak) = (contract.rate.bits_per_second(), peak.bits_per_second());
    longest + (u128::from(beyond) * u128::from(peak.saturating_sub(rate)) / u128::from(peak)) as u64
}
