//! Rings and rounds beside queues of flows, and how many turns are predicted.

use super::*;
use alloc::collections::VecDeque;
use proptest::prelude::*;

#[derive(Clone, Copy)]
struct State {
    links: Links,
    round: u32,
}

in_rounds!(State);

impl State {
    const NONE: State = State { links: Links::NONE, round: 0 };
}

proptest! {
    #[test]
    fn it_behaves_as_a_queue_of_distinct_flows(steps in proptest::collection::vec((0u8..3, 0u32..6), 0..200)) {
        let mut flows = [State::NONE; 6];
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
        let (mut flows, mut rounds, mut model) = ([State::NONE; 6], Rounds::EMPTY, Model::default());
                for (step, flow, has_begun) in steps {
            let is_in = model.now.contains(&flow) || model.next.contains(&flow);
            match step {
                0 if !is_in => {
                    rounds.join(&mut flows, flow);
                    model.join(flow);
                }
                1 if !is_in => {
                    let turn = flows[flow as usize].round;
                    let missed = turn != model.round && turn != model.round + 1;
                    model.resume(flow, turn, has_begun);
                    prop_assert_eq!(rounds.resume(&mut flows, flow, has_begun), missed);
                }
                2 | 3 if !model.now.is_empty() => {
                    rounds.pass(&mut flows);
                    model.pass();
                }
                4 if is_in => {
                    rounds.leave(&mut flows, flow);
                    model.leave(flow);
                }
                _ => {}
            }
            prop_assert_eq!(rounds.round(&flows), model.round);
            let mut cursor = rounds.ring;
            for (which, list) in [(0, &model.now), (1, &model.next)] {
                for &flow in list {
                    prop_assert_eq!((cursor.front(), flows[flow as usize].round), (Some(flow), model.round + which));
                    cursor.pass(&flows);
                }
            }
            prop_assert_eq!(cursor.front(), model.now.front().copied());
        }
    }
}

#[test]
fn from_the_second_round_on_the_future_is_foreseen() {
    let mut flows = [State::NONE; 50];
    let mut predictor = PrefetchPredictor::NEW;
    for turn in 0..200u32 {
        predictor.turn_of(&mut flows, turn * 7 % 50);
        if turn >= 50 + PREDICTION_DISTANCE as u32 {
            assert_eq!(predictor.prefetch_hint(), Flow((turn + PREDICTION_DISTANCE as u32) * 7 % 50), "turn {turn}");
        }
    }
}
