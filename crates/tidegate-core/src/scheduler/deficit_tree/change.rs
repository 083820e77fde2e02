//! Leaves that come, change and go while the tree carries packets, and nodes that change. Nothing is allocated.

use super::build::tree_member;
use super::member::Contract;
use super::ring::Ring;
use super::{DeficitTree, NO_MEMBER, VACANT};
use crate::packet::Flow;
use crate::ready::ReadyList;
use crate::scheduler::deficit_turns::DeficitTurns;
use crate::scheduler::hierarchy::of_flow;
use crate::scheduler::tree_matches::ROOT;
use crate::scheduler::{BuildError, FlowParameters, HierarchyError, LeafSpec, Member, weight_of};
use crate::shaper::{Allowance, ShapingContract};
use crate::units::Time;

impl DeficitTree {
    /// Puts a leaf below a node, as [`Hierarchy::fill`](crate::scheduler::Hierarchy::fill) does.
    ///
    /// # Errors
    /// As there.
    pub fn fill(&mut self, now: Time, flow: Flow, leaf: &LeafSpec) -> Result<(), HierarchyError> {
        let member = self.leaf(flow);
        if self.plan.place.get(member).is_none_or(|&place| place != VACANT) {
            return Err(HierarchyError::NotVacant(flow));
        }
        if leaf.parent >= self.nodes.len() {
            return Err(HierarchyError::Parent(Member::Leaf(flow)));
        }
        let allowance = Allowance::at(now, leaf.shape.as_ref()).map_err(|error| HierarchyError::Shape(Member::Leaf(flow), error))?;
        let first_child = self.plan.first_child[leaf.parent];
        if self.plan.places.vacancies[leaf.parent] == 0 {
            return Err(HierarchyError::Full(leaf.parent));
        }
        let weight = self.weight(leaf.parent, member, &leaf.parameters)?;
        let Some(place) = self.plan.places.take_place(leaf.parent, first_child) else { return Err(HierarchyError::Full(leaf.parent)) };
        self.plan.children[(first_child + place) as usize] = member as u32;
        self.plan.place[member] = place;
        self.members[member].parent = leaf.parent as u32;
        self.set_weight(member, weight);
        self.keep_contract(member, &allowance, leaf.shape.is_some());
        Ok(())
    }

    /// The parameters and the contract of a node are these from now on, as [`Hierarchy::change_node`](crate::scheduler::Hierarchy::change_node)
    /// says.
    ///
    /// # Errors
    /// As there.
    pub fn change_node(
        &mut self,
        now: Time,
        node: usize,
        parameters: &FlowParameters,
        shape: Option<&ShapingContract>,
    ) -> Result<(), HierarchyError> {
        let is_known = node < self.nodes.len();
        if is_known { self.change_member(now, node, parameters, shape) } else { Err(HierarchyError::Parent(Member::Node(node))) }
    }

    /// The contract of all packets below a node is this from now on, as [`Hierarchy::limit_node`](crate::scheduler::Hierarchy::limit_node) says.
    ///
    /// # Errors
    /// As there.
    pub fn limit_node(&mut self, now: Time, node: usize, shape: &ShapingContract) -> Result<(), HierarchyError> {
        if node >= self.nodes.len() {
            return Err(HierarchyError::Parent(Member::Node(node)));
        }
        let allowance = Allowance::at(now, Some(shape)).map_err(|error| HierarchyError::Shape(Member::Node(node), error))?;
        self.change_contract(now, node, allowance, true);
        Ok(())
    }

    /// The same as [`DeficitTree::change_node`] for a leaf. One that is not in the tree comes below the root.
    pub(super) fn change_leaf(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let member = self.leaf(flow);
        let changed = if self.plan.place.get(member).is_none_or(|&place| place == VACANT) {
            self.fill(now, flow, &LeafSpec { parent: ROOT, parameters: *parameters, shape: parameters.shape })
        } else {
            self.change_member(now, member, parameters, parameters.shape.as_ref())
        };
        changed.map_err(|error| of_flow(flow, &error))
    }

    /// A leaf leaves, which has nothing to send.
    pub(super) fn remove_leaf(&mut self, flow: Flow) {
        let member = self.leaf(flow);
        let record = &self.members[member];
        debug_assert!(!record.presented && !record.waits && !record.suspended, "flow {} leaves, but it is backlogged", flow.0);
        let parent = record.parent as usize;
        self.nodes[parent].ring.forget(&mut self.members, member as u32);
        let (place, first_child) = (self.plan.place[member], self.plan.first_child[parent]);
        self.plan.children[(first_child + place) as usize] = NO_MEMBER;
        self.weights_changed(parent, place, None);
        self.plan.places.give_place(parent, first_child, place);
        self.plan.place[member] = VACANT;
    }

    fn change_member(
        &mut self,
        now: Time,
        member: usize,
        parameters: &FlowParameters,
        shape: Option<&ShapingContract>,
    ) -> Result<(), HierarchyError> {
        let name = tree_member(self.nodes.len(), member);
        let allowance = Allowance::at(now, shape).map_err(|error| HierarchyError::Shape(name, error))?;
        if member != ROOT {
            let weight = self.weight(self.members[member].parent as usize, member, parameters)?;
            if weight != self.members[member].weight {
                self.set_weight(member, weight);
            }
        }
        self.change_contract(now, member, allowance, shape.is_some());
        Ok(())
    }

    /// A member keeps this contract from now on, or none, with the tokens that it has.
    fn change_contract(&mut self, now: Time, member: usize, mut allowance: Allowance, is_shaped: bool) {
        let release = |tree: &DeficitTree| tree.allowance_of(member).map_or(now, |allowance| allowance.release());
        let before = release(self);
        if let Some(old) = self.allowance_of(member) {
            allowance.adopt(now, &old);
        }
        self.keep_contract(member, &allowance, is_shaped);
        // As a tree that takes over sees it: those that are due already keep the order in which they became so.
        let due = release(self);
        if self.members[member].waits && due != before {
            self.stop_waiting(member);
            self.wait(member, due);
        }
    }

    /// The weight in these parameters of a member below `node`.
    fn weight(&self, node: usize, member: usize, parameters: &FlowParameters) -> Result<u32, HierarchyError> {
        if matches!(self.nodes[node].ring, Ring::Sparse(_)) {
            return Ok(1);
        }
        weight_of(0, parameters).map_err(|BuildError { parameter, problem, .. }| {
            let child = Some(tree_member(self.nodes.len(), member));
            HierarchyError::Parameters { node, child, parameter, problem }
        })
    }

    /// The weight of a member is this one from its next quantum on.
    fn set_weight(&mut self, member: usize, weight: u32) {
        self.members[member].weight = weight;
        self.weights_changed(self.members[member].parent as usize, self.plan.place[member], Some(weight));
    }

    /// The member in this place of a node has this weight, or is gone: the least quantum is that of the least weight.
    fn weights_changed(&mut self, node: usize, place: u32, weight: Option<u32>) {
        let Ring::Deficits(turns) = &mut self.nodes[node].ring else { return };
        if turns.counts_as(&DeficitTurns::BY_PACKETS) {
            return;
        }
        let children = self.plan.first_child[node] as usize..self.plan.first_child[node + 1] as usize;
        let children = &self.plan.children[children];
        let least = match &mut self.plan.weights[node] {
            Some(weights) => {
                weights.set(place as usize, weight.map_or(u64::MAX, u64::from));
                weights.least().and_then(|(_, least)| u32::try_from(least).ok())
            }
            None => {
                let present = children.iter().filter(|&&child| child != NO_MEMBER);
                present.map(|&child| self.members[child as usize].weight).min()
            }
        };
        let Some(least) = least else { return };
        if let Some(unit) = turns.scale(self.plan.quantum, least) {
            for &child in children.iter().filter(|&&child| child != NO_MEMBER) {
                let deficit = &mut self.members[child as usize].deficit;
                *deficit = unit.converted(*deficit);
            }
        }
    }

    /// A member is shaped from now on if it `is_shaped` or was.
    pub(super) fn keep_contract(&mut self, member: usize, allowance: &Allowance, is_shaped: bool) {
        let record = &mut self.members[member];
        if record.contract != Contract::None {
            self.contracts[self.contract_of[member] as usize] = *allowance;
        } else if is_shaped {
            // Within the capacity reserved for all members.
            self.contract_of[member] = self.contracts.len() as u32;
            self.contracts.push(*allowance);
        } else {
            return;
        }
        record.keep(allowance);
    }

    pub(super) fn stop_waiting(&mut self, member: usize) {
        if core::mem::take(&mut self.members[member].waits) {
            self.waiting.remove(Flow(member as u32));
        }
    }
}
