//! Shares among shaped members. Always backlogged members of weights 1 to 4, each shaped to three times its share, get 1 : 2 : 3 : 4. That
//! holds under every discipline that shares by weight, with any burst of longest packets, on any level of a hierarchy, and behind the shaper of
//! a flat port.

use tidegate_core::dwcs::{Request, Service};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, LeafSpec, NodeSpec, Scheduler, Setup};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Rate, Time};

const LONGEST: u32 = 1500;
const SHARED_RATE: u64 = 40_000_000;
const WEIGHTS: [u32; 4] = [1, 2, 3, 4];

fn rate(bits_per_second: u64) -> Rate {
    Rate::new(bits_per_second).unwrap()
}

fn parameters(weight: u32) -> FlowParameters {
    let service = Some(Request::of(Service::FairShare(weight)));
    FlowParameters { weight: Some(weight), service, ..FlowParameters::default() }
}

/// Three times the share, on a link of this rate.
fn contract(weight: u32, burst: u32, link: u64) -> ShapingContract {
    let tolerance = rate(link).time_per_byte().ceil(LONGEST);
    ShapingContract { tolerance, ..ShapingContract::new(rate(3 * SHARED_RATE / 10 * u64::from(weight)), burst, LONGEST) }
}

fn node(parent: Option<usize>, scheduler: SchedulerKind, shared: u64, weight: u32, shape: Option<ShapingContract>) -> NodeSpec {
    NodeSpec { shape, ..NodeSpec::new(parent, scheduler, rate(shared), parameters(weight)) }
}

/// Where the members are.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Level {
    /// Flows behind the shaper of a port without a hierarchy.
    Flat,
    /// Flows below the root, which share the link.
    Root,
    /// Flows below a shaped group of a faster link.
    Group,
    /// Shaped groups of two flows each, below the root.
    Groups,
    /// Groups of one shaped flow each, below the root: what suspends a group is below it.
    Above,
}

const LEVELS: [Level; 5] = [Level::Flat, Level::Root, Level::Group, Level::Groups, Level::Above];

/// Parts of what is sent of each member, of which shares are 0.1 to 0.4.
fn parts(kind: SchedulerKind, level: Level, burst: u32, lengths: &[u32]) -> [f64; 4] {
    let link = if level == Level::Group { 1_000_000_000 } else { SHARED_RATE };
    let shape = |weight| Some(contract(weight, burst, link));
    let leaf = |parent, weight, shape| LeafSpec { parent, parameters: parameters(weight), shape };
    let build = |nodes: &[NodeSpec], leaves: &[LeafSpec]| Hierarchy::build(LONGEST, nodes, leaves).unwrap();
    let groups = |shaped: bool| {
        let group =
            |&weight| node(Some(0), SchedulerKind::DeficitRoundRobin, SHARED_RATE, weight, if shaped { shape(weight) } else { None });
        [vec![node(None, kind, SHARED_RATE, 1, None)], WEIGHTS.iter().map(group).collect()].concat()
    };
    match level {
        Level::Flat => {
            let inner = kind.build(&Setup::new(rate(SHARED_RATE), LONGEST), &WEIGHTS.map(parameters)).unwrap();
            let mut shaped: Shaped<_> = Shaped::new(inner, &WEIGHTS.map(shape)).unwrap();
            run(&mut shaped, link, 4, |flow| flow, lengths)
        }
        Level::Root => {
            let leaves = WEIGHTS.map(|weight| leaf(0, weight, shape(weight)));
            run(&mut build(&[node(None, kind, SHARED_RATE, 1, None)], &leaves), link, 4, |flow| flow, lengths)
        }
        Level::Group => {
            let site = ShapingContract { rate: rate(SHARED_RATE), ..contract(1, LONGEST, link) };
            let nodes = [node(None, SchedulerKind::DeficitRoundRobin, link, 1, None), node(Some(0), kind, SHARED_RATE, 1, Some(site))];
            let leaves = WEIGHTS.map(|weight| leaf(1, weight, shape(weight)));
            run(&mut build(&nodes, &leaves), link, 4, |flow| flow, lengths)
        }
        Level::Groups => {
            let leaves: Vec<_> = (0..8).map(|flow| leaf(1 + flow / 2, 1, None)).collect();
            run(&mut build(&groups(true), &leaves), link, 8, |flow| flow / 2, lengths)
        }
        Level::Above => {
            let leaves: Vec<_> = (0..4).map(|flow| leaf(1 + flow, 1, shape(WEIGHTS[flow]))).collect();
            run(&mut build(&groups(false), &leaves), link, 4, |flow| flow, lengths)
        }
    }
}

fn run<S: Scheduler>(scheduler: &mut S, link: u64, flows: usize, member: impl Fn(usize) -> usize, lengths: &[u32]) -> [f64; 4] {
    let (mut now, mut number, mut sent) = (Time::ZERO, 0, [0u64; 4]);
    let mut head = |now| {
        number += 1;
        Head { length: lengths[number as usize % lengths.len()], number, arrival: now, colour: Colour::Green }
    };
    let mut heads: Vec<Head> = (0..flows).map(|_| head(now)).collect();
    scheduler.start(now);
    for (flow, &head) in heads.iter().enumerate() {
        scheduler.activate(now, Flow(flow as u32), head);
    }
    let per_byte = rate(link).time_per_byte();
    let mut packets = 0;
    while packets < 40_000 {
        match scheduler.select(now) {
            Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                let length = heads[flow.index()].length;
                // What the bursts let pass at first is over by then.
                sent[member(flow.index())] += if packets > 20_000 { u64::from(length) } else { 0 };
                heads[flow.index()] = head(now);
                scheduler.served(now, flow, Some(heads[flow.index()]));
                now += per_byte.ceil(length);
                packets += 1;
            }
            Decision::WaitUntil(time) => now = time,
            other => panic!("{other:?} with everything backlogged"),
        }
    }
    let all: u64 = sent.iter().sum();
    sent.map(|sent| sent as f64 / all as f64)
}

const SHARING: [SchedulerKind; 6] = [
    SchedulerKind::DeficitRoundRobin,
    SchedulerKind::WeightedRoundRobin,
    SchedulerKind::Wf2qPlus,
    SchedulerKind::SelfClocked,
    SchedulerKind::QuickFair,
    SchedulerKind::Dwcs,
];

/// Asserts the shares of all that send packets of these lengths in turn, with each of these bursts.
fn assert_shares(lengths: &[u32], bursts: &[u32]) {
    let mut wrong = Vec::new();
    for kind in SHARING {
        // Its slots are rounded up to powers of two, and a flow that returns late does not keep its lag.
        let tolerance = if kind == SchedulerKind::QuickFair { 0.1 } else { 0.03 };
        for level in LEVELS {
            for &burst in bursts {
                let parts = parts(kind, level, burst, lengths);
                if parts.iter().zip(WEIGHTS).any(|(part, weight)| (part * 10.0 / f64::from(weight) - 1.0).abs() > tolerance) {
                    wrong.push(format!("{} {level:?}, burst {burst}: {parts:.3?}", kind.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn shares_are_kept_whatever_the_burst() {
    assert_shares(&[LONGEST], &[1500, 3000, 6000, 30_000]);
}

/// A burst of one longest packet is too small here: a short packet that waits for a long one costs its contract more than the tolerance.
#[test]
fn shares_are_kept_with_packets_of_many_lengths() {
    assert_shares(&[1500, 64, 600, 1500, 300, 1000, 64], &[3000, 6000, 30_000]);
}
