//! Turns received frames into packets as on the wire: super-frames are cut, and checksums that cannot be passed on are completed.
//!
//! This happens before the port, so that shapers and schedulers see real packets. A 64 kB super-frame would occupy a link of 10 Mbit/s for
//! 52 ms. Segments of TCP that the port releases together are joined again where they leave ([`Offload::virtio_of_segment`]).

use crate::counters::{DirectionCounters, Refused};
use crate::io::{Place, Receive, Received};
use crate::offload::{Offload, PartialChecksum, Segmentation};
use crate::pool::FramePool;
use tidegate_core::classifier::{Header, Network};
use tidegate_core::port::Volume;
use tidegate_wire::checksum;
use tidegate_wire::segment::{ChecksumStyle, SuperFrame, SuperFrameKind};
use tidegate_wire::{LinkType, parse};

/// How checksums that a sender left to its network card are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksums {
    /// The outgoing interface is asked to complete them; where it cannot, the kernel does.
    #[default]
    PassOn,
    /// They are completed in software before the packet is queued.
    Complete,
}

/// A packet for the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// The slot of its bytes; `None` if it is longer than any slot, so that the port drops it.
    pub(crate) slot: Option<u32>,
    pub(crate) length: u32,
}

/// Why a packet was not taken. Its slot is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The queue has no room for it.
    NoMemory,
    /// The ring to the worker of its class is full.
    RingFull,
}

/// Takes in received frames and counts them: up to `batch` packets, and the rest of a super-frame. Every packet is passed to `offer` with its header; its slot is released if
/// `offer` refuses it. True if there was a frame.
pub(crate) fn take_in(
    receiver: &mut impl Receive,
    checksums: Checksums,
    batch: u32,
    pool: &mut FramePool,
    counters: &mut DirectionCounters,
    mut offer: impl FnMut(&mut FramePool, &Header, Arrived) -> Result<(), Refusal>,
) -> bool {
    let DirectionCounters { received: volume, refused, frames, super_frames, unseen, .. } = counters;
    let before = volume.packets;
    let mut any = false;
    while volume.packets - before < u64::from(batch) {
        let taken = receiver.receive(pool, |pool, received| {
            *frames += 1;
            *super_frames += u64::from(received.offload.segmentation != Segmentation::None);
            let refused_before = refused.total();
            let (mut no_room, mut ring_full) = (Volume::default(), Volume::default());
            packets(received, checksums, pool, refused, |pool, header, arrived| match offer(pool, header, arrived) {
                Ok(()) => {
                    *unseen += u64::from(matches!(header.network, Network::Other));
                    volume.add(arrived.length);
                }
                Err(refusal) => {
                    let refused = if refusal == Refusal::NoMemory { &mut no_room } else { &mut ring_full };
                    refused.add(arrived.length);
                    arrived.slot.into_iter().for_each(|slot| pool.release(slot));
                }
            });
            refused.no_memory += no_room;
            refused.ring_full += ring_full;
            // Refused packets count as received.
            *volume += refused.total() - refused_before;
        });
        if !taken {
            break;
        }
        any = true;
    }
    any
}

/// Turns a received frame into packets and passes each to `offer` with its header. Counts packets that it refuses.
fn packets(
    received: Received<'_>,
    checksums: Checksums,
    pool: &mut FramePool,
    refused: &mut Refused,
    mut offer: impl FnMut(&mut FramePool, &Header, Arrived),
) {
    let header = match received.place {
        Place::Outside(bytes) if (bytes.len() as u32) < received.length => return refused.cut_short.add(received.length),
        Place::Outside(bytes) => parse(LinkType::Ethernet, bytes),
        Place::Slot(slot) => parse(LinkType::Ethernet, pool.packet(slot, received.length)),
    };
    match (received.offload.segmentation, received.place) {
        (Segmentation::None, _) => {
            if let Some(arrived) = whole(received, &header, checksums, pool, refused) {
                offer(pool, &header, arrived);
            }
        }
        (Segmentation::Cut { kind, size }, Place::Outside(bytes)) => {
            cut(bytes, received, &header, (kind, size), checksums, pool, refused, offer);
        }
        (Segmentation::Unknown, Place::Outside(_)) => refused.not_segmentable.add(received.length),
        (_, Place::Slot(_)) => unreachable!("super-frames do not fit into slots"),
    }
}

fn whole(received: Received<'_>, header: &Header, checksums: Checksums, pool: &mut FramePool, refused: &mut Refused) -> Option<Arrived> {
    let length = received.length;
    let slot = match received.place {
        Place::Slot(slot) if length > pool.longest() => {
            pool.release(slot);
            return Some(Arrived { slot: None, length });
        }
        Place::Slot(slot) if pool.is_exhausted() => {
            // The kernel needs slots to receive into, or it loses frames without a count here.
            pool.release(slot);
            refused.no_memory.add(length);
            return None;
        }
        Place::Slot(slot) => slot,
        Place::Outside(_) if length > pool.longest() => return Some(Arrived { slot: None, length }),
        Place::Outside(bytes) => {
            let Some(slot) = pool.take() else {
                refused.no_memory.add(length);
                return None;
            };
            pool.packet_mut(slot, length).copy_from_slice(bytes);
            slot
        }
    };
    let frame = pool.packet_mut(slot, length);
    let mut left = received.offload.checksum;
    if let Some(PartialChecksum { start, offset }) = left {
        // The kernel would compute an Internet checksum.
        let sctp = is_sctp(header) && offset == 8;
        let (start, offset) = (usize::from(start), usize::from(offset));
        let completed = match (sctp, checksums) {
            (true, _) => checksum::complete_sctp(frame, start),
            (false, Checksums::Complete) => checksum::complete(frame, start, offset),
            (false, Checksums::PassOn) if start + offset + 2 <= frame.len() => Ok(()),
            (false, Checksums::PassOn) => Err(checksum::OutOfRange { start, offset, length: frame.len() }),
        };
        if completed.is_err() {
            pool.release(slot);
            refused.bad_checksum.add(length);
            return None;
        }
        if sctp || checksums == Checksums::Complete {
            left = None;
        }
    }
    pool.set_checksum(slot, left);
    Some(Arrived { slot: Some(slot), length })
}

// What belongs to the frame, what to the policy, and where packets go.
#[allow(clippy::too_many_arguments)]
fn cut(
    bytes: &[u8],
    received: Received<'_>,
    header: &Header,
    (kind, size): (SuperFrameKind, u16),
    checksums: Checksums,
    pool: &mut FramePool,
    refused: &mut Refused,
    mut offer: impl FnMut(&mut FramePool, &Header, Arrived),
) {
    let start = received.offload.checksum.map(|checksum| usize::from(checksum.start));
    let Ok(super_frame) = SuperFrame::parse(bytes, kind, size, start) else {
        return refused.not_segmentable.add(received.length);
    };
    let (style, left) = match checksums {
        Checksums::Complete => (ChecksumStyle::Complete, None),
        Checksums::PassOn => {
            let place = PartialChecksum { start: super_frame.checksum_start() as u16, offset: super_frame.checksum_offset() as u16 };
            (ChecksumStyle::Partial, super_frame.has_checksum().then_some(place))
        }
    };
    let virtio = match left {
        Some(place) if kind == SuperFrameKind::Tcp => {
            let is_v6 = matches!(header.network, Network::V6 { .. });
            let headers = super_frame.segment_length(0) - usize::from(size).min(super_frame.segment_length(0));
            Offload::virtio_of_segment(place, is_v6, headers as u16, size)
        }
        _ => Offload::virtio_of(left),
    };
    for number in 0..super_frame.segments() {
        let length = super_frame.segment_length(number) as u32;
        let slot = if length > pool.longest() {
            None
        } else if let Some(slot) = pool.take() {
            super_frame.write_segment(number, style, pool.frame_mut(slot));
            pool.set_virtio(slot, virtio);
            Some(slot)
        } else {
            refused.no_memory.add(length);
            continue;
        };
        offer(pool, &super_frame.header_of(number, header), Arrived { slot, length });
    }
}

fn is_sctp(header: &Header) -> bool {
    const SCTP: u8 = 132;
    matches!(header.network, Network::V4 { transport, .. } | Network::V6 { transport, .. } if transport.protocol == SCTP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with a UDP datagram of `payload` bytes over IPv4, its checksum fields zero.
    fn udp(payload: usize) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend((28 + payload as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x0f, 0xa0, 0x13, 0x88]);
        frame.extend((8 + payload as u16).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend((0..payload).map(|n| n as u8));
        frame
    }

    fn partial_udp(payload: usize) -> Vec<u8> {
        let mut frame = udp(payload);
        let sum = checksum::pseudo_header(&frame[26..34], 17, 8 + payload as u32);
        frame[40..42].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn verifies(frame: &[u8]) -> bool {
        let sum = checksum::pseudo_header(&frame[26..34], 17, frame.len() as u32 - 34);
        checksum::add(sum, checksum::sum(&frame[34..])) == 0xffff
    }

    /// A packet's length, and the message that leaves for it.
    type Packet = (u32, Option<Vec<u8>>);

    /// The packets that a frame becomes, and what was refused.
    fn through(bytes: &[u8], offload: Offload, checksums: Checksums, slots: u32) -> (Vec<Packet>, Refused) {
        let mut pool = FramePool::new(slots, 1514).unwrap();
        let (mut out, mut refused) = (Vec::new(), Refused::default());
        let received =
            Received { place: Place::Outside(bytes), length: bytes.len() as u32, offload, virtio: Default::default(), arrived: 0 };
        packets(received, checksums, &mut pool, &mut refused, |pool, header, arrived| {
            assert!(matches!(header.network, Network::V4 { .. }));
            assert_eq!(header.length, arrived.length);
            out.push((arrived.length, arrived.slot.map(|slot| pool.message(slot, arrived.length).to_vec())));
        });
        (out, refused)
    }

    const PARTIAL: Option<PartialChecksum> = Some(PartialChecksum { start: 34, offset: 6 });

    #[test]
    fn a_partial_checksum_is_passed_on_or_completed() {
        let frame = partial_udp(100);
        let offload = Offload { checksum: PARTIAL, ..Offload::default() };
        let (passed, _) = through(&frame, offload, Checksums::PassOn, 1);
        let message = passed[0].1.as_ref().unwrap();
        assert_eq!((&message[..10], &message[10..]), (&Offload::virtio_of(PARTIAL)[..], &frame[..]));

        let (completed, _) = through(&frame, offload, Checksums::Complete, 1);
        let message = completed[0].1.as_ref().unwrap();
        assert_eq!(message[..10], [0; 10]);
        assert!(verifies(&message[10..]) && !verifies(&frame));
    }

    #[test]
    fn a_super_frame_becomes_packets_with_checksums_of_either_style() {
        let frame = partial_udp(250);
        let segmentation = Segmentation::Cut { kind: SuperFrameKind::Udp, size: 100 };
        let offload = Offload { checksum: PARTIAL, segmentation };
        for checksums in [Checksums::PassOn, Checksums::Complete] {
            let (packets, refused) = through(&frame, offload, checksums, 8);
            assert_eq!((packets.len(), refused), (3, Refused::default()));
            for (length, message) in packets {
                let mut message = message.unwrap();
                assert_eq!(message.len(), length as usize + 10);
                if checksums == Checksums::PassOn {
                    assert_eq!(message[..10], Offload::virtio_of(PARTIAL));
                    checksum::complete(&mut message[10..], 34, 6).unwrap();
                }
                assert!(verifies(&message[10..]));
            }
        }
    }

    #[test]
    fn memory_runs_out_packet_by_packet_and_is_counted() {
        let offload = Offload { checksum: PARTIAL, segmentation: Segmentation::Cut { kind: SuperFrameKind::Udp, size: 100 } };
        let (packets, refused) = through(&partial_udp(250), offload, Checksums::PassOn, 2);
        assert_eq!(packets.len(), 2);
        assert_eq!(refused.no_memory, Volume { packets: 1, bytes: 42 + 50 });
    }

    #[test]
    fn a_frame_longer_than_a_slot_reaches_the_port_without_its_bytes() {
        let (packets, refused) = through(&udp(2000), Offload::default(), Checksums::PassOn, 2);
        assert_eq!((packets, refused), (vec![(2042, None)], Refused::default()));
    }

    #[test]
    fn frames_that_cannot_become_packets_are_counted_by_reason() {
        let frame = partial_udp(100);
        let bad = |checksum, segmentation| through(&frame, Offload { checksum, segmentation }, Checksums::PassOn, 2);
        let one = Volume { packets: 1, bytes: 142 };
        assert_eq!(bad(None, Segmentation::Unknown).1.not_segmentable, one);
        let cut = |kind| Segmentation::Cut { kind, size: 50 };
        assert_eq!(bad(None, cut(SuperFrameKind::Tcp)).1.not_segmentable, one);
        let inner = Some(PartialChecksum { start: 84, offset: 16 });
        assert_eq!(bad(inner, cut(SuperFrameKind::Udp)).1.not_segmentable, one);
        let outside = Some(PartialChecksum { start: 140, offset: 6 });
        assert_eq!(bad(outside, Segmentation::None).1.bad_checksum, one);

        let mut pool = FramePool::new(2, 1514).unwrap();
        let mut refused = Refused::default();
        let received =
            Received { place: Place::Outside(&frame), length: 9000, offload: Offload::default(), virtio: Default::default(), arrived: 0 };
        packets(received, Checksums::PassOn, &mut pool, &mut refused, |_, _, _| panic!("a frame cut short was offered"));
        assert_eq!(refused.cut_short, Volume { packets: 1, bytes: 9000 });
        assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn sctp_is_always_completed() {
        let mut frame = udp(40);
        frame[23] = 132;
        let offload = Offload { checksum: Some(PartialChecksum { start: 34, offset: 8 }), ..Offload::default() };
        let (packets, _) = through(&frame, offload, Checksums::PassOn, 1);
        let message = packets[0].1.as_ref().unwrap();
        assert_eq!(message[..10], [0; 10]);
        let mut right = frame.clone();
        checksum::complete_sctp(&mut right, 34).unwrap();
        assert_eq!(message[10..], right);
    }
}
