//! Tests of [`super`].

use super::*;
use crate::statistics::port::PortStatistics;
use proptest::prelude::*;
use tidegate_core::buffer::{BufferParameters, FlowLimit};
use tidegate_core::classifier::{ClassRules, Classifier, Rule};
use tidegate_core::port::Port;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::Rate;

/// Classes of one and of two queues at 8 Gbit/s, a nanosecond per byte.
fn setup(overhead: Overhead, packet_limit: u32, bytes: Option<u64>, flow: FlowLimit) -> PortSetup {
    let rate = Rate::new(8_000_000_000).unwrap();
    let class = |name: &str, queues, rules| ClassRules { name: name.into(), queues, rules };
    let classes = vec![class("one", 1, vec![Rule { vlan: Some(1), ..Rule::default() }]), class("two", 2, vec![])];
    let buffer = BufferParameters { flows: 3, bytes, flow, ..BufferParameters::default() };
    PortSetup {
        rate,
        overhead,
        classifier: Classifier::new(classes, 1).unwrap(),
        policers: vec![None, None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1000), &[FlowParameters::default(); 3]).unwrap(),
        packet_limit,
        longest_frame: 90,
        remarks: Default::default(),
    }
}

/// What was transmitted from when to when, and the statistics.
type Played = (Vec<(u64, u64)>, PortStatistics);

/// The warm-up ends before the packet of this number; the end comes `rest` after the last packet.
struct Course<'a> {
    packets: &'a [(u64, u32, u32)],
    warm_up: usize,
    rest: u64,
}

/// The sample interval in picoseconds.
const SAMPLES: u64 = 100_000;

fn on_a_port(setup: PortSetup, course: &Course) -> Played {
    let mut meter = PortMeter::new(&setup.classifier, setup.classifier.classes().len(), SAMPLES);
    let mut port = Port::new(Time::ZERO, setup);
    let (mut now, mut times) = (0, Vec::new());
    let queued = |port: &Port<()>| Volume { packets: u64::from(port.occupancy().packets()), bytes: port.occupancy().bytes() };
    for (number, &(gap, flow, length)) in course.packets.iter().enumerate() {
        let mut note = |sent: tidegate_core::port::Transmission<()>| times.push((sent.start.picoseconds(), sent.finish.picoseconds()));
        now += gap;
        if number == course.warm_up && now > 0 {
            port.advance(Time::from_picoseconds(now - 1), &mut meter, &mut note);
            meter.restart(now, port.counters(), queued(&port));
        }
        let at = Time::from_picoseconds(now);
        port.advance(at, &mut meter, &mut note);
        port.offer(at, Flow(flow), length, Colour::Green, (), &mut meter);
        port.advance(at, &mut meter, &mut note);
    }
    let end = now + course.rest;
    port.advance(Time::from_picoseconds(end - 1), &mut meter, |sent| {
        times.push((sent.start.picoseconds(), sent.finish.picoseconds()));
    });
    (times, meter.finish(end, port.counters(), queued(&port)))
}

fn on_a_fifo_port(setup: &PortSetup, course: &Course) -> Played {
    let mut meter = PortMeter::new(&setup.classifier, setup.classifier.classes().len(), SAMPLES);
    let mut port = FifoPort::of(setup).unwrap();
    let (mut now, mut times) = (0, Vec::new());
    for (number, &(gap, flow, length)) in course.packets.iter().enumerate() {
        now += gap;
        if number == course.warm_up && now > 0 {
            port.advance(now - 1, &mut meter);
            let (counters, queued) = port.accounts();
            meter.restart(now, &counters, queued);
        }
        times.extend(port.enqueue(now, Flow(flow), length, Colour::Green, &mut meter));
    }
    let end = now + course.rest;
    port.advance(end - 1, &mut meter);
    let (counters, queued) = port.accounts();
    counters.check(queued).unwrap();
    (times.into_iter().filter(|time| time.0 < end).collect(), meter.finish(end, &counters, queued))
}

proptest! {
    #[test]
    fn it_does_what_a_port_does(
        // Gaps of none, of exactly a packet's time, and others; often the same queue and length as before.
        packets in prop::collection::vec(
            (
                prop_oneof![Just(0), Just(50_000), Just(53_000), 1u64..40_000, 100_000u64..300_000],
                prop_oneof![2 => Just(0), 1 => 0u32..3],
                prop_oneof![4 => Just(50u32), 1 => 1u32..100],
            ),
            1..200,
        ),
        overhead in prop_oneof![Just(Overhead::None), Just(Overhead::per_packet(3)), Just(Overhead::ETHERNET), Just(Overhead::Aal5)],
        packet_limit in 1u32..9,
        bytes in prop::option::of(40u64..300),
        flow_packets in prop::option::of(1u32..4),
        warm_up in 0usize..100,
        rest in 1u64..400_000,
    ) {
        let setup = setup(overhead, packet_limit, bytes, FlowLimit { packets: flow_packets, bytes: None });
        let course = Course { packets: &packets, warm_up, rest };
        prop_assert_eq!(on_a_fifo_port(&setup, &course), on_a_port(setup.clone(), &course));
    }
}

#[test]
fn push_out_priorities_and_policing_make_no_fifo_port() {
    let plain = setup(Overhead::None, 9, None, FlowLimit::default());
    assert!(FifoPort::of(&plain).is_some());
    let limits = BufferParameters { flows: 3, packets: Some(9), ..BufferParameters::default() };
    let buffer = BufferKind::LongestQueuePushOut.build(&limits).unwrap();
    assert!(FifoPort::of(&PortSetup { buffer, ..plain.clone() }).is_none());
    let priority = [FlowParameters { priority: Some(0), ..FlowParameters::default() }; 3];
    let scheduler = SchedulerKind::StrictPriority.build(&Setup::new(plain.rate, 1000), &priority).unwrap();
    assert!(FifoPort::of(&PortSetup { scheduler, ..plain.clone() }).is_none());
}
