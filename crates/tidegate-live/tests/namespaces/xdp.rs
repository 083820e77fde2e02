//! A bridge through AF_XDP sockets: the same packets pass, in the same shares, and all are counted.

use super::policy;
use super::raw::{RawSocket, ping};
use super::topology::{Bridge, Place, Topology, eventually};
use super::{HOST2, HOST2_V4, between, tagged, through};
use std::net::UdpSocket;
use std::time::Duration;
use tidegate_core::port::Volume;
use tidegate_core::units::Duration as PortDuration;
use tidegate_link::Disturbance;
use tidegate_live::{Checksums, Io, Link, LiveConfig};

fn over(config: LiveConfig) -> LiveConfig {
    through(Io::Xdp, config)
}

/// The sockets of a bridge, which are told and published.
fn mode<O>(bridge: &Bridge<O>) -> String {
    bridge.control.modes().concat()
}

#[test]
fn ping_works_both_ways_through_af_xdp() {
    super::ping_works_both_ways(Io::Xdp);
}

#[test]
fn the_mode_is_told_and_published() {
    let topology = Topology::new();
    let bridge = topology.bridge(over(between(policy::plain(100_000_000))));
    assert_eq!(mode(&bridge), "tgb and tgc: AF_XDP: tgb native, copied by the kernel, 1 queue; tgc native, copied by the kernel, 1 queue");
    let told = bridge.control.modes();
    assert!(bridge.finish().notices.contains(&told[0]));
    // The program and the queues are free again at once.
    let bridge = topology.bridge(over(between(policy::plain(100_000_000))));
    assert!(mode(&bridge).contains("AF_XDP"), "{}", mode(&bridge));
}

#[test]
fn virtual_interfaces_stay_with_packet_sockets_unless_asked() {
    let topology = Topology::new();
    let bridge = topology.bridge(through(Io::Auto, between(policy::plain(100_000_000))));
    assert_eq!(mode(&bridge), "tgb and tgc: packet sockets, because tgb is no network card, and AF_XDP copies its frames twice");
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
}

/// What is told in advance is what a bridge gets.
#[test]
fn the_sockets_of_each_interface_are_known_in_advance() {
    let topology = Topology::new();
    topology.within(Place::Middle, "ip link add tgx type bridge");
    topology.within(Place::Middle, "ip link set tgx up");
    let found = topology.call(Place::Middle, || tidegate_live::examine(&["tgb", "tgc", "tgb:7", "tgx"], 1).sockets);
    let [b, c, vlan, bridge] = &found[..] else { panic!("{found:?}") };
    for (of, name) in [(b, "tgb"), (c, "tgc")] {
        assert_eq!((of.interface.as_str(), of.xdp.as_str()), (name, "AF_XDP: native, copied by the kernel, 1 queue"));
        assert!(of.auto.contains("packet sockets, because") && of.auto.contains("no network card"), "{of:?}");
    }
    assert!(vlan.xdp.starts_with("packet sockets, because tgb:7 is a VLAN") && vlan.auto == vlan.xdp, "{vlan:?}");
    assert_eq!(bridge.xdp, "packet sockets, because its driver has no native XDP");
}

/// Starts a bridge that cannot have AF_XDP, and returns its warning.
fn fallen_back(prepare: &[(Place, &str)], config: LiveConfig) -> String {
    let topology = Topology::new();
    for (place, line) in prepare {
        topology.within(*place, line);
    }
    let bridge = topology.bridge(over(config));
    assert!(mode(&bridge).ends_with(": packet sockets"), "{}", mode(&bridge));
    let notices = bridge.finish().notices;
    notices.into_iter().find(|notice| notice.starts_with("warning: AF_XDP was asked for")).expect("a warning")
}

#[test]
fn a_bridge_falls_back_and_says_why() {
    let setup = policy::plain(100_000_000);
    let vlan = LiveConfig::new("tgb:7", "tgc", setup.clone(), setup.clone());
    assert!(fallen_back(&[], vlan).contains("tgb:7 is a VLAN"));
    let mut split = between(setup.clone());
    split.options.end_system = true;
    assert!(fallen_back(&[], split).contains("an end system has packet sockets"));
    let long = [(Place::Middle, "ip link set tgb mtu 9000"), (Place::Host1, "ip link set tga mtu 9000")];
    assert!(fallen_back(&long, between(setup.clone())).contains("MTU of 9000"));
    let without =
        [(Place::Middle, "ip link del tgc"), (Place::Middle, "ip link add tgc type bridge"), (Place::Middle, "ip link set tgc up")];
    let warning = fallen_back(&without, between(setup));
    assert!(warning.contains("native mode on tgc") && warning.contains("no native XDP"), "{warning}");
}

#[test]
fn a_second_bridge_on_the_same_queues_gets_packet_sockets() {
    let topology = Topology::new();
    let first = topology.bridge(over(between(policy::plain(100_000_000))));
    let mut config = over(between(policy::plain(100_000_000)));
    config.options.force = true;
    let second = topology.bridge(config);
    assert!(mode(&first).contains("AF_XDP") && mode(&second).ends_with("packet sockets"), "{} {}", mode(&first), mode(&second));
    assert!(second.finish().notices.iter().any(|notice| notice.contains("another program holds it")));
}

#[test]
fn tcp_at_200_mbit_through_af_xdp_with_offloads() {
    super::tcp_is_shaped(200_000_000, &[], Checksums::PassOn, (Io::Xdp, false));
}

#[test]
fn tcp_at_200_mbit_through_af_xdp_with_checksums_completed() {
    super::tcp_is_shaped(200_000_000, &[], Checksums::Complete, (Io::Xdp, false));
}

#[test]
fn tcp_at_20_mbit_through_af_xdp_without_offloads() {
    super::tcp_is_shaped(20_000_000, &super::WITHOUT_OFFLOADS, Checksums::PassOn, (Io::Xdp, false));
}

#[test]
fn two_greedy_classes_share_three_to_one_through_af_xdp() {
    super::greedy_classes_share_three_to_one(Io::Xdp, false);
}

#[test]
fn udp_sockets_get_their_datagrams_through_af_xdp() {
    for checksums in [Checksums::PassOn, Checksums::Complete] {
        super::udp_sockets_get_their_datagrams(Io::Xdp, checksums);
    }
}

#[test]
fn an_interface_that_goes_and_comes_back_is_opened_again_through_af_xdp() {
    super::an_interface_goes_and_comes_back(Io::Xdp);
}

#[test]
fn decisions_are_those_of_virtual_time_through_af_xdp() {
    super::decisions_are_those_of_virtual_time(Io::Xdp);
}

/// Frames that come twice and late keep their memory until the kernel has sent both.
#[test]
fn copies_of_a_link_leave_through_af_xdp() {
    const DATAGRAMS: u32 = 3000;
    let topology = Topology::new();
    let disturbance = Disturbance::new(100_000_000, PortDuration::from_milliseconds(2), 500_000_000, 3);
    let link = Link { disturbance, ..Link::default() };
    let config = LiveConfig { links: [link, Link::default()], ..over(between(policy::plain(1_000_000_000))) };
    let bridge = topology.bridge(config);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for number in 0..DATAGRAMS {
            socket.send_to(&number.to_be_bytes(), (HOST2, 7000)).expect("a datagram can be sent");
            if number % 50 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    });
    let there = &bridge.finish().directions[0];
    assert!(there.counters.duplicated.packets > 1000, "{:?}", there.counters);
    assert_eq!((there.counters.dropped().count(), there.counters.in_flight), (0, Volume::default()), "{:?}", there.counters);
}

/// More frames than there are slots pass, of every length, unchanged and in order.
#[test]
fn frames_pass_unchanged_through_af_xdp() {
    const FRAMES: u32 = 20_000;
    let topology = Topology::new();
    let mut config = over(between(policy::plain(2_000_000_000)));
    config.options.ring = 256;
    let bridge = topology.bridge(config);
    let payload = |number: u32| {
        let length = 4 + (number.wrapping_mul(2_654_435_761) >> 8) as usize % 1497;
        let mut payload: Vec<u8> = (0..length).map(|at| (at as u32).wrapping_mul(number | 1) as u8).collect();
        payload[..4].copy_from_slice(&number.to_be_bytes());
        payload
    };
    let receiver = topology.inside(Place::Host2, move || {
        let is_ours = |frame: &super::raw::Seen| frame.bytes[..6] == [2, 0, 0, 0, 0, 9];
        let seen = RawSocket::open("tgd", false).see(FRAMES as usize, Duration::from_secs(20), is_ours);
        let mut wrong = Vec::new();
        for (number, frame) in (0..).zip(&seen) {
            if frame.bytes != tagged(&[], &payload(number)) {
                wrong.push(number);
            }
        }
        (seen.len(), wrong)
    });
    std::thread::sleep(Duration::from_millis(300));
    topology.call(Place::Host1, move || {
        let sender = RawSocket::open("tga", false);
        for number in 0..FRAMES {
            sender.send(&tagged(&[], &payload(number)));
            if number % 32 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let (seen, wrong) = receiver.join().expect("frames were awaited");
    let there = bridge.finish().directions[0].counters;
    assert_eq!((seen, wrong.len()), (FRAMES as usize, 0), "first {:?}; {there:?}", wrong.first());
}

#[test]
fn a_frame_too_long_for_the_outgoing_interface_is_counted_through_af_xdp() {
    let topology = Topology::new();
    topology.within(Place::Host1, "ip link set tga mtu 1600");
    topology.within(Place::Middle, "ip link set tgb mtu 1600");
    let bridge = topology.bridge(over(between(policy::for_frames_of(1550, 100_000_000))));
    topology.call(Place::Host1, || {
        let sender = RawSocket::open("tga", false);
        for payload in [100, 1501, 1500, 1590, 1520] {
            sender.send(&tagged(&[], &vec![0; payload]));
        }
    });
    eventually("the frames", Duration::from_secs(20), || bridge.state()[0].received.packets >= 5);
    let counters = bridge.finish().directions[0].counters;
    assert_eq!(counters.unsent.too_long, Volume { packets: 2, bytes: 1515 + 1534 }, "{counters:?}");
    assert_eq!(counters.port.dropped.iter().map(|volume| volume.packets).sum::<u64>(), 1, "{counters:?}");
}

#[test]
fn all_queues_of_an_interface_are_served() {
    let topology = Topology::of_queues(3);
    let bridge = topology.bridge(over(between(policy::plain(100_000_000))));
    assert!(mode(&bridge).contains("tgb native, copied by the kernel, 3 queues"), "{}", mode(&bridge));
    // Every socket is a flow of its own, which the kernel sends by one of the queues.
    topology.call(Place::Host1, || {
        assert_eq!(ping(HOST2_V4, 1).len(), 1);
        for _ in 0..60 {
            UdpSocket::bind("0.0.0.0:0").expect("a port").send_to(&[1; 100], (HOST2, 7000)).expect("a datagram can be sent");
        }
    });
    eventually("the datagrams", Duration::from_secs(20), || bridge.state()[0].delivered.packets >= 61);
    let counters = bridge.finish().directions[0].counters;
    assert_eq!(counters.dropped().count(), 0, "{counters:?}");
}
