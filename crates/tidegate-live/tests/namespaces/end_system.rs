//! A bridge whose directions are end systems: the same packets pass, in the same shares, and all are counted.

use super::policy;
use super::topology::{Place, Topology};
use super::{HOST1_V4, HOST1_V6, HOST2, HOST2_V4, HOST2_V6, between, greedy_classes_share_three_to_one, tcp_is_shaped};
use crate::raw::ping;
use std::net::UdpSocket;
use std::time::Duration;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::port::{PortSetup, Volume};
use tidegate_core::registry::BufferKind;
use tidegate_core::units::Duration as PortDuration;
use tidegate_live::{Checksums, Io, LiveConfig, LiveError, run};

fn split(setup: PortSetup) -> LiveConfig {
    let mut config = between(setup);
    config.options.end_system = true;
    config
}

#[test]
fn ping_works_both_ways_through_an_end_system() {
    let topology = Topology::new();
    let bridge = topology.bridge(split(policy::plain(100_000_000)));
    for (place, target) in [(Place::Host1, HOST2_V4), (Place::Host2, HOST1_V4), (Place::Host1, HOST2_V6), (Place::Host2, HOST1_V6)] {
        let answers = topology.call(place, move || ping(target, 5));
        assert_eq!(answers.len(), 5, "{target} from {place:?}: {answers:?}");
    }
    let outcome = bridge.finish();
    for direction in &outcome.directions {
        let engine = direction.engine.expect("an engine of its own");
        println!("{:?}; late p99 {:?} s", engine, direction.lateness.quantile_seconds(0.99));
        assert!(direction.counters.delivered.packets >= 20, "{direction:?}");
        assert_eq!(direction.counters.dropped().count(), 0, "{direction:?}");
        assert_eq!(direction.record.classes()[0].delays.count(), direction.counters.delivered.packets);
        assert_eq!((engine.engine.won, engine.engine.stale), (direction.counters.delivered.packets, 0));
        assert_eq!(engine.winners.records, engine.engine.won);
    }
}

/// Four flows of numbered datagrams through three classes, faster than the link: all arrive, each flow in order.
#[test]
fn flows_arrive_complete_and_in_order_through_an_end_system() {
    const EACH: u32 = 500;
    let topology = Topology::new();
    let bridge = topology.bridge(split(policy::shared(20_000_000, "drr", 6001, 6002)));
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    let receivers = [6001, 6002, 6003, 6004].map(|port| {
        topology.inside(Place::Host2, move || {
            let socket = UdpSocket::bind(("0.0.0.0", port)).expect("a port");
            socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
            let mut buffer = [0; 2000];
            let next = || socket.recv(&mut buffer).ok().map(|_| u32::from_be_bytes(buffer[..4].try_into().expect("a number")));
            std::iter::from_fn(next).take(EACH as usize).collect::<Vec<u32>>()
        })
    });
    std::thread::sleep(Duration::from_millis(200));
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for number in 0..EACH {
            for port in [6001, 6002, 6003, 6004] {
                let mut datagram = vec![0; 20 + (number as usize * 7 + usize::from(port)) % 300];
                datagram[..4].copy_from_slice(&number.to_be_bytes());
                socket.send_to(&datagram, (HOST2, port)).expect("a datagram can be sent");
            }
            // About twice the link's rate, so that queues build up within the policy's buffer.
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    for receiver in receivers {
        let numbers = receiver.join().expect("datagrams were awaited");
        assert_eq!(numbers, (0..EACH).collect::<Vec<_>>());
    }
    let there = &bridge.finish().directions[0];
    assert!(there.counters.delivered.packets >= u64::from(4 * EACH));
    assert_eq!(there.counters.port.sent, there.counters.delivered);
}

#[test]
fn two_greedy_classes_share_three_to_one_through_an_end_system() {
    greedy_classes_share_three_to_one(Io::Packet, true);
}

#[test]
fn tcp_at_20_mbit_through_an_end_system() {
    tcp_is_shaped(20_000_000, &[], Checksums::PassOn, (Io::Packet, true));
}

#[test]
fn tcp_at_200_mbit_through_an_end_system() {
    tcp_is_shaped(200_000_000, &[], Checksums::PassOn, (Io::Packet, true));
}

/// Without time to drain, frames left in the rings are counted.
#[test]
fn a_stop_counts_the_frames_in_the_rings() {
    let topology = Topology::new();
    let mut config = split(policy::plain(20_000));
    config.options.drain = PortDuration::ZERO;
    let bridge = topology.bridge(config);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    topology.call(Place::Host1, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        for _ in 0..20 {
            socket.send_to(&[0; 1000], (HOST2, 7000)).expect("a datagram can be sent");
        }
    });
    super::eventually("the datagrams are queued", Duration::from_secs(20), || bridge.state()[0].queued.packets > 0);
    // `finish` checks the conservation law.
    let there = &bridge.finish().directions[0];
    assert!(there.counters.queued.packets > 10, "{:?}", there.counters);
    assert_ne!(there.counters.queued, Volume::default());
}

#[test]
fn a_policy_that_pushes_out_is_refused() {
    let topology = Topology::new();
    let mut setup = policy::plain(1_000_000);
    let limits = BufferParameters { flows: setup.classifier.flows(), bytes: Some(100_000), ..BufferParameters::default() };
    setup.buffer = BufferKind::LongestQueuePushOut.build(&limits).expect("limits in range");
    let error = topology.call(Place::Middle, move || {
        let stop = std::sync::atomic::AtomicBool::new(true);
        run(split(setup), &stop, |_| ()).map(|_| ()).expect_err("push-out needs another queue")
    });
    assert!(matches!(error, LiveError::PushOut { .. }) && error.exit_code() == 2, "{error}");
    assert!(error.to_string().contains("tail-drop"), "{error}");
}
