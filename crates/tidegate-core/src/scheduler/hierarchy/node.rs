//! The records of a hierarchy: one per inner node, and one per member of a node.

use super::node_scheduler::NodeScheduler;
use crate::packet::Head;
use alloc::vec::Vec;

/// The fields before the scheduler share a cache line with the fields that a scheduler reads first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Node<S> {
    pub(super) first_child: u32,
    /// The number of children that its scheduler holds for backlogged.
    pub(super) backlogged: u32,
    /// The number of children that its scheduler holds for suspended.
    pub(super) suspended: u32,
    /// A packet from below is being transmitted.
    pub(super) in_service: bool,
    pub(super) news: News,
    /// It is on the waiting list because its own scheduler waits, not because of its contract.
    pub(super) scheduler_waits: bool,
    pub(super) scheduler: NodeScheduler<S>,
}

impl<S> Node<S> {
    /// True if nothing below it is known to its scheduler.
    pub(super) fn is_idle(&self) -> bool {
        let is_silent = self.backlogged == 0 && self.suspended == 0 && !self.in_service && self.news == News::None;
        is_silent && self.scheduler.is_idle()
    }
}

/// What has changed at a node since its scheduler was last asked. A node with any news is among the unsettled ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    None,
    /// The child in this place has become backlogged, and nothing else.
    Came(u32),
    /// A child has become backlogged and has been withdrawn again: as if nothing had happened.
    WentAgain,
    /// Something else, or more.
    Some,
}

/// A node or a leaf, as a child of the node above; one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Child {
    /// What it has to send, or last had: of a leaf its head; of a node its winner's, or any other below it until it is settled.
    pub(super) head: Head,
    /// The node above.
    pub(super) parent: u32,
    /// The position among that node's children.
    pub(super) place: u32,
    /// The index of its allowance, or [`UNSHAPED`].
    pub(super) allowance: u32,
    /// Of a leaf: the sibling that had its turn some turns after it in the last round.
    pub(super) later: u32,
    /// Backlogged in the eyes of the scheduler above.
    pub(super) presented: bool,
    /// On the waiting list; never while presented.
    pub(super) waits: bool,
    /// It, or what is below it, has more to send but may not yet: the scheduler above keeps what its turn has left.
    pub(super) suspended: bool,
    /// A leaf that is not in the tree. Its parent and place are those that it last had.
    pub(super) vacant: bool,
}

/// The places of nodes, which only changes of the tree look at.
#[derive(Clone, Debug)]
pub(in crate::scheduler) struct Plan {
    /// Of each node: the node of the tree before that it continues, or [`NO_NODE`](crate::scheduler::tree_matches::NO_NODE).
    pub(in crate::scheduler) was: Vec<u32>,
    /// Of each node: the number of its places that no child has.
    pub(in crate::scheduler) vacancies: Vec<u32>,
    /// A stack of those places for each node, in its part of a table like that of children.
    pub(in crate::scheduler) vacant_places: Vec<u32>,
}

impl Plan {
    /// A free place of `node`, whose part of the table of children begins at `first_child`.
    pub(in crate::scheduler) fn take_place(&mut self, node: usize, first_child: u32) -> Option<u32> {
        let vacancies = self.vacancies[node].checked_sub(1)?;
        self.vacancies[node] = vacancies;
        Some(self.vacant_places[(first_child + vacancies) as usize])
    }

    /// A place of `node` is free again.
    pub(in crate::scheduler) fn give_place(&mut self, node: usize, first_child: u32, place: u32) {
        self.vacant_places[(first_child + self.vacancies[node]) as usize] = place;
        self.vacancies[node] += 1;
    }
}

/// Stands in [`Child::allowance`] for the absence of a contract.
pub(super) const UNSHAPED: u32 = u32::MAX;
