//! Checksums that a network card or a kernel left to be completed: the Internet checksum and the CRC-32c of SCTP.
//!
//! With checksum offload, the checksum field of a frame inside the host holds the sum over the pseudo-header. A note beside the frame says where
//! summing starts and where the result goes. The sender that takes the frame out of the host completes the checksum.
//!
//! **Law.** A completed segment verifies: the ones' complement sum over pseudo-header and segment is 0xffff.
//!
//! **Source.** RFC 1071 (sums in any byte order, sections 1 and 2), RFC 768 (a zero result is sent as 0xffff), RFC 8200 section 8.1
//! (pseudo-header of IPv6), RFC 9260 appendix A (CRC-32c).
//!
//! **State.** None; the CRC table is 1 kB of constants.
//!
//! **Cost.** One addition per four bytes for the Internet checksum, one table look-up per byte for CRC-32c.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** A result of zero is written as 0xffff for every protocol, not for UDP only: both verify, and the frame need not be
//! parsed to tell.

use crc::{CRC_32_ISCSI, Crc};
use thiserror::Error;

/// A checksum that was to be completed outside the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a checksum from byte {start} to be stored at byte {start} + {offset} lies outside a frame of {length} bytes")]
pub struct OutOfRange {
    /// Where summing was to start, in bytes from the start of the frame.
    pub start: usize,
    /// Where the result was to go, in bytes from `start`.
    pub offset: usize,
    /// The frame's length in bytes.
    pub length: usize,
}

/// Completes a partial Internet checksum: sums from byte `start` of the frame to its end, the pseudo-header's sum already being in the
/// field at `start + offset`, and stores the complement there.
///
/// # Errors
/// [`OutOfRange`] if the field does not lie inside the frame; the frame is untouched.
pub fn complete(frame: &mut [u8], start: usize, offset: usize) -> Result<(), OutOfRange> {
    let length = frame.len();
    let segment = frame.get_mut(start..).filter(|segment| offset.checked_add(2).is_some_and(|end| end <= segment.len()));
    let Some(segment) = segment else { return Err(OutOfRange { start, offset, length }) };
    let checksum = finish(sum(segment));
    segment[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Completes the CRC-32c of an SCTP packet whose common header starts at byte `start` of the frame and which runs to its end.
///
/// # Errors
/// [`OutOfRange`] if the 12-byte common header does not lie inside the frame; the frame is untouched.
pub fn complete_sctp(frame: &mut [u8], start: usize) -> Result<(), OutOfRange> {
    let length = frame.len();
    let packet = frame.get_mut(start..).filter(|packet| packet.len() >= 12);
    let Some(packet) = packet else { return Err(OutOfRange { start, offset: 8, length }) };
    packet[8..12].fill(0);
    let checksum = crc32c(packet);
    // Transmitted least significant byte first, unlike everything else in the header.
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// The ones' complement sum of a byte string as 16-bit big-endian words, padded with a zero byte if its length is odd.
///
/// ```
/// // The example of RFC 1071, section 3.
/// assert_eq!(tidegate_wire::checksum::sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
/// ```
pub fn sum(bytes: &[u8]) -> u16 {
    // The sum of words read in the machine's byte order is the byte-swapped sum of big-endian words, whatever the word size, because
    // carries wrap around: so read four bytes at a time and swap once.
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total += u64::from(u32::from_ne_bytes(last));
    let total = (total >> 32) + (total & 0xffff_ffff);
    let total = (total >> 32) + (total & 0xffff_ffff);
    u16::from_be(fold(total as u32))
}

/// The ones' complement sum of two sums.
pub const fn add(a: u16, b: u16) -> u16 {
    fold(a as u32 + b as u32)
}

/// The sum over the pseudo-header of TCP or UDP. `addresses` holds source and destination one after the other (8 bytes for IPv4, 32
/// for IPv6), `length` is that of the transport header and its payload.
pub fn pseudo_header(addresses: &[u8], protocol: u8, length: u32) -> u16 {
    let length = add((length >> 16) as u16, length as u16);
    add(add(sum(addresses), u16::from(protocol)), length)
}

/// Where the checksum of an Ethernet frame starts and how far behind its field is, if it looks unfinished: the field of TCP or UDP holds the
/// sum over the pseudo-header, or that of SCTP nothing. A finished checksum looks so in one of 65,536 frames; completing it leaves it as it is.
pub fn partial(frame: &[u8]) -> Option<(usize, usize)> {
    const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
    let two = |at: usize| frame.get(at..at + 2).map(|bytes| [bytes[0], bytes[1]]);
    let mut network = 14;
    while network < 22 && TAGS.contains(&two(network - 2)?) {
        network += 4;
    }
    let (addresses, protocol, start, end) = match two(network - 2)? {
        [0x08, 0x00] => {
            let header = frame.get(network..network + 20)?;
            let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
            if is_fragment {
                return None;
            }
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            (&header[12..20], header[9], network + usize::from(header[0] & 0xf) * 4, network + length)
        }
        [0x86, 0xdd] => {
            let header = frame.get(network..network + 40)?;
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            (&header[8..40], header[6], network + 40, network + 40 + length)
        }
        _ => return None,
    };
    let offset = match protocol {
        6 => 16,
        17 => 6,
        132 => return (frame.get(start + 8..start + 12)? == [0; 4]).then_some((start, 8)),
        _ => return None,
    };
    let length = end.checked_sub(start).filter(|length| *length >= offset + 2)?;
    // Completing sums to the end of the frame.
    let is_all = frame.get(end..)?.iter().all(|byte| *byte == 0);
    let field = u16::from_be_bytes(two(start + offset)?);
    (is_all && field == pseudo_header(addresses, protocol, length as u32)).then_some((start, offset))
}

/// The checksum field for a sum over everything that it protects: its complement, with 0xffff in place of zero.
pub const fn finish(sum: u16) -> u16 {
    if sum == 0xffff { 0xffff } else { !sum }
}

/// The CRC-32c (Castagnoli) of a byte string.
///
/// ```
/// assert_eq!(tidegate_wire::checksum::crc32c(b"123456789"), 0xe306_9283);
/// ```
pub fn crc32c(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes)
}

const fn fold(total: u32) -> u16 {
    let total = (total >> 16) + (total & 0xffff);
    ((total >> 16) + (total & 0xffff)) as u16
}

static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Keeps the checksum of an IPv4 header, the first 16 bits of which were `before`, in step with what they are now.
pub(crate) fn update(header: &mut [u8], before: u16) {
    let after = u16::from_be_bytes([header[0], header[1]]);
    if before != after {
        let old = u16::from_be_bytes([header[10], header[11]]);
        let new = !add(add(!old, !before), after);
        header[10..12].copy_from_slice(&new.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    /// The definition: one 16-bit word after the other, each carry added at once.
    fn textbook(bytes: &[u8]) -> u16 {
        bytes.chunks(2).fold(0u16, |total, word| {
            let (total, carry) = total.overflowing_add(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]));
            total + u16::from(carry)
        })
    }

    proptest! {
        #[test]
        fn the_fast_sum_is_the_textbook_sum(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(sum(&bytes), textbook(&bytes));
        }

        #[test]
        fn sums_of_parts_add_up(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..100) {
            let (head, tail) = bytes.split_at((2 * cut).min(bytes.len() & !1));
            // Two representations of zero exist; a sum is zero only if everything is.
            prop_assert_eq!(add(sum(head), sum(tail)), sum(&bytes));
        }

        #[test]
        fn a_completed_udp_datagram_is_what_an_independent_builder_makes(payload in proptest::collection::vec(any::<u8>(), 0..100), v6: bool) {
            let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
            let ip = if v6 { ethernet.ipv6([7; 16], [9; 16], 64) } else { ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64) };
            let builder = ip.udp(4000, 5000);
            let mut right = Vec::with_capacity(builder.size(payload.len()));
            builder.write(&mut right, &payload).unwrap();

            let start = if v6 { 54 } else { 34 };
            let addresses = if v6 { 22..54 } else { 26..34 };
            let mut frame = right.clone();
            let partial = pseudo_header(&right[addresses], 17, (payload.len() + 8) as u32);
            frame[start + 6..start + 8].copy_from_slice(&partial.to_be_bytes());
            complete(&mut frame, start, 6).unwrap();
            prop_assert_eq!(frame, right);
        }
    }

    /// A frame from an independent builder, with its transport's place and that of its checksum.
    fn built(payload: &[u8], v6: bool, tcp: bool) -> (Vec<u8>, usize, usize) {
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = if v6 { ethernet.ipv6([7; 16], [9; 16], 64) } else { ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64) };
        let mut frame = Vec::new();
        if tcp {
            ip.tcp(4000, 5000, 7, 1000).write(&mut frame, payload).unwrap();
        } else {
            ip.udp(4000, 5000).write(&mut frame, payload).unwrap();
        }
        (frame, if v6 { 54 } else { 34 }, if tcp { 16 } else { 6 })
    }

    proptest! {
        #[test]
        fn an_unfinished_checksum_is_found_and_completed(payload in proptest::collection::vec(any::<u8>(), 0..100), v6: bool, tcp: bool, tags in 0usize..3) {
            let (right, start, offset) = built(&payload, v6, tcp);
            let addresses = if v6 { 22..54 } else { 26..34 };
            let sum = pseudo_header(&right[addresses], if tcp { 6 } else { 17 }, (right.len() - start) as u32);
            let mut frame = right.clone();
            frame[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
            let tag = [[0x88, 0xa8, 0, 9], [0x81, 0, 0, 7]].concat();
            let tagged = |frame: &[u8]| [&frame[..12], &tag[8 - 4 * tags..], &frame[12..]].concat();
            let (mut frame, right) = (tagged(&frame), tagged(&right));
            prop_assert_eq!(partial(&frame), Some((start + 4 * tags, offset)));
            complete(&mut frame, start + 4 * tags, offset).unwrap();
            prop_assert_eq!(&frame, &right);
            // Cut off anywhere, it is read without a panic.
            (0..frame.len()).for_each(|length| _ = partial(&frame[..length]));
        }
    }

    #[test]
    fn a_finished_checksum_that_looks_unfinished_stays_as_it_is() {
        let looks_unfinished =
            (0..=u16::MAX).map(|word| built(&word.to_be_bytes(), false, false)).find(|(frame, ..)| partial(frame).is_some());
        let (frame, start, offset) = looks_unfinished.unwrap();
        let mut completed = frame.clone();
        complete(&mut completed, start, offset).unwrap();
        assert_eq!(completed, frame);
        // Padding that is not zero would be summed.
        assert_eq!(partial(&[&frame[..], &[0; 4]].concat()), Some((start, offset)));
        assert_eq!(partial(&[&frame[..], &[1]].concat()), None);
    }

    #[test]
    fn fragments_and_other_protocols_have_no_unfinished_checksum() {
        let (mut frame, start, _) = built(&[1; 20], false, false);
        let sum = pseudo_header(&frame[26..34], 17, 28);
        frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        assert!(partial(&frame).is_some());
        let mut fragment = frame.clone();
        fragment[20] |= 0x20;
        assert_eq!(partial(&fragment), None);
        let mut other = frame.clone();
        other[23] = 47;
        assert_eq!(partial(&other), None);
        let mut sctp = frame;
        sctp[23] = 132;
        assert_eq!(partial(&sctp), None);
        sctp[start + 8..start + 12].fill(0);
        assert_eq!(partial(&sctp), Some((start, 8)));
    }

    #[test]
    fn a_long_run_of_ones_does_not_overflow() {
        assert_eq!(sum(&vec![0xff; 1 << 20]), 0xffff);
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn zero_is_sent_as_all_ones() {
        // A segment that sums to 0xffff with the field still zero would be completed to zero.
        let mut frame = [0xff, 0xff, 0x00, 0x00];
        complete(&mut frame, 0, 2).unwrap();
        assert_eq!(frame, [0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn a_field_outside_the_frame_is_an_error_and_changes_nothing() {
        for (start, offset) in [(0, 3), (0, usize::MAX), (5, 0), (usize::MAX, 2), (4, 0)] {
            let mut frame = [1, 2, 3, 4];
            assert_eq!(complete(&mut frame, start, offset), Err(OutOfRange { start, offset, length: 4 }));
            assert_eq!(frame, [1, 2, 3, 4]);
        }
        assert!(complete_sctp(&mut [0; 11], 0).is_err());
    }

    #[test]
    fn sctp_gets_a_crc_over_the_packet_with_a_zero_field() {
        let mut frame = *b"......\x13\x88\x13\x89\x00\x00\x00\x01\xaa\xbb\xcc\xddchunk";
        complete_sctp(&mut frame, 6).unwrap();
        let mut zeroed = frame;
        zeroed[14..18].fill(0);
        assert_eq!(frame[14..18], crc32c(&zeroed[6..]).to_le_bytes());
        assert_eq!(&frame[..14], b"......\x13\x88\x13\x89\x00\x00\x00\x01");
    }
}
