//! How many turns are expected, and that no decision depends on it.

use crate::packet::Flow;
use crate::registry::SchedulerKind;
use crate::scheduler::tests::{Backlog, Server};
use crate::scheduler::{DeficitTree, FlowParameters, LeafSpec, NodeSpec, Scheduler};
use crate::units::Rate;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The longest packet, in bytes.
const LONGEST: u32 = 1500;
/// The queues of a subscriber.
const QUEUES: usize = 4;

/// Of a thousand packets of this length, the number whose queues were named before, at most 32 names earlier. Every site has this number of subscribers.
fn expected(sites: usize, subscribers: usize, length: u32) -> usize {
    let node = |parent| NodeSpec::new(parent, SchedulerKind::DeficitRoundRobin, Rate::MAX, FlowParameters::default());
    let mut nodes: Vec<NodeSpec> = core::iter::once(node(None)).chain((0..sites).map(|_| node(Some(0)))).collect();
    nodes.extend((0..sites * subscribers).map(|index| node(Some(1 + index / subscribers))));
    let leaf = |index| LeafSpec { parent: 1 + sites + index / QUEUES, parameters: FlowParameters::default(), shape: None };
    let leaves: Vec<LeafSpec> = (0..sites * subscribers * QUEUES).map(leaf).collect();
    let new = || Backlog::new(DeficitTree::build(LONGEST, &nodes, &leaves).unwrap(), leaves.len());
    let (mut backlog, mut unasked) = (new(), new());
    // Some queues are empty, and the others have what a turn takes.
    let per_turn = (LONGEST / length) as usize;
    let filled = (0..leaves.len()).filter(|leaf| leaf % 3 > 0);
    for leaf in filled.flat_map(|leaf| core::iter::repeat_n(leaf, per_turn)) {
        backlog.arrive(leaf, length);
        unasked.arrive(leaf, length);
    }
    let (mut named, mut hits) = (VecDeque::new(), 0);
    let before = 3 * leaves.len() * per_turn;
    for turn in 0..before + 1000 {
        let (flow, _) = backlog.send().unwrap();
        assert_eq!(unasked.send(), Some((flow, length)), "a tree that is never asked for a name");
        hits += usize::from(turn >= before && named.contains(&Flow(flow as u32)));
        if let Some(hint) = backlog.scheduler.prefetch_hint() {
            named.push_front(hint);
            named.truncate(32);
        }
        backlog.arrive(flow, length);
        unasked.arrive(flow, length);
    }
    hits
}

#[test]
fn most_turns_of_subscribers_with_queues_are_expected() {
    for (sites, subscribers) in [(16, 40), (100, 12), (40, 4)] {
        for length in [1500, 750] {
            let hits = expected(sites, subscribers, length);
            assert!(hits > 900, "{hits} of 1000 packets of {length} bytes, {sites} sites of {subscribers} subscribers");
        }
    }
}
