//! Ingress accounting: a packet that an AQM drops takes the service that it would have taken.

mod aqm;
mod workload;

use aqm::{Event, Events, constant_rate, milliseconds, port, run};
use tidegate_core::aqm::{AqmField, AqmParameters, AqmSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup, RateStep, VaryingRate};
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyAqm, AnyScheduler, AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{Hierarchy, LeafSpec, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate, Time};
use workload::{LONGEST, Wishes, setup};

const FLOWS: u32 = 4;

/// The AQMs that drop packets at their turn.
const KINDS: [AqmKind; 3] = [AqmKind::CoDel, AqmKind::Cobalt, AqmKind::DualPi2];

fn rate() -> Rate {
    Rate::new(100_000_000).unwrap()
}

/// An AQM for the flows, which speaks within milliseconds and drops less than a third.
fn quick(kind: AqmKind, ingress: bool) -> AnyAqm {
    let milliseconds = |field, ms| kind.accepts().contains(&field).then(|| Duration::from_milliseconds(ms));
    let given = AqmParameters {
        target: milliseconds(AqmField::Target, 2),
        interval: milliseconds(AqmField::Interval, 40),
        update_period: milliseconds(AqmField::UpdatePeriod, 4),
        step: milliseconds(AqmField::Step, 1000),
        ingress: Some(ingress),
        ..AqmParameters::default()
    };
    kind.build(&AqmSetup { flows: FLOWS as usize, rate: rate(), longest_frame: LONGEST }, &given).unwrap()
}

/// The four flows, as different as the scheduler allows.
fn wishes() -> [Wishes; FLOWS as usize] {
    let flow = |priority, weight, kilobits| Wishes { priority, weight, kilobits, microseconds: 10_000, ..Wishes::DEFAULT };
    [flow(0, 1, 22_000), flow(0, 3, 26_000), flow(1, 2, 25_000), flow(1, 1, 24_000)]
}

/// The scheduler alone, below a shaped root.
fn in_a_tree(kind: SchedulerKind, is_shaped: bool) -> AnyScheduler {
    if !is_shaped {
        return kind.build(&setup(), &wishes().map(|flow| flow.parameters(kind))).unwrap();
    }
    let shape = |kilobits: u64| Some(ShapingContract::new(Rate::new(kilobits * 1000).unwrap(), 3 * LONGEST, LONGEST));
    let root = NodeSpec { shape: shape(95_000), ..NodeSpec::new(None, SchedulerKind::Fifo, rate(), Default::default()) };
    let node = NodeSpec { shape: shape(90_000), ..NodeSpec::new(Some(0), kind, rate(), Default::default()) };
    let leaf = |(index, flow): (usize, &Wishes)| LeafSpec {
        parent: 1,
        parameters: flow.parameters(kind),
        shape: if index == 1 { shape(40_000) } else { None },
    };
    let leaves: Vec<LeafSpec> = wishes().iter().enumerate().map(leaf).collect();
    AnyScheduler::Hierarchy(Box::new(Hierarchy::build(LONGEST, &[root, node], &leaves).unwrap()))
}

/// What happens at a port whose rate varies, under phases of light and of too much load.
fn events(scheduler: AnyScheduler, aqm: Option<AnyAqm>, seed: u64) -> Events {
    let setup = PortSetup {
        rate: rate(),
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: FLOWS, rules: vec![] }], 0).unwrap(),
        policers: vec![None],
        aqms: vec![aqm],
        seed: 1,
        buffer: BufferKind::LongestQueuePushOut
            .build(&BufferParameters { flows: FLOWS as usize, bytes: Some(300_000), ..BufferParameters::default() })
            .unwrap(),
        scheduler,
        packet_limit: 10_000,
        longest_frame: LONGEST,
        remarks: Remarks::default(),
    };
    let mut port: Port<u32> = Port::new(Time::ZERO, setup);
    let step = |ms, mbps: u64| RateStep { at: Duration::from_milliseconds(ms), rate: Rate::new(mbps * 1_000_000).ok() };
    let steps = vec![step(0, 100), step(70, 60), step(90, 100)];
    port.vary_rate(Time::ZERO, &VaryingRate::new(steps, Some(Duration::from_milliseconds(200))).unwrap());
    let mut random = SplitMix64::new(seed);
    let (mut events, mut now) = (Events::default(), Time::ZERO);
    for payload in 0..8_000 {
        let microseconds = if payload / 1_000 % 2 == 0 { 30 + random.below(60) } else { 100 + random.below(200) };
        now += Duration::from_microseconds(microseconds.into());
        port.advance(now, &mut events, |_| {});
        let (flow, length) = (Flow(random.below(FLOWS)), 200 + random.below(LONGEST - 200));
        port.offer_packet(
            Packet { flow, length, arrival: now, colour: Colour::Green, part: Part::Whole, ecn: Ecn::NotEct, payload },
            &mut events,
        );
        port.check().unwrap();
    }
    port.advance(now + Duration::from_seconds(1), &mut events, |_| {});
    events
}

/// Without the difference between packets that are sent and those that the AQM drops.
fn services(events: &Events) -> (Vec<(Time, Option<DropReason>, u32)>, usize) {
    let mut dropped = 0;
    let services = events.0.iter().filter_map(|event| match *event {
        Event::Sent(at, packet, _) => Some((at, None, packet)),
        Event::Dropped(at, packet, DropReason::Congestion) => {
            dropped += 1;
            Some((at, None, packet))
        }
        Event::Dropped(at, packet, reason) => Some((at, Some(reason), packet)),
        Event::Queued(..) | Event::Marked(..) => None,
    });
    let services = services.collect();
    (services, dropped)
}

#[test]
fn the_service_is_that_of_a_port_without_an_aqm() {
    for &order in SchedulerKind::ALL {
        for (seed, kind) in (0..).zip(KINDS) {
            for is_shaped in [false, true] {
                let (of_all, _) = services(&events(in_a_tree(order, is_shaped), None, seed));
                let (ingress, dropped) = services(&events(in_a_tree(order, is_shaped), Some(quick(kind, true)), seed));
                let differ = of_all.iter().zip(&ingress).position(|(one, other)| one != other);
                assert_eq!(differ.map(|at| (of_all[at], ingress[at])), None, "{}, {}, {is_shaped}", order.name(), kind.name());
                assert_eq!(of_all.len(), ingress.len());
                assert!(dropped > 5, "{}, {}: {dropped} drops are no test", order.name(), kind.name());
                let (egress, _) = services(&events(in_a_tree(order, is_shaped), Some(quick(kind, false)), seed));
                assert_ne!(egress, of_all, "{}, {}", order.name(), kind.name());
            }
        }
    }
}

#[test]
fn drops_come_when_marks_would() {
    let rate = Rate::new(10_000_000).unwrap();
    let build = |given: &AqmParameters| AqmKind::CoDel.build(&AqmSetup { flows: 1, rate, longest_frame: 1514 }, given).unwrap();
    let load = || constant_rate(Duration::from_microseconds(800), 1250);
    let ingress = build(&AqmParameters { ingress: Some(true), ..AqmParameters::default() });
    let dropped = run(&mut port(rate, Some(ingress), 0), load(), Ecn::NotEct, milliseconds(2000)).signals;
    let marking = build(&AqmParameters { mark_limit: Some(Duration::from_seconds(3600)), ..AqmParameters::default() });
    let marked = run(&mut port(rate, Some(marking), 0), load(), Ecn::Ect0, milliseconds(2000)).signals;
    let places = |signals: &[aqm::Signal]| signals.iter().map(|signal| (signal.at, signal.packet, signal.waited)).collect::<Vec<_>>();
    assert_eq!(dropped.len(), 102);
    assert!(dropped.iter().all(|signal| signal.is_drop) && marked.iter().all(|signal| !signal.is_drop));
    assert_eq!(places(&dropped), places(&marked));
}

#[test]
fn of_a_flood_two_thirds_of_the_rate_are_left() {
    let rate = Rate::new(10_000_000).unwrap();
    for kind in KINDS {
        let sent = |ingress| {
            let given = AqmParameters { ingress: Some(ingress), ..AqmParameters::default() };
            let aqm = kind.build(&AqmSetup { flows: 1, rate, longest_frame: 1514 }, &given).unwrap();
            let log = run(
                &mut port(rate, Some(aqm), 1),
                constant_rate(Duration::from_microseconds(400), 1250),
                Ecn::NotEct,
                milliseconds(30_000),
            );
            log.sent.iter().filter(|sent| !sent.0.is_before(milliseconds(20_000))).count()
        };
        // 1000 packets a second; the first 64 KiB of drops are long gone.
        let (ingress, egress) = (sent(true), sent(false));
        assert!((6_666..=6_670).contains(&ingress), "{}: {ingress} of 10,000", kind.name());
        assert!((9_999..=10_001).contains(&egress), "{}: {egress} of 10,000", kind.name());
    }
}

#[test]
fn cobalt_leaves_two_packets_in_each_queue() {
    let rate = Rate::new(1_000_000).unwrap();
    let queues = 20;
    // Two packets of each queue take 480 ms, which the third exceeds; a drop may come 100 ms later, and the last packet of a queue stays.
    let dropped = |ingress, packets: u32| {
        let given = AqmParameters { ingress: Some(ingress), ..AqmParameters::default() };
        let aqm = AqmKind::Cobalt.build(&AqmSetup { flows: queues, rate, longest_frame: 1500 }, &given).unwrap();
        let setup = PortSetup {
            rate,
            overhead: Overhead::None,
            classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: queues as u32, rules: vec![] }], 0).unwrap(),
            policers: vec![None],
            aqms: vec![Some(aqm)],
            seed: 1,
            buffer: BufferKind::TailDrop.build(&BufferParameters { flows: queues, ..BufferParameters::default() }).unwrap(),
            scheduler: SchedulerKind::SparseRoundRobin.build(&setup(), &vec![Default::default(); queues]).unwrap(),
            packet_limit: 10_000,
            longest_frame: 1500,
            remarks: Remarks::default(),
        };
        let mut port: Port<()> = Port::new(Time::ZERO, setup);
        for number in 0..packets * queues as u32 {
            port.offer(Time::ZERO, Flow(number % queues as u32), 1500, Colour::Green, (), &mut ());
        }
        port.advance(milliseconds(10_000), &mut (), |_| {});
        port.counters().dropped[DropReason::Congestion as usize].packets
    };
    assert_eq!((dropped(true, 4), dropped(true, 5) > 0), (0, true));
    assert!(dropped(false, 3) > 0);
}
