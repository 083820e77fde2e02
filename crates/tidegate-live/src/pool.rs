//! The frame pool of one direction: a fixed number of equal slots, allocated once.
//!
//! A slot has a frame behind its virtio-net header, so a send needs one piece of memory per frame.

use crate::memory::Piece;
use crate::offload::{Offload, PartialChecksum, VIRTIO_HEADER};
use std::io;

/// The bytes before a frame, which is aligned; the virtio-net header is at their end.
const HEADROOM: usize = 16;

/// Frames in memory, by slot number.
#[derive(Debug)]
pub(crate) struct FramePool {
    /// `None` where the frame is lent ([`FramePool::lend`]).
    frames: Vec<Option<Piece>>,
    longest: usize,
    free: Vec<u32>,
}

/// A frame lent to another thread.
#[derive(Debug)]
pub(crate) struct Lent {
    slot: u32,
    piece: Piece,
}

impl Lent {
    /// As [`FramePool::message`].
    #[inline]
    pub(crate) fn message(&self, length: u32) -> &[u8] {
        message(&self.piece, length)
    }

    /// The frame of `length` bytes, to be changed.
    pub(crate) fn packet_mut(&mut self, length: u32) -> &mut [u8] {
        &mut self.piece.bytes_mut()[HEADROOM..HEADROOM + length as usize]
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }
}

fn message(piece: &Piece, length: u32) -> &[u8] {
    &piece.bytes()[HEADROOM - VIRTIO_HEADER..HEADROOM + length as usize]
}

impl FramePool {
    /// A pool of `slots` frames of at most `longest` bytes.
    pub(crate) fn new(slots: u32, longest: u32) -> io::Result<FramePool> {
        let stride = (HEADROOM + longest as usize).next_multiple_of(64);
        let (mut free, mut frames) = (Vec::new(), Vec::new());
        free.try_reserve_exact(slots as usize)?;
        frames.try_reserve_exact(slots as usize)?;
        // Last in, first out: a lightly loaded pool stays in the cache.
        free.extend((0..slots).rev());
        frames.extend(Piece::several(slots as usize, stride)?.map(Some));
        Ok(FramePool { frames, longest: longest as usize, free })
    }

    /// The bytes that a pool of this size maps.
    pub(crate) fn size(slots: u32, longest: u32) -> u128 {
        u128::from(slots) * (HEADROOM as u128 + u128::from(longest)).next_multiple_of(64)
    }

    /// Takes a free slot; `None` if all are in use.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        debug_assert!(self.frames[slot as usize].is_some() && self.free.len() < self.frames.len(), "slot {slot} was freed twice");
        self.free.push(slot);
    }

    /// Lends the frame in a slot to another thread.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u32) -> Lent {
        let Some(piece) = self.frames[slot as usize].take() else { unreachable!("slot {slot} was lent twice") };
        Lent { slot, piece }
    }

    /// Takes back a lent frame; its slot stays in use until it is released.
    #[inline]
    pub(crate) fn take_back(&mut self, lent: Lent) {
        self.frames[lent.slot as usize] = Some(lent.piece);
    }

    /// The longest frame that a slot holds, in bytes.
    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.longest as u32
    }

    /// The number of slots in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> u32 {
        (self.frames.len() - self.free.len()) as u32
    }

    /// The whole room for a frame in a slot.
    #[inline]
    pub(crate) fn frame_mut(&mut self, slot: u32) -> &mut [u8] {
        let longest = self.longest;
        &mut self.piece_mut(slot).bytes_mut()[HEADROOM..HEADROOM + longest]
    }

    /// The frame of `length` bytes in a slot.
    #[inline]
    pub(crate) fn packet(&self, slot: u32, length: u32) -> &[u8] {
        &self.message(slot, length)[VIRTIO_HEADER..]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn packet_mut(&mut self, slot: u32, length: u32) -> &mut [u8] {
        &mut self.frame_mut(slot)[..length as usize]
    }

    /// Sets the checksum request of the frame in a slot.
    #[inline]
    pub(crate) fn set_checksum(&mut self, slot: u32, checksum: Option<PartialChecksum>) {
        let header = HEADROOM - VIRTIO_HEADER..HEADROOM;
        self.piece_mut(slot).bytes_mut()[header].copy_from_slice(&Offload::virtio_of(checksum));
    }

    /// The frame of `length` bytes in a slot, behind its virtio-net header.
    #[inline]
    pub(crate) fn message(&self, slot: u32, length: u32) -> &[u8] {
        let Some(piece) = &self.frames[slot as usize] else { unreachable!("the frame in slot {slot} is lent") };
        message(piece, length)
    }

    #[inline]
    fn piece_mut(&mut self, slot: u32) -> &mut Piece {
        let Some(piece) = &mut self.frames[slot as usize] else { unreachable!("the frame in slot {slot} is lent") };
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_lent_once_and_do_not_overlap() {
        let mut pool = FramePool::new(3, 100).unwrap();
        let slots: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(slots, [0, 1, 2]);
        for &slot in &slots {
            pool.frame_mut(slot).fill(slot as u8 + 1);
            pool.set_checksum(slot, None);
        }
        for &slot in &slots {
            let message = pool.message(slot, 100);
            assert_eq!(message.len(), 110);
            assert!(message[..10].iter().all(|&byte| byte == 0) && message[10..].iter().all(|&byte| byte == slot as u8 + 1));
        }
        assert_eq!((pool.in_use(), pool.take()), (3, None));
        pool.release(1);
        assert_eq!((pool.in_use(), pool.take()), (2, Some(1)));
    }

    #[test]
    fn a_lent_frame_comes_back_as_it_was() {
        let mut pool = FramePool::new(2, 100).unwrap();
        let slot = pool.take().unwrap();
        pool.frame_mut(slot).fill(9);
        pool.set_checksum(slot, None);
        let lent = pool.lend(slot);
        assert_eq!(lent.slot(), slot);
        let lent = std::thread::spawn(move || (lent.message(100)[10..] == [9; 100]).then_some(lent)).join().unwrap();
        assert_eq!(pool.in_use(), 1);
        pool.take_back(lent.expect("the frame's bytes"));
        pool.release(slot);
        assert_eq!((pool.in_use(), pool.take()), (0, Some(slot)));
        assert_eq!(pool.message(slot, 100)[10..], [9; 100]);
    }

    #[test]
    fn a_pool_beyond_memory_is_an_error() {
        assert!(FramePool::new(u32::MAX, u32::MAX).is_err());
    }
}
