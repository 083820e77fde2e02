//! Fetches the records of members with a few members of their own, such as subscribers with four queues, some turns before these turns.
//!
//! A walk along the rings runs ahead of the packets, by one step per packet, or two while it is near. A step goes to the next member of the ring. After
//! as many turns as a node had in a row last time, it goes to the front of the node behind it. What it meets is fetched, and some steps later what that
//! leads to. Turns that come in another order cost time and nothing else.

use super::DeficitTree;
use super::expected_turns::ExpectedTurns;
use super::node::HINT_LAG;
use crate::packet::Flow;
use crate::prefetch::prefetch_in;
use crate::scheduler::PREFETCH_DISTANCE;
use crate::scheduler::tree_matches::ROOT;

/// The fewest members that contend for the link, and below a node, for a walk to find the next ones.
const MANY_CONTENDERS: u32 = 32;

/// After this many turns in a row that were not expected, the walk begins anew.
const MOST_SURPRISES: u32 = 4;

impl DeficitTree {
    /// The node and the member whose turn it is after a packet from below the node `served`, if coming turns are found by a walk from there.
    #[inline]
    pub(super) fn turn_to_follow(&self, served: u32) -> Option<(u32, u32)> {
        // The turns below a node with many members follow its rounds, which are predicted.
        if served as usize == ROOT || !self.nodes[served as usize].has_few {
            return None;
        }
        let node = self.members[served as usize].parent;
        let (root, above) = (&self.nodes[ROOT], &self.nodes[node as usize]);
        // Where fewer contend, most wait for their contracts, and those that stop waiting are next.
        let contends = root.backlogged + above.backlogged >= MANY_CONTENDERS && root.backlogged >= root.suspended;
        // Where few nodes have few turns each, the front of each is soon another. Nothing is known of a node that has had none.
        let siblings = self.nodes[self.members[node as usize].parent as usize].backlogged;
        let is_long = above.turns == 0 || siblings.saturating_mul(above.turns.into()) >= PREFETCH_DISTANCE as u32 / 2;
        (contends && is_long).then_some((node, served))
    }

    /// Notes that it is the turn of `member`, below `node`.
    #[inline]
    fn note_turn(&mut self, node: u32, member: u32) {
        let ahead = &mut self.lookahead;
        if (node, member) == ahead.turn {
            return;
        }
        if node == ahead.turn.0 {
            ahead.turns += 1;
        } else {
            if let Some(before) = self.nodes.get_mut(ahead.turn.0 as usize) {
                before.turns = u16::try_from(ahead.turns).unwrap_or(u16::MAX);
            }
            ahead.turns = 1;
        }
        ahead.turn = (node, member);
        if ahead.has_come(member) {
            ahead.surprises = 0;
            return;
        }
        ahead.surprises += 1;
        if ahead.len() == 0 || ahead.surprises > MOST_SURPRISES {
            ahead.expect(member);
            (ahead.next, ahead.unnamed, ahead.node) = (ahead.end, ahead.end, node);
            ahead.left = u32::from(self.nodes[node as usize].turns).saturating_sub(ahead.turns);
        }
    }

    /// The member behind those that are expected, and the node above it.
    #[inline]
    fn next_turn(&self) -> Option<(u32, u32)> {
        let ExpectedTurns { end, node, left, .. } = &self.lookahead;
        let ring = &self.nodes[*node as usize].ring;
        let is_root = *node as usize == ROOT;
        if *left > 0 || is_root {
            let last = self.lookahead.member(end.wrapping_sub(1)) as usize;
            let next = self.members[last].links.next().filter(|&next| is_root || Some(next) != ring.front());
            if next.is_some() || is_root {
                return Some((*node, next?));
            }
        }
        let above = &self.nodes[self.members[*node as usize].parent as usize];
        let following = self.members[*node as usize].links.next().or(above.ring.front())?;
        Some((following, self.nodes.get(following as usize)?.ring.front()?))
    }

    /// Expects another turn, and fetches the member's record; false if none is known.
    #[inline]
    fn expect_turn(&mut self) -> bool {
        let Some((node, member)) = self.next_turn() else { return false };
        let ahead = &mut self.lookahead;
        if node == ahead.node {
            ahead.left = ahead.left.saturating_sub(1);
        } else {
            (ahead.node, ahead.left) = (node, u32::from(self.nodes[node as usize].turns).saturating_sub(1));
            if let Some(following) = self.members[node as usize].links.next() {
                self.prefetch_member(following);
            }
        }
        self.lookahead.expect(member);
        self.prefetch_member(member);
        true
    }

    /// A leaf whose turn comes soon, after a packet of `member` below `node`.
    #[inline]
    pub(super) fn look_ahead(&mut self, node: u32, member: u32) -> Option<Flow> {
        self.note_turn(node, member);
        let lead = self.lookahead.len();
        let has_gone_on = lead < PREFETCH_DISTANCE as u32 && self.expect_turn();
        // Where every packet is a turn of its own, one step would not get ahead.
        if has_gone_on && lead < PREFETCH_DISTANCE as u32 / 2 {
            self.expect_turn();
        }
        let ahead = &mut self.lookahead;
        if ahead.end.wrapping_sub(ahead.unnamed) < if has_gone_on { HINT_LAG as u32 } else { 1 } {
            return None;
        }
        let member = ahead.member(ahead.unnamed);
        ahead.unnamed = ahead.unnamed.wrapping_add(1);
        let leaf = self.front_leaf(member)?;
        prefetch_in(&self.members, self.leaf(leaf));
        Some(leaf)
    }
}

#[cfg(test)]
mod tests;
