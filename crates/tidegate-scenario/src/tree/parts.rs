//! The members of a scheduling tree as its schedulers are given them: of them the port is built, and from them its bounds are proven.

use super::members::{Leaf, Member, Tree, slot};
use std::collections::HashMap;
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
    pub nodes: Vec<NodeSpec>,
    /// What all queues of a class are, by class.
    pub of_class: Vec<LeafSpec>,
    /// The class of each leaf, in the order of the port's flows.
    pub class_of_leaf: Vec<u32>,
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
        if self.nodes.len() > 1 {
            return AnyScheduler::tree(self.longest, &self.nodes, self.leaves(), |leaf| *self.leaf(leaf)).map_err(Refused::Tree);
        }
        let root = &self.nodes[0];
        let setup = Setup { dwcs: root.dwcs, intserv: root.intserv, ..Setup::new(root.rate, self.longest) };
        let leaves = || self.class_of_leaf.iter().map(|&class| &self.of_class[class as usize]);
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
        if self.nodes.len() == of_classes.nodes.len() {
            return self.scheduler().map(drop).map_err(|refused| (self, refused));
        }
        AnyScheduler::tree(of_classes.longest, &of_classes.nodes, of_classes.leaves(), |leaf| *of_classes.leaf(leaf))
            .map_err(|error| (of_classes, Refused::Tree(error)))?;
        let mut queues = vec![0; self.places.len()];
        self.class_of_leaf.iter().for_each(|&class| queues[class as usize] += 1);
        for (index, (node, member)) in self.nodes.iter().zip(&self.members).enumerate() {
            let Some(Member::Class(class)) = *member else { continue };
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
    pub fn leaf(&self, leaf: usize) -> &LeafSpec {
        &self.of_class[self.class(leaf)]
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
        let mut nodes = Vec::with_capacity(1 + self.order.len() + with_node);
        nodes.push(NodeSpec { dwcs: self.root.options.dwcs, intserv: self.root.options.intserv, ..root });
        let mut members = Vec::with_capacity(nodes.capacity());
        members.push(None);
        for &group in &self.order {
            let (given, choice) = &self.groups[group];
            let rate = self.shared[slot(Some(group))].value;
            let node = NodeSpec::new(Some(index_of(given.parent)), choice.kind, rate, self.parameters(given));
            nodes.push(NodeSpec { dwcs: choice.options.dwcs, intserv: choice.options.intserv, shape: given.shape, ..node });
            members.push(Some(Member::Group(group)));
        }
        let mut of_class = Vec::with_capacity(self.classes.len());
        let mut class_of_leaf = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let parent = index_of(class.given.parent);
            let parameters = self.parameters(&class.given);
            let mut leaf = LeafSpec { parent, parameters, shape: class.given.shape };
            let queues = queues(class);
            if class.has_node() && queues > 1 {
                let rate = self.rate_of_queues(index);
                let node = NodeSpec::new(Some(parent), class.queue_scheduler, rate, parameters);
                nodes.push(NodeSpec { shape: class.given.shape, queue: class.options, ..node });
                members.push(Some(Member::Class(index)));
                leaf = LeafSpec { parent: nodes.len() - 1, parameters: FlowParameters::default(), shape: None };
            }
            of_class.push(leaf);
            class_of_leaf.resize(class_of_leaf.len() + queues as usize, index as u32);
        }
        let places = self.classes.iter().map(|class| class.places).collect();
        Parts { nodes, of_class, class_of_leaf, members, places, overhead: self.overhead, longest: self.longest }
    }
}
