//! The members of a scheduling tree as its schedulers are given them: of them the port is built, and from them its bounds are proven.

use super::members::{Leaf, Member, Tree, slot};
use std::collections::HashMap;
use std::sync::Arc;
use tidegate_core::packet::Flow;
use tidegate_core::policer::ContractError;
use tidegate_core::registry::AnyScheduler;
use tidegate_core::scheduler::{BuildError, FlowParameters, HierarchyError, LeafSpec, Member as Built, NodeSpec, Setup};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::Overhead;

/// The nodes and leaves of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The link first, then groups, every parent before its children, then classes of several queues.
    nodes: Specs<NodeSpec>,
    /// What all queues of a class are, by class.
    of_class: Specs<LeafSpec>,
    /// The class of each leaf, in the order of the port's flows.
    pub class_of_leaf: Arc<[u32]>,
    /// The group or class of each node; `None` for the link.
    pub members: Vec<Option<Member>>,
    /// For each class, true if its queues are places for calls.
    pub places: Vec<bool>,
    /// What the link adds to a frame.
    pub overhead: Overhead,
    /// The longest frame on this wire, in bytes.
    pub longest: u32,
}

/// Why the schedulers of a port cannot be built.
pub(crate) enum Refused {
    /// Of a port of one node.
    Flat(BuildError),
    /// A contract, at a port of one node.
    Shape(Flow, ContractError),
    /// Of a hierarchy.
    Tree(HierarchyError),
}

impl Parts {
    /// The scheduler of a port.
    ///
    /// # Errors
    /// Parameters that a scheduler refuses.
    pub fn scheduler(&self) -> Result<AnyScheduler, Refused> {
        if self.nodes() > 1 {
            return self.tree().map_err(Refused::Tree);
        }
        let root = self.node(0);
        let setup = Setup { dwcs: root.dwcs, intserv: root.intserv, ..Setup::new(root.rate, self.longest) };
        let leaves = || (0..self.leaves()).map(|leaf| self.leaf(leaf));
        let contracts: Vec<Option<ShapingContract>> = leaves().map(|leaf| leaf.shape).collect();
        let parameters: Vec<FlowParameters> = leaves().map(|leaf| FlowParameters { shape: leaf.shape, ..leaf.parameters }).collect();
        let scheduler = root.scheduler.build(&setup, &parameters).map_err(Refused::Flat)?;
        if root.scheduler.shapes() || contracts.iter().all(Option::is_none) {
            return Ok(scheduler);
        }
        let shaped = Shaped::new(scheduler, &contracts);
        shaped.map(|shaped| AnyScheduler::Shaped(Box::new(shaped))).map_err(|(flow, error)| Refused::Shape(flow, error))
    }

    /// True if [`Parts::scheduler`] builds one. Of a tree in which every class has a node, only one such node is there at a time: a tree of 100,000 classes
    /// takes 100 MB. `of_classes` is the same tree with one queue for each class, to which an error of any other node refers.
    ///
    /// # Errors
    /// Parameters that a scheduler refuses, and which of both trees the error is about.
    pub fn judge<'a>(&'a self, of_classes: &'a Parts) -> Result<(), (&'a Parts, Refused)> {
        if self.nodes() == of_classes.nodes() {
            return self.scheduler().map(drop).map_err(|refused| (self, refused));
        }
        of_classes.tree().map_err(|error| (of_classes, Refused::Tree(error)))?;
        let mut queues = vec![0; self.places.len()];
        self.class_of_leaf.iter().for_each(|&class| queues[class as usize] += 1);
        for (index, member) in self.members.iter().enumerate() {
            let Some(Member::Class(class)) = *member else { continue };
            let node = self.node(index);
            let setup = Setup { queue: node.queue, ..Setup::new(node.rate, self.longest) };
            let built = node.scheduler.build(&setup, &vec![FlowParameters::default(); queues[class]]);
            if let Err(BuildError { parameter, problem, .. }) = built {
                return Err((self, Refused::Tree(HierarchyError::Parameters { node: index, child: None, parameter, problem })));
            }
        }
        Ok(())
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.class_of_leaf.len()
    }

    /// The class of a leaf.
    pub fn class(&self, leaf: usize) -> usize {
        self.class_of_leaf[leaf] as usize
    }

    /// A leaf.
    pub fn leaf(&self, leaf: usize) -> LeafSpec {
        self.leaf_of_class(self.class(leaf))
    }

    /// What all queues of a class are.
    pub fn leaf_of_class(&self, class: usize) -> LeafSpec {
        let (parent, leaf) = self.of_class.get(class);
        LeafSpec { parent: parent.unwrap_or_default(), ..*leaf }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.of.len()
    }

    /// A node.
    pub fn node(&self, node: usize) -> NodeSpec {
        let (parent, node) = self.nodes.get(node);
        NodeSpec { parent, ..*node }
    }

    /// What the scheduler above knows of a node.
    pub fn parameters_of_node(&self, node: usize) -> &FlowParameters {
        &self.nodes.get(node).1.parameters
    }

    /// What the scheduler above knows of a leaf.
    pub fn parameters_of_leaf(&self, leaf: usize) -> &FlowParameters {
        &self.of_class.get(self.class(leaf)).1.parameters
    }

    fn tree(&self) -> Result<AnyScheduler, HierarchyError> {
        AnyScheduler::tree(self.longest, (self.nodes(), |node| self.node(node)), (self.leaves(), |leaf| self.leaf(leaf)))
    }

    /// The group or class of a child of a node.
    pub(super) fn member(&self, child: Built) -> Member {
        let of_leaf = |leaf: usize| Member::Class(self.class(leaf));
        match child {
            // Every node but the link has a member.
            Built::Node(node) => self.members[node].unwrap_or(Member::Class(0)),
            Built::Leaf(leaf) => of_leaf(leaf.index()),
        }
    }
}

/// Members of a tree, of which thousands may differ in nothing but the node above: each different one is kept once.
#[derive(Clone, Debug)]
struct Specs<T> {
    different: Vec<T>,
    /// Of each member: the node above, or [`NO_PARENT`], and its number among the different ones.
    of: Vec<(u32, u32)>,
}

/// In place of the node above the link.
const NO_PARENT: u32 = u32::MAX;

/// The number of different members with which another is compared: more than a network has plans.
const LOOKED_AT: usize = 64;

impl<T: PartialEq> Specs<T> {
    fn with_capacity(members: usize) -> Specs<T> {
        Specs { different: Vec::new(), of: Vec::with_capacity(members) }
    }

    /// Adds a member. Its own field for the node above is always the same.
    fn push(&mut self, parent: Option<usize>, member: T) {
        let first = self.different.len().saturating_sub(LOOKED_AT);
        let same = self.different[first..].iter().position(|known| *known == member);
        let number = same.map_or(self.different.len(), |place| first + place);
        if same.is_none() {
            self.different.push(member);
        }
        self.of.push((parent.map_or(NO_PARENT, |parent| parent as u32), number as u32));
    }

    fn get(&self, index: usize) -> (Option<usize>, &T) {
        let (parent, number) = self.of[index];
        ((parent != NO_PARENT).then_some(parent as usize), &self.different[number as usize])
    }
}

impl Tree {
    /// What the schedulers of a tree without errors are given.
    pub fn parts(&self) -> Parts {
        self.parts_with(|class| class.queues)
    }

    /// The same with one queue for each class.
    pub fn parts_of_classes(&self) -> Parts {
        self.parts_with(|_| 1)
    }

    fn parts_with(&self, queues: impl Fn(&Leaf) -> u32) -> Parts {
        let place: HashMap<usize, usize> = self.order.iter().enumerate().map(|(position, &group)| (group, position + 1)).collect();
        let index_of = |node: Option<usize>| node.map_or(0, |group| place[&group]);
        let kind = if self.is_flat() { self.flat_kind() } else { self.root.kind };
        let root = NodeSpec::new(None, kind, self.rate.value, FlowParameters::default());
        let with_node = self.classes.iter().filter(|class| class.has_node() && queues(class) > 1).count();
        let count = 1 + self.order.len() + with_node;
        let mut nodes = Specs::with_capacity(count);
        nodes.push(None, NodeSpec { dwcs: self.root.options.dwcs, intserv: self.root.options.intserv, ..root });
        let mut members = Vec::with_capacity(count);
        members.push(None);
        for &group in &self.order {
            let (given, choice) = &self.groups[group];
            let rate = self.shared[slot(Some(group))].value;
            let node = NodeSpec::new(None, choice.kind, rate, self.parameters(given));
            let node = NodeSpec { dwcs: choice.options.dwcs, intserv: choice.options.intserv, shape: given.shape, ..node };
            nodes.push(Some(index_of(given.parent)), node);
            members.push(Some(Member::Group(group)));
        }
        let mut of_class = Specs::with_capacity(self.classes.len());
        let mut class_of_leaf = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let mut parent = index_of(class.given.parent);
            let parameters = self.parameters(&class.given);
            let mut leaf = LeafSpec { parent: 0, parameters, shape: class.given.shape };
            let queues = queues(class);
            if class.has_node() && queues > 1 {
                let rate = self.rate_of_queues(index);
                let node = NodeSpec::new(None, class.queue_scheduler, rate, parameters);
                nodes.push(Some(parent), NodeSpec { shape: class.given.shape, queue: class.options, ..node });
                members.push(Some(Member::Class(index)));
                parent = nodes.of.len() - 1;
                leaf = LeafSpec { parent: 0, parameters: FlowParameters::default(), shape: None };
            }
            of_class.push(Some(parent), leaf);
            class_of_leaf.resize(class_of_leaf.len() + queues as usize, index as u32);
        }
        let places = self.classes.iter().map(|class| class.places).collect();
        Parts { nodes, of_class, class_of_leaf: class_of_leaf.into(), members, places, overhead: self.overhead, longest: self.longest }
    }
}
