//! The policies of a port that changes while it runs, one after the other, and what all of them share.

use crate::policy::Policy;
use crate::tree::Parts;
use tidegate_core::registry::SchedulerKind;

/// The policies of one port.
pub(super) struct Transitions<'a> {
    /// In the order of their instants; the first holds at the start.
    pub states: Vec<&'a Policy>,
    /// The number of classes that stay: the first of every policy. Each gets the same packets under all of them, and no packet moves out of it or into it.
    pub stay: usize,
    /// True if all policies schedule alike: at most the rate of the link is another, under schedulers that do not know it.
    pub is_steady: bool,
}

impl<'a> Transitions<'a> {
    /// Of these policies, at least one.
    pub(super) fn of(states: Vec<&'a Policy>) -> Transitions<'a> {
        let pairs = || states.windows(2).map(|pair| (pair[0], pair[1]));
        let all = states[0].classes.len();
        let stay = pairs().map(|(one, next)| one.classifier().first_difference(next.classifier())).min().unwrap_or(all).min(all);
        let is_steady = pairs().all(|(one, next)| (one.classes.len(), next.classes.len()) == (stay, stay) && schedules_alike(one, next));
        Transitions { stay, is_steady, states }
    }

    /// True if a class stays, and its policer with it, which goes on with the tokens that it has.
    pub(super) fn keeps_policer(&self, class: usize) -> bool {
        let contract = |policy: &Policy| policy.classes[class].police.as_ref().map(|policing| (policing.kind, policing.contract));
        class < self.stay && self.states.windows(2).all(|pair| contract(pair[0]) == contract(pair[1]))
    }
}

/// True if two policies have the same scheduling tree, whose state goes on: apart from the rate of the link, if no scheduler depends on it.
fn schedules_alike(one: &Policy, other: &Policy) -> bool {
    let has_same_lengths = (one.overhead, one.longest_frame) == (other.overhead, other.longest_frame);
    let (own, others) = (&one.parts, &other.parts);
    let knows_no_rate = |kind| {
        use SchedulerKind::{DeficitRoundRobin, Fifo, StrictPriority, WeightedRoundRobin};
        matches!(kind, Fifo | StrictPriority | WeightedRoundRobin | DeficitRoundRobin)
    };
    let classes = |parts: &Parts| (0..one.classes.len()).map(|class| parts.leaf_of_class(class)).collect::<Vec<_>>();
    let nodes = |parts: &Parts| (0..parts.nodes()).map(|node| parts.node(node)).collect::<Vec<_>>();
    let mut is_by_order = classes(own).iter().all(|leaf| leaf.shape.is_none());
    is_by_order &= nodes(own).iter().all(|node| node.shape.is_none() && knows_no_rate(node.scheduler));
    let without_rates = |parts: &Parts| {
        let mut nodes = nodes(parts);
        nodes.iter_mut().for_each(|node| {
            if is_by_order {
                node.rate = one.rate
            }
        });
        nodes
    };
    has_same_lengths
        && own.class_of_leaf == others.class_of_leaf
        && classes(own) == classes(others)
        && without_rates(own) == without_rates(others)
        && (is_by_order || one.rate == other.rate)
}
