//! Reads and marks the code point of explicit congestion notification of a frame, in its outermost IP header.
//!
//! **Law.** Only ECT(0) and ECT(1) become CE. A frame that is Not-ECT, has been marked, or has no IP header stays as it is. An IPv4 header checksum that
//! was right is right afterwards, and one that was wrong is wrong by as much. Below MPLS labels a frame counts as Not-ECT, because the labels do not say
//! that it is IP.
//!
//! **Source.** RFC 3168, sections 5 and 9.1; RFC 1624, equation 3 (incremental update of the checksum).
//!
//! **State.** None.
//!
//! **Cost.** Reading the headers once more, and three additions.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Of a tunnel only the outer header counts: its end copies a mark inwards (RFC 6040).

use crate::checksum;
use crate::link::LinkType;
use crate::parse::locate;
use tidegate_core::classifier::Header;
use tidegate_core::packet::Ecn;

/// The code point of a frame with this header, as far as it can be marked; Not-ECT without an IP header and below MPLS labels.
#[inline]
pub fn markable(header: &Header) -> Ecn {
    if header.mpls_label.is_some() { Ecn::NotEct } else { header.network.ecn() }
}

/// The code point of a frame; Not-ECT without an IP header.
pub fn ecn(link: LinkType, frame: &[u8]) -> Ecn {
    ip(link, frame).map_or(Ecn::NotEct, |at| read(&frame[at..]))
}

/// Where the outermost IP header begins, of which the frame holds the fixed part at least.
fn ip(link: LinkType, frame: &[u8]) -> Option<usize> {
    let (header, places) = locate(link, frame);
    places.ip.filter(|_| header.mpls_label.is_none())
}

fn read(header: &[u8]) -> Ecn {
    Ecn::from_bits(if header[0] >> 4 == 4 { header[1] } else { header[1] >> 4 })
}

/// Sets the code point of a frame to CE. False if the frame stays as it is.
pub fn mark(link: LinkType, frame: &mut [u8]) -> bool {
    let Some(header) = ip(link, frame).map(|at| &mut frame[at..]) else { return false };
    if matches!(read(header), Ecn::NotEct | Ecn::Ce) {
        return false;
    }
    if header[0] >> 4 == 4 {
        let before = u16::from_be_bytes([header[0], header[1]]);
        header[1] |= 0b11;
        checksum::update(header, before);
    } else {
        header[1] |= 0b11 << 4;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 header from 192.168.0.1 to 192.168.0.199, with this first word and this checksum.
    fn v4(first: u16, sum: u16) -> Vec<u8> {
        let words = [first, 0x0073, 0, 0x4000, 0x4011, sum, 0xc0a8, 0x0001, 0xc0a8, 0x00c7];
        words.iter().flat_map(|word| word.to_be_bytes()).chain([0; 95]).collect()
    }

    #[test]
    fn ipv4_headers_are_marked_with_their_checksum() {
        let cases = [
            ((0x4502, 0xb85f), (0x4503, 0xb85e)),
            ((0x4501, 0xb860), (0x4503, 0xb85e)),
            ((0x45ba, 0xb7a7), (0x45bb, 0xb7a6)),
            ((0x4501, 0x0000), (0x4503, 0xfffd)),
        ];
        for ((first, sum), (marked, renewed)) in cases {
            let mut frame = v4(first, sum);
            assert!(mark(LinkType::Ip, &mut frame));
            assert_eq!(frame, v4(marked, renewed), "{first:04x} {sum:04x}");
            assert!(!mark(LinkType::Ip, &mut frame));
            assert_eq!((ecn(LinkType::Ip, &frame), frame), (Ecn::Ce, v4(marked, renewed)));
        }
        let mut frame = v4(0x4500, 0xb861);
        assert!(!mark(LinkType::Ip, &mut frame));
        assert_eq!(frame, v4(0x4500, 0xb861));
    }

    #[test]
    fn ipv6_headers_are_marked() {
        let header = |first: u32| -> Vec<u8> {
            first.to_be_bytes().into_iter().chain([0, 8, 17, 64]).chain([1; 32]).chain([0, 53, 0, 53, 0, 8, 0, 0]).collect()
        };
        let mut frame = header(0x6124_5678);
        assert_eq!(ecn(LinkType::Ip, &frame), Ecn::Ect0);
        assert!(mark(LinkType::Ip, &mut frame));
        assert_eq!(frame, header(0x6134_5678));
    }

    #[test]
    fn below_labels_nothing_is_marked() {
        // An Ethernet pseudowire without a control word looks like IP if its destination begins with 4 or 6.
        let labelled = [&[2; 12][..], &[0x88, 0x47, 0, 1, 1, 64], &v4(0x4502, 0xb85f)].concat();
        let mut frame = labelled.clone();
        assert_eq!(ecn(LinkType::Ethernet, &frame), Ecn::NotEct);
        assert_eq!(markable(&locate(LinkType::Ethernet, &frame).0), Ecn::NotEct);
        assert!(!mark(LinkType::Ethernet, &mut frame));
        assert_eq!(frame, labelled);
    }

    #[test]
    fn a_mark_leaves_the_sum_of_every_header_as_it_was() {
        let words = [0, 1, 0x00ff, 0x7fff, 0x8000, 0xfffe, 0xffff];
        for (service, word) in (0..=0xff).flat_map(|service| words.map(|word| (service, word))) {
            let every = service < 4 && word == 0;
            for sum in (0..=0xffff).step_by(if every { 1 } else { 2501 }) {
                let mut frame = v4(0x4500 | service, sum);
                frame[4..6].copy_from_slice(&u16::to_be_bytes(word));
                let before = checksum::sum(&frame[..20]);
                mark(LinkType::Ip, &mut frame);
                assert_eq!(checksum::sum(&frame[..20]), before, "{service:02x} {word:04x} {sum:04x}");
            }
        }
    }

    /// An IP packet with a right header checksum, and bytes that are another IP packet or a transport's.
    fn packet(v6: bool, service: u8, options: &[[u8; 4]], protocol: u8, content: &[u8]) -> Vec<u8> {
        let mut packet = if v6 {
            // Extension headers of 8 bytes in place of options.
            let mut fixed = vec![0x60 | service >> 4, service << 4 | 5, 0, 7];
            fixed.extend(((8 * options.len() + content.len()) as u16).to_be_bytes());
            fixed.extend([if options.is_empty() { protocol } else { 60 }, 64]);
            fixed.extend([0x20; 32]);
            for (number, option) in options.iter().enumerate() {
                fixed.extend([if number + 1 == options.len() { protocol } else { 60 }, 0, 1, 4]);
                fixed.extend(option);
            }
            fixed
        } else {
            let length = 20 + 4 * options.len() + content.len();
            let mut fixed = vec![0x45 + options.len() as u8, service, (length >> 8) as u8, length as u8, 0, 9, 0x20, 5, 64, protocol, 0, 0];
            fixed.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            fixed.extend(options.iter().flatten());
            let sum = !checksum::sum(&fixed);
            fixed[10..12].copy_from_slice(&sum.to_be_bytes());
            fixed
        };
        packet.extend(content);
        packet
    }

    proptest! {
        /// Of an outer packet around an inner one, behind tags or PPPoE and with options, the outer header alone changes, and its checksum stays right.
        #[test]
        fn the_outer_header_alone_is_marked(
            before in 0usize..4, v6: [bool; 2], service: [u8; 2], options in prop::collection::vec(any::<[u8; 4]>(), 0..=10),
            content in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let inner = packet(v6[1], service[1], &options[options.len() / 2..], 17, &content);
            let outer = packet(v6[0], service[0], &options, if v6[1] { 41 } else { 4 }, &inner);
            let mut frame = vec![2; 12];
            match before {
                3 => frame.extend([&[0x88, 0x64, 0x11, 0, 0, 1][..], &(outer.len() as u16 + 2).to_be_bytes(), if v6[0] { &[0, 0x57] } else { &[0, 0x21] }].concat()),
                tags => {
                    (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 7]));
                    frame.extend(if v6[0] { [0x86, 0xdd] } else { [0x08, 0x00] });
                }
            }
            let at = frame.len();
            frame.extend(&outer);
            let mut marked = frame.clone();
            let can_be = matches!(service[0] & 0b11, 1 | 2);
            prop_assert_eq!(ecn(LinkType::Ethernet, &frame), Ecn::from_bits(service[0]));
            prop_assert_eq!(markable(&locate(LinkType::Ethernet, &frame).0), Ecn::from_bits(service[0]));
            prop_assert_eq!(mark(LinkType::Ethernet, &mut marked), can_be);
            let header = packet(v6[0], service[0] | if can_be { 0b11 } else { 0 }, &options, if v6[1] { 41 } else { 4 }, &[]);
            prop_assert_eq!(&marked[..at], &frame[..at]);
            if v6[0] {
                prop_assert_eq!(&marked[at..at + 4], &header[..4]);
                prop_assert_eq!(&marked[at + 4..], &frame[at + 4..]);
            } else {
                prop_assert_eq!(marked[at + 1], header[1]);
                prop_assert_eq!(checksum::sum(&marked[at..at + 20 + 4 * options.len()]), 0xffff);
                marked[at..at + 2].copy_from_slice(&frame[at..at + 2]);
                marked[at + 10..at + 12].copy_from_slice(&frame[at + 10..at + 12]);
                prop_assert_eq!(marked, frame);
            }
        }
    }

    proptest! {
        /// Whatever the bytes are, nothing changes but a code point from ECT to CE, and the checksum of IPv4 with it.
        #[test]
        fn only_ect_becomes_ce(bytes in prop::collection::vec(any::<u8>(), 0..80), link in prop::sample::select(vec![LinkType::Ip, LinkType::Ethernet])) {
            let before = ecn(link, &bytes);
            let mut frame = bytes.clone();
            let marked = mark(link, &mut frame);
            prop_assert_eq!(marked, matches!(before, Ecn::Ect0 | Ecn::Ect1));
            if marked {
                prop_assert_eq!(ecn(link, &frame), Ecn::Ce);
                prop_assert!(frame.iter().zip(&bytes).filter(|(now, then)| now != then).count() <= 3);
            } else {
                prop_assert_eq!(frame, bytes);
            }
        }
    }
}
