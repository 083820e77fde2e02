//! Builds the headers of simulated flows.

use crate::diagnostic::{Diagnostic, Span};
use crate::document::HeaderTable;
use crate::header::{Prefix, WITH_PORTS, single_mac};
use crate::value::{At, Block};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::{FlagPattern, Header, MacPattern, Network, Transport};
use tidegate_core::packet::Ecn;

/// Protocol numbers of IANA.
const UDP: u8 = 17;
/// As above.
const TCP: u8 = Transport::TCP;
const USUAL_SOURCE_PORT: u16 = 49_152;
const USUAL_DESTINATION_PORT: u16 = 5000;
const USUAL_DESTINATION_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const USUAL_DESTINATION_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The header of the flows of one table, which differ in their source only.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    header: Header,
    source: Option<IpAddr>,
    is_v6: bool,
}

impl Endpoint {
    /// Reads the table of `count` flows. The default protocol is TCP if `is_tcp`, otherwise UDP.
    pub fn resolve(table: Option<&Block<HeaderTable>>, is_tcp: bool, count: u32, findings: &mut Vec<Diagnostic>) -> Endpoint {
        let usual = HeaderTable::default();
        let table = table.map_or(&usual, |block| &block.value);
        let source = table.source.as_ref().and_then(|at| single(at, findings));
        let destination = table.destination.as_ref().and_then(|at| single(at, findings));
        if let (Some(from), Some(to), Some(at)) = (source, destination, &table.destination)
            && from.is_ipv4() != to.is_ipv4()
        {
            findings.push(at.error("source and destination are of different IP versions").help("write both as IPv4 or both as IPv6"));
        }
        let protocol = table.protocol.as_ref().map_or(if is_tcp { TCP } else { UDP }, |at| at.value.0);
        let ports = WITH_PORTS.contains(&protocol).then(|| {
            let port = |at: &Option<At<crate::value::Whole<0, 65535>>>, usual| at.as_ref().map_or(usual, |at| at.value.0 as u16);
            (port(&table.source_port, USUAL_SOURCE_PORT), port(&table.destination_port, USUAL_DESTINATION_PORT))
        });
        judge_ports(table, protocol, ports, source.is_some(), count, findings);
        if let (Some(at), None) = (&table.vlan_priority, &table.vlan) {
            findings.push(
                at.error("`vlan_priority` is part of a VLAN tag")
                    .help("add `vlan`; identifier 0 stands for a tag with nothing but a priority"),
            );
        }
        if let (Some(at), None) = (&table.mpls_traffic_class, &table.mpls_label) {
            findings.push(at.error("`mpls_traffic_class` is part of a label").help("add `mpls_label`"));
        }
        if let (Some(at), None) = (&table.inner_vlan, &table.vlan) {
            findings.push(at.error("`inner_vlan` is behind another tag").help("add `vlan`, the outer tag"));
        }
        let is_v6 = source.or(destination).is_some_and(|address| address.is_ipv6());
        let dscp = table.dscp.as_ref().map_or(0, |at| at.value.0);
        let tcp_flags = flags(table, protocol, findings);
        let transport = Transport { dscp, ecn: Ecn::NotEct, protocol, fragment: false, ports, tcp_flags };
        let network = match destination {
            Some(IpAddr::V6(to)) => Network::V6 { source: 0, destination: to.to_bits(), transport },
            None if is_v6 => Network::V6 { source: 0, destination: USUAL_DESTINATION_V6.to_bits(), transport },
            Some(IpAddr::V4(to)) => Network::V4 { source: 0, destination: to.to_bits(), transport },
            None => Network::V4 { source: 0, destination: USUAL_DESTINATION_V4.to_bits(), transport },
        };
        let mpls_label = table.mpls_label.as_ref().map(|at| at.value.0 as u32);
        if let (Some(at), false) = (&table.flow_label, is_v6) {
            findings.push(at.error("IPv4 has no flow label").help("give an IPv6 `source` or `destination`, or remove it"));
        }
        let header = Header {
            length: 0,
            source_mac: table.source_mac.as_ref().and_then(|at| station(at, findings)),
            destination_mac: table.destination_mac.as_ref().and_then(|at| station(at, findings)),
            inner_vlan: table.inner_vlan.as_ref().map(|at| at.value.0 as u16),
            flow_label: is_v6.then(|| table.flow_label.as_ref().map_or(0, |at| at.value.0 as u32)),
            ethernet_type: if mpls_label.is_some() {
                0x8847
            } else if is_v6 {
                0x86dd
            } else {
                0x0800
            },
            vlan: table.vlan.as_ref().map(|at| at.value.0 as u16),
            vlan_priority: table.vlan.as_ref().map(|_| table.vlan_priority.as_ref().map_or(0, |at| at.value.0 as u8)),
            mpls_label,
            mpls_traffic_class: mpls_label.map(|_| table.mpls_traffic_class.as_ref().map_or(0, |at| at.value.0 as u8)),
            network,
        };
        Endpoint { header, source, is_v6 }
    }

    /// The header of the flow of this `number` in the file, the `index`-th of its table; both from 0.
    pub fn header(&self, number: u32, index: u32) -> Header {
        let mut header = self.header;
        let number = number + 1;
        let own = match (self.source, self.is_v6) {
            (Some(source), _) => source,
            (None, false) => IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | number & 0xff_ffff)),
            (None, true) => IpAddr::V6(Ipv6Addr::from_bits(0xfd << 120 | u128::from(number))),
        };
        match (&mut header.network, own) {
            (Network::V4 { source, transport, .. }, IpAddr::V4(own)) => {
                *source = own.to_bits();
                count_up(transport, index);
            }
            (Network::V6 { source, transport, .. }, IpAddr::V6(own)) => {
                *source = own.to_bits();
                count_up(transport, index);
            }
            // Mixed address families have been reported.
            _ => {}
        }
        header
    }
}

fn count_up(transport: &mut Transport, index: u32) {
    if let Some((source, _)) = &mut transport.ports {
        // Wraps only where the addresses differ as well.
        *source = source.wrapping_add(index as u16);
    }
}

fn single(at: &At<Prefix>, findings: &mut Vec<Diagnostic>) -> Option<IpAddr> {
    if !at.value.is_single() {
        findings.push(at.error("a packet has one address, not a prefix").help("remove the part from the slash on"));
        return None;
    }
    Some(at.value.address)
}

/// The one Ethernet address of a packet.
fn station(at: &At<MacPattern>, findings: &mut Vec<Diagnostic>) -> Option<[u8; 6]> {
    let found = single_mac(at.value);
    if found.is_none() {
        findings.push(at.error("a packet has one address, not a prefix or a mask").help("remove the part from the slash on"));
    }
    found
}

/// The TCP flags of the packets.
fn flags(table: &HeaderTable, protocol: u8, findings: &mut Vec<Diagnostic>) -> Option<u16> {
    match &table.tcp_flags {
        None => (protocol == TCP).then_some(Transport::ACK),
        Some(at) if protocol != TCP => {
            findings.push(at.error(format!("protocol {protocol} has no TCP flags")).help("write protocol = \"tcp\", or remove them"));
            None
        }
        Some(at) => {
            let FlagPattern { set, clear } = at.value;
            if clear != 0 {
                findings.push(at.error("a packet has the flags that are named, and no others").help("remove those with `!`"));
            }
            Some(set)
        }
    }
}

fn judge_ports(table: &HeaderTable, protocol: u8, ports: Option<(u16, u16)>, is_fixed: bool, count: u32, findings: &mut Vec<Diagnostic>) {
    let written: Option<Span> = table.source_port.as_ref().or(table.destination_port.as_ref()).map(|at| at.span.clone());
    match (ports, written) {
        (None, Some(span)) => {
            let finding = Diagnostic::error(span, format!("protocol {protocol} has no ports"));
            findings.push(finding.help("TCP, UDP, DCCP, SCTP and UDP-Lite have; choose one of them or remove the ports"));
        }
        (Some((first, _)), _) if is_fixed && u32::from(first) + count > 65_536 => {
            let at = table.source_port.as_ref().or(None).map(|at| at.span.clone()).or(table.source.as_ref().map(|at| at.span.clone()));
            let problem = format!("{count} flows from port {first} of one address run out of ports");
            findings.push(
                Diagnostic::error(at.unwrap_or(0..0), problem)
                    .help("lower `source_port` or `count`, or leave `source` out to give every flow an address"),
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
