//! From the text of a policy to a port that does what the text says.

use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_core::dwcs::{Stream, Window};
use tidegate_core::packet::Colour;
use tidegate_core::port::Port;
use tidegate_core::units::{Duration, Overhead, Time};
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{Policy, parse_str};

fn policy(text: &str) -> Policy {
    let scenario = parse_str("policy.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(scenario.warnings.is_none(), "{}", scenario.warnings.unwrap());
    scenario.policy(None).unwrap().clone()
}

/// What a class is guaranteed, in whole bits per second.
fn guaranteed(policy: &Policy, class: usize) -> u64 {
    policy.classes[class].guarantee.rate().unwrap_or_else(|| panic!("{}", policy.classes[class].guarantee)).floor()
}

fn class_of(policy: &Policy, header: &Header) -> String {
    let classifier = policy.setup().classifier;
    classifier.classes()[classifier.class_of(classifier.classify(header))].name.to_string()
}

fn udp(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), dscp: u8) -> Header {
    let transport = Transport { dscp, protocol: 17, fragment: false, ports: Some(ports), ..Transport::default() };
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
        "inner_vlan = 9",
        "source_mac = \"02:00:5e:00:00:00/24\"",
        "destination_mac = \"01:00:00:00:00:00/01:00:00:00:00:00\"",
        "flow_label = 77",
        "tcp_flags = \"syn+!ack\"",
        "length = \"0-64 B\"",
        "protocol = \"udp\", not = [{ source = \"10.0.0.0/8\" }, { dscp = \"le\" }]",
    ];
    let class = |(index, rule): (usize, &&str)| format!("[[policy.p.class]]\nname = \"class {index}\"\nmatch = [{{ {rule} }}]\n");
    let classes: String = rules.iter().enumerate().map(class).collect();
    let policy = policy(&format!("[policy.p]\nrate = \"1 Gbit/s\"\n{classes}"));

    let plain = Header { length: 100, ..udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), 0) };
    let transport = |transport| Header { network: Network::V4 { source: 1, destination: 2, transport }, ..plain };
    let v6 = Network::V6 { source: 1, destination: 0x2001_0db8 << 96, transport: Transport::default() };
    let with_length = |header| Header { length: 100, ..header };
    let headers = [
        with_length(udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), 46)),
        transport(Transport { protocol: 1, ..Transport::default() }),
        with_length(udp([10, 9, 3, 1], [10, 0, 0, 2], (1000, 2000), 0)),
        Header { network: v6, ..plain },
        with_length(udp([10, 0, 0, 1], [10, 0, 0, 2], (53, 2000), 0)),
        with_length(udp([10, 0, 0, 1], [10, 0, 0, 2], (1000, 6999), 0)),
        transport(Transport { protocol: 17, fragment: true, ..Transport::default() }),
        Header { vlan: Some(7), ..plain },
        Header { vlan_priority: Some(5), ..plain },
        Header { ethernet_type: 0x0806, network: Network::Other, ..plain },
        Header { mpls_label: Some(16), ..plain },
        Header { mpls_traffic_class: Some(3), ..plain },
        Header { inner_vlan: Some(9), ..plain },
        Header { source_mac: Some([2, 0, 0x5e, 1, 2, 3]), ..plain },
        Header { destination_mac: Some([0x33, 0x33, 0, 0, 0, 1]), ..plain },
        Header { flow_label: Some(77), ..plain },
        transport(Transport { protocol: 6, tcp_flags: Some(0x42), ..Transport::default() }),
        Header { length: 64, ..plain },
        with_length(udp([11, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), 0)),
    ];
    assert_eq!(headers.len(), rules.len());
    for (index, header) in headers.iter().enumerate() {
        assert_eq!(class_of(&policy, header), format!("class {index}"));
    }
    let others = [
        plain,
        Header { source_mac: Some([2, 0, 0x5f, 1, 2, 3]), destination_mac: Some([2, 0, 0, 0, 0, 1]), ..plain },
        transport(Transport { protocol: 6, tcp_flags: Some(0x12), ..Transport::default() }),
        Header { length: 65, ..plain },
    ];
    for header in others {
        assert_eq!(class_of(&policy, &header), "default", "{header:?}");
    }
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
    let text = "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"strict-priority\"\n\
         [[policy.p.class]]\nname = \"low\"\nmatch = [{ dscp = 1 }]\npriority = 7\n\
         [[policy.p.class]]\nname = \"high\"\nmatch = [{ dscp = 2 }]\npriority = 3\n";
    let policy = parse_str("policy.toml", text).unwrap().policy(None).unwrap().clone();
    assert_eq!(policy.classes[2].parameters.priority, Some(8), "the class that is added comes last");
    assert_eq!(order_of_service(&policy, 2), [1, 1, 0, 0, 2, 2]);
}

#[test]
fn weights_count_at_every_level_of_a_tree() {
    let policy = policy(
        "[policy.p]\nrate = \"12 Mbit/s\"\nscheduler = \"drr\"\nbuffer = { limit = \"2000 packets\" }\n\
         [[policy.p.group]]\nname = \"inner\"\nparent = \"outer\"\nweight = 2\nscheduler = \"drr\"\n\
         [[policy.p.group]]\nname = \"outer\"\nweight = 3\nscheduler = \"drr\"\n\
         [[policy.p.class]]\nname = \"a\"\nparent = \"inner\"\nmatch = [{ dscp = 1 }]\n\
         [[policy.p.class]]\nname = \"b\"\nparent = \"inner\"\nmatch = [{ dscp = 2 }]\n\
         [[policy.p.class]]\nname = \"c\"\nparent = \"outer\"\nmatch = [{ dscp = 3 }]\n\
         [[policy.p.class]]\nname = \"d\"\n",
    );
    assert_eq!([0, 1, 2, 3].map(|class| guaranteed(&policy, class)), [3_000_000; 4]);
    let groups: Vec<(&str, Option<u64>)> =
        policy.groups.iter().map(|group| (group.name.as_str(), group.guarantee.rate().map(|rate| rate.floor()))).collect();
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
    assert_eq!([0, 1, 2].map(|class| guaranteed(&policy, class)), [4_000_000, 4_000_000, 2_000_000]);
}

/// In every buffer manager, and in the port itself: the number of packets that stay.
#[test]
fn a_packet_limit_does_not_raise_the_buffers() {
    use tidegate_core::registry::BufferKind;
    for kind in BufferKind::ALL {
        let held = |limits: &str| {
            let text =
                format!("[policy.p]\nrate = \"1 Mbit/s\"\nbuffer = {{ manager = \"{}\", limit = \"12 packets\" }}\n{limits}", kind.name());
            let policy = parse_str("p.toml", &text).unwrap().policy(None).unwrap().clone();
            assert_eq!((policy.packet_limit, policy.setup().packet_limit), (12, 12));
            let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
            for _ in 0..100 {
                port.offer(Time::ZERO, tidegate_core::packet::Flow(0), 1000, Colour::Green, (), &mut ());
            }
            port.occupancy().packets()
        };
        let most = held("");
        assert!((1..=12).contains(&most), "{}: {most}", kind.name());
        assert_eq!(held("packet_limit = \"5000 packets\"\n"), most, "{}", kind.name());
    }
    // Beside a limit in bytes both hold, and are said to.
    let text = "[policy.p]\nrate = \"10 Mbit/s\"\nbuffer = { limit = \"100 kB\" }\npacket_limit = \"30 packets\"\n";
    let summary = summary(&parse_str("p.toml", text).unwrap(), Detail::All);
    assert!(summary.contains("tail-drop within 100 kB and 30 packets"), "{summary}");
}

#[test]
fn legal_and_absurd_values_are_remarked_on() {
    for (text, remark) in [
        ("rate = \"1 Mbit/s\"\nbuffer = { limit = \"100 MB\" }\n", "the buffer holds as much as the link sends in 800 s"),
        (
            "rate = \"100 Mbit/s\"\n[[policy.p.class]]\nname = \"a\"\nshape = { rate = \"64 kbit/s\", burst = \"1 MB\" }\n",
            "a burst of 1 MB is what 64 kbit/s lets through in 125 s",
        ),
        (
            "rate = \"100 Mbit/s\"\n[[policy.p.class]]\nname = \"a\"\npolice = { policer = \"gcra\", rate = \"64 kbit/s\", burst = \"1 MB\" }\n",
            "a burst of 1 MB is what 64 kbit/s lets through in 125 s",
        ),
        (
            "rate = \"100 Mbit/s\"\n[[policy.p.class]]\nname = \"a\"\nshape = { rate = \"1 Mbit/s\", bucket = \"dual\" }\n",
            "a dual bucket makes no difference to a burst of one longest frame",
        ),
        (
            "rate = \"1 Mbit/s\"\nscheduler = \"edf\"\n[[policy.p.class]]\nname = \"a\"\ndelay = \"5 ms\"\nmatch = [{ dscp = 1 }]\n\
             [[policy.p.class]]\nname = \"b\"\ndelay = \"500 ms\"\n",
            "a delay of 5 ms is less than the 12.15 ms that one of the longest frames takes on the link",
        ),
    ] {
        let warnings = parse_str("p.toml", &format!("[policy.p]\n{text}")).unwrap().warnings.expect(remark).to_string();
        assert!(warnings.contains(&format!("warning: {remark}")), "{warnings}");
    }
}

#[test]
fn shaped_classes_and_groups_keep_their_rate() {
    for (tree, due) in [
        ("[[policy.p.class]]\nname = \"a\"\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n", 996.14),
        ("[[policy.p.class]]\nname = \"a\"\nqueues = 4\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n", 996.14),
        ("[[policy.p.class]]\nname = \"a\"\nshape = { rate = \"1 Mbit/s\", burst = \"9 kB\", bucket = \"dual\" }\n", 960.40),
        (
            "[[policy.p.group]]\nname = \"g\"\nshape = { rate = \"1 Mbit/s\", burst = \"9 kB\", bucket = \"dual\" }\n[[policy.p.class]]\nname = \"a\"\nparent = \"g\"\nmatch = [{ dscp = 1 }]\n",
            960.40,
        ),
        (
            "[[policy.p.group]]\nname = \"g\"\nshape = { rate = \"1 Mbit/s\", burst = \"2 kB\" }\n[[policy.p.class]]\nname = \"a\"\nparent = \"g\"\nmatch = [{ dscp = 1 }]\n",
            996.14,
        ),
    ] {
        let policy = policy(&format!("[policy.p]\nrate = \"100 Mbit/s\"\n{tree}"));
        let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
        for _ in 0..126 {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(0), 1000, Colour::Green, (), &mut ());
        }
        // The last packet is due after 125 times 8 ms, less the 482 bytes by which the burst exceeds the longest frame. Of the dual bucket, 8
        // frames leave every 64 ms, 80 us apart: their bytes exceed 9000 B less a longest frame. The last one is the sixth after 15 such bursts.
        let mut last = Time::ZERO;
        port.advance(Time::ZERO + Duration::from_seconds(2), &mut (), |sent| last = sent.start);
        let milliseconds = last.since(Time::ZERO).picoseconds() as f64 / 1e9;
        assert!((due..=due + 0.01).contains(&milliseconds), "{milliseconds} ms with\n{tree}");
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
            "[[policy.isp.group]]\nname = \"c{customer}\"\nrate = \"9 Mbit/s\"\nscheduler = \"strict-priority\"\nshape = {{ rate = \"50 Mbit/s\", burst = \"6 kB\" }}\n\
             [[policy.isp.class]]\nname = \"v{customer}\"\nparent = \"c{customer}\"\npriority = 0\nmatch = [{{ source = \"10.{high}.{low}.0/24\", dscp = 46 }}]\n\
             shape = {{ rate = \"2 Mbit/s\", burst = \"10 kB\" }}\n\
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
    assert!(warnings.contains("group `g` shares 8 Mbit/s, but is guaranteed 2 Mbit/s"), "{warnings}");
}

/// How often each class of a policy under dwcs is served in this many slots, all backlogged with packets of the longest length.
fn served_in(policy: &Policy, slots: usize) -> Vec<usize> {
    let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
    let flows = port.classifier().flows();
    for _ in 0..slots {
        for flow in 0..flows as u32 {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(flow), 1518, Colour::Green, (), &mut ());
        }
    }
    let classifier = policy.setup().classifier;
    let mut served = vec![0; classifier.classes().len()];
    let mut left = slots;
    port.advance(Time::ZERO + Duration::from_seconds(100), &mut (), |sent| {
        if left > 0 {
            served[classifier.class_of(sent.packet.flow)] += 1;
            left -= 1;
        }
    });
    served
}

const DWCS: &str = "[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"dwcs\"\nbuffer = { limit = \"100000 packets\" }\n";

fn windows(policy: &Policy, node: usize) -> Vec<(u32, u32)> {
    let streams = &policy.bounds[node].slots.as_ref().unwrap().streams;
    streams.iter().map(|stream| (stream.window.tolerated, stream.window.deadlines)).collect()
}

/// The weights of ShareStreams' figures 15 and 16 become the windows that are printed there.
#[test]
fn weights_beside_other_services_become_the_published_windows() {
    let share = |name, weight, dscp| {
        format!("[[policy.p.class]]\nname = \"{name}\"\nservice = \"fair-share\"\nweight = {weight}\nmatch = [{{ dscp = {dscp} }}]\n")
    };
    let figure_15 = policy(&format!(
        "{DWCS}{}{}{}[[policy.p.class]]\nname = \"first\"\nservice = \"static-priority\"\n",
        share("a", 2, 1),
        share("b", 1, 2),
        share("c", 1, 3)
    ));
    assert_eq!(windows(&figure_15, 0)[..3], [(1, 2), (3, 4), (3, 4)]);
    assert_eq!(served_in(&figure_15, 100), [0, 0, 0, 100], "static priority goes first");
    let urgent = |name, rest| format!("[[policy.p.class]]\nname = \"{name}\"\nservice = \"edf\"\nperiod = \"4 slots\"\n{rest}");
    let figure_16 =
        policy(&format!("{DWCS}{}{}{}{}", share("a", 2, 1), share("b", 1, 2), urgent("c", "match = [{ dscp = 3 }]\n"), urgent("d", "")));
    assert_eq!(windows(&figure_16, 0), [(2, 3), (5, 6), (0, 255), (0, 255)]);
    let three = policy(&format!("{DWCS}{}{}", share("a", 2, 1), share("b", 1, 2)));
    assert_eq!(windows(&three, 0), [(1, 2), (3, 4), (3, 4)], "the class that is added has a share of weight 1");
    assert_eq!(served_in(&three, 400), [200, 100, 100]);
    assert_eq!([0, 1, 2].map(|class| guaranteed(&three, class)), [5_000_000, 2_500_000, 2_500_000]);
}

#[test]
fn every_key_of_a_service_reaches_the_stream() {
    let text = "[[policy.p.class]]\nname = \"a\"\nmatch = [{ dscp = 1 }]\nservice = \"window 2 of 8\"\nperiod = \"20 ms\"\nlate = \"drop\"\n\
         penalty = 3\n\
         [[policy.p.class]]\nname = \"b\"\nmatch = [{ dscp = 2 }]\nservice = \"static-priority\"\npriority = 5\n\
         [[policy.p.class]]\nname = \"c\"\n";
    let policy = policy(&format!("{DWCS}{text}"));
    let streams = &policy.bounds[0].slots.as_ref().unwrap().streams;
    // A slot of 1518 bytes at 10 Mbit/s takes 1.2144 ms; 16 of them fit into 20 ms.
    let expected = Stream { penalty: 3, droppable: true, ..Stream::windowed(Window::new(2, 8), 16) };
    assert_eq!((streams[0], streams[1]), (expected, Stream::static_priority(5)));
    // What is left of 3/64.
    assert_eq!((streams[2].window, streams[2].penalty), (Window::new(3, 64), 0));
}

/// At most one slot per period, if the node holds early packets back: directly below the link, and below a group.
#[test]
fn the_options_of_a_node_reach_its_scheduler() {
    let class = |rest: &str| format!("[[policy.p.class]]\nname = \"a\"\nservice = \"edf\"\nperiod = \"4 slots\"\n{rest}");
    let group = "[policy.p]\nrate = \"10 Mbit/s\"\n[[policy.p.group]]\nname = \"g\"\nscheduler = \"dwcs\"\nHOLD";
    let flat = DWCS.to_owned() + "HOLD";
    for (text, holds) in [(&flat, true), (&flat, false), (&group.to_owned(), true), (&group.to_owned(), false)] {
        let is_below = text.contains("group");
        let text = text.replace("HOLD", if holds { "dwcs = { early = \"hold\" }\n" } else { "" });
        let rest = if is_below { "parent = \"g\"\nmatch = [{ dscp = 0 }]\n" } else { "" };
        let policy = policy(&(text + &class(rest)));
        let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
        for _ in 0..9 {
            port.offer(Time::ZERO, tidegate_core::packet::Flow(0), 1518, Colour::Green, (), &mut ());
        }
        let mut last = Time::ZERO;
        port.advance(Time::ZERO + Duration::from_seconds(1), &mut (), |sent| last = sent.start);
        let slots = last.since(Time::ZERO).picoseconds() / 1_214_400_000;
        assert_eq!(slots, if holds { 32 } else { 8 }, "below a group: {is_below}");
    }
}

#[test]
fn queues_of_a_class_share_slots() {
    let text = "[[policy.p.class]]\nname = \"a\"\nservice = \"window 1 of 2\"\nmatch = [{ dscp = 1 }]\nqueues = 3\nqueue_scheduler = \"dwcs\"\n\
         [[policy.p.class]]\nname = \"b\"\n";
    let policy = policy(&format!("{DWCS}{text}"));
    assert_eq!(served_in(&policy, 300), [150, 150]);
    assert_eq!((windows(&policy, 0), windows(&policy, 1)), (vec![(1, 2), (1, 2)], vec![(2, 3)]));
    let text = tidegate_scenario::bounds::text(&parse_str("p.toml", &format!("{DWCS}{text}")).unwrap());
    assert!(text.contains("each of 3 queues  fair-share 1  2 of 3") && text.contains("5 Mbit/s"), "{text}");
}

#[test]
fn windows_that_cannot_be_kept_are_remarked_on() {
    let text = format!(
        "{DWCS}[[policy.p.class]]\nname = \"a\"\nservice = \"window 1 of 4\"\nmatch = [{{ dscp = 1 }}]\n\
         [[policy.p.class]]\nname = \"b\"\nservice = \"window 1 of 2\"\n"
    );
    let scenario = parse_str("p.toml", &text).unwrap();
    let warnings = scenario.warnings.as_ref().unwrap().to_string();
    assert!(warnings.contains("windows and deadlines below the link need 5/4 (125 %) of its slots"), "{warnings}");
    assert!(warnings.contains("--> p.toml:11:11"), "{warnings}");
    let bounds = tidegate_scenario::bounds::text(&scenario);
    // T (x + y_max + n - 1) + 1 with x = 1, y_max = 4 and n = 2, and as many slots overdrawn as there are classes.
    assert!(bounds.contains("windows are violated") && bounds.contains("7 slots (10.93 ms)"), "{bounds}");
}

/// The figures of the proven case, and no figures where nothing is proven.
#[test]
fn bounds_say_what_is_proven() {
    let classes = |second| {
        format!(
            "{DWCS}[[policy.p.class]]\nname = \"a\"\nservice = \"window 1 of 2\"\nmatch = [{{ dscp = 1 }}]\n\
             [[policy.p.class]]\nname = \"b\"\nservice = \"window 3 of 4\"\n{second}"
        )
    };
    let json =
        |text: &str| tidegate_scenario::bounds::json(&parse_str("p.toml", text).unwrap())["variants"][0]["ports"][0]["nodes"][0].clone();
    let proven = json(&classes(""));
    assert_eq!((&proven["dwcs"]["verdict"], &proven["dwcs"]["utilisation_fraction"]), (&"kept".into(), &"3/4".into()));
    let first = &proven["members"][0];
    assert_eq!((&first["gap_at_most_slots"], &first["rate_at_least_bps"]), (&3.into(), &5_000_000.into()));
    // Three slots, and at most two of them overdrawn: one per class.
    assert_eq!(first["gap_at_most_s"], 5.0 * 1.2144e-3);
    let aligned = json(&classes("period = \"2 slots\"\n").replace("1 of 2\"\n", "1 of 2\"\nperiod = \"2 slots\"\n"));
    assert_eq!((&aligned["dwcs"]["verdict"], &aligned["members"][0]["gap_at_most_slots"]), (&"kept_if_aligned".into(), &7.into()));
    let unequal = json(&classes("period = \"2 slots\"\n"));
    assert_eq!(unequal["dwcs"]["verdict"], "not_proven");
    assert!(unequal["members"][0]["gap_at_most_slots"].is_null() && unequal["members"][0]["rate_at_least_bps"].is_null());
    let other = json("[policy.p]\nrate = \"10 Mbit/s\"\nscheduler = \"drr\"\n");
    assert_eq!((&other["dwcs"], &other["members"][0]["rate_at_least_bps"]), (&serde_json::Value::Null, &10_000_000.into()));
}

/// Windows of one-slot periods and a share, all backlogged with packets of every length: the waits that are printed are never exceeded, in
/// time, and every class has its rate but for a packet.
#[test]
fn waits_and_rates_are_as_bounds_says() {
    let mut state = 3u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for _ in 0..40 {
        let mut text = DWCS.to_owned();
        for class in 0..1 + random(4) {
            let deadlines = 4 + random(9);
            let tolerated = deadlines - 1 - random(deadlines / 4);
            text += &format!(
                "[[policy.p.class]]\nname = \"{class}\"\nmatch = [{{ dscp = {class} }}]\nservice = \"window {tolerated} of {deadlines}\"\n"
            );
        }
        let Ok(scenario) = parse_str("p.toml", &text) else { continue };
        let policy = scenario.policy(None).unwrap();
        let slots = policy.bounds[0].slots.as_ref().unwrap();
        let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
        for _ in 0..1000 {
            for flow in 0..slots.streams.len() as u32 {
                port.offer(Time::ZERO, tidegate_core::packet::Flow(flow), 64 + random(1455) as u32, Colour::Green, (), &mut ());
            }
        }
        // The link carries some 500 of these packets in that time: everybody stays backlogged.
        let end = Time::ZERO + Duration::from_milliseconds(300);
        let mut last = vec![Time::ZERO; slots.streams.len()];
        let mut bytes = vec![0; slots.streams.len()];
        let mut serving = usize::MAX;
        port.advance(end, &mut (), |sent| {
            let flow = sent.packet.flow.index();
            bytes[flow] += u64::from(sent.packet.length);
            if flow != serving {
                let (gap, bound) =
                    (sent.start.since(last[flow]).picoseconds(), slots.time(slots.longest_gap(&slots.streams[flow]).unwrap()));
                assert!(u128::from(gap) <= bound, "flow {flow} waits {gap} ps of at most {bound} ps with\n{text}");
            }
            (serving, last[flow]) = (flow, sent.start);
        });
        for (flow, (stream, bytes)) in slots.streams.iter().zip(bytes).enumerate() {
            let part = stream.least_service().unwrap();
            let expected = 10_000_000 / 8 * 3 / 10 * u128::from(part.ticks) / part.of;
            // A window, in which all slots may come at its end, and what is overdrawn.
            let slack = 1518 * (u128::from(part.ticks) + 1) + 1518 * slots.streams.len() as u128;
            assert!(u128::from(bytes) + slack >= expected, "flow {flow} gets {bytes} of {expected} bytes with\n{text}");
        }
    }
}

/// The policy for IP flows in `scenarios/`: whatever the others send, a customer that asks for its minimum rate gets it, and what is free is
/// shared.
#[test]
fn minimum_rates_for_plain_packets_are_kept() {
    let text = std::fs::read_to_string("../../scenarios/policies/minimum-rates.toml").unwrap();
    let policy = policy(&text);
    // In Mbit/s on the wire: office, shop, two best-effort flows; and the least that each has to get.
    for (offered, least) in [([7.9, 3.9, 40.0, 0.0], [7.8, 3.8, 7.5, 0.0]), ([40.0, 3.9, 40.0, 40.0], [8.0, 3.8, 2.0, 2.0])] {
        let setup = policy.setup();
        let queues = [0, 1, 2, 3].map(tidegate_core::packet::Flow);
        let mut port: Port<()> = Port::new(Time::ZERO, setup);
        let mut sent = [0u64; 4];
        // A packet of 1000 bytes takes 1024 on the wire.
        let wire_bits = 8 * 1024;
        let mut due = offered.map(|_| 0.0);
        for microsecond in 0..2_000_000u64 {
            let now = Time::ZERO + Duration::from_microseconds(microsecond);
            port.advance(now, &mut (), |sending| sent[sending.packet.flow.index()] += 1);
            for flow in 0..4 {
                due[flow] += offered[flow] / f64::from(wire_bits);
                if due[flow] >= 1.0 {
                    due[flow] -= 1.0;
                    port.offer(now, queues[flow], 1000, Colour::Green, (), &mut ());
                }
            }
        }
        port.check().unwrap();
        let rates = sent.map(|packets| (packets * wire_bits as u64) as f64 / 2e6);
        assert!(rates.iter().zip(least).all(|(rate, least)| *rate >= least), "{rates:?}, at least {least:?}");
        assert!(rates.iter().sum::<f64>() > 19.8, "the link is used: {rates:?}");
    }
}

#[test]
fn cells_are_scheduled_by_contracts_in_slots_of_the_link() {
    use tidegate_cells::{CellContract, CellRate, Conflict, Mode, SLOT, Sustained, Ticks};
    let text = r#"
        [policy.adapter]
        rate = "100 Mbit/s"
        cells = { conflict = "cdvt", minimum_shares = ["0 %", "25 %"], transfer = { access_latency = "10 us", bus_rate = "1 Gbit/s", buffer = 64 } }
        [[policy.adapter.class]]
        name = "film"
        match = [{ dscp = "af41" }]
        queues = 2
        contract = { peak_cell_rate = "25 Mbit/s", sustainable_cell_rate = "5 Mbit/s", maximum_burst_size = 10, bucket = "dual", cell_delay_variation_tolerance = "8.48 us", priority = 1 }
    "#;
    let adapter = policy(text).adapter.unwrap();
    let sustained = Sustained { interval: Ticks::slots(20), maximum_burst_size: 10 };
    let film = CellContract {
        delay_variation_tolerance: Ticks::slots(2),
        class: 1,
        mode: Mode::DualBucket(sustained),
        ..CellContract::constant(Ticks::slots(4))
    };
    let rest = CellContract { class: 7, ..CellContract::constant(Ticks(SLOT)) };
    assert_eq!((adapter.conflict, &adapter.contracts[..]), (Conflict::Tolerance, &[film, film, rest][..]));
    assert_eq!(adapter.minimum_shares[..3], [CellRate::ZERO, CellRate(CellRate::LINK.0 / 4), CellRate::ZERO]);
    // A slot lasts 4.24 us; 48 bytes take 384 ns on the bus, 0.0906 of it.
    let transfer = adapter.transfer.unwrap();
    assert_eq!((transfer.access_latency, transfer.cell_time.0, transfer.burst, transfer.buffer), (3, 5936, 8, 64));
    let scenario = parse_str("policy.toml", text).unwrap();
    let summary = summary(&scenario, Detail::All);
    assert!(
        summary.contains("PCR 25 Mbit/s, SCR 5 Mbit/s, MBS 10 (DLB), CDVT 2.000 slots") && summary.contains("2 connections"),
        "{summary}"
    );
    assert!(tidegate_scenario::bounds::text(&scenario).contains("no bound is computed"));
}
