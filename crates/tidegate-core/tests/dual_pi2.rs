//! Oracles of DualPI2, through a port with its coupled scheduler: what unresponsive senders lose, and how long the others wait.

mod aqm;

use aqm::milliseconds;
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const LONGEST: u32 = 1514;

/// 10 Mbit/s; queue 0 is classic, queue 1 low latency.
fn port() -> Port<()> {
    let rate = Rate::new(10_000_000).unwrap();
    let aqm = AqmKind::DualPi2.build(&AqmSetup { flows: 2, rate, longest_frame: LONGEST }, &AqmParameters::default()).unwrap();
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 2, rules: vec![] }], 0).unwrap(),
        policers: vec![None],
        aqms: vec![Some(aqm)],
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 2, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::DualQueue.build(&Setup::new(rate, LONGEST), &[FlowParameters::default(); 2]).unwrap(),
        packet_limit: 100_000,
        longest_frame: LONGEST,
        remarks: Remarks::default(),
    };
    Port::new(Time::ZERO, setup)
}

/// What happened to the packets of one queue in the second half of the run.
#[derive(Clone, Default)]
struct Side {
    sent: u64,
    marked: u64,
    dropped: u64,
    /// The waiting times of all of them.
    waits: Vec<u64>,
}

impl Side {
    /// A part of its packets, in units of 0.01 %.
    fn part(&self, number: u64) -> u64 {
        let all = self.waits.len() as u64;
        (number * 10_000 + all / 2) / all
    }

    /// The wait that this many hundredths do not exceed, in units of 10 us.
    fn wait(&mut self, hundredths: usize) -> u64 {
        self.waits.sort_unstable();
        (self.waits[self.waits.len() * hundredths / 100] + 5_000_000) / 10_000_000
    }
}

#[derive(Default)]
struct Log([Side; 2]);

impl Log {
    fn of(&mut self, at: Time, flow: Flow) -> Option<&mut Side> {
        at.is_after(milliseconds(10_000)).then(|| &mut self.0[flow.index()])
    }
}

impl Observer<()> for Log {
    fn congestion_marked(&mut self, at: Time, packet: &Packet<()>) {
        if let Some(side) = self.of(at, packet.flow) {
            side.marked += 1;
        }
    }

    fn dropped(&mut self, at: Time, packet: Packet<()>, reason: DropReason, _: &Occupancy) {
        assert_eq!(reason, DropReason::Congestion);
        if let Some(side) = self.of(at, packet.flow) {
            side.dropped += 1;
            side.waits.push(at.since(packet.arrival).picoseconds());
        }
    }

    fn sent(&mut self, at: Time, packet: &Packet<()>, _: Time, _: &Occupancy) {
        if let Some(side) = self.of(at, packet.flow) {
            side.sent += 1;
            side.waits.push(at.since(packet.arrival).picoseconds());
        }
    }
}

/// Packets of 1250 bytes this many microseconds apart, for 20 s, classic ones that cannot be marked and low-latency ones; 0 for none.
fn run(gaps: [u64; 2]) -> [Side; 2] {
    let mut arrivals = Vec::new();
    for (flow, gap) in [0, 1].into_iter().zip(gaps) {
        let first = Time::from_picoseconds(u64::from(flow));
        let all = (0..20_000_000u64.checked_div(gap).unwrap_or(0)).map(|number| first + Duration::from_microseconds(gap * number));
        arrivals.extend(all.map(|at| (at, Flow(flow))));
    }
    arrivals.sort_by_key(|arrival| arrival.0.picoseconds());
    let (mut port, mut log) = (port(), Log::default());
    for (at, flow) in arrivals {
        port.advance(at, &mut log, |_| {});
        let ecn = [Ecn::NotEct, Ecn::Ect1][flow.index()];
        let (colour, part) = (Colour::Green, Part::Whole);
        port.offer_packet(Packet { flow, length: 1250, arrival: at, colour, part, ecn, payload: () }, &mut log);
    }
    port.advance(milliseconds(20_000), &mut log, |_| {});
    port.check().unwrap();
    log.0
}

#[test]
fn a_classic_flood_is_held_at_the_target() {
    let [mut classic, _] = run([800, 0]);
    assert_eq!((classic.sent, classic.part(classic.dropped), classic.marked), (10_000, 2_000, 0));
    assert_eq!((classic.wait(50), classic.wait(99)), (1_480, 1_520));
}

#[test]
fn a_low_latency_flood_is_dropped_in_overload() {
    let [_, mut low] = run([0, 800]);
    assert_eq!((low.sent, low.part(low.marked), low.part(low.dropped)), (10_000, 8_001, 1_999));
    assert_eq!((low.wait(50), low.wait(99)), (1_480, 1_700));
}

#[test]
fn two_floods_lose_alike_and_only_one_waits() {
    let [mut classic, mut low] = run([1250, 1250]);
    assert_eq!((classic.sent, low.sent), (5_000, 5_000));
    assert_eq!((classic.part(classic.dropped), low.part(low.dropped), low.part(low.marked)), (3_750, 3_750, 6_250));
    assert_eq!((classic.wait(50), classic.wait(99), low.wait(50), low.wait(99)), (1_500, 1_650, 75, 200));
}

#[test]
fn a_low_latency_flood_does_not_starve_classic_traffic() {
    let [mut classic, mut low] = run([5000, 800]);
    assert_eq!((classic.sent, low.sent), (1_404, 8_596));
    assert_eq!((classic.part(classic.dropped), low.part(low.dropped), low.part(low.marked)), (2_976, 3_124, 6_829));
    assert_eq!((classic.wait(50), classic.wait(99), low.wait(50), low.wait(99)), (1_700, 2_400, 120, 240));
}
