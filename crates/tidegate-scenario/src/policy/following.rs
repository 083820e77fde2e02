//! A policy that follows another at a running port.

use super::Policy;
use crate::tree::Member;
use std::collections::HashMap;

/// What a node of the scheduling tree is called: the link, a group, or a class of several queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NodeName<'a> {
    Link,
    Group(&'a str),
    Class(&'a str),
}

impl Policy {
    /// Why a port that runs `before` cannot take this policy at an instant of `[[change]]`, and what to do instead.
    pub(crate) fn cannot_follow(&self, before: &Policy) -> Option<(&'static str, &'static str)> {
        if before.workers.is_some() || self.workers.is_some() {
            return Some((
                "policies of several `workers` do not change by `[[change]]`",
                "remove it, or `workers`; `tidegate ctl` changes a running bridge",
            ));
        }
        self.cannot_run_after(before)
    }

    fn cannot_run_after(&self, before: &Policy) -> Option<(&'static str, &'static str)> {
        if before.adapter.is_some() || self.adapter.is_some() {
            Some(("a port with `cells` cannot change while it runs", "change the policies of ports for packets"))
        } else if self.longest_frame < before.longest_frame {
            Some(("`longest_frame` cannot become shorter while longer frames may be queued", "give the policy the longer one"))
        } else if before.link.rates.is_some() && self.rate != before.rate {
            Some(("the rate of the link varies while the policy stays the same", "write another step of `rates`"))
        } else if self.link != before.link {
            Some(("the link behind the port cannot change while the port runs", "change the rate of the policy, or its classes"))
        } else {
            None
        }
    }

    /// This policy for a port that runs `before`, as which it goes on. Classes stay with the workers that have them.
    ///
    /// # Errors
    /// One sentence that says why the port cannot take it while it runs.
    pub fn following(mut self, before: &Policy) -> Result<Policy, String> {
        if let Some((problem, help)) = self.cannot_run_after(before) {
            return Err(format!("policy `{}`: {problem}\n  {help}", self.name));
        }
        if let Err(problem) = self.stay_divided(before) {
            return Err(format!("policy `{}`: {problem}\n  start with the new policy", self.name));
        }
        self.continue_from(before);
        Ok(self)
    }

    /// Lets the port of this policy continue that of `before`: nodes of the scheduling tree that have the same name go on.
    pub(crate) fn continue_from(&mut self, before: &Policy) {
        let places: HashMap<NodeName<'_>, usize> = before.nodes().zip(0..).collect();
        let continued = self.nodes().map(|node| places.get(&node).copied()).collect();
        self.continued = continued;
    }

    /// The names of the nodes of the scheduling tree.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeName<'_>> {
        self.parts.members.iter().map(|member| match *member {
            None => NodeName::Link,
            Some(Member::Group(group)) => NodeName::Group(&self.groups[group].name),
            Some(Member::Class(class)) => NodeName::Class(&self.classes[class].name),
        })
    }
}
