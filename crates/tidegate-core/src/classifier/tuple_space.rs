//! Finding the first matching rule among thousands: one hash table per combination of masks.
//!
//! A header becomes a key of words. A rule requires values of some bits of the key, its mask. Rules with the same mask form a tuple and are found
//! by one probe with the masked key. What no mask expresses (ranges, sets of code points, exceptions) is checked one rule after the other among
//! those that share mask and values. Tuples are tried in the order of their first rule, and the search ends when no remaining tuple can hold an
//! earlier rule than the one found.
//!
//! Most rules ask for fields of the first six words only. Their tuples know no others, so that a policy without rules by rarer fields pays nothing for
//! those.

use super::flow_hash::FlowHash;
use super::header::{Header, Network};
use super::pattern::{FlagPattern, LengthRange, MacPattern, PortRange, Prefix, mask_v4, mask_v6};
use super::rule::Rule;
use alloc::vec::Vec;

/// Words 0 and 1: source address. 2 and 3: destination address. 4: network and transport. 5: link layer.
type Key = [u64; NARROW];
/// The same with 6: destination Ethernet address and inner tag. 7: source Ethernet address. 8: flow label and TCP flags.
type WideKey = [u64; WIDE];

/// The words of the key of a rule by common fields.
const NARROW: usize = 6;
/// The words of the key of a rule by rarer ones.
const WIDE: usize = 9;

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

/// Rules, searchable.
#[derive(Clone, Debug)]
pub(super) struct TupleSpace {
    hash: FlowHash,
    narrow: Vec<Tuple<NARROW>>,
    wide: Vec<Tuple<WIDE>>,
    rules: Vec<Rule>,
    places: Vec<Place>,
}

/// All rules of one mask.
#[derive(Clone, Debug)]
struct Tuple<const N: usize> {
    mask: [u64; N],
    /// The earliest of its rules.
    first: u32,
    groups: Vec<Group<N>>,
    /// An open-addressed table of indices of `groups`, a power of two long and at most half full.
    slots: Vec<u32>,
}

/// The rules of one mask and the same values, in their order.
#[derive(Clone, Debug)]
struct Group<const N: usize> {
    values: [u64; N],
    first: u32,
    last: u32,
}

/// What a search needs of a rule.
#[derive(Clone, Copy, Debug)]
struct Place {
    class: u32,
    index: u32,
    /// The next rule of its group.
    next: u32,
    /// True if mask and values are all of the rule.
    is_exact: bool,
}

const FREE_SLOT: u32 = u32::MAX;
const NO_RULE: u32 = u32::MAX;

impl TupleSpace {
    pub(super) fn new(seed: u64) -> TupleSpace {
        TupleSpace { hash: FlowHash::new(seed), narrow: Vec::new(), wide: Vec::new(), rules: Vec::new(), places: Vec::new() }
    }

    /// Adds a rule after all others.
    pub(super) fn push(&mut self, rule: Rule, class: usize, index: usize) {
        let number = self.rules.len() as u32;
        let (mask, values, is_exact) = ternary(&rule);
        // A rule is large, so the list grows by a quarter.
        if self.rules.len() == self.rules.capacity() {
            self.rules.reserve_exact(self.rules.len() / 4 + 4);
        }
        self.rules.push(rule);
        self.places.push(Place { class: class as u32, index: index as u32, next: NO_RULE, is_exact });
        let before = match is_narrow(&mask) {
            true => insert(&mut self.narrow, &self.hash, narrowed(&mask), narrowed(&values), number),
            false => insert(&mut self.wide, &self.hash, mask, values, number),
        };
        if let Some(before) = before {
            self.places[before as usize].next = number;
        }
    }

    /// Makes the tables as small as they can be; no rule is added after this.
    pub(super) fn seal(&mut self) {
        self.narrow.shrink_to_fit();
        self.wide.shrink_to_fit();
        self.rules.shrink_to_fit();
        self.places.shrink_to_fit();
    }

    /// Every rule with its class, in their order.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.places.iter().zip(&self.rules).map(|(place, rule)| (place.class as usize, rule))
    }

    /// The first matching rule, as its number among all and its class.
    #[inline]
    pub(super) fn find(&self, header: &Header) -> Option<(u32, usize)> {
        if self.rules.is_empty() {
            return None;
        }
        let key = key_of(header);
        let mut best = self.search(&self.narrow, &key, header, NO_RULE);
        if !self.wide.is_empty() {
            best = self.search(&self.wide, &widened(&key, header), header, best);
        }
        self.places.get(best as usize).map(|place| (best, place.class as usize))
    }

    /// The first matching rule of these tuples if it comes before `best`, which is another's.
    #[inline]
    fn search<const N: usize>(&self, tuples: &[Tuple<N>], key: &[u64; N], header: &Header, mut best: u32) -> u32 {
        for tuple in tuples {
            if tuple.first > best {
                break;
            }
            let Some(group) = tuple.find(&self.hash, key) else { continue };
            let mut number = group.first;
            while number < best {
                let place = &self.places[number as usize];
                if place.is_exact || residue_matches(&self.rules[number as usize], header) {
                    best = number;
                }
                number = place.next;
            }
        }
        best
    }

    /// The first rule, as class and index, that matches whatever `rule` matches.
    pub(super) fn cover(&self, rule: &Rule) -> Option<(usize, usize)> {
        let (mask, values, _) = ternary(rule);
        let best = self.cover_among(&self.narrow, rule, &narrowed(&mask), &narrowed(&values), NO_RULE);
        let best = self.cover_among(&self.wide, rule, &mask, &values, best);
        self.places.get(best as usize).map(|place| (place.class as usize, place.index as usize))
    }

    fn cover_among<const N: usize>(&self, tuples: &[Tuple<N>], rule: &Rule, mask: &[u64; N], values: &[u64; N], mut best: u32) -> u32 {
        for tuple in tuples {
            // Only a mask that asks for no more bits than the rule's can belong to a covering rule.
            if tuple.first > best || tuple.mask.iter().zip(mask).any(|(wanted, given)| wanted & !given != 0) {
                continue;
            }
            let mut number = tuple.find(&self.hash, values).map_or(NO_RULE, |group| group.first);
            while number < best {
                if self.rules[number as usize].covers(rule) {
                    best = number;
                }
                number = self.places[number as usize].next;
            }
        }
        best
    }
}

/// Adds a rule to the tuple of its mask, and returns the rule of the same values before it, if there is one.
fn insert<const N: usize>(tuples: &mut Vec<Tuple<N>>, hash: &FlowHash, mask: [u64; N], values: [u64; N], number: u32) -> Option<u32> {
    let at = tuples.iter().position(|tuple| tuple.mask == mask).unwrap_or_else(|| {
        tuples.push(Tuple { mask, first: number, groups: Vec::new(), slots: alloc::vec![FREE_SLOT; 4] });
        tuples.len() - 1
    });
    tuples[at].insert(hash, values, number)
}

impl<const N: usize> Tuple<N> {
    #[inline]
    fn find(&self, hash: &FlowHash, key: &[u64; N]) -> Option<&Group<N>> {
        let masked: [u64; N] = core::array::from_fn(|i| key[i] & self.mask[i]);
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

    fn insert(&mut self, hash: &FlowHash, values: [u64; N], number: u32) -> Option<u32> {
        let last = self.slots.len() - 1;
        let mut at = hash.of_words(&values) as usize & last;
        while let Some(group) = self.groups.get_mut(self.slots[at] as usize) {
            if group.values == values {
                return Some(core::mem::replace(&mut group.last, number));
            }
            at = (at + 1) & last;
        }
        self.slots[at] = self.groups.len() as u32;
        self.groups.push(Group { values, first: number, last: number });
        if self.groups.len() * 2 > self.slots.len() {
            self.grow(hash);
        }
        None
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
fn widened(key: &Key, header: &Header) -> WideKey {
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

fn narrowed(wide: &WideKey) -> Key {
    core::array::from_fn(|word| wide[word])
}

fn is_narrow(mask: &WideKey) -> bool {
    mask[NARROW..].iter().all(|&word| word == 0)
}

/// A rule as mask and values, and whether they are all of it.
fn ternary(rule: &Rule) -> (WideKey, WideKey, bool) {
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

/// Checks what [`ternary`] leaves out.
fn residue_matches(rule: &Rule, header: &Header) -> bool {
    let transport = header.transport();
    let ports = transport.and_then(|transport| transport.ports);
    rule.length.is_none_or(|range| range.contains(header.length))
        && rule.dscp.is_none_or(|set| transport.is_some_and(|transport| set.contains(transport.dscp)))
        && rule.source_port.is_none_or(|range| ports.is_some_and(|(source, _)| range.contains(source)))
        && rule.destination_port.is_none_or(|range| ports.is_some_and(|(_, destination)| range.contains(destination)))
        && !rule.not.iter().any(|exception| exception.matches(header))
}
