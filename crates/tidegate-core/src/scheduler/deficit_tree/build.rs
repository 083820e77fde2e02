//! How the tree is built.

use super::member::Member as Record;
use super::node::Node;
use super::ring::Ring;
use super::{DeficitTree, NO_MEMBER, Plan};
use crate::packet::Flow;
use crate::ready::{ReadyList, Wheel};
use crate::registry::SchedulerKind;
use crate::scheduler::deficit_turns::DeficitTurns;
use crate::scheduler::hierarchy::{Plan as Places, children_of};
use crate::scheduler::least::Least;
use crate::scheduler::sparse_turns::SparseTurns;
use crate::scheduler::tree_matches::NO_NODE;
use crate::scheduler::{BuildError, FlowParameters, HierarchyError, LeafSpec, Member, NodeSpec, weight_of};
use crate::shaper::Allowance;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;

/// From this number of places on a node keeps its weights in a tree; below it looks through its members.
const SCAN_LIMIT: usize = 64;

impl DeficitTree {
    /// True if a tree of these nodes can be built: all of them share by deficit, weighted or sparse round robin.
    pub fn suits(nodes: &[NodeSpec]) -> bool {
        nodes.iter().all(|node| {
            matches!(node.scheduler, SchedulerKind::DeficitRoundRobin | SchedulerKind::WeightedRoundRobin | SchedulerKind::SparseRoundRobin)
        })
    }

    /// Builds the tree from what [`Hierarchy::build`](crate::scheduler::Hierarchy::build) takes.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If a node shares by anything else.
    pub fn build(longest_packet: u32, nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Result<DeficitTree, HierarchyError> {
        DeficitTree::build_with(longest_packet, nodes, leaves.len(), |leaf| leaves[leaf])
    }

    /// As [`DeficitTree::build`], for a number of leaves, each of which `leaf` names. Thousands of equal leaves then need no list.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn build_with(
        longest_packet: u32,
        nodes: &[NodeSpec],
        leaves: usize,
        leaf: impl Fn(usize) -> LeafSpec,
    ) -> Result<DeficitTree, HierarchyError> {
        assert!(DeficitTree::suits(nodes), "all nodes share by deficit, weighted or sparse round robin");
        if nodes.first().is_none_or(|root| root.parent.is_some()) {
            return Err(HierarchyError::NoRoot);
        }
        let vacant = nodes.iter().fold(0usize, |sum, node| sum.saturating_add(node.capacity));
        let count = vacant.saturating_add(nodes.len() + leaves);
        if count > 1 << 31 {
            return Err(HierarchyError::TooMany);
        }
        let below = children_of(nodes, leaves, &leaf)?;
        let quantum = longest_packet.max(1);
        let mut tree = DeficitTree {
            members: vec![Record::NEW; count],
            nodes: Vec::with_capacity(nodes.len()),
            contracts: vec![Allowance::UNLIMITED; count],
            waiting: Wheel::new(count),
            unsettled: BinaryHeap::with_capacity(2 * nodes.len()),
            served: None,
            unnamed: 0,
            hinted: [0; super::HINT_LAG],
            hints: 0,
            plan: Plan {
                quantum,
                first_child: Vec::with_capacity(nodes.len() + 1),
                children: Vec::with_capacity(count - 1),
                place: vec![super::VACANT; count],
                weights: Vec::with_capacity(nodes.len()),
                places: Places {
                    was: nodes.iter().map(|node| node.was.map_or(NO_NODE, |was| u32::try_from(was).unwrap_or(NO_NODE))).collect(),
                    vacancies: Vec::with_capacity(nodes.len()),
                    vacant_places: Vec::with_capacity(count - 1),
                },
            },
        };
        let node_shapes = nodes.iter().map(|node| node.shape);
        for (member, shape) in node_shapes.chain((0..leaves).map(|index| leaf(index).shape)).enumerate() {
            let Some(contract) = shape else { continue };
            let allowance = contract.allowance().map_err(|error| HierarchyError::Shape(tree_member(nodes.len(), member), error))?;
            tree.contracts[member] = allowance;
            tree.members[member].keep(&allowance);
        }
        for (index, (spec, children)) in nodes.iter().zip(&below).enumerate() {
            tree.add_node(index, spec, children, |child| match child.checked_sub(nodes.len()) {
                None => nodes[child].parameters,
                Some(index) => leaf(index).parameters,
            })?;
        }
        tree.plan.first_child.push(tree.plan.children.len() as u32);
        tree.plan.place[0] = 0;
        Ok(tree)
    }

    fn add_node(
        &mut self,
        index: usize,
        spec: &NodeSpec,
        children: &[u32],
        parameters: impl Fn(usize) -> FlowParameters,
    ) -> Result<(), HierarchyError> {
        if children.is_empty() && spec.capacity == 0 {
            return Err(HierarchyError::Childless(index));
        }
        let nodes = self.plan.places.was.len();
        let mut least = u32::MAX;
        for (place, &child) in children.iter().enumerate() {
            // Sparse round robin uses no weight, whatever it is.
            let given =
                if spec.scheduler == SchedulerKind::SparseRoundRobin { FlowParameters::default() } else { parameters(child as usize) };
            let weight = weight_of(place, &given).map_err(|BuildError { parameter, problem, .. }| HierarchyError::Parameters {
                node: index,
                child: Some(tree_member(nodes, child as usize)),
                parameter,
                problem,
            })?;
            least = least.min(weight);
            let record = &mut self.members[child as usize];
            (record.parent, record.weight) = (index as u32, weight);
            self.plan.place[child as usize] = place as u32;
        }
        let least = if children.is_empty() { 1 } else { least };
        self.nodes.push(Node::new(match spec.scheduler {
            SchedulerKind::SparseRoundRobin => {
                Ring::Sparse(SparseTurns::new(spec.queue.quantum.map_or(self.plan.quantum, |quantum| quantum.bytes())))
            }
            SchedulerKind::WeightedRoundRobin => Ring::Deficits(DeficitTurns::BY_PACKETS),
            _ => Ring::Deficits(DeficitTurns::new(self.plan.quantum, least)),
        }));
        let plan = &mut self.plan;
        let first_child = plan.children.len();
        let places = children.len() + spec.capacity;
        plan.first_child.push(first_child as u32);
        plan.children.extend_from_slice(children);
        plan.children.resize(first_child + places, NO_MEMBER);
        plan.places.vacant_places.extend((children.len() as u32..places as u32).rev());
        plan.places.vacant_places.resize(first_child + places, 0);
        plan.places.vacancies.push(spec.capacity as u32);
        let has_least = spec.scheduler == SchedulerKind::DeficitRoundRobin;
        let weights = (has_least && places >= SCAN_LIMIT).then(|| {
            let mut weights: Vec<u64> = children.iter().map(|&child| self.members[child as usize].weight.into()).collect();
            weights.resize(places, u64::MAX);
            Box::new(Least::new(weights))
        });
        plan.weights.push(weights);
        Ok(())
    }
}

/// A member of a tree of this number of nodes, in an error.
pub(super) fn tree_member(nodes: usize, member: usize) -> Member {
    member.checked_sub(nodes).map_or(Member::Node(member), |leaf| Member::Leaf(Flow(leaf as u32)))
}

// What a packet needs of a node is on its two lines.
const _: () = assert!(size_of::<Record>() == 64 && size_of::<Node>() == 128);
