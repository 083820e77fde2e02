//! The event set: at most one pending event per slot, in a tournament tree.
//!
//! A slot is something that can have one next event: a link that becomes free, the head of the packets on a link, a source. The tree holds
//! every slot's instant at a leaf and the earlier of two children at every inner node, so finding the next event costs nothing and
//! changing one costs a walk from leaf to root, without a branch that depends on the data. With one event per slot instead of one per
//! packet the tree stays small enough for the nearest cache.
//!
//! **Ties.** Of two slots with the same instant the lower number wins.
//!
//! **Cost.** `log2(slots)` comparisons per change, each with a latency of three cycles (wider nodes need fewer steps but were slower: they
//! wait for memory); 16 bytes per node, two nodes per slot.

use crate::time::NEVER;
use std::hint::select_unpredictable;

/// A slot and its instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    at: u64,
    slot: u64,
}

/// The pending events of all slots.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// A complete binary tree: the root at 1, the children of `i` at `2 i` and `2 i + 1`, the leaves in the second half.
    nodes: Box<[Entry]>,
    leaves: usize,
}

impl Events {
    /// `slots` slots, none of which has an event.
    pub(crate) fn new(slots: usize) -> Events {
        let leaves = slots.next_power_of_two().max(2);
        let nodes = vec![Entry { at: NEVER, slot: 0 }; 2 * leaves].into();
        let mut events = Events { nodes, leaves };
        (0..leaves).for_each(|slot| events.set(slot, NEVER));
        events
    }

    /// The next event: its instant and slot. [`NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> (u64, usize) {
        let root = self.nodes[1];
        (root.at, root.slot as usize)
    }

    /// Gives a slot the event at `at` in place of the one it had; [`NEVER`] takes that away.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, at: u64) {
        // The length is a power of two, so masking the index tells the compiler that it is in range.
        let nodes = &mut *self.nodes;
        let mask = nodes.len() - 1;
        let mut node = self.leaves + slot;
        let mut winner = Entry { at, slot: slot as u64 };
        nodes[node & mask] = winner;
        while node > 1 {
            let rival = nodes[(node ^ 1) & mask];
            // A rival on the left has the lower slots, so it wins ties. Which way it goes is a coin toss that a branch would often lose.
            let rival_wins = rival.at < winner.at + (node as u64 & 1);
            winner.at = select_unpredictable(rival_wins, rival.at, winner.at);
            winner.slot = select_unpredictable(rival_wins, rival.slot, winner.slot);
            node /= 2;
            nodes[node & mask] = winner;
        }
    }

    /// When a slot's event is.
    #[inline]
    pub(crate) fn at(&self, slot: usize) -> u64 {
        self.nodes[self.leaves + slot].at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lower_slot() {
        let mut events = Events::new(5);
        assert_eq!(events.first().0, NEVER);
        for slot in [4, 1, 3] {
            events.set(slot, 10);
        }
        assert_eq!(events.first(), (10, 1));
        events.set(1, NEVER);
        assert_eq!(events.first(), (10, 3));
        events.set(4, 9);
        assert_eq!(events.first(), (9, 4));
        assert_eq!(events.at(3), 10);
    }

    proptest! {
        #[test]
        fn the_first_is_that_of_a_sorted_list(slots in 1usize..70, changes in prop::collection::vec((any::<u16>(), 0u64..20), 0..200)) {
            let mut events = Events::new(slots);
            let mut model = vec![NEVER; slots];
            for (slot, at) in changes {
                let slot = usize::from(slot) % slots;
                // A fifth of the changes take an event away.
                let at = if at < 4 { NEVER } else { at };
                events.set(slot, at);
                model[slot] = at;
                let expected = model.iter().enumerate().map(|(slot, at)| (*at, slot)).min().unwrap();
                if expected.0 == NEVER {
                    prop_assert_eq!(events.first().0, NEVER);
                } else {
                    prop_assert_eq!(events.first(), expected);
                }
                prop_assert_eq!(events.at(slot), at);
            }
        }
    }
}
