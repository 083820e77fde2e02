//! Deficit round robin: backlogged flows take turns, and on each turn a flow may send its quantum of bytes plus the rest of earlier turns.
//!
//! **Law.** Let `Q_i` be the quanta, `Q` the smallest of them, and `L` the longest packet. Two flows that are backlogged throughout an interval
//! receive service `S_i`, `S_j` with `|S_i Q/Q_i - S_j Q/Q_j| <= Q + 2 L`. Let `F` be the sum of all quanta and `C` the link's rate. A flow that
//! becomes backlogged is served at its rate `C Q_i/F` after a latency of at most `(3 F - 2 Q_i)/C`.
//!
//! A suspended flow keeps the rest of its turn, and resumes the turn when it comes back. If its round has ended meanwhile, it gets one quantum
//! more, however long it was away: it saves up less than two quanta and a packet. Every suspended flow `j` thus adds at most `Q_j/C` to the
//! latency of the others. Flows that are back before each round ends keep the law above.
//!
//! A changed weight holds from the flow's next quantum on; deficits stay. When the least weight changes, all later quanta scale alike.
//!
//! **Source.** M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin", IEEE/ACM Transactions on Networking 4(3),
//! 1996, section III and its theorem on fairness. The latency is that of D. Stiliadis, A. Varma, "Latency-Rate Servers", IEEE/ACM
//! Transactions on Networking 6(5), 1998, table I.
//!
//! **State.** 41 bytes per flow: deficit, quantum, length of the head, the links of the active list, and a tree over all weights.
//!
//! **Cost.** Constant per packet: one cache line of the flow that is served and one of the next. Quanta given by hand that are smaller
//! than packets cost one step per turn that a flow cannot use. A change of weight costs a step per 16-fold of flows. If the least weight falls
//! or rises by many orders of magnitude, it converts all deficits to another unit, a step per flow.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The quantum follows from the weight: the flow of the least weight gets the longest packet, the others in proportion. So
//! every turn sends at least one packet, and a large ratio of weights makes a long round: `F = L (sum of weights) / (least weight)`. Deficits
//! count units of one byte divided by the least weight, in which every quantum is whole: shares are exact for any weights. A turn is granted
//! its quantum when the flow's turn before it ends; the order is the same, and a suspended flow knows what it comes back to.

use super::active_list::Links;
use super::deficit_turns::{DeficitTurns, flows_keep_turns, flows_take_turns, in_turns};
use super::least::Least;
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Scheduling, Setup, weight_of};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::{MAX_BYTES, Time};
use alloc::vec::Vec;

/// Deficit round robin.
///
/// Two flows with quanta of 500 bytes; the first has a packet of 300 and one of 400 bytes, the second two of 500.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, DeficitRoundRobin, Scheduler};
/// use tidegate_core::units::Time;
///
/// let head = |number, length| Head { length, number, arrival: Time::ZERO, colour: Colour::Green };
/// let mut drr = DeficitRoundRobin::with_quanta(&[500, 500]);
/// drr.activate(Time::ZERO, Flow(0), head(0, 300));
/// drr.activate(Time::ZERO, Flow(1), head(2, 500));
///
/// // After 300 bytes flow 0 has 200 left, too little for its next packet: it keeps them and the turn passes on.
/// assert_eq!(drr.select(Time::ZERO), Decision::Serve(Flow(0)));
/// drr.served(Time::ZERO, Flow(0), Some(head(1, 400)));
/// assert_eq!(drr.select(Time::ZERO), Decision::Serve(Flow(1)));
/// drr.served(Time::ZERO, Flow(1), Some(head(3, 500)));
/// assert_eq!(drr.select(Time::ZERO), Decision::Serve(Flow(0)));
/// ```
#[derive(Clone, Debug)]
pub struct DeficitRoundRobin {
    flows: Vec<Turn>,
    turns: DeficitTurns,
    /// The least quantum in bytes.
    quantum: u32,
    /// By place; [`VACANT`] without a flow.
    weights: Least<u64>,
}

/// Half a cache line, so that no flow's state lies across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Turn {
    /// The rest of the turn under way, or the bytes of the next turn.
    deficit: u64,
    weight: u32,
    /// The round of that turn.
    round: u32,
    /// Wire length of the flow's head.
    length: u32,
    links: Links,
}

in_turns!(Turn);

/// In place of a weight: there is no flow.
const VACANT: u64 = u64::MAX;

impl DeficitRoundRobin {
    /// Flows with these quanta in bytes, each from 1 to [`MAX_BYTES`], in place of quanta derived from weights.
    ///
    /// # Panics
    /// If a quantum is out of range; a flow without a quantum could never be served.
    pub fn with_quanta(quanta: &[u32]) -> DeficitRoundRobin {
        assert!(quanta.iter().all(|quantum| (1..=MAX_BYTES).contains(quantum)), "quanta lie between 1 and 2^30 - 1 bytes");
        DeficitRoundRobin::new(quanta, quanta.len(), 1, 1)
    }

    fn new(weights: &[u32], places: usize, quantum: u32, cost: u32) -> DeficitRoundRobin {
        let mut flows = alloc::vec![Turn { deficit: 0, weight: 1, round: 0, length: 0, links: Links::NONE }; places];
        flows.iter_mut().zip(weights).for_each(|(turn, &weight)| turn.weight = weight);
        let mut by_place = alloc::vec![VACANT; places];
        by_place.iter_mut().zip(weights).for_each(|(place, &weight)| *place = weight.into());
        DeficitRoundRobin { flows, turns: DeficitTurns::new(quantum, cost), quantum, weights: Least::new(by_place) }
    }

    /// The weight of a place is this one from the next quantum on, and the least quantum is that of the least weight.
    fn set_weight(&mut self, flow: Flow, weight: u64) {
        self.weights.set(flow.index(), weight);
        let Some((_, least)) = self.weights.least().filter(|&(_, least)| least != VACANT) else { return };
        if let Some(unit) = self.turns.scale(self.quantum, least as u32) {
            for turn in &mut self.flows {
                turn.deficit = unit.converted(turn.deficit);
            }
        }
    }
}

impl Scheduler for DeficitRoundRobin {
    const WORK_CONSERVING: bool = true;

    flows_take_turns!();
    flows_keep_turns!();

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        match next {
            Some(head) => self.flows[flow.index()].length = head.length,
            None => self.turns.leave(&mut self.flows, flow.0),
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let weight = weight_of(flow.index(), parameters)?;
        if self.weights.get(flow.index()) != u64::from(weight) {
            self.flows[flow.index()].weight = weight;
            self.set_weight(flow, weight.into());
        }
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.set_weight(flow, VACANT);
        let turn = &mut self.flows[flow.index()];
        (turn.deficit, turn.round) = (0, 0);
    }
}

impl Algorithm<Scheduling> for DeficitRoundRobin {
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "backlogged flows send bytes in proportion to their weights";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Weight];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<DeficitRoundRobin, BuildError> {
        let mut weights = Vec::with_capacity(flows.len());
        for (index, parameters) in flows.iter().enumerate() {
            weights.push(weight_of(index, parameters)?);
        }
        // In units of one byte divided by the least weight a byte costs the least weight, and the quantum of a weight is that weight
        // times the longest packet. Below 2^30 bytes and 2^32 nothing overflows: a deficit is less than three quanta.
        let least = weights.iter().copied().min().unwrap_or(1);
        Ok(DeficitRoundRobin::new(&weights, setup.places(flows), setup.longest_packet.max(1), least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{Backlog, Server, assert_same, steps};
    use crate::units::Rate;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    const LONGEST: u32 = 1000;

    fn weighted(weights: &[u32]) -> DeficitRoundRobin {
        let setup = Setup::new(Rate::MAX, LONGEST);
        let flows: Vec<_> = weights.iter().map(|&weight| FlowParameters { weight: Some(weight), ..Default::default() }).collect();
        setup.build::<DeficitRoundRobin>(&flows).unwrap()
    }

    #[test]
    fn a_quantum_smaller_than_some_packets_is_saved_up() {
        let mut drr = Backlog::new(DeficitRoundRobin::with_quanta(&[500; 4]), 4);
        let queues: [&[u32]; 4] = [&[20, 750, 200], &[500, 500], &[200, 600, 100], &[50, 700, 180]];
        for (flow, queue) in queues.iter().enumerate() {
            queue.iter().for_each(|&length| drr.arrive(flow, length));
        }
        let order: Vec<_> = core::iter::from_fn(|| drr.send()).collect();
        let first_round = [(0, 20), (1, 500), (2, 200), (3, 50)];
        let second_round = [(0, 750), (0, 200), (1, 500), (2, 600), (2, 100), (3, 700), (3, 180)];
        assert_eq!(order, [&first_round[..], &second_round[..]].concat());
    }

    #[test]
    fn a_flow_that_runs_dry_forfeits_its_deficit() {
        let mut drr = Backlog::new(DeficitRoundRobin::with_quanta(&[500, 500]), 2);
        drr.arrive(0, 100);
        drr.arrive(1, 500);
        drr.arrive(1, 500);
        assert_eq!(drr.send(), Some((0, 100)));
        drr.arrive(0, 501);
        drr.arrive(0, 501);
        // With the 400 bytes it did not use the first time, flow 0 could send both packets in this round.
        let order: Vec<_> = core::iter::from_fn(|| drr.send()).collect();
        assert_eq!(order, [(1, 500), (1, 500), (0, 501), (0, 501)]);
    }

    #[test]
    fn the_widest_ratio_of_weights_is_kept_exactly() {
        let mut drr = Backlog::new(weighted(&[1, u32::MAX, u32::MAX - 1]), 3);
        for flow in 0..3 {
            drr.arrive(flow, LONGEST);
            drr.arrive(flow, LONGEST);
        }
        assert_eq!(drr.send(), Some((0, LONGEST)));
        let turns: Vec<u64> = drr.scheduler.flows.iter().map(|turn| drr.scheduler.turns.quantum_in_bytes(turn)).collect();
        assert_eq!(turns, [1000, 1000 * u64::from(u32::MAX), 1000 * u64::from(u32::MAX - 1)]);
    }

    #[test]
    fn a_weight_of_zero_is_refused() {
        let setup = Setup::new(Rate::MAX, LONGEST);
        let flows = [FlowParameters::default(), FlowParameters { weight: Some(0), ..Default::default() }];
        let error = setup.build::<DeficitRoundRobin>(&flows).unwrap_err();
        assert_eq!((error.flow, error.parameter), (Some(Flow(1)), Parameter::Weight));
    }

    /// The algorithm as printed: a list, and a deficit counter per flow, in bytes times the least weight.
    struct Textbook {
        queues: Vec<VecDeque<u32>>,
        quanta: Vec<u128>,
        deficits: Vec<u128>,
        cost: u128,
        list: VecDeque<usize>,
        turn_has_begun: bool,
    }

    impl Textbook {
        fn take(&mut self, flow: usize, take: impl Fn(&mut VecDeque<u32>) -> Option<u32>) -> Option<u32> {
            let taken = take(&mut self.queues[flow])?;
            if self.queues[flow].is_empty() {
                self.deficits[flow] = 0;
                self.turn_has_begun &= self.list.front() != Some(&flow);
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
            loop {
                let flow = *self.list.front()?;
                if !self.turn_has_begun {
                    self.deficits[flow] += self.quanta[flow];
                    self.turn_has_begun = true;
                }
                let price = u128::from(self.queues[flow][0]) * self.cost;
                if price <= self.deficits[flow] {
                    self.deficits[flow] -= price;
                    return self.take(flow, VecDeque::pop_front).map(|length| (flow, length));
                }
                self.list.rotate_left(1);
                self.turn_has_begun = false;
            }
        }

        fn lose_head(&mut self, flow: usize) {
            self.take(flow, VecDeque::pop_front);
        }

        fn lose_tail(&mut self, flow: usize) {
            self.take(flow, VecDeque::pop_back);
        }
    }

    fn textbook(quanta: &[u128], cost: u128) -> Textbook {
        let flows = quanta.len();
        Textbook {
            queues: alloc::vec![VecDeque::new(); flows],
            quanta: quanta.to_vec(),
            deficits: alloc::vec![0; flows],
            cost,
            list: VecDeque::new(),
            turn_has_begun: false,
        }
    }

    fn some_weights() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::vec(prop_oneof![1u32..6, 1u32..1000], 2..6)
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_textbook(quanta in proptest::collection::vec(prop_oneof![1u32..50, 200u32..1500], 5), steps in steps(5, LONGEST)) {
            let wide: Vec<u128> = quanta.iter().map(|&quantum| u128::from(quantum)).collect();
            let mut drr = Backlog::new(DeficitRoundRobin::with_quanta(&quanta), 5);
            assert_same(&mut drr, &mut textbook(&wide, 1), &steps);
        }

        #[test]
        fn weights_give_the_quanta_of_the_textbook(weights in proptest::collection::vec(1u32.., 5), steps in steps(5, LONGEST)) {
            let least = u128::from(*weights.iter().min().unwrap());
            let quanta: Vec<u128> = weights.iter().map(|&weight| u128::from(weight) * u128::from(LONGEST)).collect();
            assert_same(&mut Backlog::new(weighted(&weights), 5), &mut textbook(&quanta, least), &steps);
        }

        #[test]
        fn no_two_backlogged_flows_drift_apart(
            weights in some_weights(),
            lengths in proptest::collection::vec(prop_oneof![Just(LONGEST), 1..=LONGEST], 3000),
        ) {
            let flows = weights.len();
            let mut drr = Backlog::new(weighted(&weights), flows);
            let least = i128::from(*weights.iter().min().unwrap());
            let mut lengths = lengths.into_iter();
            (0..flows).for_each(|flow| (0..2).for_each(|_| drr.arrive(flow, lengths.next().unwrap())));
            // Over all intervals the difference is at most the spread of the running difference.
            let mut service = alloc::vec![0i128; flows];
            let mut extremes = alloc::vec![(0i128, 0i128); flows * flows];
            for length in lengths {
                let (flow, sent) = drr.send().unwrap();
                service[flow] += i128::from(sent);
                drr.arrive(flow, length);
                for (i, j) in (0..flows).flat_map(|i| (0..i).map(move |j| (i, j))) {
                    let (wi, wj) = (i128::from(weights[i]), i128::from(weights[j]));
                    let difference = least * (service[i] * wj - service[j] * wi);
                    let (low, high) = &mut extremes[i * flows + j];
                    (*low, *high) = ((*low).min(difference), (*high).max(difference));
                    prop_assert!(*high - *low <= 3 * i128::from(LONGEST) * wi * wj, "flows {} and {}", i, j);
                }
            }
        }

        #[test]
        fn the_latency_bound_holds(
            weights in some_weights(),
            before in 1usize..60,
            lengths in proptest::collection::vec(prop_oneof![Just(LONGEST), 1..=LONGEST], 2000),
        ) {
            // All but the last flow are backlogged and in any state; then the last becomes backlogged during the packet sent last.
            let (flows, late) = (weights.len(), weights.len() - 1);
            let mut drr = Backlog::new(weighted(&weights), flows);
            let mut lengths = lengths.into_iter();
            (0..late).for_each(|flow| (0..2).for_each(|_| drr.arrive(flow, lengths.next().unwrap())));
            let mut elapsed = 0;
            for _ in 0..before {
                let (flow, sent) = drr.send().unwrap();
                elapsed = i128::from(sent);
                drr.arrive(flow, lengths.next().unwrap());
            }
            drr.arrive(late, lengths.next().unwrap());
            drr.arrive(late, lengths.next().unwrap());
            // Quanta scaled by the least weight, so that they are whole; time counts bytes of the link.
            let longest = i128::from(LONGEST);
            let least = i128::from(*weights.iter().min().unwrap());
            let quantum = i128::from(weights[late]) * longest;
            let round: i128 = weights.iter().map(|&weight| i128::from(weight) * longest).sum();
            let mut served = 0;
            for length in lengths {
                let (flow, sent) = drr.send().unwrap();
                elapsed += i128::from(sent);
                drr.arrive(flow, length);
                // Just before a packet ends, none of it counts as served.
                prop_assert!(served * round * least >= quantum * (elapsed * least - 3 * round + 2 * quantum));
                if flow == late {
                    served += i128::from(sent);
                }
            }
        }
    }
}
