//! Offloads: the work on a frame that its sender left to the network card, as a virtio-net header describes it.
//!
//! **Source.** `struct virtio_net_hdr` of VIRTIO 1.3, 5.1.6, in the machine's byte order. Packet sockets with `PACKET_VNET_HDR` put it before
//! every frame.

use tidegate_wire::segment::SuperFrameKind;

/// The length of a virtio-net header without the field for merged buffers.
pub(crate) const VIRTIO_HEADER: usize = 10;

/// The first byte of a header that asks for a checksum.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// The work left to do on a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offload {
    pub(crate) checksum: Option<PartialChecksum>,
    pub(crate) segmentation: Segmentation,
}

/// A checksum over the frame from byte `start` on, stored `offset` bytes after `start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PartialChecksum {
    pub(crate) start: u16,
    pub(crate) offset: u16,
}

/// Whether a frame must be cut into segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Segmentation {
    /// A frame as it goes on the wire.
    #[default]
    None,
    /// A super-frame, with the payload bytes of each segment.
    Cut { kind: SuperFrameKind, size: u16 },
    /// A super-frame of an unknown kind.
    Unknown,
}

impl Offload {
    pub(crate) fn from_virtio(header: [u8; VIRTIO_HEADER]) -> Offload {
        let field = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let cut = |kind| Segmentation::Cut { kind, size: field(4) };
        Offload {
            checksum: (header[0] & NEEDS_CHECKSUM != 0).then(|| PartialChecksum { start: field(6), offset: field(8) }),
            segmentation: match header[1] & !GSO_ECN {
                GSO_NONE => Segmentation::None,
                GSO_TCP_V4 | GSO_TCP_V6 => cut(SuperFrameKind::Tcp),
                GSO_UDP => cut(SuperFrameKind::Udp),
                _ => Segmentation::Unknown,
            },
        }
    }

    /// Changes the header of a frame that has got this many bytes more before its network layer.
    pub(crate) fn begin_later(header: &mut [u8; VIRTIO_HEADER], by: u16) {
        let (flags, kind) = (header[0], header[1]);
        let mut add = |at: usize| {
            let value = u16::from_ne_bytes([header[at], header[at + 1]]).saturating_add(by);
            header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        };
        if kind != GSO_NONE {
            add(2);
        }
        if flags & NEEDS_CHECKSUM != 0 {
            add(6);
        }
    }

    /// The header of a segment of a TCP super-frame of `size` bytes of payload per segment, whose checksum is still to be completed. The sender joins
    /// it with others, or sends it as [`without_segmentation`] says.
    pub(crate) fn virtio_of_segment(checksum: PartialChecksum, is_v6: bool, headers: u16, size: u16) -> [u8; VIRTIO_HEADER] {
        let mut header = Offload::virtio_of(Some(checksum));
        header[1] = if is_v6 { GSO_TCP_V6 } else { GSO_TCP_V4 };
        header[2..4].copy_from_slice(&headers.to_ne_bytes());
        header[4..6].copy_from_slice(&size.to_ne_bytes());
        header
    }

    /// The header of a frame that needs a checksum or nothing.
    pub(crate) fn virtio_of(checksum: Option<PartialChecksum>) -> [u8; VIRTIO_HEADER] {
        let mut header = [0; VIRTIO_HEADER];
        if let Some(PartialChecksum { start, offset }) = checksum {
            header[0] = NEEDS_CHECKSUM;
            header[6..8].copy_from_slice(&start.to_ne_bytes());
            header[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        header
    }
}

/// The header of a segment that leaves alone.
pub(crate) fn without_segmentation(mut header: [u8; VIRTIO_HEADER]) -> [u8; VIRTIO_HEADER] {
    header[1..6].fill(0);
    header
}

/// The header of joined segments, of which the first may say that the sender has slowed down (CWR).
pub(crate) fn with_cwr(mut header: [u8; VIRTIO_HEADER], has_cwr: bool) -> [u8; VIRTIO_HEADER] {
    header[1] |= if has_cwr { GSO_ECN } else { 0 };
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_request_survives_the_round_trip() {
        for checksum in [None, Some(PartialChecksum { start: 34, offset: 16 }), Some(PartialChecksum { start: 0, offset: u16::MAX })] {
            let read = Offload::from_virtio(Offload::virtio_of(checksum));
            assert_eq!(read, Offload { checksum, segmentation: Segmentation::None });
        }
    }

    #[test]
    fn a_segment_is_read_as_part_of_a_super_frame_and_leaves_without_it() {
        let checksum = PartialChecksum { start: 34, offset: 16 };
        let header = Offload::virtio_of_segment(checksum, false, 54, 1448);
        let cut = Segmentation::Cut { kind: SuperFrameKind::Tcp, size: 1448 };
        assert_eq!(Offload::from_virtio(with_cwr(header, true)), Offload { checksum: Some(checksum), segmentation: cut });
        assert_eq!(without_segmentation(header), Offload::virtio_of(Some(checksum)));
    }

    #[test]
    fn segmentation_is_read_with_and_without_congestion_marks() {
        let mut header = [0; VIRTIO_HEADER];
        header[4..6].copy_from_slice(&1448_u16.to_ne_bytes());
        let tcp = Segmentation::Cut { kind: SuperFrameKind::Tcp, size: 1448 };
        let udp = Segmentation::Cut { kind: SuperFrameKind::Udp, size: 1448 };
        for (kind, expected) in
            [(0, Segmentation::None), (1, tcp), (0x81, tcp), (4, tcp), (0x84, tcp), (5, udp), (3, Segmentation::Unknown)]
        {
            header[1] = kind;
            assert_eq!(Offload::from_virtio(header).segmentation, expected, "{kind:#x}");
        }
    }
}
