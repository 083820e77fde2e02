//! Every encapsulation around one UDP packet: the packet is found where it is, and nowhere in arbitrary bytes does reading fail.

use super::LinkType;
use crate::{locate, parse};
use proptest::prelude::*;
use tidegate_core::classifier::{Header, Network};

/// UDP from 5000 to 53 with code point 46, from 198.51.100.1 to 203.0.113.2.
const PACKET: [u8; 28] = [0x45, 46 << 2, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1, 203, 0, 113, 2, 0x13, 0x88, 0, 53, 0, 8, 0, 0];

const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00];
const PPPOE: [u8; 8] = [0x11, 0, 0, 1, 0, 30, 0, 0x21];

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    [&parts.concat()[..], &PACKET].concat()
}

fn ethernet(behind_addresses: &[&[u8]]) -> Vec<u8> {
    [&[2; 12][..], &frame(behind_addresses)].concat()
}

/// An 802.11 header: data with these bits in its two control bytes, then `more` bytes.
fn wifi(control: u8, flags: u8, more: &[u8]) -> Vec<u8> {
    [&[0x08 | control, flags][..], &[0; 22], more].concat()
}

fn check(number: u32, bytes: &[u8]) -> Header {
    let (header, places) = locate(LinkType::from_number(number), bytes);
    let Network::V4 { transport, source, .. } = header.network else { panic!("link type {number}: IP was not found in {bytes:02x?}") };
    assert_eq!((transport.dscp, transport.ports, source), (46, Some((5000, 53)), 0xc633_6401), "link type {number}");
    assert_eq!(places.ip, Some(bytes.len() - PACKET.len()), "link type {number}");
    header
}

#[test]
fn ethernet_with_everything_in_between() {
    let no_tag = [
        (0x0800, ethernet(&[&[8, 0]])),
        (0x8864, ethernet(&[&[0x88, 0x64], &PPPOE])),
        (0x0800, ethernet(&[&[0, 36], &SNAP])),
        (0x0800, ethernet(&[&[0, 31], &[6, 6, 3]])),
        (0x0800, ethernet(&[&[0, 32], &[0xfe, 0xfe, 3, 0xcc]])),
        (0x0800, ethernet(&[&[0x88, 0x70], &SNAP])),
        (0x8847, ethernet(&[&[0x88, 0x47], &[0, 1, 0x01, 64]])),
    ];
    for (kind, bytes) in no_tag {
        let header = check(1, &bytes);
        assert_eq!((header.ethernet_type, header.vlan), (kind, None));
    }
    for tag in [0x8100u16, 0x88a8, 0x9100, 0x9200] {
        let [high, low] = tag.to_be_bytes();
        let outer: &[u8] = &[high, low, 0xa0, 100];
        for (inside, inner) in [(&[8, 0][..], None), (&[0x81, 0, 0, 7, 8, 0], Some(7)), (&[0x92, 0, 0, 9, 0x81, 0, 0, 8, 8, 0], Some(9))] {
            let header = check(1, &ethernet(&[outer, inside]));
            assert_eq!((header.ethernet_type, header.vlan, header.vlan_priority), (0x0800, Some(100), Some(5)));
            assert_eq!((header.inner_vlan, header.source_mac, header.destination_mac), (inner, Some([2; 6]), Some([2; 6])));
        }
        assert_eq!(check(1, &ethernet(&[outer, &[0x88, 0x64], &PPPOE])).vlan, Some(100));
        assert_eq!(check(1, &ethernet(&[outer, &[0, 36], &SNAP])).vlan, Some(100));
    }
}

#[test]
fn the_tag_of_a_cooked_capture_is_found() {
    let first = frame(&[&[0; 14], &[0x81, 0, 0x60, 100, 8, 0]]);
    let second = frame(&[&[0x81, 0], &[0; 18], &[0x60, 100, 8, 0]]);
    for (number, bytes, tag) in [(113, first, 16), (276, second, 20)] {
        let header = check(number, &bytes);
        assert_eq!((header.ethernet_type, header.vlan, header.vlan_priority), (0x0800, Some(100), Some(3)));
        assert_eq!(locate(LinkType::from_number(number), &bytes).1.tag, Some(tag));
    }
    // Here 4 announces LLC, and other small numbers are not the lengths of frames.
    check(113, &frame(&[&[0; 14], &[0, 4], &SNAP]));
    check(276, &frame(&[&[0, 4], &[0; 18], &SNAP]));
    let can = parse(LinkType::LinuxCooked, &frame(&[&[0; 14], &[0, 0x0c], &SNAP]));
    assert_eq!((can.ethernet_type, can.network), (0x0c, Network::Other));
}

#[test]
fn every_link_type_leads_to_the_packet() {
    let addresses = [2; 12];
    let qos = wifi(0x80, 0, &[0, 0]);
    let cases: Vec<(u32, Vec<u8>)> = vec![
        (12, frame(&[])),
        (106, frame(&[])),
        (0, frame(&[&[2, 0, 0, 0]])),
        (108, frame(&[&[0, 0, 0, 2]])),
        (9, frame(&[&[0xff, 3, 0, 0x21]])),
        (9, frame(&[&[0, 0x21]])),
        (9, frame(&[&[0x21]])),
        (50, frame(&[&[0xff, 3, 0, 0x21]])),
        (50, frame(&[&[0x0f, 0, 8, 0]])),
        (50, frame(&[&[0xff, 3, 2, 0x81], &[0, 1, 0x01, 64]])),
        (50, frame(&[&[0xff, 3, 2, 0x83], &[0, 1, 0x01, 64]])),
        (51, frame(&[&PPPOE])),
        (100, frame(&[&SNAP])),
        (100, frame(&[&[0xfe, 0xfe, 3, 0xcc]])),
        (100, frame(&[&[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0], &addresses, &[8, 0]])),
        (104, frame(&[&[0x8f, 0, 8, 0]])),
        (105, frame(&[&wifi(0, 0, &[]), &SNAP])),
        (105, frame(&[&qos, &SNAP])),
        (105, frame(&[&wifi(0, 3, &[0; 6]), &SNAP])),
        (105, frame(&[&wifi(0x80, 0x83, &[0; 12]), &SNAP])),
        (105, frame(&[&wifi(0x80, 0, &[0x80, 0]), &[0; 14], &SNAP])),
        (107, frame(&[&[0x18, 0x41, 3, 0xcc]])),
        (107, frame(&[&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0]])),
        (107, frame(&[&[0x18, 0x40, 0x02, 0x01, 8, 0]])),
        (119, frame(&[&[0x44, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0], &wifi(0, 0, &[]), &SNAP])),
        (163, frame(&[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 12, 0, 0, 0, 0], &wifi(0, 0, &[]), &SNAP])),
        (123, frame(&[&[2, 0, 0, 32], &SNAP])),
        (123, frame(&[&[1, 0, 0, 32, 0, 9], &addresses, &[8, 0]])),
        (127, frame(&[&[0, 0, 8, 0, 0, 0, 0, 0], &wifi(0, 0, &[]), &SNAP])),
        // Two words of fields, a time at 16, flags at 24 that announce padding behind a header of 26 bytes.
        (127, frame(&[&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0], &[0; 8], &[0x20], &qos, &[0, 0], &SNAP])),
        (166, frame(&[&[1, 3, 0, 0x21]])),
        (192, frame(&[&[0, 0, 8, 0, 105, 0, 0, 0], &wifi(0, 0, &[]), &SNAP])),
        (204, frame(&[&[1, 0xff, 3, 0, 0x21]])),
        (219, frame(&[&[0, 1, 0x01, 64]])),
        (239, frame(&[&[2, 0, 0, 0], &[5, 0, 10, 0, 7, 0, 0, 0], &[32, 0, 9, 0]])),
        (239, frame(&[&[2, 0, 0, 0], &[0, 5, 0, 10, 7, 0, 0, 0], &[0, 32, 0, 9]])),
    ];
    for (number, bytes) in cases {
        check(number, &bytes);
        // The same cut off anywhere shows less, and never anything else.
        for length in 0..bytes.len() {
            if let Network::V4 { source, .. } = parse(LinkType::from_number(number), &bytes[..length]).network {
                assert_eq!(source, 0xc633_6401, "link type {number}, {length} bytes");
            }
        }
    }
}

#[test]
fn what_is_no_readable_data_is_not_read() {
    let hidden = |number, bytes: &[u8]| assert_eq!(parse(LinkType::from_number(number), bytes).network, Network::Other);
    hidden(105, &frame(&[&wifi(0, 0x40, &[]), &SNAP])); // encrypted
    hidden(105, &frame(&[&wifi(0x40, 0, &[]), &SNAP])); // without data
    hidden(105, &frame(&[&[0x80, 0], &[0; 22], &SNAP])); // a beacon
    let mut later_fragment = frame(&[&wifi(0, 0, &[]), &SNAP]);
    later_fragment[22] = 1;
    hidden(105, &later_fragment);
    hidden(1, &ethernet(&[&[0x88, 0x64], &[0x11, 9], &PPPOE[2..]])); // discovery has a code
    hidden(1, &ethernet(&[&[0x88, 0x63], &PPPOE]));
    hidden(9, &frame(&[&[0xff, 3, 0xc0, 0x21]])); // link control
    hidden(192, &frame(&[&[0, 0, 8, 0, 192, 0, 0, 0], &[0, 0, 8, 0, 101, 0, 0, 0]])); // a header in itself
    assert_eq!(parse(LinkType::from_number(147), &PACKET), Header { length: 28, ..Header::default() });
}

#[test]
fn headers_in_each_other_end() {
    // SNAP that announces a tag, behind which an 802.3 length announces LLC again, for 256 kB.
    let layer = [0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0, 0, 1, 0, 0];
    let endless: Vec<u8> = layer.iter().copied().cycle().take(1 << 18).collect();
    assert_eq!(parse(LinkType::Llc, &endless).network, Network::Other);
    let deep = |layers: usize| frame(&[&layer.repeat(layers), &SNAP]);
    check(100, &deep(usize::from(super::DEPTH) - 1));
    assert_eq!(parse(LinkType::Llc, &deep(usize::from(super::DEPTH))).network, Network::Other);
    let tags: Vec<u8> = [0x81, 0, 0, 1].repeat(1 << 16);
    assert_eq!(parse(LinkType::Ethernet, &[&[2; 12], &tags[..]].concat()).vlan, Some(1));
}

/// Bytes that often begin like a header.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(SNAP.to_vec()),
        Just(PPPOE.to_vec()),
        Just(vec![0x81, 0, 0, 1]),
        Just(vec![0xff, 3]),
        Just(wifi(0x80, 0x83, &[])),
        Just(PACKET.to_vec()),
        proptest::collection::vec(any::<u8>(), 0..24),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic_and_places_are_inside(number in 0u32..300, bytes in bytes()) {
        let (header, places) = locate(LinkType::from_number(number), &bytes);
        prop_assert!(places.tag.is_none_or(|at| at + 2 <= bytes.len()));
        prop_assert_eq!(places.tag.is_some(), header.vlan.is_some());
        prop_assert!(places.ip.is_none_or(|at| at + 20 <= bytes.len()));
        prop_assert_eq!(places.ip.is_some(), header.network != Network::Other);
    }
}
