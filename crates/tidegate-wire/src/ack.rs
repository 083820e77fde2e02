//! Filters pure acknowledgements: of those of one TCP connection that wait in a queue, the newest says all that the others say.
//!
//! **Law.** An acknowledgement is redundant beside a later one of its connection that acknowledges more, knows every block that it knows, and is not
//! older by its timestamps. One that carries data, another flag than ACK, an unknown option or ECN is never redundant. So duplicate acknowledgements
//! of one number stay until a greater number follows.
//!
//! **Source.** RFC 9293 (header), RFC 7323 (timestamps), RFC 2018 (blocks); the option of Linux's CAKE, whose conservative form keeps two.
//!
//! **State.** None.
//!
//! **Cost.** Reading the headers of the short packets of one queue, at most [`AckFilter::REACH`] of them.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** CAKE also filters acknowledgements with ECN echo; here flags other than ACK are signals and stay.

use crate::found::read_u16;
use crate::link::LinkType;
use crate::parse::locate;
use tidegate_core::classifier::{Network, Transport};

/// No pure acknowledgement with known options is longer than this, in bytes of a frame with two VLAN tags.
const LONGEST: usize = 22 + 40 + 60;
/// At most this many blocks fit into the options.
const BLOCKS: usize = 4;
/// The protocol number of TCP.
const TCP: u8 = 6;
/// The flag that makes the acknowledgement number valid.
const ACK: u8 = 0x10;

/// How many acknowledgements of a connection stay in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckFilter {
    /// The two newest, so that senders still see several per round trip.
    Conservative,
    /// The newest.
    Aggressive,
}

impl AckFilter {
    /// The number of packets of a queue, from its head, among which redundant acknowledgements are looked for.
    pub const REACH: usize = 256;

    /// True if a frame of this length may be a pure acknowledgement.
    #[inline]
    pub const fn may_filter(length: u32) -> bool {
        length as usize <= LONGEST
    }

    /// Which of the queued packets, the oldest first, is redundant now that `newest` has joined them: its position. `newest` may be among them.
    pub fn redundant(self, newest: &PureAck, queued: impl Iterator<Item = Option<PureAck>>) -> Option<usize> {
        let is_redundant = |queued: Option<PureAck>| queued.is_some_and(|queued| newest.supersedes(&queued));
        let mut found = queued.take(AckFilter::REACH).enumerate().filter(|(_, queued)| is_redundant(*queued)).map(|(position, _)| position);
        let oldest = found.next()?;
        match self {
            AckFilter::Aggressive => Some(oldest),
            AckFilter::Conservative => found.next().map(|_| oldest),
        }
    }
}

/// A segment that acknowledges and does nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// Source and destination address, source and destination port.
    connection: ([u128; 2], (u16, u16)),
    acknowledged: u32,
    /// The value and the echo.
    timestamps: Option<(u32, u32)>,
    blocks: [Option<(u32, u32)>; BLOCKS],
}

impl PureAck {
    /// Reads a frame; `None` if it is no pure acknowledgement, or one with something that is not understood.
    pub fn read(link: LinkType, frame: &[u8]) -> Option<PureAck> {
        let (header, places) = locate(link, frame);
        let ip = &frame[places.ip?..];
        let (addresses, transport) = match header.network {
            Network::V4 { source, destination, transport } => ([source.into(), destination.into()], transport),
            Network::V6 { source, destination, transport } => ([source, destination], transport),
            _ => return None,
        };
        let Transport { protocol: TCP, fragment: false, ports: Some(ports), .. } = transport else { return None };
        let is_v4 = ip[0] >> 4 == 4;
        // An extension header of IPv6 in between would be something that is not understood.
        let (start, end) = if is_v4 {
            (usize::from(ip[0] & 0x0f) * 4, usize::from(read_u16(ip, 2)?))
        } else if ip[6] == TCP {
            (40, 40 + usize::from(read_u16(ip, 4)?))
        } else {
            return None;
        };
        let marks = if is_v4 { ip[1] } else { ip[1] >> 4 };
        let segment = ip.get(start..end)?;
        let (fixed, options) = segment.split_at_checked(20)?;
        // Without data the header is the segment. The bits before the flags are reserved, or count marks.
        if usize::from(fixed[12] >> 4) * 4 != segment.len() || fixed[12] & 0x0f != 0 || fixed[13] != ACK || marks & 0b11 != 0 {
            return None;
        }
        let mut ack = PureAck { connection: (addresses, ports), acknowledged: word(fixed, 8)?, timestamps: None, blocks: [None; BLOCKS] };
        ack.read_options(options)?;
        Some(ack)
    }

    fn read_options(&mut self, mut options: &[u8]) -> Option<()> {
        loop {
            match options {
                [] | [0, ..] => return Some(()),
                [1, rest @ ..] => options = rest,
                [kind, length, ..] => {
                    let option = options.get(2..usize::from(*length))?;
                    match (kind, option.len()) {
                        (8, 8) => self.timestamps = Some((word(option, 0)?, word(option, 4)?)),
                        (5, bytes) if bytes % 8 == 0 && bytes / 8 <= BLOCKS => {
                            for (number, block) in option.chunks_exact(8).enumerate() {
                                self.blocks[number] = Some((word(block, 0)?, word(block, 4)?));
                            }
                        }
                        _ => return None,
                    }
                    options = &options[usize::from(*length)..];
                }
                _ => return None,
            }
        }
    }

    /// True if `older`, which waits before this one, says nothing that this one does not say.
    fn supersedes(&self, older: &PureAck) -> bool {
        let not_older = match (self.timestamps, older.timestamps) {
            (Some(now), Some(then)) => !is_before(now.0, then.0) && !is_before(now.1, then.1),
            (now, then) => now == then,
        };
        self.connection == older.connection
            && is_before(older.acknowledged, self.acknowledged)
            && not_older
            && older.blocks.iter().flatten().all(|block| self.knows(*block))
    }

    /// True if this one acknowledges a block, or has one that contains it.
    fn knows(&self, (from, to): (u32, u32)) -> bool {
        !is_before(self.acknowledged, to) || self.blocks.iter().flatten().any(|own| !is_before(from, own.0) && !is_before(own.1, to))
    }
}

/// Sequence numbers and timestamps compare modulo 2^32.
const fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement};
    use proptest::prelude::*;

    /// A segment of port 80 to port 9000 with this acknowledgement, timestamp and block.
    fn ack(v6: bool, number: u32, timestamp: Option<u32>, block: Option<(u32, u32)>) -> Vec<u8> {
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = if v6 { ethernet.ipv6([7; 16], [9; 16], 64) } else { ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64) };
        let mut options = Vec::new();
        options.extend(timestamp.map(|value| TcpOptionElement::Timestamp(value, 5)));
        options.extend(block.map(|block| TcpOptionElement::SelectiveAcknowledgement(block, [None; 3])));
        let builder = ip.tcp(80, 9000, 1, 500).ack(number).options(&options).unwrap();
        let mut frame = Vec::new();
        builder.write(&mut frame, &[]).unwrap();
        frame
    }

    fn read(frame: &[u8]) -> Option<PureAck> {
        PureAck::read(LinkType::Ethernet, frame)
    }

    /// Which of `queued` is redundant, the last of which is the newest.
    fn redundant(filter: AckFilter, queued: &[Vec<u8>]) -> Option<usize> {
        let newest = read(queued.last().unwrap()).unwrap();
        filter.redundant(&newest, queued.iter().map(|frame| read(frame)))
    }

    #[test]
    fn the_oldest_that_acknowledges_less_goes() {
        let queue = |numbers: &[u32]| numbers.iter().map(|&number| ack(false, number, None, None)).collect::<Vec<_>>();
        let cases: [(&[u32], Option<usize>, Option<usize>); 6] = [
            (&[100], None, None),
            (&[100, 200], Some(0), None),
            (&[100, 200, 300], Some(0), Some(0)),
            // Duplicates of the newest stay.
            (&[200, 200, 200], None, None),
            (&[u32::MAX - 5, 7], Some(0), None),
            // An older one that came late tells nothing.
            (&[300, 200], None, None),
        ];
        for (numbers, aggressive, conservative) in cases {
            assert_eq!(redundant(AckFilter::Aggressive, &queue(numbers)), aggressive, "{numbers:?}");
            assert_eq!(redundant(AckFilter::Conservative, &queue(numbers)), conservative, "{numbers:?}");
        }
    }

    #[test]
    fn blocks_and_timestamps_keep_what_only_the_older_says() {
        for v6 in [false, true] {
            let newest = |timestamp, block| ack(v6, 1000, timestamp, block);
            let goes = |older: Vec<u8>, newest: Vec<u8>| redundant(AckFilter::Aggressive, &[older, newest]).is_some();
            assert!(goes(ack(v6, 500, Some(7), None), newest(Some(7), None)));
            assert!(!goes(ack(v6, 500, Some(8), None), newest(Some(7), None)), "it has a later timestamp");
            assert!(!goes(ack(v6, 500, Some(7), None), newest(None, None)));
            assert!(goes(ack(v6, 500, None, Some((600, 900))), newest(None, None)), "acknowledged meanwhile");
            assert!(!goes(ack(v6, 500, None, Some((1600, 1900))), newest(None, None)), "a block of its own");
            assert!(goes(ack(v6, 500, None, Some((1600, 1900))), newest(None, Some((1500, 1900)))));
            assert!(!goes(ack(v6, 500, None, Some((1600, 1901))), newest(None, Some((1500, 1900)))));
        }
    }

    #[test]
    fn what_is_more_than_an_acknowledgement_is_none() {
        let pure = ack(false, 100, Some(3), Some((200, 300)));
        assert!(read(&pure).is_some());
        let tcp = 14 + 20;
        for (at, bits) in [
            (tcp + 13, 0x01),
            (tcp + 13, 0x02),
            (tcp + 13, 0x04),
            (tcp + 13, 0x08),
            (tcp + 13, 0x40),
            (tcp + 12, 0x01),
            (15, 0x02),
            (20, 0x20),
            (23, 17),
        ] {
            let mut frame = pure.clone();
            frame[at] ^= bits;
            assert_eq!(read(&frame), None, "bits {bits:02x} of byte {at}");
        }
        let mut unknown = pure.clone();
        unknown[tcp + 20] = 30;
        assert_eq!(read(&unknown), None);
        let mut data = pure.clone();
        data.push(0);
        data[17] += 1;
        assert_eq!(read(&data), None);
        let mut padded = pure.clone();
        padded.push(0);
        assert_eq!(read(&padded), read(&pure), "padding of Ethernet is no data");
        for length in 0..pure.len() {
            assert_eq!(read(&pure[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut frame in prop::collection::vec(any::<u8>(), 0..130), kind in 0usize..3) {
            if frame.len() > 24 {
                frame[12..15].copy_from_slice(&[[0x08, 0x00, 0x45], [0x86, 0xdd, 0x60], [0x81, 0x00, 0x00]][kind]);
                frame[if kind == 1 { 20 } else { 23 }] = TCP;
            }
            read(&frame);
        }
    }
}
