//! From the text of a policy to a port that does what the text says.

use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::packet::Colour;
use tidegate_core::port::{Overhead, Port};
use tidegate_core::units::{Duration, Time};
use tidegate_scenario::{Policy, parse_str};

fn policy(text: &str) -> Policy {
    let scenario = parse_str("policy.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{}", scenario.warnings.unwrap());
    scenario.policy(None).unwrap().clone()
}

fn class_of(policy: &Policy, header: &Header) -> String {
    let classifier = policy.setup().classifier;
    classifier.classes()[classifier.class_of(classifier.classify(header))].name.clone()
}

fn udp(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), dscp: u8) -> Header {
    let transport = Transport { dscp, protocol: 17, fragment: false, ports: Some(ports) };
    let network = Network::V4 { source: u32::from_be_bytes(source), destination: u32::from_be_bytes(destination), transport };
    Header { ethernet_type: 0x0800, network, ..Header::default() }
}

#[test]
fn every_field_of_a_rule_reaches_the_classifier() {
    let rules = [
        "dscp = \"ef\"",
        "protocol = \"icmp\"",
        "source = \"10.9.0.0/16\"",
        "destination = \"2001:db8::/32\"",
        "source_port = 53",
        "destination_port = \"6000-6999\"",
        "fragment = true",
        "vlan = 7",
        "vlan_priority = 5",
        "ethernet_type = \"arp\"",
        "mpls_label = 16",
        "mpls_traffic_class = 3",
    ];
    let class = |(index, rule): (usize, &&str)| format!("[[policy.p.class]]\nname = \"class {index}\"\nmatch = [{{ {rule} }}]\n");
    let classes: String = rules.iter().enumerate().map(class).collect();
    let policy = policy(&format!("[policy.p]\nrate = \"1 Gbit/s\"\n{classes}"));

    let plain = udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), 0);
    let transport = |transport| Header { network: Network::V4 { source: 1, destination: 2, transport }, ..plain };
    let v6 = Network::V6 { source: 1, destination: 0x2001_0db8 << 96, transport: Transport::default() };
    let headers = [
        udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), 46),
        transport(Transport { protocol: 1, ..Transport::default() }),
        udp([10, 9, 3, 1], [10, 0, 0, 2], (1000, 2000), 0),
        Header { network: v6, ..plain },
        udp([10, 0, 0, 1], [10, 0, 0, 2], (53, 2000), 0),
        udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 6999), 0),
        transport(Transport { protocol: 17, fragment: true, ..Transport::default() }),
        Header { vlan: Some(7), ..plain },
        Header { vlan_priority: Some(5), ..plain },
        Header { ethernet_type: 0x0806, network: Network::Other, ..plain },
        Header { mpls_label: Some(16), ..plain },
        Header { mpls_traffic_class: Some(3), ..plain },
    ];
    assert_eq!(headers.len(), rules.len());
    for (index, header) in headers.iter().enumerate() {
        assert_eq!(class_of(&policy, header), format!("class {index}"));
    }
    assert_eq!(class_of(&policy, &plain), "default");
}

/// Offers packets of 1000 bytes, one of each flow in turn, and returns the classes in the order in which they are sent.
fn order_of_service(policy: &Policy, per_flow: usize) -> Vec<usize> {
    let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
    let flows = port.classifier().flows() as u32;
    for _ in 0..per_flow {
        for flow in 0..flows {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(flow), 1000, Colour::Green, (), &mut ());
        }
    }
    let mut order = Vec::new();
    let classifier = policy.setup().classifier;
    let end = Time::ZERO + Duration::from_seconds(100);
    port.advance(end, &mut (), |sent| order.push(classifier.class_of(sent.packet.flow)));
    order
}

#[test]
fn priorities_decide_the_order() {
    let policy = policy(
        "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"strict-priority\"\n\
         [[policy.p.class]]\nname = \"low\"\nmatch = [{ dscp = 1 }]\npriority = 7\n\
         [[policy.p.class]]\nname = \"high\"\nmatch = [{ dscp = 2 }]\npriority = 3\n",
    );
    assert_eq!(policy.classes[2].parameters.priority, Some(8), "the class that is added comes last");
    assert_eq!(order_of_service(&policy, 2), [1, 1, 0, 0, 2, 2]);
}

#[test]
fn weights_count_at_every_level_of_a_tree() {
    let policy = policy(
        "[policy.p]\nrate = \"12 Mbit/s\"\nscheduler = \"drr\"\n\
         [[policy.p.group]]\nname = \"inner\"\nparent = \"outer\"\nweight = 2\nscheduler = \"drr\"\n\
         [[policy.p.group]]\nname = \"outer\"\nweight = 3\nscheduler = \"drr\"\n\
         [[policy.p.class]]\nname = \"a\"\nparent = \"inner\"\nmatch = [{ dscp = 1 }]\n\
         [[policy.p.class]]\nname = \"b\"\nparent = \"inner\"\nmatch = [{ dscp = 2 }]\n\
         [[policy.p.class]]\nname = \"c\"\nparent = \"outer\"\nmatch = [{ dscp = 3 }]\n\
         [[policy.p.class]]\nname = \"d\"\n",
    );
    let share = |class: usize| policy.classes[class].share.unwrap().bits_per_second();
    assert_eq!([share(0), share(1), share(2), share(3)], [3_000_000; 4]);
    let groups: Vec<(&str, Option<u64>)> =
        policy.groups.iter().map(|group| (group.name.as_str(), group.share.map(|share| share.bits_per_second()))).collect();
    assert_eq!(groups, [("inner", Some(6_000_000)), ("outer", Some(9_000_000))]);
    let first: Vec<usize> = order_of_service(&policy, 400)[..800].to_vec();
    for class in 0..4 {
        let served = first.iter().filter(|&&other| other == class).count();
        assert!((180..=220).contains(&served), "class {class} is served {served} of 800 times");
    }
}

#[test]
fn guaranteed_rates_leave_the_rest_to_weights() {
    let policy = policy(
        "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"wf2q+\"\n\
         [[policy.p.class]]\nname = \"a\"\nmatch = [{ dscp = 1 }]\nrate = \"4 Mbit/s\"\n\
         [[policy.p.class]]\nname = \"b\"\nmatch = [{ dscp = 2 }]\nweight = 2\n",
    );
    let shares: Vec<u64> = policy.classes.iter().map(|class| class.share.unwrap().bits_per_second()).collect();
    assert_eq!(shares, [4_000_000, 4_000_000, 2_000_000]);
}

#[test]
fn shaped_classes_and_groups_keep_their_rate() {
    for tree in [
        "[[policy.p.class]]\nname = \"a\"\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n",
        "[[policy.p.class]]\nname = \"a\"\nqueues = 4\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n",
        "[[policy.p.group]]\nname = \"g\"\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n[[policy.p.class]]\nname = \"a\"\nparent = \"g\"\nmatch = [{ dscp = 1 }]\n",
    ] {
        let policy = policy(&format!("[policy.p]\nrate = \"100 Mbit/s\"\n{tree}"));
        let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
        for _ in 0..126 {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(0), 1000, Colour::Green, (), &mut ());
        }
        // The last packet is due after 125 times 8 ms, less the 482 bytes by which the burst exceeds the longest frame.
        let mut last = Time::ZERO;
        port.advance(Time::ZERO + Duration::from_seconds(2), &mut (), |sent| last = sent.start);
        let milliseconds = last.since(Time::ZERO).picoseconds() as f64 / 1e9;
        assert!((996.14..=996.15).contains(&milliseconds), "{milliseconds} ms with\n{tree}");
    }
}

#[test]
fn limits_and_contracts_are_kept_per_class() {
    let policy = policy(
        "[policy.p]\nrate = \"10 Mbit/s\"\noverhead = \"ethernet\"\nscheduler = \"drr\"\nbuffer = { limit = \"50 packets\" }\n\
         [[policy.p.class]]\nname = \"short\"\nmatch = [{ dscp = 1 }]\nlimit = \"3 packets\"\n\
         [[policy.p.class]]\nname = \"policed\"\nmatch = [{ dscp = 2 }]\npolice = { policer = \"gcra\", rate = \"1 Mbit/s\", burst = \"5638 B\" }\n",
    );
    let setup = policy.setup();
    assert_eq!((setup.packet_limit, setup.longest_frame, setup.overhead), (50, 1518, Overhead::ETHERNET));
    let mut port: Port<()> = Port::new(Time::ZERO, setup);
    for flow in 0..2 {
        for _ in 0..10 {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(flow), 1000, Colour::Green, (), &mut ());
        }
    }
    // Four packets of 1024 bytes on the wire and one that may be as long as the longest frame are within the burst.
    assert_eq!(port.occupancy().flow_packets(tidegate_core::packet::Flow(0)), 3);
    assert_eq!(port.occupancy().flow_packets(tidegate_core::packet::Flow(1)), 5);
}

#[test]
fn a_provider_with_a_thousand_customers_loads() {
    let mut text = "[policy.isp]\nrate = \"10 Gbit/s\"\nscheduler = \"wf2q+\"\n".to_owned();
    for customer in 0..1000 {
        let (high, low) = (customer / 256, customer % 256);
        text += &format!(
            "[[policy.isp.group]]\nname = \"c{customer}\"\nrate = \"9 Mbit/s\"\nscheduler = \"strict-priority\"\nshape = {{ rate = \"50 Mbit/s\" }}\n\
             [[policy.isp.class]]\nname = \"v{customer}\"\nparent = \"c{customer}\"\npriority = 0\nmatch = [{{ source = \"10.{high}.{low}.0/24\", dscp = 46 }}]\n\
             [[policy.isp.class]]\nname = \"d{customer}\"\nparent = \"c{customer}\"\npriority = 1\nqueues = 8\nmatch = [{{ source = \"10.{high}.{low}.0/24\" }}]\n"
        );
    }
    let policy = policy(&text);
    assert_eq!(policy.setup().classifier.flows(), 9001);
    assert_eq!(class_of(&policy, &udp([10, 3, 231, 9], [1, 1, 1, 1], (1, 2), 46)), "v999");
    assert_eq!(class_of(&policy, &udp([10, 3, 231, 9], [1, 1, 1, 1], (1, 2), 0)), "d999");
}

#[test]
fn a_promise_to_a_group_that_its_weight_does_not_keep_is_remarked_on() {
    let text = "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"drr\"\n\
         [[policy.p.group]]\nname = \"g\"\nweight = 1\nrate = \"8 Mbit/s\"\nscheduler = \"virtual-clock\"\n\
         [[policy.p.class]]\nname = \"a\"\nparent = \"g\"\nrate = \"8 Mbit/s\"\nmatch = [{ dscp = 1 }]\n\
         [[policy.p.class]]\nname = \"b\"\nweight = 4\n";
    let warnings = parse_str("policy.toml", text).unwrap().warnings.unwrap().to_string();
    assert!(warnings.contains("group `g` shares 8 Mbit/s, but drr gives it 2 Mbit/s at least"), "{warnings}");
}
