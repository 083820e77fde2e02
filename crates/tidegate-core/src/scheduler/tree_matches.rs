//! Which members of two trees are the same, where one takes over from the other. Members are the nodes of a tree and then its leaves.

use super::{Kept, Scheduler, activate_in_order};
use crate::packet::Head;
use crate::shaper::Allowance;
use crate::units::Time;
use alloc::vec;
use alloc::vec::Vec;

/// What a tree says of its members.
pub(crate) trait TreeForm {
    /// The number of nodes.
    fn nodes(&self) -> usize;
    /// The number of nodes and leaves, vacant ones included.
    fn members(&self) -> usize;
    /// The node above a member; of the root the root.
    fn parent(&self, member: usize) -> u32;
    /// Of each node: the node of the tree before that it continues, or [`NO_NODE`].
    fn was(&self) -> &[u32];
    /// The node above the flow served last, while the nodes from there up count as in service.
    fn served(&self) -> Option<u32>;
    /// The number of contracts that there are at most.
    fn contracts(&self) -> usize;
    /// The contract of a member and its state.
    fn allowance(&self, member: usize) -> Option<Allowance>;
    /// The contract of a member that has one is this.
    fn set_allowance(&mut self, member: usize, allowance: &Allowance);
}

/// In place of a node: there is none.
pub(super) const NO_NODE: u32 = u32::MAX;

/// The index of the root among nodes and members.
pub(super) const ROOT: usize = 0;

/// Which members of two trees are the same.
pub(super) struct Matches {
    /// Of each new member, the old one.
    origins: Vec<u32>,
    /// Of each old member, the new one.
    heirs: Vec<u32>,
    /// Of each new leaf that is kept and backlogged: its number among these, from 1.
    backlogged: Vec<u32>,
    /// These leaves and their heads.
    heads: Vec<(u32, Head)>,
}

impl Matches {
    /// The matches of these trees, where these leaves are kept.
    pub(super) fn new(new: &impl TreeForm, old: &impl TreeForm, kept: &[Kept]) -> Matches {
        let (members, old_members) = (new.members(), old.members());
        let mut matches =
            Matches { origins: vec![NO_NODE; members], heirs: vec![NO_NODE; old_members], backlogged: vec![0; members], heads: Vec::new() };
        for (node, &was) in new.was().iter().enumerate() {
            // The first node that claims to continue another does.
            if (was as usize) < old.nodes() && matches.heirs[was as usize] == NO_NODE {
                (matches.origins[node], matches.heirs[was as usize]) = (was, node as u32);
            }
        }
        for &Kept { from, to, head } in kept {
            let (origin, heir) = (old.nodes() + from.index(), new.nodes() + to.index());
            (matches.origins[heir], matches.heirs[origin]) = (origin as u32, heir as u32);
            if let Some(head) = head {
                matches.heads.push((heir as u32, head));
                matches.backlogged[heir] = matches.heads.len() as u32;
            }
        }
        matches
    }

    /// The head of a new leaf that is kept and backlogged.
    pub(super) fn head(&self, member: usize) -> Option<Head> {
        let number = self.backlogged[member].checked_sub(1)?;
        self.heads.get(number as usize).map(|&(_, head)| head)
    }

    /// The new leaves that are kept and backlogged, with their heads.
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, Head)> {
        self.heads.iter().map(|&(leaf, head)| (leaf as usize, head))
    }

    /// The old member that a new one continues.
    pub(super) fn origin(&self, member: usize) -> Option<usize> {
        Some(self.origins[member]).filter(|&origin| origin != NO_NODE).map(|origin| origin as usize)
    }

    /// The new member that continues an old one.
    pub(super) fn heir(&self, member: usize) -> Option<usize> {
        Some(self.heirs[member]).filter(|&heir| heir != NO_NODE).map(|heir| heir as usize)
    }

    /// The old member, if the node above it continues the node above that one; of the root, the old root.
    pub(super) fn stayed(&self, new: &impl TreeForm, old: &impl TreeForm, member: usize) -> Option<usize> {
        let origin = self.origin(member)?;
        if member == ROOT || origin == ROOT {
            return (member == origin).then_some(origin);
        }
        (self.origins[new.parent(member) as usize] == old.parent(origin)).then_some(origin)
    }

    /// True if the nodes from the leaf served last up to the root, which count as in service, stay.
    pub(super) fn continue_the_path(&self, new: &impl TreeForm, old: &impl TreeForm) -> bool {
        let Some(mut node) = old.served() else { return true };
        loop {
            let stays = self.heir(node as usize).is_some_and(|heir| self.stayed(new, old, heir).is_some());
            if node as usize == ROOT || !stays {
                return stays;
            }
            node = old.parent(node as usize);
        }
    }

    /// Carries over the tokens of contracts.
    pub(super) fn carry_tokens(&self, new: &mut impl TreeForm, now: Time, old: &impl TreeForm) {
        let mut left = new.contracts();
        for member in 0..new.members() {
            if left == 0 {
                break;
            }
            let Some(mut allowance) = new.allowance(member) else { continue };
            left -= 1;
            if let Some(before) = self.origin(member).and_then(|origin| old.allowance(origin)) {
                allowance.adopt(now, &before);
                new.set_allowance(member, &allowance);
            }
        }
    }
}

/// Takes over from a tree of another type: contracts keep their tokens, and leaves are activated in the order in which their heads were queued.
pub(crate) fn adopt_tokens<T: TreeForm + Scheduler>(new: &mut T, now: Time, old: &impl TreeForm, kept: &[Kept]) {
    Matches::new(new, old, kept).carry_tokens(new, now, old);
    activate_in_order(new, now, kept);
}
