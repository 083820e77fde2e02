//! What a division of a policy among workers says.

use super::Policy;
use tidegate_core::exchange::{Above, Workers};

impl Policy {
    /// The worker that has a class, if the policy has several.
    pub fn worker_of_class(&self, class: usize) -> Option<u32> {
        let first = self.classifier().classes().get(class)?.first_flow;
        Some(self.workers.as_ref()?.worker_of(first.index()))
    }

    /// The groups that span workers, in the order of the tree.
    pub(crate) fn spanning_groups<'a>(&'a self, workers: &'a Workers) -> impl Iterator<Item = &'a str> {
        let groups = workers.nodes.iter().skip(1).filter_map(|node| match self.parts.members[node.node] {
            Some(crate::tree::Member::Group(group)) => Some(group),
            _ => None,
        });
        groups.map(|group| self.groups[group].name.as_str())
    }
}

/// The part of the link that each worker has when everything waits and no contract binds, from 0 to 1.
pub(crate) fn parts(workers: &Workers) -> Vec<f64> {
    let members = || workers.parts.iter().filter_map(|part| if let Above::Spanning(node) = part.above { Some((node, part)) } else { None });
    let mut weights = vec![0u64; workers.nodes.len()];
    members().for_each(|(node, part)| weights[node] += u64::from(part.weight));
    workers.nodes.iter().skip(1).for_each(|node| weights[node.above] += u64::from(node.weight));
    let mut shares = vec![1.0; workers.nodes.len()];
    for (number, node) in workers.nodes.iter().enumerate().skip(1) {
        shares[number] = shares[node.above] * f64::from(node.weight) / weights[node.above].max(1) as f64;
    }
    let mut parts = vec![0.0; workers.count as usize];
    for (node, part) in members() {
        parts[part.worker as usize] += shares[node] * f64::from(part.weight) / weights[node].max(1) as f64;
    }
    parts
}
