//! From the bytes of a frame to the header fields that rules look at.
//!
//! Parsing never fails. A field that a damaged or truncated frame does not hold is left out, and packets that match no rule go to the default class.

use crate::found::{Found, Places};
use crate::link::{DEPTH, LinkType, read};
use tidegate_core::classifier::Header;

/// Reads the header fields of a frame. Its length is that of `frame`: a caller who has only a part of the frame replaces it.
///
/// ```
/// use tidegate_wire::{LinkType, parse};
/// let arp = [0xff; 12].iter().chain(&[0x08, 0x06]).copied().collect::<Vec<u8>>();
/// assert_eq!(parse(LinkType::Ethernet, &arp).ethernet_type, 0x0806);
/// ```
pub fn parse(link: LinkType, frame: &[u8]) -> Header {
    locate(link, frame).0
}

/// Reads the header fields of a frame, and where those are that a remark rewrites.
pub fn locate(link: LinkType, frame: &[u8]) -> (Header, Places) {
    let header = Header { length: frame.len() as u32, ..Header::default() };
    let mut found = Found { header, start: frame.as_ptr().addr(), places: Places::default(), depth: DEPTH };
    read(&mut found, link, frame);
    (found.header, found.places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::IPV6_HEADER;
    use etherparse::PacketBuilder;
    use tidegate_core::classifier::{Network, Transport};
    use tidegate_core::packet::Ecn;

    fn ipv4_udp() -> Vec<u8> {
        let mut packet = Vec::new();
        let mut fixed = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        fixed.dscp = etherparse::IpDscp::try_new(46).unwrap();
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(fixed, Default::default())).udp(5004, 6000).write(&mut packet, &[0; 20]).unwrap();
        packet
    }

    fn on_ethernet(tags: &[u8], kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend_from_slice(tags);
        frame.extend_from_slice(&kind.to_be_bytes());
        frame.extend_from_slice(payload);
        frame
    }

    fn expected_udp() -> Network {
        Network::V4 {
            source: 0x0a00_0001,
            destination: 0x0a00_0002,
            transport: Transport { dscp: 46, protocol: 17, fragment: false, ports: Some((5004, 6000)), ..Transport::default() },
        }
    }

    #[test]
    fn every_link_type_leads_to_the_same_network_layer() {
        let ip = ipv4_udp();
        let mut cooked = vec![0; 14];
        cooked.extend_from_slice(&[0x08, 0x00]);
        cooked.extend_from_slice(&ip);
        let mut cooked2 = vec![0x08, 0x00];
        cooked2.extend_from_slice(&[0; 18]);
        cooked2.extend_from_slice(&ip);
        let cases = [
            (LinkType::Ethernet, on_ethernet(&[], 0x0800, &ip)),
            (LinkType::Ip, ip.clone()),
            (LinkType::Loopback, [&[2, 0, 0, 0], &ip[..]].concat()),
            (LinkType::Ppp, [&[0xff, 0x03, 0x00, 0x21], &ip[..]].concat()),
            (LinkType::Ppp, [&[0x00, 0x21], &ip[..]].concat()),
            (LinkType::LinuxCooked, cooked),
            (LinkType::LinuxCooked2, cooked2),
        ];
        for (link, frame) in cases {
            let header = parse(link, &frame);
            assert_eq!((header.ethernet_type, header.network), (0x0800, expected_udp()), "{link:?}");
        }
        assert_eq!(parse(LinkType::Opaque(147), &ip), Header { length: ip.len() as u32, ..Header::default() });
    }

    #[test]
    fn two_tags_and_the_outermost_label_are_reported() {
        let ip = ipv4_udp();
        // Service tag 100 with priority 5, customer tag 7.
        let header = parse(LinkType::Ethernet, &on_ethernet(&[0x88, 0xa8, 0xa0, 100, 0x81, 0x00, 0x00, 7], 0x0800, &ip));
        assert_eq!((header.vlan, header.vlan_priority, header.inner_vlan), (Some(100), Some(5), Some(7)));
        assert_eq!(header.network, expected_udp());
        // Label 16 with traffic class 3 above label 17, bottom of stack.
        let labels = [((16u32 << 12) | (3 << 9) | 64).to_be_bytes(), ((17u32 << 12) | (1 << 8) | 64).to_be_bytes()].concat();
        let header = parse(LinkType::Ethernet, &on_ethernet(&[], 0x8847, &[&labels[..], &ip].concat()));
        assert_eq!((header.ethernet_type, header.mpls_label, header.mpls_traffic_class), (0x8847, Some(16), Some(3)));
        assert_eq!(header.network, expected_udp());
    }

    #[test]
    fn addresses_of_ethernet_and_the_length_of_the_frame_are_reported() {
        let mut frame = on_ethernet(&[0x81, 0x00, 0x00, 9], 0x0800, &ipv4_udp());
        frame[..12].copy_from_slice(&[1, 0, 0x5e, 0, 0, 5, 2, 0, 0, 0, 0, 7]);
        let header = parse(LinkType::Ethernet, &frame);
        assert_eq!((header.destination_mac, header.source_mac), (Some([1, 0, 0x5e, 0, 0, 5]), Some([2, 0, 0, 0, 0, 7])));
        assert_eq!((header.length, header.inner_vlan), (66, None));
        let without = parse(LinkType::Ip, &ipv4_udp());
        assert_eq!((without.source_mac, without.destination_mac, without.length), (None, None, 48));
        assert_eq!(parse(LinkType::Ethernet, &frame[..11]).destination_mac, None);
    }

    #[test]
    fn flags_of_tcp_and_flow_labels_of_ipv6_are_reported() {
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4).syn().ack(5).ece().write(&mut packet, &[]).unwrap();
        packet[1] |= 0x0a;
        packet[3] = 0xbc;
        packet[40 + 12] |= 1;
        let header = parse(LinkType::Ip, &packet);
        assert_eq!(header.flow_label, Some(0xa_00bc));
        assert_eq!(header.transport().unwrap().tcp_flags, Some(0x152));
        assert_eq!(parse(LinkType::Ip, &packet[..40 + 13]).transport().unwrap().tcp_flags, None);
        let udp = parse(LinkType::Ip, &ipv4_udp());
        assert_eq!((udp.flow_label, udp.transport().unwrap().tcp_flags), (None, None));
    }

    #[test]
    fn fragments_are_told_apart() {
        let mut ip = ipv4_udp();
        ip[6] |= 0x20; // more fragments
        let first = parse(LinkType::Ip, &ip);
        ip[7] = 3; // an offset of 24 bytes
        let later = parse(LinkType::Ip, &ip);
        let fields = |header: Header| match header.network {
            Network::V4 { transport, .. } => (transport.fragment, transport.ports),
            _ => panic!("not IPv4"),
        };
        assert_eq!(fields(first), (true, Some((5004, 6000))));
        assert_eq!(fields(later), (true, None));
    }

    #[test]
    fn ipv6_extension_headers_are_skipped() {
        // Hop-by-hop options, then a fragment header (offset 0, more fragments), then UDP.
        let mut ip = vec![0x6e, 0x20, 0, 0, 0, 24, 0, 64]; // version 6, DSCP 0b111000 = 56, ECT(0)
        ip.extend_from_slice(&[1; 16]);
        ip.extend_from_slice(&[2; 16]);
        ip.extend_from_slice(&[44, 0, 1, 4, 0, 0, 0, 0]);
        ip.extend_from_slice(&[17, 0, 0, 1, 0, 0, 0, 9]);
        ip.extend_from_slice(&[0x13, 0x8c, 0x17, 0x70, 0, 8, 0, 0]);
        let parsed = |ip: &[u8]| match parse(LinkType::Ip, ip).network {
            Network::V6 { transport, .. } => transport,
            _ => panic!("not IPv6"),
        };
        assert_eq!(
            parsed(&ip),
            Transport { dscp: 56, ecn: Ecn::Ect0, protocol: 17, fragment: true, ports: Some((5004, 6000)), tcp_flags: None }
        );
        ip[40 + 8 + 3] = 8 | 1; // the same at offset 8
        assert_eq!(parsed(&ip), Transport { dscp: 56, ecn: Ecn::Ect0, protocol: 17, fragment: true, ports: None, tcp_flags: None });
    }

    #[test]
    fn extension_headers_may_be_cut_off_anywhere() {
        let mut ip = vec![0x60, 0, 0, 0, 0, 80, 0, 64];
        ip.extend_from_slice(&[7; 32]);
        for kind in [43, 60, 51, 44] {
            ip.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        }
        ip.extend_from_slice(&[6, 0, 0, 0, 0, 0, 0, 0]); // an atomic fragment
        ip.extend_from_slice(&[0, 80, 1, 187]);
        for length in 0..=ip.len() {
            let Network::V6 { transport, .. } = parse(LinkType::Ip, &ip[..length]).network else {
                assert!(length < IPV6_HEADER, "{length}");
                continue;
            };
            assert_eq!(transport.ports, (length == ip.len()).then_some((80, 443)), "{length}");
            assert!(!transport.fragment);
        }
    }

    #[test]
    fn fields_to_rewrite_are_found_behind_what_comes_before_them() {
        let frame = on_ethernet(&[0x88, 0xa8, 0, 8, 0x81, 0x00, 0, 9], 0x0800, &ipv4_udp());
        assert_eq!(locate(LinkType::Ethernet, &frame).1, Places { tag: Some(14), ip: Some(22) });
        assert_eq!(locate(LinkType::Ethernet, &frame[..41]).1, Places { tag: Some(14), ip: None });
        let mpls = on_ethernet(&[], 0x8847, &[&[0, 0, 0x11, 64][..], &ipv4_udp()].concat());
        assert_eq!(locate(LinkType::Ethernet, &mpls).1, Places { tag: None, ip: Some(18) });
        assert_eq!(locate(LinkType::Ip, &ipv4_udp()).1, Places { tag: None, ip: Some(0) });
    }

    #[test]
    fn truncation_leaves_fields_out() {
        let frame = on_ethernet(&[0x81, 0x00, 0, 9], 0x0800, &ipv4_udp());
        for length in 0..frame.len() {
            let header = parse(LinkType::Ethernet, &frame[..length]);
            let sees_ip = !matches!(header.network, Network::Other);
            assert_eq!(sees_ip, length >= 18 + 20, "{length}");
            if let Network::V4 { transport, .. } = header.network {
                assert_eq!(transport.ports.is_some(), length >= 18 + 24, "{length}");
            }
        }
    }
}
