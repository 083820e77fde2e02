//! The queues that flows pass, numbered as they are met; queues that one first-in first-out scheduler serves are one.
//!
//! A port whose policy changes has several policies, one after the other. Its queues are those of the first; the queues of a class are one.

use super::transitions::Transitions;
use crate::broker::all_keep_to_what_they_declare;
use crate::change::PolicyChange;
use crate::policy::Policy;
use std::collections::HashMap;
use tidegate_core::buffer::BufferField;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Overhead;
use tidegate_sim::{LinkId, Network};

/// A queue of a class at a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Queue {
    /// The port's link.
    pub link: LinkId,
    /// The class, by its index in the policy.
    pub class: usize,
    /// The queue among those of the class.
    pub queue: u32,
}

/// The ports of a network and the queues in use.
pub(super) struct Queues<'a> {
    /// The network.
    pub network: &'a Network,
    /// The policy of each link at first.
    pub policies: Vec<&'a Policy>,
    /// Of each link that changes, what changes.
    transitions: HashMap<LinkId, Transitions<'a>>,
    /// True if budgets of delay hold: no call may exceed what it declares, and no port that admits by budgets changes.
    pub budgets_hold: bool,
    /// The queues in use, each the first of those that it shares its place with.
    pub all: Vec<Queue>,
    number_of: HashMap<Queue, usize>,
    /// By link, true if its port is paused, or holds what others are paused for.
    pausable: Vec<bool>,
}

impl<'a> Queues<'a> {
    /// Of ports with these policies at first, and these changes; no queue is in use.
    pub(super) fn new(network: &'a Network, policies: Vec<&'a Policy>, changes: &'a [PolicyChange]) -> Queues<'a> {
        let mut states: HashMap<LinkId, Vec<&Policy>> = HashMap::new();
        for (link, policy) in changes.iter().flat_map(|change| &change.ports) {
            states.entry(*link).or_insert_with(|| vec![policies[link.0]]).push(policy);
        }
        let transitions: HashMap<LinkId, Transitions<'_>> =
            states.into_iter().map(|(link, states)| (link, Transitions::of(states))).collect();
        let has_budgets = |link: &LinkId| policies[link.0].classes.iter().any(|class| class.budget.is_some());
        let budgets_hold = network.broker.is_some() && all_keep_to_what_they_declare(network) && !transitions.keys().any(has_budgets);
        let pausable = network.pausable();
        Queues { network, policies, transitions, budgets_hold, all: Vec::new(), number_of: HashMap::new(), pausable }
    }

    /// What changes at the port of a link, if anything does.
    pub(super) fn transitions(&self, link: LinkId) -> Option<&Transitions<'a>> {
        self.transitions.get(&link)
    }

    /// The policies of a link, one after the other.
    pub(super) fn states(&self, link: LinkId) -> &[&'a Policy] {
        let first = &self.policies[link.0..=link.0];
        self.transitions(link).map_or(first, |transitions| &transitions.states)
    }

    /// The highest rate that a link has at any time, in bit/s.
    pub(super) fn highest_rate(&self, link: LinkId) -> u64 {
        let varying = self.network.links[link.0].impairment.rates.as_ref().map(|rates| rates.greatest().bits_per_second());
        self.states(link).iter().map(|policy| policy.rate.bits_per_second()).chain(varying).max().unwrap_or(0)
    }

    /// The longest frame that the port of a link accepts at any time.
    pub(super) fn longest_frame(&self, link: LinkId) -> u32 {
        self.states(link).iter().map(|policy| policy.longest_frame).max().unwrap_or(0)
    }

    /// What a link adds to a packet, at any time.
    pub(super) fn overheads(&self, link: LinkId) -> impl Iterator<Item = Overhead> {
        let later = self.states(link)[1..].iter().map(|policy| policy.overhead);
        std::iter::once(self.network.links[link.0].overhead()).chain(later)
    }

    /// The number of a queue, which is in use from now on.
    pub(super) fn number(&mut self, link: LinkId, class: usize, queue: u32) -> usize {
        let (class, queue) = self.first_shared(link, class, queue);
        let queue = Queue { link, class, queue };
        *self.number_of.entry(queue).or_insert_with(|| {
            self.all.push(queue);
            self.all.len() - 1
        })
    }

    /// The number of a queue that is in use.
    pub(super) fn find(&self, link: LinkId, class: usize, queue: u32) -> Option<usize> {
        let (class, queue) = self.first_shared(link, class, queue);
        self.number_of.get(&Queue { link, class, queue }).copied()
    }

    fn first_shared(&self, link: LinkId, class: usize, queue: u32) -> (usize, u32) {
        match self.transitions(link) {
            Some(transitions) if !transitions.is_steady => (class, 0),
            _ => first_shared(self.policies[link.0], class, queue),
        }
    }

    /// True if packets of a class may leave a port of this policy in another colour than they came in.
    pub(super) fn recolours(policy: &Policy, class: usize) -> bool {
        let of_buffers = || std::iter::once(policy.buffer.kind).chain(policy.partitions.iter().map(|partition| partition.buffer.kind));
        let of_schedulers = || std::iter::once(policy.scheduler).chain(policy.groups.iter().map(|group| group.scheduler));
        policy.classes[class].police.is_some()
            || of_buffers().any(|kind| kind.accepts().contains(&BufferField::Reserve))
            || of_schedulers().any(|kind| kind == SchedulerKind::IntegratedServices)
    }

    /// Why nothing is proven of the queues of a port, if so.
    pub(super) fn unproven(&self, link: LinkId) -> Option<&'static str> {
        let of = &self.network.links[link.0];
        if !self.network.failures.is_empty() || !self.network.reroutes.is_empty() {
            Some(SEVERAL_PATHS)
        } else if of.cells {
            Some("packets contend there as cells")
        } else if of.admission.is_some() {
            Some("it admits calls, and its rates change with them")
        } else if self.policies[link.0].workers.is_some() {
            Some("several workers share its link, at rates that follow what they report")
        } else if of.impairment.rates.is_some() {
            Some("the rate of its link varies")
        } else if of.impairment.disturbance.is_some() {
            Some("packets pass its link late or twice")
        } else if self.pausable[link.0] {
            Some("pauses stop it, or ports before it")
        } else {
            None
        }
    }

    /// The name of a queue in messages.
    pub(super) fn name(&self, queue: usize) -> String {
        let Queue { link, class, .. } = self.all[queue];
        let shares = |other: usize| other != class && self.find(link, other, 0) == Some(queue);
        if (0..self.policies[link.0].classes.len()).any(shares) {
            return format!("the queue of link `{}`", self.network.links[link.0].name);
        }
        format!("class `{}` at link `{}`", self.policies[link.0].classes[class].name, self.network.links[link.0].name)
    }
}

/// Why nothing is proven where flows take several paths.
pub(crate) const SEVERAL_PATHS: &str =
    "links fail, or packets of a flow take several paths, and delays are proven for one path of each flow";

/// The classes whose packets are in this queue: several if one first-in first-out scheduler serves them.
pub(crate) fn sharing(policy: &Policy, class: usize, queue: u32) -> Vec<usize> {
    let is_here = |&other: &usize| first_shared(policy, other, if other == class { queue } else { 0 }) == (class, queue);
    (0..policy.classes.len()).filter(is_here).collect()
}

/// The first of the queues that are served in the order of arrival together with this one.
fn first_shared(policy: &Policy, class: usize, queue: u32) -> (usize, u32) {
    let own = &policy.classes[class];
    if own.places || policy.adapter.is_some() || own.queues > 1 && own.queue_scheduler != SchedulerKind::Fifo {
        return (class, queue);
    }
    // A class of one queue, or of queues in one order.
    if own.shape.is_some() {
        return (class, 0);
    }
    // Only a node that serves nothing but such classes has one order for all of them.
    let scheduler = own.parent.map_or(policy.scheduler, |group| policy.groups[group].scheduler);
    let is_plain = |other: &crate::policy::Class| !other.places && other.queues == 1 && other.shape.is_none();
    let classes = || policy.classes.iter().enumerate().filter(|(_, other)| other.parent == own.parent);
    let has_groups = policy.groups.iter().any(|group| group.parent == own.parent);
    if scheduler != SchedulerKind::Fifo || has_groups || !classes().all(|(_, other)| is_plain(other)) {
        return (class, 0);
    }
    (classes().next().map_or(class, |(first, _)| first), 0)
}
