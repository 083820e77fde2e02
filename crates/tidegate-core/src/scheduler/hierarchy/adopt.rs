//! A tree that takes over from another: which members stay where they are, and what they bring along.
//!
//! A leaf that is kept, and a node that continues one of the old tree, keep the tokens of their contracts. One whose node above continues the
//! node that was above it stays in its place: presented, waiting or suspended, with its turns. Any other is presented anew.

use super::node::{Child, News, UNSHAPED};
use super::{Decision, Hierarchy};
use crate::packet::{Flow, Head};
use crate::ready::ReadyList;
use crate::scheduler::tree_matches::{Matches, NO_NODE, ROOT, TreeForm};
use crate::scheduler::{Kept, Scheduler, serial_order};
use crate::shaper::Allowance;
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

impl<S: Scheduler> Hierarchy<S> {
    pub(super) fn take_over(&mut self, now: Time, old: &mut Hierarchy<S>, kept: &[Kept]) {
        let matches = Matches::new(self, old, kept);
        if !matches.continue_the_path(self, old) {
            old.settle(now);
        }
        matches.carry_tokens(self, now, old);
        let brought = self.carry_members(old, &matches);
        self.carry_nodes(now, old, &matches, &brought);
        self.carry_waiting(now, old, &matches);
        self.present_the_others(now, &matches, &brought);
        self.unnamed = old.unnamed;
    }

    /// Copies the state of the members that stay. For each node, returns its children that stay, or none if it is idle.
    fn carry_members(&mut self, old: &Hierarchy<S>, matches: &Matches) -> Vec<Vec<Kept>> {
        let mut brought = vec![Vec::new(); self.nodes.len()];
        if let Some(origin) = matches.origin(ROOT) {
            self.members[ROOT].head = old.members[origin].head;
        }
        for node in 0..self.nodes.len() {
            if matches.origin(node).is_some_and(|origin| old.nodes[origin].is_idle()) {
                continue;
            }
            let end = self.nodes.get(node + 1).map_or(self.children.len(), |next| next.first_child as usize);
            let first = self.nodes[node].first_child as usize;
            for place in 0..end - first {
                let member = self.children[first + place] as usize;
                let child = &self.members[member];
                // A vacant place names any leaf.
                if !child.vacant && (child.parent, child.place) == (node as u32, place as u32) {
                    self.carry_member(old, matches, member, &mut brought);
                }
            }
        }
        brought
    }

    fn carry_member(&mut self, old: &Hierarchy<S>, matches: &Matches, member: usize, brought: &mut [Vec<Kept>]) {
        let Some(origin) = matches.origin(member) else { return };
        let before = old.members[origin];
        let is_leaf = member >= self.nodes.len();
        self.members[member].head = matches.head(member).unwrap_or(before.head);
        if matches.stayed(self, old, member).is_none() {
            return;
        }
        let has_left = is_leaf && matches.head(member).is_none();
        let child = &mut self.members[member];
        (child.presented, child.suspended) = (before.presented && !has_left, before.suspended && !has_left);
        let node = child.parent as usize;
        self.nodes[node].backlogged += u32::from(child.presented);
        self.nodes[node].suspended += u32::from(child.suspended);
        let head = child.presented.then_some(child.head);
        brought[node].push(Kept { from: Flow(before.place), to: Flow(child.place), head });
    }

    /// Continues the nodes' schedulers, with the children that stay, and what is known of these nodes.
    fn carry_nodes(&mut self, now: Time, old: &mut Hierarchy<S>, matches: &Matches, brought: &[Vec<Kept>]) {
        self.served = old.served.and_then(|node| matches.heir(node as usize)).map(|node| node as u32);
        for (node, brought) in brought.iter().enumerate() {
            let Some(origin) = matches.origin(node) else { continue };
            self.nodes[node].scheduler.adopt(now, &mut old.nodes[origin].scheduler, brought);
            let stayed = matches.stayed(self, old, node).is_some();
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
            let has_left = member >= self.nodes.len() && matches.head(member).is_none();
            if has_left || matches.stayed(self, old, member).is_none() {
                continue;
            }
            self.members[member].head = matches.head(member).unwrap_or(old.members[origin as usize].head);
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
        let mut others: Vec<(usize, Head)> = matches.heads().filter(|&(member, _)| is_away(&self.members[member])).collect();
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

impl<S> TreeForm for Hierarchy<S> {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn members(&self) -> usize {
        self.members.len()
    }

    fn parent(&self, member: usize) -> u32 {
        self.members[member].parent
    }

    fn was(&self) -> &[u32] {
        &self.plan.was
    }

    fn served(&self) -> Option<u32> {
        self.served
    }

    fn contracts(&self) -> usize {
        self.allowances.len()
    }

    fn allowance(&self, member: usize) -> Option<Allowance> {
        self.allowances.get(self.members[member].allowance as usize).copied()
    }

    fn set_allowance(&mut self, member: usize, allowance: &Allowance) {
        self.allowances[self.members[member].allowance as usize] = *allowance;
    }
}
