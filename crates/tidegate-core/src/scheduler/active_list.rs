//! The active lists of round-robin disciplines: the backlogged flows in a ring, in the order of their turns, linked through the state
//! that the discipline keeps of each flow; and a guess at whose turn comes some turns later.
//!
//! The flow whose turn it is stands at the front; whoever joins stands behind everybody else, that is just before the front. Passing
//! the turn on therefore moves a cursor and writes nothing.
//!
//! Flows of a long ring lie anywhere in memory, and whoever follows the links waits for each of them in turn. But rounds are much
//! alike: each flow remembers who had a turn [`AHEAD`] turns after it the last time, and on its next turn that flow's state is fetched.

use crate::packet::Flow;
use crate::prefetch::prefetch;

/// Marks the end of nothing: an empty ring, or a flow that is in none.
const NONE: u32 = u32::MAX;

/// How many turns state is fetched in advance: enough turns to outlast a fetch from main memory, and a power of two.
const AHEAD: usize = 8;

/// A flow's neighbours in the ring it is in, and who comes later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    next: u32,
    previous: u32,
    later: u32,
}

impl Links {
    /// The links of a flow that is in no ring.
    pub(super) const NONE: Links = Links { next: NONE, previous: NONE, later: 0 };
}

/// The state a discipline keeps of one flow, with the flow's links in it.
pub(super) trait Linked {
    /// The flow's links.
    fn links(&self) -> &Links;
    /// The flow's links, to be changed.
    fn links_mut(&mut self) -> &mut Links;
}

/// One ring of flows. Many rings may run through one table of flows, as long as a flow is in at most one.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveList {
    front: u32,
}

impl ActiveList {
    /// An empty ring.
    pub(super) const EMPTY: ActiveList = ActiveList { front: NONE };

    /// The flow whose turn it is.
    #[inline]
    pub(super) fn front(self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    /// Adds `flow`, which is in no ring, behind all others. True if it is the only one.
    #[inline]
    pub(super) fn join<T: Linked>(&mut self, flows: &mut [T], flow: u32) -> bool {
        debug_assert_eq!(flows[flow as usize].links().next, NONE, "flow {flow} is activated twice");
        let (mut next, mut previous) = (flow, flow);
        let alone = self.front == NONE;
        if alone {
            self.front = flow;
        } else {
            next = self.front;
            previous = core::mem::replace(&mut flows[next as usize].links_mut().previous, flow);
            flows[previous as usize].links_mut().next = flow;
        }
        let links = flows[flow as usize].links_mut();
        (links.next, links.previous) = (next, previous);
        alone
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let links = flows[flow as usize].links_mut();
        let Links { next, previous, .. } = *links;
        debug_assert_ne!(next, NONE, "flow {flow} leaves, but it is not backlogged");
        (links.next, links.previous) = (NONE, NONE);
        if next == flow {
            self.front = NONE;
            return;
        }
        flows[previous as usize].links_mut().next = next;
        flows[next as usize].links_mut().previous = previous;
        if self.front == flow {
            self.front = next;
        }
    }

    /// Passes the turn on: the front goes behind all others.
    #[inline]
    pub(super) fn pass<T: Linked>(&mut self, flows: &[T]) {
        if self.front != NONE {
            self.front = flows[self.front as usize].links().next;
        }
    }
}

/// Fetches the state of flows whose turn will come soon, if this round resembles the last. It may be wrong, and nothing depends on it.
#[derive(Clone, Debug)]
pub(super) struct Foresight {
    turn: usize,
    /// Whose the latest turns were.
    past: [u32; AHEAD],
    /// Whose turn comes `AHEAD` turns after the latest.
    coming: u32,
}

impl Foresight {
    /// Knows nothing yet.
    pub(super) const NEW: Foresight = Foresight { turn: 0, past: [0; AHEAD], coming: 0 };

    /// It is `flow`'s turn.
    #[inline]
    pub(super) fn turn_of<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let at = self.turn % AHEAD;
        let earlier = core::mem::replace(&mut self.past[at], flow);
        flows[earlier as usize].links_mut().later = flow;
        let later = flows[flow as usize].links().later;
        self.coming = later;
        prefetch(&flows[later as usize]);
        self.turn = self.turn.wrapping_add(1);
    }

    /// A flow whose turn comes soon.
    #[inline]
    pub(super) fn upcoming(&self) -> Flow {
        Flow(self.coming)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    impl Linked for Links {
        fn links(&self) -> &Links {
            self
        }

        fn links_mut(&mut self) -> &mut Links {
            self
        }
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_queue_of_distinct_flows(steps in proptest::collection::vec((0u8..3, 0u32..6), 0..200)) {
            let mut flows = [Links::NONE; 6];
            let mut ring = ActiveList::EMPTY;
            let mut model: VecDeque<u32> = VecDeque::new();
            for (step, flow) in steps {
                match step {
                    0 if !model.contains(&flow) => {
                        prop_assert_eq!(ring.join(&mut flows, flow), model.is_empty());
                        model.push_back(flow);
                    }
                    1 if model.contains(&flow) => {
                        ring.leave(&mut flows, flow);
                        model.retain(|&f| f != flow);
                    }
                    2 if !model.is_empty() => {
                        ring.pass(&flows);
                        model.rotate_left(1);
                    }
                    _ => {}
                }
                let mut cursor = ring;
                for &flow in &model {
                    prop_assert_eq!(cursor.front(), Some(flow));
                    cursor.pass(&flows);
                }
                prop_assert_eq!(cursor.front(), model.front().copied());
            }
        }
    }

    #[test]
    fn from_the_second_round_on_the_future_is_foreseen() {
        let mut flows = [Links::NONE; 50];
        let mut foresight = Foresight::NEW;
        for turn in 0..200u32 {
            foresight.turn_of(&mut flows, turn * 7 % 50);
            if turn >= 50 + AHEAD as u32 {
                assert_eq!(foresight.upcoming(), Flow((turn + AHEAD as u32) * 7 % 50), "turn {turn}");
            }
        }
    }
}
