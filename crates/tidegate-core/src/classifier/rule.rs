//! Rules: conditions on the fields of a header, all of which have to hold.

use super::header::{Header, Network, Transport};
use super::pattern::{CodePoints, FlagPattern, LengthRange, MacPattern, PortRange, Prefix};
use super::problem::RuleProblem;
use crate::packet::Ecn;
use alloc::vec::Vec;

/// A condition on headers. Every field that is given has to match; a rule of nothing matches every packet.
///
/// Conditions on the network layer never match frames that carry no IP; a source or destination prefix matches its own IP version only.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rule {
    /// [`Header::length`].
    pub length: Option<LengthRange>,
    /// [`Header::source_mac`].
    pub source_mac: Option<MacPattern>,
    /// [`Header::destination_mac`].
    pub destination_mac: Option<MacPattern>,
    /// [`Header::ethernet_type`].
    pub ethernet_type: Option<u16>,
    /// [`Header::vlan`], 0 to 4095.
    pub vlan: Option<u16>,
    /// [`Header::vlan_priority`], 0 to 7.
    pub vlan_priority: Option<u8>,
    /// [`Header::inner_vlan`], 0 to 4095.
    pub inner_vlan: Option<u16>,
    /// [`Header::mpls_label`], below 2^20.
    pub mpls_label: Option<u32>,
    /// [`Header::mpls_traffic_class`], 0 to 7.
    pub mpls_traffic_class: Option<u8>,
    /// Where the packet comes from.
    pub source: Option<Prefix>,
    /// Where it goes to.
    pub destination: Option<Prefix>,
    /// [`Header::flow_label`], below 2^20.
    pub flow_label: Option<u32>,
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
    /// [`Transport::tcp_flags`]. Never matches the later fragments of a datagram.
    pub tcp_flags: Option<FlagPattern>,
    /// [`Transport::fragment`].
    pub fragment: Option<bool>,
    /// Exceptions: a packet that one of these matches is not matched. They have no exceptions themselves.
    pub not: Vec<Rule>,
}

fn is<T: PartialEq>(wanted: Option<T>, found: Option<T>) -> bool {
    wanted.is_none() || wanted == found
}

impl Rule {
    /// True if every condition holds, and no exception.
    pub fn matches(&self, header: &Header) -> bool {
        let transport = header.transport();
        let ports = transport.and_then(|transport| transport.ports);
        let flags = transport.and_then(|transport| transport.tcp_flags);
        let mac_is = |wanted: Option<MacPattern>, found: Option<[u8; 6]>| {
            wanted.is_none_or(|pattern| found.is_some_and(|mac| pattern.contains(mac)))
        };
        is(self.ethernet_type, Some(header.ethernet_type))
            && self.length.is_none_or(|range| range.contains(header.length))
            && mac_is(self.source_mac, header.source_mac)
            && mac_is(self.destination_mac, header.destination_mac)
            && is(self.vlan, header.vlan)
            && is(self.vlan_priority, header.vlan_priority)
            && is(self.inner_vlan, header.inner_vlan)
            && is(self.mpls_label, header.mpls_label)
            && is(self.mpls_traffic_class, header.mpls_traffic_class)
            && self.source.is_none_or(|prefix| prefix.contains_source(&header.network))
            && self.destination.is_none_or(|prefix| prefix.contains_destination(&header.network))
            && is(self.flow_label, header.flow_label)
            && self.dscp.is_none_or(|set| transport.is_some_and(|transport| set.contains(transport.dscp)))
            && is(self.ecn, transport.map(|transport| transport.ecn))
            && is(self.protocol, transport.map(|transport| transport.protocol))
            && self.source_port.is_none_or(|range| ports.is_some_and(|(source, _)| range.contains(source)))
            && self.destination_port.is_none_or(|range| ports.is_some_and(|(_, destination)| range.contains(destination)))
            && self.tcp_flags.is_none_or(|pattern| flags.is_some_and(|flags| pattern.contains(flags)))
            && is(self.fragment, transport.map(|transport| transport.fragment))
            && !self.not.iter().any(|exception| exception.matches(header))
    }

    /// True if every packet that `other` matches is matched by this rule too, judged condition by condition.
    pub fn covers(&self, other: &Rule) -> bool {
        // What an exception takes out here is out of `other` too.
        let lacks = |exception: &Rule| exception.is_apart_from(other) || other.not.iter().any(|taken: &Rule| taken.covers(exception));
        self.conditions_cover(other) && self.not.iter().all(lacks)
    }

    /// The same without the exceptions of this rule.
    fn conditions_cover(&self, other: &Rule) -> bool {
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
        let mac_covers = |wanted: Option<MacPattern>, found: Option<MacPattern>| {
            wanted.is_none_or(|wanted| found.is_some_and(|found| wanted.covers(found)))
        };
        let dscp_covers = match self.dscp {
            None => true,
            Some(CodePoints(u64::MAX)) => other.asks_for_ip(),
            Some(wanted) => other.dscp.is_some_and(|found| found.0 & !wanted.0 == 0),
        };
        let (lengths, others) = (self.length.unwrap_or(LengthRange::ALL), other.length.unwrap_or(LengthRange::ALL));
        is(self.ethernet_type, other.ethernet_type)
            && lengths.first <= others.first
            && others.last <= lengths.last
            && mac_covers(self.source_mac, other.source_mac)
            && mac_covers(self.destination_mac, other.destination_mac)
            && is(self.vlan, other.vlan)
            && is(self.vlan_priority, other.vlan_priority)
            && is(self.inner_vlan, other.inner_vlan)
            && is(self.mpls_label, other.mpls_label)
            && is(self.mpls_traffic_class, other.mpls_traffic_class)
            && prefix_covers(self.source, other.source)
            && prefix_covers(self.destination, other.destination)
            && is(self.flow_label, other.flow_label)
            && dscp_covers
            && is(self.ecn, other.ecn)
            && is(self.protocol, other.protocol)
            && range_covers(self.source_port, other.source_port)
            && range_covers(self.destination_port, other.destination_port)
            && self.tcp_flags.is_none_or(|wanted| other.tcp_flags.is_some_and(|found| wanted.covers(found)))
            && is(self.fragment, other.fragment)
    }

    /// True if no packet can match both, judged condition by condition.
    fn is_apart_from(&self, other: &Rule) -> bool {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_some() && other.is_some() && one != other
        }
        fn both<T>(one: Option<T>, other: Option<T>, apart: impl Fn(T, T) -> bool) -> bool {
            one.zip(other).is_some_and(|(one, other)| apart(one, other))
        }
        let prefixes = |one: Prefix, other: Prefix| !one.covers(other) && !other.covers(one);
        let ports = |one: PortRange, other: PortRange| one.last < other.first || other.last < one.first;
        differ(self.ethernet_type, other.ethernet_type)
            || both(self.length, other.length, |one, other| one.last < other.first || other.last < one.first)
            || both(self.source_mac, other.source_mac, MacPattern::is_apart_from)
            || both(self.destination_mac, other.destination_mac, MacPattern::is_apart_from)
            || differ(self.vlan, other.vlan)
            || differ(self.vlan_priority, other.vlan_priority)
            || differ(self.inner_vlan, other.inner_vlan)
            || differ(self.mpls_label, other.mpls_label)
            || differ(self.mpls_traffic_class, other.mpls_traffic_class)
            || [true, false].into_iter().any(|v4| self.asks_for_version(v4) && other.asks_for_version(!v4))
            || both(self.source, other.source, prefixes)
            || both(self.destination, other.destination, prefixes)
            || differ(self.flow_label, other.flow_label)
            || both(self.dscp, other.dscp, |one, other| one.0 & other.0 == 0)
            || differ(self.ecn, other.ecn)
            || differ(self.protocol, other.protocol)
            || both(self.source_port, other.source_port, ports)
            || both(self.destination_port, other.destination_port, ports)
            || both(self.tcp_flags, other.tcp_flags, FlagPattern::is_apart_from)
            || differ(self.fragment, other.fragment)
    }

    fn asks_for_version(&self, v4: bool) -> bool {
        [self.source, self.destination].into_iter().flatten().any(|prefix| prefix.is_v4() == v4)
    }

    fn asks_for_ip(&self) -> bool {
        self.source.is_some()
            || self.destination.is_some()
            || self.dscp.is_some()
            || self.ecn.is_some()
            || self.protocol.is_some()
            || self.source_port.is_some()
            || self.destination_port.is_some()
            || self.tcp_flags.is_some()
            || self.fragment.is_some()
    }

    /// True if it depends on the code point of congestion notification.
    pub fn reads_ecn(&self) -> bool {
        self.ecn.is_some() || self.not.iter().any(Rule::reads_ecn)
    }

    /// The ranges of lengths that it depends on, those of its exceptions included.
    pub fn lengths(&self) -> Vec<LengthRange> {
        self.length.into_iter().chain(self.not.iter().flat_map(Rule::lengths)).collect()
    }

    /// Says what is wrong with the rule by itself.
    pub(super) fn check(&self) -> Result<(), RuleProblem> {
        if self.length.is_some_and(|range| range.first > range.last) {
            return Err(RuleProblem::LengthsReversed);
        }
        for pattern in [self.source_mac, self.destination_mac].into_iter().flatten() {
            pattern.check()?;
        }
        if [self.vlan, self.inner_vlan].into_iter().flatten().any(|id| id > 4095) {
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
            && source.is_v4() != destination.is_v4()
        {
            return Err(RuleProblem::MixedVersions);
        }
        if self.flow_label.is_some_and(|label| label >= 1 << 20) {
            return Err(RuleProblem::FlowLabel);
        }
        if self.flow_label.is_some() && self.asks_for_version(true) {
            return Err(RuleProblem::FlowLabelOfV4);
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
        if let Some(flags) = self.tcp_flags {
            flags.check()?;
            if self.protocol.is_some_and(|protocol| protocol != Transport::TCP) {
                return Err(RuleProblem::FlagsWithoutTcp);
            }
        }
        for exception in &self.not {
            exception.check()?;
            if !exception.not.is_empty() {
                return Err(RuleProblem::NestedException);
            }
            if exception.covers(self) {
                return Err(RuleProblem::NothingLeft);
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
    /// The protocol number of TCP.
    pub const TCP: u8 = 6;

    /// The flag of TCP that all packets of an established connection have.
    pub const ACK: u16 = 1 << 4;

    /// True for the protocols whose ports a header can show: TCP, UDP, DCCP, SCTP and UDP-Lite.
    pub const fn has_ports(protocol: u8) -> bool {
        matches!(protocol, 6 | 17 | 33 | 132 | 136)
    }
}

#[cfg(test)]
mod tests;
