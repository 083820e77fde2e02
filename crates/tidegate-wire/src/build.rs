//! From header fields to the bytes of a frame: what a simulated packet looks like on an Ethernet link.

use crate::checksum::{add, pseudo_header, sum};
use crate::network::{IPV4, IPV6};
use tidegate_core::classifier::{Header, Network, Transport};

/// The addresses of frames whose headers name none: locally administered.
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]];
/// The Ethernet type for local experiments (IEEE 802).
const EXPERIMENTAL: u16 = 0x88b5;
/// The Ethernet type of a VLAN tag.
const VLAN: u16 = 0x8100;
/// The Ethernet type of a tag with another below it.
const SERVICE_VLAN: u16 = 0x88a8;
/// The Ethernet type of a label stack.
const MPLS: u16 = 0x8847;
/// The protocol number of TCP.
const TCP: u8 = 6;
/// The protocol number of UDP.
const UDP: u8 = 17;
/// The flags of a segment that names none: ACK.
const USUAL_FLAGS: u16 = 0x10;
/// The hops that an IP packet may still make.
const HOPS: u8 = 64;

/// The headers of an Ethernet frame with these fields, whose payload, of zeros, is left out. Lengths and checksums are those of the whole frame,
/// of `header.length` bytes; one that is shorter than its headers has lengths that are longer than it.
///
/// What [`parse`](crate::parse) finds in them is the header again, apart from fields that it does not hold. UDP and TCP have their headers; other
/// protocols end with that of IP. Fragments have no flag of their own.
pub fn headers(header: &Header) -> Vec<u8> {
    let mut frame = [header.destination_mac.unwrap_or(MACS[0]), header.source_mac.unwrap_or(MACS[1])].concat();
    let mut put = |word: u16| frame.extend(word.to_be_bytes());
    if let Some(vlan) = header.vlan {
        put(if header.inner_vlan.is_some() { SERVICE_VLAN } else { VLAN });
        put(u16::from(header.vlan_priority.unwrap_or(0)) << 13 | vlan);
        if let Some(inner) = header.inner_vlan {
            put(VLAN);
            put(inner);
        }
    }
    let kind = match header.network {
        Network::V4 { .. } => IPV4,
        Network::V6 { .. } => IPV6,
        Network::Other if header.ethernet_type == 0 => EXPERIMENTAL,
        Network::Other => header.ethernet_type,
    };
    match header.mpls_label {
        None => put(kind),
        Some(label) => {
            put(MPLS);
            let bottom_of_stack = 1 << 8;
            let entry = label << 12 | u32::from(header.mpls_traffic_class.unwrap_or(0)) << 9 | bottom_of_stack | u32::from(HOPS);
            frame.extend(entry.to_be_bytes());
        }
    }
    // What IP carries, its own header included; at least the headers.
    let length =
        |least: usize, frame: &[u8]| (header.length as usize).saturating_sub(frame.len()).clamp(least, usize::from(u16::MAX)) as u16;
    match header.network {
        Network::Other => {}
        Network::V4 { source, destination, transport } => {
            let total = length(20 + length_of(&transport), &frame);
            let addresses = [source.to_be_bytes(), destination.to_be_bytes()].concat();
            let mut fixed = vec![0x45, traffic_class(&transport)];
            fixed.extend(total.to_be_bytes());
            fixed.extend([0, 0, 0x40, 0, HOPS, transport.protocol, 0, 0]);
            fixed.extend(&addresses);
            let checksum = !sum(&fixed);
            fixed[10..12].copy_from_slice(&checksum.to_be_bytes());
            frame.extend(fixed);
            frame.extend(segment(&transport, &addresses, total - 20));
        }
        Network::V6 { source, destination, transport } => {
            let payload = length(40 + length_of(&transport), &frame) - 40;
            let addresses = [source.to_be_bytes(), destination.to_be_bytes()].concat();
            let first = 6 << 28 | u32::from(traffic_class(&transport)) << 20 | header.flow_label.unwrap_or(0);
            frame.extend(first.to_be_bytes());
            frame.extend(payload.to_be_bytes());
            frame.extend([transport.protocol, HOPS]);
            frame.extend(&addresses);
            frame.extend(segment(&transport, &addresses, payload));
        }
    }
    frame
}

fn traffic_class(transport: &Transport) -> u8 {
    transport.dscp << 2 | transport.ecn.bits()
}

/// The bytes of the transport header.
fn length_of(transport: &Transport) -> usize {
    match (transport.protocol, transport.ports) {
        (UDP, Some(_)) => 8,
        (TCP, Some(_)) => 20,
        _ => 0,
    }
}

/// The transport header of a segment of this length, which is zeros otherwise: they add nothing to the checksum.
fn segment(transport: &Transport, addresses: &[u8], length: u16) -> Vec<u8> {
    let Some((source, destination)) = transport.ports.filter(|_| length_of(transport) > 0) else { return Vec::new() };
    let mut header = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    let field = if transport.protocol == UDP {
        header.extend(length.to_be_bytes());
        header.extend([0; 2]);
        6
    } else {
        let words = 5 << 12;
        header.extend([0; 8]);
        header.extend((words | transport.tcp_flags.unwrap_or(USUAL_FLAGS)).to_be_bytes());
        header.extend([0xff, 0xff, 0, 0, 0, 0]);
        16
    };
    let total = add(pseudo_header(addresses, transport.protocol, length.into()), sum(&header));
    // Zero would say that there is none.
    let checksum = if !total == 0 { u16::MAX } else { !total };
    header[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkType, parse};
    use proptest::prelude::*;
    use tidegate_core::packet::Ecn;

    fn transports() -> impl Strategy<Value = Transport> {
        (0u8..64, 0u8..4, prop::sample::select(vec![TCP, UDP, 47]), any::<(u16, u16)>(), 0u16..512).prop_map(
            |(dscp, ecn, protocol, ports, flags)| {
                let has_ports = protocol != 47;
                Transport {
                    dscp,
                    ecn: Ecn::from_bits(ecn),
                    protocol,
                    fragment: false,
                    ports: has_ports.then_some(ports),
                    tcp_flags: (protocol == TCP).then_some(flags),
                }
            },
        )
    }

    fn any_header() -> impl Strategy<Value = Header> {
        let network = prop_oneof![
            (any::<(u32, u32)>(), transports()).prop_map(|((source, destination), transport)| Network::V4 {
                source,
                destination,
                transport
            }),
            (any::<(u128, u128)>(), transports()).prop_map(|((source, destination), transport)| Network::V6 {
                source,
                destination,
                transport
            }),
        ];
        let tags = (prop::option::of((0u16..4096, 0u8..8)), prop::option::of(0u16..4096), prop::option::of((0u32..1 << 20, 0u8..8)));
        (any::<([u8; 6], [u8; 6])>(), tags, 0u32..1 << 20, network, 120u32..60_000).prop_map(
            |((to, from), (vlan, inner, label), flow, network, length)| {
                let is_v6 = matches!(network, Network::V6 { .. });
                let kind = if is_v6 { IPV6 } else { IPV4 };
                Header {
                    length,
                    source_mac: Some(from),
                    destination_mac: Some(to),
                    ethernet_type: if label.is_some() { MPLS } else { kind },
                    vlan: vlan.map(|(id, _)| id),
                    vlan_priority: vlan.map(|(_, priority)| priority),
                    inner_vlan: inner.filter(|_| vlan.is_some()),
                    mpls_label: label.map(|(label, _)| label),
                    mpls_traffic_class: label.map(|(_, class)| class),
                    flow_label: is_v6.then_some(flow),
                    network,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_built_is_read_again(header in any_header()) {
            let mut frame = headers(&header);
            frame.resize(header.length as usize, 0);
            prop_assert_eq!(parse(LinkType::Ethernet, &frame), header);
            // An unfinished checksum would be one of the pseudo-header alone.
            let (ip, addresses) = match header.network {
                Network::V4 { .. } => (20, 12..20),
                _ => (40, 8..40),
            };
            let start = headers(&header).len() - length_of(header.network.transport().unwrap()) - ip;
            let Transport { protocol, ports, .. } = *header.network.transport().unwrap();
            if ip == 20 {
                prop_assert_eq!(sum(&frame[start..start + 20]), u16::MAX);
            }
            if ports.is_some() {
                let segment = &frame[start + ip..];
                let pseudo = pseudo_header(&frame[start + addresses.start..start + addresses.end], protocol, segment.len() as u32);
                prop_assert_eq!(add(pseudo, sum(segment)), u16::MAX);
            }
        }
    }

    #[test]
    fn frames_without_ip_and_shorter_than_their_headers_have_them_too() {
        assert_eq!(headers(&Header::default())[12..], [0x88, 0xb5]);
        let transport = Transport { protocol: UDP, ports: Some((1, 2)), ..Transport::default() };
        let short = Header { length: 10, network: Network::V4 { source: 1, destination: 2, transport }, ..Header::default() };
        assert_eq!((headers(&short).len(), &headers(&short)[16..18]), (42, &[0, 28][..]));
    }
}
