//! The event set: at most one pending event per slot, in a tournament tree.
//!
//! A slot is something with at most one next event: a link that becomes free, the first packet on a link, a source. A leaf holds the instant of
//! a slot, an inner node the earlier of its children. Finding the next event costs nothing; changing one costs a walk from leaf to root, without
//! a branch that depends on the data. One event per slot, not per packet, keeps the tree in the nearest cache.
//!
//! **Ties.** Of two slots with the same instant the lower number wins.
//!
//! **Cost.** `log2(slots)` comparisons per change, three cycles each; 16 bytes per node, two nodes per slot. Wider nodes took fewer steps and were
//! slower: they wait for memory.

use crate::time::NEVER;
use std::hint::select_unpredictable;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    at: u64,
    slot: u64,
}

/// The pending events of a simulation, at most one per slot.
///
/// ```
/// use tidegate_sim::events::Events;
/// use tidegate_sim::time::NEVER;
/// let mut events = Events::new(3);
/// events.set(2, 50);
/// events.set(1, 50);
/// assert_eq!(events.first(), (50, 1));
/// events.set(1, NEVER);
/// assert_eq!(events.first(), (50, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Events {
    /// A complete binary tree: the root at 1, the children of `i` at `2 i` and `2 i + 1`, the leaves in the second half.
    nodes: Box<[Entry]>,
    leaves: usize,
}

impl Events {
    /// `slots` slots, none of which has an event.
    pub fn new(slots: usize) -> Events {
        let leaves = slots.next_power_of_two().max(2);
        let nodes = vec![Entry { at: NEVER, slot: 0 }; 2 * leaves].into();
        let mut events = Events { nodes, leaves };
        (0..leaves).for_each(|slot| events.set(slot, NEVER));
        events
    }

    /// Makes room for `slots` slots in all; the new ones have no event. The tree at least doubles, so that growing one by one costs each slot a constant.
    pub fn grow(&mut self, slots: usize) {
        if slots <= self.leaves {
            return;
        }
        let mut grown = Events::new(slots);
        for slot in 0..self.leaves {
            grown.nodes[grown.leaves + slot].at = self.at(slot);
        }
        for node in (1..grown.leaves).rev() {
            let (left, right) = (grown.nodes[2 * node], grown.nodes[2 * node + 1]);
            grown.nodes[node] = if right.at < left.at { right } else { left };
        }
        *self = grown;
    }

    /// The next event: its instant and slot. [`NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let root = self.nodes[1];
        (root.at, root.slot as usize)
    }

    /// Replaces the event of a slot; [`NEVER`] removes it.
    #[inline]
    pub fn set(&mut self, slot: usize, at: u64) {
        debug_assert!(slot < self.leaves, "slot {slot} of {}", self.leaves);
        // The length is a power of two, so masking the index tells the compiler that it is in range.
        let nodes = &mut *self.nodes;
        let mask = nodes.len() - 1;
        let mut node = self.leaves + slot;
        let mut winner = Entry { at, slot: slot as u64 };
        nodes[node & mask] = winner;
        while node > 1 {
            let rival = nodes[(node ^ 1) & mask];
            // A rival on the left has the lower slots, so it wins ties. A branch here would be mispredicted half of the time.
            let rival_wins = rival.at < winner.at + (node as u64 & 1);
            winner.at = select_unpredictable(rival_wins, rival.at, winner.at);
            winner.slot = select_unpredictable(rival_wins, rival.slot, winner.slot);
            node /= 2;
            nodes[node & mask] = winner;
        }
    }

    /// The instant of a slot's event, or [`NEVER`].
    #[inline]
    pub fn at(&self, slot: usize) -> u64 {
        self.nodes[self.leaves + slot].at
    }
}

#[cfg(test)]
mod tests;
