//! Rewrites the code points of a frame: DSCP of IPv4 and IPv6, priority and drop eligibility of the outermost VLAN tag.
//!
//! **Law.** An IPv4 header checksum that was right is right afterwards, and one that was wrong is wrong by as much. Bits for explicit congestion
//! notification, and every other byte, stay.
//!
//! **Source.** RFC 1624, equation 3 (incremental update of the checksum), RFC 2474 (the field), RFC 3168, section 5 (the bits beside it),
//! IEEE 802.1Q, 9.6 (the tag).
//!
//! **State.** None.
//!
//! **Cost.** Reading the headers once more, and three additions.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None. Checksums of transport headers do not cover these fields, so one that is still to be completed is not affected.

use crate::checksum;
use crate::link::LinkType;
use crate::parse::locate;
use tidegate_core::remark::{CodePoint, Remark};

/// Gives a frame what a remark says. False if the remark asks for something and the frame has no field for any of it.
pub fn rewrite(link: LinkType, frame: &mut [u8], remark: Remark) -> bool {
    let Remark { dscp, pcp, dei } = remark;
    if remark == Remark::KEEP {
        return true;
    }
    let (_, places) = locate(link, frame);
    let mut found = false;
    if let Some(at) = places.tag.filter(|_| pcp.is_some() || dei.is_some()) {
        let pcp = pcp.unwrap_or(frame[at] >> 5);
        let dei = dei.map_or(frame[at] >> 4 & 1, u8::from);
        frame[at] = pcp << 5 | dei << 4 | frame[at] & 0x0f;
        found = true;
    }
    if let Some(at) = places.ip.filter(|_| dscp != CodePoint::Keep) {
        let header = &mut frame[at..];
        if header[0] >> 4 == 4 {
            rewrite_v4(header, dscp)
        } else {
            rewrite_v6(header, dscp)
        }
        found = true;
    }
    found
}

fn rewrite_v4(header: &mut [u8], dscp: CodePoint) {
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] = dscp.of(header[1] >> 2) << 2 | header[1] & 0b11;
    checksum::update(header, before);
}

/// The traffic class is the second half of the first byte and the first half of the second.
fn rewrite_v6(header: &mut [u8], dscp: CodePoint) {
    let word = u16::from_be_bytes([header[0], header[1]]);
    let after = u16::from(dscp.of((word >> 6) as u8 & 0x3f));
    let word = word & !(0x3f << 6) | after << 6;
    header[..2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use proptest::prelude::*;
    use tidegate_core::packet::Colour;

    /// A frame with this many tags, then IP of either version with as many words of options, and a checksum that is right.
    fn frame(tags: usize, v6: bool, service: u8, options: &[[u8; 4]], bytes: &[u8; 40]) -> (Vec<u8>, usize) {
        let mut frame = bytes[..12].to_vec();
        for tag in 0..tags {
            frame.extend(if tag == 0 && tags > 1 { [0x88, 0xa8] } else { [0x81, 0x00] });
            frame.extend([bytes[tag], bytes[tag + 4]]);
        }
        frame.extend(if v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        let at = frame.len();
        frame.extend(bytes);
        frame[at] = if v6 { 0x60 | service >> 4 } else { 0x45 + options.len() as u8 };
        frame[at + 1] = if v6 { service << 4 | bytes[1] & 0x0f } else { service };
        if v6 {
            // No extension header.
            frame[at + 6] = 59;
        } else {
            frame.truncate(at + 20);
            frame.extend(options.iter().flatten());
            let end = frame.len();
            frame[at + 2..at + 4].copy_from_slice(&((end - at) as u16).to_be_bytes());
            frame[at + 10..at + 12].fill(0);
            let sum = checksum::sum(&frame[at..]);
            frame[at + 10..at + 12].copy_from_slice(&(!sum).to_be_bytes());
        }
        (frame, at)
    }

    fn code_point() -> impl Strategy<Value = CodePoint> {
        let colour = prop_oneof![Just(Colour::Green), Just(Colour::Yellow), Just(Colour::Red)];
        prop_oneof![1 => Just(CodePoint::Keep), 4 => (0u8..64).prop_map(CodePoint::Set), 4 => colour.prop_map(CodePoint::DropPrecedence)]
    }

    /// Code points of assured forwarding are as frequent as all others.
    fn service() -> impl Strategy<Value = u8> {
        prop_oneof![any::<u8>(), (1u8..=4, 1u8..=3, 0u8..4).prop_map(|(class, precedence, ecn)| class << 5 | precedence << 3 | ecn)]
    }

    proptest! {
        #[test]
        fn the_code_point_changes_and_nothing_else(
            tags in 0usize..3, v6: bool, service in service(), options in proptest::collection::vec(any::<[u8; 4]>(), 0..=10),
            bytes: [u8; 40], dscp in code_point(), pcp in proptest::option::of(0u8..8), dei: Option<bool>,
        ) {
            let (before, at) = frame(tags, v6, service, &options, &bytes);
            let mut after = before.clone();
            let remark = Remark { dscp, pcp, dei };
            let found = rewrite(LinkType::Ethernet, &mut after, remark);
            let asks = (dscp != CodePoint::Keep, pcp.is_some() || dei.is_some());
            prop_assert_eq!(found, remark == Remark::KEEP || asks.0 || (asks.1 && tags > 0));
            // What a later port reads is what the core says that it reads.
            prop_assert_eq!(parse(LinkType::Ethernet, &after), remark.of(parse(LinkType::Ethernet, &before)));
            if !v6 {
                prop_assert_eq!(checksum::sum(&after[at..]), 0xffff);
            }
            // Put back by hand, it is the frame from before.
            if tags > 0 {
                let dei = dei.map_or(before[14] >> 4 & 1, u8::from);
                prop_assert_eq!(after[14] >> 4 & 1, dei);
                after[14] = before[14];
            }
            let expected = dscp.of(service >> 2) << 2 | service & 0b11;
            let read = |frame: &[u8]| if v6 { frame[at] << 4 | frame[at + 1] >> 4 } else { frame[at + 1] };
            prop_assert_eq!(read(&after), expected);
            after[at..at + 2].copy_from_slice(&before[at..at + 2]);
            if !v6 {
                after[at + 10..at + 12].copy_from_slice(&before[at + 10..at + 12]);
            }
            prop_assert_eq!(after, before);
        }

        #[test]
        fn no_bytes_make_it_panic(mut frame in proptest::collection::vec(any::<u8>(), 0..80), link in 0u32..280, shape in 0usize..4) {
            let types: [[u8; 2]; 4] = [[0x08, 0x00], [0x86, 0xdd], [0x81, 0x00], [0x88, 0x47]];
            if frame.len() > 13 {
                frame[12..14].copy_from_slice(&types[shape]);
            }
            let remark = Remark { dscp: CodePoint::Set(46), pcp: Some(5), dei: Some(true) };
            rewrite(LinkType::from_number(link), &mut frame, remark);
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let (mut frame, at) = frame(0, false, 0, &[], &[3; 40]);
        frame[at + 11] ^= 0x40;
        let before = checksum::sum(&frame[at..]);
        rewrite(LinkType::Ethernet, &mut frame, Remark { dscp: CodePoint::Set(46), ..Remark::KEEP });
        assert_eq!(checksum::sum(&frame[at..]), before);
    }

    #[test]
    fn a_frame_without_the_fields_stays_and_is_told() {
        let mut arp = [vec![0xff; 12], vec![0x08, 0x06], vec![1; 28]].concat();
        let before = arp.clone();
        assert!(!rewrite(LinkType::Ethernet, &mut arp, Remark { dscp: CodePoint::Set(46), pcp: Some(5), dei: None }));
        assert_eq!(arp, before);
        let (mut untagged, _) = frame(0, false, 0, &[], &[3; 40]);
        assert!(!rewrite(LinkType::Ethernet, &mut untagged, Remark { pcp: Some(5), ..Remark::KEEP }));
    }
}
