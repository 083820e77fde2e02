//! The dumbbell: N senders, one link that all share, N receivers, and the same way back.

use super::{header, link, port, rate};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::tcp::{CongestionKind, RecoveryKind, Tcp, TimerKind, TimerSettings};
use tidegate_sim::{FlowSpec, LinkId, Network, Source};

/// What every link carries, in bit/s: OC-3.
pub const OC_3: u64 = 155_520_000;

/// First in, first out, with a buffer of this many bytes.
pub fn fifo_of_bytes(bits_per_second: u64, bytes: u64) -> PortSetup {
    let mut setup = port(bits_per_second, SchedulerKind::Fifo, &[FlowParameters::default()], (bytes / 40) as u32 + 1);
    let limits = BufferParameters { flows: 1, bytes: Some(bytes), ..BufferParameters::default() };
    setup.buffer = BufferKind::TailDrop.build(&limits).unwrap();
    setup.rate = rate(bits_per_second);
    setup
}

/// Scenario A: links of OC-3 and 5 ms, segments of 1024 bytes that are 1066 on the wire, windows of 600,000 bytes, a buffer of 636,000 bytes,
/// starts within 100 ms, every segment acknowledged at once.
pub fn scenario_a(back: Vec<LinkId>) -> Tcp {
    Tcp {
        congestion: CongestionKind::Reno,
        recovery: RecoveryKind::Sack,
        prr: false,
        segment: 1024,
        headers: 42,
        initial_window: 10,
        window: 600_000,
        delayed_ack: None,
        limited_transmit: true,
        start_within: Duration::from_milliseconds(100),
        timer: TimerSettings { minimum: Duration::from_seconds(1), ..TimerSettings::default_for(TimerKind::Fine) },
        ..Tcp::modern(back)
    }
}

/// A dumbbell with a sender and a receiver per connection, each by `tcp`, which is given the way back.
pub fn dumbbell(connections: usize, bits_per_second: u64, propagation: Duration, buffer: u64, tcp: impl Fn(Vec<LinkId>) -> Tcp) -> Network {
    let (left, right) = (2 * connections, 2 * connections + 1);
    let mut links = Vec::new();
    let mut add = |name: String, from, to| links.push(link(&name, from, to, propagation, fifo_of_bytes(bits_per_second, buffer)));
    add("there".into(), left, right);
    add("back".into(), right, left);
    for index in 0..connections {
        let (sender, receiver) = (2 * index, 2 * index + 1);
        add(format!("out {index}"), sender, left);
        add(format!("in {index}"), right, receiver);
        add(format!("from {index}"), receiver, right);
        add(format!("to {index}"), left, sender);
    }
    let flows = (0..connections).map(|index| {
        let first = 2 + 4 * index;
        let way = |links: [usize; 3]| links.map(LinkId).to_vec();
        FlowSpec {
            name: format!("tcp {index}"),
            source: Source::Tcp(Box::new(tcp(way([first + 2, 1, first + 3])))),
            header: header(0),
            path: way([first, 0, first + 1]),
            start: Duration::ZERO,
            stop: None,
            tagging: None,
            shaping: None,
        }
    });
    let flows = flows.collect();
    Network { nodes: (0..2 * connections + 2).map(|node| node.to_string()).collect(), links, flows, ..Network::default() }
}
