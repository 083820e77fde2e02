//! Oracles of FQ-CoDel, through a port: CoDel on every queue, sparse round robin among them, and a buffer that pushes out of the fattest.

mod aqm;

use aqm::milliseconds;
use std::collections::BTreeMap;
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const LONGEST: u32 = 1514;

fn port(rate: u64, queues: u32, limit: u32, batch: u32, aqm: &AqmParameters) -> Port<u32> {
    let rate = Rate::new(rate).unwrap();
    let flows = queues as usize;
    let buffer = BufferParameters { flows, packets: Some(limit), bytes: Some(32 << 20), batch: Some(batch), ..BufferParameters::default() };
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues, rules: vec![] }], 0).unwrap(),
        policers: vec![None],
        aqms: vec![Some(AqmKind::CoDel.build(&AqmSetup { flows, rate, longest_frame: LONGEST }, aqm).unwrap())],
        seed: 0,
        buffer: BufferKind::FattestFlow.build(&buffer).unwrap(),
        scheduler: SchedulerKind::SparseRoundRobin.build(&Setup::new(rate, LONGEST), &vec![FlowParameters::default(); flows]).unwrap(),
        packet_limit: limit,
        longest_frame: LONGEST,
        remarks: Remarks::default(),
    };
    Port::new(Time::ZERO, setup)
}

/// What became of the packets of each flow.
#[derive(Default)]
struct Log {
    sent: BTreeMap<u32, Vec<Duration>>,
    /// The packets that were dropped: number, flow and reason.
    dropped: Vec<(u32, u32, DropReason)>,
}

impl Observer<u32> for Log {
    fn dropped(&mut self, _: Time, packet: Packet<u32>, reason: DropReason, _: &Occupancy) {
        self.dropped.push((packet.payload, packet.flow.0, reason));
    }

    fn sent(&mut self, at: Time, packet: &Packet<u32>, _: Time, _: &Occupancy) {
        self.sent.entry(packet.flow.0).or_default().push(at.since(packet.arrival));
    }
}

impl Log {
    fn drops_of(&self, flow: u32) -> usize {
        self.dropped.iter().filter(|drop| drop.1 == flow).count()
    }
}

fn offer(port: &mut Port<u32>, log: &mut Log, number: u32, (at, flow, length): (Time, u32, u32)) {
    let (colour, part, ecn) = (Colour::Green, Part::Whole, Ecn::NotEct);
    port.offer_packet(Packet { flow: Flow(flow), length, arrival: at, colour, part, ecn, payload: number }, log);
}

/// Packets at these instants, of these flows and lengths, and whatever follows in the ten seconds after.
fn run(port: &mut Port<u32>, mut arrivals: Vec<(Time, u32, u32)>) -> Log {
    arrivals.sort_by_key(|arrival| arrival.0.picoseconds());
    let mut log = Log::default();
    for (number, &arrival) in (0..).zip(&arrivals) {
        port.advance(arrival.0, &mut log, |_| {});
        offer(port, &mut log, number, arrival);
    }
    if let Some(last) = arrivals.last() {
        port.advance(last.0 + Duration::from_seconds(10), &mut log, |_| {});
    }
    port.check().unwrap();
    log
}

/// Instants every `gap` from `first` on.
fn every(gap: Duration, first: Time, until: Time) -> impl Iterator<Item = Time> {
    (0..).map(move |number| first + Duration::from_picoseconds(gap.picoseconds() * number)).take_while(move |at| at.is_before(until))
}

#[test]
fn half_of_the_fattest_flow_is_pushed_out() {
    let mut port = port(10_000_000, 4, 10, 64, &AqmParameters::default());
    let mut log = Log::default();
    let flow_of = |number| [0, 1, 2][usize::from(number >= 8) + usize::from(number >= 10)];
    (0..11).for_each(|number| offer(&mut port, &mut log, number, (Time::ZERO, flow_of(number), 1000)));
    assert_eq!(log.dropped, [0, 1, 2, 3].map(|number| (number, 0, DropReason::PushedOut)));
    assert_eq!([0, 1, 2].map(|flow| port.occupancy().flow_packets(Flow(flow))), [4, 2, 1]);
}

#[test]
fn a_batch_of_one_pushes_out_one() {
    let mut port = port(10_000_000, 4, 4, 1, &AqmParameters::default());
    let mut log = Log::default();
    (0..6).for_each(|number| offer(&mut port, &mut log, number, (Time::ZERO, 0, 1000)));
    assert_eq!(log.dropped, [0, 1].map(|number| (number, 0, DropReason::PushedOut)));
}

#[test]
fn a_sparse_flow_waits_for_one_packet_beside_a_flood() {
    let mut port = port(10_000_000, 4, 10_240, 64, &AqmParameters { ecn: Some(false), ..AqmParameters::default() });
    let flood = every(Duration::from_picoseconds(833_333_333), Time::ZERO, milliseconds(4000)).map(|at| (at, 0, 1250));
    let sparse = every(Duration::from_milliseconds(20), milliseconds(7), milliseconds(4000)).map(|at| (at, 1, 64));
    let log = run(&mut port, flood.chain(sparse).collect());
    assert_eq!((log.sent[&0].len(), log.sent[&1].len(), log.drops_of(0), log.drops_of(1)), (4328, 200, 473, 0));
    let worst = |flow| (log.sent[&flow].iter().map(|wait| wait.picoseconds()).max().unwrap() + 500_000) / 1_000_000;
    assert_eq!([worst(0), worst(1)], [339_573, 1_000], "microseconds");
    assert!(log.dropped.iter().all(|drop| drop.2 == DropReason::Congestion));
}

#[test]
fn lone_packets_are_never_dropped() {
    let (target, interval) = (Some(Duration::from_milliseconds(5)), Some(Duration::from_milliseconds(100)));
    let mut port = port(1_000_000, 2, 10_240, 64, &AqmParameters { target, interval, ecn: Some(false), ..AqmParameters::default() });
    let until = milliseconds(60_000);
    let mut arrivals: Vec<_> = every(Duration::from_milliseconds(10), Time::ZERO, until).map(|at| (at, 0, 1500)).collect();
    let (mut draws, mut at, mut lone) = (SplitMix64::new(1), Time::ZERO, 0);
    while at.is_before(until) {
        let drawn = (u128::from(draws.draw()) * 20_000_000_000) >> 32;
        at += Duration::from_picoseconds(20_000_000_000 + drawn as u64);
        arrivals.push((at, 1, 100));
        lone += 1;
    }
    let log = run(&mut port, arrivals);
    assert_eq!((lone, log.sent[&1].len(), log.drops_of(1)), (2016, 2016, 0));
    assert!(log.drops_of(0) > 500);
}
