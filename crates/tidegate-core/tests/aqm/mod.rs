//! A port of one FIFO class with an AQM, and the loads of the oracles.
#![allow(dead_code, reason = "each test uses a part")]

pub mod slow_port;

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{AnyAqm, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

/// What became of packets, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Events(pub Vec<Event>);

/// What became of a packet, which is named by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Queued(Time, Flow, Ecn),
    Marked(Time, u32),
    Dropped(Time, u32, DropReason),
    Sent(Time, u32, Ecn),
}

/// What an AQM did to a packet, and when: the packet's number, and how long it had waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signal {
    pub at: Time,
    pub packet: u32,
    pub is_drop: bool,
    pub waited: Duration,
}

/// Everything that was seen at a port.
#[derive(Default, Debug)]
pub struct Log {
    pub signals: Vec<Signal>,
    /// The waiting times of packets that were sent, in order, with their numbers.
    pub sent: Vec<(Time, u32, Duration)>,
}

impl Observer<u32> for Log {
    fn congestion_marked(&mut self, at: Time, packet: &Packet<u32>) {
        self.signals.push(Signal { at, packet: packet.payload, is_drop: false, waited: at.since(packet.arrival) });
    }

    fn dropped(&mut self, at: Time, packet: Packet<u32>, reason: DropReason, _: &Occupancy) {
        assert_eq!(reason, DropReason::Congestion, "the buffer has room for all");
        self.signals.push(Signal { at, packet: packet.payload, is_drop: true, waited: at.since(packet.arrival) });
    }

    fn sent(&mut self, at: Time, packet: &Packet<u32>, _: Time, _: &Occupancy) {
        self.sent.push((at, packet.payload, at.since(packet.arrival)));
    }
}

/// A port of one class with one queue, first in, first out.
pub fn port(rate: Rate, aqm: Option<AnyAqm>, seed: u64) -> Port<u32> {
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 0).unwrap(),
        policers: vec![None],
        aqms: vec![aqm],
        seed,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1514), &[FlowParameters::default()]).unwrap(),
        packet_limit: 100_000,
        longest_frame: 1514,
        remarks: Remarks::default(),
    };
    Port::new(Time::ZERO, setup)
}

/// Packets of one length and code point at these instants, through a port until `until`.
pub fn run(port: &mut Port<u32>, arrivals: impl IntoIterator<Item = (Time, u32)>, ecn: Ecn, until: Time) -> Log {
    let mut log = Log::default();
    for (number, (at, length)) in (0..).zip(arrivals) {
        if at.is_after(until) {
            break;
        }
        port.advance(at, &mut log, |_| {});
        let packet = Packet { flow: Flow(0), length, arrival: at, colour: Colour::Green, part: Part::Whole, ecn, payload: number };
        port.offer_packet(packet, &mut log);
    }
    port.advance(until, &mut log, |_| {});
    port.check().unwrap();
    log
}

/// Packets of one length, one every `gap` from 0 on.
pub fn constant_rate(gap: Duration, length: u32) -> impl Iterator<Item = (Time, u32)> {
    (0..).map(move |number| (Time::from_picoseconds(gap.picoseconds() * number), length))
}

/// An instant in milliseconds.
pub const fn milliseconds(ms: u64) -> Time {
    Time::from_picoseconds(ms * 1_000_000_000)
}

/// The whole milliseconds of an instant, rounded.
pub const fn rounded(at: Time) -> u64 {
    (at.picoseconds() + 500_000_000) / 1_000_000_000
}

/// The whole tenths of a millisecond of an instant, rounded.
pub const fn tenths(at: Time) -> u64 {
    (at.picoseconds() + 50_000_000) / 100_000_000
}
