//! What a packet meets at a port, and how two policies of one port differ.

use crate::guarantee::Guarantee;
use crate::header::{DSCP_NAMES, PROTOCOL_NAMES, print_flags, print_lengths, print_mac, print_mac_pattern};
use crate::policy::{Class, Policy};
use crate::summary::{class_text, group_text, limits};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::{CodePoints, FlagPattern, Header, Network, PortRange, Prefix, Rule};
use tidegate_core::packet::Ecn;

/// What a packet meets at a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Met {
    /// The index of the class that takes it.
    pub class: usize,
    /// The rule that matches, in words of the file; `None` if the class takes what no rule matched.
    pub rule: Option<String>,
    /// Its queue in the class, from 0.
    pub queue: u32,
    /// The groups above the class, from the link down, each with its text.
    pub groups: Vec<String>,
    /// The class in words: guarantee, queues, limits, contracts.
    pub text: String,
}

/// What a packet with this header meets at a port of this policy.
pub fn met(policy: &Policy, header: &Header) -> Met {
    let classifier = policy.classifier();
    let flow = classifier.classify(header);
    let index = classifier.class_of(flow);
    let rule = classifier.rules().find(|(class, rule)| *class == index && rule.matches(header));
    let class = &policy.classes[index];
    let mut groups = Vec::new();
    let mut above = class.parent;
    while let Some(group) = above {
        let group = &policy.groups[group];
        groups.push(format!("{}: {}", group.name, group_text(group)));
        above = group.parent;
    }
    groups.reverse();
    Met {
        class: index,
        rule: rule.map(|(_, rule)| print_rule(&rule)),
        queue: flow.0 - classifier.classes()[index].first_flow.0,
        groups,
        text: class_text(policy, class),
    }
}

/// The rules of a policy in the order in which they are tried, each with the index of its class and in words of the file.
pub fn rules(policy: &Policy) -> impl Iterator<Item = (usize, String)> {
    policy.classifier().rules().map(|(class, rule)| (class, print_rule(&rule)))
}

/// The limits of a class's queues, its buffer and its AQM, in words.
pub fn queue_limits(policy: &Policy, class: &Class) -> String {
    limits(policy, class)
}

/// How the classes of a port differ under two policies. Classes of the same name are the same class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// Names that only the new policy has.
    pub added: Vec<String>,
    /// Names that only the old policy has.
    pub removed: Vec<String>,
    /// Names of classes with other rules, queues, shares, limits or contracts.
    pub changed: Vec<String>,
    /// The number of classes that are as they were.
    pub same: usize,
}

/// How the classes of two policies differ.
pub fn difference(before: &Policy, after: &Policy) -> Difference {
    let mut old = described(before);
    let mut difference = Difference::default();
    let rules = |policy: &Policy, numbers: &[usize]| numbers.iter().map(|&number| policy.classifier().rule(number)).collect::<Vec<_>>();
    for (name, (text, numbers)) in described(after) {
        match old.remove(&name) {
            None => difference.added.push(name),
            Some((old, olds)) if old == text && rules(before, &olds) == rules(after, &numbers) => difference.same += 1,
            Some(_) => difference.changed.push(name),
        }
    }
    difference.removed.extend(old.into_keys());
    let Difference { added, removed, changed, .. } = &mut difference;
    [added, removed, changed].into_iter().for_each(|names| names.sort());
    difference
}

/// Every class with what is said of it and the numbers of its rules.
fn described(policy: &Policy) -> HashMap<String, (String, Vec<usize>)> {
    let group = |class: &Class| class.parent.map_or(String::new(), |group| policy.groups[group].name.clone());
    // What it is guaranteed follows from the others, too.
    let alone = |class: &Class| class_text(policy, &Class { guarantee: Guarantee::None(String::new()), ..class.clone() });
    let texts = policy.classes.iter().map(|class| (class.name.clone(), (group(class) + &alone(class), Vec::new())));
    let mut described: HashMap<String, (String, Vec<usize>)> = texts.collect();
    for (number, (class, _)) in policy.classifier().rules().enumerate() {
        if let Some((_, rules)) = described.get_mut(&policy.classes[class].name) {
            rules.push(number);
        }
    }
    described
}

/// A rule as a file writes it.
pub fn print_rule(rule: &Rule) -> String {
    let mut conditions: Vec<String> = Vec::new();
    let mut condition = |key: &str, value: Option<String>| conditions.extend(value.map(|value| format!("{key} = {value}")));
    let quoted = |text: String| format!("\"{text}\"");
    condition("ethernet_type", rule.ethernet_type.map(|kind| format!("{kind:#06x}")));
    condition("vlan", rule.vlan.map(|vlan| vlan.to_string()));
    condition("vlan_priority", rule.vlan_priority.map(|priority| priority.to_string()));
    condition("mpls_label", rule.mpls_label.map(|label| label.to_string()));
    condition("mpls_traffic_class", rule.mpls_traffic_class.map(|class| class.to_string()));
    condition("source", rule.source.map(|prefix| quoted(print_prefix(prefix))));
    condition("destination", rule.destination.map(|prefix| quoted(print_prefix(prefix))));
    condition("dscp", rule.dscp.map(print_code_points));
    condition("ecn", rule.ecn.map(|ecn| quoted(print_ecn(ecn).to_owned())));
    condition("protocol", rule.protocol.map(|number| named(PROTOCOL_NAMES, number)));
    condition("source_port", rule.source_port.map(print_ports));
    condition("destination_port", rule.destination_port.map(print_ports));
    condition("fragment", rule.fragment.map(|fragment| fragment.to_string()));
    condition("length", rule.length.map(|range| quoted(print_lengths(range))));
    condition("inner_vlan", rule.inner_vlan.map(|vlan| vlan.to_string()));
    condition("source_mac", rule.source_mac.map(|pattern| quoted(print_mac_pattern(pattern))));
    condition("destination_mac", rule.destination_mac.map(|pattern| quoted(print_mac_pattern(pattern))));
    condition("flow_label", rule.flow_label.map(|label| label.to_string()));
    condition("tcp_flags", rule.tcp_flags.map(|flags| quoted(print_flags(flags))));
    let exceptions: Vec<String> = rule.not.iter().map(print_rule).collect();
    condition("not", (!exceptions.is_empty()).then(|| format!("[{}]", exceptions.join(", "))));
    if conditions.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", conditions.join(", ")) }
}

/// A header in words, those fields that it has.
pub fn print_header(header: &Header) -> String {
    let mut text = match header.network {
        Network::Other => format!("Ethernet type {:#06x}", header.ethernet_type),
        Network::V4 { source, destination, .. } => format!("{} to {}", Ipv4Addr::from(source), Ipv4Addr::from(destination)),
        Network::V6 { source, destination, .. } => format!("{} to {}", Ipv6Addr::from(source), Ipv6Addr::from(destination)),
    };
    if let Some(transport) = header.network.transport() {
        let _ = write!(text, ", {}", named(PROTOCOL_NAMES, transport.protocol).trim_matches('"'));
        if let Some((source, destination)) = transport.ports {
            let _ = write!(text, " port {source} to {destination}");
        }
        let _ = write!(text, ", DSCP {}", named(DSCP_NAMES, transport.dscp).trim_matches('"'));
        if transport.ecn != Ecn::NotEct {
            let _ = write!(text, ", ECN {}", print_ecn(transport.ecn));
        }
        text += if transport.fragment { ", a fragment" } else { "" };
        if let Some(flags) = transport.tcp_flags.filter(|&flags| flags != 0) {
            let _ = write!(text, ", TCP flags {}", print_flags(FlagPattern { set: flags, clear: 0 }));
        }
    }
    if let Some(label) = header.flow_label.filter(|&label| label != 0) {
        let _ = write!(text, ", flow label {label}");
    }
    if let Some(vlan) = header.vlan {
        let _ = write!(text, ", VLAN {vlan}");
    }
    if let Some(vlan) = header.inner_vlan {
        let _ = write!(text, ", inner VLAN {vlan}");
    }
    if let (Some(source), Some(destination)) = (header.source_mac, header.destination_mac) {
        let _ = write!(text, ", {} to {}", print_mac(source), print_mac(destination));
    }
    if header.length > 0 {
        let _ = write!(text, ", {} B", header.length);
    }
    text
}

fn named(names: &[(&str, u8)], number: u8) -> String {
    names.iter().find(|(_, of)| *of == number).map_or_else(|| number.to_string(), |(name, _)| format!("\"{name}\""))
}

fn print_ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ect",
        Ecn::Ect1 => "ect1",
        Ecn::Ect0 => "ect0",
        Ecn::Ce => "ce",
    }
}

fn print_prefix(prefix: Prefix) -> String {
    match prefix {
        Prefix::V4 { address, length: 32 } => Ipv4Addr::from(address).to_string(),
        Prefix::V6 { address, length: 128 } => Ipv6Addr::from(address).to_string(),
        Prefix::V4 { address, length } => format!("{}/{length}", Ipv4Addr::from(address)),
        Prefix::V6 { address, length } => format!("{}/{length}", Ipv6Addr::from(address)),
    }
}

fn print_code_points(set: CodePoints) -> String {
    let points: Vec<String> = (0..64).filter(|point| set.contains(*point)).map(|point| named(DSCP_NAMES, point)).collect();
    match points.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn print_ports(range: PortRange) -> String {
    if range.first == range.last { range.first.to_string() } else { format!("\"{}-{}\"", range.first, range.last) }
}
