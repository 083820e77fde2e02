//! How many turns are predicted, and that no decision depends on it.

use super::*;
use crate::packet::Flow;
use crate::registry::{AnyScheduler, SchedulerKind};
use crate::scheduler::tests::{Backlog, Server, assert_same, steps};
use crate::scheduler::{FlowParameters, Hierarchy, LeafSpec, NodeSpec, Scheduler};
use crate::units::Rate;
use alloc::collections::VecDeque;
use proptest::prelude::*;

/// The longest packet, in bytes.
const LONGEST: u32 = 1500;

/// A tree in round robin: groups with these parents, and this number of flows below each node in turn.
fn tree(parents: &[usize], flows: impl IntoIterator<Item = usize>) -> Hierarchy<AnyScheduler> {
    let scheduler = SchedulerKind::DeficitRoundRobin;
    let node = |parent| NodeSpec::new(parent, scheduler, Rate::MAX, FlowParameters::default());
    let nodes: Vec<NodeSpec> = core::iter::once(node(None)).chain(parents.iter().map(|&parent| node(Some(parent)))).collect();
    let leaf = |parent| LeafSpec { parent, parameters: FlowParameters::default(), shape: None };
    let leaves: Vec<LeafSpec> =
        flows.into_iter().enumerate().flat_map(|(parent, count)| core::iter::repeat_n(leaf(parent), count)).collect();
    Hierarchy::build(LONGEST, &nodes, &leaves).unwrap()
}

/// Of a thousand turns, the number whose flows were named in the [`PREDICTION_DISTANCE`] turns before, or at most 4 turns earlier.
fn predicted(parents: &[usize], flows: impl IntoIterator<Item = usize>, length: u32) -> usize {
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
fn most_turns_are_predicted_where_runs_are_long() {
    let groups: Vec<usize> = (0..100).map(|group| 50 + group % 7).collect();
    let below_the_root = core::iter::once(0).chain(groups.iter().copied());
    // Runs of 15 turns.
    assert!(predicted(&[0; 100], below_the_root, 100) > 950);
    // Two levels of groups.
    let parents: Vec<usize> = (0..110).map(|node: usize| node / 10).collect();
    let below = core::iter::repeat_n(0, 11).chain(groups);
    assert!(predicted(&parents, below, 100) > 950);
}

/// A tree that is asked for a hint after every packet.
struct Asked(Backlog<Hierarchy<AnyScheduler>>);

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
        // Disabled, as after short runs, and enabled whatever runs there are.
        for long in [0, u32::MAX] {
            let mut with = without.clone();
            with.predictor = PrefetchPredictor::new(with.nodes.len(), CACHED_MEMBERS + 1).map(|predictor| PrefetchPredictor { long, ..predictor });
            assert_same(&mut Asked(Backlog::new(with, 12)), &mut Asked(Backlog::new(without.clone(), 12)), &steps);
        }
    }
}
