//! The active list of round-robin disciplines: the backlogged flows in a ring, linked through the state that the discipline keeps of
//! each flow, so that taking a turn touches one cache line.
//!
//! The flow whose turn it is stands at the front; whoever joins stands behind everybody else, that is just before the front. Passing
//! the turn on therefore moves a cursor and writes nothing.

/// Marks the end of nothing: an empty ring, or a flow that is in none.
const NONE: u32 = u32::MAX;

/// A flow's neighbours in the ring it is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    next: u32,
    previous: u32,
}

impl Links {
    /// The links of a flow that is in no ring.
    pub(super) const UNLINKED: Links = Links { next: NONE, previous: NONE };

    /// True if the flow is in a ring.
    #[inline]
    pub(super) fn is_linked(self) -> bool {
        self.next != NONE
    }
}

/// The state a discipline keeps of one flow, with the flow's links in it.
pub(super) trait Linked {
    /// The flow's links.
    fn links(&self) -> Links;
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
        debug_assert!(!flows[flow as usize].links().is_linked(), "flow {flow} is activated twice");
        if self.front == NONE {
            self.front = flow;
            *flows[flow as usize].links_mut() = Links { next: flow, previous: flow };
            return true;
        }
        let front = flows[self.front as usize].links_mut();
        let last = front.previous;
        front.previous = flow;
        flows[last as usize].links_mut().next = flow;
        *flows[flow as usize].links_mut() = Links { next: self.front, previous: last };
        false
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let Links { next, previous } = core::mem::replace(flows[flow as usize].links_mut(), Links::UNLINKED);
        debug_assert_ne!(next, NONE, "flow {flow} leaves, but it is not backlogged");
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

    /// The flow whose turn comes after the front's: the front itself if it is alone.
    #[inline]
    pub(super) fn second<T: Linked>(mut self, flows: &[T]) -> Option<u32> {
        self.pass(flows);
        self.front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    impl Linked for Links {
        fn links(&self) -> Links {
            *self
        }

        fn links_mut(&mut self) -> &mut Links {
            self
        }
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_queue_of_distinct_flows(steps in proptest::collection::vec((0u8..3, 0u32..6), 0..200)) {
            let mut flows = [Links::UNLINKED; 6];
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
                prop_assert_eq!(ring.front(), model.front().copied());
                let mut order = Vec::new();
                let mut cursor = ring;
                for _ in 0..model.len() {
                    order.extend(cursor.front());
                    cursor.pass(&flows);
                }
                prop_assert_eq!(order, Vec::from(model.clone()));
            }
        }
    }
}
