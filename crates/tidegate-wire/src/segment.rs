//! Cuts a TCP or UDP super-frame, as segmentation offload makes them, into the frames that would have been sent without it.
//!
//! **Law.** The payloads of the segments, in order, are the payload of the super-frame. Every segment carries exactly `size` bytes of it, the last
//! one at most `size`. Every segment is a valid frame.
//!
//! **Source.** What a network card does with the `gso_type` and `gso_size` of a virtio-net header (VIRTIO 1.3, 5.1.6.2): RFC 9293 for
//! TCP, RFC 768 for UDP, RFC 3168 section 6.1.2 for the CWR flag.
//!
//! **State.** The places of the headers inside the super-frame: under 80 bytes, borrowed data otherwise.
//!
//! **Cost.** One copy of each byte, and one sum over it if checksums are to be complete.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Encapsulated super-frames (a TCP segment inside a tunnel) are refused: the virtio header does not say where the
//! outer checksums are. The IPv4 identification always increases from segment to segment, also where the sender kept it fixed
//! under the don't-fragment flag, for which RFC 6864 gives it no meaning.

use crate::checksum;
use thiserror::Error;
use tidegate_core::classifier::{Header, Network};

/// The transport protocol of a super-frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SuperFrameKind {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// UDP over IPv4 or IPv6: every segment becomes a datagram of its own.
    Udp,
}

impl SuperFrameKind {
    /// The number of the protocol in IP headers.
    const fn protocol(self) -> u8 {
        match self {
            SuperFrameKind::Tcp => 6,
            SuperFrameKind::Udp => 17,
        }
    }
}

/// How the transport checksum of a segment is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumStyle {
    /// The field holds the sum over the pseudo-header; the sender of the frame completes it.
    Partial,
    /// The field holds the checksum.
    Complete,
}

/// Why a super-frame cannot be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SegmentError {
    /// The segment size is zero, or makes segments longer than an IP packet can be.
    #[error("a super-frame with an impossible segment size")]
    Size,
    /// What the frame carries is not IPv4 or IPv6 with the announced transport directly above it.
    #[error("a super-frame that is not TCP or UDP over IP")]
    NotTransport,
    /// The headers, or the payload behind them, are missing.
    #[error("a super-frame whose headers or payload are cut short")]
    CutShort,
    /// The checksum to be completed is not that of the outermost transport header: the frame is a tunnel's.
    #[error("a super-frame inside a tunnel")]
    Encapsulated,
    /// The frame is an IPv6 jumbogram, as hosts make of more than 64 kB ("BIG TCP").
    #[error("a super-frame of more than 64 kB over IPv6")]
    Jumbogram,
}

/// A super-frame whose headers have been found.
///
/// ```
/// use tidegate_wire::segment::{ChecksumStyle, SuperFrame, SuperFrameKind};
/// let mut frame = vec![0; 14 + 20 + 8 + 25];
/// frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]); // Ethernet: IPv4; 20 bytes of header
/// frame[23] = 17; // UDP
/// let super_frame = SuperFrame::parse(&frame, SuperFrameKind::Udp, 10, None).unwrap();
/// let mut segment = [0; 64];
/// let lengths: Vec<usize> = (0..super_frame.segments())
///     .map(|number| super_frame.write_segment(number, ChecksumStyle::Complete, &mut segment))
///     .collect();
/// assert_eq!(lengths, [52, 52, 47]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SuperFrame<'a> {
    frame: &'a [u8],
    kind: SuperFrameKind,
    version: Version,
    network: usize,
    transport: usize,
    payload: usize,
    size: usize,
    unprotected: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V4,
    V6,
}

impl<'a> SuperFrame<'a> {
    /// Finds the headers of an Ethernet frame that carries `size` bytes of payload per segment. `checksum_start` is where the frame's
    /// partial checksum starts, if it has one.
    ///
    /// # Errors
    /// [`SegmentError`]: the frame cannot be cut.
    pub fn parse(frame: &'a [u8], kind: SuperFrameKind, size: u16, checksum_start: Option<usize>) -> Result<SuperFrame<'a>, SegmentError> {
        if size == 0 {
            return Err(SegmentError::Size);
        }
        let (version, network) = find_network(frame)?;
        let (protocol, transport) = match version {
            Version::V4 => find_transport_v4(frame, network)?,
            Version::V6 => find_transport_v6(frame, network)?,
        };
        // Where the checksum starts tells a tunnel even if its outermost transport happens to be the announced one.
        if checksum_start.is_some_and(|start| start != transport) {
            return Err(SegmentError::Encapsulated);
        }
        if protocol != kind.protocol() {
            return Err(SegmentError::NotTransport);
        }
        let header_length = match kind {
            SuperFrameKind::Tcp => usize::from(byte(frame, transport + 12)? >> 4) * 4,
            SuperFrameKind::Udp => 8,
        };
        let payload = transport + header_length;
        if (kind == SuperFrameKind::Tcp && header_length < 20) || payload >= frame.len() {
            return Err(SegmentError::CutShort);
        }
        if frame.len().min(payload + usize::from(size)) - network > usize::from(u16::MAX) {
            return Err(SegmentError::Size);
        }
        // Over IPv4 a UDP checksum of zero means that there is none, and a sender that wants none wants none on any segment.
        let unprotected = kind == SuperFrameKind::Udp
            && version == Version::V4
            && checksum_start.is_none()
            && frame[transport + 6..transport + 8] == [0, 0];
        Ok(SuperFrame { frame, kind, version, network, transport, payload, size: usize::from(size), unprotected })
    }

    /// The number of segments, at least 1.
    pub fn segments(&self) -> usize {
        (self.frame.len() - self.payload).div_ceil(self.size)
    }

    /// The length in bytes of segment `number`, counted from 0. The first is the longest.
    pub fn segment_length(&self, number: usize) -> usize {
        let begin = self.payload + number * self.size;
        self.payload + (self.frame.len() - begin).min(self.size)
    }

    /// What rules see of segment `number`, counted from 0, if `whole` is what they see of the super-frame.
    pub fn header_of(&self, number: usize, whole: &Header) -> Header {
        let mut header = Header { length: self.segment_length(number) as u32, ..*whole };
        if let Network::V4 { transport, .. } | Network::V6 { transport, .. } = &mut header.network {
            let last = self.payload + (number + 1) * self.size >= self.frame.len();
            transport.tcp_flags = transport.tcp_flags.map(|flags| flags & !u16::from(absent_flags(number, last)));
        }
        header
    }

    /// Where the transport header starts, in every segment: checksums start there.
    pub fn checksum_start(&self) -> usize {
        self.transport
    }

    /// Where the checksum field lies in the transport header.
    pub fn checksum_offset(&self) -> usize {
        match self.kind {
            SuperFrameKind::Tcp => 16,
            SuperFrameKind::Udp => 6,
        }
    }

    /// False if the segments carry no transport checksum at all, as UDP over IPv4 may choose.
    pub fn has_checksum(&self) -> bool {
        !self.unprotected
    }

    /// Writes segment `number`, counted from 0, to the start of `out` and returns its length.
    ///
    /// # Panics
    /// If there is no segment of that number, or `out` is shorter than it.
    pub fn write_segment(&self, number: usize, checksum: ChecksumStyle, out: &mut [u8]) -> usize {
        let begin = self.payload + number * self.size;
        assert!(begin < self.frame.len(), "segments are numbered from 0 to {}", self.segments() - 1);
        let end = self.frame.len().min(begin + self.size);
        let length = self.segment_length(number);
        let out = &mut out[..length];
        out[..self.payload].copy_from_slice(&self.frame[..self.payload]);
        out[self.payload..].copy_from_slice(&self.frame[begin..end]);
        match self.version {
            Version::V4 => self.patch_v4(number, out),
            Version::V6 => self.patch_v6(out),
        }
        match self.kind {
            SuperFrameKind::Tcp => self.patch_tcp(number, end == self.frame.len(), out),
            SuperFrameKind::Udp => put_u16(out, self.transport + 4, (length - self.transport) as u16),
        }
        self.patch_checksum(checksum, out);
        length
    }

    fn patch_v4(&self, number: usize, out: &mut [u8]) {
        let total = out.len() - self.network;
        put_u16(out, self.network + 2, total as u16);
        let identification = u16::from_be_bytes([out[self.network + 4], out[self.network + 5]]);
        put_u16(out, self.network + 4, identification.wrapping_add(number as u16));
        put_u16(out, self.network + 10, 0);
        let header = usize::from(out[self.network] & 0x0f) * 4;
        let sum = checksum::sum(&out[self.network..self.network + header]);
        put_u16(out, self.network + 10, !sum);
    }

    fn patch_v6(&self, out: &mut [u8]) {
        let payload = out.len() - self.network - 40;
        put_u16(out, self.network + 4, payload as u16);
    }

    fn patch_tcp(&self, number: usize, last: bool, out: &mut [u8]) {
        let at = self.transport + 4;
        let sequence = u32::from_be_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]);
        let sequence = sequence.wrapping_add((number * self.size) as u32);
        out[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        out[self.transport + 13] &= !absent_flags(number, last);
    }

    fn patch_checksum(&self, style: ChecksumStyle, out: &mut [u8]) {
        if self.unprotected {
            return;
        }
        let addresses = match self.version {
            Version::V4 => self.network + 12..self.network + 20,
            Version::V6 => self.network + 8..self.network + 40,
        };
        let partial = checksum::pseudo_header(&out[addresses], self.kind.protocol(), (out.len() - self.transport) as u32);
        let at = self.transport + self.checksum_offset();
        put_u16(out, at, partial);
        if style == ChecksumStyle::Complete {
            let sum = checksum::sum(&out[self.transport..]);
            put_u16(out, at, checksum::finish(sum));
        }
    }
}

/// The flags of a super-frame that this segment has not.
fn absent_flags(number: usize, last: bool) -> u8 {
    let at_the_end = if last { 0 } else { TCP_FIN | TCP_PSH };
    let at_the_start = if number == 0 { 0 } else { TCP_CWR };
    at_the_end | at_the_start
}

const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;

/// The IP version and where its header starts, past any VLAN tags.
fn find_network(frame: &[u8]) -> Result<(Version, usize), SegmentError> {
    let mut at = 12;
    loop {
        match u16::from_be_bytes([byte(frame, at)?, byte(frame, at + 1)?]) {
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            0x0800 => return Ok((Version::V4, at + 2)),
            0x86dd => return Ok((Version::V6, at + 2)),
            _ => return Err(SegmentError::NotTransport),
        }
    }
}

fn find_transport_v4(frame: &[u8], network: usize) -> Result<(u8, usize), SegmentError> {
    let first = byte(frame, network)?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header < 20 {
        return Err(SegmentError::NotTransport);
    }
    Ok((byte(frame, network + 9)?, network + header))
}

/// Walks the extension headers that may stand before a transport header in every packet of a stream. A fragment header may not, and
/// behind a routing header the checksum covers another destination than the one in the header.
fn find_transport_v6(frame: &[u8], network: usize) -> Result<(u8, usize), SegmentError> {
    const HOP_BY_HOP: u8 = 0;
    const DESTINATION: u8 = 60;
    if byte(frame, network)? >> 4 != 6 {
        return Err(SegmentError::NotTransport);
    }
    let (mut next, mut at) = (byte(frame, network + 6)?, network + 40);
    if next == HOP_BY_HOP && byte(frame, network + 4)? == 0 && byte(frame, network + 5)? == 0 {
        return Err(SegmentError::Jumbogram);
    }
    while matches!(next, HOP_BY_HOP | DESTINATION) {
        next = byte(frame, at)?;
        at += usize::from(byte(frame, at + 1)?) * 8 + 8;
    }
    Ok((next, at))
}

fn byte(frame: &[u8], at: usize) -> Result<u8, SegmentError> {
    frame.get(at).copied().ok_or(SegmentError::CutShort)
}

fn put_u16(out: &mut [u8], at: usize, value: u16) {
    out[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkType, parse};
    use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    const PAYLOAD: usize = 2500;

    fn payload() -> Vec<u8> {
        (0..PAYLOAD).map(|n| (n * 7 + n / 256) as u8).collect()
    }

    /// A super-frame made by an independent builder, with every flag that segmentation has to look after.
    fn super_frame(kind: SuperFrameKind, v6: bool, vlan: bool) -> Vec<u8> {
        let start = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let tag = 0x123.try_into().unwrap();
        let ip = match (vlan, v6) {
            (true, true) => start.single_vlan(tag).ipv6([7; 16], [9; 16], 64),
            (true, false) => start.single_vlan(tag).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            (false, true) => start.ipv6([7; 16], [9; 16], 64),
            (false, false) => start.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
        };
        let mut frame = Vec::new();
        match kind {
            SuperFrameKind::Udp => ip.udp(4000, 5000).write(&mut frame, &payload()).unwrap(),
            SuperFrameKind::Tcp => {
                let tcp = ip.tcp(4000, 5000, u32::MAX - 500, 900).ack(77).psh().fin().cwr();
                tcp.options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap().write(&mut frame, &payload()).unwrap();
            }
        }
        if !v6 {
            let network = if vlan { 18 } else { 14 };
            frame[network + 4..network + 6].copy_from_slice(&0xffff_u16.to_be_bytes());
        }
        frame
    }

    fn segments(super_frame: &SuperFrame, style: ChecksumStyle) -> Vec<Vec<u8>> {
        let write = |number| {
            let mut out = vec![0xaa; super_frame.segment_length(0)];
            let length = super_frame.write_segment(number, style, &mut out);
            assert_eq!(length, super_frame.segment_length(number));
            out.truncate(length);
            out
        };
        (0..super_frame.segments()).map(write).collect()
    }

    /// True if the transport checksum of a frame verifies, computed by the independent parser. To TCP 0 and 0xffff are the same sum.
    fn transport_checksum_holds(frame: &[u8]) -> bool {
        let sliced = SlicedPacket::from_ethernet(frame).expect("a segment parses");
        let (ip, transport) = (sliced.net.expect("IP"), sliced.transport.expect("a transport"));
        match (ip, transport) {
            (etherparse::NetSlice::Ipv4(ip), TransportSlice::Tcp(tcp)) => {
                let expected = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination());
                expected.map(|sum| sum % 0xffff) == Ok(tcp.checksum() % 0xffff)
            }
            (etherparse::NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
                let expected = tcp.to_header().calc_checksum_ipv6(&ip.header().to_header(), tcp.payload());
                expected.map(|sum| sum % 0xffff) == Ok(tcp.checksum() % 0xffff)
            }
            (etherparse::NetSlice::Ipv4(ip), TransportSlice::Udp(udp)) => {
                let header = udp.to_header();
                header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload()) == Ok(udp.checksum())
            }
            (etherparse::NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
                let header = udp.to_header();
                header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload()) == Ok(udp.checksum())
            }
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn segments_carry_the_payload_in_order_and_verify(size in 1u16..3000, udp: bool, v6: bool, vlan: bool) {
            let kind = if udp { SuperFrameKind::Udp } else { SuperFrameKind::Tcp };
            let frame = super_frame(kind, v6, vlan);
            let cut = SuperFrame::parse(&frame, kind, size, None).unwrap();
            let parts = segments(&cut, ChecksumStyle::Complete);
            let mut carried = Vec::new();
            for (number, part) in parts.iter().enumerate() {
                prop_assert!(transport_checksum_holds(part));
                let sliced = SlicedPacket::from_ethernet(part).unwrap();
                let bytes = match sliced.transport.unwrap() {
                    TransportSlice::Tcp(tcp) => tcp.payload().to_vec(),
                    TransportSlice::Udp(udp) => udp.payload().to_vec(),
                    other => panic!("{other:?}"),
                };
                if number + 1 < parts.len() {
                    prop_assert_eq!(bytes.len(), usize::from(size));
                }
                carried.extend(bytes);
            }
            prop_assert_eq!(carried, payload());
        }

        #[test]
        fn a_partial_checksum_completes_to_the_complete_one(size in 1u16..3000, udp: bool, v6: bool) {
            let kind = if udp { SuperFrameKind::Udp } else { SuperFrameKind::Tcp };
            let frame = super_frame(kind, v6, false);
            let cut = SuperFrame::parse(&frame, kind, size, None).unwrap();
            let complete = segments(&cut, ChecksumStyle::Complete);
            for (mut part, complete) in segments(&cut, ChecksumStyle::Partial).into_iter().zip(complete) {
                checksum::complete(&mut part, cut.checksum_start(), cut.checksum_offset()).unwrap();
                prop_assert_eq!(part, complete);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(mut frame in proptest::collection::vec(any::<u8>(), 0..120), size: u16, udp: bool, shape in 0usize..3) {
            // Two thirds of the frames look like IP, so that the walk gets past the Ethernet type.
            let types: [[u8; 2]; 3] = [[0x08, 0x00], [0x86, 0xdd], [0x81, 0x00]];
            if frame.len() > 14 {
                frame[12..14].copy_from_slice(&types[shape]);
                frame[14] = if shape == 0 { 0x45 } else { 0x60 };
            }
            let kind = if udp { SuperFrameKind::Udp } else { SuperFrameKind::Tcp };
            if let Ok(cut) = SuperFrame::parse(&frame, kind, size, None) {
                prop_assert!(!segments(&cut, ChecksumStyle::Complete).is_empty());
            }
        }
    }

    #[test]
    fn tcp_numbers_and_flags_are_those_of_a_sender_without_offload() {
        let frame = super_frame(SuperFrameKind::Tcp, false, true);
        let cut = SuperFrame::parse(&frame, SuperFrameKind::Tcp, 1000, None).unwrap();
        let parts = segments(&cut, ChecksumStyle::Complete);
        assert_eq!(parts.len(), 3);
        for (number, part) in parts.iter().enumerate() {
            let sliced = SlicedPacket::from_ethernet(part).unwrap();
            assert_eq!(sliced.vlan().expect("the tag").to_header().next_header(), etherparse::EtherType::IPV4);
            let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("IPv4") };
            let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("TCP") };
            assert_eq!(usize::from(ip.header().total_len()), part.len() - 18);
            assert_eq!(ip.header().to_header().calc_header_checksum(), ip.header().header_checksum());
            assert_eq!(ip.header().identification(), [0xffff, 0, 1][number]);
            assert_eq!(tcp.sequence_number(), (u32::MAX - 500).wrapping_add(1000 * number as u32));
            let last = number == 2;
            assert_eq!((tcp.fin(), tcp.psh(), tcp.cwr()), (last, last, number == 0));
            assert!(tcp.ack());
            assert_eq!(cut.header_of(number, &parse(LinkType::Ethernet, &frame)), parse(LinkType::Ethernet, part));
            assert_eq!(tcp.options().len(), 12);
        }
    }

    #[test]
    fn udp_lengths_are_those_of_the_datagrams() {
        let frame = super_frame(SuperFrameKind::Udp, true, false);
        let cut = SuperFrame::parse(&frame, SuperFrameKind::Udp, 1200, Some(54)).unwrap();
        let lengths: Vec<u16> = segments(&cut, ChecksumStyle::Complete)
            .iter()
            .map(|part| {
                let sliced = SlicedPacket::from_ethernet(part).unwrap();
                let Some(etherparse::NetSlice::Ipv6(ip)) = sliced.net else { panic!("IPv6") };
                let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("UDP") };
                assert_eq!(ip.header().payload_length(), udp.length());
                udp.length()
            })
            .collect();
        assert_eq!(lengths, [1208, 1208, 108]);
    }

    #[test]
    fn udp_without_a_checksum_stays_without() {
        let mut frame = super_frame(SuperFrameKind::Udp, false, false);
        frame[40..42].fill(0);
        let cut = SuperFrame::parse(&frame, SuperFrameKind::Udp, 1200, None).unwrap();
        assert!(!cut.has_checksum());
        assert!(segments(&cut, ChecksumStyle::Complete).iter().all(|part| part[40..42] == [0, 0]));
        // A partial sum that happens to be zero is a checksum all the same.
        assert!(SuperFrame::parse(&frame, SuperFrameKind::Udp, 1200, Some(34)).unwrap().has_checksum());
    }

    #[test]
    fn ipv6_extension_headers_are_repeated_in_every_segment() {
        let plain = super_frame(SuperFrameKind::Tcp, true, false);
        let mut frame = plain[..54].to_vec();
        frame[20] = 60;
        frame.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        frame.extend(&plain[54..]);
        let cut = SuperFrame::parse(&frame, SuperFrameKind::Tcp, 1000, Some(62)).unwrap();
        let parts = segments(&cut, ChecksumStyle::Complete);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| transport_checksum_holds(part) && part[20] == 60));
    }

    #[test]
    fn what_cannot_be_cut_is_refused_with_the_reason() {
        let tcp = super_frame(SuperFrameKind::Tcp, false, false);
        let parse = |frame: &[u8], kind, size, start| SuperFrame::parse(frame, kind, size, start).map(|_| ()).unwrap_err();
        assert_eq!(parse(&tcp, SuperFrameKind::Tcp, 0, None), SegmentError::Size);
        assert_eq!(parse(&tcp, SuperFrameKind::Udp, 1000, None), SegmentError::NotTransport);
        assert_eq!(parse(&tcp, SuperFrameKind::Tcp, 1000, Some(84)), SegmentError::Encapsulated);
        assert_eq!(parse(&tcp[..60], SuperFrameKind::Tcp, 1000, None), SegmentError::CutShort);
        let mut jumbo = super_frame(SuperFrameKind::Tcp, true, false);
        (jumbo[18], jumbo[19], jumbo[20]) = (0, 0, 0);
        assert_eq!(parse(&jumbo, SuperFrameKind::Tcp, 1000, None), SegmentError::Jumbogram);
        let mut long = tcp.clone();
        long.resize(70_000, 0);
        assert_eq!(parse(&long, SuperFrameKind::Tcp, u16::MAX, None), SegmentError::Size);
        let mut arp = tcp.clone();
        arp[13] = 6;
        assert_eq!(parse(&arp, SuperFrameKind::Tcp, 1000, None), SegmentError::NotTransport);
    }
}
