//! The longest of many queues: a tree of maxima, sixteen to a node.
//!
//! **Law.** `first` names the longest of all queues; among equals the one with the lowest number.
//! **Source.** A tournament tree with a fan-out of sixteen: D. Knuth, "The Art of Computer Programming", volume 3, section 5.2.3.
//! **State.** 4.3 bytes per queue.
//! **Cost.** A change touches at most one cache line per level (five for a million queues). It usually ends at the second, because most
//! changes leave the maximum of their sixteen as it was. Finding the longest touches one per level.
//! **RTL twin.** None yet.
//! **Deviations.** Nodes hold lengths instead of the winners' numbers, so a change needs no comparison beyond its own sixteen.

use alloc::vec::Vec;

/// The lengths of queues, and the largest of them.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// From the queues themselves up to the one node at the top; each level is padded with zeros to whole nodes.
    levels: Vec<Vec<[u32; NODE_WIDTH]>>,
}

const NODE_WIDTH: usize = 16;

impl Longest {
    /// `queues` empty queues.
    pub(super) fn new(queues: usize) -> Longest {
        let mut levels = Vec::new();
        let mut nodes = queues.div_ceil(NODE_WIDTH).max(1);
        loop {
            levels.push(alloc::vec![[0; NODE_WIDTH]; nodes]);
            if nodes == 1 {
                return Longest { levels };
            }
            nodes = nodes.div_ceil(NODE_WIDTH);
        }
    }

    /// A queue has changed its length.
    #[inline]
    pub(super) fn set(&mut self, queue: usize, length: u32) {
        let (mut at, mut value) = (queue, length);
        for level in 0..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level + 1);
            let node = &mut below[level][at / NODE_WIDTH];
            let old = core::mem::replace(&mut node[at % NODE_WIDTH], value);
            at /= NODE_WIDTH;
            let Some(above) = above.first() else { return };
            let before = above[at / NODE_WIDTH][at % NODE_WIDTH];
            if value < before {
                // The maximum goes only if it was this one, and has no equal.
                if old < before {
                    return;
                }
                value = maximum(node);
            }
            if value == before {
                return;
            }
        }
    }

    /// The longest queue and its length; of several, the one with the lowest number.
    #[inline]
    pub(super) fn first(&self) -> (usize, u32) {
        let longest = self.levels.last().map_or(0, |top| maximum(&top[0]));
        let mut at = 0;
        for level in self.levels.iter().rev() {
            // The first that equals the maximum; it exists, because every node above a change was brought up to date.
            at = at * NODE_WIDTH + level[at].iter().position(|&length| length == longest).unwrap_or(0);
        }
        (at, longest)
    }
}

#[inline]
fn maximum(node: &[u32; NODE_WIDTH]) -> u32 {
    node.iter().fold(0, |most, &length| most.max(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(
            queues in 1usize..600,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(0u32), 1u32..4, any::<u32>()]), 1..300),
        ) {
            let mut longest = Longest::new(queues);
            let mut plain = alloc::vec![0u32; queues];
            for (queue, length) in changes {
                let queue = queue.index(queues);
                plain[queue] = length;
                longest.set(queue, length);
                let most = *plain.iter().max().unwrap();
                prop_assert_eq!(longest.first(), (plain.iter().position(|&l| l == most).unwrap(), most));
            }
        }
    }

    #[test]
    fn a_tree_of_a_million_has_five_levels() {
        assert_eq!(Longest::new(1 << 20).levels.len(), 5);
        assert_eq!(Longest::new(0).first(), (0, 0));
    }
}
