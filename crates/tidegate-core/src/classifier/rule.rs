//! Rules: conditions on the fields of a header, all of which have to hold.

use super::header::{Header, Network, Transport};
use crate::packet::Ecn;
use core::fmt;

/// A condition on headers. Every field that is given has to match; a rule of nothing matches every packet.
///
/// Conditions on the network layer never match frames that carry no IP; a source or destination prefix matches its own IP version only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rule {
    /// [`Header::ethernet_type`].
    pub ethernet_type: Option<u16>,
    /// [`Header::vlan`], 0 to 4095.
    pub vlan: Option<u16>,
    /// [`Header::vlan_priority`], 0 to 7.
    pub vlan_priority: Option<u8>,
    /// [`Header::mpls_label`], below 2^20.
    pub mpls_label: Option<u32>,
    /// [`Header::mpls_traffic_class`], 0 to 7.
    pub mpls_traffic_class: Option<u8>,
    /// Where the packet comes from.
    pub source: Option<Prefix>,
    /// Where it goes to.
    pub destination: Option<Prefix>,
    /// [`Transport::dscp`].
    pub dscp: Option<CodePoints>,
    /// [`Transport::ecn`].
    pub ecn: Option<Ecn>,
    /// [`Transport::protocol`].
    pub protocol: Option<u8>,
    /// Source port. Never matches the later fragments of a datagram.
    pub source_port: Option<PortRange>,
    /// Destination port. Never matches the later fragments of a datagram.
    pub destination_port: Option<PortRange>,
    /// [`Transport::fragment`].
    pub fragment: Option<bool>,
}

impl Rule {
    /// True if every condition holds.
    pub fn matches(&self, header: &Header) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, found: Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let transport = header.transport();
        let ports = transport.and_then(|transport| transport.ports);
        is(self.ethernet_type, Some(header.ethernet_type))
            && is(self.vlan, header.vlan)
            && is(self.vlan_priority, header.vlan_priority)
            && is(self.mpls_label, header.mpls_label)
            && is(self.mpls_traffic_class, header.mpls_traffic_class)
            && self.source.is_none_or(|prefix| prefix.contains_source(&header.network))
            && self.destination.is_none_or(|prefix| prefix.contains_destination(&header.network))
            && self.dscp.is_none_or(|set| transport.is_some_and(|transport| set.contains(transport.dscp)))
            && is(self.ecn, transport.map(|transport| transport.ecn))
            && is(self.protocol, transport.map(|transport| transport.protocol))
            && self.source_port.is_none_or(|range| ports.is_some_and(|(source, _)| range.contains(source)))
            && self.destination_port.is_none_or(|range| ports.is_some_and(|(_, destination)| range.contains(destination)))
            && is(self.fragment, transport.map(|transport| transport.fragment))
    }

    /// True if every packet that `other` matches is matched by this rule too, judged condition by condition.
    pub fn covers(&self, other: &Rule) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, found: Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        // A prefix of no bits asks for its IP version and no more, the range of all ports for ports, the set of all code points for IP;
        // other conditions of `other` may see to that.
        let prefix_covers = |wanted: Option<Prefix>, found: Option<Prefix>| match wanted {
            None => true,
            Some(Prefix::V4 { length: 0, .. }) => other.asks_for_version(true),
            Some(Prefix::V6 { length: 0, .. }) => other.asks_for_version(false),
            Some(wanted) => found.is_some_and(|found| wanted.covers(found)),
        };
        let range_covers = |wanted: Option<PortRange>, found: Option<PortRange>| match wanted {
            None => true,
            Some(PortRange { first: 0, last: u16::MAX }) => other.source_port.is_some() || other.destination_port.is_some(),
            Some(wanted) => found.is_some_and(|found| wanted.first <= found.first && found.last <= wanted.last),
        };
        let dscp_covers = match self.dscp {
            None => true,
            Some(CodePoints(u64::MAX)) => other.asks_for_ip(),
            Some(wanted) => other.dscp.is_some_and(|found| found.0 & !wanted.0 == 0),
        };
        is(self.ethernet_type, other.ethernet_type)
            && is(self.vlan, other.vlan)
            && is(self.vlan_priority, other.vlan_priority)
            && is(self.mpls_label, other.mpls_label)
            && is(self.mpls_traffic_class, other.mpls_traffic_class)
            && prefix_covers(self.source, other.source)
            && prefix_covers(self.destination, other.destination)
            && dscp_covers
            && is(self.ecn, other.ecn)
            && is(self.protocol, other.protocol)
            && range_covers(self.source_port, other.source_port)
            && range_covers(self.destination_port, other.destination_port)
            && is(self.fragment, other.fragment)
    }

    fn asks_for_version(&self, v4: bool) -> bool {
        [self.source, self.destination].into_iter().flatten().any(|prefix| matches!(prefix, Prefix::V4 { .. }) == v4)
    }

    fn asks_for_ip(&self) -> bool {
        self.source.is_some()
            || self.destination.is_some()
            || self.dscp.is_some()
            || self.ecn.is_some()
            || self.protocol.is_some()
            || self.source_port.is_some()
            || self.destination_port.is_some()
            || self.fragment.is_some()
    }

    /// Says what is wrong with the rule by itself.
    pub(super) fn check(&self) -> Result<(), RuleProblem> {
        if self.vlan.is_some_and(|id| id > 4095) {
            return Err(RuleProblem::Vlan);
        }
        if self.vlan_priority.is_some_and(|priority| priority > 7) {
            return Err(RuleProblem::VlanPriority);
        }
        if self.mpls_label.is_some_and(|label| label >= 1 << 20) {
            return Err(RuleProblem::MplsLabel);
        }
        if self.mpls_traffic_class.is_some_and(|class| class > 7) {
            return Err(RuleProblem::MplsTrafficClass);
        }
        for prefix in [self.source, self.destination].into_iter().flatten() {
            prefix.check()?;
        }
        if let (Some(source), Some(destination)) = (self.source, self.destination)
            && matches!(source, Prefix::V4 { .. }) != matches!(destination, Prefix::V4 { .. })
        {
            return Err(RuleProblem::MixedVersions);
        }
        if self.dscp.is_some_and(|set| set.0 == 0) {
            return Err(RuleProblem::NoCodePoint);
        }
        for range in [self.source_port, self.destination_port].into_iter().flatten() {
            if range.first > range.last {
                return Err(RuleProblem::PortsReversed);
            }
            if self.protocol.is_some_and(|protocol| !Transport::has_ports(protocol)) {
                return Err(RuleProblem::ProtocolWithoutPorts);
            }
        }
        Ok(())
    }
}

impl Header {
    /// What the two IP versions have in common, if the frame carries IP.
    #[inline]
    pub const fn transport(&self) -> Option<&Transport> {
        match &self.network {
            Network::Other => None,
            Network::V4 { transport, .. } | Network::V6 { transport, .. } => Some(transport),
        }
    }
}

impl Transport {
    /// True for the protocols whose ports a header can show: TCP, UDP, DCCP, SCTP and UDP-Lite.
    pub const fn has_ports(protocol: u8) -> bool {
        matches!(protocol, 6 | 17 | 33 | 132 | 136)
    }
}

/// All addresses that agree with this one in the first `length` bits. The rest of the address is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefix {
    /// IPv4.
    V4 {
        /// The address.
        address: u32,
        /// The number of bits that count, 0 to 32.
        length: u8,
    },
    /// IPv6.
    V6 {
        /// The address.
        address: u128,
        /// The number of bits that count, 0 to 128.
        length: u8,
    },
}

impl Prefix {
    fn contains_source(self, network: &Network) -> bool {
        match (self, network) {
            (Prefix::V4 { address, length }, Network::V4 { source, .. }) => (source ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Network::V6 { source, .. }) => (source ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    fn contains_destination(self, network: &Network) -> bool {
        match (self, network) {
            (Prefix::V4 { address, length }, Network::V4 { destination, .. }) => (destination ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Network::V6 { destination, .. }) => (destination ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    fn covers(self, other: Prefix) -> bool {
        match (self, other) {
            (Prefix::V4 { address, length }, Prefix::V4 { address: a, length: l }) => length <= l && (a ^ address) & mask_v4(length) == 0,
            (Prefix::V6 { address, length }, Prefix::V6 { address: a, length: l }) => length <= l && (a ^ address) & mask_v6(length) == 0,
            _ => false,
        }
    }

    fn check(self) -> Result<(), RuleProblem> {
        let (fits, is_clean) = match self {
            Prefix::V4 { address, length } => (length <= 32, address & !mask_v4(length.min(32)) == 0),
            Prefix::V6 { address, length } => (length <= 128, address & !mask_v6(length.min(128)) == 0),
        };
        match (fits, is_clean) {
            (false, _) => Err(RuleProblem::PrefixTooLong),
            (_, false) => Err(RuleProblem::PrefixHasHostBits),
            _ => Ok(()),
        }
    }
}

/// The network mask of an IPv4 prefix length up to 32.
pub(super) const fn mask_v4(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

/// The network mask of an IPv6 prefix length up to 128.
pub(super) const fn mask_v6(length: u8) -> u128 {
    if length == 0 { 0 } else { u128::MAX << (128 - length) }
}

/// A set of differentiated services code points: bit n stands for code point n.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodePoints(pub u64);

impl CodePoints {
    /// The set of this code point alone, of which the lowest six bits count.
    pub const fn one(dscp: u8) -> CodePoints {
        CodePoints(1 << (dscp & 63))
    }

    /// True if the code point is in the set.
    pub const fn contains(self, dscp: u8) -> bool {
        self.0 >> (dscp & 63) & 1 != 0
    }
}

/// Ports from `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortRange {
    /// The lowest port.
    pub first: u16,
    /// The highest port, at least `first`.
    pub last: u16,
}

impl PortRange {
    /// One port alone.
    pub const fn one(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }

    /// True if the port is in the range.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }
}

/// What is wrong with a rule by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleProblem {
    /// A VLAN identifier above 4095.
    Vlan,
    /// A VLAN priority above 7.
    VlanPriority,
    /// An MPLS label of more than 20 bits.
    MplsLabel,
    /// An MPLS traffic class above 7.
    MplsTrafficClass,
    /// A prefix longer than an address.
    PrefixTooLong,
    /// An address with bits beyond its prefix length.
    PrefixHasHostBits,
    /// An IPv4 prefix on one side and an IPv6 prefix on the other.
    MixedVersions,
    /// An empty set of code points.
    NoCodePoint,
    /// A port range whose first port lies above its last.
    PortsReversed,
    /// Ports asked of a protocol that has none.
    ProtocolWithoutPorts,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleProblem::Vlan => "a VLAN identifier is at most 4095",
            RuleProblem::VlanPriority => "a VLAN priority is at most 7",
            RuleProblem::MplsLabel => "an MPLS label is below 1048576",
            RuleProblem::MplsTrafficClass => "an MPLS traffic class is at most 7",
            RuleProblem::PrefixTooLong => "a prefix is at most as long as the address: 32 bits for IPv4, 128 for IPv6",
            RuleProblem::PrefixHasHostBits => "the address has bits set beyond the prefix length: clear them, or lengthen the prefix",
            RuleProblem::MixedVersions => "source and destination are of different IP versions, which no packet is",
            RuleProblem::NoCodePoint => "the set of code points is empty, which matches nothing",
            RuleProblem::PortsReversed => "the first port of a range must not be above the last",
            RuleProblem::ProtocolWithoutPorts => "this protocol has no ports; TCP, UDP, DCCP, SCTP and UDP-Lite have",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    /// Rules of one condition each: per field enough of them to cover, to overlap and to be apart.
    fn rules() -> Vec<Rule> {
        let none = Rule::default();
        let v4 = |address, length| Some(Prefix::V4 { address, length });
        let v6 = |address, length| Some(Prefix::V6 { address, length });
        let prefixes =
            [v4(0, 0), v4(1 << 31, 1), v4(1 << 31, 32), v4(1 << 31 | 1, 32), v4(0, 1), v6(0, 0), v6(1 << 127, 1), v6(1 << 127, 128)];
        let ranges = [(0, u16::MAX), (5, 7), (6, 6), (7, 9)].map(|(first, last)| Some(PortRange { first, last }));
        let mut rules = alloc::vec![none];
        for source in prefixes {
            rules.push(Rule { source, ..none });
            rules.push(Rule { destination: source, ..none });
        }
        for source_port in ranges {
            rules.push(Rule { source_port, ..none });
            rules.push(Rule { destination_port: source_port, ..none });
        }
        rules.extend([0b1, 0b11, 0b110, 0b10, u64::MAX].map(|set| Rule { dscp: Some(CodePoints(set)), ..none }));
        rules.extend([Ecn::Ect1, Ecn::Ce].map(|ecn| Rule { ecn: Some(ecn), ..none }));
        rules.extend([6, 17].map(|protocol| Rule { protocol: Some(protocol), ..none }));
        rules.extend([true, false].map(|fragment| Rule { fragment: Some(fragment), ..none }));
        rules.extend([0x800, 0x86DD].map(|kind| Rule { ethernet_type: Some(kind), ..none }));
        rules.extend([1, 2].map(|id| Rule { vlan: Some(id), ..none }));
        rules.extend([1, 2].map(|priority| Rule { vlan_priority: Some(priority), ..none }));
        rules.extend([1, 2].map(|label| Rule { mpls_label: Some(label), ..none }));
        rules.extend([1, 2].map(|class| Rule { mpls_traffic_class: Some(class), ..none }));
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
            edits.push(Box::new(move |parts| parts.header.vlan_priority = Some(value)));
            edits.push(Box::new(move |parts| parts.header.mpls_label = Some(value.into())));
            edits.push(Box::new(move |parts| parts.header.mpls_traffic_class = Some(value)));
            edits.push(Box::new(move |parts| parts.header.ethernet_type = [0x800, 0x86DD, 0x806, 0x8847][usize::from(value)]));
            let address = [0, 1 << 31, 1 << 31 | 1, 1 << 31 | 2][usize::from(value)];
            edits.push(Box::new(move |parts| parts.source = address));
            edits.push(Box::new(move |parts| parts.destination = address));
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
                let both = Rule { source: a.source, ..*b };
                for header in headers.iter().filter(|_| b.source.is_none()) {
                    assert_eq!(both.matches(header), a.matches(header) && b.matches(header));
                }
            }
        }
    }
}
