//! What decides on the queue of a packet beside its flow: code points of congestion notification, lengths, TCP flags, and hosts.

use tidegate_core::classifier::{Header, Network, Spread, Transport};
use tidegate_core::packet::{Ecn, Flow};
use tidegate_core::registry::SchedulerKind;
use tidegate_scenario::proof::Proof;
use tidegate_scenario::{Scenario, parse_str};

use tidegate_sim::{Control, LinkId, Outcome, run};

fn scenario(text: &str) -> Scenario {
    let scenario = parse_str("code_points.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{}", scenario.warnings.unwrap());
    scenario
}

fn outcome(text: &str) -> Outcome {
    let scenario = scenario(text);
    let simulation = scenario.variants[0].simulation.as_ref().unwrap();
    run(&simulation.network, &simulation.experiment, &Control::default()).unwrap()
}

fn header(ecn: Ecn, dscp: u8) -> Header {
    let transport = Transport { dscp, ecn, protocol: 6, ..Transport::default() };
    Header { ethernet_type: 0x0800, network: Network::V4 { source: 1, destination: 2, transport }, ..Header::default() }
}

#[test]
fn dualpi2_writes_two_queues_by_code_point() {
    let text = "[policy.p]\nrate = \"40 Mbit/s\"\n[[policy.p.class]]\nname = \"all\"\naqm = { kind = \"dualpi2\", ramp = \"0.4 ms\" }\nclassic_share = 6\n";
    let scenario = scenario(text);
    let policy = scenario.policy(None).unwrap();
    let classifier = policy.setup().classifier;
    assert_eq!(classifier.classes()[0].spread, Spread::CodePoint);
    let queues = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| classifier.classify(&header(ecn, 0)));
    assert_eq!(queues, [0, 0, 1, 1].map(Flow));
    assert_eq!((policy.classes[0].queues, policy.classes[0].queue_scheduler), (2, SchedulerKind::DualQueue));
    // 250 ms at the rate of the link.
    assert_eq!(policy.partitions[0].buffer.limit, tidegate_scenario::units::Limit::Bytes(1_250_000));
}

#[test]
fn rules_ask_for_code_points() {
    let text = "[policy.p]\nrate = \"40 Mbit/s\"\n\
        [[policy.p.class]]\nname = \"l4s\"\nmatch = [{ ecn = \"ect1\" }, { ecn = \"ce\", dscp = \"ef\" }]\n\
        [[policy.p.class]]\nname = \"rest\"\n";
    let scenario = scenario(text);
    let classifier = scenario.policy(None).unwrap().setup().classifier;
    let cases = [(Ecn::Ect1, 0, 0), (Ecn::Ect1, 46, 0), (Ecn::Ce, 46, 0), (Ecn::Ce, 0, 1), (Ecn::Ect0, 46, 1), (Ecn::NotEct, 0, 1)];
    for (ecn, dscp, queue) in cases {
        assert_eq!(classifier.classify(&header(ecn, dscp)), Flow(queue), "{ecn:?} {dscp}");
    }
}

/// The first port marks, and the second has a class of its own for what is marked. That class sets the DSCP that the third reads.
#[test]
fn a_mark_decides_on_the_class_at_the_next_port() {
    let text = "[simulation]\nduration = \"10 s\"\n\
        [policy.marks]\nrate = \"10 Mbit/s\"\n[[policy.marks.class]]\nname = \"all\"\naqm = { kind = \"step\", mark_above = \"15 kB\" }\n\
        [policy.reads]\nrate = \"100 Mbit/s\"\n\
        [[policy.reads.class]]\nname = \"marked\"\nmatch = [{ ecn = \"ce\" }]\nset = { dscp = \"af11\" }\n\
        [[policy.reads.class]]\nname = \"rest\"\n\
        [policy.last]\nrate = \"100 Mbit/s\"\n\
        [[policy.last.class]]\nname = \"af11\"\nmatch = [{ dscp = \"af11\" }]\n[[policy.last.class]]\nname = \"rest\"\n\
        [[link]]\nname = \"a\"\nfrom = \"1\"\nto = \"2\"\npolicy = \"marks\"\ndelay = \"5 ms\"\n\
        [[link]]\nname = \"b\"\nfrom = \"2\"\nto = \"3\"\npolicy = \"reads\"\n\
        [[link]]\nname = \"c\"\nfrom = \"3\"\nto = \"4\"\npolicy = \"last\"\n\
        [[link]]\nname = \"back\"\nfrom = \"4\"\nto = \"1\"\npolicy = \"last\"\ndelay = \"5 ms\"\n\
        [[flow]]\nname = \"f\"\npath = [\"a\", \"b\", \"c\"]\nsource = { kind = \"tcp\", congestion = \"dctcp\" }\n";
    let outcome = outcome(text);
    let of_class = |port: usize, class: usize| outcome.ports[port].classes[class].offered.packets;
    assert!(of_class(1, 0) > 50 && of_class(1, 1) > 1000, "{} {}", of_class(1, 0), of_class(1, 1));
    // Some are under way at the end.
    assert!(of_class(2, 0) <= of_class(1, 0) && of_class(2, 0) + 20 > of_class(1, 0));
}

/// A host with five downloads and one with a single download, towards one device.
#[test]
fn hosts_share_whatever_the_number_of_their_flows() {
    let shares = |key: &str| {
        let flow = |name: &str, count: u32, source: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\ncount = {count}\npath = [\"l\"]\nheader = {{ source = \"10.0.0.{source}\", destination = \"10.1.0.1\" }}\n\
                 source = {{ kind = \"greedy\", packet = \"1000 B\", window = \"20 packets\" }}\n"
            )
        };
        let text = format!(
            "[simulation]\nduration = \"5 s\"\nwarm_up = \"1 s\"\n[policy.p]\nrate = \"12 Mbit/s\"\n\
             [[policy.p.class]]\nname = \"all\"\naqm = {{ kind = \"fq-codel\", target = \"1 s\", interval = \"10 s\" }}\n{key}\n\
             [[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\npolicy = \"p\"\n{}{}",
            flow("five", 5, "1"),
            flow("one", 1, "2")
        );
        outcome(&text).flows.iter().map(|flow| flow.throughput_bps.mean / 1e6).collect::<Vec<f64>>()
    };
    let near = |found: Vec<f64>, expected: [f64; 2]| {
        let expected = [[expected[0]; 5].as_slice(), &[expected[1]]].concat();
        let is_near = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 0.06 * expected);
        assert!(is_near, "{found:?}, expected {expected:?}");
    };
    near(shares("host_fairness = \"source\""), [1.2, 6.0]);
    near(shares("host_fairness = \"destination\""), [2.0, 2.0]);
    near(shares("host_fairness = \"both\""), [2.0, 2.0]);
    near(shares(""), [2.0, 2.0]);
}

/// Two ports: the first has a class for short packets, which sets the code point that the second reads.
const LENGTHS: &str = "[simulation]\nduration = \"5 s\"\n\
    [policy.first]\nrate = \"10 Mbit/s\"\nscheduler = \"drr\"\n\
    [[policy.first.class]]\nname = \"short\"\nmatch = [{ length = \"0-100 B\" }]\nset = { dscp = \"af11\" }\n\
    [[policy.first.class]]\nname = \"rest\"\n\
    [policy.second]\nrate = \"10 Mbit/s\"\n\
    [[policy.second.class]]\nname = \"af11\"\nmatch = [{ dscp = \"af11\" }]\n[[policy.second.class]]\nname = \"rest\"\n\
    [[link]]\nname = \"a\"\nfrom = \"1\"\nto = \"2\"\npolicy = \"first\"\n\
    [[link]]\nname = \"b\"\nfrom = \"2\"\nto = \"3\"\npolicy = \"second\"\n\
    [[link]]\nname = \"c\"\nfrom = \"2\"\nto = \"1\"\npolicy = \"second\"\n";

#[test]
fn lengths_decide_on_the_class_packet_by_packet() {
    let mixed = "[[flow]]\nname = \"f\"\npath = [\"a\", \"b\"]\n\
         source = { kind = \"poisson\", rate = \"2 Mbit/s\", packet_mix = [{ packet = \"64 B\", weight = 1 }, { packet = \"1000 B\", weight = 1 }] }\n";
    let outcome = outcome(&format!("{LENGTHS}{mixed}"));
    for port in 0..2 {
        let [short, rest] = [0, 1].map(|class| outcome.ports[port].classes[class].offered);
        assert!(short.packets > 500 && rest.packets > 500, "{short:?} {rest:?}");
        assert_eq!((short.bytes, rest.bytes), (64 * short.packets, 1000 * rest.packets), "port {port}");
    }
}

#[test]
fn acknowledgements_are_short_packets_of_their_connection() {
    let tcp = "[[flow]]\nname = \"f\"\npath = [\"c\"]\nback = [\"a\"]\nsource = { kind = \"tcp\" }\n";
    let outcome = outcome(&format!("{LENGTHS}{tcp}"));
    let [short, rest] = [0, 1].map(|class| outcome.ports[0].classes[class].offered.packets);
    assert!(short > 1000, "{short}");
    assert_eq!(rest, 0);
}

/// Packets of a class by length get the bound of that class, whichever the flow has.
#[test]
fn what_is_proven_covers_every_length_of_a_flow() {
    let flow = |packet: &str| {
        format!("[[flow]]\nname = \"f\"\npath = [\"a\"]\nsource = {{ kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"{packet}\" }}\n")
    };
    let frames = "[[flow]]\nname = \"f\"\npath = [\"a\"]\nsource = { kind = \"frames\", interval = \"10 ms\", packet = \"1000 B\", sizes = [\"1064 B\"] }\n";
    let classes = |flows: &str| {
        let scenario = scenario(&format!("{LENGTHS}{flows}"));
        let proof = Proof::of(&scenario.variants[0]).unwrap();
        [0, 1].map(|class| proof.queues.iter().any(|queue| queue.link == LinkId(0) && queue.class == class))
    };
    assert_eq!(classes(&flow("64 B")), [true, false]);
    assert_eq!(classes(&flow("1000 B")), [false, true]);
    assert_eq!(classes(frames), [true, true]);
}
