//! A guess at which flows' turns come soon, for fetching what is kept of them. It may be wrong, and nothing depends on it.
//!
//! Rounds are much alike: a node is served for some turns, which makes a run, then another one is. Of every node above flows are kept how long
//! its last run was and whose came next, and of every flow which of its siblings had its turn [`PREDICTION_DISTANCE`] turns of theirs after it. By these a cursor goes
//! through the turns that come.
//!
//! Where runs are short this is not worth its while: what schedulers know themselves, of the root's next children and of theirs, is early enough.

use super::{Child, Hierarchy};
use crate::packet::Flow;
use crate::prefetch::{prefetch_in, prefetch_second_line};
use crate::scheduler::Scheduler;
use alloc::vec::Vec;

/// How many turns the cursor is ahead, a power of two.
const PREDICTION_DISTANCE: usize = 8;

/// The cursor names a member, and so many turns later what leads on from it is fetched.
const MEMBER_FETCH_LAG: usize = 3;

/// A tree of no more nodes and leaves stays in the cache by itself.
const CACHED_MEMBERS: usize = 4096;

/// Runs of so many turns are long.
const LONG_RUN_TURNS: u32 = 4;

/// It is worth its while when so many runs more were long than short, of twice as many.
const LONG_RUN_EXCESS: u32 = 32;

/// What is kept of a node above flows.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Runs {
    /// Turns of its flows so far, those before its latest run, and those that the cursor has come to.
    turns: u32,
    began: u32,
    named: u32,
    /// Turns of its last whole run, and whose run came next.
    length: u32,
    follower: u32,
    /// Whose its latest turns were, and whose come [`PREDICTION_DISTANCE`] turns after these.
    past: [u32; PREDICTION_DISTANCE],
    coming: [u32; PREDICTION_DISTANCE],
}

/// What is known of runs so far, and the cursor.
#[derive(Clone, Debug)]
pub(super) struct PrefetchPredictor {
    runs: Vec<Runs>,
    /// The node whose run is on, its turns so far, and how many runs more were long than short before it.
    node: u32,
    length: u32,
    long: u32,
    /// The node in whose run the cursor is, and the turn of that node's at which the run ends.
    cursor: u32,
    end: u32,
    /// How many turns and runs the cursor is ahead.
    turns_ahead: i32,
    runs_ahead: u32,
    /// The leaves that the cursor named last, each with the one whose turn was [`PREDICTION_DISTANCE`] turns before it.
    named: [[u32; 2]; PREDICTION_DISTANCE],
    latest: usize,
}

impl PrefetchPredictor {
    /// For a tree of so many nodes among so many members, if it needs any.
    pub(super) fn new(nodes: usize, members: usize) -> Option<PrefetchPredictor> {
        let nothing =
            Runs { turns: 0, began: 0, named: 0, length: 0, follower: 0, past: [0; PREDICTION_DISTANCE], coming: [0; PREDICTION_DISTANCE] };
        (members > CACHED_MEMBERS).then(|| PrefetchPredictor {
            runs: alloc::vec![nothing; nodes],
            node: 0,
            length: 0,
            long: 0,
            cursor: 0,
            end: u32::MAX,
            turns_ahead: 0,
            runs_ahead: 0,
            named: [[0; 2]; PREDICTION_DISTANCE],
            latest: 0,
        })
    }

    /// It is the turn of a leaf of this node.
    #[inline]
    pub(super) fn turn_of(&mut self, members: &mut [Child], node: u32, leaf: u32) {
        if node != self.node {
            let is_long = core::mem::take(&mut self.length) >= LONG_RUN_TURNS;
            let longer = self.long.max(self.long.saturating_add(1).min(2 * LONG_RUN_EXCESS));
            self.long = if is_long { longer } else { self.long.saturating_sub(1) };
            self.begin_run(node);
        }
        self.length = self.length.saturating_add(1);
        if !self.is_enabled() {
            return;
        }
        let runs = &mut self.runs[node as usize];
        let place = runs.turns as usize % PREDICTION_DISTANCE;
        runs.turns = runs.turns.wrapping_add(1);
        let earlier = core::mem::replace(&mut runs.past[place], leaf);
        members[earlier as usize].later = leaf;
        runs.coming[place] = members[leaf as usize].later;
        // Nobody has to ask for what is foreseen.
        self.turns_ahead = self.turns_ahead.saturating_sub(1);
    }

    /// Most runs are long.
    #[inline]
    pub(super) const fn is_enabled(&self) -> bool {
        self.long >= LONG_RUN_EXCESS
    }

    #[inline]
    fn begin_run(&mut self, node: u32) {
        if !self.is_enabled() {
            self.node = node;
            return;
        }
        let before = &mut self.runs[self.node as usize];
        let length = before.turns.wrapping_sub(before.began);
        // The cursor has gone through as many turns as the run before had.
        self.turns_ahead = self.turns_ahead.saturating_add(length.wrapping_sub(before.length) as i32);
        let is_as_foreseen = self.runs_ahead > 0 && before.follower == node;
        (before.length, before.follower, before.named) = (length, node, before.turns);
        self.node = node;
        let runs = &mut self.runs[node as usize];
        runs.began = runs.turns;
        if is_as_foreseen {
            self.runs_ahead -= 1;
        } else {
            runs.named = runs.turns;
            (self.cursor, self.turns_ahead, self.runs_ahead) = (node, 0, 0);
            // A first run may be of any length.
            self.end = runs.turns.wrapping_add(runs.length).wrapping_sub(u32::from(runs.length == 0));
        }
    }

    /// Whom the cursor named so many times ago.
    #[inline]
    fn named(&self, times: usize) -> [u32; 2] {
        self.named[self.latest.wrapping_sub(times) % PREDICTION_DISTANCE]
    }
}

impl Hierarchy {
    /// Moves the cursor on to [`PREDICTION_DISTANCE`] turns from now: the leaf whose turn that will be, or the root if nothing is known. `None` if the cursor is
    /// there already.
    #[inline]
    pub(super) fn predict(&mut self) -> Option<usize> {
        let predictor = self.predictor.as_mut()?;
        if predictor.turns_ahead >= PREDICTION_DISTANCE as i32 {
            return None;
        }
        // Twice where it has to catch up.
        for _ in 0..1 + u32::from(predictor.turns_ahead < PREDICTION_DISTANCE as i32 - 1) {
            let mut runs = &mut predictor.runs[predictor.cursor as usize];
            if runs.named == predictor.end {
                let node = runs.follower;
                predictor.cursor = node;
                predictor.runs_ahead += 1;
                runs = &mut predictor.runs[node as usize];
                predictor.end = runs.named.wrapping_add(runs.length.max(1));
                prefetch_in(&self.nodes, node as usize);
                prefetch_second_line(&self.nodes[node as usize]);
                prefetch_in(&self.members, node as usize);
            }
            let place = runs.named as usize % PREDICTION_DISTANCE;
            let is_known = (runs.named.wrapping_sub(runs.turns) as usize) < PREDICTION_DISTANCE;
            let named = [if is_known { runs.coming[place] } else { 0 }, runs.past[place]];
            runs.named = runs.named.wrapping_add(1);
            let follower = runs.follower as usize;
            prefetch_in(&predictor.runs, follower);
            named.iter().for_each(|&member| prefetch_in(&self.members, member as usize));
            predictor.turns_ahead += 1;
            predictor.latest = predictor.latest.wrapping_add(1);
            predictor.named[predictor.latest % PREDICTION_DISTANCE] = named;
        }
        let [leaf, _] = predictor.named(0);
        let [sooner, earlier] = predictor.named(MEMBER_FETCH_LAG);
        self.expect_member(sooner as usize);
        // The node's scheduler may keep, like this, who comes after whom.
        let earlier = &self.members[earlier as usize];
        self.nodes[earlier.parent as usize].scheduler.prefetch(Flow(earlier.place));
        Some(leaf as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LeafSpec, NodeSpec};
    use super::*;
    use crate::registry::SchedulerKind;
    use crate::scheduler::backlog::{Backlog, Server, assert_same, steps};
    use crate::scheduler::{DwcsOptions, FlowParameters};
    use crate::units::Rate;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    const LONGEST: u32 = 1500;

    /// Groups whose parents are these nodes, below which, in turn, so many flows hang; all in round robin.
    fn tree(parents: &[usize], flows: impl IntoIterator<Item = usize>) -> Hierarchy {
        let scheduler = SchedulerKind::DeficitRoundRobin;
        let node = |parent| NodeSpec {
            parent,
            scheduler,
            rate: Rate::MAX,
            dwcs: DwcsOptions::default(),
            parameters: FlowParameters::default(),
            shape: None,
        };
        let nodes: Vec<NodeSpec> = core::iter::once(node(None)).chain(parents.iter().map(|&parent| node(Some(parent)))).collect();
        let leaf = |parent| LeafSpec { parent, parameters: FlowParameters::default(), shape: None };
        let leaves: Vec<LeafSpec> =
            flows.into_iter().enumerate().flat_map(|(parent, count)| core::iter::repeat_n(leaf(parent), count)).collect();
        Hierarchy::build(LONGEST, &nodes, &leaves).unwrap()
    }

    /// How many of a thousand turns are of flows that were named in the [`PREDICTION_DISTANCE`] turns before and not long ago.
    fn foreseen(parents: &[usize], flows: impl IntoIterator<Item = usize>, length: u32) -> usize {
        let tree = tree(parents, flows);
        let count = tree.members.len() - tree.nodes.len();
        let mut backlog = Backlog::new(tree, count);
        (0..count).for_each(|flow| backlog.arrive(flow, length));
        let mut named = VecDeque::new();
        let mut hits = 0;
        for turn in 0..3 * count + 1000 {
            let (flow, _) = backlog.send().unwrap();
            hits += usize::from(turn >= 3 * count && named.contains(&Some(Flow(flow as u32))));
            named.push_front(backlog.scheduler.prefetch_hint());
            named.truncate(PREDICTION_DISTANCE + 4);
            backlog.arrive(flow, length);
        }
        hits
    }

    #[test]
    fn most_turns_are_foreseen_where_runs_are_long() {
        let groups: Vec<usize> = (0..100).map(|group| 50 + group % 7).collect();
        let below_the_root = core::iter::once(0).chain(groups.iter().copied());
        // Runs of 15 turns.
        assert!(foreseen(&[0; 100], below_the_root, 100) > 950);
        // Two levels of groups.
        let parents: Vec<usize> = (0..110).map(|node: usize| node / 10).collect();
        let below = core::iter::repeat_n(0, 11).chain(groups);
        assert!(foreseen(&parents, below, 100) > 950);
    }

    /// A tree with predictor, or without.
    struct Asked(Backlog<Hierarchy>);

    impl Server for Asked {
        fn arrive(&mut self, flow: usize, length: u32) {
            self.0.arrive(flow, length);
        }

        fn send(&mut self) -> Option<(usize, u32)> {
            let sent = self.0.send();
            let hint = self.0.scheduler.prefetch_hint();
            assert!(hint.is_none_or(|flow| flow.index() < self.0.queues.len()));
            sent
        }

        fn lose_head(&mut self, flow: usize) {
            self.0.lose_head(flow);
        }

        fn lose_tail(&mut self, flow: usize) {
            self.0.lose_tail(flow);
        }
    }

    proptest! {
        #[test]
        fn nothing_depends_on_it(steps in steps(12, LONGEST)) {
            let without = tree(&[0, 0, 1, 1], [2, 3, 2, 2, 3]);
            assert!(without.predictor.is_none());
            // Asleep, as short runs leave it, and awake whatever runs there are.
            for long in [0, u32::MAX] {
                let mut with = without.clone();
                with.predictor = PrefetchPredictor::new(with.nodes.len(), CACHED_MEMBERS + 1).map(|predictor| PrefetchPredictor { long, ..predictor });
                assert_same(&mut Asked(Backlog::new(with, 12)), &mut Asked(Backlog::new(without.clone(), 12)), &steps);
            }
        }
    }
}
