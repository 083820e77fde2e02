//! Rules cover exactly what they match.

use super::*;
use alloc::boxed::Box;

/// Rules of one condition each: per field enough of them to cover, to overlap and to be apart.
fn rules() -> Vec<Rule> {
    let v4 = |address, length| Some(Prefix::V4 { address, length });
    let v6 = |address, length| Some(Prefix::V6 { address, length });
    let prefixes = [v4(0, 0), v4(1 << 31, 1), v4(1 << 31, 32), v4(1 << 31 | 1, 32), v4(0, 1), v6(0, 0), v6(1 << 127, 1), v6(1 << 127, 128)];
    let ranges = [(0, u16::MAX), (5, 7), (6, 6), (7, 9)].map(|(first, last)| Some(PortRange { first, last }));
    let mut rules = alloc::vec![Rule::default()];
    for source in prefixes {
        rules.push(Rule { source, ..Rule::default() });
        rules.push(Rule { destination: source, ..Rule::default() });
    }
    for source_port in ranges {
        rules.push(Rule { source_port, ..Rule::default() });
        rules.push(Rule { destination_port: source_port, ..Rule::default() });
    }
    rules.extend([0b1, 0b11, 0b110, 0b10, u64::MAX].map(|set| Rule { dscp: Some(CodePoints(set)), ..Rule::default() }));
    rules.extend([Ecn::Ect1, Ecn::Ce].map(|ecn| Rule { ecn: Some(ecn), ..Rule::default() }));
    rules.extend([6, 17].map(|protocol| Rule { protocol: Some(protocol), ..Rule::default() }));
    rules.extend([true, false].map(|fragment| Rule { fragment: Some(fragment), ..Rule::default() }));
    rules.extend([0x800, 0x86DD].map(|kind| Rule { ethernet_type: Some(kind), ..Rule::default() }));
    rules.extend([1, 2].map(|id| Rule { vlan: Some(id), ..Rule::default() }));
    rules.extend([1, 2].map(|priority| Rule { vlan_priority: Some(priority), ..Rule::default() }));
    rules.extend([1, 2].map(|label| Rule { mpls_label: Some(label), ..Rule::default() }));
    rules.extend([1, 2].map(|class| Rule { mpls_traffic_class: Some(class), ..Rule::default() }));
    rules.extend([1, 2].map(|id| Rule { inner_vlan: Some(id), ..Rule::default() }));
    rules.extend([1, 2].map(|label| Rule { flow_label: Some(label), ..Rule::default() }));
    let lengths = [(0, u32::MAX), (0, 100), (60, 100), (100, 100), (101, u32::MAX)];
    rules.extend(lengths.map(|(first, last)| Rule { length: Some(LengthRange { first, last }), ..Rule::default() }));
    let macs = [(0, 0xff), (1, 0xff), (1, 0x03), (1 << 40, 1 << 40), (1, 0xffff_ffff_ffff)];
    for pattern in macs.map(|(address, mask)| Some(MacPattern { address, mask })) {
        rules.push(Rule { source_mac: pattern, ..Rule::default() });
        rules.push(Rule { destination_mac: pattern, ..Rule::default() });
    }
    let flags = [(0b10, 0), (0b10, 0b1000), (0b1010, 0), (0, 0b1000)];
    rules.extend(flags.map(|(set, clear)| Rule { tcp_flags: Some(FlagPattern { set, clear }), ..Rule::default() }));
    // All packets but those of one condition.
    let excepted: Vec<Rule> = rules.iter().filter(|rule| rule.length.is_none()).skip(1).step_by(3).cloned().collect();
    rules.extend(excepted.into_iter().map(|exception| Rule { not: alloc::vec![exception], ..Rule::default() }));
    rules
}

/// Headers that vary in two fields at a time, over every value that tells two of the rules apart.
fn headers() -> Vec<Header> {
    struct Parts {
        header: Header,
        transport: Transport,
        source: u32,
        destination: u32,
    }
    type Edit = Box<dyn Fn(&mut Parts)>;
    let mut edits: Vec<Edit> = Vec::new();
    for value in 0..4u8 {
        edits.push(Box::new(move |parts| parts.transport.dscp = value));
        edits.push(Box::new(move |parts| parts.transport.ecn = Ecn::from_bits(value)));
        edits.push(Box::new(move |parts| parts.header.vlan = Some(value.into())));
        edits.push(Box::new(move |parts| parts.header.inner_vlan = Some(value.into())));
        edits.push(Box::new(move |parts| parts.header.flow_label = Some(value.into())));
        edits.push(Box::new(move |parts| parts.header.length = [59, 60, 100, 101][usize::from(value)]));
        edits.push(Box::new(move |parts| parts.transport.tcp_flags = Some([0b10, 0b1010, 0b1000, 0][usize::from(value)])));
        edits.push(Box::new(move |parts| parts.header.vlan_priority = Some(value)));
        edits.push(Box::new(move |parts| parts.header.mpls_label = Some(value.into())));
        edits.push(Box::new(move |parts| parts.header.mpls_traffic_class = Some(value)));
        edits.push(Box::new(move |parts| parts.header.ethernet_type = [0x800, 0x86DD, 0x806, 0x8847][usize::from(value)]));
        let address = [0, 1 << 31, 1 << 31 | 1, 1 << 31 | 2][usize::from(value)];
        edits.push(Box::new(move |parts| parts.source = address));
        edits.push(Box::new(move |parts| parts.destination = address));
    }
    for (first, last) in [(0, 0), (0, 1), (0, 5), (1, 0), (1, 1)] {
        let mac = [first, 0, 0, 0, 0, last];
        edits.push(Box::new(move |parts| parts.header.source_mac = Some(mac)));
        edits.push(Box::new(move |parts| parts.header.destination_mac = Some(mac)));
    }
    for port in [0, 5, 6, 7, 8, 9, 10] {
        edits.push(Box::new(move |parts| parts.transport.ports = Some((port, parts.transport.ports.unwrap_or_default().1))));
        edits.push(Box::new(move |parts| parts.transport.ports = Some((parts.transport.ports.unwrap_or_default().0, port))));
    }
    for protocol in [6, 17, 1] {
        edits.push(Box::new(move |parts| parts.transport.protocol = protocol));
    }
    edits.push(Box::new(|parts| parts.transport.fragment = true));
    edits.push(Box::new(|parts| parts.transport.ports = None));
    let mut headers = Vec::new();
    for (first, second) in edits.iter().flat_map(|first| edits.iter().map(move |second| (first, second))) {
        let transport = Transport { ports: Some((0, 0)), ..Transport::default() };
        let mut parts = Parts { header: Header::default(), transport, source: 0, destination: 0 };
        first(&mut parts);
        second(&mut parts);
        let Parts { header, transport, source, destination } = parts;
        let wide = |address: u32| u128::from(address) << 96 | u128::from(address & 3);
        let v6 = Network::V6 { source: wide(source), destination: wide(destination), transport };
        let networks = [Network::Other, Network::V4 { source, destination, transport }, v6];
        headers.extend(networks.map(|network| Header { network, ..header }));
    }
    headers
}

#[test]
fn a_rule_covers_another_exactly_if_it_matches_all_that_the_other_matches() {
    let (rules, headers) = (rules(), headers());
    for a in &rules {
        for b in &rules {
            let matches_all = headers.iter().all(|header| !b.matches(header) || a.matches(header));
            assert_eq!(a.covers(b), matches_all, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn every_condition_has_to_hold() {
    let (rules, headers) = (rules(), headers());
    for a in rules.iter().filter(|rule| rule.source.is_some()) {
        for b in &rules {
            let both = Rule { source: a.source, ..b.clone() };
            for header in headers.iter().filter(|_| b.source.is_none()) {
                assert_eq!(both.matches(header), a.matches(header) && b.matches(header));
            }
        }
    }
}

#[test]
fn an_exception_takes_packets_out() {
    let (rules, headers) = (rules(), headers());
    for exception in rules.iter().filter(|rule| rule.not.is_empty()) {
        let all_but = Rule { not: alloc::vec![exception.clone()], ..Rule::default() };
        let nowhere = Rule { not: alloc::vec![exception.clone(), Rule { vlan: Some(1), ..Rule::default() }], ..Rule::default() };
        for header in &headers {
            assert_eq!(all_but.matches(header), !exception.matches(header));
            assert_eq!(nowhere.matches(header), !exception.matches(header) && header.vlan != Some(1));
        }
    }
}
