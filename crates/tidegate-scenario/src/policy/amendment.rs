//! What differs between two policies of a port that have the same classes, rules, queues and nodes: a port goes from one to the other without a switch.

use super::{Class, Group, Policy};
use crate::buffer::flow_limit;
use crate::tree::Parts;
use std::cmp::Reverse;
use tidegate_core::buffer::{BufferField, FlowShare};
use tidegate_core::packet::Flow;
use tidegate_core::port::Amendment;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, Member, NodeSpec};
use tidegate_core::shaper::ShapingContract;

/// The schedulers that do not use the rate that they share.
const WITHOUT_RATE: [SchedulerKind; 7] = [
    SchedulerKind::Fifo,
    SchedulerKind::StrictPriority,
    SchedulerKind::DeficitRoundRobin,
    SchedulerKind::WeightedRoundRobin,
    SchedulerKind::SparseRoundRobin,
    SchedulerKind::HostRoundRobin,
    SchedulerKind::DualQueue,
];

impl Policy {
    /// What a port that runs `before` changes to run this policy; `None` if more differs than parameters of classes and groups, so that the port has to
    /// switch.
    pub fn amendment(&self, before: &Policy) -> Option<Amendment> {
        if !self.is_built_like(before) {
            return None;
        }
        let mut amendment = Amendment { members: self.other_members(before), ..Amendment::default() };
        // The shared buffer, if there is one, is the first.
        let shared_buffers = u32::from(self.classes.iter().any(|class| class.partition.is_none()));
        for (index, (class, old)) in self.classes.iter().zip(before.classes.iter()).enumerate() {
            if (class.limit, class.reserve) != (old.limit, old.reserve) {
                let share = FlowShare {
                    partition: class.partition.map_or(0, |partition| partition as u32 + shared_buffers),
                    limit: class.limit.map(flow_limit).unwrap_or_default(),
                    reserve: class.reserve.and_then(|bytes| u32::try_from(bytes).ok()),
                    guarantee: None,
                };
                amendment.shares.extend(self.flows(index).map(|flow| (flow, share)));
            }
            let contract = |class: &Class| class.police.as_ref().map(|police| (police.kind, police.contract));
            if contract(class) != contract(old) {
                amendment.policers.push((index, self.setup.policers.get(index).cloned().flatten()));
            }
            if class.aqm != old.aqm {
                amendment.aqms.push((index, self.aqm(class)));
            }
        }
        amendment.remarks = (self.remarks() != before.remarks()).then(|| self.remarks().clone());
        Some(amendment)
    }

    /// True if nothing differs but parameters that change one by one.
    fn is_built_like(&self, before: &Policy) -> bool {
        fn all_alike<T>(new: &[T], old: &[T], alike: impl Fn(&T, &T) -> bool) -> bool {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| alike(new, old))
        }
        let port =
            |policy: &Policy| (policy.rate, policy.overhead, policy.longest_frame, policy.packet_limit, policy.setup.seed, policy.buffer);
        let class = |class: &Class| (class.parent, class.queues, class.queue_scheduler, class.spread, class.places, class.partition);
        let group = |group: &Group| (group.parent, group.scheduler);
        let has_aqm = |policy: &Policy| policy.classes.iter().any(|class| class.aqm.is_some());
        let is_shaped = |policy: &Policy| (0..policy.classes.len()).any(|class| policy.parts.leaf_of_class(class).shape.is_some());
        let is_flat = self.parts.nodes() == 1;
        // Minimum rates of queues are not among what is kept of a class.
        let by_rates = |policy: &Policy| {
            let partitions = policy.partitions.iter().map(|partition| partition.buffer.kind);
            partitions.chain([policy.buffer.kind]).any(|kind| kind.accepts().contains(&BufferField::Guarantees))
        };
        port(self) == port(before)
            && self.link == before.link
            && self.partitions == before.partitions
            && self.adapter.is_none()
            && before.adapter.is_none()
            && !by_rates(self)
            && has_aqm(self) == has_aqm(before)
            && (!is_flat || is_shaped(self) == is_shaped(before))
            && self.nodes().eq(before.nodes())
            && (0..self.parts.nodes()).all(|node| nodes_alike(&self.parts.node(node), &before.parts.node(node)))
            && all_alike(&self.classes, &before.classes, |new, old| new.name == old.name && class(new) == class(old))
            && all_alike(&self.groups, &before.groups, |new, old| new.name == old.name && group(new) == group(old))
            && (0..self.classes.len()).all(|class| self.parts.leaf_of_class(class).parent == before.parts.leaf_of_class(class).parent)
            && self.classifier().first_difference(before.classifier()) == self.classes.len()
    }

    /// The members of the tree with other parameters or contracts, those that claim less than before first.
    fn other_members(&self, before: &Policy) -> Vec<(Member, FlowParameters)> {
        let mut members = Vec::new();
        let mut add = |member: Member, new: (FlowParameters, Option<ShapingContract>), old: (FlowParameters, Option<ShapingContract>)| {
            if new != old {
                let claim = |parameters: FlowParameters| (parameters.rate, parameters.weight);
                let claims_less = claim(new.0) < claim(old.0);
                members.push((claims_less, member, FlowParameters { shape: new.1, ..new.0 }));
            }
        };
        for index in 0..self.parts.nodes() {
            let of = |parts: &Parts| (*parts.parameters_of_node(index), parts.node(index).shape);
            add(Member::Node(index), of(&self.parts), of(&before.parts));
        }
        for class in 0..self.classes.len() {
            let of = |parts: &Parts| (parts.leaf_of_class(class).parameters, parts.leaf_of_class(class).shape);
            let (new, old) = (of(&self.parts), of(&before.parts));
            if new != old {
                self.flows(class).for_each(|flow| add(Member::Leaf(flow), new, old));
            }
        }
        members.sort_by_key(|&(claims_less, ..)| Reverse(claims_less));
        members.into_iter().map(|(_, member, parameters)| (member, parameters)).collect()
    }

    /// The queues of a class.
    fn flows(&self, class: usize) -> impl Iterator<Item = Flow> + use<> {
        let class = &self.classifier().classes()[class];
        (class.first_flow.0..class.first_flow.0 + class.queues).map(Flow)
    }
}

/// True if two nodes differ in nothing but what the node above knows of them, and their contracts.
fn nodes_alike(new: &NodeSpec, old: &NodeSpec) -> bool {
    let rate = if WITHOUT_RATE.contains(&new.scheduler) { old.rate } else { new.rate };
    *old == NodeSpec { rate, parameters: old.parameters, shape: old.shape, was: old.was, ..*new }
}
