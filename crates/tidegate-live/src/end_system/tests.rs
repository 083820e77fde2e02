//! A direction in three parts with frames in memory; the tests choose the order in which the parts are polled.

use super::*;
use crate::direction::tests::marked::{TrafficClasses, ipv4};
use crate::direction::tests::{Arrivals, Departures, Log, at, direction_options, millisecond, priority_five, setup, tagged_super_frame};
use crate::io::SendError;
use crate::offload::{Offload, PartialChecksum, Segmentation};
use proptest::prelude::*;
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::packet::{Colour, Ecn, Flow, Packet, Part};
use tidegate_core::port::Volume;
use tidegate_core::registry::AqmKind;
use tidegate_core::units::{Duration, Rate};
use tidegate_link::{Link, Loss, LossStream};
use tidegate_wire::segment::SuperFrameKind;

type Tested<O> = Parts<Arrivals, Departures, O>;

fn parts<O>(packets: u32, observer: O) -> Tested<O> {
    parts_along(Link::default(), packets, observer)
}

fn parts_along<O>(link: Link, packets: u32, observer: O) -> Tested<O> {
    let direction_options = DirectionOptions { link, ..direction_options(packets + 40) };
    let departures = Departures { sent: Vec::with_capacity(4096), most: 32, ..Departures::default() };
    open(Time::ZERO, setup(packets), direction_options, Arrivals::default(), departures, [true; 2], observer).unwrap()
}

/// Checks the law by the counters of the intake, which gets a report about every frame.
fn balanced<O: tidegate_core::observer::Observer<crate::Frame>>(parts: &Tested<O>) -> DirectionCounters {
    let counters = parts.intake.counters();
    assert_eq!(counters.check(), Ok(()), "{counters:?}");
    let held = counters.queued.packets + counters.in_flight.packets;
    assert_eq!(u64::from(parts.intake.pool.in_use()), held, "each held packet uses one slot, and no other slot is in use");
    counters
}

proptest! {
    #[test]
    fn every_packet_is_counted_whatever_the_kernel_does_and_whichever_part_is_late(
        steps in prop::collection::vec((0u64..3000, 0usize..6, 0usize..2000, 0u8..8, 0u32..3, any::<[bool; 3]>()), 1..100),
        drain: bool,
        delay in prop::sample::select(vec![0, 100, 5_000, 50_000]),
        billionths in prop::sample::select(vec![0, 200_000_000, 1_000_000_000]),
    ) {
        let link = Link { delay: Duration::from_microseconds(delay), loss: Loss::new(billionths, 1), ..Link::default() };
        let mut parts = parts_along(link, 8, ());
        let mut now = 0;
        for (pause, frames, length, reason, times, turns) in steps {
            now += pause;
            let offload = |n: usize| Offload {
                checksum: (n % 3 == 1).then_some(PartialChecksum { start: 14, offset: 6 }),
                segmentation: match n % 5 {
                    1 => Segmentation::Cut { kind: SuperFrameKind::Tcp, size: 100 },
                    2 => Segmentation::Unknown,
                    _ => Segmentation::None,
                },
            };
            parts.intake.receiver.frames.extend((0..frames).map(|n| (vec![0; length], offload(n))));
            let reason = [SendError::Busy, SendError::Down, SendError::TooLong, SendError::Rejected].get(usize::from(reason));
            if let (Some(&reason), true) = (reason, times > 0) {
                parts.outlet.transmitter.refusals.push_back((reason, times));
            }
            parts.outlet.transmitter.most = 1 + frames;
            if turns[0] {
                parts.intake.poll(at(now), frames != 5);
                balanced(&parts);
            }
            if turns[1] {
                parts.engine.decisions.poll(at(now));
            }
            if turns[2] {
                parts.outlet.poll(at(now));
            }
        }
        parts.outlet.transmitter.refusals.clear();
        for _ in 0..if drain { 100 } else { 0 } {
            now += 1500;
            parts.engine.decisions.poll(at(now));
            parts.outlet.poll(at(now));
            parts.intake.poll(at(now), false);
            balanced(&parts);
        }
        // The content of the rings is what the port has queued, once all reports have been read.
        let Parts { mut intake, mut outlet, .. } = parts;
        intake.close();
        let report = intake.finish(at(now), outlet.queued());
        prop_assert_eq!(report.counters.check(), Ok(()));
        prop_assert!(!drain || (report.counters.queued, report.counters.in_flight) == Default::default());
    }

    /// As long as parts are late by less than the catch-up limit, the decisions are those of a port that was polled at every instant.
    #[test]
    fn late_parts_change_no_decision(steps in prop::collection::vec((0u64..1900, 0usize..4, 60usize..1518), 1..80)) {
        let mut parts = parts(10_000, Log::default());
        parts.engine.decisions.poll(at(0));
        let mut now = 0;
        for (pause, frames, length) in steps {
            now += pause;
            parts.intake.receiver.frames.extend((0..frames).map(|_| (vec![0; length], Offload::default())));
            parts.intake.poll(at(now), true);
            parts.engine.decisions.poll(at(now));
            parts.outlet.poll(at(now));
            balanced(&parts);
        }
        for _ in 0..500 {
            now += 1500;
            parts.engine.decisions.poll(at(now));
            parts.outlet.poll(at(now));
        }
        parts.intake.poll(at(now), false);
        prop_assert_eq!(balanced(&parts).queued.packets, 0);
        let split = &parts.intake.observer;

        let mut port = Port::<u64>::new(Time::ZERO, setup(10_000));
        let mut ideal = Log::default();
        for (number, &(instant, length)) in split.offered.iter().enumerate() {
            port.advance(instant, &mut ideal, |_| ());
            port.offer(instant, Flow(0), length, Colour::Green, number as u64, &mut ideal);
        }
        port.advance(at(now), &mut ideal, |_| ());
        prop_assert_eq!(&split.sent, &ideal.sent);
    }
}

/// An AQM of each moment: packets that wait longer than 3 ms are marked or dropped at their turn, or at their arrival from 5 kB on.
fn managed(aqm: AqmKind, ingress: bool) -> PortSetup {
    let parameters = match aqm {
        AqmKind::CoDel => AqmParameters {
            target: Some(Duration::from_milliseconds(3)),
            interval: Some(Duration::from_milliseconds(9)),
            ingress: Some(ingress),
            ..AqmParameters::default()
        },
        _ => AqmParameters { mark_above: Some(5_000), ..AqmParameters::default() },
    };
    let setup = setup(10_000);
    let aqm = aqm.build(&AqmSetup { flows: 1, rate: setup.rate, longest_frame: setup.longest_frame }, &parameters).unwrap();
    PortSetup { aqms: vec![Some(aqm)], ..setup }
}

proptest! {
    /// With an AQM as well the decisions are those of a port, and packets that can be marked leave with marks.
    #[test]
    fn late_parts_change_no_judgement(
        steps in prop::collection::vec((0u64..1900, 0usize..6, any::<bool>()), 1..80),
        at_arrival: bool,
        ingress: bool,
    ) {
        let aqm = if at_arrival { AqmKind::Step } else { AqmKind::CoDel };
        let departures = TrafficClasses::default();
        let mut parts =
            open(Time::ZERO, managed(aqm, ingress), direction_options(10_040), Arrivals::default(), departures, [true; 2], Log::default()).unwrap();
        parts.engine.decisions.poll(at(0));
        let (mut now, mut code_points) = (0, Vec::new());
        for (pause, frames, can_be_marked) in steps {
            now += pause;
            let ecn = if can_be_marked { 0b10 } else { 0 };
            code_points.extend(vec![ecn; frames]);
            parts.intake.receiver.frames.extend((0..frames).map(|_| ipv4(ecn)));
            parts.intake.poll(at(now), true);
            parts.engine.decisions.poll(at(now));
            parts.outlet.poll(at(now));
            // The port knows of every departure before the next arrival.
            parts.intake.poll(at(now), false);
            let counters = parts.intake.counters();
            prop_assert_eq!(counters.check(), Ok(()));
        }
        for _ in 0..500 {
            now += 1500;
            parts.engine.decisions.poll(at(now));
            parts.outlet.poll(at(now));
        }
        parts.intake.poll(at(now), false);
        let counters = parts.intake.counters();
        prop_assert_eq!((counters.queued.packets, counters.check()), (0, Ok(())));
        let marked = parts.outlet.transmitter.0.iter().filter(|&&ecn| ecn == 0b11).count();
        prop_assert_eq!(counters.port.marked.packets, marked as u64);
        if at_arrival {
            // What has left is known to the intake later than to a port, by what the parts are late.
            return Ok(());
        }

        let mut port = Port::<u64>::new(Time::ZERO, managed(aqm, ingress));
        let (mut ideal, mut left) = (Log::default(), Vec::new());
        for (number, &(arrival, length)) in parts.intake.observer.offered.iter().enumerate() {
            port.advance(arrival, &mut ideal, |sent| left.push(sent.packet.ecn as u8));
            let ecn = Ecn::from_bits(code_points[number]);
            let packet = Packet { flow: Flow(0), length, arrival, colour: Colour::Green, part: Part::Whole, ecn, payload: number as u64 };
            port.offer_packet(packet, &mut ideal);
        }
        port.advance(at(now), &mut ideal, |sent| left.push(sent.packet.ecn as u8));
        prop_assert_eq!(&parts.intake.observer.sent, &ideal.sent);
        prop_assert_eq!((counters.port.dropped, counters.port.marked), (port.counters().dropped, port.counters().marked));
        prop_assert_eq!(&parts.outlet.transmitter.0, &left);
    }
}

/// A packet on the link has left the port, so the buffer has room for another.
#[test]
fn packets_on_the_link_are_not_in_the_ports_buffer_and_are_lost_by_number() {
    let loss = Loss::new(300_000_000, 1);
    let mut parts = parts_along(Link { delay: Duration::from_microseconds(19_500), loss, ..Link::default() }, 2, Log::default());
    parts.engine.decisions.poll(at(0));
    for now in 0..30 {
        if now < 12 {
            parts.intake.receiver.frames.push_back(millisecond(now as u8));
        }
        parts.intake.poll(at(now * 1000), true);
        parts.engine.decisions.poll(at(now * 1000));
        parts.outlet.poll(at(now * 1000));
        parts.intake.poll(at(now * 1000), false);
        let counters = balanced(&parts);
        let (started, arrived) = ((now + 1).min(12), (now + 1).saturating_sub(21).min(12));
        assert_eq!((counters.in_flight.packets, counters.queued.packets), (started - arrived, 0), "at {now}");
    }
    for now in 30..35 {
        parts.outlet.poll(at(now * 1000));
    }
    parts.intake.poll(at(35_000), false);
    let mut losses = LossStream::new(loss.unwrap(), 0);
    let kept: Vec<u8> = (0..12).filter(|_| !losses.loses_next()).collect();
    assert_eq!(parts.outlet.transmitter.sent, kept);
    let counters = balanced(&parts);
    assert_eq!((counters.unsent.lost.packets, counters.port.sent.packets), (12 - kept.len() as u64, 12));
    assert!(kept.len() < 12 && !kept.is_empty());
}

#[test]
fn code_points_are_set_before_frames_enter_their_rings() {
    let departures = Departures { sent: Vec::with_capacity(16), most: 32, ..Departures::default() };
    let mut parts = open(Time::ZERO, priority_five(9), direction_options(13), Arrivals::default(), departures, [true; 2], ()).unwrap();
    parts.engine.decisions.poll(at(0));
    parts.intake.receiver.frames.extend([millisecond(3), tagged_super_frame()]);
    for now in [0, 1000, 1500, 2500, 3500] {
        parts.intake.poll(at(now), true);
        parts.engine.decisions.poll(at(now));
        parts.outlet.poll(at(now));
    }
    assert_eq!(parts.outlet.transmitter.sent, [3, 5 << 5, 5 << 5, 5 << 5]);
    assert_eq!(balanced(&parts).without_fields, 1);
}

#[test]
fn frames_of_a_flow_whose_ring_is_full_are_counted_as_no_memory() {
    let mut setup = setup(200);
    setup.rate = Rate::MIN;
    let direction_options = DirectionOptions { catch_up: Duration::ZERO, ..direction_options(300) };
    let mut parts = open(Time::ZERO, setup, direction_options, Arrivals::default(), Departures::default(), [true; 2], ()).unwrap();
    parts.intake.ring = 64;
    parts.intake.receiver.frames.extend((0..100).map(|_| (vec![0; 100], Offload::default())));
    parts.intake.poll(at(0), true);
    let counters = balanced(&parts);
    assert_eq!(counters.refused.no_memory, Volume { packets: 36, bytes: 3600 });
    assert_eq!((counters.received.packets, counters.port.offered.packets), (100, 64));
}
