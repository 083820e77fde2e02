//! The classifier against a linear scan of its rules, its refusals, and the spread of flows over queues.

use proptest::prelude::*;
use tidegate_core::classifier::{
    ClassRules, Classifier, ClassifierError, CodePoints, FlagPattern, Header, LengthRange, MacPattern, Network, PortRange, Prefix, Rule,
    RuleProblem, Spread, Transport,
};
use tidegate_core::packet::{Ecn, Flow};

/// Few values per field, so that rules and headers meet often.
fn header() -> impl Strategy<Value = Header> {
    let protocol = prop_oneof![Just(6u8), Just(17), Just(1)];
    let transport = (0u8..4, 0u8..4, protocol, any::<bool>(), proptest::option::of((0u16..6, 0u16..6)), proptest::option::of(flags()))
        .prop_map(|(dscp, ecn, protocol, fragment, ports, tcp_flags)| Transport {
            dscp,
            ecn: Ecn::from_bits(ecn),
            protocol,
            fragment,
            ports,
            tcp_flags,
        });
    let v4 = (address(), address(), transport.clone()).prop_map(|(source, destination, transport)| Network::V4 {
        source,
        destination,
        transport,
    });
    let v6 = (address(), address(), transport).prop_map(|(source, destination, transport)| Network::V6 {
        source: u128::from(source) << 96 | u128::from(source),
        destination: u128::from(destination) << 64,
        transport,
    });
    let network = prop_oneof![1 => Just(Network::Other), 5 => v4, 3 => v6];
    let link = (
        prop_oneof![Just(0x0800u16), Just(0x86DD), Just(0x8847)],
        proptest::option::of(0u16..3),
        proptest::option::of(0u8..3),
        proptest::option::of(0u32..3),
        proptest::option::of(0u8..3),
    );
    let rarer = (60u32..64, proptest::option::of(mac()), proptest::option::of(mac()), proptest::option::of(0u16..3));
    (link, rarer, proptest::option::of(0u32..3), network).prop_map(|(link, rarer, flow_label, network)| {
        let (ethernet_type, vlan, vlan_priority, mpls_label, mpls_traffic_class) = link;
        let (length, source_mac, destination_mac, inner_vlan) = rarer;
        Header {
            length,
            source_mac,
            destination_mac,
            ethernet_type,
            vlan,
            vlan_priority,
            inner_vlan,
            mpls_label,
            mpls_traffic_class,
            flow_label,
            network,
        }
    })
}

fn mac() -> impl Strategy<Value = [u8; 6]> {
    (0u8..3, 0u8..3).prop_map(|(first, last)| [first, 0, 0, 0, 0, last])
}

/// SYN, ACK, both or neither.
fn flags() -> impl Strategy<Value = u16> + Clone {
    prop_oneof![Just(0u16), Just(0b10), Just(0b1_0000), Just(0b1_0010)]
}

fn address() -> impl Strategy<Value = u32> {
    (0u32..3, 0u32..3, 0u32..3).prop_map(|(a, b, c)| a << 31 | b << 16 | c)
}

fn prefix() -> impl Strategy<Value = Prefix> {
    let v4 = (address(), prop_oneof![Just(0u8), Just(1), Just(16), Just(31), Just(32)])
        .prop_map(|(address, length)| Prefix::V4 { address: address & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0), length });
    let v6 =
        (address(), any::<bool>(), prop_oneof![Just(0u8), Just(1), Just(33), Just(112), Just(128)]).prop_map(|(address, low, length)| {
            let address = if low { u128::from(address) << 96 | u128::from(address) } else { u128::from(address) << 64 };
            Prefix::V6 { address: address & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0), length }
        });
    prop_oneof![2 => v4, 1 => v6]
}

fn mac_pattern() -> impl Strategy<Value = MacPattern> {
    let number = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    (mac(), prop_oneof![Just(0xffff_ffff_ffffu64), Just(0xff00_0000_0000), Just(1 << 40), Just(1)])
        .prop_map(move |(mac, mask)| MacPattern { address: number(mac) & mask, mask })
}

fn flag_pattern() -> impl Strategy<Value = FlagPattern> {
    (flags(), flags()).prop_map(|(set, clear)| FlagPattern { set, clear: clear & !set })
}

/// A rule of few conditions, with exceptions at times; some contradict themselves and are left out by the tests.
fn rule() -> impl Strategy<Value = Rule> {
    let exceptions = prop_oneof![3 => Just(vec![]), 1 => proptest::collection::vec(conditions(), 1..3)];
    (conditions(), exceptions).prop_map(|(conditions, not)| Rule { not, ..conditions })
}

fn conditions() -> impl Strategy<Value = Rule> {
    fn rarely<T: Clone + std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
        proptest::option::weighted(0.15, strategy)
    }
    fn often<T: Clone + std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
        proptest::option::weighted(0.35, strategy)
    }
    let range = || (0u16..6, 0u16..4).prop_map(|(first, more)| PortRange { first, last: if more == 3 { u16::MAX } else { first + more } });
    let link = (rarely(prop_oneof![Just(0x0800u16), Just(0x8847)]), rarely(0u16..3), rarely(0u8..3), rarely(0u32..3), rarely(0u8..3));
    let network = (
        often(prefix()),
        often(prefix()),
        rarely((1u64..16).prop_map(CodePoints)),
        rarely((0u8..4).prop_map(Ecn::from_bits)),
        often(prop_oneof![Just(6u8), Just(17)]),
    );
    let lengths = (60u32..64, 60u32..64).prop_map(|(one, other)| LengthRange { first: one.min(other), last: one.max(other) });
    let rarer = (rarely(lengths), rarely(mac_pattern()), rarely(mac_pattern()), rarely(0u16..3), rarely(0u32..3), rarely(flag_pattern()));
    (link, network, rarely(range()), often(range()), rarely(any::<bool>()), rarer).prop_map(
        |(link, network, source_port, destination_port, fragment, rarer)| {
            let (ethernet_type, vlan, vlan_priority, mpls_label, mpls_traffic_class) = link;
            let (source, destination, dscp, ecn, protocol) = network;
            let (length, source_mac, destination_mac, inner_vlan, flow_label, tcp_flags) = rarer;
            Rule {
                length,
                source_mac,
                destination_mac,
                inner_vlan,
                flow_label,
                tcp_flags,
                ethernet_type,
                vlan,
                vlan_priority,
                mpls_label,
                mpls_traffic_class,
                source,
                destination,
                dscp,
                ecn,
                protocol,
                source_port,
                destination_port,
                fragment,
                not: vec![],
            }
        },
    )
}

/// Classes of the given rules, without those that are refused, and a default one.
fn build(rules: &[Vec<Rule>]) -> (Classifier, Vec<Vec<Rule>>) {
    let mut rules = rules.to_vec();
    loop {
        let mut classes: Vec<_> = rules
            .iter()
            .enumerate()
            .map(|(index, rules)| ClassRules { name: format!("class {index}"), queues: 1 + index as u32 * 3, rules: rules.clone() })
            .collect();
        classes.push(ClassRules { name: "rest".into(), queues: 2, rules: vec![] });
        match Classifier::new(classes, 5) {
            Ok(classifier) => return (classifier, rules),
            Err(ClassifierError::Rule { class, rule, .. } | ClassifierError::Shadowed { class, rule, .. }) => {
                rules[class].remove(rule);
            }
            Err(ClassifierError::NoRules { class }) => {
                rules.remove(class);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    /// The definition: rules in order, the first that matches.
    #[test]
    fn agrees_with_a_linear_scan(
        rules in proptest::collection::vec(proptest::collection::vec(rule(), 1..12), 0..8),
        headers in proptest::collection::vec(header(), 200),
    ) {
        let (classifier, rules) = build(&rules);
        // Most rules are kept as mask and values alone.
        let kept: Vec<Rule> = classifier.rules().map(|(_, rule)| rule).collect();
        prop_assert_eq!(kept, rules.concat());
        for header in headers {
            let scanned = rules.iter().position(|class| class.iter().any(|rule| rule.matches(&header))).unwrap_or(rules.len());
            let (flow, rule) = classifier.classify_by(&header);
            prop_assert_eq!(classifier.class_of(flow), scanned, "{:?}", header);
            let first = rules.iter().flatten().position(|rule| rule.matches(&header));
            prop_assert_eq!(rule.map(|rule| rule as usize), first, "{:?}", header);
            let class = &classifier.classes()[scanned];
            prop_assert!(flow.0 >= class.first_flow.0 && flow.0 < class.first_flow.0 + class.queues);
        }
    }

    /// A rule that is refused as shadowed really can never match first, and covering is what it says.
    #[test]
    fn a_covering_rule_matches_all_that_the_other_matches(a in rule(), b in rule(), headers in proptest::collection::vec(header(), 100)) {
        let is_empty = |rule: &Rule| rule.dscp.is_some_and(|set| set.0 == 0);
        prop_assert!(a.covers(&a) || is_empty(&a) || a.not.iter().any(is_empty));
        if a.covers(&b) {
            for header in headers {
                prop_assert!(!b.matches(&header) || a.matches(&header));
            }
        }
        let refused = Classifier::new(vec![class(&[a.clone(), b.clone()]), class(&[])], 0).err();
        let is_sound = |rule: &Rule| Classifier::new(vec![class(std::slice::from_ref(rule)), class(&[])], 0).is_ok();
        if is_sound(&a) && is_sound(&b) {
            let shadowed = Some(ClassifierError::Shadowed { class: 0, rule: 1, by_class: 0, by_rule: 0 });
            prop_assert_eq!(refused, if a.covers(&b) { shadowed } else { None });
        }
    }
}

fn class(rules: &[Rule]) -> ClassRules {
    ClassRules { name: "some".into(), queues: 1, rules: rules.to_vec() }
}

fn v4(source: u32, destination: u32, ports: (u16, u16)) -> Header {
    let transport = Transport { dscp: 0, protocol: 17, fragment: false, ports: Some(ports), ..Transport::default() };
    Header { ethernet_type: 0x0800, network: Network::V4 { source, destination, transport }, ..Header::default() }
}

#[test]
fn thousands_of_rules_are_told_apart() {
    let rules: Vec<_> = (0..5000u32)
        .map(|i| Rule {
            source: Some(Prefix::V4 { address: 10 << 24 | i << 8, length: 24 }),
            destination_port: (i % 3 == 0).then_some(PortRange { first: 1000, last: 2000 }),
            ..Rule::default()
        })
        .map(|rule| class(&[rule]))
        .chain([class(&[])])
        .collect();
    let classifier = Classifier::new(rules, 9).unwrap();
    assert_eq!(classifier.flows(), 5001);
    for i in 0..5000u32 {
        let from = |port| classifier.classify(&v4(10 << 24 | i << 8 | 77, 1, (5, port)));
        assert_eq!(from(1500), Flow(i));
        assert_eq!(from(3000), Flow(if i % 3 == 0 { 5000 } else { i }));
    }
    assert_eq!(classifier.classify(&v4(11 << 24, 1, (5, 1500))), Flow(5000));
}

/// As many as there are customers behind one switch: found by one probe, whatever their number.
#[test]
fn thousands_of_stations_and_inner_tags_are_told_apart() {
    let mac = |i: u32| [2, 0, 0, 0, (i >> 8) as u8, i as u8];
    let rules: Vec<_> = (0..4000u32)
        .map(|i| match i % 2 {
            0 => Rule { source_mac: Some(MacPattern { address: 2 << 40 | u64::from(i), mask: (1 << 48) - 1 }), ..Rule::default() },
            _ => Rule { vlan: Some(100), inner_vlan: Some(i as u16), ..Rule::default() },
        })
        .map(|rule| class(&[rule]))
        .chain([class(&[])])
        .collect();
    let classifier = Classifier::new(rules, 9).unwrap();
    for i in 0..4000u32 {
        let by_mac = Header { source_mac: Some(mac(i)), ..Header::default() };
        let by_tags = Header { vlan: Some(100), inner_vlan: Some(i as u16), ..Header::default() };
        let expected = if i % 2 == 0 { [i, 4000] } else { [4000, i] };
        assert_eq!([by_mac, by_tags].map(|header| classifier.classify(&header).0), expected);
    }
}

#[test]
fn lengths_change_the_class_at_the_steps_that_are_told() {
    let length = |first, last| Rule { length: Some(LengthRange { first, last }), ..Rule::default() };
    let except = Rule { not: vec![length(300, u32::MAX)], vlan: Some(1), ..Rule::default() };
    let classifier = Classifier::new(vec![class(&[length(0, 99)]), class(&[length(90, 199)]), class(&[except]), class(&[])], 0).unwrap();
    let steps = classifier.length_steps();
    assert_eq!(steps, [90, 100, 200, 300]);
    let of = |length| classifier.classify(&Header { length, vlan: Some(1), ..Header::default() });
    for length in (1..400).filter(|length| !steps.contains(length)) {
        assert_eq!(of(length), of(length - 1), "{length}");
    }
    assert_eq!([0, 99, 100, 199, 200, 299, 300].map(|length| of(length).0), [0, 0, 1, 1, 2, 2, 3]);
    assert!(Classifier::new(vec![class(&[])], 0).unwrap().length_steps().is_empty());
}

#[test]
fn what_can_never_work_is_refused() {
    let refusal = |classes: Vec<ClassRules>| Classifier::new(classes, 0).unwrap_err();
    assert_eq!(refusal(vec![]), ClassifierError::NoClass);
    assert_eq!(refusal(vec![class(&[]), class(&[])]), ClassifierError::NoRules { class: 0 });
    let mut empty = class(&[]);
    empty.queues = 0;
    assert_eq!(refusal(vec![empty.clone()]), ClassifierError::NoQueues { class: 0 });
    empty.queues = (1 << 30) + 1;
    assert_eq!(refusal(vec![empty]), ClassifierError::TooManyQueues { class: 0 });
    let v6 = Prefix::V6 { address: 0, length: 0 };
    let v4 = |address, length| Some(Prefix::V4 { address, length });
    for (rule, problem) in [
        (Rule { length: Some(LengthRange { first: 2, last: 1 }), ..Rule::default() }, RuleProblem::LengthsReversed),
        (Rule { source_mac: Some(MacPattern { address: 0, mask: 0 }), ..Rule::default() }, RuleProblem::MacMask),
        (Rule { destination_mac: Some(MacPattern { address: 1, mask: 2 }), ..Rule::default() }, RuleProblem::MacMask),
        (Rule { vlan: Some(4096), ..Rule::default() }, RuleProblem::Vlan),
        (Rule { inner_vlan: Some(4096), ..Rule::default() }, RuleProblem::Vlan),
        (Rule { flow_label: Some(1 << 20), ..Rule::default() }, RuleProblem::FlowLabel),
        (Rule { flow_label: Some(1), source: v4(0, 0), ..Rule::default() }, RuleProblem::FlowLabelOfV4),
        (Rule { tcp_flags: Some(FlagPattern { set: 2, clear: 3 }), ..Rule::default() }, RuleProblem::TcpFlags),
        (Rule { tcp_flags: Some(FlagPattern { set: 0, clear: 0 }), ..Rule::default() }, RuleProblem::TcpFlags),
        (Rule { tcp_flags: Some(FlagPattern { set: 2, clear: 0 }), protocol: Some(17), ..Rule::default() }, RuleProblem::FlagsWithoutTcp),
        (Rule { vlan: Some(4), not: vec![none_but_vlan(4096)], ..Rule::default() }, RuleProblem::Vlan),
        (Rule { vlan: Some(4), not: vec![none_but_vlan(4)], ..Rule::default() }, RuleProblem::NothingLeft),
        (Rule { not: vec![Rule { not: vec![none_but_vlan(4)], ..Rule::default() }], ..Rule::default() }, RuleProblem::NestedException),
        (Rule { vlan_priority: Some(8), ..Rule::default() }, RuleProblem::VlanPriority),
        (Rule { mpls_label: Some(1 << 20), ..Rule::default() }, RuleProblem::MplsLabel),
        (Rule { mpls_traffic_class: Some(8), ..Rule::default() }, RuleProblem::MplsTrafficClass),
        (Rule { source: v4(0, 33), ..Rule::default() }, RuleProblem::PrefixTooLong),
        (Rule { destination: Some(Prefix::V6 { address: 0, length: 129 }), ..Rule::default() }, RuleProblem::PrefixTooLong),
        (Rule { source: v4(1, 31), ..Rule::default() }, RuleProblem::PrefixHasHostBits),
        (Rule { source: v4(0, 0), destination: Some(v6), ..Rule::default() }, RuleProblem::MixedVersions),
        (Rule { dscp: Some(CodePoints(0)), ..Rule::default() }, RuleProblem::NoCodePoint),
        (Rule { source_port: Some(PortRange { first: 2, last: 1 }), ..Rule::default() }, RuleProblem::PortsReversed),
        (Rule { protocol: Some(1), destination_port: Some(PortRange::one(5)), ..Rule::default() }, RuleProblem::ProtocolWithoutPorts),
    ] {
        let good = Rule { vlan: Some(5), ..Rule::default() };
        assert_eq!(refusal(vec![class(&[good, rule]), class(&[])]), ClassifierError::Rule { class: 0, rule: 1, problem });
    }
    let wide = Rule { source: v4(10 << 24, 8), ..Rule::default() };
    let narrow = Rule { source: v4(10 << 24 | 1 << 16, 16), protocol: Some(6), ..Rule::default() };
    let error = refusal(vec![class(&[none_but_vlan(3), wide.clone()]), class(&[none_but_vlan(4), narrow.clone()]), class(&[])]);
    assert_eq!(error, ClassifierError::Shadowed { class: 1, rule: 1, by_class: 0, by_rule: 1 });
    assert_eq!(error.to_string(), "class 1, rule 1 can never match: rule 1 of class 0 comes first and takes all of it");
    assert!(Classifier::new(vec![class(&[narrow]), class(&[wide]), class(&[])], 0).is_ok());
}

fn none_but_vlan(id: u16) -> Rule {
    Rule { vlan: Some(id), ..Rule::default() }
}

fn one_class(queues: u32, seed: u64) -> Classifier {
    Classifier::new(vec![ClassRules { name: "all".into(), queues, rules: vec![] }], seed).unwrap()
}

#[test]
fn the_fragments_of_a_datagram_share_a_queue() {
    let classifier = one_class(1000, 3);
    for i in 0..500u32 {
        let fragment = |ports| {
            let transport = Transport { dscp: 0, protocol: 17, fragment: true, ports, ..Transport::default() };
            let network = if i % 2 == 0 {
                Network::V4 { source: i, destination: i * 7, transport }
            } else {
                Network::V6 { source: u128::from(i) << 70, destination: 1, transport }
            };
            classifier.classify(&Header { network, ..Header::default() })
        };
        assert_eq!(fragment(Some((4000, i as u16))), fragment(None));
    }
}

#[test]
fn a_rule_with_ports_misses_later_fragments() {
    let ports = Rule { destination_port: Some(PortRange::one(53)), ..Rule::default() };
    let fragments = Rule { fragment: Some(true), ..Rule::default() };
    let classifier = Classifier::new(vec![class(&[ports]), class(&[fragments]), class(&[])], 0).unwrap();
    let classify = |fragment, ports| {
        let transport = Transport { dscp: 0, protocol: 17, fragment, ports, ..Transport::default() };
        classifier.classify(&Header { network: Network::V4 { source: 1, destination: 2, transport }, ..Header::default() })
    };
    assert_eq!([classify(false, Some((9, 53))), classify(true, Some((9, 53))), classify(true, None)], [Flow(0), Flow(0), Flow(1)]);
    assert_eq!(classify(false, Some((53, 9))), Flow(2));
}

/// Pearson's statistic of the headers' spread over the queues, in standard deviations from its mean.
fn deviation(classifier: &Classifier, headers: impl Iterator<Item = Header>) -> f64 {
    let mut counts = vec![0u32; classifier.flows()];
    let mut total = 0u32;
    for header in headers {
        counts[classifier.classify(&header).index()] += 1;
        total += 1;
    }
    let expected = f64::from(total) / counts.len() as f64;
    let statistic: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = counts.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn flows_spread_evenly() {
    const KEYS: u32 = 1 << 16;
    let v6 = |source: u128, destination: u128, port: u16| {
        let transport = Transport { dscp: 0, protocol: 6, fragment: false, ports: Some((port, 443)), ..Transport::default() };
        Header { ethernet_type: 0x86DD, network: Network::V6 { source, destination, transport }, ..Header::default() }
    };
    for queues in [2, 7, 64, 1000] {
        for seed in 0..4 {
            let classifier = one_class(queues, seed);
            let spreads = [
                ("source ports", deviation(&classifier, (0..KEYS).map(|i| v4(1, 2, (i as u16, 53))))),
                ("destination ports", deviation(&classifier, (0..KEYS).map(|i| v4(1, 2, (53, i as u16))))),
                ("hosts", deviation(&classifier, (0..KEYS).map(|i| v4(10 << 24 | i, 2, (1000, 53))))),
                ("networks", deviation(&classifier, (0..KEYS).map(|i| v4(i << 16, 2, (1000, 53))))),
                ("both ends", deviation(&classifier, (0..KEYS).map(|i| v4(i >> 8, i & 255, (1000, 53))))),
                ("equal ends", deviation(&classifier, (0..KEYS).map(|i| v4(i, i, (53, 53))))),
                ("IPv6 interfaces", deviation(&classifier, (0..KEYS).map(|i| v6(1 << 125 | u128::from(i), 2, 9)))),
                ("IPv6 networks", deviation(&classifier, (0..KEYS).map(|i| v6(2, 1 << 125 | u128::from(i) << 64, 9)))),
            ];
            for (keys, sigma) in spreads {
                // A fair hash strays beyond four standard deviations once in thousands of trials; a biased one by hundreds of them.
                assert!(sigma.abs() < 5.0, "{keys} over {queues} queues with seed {seed}: {sigma:.1} standard deviations");
            }
        }
    }
}

#[test]
fn the_hash_knows_directions_and_seeds() {
    let queues = 1 << 16;
    let (one, other) = (one_class(queues, 1), one_class(queues, 2));
    let there = |i: u32| v4(i, i + 1000, (i as u16, 80));
    let back = |i: u32| v4(i + 1000, i, (80, i as u16));
    let count = |same: &dyn Fn(u32) -> bool| (0..1000).filter(|&i| same(i)).count();
    assert!(count(&|i| one.classify(&there(i)) == one.classify(&back(i))) < 5);
    assert!(count(&|i| one.classify(&there(i)) == other.classify(&there(i))) < 5);
    assert_eq!(count(&|i| one.classify(&there(i)) == one.clone().classify(&there(i))), 1000);
    // What carries no IP goes by its type.
    let plain = |ethernet_type, vlan| one.classify(&Header { ethernet_type, vlan, ..Header::default() });
    assert_eq!(plain(0x0806, Some(1)), plain(0x0806, None));
    assert_ne!(plain(0x0806, None), plain(0x88CC, None));
}

#[test]
fn code_points_sort_packets_into_two_queues() {
    let mut classifier = one_class(2, 1);
    assert!(!classifier.reads_ecn());
    classifier.set_spread(0, Spread::CodePoint).unwrap();
    assert!(classifier.reads_ecn());
    let header = v4(1, 2, (3, 4));
    let queue = |ecn| classifier.classify(&Header { network: header.network.with_ecn(ecn), ..header });
    assert_eq!([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(queue), [0, 0, 1, 1].map(Flow));
    assert_eq!(classifier.classify(&Header::default()), Flow(0));
    assert_eq!(classifier.first_difference(&one_class(2, 1)), 0);
    assert_eq!(one_class(3, 1).set_spread(0, Spread::CodePoint), Err(ClassifierError::NotTwoQueues { class: 0 }));
}
