//! The active lists of round-robin disciplines: the backlogged flows in a ring, in the order of their turns.
//!
//! The flow whose turn it is stands at the front; whoever joins stands behind everybody else, that is just before the front. Passing
//! the turn on therefore moves a cursor and writes nothing. The links stand in a table of their own, 8 bytes per flow, so that the ring
//! of many flows stays in a near cache; a scout runs ahead of the front, and what its owner and the port keep of that flow can be
//! fetched in time.

use alloc::vec::Vec;

/// Marks the end of nothing: an empty ring, or a flow that is in none.
const NONE: u32 = u32::MAX;

/// How many turns the scout is ahead of the front.
const AHEAD: u32 = 4;

/// A flow's neighbours in the ring it is in.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    next: u32,
    previous: u32,
}

const ALONE: Neighbours = Neighbours { next: NONE, previous: NONE };

/// The links of all flows of a scheduler. Many rings may run through them, as long as a flow is in at most one.
#[derive(Clone, Debug)]
pub(super) struct Links(Vec<Neighbours>);

/// One ring of flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveList {
    front: u32,
    /// A flow whose turn comes soon: a hint, which may have left the ring.
    scout: u32,
}

impl Links {
    /// No flow of `flows` is in any ring.
    pub(super) fn new(flows: usize) -> Links {
        Links(alloc::vec![ALONE; flows])
    }

    #[inline]
    fn next(&self, flow: u32) -> u32 {
        self.0[flow as usize].next
    }
}

impl ActiveList {
    /// An empty ring.
    pub(super) const EMPTY: ActiveList = ActiveList { front: NONE, scout: NONE };

    /// The flow whose turn it is.
    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    /// A flow whose turn is likely to come soon.
    #[inline]
    pub(super) fn scout(&self) -> Option<u32> {
        (self.scout != NONE).then_some(self.scout)
    }

    /// Adds `flow`, which is in no ring, behind all others. True if it is the only one.
    #[inline]
    pub(super) fn join(&mut self, links: &mut Links, flow: u32) -> bool {
        debug_assert_eq!(links.next(flow), NONE, "flow {flow} is activated twice");
        if self.front == NONE {
            *self = ActiveList { front: flow, scout: flow };
            links.0[flow as usize] = Neighbours { next: flow, previous: flow };
            return true;
        }
        let front = &mut links.0[self.front as usize];
        let last = core::mem::replace(&mut front.previous, flow);
        links.0[last as usize].next = flow;
        links.0[flow as usize] = Neighbours { next: self.front, previous: last };
        false
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave(&mut self, links: &mut Links, flow: u32) {
        let Neighbours { next, previous } = core::mem::replace(&mut links.0[flow as usize], ALONE);
        debug_assert_ne!(next, NONE, "flow {flow} leaves, but it is not backlogged");
        if next == flow {
            *self = ActiveList::EMPTY;
            return;
        }
        links.0[previous as usize].next = next;
        links.0[next as usize].previous = previous;
        if self.front == flow {
            self.front = next;
            self.explore(links);
        }
    }

    /// Passes the turn on: the front goes behind all others.
    #[inline]
    pub(super) fn pass(&mut self, links: &Links) {
        if self.front != NONE {
            self.front = links.next(self.front);
            self.explore(links);
        }
    }

    /// Moves the scout on by one, or sends it out anew if it has left the ring or the front has caught up with it.
    #[inline]
    fn explore(&mut self, links: &Links) {
        if self.scout != NONE {
            self.scout = links.next(self.scout);
        }
        if self.scout == NONE || self.scout == self.front {
            self.scout = self.front;
            for _ in 0..AHEAD {
                self.scout = links.next(self.scout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_behaves_as_a_queue_of_distinct_flows(steps in proptest::collection::vec((0u8..3, 0u32..12), 0..300)) {
            let mut links = Links::new(12);
            let mut ring = ActiveList::EMPTY;
            let mut model: VecDeque<u32> = VecDeque::new();
            for (step, flow) in steps {
                match step {
                    0 if !model.contains(&flow) => {
                        prop_assert_eq!(ring.join(&mut links, flow), model.is_empty());
                        model.push_back(flow);
                    }
                    1 if model.contains(&flow) => {
                        ring.leave(&mut links, flow);
                        model.retain(|&f| f != flow);
                    }
                    2 if !model.is_empty() => {
                        ring.pass(&links);
                        model.rotate_left(1);
                        prop_assert!(ring.scout().is_some_and(|scout| model.contains(&scout)));
                    }
                    _ => {}
                }
                let mut cursor = ring;
                for &flow in &model {
                    prop_assert_eq!(cursor.front(), Some(flow));
                    cursor.pass(&links);
                }
                prop_assert_eq!(cursor.front(), model.front().copied());
            }
        }
    }

    #[test]
    fn the_scout_keeps_its_distance_while_turns_pass() {
        let mut links = Links::new(100);
        let mut ring = ActiveList::EMPTY;
        (0..100).for_each(|flow| drop(ring.join(&mut links, flow)));
        for turn in 1..250 {
            ring.pass(&links);
            assert_eq!(ring.front(), Some(turn % 100));
            // Sent out alone, it is one turn behind until the front catches up with it for the first time.
            let ahead = (ring.scout().unwrap() + 100 - turn % 100) % 100;
            assert!((1..=AHEAD).contains(&ahead), "{ahead} ahead at turn {turn}");
        }
    }
}
