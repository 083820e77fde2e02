//! Calls by budgets of delay: whatever they send of what they declare, and however they come and go, no packet waits longer than promised.

#[path = "../../tidegate-sim/tests/networks/mod.rs"]
mod networks;

use networks::{flow, link, parameters, port, rate};
use std::sync::Arc;
use tidegate_bounds::admission::{Budgets, ClassSettings, Discipline, PortSettings};
use tidegate_bounds::curve::Service as Curve;
use tidegate_bounds::service::{Child, Node, row};
use tidegate_core::admission::{Service, Target, TrafficSpec};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Duration;
use tidegate_sim::source::{FrameTrace, Greedy};
use tidegate_sim::{Arrivals, Broker, BrokeredPath, BrokeredQueue, Calls, Control, Experiment, Network, Source, run};

const RATE: u64 = 10_000_000;
/// Bits.
const LONGEST: u64 = 12_000;
const MS: i128 = 1_000_000_000;
/// The budgets of both classes, in ms.
const BUDGETS: [i128; 2] = [20, 40];
/// The guaranteed rates where there are some, best effort last.
const SHARES: [u64; 3] = [5_000_000, 4_000_000, 1_000_000];

/// A call's packets, all at once and again after the interval in ms.
fn frames(packets: u32, interval: u64) -> Source {
    let interval = Duration::from_milliseconds(interval);
    Source::FrameTrace(FrameTrace { frames: Arc::new([1500 * packets]), interval, packet_length: 1500, random_start: false })
}

fn discipline(kind: SchedulerKind) -> Discipline {
    match kind {
        SchedulerKind::Fifo | SchedulerKind::StrictPriority => Discipline::StrictPriority,
        SchedulerKind::EarliestDeadlineFirst => Discipline::Deadline([5, 25].map(|ms| ms * MS).to_vec()),
        _ => {
            let child = |rate| Child { rate, quantum: LONGEST, ..Child::new(LONGEST) };
            let node = Node::new(kind, RATE, SHARES.map(child).to_vec());
            Discipline::Isolated((0..2).map(|class| row(&node, &Curve::link(RATE), class).strict.unwrap()).collect())
        }
    }
}

/// Three links in a row, on which calls of two classes come and go, beside best effort that leaves no gap where the scheduler keeps it apart.
fn network(kind: SchedulerKind) -> Network {
    let (classes, greedy) = match kind {
        SchedulerKind::Fifo => (1, false),
        SchedulerKind::EarliestDeadlineFirst => (2, false),
        _ => (3, true),
    };
    let given: Vec<_> = (0..classes).map(|class| parameters(kind, class as u32, SHARES[class])).collect();
    let admitted = classes.min(2);
    let delays = |class: usize| match discipline(kind) {
        Discipline::Isolated(_) => vec![class],
        _ => (0..admitted).collect(),
    };
    let mut network = Network { nodes: (0..4).map(|node| node.to_string()).collect(), ..Network::default() };
    let (mut ports, mut queues) = (Vec::new(), Vec::new());
    for hop in 0..3 {
        let name = format!("link {hop}");
        network.links.push(link(&name, hop, hop + 1, Duration::from_milliseconds(1), port(RATE, kind, &given, 10_000)));
        queues.extend((0..admitted).map(|class| BrokeredQueue { link: tidegate_sim::LinkId(hop), class, delays: delays(class) }));
        ports.push(PortSettings {
            rate: RATE,
            longest: LONGEST,
            discipline: discipline(kind),
            classes: BUDGETS[..admitted].iter().map(|ms| ClassSettings { budget: ms * MS, buffer: 0 }).collect(),
            buffers: vec![1 << 40],
            latency: MS,
        });
        if greedy {
            let source = Source::Greedy(Greedy { length: 1500, window: 5 });
            network.flows.push(flow(&format!("best effort {hop}"), source, 9, &[hop]));
        }
    }
    network.broker = Some(Broker { control: Arc::new(Budgets::new(ports)), queues });
    let kinds: [(usize, &[usize], u32, u64); 6] =
        [(0, &[0, 1, 2], 1, 20), (0, &[1], 3, 40), (0, &[1, 2], 2, 9), (1, &[0, 1, 2], 6, 100), (1, &[2], 3, 15), (1, &[0, 1], 1, 4)];
    for (number, (class, path, packets, interval)) in kinds.into_iter().enumerate().filter(|(_, kind)| kind.0 < admitted) {
        let first = network.flows.len();
        network.flows.extend((0..8).map(|call| flow(&format!("call {number}.{call}"), frames(packets, interval), class as u8, path)));
        let burst = u64::from(packets) * LONGEST;
        let (sustained, class) = (rate(burst * 1000 / interval), class as u32);
        let queue = |class: u32| path.iter().map(|&hop| hop as u32 * admitted as u32 + class).collect::<Vec<_>>();
        network.calls.push(Calls {
            name: format!("calls {number}"),
            flows: (first..first + 8).collect(),
            arrivals: Arrivals::Poisson(Duration::from_milliseconds(150)),
            hold: Duration::from_milliseconds(300),
            traffic: TrafficSpec::new(LONGEST, burst, sustained, rate(RATE)).unwrap().with_shortest_packet(LONGEST).unwrap(),
            target: Some(Target::Delay(Duration::from_seconds(1))),
            service: Service::Guaranteed,
            tolerance: None,
            enforces_reserve: false,
            brokered: Some(BrokeredPath {
                queues: queue(class),
                alternatives: if admitted == 2 { vec![("the other class".into(), queue(1 - class))] } else { Vec::new() },
            }),
        });
    }
    network
}

fn picoseconds(seconds: f64) -> i128 {
    (seconds * 1e12).round() as i128
}

#[test]
fn measured_delays_stay_below_budgets_and_promises() {
    use SchedulerKind::{DeficitRoundRobin, EarliestDeadlineFirst, Fifo, SelfClocked, StrictPriority, WeightedRoundRobin, Wf2qPlus};
    for kind in [Fifo, StrictPriority, EarliestDeadlineFirst, Wf2qPlus, SelfClocked, DeficitRoundRobin, WeightedRoundRobin] {
        let network = network(kind);
        let (mut admitted, mut refused, mut closest) = (0, 0, 0.0f64);
        for seed in 1..=3 {
            let experiment = Experiment { duration: Duration::from_seconds(60), seed, ..Experiment::default() };
            let outcome = run(&network, &experiment, &Control::default()).unwrap();
            for port in &outcome.ports {
                assert_eq!(port.dropped.iter().map(|dropped| dropped.packets).sum::<u64>(), 0);
                for (class, budget) in port.classes.iter().zip(BUDGETS).take(if kind == Fifo { 1 } else { 2 }) {
                    let longest = class.delays.maximum().map_or(0, picoseconds);
                    assert!(longest <= budget * MS, "{kind:?}, seed {seed}: {longest} ps with a budget of {budget} ms");
                    closest = closest.max(longest as f64 / (budget * MS) as f64);
                }
            }
            for calls in &outcome.calls {
                admitted += calls.admitted;
                refused += calls.refused.iter().map(|refused| refused.requests).sum::<u64>();
                let Some((longest, promised)) = calls.longest_delay_s.map(picoseconds).zip(calls.promised_delay) else {
                    assert_eq!(calls.admitted, 0);
                    continue;
                };
                assert!(longest <= promised.picoseconds().into(), "{kind:?}, {}: {longest:?} and {promised:?}", calls.name);
            }
        }
        println!("{kind:?}: {admitted} admitted, {refused} refused, closest to a budget {closest:.2}");
        assert!(admitted > 500 && refused > 100 && closest > 0.3);
    }
}

/// A call sends its burst and leaves at once; the next one comes while the burst waits. What the first declared counts until the burst has left.
#[test]
fn a_burst_counts_until_it_has_left() {
    let kind = SchedulerKind::Fifo;
    let mut network = Network { nodes: vec!["0".into(), "1".into()], ..Network::default() };
    network.links.push(link("link", 0, 1, Duration::from_milliseconds(1), port(RATE, kind, &[parameters(kind, 0, RATE)], 10_000)));
    // Ten packets take 12 ms.
    network.flows.extend((0..8).map(|call| flow(&format!("call {call}"), frames(10, 100), 0, &[0])));
    let settings = PortSettings {
        rate: RATE,
        longest: LONGEST,
        discipline: Discipline::StrictPriority,
        classes: vec![ClassSettings { budget: 20 * MS, buffer: 0 }],
        buffers: vec![1 << 40],
        latency: MS,
    };
    let queues = vec![BrokeredQueue { link: tidegate_sim::LinkId(0), class: 0, delays: vec![0] }];
    network.broker = Some(Broker { control: Arc::new(Budgets::new(vec![settings])), queues });
    network.calls.push(Calls {
        name: "calls".into(),
        flows: (0..8).collect(),
        arrivals: Arrivals::AfterLast(Duration::from_milliseconds(2)),
        hold: Duration::from_milliseconds(1),
        traffic: TrafficSpec::new(LONGEST, 10 * LONGEST, rate(1_200_000), rate(RATE)).unwrap().with_shortest_packet(LONGEST).unwrap(),
        target: Some(Target::Delay(Duration::from_seconds(1))),
        service: Service::Guaranteed,
        tolerance: None,
        enforces_reserve: false,
        brokered: Some(BrokeredPath { queues: vec![0], alternatives: Vec::new() }),
    });
    let experiment = Experiment { duration: Duration::from_seconds(20), ..Experiment::default() };
    let outcome = run(&network, &experiment, &Control::default()).unwrap();
    let longest = picoseconds(outcome.ports[0].classes[0].delays.maximum().unwrap());
    assert!(outcome.calls[0].admitted > 500, "{} calls", outcome.calls[0].admitted);
    assert!((12 * MS..=20 * MS).contains(&longest), "{longest} ps with a budget of 20 ms");
}
