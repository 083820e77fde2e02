//! What a packet meets, and how policies differ.

use std::collections::BTreeMap;
use tidegate_core::classifier::{Header, Network, Transport};
use tidegate_scenario::explain::{Difference, difference, met, print_header, print_rule};
use tidegate_scenario::{FileSet, Policy, parse_policies};

const FILE: &str = r#"
[policy.access]
rate = "10 Mbit/s"
scheduler = "wf2q+"
[[policy.access.group]]
name = "homes"
scheduler = "drr"
weight = 1
[[policy.access.class]]
name = "voice"
parent = "homes"
match = [{ dscp = "ef" }, { source = "10.0.0.0/8", protocol = "udp", destination_port = "5000-5010" }]
weight = 1
[[policy.access.class]]
name = "video"
parent = "homes"
match = [{ source = "2001:db8::7" }]
weight = 1
queues = 8
[[policy.access.class]]
name = "rest"
weight = 1
"#;

fn policy(text: &str, set: &[&str]) -> Policy {
    let set: Vec<String> = set.iter().map(|value| (*value).to_owned()).collect();
    let files = FileSet { name: "access.toml".to_owned(), text: text.into(), files: BTreeMap::new() };
    parse_policies(&files, &set).unwrap_or_else(|problems| panic!("{problems}")).policy(None).unwrap().clone()
}

fn v4(source: u32, protocol: u8, dscp: u8, ports: (u16, u16)) -> Header {
    let transport = Transport { dscp, protocol, fragment: false, ports: Some(ports), ..Transport::default() };
    Header { ethernet_type: 0x0800, network: Network::V4 { source, destination: 0x0a00_0001, transport }, ..Header::default() }
}

#[test]
fn a_packet_meets_the_rule_that_takes_it() {
    let policy = policy(FILE, &[]);
    let voice = met(&policy, &v4(0x0a01_0203, 17, 0, (9, 5004)));
    assert_eq!(policy.classes[voice.class].name, "voice");
    assert_eq!(voice.rule.as_deref(), Some("{ source = \"10.0.0.0/8\", protocol = \"udp\", destination_port = \"5000-5010\" }"));
    assert_eq!(voice.groups.len(), 1);
    assert!(voice.groups[0].starts_with("homes: drr; weight 1"), "{:?}", voice.groups);
    assert_eq!(met(&policy, &v4(0x0b01_0203, 6, 46, (9, 5004))).rule.as_deref(), Some("{ dscp = \"ef\" }"));
    let rest = met(&policy, &v4(0x0a01_0203, 17, 0, (9, 5011)));
    assert_eq!((policy.classes[rest.class].name.as_str(), rest.rule, rest.queue), ("rest", None, 0));
    let transport = Transport { dscp: 0, protocol: 6, fragment: false, ports: Some((1, 2)), ..Transport::default() };
    let source = 0x2001_0db8_0000_0000_0000_0000_0000_0007;
    let video =
        met(&policy, &Header { ethernet_type: 0x86dd, network: Network::V6 { source, destination: 1, transport }, ..Header::default() });
    assert_eq!(video.rule.as_deref(), Some("{ source = \"2001:db8::7\" }"));
    assert!(video.queue < 8);
    assert_eq!(print_header(&v4(0x0a01_0203, 17, 46, (9, 5011))), "10.1.2.3 to 10.0.0.1, udp port 9 to 5011, DSCP ef");
}

/// A rule is told in the words of the file: read again, it is the same rule.
#[test]
fn rules_are_told_in_words_that_can_be_read_again() {
    let rules = [
        "{ length = \"64-128 B\", not = [{ dscp = \"ef\" }, { protocol = \"tcp\", tcp_flags = \"syn+!ack\" }] }",
        "{ vlan = 5, inner_vlan = 7, source_mac = \"02:00:5e:10:00:01\", destination_mac = \"02:00:00:00:00:00/8\" }",
        "{ destination_mac = \"01:00:00:00:00:00/01:00:00:00:00:00\", flow_label = 9, tcp_flags = \"ack+ae+!fin\" }",
        "{ length = \"60 B\" }",
    ];
    for rule in rules {
        let file = |rule: &str| {
            format!(
                "[policy.p]\nrate = \"1 Mbit/s\"\n[[policy.p.class]]\nname = \"a\"\nmatch = [{rule}]\n[[policy.p.class]]\nname = \"b\"\n"
            )
        };
        let told = |text: &str| policy(text, &[]).setup().classifier.rules().map(|(_, rule)| print_rule(&rule)).collect::<Vec<_>>();
        let once = told(&file(rule));
        assert_eq!(told(&file(&once[0])), once);
        assert_eq!(once.len(), 1);
        for part in rule.split(['{', '}', '[', ']', ',']).map(str::trim).filter(|part| part.contains(" = \"")) {
            assert!(once[0].contains(part), "{part} of {once:?}");
        }
    }
    let transport = Transport { protocol: 6, ports: Some((1, 2)), tcp_flags: Some(0x12), ..Transport::default() };
    let header = Header {
        length: 74,
        source_mac: Some([2, 0, 0, 0, 0, 1]),
        destination_mac: Some([2, 0, 0, 0, 0, 2]),
        ethernet_type: 0x86dd,
        vlan: Some(5),
        inner_vlan: Some(7),
        flow_label: Some(9),
        network: Network::V6 { source: 1, destination: 2, transport },
        ..Header::default()
    };
    let words = "::1 to ::2, tcp port 1 to 2, DSCP default, TCP flags syn+ack, flow label 9, VLAN 5, inner VLAN 7, \
         02:00:00:00:00:01 to 02:00:00:00:00:02, 74 B";
    assert_eq!(print_header(&header), words);
}

#[test]
fn policies_differ_where_a_class_has_other_rules_or_values() {
    let before = policy(FILE, &[]);
    assert_eq!(difference(&before, &before), Difference { same: 3, ..Difference::default() });
    // A share that falls only because another class got more is no change of its own.
    let more = policy(FILE, &["policy.access.class.voice.weight=5"]);
    assert_eq!(difference(&before, &more), Difference { changed: vec!["voice".into()], same: 2, ..Difference::default() });
    let rule = policy(&FILE.replace("dscp = \"ef\"", "dscp = \"cs5\""), &[]);
    assert_eq!(difference(&before, &rule).changed, ["voice"]);
    let moved = policy(&FILE.replace("name = \"video\"\nparent = \"homes\"", "name = \"video\""), &[]);
    assert_eq!(difference(&before, &moved).changed, ["video"]);
    let named = difference(&before, &policy(&FILE.replace("\"rest\"", "\"others\""), &[]));
    assert_eq!((named.added, named.removed, named.same), (vec!["others".to_owned()], vec!["rest".to_owned()], 2));
}
