//! Cost per packet of the classifier: which class does a header belong to?
//!
//! Every class has one rule, and packets come in random order, one for each class in turn.
//!
//! | name | rules |
//! |---|---|
//! | `addresses` | a source address each: one table |
//! | `mixed` | prefixes of eight lengths, with a protocol and a port in every second: 16 tables |
//! | `stations` | a source Ethernet address each: one table of the wider kind |
//! | `tags` | an outer and an inner VLAN tag each: one table of the wider kind |
//! | `rare` | a source address each, and in turn an Ethernet address with lengths, an inner tag, the maker of a card, a TCP flag, or an exception: 5 tables |

use crate::flows::Random;
use crate::{BURST, Benchmark};
use std::hint::black_box;
use tidegate_core::classifier::{
    ClassRules, Classifier, FlagPattern, Header, LengthRange, MacPattern, Network, PortRange, Prefix, Rule, Transport,
};

const NAMES: [&str; 5] = ["addresses", "mixed", "stations", "tags", "rare"];

/// The most classes: of `mixed`, half as many as there are prefixes of 24 bits.
const MOST_CLASSES: u32 = 1 << 23;

/// The operations.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Builds a classifier of this many classes, and a header for each.
///
/// # Errors
/// An unknown name, or too many classes.
pub fn set_up(name: &str, classes: u32) -> Result<Benchmark, String> {
    let rule: fn(u32) -> Rule = match name {
        "addresses" => |class| Rule { source: Some(Prefix::V4 { address: address(class), length: 32 }), ..Rule::default() },
        "mixed" => mixed,
        "stations" => |class| Rule { source_mac: Some(MacPattern { address: mac(class), mask: (1 << 48) - 1 }), ..Rule::default() },
        "tags" => |class| Rule { vlan: Some(tags(class).0), inner_vlan: Some(tags(class).1), ..Rule::default() },
        "rare" => rare,
        _ => return Err(format!("there is no set of rules \"{name}\"")),
    };
    let source: fn(u32) -> u32 = if name == "mixed" { address_of_mixed } else { address };
    if classes > MOST_CLASSES {
        return Err(format!("at most {MOST_CLASSES} classes"));
    }
    let class = |name: String, rules| ClassRules { name, queues: 1, rules };
    let mut list: Vec<_> = (0..classes).map(|number| class(format!("class {number}"), vec![rule(number)])).collect();
    list.push(class("rest".into(), vec![]));
    let classifier = Classifier::new(list, 1).map_err(|error| error.to_string())?;
    let headers: Vec<Header> = Random::new().shuffled(classes).into_iter().map(|class| header(class, source)).collect();
    let found = headers.iter().filter(|header| classifier.classify(header).0 < classes).count();
    let mut next = 0;
    let packets = (classes as usize).next_multiple_of(BURST).max(1 << 16);
    Ok(Benchmark {
        operation: format!("classify-{name}"),
        flows: classes,
        facts: format!(",found={found}"),
        round: Box::new(move || {
            for _ in 0..packets {
                black_box(classifier.classify(black_box(&headers[next])));
                next = if next + 1 == headers.len() { 0 } else { next + 1 };
            }
            packets as u64
        }),
    })
}

fn address(class: u32) -> u32 {
    10 << 24 | class
}

fn mac(class: u32) -> u64 {
    2 << 40 | u64::from(class)
}

fn tags(class: u32) -> (u16, u16) {
    ((class >> 12) as u16, (class & 0xfff) as u16)
}

/// Prefixes of 25 to 32 bits, apart from each other.
fn mixed(class: u32) -> Rule {
    let length = 32 - (class % 8) as u8;
    let with_port = class % 16 >= 8;
    Rule {
        source: Some(Prefix::V4 { address: address_of_mixed(class), length }),
        protocol: with_port.then_some(17),
        destination_port: with_port.then_some(PortRange::one(53)),
        ..Rule::default()
    }
}

/// A condition that few rules have beside a source address, another for each class in turn.
fn rare(class: u32) -> Rule {
    let rule = Rule { source: Some(Prefix::V4 { address: address(class), length: 32 }), ..Rule::default() };
    match class % 5 {
        0 => Rule {
            source_mac: Some(MacPattern { address: mac(class), mask: (1 << 48) - 1 }),
            length: Some(LengthRange { first: 0, last: 127 }),
            ..rule
        },
        1 => Rule { inner_vlan: Some(tags(class).1), ..rule },
        2 => Rule { destination_mac: Some(MacPattern { address: 2 << 40, mask: 0xff << 40 }), ..rule },
        3 => Rule { tcp_flags: Some(FlagPattern { set: Transport::ACK, clear: 0 }), ..rule },
        _ => Rule { not: vec![Rule { destination_port: Some(PortRange::one(22)), ..Rule::default() }], ..rule },
    }
}

fn address_of_mixed(class: u32) -> u32 {
    class << 8
}

fn header(class: u32, source: fn(u32) -> u32) -> Header {
    let transport = Transport { protocol: 17, ports: Some((1000, 53)), tcp_flags: Some(Transport::ACK), ..Transport::default() };
    let [_, _, a, b, c, d, e, f] = mac(class).to_be_bytes();
    Header {
        length: 64,
        source_mac: Some([a, b, c, d, e, f]),
        destination_mac: Some([2; 6]),
        ethernet_type: 0x0800,
        vlan: Some(tags(class).0),
        inner_vlan: Some(tags(class).1),
        network: Network::V4 { source: source(class), destination: 1, transport },
        ..Header::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_finds_its_class() {
        for name in names() {
            let mut benchmark = set_up(name, 1000).unwrap();
            assert_eq!(benchmark.facts, ",found=1000", "{name}");
            assert_eq!((benchmark.round)(), 1 << 16, "{name}");
        }
        assert!(set_up("none", 8).is_err());
    }
}
