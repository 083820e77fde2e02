//! One core, three worlds: the same packets at the same instants are decided alike on live interfaces, in a replay and in a simulation.
//!
//! Real packets pass a live bridge between network namespaces, where an observer records arrivals and decisions. The same arrivals are then
//! replayed from a capture and simulated. Every decision must be the same: drops with their reasons, colours, departures to the picosecond,
//! and code points.
//!
//! Needs root, as the tests of `tidegate-live` do.

#[path = "../../../tidegate-live/tests/namespaces/topology.rs"]
#[allow(dead_code)]
mod topology;

#[path = "../../../tidegate-live/tests/namespaces/raw.rs"]
#[allow(dead_code)]
mod raw;

use etherparse::PacketBuilder;
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::Duration as Sleep;
use tidegate_core::classifier::{Header, Network as Layer};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Packet};
use tidegate_core::port::{PortSetup, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration, Time};
use tidegate_link::{Disturbance, Link as LinkBehind, Loss};
use tidegate_live::{Frame, Io, LiveConfig, StageObserver};
use tidegate_replay::{CaptureReader, CaptureWriter, Interface, Outputs, replay};
use tidegate_sim::source::Capture;
use tidegate_sim::{CapturePacket, Control, Experiment, FlowSpec, Impairment, Link, Network, NodeId, Source};
use tidegate_wire::{LinkType, checksum, parse};
use topology::{Place, Topology};

/// A port with policing (marks and drops), push-out from a small buffer, shaping, and two levels of scheduling.
const MIXED: &str = r#"
[policy.mixed]
rate = "4 Mbit/s"
overhead = "ethernet"
scheduler = "strict-priority"
buffer = { manager = "longest-queue-push-out", limit = "12 kB" }

[[policy.mixed.group]]
name = "shared"
scheduler = "drr"
priority = 1

[[policy.mixed.class]]
name = "urgent"
match = [{ destination_port = 6001 }]
priority = 0
police = { policer = "sr-tcm", rate = "600 kbit/s", burst = "2 kB", excess_burst = "3 kB", violation = "discard" }
set = { dscp = "ef" }

[[policy.mixed.class]]
name = "shaped"
match = [{ destination_port = 6002 }]
parent = "shared"
weight = 3
shape = { rate = "1 Mbit/s", burst = "4 kB", bucket = "dual" }

[[policy.mixed.class]]
name = "marked"
match = [{ destination_port = 6003 }]
parent = "shared"
weight = 2
police = { policer = "tr-tcm-2698", rate = "500 kbit/s", burst = "2 kB", peak_rate = "1 Mbit/s", peak_burst = "3 kB", violation = "red" }
set = { dscp = "af21", yellow = { dscp = "af22" }, red = { dscp = "af23" } }

[[policy.mixed.class]]
name = "rest"
parent = "shared"
"#;

/// All services of the window-constrained scheduler, late packets dropped and sent, slots counted in bytes.
const WINDOWS: &str = r#"
[policy.windows]
rate = "4 Mbit/s"
overhead = "ethernet"
scheduler = "dwcs"
buffer = { manager = "longest-queue-push-out", limit = "12 kB" }

[[policy.windows.class]]
name = "urgent"
match = [{ destination_port = 6001 }]
service = "static-priority"

[[policy.windows.class]]
name = "windowed"
match = [{ destination_port = 6002 }]
service = "window 1 of 4"
period = "10 ms"
late = "drop"

[[policy.windows.class]]
name = "deadline"
match = [{ destination_port = 6003 }]
service = "edf"
period = "4 slots"

[[policy.windows.class]]
name = "rest"
"#;

/// The outcome of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// It left; its last bit this long after its arrival.
    Sent(Duration),
    Dropped(DropReason),
}

/// The arrival of a packet, and the decision about it.
#[derive(Clone, Debug)]
struct Decided {
    arrival: Time,
    flow: u32,
    length: u32,
    marked: Option<Colour>,
    fate: Option<Fate>,
}

/// Notes arrivals and decisions of one direction of the bridge.
#[derive(Default)]
struct Notes(Vec<Decided>);

impl Observer<Frame> for Notes {
    fn offered(&mut self, now: Time, packet: &Packet<Frame>) {
        assert_eq!(packet.payload.number(), self.0.len() as u64);
        let Packet { flow, length, .. } = *packet;
        self.0.push(Decided { arrival: now, flow: flow.0, length, marked: None, fate: None });
    }

    fn marked(&mut self, _now: Time, packet: &Packet<Frame>, _from: Colour) {
        self.0[packet.payload.number() as usize].marked = Some(packet.colour);
    }

    fn dropped(&mut self, _now: Time, packet: Packet<Frame>, reason: DropReason, _occupancy: &Occupancy) {
        self.0[packet.payload.number() as usize].fate = Some(Fate::Dropped(reason));
    }

    fn sent(&mut self, _now: Time, packet: &Packet<Frame>, finish: Time, _occupancy: &Occupancy) {
        self.0[packet.payload.number() as usize].fate = Some(Fate::Sent(finish.since(packet.arrival)));
    }
}

impl StageObserver for Notes {}

fn setup(policy: &str) -> PortSetup {
    let scenario = tidegate_scenario::parse_str("worlds.toml", policy).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.policy(None).unwrap().setup()
}

/// The link behind the port, live and in the replay, which affects no decision of the port.
fn link() -> LinkBehind {
    let disturbance = Disturbance::new(100_000_000, Duration::from_milliseconds(4), 100_000_000, 11);
    LinkBehind { delay: Duration::from_milliseconds(3), loss: Loss::new(200_000_000, 11), disturbance, ..LinkBehind::default() }
}

/// A UDP packet at the end of the link: its destination port, the frame's length, its code point.
type Arrived = (u16, u32, u8);

/// A frame at the end of the link, if a rule of either policy can match it.
fn arrived(frame: &[u8], length: u32) -> Option<Arrived> {
    let Layer::V4 { transport, .. } = parse(LinkType::Ethernet, frame).network else { return None };
    let (_, port) = transport.ports?;
    assert_eq!(checksum::sum(&frame[14..34]), 0xffff, "the checksum of an IPv4 header");
    (6001..6001 + REST as u16).contains(&port).then_some((port, length, transport.dscp))
}

/// Sends UDP packets of all classes through a live bridge. Returns the decisions of its port, the losses of its link, and the packets that
/// arrived.
fn live(policy: &str, io: Io, end_system: bool) -> (Vec<Decided>, Volume, Vec<Arrived>) {
    let topology = Topology::new();
    let mut config = LiveConfig::new("tgb", "tgc", setup(policy), setup(policy));
    // No link time is given up, so the decisions depend on the arrivals alone.
    config.options.catch_up = Duration::from_seconds(10);
    config.options.drain = Duration::from_seconds(10);
    config.links[0] = link();
    config.options.end_system = end_system;
    config.options.io = io;
    let end = topology.call(Place::Host2, || raw::RawSocket::open("tgd", false));
    let bridge = topology.bridge_observed(config, [Notes::default(), Notes::default()]);
    assert_eq!(bridge.control.modes().concat().contains("AF_XDP"), io == Io::Xdp);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
        let mut state = 7u32;
        for burst in 0..120 {
            // Every sixth burst exceeds buffer and policers, even if this thread is slow.
            for _ in 0..if burst % 6 == 5 { 40 } else { burst % 9 } {
                // A fixed sequence; the constants are those of a common linear congruential generator.
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let port = 6001 + (state >> 30) as u16;
                let length = 20 + (state >> 8) as usize % 1380;
                socket.send_to(&vec![0; length], ("10.77.0.2", port)).unwrap();
            }
            std::thread::sleep(Sleep::from_millis(u64::from(state >> 20) % 12));
        }
    });
    let (outcome, [notes, _]) = bridge.finish_observed();
    let counters = outcome.directions[0].counters;
    assert_eq!(counters.forgone, Duration::ZERO, "the machine was stopped for seconds; nothing can be compared");
    let seen = end.see(usize::MAX, Sleep::from_secs(1), |_| true);
    let seen = seen.iter().filter_map(|frame| arrived(&frame.bytes, frame.bytes.len() as u32)).collect();
    (notes.0, counters.unsent.lost, seen)
}

/// The class of packets that match no rule, such as address resolution.
const REST: u32 = 3;

/// A short frame that both policies put into `flow`; with one queue per class, flows are classes.
fn frame_of(flow: u32) -> Vec<u8> {
    let mut frame = Vec::new();
    if flow == REST {
        // An Ethernet type for experiments.
        return [&[2; 6][..], &[4; 6], &[0x88, 0xb5]].concat();
    }
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(5000, 6001 + flow as u16);
    builder.write(&mut frame, &[]).unwrap();
    frame
}

fn header_of(flow: u32) -> Header {
    parse(LinkType::Ethernet, &frame_of(flow))
}

/// The instant in nanoseconds, as in a capture. The live clock counts whole nanoseconds.
fn nanoseconds(time: Time) -> i64 {
    assert_eq!(time.picoseconds() % 1000, 0);
    (time.picoseconds() / 1000).cast_signed()
}

/// A kind of decision that has to occur: its name and its test.
type Wanted<'a> = (&'a str, fn(&Decided) -> bool);

/// Carries packets live through packet sockets and through AF_XDP, and compares.
fn compare(policy: &str, wanted: &[Wanted]) {
    [Io::Packet, Io::Xdp].into_iter().for_each(|io| compare_through(io, policy, wanted));
}

/// As [`compare`], through these sockets. Every kind of decision in `wanted` has to occur.
fn compare_through(io: Io, policy: &str, wanted: &[Wanted]) {
    let (decided, lost, seen) = live(policy, io, false);
    assert!(lost.packets > 20, "{lost:?}");
    assert!(decided.len() > 300, "{} packets", decided.len());
    for (what, happened) in wanted {
        let count = decided.iter().filter(|packet| happened(packet)).count();
        assert!(count > 5, "only {count} packets were {what}");
    }
    assert!(seen.len() > 100, "{} packets came through", seen.len());
    compare_replay(policy, &decided, lost, &seen);
    compare_simulation(policy, &decided);
}

fn was_sent(packet: &Decided) -> bool {
    matches!(packet.fate, Some(Fate::Sent(_)))
}

// One test, because there is one set of namespaces.
#[test]
fn live_replay_and_simulation_decide_alike() {
    compare(
        MIXED,
        &[
            ("sent", was_sent),
            ("policed", |packet| packet.fate == Some(Fate::Dropped(DropReason::Policed))),
            ("pushed out", |packet| packet.fate == Some(Fate::Dropped(DropReason::PushedOut))),
            ("yellow", |packet| packet.marked == Some(Colour::Yellow)),
            ("red", |packet| packet.marked == Some(Colour::Red)),
        ],
    );
    // With three threads per direction code points are written elsewhere; arrivals differ, so the policy alone says what is right.
    let (decided, _, seen) = live(&MIXED.replace("longest-queue-push-out", "tail-drop"), Io::Packet, true);
    let code_points: BTreeSet<(u16, u8)> = seen.iter().map(|&(port, _, dscp)| (port, dscp)).collect();
    let (ef, af21, af22, af23) = (46, 18, 20, 22);
    assert!(decided.len() > 300);
    assert_eq!(code_points, BTreeSet::from([(6001, ef), (6002, 0), (6003, af21), (6003, af22), (6003, af23)]));
    compare(
        WINDOWS,
        &[
            ("sent", was_sent),
            ("late", |packet| packet.fate == Some(Fate::Dropped(DropReason::Late))),
            ("pushed out", |packet| packet.fate == Some(Fate::Dropped(DropReason::PushedOut))),
        ],
    );
}

fn compare_replay(policy: &str, decided: &[Decided], lost: Volume, seen: &[Arrived]) {
    let interfaces = [Interface { name: None, link_type: 1, link: LinkType::Ethernet }];
    let mut file = CaptureWriter::new(Vec::new(), "arrivals").unwrap();
    for (number, packet) in decided.iter().enumerate() {
        // The packet's number travels behind its headers, so that it can be told in the results.
        let mut bytes = frame_of(packet.flow);
        bytes.extend_from_slice(&(number as u32).to_be_bytes());
        file.write(&interfaces, 0, nanoseconds(packet.arrival), packet.length, &bytes, None).unwrap();
    }
    let capture = file.finish().unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "").unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
    let mut reader = CaptureReader::new(&capture[..]).unwrap();
    let replayed =
        replay(setup(policy), &LinkBehind::default(), &mut reader, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();

    let mut reached = vec![None; decided.len()];
    for (file, left) in [(sent.finish().unwrap(), true), (dropped.finish().unwrap(), false)] {
        let mut records = CaptureReader::new(&file[..]).unwrap();
        while let Some(record) = records.next_record().unwrap() {
            let number = u32::from_be_bytes(record.data[record.data.len() - 4..].try_into().unwrap()) as usize;
            reached[number] = Some((left, record.nanoseconds));
        }
    }
    for (number, packet) in decided.iter().enumerate() {
        let expected = match packet.fate {
            // A capture rounds the last bit to the nearest nanosecond.
            Some(Fate::Sent(delay)) => (true, nanoseconds(packet.arrival) + ((delay.picoseconds() + 500) / 1000).cast_signed()),
            Some(Fate::Dropped(_)) => (false, reached[number].map_or(0, |(_, at)| at)),
            None => panic!("packet {number} was neither sent nor dropped: {packet:?}"),
        };
        assert_eq!(reached[number], Some(expected), "packet {number}: {packet:?}");
    }
    // The link loses the same packets: of as many bytes.
    let mut reader = CaptureReader::new(&capture[..]).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "").unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
    assert_eq!(
        replay(setup(policy), &link(), &mut reader, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap().lost,
        lost
    );
    // The others leave with the same code points, in the same order.
    let sent = sent.finish().unwrap();
    let mut records = CaptureReader::new(&sent[..]).unwrap();
    let records = std::iter::from_fn(|| records.next_record().unwrap());
    let replayed_as: Vec<Arrived> = records.filter_map(|record| arrived(&record.data, record.length)).collect();
    assert_eq!(replayed_as, seen);
    for &reason in DropReason::ALL {
        let live = decided.iter().filter(|packet| packet.fate == Some(Fate::Dropped(reason))).count();
        assert_eq!(replayed.counters.dropped[reason as usize].packets, live as u64, "{reason}");
    }
    let marked: u64 = replayed.recorder.classes().iter().map(|class| class.marked.packets).sum();
    assert_eq!(marked, decided.iter().filter(|packet| packet.marked.is_some()).count() as u64);
}

fn compare_simulation(policy: &str, decided: &[Decided]) {
    // Every packet is a flow of its own, so that its delay or the reason of its loss can be read from the outcome.
    // The simulation's clock begins anew. It keeps the last bits of the live one, so that both reach the ticks of timing wheels alike.
    let first = decided[0].arrival;
    let start = first - Duration::from_picoseconds(first.picoseconds() % (1 << 32));
    let flow = |(number, packet): (usize, &Decided)| {
        let header = header_of(packet.flow);
        let packet = CapturePacket { offset: packet.arrival.since(start), length: packet.length, header };
        FlowSpec {
            name: format!("packet {number}"),
            source: Source::Capture(Capture { packets: vec![packet].into() }),
            header,
            path: vec![tidegate_sim::LinkId(0)],
            start: Duration::ZERO,
            stop: None,
            tagging: None,
            shaping: None,
        }
    };
    let network = Network {
        nodes: vec!["from".into(), "to".into()],
        links: vec![Link {
            name: "link".into(),
            from: NodeId(0),
            to: NodeId(1),
            propagation: Duration::ZERO,
            port: setup(policy),
            impairment: Impairment::default(),
            cells: false,
            adapter: None,
            admission: None,
            workers: None,
        }],
        flows: decided.iter().enumerate().map(flow).collect(),
        ..Network::default()
    };
    let last = decided.last().map_or(Duration::ZERO, |packet| packet.arrival.since(start));
    let experiment = Experiment { duration: last + Duration::from_seconds(10), ..Experiment::default() };
    let outcome = tidegate_sim::run(&network, &experiment, &Control::default()).unwrap();
    for (number, (packet, simulated)) in decided.iter().zip(&outcome.flows).enumerate() {
        match packet.fate {
            Some(Fate::Sent(delay)) => {
                let measured =
                    simulated.delay.as_ref().unwrap_or_else(|| panic!("packet {number} was lost: {packet:?} {:?}", simulated.drops));
                let picoseconds = (measured.mean_s.mean * 1e12).round() as u64;
                assert_eq!(picoseconds, delay.picoseconds(), "packet {number}: {packet:?}");
            }
            Some(Fate::Dropped(reason)) => {
                assert_eq!(simulated.drops.first().map(|drop| drop.1), Some(reason), "packet {number}: {packet:?}");
            }
            None => panic!("packet {number} was neither sent nor dropped"),
        }
    }
    let marked: u64 = outcome.ports[0].classes.iter().map(|class| class.marked.packets).sum();
    assert_eq!(marked, decided.iter().filter(|packet| packet.marked.is_some()).count() as u64);
}
