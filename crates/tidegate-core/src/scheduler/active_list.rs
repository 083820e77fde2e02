//! The active lists of round-robin disciplines: backlogged flows in a ring, in the order of their turns. The ring is linked through the
//! state that the discipline keeps of each flow.
//!
//! The flow whose turn it is is at the front; a flow that joins goes behind all others, that is, just before the front. Passing the turn on
//! therefore moves a cursor and writes nothing.
//!
//! [`Rounds`] counts the rounds of such a ring, so that a flow that its contract suspends comes back to the turn it was taken from.
//!
//! The flows of a long ring are scattered in memory, so following the links misses the cache at each of them. But rounds resemble each other:
//! each flow remembers which flow had a turn [`PREDICTION_DISTANCE`] turns after it in the last round, and that flow's state is fetched.

use super::moves::Moves;
use crate::packet::Flow;
use crate::prefetch::{prefetch, prefetch_in};
use alloc::vec::Vec;

/// No flow: the front of an empty ring, or the link of a flow that is in none.
const NO_FLOW: u32 = u32::MAX;

/// The number of turns by which state is fetched in advance: enough to outlast a fetch from main memory, and a power of two.
const PREDICTION_DISTANCE: usize = 8;

/// A flow's neighbours in its ring, and the flow to fetch on its next turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    next: u32,
    previous: u32,
    later: u32,
}

impl Links {
    /// The links of a flow that is in no ring.
    pub(super) const NONE: Links = Links { next: NO_FLOW, previous: NO_FLOW, later: 0 };

    /// The flow behind this one in its ring, which may be itself; `None` if it is in none.
    #[inline]
    pub(super) const fn next(&self) -> Option<u32> {
        if self.next == NO_FLOW { None } else { Some(self.next) }
    }

    /// True if the flow is in a ring.
    pub(super) const fn is_in_ring(&self) -> bool {
        self.next != NO_FLOW
    }
}

/// The state a discipline keeps of one flow, with the flow's links in it.
pub(super) trait Linked {
    /// The flow's links.
    fn links(&self) -> &Links;
    /// The flow's links, to be changed.
    fn links_mut(&mut self) -> &mut Links;
}

/// Implements [`Linked`] for a type with a field `links`.
macro_rules! linked {
    ($type:ty) => {
        impl $crate::scheduler::active_list::Linked for $type {
            #[inline]
            fn links(&self) -> &Links {
                &self.links
            }

            #[inline]
            fn links_mut(&mut self) -> &mut Links {
                &mut self.links
            }
        }
    };
}
pub(super) use linked;

/// The state of a flow in [`Rounds`].
pub(super) trait InRounds: Linked {
    /// The number of the round of its next (or present) turn.
    fn round(&self) -> u32;
    /// That number, to be changed.
    fn round_mut(&mut self) -> &mut u32;
}

/// Implements [`Linked`] and [`InRounds`] for a type with fields `links` and `round`.
macro_rules! in_rounds {
    ($type:ty) => {
        $crate::scheduler::active_list::linked!($type);

        impl $crate::scheduler::active_list::InRounds for $type {
            #[inline]
            fn round(&self) -> u32 {
                self.round
            }

            #[inline]
            fn round_mut(&mut self) -> &mut u32 {
                &mut self.round
            }
        }
    };
}
pub(super) use in_rounds;

/// One ring of flows. Many rings may run through one table of flows, as long as a flow is in at most one.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveList {
    front: u32,
}

impl ActiveList {
    /// An empty ring.
    pub(super) const EMPTY: ActiveList = ActiveList { front: NO_FLOW };

    /// The flow whose turn it is.
    #[inline]
    pub(super) fn front(self) -> Option<u32> {
        (self.front != NO_FLOW).then_some(self.front)
    }

    /// Adds `flow`, which is in no ring, behind all others. True if it is the only one.
    #[inline]
    pub(super) fn join<T: Linked>(&mut self, flows: &mut [T], flow: u32) -> bool {
        debug_assert_eq!(flows[flow as usize].links().next, NO_FLOW, "flow {flow} is activated twice");
        let (mut next, mut previous) = (flow, flow);
        let alone = self.front == NO_FLOW;
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

    /// Adds `flow`, which is in no ring, just before `other`, which is in this one.
    fn join_before<T: Linked>(flows: &mut [T], flow: u32, other: u32) {
        let previous = core::mem::replace(&mut flows[other as usize].links_mut().previous, flow);
        flows[previous as usize].links_mut().next = flow;
        let links = flows[flow as usize].links_mut();
        (links.next, links.previous) = (other, previous);
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let links = flows[flow as usize].links_mut();
        let Links { next, previous, .. } = *links;
        debug_assert_ne!(next, NO_FLOW, "flow {flow} leaves, but it is not backlogged");
        (links.next, links.previous) = (NO_FLOW, NO_FLOW);
        if next == flow {
            self.front = NO_FLOW;
            return;
        }
        flows[previous as usize].links_mut().next = next;
        flows[next as usize].links_mut().previous = previous;
        if self.front == flow {
            self.front = next;
        }
    }

    /// All flows, in the order of their turns.
    pub(super) fn flows<T: Linked>(self, flows: &[T]) -> Vec<u32> {
        let next = |&flow: &u32| Some(flows[flow as usize].links().next).filter(|&next| next != self.front);
        core::iter::successors(self.front(), next).collect()
    }

    /// The flow whose turn comes after that of `flow`; `None` after the last of a round.
    #[inline]
    pub(super) fn after<T: Linked>(self, flows: &[T], flow: u32) -> Option<u32> {
        let next = flows[flow as usize].links().next;
        (next != self.front).then_some(next)
    }

    /// Passes the turn on: the front goes behind all others.
    #[inline]
    pub(super) fn pass<T: Linked>(&mut self, flows: &[T]) {
        if self.front != NO_FLOW {
            self.front = flows[self.front as usize].links().next;
        }
    }
}

/// A ring of flows that counts rounds, so that a suspended flow comes back to the round that it was taken from.
///
/// From the front on come the flows whose turn of this round is still due or under way, and behind them those that have had it. Each flow
/// keeps the number of the round of its next turn, so the number of this round is that of the front's turn.
// In this order, so that all but the comeback's turns may share a cache line with other state of the ring.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Rounds {
    ring: ActiveList,
    /// The flow with which the next round begins; the front, if no flow waits for that round yet.
    first: u32,
    /// The last of the flows at the front that have come back to their turns; `NO_FLOW` if there are none.
    resumed: u32,
    /// While the ring is empty, the number of this round.
    round: u32,
    comeback: Comeback,
}

/// The flow that was resumed last, and what is restored if it is suspended before it has sent.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Comeback {
    /// `NO_FLOW` once another flow has joined the ring.
    flow: u32,
    /// Its turn before it was resumed and after: the round, and what is left of the turn in the unit of the discipline.
    turns: [(u32, u64); 2],
    /// The number of the ring's round before, if the ring was empty.
    empty_round: Option<u32>,
}

impl Comeback {
    const NONE: Comeback = Comeback { flow: NO_FLOW, turns: [(0, 0); 2], empty_round: None };
}

impl Rounds {
    /// An empty ring.
    pub(super) const EMPTY: Rounds =
        Rounds { ring: ActiveList::EMPTY, first: NO_FLOW, resumed: NO_FLOW, comeback: Comeback::NONE, round: 0 };

    /// The flow whose turn it is.
    #[inline]
    pub(super) fn front(self) -> Option<u32> {
        self.ring.front()
    }

    /// The number of this round.
    #[inline]
    fn round<T: InRounds>(&self, flows: &[T]) -> u32 {
        self.front().map_or(self.round, |front| flows[front as usize].round())
    }

    /// Adds `flow`, which is in no ring, behind all others.
    #[inline]
    pub(super) fn join<T: InRounds>(&mut self, flows: &mut [T], flow: u32) {
        self.comeback.flow = NO_FLOW;
        let mut round = self.round;
        if let Some(front) = self.front() {
            round = flows[front as usize].round().wrapping_add(1);
            if self.first == front {
                self.first = flow;
            }
        } else {
            self.first = flow;
        }
        *flows[flow as usize].round_mut() = round;
        self.ring.join(flows, flow);
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave<T: InRounds>(&mut self, flows: &mut [T], flow: u32) {
        let state = &flows[flow as usize];
        if self.first == flow {
            self.first = state.links().next;
            // The last flow to leave is both at the front and the first.
            self.round = state.round();
        }
        if self.resumed == flow {
            self.resumed = if self.ring.front == flow { NO_FLOW } else { state.links().previous };
        }
        self.ring.leave(flows, flow);
    }

    /// Passes the turn on: the front goes behind all others, and its next turn is of the next round.
    #[inline]
    pub(super) fn pass<T: InRounds>(&mut self, flows: &mut [T]) {
        let Some(front) = self.front() else { return };
        if self.resumed == front {
            self.resumed = NO_FLOW;
        }
        let round = flows[front as usize].round_mut();
        *round = round.wrapping_add(1);
        self.ring.pass(flows);
    }

    /// Adds `flow` again, whose state has the round of its next turn. It goes to the front, behind others that came back before it, if that turn
    /// `has_begun` or its round is over; to the end of its round otherwise. True if its round is over: it missed a turn.
    pub(super) fn resume<T: InRounds>(&mut self, flows: &mut [T], flow: u32, has_begun: bool) -> bool {
        let (mut round, due) = (self.round(flows), flows[flow as usize].round());
        self.comeback.empty_round = self.front().is_none().then_some(self.round);
        let is_next = due == round.wrapping_add(1);
        let missed = due != round && !is_next;
        let goes_first = missed || has_begun;
        match self.front() {
            None => {
                if is_next {
                    round = due;
                }
                self.join(flows, flow);
                self.resumed = if goes_first { flow } else { NO_FLOW };
            }
            Some(_) if is_next => {
                self.join(flows, flow);
                return false;
            }
            Some(front) if goes_first => {
                if self.resumed == NO_FLOW {
                    self.ring.front = flow;
                    ActiveList::join_before(flows, flow, front);
                    if self.first == front {
                        self.first = flow;
                    }
                } else {
                    let behind = flows[self.resumed as usize].links().next;
                    ActiveList::join_before(flows, flow, behind);
                }
                self.resumed = flow;
            }
            Some(_) => ActiveList::join_before(flows, flow, self.first),
        }
        *flows[flow as usize].round_mut() = round;
        missed
    }

    /// The next suspension takes nothing back.
    pub(super) fn forget_comeback(&mut self) {
        self.comeback = Comeback::NONE;
    }

    /// Takes over the flows that stay from `old`, in the order of their turns. `flows`, which are in no ring, have the rounds of their turns.
    pub(super) fn adopt<T: InRounds>(&mut self, flows: &mut [T], old: &mut Rounds, old_flows: &mut [T], moves: &mut Moves) {
        for flow in old.ring.flows(old_flows) {
            if moves.to(Flow(flow)).is_none() {
                old.leave(old_flows, flow);
            }
        }
        let place = |flow: u32| if flow == NO_FLOW { NO_FLOW } else { moves.to(Flow(flow)).map_or(NO_FLOW, |flow| flow.0) };
        (self.first, self.resumed, self.round) = (place(old.first), place(old.resumed), old.round);
        self.comeback = Comeback { flow: place(old.comeback.flow), ..old.comeback };
        for flow in old.ring.flows(old_flows) {
            if let Some(flow) = moves.take(Flow(flow)) {
                self.ring.join(flows, flow.0);
            }
        }
    }

    /// Remembers that `flow` has been resumed: the round and the rest of its turn, before and after.
    pub(super) fn remember(&mut self, flow: u32, turns: [(u32, u64); 2]) {
        (self.comeback.flow, self.comeback.turns) = (flow, turns);
    }

    /// Takes `flow` out, which has `left` of its turn, and returns what it keeps of the turn. If it was the last to join and has sent nothing
    /// since it was resumed, its turn is as if it had stayed away.
    pub(super) fn suspend<T: InRounds>(&mut self, flows: &mut [T], flow: u32, left: u64) -> u64 {
        self.leave(flows, flow);
        let Comeback { flow: resumed, turns: [before, after], empty_round } = self.comeback;
        let round = flows[flow as usize].round_mut();
        if resumed != flow || after != (*round, left) {
            return left;
        }
        self.comeback.flow = NO_FLOW;
        *round = before.0;
        self.round = empty_round.unwrap_or(self.round);
        before.1
    }
}

/// Fetches the state of flows whose turn comes soon, as far as this round resembles the last. Wrong guesses cost time and nothing else.
#[derive(Clone, Debug)]
pub(super) struct PrefetchPredictor {
    turn: u32,
    /// The flows of the latest turns.
    past: [u32; PREDICTION_DISTANCE],
    /// The flow whose turn comes `PREDICTION_DISTANCE` turns after the latest.
    coming: u32,
}

impl PrefetchPredictor {
    /// Knows nothing yet.
    pub(super) const NEW: PrefetchPredictor = PrefetchPredictor { turn: 0, past: [0; PREDICTION_DISTANCE], coming: 0 };

    /// It is `flow`'s turn.
    #[inline]
    pub(super) fn turn_of<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let at = self.turn as usize % PREDICTION_DISTANCE;
        let earlier = core::mem::replace(&mut self.past[at], flow);
        flows[earlier as usize].links_mut().later = flow;
        let later = flows[flow as usize].links().later;
        self.coming = later;
        prefetch(&flows[later as usize]);
        if !64_usize.is_multiple_of(size_of::<T>()) {
            // It may lie on two lines.
            prefetch_in(flows, later as usize + 1);
        }
        self.turn = self.turn.wrapping_add(1);
    }

    /// A flow whose turn comes soon.
    #[inline]
    pub(super) fn prefetch_hint(&self) -> Flow {
        Flow(self.coming)
    }
}

#[cfg(test)]
mod tests;
