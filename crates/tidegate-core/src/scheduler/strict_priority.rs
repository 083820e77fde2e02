//! Strict priority: of the backlogged flows one of the highest priority is served; flows of equal priority take turns, packet by packet.
//!
//! **Law.** When a packet's transmission starts, no flow of higher priority is backlogged. If the flows above priority `k` send at most
//! `b_j + r_j t` in any time `t`, all flows of priority `k` together get the rest. That is the rate `C - sum r_j` after a latency of
//! `(sum b_j + L)/(C - sum r_j)`, where `L` is the longest packet of lower priority and `C` the link's rate. A changed priority holds at once: a
//! backlogged flow goes behind the others of its new priority.
//!
//! **Source.** A. Cobham, "Priority Assignment in Waiting Line Problems", Operations Research 2(1), 1954, for the discipline and its mean
//! waiting times; J.-Y. Le Boudec, P. Thiran, "Network Calculus", Springer 2001, for the guarantee.
//!
//! **State.** 16 bytes per flow (its level, the links of the active list), 32 bytes and 1.02 bits per place for levels, one for each priority in
//! use.
//!
//! **Cost.** One step per 64-fold of priorities in use: 1 up to 64, 3 up to 262,144. The number of flows does not matter.
//! A change to a priority in use costs a binary search. A change to one that no flow has, or from one that no other has, costs a step per
//! priority in use.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None. It is not preemptive: a packet being transmitted is never interrupted.

use super::active_list::{ActiveList, Links, PrefetchPredictor, linked};
use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, Parameter, Scheduler, Scheduling, Setup};
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
    /// The backlogged flows of each priority in use.
    levels: Vec<Level>,
    /// By level.
    uses: Vec<Use>,
    /// The levels in use, highest priority first.
    ranked: Vec<u32>,
    /// The levels that are not in use.
    unused: Vec<u32>,
    /// By their ranks, the levels with backlogged flows.
    occupied: LevelSet,
    predictor: PrefetchPredictor,
}

/// A quarter of a cache line, so that no flow's state lies across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Turn {
    links: Links,
    /// The level of the flow's priority; [`NO_LEVEL`] in a vacant place.
    level: u32,
}

const NO_LEVEL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Level {
    active: ActiveList,
    /// The flow at the front has been served and its turn is about to pass on.
    turn_is_over: bool,
    /// Its rank among the levels in use.
    rank: u32,
}

/// What a level is in use for.
#[derive(Clone, Copy, Debug)]
struct Use {
    priority: u32,
    /// Flows of this priority, backlogged or not.
    flows: u32,
}

linked!(Turn);

impl StrictPriority {
    /// The level of a flow.
    #[inline]
    fn level(&mut self, flow: Flow) -> &mut Level {
        &mut self.levels[self.flows[flow.index()].level as usize]
    }

    /// A flow goes behind the others of its level.
    #[inline]
    fn join(&mut self, flow: Flow) {
        let level = &mut self.levels[self.flows[flow.index()].level as usize];
        if level.active.join(&mut self.flows, flow.0) {
            self.occupied.insert(level.rank);
        }
    }

    /// The level of a priority, put into use if it is not.
    fn level_of(&mut self, priority: u32) -> u32 {
        let rank = match self.ranked.binary_search_by_key(&priority, |&level| self.uses[level as usize].priority) {
            Ok(rank) => return self.ranked[rank],
            Err(rank) => rank,
        };
        let number = self.unused.pop().unwrap_or(self.levels.len() as u32);
        if number as usize == self.levels.len() {
            self.levels.push(Level { active: ActiveList::EMPTY, turn_is_over: false, rank: 0 });
            self.uses.push(Use { priority, flows: 0 });
        }
        self.uses[number as usize].priority = priority;
        self.ranked.insert(rank, number);
        self.rank_from(rank);
        number
    }

    /// A flow has left this level, which is not in use without flows.
    fn release(&mut self, level: u32) {
        let Some(Use { flows, .. }) = self.uses.get_mut(level as usize) else { return };
        *flows -= 1;
        if *flows == 0 {
            let rank = self.levels[level as usize].rank as usize;
            self.ranked.remove(rank);
            self.unused.push(level);
            self.rank_from(rank);
        }
    }

    /// Numbers the levels from this rank on, which have moved by one.
    fn rank_from(&mut self, first: usize) {
        let first = if self.occupied.resize(self.ranked.len()) { 0 } else { first };
        for (rank, &level) in self.ranked.iter().enumerate().skip(first) {
            let level = &mut self.levels[level as usize];
            level.rank = rank as u32;
            if level.active.front().is_some() { self.occupied.insert(level.rank) } else { self.occupied.remove(level.rank) }
        }
        self.occupied.remove(self.ranked.len() as u32);
    }
}

impl Scheduler for StrictPriority {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, _head: Head) {
        self.join(flow);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        let Some(rank) = self.occupied.first() else { return Decision::Idle };
        let level = &mut self.levels[self.ranked[rank as usize] as usize];
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
            Some(_) => self.level(flow).turn_is_over = !fault!(PriorityWithoutTurns),
            None => self.lost(now, flow, None),
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            let level = &mut self.levels[self.flows[flow.index()].level as usize];
            level.turn_is_over &= level.active.front() != Some(flow.0);
            level.active.leave(&mut self.flows, flow.0);
            if level.active.front().is_none() {
                self.occupied.remove(level.rank);
            }
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let problem = "strict priority needs it for every flow";
        let priority = parameters.priority.ok_or(BuildError { flow: Some(flow), parameter: Parameter::Priority, problem })?;
        let (before, level) = (self.flows[flow.index()].level, self.level_of(priority));
        if level == before {
            return Ok(());
        }
        let is_backlogged = self.flows[flow.index()].links.is_in_ring();
        if is_backlogged {
            self.lost(now, flow, None);
        }
        self.flows[flow.index()].level = level;
        self.uses[level as usize].flows += 1;
        self.release(before);
        if is_backlogged {
            self.join(flow);
        }
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        let level = core::mem::replace(&mut self.flows[flow.index()].level, NO_LEVEL);
        self.release(level);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let mut moves = Moves::new(old.flows.len(), kept);
        let mut over = Vec::new();
        for level in old.ranked.iter().map(|&level| old.levels[level as usize]) {
            for flow in level.active.flows(&old.flows) {
                let Some(to) = moves.take(Flow(flow)) else { continue };
                self.join(to);
                if level.turn_is_over && level.active.front() == Some(flow) {
                    over.push(to);
                }
            }
        }
        for flow in over {
            let level = self.level(flow);
            level.turn_is_over |= level.active.front() == Some(flow.0);
        }
        moves.activate_others(self, now, kept);
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

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<StrictPriority, BuildError> {
        let places = setup.places(flows);
        // A flow that changes its priority may need a level more.
        let most = places + 1;
        let mut scheduler = StrictPriority {
            flows: alloc::vec![Turn { links: Links::NONE, level: NO_LEVEL }; places],
            levels: Vec::with_capacity(most),
            uses: Vec::with_capacity(most),
            ranked: Vec::with_capacity(most),
            unused: Vec::with_capacity(most),
            occupied: LevelSet::new(most + 1),
            predictor: PrefetchPredictor::NEW,
        };
        let mut priorities: Vec<u32> = flows.iter().filter_map(|given| given.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        // In this order each takes the last rank, which costs one step.
        for priority in priorities {
            scheduler.level_of(priority);
        }
        for (index, given) in flows.iter().enumerate() {
            scheduler.change(Time::ZERO, Flow(index as u32), given)?;
        }
        Ok(scheduler)
    }
}

/// A set of small numbers that finds its least member in as many steps as it has tiers: one bit per number, and above every 64 words
/// one that tells which of them are not empty.
#[derive(Clone, Debug)]
struct LevelSet {
    /// From the one word on top down to the bits of the numbers themselves.
    tiers: Vec<Vec<u64>>,
    /// Tiers above those, for more numbers, the lowest last.
    above: Vec<Vec<u64>>,
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
                let above = Vec::with_capacity(tiers.len());
                return LevelSet { tiers, above };
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

    /// From now on it holds numbers below `limit`; true if it is empty now because it has another number of tiers.
    fn resize(&mut self, limit: usize) -> bool {
        let tiers = core::iter::successors(Some(limit.div_ceil(64)), |&words| (words > 1).then(|| words.div_ceil(64))).count();
        if tiers == self.tiers.len() {
            return false;
        }
        while self.tiers.len() > tiers {
            self.above.push(self.tiers.remove(0));
        }
        while let Some(tier) = self.above.pop_if(|_| self.tiers.len() < tiers) {
            self.tiers.insert(0, tier);
        }
        self.tiers.iter_mut().flatten().for_each(|word| *word = 0);
        true
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
