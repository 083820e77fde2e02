//! A bridge whose links delay and lose packets: round trips take both delays, the seed decides losses, and the kernel's TCP fills the link.

use super::kernel_tcp::{self, FLOWS, RATE};
use super::policy;
use super::topology::{Place, Topology};
use super::{HOST2, HOST2_V4, between};
use crate::raw::ping;
use std::net::UdpSocket;
use std::time::Duration;
use tidegate_core::units::Duration as PortDuration;
use tidegate_link::{Disturbance, LossStream};
use tidegate_live::{Link, LiveConfig, Loss};

fn delay(milliseconds: u64) -> Link {
    Link { delay: PortDuration::from_milliseconds(milliseconds), ..Link::default() }
}

/// Never less than both delays together, and less than 20 ms more.
fn a_round_trip_takes_both_delays(end_system: bool) {
    let topology = Topology::new();
    let mut config = LiveConfig { links: [delay(10), delay(23)], ..between(policy::plain(100_000_000)) };
    config.options.end_system = end_system;
    let bridge = topology.bridge(config);
    let answers = topology.call(Place::Host1, || ping(HOST2_V4, 10));
    let outcome = bridge.finish();
    assert_eq!(answers.len(), 10, "{answers:?}");
    let (least, both) = (answers.iter().min().copied().expect("answers"), Duration::from_millis(33));
    for direction in &outcome.directions {
        let late = |part| direction.lateness.quantile_seconds(part).unwrap_or(0.0) * 1e6;
        println!("{}: packets late by {:.0} us (median), {:.0} us (p99); round trip {least:?}", direction.from, late(0.5), late(0.99));
        assert_eq!(direction.counters.dropped().count(), 0, "{direction:?}");
        assert_eq!(direction.counters.in_flight.packets, 0, "the link is emptied before the end: {direction:?}");
        assert_eq!(direction.record.classes()[0].delays.count(), direction.counters.delivered.packets);
    }
    assert!(least >= both && least < both + Duration::from_millis(20), "{answers:?}");
}

#[test]
fn a_round_trip_takes_the_delays_of_both_links() {
    a_round_trip_takes_both_delays(false);
}

#[test]
fn a_round_trip_takes_the_delays_of_both_links_through_an_end_system() {
    a_round_trip_takes_both_delays(true);
}

/// Compares the datagrams lost on a link by the bridge's counters, by the receiver, and by the seed.
fn losses_are_those_of_the_seed(end_system: bool) {
    const DATAGRAMS: u32 = 4000;
    let topology = Topology::new();
    let loss = Loss::new(50_000_000, 7).expect("a probability");
    let mut config = LiveConfig { links: [Link { loss: Some(loss), ..delay(5) }, delay(5)], ..between(policy::plain(100_000_000)) };
    config.options.end_system = end_system;
    let bridge = topology.bridge(config);
    let receiver = topology.inside(Place::Host2, || {
        let socket = UdpSocket::bind(("0.0.0.0", 6000)).expect("a port");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
        let mut buffer = [0; 2000];
        let next = || socket.recv(&mut buffer).ok().map(|_| u32::from_be_bytes(buffer[..4].try_into().expect("a number")));
        std::iter::from_fn(next).collect::<Vec<u32>>()
    });
    std::thread::sleep(Duration::from_millis(200));
    topology.call(Place::Host1, || {
        // Echoes and address resolution may be lost, so they are repeated.
        while ping(HOST2_V4, 1).is_empty() {}
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for number in 0..DATAGRAMS {
            let mut datagram = [0; 100];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            socket.send_to(&datagram, (HOST2, 6000)).expect("a datagram can be sent");
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    let arrived = receiver.join().expect("datagrams were awaited");
    let outcome = bridge.finish();
    let [there, back] = &outcome.directions;
    assert!(arrived.windows(2).all(|pair| pair[0] < pair[1]), "in order");
    let counters = &there.counters;
    let reasons: Vec<&str> = counters.dropped().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["lost-on-link"], "{counters:?}");
    assert_eq!(back.counters.dropped().count(), 0, "{back:?}");
    // By number, because other packets of the hosts were carried and lost as well.
    let mut losses = LossStream::new(loss, 0);
    let expected = (0..counters.port.sent.packets).filter(|_| losses.loses_next()).count() as u64;
    assert_eq!(counters.unsent.lost.packets, expected);
    let missing = u64::from(DATAGRAMS) - arrived.len() as u64;
    println!("{missing} of {DATAGRAMS} datagrams lost, {expected} of {} packets", counters.port.sent.packets);
    assert!(missing <= expected && missing + 40 >= expected, "{missing} datagrams are missing, {expected} packets were lost");
}

#[test]
fn a_link_loses_the_packets_of_its_seed() {
    losses_are_those_of_the_seed(false);
}

#[test]
fn a_link_loses_the_packets_of_its_seed_through_an_end_system() {
    losses_are_those_of_the_seed(true);
}

/// Every packet comes twice, and some are overtaken.
fn packets_come_late_and_twice(end_system: bool) {
    // Those of this test wait in the buffer of a socket until all have come.
    const DATAGRAMS: u32 = 80;
    let topology = Topology::new();
    let disturbance = Disturbance::new(300_000_000, PortDuration::from_milliseconds(8), 1_000_000_000, 7);
    let mut config = LiveConfig { links: [Link { disturbance, ..delay(5) }, delay(5)], ..between(policy::plain(100_000_000)) };
    config.options.end_system = end_system;
    let bridge = topology.bridge(config);
    let socket = topology.call(Place::Host2, || UdpSocket::bind(("0.0.0.0", 6000)).expect("a port"));
    topology.call(Place::Host1, || {
        while ping(HOST2_V4, 1).is_empty() {}
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for number in 0..DATAGRAMS {
            socket.send_to(&number.to_be_bytes(), (HOST2, 6000)).expect("a datagram can be sent");
            std::thread::sleep(Duration::from_micros(500));
        }
    });
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let mut buffer = [0; 4];
    let next = || socket.recv(&mut buffer).ok().map(|_| u32::from_be_bytes(buffer));
    let arrived: Vec<u32> = std::iter::from_fn(next).collect();
    let outcome = bridge.finish();
    let counters = &outcome.directions[0].counters;
    assert_eq!(counters.duplicated, counters.port.sent, "{counters:?}");
    assert_eq!(counters.delivered.packets, 2 * counters.port.sent.packets, "{counters:?}");
    assert!(counters.late.packets > counters.port.sent.packets / 10, "{counters:?}");
    let overtaken = arrived.windows(2).filter(|pair| pair[0] > pair[1]).count();
    println!("{overtaken} times a datagram came behind a later one; {:?} late", counters.late);
    assert!(overtaken > 10, "{arrived:?}");
    for number in 0..DATAGRAMS {
        assert_eq!(arrived.iter().filter(|&&found| found == number).count(), 2, "datagram {number}");
    }
}

#[test]
fn a_link_passes_packets_late_and_twice() {
    packets_come_late_and_twice(false);
}

#[test]
fn a_link_passes_packets_late_and_twice_through_an_end_system() {
    packets_come_late_and_twice(true);
}

/// A short run of `examples/kernel_tcp.rs`: loss-based congestion control fills the link and its buffer, and shares it.
#[test]
fn the_kernels_tcp_fills_a_long_link() {
    let available = kernel_tcp::available();
    // Every kernel has Reno; the others may be missing modules.
    assert!(available.iter().any(|name| name == "reno"), "{available:?}");
    for congestion_control in ["reno", "cubic"].into_iter().filter(|name| available.iter().any(|known| known == name)) {
        // 1448 bytes of payload in every frame of 1514.
        let most = RATE as f64 * 1448.0 / 1514.0;
        // A run is repeated if the machine delays a host or the bridge for longer than the buffer lasts.
        let mut runs = (0..3).map(|_| {
            let measured = kernel_tcp::measure(congestion_control, 8);
            println!("{}; Jain {:.3}", measured.to_json(), measured.fairness());
            assert!(measured.goodput < 1.001 * most, "{measured:?}");
            measured
        });
        let measured = runs.find(|measured| measured.goodput > 0.93 * most).expect("a run that fills the link");
        assert_eq!(measured.flows.len(), FLOWS as usize);
        assert!(measured.drops > 20, "the buffer overflows: {measured:?}");
        // Every drop is repaired; a tail that times out is repaired more than once.
        assert!(measured.retransmissions >= measured.drops / 2, "{measured:?}");
        assert!(measured.fairness() > 0.7, "{measured:?}");
    }
}
