//! Headers and rules as words: a header is a key, and a rule a mask with the values that the key has under it.
//!
//! Most rules ask for fields of the first six words only. A search for those knows no others, so that a policy without rules by rarer fields pays
//! nothing for those.

use super::header::{Header, Network};
use super::pattern::{CodePoints, FlagPattern, LengthRange, MacPattern, PortRange, Prefix, mask_v4, mask_v6};
use super::rule::Rule;
use crate::packet::Ecn;
use alloc::vec::Vec;

/// Words 0 and 1: source address. 2 and 3: destination address. 4: network and transport. 5: link layer.
pub(super) type Key = [u64; NARROW];
/// The same with 6: destination Ethernet address and inner tag. 7: source Ethernet address. 8: flow label and TCP flags.
pub(super) type WideKey = [u64; WIDE];

/// The words of the key of a rule by common fields.
pub(super) const NARROW: usize = 6;
/// The words of the key of a rule by rarer ones.
pub(super) const WIDE: usize = 9;

// Word 4.
const SOURCE_PORT_SHIFT: u32 = 0;
const DESTINATION_PORT_SHIFT: u32 = 16;
const PROTOCOL_SHIFT: u32 = 32;
const DSCP_SHIFT: u32 = 40;
const IS_FRAGMENT: u64 = 1 << 46;
const HAS_PORTS: u64 = 1 << 47;
const IS_V4: u64 = 1 << 48;
const IS_V6: u64 = 1 << 49;
const IS_IP: u64 = 1 << 50;
const ECN_SHIFT: u32 = 51;
// Word 5.
const ETHERNET_TYPE_SHIFT: u32 = 0;
const VLAN_SHIFT: u32 = 16;
const VLAN_PRIORITY_SHIFT: u32 = 28;
const MPLS_LABEL_SHIFT: u32 = 32;
const MPLS_TRAFFIC_CLASS_SHIFT: u32 = 52;
const HAS_VLAN: u64 = 1 << 55;
const HAS_VLAN_PRIORITY: u64 = 1 << 56;
const HAS_LABEL: u64 = 1 << 57;
const HAS_TRAFFIC_CLASS: u64 = 1 << 58;
// Words 6 and 7: an Ethernet address in the lower 48 bits.
const INNER_VLAN_SHIFT: u32 = 48;
const HAS_INNER_VLAN: u64 = 1 << 60;
const HAS_MAC: u64 = 1 << 61;
// Word 8.
const FLOW_LABEL_SHIFT: u32 = 0;
const TCP_FLAGS_SHIFT: u32 = 20;
const HAS_FLOW_LABEL: u64 = 1 << 29;
const HAS_TCP_FLAGS: u64 = 1 << 30;

/// A header as a key. A field that is absent is zero and lacks the bit that says it is there.
#[inline]
pub(super) fn key_of(header: &Header) -> Key {
    let mut key = [0; NARROW];
    key[5] = u64::from(header.ethernet_type) << ETHERNET_TYPE_SHIFT;
    if let Some(id) = header.vlan {
        key[5] |= HAS_VLAN | u64::from(id & 0xFFF) << VLAN_SHIFT;
    }
    if let Some(priority) = header.vlan_priority {
        key[5] |= HAS_VLAN_PRIORITY | u64::from(priority & 7) << VLAN_PRIORITY_SHIFT;
    }
    if let Some(label) = header.mpls_label {
        key[5] |= HAS_LABEL | u64::from(label & 0xF_FFFF) << MPLS_LABEL_SHIFT;
    }
    if let Some(class) = header.mpls_traffic_class {
        key[5] |= HAS_TRAFFIC_CLASS | u64::from(class & 7) << MPLS_TRAFFIC_CLASS_SHIFT;
    }
    match header.network {
        Network::Other => return key,
        Network::V4 { source, destination, .. } => {
            key[0] = u64::from(source);
            key[2] = u64::from(destination);
            key[4] = IS_IP | IS_V4;
        }
        Network::V6 { source, destination, .. } => {
            (key[0], key[1]) = (source as u64, (source >> 64) as u64);
            (key[2], key[3]) = (destination as u64, (destination >> 64) as u64);
            key[4] = IS_IP | IS_V6;
        }
    }
    if let Some(transport) = header.transport() {
        key[4] |= u64::from(transport.protocol) << PROTOCOL_SHIFT | u64::from(transport.dscp & 63) << DSCP_SHIFT;
        key[4] |= u64::from(transport.ecn.bits()) << ECN_SHIFT;
        if transport.fragment {
            key[4] |= IS_FRAGMENT;
        }
        if let Some((source, destination)) = transport.ports {
            key[4] |= HAS_PORTS | u64::from(source) << SOURCE_PORT_SHIFT | u64::from(destination) << DESTINATION_PORT_SHIFT;
        }
    }
    key
}

/// The key of a header with all words, from its key.
pub(super) fn widened(key: &Key, header: &Header) -> WideKey {
    let mut wide = [0; WIDE];
    wide[..NARROW].copy_from_slice(key);
    let mac = |mac: Option<[u8; 6]>| mac.map_or(0, |mac| HAS_MAC | MacPattern::number(mac));
    wide[6] = mac(header.destination_mac);
    wide[7] = mac(header.source_mac);
    if let Some(id) = header.inner_vlan {
        wide[6] |= HAS_INNER_VLAN | u64::from(id & 0xFFF) << INNER_VLAN_SHIFT;
    }
    if let Some(label) = header.flow_label {
        wide[8] |= HAS_FLOW_LABEL | u64::from(label & 0xF_FFFF) << FLOW_LABEL_SHIFT;
    }
    if let Some(flags) = header.transport().and_then(|transport| transport.tcp_flags) {
        wide[8] |= HAS_TCP_FLAGS | u64::from(flags & FlagPattern::ALL) << TCP_FLAGS_SHIFT;
    }
    wide
}

pub(super) fn narrowed(wide: &WideKey) -> Key {
    core::array::from_fn(|word| wide[word])
}

pub(super) fn is_narrow(mask: &WideKey) -> bool {
    mask[NARROW..].iter().all(|&word| word == 0)
}

/// A rule as mask and values, and whether they are all of it.
pub(super) fn ternary(rule: &Rule) -> (WideKey, WideKey, bool) {
    let (mut mask, mut values) = ([0; WIDE], [0; WIDE]);
    let mut is_exact = rule.not.is_empty() && rule.length.is_none_or(|range| range == LengthRange::ALL);
    let mut want = |word: usize, bits: u64, value: u64| {
        mask[word] |= bits;
        values[word] |= value;
    };
    if let Some(kind) = rule.ethernet_type {
        want(5, 0xFFFF << ETHERNET_TYPE_SHIFT, u64::from(kind) << ETHERNET_TYPE_SHIFT);
    }
    if let Some(id) = rule.vlan {
        want(5, HAS_VLAN | 0xFFF << VLAN_SHIFT, HAS_VLAN | u64::from(id) << VLAN_SHIFT);
    }
    if let Some(priority) = rule.vlan_priority {
        want(5, HAS_VLAN_PRIORITY | 7 << VLAN_PRIORITY_SHIFT, HAS_VLAN_PRIORITY | u64::from(priority) << VLAN_PRIORITY_SHIFT);
    }
    if let Some(label) = rule.mpls_label {
        want(5, HAS_LABEL | 0xF_FFFF << MPLS_LABEL_SHIFT, HAS_LABEL | u64::from(label) << MPLS_LABEL_SHIFT);
    }
    if let Some(class) = rule.mpls_traffic_class {
        want(5, HAS_TRAFFIC_CLASS | 7 << MPLS_TRAFFIC_CLASS_SHIFT, HAS_TRAFFIC_CLASS | u64::from(class) << MPLS_TRAFFIC_CLASS_SHIFT);
    }
    for (word, pattern) in [(6, rule.destination_mac), (7, rule.source_mac)] {
        if let Some(MacPattern { address, mask }) = pattern {
            want(word, HAS_MAC | mask, HAS_MAC | address);
        }
    }
    if let Some(id) = rule.inner_vlan {
        want(6, HAS_INNER_VLAN | 0xFFF << INNER_VLAN_SHIFT, HAS_INNER_VLAN | u64::from(id) << INNER_VLAN_SHIFT);
    }
    for (word, prefix) in [(0, rule.source), (2, rule.destination)] {
        match prefix {
            None => {}
            Some(Prefix::V4 { address, length }) => {
                want(4, IS_IP | IS_V4, IS_IP | IS_V4);
                want(word, u64::from(mask_v4(length)), u64::from(address));
            }
            Some(Prefix::V6 { address, length }) => {
                let bits = mask_v6(length);
                want(4, IS_IP | IS_V6, IS_IP | IS_V6);
                want(word, bits as u64, address as u64);
                want(word + 1, (bits >> 64) as u64, (address >> 64) as u64);
            }
        }
    }
    if let Some(label) = rule.flow_label {
        want(8, HAS_FLOW_LABEL | 0xF_FFFF << FLOW_LABEL_SHIFT, HAS_FLOW_LABEL | u64::from(label) << FLOW_LABEL_SHIFT);
    }
    if let Some(protocol) = rule.protocol {
        want(4, IS_IP | 0xFF << PROTOCOL_SHIFT, IS_IP | u64::from(protocol) << PROTOCOL_SHIFT);
    }
    if let Some(ecn) = rule.ecn {
        want(4, IS_IP | 3 << ECN_SHIFT, IS_IP | u64::from(ecn.bits()) << ECN_SHIFT);
    }
    if let Some(fragment) = rule.fragment {
        want(4, IS_IP | IS_FRAGMENT, IS_IP | if fragment { IS_FRAGMENT } else { 0 });
    }
    if let Some(set) = rule.dscp {
        want(4, IS_IP, IS_IP);
        if set.0.is_power_of_two() {
            want(4, 63 << DSCP_SHIFT, u64::from(set.0.trailing_zeros()) << DSCP_SHIFT);
        } else {
            is_exact = false;
        }
    }
    for (shift, range) in [(SOURCE_PORT_SHIFT, rule.source_port), (DESTINATION_PORT_SHIFT, rule.destination_port)] {
        let Some(PortRange { first, last }) = range else { continue };
        want(4, IS_IP | HAS_PORTS, IS_IP | HAS_PORTS);
        if first == last {
            want(4, 0xFFFF << shift, u64::from(first) << shift);
        } else if (first, last) != (0, u16::MAX) {
            is_exact = false;
        }
    }
    if let Some(FlagPattern { set, clear }) = rule.tcp_flags {
        want(4, IS_IP, IS_IP);
        want(8, HAS_TCP_FLAGS | u64::from(set | clear) << TCP_FLAGS_SHIFT, HAS_TCP_FLAGS | u64::from(set) << TCP_FLAGS_SHIFT);
    }
    (mask, values, is_exact)
}

/// The rule without exceptions of which [`ternary`] makes this mask and these values, if they are all of it. There may be others, such as one with a
/// prefix of no bits.
pub(super) fn rule_of(mask: &WideKey, values: &WideKey) -> Rule {
    let asks = |word: usize, bits: u64| (mask[word] & bits == bits).then_some(values[word]);
    let field = |word: usize, bits: u64, shift: u32| asks(word, bits << shift).map(|value| value >> shift & bits);
    let mac = |word: usize| {
        let bits = mask[word] & ((1 << 48) - 1);
        asks(word, HAS_MAC).map(|value| MacPattern { address: value & bits, mask: bits })
    };
    let prefix = |word: usize| {
        let length = (mask[word].count_ones() + mask[word + 1].count_ones()) as u8;
        let address = u128::from(values[word]) | u128::from(values[word + 1]) << 64;
        let is_v4 = mask[4] & IS_V4 > 0;
        (length > 0).then_some(if is_v4 { Prefix::V4 { address: address as u32, length } } else { Prefix::V6 { address, length } })
    };
    let port = |shift: u32| field(4, 0xFFFF, shift).map(|port| PortRange::one(port as u16));
    let flags = asks(8, HAS_TCP_FLAGS).map(|value| {
        let bits = |word: u64| (word >> TCP_FLAGS_SHIFT) as u16 & FlagPattern::ALL;
        FlagPattern { set: bits(value), clear: bits(mask[8] & !value) }
    });
    Rule {
        length: None,
        source_mac: mac(7),
        destination_mac: mac(6),
        ethernet_type: field(5, 0xFFFF, ETHERNET_TYPE_SHIFT).map(|kind| kind as u16),
        vlan: asks(5, HAS_VLAN).map(|value| (value >> VLAN_SHIFT & 0xFFF) as u16),
        vlan_priority: asks(5, HAS_VLAN_PRIORITY).map(|value| (value >> VLAN_PRIORITY_SHIFT & 7) as u8),
        inner_vlan: asks(6, HAS_INNER_VLAN).map(|value| (value >> INNER_VLAN_SHIFT & 0xFFF) as u16),
        mpls_label: asks(5, HAS_LABEL).map(|value| (value >> MPLS_LABEL_SHIFT & 0xF_FFFF) as u32),
        mpls_traffic_class: asks(5, HAS_TRAFFIC_CLASS).map(|value| (value >> MPLS_TRAFFIC_CLASS_SHIFT & 7) as u8),
        source: prefix(0),
        destination: prefix(2),
        flow_label: asks(8, HAS_FLOW_LABEL).map(|value| (value >> FLOW_LABEL_SHIFT & 0xF_FFFF) as u32),
        dscp: field(4, 63, DSCP_SHIFT).map(|dscp| CodePoints::one(dscp as u8)),
        ecn: field(4, 3, ECN_SHIFT).map(|bits| Ecn::from_bits(bits as u8)),
        protocol: field(4, 0xFF, PROTOCOL_SHIFT).map(|protocol| protocol as u8),
        source_port: port(SOURCE_PORT_SHIFT),
        destination_port: port(DESTINATION_PORT_SHIFT),
        tcp_flags: flags,
        fragment: asks(4, IS_FRAGMENT).map(|value| value & IS_FRAGMENT > 0),
        not: Vec::new(),
    }
}
