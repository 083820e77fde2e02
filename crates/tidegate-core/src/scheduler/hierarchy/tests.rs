//! Nodes that wait, winners that change with time, and what is not to change them.

use super::node_scheduler::NodeScheduler;
use super::*;
use crate::dwcs::{Request, Service, Window};
use crate::packet::Colour;
use crate::registry::{AnyScheduler, SchedulerKind};
use crate::scheduler::FlowParameters;
use crate::shaper::{Shaped, ShapingContract};
use crate::units::{Duration, Rate};
use alloc::boxed::Box;

/// The longest packet, in bytes.
const LONGEST: u32 = 1500;

fn head(number: u32) -> Head {
    Head { length: LONGEST, number, arrival: Time::ZERO, colour: Colour::Green }
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Duration::from_microseconds(microseconds)
}

fn priority(priority: u32) -> FlowParameters {
    FlowParameters { priority: Some(priority), ..FlowParameters::default() }
}

fn leaf(parent: usize, parameters: FlowParameters) -> LeafSpec {
    LeafSpec { parent, parameters, shape: None }
}

/// A link of 100 Mbit/s with priorities, and below them another node.
fn tree_of_two(below: SchedulerKind, parameters: FlowParameters, leaves: &[LeafSpec]) -> Hierarchy<AnyScheduler> {
    let node = |parent, scheduler| NodeSpec::new(parent, scheduler, Rate::new(100_000_000).unwrap(), parameters);
    Hierarchy::build(LONGEST, &[node(None, SchedulerKind::StrictPriority), node(Some(0), below)], leaves).unwrap()
}

/// Flow 2 beside a node whose scheduler waits of its own accord: flow 0, which it serves first, may send every 1.5 ms.
fn tree_with_a_scheduler_that_waits() -> Hierarchy<AnyScheduler> {
    let leaves = [leaf(1, priority(0)), leaf(1, priority(1)), leaf(0, priority(1))];
    let mut tree = tree_of_two(SchedulerKind::StrictPriority, priority(0), &leaves);
    let contract = ShapingContract::new(Rate::new(8_000_000).unwrap(), LONGEST, LONGEST);
    let NodeScheduler::Other(inside) = tree.nodes[1].scheduler.clone() else { unreachable!("it is not sparse round robin") };
    tree.nodes[1].scheduler = AnyScheduler::Shaped(Box::new(Shaped::new(*inside, &[Some(contract), None]).unwrap())).into();
    tree.activate(at(0), Flow(0), head(0));
    assert_eq!(tree.select(at(0)), Decision::Serve(Flow(0)));
    tree.served(at(0), Flow(0), Some(head(1)));
    tree
}

#[test]
fn a_clone_has_room_for_all_nodes_once_it_is_started() {
    let mut clone = tree_with_a_scheduler_that_waits().clone();
    clone.start(at(0));
    assert!(clone.unsettled.capacity() >= clone.nodes.len());
    assert!(clone.allowances.capacity() >= clone.members.len());
    assert_eq!(size_of::<Child>(), 64);
    // Thousands of classes have one each.
    assert_eq!(size_of::<super::Node<AnyScheduler>>(), 128);
}

#[test]
fn a_node_that_waits_lets_its_siblings_go_first() {
    let mut tree = tree_with_a_scheduler_that_waits();
    let Decision::WaitUntil(release) = tree.select(at(120)) else { panic!("nothing may be sent yet") };
    assert_eq!(release, at(1500));
    tree.activate(at(200), Flow(2), head(2));
    assert_eq!(tree.select(at(200)), Decision::Serve(Flow(2)));
    tree.served(at(200), Flow(2), Some(head(3)));
    assert_eq!(tree.select(release), Decision::Serve(Flow(0)));
}

#[test]
fn a_node_that_waits_is_asked_again_when_something_comes() {
    let mut tree = tree_with_a_scheduler_that_waits();
    assert!(matches!(tree.select(at(120)), Decision::WaitUntil(_)));
    tree.activate(at(200), Flow(1), head(2));
    assert_eq!(tree.select(at(200)), Decision::Serve(Flow(1)));
}

#[test]
fn a_winner_that_time_alone_has_changed_is_noticed() {
    let mut tree = tree_with_a_scheduler_that_waits();
    tree.activate(at(120), Flow(1), head(2));
    assert_eq!(tree.select(at(1000)), Decision::Serve(Flow(1)));
    assert_eq!(tree.select(at(1600)), Decision::Serve(Flow(0)));
    tree.served(at(1600), Flow(0), None);
    assert_eq!(tree.select(at(1720)), Decision::Serve(Flow(1)));
}

/// A node under DWCS learns of a missed deadline when it is asked, and a flow that has missed none starts afresh when it comes back.
#[test]
fn a_node_is_not_asked_because_of_a_packet_that_is_lost_at_once() {
    let served_first = |is_there_another: bool| {
        let window = Request { period: 10, ..Request::of(Service::Window(Window::new(1, 2))) };
        let windowed = leaf(1, FlowParameters { service: Some(window), ..FlowParameters::default() });
        let mut tree = tree_of_two(SchedulerKind::Dwcs, priority(1), &[leaf(0, priority(0)), windowed, windowed, windowed]);
        let slot = |slot: u64| at(120 * slot);
        tree.activate(slot(0), Flow(0), head(0));
        tree.activate(slot(0), Flow(1), head(1));
        assert_eq!(tree.select(slot(0)), Decision::Serve(Flow(0)));
        // Its deadline is slot 10.
        if is_there_another {
            tree.activate(slot(11), Flow(3), head(2));
            tree.lost(slot(11), Flow(3), None);
        }
        assert_eq!(tree.select(slot(11)), Decision::Serve(Flow(0)));
        tree.lost(slot(12), Flow(1), None);
        tree.activate(slot(12), Flow(2), head(3));
        tree.activate(slot(13), Flow(1), head(4));
        tree.lost(slot(13), Flow(0), None);
        tree.select(slot(13))
    };
    assert_eq!(served_first(false), Decision::Serve(Flow(2)));
    assert_eq!(served_first(true), Decision::Serve(Flow(2)));
}

#[test]
fn a_node_that_waits_for_a_packet_that_is_lost_is_idle() {
    let mut tree = tree_with_a_scheduler_that_waits();
    assert!(matches!(tree.select(at(120)), Decision::WaitUntil(_)));
    tree.lost(at(130), Flow(0), None);
    assert_eq!(tree.select(at(130)), Decision::Idle);
    assert!(tree.waiting.is_empty());
}

#[test]
fn a_node_that_waits_is_asked_again_when_a_flow_below_it_changes() {
    let mut tree = tree_with_a_scheduler_that_waits();
    assert!(matches!(tree.select(at(120)), Decision::WaitUntil(_)));
    // The shaper below no longer holds flow 0 back.
    tree.change(at(200), Flow(0), &priority(0)).unwrap();
    assert_eq!(tree.select(at(200)), Decision::Serve(Flow(0)));
}

/// The flows of a tree, each with its head.
fn kept(heads: [Option<u32>; 3]) -> [Kept; 3] {
    core::array::from_fn(|flow| Kept { from: Flow(flow as u32), to: Flow(flow as u32), head: heads[flow].map(head) })
}

#[test]
fn a_node_goes_on_waiting_in_another_tree() {
    for asked in [false, true] {
        let (mut old, mut new) = (tree_with_a_scheduler_that_waits(), tree_with_a_scheduler_that_waits());
        new.lost(at(0), Flow(0), None);
        new.select(at(0));
        new.plan.was = alloc::vec![0, 1];
        if asked {
            assert_eq!(old.select(at(120)), Decision::WaitUntil(at(1500)));
        }
        new.adopt(at(130), &mut old, &kept([Some(1), None, None]));
        assert_eq!(new.select(at(130)), Decision::WaitUntil(at(1500)));
        new.activate(at(200), Flow(2), head(2));
        assert_eq!(new.select(at(200)), Decision::Serve(Flow(2)));
        new.served(at(200), Flow(2), Some(head(3)));
        assert_eq!(new.select(at(1500)), Decision::Serve(Flow(0)));
    }
}

#[test]
fn a_node_that_loses_its_suspended_flow_gives_up_its_turn() {
    let contract = ShapingContract::new(Rate::new(8_000_000).unwrap(), LONGEST, LONGEST);
    let tree = |parent| {
        let shaped = LeafSpec { shape: Some(contract), ..leaf(parent, priority(0)) };
        let mut tree = tree_of_two(SchedulerKind::DeficitRoundRobin, priority(0), &[shaped, leaf(1, priority(1)), leaf(0, priority(1))]);
        tree.plan.was = alloc::vec![0, 1];
        tree
    };
    let (mut old, mut new) = (tree(1), tree(0));
    old.activate(at(0), Flow(0), head(0));
    assert_eq!(old.select(at(0)), Decision::Serve(Flow(0)));
    old.served(at(0), Flow(0), Some(head(1)));
    assert_eq!(old.select(at(120)), Decision::WaitUntil(at(1500)));
    assert!(old.members[1].suspended && old.nodes[ROOT].suspended == 1);
    new.adopt(at(130), &mut old, &kept([Some(1), None, None]));
    assert!(!new.members[1].suspended && new.nodes[ROOT].suspended == 0);
    // Below the root the flow keeps its tokens.
    assert_eq!(new.select(at(130)), Decision::WaitUntil(at(1500)));
}
