//! How the tree is built.

use super::expected_turns::ExpectedTurns;
use super::member::Member as Record;
use super::node::{HINT_LAG, Node};
use super::ring::Ring;
use super::{DeficitTree, NO_MEMBER, Plan};
use crate::packet::Flow;
use crate::ready::{ReadyList, Wheel};
use crate::registry::SchedulerKind;
use crate::scheduler::deficit_turns::DeficitTurns;
use crate::scheduler::hierarchy::{Children, Plan as Places, vacant_places};
use crate::scheduler::least::Least;
use crate::scheduler::sparse_turns::SparseTurns;
use crate::scheduler::tree_matches::NO_NODE;
use crate::scheduler::{BuildError, FlowParameters, HierarchyError, LeafSpec, Member, NodeSpec, weight_of};
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;

/// From this number of places on a node keeps its weights in a tree; below it looks through its members.
const SCAN_LIMIT: usize = 64;

impl DeficitTree {
    /// True if a tree of these nodes can be built: all of them share by deficit, weighted or sparse round robin.
    pub fn suits(nodes: usize, node: impl Fn(usize) -> NodeSpec) -> bool {
        use SchedulerKind::{DeficitRoundRobin, SparseRoundRobin, WeightedRoundRobin};
        (0..nodes).all(|index| matches!(node(index).scheduler, DeficitRoundRobin | WeightedRoundRobin | SparseRoundRobin))
    }

    /// Builds the tree from what [`Hierarchy::build`](crate::scheduler::Hierarchy::build) takes.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If a node shares by anything else.
    pub fn build(longest_packet: u32, nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Result<DeficitTree, HierarchyError> {
        DeficitTree::build_with(longest_packet, (nodes.len(), |node| nodes[node]), (leaves.len(), |leaf| leaves[leaf]))
    }

    /// As [`DeficitTree::build`], for a number of nodes and a number of leaves, each of which a function names. Thousands of equal ones then need no
    /// list.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn build_with(
        longest_packet: u32,
        (nodes, node): (usize, impl Fn(usize) -> NodeSpec),
        (leaves, leaf): (usize, impl Fn(usize) -> LeafSpec),
    ) -> Result<DeficitTree, HierarchyError> {
        assert!(DeficitTree::suits(nodes, &node), "all nodes share by deficit, weighted or sparse round robin");
        let count = vacant_places(nodes, leaves, &node)? + nodes + leaves;
        let below = Children::of((nodes, &node), (leaves, &leaf))?;
        let quantum = longest_packet.max(1);
        let mut tree = DeficitTree {
            members: vec![Record::NEW; count],
            nodes: Vec::with_capacity(nodes),
            contract_of: vec![0; count],
            // Room for every member: any may be given a contract later.
            contracts: Vec::with_capacity(count),
            waiting: Wheel::new(count),
            unsettled: BinaryHeap::with_capacity(2 * nodes),
            served: None,
            unnamed: 0,
            hinted: [0; HINT_LAG],
            hints: 0,
            lookahead: ExpectedTurns::NEW,
            plan: Plan {
                quantum,
                first_child: Vec::with_capacity(nodes + 1),
                children: Vec::with_capacity(count - 1),
                place: vec![super::VACANT; count],
                weights: Vec::with_capacity(nodes),
                places: Places {
                    was: (0..nodes).map(|index| node(index).was.map_or(NO_NODE, |was| u32::try_from(was).unwrap_or(NO_NODE))).collect(),
                    vacancies: Vec::with_capacity(nodes),
                    vacant_places: Vec::with_capacity(count - 1),
                },
            },
        };
        let node_shapes = (0..nodes).map(|index| node(index).shape);
        for (member, shape) in node_shapes.chain((0..leaves).map(|index| leaf(index).shape)).enumerate() {
            let Some(contract) = shape else { continue };
            let allowance = contract.allowance().map_err(|error| HierarchyError::Shape(tree_member(nodes, member), error))?;
            tree.keep_contract(member, &allowance, true);
        }
        for (index, children) in below.of_each().enumerate() {
            tree.add_node(index, &node(index), children, |child| match child.checked_sub(nodes) {
                None => node(child).parameters,
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
        let ring = match spec.scheduler {
            SchedulerKind::SparseRoundRobin => {
                Ring::Sparse(SparseTurns::new(spec.queue.quantum.map_or(self.plan.quantum, |quantum| quantum.bytes())))
            }
            SchedulerKind::WeightedRoundRobin => Ring::Deficits(DeficitTurns::BY_PACKETS),
            _ => Ring::Deficits(DeficitTurns::new(self.plan.quantum, least)),
        };
        self.nodes.push(Node::new(ring, children.len() + spec.capacity));
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
