//! Strict priority: the flow of the highest priority that is backlogged is served; flows of one priority take turns.

use super::active_list::{ActiveList, Linked, Links};
use super::{BuildError, Decision, Discipline, FlowParameters, Parameter, Scheduler, Setup};
use crate::packet::{Flow, Head};
use crate::units::Time;
use alloc::vec::Vec;

/// Strict priority, not preemptive.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    flows: Vec<Turn>,
    levels: Vec<ActiveList>,
    occupied: LevelSet,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    links: Links,
    /// The rank of the flow's priority among those in use.
    level: u32,
}

impl Linked for Turn {
    #[inline]
    fn links(&self) -> Links {
        self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Scheduler for StrictPriority {
    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, _head: Head) {
        let level = self.flows[flow.index()].level;
        if self.levels[level as usize].join(&mut self.flows, flow.0) {
            self.occupied.insert(level);
        }
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.upcoming() {
            Some(flow) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        debug_assert_eq!(self.upcoming(), Some(flow), "only the selected flow is served");
        if next.is_some() {
            let level = self.flows[flow.index()].level;
            self.levels[level as usize].pass(&self.flows);
        } else {
            self.lost(now, flow, None);
        }
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        if next.is_none() {
            let level = self.flows[flow.index()].level;
            let list = &mut self.levels[level as usize];
            list.leave(&mut self.flows, flow.0);
            if list.front().is_none() {
                self.occupied.remove(level);
            }
        }
    }

    #[inline]
    fn upcoming(&self) -> Option<Flow> {
        let level = self.occupied.first()?;
        self.levels[level as usize].front().map(Flow)
    }
}

impl Discipline for StrictPriority {
    const NAME: &'static str = "strict-priority";
    const SUMMARY: &'static str = "a packet never waits for one of lower priority, except for the one being transmitted";
    const REQUIRES: &'static [Parameter] = &[Parameter::Priority];
    const ACCEPTS: &'static [Parameter] = &[];
    const WORK_CONSERVING: bool = true;

    fn build(_setup: &Setup, flows: &[FlowParameters]) -> Result<StrictPriority, BuildError> {
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
        let level_of = |priority| ranks.partition_point(|&rank| rank < priority) as u32;
        Ok(StrictPriority {
            flows: priorities.iter().map(|&priority| Turn { links: Links::UNLINKED, level: level_of(priority) }).collect(),
            levels: alloc::vec![ActiveList::EMPTY; ranks.len()],
            occupied: LevelSet::new(ranks.len()),
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
