//! Finding the first matching rule among thousands: one hash table per combination of masks.
//!
//! A header becomes a key of six words. A rule requires values of some bits of the key, its mask. Rules with the same mask form a tuple and are
//! found by one probe with the masked key. Ranges of ports and sets of code points, which no mask expresses, are checked one rule after the
//! other among those that share mask and values. Tuples are tried in the order of their first rule, and the search ends when no remaining tuple
//! can hold an earlier rule than the one found.

use super::flow_hash::FlowHash;
use super::header::{Header, Network};
use super::rule::{PortRange, Prefix, Rule, mask_v4, mask_v6};
use alloc::vec::Vec;

/// Words 0 and 1: source address. 2 and 3: destination address. 4: network and transport. 5: link layer.
type Key = [u64; 6];

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

/// Rules, searchable.
#[derive(Clone, Debug)]
pub(super) struct TupleSpace {
    hash: FlowHash,
    tuples: Vec<Tuple>,
    rules: Vec<Stored>,
}

/// All rules of one mask.
#[derive(Clone, Debug)]
struct Tuple {
    mask: Key,
    /// The earliest of its rules.
    first: u32,
    groups: Vec<Group>,
    /// An open-addressed table of indices of `groups`, a power of two long and at most half full.
    slots: Vec<u32>,
}

/// The rules of one mask and the same values.
#[derive(Clone, Debug)]
struct Group {
    values: Key,
    /// Indices of rules, in their order.
    rules: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    rule: Rule,
    /// True if mask and values are all of the rule.
    is_exact: bool,
    class: u32,
    index: u32,
}

const FREE_SLOT: u32 = u32::MAX;

impl TupleSpace {
    pub(super) fn new(seed: u64) -> TupleSpace {
        TupleSpace { hash: FlowHash::new(seed), tuples: Vec::new(), rules: Vec::new() }
    }

    /// Adds a rule after all others.
    pub(super) fn push(&mut self, rule: &Rule, class: usize, index: usize) {
        let number = self.rules.len() as u32;
        let (mask, values, is_exact) = ternary(rule);
        self.rules.push(Stored { rule: *rule, is_exact, class: class as u32, index: index as u32 });
        let at = self.tuples.iter().position(|tuple| tuple.mask == mask).unwrap_or_else(|| {
            self.tuples.push(Tuple { mask, first: number, groups: Vec::new(), slots: alloc::vec![FREE_SLOT; 4] });
            self.tuples.len() - 1
        });
        self.tuples[at].insert(&self.hash, values, number);
    }

    /// Makes the tables as small as they can be; no rule is added after this.
    pub(super) fn seal(&mut self) {
        self.tuples.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// Every rule with its class, in their order.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.rules.iter().map(|stored| (stored.class as usize, &stored.rule))
    }

    /// The first matching rule, as its number among all and its class.
    #[inline]
    pub(super) fn find(&self, header: &Header) -> Option<(u32, usize)> {
        if self.tuples.is_empty() {
            return None;
        }
        let key = key_of(header);
        let mut best = u32::MAX;
        for tuple in &self.tuples {
            if tuple.first > best {
                break;
            }
            let Some(group) = tuple.find(&self.hash, &key) else { continue };
            for &number in &group.rules {
                if number >= best {
                    break;
                }
                let stored = &self.rules[number as usize];
                if stored.is_exact || residue_matches(&stored.rule, header) {
                    best = number;
                    break;
                }
            }
        }
        self.rules.get(best as usize).map(|stored| (best, stored.class as usize))
    }

    /// The first rule, as class and index, that matches whatever `rule` matches.
    pub(super) fn cover(&self, rule: &Rule) -> Option<(usize, usize)> {
        let (mask, values, _) = ternary(rule);
        let mut best = u32::MAX;
        for tuple in &self.tuples {
            // Only a mask that asks for no more bits than the rule's can belong to a covering rule.
            if tuple.first > best || tuple.mask.iter().zip(&mask).any(|(wanted, given)| wanted & !given != 0) {
                continue;
            }
            let Some(group) = tuple.find(&self.hash, &values) else { continue };
            for &number in group.rules.iter().take_while(|&&number| number < best) {
                if self.rules[number as usize].rule.covers(rule) {
                    best = number;
                    break;
                }
            }
        }
        self.rules.get(best as usize).map(|stored| (stored.class as usize, stored.index as usize))
    }
}

impl Tuple {
    #[inline]
    fn find(&self, hash: &FlowHash, key: &Key) -> Option<&Group> {
        let masked: Key = core::array::from_fn(|i| key[i] & self.mask[i]);
        let last = self.slots.len() - 1;
        let mut at = hash.of_words(&masked) as usize & last;
        loop {
            let group = self.groups.get(self.slots[at] as usize)?;
            if group.values == masked {
                return Some(group);
            }
            at = (at + 1) & last;
        }
    }

    fn insert(&mut self, hash: &FlowHash, values: Key, number: u32) {
        let last = self.slots.len() - 1;
        let mut at = hash.of_words(&values) as usize & last;
        while let Some(group) = self.groups.get_mut(self.slots[at] as usize) {
            if group.values == values {
                group.rules.push(number);
                return;
            }
            at = (at + 1) & last;
        }
        self.slots[at] = self.groups.len() as u32;
        self.groups.push(Group { values, rules: alloc::vec![number] });
        if self.groups.len() * 2 > self.slots.len() {
            self.grow(hash);
        }
    }

    fn grow(&mut self, hash: &FlowHash) {
        let last = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(last + 1, FREE_SLOT);
        for (index, group) in self.groups.iter().enumerate() {
            let mut at = hash.of_words(&group.values) as usize & last;
            while self.slots[at] != FREE_SLOT {
                at = (at + 1) & last;
            }
            self.slots[at] = index as u32;
        }
    }
}

/// A header as a key. A field that is absent is zero and lacks the bit that says it is there.
#[inline]
fn key_of(header: &Header) -> Key {
    let mut key = [0; 6];
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

/// A rule as mask and values, and whether they are all of it.
fn ternary(rule: &Rule) -> (Key, Key, bool) {
    let (mut mask, mut values, mut is_exact) = ([0; 6], [0; 6], true);
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
    (mask, values, is_exact)
}

/// Checks what [`ternary`] leaves out.
fn residue_matches(rule: &Rule, header: &Header) -> bool {
    let Some(transport) = header.transport() else { return false };
    let port_matches = |range: Option<PortRange>, port: fn((u16, u16)) -> u16| match (range, transport.ports) {
        (None, _) => true,
        (Some(range), Some(ports)) => range.contains(port(ports)),
        (Some(_), None) => false,
    };
    rule.dscp.is_none_or(|set| set.contains(transport.dscp))
        && port_matches(rule.source_port, |ports| ports.0)
        && port_matches(rule.destination_port, |ports| ports.1)
}
