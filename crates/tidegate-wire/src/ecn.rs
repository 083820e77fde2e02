//! Reads and marks the code point of explicit congestion notification of a frame, in its outermost IP header.
//!
//! **Law.** Only ECT(0) and ECT(1) become CE. A frame that is Not-ECT, has been marked, or has no IP header stays as it is. An IPv4 header checksum that
//! was right is right afterwards, and one that was wrong is wrong by as much.
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
use tidegate_core::packet::Ecn;

/// The code point of a frame; Not-ECT without an IP header.
pub fn ecn(link: LinkType, frame: &[u8]) -> Ecn {
    let Some(header) = locate(link, frame).1.ip.map(|at| &frame[at..]) else { return Ecn::NotEct };
    Ecn::from_bits(if header[0] >> 4 == 4 { header[1] } else { header[1] >> 4 })
}

/// Sets the code point of a frame to CE. False if the frame stays as it is.
pub fn mark(link: LinkType, frame: &mut [u8]) -> bool {
    if matches!(ecn(link, frame), Ecn::NotEct | Ecn::Ce) {
        return false;
    }
    let Some(header) = locate(link, frame).1.ip.map(|at| &mut frame[at..]) else { return false };
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
