//! Joins segments of a TCP super-frame that leave together to a super-frame again, so that the host hands them on as one.
//!
//! **Law.** Cutting the joined super-frame ([`SuperFrame`](crate::segment::SuperFrame)) gives the segments back, byte by byte.
//!
//! **Source.** The kernel's generic receive offload, for which segments continue each other when all but the fields below agree: lengths, identification,
//! checksums, sequence number, and the flags at the end.
//!
//! **State.** The headers of the first segment, 192 bytes, and a few numbers.
//!
//! **Cost.** One comparison of the headers per segment; payload is not touched.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** UDP segments stay apart.

use crate::checksum;

/// The longest headers of segments that are joined, in bytes: those of Ethernet with two tags, IPv6 with extensions and TCP with options.
const LONGEST_HEADER: usize = 192;
/// The longest packet of IP without a jumbo header, in bytes.
const LONGEST_PACKET: usize = 65_535;

/// The flag of TCP that ends a connection.
const FIN: u8 = 0x01;
/// The flag that asks for delivery at once.
const PSH: u8 = 0x08;
/// The flag that says that the window was reduced.
const CWR: u8 = 0x80;

/// Segments that continue each other.
#[derive(Clone, Debug)]
pub struct Joined {
    header: [u8; LONGEST_HEADER],
    is_v6: bool,
    network: usize,
    transport: usize,
    payload: usize,
    size: usize,
    segments: usize,
    /// The length of the super-frame, headers included.
    length: usize,
    /// The last segment is shorter than the others, or ends something.
    is_closed: bool,
}

impl Joined {
    /// Begins with a segment of a super-frame of `size` bytes of payload per segment, whose TCP header starts at `transport`. `None` if nothing can follow it.
    pub fn new(segment: &[u8], transport: usize, size: u16) -> Option<Joined> {
        let size = usize::from(size);
        let mut network = 14;
        while matches!(segment.get(network - 2..network)?, [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00]) {
            network += 4;
        }
        let is_v6 = segment.get(network)? >> 4 == 6;
        let payload = transport + usize::from(segment.get(transport + 12)? >> 4) * 4;
        let is_full = segment.len() == payload + size
            && (transport + 20..=LONGEST_HEADER).contains(&payload)
            && network + 20 <= transport
            && size > 0;
        if !is_full || segment[transport + 13] & (FIN | PSH) != 0 {
            return None;
        }
        let mut header = [0; LONGEST_HEADER];
        header[..payload].copy_from_slice(&segment[..payload]);
        Some(Joined { header, is_v6, network, transport, payload, size, segments: 1, length: segment.len(), is_closed: false })
    }

    /// Adds a segment if it continues those before, whose payload the caller then puts behind theirs. False if it does not.
    pub fn add(&mut self, segment: &[u8]) -> bool {
        let Joined { network, transport, payload, size, segments, .. } = *self;
        let Some(more) = segment.len().checked_sub(payload).filter(|more| (1..=size).contains(more)) else { return false };
        if self.is_closed || self.length + more - network > LONGEST_PACKET || segment[transport + 13] & CWR != 0 {
            return false;
        }
        let first = &self.header[..payload];
        let mut expected = [0; LONGEST_HEADER];
        let expected = &mut expected[..payload];
        expected.copy_from_slice(first);
        let mut take = |range: std::ops::Range<usize>| expected[range.clone()].copy_from_slice(&segment[range]);
        if self.is_v6 {
            take(network + 4..network + 6);
        } else {
            take(network + 2..network + 4);
            take(network + 10..network + 12);
        }
        take(transport + 16..transport + 18);
        if !self.is_v6 {
            let number = u16::from_be_bytes([first[network + 4], first[network + 5]]).wrapping_add(segments as u16);
            expected[network + 4..network + 6].copy_from_slice(&number.to_be_bytes());
        }
        let sequence = u32::from_be_bytes([first[transport + 4], first[transport + 5], first[transport + 6], first[transport + 7]]);
        let sequence = sequence.wrapping_add((segments * size) as u32);
        expected[transport + 4..transport + 8].copy_from_slice(&sequence.to_be_bytes());
        let ends = segment[transport + 13] & (FIN | PSH);
        expected[transport + 13] = expected[transport + 13] & !CWR | ends;
        if *expected != segment[..payload] {
            return false;
        }
        self.header[transport + 13] |= ends;
        self.segments += 1;
        self.length += more;
        self.is_closed = more < size || ends != 0;
        true
    }

    /// The segments so far.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Where payload begins in every segment.
    pub fn payload(&self) -> usize {
        self.payload
    }

    /// True over IPv6.
    pub fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// True if the first segment says that the sender has slowed down (CWR), which none of the others may repeat.
    pub fn has_cwr(&self) -> bool {
        self.header[self.transport + 13] & CWR != 0
    }

    /// The headers of the super-frame. Its TCP checksum is left to be completed.
    pub fn header(&mut self) -> &[u8] {
        let Joined { network, transport, payload, length, is_v6, .. } = *self;
        let header = &mut self.header[..payload];
        let addresses = if is_v6 {
            header[network + 4..network + 6].copy_from_slice(&((length - network - 40) as u16).to_be_bytes());
            network + 8..network + 40
        } else {
            header[network + 2..network + 4].copy_from_slice(&((length - network) as u16).to_be_bytes());
            header[network + 10..network + 12].fill(0);
            let end = network + usize::from(header[network] & 0x0f) * 4;
            let sum = checksum::sum(&header[network..end]);
            header[network + 10..network + 12].copy_from_slice(&(!sum).to_be_bytes());
            network + 12..network + 20
        };
        const TCP: u8 = 6;
        let sum = checksum::pseudo_header(&header[addresses], TCP, (length - transport) as u32);
        header[transport + 16..transport + 18].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{ChecksumStyle, SuperFrame, SuperFrameKind};
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    /// A super-frame with any flags at its end.
    fn whole(payload: &[u8], v6: bool, flags: u8) -> Vec<u8> {
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = if v6 { ethernet.ipv6([7; 16], [9; 16], 64) } else { ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64) };
        let mut frame = Vec::new();
        ip.tcp(4000, 5000, u32::MAX - 2000, 1000).ack(7).write(&mut frame, payload).unwrap();
        let transport = if v6 { 54 } else { 34 };
        frame[transport + 13] |= flags;
        frame
    }

    fn cut(frame: &[u8], size: u16, style: ChecksumStyle) -> Vec<Vec<u8>> {
        let whole = SuperFrame::parse(frame, SuperFrameKind::Tcp, size, None).unwrap();
        let segment = |number| {
            let mut out = vec![0; whole.segment_length(number)];
            whole.write_segment(number, style, &mut out);
            out
        };
        (0..whole.segments()).map(segment).collect()
    }

    /// Joins as many segments as continue each other.
    fn joined(segments: &[Vec<u8>], transport: usize, size: u16) -> Option<(usize, Vec<u8>)> {
        let mut joined = Joined::new(&segments[0], transport, size)?;
        let count = 1 + segments[1..].iter().take_while(|segment| joined.add(segment)).count();
        let mut frame = joined.header().to_vec();
        segments[..count].iter().for_each(|segment| frame.extend(&segment[joined.payload()..]));
        assert_eq!(joined.segments(), count);
        Some((count, frame))
    }

    proptest! {
        #[test]
        fn what_is_joined_is_cut_into_the_same_segments(
            payload in proptest::collection::vec(any::<u8>(), 1..3000), size in 1u16..400, v6: bool, from in 0usize..20, most in 1usize..30,
            flags in prop_oneof![Just(0), Just(FIN), Just(PSH), Just(CWR), Just(CWR | PSH | FIN)],
        ) {
            let transport = if v6 { 54 } else { 34 };
            let segments = cut(&whole(&payload, v6, flags), size, ChecksumStyle::Complete);
            let from = from.min(segments.len() - 1);
            let part = &segments[from..segments.len().min(from + most)];
            let Some((count, frame)) = joined(part, transport, size) else {
                // Only the last segment is followed by nothing.
                prop_assert_eq!(from, segments.len() - 1);
                return Ok(());
            };
            prop_assert_eq!(count, part.len());
            prop_assert_eq!(cut(&frame, size, ChecksumStyle::Complete), part);
        }

        #[test]
        fn a_segment_with_any_other_byte_in_its_headers_stays_apart(v6: bool, at in 0usize..54, bit in 0u32..8) {
            let transport = if v6 { 54 } else { 34 };
            let mut segments = cut(&whole(&[5; 900], v6, 0), 300, ChecksumStyle::Complete);
            let at = at % (transport + 20);
            segments[1][at] ^= 1 << bit;
            let is_free = |range: std::ops::Range<usize>| range.contains(&at);
            // Lengths and checksums are made anew when it is cut; flags at the end may be new.
            let free = is_free(if v6 { 18..20 } else { 16..18 }) || !v6 && is_free(24..26) || is_free(transport + 16..transport + 18)
                || at == transport + 13 && (FIN | PSH) & (1 << bit) != 0;
            if !free {
                prop_assert_eq!(joined(&segments, transport, 300).map(|(count, _)| count), Some(1));
            }
        }

        #[test]
        fn nothing_that_is_read_panics(bytes in proptest::collection::vec(any::<u8>(), 0..120), transport in 0usize..100, size in 0u16..60) {
            if let Some(mut joined) = Joined::new(&bytes, transport, size) {
                joined.add(&bytes);
                joined.header();
            }
        }
    }

    #[test]
    fn a_segment_of_another_place_stays_apart() {
        let segments = cut(&whole(&[5; 900], false, 0), 300, ChecksumStyle::Partial);
        let count = |order: [usize; 2]| joined(&order.map(|number| segments[number].clone()), 34, 300).map(|(count, _)| count);
        assert_eq!([count([0, 1]), count([0, 2]), count([1, 1]), count([1, 2])], [Some(2), Some(1), Some(1), Some(2)]);
    }

    #[test]
    fn a_packet_of_ip_does_not_become_too_long() {
        let mut segments = cut(&whole(&[5; 40_000], false, 0), 1400, ChecksumStyle::Partial);
        let mut joined = Joined::new(&segments[0], 34, 1400).unwrap();
        segments.remove(0);
        let mut number = 0_u32;
        loop {
            // The same segment again, in its next place.
            number += 1;
            let mut next = segments[0].clone();
            let sequence = (u32::MAX - 2000).wrapping_add(number * 1400);
            next[38..42].copy_from_slice(&sequence.to_be_bytes());
            let first = u16::from_be_bytes([joined.header[18], joined.header[19]]);
            next[18..20].copy_from_slice(&first.wrapping_add(number as u16).to_be_bytes());
            if !joined.add(&next) {
                break;
            }
        }
        assert_eq!((joined.segments(), joined.length - 14 <= 65_535), (46, true));
    }
}
