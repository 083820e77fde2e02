//! A tree that takes over from another: which members stay where they are, and what they bring along.
//!
//! A leaf that is kept, and a node that continues one of the old tree, keep the tokens of their contracts. One whose node above continues the
//! node that was above it stays in its place: presented, waiting or suspended, with its turns. Any other is presented anew.

use super::node::{Child, NO_NODE, News, ROOT, UNSHAPED};
use super::{Decision, Hierarchy};
use crate::packet::{Flow, Head};
use crate::ready::ReadyList;
use crate::scheduler::{Kept, Scheduler, serial_order};
use crate::units::Time;
use alloc::vec;
use alloc::vec::Vec;

impl<S> Hierarchy<S> {
    /// Says anew which node of the tree that it will adopt each of its nodes continues, as [`NodeSpec::was`](super::NodeSpec::was) does.
    pub fn continue_nodes(&mut self, was: impl Fn(usize) -> Option<usize>) {
        for (node, origin) in self.plan.was.iter_mut().enumerate() {
            *origin = was(node).map_or(NO_NODE, |was| u32::try_from(was).unwrap_or(NO_NODE));
        }
    }
}

/// Stands in [`Matches`] for the absence of a member.
const NONE: u32 = NO_NODE;

/// Which members of two trees are the same.
struct Matches {
    /// Of each new member, the old one.
    origins: Vec<u32>,
    /// Of each old member, the new one.
    heirs: Vec<u32>,
    /// Of each new leaf that is kept, its head.
    heads: Vec<Option<Head>>,
}

impl Matches {
    fn new<S: Scheduler>(new: &Hierarchy<S>, old: &Hierarchy<S>, kept: &[Kept]) -> Matches {
        let mut matches =
            Matches { origins: vec![NONE; new.members.len()], heirs: vec![NONE; old.members.len()], heads: vec![None; new.members.len()] };
        for (node, &was) in new.plan.was.iter().enumerate() {
            // The first node that claims to continue another does.
            if (was as usize) < old.nodes.len() && matches.heirs[was as usize] == NONE {
                (matches.origins[node], matches.heirs[was as usize]) = (was, node as u32);
            }
        }
        for &Kept { from, to, head } in kept {
            let (origin, heir) = (old.leaf(from), new.leaf(to));
            (matches.origins[heir], matches.heirs[origin]) = (origin as u32, heir as u32);
            matches.heads[heir] = head;
        }
        matches
    }

    fn origin(&self, member: usize) -> Option<usize> {
        Some(self.origins[member]).filter(|&origin| origin != NONE).map(|origin| origin as usize)
    }

    fn heir(&self, member: usize) -> Option<usize> {
        Some(self.heirs[member]).filter(|&heir| heir != NONE).map(|heir| heir as usize)
    }

    /// The old member, if the node above it continues the node above that one; of the root, the old root.
    fn stayed(&self, new: &[Child], old: &[Child], member: usize) -> Option<usize> {
        let origin = self.origin(member)?;
        if member == ROOT || origin == ROOT {
            return (member == origin).then_some(origin);
        }
        (self.origins[new[member].parent as usize] == old[origin].parent).then_some(origin)
    }
}

impl<S: Scheduler> Hierarchy<S> {
    pub(super) fn take_over(&mut self, now: Time, old: &mut Hierarchy<S>, kept: &[Kept]) {
        let matches = Matches::new(self, old, kept);
        if !self.continues_the_path(old, &matches) {
            old.settle(now);
        }
        self.carry_tokens(now, old, &matches);
        let brought = self.carry_members(old, &matches);
        self.carry_nodes(now, old, &matches, &brought);
        self.carry_waiting(now, old, &matches);
        self.present_the_others(now, &matches, &brought);
        self.unnamed = old.unnamed;
    }

    /// True if the nodes from the leaf served last up to the root, which count as in service, stay.
    fn continues_the_path(&self, old: &Hierarchy<S>, matches: &Matches) -> bool {
        let Some(mut node) = old.served else { return true };
        loop {
            let stays = matches.heir(node as usize).is_some_and(|heir| matches.stayed(&self.members, &old.members, heir).is_some());
            if node as usize == ROOT || !stays {
                return stays;
            }
            node = old.members[node as usize].parent;
        }
    }

    fn carry_tokens(&mut self, now: Time, old: &Hierarchy<S>, matches: &Matches) {
        for member in 0..self.members.len() {
            let Some(origin) = matches.origin(member) else { continue };
            let (to, from) = (self.members[member].allowance, old.members[origin].allowance);
            if to != UNSHAPED && from != UNSHAPED {
                self.allowances[to as usize].adopt(now, &old.allowances[from as usize]);
            }
        }
    }

    /// Copies the state of the members that stay. For each node, returns its children that stay.
    fn carry_members(&mut self, old: &Hierarchy<S>, matches: &Matches) -> Vec<Vec<Kept>> {
        let mut brought = vec![Vec::new(); self.nodes.len()];
        for member in 0..self.members.len() {
            let Some(origin) = matches.origin(member) else { continue };
            let before = old.members[origin];
            let is_leaf = member >= self.nodes.len();
            self.members[member].head = matches.heads[member].unwrap_or(before.head);
            if member == ROOT || matches.stayed(&self.members, &old.members, member).is_none() {
                continue;
            }
            let has_left = is_leaf && matches.heads[member].is_none();
            let child = &mut self.members[member];
            (child.presented, child.suspended) = (before.presented && !has_left, before.suspended && !has_left);
            let node = child.parent as usize;
            self.nodes[node].backlogged += u32::from(child.presented);
            self.nodes[node].suspended += u32::from(child.suspended);
            let head = child.presented.then_some(child.head);
            brought[node].push(Kept { from: Flow(before.place), to: Flow(child.place), head });
        }
        brought
    }

    /// Continues the nodes' schedulers, with the children that stay, and what is known of these nodes.
    fn carry_nodes(&mut self, now: Time, old: &mut Hierarchy<S>, matches: &Matches, brought: &[Vec<Kept>]) {
        self.served = old.served.and_then(|node| matches.heir(node as usize)).map(|node| node as u32);
        for (node, brought) in brought.iter().enumerate() {
            let Some(origin) = matches.origin(node) else { continue };
            self.nodes[node].scheduler.adopt(now, &mut old.nodes[origin].scheduler, brought);
            let stayed = matches.stayed(&self.members, &old.members, node).is_some();
            let (here, before) = (&mut self.nodes[node], &old.nodes[origin]);
            here.in_service = stayed && before.in_service;
            // All children that matter to its scheduler stayed if there are as many of them.
            let is_complete = (here.backlogged, here.suspended) == (before.backlogged, before.suspended);
            let news = match before.news {
                _ if !stayed || !is_complete => News::Some,
                News::Came(place) => {
                    let heir = matches.heir(old.child(origin, Flow(place)));
                    heir.map_or(News::Some, |child| News::Came(self.members[child].place))
                }
                news => news,
            };
            if news != News::None {
                self.unsettle(node, news);
            }
        }
    }

    /// Members that wait and stay go on waiting, in the order in which they are due.
    fn carry_waiting(&mut self, now: Time, old: &mut Hierarchy<S>, matches: &Matches) {
        while let Some((due, Flow(origin))) = old.waiting.pop_first() {
            let Some(member) = matches.heir(origin as usize) else { continue };
            let has_left = member >= self.nodes.len() && matches.heads[member].is_none();
            if has_left || matches.stayed(&self.members, &old.members, member).is_none() {
                continue;
            }
            if old.nodes.get(origin as usize).is_some_and(|node| node.scheduler_waits) {
                if let Decision::WaitUntil(time) = self.nodes[member].scheduler.select(now) {
                    self.nodes[member].scheduler_waits = true;
                    self.wait(member, time);
                }
                continue;
            }
            // Without a contract it is due at once.
            let release = |tree: &Hierarchy<S>, member: usize| {
                let allowance = tree.members[member].allowance;
                if allowance == UNSHAPED { now } else { tree.allowances[allowance as usize].release() }
            };
            let is_unchanged = release(self, member) == release(old, origin as usize);
            self.wait(member, if is_unchanged { Time::from_picoseconds(due) } else { release(self, member) });
        }
    }

    /// Presents the leaves and nodes that have something to send and did not stay. Those that stayed with nothing below them give up their turns.
    fn present_the_others(&mut self, now: Time, matches: &Matches, brought: &[Vec<Kept>]) {
        let is_away = |child: &Child| !child.presented && !child.waits;
        let others = matches.heads.iter().enumerate().filter(|&(member, _)| is_away(&self.members[member]));
        let mut others: Vec<(usize, Head)> = others.filter_map(|(member, head)| Some((member, (*head)?))).collect();
        others.sort_unstable_by(|(_, one), (_, other)| serial_order(one.number, other.number));
        for (leaf, head) in others {
            self.present(now, leaf, head);
        }
        for node in (ROOT + 1..self.nodes.len()).rev() {
            let has_something = self.nodes[node].backlogged > 0;
            if has_something && is_away(&self.members[node]) {
                self.unsettle(node, News::Some);
                let head = brought[node].iter().find_map(|child| child.head);
                self.present(now, node, head.unwrap_or(self.members[node].head));
            } else if !has_something && !self.members[node].presented {
                self.nodes[node].scheduler_waits = false;
                self.stop_waiting(node);
                self.forfeit(node);
            }
        }
    }
}
