//! A batch of messages to send, in which segments of TCP super-frames that follow each other are one message again.
//!
//! A message of joined segments has the headers of all in memory of its own and the payload of each in its place. So nothing is copied here but headers.
#![allow(unsafe_code)]

use crate::offload::{VIRTIO_HEADER, with_cwr, without_segmentation};
use tidegate_wire::Joined;

/// The most messages per system call.
const MESSAGES: usize = 64;
/// The most pieces of memory that they have.
const PIECES: usize = 512;

/// The bytes of a frame beyond its MTU: an Ethernet header and two VLAN tags.
const FRAME_HEADER: usize = 22;

/// Messages that point into frames which are borrowed for the time of a call.
#[derive(Debug)]
pub(super) struct Batch {
    pieces: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// The frames of each message.
    frames: Vec<usize>,
    /// The segments of messages that may have several, with their virtio-net headers.
    segments: Vec<([u8; VIRTIO_HEADER], Joined)>,
    /// What comes before the payload of each of them, and the piece that names it.
    heads: Vec<(Vec<u8>, usize)>,
    /// How many of `heads` are in use; the memory of the others is kept.
    used: usize,
}

// SAFETY: the addresses are made and used within one call of a method that borrows what they name.
unsafe impl Send for Batch {}

impl Batch {
    pub(super) fn new() -> Batch {
        let heads = (0..MESSAGES).map(|_| (Vec::with_capacity(256), 0)).collect();
        let (pieces, messages) = (Vec::with_capacity(PIECES), Vec::with_capacity(MESSAGES));
        Batch { pieces, messages, frames: Vec::with_capacity(MESSAGES), segments: Vec::with_capacity(MESSAGES), heads, used: 0 }
    }

    /// Fills it with the first of these frames, each behind its virtio-net header. Segments are joined if the interface takes packets of their length.
    pub(super) fn fill<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>, mtu: usize) {
        self.pieces.clear();
        self.messages.clear();
        self.frames.clear();
        self.segments.clear();
        self.used = 0;
        // True while the latest message may grow.
        let mut is_open = false;
        for message in frames {
            let (virtio, frame) = message.split_first_chunk().unwrap_or((&[0; VIRTIO_HEADER], &[]));
            let is_segment = virtio[1] != 0;
            if is_segment
                && is_open
                && self.pieces.len() < PIECES
                && let (Some((before, joined)), Some(count)) = (self.segments.last_mut(), self.frames.last_mut())
                && before == virtio
                && joined.add(frame)
            {
                *count += 1;
                let payload = joined.payload();
                self.push_piece(&frame[payload..]);
                continue;
            }
            if self.messages.len() == MESSAGES || self.pieces.len() + 2 > PIECES {
                break;
            }
            let (start, size) = (u16::from_ne_bytes([virtio[6], virtio[7]]), u16::from_ne_bytes([virtio[4], virtio[5]]));
            let fits = frame.len() <= mtu + FRAME_HEADER;
            let joined = if is_segment && fits { Joined::new(frame, start.into(), size) } else { None };
            is_open = joined.is_some();
            // SAFETY: zero is a valid value of every member.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            // SAFETY: the place is within the capacity, which is never exceeded, so that the address stays.
            header.msg_hdr.msg_iov = unsafe { self.pieces.as_mut_ptr().add(self.pieces.len()) };
            self.messages.push(header);
            self.frames.push(1);
            match joined {
                Some(joined) => {
                    let payload = joined.payload();
                    self.segments.push((*virtio, joined));
                    self.push_head();
                    self.push_piece(&frame[payload..]);
                }
                None if is_segment => {
                    let head = self.push_head();
                    head.extend(without_segmentation(*virtio));
                    self.push_piece(frame);
                }
                None => self.push_piece(message),
            }
        }
        self.write_heads();
    }

    /// Begins a message with a head that is still to be written.
    fn push_head(&mut self) -> &mut Vec<u8> {
        let at = self.pieces.len();
        self.push_piece(&[]);
        let (head, piece) = &mut self.heads[self.used];
        self.used += 1;
        *piece = at;
        head.clear();
        head
    }

    fn push_piece(&mut self, bytes: &[u8]) {
        self.pieces.push(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
        if let Some(message) = self.messages.last_mut() {
            message.msg_hdr.msg_iovlen += 1;
        }
    }

    /// Writes the heads of messages that are complete now, and names them.
    fn write_heads(&mut self) {
        let mut segments = self.segments.iter_mut();
        for (head, piece) in &mut self.heads[..self.used] {
            if head.is_empty()
                && let Some((virtio, joined)) = segments.next()
            {
                let is_alone = joined.segments() == 1;
                head.extend(if is_alone { without_segmentation(*virtio) } else { with_cwr(*virtio, joined.has_cwr()) });
                head.extend(joined.header());
            }
            self.pieces[*piece] = libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() };
        }
    }

    /// The messages, for the system call.
    pub(super) fn messages(&mut self) -> &mut [libc::mmsghdr] {
        &mut self.messages
    }

    /// The frames in the first messages.
    pub(super) fn frames(&self, messages: usize) -> usize {
        self.frames[..messages].iter().sum()
    }

    /// The bytes of each message.
    #[cfg(test)]
    fn bytes(&self) -> Vec<Vec<u8>> {
        let of_piece = |piece: &libc::iovec| {
            // SAFETY: the test keeps what the pieces name.
            unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) }.to_vec()
        };
        let mut pieces = self.pieces.iter();
        self.messages.iter().map(|message| pieces.by_ref().take(message.msg_hdr.msg_iovlen).flat_map(of_piece).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::{Offload, PartialChecksum, Segmentation};
    use tidegate_wire::segment::{ChecksumStyle, SuperFrame, SuperFrameKind};

    const SIZE: u16 = 1000;
    const MTU: usize = 1500;

    /// The segments of a TCP super-frame over IPv4 with `payload` bytes, behind their headers.
    fn segments(payload: usize) -> Vec<Vec<u8>> {
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend((40 + payload as u16).to_be_bytes());
        frame.extend([0, 9, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x0f, 0xa0, 0x13, 0x88, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        frame.extend((0..payload).map(|n| (n / 7) as u8));
        let whole = SuperFrame::parse(&frame, SuperFrameKind::Tcp, SIZE, Some(34)).unwrap();
        let virtio = Offload::virtio_of_segment(PartialChecksum { start: 34, offset: 16 }, false, 54, SIZE);
        let segment = |number| {
            let mut out = vec![0; VIRTIO_HEADER + whole.segment_length(number)];
            out[..VIRTIO_HEADER].copy_from_slice(&virtio);
            whole.write_segment(number, ChecksumStyle::Partial, &mut out[VIRTIO_HEADER..]);
            out
        };
        (0..whole.segments()).map(segment).collect()
    }

    /// What a receiver cuts a message into, each behind the header that it would have alone.
    fn received(message: &[u8]) -> Vec<Vec<u8>> {
        let (virtio, frame) = message.split_first_chunk().unwrap();
        let Offload { checksum, segmentation } = Offload::from_virtio(*virtio);
        let Segmentation::Cut { kind, size } = segmentation else { return vec![message.to_vec()] };
        let whole = SuperFrame::parse(frame, kind, size, checksum.map(|checksum| checksum.start.into())).unwrap();
        let segment = |number| {
            let mut out = vec![0; whole.segment_length(number)];
            whole.write_segment(number, ChecksumStyle::Partial, &mut out);
            [&Offload::virtio_of(checksum)[..], &out].concat()
        };
        (0..whole.segments()).map(segment).collect()
    }

    fn filled(frames: &[Vec<u8>], mtu: usize) -> (Batch, Vec<usize>) {
        let mut batch = Batch::new();
        batch.fill(frames.iter().map(Vec::as_slice), mtu);
        let counts = batch.frames.clone();
        (batch, counts)
    }

    #[test]
    fn segments_leave_joined_and_other_frames_as_they_are() {
        let plain = [&[0; VIRTIO_HEADER][..], &[7; 60]].concat();
        let mut frames = segments(4500);
        frames.insert(3, plain.clone());
        frames.push(plain);
        frames.extend(segments(1000));
        let (batch, counts) = filled(&frames, MTU);
        assert_eq!(counts, [3, 1, 2, 1, 1]);
        assert_eq!([batch.frames(0), batch.frames(2), batch.frames(5)], [0, 4, 8]);
        let alone = |frame: &Vec<u8>| [&without_segmentation(*frame.first_chunk().unwrap())[..], &frame[VIRTIO_HEADER..]].concat();
        let expected: Vec<Vec<u8>> = frames.iter().map(alone).collect();
        assert_eq!(batch.bytes().iter().flat_map(|message| received(message)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn segments_that_are_too_long_for_the_interface_stay_apart() {
        // The batch points into them.
        let frames = segments(2500);
        let (batch, counts) = filled(&frames, 900);
        assert_eq!(counts, [1, 1, 1]);
        assert!(batch.bytes().iter().all(|message| message[1..6] == [0; 5]));
    }

    #[test]
    fn a_batch_ends_before_its_memory_does() {
        let many: Vec<Vec<u8>> = (0..40).flat_map(|_| segments(30_000)).collect();
        let (batch, counts) = filled(&many, MTU);
        assert!(batch.pieces.len() <= PIECES && counts.iter().all(|count| *count > 1), "{counts:?}");
        let lone: Vec<Vec<u8>> = (0..200).flat_map(|_| segments(900)).collect();
        assert_eq!(filled(&lone, MTU).1, [1; MESSAGES]);
    }
}
