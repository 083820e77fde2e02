//! The turns of sparse round robin among the flows of one node, in a table that may hold the flows of other nodes, too.

use super::active_list::{ActiveList, Linked, PrefetchPredictor};
use crate::packet::Flow;

/// The state that sparse round robin keeps of a flow. It is in a list, or all of this is meaningless.
pub(super) trait InLists: Linked {
    /// What it may still send, in bytes; not above 0 once its turn is used up.
    fn credit(&self) -> i64;
    /// The same, to be set.
    fn set_credit(&mut self, credit: i64);
    /// The wire length of its head.
    fn length_mut(&mut self) -> &mut u32;
    /// True if it is backlogged.
    fn has_head(&self) -> bool;
    /// The same, to be set.
    fn set_head(&mut self, has_head: bool);
    /// True if it is in the list of new flows.
    fn is_new(&self) -> bool;
    /// The same, to be set.
    fn set_new(&mut self, is_new: bool);
}

/// The lists of one node.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct SparseTurns {
    /// Flows that have become backlogged and have not used up a turn since.
    new: ActiveList,
    /// The others, and flows that were emptied not long ago.
    old: ActiveList,
    quantum: u32,
    predictor: PrefetchPredictor,
}

impl SparseTurns {
    /// Empty lists with this quantum in bytes.
    pub(super) const fn new(quantum: u32) -> SparseTurns {
        SparseTurns { new: ActiveList::EMPTY, old: ActiveList::EMPTY, quantum, predictor: PrefetchPredictor::NEW }
    }

    /// The bytes of a turn.
    pub(super) const fn quantum(&self) -> i64 {
        self.quantum as i64
    }

    /// The flow that [`SparseTurns::settle`] named last, if nothing has changed.
    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        self.new.front().or(self.old.front())
    }

    /// The flow whose turn it is, after used-up turns and empty flows have been passed over.
    #[inline]
    pub(super) fn settle<T: InLists>(&mut self, flows: &mut [T]) -> Option<u32> {
        loop {
            let (front, from_new) = match self.new.front() {
                Some(front) => (front, true),
                None => (self.old.front()?, false),
            };
            let turn = &mut flows[front as usize];
            let is_over = turn.credit() <= 0;
            if is_over {
                turn.set_credit(turn.credit() + self.quantum());
            } else if turn.has_head() {
                return Some(front);
            }
            self.predictor.turn_of(flows, front);
            // A new flow that is empty passes through the old ones once: it cannot come back as new before each of them has had a turn.
            let stays = is_over || from_new && self.old.front().is_some() && !fault!(SparseFlowsSkipTheOldList);
            match (from_new, stays) {
                (false, true) => self.old.pass(flows),
                (false, false) => self.old.leave(flows, front),
                (true, _) => {
                    self.new.leave(flows, front);
                    flows[front as usize].set_new(false);
                    if stays {
                        self.old.join(flows, front);
                    }
                }
            }
        }
    }

    /// A flow has become backlogged.
    #[inline]
    pub(super) fn activate<T: InLists>(&mut self, flows: &mut [T], flow: u32, length: u32) {
        let turn = &mut flows[flow as usize];
        *turn.length_mut() = length;
        turn.set_head(true);
        if !turn.links().is_in_ring() {
            turn.set_credit(self.quantum());
            turn.set_new(!fault!(SparseFlowsGoLast));
            let list = if fault!(SparseFlowsGoLast) { &mut self.old } else { &mut self.new };
            list.join(flows, flow);
        }
    }

    /// The head of a flow has been sent.
    #[inline]
    pub(super) fn served<T: InLists>(&mut self, flows: &mut [T], flow: u32, next: Option<u32>) {
        let turn = &mut flows[flow as usize];
        let length = core::mem::replace(turn.length_mut(), next.unwrap_or(0));
        turn.set_credit(turn.credit() - i64::from(length));
        turn.set_head(next.is_some());
    }

    /// A flow has lost its last packet.
    #[inline]
    pub(super) fn lost_all<T: InLists>(&mut self, flows: &mut [T], flow: u32) {
        let turn = &mut flows[flow as usize];
        turn.set_head(false);
        if turn.is_new() && turn.credit() == self.quantum() {
            // It has sent nothing since it was listed.
            turn.set_new(false);
            self.new.leave(flows, flow);
        }
    }

    /// A flow goes for good.
    pub(super) fn forget<T: InLists>(&mut self, flows: &mut [T], flow: u32) {
        let turn = &flows[flow as usize];
        if turn.links().is_in_ring() {
            let list = if turn.is_new() { &mut self.new } else { &mut self.old };
            list.leave(flows, flow);
        }
    }

    /// Takes over the flows of `old` that have a place here, in their order. Of the others nothing is known here.
    pub(super) fn adopt<T: InLists, U: InLists>(
        &mut self,
        flows: &mut [T],
        old: &SparseTurns,
        old_flows: &[U],
        place: impl Fn(u32) -> Option<u32>,
    ) {
        for (from, to) in [(old.new, &mut self.new), (old.old, &mut self.old)] {
            for flow in from.flows(old_flows) {
                let Some(place) = place(flow) else { continue };
                let (before, turn) = (&old_flows[flow as usize], &mut flows[place as usize]);
                turn.set_credit(before.credit().min(i64::from(self.quantum)));
                turn.set_new(before.is_new());
                to.join(flows, place);
            }
        }
    }

    /// A flow whose turn comes soon.
    #[inline]
    pub(super) fn prefetch_hint(&self) -> Flow {
        self.predictor.prefetch_hint()
    }
}
