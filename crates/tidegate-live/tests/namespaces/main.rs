//! A bridge between two veth pairs, with real hosts of the kernel's network stack on both sides.
//!
//! These tests need root, `ip`, `iperf3` and `ethtool`, and name what is missing. They use network namespaces of their own.

mod end_system;
mod kernel_tcp;
mod link;
mod policy;
mod raw;
mod super_frames;
mod topology;
mod workers;
mod xdp;

use raw::{RawSocket, ping};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Flow, Packet};
use tidegate_core::port::{Port, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::{Duration as PortDuration, Overhead, Time};
use tidegate_live::{Checksums, Frame, Io, LiveConfig, LiveError, LiveOutcome, PortChange, StageObserver, run};
use tidegate_wire::checksum;
use topology::{Bridge, Place, Topology, eventually};

const HOST2: &str = "10.77.0.2";
const HOST2_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const HOST1_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const HOST2_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2));
const HOST1_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1));

fn between(setup: tidegate_core::port::PortSetup) -> LiveConfig {
    LiveConfig::new("tgb", "tgc", setup.clone(), setup)
}

/// The bridge with these sockets.
fn through(io: Io, mut config: LiveConfig) -> LiveConfig {
    config.options.io = io;
    config
}

/// A bridge that makes up for 20 ms, almost as long as the buffers of its policy last: virtual machines lose their processors for milliseconds.
fn patient(setup: tidegate_core::port::PortSetup) -> LiveConfig {
    let mut config = between(setup);
    config.options.catch_up = PortDuration::from_milliseconds(20);
    config
}

#[test]
fn ping_works_both_ways_over_ipv4_and_ipv6() {
    ping_works_both_ways(Io::Packet);
}

fn ping_works_both_ways(io: Io) {
    let topology = Topology::new();
    let bridge = topology.bridge(through(io, between(policy::plain(100_000_000))));
    for (place, target) in [(Place::Host1, HOST2_V4), (Place::Host2, HOST1_V4), (Place::Host1, HOST2_V6), (Place::Host2, HOST1_V6)] {
        // Address resolution has to pass first.
        let answers = topology.call(place, move || ping(target, 5));
        assert_eq!(answers.len(), 5, "{target} from {place:?}: {answers:?}");
    }
    let outcome = bridge.finish();
    for direction in &outcome.directions {
        assert!(direction.counters.delivered.packets >= 20, "{direction:?}");
        assert_eq!(direction.counters.dropped().count(), 0, "{direction:?}");
        assert_eq!(direction.record.classes()[0].delays.count(), direction.counters.delivered.packets);
    }
}

/// The traffic from a bridge to host 2.
#[derive(Debug)]
struct Carried {
    /// Bits on the wire per second, as host 2's interface counts them.
    rate: f64,
    /// The share of the time that the bridge gave up because it was delayed beyond the catch-up limit.
    given_up: f64,
    /// Bytes that each class of the policy sent.
    classes: Vec<u64>,
}

impl Carried {
    /// Measured over `ticks` ticks of the bridge, one per second.
    fn over<O>(ticks: usize, topology: &Topology, bridge: &Bridge<O>) -> Carried {
        let sample = || {
            let [there, _] = bridge.next_tick();
            let (now, received) = topology.call(Place::Host2, || (Instant::now(), received_by("tgd")));
            (now, received, there, bridge.control.classes(0).expect("the bridge runs"))
        };
        let (start, before, bridge_before, classes_before) = sample();
        (1..ticks).for_each(|_| _ = bridge.next_tick());
        let (end, after, bridge_after, classes_after) = sample();
        let seconds = (end - start).as_secs_f64();
        let packets = after.packets - before.packets;
        let bytes = after.bytes - before.bytes + packets * u64::from(Overhead::ETHERNET.wire_length(1500) - 1500);
        let given_up = bridge_after.forgone.picoseconds() - bridge_before.forgone.picoseconds();
        let classes = classes_after.iter().zip(classes_before).map(|(after, before)| after.sent.bytes - before.sent.bytes);
        Carried { rate: bytes as f64 * 8.0 / seconds, given_up: given_up as f64 / 1e12 / seconds, classes: classes.collect() }
    }

    /// Waits for `ticks` ticks in which the link carries the policy's rate, apart from the time that was given up. Senders may be delayed or
    /// discover late that a link is up again, so the link may be idle for a while. It must never be busier.
    fn at<O>(rate: u64, tolerance: f64, ticks: usize, topology: &Topology, bridge: &Bridge<O>) -> Carried {
        for _ in 0..4 {
            let carried = Carried::over(ticks, topology, bridge);
            let part = carried.rate / rate as f64;
            println!("{:.0} of {rate} bit/s on the wire; given up {:.2} % of the time", carried.rate, carried.given_up * 100.0);
            assert!(part < 1.0 + tolerance, "the policy allows {rate} bit/s: {carried:?}");
            if part > (1.0 - tolerance) * (1.0 - carried.given_up) && carried.given_up < 0.1 {
                return carried;
            }
        }
        panic!("the policy allows {rate} bit/s, and the link carries less all the time")
    }
}

/// The volume that an interface of the calling thread's namespace has received.
fn received_by(interface: &str) -> Volume {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("the interface table");
    let line = table.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':')).expect("the interface");
    let mut numbers = line.split_whitespace().map(|number| number.parse().expect("a number"));
    let bytes = numbers.next().expect("bytes");
    Volume { packets: numbers.next().expect("packets"), bytes }
}

/// Lets TCP fill a policy of this rate, and compares the rate on the wire with it.
fn tcp_is_shaped_to(rate: u64, prepare: &[(Place, &str)], checksums: Checksums) {
    tcp_is_shaped(rate, prepare, checksums, (Io::Packet, false));
}

fn tcp_is_shaped(rate: u64, prepare: &[(Place, &str)], checksums: Checksums, (io, end_system): (Io, bool)) {
    let topology = Topology::new();
    for (place, line) in prepare {
        topology.within(*place, line);
    }
    let mut config = through(io, patient(policy::plain(rate)));
    config.options.checksums = checksums;
    config.options.end_system = end_system;
    let bridge = topology.bridge(config);
    let server = topology.start(Place::Host2, "iperf3 --server --one-off");
    thread::sleep(Duration::from_millis(300));
    let client = topology.start(Place::Host1, &format!("iperf3 --client {HOST2} --time 20 --congestion cubic --parallel 2"));
    thread::sleep(Duration::from_millis(1200));
    Carried::at(rate, 0.02, 3, &topology, &bridge);
    drop((client, server));
    let outcome = bridge.finish();
    let there = &outcome.directions[0];
    println!(
        "super-frames {} of {}; late p99 {:.0} us; {:?}",
        there.counters.super_frames,
        there.counters.frames,
        there.lateness.quantile_seconds(0.99).unwrap_or(0.0) * 1e6,
        outcome.notices,
    );
    // The kernel switches segmentation offload off at the other end of an interface with native XDP.
    let offloaded = prepare.is_empty() && io == Io::Packet;
    assert_eq!(there.counters.super_frames > 100, offloaded, "super-frames come if and only if the hosts offload: {:?}", there.counters);
    assert_eq!(there.counters.refused.total(), Volume::default());
}

const WITHOUT_OFFLOADS: [(Place, &str); 2] = [
    (Place::Host1, "ethtool -K tga tso off gso off gro off tx off tx-udp-segmentation off"),
    (Place::Host2, "ethtool -K tgd tso off gso off gro off tx off tx-udp-segmentation off"),
];

#[test]
fn tcp_at_20_mbit_with_offloads() {
    tcp_is_shaped_to(20_000_000, &[], Checksums::PassOn);
}

#[test]
fn tcp_at_20_mbit_without_offloads() {
    tcp_is_shaped_to(20_000_000, &WITHOUT_OFFLOADS, Checksums::PassOn);
}

#[test]
fn tcp_at_200_mbit_with_offloads() {
    tcp_is_shaped_to(200_000_000, &[], Checksums::Complete);
}

#[test]
fn tcp_at_200_mbit_without_offloads() {
    tcp_is_shaped_to(200_000_000, &WITHOUT_OFFLOADS, Checksums::PassOn);
}

#[test]
fn two_greedy_classes_share_three_to_one() {
    greedy_classes_share_three_to_one(Io::Packet, false);
}

fn greedy_classes_share_three_to_one(io: Io, end_system: bool) {
    for scheduler in ["drr", "wf2q+"] {
        let rate = 100_000_000;
        greedy_classes_share(scheduler, rate, policy::shared(rate, scheduler, 5203, 5201), 3.0, (io, end_system));
    }
}

#[test]
fn contracts_for_twice_the_link_are_kept_in_proportion() {
    let rate = 60_000_000;
    greedy_classes_share("rate-controlled", rate, policy::contracts(rate, 5203, 5201), 2.0, (Io::Packet, false));
}

/// Lets TCP fill two classes of a policy, by the ports 5203 and 5201, and compares their rates with the policy's rate and their ratio.
fn greedy_classes_share(name: &str, rate: u64, policy: tidegate_core::port::PortSetup, expected: f64, (io, end_system): (Io, bool)) {
    let topology = Topology::new();
    let mut config = through(io, patient(policy));
    config.options.end_system = end_system;
    let bridge = topology.bridge(config);
    let _servers = [5203, 5201].map(|port| topology.start(Place::Host2, &format!("iperf3 --server --one-off --port {port}")));
    thread::sleep(Duration::from_millis(300));
    let client =
        |port| topology.start(Place::Host1, &format!("iperf3 --client {HOST2} --port {port} --time 20 --congestion cubic --parallel 2"));
    let clients = [5203, 5201].map(client);
    thread::sleep(Duration::from_millis(1300));
    let carried = Carried::at(rate, 0.02, 3, &topology, &bridge);
    drop(clients);
    bridge.finish();
    let ratio = carried.classes[0] as f64 / carried.classes[1] as f64;
    println!("{name}: {ratio:.3} to 1");
    assert!((ratio / expected - 1.0).abs() < 0.04, "{name}: {ratio:.3} to 1 instead of {expected} to 1");
}

/// An Ethernet frame from host 1 with these VLAN tags and a payload of an experimental type.
fn tagged(tags: &[[u8; 4]], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8];
    frame.extend(tags.concat());
    frame.extend([0x88, 0xb5]);
    frame.extend(payload);
    frame
}

#[test]
fn vlan_tags_arrive_as_they_were() {
    let topology = Topology::new();
    let setup = policy::by_vlan(100_000_000, 0x123);
    let bridge = topology.bridge(between(setup));
    let receiver = topology.inside(Place::Host2, || {
        RawSocket::open("tgd", false).see(4, Duration::from_secs(20), |frame| frame.bytes[..6] == [2, 0, 0, 0, 0, 9])
    });
    thread::sleep(Duration::from_millis(300));
    let frames = [
        tagged(&[[0x81, 0x00, 0x61, 0x23]], &[1; 100]),                           // priority 3
        tagged(&[[0x88, 0xa8, 0x01, 0x23], [0x81, 0x00, 0x00, 0x07]], &[2; 100]), // a provider's tag around a customer's
        tagged(&[[0x81, 0x00, 0x00, 0x05]], &[3; 1500]),                          // another class, as long as can be
        tagged(&[], &[4; 100]),
    ];
    let sent = frames.clone();
    topology.call(Place::Host1, move || {
        let sender = RawSocket::open("tga", false);
        sent.iter().for_each(|frame| sender.send(frame));
    });
    let seen: Vec<Vec<u8>> = receiver.join().expect("frames were awaited").into_iter().map(|frame| frame.bytes).collect();
    assert_eq!(seen, frames);
    let outcome = bridge.finish();
    assert_eq!(outcome.directions[0].record.classes()[0].sent.packets, 2, "rules see the tag");
}

/// A UDP datagram's frame for host 2, with the sum over the pseudo-header in its checksum field.
fn partial_udp(tag: Option<[u8; 4]>, payload: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8];
    frame.extend(tag.iter().flatten());
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((28 + payload as u16).to_be_bytes());
    frame.extend([0, 7, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    let (network, transport) = (frame.len() - 20, frame.len());
    let header = !checksum::sum(&frame[network..]);
    frame[network + 10..network + 12].copy_from_slice(&header.to_be_bytes());
    frame.extend([0x0f, 0xa0, 0x13, 0x88]);
    frame.extend((8 + payload as u16).to_be_bytes());
    let partial = checksum::pseudo_header(&frame[transport - 8..transport], 17, 8 + payload as u32);
    frame.extend(partial.to_be_bytes());
    frame.extend((0..payload).map(|n| (n / 3) as u8));
    frame
}

/// A virtio-net header that asks for a checksum, and for segmentation if `size` is given.
fn virtio(transport: usize, size: Option<u16>) -> Vec<u8> {
    const NEEDS_CHECKSUM: u8 = 1;
    const UDP_SEGMENTS: u8 = 5;
    let mut header = vec![NEEDS_CHECKSUM, size.map_or(0, |_| UDP_SEGMENTS)];
    for field in [(transport + 8) as u16, size.unwrap_or(0), transport as u16, 6] {
        header.extend(field.to_ne_bytes());
    }
    header
}

#[test]
fn every_frame_leaves_as_on_a_wire_and_with_its_checksum() {
    // Completed by the bridge, or by the kernel for an outgoing interface that cannot.
    for (checksums, prepare) in [(Checksums::Complete, None), (Checksums::PassOn, Some("ethtool -K tgc tx off"))] {
        let topology = Topology::new();
        if let Some(line) = prepare {
            topology.within(Place::Middle, line);
        }
        let mut config = between(policy::plain(1_000_000_000));
        config.options.checksums = checksums;
        let bridge = topology.bridge(config);
        let receiver = topology.inside(Place::Host2, || {
            RawSocket::open("tgd", false).see(14, Duration::from_secs(20), |frame| frame.bytes[..6] == [2, 0, 0, 0, 0, 9])
        });
        thread::sleep(Duration::from_millis(300));
        topology.call(Place::Host1, || {
            let sender = RawSocket::open("tga", true);
            let tag = [0x81, 0x00, 0x20, 0x09];
            sender.send(&[virtio(34, None), partial_udp(None, 301)].concat());
            sender.send(&[virtio(38, None), partial_udp(Some(tag), 301)].concat());
            // Super-frames of six datagrams each: the last one is short.
            sender.send(&[virtio(34, Some(1400)), partial_udp(None, 5 * 1400 + 99)].concat());
            sender.send(&[virtio(38, Some(1400)), partial_udp(Some(tag), 5 * 1400 + 99)].concat());
        });
        let seen = receiver.join().expect("frames were awaited");
        let outcome = bridge.finish();
        assert_eq!(seen.len(), 14, "{checksums:?}: {:?}", outcome.directions[0].counters);
        assert_eq!(outcome.directions[0].counters.super_frames, 2, "the veth pair hands super-frames on");
        let payload: Vec<u8> = (0..5 * 1400 + 99).map(|n| (n / 3) as u8).collect();
        let mut carried = [Vec::<u8>::new(), Vec::new()];
        for (number, frame) in seen.iter().enumerate() {
            let bytes = &frame.bytes;
            assert!(!frame.unfinished, "{checksums:?}: frame {number} left without its checksum");
            let is_tagged = bytes[12..16] == [0x81, 0x00, 0x20, 0x09];
            let network = if is_tagged { 18 } else { 14 };
            let transport = network + 20;
            assert_eq!(checksum::sum(&bytes[network..transport]), 0xffff, "{checksums:?}: frame {number}");
            let sum = checksum::pseudo_header(&bytes[network + 12..network + 20], 17, (bytes.len() - transport) as u32);
            assert_eq!(checksum::add(sum, checksum::sum(&bytes[transport..])), 0xffff, "{checksums:?}: frame {number}");
            if number >= 2 {
                assert_eq!(is_tagged, number >= 8);
                carried[usize::from(is_tagged)].extend(&bytes[transport + 8..]);
            }
        }
        assert_eq!(carried, [payload.clone(), payload]);
    }
}

#[test]
fn udp_sockets_with_checksum_and_segmentation_offload_get_their_datagrams() {
    udp_sockets_get_their_datagrams(Io::Packet, Checksums::Complete);
}

fn udp_sockets_get_their_datagrams(io: Io, checksums: Checksums) {
    let topology = Topology::new();
    let mut config = through(io, between(policy::plain(1_000_000_000)));
    config.options.checksums = checksums;
    let bridge = topology.bridge(config);
    let receiver = topology.inside(Place::Host2, || {
        let socket = UdpSocket::bind("0.0.0.0:6000").expect("a port");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
        let mut buffer = [0; 2000];
        let lengths: Vec<usize> = std::iter::from_fn(|| socket.recv(&mut buffer).ok()).take(60).collect();
        let counters = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("the protocol counters");
        (lengths, counters)
    });
    // During address resolution a host delays datagrams, and later ones may overtake them.
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        socket.connect((HOST2, 6000)).expect("a route");
        for n in 0..50 {
            socket.send(&vec![n as u8; 1 + 29 * n]).expect("a datagram can be sent");
        }
        raw::segment_datagrams(&socket, 1000);
        socket.send(&[7; 9_500]).expect("ten datagrams can be sent");
    });
    let (lengths, counters) = receiver.join().expect("datagrams were awaited");
    let mut expected: Vec<usize> = (0..50).map(|n| 1 + 29 * n).collect();
    expected.extend([1000; 9]);
    expected.push(500);
    assert_eq!(lengths, expected);
    let udp: Vec<&str> = counters.lines().filter(|line| line.starts_with("Udp:")).collect();
    let column = udp[0].split(' ').position(|name| name == "InCsumErrors").expect("a counter of wrong checksums");
    assert_eq!(udp[1].split(' ').nth(column), Some("0"), "{counters}");
    assert_eq!(bridge.finish().directions[0].counters.super_frames, u64::from(io == Io::Packet));
}

#[test]
fn an_interface_that_goes_down_and_comes_back_costs_only_the_time_in_between() {
    an_interface_goes_and_comes_back(Io::Packet);
}

fn an_interface_goes_and_comes_back(io: Io) {
    let topology = Topology::new();
    let rate = 50_000_000;
    let bridge = topology.bridge(through(io, patient(policy::plain(rate))));
    let _server = topology.start(Place::Host2, "iperf3 --server --one-off");
    thread::sleep(Duration::from_millis(300));
    let client = topology.start(Place::Host1, &format!("iperf3 --client {HOST2} --time 20 --congestion cubic"));
    thread::sleep(Duration::from_millis(1000));
    for interface in ["tgb", "tgc"] {
        topology.within(Place::Middle, &format!("ip link set {interface} down"));
        thread::sleep(Duration::from_millis(250));
        topology.within(Place::Middle, &format!("ip link set {interface} up"));
        thread::sleep(Duration::from_millis(500));
    }
    Carried::at(rate, 0.03, 2, &topology, &bridge);
    drop(client);

    // Deleted and created again under the same names.
    topology.within(Place::Host1, "ip link del tga");
    thread::sleep(Duration::from_millis(200));
    topology.connect_host1();
    eventually("a ping over the new interface", Duration::from_secs(20), || {
        topology.call(Place::Host1, || ping(HOST2_V4, 1).len()) == 1 && topology.call(Place::Host2, || ping(HOST1_V4, 1).len()) == 1
    });
    let outcome = bridge.finish();
    for direction in &outcome.directions {
        assert_eq!(direction.counters.outages, 3, "{direction:?}");
        assert!(direction.counters.receiving && direction.counters.sending, "{direction:?}");
    }
    assert!(outcome.notices.iter().any(|notice| notice.contains("tgb is down")), "{:?}", outcome.notices);
}

/// Offers 0.7 s of datagrams to a slow policy and stops the bridge shortly afterwards.
fn stopped_with_a_backlog(drain: Duration) -> LiveOutcome {
    let topology = Topology::new();
    let mut config = between(policy::plain(1_000_000));
    config.options.drain = PortDuration::from_nanoseconds(drain.as_nanos() as u64);
    let bridge = topology.bridge(config);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        // 12 ms of link each: 0.7 s in all, for a buffer of half as much.
        for _ in 0..60 {
            socket.send_to(&[1; 1458], (HOST2, 6000)).expect("a datagram can be sent");
        }
        thread::sleep(Duration::from_millis(50));
    });
    bridge.finish()
}

#[test]
fn a_class_that_comes_is_given_more_and_goes_costs_no_packet() {
    let topology = Topology::new();
    let mut config = between(policy::plain(5_000_000));
    let change = |milliseconds, setup| PortChange { after: PortDuration::from_milliseconds(milliseconds), setup };
    config.changes[0] = vec![
        change(600, policy::shared(5_000_000, "drr", 6000, 6002)),
        change(900, policy::shared(8_000_000, "wf2q+", 6000, 6002)),
        change(1200, policy::plain(5_000_000)),
    ];
    let bridge = topology.bridge(config);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    // Five datagrams every 15 ms, 4 Mbit/s, for 1.5 s: most of the time some of them are queued.
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for burst in 0..100 {
            for number in 0..5 {
                socket.send_to(&[burst; 1458], (HOST2, 6000 + number % 2)).expect("a datagram can be sent");
            }
            thread::sleep(Duration::from_millis(15));
        }
    });
    let outcome = bridge.finish();
    let there = &outcome.directions[0];
    assert_eq!(there.changes.len(), 3, "{there:?}");
    assert_eq!(there.counters.dropped().count(), 0, "{there:?}");
    assert!(there.counters.delivered.packets >= 500, "{there:?}");
    let classes = there.record.classes();
    assert!(classes.len() > 1 && classes[1].sent.packets > 30, "{classes:?}");
    println!("{:?}", there.changes);
}

#[test]
fn a_stop_drains_the_queue_or_counts_the_packets_left() {
    let drained = stopped_with_a_backlog(Duration::from_secs(1));
    let counters = &drained.directions[0].counters;
    assert_eq!(counters.queued, Volume::default(), "{counters:?}");
    assert!(counters.delivered.packets >= 30, "{counters:?}");
    assert!(counters.port.dropped[DropReason::FlowLimit as usize].packets > 0, "{counters:?}");
    // Thirty frames of 12 ms.
    assert!(drained.elapsed > Duration::from_millis(300), "{drained:?}");

    let cut_off = stopped_with_a_backlog(Duration::from_millis(100));
    let counters = &cut_off.directions[0].counters;
    assert!(counters.queued.packets >= 10, "{counters:?}");
    assert!(counters.delivered.packets >= 5, "{counters:?}");
}

#[test]
fn too_long_frames_are_counted_where_they_are_dropped() {
    let topology = Topology::new();
    for (place, interface) in [(Place::Host1, "tga"), (Place::Middle, "tgb")] {
        topology.within(place, &format!("ip link set {interface} mtu 9000"));
    }
    let mut config = between(policy::for_frames_of(5000, 100_000_000));
    // Fewer slots than frames, so that the ring wraps.
    config.options.ring = 16;
    let bridge = topology.bridge(config);
    topology.call(Place::Host1, || {
        let sender = RawSocket::open("tga", false);
        for payload in [100, 4000, 1500, 6000, 1501, 100] {
            sender.send(&tagged(&[], &vec![0; payload]));
        }
    });
    thread::sleep(Duration::from_millis(200));
    let outcome = bridge.finish();
    let counters = &outcome.directions[0].counters;
    assert_eq!(counters.port.dropped[DropReason::Oversize as usize], Volume { packets: 1, bytes: 6014 }, "{counters:?}");
    assert_eq!(counters.unsent.too_long, Volume { packets: 2, bytes: 4014 + 1515 }, "{counters:?}");
    assert!(counters.delivered.packets >= 3, "{counters:?}");
    assert!(
        outcome.notices.iter().any(|notice| notice.contains("MTU of 9000") && notice.contains("ip link set tgc mtu 9000")),
        "{outcome:?}"
    );
    assert!(outcome.notices.iter().any(|notice| notice.contains("longest_frame to at least 9018")), "{outcome:?}");
}

/// Records when packets were offered, and when they were sent or dropped.
#[derive(Default)]
struct Log {
    offered: Vec<(Time, Flow, u32)>,
    left: Vec<(u64, Time, Option<DropReason>)>,
}

impl Observer<Frame> for Log {
    fn offered(&mut self, now: Time, packet: &Packet<Frame>) {
        self.offered.push((now, packet.flow, packet.length));
    }
    fn dropped(&mut self, now: Time, packet: Packet<Frame>, reason: DropReason, _occupancy: &Occupancy) {
        self.left.push((packet.payload.number(), now, Some(reason)));
    }
    fn sent(&mut self, now: Time, packet: &Packet<Frame>, _finish: Time, _occupancy: &Occupancy) {
        self.left.push((packet.payload.number(), now, None));
    }
}

impl StageObserver for Log {}

impl Observer<u64> for Log {
    fn dropped(&mut self, now: Time, packet: Packet<u64>, reason: DropReason, _occupancy: &Occupancy) {
        self.left.push((packet.payload, now, Some(reason)));
    }
    fn sent(&mut self, now: Time, packet: &Packet<u64>, _finish: Time, _occupancy: &Occupancy) {
        self.left.push((packet.payload, now, None));
    }
}

#[test]
fn the_same_arrivals_lead_to_the_same_decisions_as_in_virtual_time() {
    decisions_are_those_of_virtual_time(Io::Packet);
}

fn decisions_are_those_of_virtual_time(io: Io) {
    let topology = Topology::new();
    let setup = policy::shared(2_000_000, "drr", 6001, 6002);
    let mut config = through(io, between(setup.clone()));
    // Virtual time gives up no link time.
    config.options.catch_up = PortDuration::from_seconds(1);
    let bridge = topology.bridge_observed(config, [Log::default(), Log::default()]);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for n in 0..400_usize {
            let port = if n % 5 < 2 { 6001 } else { 6002 };
            socket.send_to(&vec![1; n * 37 % 1400], (HOST2, port)).expect("a datagram can be sent");
            // Bursts that overflow the queues, and pauses in which they empty.
            thread::sleep(Duration::from_micros(if n % 100 == 0 { 100_000 } else { 200 }));
        }
    });
    let (_, [live, _]) = bridge.finish_observed();
    let mut port = Port::<u64>::new(Time::ZERO, setup);
    let mut again = Log::default();
    for (number, &(now, flow, length)) in live.offered.iter().enumerate() {
        port.advance(now, &mut again, |_| ());
        port.offer(now, flow, length, Colour::Green, number as u64, &mut again);
    }
    if let Some((last, ..)) = live.offered.last() {
        port.advance(*last + PortDuration::from_seconds(10), &mut again, |_| ());
    }
    assert!(live.left.len() >= 400 && live.left.iter().any(|(_, _, reason)| reason.is_some()), "{} packets", live.left.len());
    assert_eq!(live.left, again.left);
}

#[test]
fn errors_name_what_is_missing() {
    let topology = Topology::new();
    let refused = |a: &'static str, b: &'static str, prepare: fn()| {
        topology.call(Place::Middle, move || {
            prepare();
            let setup = policy::plain(1_000_000);
            let config = LiveConfig::new(a, b, setup.clone(), setup);
            run(config, &AtomicBool::new(false), |_| panic!("a bridge between {a} and {b} runs")).expect_err("no bridge")
        })
    };
    let error = refused("tgb", "tgx", || ());
    assert!(matches!(&error, LiveError::UnknownInterface { known, .. } if known.contains(&"tgc".to_owned())), "{error}");
    assert_eq!(error.exit_code(), 2);
    assert!(matches!(refused("tgb", "tgb", || ()), LiveError::SameInterface { .. }));
    assert!(matches!(refused("lo", "tgb", || ()), LiveError::NotEthernet { .. }));
    let error = refused("tgb", "tgc", raw::drop_rights);
    assert!(matches!(error, LiveError::NotPermitted { .. }) && error.to_string().contains("setcap"), "{error}");
    assert_eq!(error.exit_code(), 3);
}
