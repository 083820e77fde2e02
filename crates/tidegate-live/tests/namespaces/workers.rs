//! Several workers in a direction, with real hosts on both sides.

use super::policy::shared;
use super::raw::ping;
use super::topology::{Bridge, Place, Topology, eventually};
use super::{Carried, HOST2, HOST2_V4, between, patient, through};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;
use tidegate_core::exchange::{Above, SpanningNode, Workers};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, LeafSpec, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration as PortDuration, Rate};
use tidegate_live::{ControlError, Io, LiveConfig, LiveError};

/// Classes by port, "three" on the first worker, the others on the second.
fn two(setup: &PortSetup) -> Option<Workers> {
    debug_assert_eq!(setup.classifier.flows(), 3);
    Some(Workers::of_link(2, PortDuration::from_microseconds(150), &[3, 1, 1], &[0, 1, 1]))
}

fn of_two(config: LiveConfig) -> LiveConfig {
    let workers = config.setups.each_ref().map(two);
    config.with_workers(workers)
}

/// What TCP connections in two classes carry at this rate on the wire.
fn carried_by_two_classes<O>(rate: u64, topology: &Topology, bridge: &Bridge<O>) -> Carried {
    let _servers = [5203, 5201].map(|port| topology.start(Place::Host2, &format!("iperf3 --server --one-off --port {port}")));
    thread::sleep(Duration::from_millis(300));
    let client =
        |port| topology.start(Place::Host1, &format!("iperf3 --client {HOST2} --port {port} --time 20 --congestion cubic --parallel 4"));
    let clients = [5203, 5201].map(client);
    thread::sleep(Duration::from_millis(1300));
    let carried = Carried::at(rate, 0.03, 3, topology, bridge);
    drop(clients);
    carried
}

/// A bridge of two workers with these sockets, which have them.
fn bridge_of_two(topology: &Topology, io: Io, config: LiveConfig) -> Bridge<()> {
    let bridge = topology.bridge(of_two(through(io, config)));
    let mode = bridge.control.modes().concat();
    match io {
        Io::Xdp => assert!(mode.contains("worker 2 receives by 1 and sends by 1"), "{mode}"),
        _ => assert!(mode.contains("packet sockets; from tgb to tgc a group of 2 sockets, one per worker"), "{mode}"),
    }
    bridge
}

#[test]
fn tcp_classes_on_two_workers_share_three_to_one() {
    tcp_classes_share_three_to_one(Io::Packet);
}

#[test]
fn tcp_classes_on_two_workers_share_three_to_one_through_af_xdp() {
    tcp_classes_share_three_to_one(Io::Xdp);
}

fn tcp_classes_share_three_to_one(io: Io) {
    let rate = 100_000_000;
    let topology = Topology::of_queues(2);
    let bridge = bridge_of_two(&topology, io, patient(shared(rate, "drr", 5203, 5201)));
    let carried = carried_by_two_classes(rate, &topology, &bridge);
    let outcome = bridge.finish();
    let ratio = carried.classes[0] as f64 / carried.classes[1] as f64;
    println!("{ratio:.3} to 1; {:?}", outcome.directions[0].counters);
    // A worker that the machine lets wait gives up time that the other does not.
    assert!((ratio / 3.0 - 1.0).abs() < 0.15, "{ratio:.3} to 1 instead of 3 to 1");
    let counters = &outcome.directions[0].counters;
    assert!(counters.passed_on.packets > 100, "four connections of each class come on both workers: {counters:?}");
    assert_eq!(counters.in_rings.packets, 0, "{counters:?}");
}

/// A group with a contract of 60 % of the link is on both workers: "three" on the first, "one" on the second.
fn group_of_two(setup: PortSetup) -> LiveConfig {
    let (rate, longest) = (setup.rate, setup.overhead.wire_length(setup.longest_frame));
    let cap = Rate::new(rate.bits_per_second() * 6 / 10).expect("a rate in range");
    let cap = ShapingContract { tolerance: PortDuration::from_milliseconds(5), ..ShapingContract::new(cap, 20 * longest, longest) };
    let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
    let node = |above, shape| NodeSpec { shape, ..NodeSpec::new(above, SchedulerKind::DeficitRoundRobin, rate, weight(1)) };
    let leaf = |parent, own| LeafSpec { parent, parameters: weight(own), shape: None };
    let (nodes, leaves) = ([node(None, None), node(Some(0), Some(cap))], [leaf(1, 3), leaf(1, 1), leaf(0, 1)]);
    let scheduler = AnyScheduler::tree(longest, (2, |index: usize| nodes[index]), (3, |index: usize| leaves[index])).expect("a tree");
    let mut workers = two(&setup).expect("two workers");
    workers.nodes.push(SpanningNode { above: 0, node: 1, weight: 1, shape: Some(cap) });
    workers.parts[..2].iter_mut().for_each(|part| part.above = Above::Spanning(1));
    patient(PortSetup { scheduler, ..setup }).with_workers([Some(workers.clone()), Some(workers)])
}

#[test]
fn tcp_classes_of_a_group_on_two_workers_share_its_contract_three_to_one() {
    let rate = 100_000_000;
    let topology = Topology::new();
    let bridge = topology.bridge(group_of_two(shared(rate, "drr", 5203, 5201)));
    let carried = carried_by_two_classes(rate * 6 / 10, &topology, &bridge);
    let outcome = bridge.finish();
    let ratio = carried.classes[0] as f64 / carried.classes[1] as f64;
    println!("{ratio:.3} to 1; {:?}", outcome.directions[0].counters);
    assert!((ratio / 3.0 - 1.0).abs() < 0.15, "{ratio:.3} to 1 instead of 3 to 1");
}

#[test]
fn datagrams_keep_their_order_and_none_is_lost_between_workers() {
    datagrams_keep_their_order(Io::Packet);
}

#[test]
fn datagrams_keep_their_order_and_none_is_lost_between_workers_through_af_xdp() {
    datagrams_keep_their_order(Io::Xdp);
}

fn datagrams_keep_their_order(io: Io) {
    const FLOWS: u16 = 8;
    const EACH: u32 = 400;
    let topology = Topology::of_queues(2);
    let bridge = bridge_of_two(&topology, io, between(shared(1_000_000_000, "drr", 6001, 6002)));
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    let receivers: Vec<_> = [6001, 6002, 6003]
        .map(|port| {
            topology.inside(Place::Host2, move || {
                let socket = UdpSocket::bind(("0.0.0.0", port)).expect("a port");
                socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
                let (mut next, mut buffer, mut count) = (std::collections::HashMap::new(), [0; 2000], 0);
                while count < u32::from(FLOWS) * EACH {
                    let Ok((_, from)) = socket.recv_from(&mut buffer) else { break };
                    let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                    let expected: &mut u32 = next.entry(from.port()).or_default();
                    assert!(buffer[4..404] == [7; 400], "datagram {number} of {from} has changed");
                    assert!(number >= *expected, "datagram {number} of {from} came when {expected} was expected, after {count} others");
                    *expected = number + 1;
                    count += 1;
                }
                count
            })
        })
        .into_iter()
        .collect();
    thread::sleep(Duration::from_millis(300));
    topology.call(Place::Host1, || {
        let sockets: Vec<UdpSocket> = (0..FLOWS).map(|_| UdpSocket::bind("0.0.0.0:0").expect("a port")).collect();
        for number in 0..EACH {
            for socket in &sockets {
                for port in [6001, 6002, 6003] {
                    socket.send_to(&[&number.to_be_bytes()[..], &[7; 400]].concat(), (HOST2, port)).expect("a datagram can be sent");
                }
            }
            thread::sleep(Duration::from_micros(300));
        }
    });
    let received: u32 = receivers.into_iter().map(|receiver| receiver.join().expect("datagrams came in order")).sum();
    // The counters, while it runs and at the end.
    let (running, classes) = (bridge.control.counters(0).unwrap(), bridge.control.classes(0).unwrap());
    running.check().unwrap();
    let outcome = bridge.finish();
    let counters = &outcome.directions[0].counters;
    println!("received {received}; {counters:?}");
    // Those of host 1, address resolution and a little of IPv6: no frame goes around in a circle.
    assert!(counters.received.packets < u64::from(3 * u32::from(FLOWS) * EACH) + 100, "{counters:?}");
    let lost = counters.dropped().map(|(_, volume)| volume.packets).sum::<u64>() + counters.kernel.dropped;
    assert!(u64::from(received) + lost >= u64::from(3 * u32::from(FLOWS) * EACH), "{received} received, {lost} lost: {counters:?}");
    assert!(counters.passed_on.packets > 1000, "{counters:?}");
    let sent: u64 = classes.iter().map(|class| class.sent.packets).sum();
    assert!(sent >= u64::from(received), "{classes:?}");
    assert_eq!(outcome.directions[0].record.classes().iter().map(|class| class.sent.packets).sum::<u64>(), counters.port.sent.packets);
}

#[test]
fn workers_go_on_over_an_interface_that_was_deleted_and_created_again() {
    an_interface_goes_and_comes_back(Io::Packet);
}

#[test]
fn workers_go_on_over_an_interface_that_was_deleted_and_created_again_through_af_xdp() {
    an_interface_goes_and_comes_back(Io::Xdp);
}

fn an_interface_goes_and_comes_back(io: Io) {
    let topology = Topology::of_queues(2);
    let bridge = bridge_of_two(&topology, io, between(shared(100_000_000, "drr", 6001, 6002)));
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    // The kernel may say a second late that an interface is connected.
    let is_connected = || (0..2).all(|way| bridge.control.counters(way).is_ok_and(|counters| counters.receiving && counters.sending));
    eventually("both interfaces are connected", Duration::from_secs(20), is_connected);
    topology.within(Place::Host1, "ip link del tga");
    thread::sleep(Duration::from_millis(200));
    topology.connect_host1();
    // Flows of both workers pass.
    for port in 6001..6009 {
        eventually("a datagram over the new interface", Duration::from_secs(20), || {
            let receiver = topology.inside(Place::Host2, move || {
                let socket = UdpSocket::bind(("0.0.0.0", port)).expect("a port");
                socket.set_read_timeout(Some(Duration::from_millis(700))).expect("a timeout");
                socket.recv(&mut [0; 100]).is_ok()
            });
            thread::sleep(Duration::from_millis(100));
            topology.call(Place::Host1, move || {
                UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(&[7; 100], (HOST2, port))).map(drop).unwrap_or_default();
            });
            receiver.join().expect("the receiver ends")
        });
    }
    eventually("both interfaces are connected again", Duration::from_secs(20), is_connected);
    let outcome = bridge.finish();
    for direction in &outcome.directions {
        let counters = &direction.counters;
        assert!(counters.outages == 1 && counters.receiving && counters.sending && counters.received.packets < 200, "{counters:?}");
    }
}

#[test]
fn workers_without_a_queue_each_get_packet_sockets_and_a_reason() {
    let topology = Topology::new();
    let bridge = topology.bridge(of_two(through(Io::Xdp, between(shared(100_000_000, "drr", 6001, 6002)))));
    let mode = bridge.control.modes().concat();
    assert!(mode.contains(": packet sockets; from tgb to tgc a group of 2 sockets, one per worker"), "{mode}");
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    let notices = bridge.finish().notices;
    let warning = notices.iter().find(|notice| notice.starts_with("warning: AF_XDP was asked for")).expect("a warning");
    assert!(
        warning.contains("tgb has 1 queue each way, and each of 2 workers needs one (it can have 1 at most, so set `workers = 1`"),
        "{warning}"
    );
}

/// What is told in advance mends what it tells, and then a bridge has AF_XDP sockets.
#[test]
fn the_queues_that_workers_lack_are_told_with_the_line_that_mends_it() {
    let topology = Topology::of_queues(3);
    for (place, name) in [(Place::Host1, "tga"), (Place::Middle, "tgb"), (Place::Middle, "tgc"), (Place::Host2, "tgd")] {
        topology.within(place, &format!("ethtool -L {name} rx 1 tx 1"));
    }
    let examine = |workers| topology.call(Place::Middle, move || tidegate_live::examine(&["tgb", "tgc"], workers));
    let lacks = |warnings: Vec<String>| warnings.into_iter().filter(|warning| warning.contains("workers needs one")).collect::<Vec<_>>();
    assert_eq!(lacks(examine(1).warnings), [""; 0]);
    let lacking = examine(2);
    assert!(lacking.sockets.iter().all(|of| of.xdp.starts_with("packet sockets, because tg")), "{lacking:?}");
    let warnings = lacks(lacking.warnings);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, (place, other)) in warnings.iter().zip([(Place::Host1, "tga"), (Place::Host2, "tgd")]) {
        let line = warning.split('`').nth(1).unwrap();
        topology.within(Place::Middle, line);
        topology.within(place, &line.replace("tgb", other).replace("tgc", other));
    }
    let mended = examine(2);
    assert_eq!(lacks(mended.warnings), [""; 0]);
    assert!(mended.sockets.iter().all(|of| of.xdp.ends_with("2 queues, enough for 2 workers")), "{:?}", mended.sockets);
    let bridge = topology.bridge(of_two(through(Io::Xdp, between(shared(100_000_000, "drr", 6001, 6002)))));
    let mode = bridge.control.modes().concat();
    assert!(mode.contains("worker 2 receives by 1 and sends by 1"), "{mode}");
}

/// Three queues for two workers: the first worker has two of them. One direction has one worker, which has all.
#[test]
fn queues_are_dealt_out_to_workers() {
    let topology = Topology::of_queues(3);
    let config = through(Io::Xdp, between(shared(100_000_000, "drr", 6001, 6002)));
    let workers = [two(&config.setups[0]), None];
    let bridge = topology.bridge(config.with_workers(workers));
    let mode = bridge.control.modes().concat();
    let queues = "queues from tgb to tgc: worker 1 receives by 0, 2 and sends by 0, worker 2 receives by 1 and sends by 1";
    assert!(mode.ends_with(queues), "{mode}");
    topology.call(Place::Host1, || {
        assert_eq!(ping(HOST2_V4, 1).len(), 1);
        for _ in 0..60 {
            UdpSocket::bind("0.0.0.0:0").expect("a port").send_to(&[1; 100], (HOST2, 6001)).expect("a datagram can be sent");
        }
    });
    eventually("the datagrams", Duration::from_secs(20), || bridge.state()[0].delivered.packets >= 61);
    let counters = bridge.finish().directions[0].counters;
    assert_eq!(counters.dropped().count(), 0, "{counters:?}");
}

#[test]
fn what_several_workers_cannot_do_is_refused_with_its_reason() {
    let topology = Topology::new();
    let setup = shared(100_000_000, "drr", 6001, 6002);
    let mut config = of_two(between(setup.clone()));
    config.options.end_system = true;
    let error = topology.call(Place::Middle, move || {
        tidegate_live::run(config, &std::sync::atomic::AtomicBool::new(true), |_| ()).map(|_| ()).expect_err("an end system has no workers")
    });
    assert!(matches!(error, LiveError::OneWorker { .. }) && error.exit_code() == 2, "{error}");
    let bridge = topology.bridge(of_two(between(setup.clone())));
    assert_eq!(
        bridge.control.change(0, setup.clone(), None).map(|_| ()),
        Err(ControlError::Workers),
        "a plan for as many workers is missing"
    );
    let three = Workers { count: 3, ..two(&setup).expect("two workers") };
    assert_eq!(bridge.control.change(0, setup.clone(), Some(&three)).map(|_| ()), Err(ControlError::Workers));
    // Both change at one instant.
    let changed = bridge.control.change(0, setup.clone(), two(&setup).as_ref()).expect("a change");
    assert_eq!(changed.switched.classes_kept, 3);
    assert_eq!(topology.call(Place::Host1, || ping(HOST2_V4, 1).len()), 1);
    assert_eq!(bridge.control.stand_still().map(|_| ()).err(), Some(ControlError::NotHandedOver));
    let modes = bridge.control.modes();
    assert!(modes[0].contains("packet sockets"), "{modes:?}");
    bridge.finish();
}
