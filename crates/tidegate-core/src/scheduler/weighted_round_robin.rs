//! Weighted round robin: backlogged flows take turns, and on each turn a flow may send as many packets as its weight.
//!
//! **Law.** Two flows of weights `w_i`, `w_j` that are backlogged throughout an interval send `n_i`, `n_j` packets with
//! `|n_i/w_i - n_j/w_j| <= 1`. With packets of one length `L`, a flow that becomes backlogged is served at its rate `C w_i/W` after a latency
//! of at most `(W - w_i + 1) L/C`. `W` is the sum of all weights and `C` the link's rate.
//!
//! A suspended flow resumes its turn when it comes back. If its round has ended meanwhile, it gets one turn more, at most two in all. A
//! suspended flow `j` adds at most `w_j L/C` to the latency of the others. Flows that are back before each round ends keep the law above.
//! A changed weight holds from the flow's next turn on; a turn that was granted stays as it is.
//!
//! **Source.** M. Katevenis, S. Sidiropoulos, C. Courcoubetis, "Weighted Round-Robin Cell Multiplexing in a General-Purpose ATM Switch
//! Chip", IEEE Journal on Selected Areas in Communications 9(8), 1991. The latency is that of D. Stiliadis, A. Varma, "Latency-Rate
//! Servers", IEEE/ACM Transactions on Networking 6(5), 1998, table I.
//!
//! **State.** 32 bytes per flow: weight, packets left in the turn, length of the head, the links of the active list.
//!
//! **Cost.** Constant per packet: one cache line of the flow that is served and one of the next.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** A flow's packets of one turn leave back to back; the source also spaces them over the round. Only backlogged flows
//! have turns, so no slot is left empty.

use super::active_list::Links;
use super::deficit_turns::{DeficitTurns, flows_keep_turns, flows_take_turns, in_turns};
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Scheduling, Setup, weight_of};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::Time;
use alloc::vec::Vec;

/// Weighted round robin over packets.
///
/// Flow 0 has twice the weight of flow 1, and both have plenty to send.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::registry::SchedulerKind;
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
///
/// let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
/// let setup = Setup::new(Rate::new(1_000_000).unwrap(), 1500);
/// let mut wrr = SchedulerKind::WeightedRoundRobin.build(&setup, &[weight(2), weight(1)]).unwrap();
///
/// let head = |number| Head { length: 100, number, arrival: Time::ZERO, colour: Colour::Green };
/// wrr.activate(Time::ZERO, Flow(0), head(0));
/// wrr.activate(Time::ZERO, Flow(1), head(1));
/// let mut order = Vec::new();
/// for number in 2..8 {
///     let Decision::Serve(flow) = wrr.select(Time::ZERO) else { unreachable!("both flows are backlogged") };
///     wrr.served(Time::ZERO, flow, Some(head(number)));
///     order.push(flow.0);
/// }
/// assert_eq!(order, [0, 0, 1, 0, 0, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct WeightedRoundRobin {
    flows: Vec<Turn>,
    turns: DeficitTurns,
}

/// Half a cache line, so that no flow's state lies across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Turn {
    /// The packets left of the turn under way, or those of the next.
    deficit: u64,
    links: Links,
    /// Packets per turn.
    weight: u32,
    /// The wire length of the head.
    length: u32,
    /// The round of that turn.
    round: u32,
}

in_turns!(Turn);

impl Scheduler for WeightedRoundRobin {
    const WORK_CONSERVING: bool = true;

    flows_take_turns!();
    flows_keep_turns!();

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            self.turns.leave(&mut self.flows, flow.0);
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.flows[flow.index()].weight = weight_of(flow.index(), parameters)?;
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        let turn = &mut self.flows[flow.index()];
        (turn.deficit, turn.round) = (0, 0);
    }
}

impl Algorithm<Scheduling> for WeightedRoundRobin {
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "backlogged flows send packets in proportion to their weights";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Weight];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<WeightedRoundRobin, BuildError> {
        let mut turns = alloc::vec![Turn { deficit: 0, links: Links::NONE, weight: 1, length: 0, round: 0 }; setup.places(flows)];
        for (index, parameters) in flows.iter().enumerate() {
            turns[index].weight = weight_of(index, parameters)?;
        }
        Ok(WeightedRoundRobin { flows: turns, turns: DeficitTurns::BY_PACKETS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{Backlog, Server, assert_same, steps};
    use crate::units::Rate;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    fn weighted(weights: &[u32]) -> Backlog<WeightedRoundRobin> {
        let setup = Setup::new(Rate::MAX, 1000);
        let flows: Vec<_> = weights.iter().map(|&weight| FlowParameters { weight: Some(weight), ..Default::default() }).collect();
        Backlog::new(setup.build::<WeightedRoundRobin>(&flows).unwrap(), weights.len())
    }

    #[test]
    fn a_turn_ends_with_the_queue_and_begins_anew() {
        let mut wrr = weighted(&[3, 1]);
        for (flow, packets) in [(0, 2), (1, 3)] {
            (0..packets).for_each(|_| wrr.arrive(flow, 100));
        }
        assert_eq!([wrr.send(), wrr.send()], [Some((0, 100)), Some((0, 100))]);
        (0..4).for_each(|_| wrr.arrive(0, 100));
        let order: Vec<_> = core::iter::from_fn(|| wrr.send()).map(|(flow, _)| flow).collect();
        assert_eq!(order, [1, 0, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn a_lost_head_leaves_the_turn_as_long_as_it_was() {
        let mut wrr = weighted(&[2, 1]);
        (0..5).for_each(|_| wrr.arrive(0, 100));
        wrr.arrive(1, 100);
        assert_eq!(wrr.send(), Some((0, 100)));
        wrr.lose_head(0);
        assert_eq!([wrr.send(), wrr.send()], [Some((0, 100)), Some((1, 100))]);
    }

    #[test]
    fn a_weight_of_zero_is_refused() {
        let setup = Setup::new(Rate::MAX, 1000);
        let flows = [FlowParameters { weight: Some(0), ..Default::default() }];
        let error = setup.build::<WeightedRoundRobin>(&flows).unwrap_err();
        assert_eq!((error.flow, error.parameter), (Some(Flow(0)), Parameter::Weight));
    }

    /// A list, and a count of what the flow at the front has sent on its turn.
    struct Textbook {
        queues: Vec<VecDeque<u32>>,
        weights: Vec<u32>,
        list: VecDeque<usize>,
        sent: u32,
    }

    impl Textbook {
        fn take(&mut self, flow: usize, take: impl Fn(&mut VecDeque<u32>) -> Option<u32>) -> Option<u32> {
            let taken = take(&mut self.queues[flow])?;
            if self.queues[flow].is_empty() {
                if self.list.front() == Some(&flow) {
                    self.sent = 0;
                }
                self.list.retain(|&other| other != flow);
            }
            Some(taken)
        }
    }

    impl Server for Textbook {
        fn arrive(&mut self, flow: usize, length: u32) {
            self.queues[flow].push_back(length);
            if self.queues[flow].len() == 1 {
                self.list.push_back(flow);
            }
        }

        fn send(&mut self) -> Option<(usize, u32)> {
            if self.sent == self.weights[*self.list.front()?] {
                self.list.rotate_left(1);
                self.sent = 0;
            }
            let flow = self.list[0];
            self.sent += 1;
            self.take(flow, VecDeque::pop_front).map(|length| (flow, length))
        }

        fn lose_head(&mut self, flow: usize) {
            self.take(flow, VecDeque::pop_front);
        }

        fn lose_tail(&mut self, flow: usize) {
            self.take(flow, VecDeque::pop_back);
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_textbook(weights in proptest::collection::vec(1u32..5, 5), steps in steps(5, 1000)) {
            let mut textbook = Textbook { queues: alloc::vec![VecDeque::new(); 5], weights: weights.clone(), list: VecDeque::new(), sent: 0 };
            assert_same(&mut weighted(&weights), &mut textbook, &steps);
        }

        #[test]
        fn backlogged_flows_stay_within_one_turn(weights in proptest::collection::vec(1u32..50, 2..6), packets in 1usize..2000) {
            let flows = weights.len();
            let mut wrr = weighted(&weights);
            (0..flows).for_each(|flow| (0..2).for_each(|_| wrr.arrive(flow, 1)));
            let mut sent = alloc::vec![0i64; flows];
            let mut extremes = alloc::vec![(0, 0); flows * flows];
            for _ in 0..packets {
                let (flow, _) = wrr.send().unwrap();
                sent[flow] += 1;
                wrr.arrive(flow, 1);
                for (i, j) in (0..flows).flat_map(|i| (0..i).map(move |j| (i, j))) {
                    let (wi, wj) = (i64::from(weights[i]), i64::from(weights[j]));
                    let difference = sent[i] * wj - sent[j] * wi;
                    let (low, high) = &mut extremes[i * flows + j];
                    (*low, *high) = (difference.min(*low), difference.max(*high));
                    prop_assert!(*high - *low <= wi * wj, "flows {} and {}", i, j);
                }
            }
        }

        #[test]
        fn the_latency_bound_holds(weights in proptest::collection::vec(1u32..50, 2..6), before in 1usize..200) {
            let (flows, late) = (weights.len(), weights.len() - 1);
            let mut wrr = weighted(&weights);
            (0..late).for_each(|flow| (0..2).for_each(|_| wrr.arrive(flow, 1)));
            for _ in 0..before {
                let (flow, _) = wrr.send().unwrap();
                wrr.arrive(flow, 1);
            }
            // The last flow becomes backlogged as the packet sent last ends.
            wrr.arrive(late, 1);
            wrr.arrive(late, 1);
            let (weight, all) = (i64::from(weights[late]), weights.iter().copied().map(i64::from).sum::<i64>());
            let mut served = 0;
            for elapsed in 1..2000 {
                let (flow, _) = wrr.send().unwrap();
                wrr.arrive(flow, 1);
                prop_assert!(served * all >= weight * (elapsed - (all - weight + 1)), "{} served after {} of {}", served, elapsed, flows);
                served += i64::from(flow == late);
            }
        }
    }
}
