//! What a hierarchy is built of, and what may be wrong with it.

use super::Hierarchy;
use super::node::{Child, News, Node, Plan, UNSHAPED};
use super::prefetch_predictor::PrefetchPredictor;
use crate::packet::{Colour, Flow, Head};
use crate::policer::ContractError;
use crate::ready::ReadyList;
use crate::registry::{AnyScheduler, SchedulerKind};
use crate::scheduler::tree_matches::NO_NODE;
use crate::scheduler::{BuildError, DwcsOptions, FlowParameters, IntServOptions, Parameter, QueueOptions, Setup};
use crate::shaper::ShapingContract;
use crate::units::{Rate, Time};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::fmt;

/// An inner node of the tree: a scheduler among the node's children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeSpec {
    /// The index of the node above, which comes earlier in the list; `None` for the root, which is the first.
    pub parent: Option<usize>,
    /// Who shares among this node's children.
    pub scheduler: SchedulerKind,
    /// The rate that this node's scheduler shares: the link's, or what the node is guaranteed of it.
    pub rate: Rate,
    /// How this node's scheduler goes about it, if it is [`Dwcs`](crate::scheduler::Dwcs).
    pub dwcs: DwcsOptions,
    /// For [`IntegratedServices`](crate::scheduler::IntegratedServices) and [`ShapedVirtualClock`](crate::scheduler::ShapedVirtualClock).
    pub intserv: IntServOptions,
    /// For [`SparseRoundRobin`](crate::scheduler::SparseRoundRobin) and [`DualQueue`](crate::scheduler::DualQueue).
    pub queue: QueueOptions,
    /// What the scheduler of the node above needs to know of this node. Unused for the root.
    pub parameters: FlowParameters,
    /// A contract that all packets below this node keep together.
    pub shape: Option<ShapingContract>,
    /// The number of places below this node for leaves that come later ([`Hierarchy::fill`]).
    pub capacity: usize,
    /// The node that this one continues, in the tree from which this tree takes over ([`Scheduler::adopt`](crate::scheduler::Scheduler::adopt)).
    /// At most one node continues another.
    pub was: Option<usize>,
}

impl NodeSpec {
    /// A node that shares `rate`, without a contract, and without places for later.
    pub fn new(parent: Option<usize>, scheduler: SchedulerKind, rate: Rate, parameters: FlowParameters) -> NodeSpec {
        NodeSpec {
            parent,
            scheduler,
            rate,
            dwcs: DwcsOptions::default(),
            intserv: IntServOptions::default(),
            queue: QueueOptions::default(),
            parameters,
            shape: None,
            capacity: 0,
            was: None,
        }
    }
}

/// A leaf of the tree: one flow of the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafSpec {
    /// The index of the node above.
    pub parent: usize,
    /// What the scheduler of the node above needs to know of this flow.
    pub parameters: FlowParameters,
    /// A contract that the flow's packets keep. The tree shapes, so the contract in the parameters is not used.
    pub shape: Option<ShapingContract>,
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

/// Why a tree cannot be built or changed.
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
    /// All places below this node are taken.
    Full(usize),
    /// The flow is not one of the tree's vacant places.
    NotVacant(Flow),
    /// The member's contract cannot be kept.
    Shape(Member, ContractError),
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
            HierarchyError::Full(node) => write!(f, "node {node}: all places below it are taken; build the tree with a higher capacity"),
            HierarchyError::NotVacant(Flow(flow)) => write!(f, "flow {flow}: it is in the tree already, or beyond its capacity"),
            HierarchyError::Shape(member, error) => write!(f, "{member}: {error}"),
            HierarchyError::Parameters { node, child: Some(child), parameter, problem } => {
                write!(f, "{child}, below node {node}: {}: {problem}", parameter.name())
            }
            HierarchyError::Parameters { node, child: None, parameter, problem } => {
                write!(f, "the children of node {node}: {}: {problem}", parameter.name())
            }
        }
    }
}

impl core::error::Error for HierarchyError {}

impl Hierarchy<AnyScheduler> {
    /// Builds the tree. `nodes` holds the root first and every other node after its parent; `leaves` holds one entry per flow of the
    /// port, in the order of the flows. Behind them come vacant flows, as many as the nodes have places for. `longest_packet` is the longest
    /// packet on the wire, in bytes.
    ///
    /// The order of siblings carries no meaning: ties break by the order of activation.
    ///
    /// # Errors
    /// [`HierarchyError`] names the first member that is wrong.
    pub fn build(longest_packet: u32, nodes: &[NodeSpec], leaves: &[LeafSpec]) -> Result<Hierarchy<AnyScheduler>, HierarchyError> {
        Hierarchy::build_with(longest_packet, (nodes.len(), |node| nodes[node]), (leaves.len(), |leaf| leaves[leaf]))
    }

    /// As [`Hierarchy::build`], for a number of nodes and a number of leaves, each of which a function names. Thousands of equal ones then need no list.
    ///
    /// # Errors
    /// As [`Hierarchy::build`].
    pub fn build_with(
        longest_packet: u32,
        (nodes, node): (usize, impl Fn(usize) -> NodeSpec),
        (leaves, leaf): (usize, impl Fn(usize) -> LeafSpec),
    ) -> Result<Hierarchy<AnyScheduler>, HierarchyError> {
        let vacant = vacant_places(nodes, leaves, &node)?;
        let below = Children::of((nodes, &node), (leaves, &leaf))?;
        let mut tree = without_schedulers((nodes, &node), (leaves, &leaf), vacant)?;
        let member = |child: u32| match (child as usize).checked_sub(nodes) {
            None => Member::Node(child as usize),
            Some(flow) => Member::Leaf(Flow(flow as u32)),
        };
        for (index, children) in below.of_each().enumerate() {
            let spec = node(index);
            if children.is_empty() && spec.capacity == 0 {
                return Err(HierarchyError::Childless(index));
            }
            let mut parameters = Vec::with_capacity(children.len());
            for (place, &child) in children.iter().enumerate() {
                tree.members[child as usize].parent = index as u32;
                tree.members[child as usize].place = place as u32;
                let given = match member(child) {
                    Member::Node(child) => node(child).parameters,
                    Member::Leaf(flow) => leaf(flow.index()).parameters,
                };
                parameters.push(FlowParameters { shape: None, ..given });
            }
            let capacity = children.len() + spec.capacity;
            let NodeSpec { dwcs, intserv, queue, .. } = spec;
            let setup = Setup { dwcs, intserv, queue, capacity, ..Setup::new(spec.rate, longest_packet) };
            let scheduler = spec.scheduler.build(&setup, &parameters).map_err(|BuildError { flow, parameter, problem }| {
                let child = flow.map(|flow| member(children[flow.index()]));
                HierarchyError::Parameters { node: index, child, parameter, problem }
            })?;
            let first_child = tree.children.len() as u32;
            tree.nodes.push(Node {
                scheduler: scheduler.into(),
                first_child,
                backlogged: 0,
                suspended: 0,
                in_service: false,
                news: News::None,
                scheduler_waits: false,
            });
            tree.children.extend_from_slice(children);
            // Any leaf will do: a hint may name a vacant place.
            tree.children.resize(first_child as usize + capacity, nodes as u32);
            tree.plan.vacant_places.extend((children.len() as u32..capacity as u32).rev());
            tree.plan.vacant_places.resize(first_child as usize + capacity, 0);
            tree.plan.vacancies.push(spec.capacity as u32);
        }
        Ok(tree)
    }
}

/// The number of places for leaves that come later.
///
/// # Errors
/// [`HierarchyError::NoRoot`] and [`HierarchyError::TooMany`].
pub(in crate::scheduler) fn vacant_places(nodes: usize, leaves: usize, node: &impl Fn(usize) -> NodeSpec) -> Result<usize, HierarchyError> {
    if nodes == 0 || node(0).parent.is_some() {
        return Err(HierarchyError::NoRoot);
    }
    let vacant = (0..nodes).fold(0usize, |sum, index| sum.saturating_add(node(index).capacity));
    if vacant.saturating_add(nodes + leaves) > 1 << 31 { Err(HierarchyError::TooMany) } else { Ok(vacant) }
}

/// The members below each node, nodes before leaves.
pub(in crate::scheduler) struct Children {
    /// Where those of each node end in the table.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl Children {
    pub(in crate::scheduler) fn of(
        (nodes, node): (usize, &impl Fn(usize) -> NodeSpec),
        (leaves, leaf): (usize, &impl Fn(usize) -> LeafSpec),
    ) -> Result<Children, HierarchyError> {
        let mut parents = Vec::with_capacity(nodes + leaves);
        for index in 1..nodes {
            let parent = node(index).parent.filter(|&parent| parent < index).ok_or(HierarchyError::Parent(Member::Node(index)))?;
            parents.push(parent as u32);
        }
        for index in 0..leaves {
            let parent = Some(leaf(index).parent).filter(|&parent| parent < nodes);
            parents.push(parent.ok_or(HierarchyError::Parent(Member::Leaf(Flow(index as u32))))? as u32);
        }
        // Sorted by counting: members of one node stay in their order.
        let mut ends = alloc::vec![0; nodes];
        parents.iter().for_each(|&parent| ends[parent as usize] += 1);
        let mut start = 0;
        for end in &mut ends {
            start += core::mem::replace(end, start);
        }
        let mut members = alloc::vec![0; parents.len()];
        for (member, &parent) in (1..).zip(&parents) {
            let end = &mut ends[parent as usize];
            members[*end as usize] = member;
            *end += 1;
        }
        Ok(Children { ends, members })
    }

    /// Those of each node, in the order of nodes.
    pub(in crate::scheduler) fn of_each(&self) -> impl Iterator<Item = &[u32]> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.members[start as usize..end as usize])
    }
}

/// The tables of a tree whose members are shaped but do not know of each other yet. The last leaves, `vacant` of them, are not in the tree.
fn without_schedulers(
    (nodes, node): (usize, &impl Fn(usize) -> NodeSpec),
    (leaves, leaf): (usize, &impl Fn(usize) -> LeafSpec),
    vacant: usize,
) -> Result<Hierarchy<AnyScheduler>, HierarchyError> {
    let nothing = Head { length: 0, number: 0, arrival: Time::ZERO, colour: Colour::Green };
    let count = nodes + leaves + vacant;
    let mut members = Vec::with_capacity(count);
    // Room for every member: any may be given a contract later.
    let mut allowances = Vec::with_capacity(count);
    let absent = Child {
        head: nothing,
        parent: 0,
        place: 0,
        allowance: UNSHAPED,
        later: 0,
        presented: false,
        waits: false,
        suspended: false,
        vacant: false,
    };
    let node_shapes = (0..nodes).map(|index| (Member::Node(index), node(index).shape));
    let leaf_shapes = (0..leaves).map(|index| (Member::Leaf(Flow(index as u32)), leaf(index).shape));
    for (member, shape) in node_shapes.chain(leaf_shapes) {
        let mut allowance = UNSHAPED;
        if let Some(contract) = shape {
            allowance = allowances.len() as u32;
            allowances.push(contract.allowance().map_err(|error| HierarchyError::Shape(member, error))?);
        }
        members.push(Child { allowance, ..absent });
    }
    members.resize(count, Child { vacant: true, ..absent });
    Ok(Hierarchy {
        nodes: Vec::with_capacity(nodes),
        members,
        children: Vec::with_capacity(count - 1),
        allowances,
        waiting: ReadyList::new(count),
        unsettled: BinaryHeap::with_capacity(nodes),
        served: None,
        unnamed: 0,
        predictor: PrefetchPredictor::new(nodes, count),
        plan: Plan {
            was: (0..nodes).map(|index| node(index).was.map_or(NO_NODE, |was| u32::try_from(was).unwrap_or(NO_NODE))).collect(),
            vacancies: Vec::with_capacity(nodes),
            vacant_places: Vec::with_capacity(count - 1),
        },
    })
}
