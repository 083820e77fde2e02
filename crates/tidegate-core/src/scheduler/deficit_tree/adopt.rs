//! A tree that takes over from another, by the rules of [`Hierarchy`](crate::scheduler::Hierarchy): a member whose node above stays is presented,
//! waiting or suspended as it was, with its turns. Any other is presented anew.

use super::member::Contract;
use super::ring::Ring;
use super::{DeficitTree, NO_MEMBER};
use crate::packet::{Flow, Head};
use crate::ready::ReadyList;
use crate::scheduler::moves::Moves;
use crate::scheduler::tree_matches::{Matches, NO_NODE, ROOT, TreeForm};
use crate::scheduler::{Kept, serial_order};
use crate::shaper::Allowance;
use crate::units::Time;
use alloc::vec::Vec;

impl DeficitTree {
    /// Says anew which node of the tree that it will adopt each of its nodes continues, as [`NodeSpec::was`](crate::scheduler::NodeSpec::was) does.
    pub fn continue_nodes(&mut self, was: impl Fn(usize) -> Option<usize>) {
        for (node, origin) in self.plan.places.was.iter_mut().enumerate() {
            *origin = was(node).map_or(NO_NODE, |was| u32::try_from(was).unwrap_or(NO_NODE));
        }
    }

    pub(super) fn take_over(&mut self, now: Time, old: &mut DeficitTree, kept: &[Kept]) {
        let matches = Matches::new(self, old, kept);
        if !matches.continue_the_path(self, old) {
            old.settle(now);
        }
        matches.carry_tokens(self, now, old);
        let (mut moves, stayed) = self.carry_members(old, &matches);
        self.carry_nodes(old, &matches, &mut moves, &stayed);
        self.carry_waiting(now, old, &matches);
        self.present_the_others(now, &matches);
        self.unnamed = old.unnamed;
    }

    /// Copies the state of the members that stay. Returns the moves of those that are presented, and the new place of every old member that stays.
    fn carry_members(&mut self, old: &DeficitTree, matches: &Matches) -> (Moves, Vec<Option<u32>>) {
        let mut brought = Vec::new();
        let mut stayed = alloc::vec![None; old.members.len()];
        for member in 0..self.members.len() {
            let Some(origin) = matches.origin(member) else { continue };
            let before = old.members[origin];
            self.members[member].length = matches.head(member).map_or(before.length, |head| head.length);
            if member == ROOT || matches.stayed(self, old, member).is_none() {
                continue;
            }
            stayed[origin] = Some(member as u32);
            let has_left = member >= self.nodes.len() && matches.head(member).is_none();
            let record = &mut self.members[member];
            (record.presented, record.suspended) = (before.presented && !has_left, before.suspended && !has_left);
            let node = &mut self.nodes[record.parent as usize];
            if let (Ring::Deficits(turns), Ring::Deficits(before_them)) = (&node.ring, &old.nodes[before.parent as usize].ring)
                && turns.counts_as(before_them)
            {
                (record.deficit, record.round) = (turns.unit_after(before_them).converted(before.deficit), before.round);
            }
            node.backlogged += u32::from(record.presented);
            node.suspended += u32::from(record.suspended);
            let nothing = Head { length: 0, number: 0, arrival: Time::ZERO, colour: crate::packet::Colour::Green };
            brought.extend(record.presented.then_some(Kept { from: Flow(origin as u32), to: Flow(member as u32), head: Some(nothing) }));
        }
        (Moves::new(old.members.len(), &brought), stayed)
    }

    /// Continues the rings of nodes, with the members that stay.
    fn carry_nodes(&mut self, old: &mut DeficitTree, matches: &Matches, moves: &mut Moves, stayed: &[Option<u32>]) {
        self.served = old.served.and_then(|node| matches.heir(node as usize)).map(|node| node as u32);
        for node in 0..self.nodes.len() {
            let Some(origin) = matches.origin(node) else { continue };
            let has_stayed = matches.stayed(self, old, node).is_some();
            let (here, before) = (&mut self.nodes[node], &mut old.nodes[origin]);
            let is_of_the_same_kind = match (&mut here.ring, &mut before.ring) {
                (Ring::Deficits(turns), Ring::Deficits(before)) if turns.counts_as(before) => {
                    turns.adopt(&mut self.members, before, &mut old.members, moves);
                    true
                }
                (Ring::Sparse(turns), Ring::Sparse(before)) => {
                    turns.adopt(&mut self.members, before, &old.members, |member| stayed[member as usize]);
                    true
                }
                // It shares in another way than before: all begin anew.
                (ring, _) => {
                    let children = self.plan.first_child[node] as usize..self.plan.first_child[node + 1] as usize;
                    let children = self.plan.children[children].iter().filter(|&&child| child != NO_MEMBER);
                    for &child in children.filter(|&&child| self.members[child as usize].presented).collect::<Vec<_>>() {
                        let length = self.members[child as usize].length;
                        ring.activate(&mut self.members, child, length);
                    }
                    false
                }
            };
            here.in_service = has_stayed && before.in_service;
            // All members that matter to its ring stayed if there are as many of them.
            let is_complete = is_of_the_same_kind && (here.backlogged, here.suspended) == (before.backlogged, before.suspended);
            if !has_stayed || !is_complete || before.is_unsettled {
                self.unsettle(node);
            }
        }
    }

    /// Members that wait and stay go on waiting, in the order in which they are due.
    fn carry_waiting(&mut self, now: Time, old: &mut DeficitTree, matches: &Matches) {
        while let Some((due, Flow(origin))) = old.waiting.pop_first() {
            let Some(member) = matches.heir(origin as usize) else { continue };
            let has_left = member >= self.nodes.len() && matches.head(member).is_none();
            if has_left || matches.stayed(self, old, member).is_none() {
                continue;
            }
            // Without a contract it is due at once.
            let release = |tree: &DeficitTree, member: usize| tree.allowance_of(member).map_or(now, |allowance| allowance.release());
            let is_unchanged = release(self, member) == release(old, origin as usize);
            self.wait(member, if is_unchanged { Time::from_picoseconds(due) } else { release(self, member) });
        }
    }

    /// Presents the leaves and nodes that have something to send and did not stay. Those that stayed with nothing below them give up their turns.
    fn present_the_others(&mut self, now: Time, matches: &Matches) {
        let mut others: Vec<(usize, Head)> = matches.heads().filter(|&(member, _)| self.is_away(member)).collect();
        others.sort_unstable_by(|(_, one), (_, other)| serial_order(one.number, other.number));
        for (leaf, head) in others {
            self.present(now, leaf, head.length);
        }
        for node in (ROOT + 1..self.nodes.len()).rev() {
            let front = self.nodes[node].ring.front().filter(|_| self.nodes[node].backlogged > 0);
            if let Some(front) = front.filter(|_| self.is_away(node)) {
                self.unsettle(node);
                self.present(now, node, self.members[front as usize].length);
            } else if front.is_none() && !self.members[node].presented {
                self.stop_waiting(node);
                self.forfeit(node);
            }
        }
    }

    fn is_away(&self, member: usize) -> bool {
        !self.members[member].presented && !self.members[member].waits
    }
}

impl TreeForm for DeficitTree {
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
        &self.plan.places.was
    }

    fn served(&self) -> Option<u32> {
        self.served
    }

    fn contracts(&self) -> usize {
        self.contracts.len()
    }

    fn allowance(&self, member: usize) -> Option<Allowance> {
        self.allowance_of(member)
    }

    fn set_allowance(&mut self, member: usize, allowance: &Allowance) {
        debug_assert!(self.members[member].contract != Contract::None);
        self.keep_contract(member, allowance, true);
    }
}
