//! Leaves and flows that come, change and go allocate nothing up to the stated capacity.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tidegate_core::dwcs::{Request, Service};
use tidegate_core::exchange::{Exchange, Report, SpanningNode, Workers};
use tidegate_core::packet::Flow;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Hierarchy, LeafSpec, NodeSpec, Parameter, Scheduler, Setup};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};

/// The system's allocator, counting what each thread asks for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on unchanged; counting touches a number of the thread that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The places of every scheduler, half of them vacant at first.
const PLACES: u32 = 100;

fn megabits(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).unwrap()
}

/// Parameters of many sorts, with or without a contract.
fn given(kind: SchedulerKind, sort: u32) -> FlowParameters {
    let has_rate = kind.requires().contains(&Parameter::Rate) || !kind.accepts().contains(&Parameter::Weight);
    let contract = ShapingContract::new(megabits(1 + u64::from(sort)), 3000, 1500);
    FlowParameters {
        priority: Some(sort % 8),
        weight: (!has_rate).then_some(1 + sort % 8),
        rate: has_rate.then(|| Rate::new(1000 * (1 + u64::from(sort))).unwrap()),
        delay: Some(Duration::from_milliseconds(1 + u64::from(sort))),
        shape: (!sort.is_multiple_of(3)).then_some(contract),
        service: Some(Request::of(Service::FairShare(1 + sort % 8))),
        ..FlowParameters::default()
    }
}

/// The scheduler itself, behind a shaper, or as the lower node of a tree of two.
fn compositions(kind: SchedulerKind) -> Vec<AnyScheduler> {
    let places = PLACES as usize;
    let setup = Setup { capacity: places, ..Setup::new(megabits(1000), 1500) };
    let flows: Vec<FlowParameters> = (0..PLACES / 2).map(|sort| FlowParameters { shape: None, ..given(kind, sort) }).collect();
    let alone = kind.build(&setup, &flows).unwrap();
    let shaped = Shaped::new(alone.clone(), &vec![None; places]).unwrap();
    let node = |parent, capacity| NodeSpec { capacity, ..NodeSpec::new(parent, kind, megabits(1000), flows[0]) };
    let leaves: Vec<LeafSpec> = flows.iter().map(|&parameters| LeafSpec { parent: 1, parameters, shape: None }).collect();
    let tree = Hierarchy::build(1500, &[node(None, 0), node(Some(0), places / 2)], &leaves).unwrap();
    vec![alone, AnyScheduler::Shaped(Box::new(shaped)), AnyScheduler::Hierarchy(Box::new(tree))]
}

#[test]
fn flows_that_come_change_and_go_allocate_nothing() {
    for &kind in SchedulerKind::ALL {
        for mut scheduler in compositions(kind) {
            scheduler.start(Time::ZERO);
            let is_tree = matches!(scheduler, AnyScheduler::Hierarchy(_));
            let before = ALLOCATIONS.get();
            for round in 0..4 {
                for flow in (0..PLACES).map(Flow) {
                    let now = Time::ZERO + Duration::from_milliseconds(u64::from(round));
                    let parameters = given(kind, flow.0 + round);
                    if round == 0 && flow.0 >= PLACES / 2 {
                        let leaf = LeafSpec { parent: usize::from(is_tree), parameters, shape: parameters.shape };
                        scheduler.fill(now, flow, &leaf).unwrap();
                    }
                    scheduler.change(now, flow, &parameters).unwrap();
                }
            }
            for flow in (PLACES / 2..PLACES).map(Flow) {
                scheduler.forget(Time::ZERO + Duration::from_seconds(1), flow);
            }
            assert_eq!(ALLOCATIONS.get() - before, 0, "{}, {:?}", kind.name(), std::mem::discriminant(&scheduler));
        }
    }
}

#[test]
fn an_exchange_among_workers_allocates_nothing() {
    let rate = megabits(1000);
    let mut workers = Workers::of_link(4, Duration::from_microseconds(150), &[], &[]);
    workers.nodes.push(SpanningNode { node: 1, ..SpanningNode::LINK });
    let mut exchange = Exchange::new(Time::ZERO, &workers, rate, 1500).unwrap();
    let report = |weight| Report {
        sent: 4000,
        backlogged_weight: weight,
        passing_weight: 1,
        bounded_weight: 1,
        bounded_rate: 50_000,
        ..Report::default()
    };
    let reports = [1, 2, 0, 7, 2, 0, 3, 3].map(report);
    let before = ALLOCATIONS.get();
    for round in 1..100 {
        exchange.exchange(Time::ZERO + Duration::from_microseconds(150 * round), &reports);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
