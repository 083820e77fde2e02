//! Buffers of classes and groups of their own.

use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::Port;
use tidegate_core::units::Time;
use tidegate_scenario::parse_str;

/// A class or group with a buffer of its own shares it with nothing else; the innermost holds.
#[test]
fn buffers_of_classes_and_groups_are_partitions() {
    let text = r#"
        [policy.p]
        rate = "1 Mbit/s"
        buffer = { limit = "4 packets" }
        group = [{ name = "outer", buffer = { limit = "3 packets" } }, { name = "inner", parent = "outer" }]
        class = [
            { name = "a", parent = "inner", match = [{ dscp = 1 }] },
            { name = "b", parent = "inner", match = [{ dscp = 2 }], buffer = { manager = "selective-pushout", limit = "2 packets" } },
            { name = "c", parent = "outer", match = [{ dscp = 3 }] },
            { name = "d" },
        ]
    "#;
    let scenario = parse_str("p.toml", text).unwrap();
    let policy = scenario.policy(None).unwrap();
    assert_eq!(policy.classes.iter().map(|class| class.partition).collect::<Vec<_>>(), [Some(0), Some(1), Some(0), None]);
    assert_eq!(policy.packet_limit, 4 + 3 + 2);
    let names: Vec<&str> = policy.partitions.iter().map(|partition| partition.name.as_str()).collect();
    assert_eq!(names, ["group `outer`", "class `b`"]);
    let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
    // Each class floods the port; one packet is on the link.
    for flow in [3, 0, 1, 2].map(Flow) {
        for _ in 0..20 {
            port.offer(Time::ZERO, flow, 1000, Colour::Green, (), &mut ());
        }
    }
    let queued = [0, 1, 2, 3].map(|flow| port.occupancy().flow_packets(Flow(flow)));
    assert_eq!(queued, [3, 2, 0, 4], "class c came after a, in the same buffer");
}

/// Classes that name the same partition share it, and with nothing else.
#[test]
fn classes_share_the_partition_that_they_name() {
    let text = r#"
        [policy.p]
        rate = "1 Mbit/s"
        buffer = { limit = "4 packets" }
        partition = { calls = { limit = "3 packets" } }
        class = [
            { name = "a", match = [{ dscp = 1 }], partition = "calls" },
            { name = "b", match = [{ dscp = 2 }], buffer = { limit = "2 packets" } },
            { name = "c", match = [{ dscp = 3 }], partition = "calls" },
            { name = "d" },
        ]
    "#;
    let scenario = parse_str("p.toml", text).unwrap();
    let policy = scenario.policy(None).unwrap();
    assert_eq!(policy.classes.iter().map(|class| class.partition).collect::<Vec<_>>(), [Some(0), Some(1), Some(0), None]);
    assert_eq!(policy.packet_limit, 3 + 2 + 4);
    let mut port: Port<()> = Port::new(Time::ZERO, policy.setup());
    for flow in [3, 0, 1, 2].map(Flow) {
        for _ in 0..20 {
            port.offer(Time::ZERO, flow, 1000, Colour::Green, (), &mut ());
        }
    }
    assert_eq!([0, 1, 2, 3].map(|flow| port.occupancy().flow_packets(Flow(flow))), [3, 2, 0, 4]);
    let shown = tidegate_scenario::summary::summary(&scenario, tidegate_scenario::summary::Detail::All);
    assert!(shown.contains("partition `calls`: tail-drop within 3 packets") && shown.contains("in partition `calls`"), "{shown}");
}
