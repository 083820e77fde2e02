//! A port with two classes under strict priority, driven by hand: `cargo run -p tidegate-core --example port`.
//!
//! Six packets arrive at once on a link of 1 Mbit/s: three of a bulk transfer, then three of a call. `tests/examples.rs` holds the output.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Header, Network, Rule, Transport};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Overhead, Rate, Time};

/// Expedited forwarding, the code point of calls.
const EF: u8 = 46;

/// Writes a line for each packet that leaves or is dropped. The payload of a packet is its name.
#[derive(Default)]
struct Journal(String);

impl Observer<&'static str> for Journal {
    fn sent(&mut self, now: Time, packet: &Packet<&'static str>, _finish: Time, _occupancy: &Occupancy) {
        self.0 += &format!("{:>6} us  sent     {}\n", now.picoseconds() / 1_000_000, packet.payload);
    }

    fn dropped(&mut self, now: Time, packet: Packet<&'static str>, reason: DropReason, _occupancy: &Occupancy) {
        self.0 += &format!("{:>6} us  dropped  {} ({reason:?})\n", now.picoseconds() / 1_000_000, packet.payload);
    }
}

/// The classes of the port: a call by its code point, and everything else.
fn classifier() -> Classifier {
    let calls = Rule { dscp: Some(CodePoints::one(EF)), ..Rule::default() };
    let call = ClassRules { name: "call".into(), queues: 1, rules: vec![calls] };
    let bulk = ClassRules { name: "bulk".into(), queues: 1, rules: vec![] };
    Classifier::new(vec![call, bulk], 0).expect("each class can be reached")
}

/// A header of UDP over IPv4 with this code point.
fn header(dscp: u8) -> Header {
    let transport = Transport { dscp, protocol: 17, fragment: false, ports: Some((5004, 5004)), ..Transport::default() };
    Header { network: Network::V4 { source: 1, destination: 2, transport }, ..Header::default() }
}

/// Drives the port and returns what its observer saw.
pub fn run() -> String {
    let rate = Rate::new(1_000_000).expect("1 Mbit/s is within the range of rates");
    // Flow 0 is the call, flow 1 the rest; 0 is the higher priority.
    let priorities = [0, 1].map(|priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() });
    let buffer = BufferParameters { flows: 2, packets: Some(4), ..BufferParameters::default() };
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: classifier(),
        aqms: Vec::new(),
        seed: 0,
        policers: vec![None, None],
        buffer: BufferKind::TailDrop.build(&buffer).expect("the limits are valid"),
        scheduler: SchedulerKind::StrictPriority.build(&Setup::new(rate, 1500), &priorities).expect("each flow has a priority"),
        packet_limit: 16,
        longest_frame: 1500,
        remarks: Default::default(),
    };
    let mut port = Port::new(Time::ZERO, setup);
    let mut journal = Journal::default();

    // Offer: classify each packet and hand it to the port. Bulk 1 finds the link free and starts at once.
    for (name, dscp, length) in
        [("bulk 1", 0, 1500), ("bulk 2", 0, 1500), ("bulk 3", 0, 1500), ("call 1", EF, 200), ("call 2", EF, 200), ("call 3", EF, 200)]
    {
        let flow = port.classifier().classify(&header(dscp));
        port.offer(Time::ZERO, flow, length, Colour::Green, name, &mut journal);
        port.poll(Time::ZERO, &mut journal);
    }
    // Advance: let time pass. The world would transmit the packets that the closure receives.
    port.advance(Time::from_nanoseconds(1_000_000_000), &mut journal, |_transmission| {});

    // Nothing is lost uncounted: offered = sent + dropped + queued.
    port.check().expect("the port balances");
    journal.0
}

#[allow(dead_code, reason = "the test calls `run`")]
fn main() {
    print!("{}", run());
}
