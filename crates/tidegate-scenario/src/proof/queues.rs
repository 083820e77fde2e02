//! The queues that flows pass, numbered as they are met; queues that one first-in first-out scheduler serves are one.

use crate::change::PolicyChange;
use crate::policy::Policy;
use std::collections::HashMap;
use tidegate_core::buffer::BufferField;
use tidegate_core::registry::SchedulerKind;
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
    /// The policy of each link.
    pub policies: Vec<&'a Policy>,
    /// The highest rate that each link has at any time, in bit/s.
    pub highest_rates: Vec<u64>,
    /// The queues in use, each the first of those that it shares its place with.
    pub all: Vec<Queue>,
    number_of: HashMap<Queue, usize>,
}

impl<'a> Queues<'a> {
    /// Of ports with these policies, and their rates after changes; no queue is in use.
    pub(super) fn new(network: &'a Network, policies: Vec<&'a Policy>, changes: &[PolicyChange]) -> Queues<'a> {
        let mut highest_rates: Vec<u64> = network.links.iter().map(|link| link.port.rate.bits_per_second()).collect();
        for (link, port) in changes.iter().flat_map(|change| &change.ports) {
            highest_rates[link.0] = highest_rates[link.0].max(port.rate.bits_per_second());
        }
        Queues { network, policies, highest_rates, all: Vec::new(), number_of: HashMap::new() }
    }

    /// The number of a queue, which is in use from now on.
    pub(super) fn number(&mut self, link: LinkId, class: usize, queue: u32) -> usize {
        let (class, queue) = first_shared(self.policies[link.0], class, queue);
        let queue = Queue { link, class, queue };
        *self.number_of.entry(queue).or_insert_with(|| {
            self.all.push(queue);
            self.all.len() - 1
        })
    }

    /// The number of a queue that is in use.
    pub(super) fn find(&self, link: LinkId, class: usize, queue: u32) -> Option<usize> {
        let (class, queue) = first_shared(self.policies[link.0], class, queue);
        self.number_of.get(&Queue { link, class, queue }).copied()
    }

    /// True if packets of a class may leave the port in another colour than they came in.
    pub(super) fn recolours(&self, link: LinkId, class: usize) -> bool {
        let (port, policy) = (&self.network.links[link.0].port, self.policies[link.0]);
        let of_buffers = || std::iter::once(policy.buffer.kind).chain(policy.partitions.iter().map(|partition| partition.buffer.kind));
        let of_schedulers = || std::iter::once(policy.scheduler).chain(policy.groups.iter().map(|group| group.scheduler));
        port.policers[class].is_some()
            || of_buffers().any(|kind| kind.accepts().contains(&BufferField::Reserve))
            || of_schedulers().any(|kind| kind == SchedulerKind::IntegratedServices)
    }

    /// Why nothing is proven of the queues of a port, if so.
    pub(super) fn unproven(&self, link: LinkId) -> Option<&'static str> {
        let of = &self.network.links[link.0];
        if of.cells {
            Some("packets contend there as cells")
        } else if of.adapter.is_some() {
            Some("a cell scheduler serves it")
        } else if of.admission.is_some() {
            Some("it admits calls, and its rates change with them")
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
