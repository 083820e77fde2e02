//! Leaves that come, change and go while the tree carries packets, and nodes that change.
//!
//! Each call concerns one member and the scheduler of the node above it, and allocates nothing. Adding or removing a node needs a new tree, which
//! takes over from this one.

use super::Hierarchy;
use super::node::{News, UNSHAPED};
use super::tree::{HierarchyError, LeafSpec, Member};
use crate::packet::Flow;
use crate::scheduler::tree_matches::ROOT;
use crate::scheduler::{BuildError, FlowParameters, Parameter, Scheduler};
use crate::shaper::{Allowance, ShapingContract, refused};
use crate::units::Time;

impl<S: Scheduler> Hierarchy<S> {
    /// Puts a leaf below a node: `flow` is a vacant place of the tree. Its bucket is full. An error changes nothing.
    ///
    /// # Errors
    /// [`HierarchyError`] if the flow is not vacant, if the parent does not exist or has no place left, or for a contract or parameters that are
    /// wrong.
    pub fn fill(&mut self, now: Time, flow: Flow, leaf: &LeafSpec) -> Result<(), HierarchyError> {
        let member = self.leaf(flow);
        if !self.members.get(member).is_some_and(|child| child.vacant) {
            return Err(HierarchyError::NotVacant(flow));
        }
        let first_child = self.nodes.get(leaf.parent).ok_or(HierarchyError::Parent(Member::Leaf(flow)))?.first_child;
        let allowance = Allowance::at(now, leaf.shape.as_ref()).map_err(|error| HierarchyError::Shape(Member::Leaf(flow), error))?;
        let place = self.plan.take_place(leaf.parent, first_child).ok_or(HierarchyError::Full(leaf.parent))?;
        let at = (first_child + place) as usize;
        let before = core::mem::replace(&mut self.children[at], member as u32);
        if let Err(error) = self.change_below(now, leaf.parent, place, &leaf.parameters) {
            self.children[at] = before;
            self.plan.give_place(leaf.parent, first_child, place);
            return Err(error);
        }
        let child = &mut self.members[member];
        (child.parent, child.place, child.vacant) = (leaf.parent as u32, place, false);
        self.keep_contract(member, allowance, leaf.shape.is_some());
        Ok(())
    }

    /// The parameters of a node for the scheduler of the node above, and the contract of all packets below it, are these from now on. The
    /// parameters of the root are not used. An error changes nothing.
    ///
    /// # Errors
    /// [`HierarchyError`] if there is no such node, or for a contract or parameters that are wrong.
    pub fn change_node(
        &mut self,
        now: Time,
        node: usize,
        parameters: &FlowParameters,
        shape: Option<&ShapingContract>,
    ) -> Result<(), HierarchyError> {
        if node >= self.nodes.len() {
            return Err(HierarchyError::Parent(Member::Node(node)));
        }
        self.change_member(now, node, parameters, shape)
    }

    /// The contract of all packets below a node is this from now on, whose parameters stay. An error changes nothing.
    ///
    /// # Errors
    /// [`HierarchyError`] if there is no such node, or for a contract that is wrong.
    pub fn limit_node(&mut self, now: Time, node: usize, shape: &ShapingContract) -> Result<(), HierarchyError> {
        if node >= self.nodes.len() {
            return Err(HierarchyError::Parent(Member::Node(node)));
        }
        let allowance = Allowance::at(now, Some(shape)).map_err(|error| HierarchyError::Shape(Member::Node(node), error))?;
        self.change_contract(now, node, allowance, true);
        Ok(())
    }

    /// The same for a leaf. One that is not in the tree comes below the root.
    pub(super) fn change_leaf(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let member = self.leaf(flow);
        let changed = if self.members.get(member).is_none_or(|child| child.vacant) {
            self.fill(now, flow, &LeafSpec { parent: ROOT, parameters: *parameters, shape: parameters.shape })
        } else {
            self.change_member(now, member, parameters, parameters.shape.as_ref())
        };
        changed.map_err(|error| of_flow(flow, &error))
    }

    /// A leaf leaves, which has nothing to send.
    pub(super) fn remove_leaf(&mut self, now: Time, flow: Flow) {
        let member = self.leaf(flow);
        let child = &mut self.members[member];
        debug_assert!(!child.presented && !child.waits && !child.suspended, "flow {} leaves, but it is backlogged", flow.0);
        child.vacant = true;
        let (parent, place) = (child.parent as usize, child.place);
        let node = &mut self.nodes[parent];
        node.scheduler.forget(now, Flow(place));
        self.plan.give_place(parent, node.first_child, place);
    }

    fn change_member(
        &mut self,
        now: Time,
        member: usize,
        parameters: &FlowParameters,
        shape: Option<&ShapingContract>,
    ) -> Result<(), HierarchyError> {
        let allowance = Allowance::at(now, shape).map_err(|error| HierarchyError::Shape(self.name(member), error))?;
        if member != ROOT {
            let child = self.members[member];
            self.change_below(now, child.parent as usize, child.place, parameters)?;
        }
        self.change_contract(now, member, allowance, shape.is_some());
        Ok(())
    }

    /// A member keeps this contract from now on, or none, with the tokens that it has.
    fn change_contract(&mut self, now: Time, member: usize, mut allowance: Allowance, is_shaped: bool) {
        let child = self.members[member];
        let mut release = now;
        if child.allowance != UNSHAPED {
            let old = &self.allowances[child.allowance as usize];
            release = old.release();
            allowance.adopt(now, old);
        }
        self.keep_contract(member, allowance, is_shaped);
        let is_held_by_contract = child.waits && self.nodes.get(member).is_none_or(|node| !node.scheduler_waits);
        if is_held_by_contract && allowance.release() != release {
            self.stop_waiting(member);
            self.wait(member, allowance.release());
        }
    }

    /// Changes the parameters of a child for the scheduler of its node.
    fn change_below(&mut self, now: Time, node: usize, place: u32, parameters: &FlowParameters) -> Result<(), HierarchyError> {
        let parameters = FlowParameters { shape: None, ..*parameters };
        let changed = self.nodes[node].scheduler.change(now, Flow(place), &parameters);
        if let Err(BuildError { flow, parameter, problem }) = changed {
            let child = flow.map(|place| self.name(self.child(node, place)));
            return Err(HierarchyError::Parameters { node, child, parameter, problem });
        }
        // A scheduler that waits may have to wait less.
        if core::mem::take(&mut self.nodes[node].scheduler_waits) {
            self.stop_waiting(node);
            self.unsettle(node, News::Some);
            self.present(now, node, self.members[node].head);
        }
        Ok(())
    }

    /// A member is shaped from now on if it `is_shaped` or was.
    fn keep_contract(&mut self, member: usize, allowance: Allowance, is_shaped: bool) {
        let index = self.members[member].allowance;
        if index != UNSHAPED {
            self.allowances[index as usize] = allowance;
        } else if is_shaped {
            self.members[member].allowance = self.allowances.len() as u32;
            self.allowances.push(allowance);
        }
    }

    fn name(&self, member: usize) -> Member {
        member.checked_sub(self.nodes.len()).map_or(Member::Node(member), |leaf| Member::Leaf(Flow(leaf as u32)))
    }
}

/// The error as one of a scheduler whose flows are the leaves.
pub(in crate::scheduler) fn of_flow(flow: Flow, error: &HierarchyError) -> BuildError {
    let problem = match *error {
        HierarchyError::Shape(_, error) => return refused(flow, &error),
        HierarchyError::Parameters { child, parameter, problem, .. } => {
            let flow = child.and_then(|child| if let Member::Leaf(flow) = child { Some(flow) } else { None });
            return BuildError { flow, parameter, problem };
        }
        HierarchyError::Full(_) => "all places below the root are taken; build the tree with a higher capacity",
        _ => "it is beyond the capacity of the tree",
    };
    BuildError { flow: Some(flow), parameter: Parameter::Rate, problem }
}
