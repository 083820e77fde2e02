//! The active lists of round-robin disciplines: the backlogged flows in a ring, in the order of their turns, linked through the state
//! that the discipline keeps of each flow; and a guess at whose turn comes some turns later.
//!
//! The flow whose turn it is stands at the front; whoever joins stands behind everybody else, that is just before the front. Passing
//! the turn on therefore moves a cursor and writes nothing.
//!
//! [`Rounds`] counts the rounds of such a ring, so that a flow that its contract suspends comes back to the turn it was taken from.
//!
//! Flows of a long ring lie anywhere in memory, and whoever follows the links waits for each of them in turn. But rounds are much
//! alike: each flow remembers who had a turn [`PREDICTION_DISTANCE`] turns after it the last time, and on its next turn that flow's state is fetched.

use crate::packet::Flow;
use crate::prefetch::prefetch;

/// Marks the end of nothing: an empty ring, or a flow that is in none.
const NONE: u32 = u32::MAX;

/// How many turns state is fetched in advance: enough turns to outlast a fetch from main memory, and a power of two.
const PREDICTION_DISTANCE: usize = 8;

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

/// A ring of flows that counts rounds, so that a suspended flow comes back to the round that it was taken from.
///
/// From the front on come the flows whose turn of this round is still due or under way, and behind them those that have had it. Each flow
/// keeps the number of the round of its next (or present) turn: this one or the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    ring: ActiveList,
    /// The flow with which the next round begins; the front, if no flow waits for that round yet.
    first: u32,
    /// The last of the flows at the front that have come back to their turns; `NONE` if there are none.
    resumed: u32,
    round: u32,
}

/// What a flow finds that is resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Resumption {
    /// The round of its next turn.
    pub(super) round: u32,
    /// The round of its turn has ended without it.
    pub(super) missed: bool,
}

impl Rounds {
    /// An empty ring.
    pub(super) const EMPTY: Rounds = Rounds { ring: ActiveList::EMPTY, first: NONE, resumed: NONE, round: 0 };

    /// The flow whose turn it is.
    #[inline]
    pub(super) fn front(self) -> Option<u32> {
        self.ring.front()
    }

    /// The next round.
    #[inline]
    pub(super) fn next_round(self) -> u32 {
        self.round.wrapping_add(1)
    }

    /// True if no flow waits for the next round.
    #[inline]
    fn is_whole_round(self) -> bool {
        self.first == self.ring.front
    }

    /// Adds `flow`, which is in no ring, behind all others, and says of which round its turn is.
    #[inline]
    pub(super) fn join<T: Linked>(&mut self, flows: &mut [T], flow: u32) -> u32 {
        let was_whole = self.is_whole_round();
        if self.ring.join(flows, flow) {
            self.first = flow;
            return self.round;
        }
        if was_whole {
            self.first = flow;
        }
        self.next_round()
    }

    /// Takes `flow` out. If it was its turn, the turn passes to the next.
    #[inline]
    pub(super) fn leave<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let ends_round = self.ring.front == flow && !self.is_whole_round();
        if self.first == flow {
            self.first = flows[flow as usize].links().next;
        }
        if self.resumed == flow {
            self.resumed = if self.ring.front == flow { NONE } else { flows[flow as usize].links().previous };
        }
        self.ring.leave(flows, flow);
        if ends_round && self.is_whole_round() {
            self.round = self.next_round();
        }
    }

    /// Passes the turn on: the front goes behind all others.
    #[inline]
    pub(super) fn pass<T: Linked>(&mut self, flows: &[T]) {
        if self.resumed == self.ring.front {
            self.resumed = NONE;
        }
        self.ring.pass(flows);
        if self.is_whole_round() {
            self.round = self.next_round();
        }
    }

    /// Adds `flow` again, whose next turn is of `round`: at the front, behind others that came back before it, if that turn `has_begun` or its
    /// round is over; at the end of its round otherwise.
    pub(super) fn resume<T: Linked>(&mut self, flows: &mut [T], flow: u32, round: u32, has_begun: bool) -> Resumption {
        if self.ring.front == NONE {
            let missed = round != self.round && round != self.next_round();
            if round == self.next_round() {
                self.round = round;
            }
            self.join(flows, flow);
            self.resumed = if missed || has_begun { flow } else { NONE };
            return Resumption { round: self.round, missed };
        }
        if round == self.next_round() {
            return Resumption { round: self.join(flows, flow), missed: false };
        }
        let missed = round != self.round;
        if missed || has_begun {
            if self.resumed == NONE {
                let front = core::mem::replace(&mut self.ring.front, flow);
                ActiveList::join_before(flows, flow, front);
                if self.first == front {
                    self.first = flow;
                }
            } else {
                let behind = flows[self.resumed as usize].links().next;
                ActiveList::join_before(flows, flow, behind);
            }
            self.resumed = flow;
        } else {
            ActiveList::join_before(flows, flow, self.first);
        }
        Resumption { round: self.round, missed }
    }
}

/// Fetches the state of flows whose turn will come soon, if this round resembles the last. It may be wrong, and nothing depends on it.
#[derive(Clone, Debug)]
pub(super) struct PrefetchPredictor {
    turn: usize,
    /// Whose the latest turns were.
    past: [u32; PREDICTION_DISTANCE],
    /// Whose turn comes `PREDICTION_DISTANCE` turns after the latest.
    coming: u32,
}

impl PrefetchPredictor {
    /// Knows nothing yet.
    pub(super) const NEW: PrefetchPredictor = PrefetchPredictor { turn: 0, past: [0; PREDICTION_DISTANCE], coming: 0 };

    /// It is `flow`'s turn.
    #[inline]
    pub(super) fn turn_of<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let at = self.turn % PREDICTION_DISTANCE;
        let earlier = core::mem::replace(&mut self.past[at], flow);
        flows[earlier as usize].links_mut().later = flow;
        let later = flows[flow as usize].links().later;
        self.coming = later;
        prefetch(&flows[later as usize]);
        self.turn = self.turn.wrapping_add(1);
    }

    /// A flow whose turn comes soon.
    #[inline]
    pub(super) fn prefetch_hint(&self) -> Flow {
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

    /// The flows whose turn of this round is to come, of which the first `resumed` came back, and those of the next round.
    #[derive(Default)]
    struct Model {
        now: VecDeque<u32>,
        next: VecDeque<u32>,
        resumed: usize,
        round: u32,
    }

    impl Model {
        /// The next round begins if this one has no flow left, and that one has.
        fn turn_over(&mut self) {
            if self.now.is_empty() && !self.next.is_empty() {
                core::mem::swap(&mut self.now, &mut self.next);
                self.round += 1;
            }
        }

        fn join(&mut self, flow: u32) {
            if self.now.is_empty() { &mut self.now } else { &mut self.next }.push_back(flow);
        }

        fn pass(&mut self) {
            let front = self.now.pop_front().unwrap();
            self.resumed = self.resumed.saturating_sub(1);
            self.next.push_back(front);
            self.turn_over();
        }

        fn leave(&mut self, flow: u32) {
            self.resumed -= usize::from(self.now.iter().take(self.resumed).any(|&f| f == flow));
            self.now.retain(|&f| f != flow);
            self.next.retain(|&f| f != flow);
            self.turn_over();
        }

        fn resume(&mut self, flow: u32, round: u32, has_begun: bool) {
            if round == self.round + 1 {
                if self.now.is_empty() {
                    (self.round, self.resumed) = (round, usize::from(has_begun));
                }
                self.join(flow);
            } else if has_begun || round != self.round {
                self.now.insert(self.resumed, flow);
                self.resumed += 1;
            } else {
                self.now.push_back(flow);
            }
        }
    }

    proptest! {
        #[test]
        fn rounds_are_those_of_two_lists(steps in proptest::collection::vec((0u8..5, 0u32..6, any::<bool>()), 0..300)) {
            let (mut flows, mut rounds, mut model) = ([Links::NONE; 6], Rounds::EMPTY, Model::default());
            let mut turns = [0; 6];
            for (step, flow, has_begun) in steps {
                let is_in = model.now.contains(&flow) || model.next.contains(&flow);
                match step {
                    0 if !is_in => {
                        turns[flow as usize] = rounds.join(&mut flows, flow);
                        model.join(flow);
                    }
                    1 if !is_in => {
                        let turn = turns[flow as usize];
                        let missed = turn != model.round && turn != model.round + 1;
                        model.resume(flow, turn, has_begun);
                        let resumption = rounds.resume(&mut flows, flow, turn, has_begun);
                        prop_assert_eq!(resumption.missed, missed);
                        turns[flow as usize] = resumption.round;
                    }
                    2 | 3 if !model.now.is_empty() => {
                        let front = rounds.front().unwrap();
                        turns[front as usize] = rounds.next_round();
                        rounds.pass(&flows);
                        model.pass();
                    }
                    4 if is_in => {
                        rounds.leave(&mut flows, flow);
                        model.leave(flow);
                    }
                    _ => {}
                }
                prop_assert_eq!(rounds.round, model.round);
                let mut cursor = rounds.ring;
                for (which, list) in [(0, &model.now), (1, &model.next)] {
                    for &flow in list {
                        prop_assert_eq!((cursor.front(), turns[flow as usize]), (Some(flow), model.round + which));
                        cursor.pass(&flows);
                    }
                }
                prop_assert_eq!(cursor.front(), model.now.front().copied());
            }
        }
    }

    #[test]
    fn from_the_second_round_on_the_future_is_foreseen() {
        let mut flows = [Links::NONE; 50];
        let mut predictor = PrefetchPredictor::NEW;
        for turn in 0..200u32 {
            predictor.turn_of(&mut flows, turn * 7 % 50);
            if turn >= 50 + PREDICTION_DISTANCE as u32 {
                assert_eq!(predictor.prefetch_hint(), Flow((turn + PREDICTION_DISTANCE as u32) * 7 % 50), "turn {turn}");
            }
        }
    }
}
