//! Several workers with frames in memory, polled at instants that the tests choose.

use super::*;
use crate::workers;
use tidegate_core::classifier::{PortRange, Rule};
use tidegate_core::exchange::{Above, SpanningNode, Workers};
use tidegate_core::registry::AnyScheduler;
use tidegate_core::scheduler::{LeafSpec, NodeSpec};
use tidegate_core::shaper::ShapingContract;

/// Keeps the class and the number of every frame.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) sent: Vec<(u8, u8, u16)>,
}

impl Transmit for Kept {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        let before = self.sent.len();
        self.sent.extend(messages.map(|message| {
            let payload = &message[10 + 42..];
            (payload[0], payload[1], u16::from_be_bytes([payload[2], payload[3]]))
        }));
        Ok(self.sent.len() - before)
    }

    fn maintain(&mut self) -> bool {
        true
    }
}

pub(super) type Member = Direction<Arrivals, Kept, ()>;

const RATE: u64 = 100_000_000;

/// Classes by destination port from 1000 on, with these weights.
fn shared(weights: &[u32], scheduler: SchedulerKind, packets: u32) -> PortSetup {
    let classes: Vec<(u8, u32)> = (0..).zip(weights.iter().copied()).collect();
    named(&classes, Rate::new(RATE).unwrap(), scheduler, packets)
}

/// Classes with these numbers and weights: packets to the port 1000 beyond its number belong to each.
pub(super) fn named(classes: &[(u8, u32)], rate: Rate, scheduler: SchedulerKind, packets: u32) -> PortSetup {
    let rule = |class: u8| Rule { destination_port: Some(PortRange::one(1000 + u16::from(class))), ..Rule::default() };
    let rules = classes.iter().map(|&(class, _)| ClassRules { name: format!("c{class}"), queues: 1, rules: vec![rule(class)] });
    let weight = |&(_, weight): &(u8, u32)| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
    let parameters: Vec<_> = classes.iter().map(weight).collect();
    let buffer = BufferParameters { flows: classes.len(), packets: Some(packets), ..BufferParameters::default() };
    PortSetup {
        rate,
        classifier: Classifier::new(rules.collect(), 0).unwrap(),
        policers: vec![None; classes.len()],
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: scheduler.build(&Setup::new(rate, LONGEST_FRAME + 24), &parameters).unwrap(),
        packet_limit: packets,
        ..setup(packets)
    }
}

pub(super) fn plan(weights: &[u32], worker_of: &[u32]) -> Workers {
    Workers::of_link(worker_of.iter().max().unwrap() + 1, Duration::from_microseconds(150), weights, worker_of)
}

fn team(weights: &[u32], worker_of: &[u32], packets: u32) -> Vec<Member> {
    team_of(&shared(weights, SchedulerKind::DeficitRoundRobin, packets), &plan(weights, worker_of), packets)
}

pub(super) fn team_of(setup: &PortSetup, plan: &Workers, packets: u32) -> Vec<Member> {
    let workers = workers::open(Time::ZERO, plan, setup, "a -> b").unwrap();
    let member = |worker: workers::Worker| {
        let options = direction_options(packets + 2000);
        let pool = FramePool::new(packets + 2000, LONGEST_FRAME).unwrap();
        let mut direction = Direction::new(Time::ZERO, setup.clone(), options, Arrivals::default(), Kept::default(), [true; 2], pool, ());
        direction.work(Time::ZERO, worker, workers::meter(plan, setup));
        direction
    };
    workers.into_iter().map(member).collect()
}

/// A datagram of `class` and `flow` with this number.
pub(super) fn datagram(class: u8, flow: u8, number: u16, length: usize) -> (Vec<u8>, Offload) {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((length as u16 - 14).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(u16::from(flow).to_be_bytes());
    frame.extend((1000 + u16::from(class)).to_be_bytes());
    frame.extend((length as u16 - 34).to_be_bytes());
    frame.extend([0, 0, class, flow]);
    frame.extend(number.to_be_bytes());
    frame.resize(length, 0);
    (frame, Offload::default())
}

/// Polls all workers at `now` until none has more to do at once, and checks that no packet is lost.
pub(super) fn step(team: &mut [Member], now: Time, reading: bool) -> Vec<Next> {
    loop {
        let next: Vec<Next> = team.iter_mut().map(|worker| worker.poll(now, reading)).collect();
        let counters: Vec<_> = team.iter().map(|worker| worker.counters()).collect();
        counters.iter().for_each(|counters| assert_eq!(counters.check_worker(), Ok(()), "{counters:?}"));
        assert_eq!(DirectionCounters::of_workers(counters).check(), Ok(()));
        if next.iter().all(|next| *next != Next::Again) {
            return next;
        }
    }
}

/// The report of all workers at the end.
pub(super) fn finished(team: Vec<Member>, now: Time) -> DirectionReport<()> {
    let reports = team.into_iter().map(|worker| worker.finish(now)).collect();
    workers::joined(reports).unwrap()
}

/// Keeps ten classes backlogged for half a second. All frames come to the second worker. Returns the bytes of each class after the first 50 ms, and the
/// instant at the end.
fn carried(team: &mut [Member], worker_of: &[u32; 10]) -> (Vec<u64>, Time) {
    let mut now = Time::ZERO;
    let (mut numbers, mut start) = ([0u16; 10], [0u64; 10]);
    let sent = |team: &[Member]| -> Vec<u64> {
        let of = |class: usize| team.iter().map(|worker| worker.record.port.classes()[class].sent.bytes).sum();
        (0..10).map(of).collect()
    };
    for round in 0..25_000 {
        for class in 0..10usize {
            while team[worker_of[class] as usize].port.occupancy().flow_packets(Flow(class as u32)) < 6
                && team[1].receiver.frames.len() < 40
                && numbers[class] < u16::MAX
            {
                team[1].receiver.frames.push_back(datagram(class as u8, 0, numbers[class], 1200));
                numbers[class] += 1;
                if team[1].receiver.frames.len() > 30 {
                    step(team, now, true);
                }
            }
        }
        step(team, now, true);
        if round == 2500 {
            start.copy_from_slice(&sent(team));
        }
        now += Duration::from_microseconds(20);
    }
    (sent(team).iter().zip(start).map(|(end, start)| end - start).collect(), now)
}

/// What the link carries in 450 ms.
const CARRIED: u64 = RATE / 8 * 450 / 1000 * 1200 / 1224;

#[test]
fn packets_go_to_the_worker_of_their_class_and_workers_share_the_link_by_weight() {
    // Eight of ten classes are on the first worker.
    let (weights, worker_of) = ([1, 2, 3, 1, 1, 1, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    let mut team = team(&weights, &worker_of, 400);
    let (bytes, now) = carried(&mut team, &worker_of);
    let all: u64 = bytes.iter().sum();
    assert!(all.abs_diff(CARRIED) < CARRIED / 200, "{all} of {CARRIED} bytes");
    for (class, (&bytes, &weight)) in bytes.iter().zip(&weights).enumerate() {
        let fair = all * u64::from(weight) / 14;
        assert!(bytes.abs_diff(fair) < fair / 200 + 5 * 1224, "class {class}: {bytes} of {fair} bytes");
    }
    for worker in &team {
        let mut next = [0u16; 10];
        for (class, _, number) in &worker.transmitter.sent {
            assert_eq!(
                (number, worker_of[usize::from(*class)] as usize),
                (&next[usize::from(*class)], worker.worker.as_ref().unwrap().number())
            );
            next[usize::from(*class)] += 1;
        }
    }
    let passed_on = team[1].counters().passed_on;
    let report = finished(team, now);
    assert_eq!((report.counters.check(), report.counters.passed_on), (Ok(()), passed_on));
    assert!(passed_on.packets > 1000 && report.counters.in_rings == Volume::default());
    let busy = report.busy as f64 / 0.5e12;
    assert!((0.985..=1.005).contains(&busy), "the link was busy for {busy} of the time");
}

#[test]
fn a_group_on_both_workers_keeps_its_contract_and_divides_it_by_weight() {
    // Seven of the eight classes of the group are on the first worker. The last two classes share what the group leaves of the link.
    let (weights, worker_of) = ([1, 2, 3, 1, 1, 1, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0, 0, 1, 1, 0]);
    let (rate, longest) = (Rate::new(RATE).unwrap(), LONGEST_FRAME + 24);
    let cap = ShapingContract {
        tolerance: Duration::from_milliseconds(5),
        ..ShapingContract::new(Rate::new(RATE * 6 / 10).unwrap(), 4 * longest, longest)
    };
    let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
    let node = |above: Option<usize>, shape| NodeSpec { shape, ..NodeSpec::new(above, SchedulerKind::DeficitRoundRobin, rate, weight(9)) };
    let above = |class: usize| usize::from(class < 8);
    let leaf = |class: usize| LeafSpec { parent: above(class), parameters: weight(weights[class]), shape: None };
    let nodes = [node(None, None), node(Some(0), Some(cap))];
    let scheduler = AnyScheduler::tree(longest, (2, |index: usize| nodes[index]), (10, leaf)).unwrap();
    let setup = PortSetup { scheduler, ..shared(&weights, SchedulerKind::DeficitRoundRobin, 400) };
    let mut plan = plan(&weights, &worker_of);
    plan.nodes.push(SpanningNode { above: 0, node: 1, weight: 9, shape: Some(cap) });
    (0..8).for_each(|class| plan.parts[class].above = Above::Spanning(1));
    let mut team = team_of(&setup, &plan, 400);
    let (bytes, now) = carried(&mut team, &worker_of);
    let all: u64 = bytes.iter().sum();
    assert!(all.abs_diff(CARRIED) < CARRIED / 200, "{all} of {CARRIED} bytes");
    for (class, (&bytes, &weight)) in bytes.iter().zip(&weights).enumerate() {
        let (part, weights) = if class < 8 { (6, 11) } else { (4, 3) };
        let fair = CARRIED * part / 10 * u64::from(weight) / weights;
        assert!(bytes.abs_diff(fair) < fair / 200 + 5 * 1224, "class {class}: {bytes} of {fair} bytes");
    }
    assert_eq!(finished(team, now).counters.check(), Ok(()));
}

#[test]
fn a_full_ring_drops_and_counts() {
    let mut team = team(&[1, 1], &[0, 1], 4000);
    // The second worker does not look at its ring.
    team[0].receiver.frames.extend((0..1500).map(|number| datagram(1, 0, number, 100)));
    (0..20).for_each(|_| _ = team[0].poll(at(0), true));
    let counters = team[0].counters();
    assert_eq!(counters.passed_on.packets, workers::ring::CAPACITY as u64);
    assert_eq!(counters.refused.ring_full, Volume { packets: 1500 - 1024, bytes: 100 * (1500 - 1024) });
    let all = DirectionCounters::of_workers([counters, team[1].counters()]);
    assert_eq!((all.check(), all.waiting().packets), (Ok(()), 1024));
    // What is left in rings at the end is found there.
    let report = finished(team, at(1));
    assert_eq!((report.counters.check(), report.counters.in_rings.packets), (Ok(()), 1024));
}

#[test]
fn workers_wait_only_when_nothing_is_left_and_end_when_none_receives() {
    let mut team = team(&[1, 1], &[0, 1], 100);
    assert_eq!(step(&mut team, at(0), true), [Next::Idle, Next::Idle]);
    // The second is passed a packet while it waits.
    team[0].receiver.frames.push_back(datagram(1, 0, 0, 100));
    assert_eq!(team[0].poll(at(10), true), Next::Again);
    let start = std::time::Instant::now();
    crate::clock::wait([None, team[1].waker()], Duration::from_seconds(10));
    assert!(start.elapsed().as_secs() < 9, "the second worker is woken");
    team[1].woken();
    assert_eq!((team[1].poll(at(10), true), team[1].transmitter.sent.len()), (Next::Again, 1));
    step(&mut team, at(500), true);
    assert_eq!(team[1].poll(at(500), false), Next::At(at(1500)), "the first may still pass packets on");
    team[0].receiver.frames.push_back(datagram(1, 0, 1, 100));
    team[0].poll(at(600), true);
    assert_eq!(team[0].poll(at(700), false), Next::Idle);
    step(&mut team, at(700), false);
    assert_eq!(step(&mut team, at(1000), false), [Next::Idle, Next::Idle]);
    let report = finished(team, at(1000));
    assert_eq!((report.counters.check(), report.counters.delivered.packets), (Ok(()), 2));
}

#[test]
fn a_worker_is_not_handed_over() {
    let mut team = team(&[1, 1], &[0, 1], 100);
    assert!(team[0].stand_still(at(0)).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No packet is lost or comes twice, and those of a flow keep their order, whatever comes where and when; none is dropped.
    #[test]
    fn every_packet_leaves_once_and_in_order(
        worker_of in prop::collection::vec(0u32..3, 5),
        frames in prop::collection::vec((0u8..5, 0u8..8, 60usize..1500, 0u64..300), 1..200),
    ) {
        // Every worker has a class.
        let worker_of: Vec<u32> = worker_of.into_iter().chain(0..3).collect();
        let mut team = team(&[1; 8], &worker_of, 1000);
        let mut now = Time::ZERO;
        let mut numbers = [[0u16; 8]; 5];
        for &(class, flow, length, pause) in &frames {
            let number = &mut numbers[usize::from(class)][usize::from(flow)];
            // The kernel gives all packets of a flow to one worker.
            team[usize::from(flow) % 3].receiver.frames.push_back(datagram(class, flow, *number, length));
            *number += 1;
            if pause > 100 {
                step(&mut team, now, true);
                now += Duration::from_microseconds(pause);
            } else {
                // One of them is ahead of the others.
                team[pause as usize % 3].poll(now, true);
            }
        }
        for _ in 0..600 {
            step(&mut team, now, true);
            now += Duration::from_microseconds(100);
        }
        // Each has to hear that no other receives any more.
        step(&mut team, now, false);
        let idle = step(&mut team, now, false);
        prop_assert_eq!(idle, [Next::Idle; 3]);
        let mut seen = [[0u16; 8]; 5];
        for worker in &team {
            for &(class, flow, number) in &worker.transmitter.sent {
                let next = &mut seen[usize::from(class)][usize::from(flow)];
                prop_assert_eq!(number, *next, "class {} flow {}", class, flow);
                *next += 1;
                prop_assert_eq!(worker_of[usize::from(class)] as usize, worker.worker.as_ref().unwrap().number());
            }
            prop_assert_eq!(worker.pool.in_use(), 0);
        }
        prop_assert_eq!(seen, numbers);
        let report = finished(team, now);
        prop_assert_eq!(report.counters.check(), Ok(()));
        prop_assert_eq!(report.counters.delivered.packets, frames.len() as u64);
        prop_assert_eq!(report.recorder.classes().iter().map(|class| class.sent.packets).sum::<u64>(), frames.len() as u64);
    }
}
