//! A port that is amended goes on as one that switches to the whole policy: trees of subscribers, whose plans change under random traffic.

use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::{BufferParameters, FlowLimit, FlowShare, Override};
use tidegate_core::classifier::{ClassRules, Classifier, Rule};
use tidegate_core::packet::{Colour, Flow, Packet};
use tidegate_core::policer::Contract;
use tidegate_core::port::{AmendError, Amendment, Port, PortSetup, Transition};
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyAqm, AnyPolicer, AnyScheduler, AqmKind, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Hierarchy, HierarchyError, LeafSpec, Member, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const SUBSCRIBERS: u32 = 5;
const QUEUES: u32 = 3;
const LONGEST: u32 = 1500;

/// The plans of all subscribers, in Mbit/s.
type Plans = [u32; SUBSCRIBERS as usize];

fn rate(megabits: u32) -> Rate {
    Rate::new(u64::from(megabits) * 1_000_000).unwrap()
}

fn parameters(megabits: u32) -> FlowParameters {
    let shape = Some(ShapingContract::new(rate(megabits), 3 * LONGEST, LONGEST));
    FlowParameters { weight: Some(megabits), shape, ..FlowParameters::default() }
}

fn limit(megabits: u32) -> FlowLimit {
    FlowLimit { packets: None, bytes: Some(megabits * 6000) }
}

fn policer(megabits: u32) -> AnyPolicer {
    PolicerKind::Gcra.build(&Contract { burst: Some(20_000), ..Contract::new(rate(2 * megabits), LONGEST) }).unwrap()
}

fn aqm(megabits: u32) -> AnyAqm {
    let target = Some(Duration::from_microseconds(u64::from(20_000 / megabits)));
    let interval = Some(Duration::from_milliseconds(20));
    let parameters = AqmParameters { target, interval, ..AqmParameters::default() };
    AqmKind::CoDel.build(&AqmSetup { flows: QUEUES as usize, rate: rate(megabits), longest_frame: LONGEST }, &parameters).unwrap()
}

fn setup(root: SchedulerKind, plans: &Plans) -> PortSetup {
    let class = |name: u32| ClassRules {
        name: format!("{name}"),
        queues: QUEUES,
        rules: vec![Rule { vlan: Some(name as u16), ..Rule::default() }],
    };
    let classifier = Classifier::new((0..SUBSCRIBERS).map(class).collect(), 1).unwrap();
    let mut nodes = vec![NodeSpec { was: Some(0), ..NodeSpec::new(None, root, rate(30), FlowParameters::default()) }];
    nodes.extend(plans.iter().enumerate().map(|(number, &megabits)| {
        let FlowParameters { shape, .. } = parameters(megabits);
        let given = FlowParameters { shape: None, ..parameters(megabits) };
        NodeSpec { shape, was: Some(number + 1), ..NodeSpec::new(Some(0), SchedulerKind::SparseRoundRobin, rate(megabits), given) }
    }));
    let leaf = |flow: usize| LeafSpec { parent: 1 + flow / QUEUES as usize, parameters: FlowParameters::default(), shape: None };
    // The general tree under every scheduler.
    let tree = Hierarchy::build_with(LONGEST, (nodes.len(), |node| nodes[node]), (classifier.flows(), leaf)).unwrap();
    let overrides =
        (0..).zip(plans).map(|(number, &plan)| Override { first_flow: Flow(number * QUEUES), flows: QUEUES, limit: limit(plan) });
    let buffer =
        BufferParameters { flows: classifier.flows(), packets: Some(200), overrides: overrides.collect(), ..BufferParameters::default() };
    PortSetup {
        rate: rate(30),
        overhead: Overhead::None,
        policers: plans.iter().map(|&plan| Some(policer(plan))).collect(),
        aqms: plans.iter().map(|&plan| Some(aqm(plan))).collect(),
        seed: 1,
        buffer: BufferKind::LongestQueuePushOut.build(&buffer).unwrap(),
        scheduler: AnyScheduler::Hierarchy(Box::new(tree)),
        classifier,
        packet_limit: 200,
        longest_frame: LONGEST,
        remarks: Remarks::default(),
    }
}

/// What a port changes that has these plans.
fn amendment(before: &Plans, after: &Plans) -> Amendment {
    let mut amendment = Amendment::default();
    for (class, (old, &plan)) in before.iter().zip(after).enumerate() {
        if *old != plan {
            amendment.members.push((Member::Node(class + 1), parameters(plan)));
            let flows = class as u32 * QUEUES..(class as u32 + 1) * QUEUES;
            amendment.shares.extend(flows.map(|flow| (Flow(flow), FlowShare { limit: limit(plan), ..FlowShare::default() })));
            amendment.policers.push((class, Some(policer(plan))));
            amendment.aqms.push((class, Some(aqm(plan))));
        }
    }
    amendment
}

/// The starts of all transmissions, and the packets that were dropped, of a port that is amended and of one that switches.
fn play(root: SchedulerKind, seed: u64) {
    let mut draws = SplitMix64::new(seed);
    let mut now = Time::from_picoseconds(draws.next_word());
    let mut plans: Plans = [8, 3, 5, 12, 2];
    let [mut amended, mut switched] = [(); 2].map(|()| Port::<u32>::new(now, setup(root, &plans)));
    let mut sent = [Vec::new(), Vec::new()];
    for number in 0..6000 {
        let pause = if draws.below(500) == 0 { 100_000 } else { draws.below(600) };
        now += Duration::from_microseconds(u64::from(pause));
        for (port, sent) in [&mut amended, &mut switched].into_iter().zip(&mut sent) {
            port.advance(now, &mut (), |sending| sent.push((sending.packet.payload, sending.start)));
        }
        if draws.below(30) == 0 {
            let mut next = plans;
            next[draws.below(SUBSCRIBERS) as usize] = 1 + draws.below(15);
            next[draws.below(SUBSCRIBERS) as usize] = 1 + draws.below(15);
            amended.amend(now, &mut amendment(&plans, &next)).unwrap();
            let transition = Transition::prepare(&switched, setup(root, &next));
            switched.switch(now, transition, |packet: &Packet<()>, _: &u32| Some(packet.flow), &mut ());
            plans = next;
        }
        let (flow, length) = (Flow(draws.below(SUBSCRIBERS * QUEUES)), 60 + draws.below(LONGEST - 60));
        amended.offer(now, flow, length, Colour::Green, number, &mut ());
        switched.offer(now, flow, length, Colour::Green, number, &mut ());
        assert_eq!(amended.counters(), switched.counters(), "{root:?}, seed {seed}, packet {number}");
    }
    let [one, other] = sent;
    assert!(one.len() > 1000 && one == other, "{root:?}, seed {seed}");
    let dropped: u64 = amended.counters().dropped.iter().map(|volume| volume.packets).sum();
    assert!(dropped > 20, "policers, AQMs or the buffer drop packets: {dropped}");
}

#[test]
fn an_amended_port_goes_on_as_one_that_switches_under_wf2q_plus() {
    (0..8).for_each(|seed| play(SchedulerKind::Wf2qPlus, seed));
}

#[test]
fn an_amended_port_goes_on_as_one_that_switches_under_deficit_round_robin() {
    (0..8).for_each(|seed| play(SchedulerKind::DeficitRoundRobin, seed));
}

#[test]
fn an_amended_port_goes_on_as_one_that_switches_under_weighted_round_robin() {
    (0..8).for_each(|seed| play(SchedulerKind::WeightedRoundRobin, seed));
}

#[test]
fn what_a_port_cannot_change_is_an_error() {
    let mut port = Port::<u32>::new(Time::ZERO, setup(SchedulerKind::Wf2qPlus, &[1; 5]));
    let member = |member| Amendment { members: vec![(member, parameters(1))], ..Amendment::default() };
    let unknown = Member::Node(9);
    assert_eq!(port.amend(Time::ZERO, &mut member(unknown)), Err(AmendError::Node(HierarchyError::Parent(unknown))));
    let mut nothing = Amendment {
        shares: vec![(Flow(0), FlowShare { limit: FlowLimit { packets: Some(0), bytes: None }, ..FlowShare::default() })],
        ..Amendment::default()
    };
    assert!(matches!(port.amend(Time::ZERO, &mut nothing), Err(AmendError::Share(_))));
    let without = PortSetup { aqms: Vec::new(), ..setup(SchedulerKind::Wf2qPlus, &[1; 5]) };
    let mut first = Amendment { aqms: vec![(0, Some(aqm(1)))], ..Amendment::default() };
    assert_eq!(Port::<u32>::new(Time::ZERO, without).amend(Time::ZERO, &mut first), Err(AmendError::FirstAqm));
    // What was replaced comes back, to be freed elsewhere.
    let mut gone = Amendment { policers: vec![(0, None)], aqms: vec![(1, None)], ..Amendment::default() };
    port.amend(Time::ZERO, &mut gone).unwrap();
    assert!(gone.policers[0].1.is_some() && gone.aqms[0].1.is_some());
}
