//! The network layer of a frame: MPLS label stacks, IPv4 and IPv6, down to the ports.
//!
//! The fixed IP headers are read by etherparse. Bytes that a frame does not hold leave their fields out.

use crate::found::{Found, read_u16};
use etherparse::{Ipv6HeaderSlice, LaxIpv4Slice};
use tidegate_core::classifier::{FlagPattern, Network, Transport};
use tidegate_core::packet::Ecn;

/// The Ethernet type of IPv4.
pub(crate) const IPV4: u16 = 0x0800;
/// The Ethernet type of IPv6.
pub(crate) const IPV6: u16 = 0x86dd;

/// Reads a label stack (RFC 3032) and the IP packet below it.
pub(crate) fn from_labels(found: &mut Found, stack: &[u8]) {
    let mut rest = stack;
    while let Some((entry, below)) = rest.split_first_chunk::<4>() {
        let entry = u32::from_be_bytes(*entry);
        if found.header.mpls_label.is_none() {
            found.header.mpls_label = Some(entry >> 12);
            found.header.mpls_traffic_class = Some((entry >> 9 & 0b111) as u8);
        }
        rest = below;
        let bottom_of_stack = entry >> 8 & 1 == 1;
        if bottom_of_stack {
            // A label stack does not say what it carries; the version nibble tells IP from a pseudowire's zero.
            if matches!(rest.first().map(|byte| byte >> 4), Some(4 | 6)) {
                from_ip_payload(found, rest);
            }
            break;
        }
    }
}

/// Reads a packet of which the link type says only that it is IP.
pub(crate) fn from_ip(found: &mut Found, packet: &[u8]) {
    found.header.ethernet_type = match packet.first().map(|byte| byte >> 4) {
        Some(4) => IPV4,
        Some(6) => IPV6,
        _ => return,
    };
    from_ip_payload(found, packet);
}

pub(crate) fn from_ip_payload(found: &mut Found, packet: &[u8]) {
    let network = match packet.first().map(|byte| byte >> 4) {
        Some(4) => LaxIpv4Slice::from_slice(packet).ok().map(|(v4, _)| {
            let fixed = v4.header();
            let fragment = Fragment { any: v4.is_payload_fragmented(), later: fixed.fragments_offset().value() > 0 };
            Network::V4 {
                source: u32::from_be_bytes(fixed.source()),
                destination: u32::from_be_bytes(fixed.destination()),
                transport: transport(
                    fixed.dcp().value() << 2 | fixed.ecn().value(),
                    fragment,
                    v4.payload_ip_number().0,
                    v4.payload().payload,
                ),
            }
        }),
        Some(6) => Ipv6HeaderSlice::from_slice(packet).ok().map(|fixed| {
            let (protocol, fragment, payload) = skip_extensions(fixed.next_header().0, &packet[IPV6_HEADER..]);
            found.header.flow_label = Some(fixed.flow_label().value());
            Network::V6 {
                source: u128::from_be_bytes(fixed.source()),
                destination: u128::from_be_bytes(fixed.destination()),
                transport: transport(fixed.dscp().value() << 2 | fixed.ecn().value(), fragment, protocol, payload),
            }
        }),
        _ => None,
    };
    found.places.ip = network.map(|_| found.place_of(packet));
    found.header.network = network.unwrap_or_default();
}

/// Bytes in the fixed IPv6 header.
pub(crate) const IPV6_HEADER: usize = 40;

/// Walks the extension headers of an IPv6 packet (RFC 8200, section 4) to the transport header, as far as the bytes reach.
///
/// Done by hand: etherparse 0.21 reads beyond the end of extension headers that a capture has cut off.
fn skip_extensions(mut kind: u8, mut bytes: &[u8]) -> (u8, Fragment, &[u8]) {
    let mut fragment = Fragment { any: false, later: false };
    loop {
        let length = match (kind, bytes) {
            // Hop-by-hop options, routing, destination options, mobility, HIP and Shim6 count their length in units of 8 bytes less one.
            (0 | 43 | 60 | 135 | 139 | 140, [_, units, ..]) => 8 + 8 * usize::from(*units),
            // The authentication header counts in units of 4 bytes less two.
            (51, [_, units, ..]) => 8 + 4 * usize::from(*units),
            (44, [_, _, high, low, ..]) => {
                let field = u16::from_be_bytes([*high, *low]);
                fragment.later |= field >> 3 > 0;
                // An offset of zero without more fragments to follow is a whole datagram (RFC 6946).
                fragment.any |= field & !0b110 > 0;
                8
            }
            _ => return (kind, fragment, bytes),
        };
        let Some(rest) = bytes.get(length..) else { return (bytes[0], fragment, &[]) };
        kind = bytes[0];
        bytes = rest;
        if fragment.later {
            return (kind, fragment, bytes);
        }
    }
}

/// Whether a packet is a fragment at all, and whether it is one without the transport header.
struct Fragment {
    any: bool,
    later: bool,
}

fn transport(traffic_class: u8, fragment: Fragment, protocol: u8, payload: &[u8]) -> Transport {
    /// TCP, UDP, DCCP, SCTP and UDP-Lite all begin with source and destination port.
    const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
    let (mut ports, mut tcp_flags) = (None, None);
    if !fragment.later && WITH_PORTS.contains(&protocol) {
        ports = read_u16(payload, 0).zip(read_u16(payload, 2));
        if protocol == Transport::TCP {
            tcp_flags = read_u16(payload, 12).map(|word| word & FlagPattern::ALL);
        }
    }
    let (dscp, ecn) = (traffic_class >> 2, Ecn::from_bits(traffic_class));
    Transport { dscp, ecn, protocol, fragment: fragment.any, ports, tcp_flags }
}
