//! Strict priority: of the backlogged flows one of the highest priority is served; flows of equal priority take turns, packet by packet.
//!
//! **Law.** When a packet's transmission starts, no flow of higher priority is backlogged. If the flows above priority `k` send at most
//! `b_j + r_j t` in any time `t`, all flows of priority `k` together get the rest. That is the rate `C - sum r_j` after a latency of
//! `(sum b_j + L)/(C - sum r_j)`, where `L` is the longest packet of lower priority and `C` the link's rate.
//!
//! **Source.** A. Cobham, "Priority Assignment in Waiting Line Problems", Operations Research 2(1), 1954, for the discipline and its mean
//! waiting times; J.-Y. Le Boudec, P. Thiran, "Network Calculus", Springer 2001, for the guarantee.
//!
//! **State.** 16 bytes per flow (the rank of its priority, the links of the active list), 8 bytes and 1.02 bits per priority in use.
//!
//! **Cost.** One step per 64-fold of priorities in use: 1 up to 64, 3 up to 262,144. The number of flows does not matter.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None. It is not preemptive: a packet being transmitted is never interrupted.

use super::active_list::{ActiveList, Links, PrefetchPredictor, linked};
use super::{BuildError, Decision, FlowParameters, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::Time;
use alloc::vec::Vec;

/// Strict priority, not preemptive. Priority 0 is served first; a gap between priorities in use costs nothing.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::registry::SchedulerKind;
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
///
/// let priority = |priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() };
/// let setup = Setup::new(Rate::new(1_000_000).unwrap(), 1500);
/// let mut strict = SchedulerKind::StrictPriority.build(&setup, &[priority(7), priority(0)]).unwrap();
///
/// let head = |number| Head { length: 100, number, arrival: Time::ZERO, colour: Colour::Green };
/// strict.activate(Time::ZERO, Flow(0), head(0));
/// assert_eq!(strict.select(Time::ZERO), Decision::Serve(Flow(0)));
/// strict.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(strict.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct StrictPriority {
    flows: Vec<Turn>,
    /// The backlogged flows of each priority in use, highest first.
    levels: Vec<Level>,
    occupied: LevelSet,
    predictor: PrefetchPredictor,
}

/// A quarter of a cache line, so that no flow's state lies across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Turn {
    links: Links,
    /// The rank of the flow's priority among those in use.
    rank: u32,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    active: ActiveList,
    /// The flow at the front has been served and its turn is about to pass on.
    turn_is_over: bool,
}

linked!(Turn);

impl Scheduler for StrictPriority {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, _head: Head) {
        let rank = self.flows[flow.index()].rank;
        if self.levels[rank as usize].active.join(&mut self.flows, flow.0) {
            self.occupied.insert(rank);
        }
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        let Some(rank) = self.occupied.first() else { return Decision::Idle };
        let level = &mut self.levels[rank as usize];
        if core::mem::take(&mut level.turn_is_over) {
            // Passed on only now, so that a flow that became backlogged during the packet is before the flow that sent it.
            level.active.pass(&self.flows);
        }
        match level.active.front() {
            Some(flow) => Decision::Serve(Flow(flow)),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.predictor.turn_of(&mut self.flows, flow.0);
        match next {
            Some(_) => self.levels[self.flows[flow.index()].rank as usize].turn_is_over = !fault!(PriorityWithoutTurns),
            None => self.lost(now, flow, None),
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            let rank = self.flows[flow.index()].rank;
            let level = &mut self.levels[rank as usize];
            level.turn_is_over &= level.active.front() != Some(flow.0);
            level.active.leave(&mut self.flows, flow.0);
            if level.active.front().is_none() {
                self.occupied.remove(rank);
            }
        }
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        Some(self.predictor.prefetch_hint())
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
    }
}

impl Algorithm<Scheduling> for StrictPriority {
    const NAME: &'static str = "strict-priority";
    const SUMMARY: &'static str = "a packet never waits for one of lower priority, except for the one being transmitted";
    const REQUIRES: &'static [Parameter] = &[Parameter::Priority];

    fn build((_setup, flows): (&Setup, &[FlowParameters])) -> Result<StrictPriority, BuildError> {
        let mut priorities = Vec::with_capacity(flows.len());
        for (index, parameters) in flows.iter().enumerate() {
            let missing = BuildError {
                flow: Some(Flow(index as u32)),
                parameter: Parameter::Priority,
                problem: "strict priority needs it for every flow",
            };
            priorities.push(parameters.priority.ok_or(missing)?);
        }
        let mut ranks = priorities.clone();
        ranks.sort_unstable();
        ranks.dedup();
        let rank_of = |priority| ranks.partition_point(|&rank| rank < priority) as u32;
        Ok(StrictPriority {
            flows: priorities.iter().map(|&priority| Turn { links: Links::NONE, rank: rank_of(priority) }).collect(),
            levels: alloc::vec![Level { active: ActiveList::EMPTY, turn_is_over: false }; ranks.len()],
            occupied: LevelSet::new(ranks.len()),
            predictor: PrefetchPredictor::NEW,
        })
    }
}

/// A set of small numbers that finds its least member in as many steps as it has tiers: one bit per number, and above every 64 words
/// one that tells which of them are not empty.
#[derive(Clone, Debug)]
struct LevelSet {
    /// From the one word on top down to the bits of the numbers themselves.
    tiers: Vec<Vec<u64>>,
}

impl LevelSet {
    /// An empty set of numbers below `limit`.
    fn new(limit: usize) -> LevelSet {
        let mut tiers = Vec::new();
        let mut words = limit;
        loop {
            words = words.div_ceil(64).max(1);
            tiers.insert(0, alloc::vec![0; words]);
            if words == 1 {
                return LevelSet { tiers };
            }
        }
    }

    #[inline]
    fn insert(&mut self, number: u32) {
        let mut at = number as usize;
        for tier in self.tiers.iter_mut().rev() {
            let word = &mut tier[at / 64];
            let was_empty = *word == 0;
            *word |= 1 << (at % 64);
            if !was_empty {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    fn remove(&mut self, number: u32) {
        let mut at = number as usize;
        for tier in self.tiers.iter_mut().rev() {
            let word = &mut tier[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    fn first(&self) -> Option<u32> {
        let mut at = 0;
        for tier in &self.tiers {
            let word = tier[at];
            if word == 0 {
                return None;
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        Some(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{Backlog, Server, Step, assert_same, steps};
    use crate::units::Rate;
    use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
    use proptest::prelude::*;

    fn ranked(priorities: &[u32]) -> Backlog<StrictPriority> {
        let setup = Setup::new(Rate::MAX, 1000);
        let flows: Vec<_> = priorities.iter().map(|&priority| FlowParameters { priority: Some(priority), ..Default::default() }).collect();
        Backlog::new(setup.build::<StrictPriority>(&flows).unwrap(), priorities.len())
    }

    #[test]
    fn higher_first_and_equals_in_turn() {
        let mut strict = ranked(&[9, 2, 2, u32::MAX]);
        for flow in [3, 0, 2, 1] {
            (0..2).for_each(|_| strict.arrive(flow, 100));
        }
        let order: Vec<_> = core::iter::from_fn(|| strict.send()).map(|(flow, _)| flow).collect();
        assert_eq!(order, [2, 1, 2, 1, 0, 0, 3, 3]);
    }

    #[test]
    fn a_flow_that_joins_its_equals_stands_before_the_one_being_served() {
        let mut strict = ranked(&[0, 0, 0]);
        (0..3).for_each(|_| strict.arrive(0, 100));
        assert_eq!(strict.send(), Some((0, 100)));
        strict.arrive(2, 100);
        strict.arrive(1, 100);
        let order: Vec<_> = core::iter::from_fn(|| strict.send()).map(|(flow, _)| flow).collect();
        assert_eq!(order, [2, 1, 0, 0]);
    }

    #[test]
    fn a_missing_priority_is_refused() {
        let setup = Setup::new(Rate::MAX, 1000);
        let error = setup.build::<StrictPriority>(&[FlowParameters::default()]).unwrap_err();
        assert_eq!((error.flow, error.parameter), (Some(Flow(0)), Parameter::Priority));
    }

    /// The backlogged flows in line for their turn, one line per priority.
    struct Textbook {
        queues: Vec<VecDeque<u32>>,
        priorities: Vec<u32>,
        lines: BTreeMap<u32, VecDeque<usize>>,
        /// Who was served last at each priority, if it has stayed backlogged since.
        served: BTreeMap<u32, usize>,
    }

    impl Textbook {
        fn take(&mut self, flow: usize, take: impl Fn(&mut VecDeque<u32>) -> Option<u32>) -> Option<u32> {
            let taken = take(&mut self.queues[flow])?;
            if self.queues[flow].is_empty() {
                let priority = self.priorities[flow];
                if self.served.get(&priority) == Some(&flow) {
                    self.served.remove(&priority);
                }
                self.lines.get_mut(&priority)?.retain(|&other| other != flow);
            }
            Some(taken)
        }
    }

    impl Server for Textbook {
        fn arrive(&mut self, flow: usize, length: u32) {
            self.queues[flow].push_back(length);
            if self.queues[flow].len() == 1 {
                self.lines.entry(self.priorities[flow]).or_default().push_back(flow);
            }
        }

        fn send(&mut self) -> Option<(usize, u32)> {
            let (&priority, line) = self.lines.iter_mut().find(|(_, line)| !line.is_empty())?;
            if self.served.contains_key(&priority) {
                line.rotate_left(1);
            }
            let flow = line[0];
            self.served.insert(priority, flow);
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
        fn it_agrees_with_the_textbook(priorities in proptest::collection::vec(0u32..4, 8), steps in steps(8, 1000)) {
            let (queues, lines, served) = (alloc::vec![VecDeque::new(); 8], BTreeMap::new(), BTreeMap::new());
            let mut textbook = Textbook { queues, priorities: priorities.clone(), lines, served };
            assert_same(&mut ranked(&priorities), &mut textbook, &steps);
        }

        #[test]
        fn no_lower_priority_is_served(priorities in proptest::collection::vec(prop_oneof![0u32..4, 0u32..], 1..8), steps in steps(8, 1000)) {
            let flows = priorities.len();
            let mut strict = ranked(&priorities);
            for step in steps {
                match step {
                    Step::Arrive { flow, length } => strict.arrive(flow % flows, length),
                    Step::LoseHead(flow) => strict.lose_head(flow % flows),
                    Step::LoseTail(flow) => strict.lose_tail(flow % flows),
                    Step::Send => {
                        let highest = (0..flows).filter(|&flow| !strict.queues[flow].is_empty()).map(|flow| priorities[flow]).min();
                        prop_assert_eq!(strict.send().map(|(flow, _)| priorities[flow]), highest);
                    }
                }
            }
        }

        #[test]
        fn the_level_set_finds_its_least_member(
            limit in prop_oneof![1usize..70, 4000usize..300_000],
            changes in proptest::collection::vec((any::<bool>(), 0u32..), 0..200),
        ) {
            let mut set = LevelSet::new(limit);
            let mut model = BTreeSet::new();
            for (insert, number) in changes {
                let number = number % limit as u32;
                if insert {
                    set.insert(number);
                    model.insert(number);
                } else if let Some(number) = model.iter().copied().nth(number as usize % model.len().max(1)) {
                    set.remove(number);
                    model.remove(&number);
                }
                prop_assert_eq!(set.first(), model.first().copied());
            }
        }
    }
}
