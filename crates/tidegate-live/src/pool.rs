//! The frames of one direction: a fixed number of equal slots, allocated once.
//!
//! A slot holds a frame behind its virtio-net header, so that a send needs one piece of memory per frame.

use crate::memory::Pages;
use crate::offload::{Offload, PartialChecksum, VIRTIO_HEADER};
use std::io;

/// The virtio-net header ends where the frame starts, and the frame starts aligned.
const HEADROOM: usize = 16;

/// Frames in memory, by slot number.
#[derive(Debug)]
pub(crate) struct FramePool {
    pages: Pages,
    stride: usize,
    longest: usize,
    free: Vec<u32>,
    slots: u32,
}

impl FramePool {
    /// A pool of `slots` frames of at most `longest` bytes.
    pub(crate) fn new(slots: u32, longest: u32) -> io::Result<FramePool> {
        let stride = (HEADROOM + longest as usize).next_multiple_of(64);
        let length = stride.checked_mul(slots as usize).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut free = Vec::new();
        free.try_reserve_exact(slots as usize)?;
        // The last one in is the first one out: a lightly loaded pool stays in the cache.
        free.extend((0..slots).rev());
        Ok(FramePool { pages: Pages::new(length)?, stride, longest: longest as usize, free, slots })
    }

    /// The bytes that a pool of this size maps.
    pub(crate) fn size(slots: u32, longest: u32) -> u128 {
        u128::from(slots) * (HEADROOM as u128 + u128::from(longest)).next_multiple_of(64)
    }

    /// A slot of one's own; `None` if all are in use.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives a slot back.
    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        debug_assert!(slot < self.slots && self.free.len() < self.slots as usize, "slot {slot} was given back twice");
        self.free.push(slot);
    }

    /// The longest frame that a slot holds, in bytes.
    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.longest as u32
    }

    /// The number of slots in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> u32 {
        self.slots - self.free.len() as u32
    }

    /// Room for a frame.
    #[inline]
    pub(crate) fn frame_mut(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize * self.stride + HEADROOM;
        let longest = self.longest;
        &mut self.pages.bytes_mut()[at..at + longest]
    }

    /// Notes what the frame in a slot still lacks.
    #[inline]
    pub(crate) fn set_checksum(&mut self, slot: u32, checksum: Option<PartialChecksum>) {
        let at = slot as usize * self.stride + HEADROOM - VIRTIO_HEADER;
        self.pages.bytes_mut()[at..at + VIRTIO_HEADER].copy_from_slice(&Offload::virtio_of(checksum));
    }

    /// A frame of `length` bytes behind its virtio-net header.
    #[inline]
    pub(crate) fn message(&self, slot: u32, length: u32) -> &[u8] {
        let at = slot as usize * self.stride + HEADROOM;
        &self.pages.bytes()[at - VIRTIO_HEADER..at + length as usize]
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
    fn a_pool_beyond_memory_is_an_error() {
        assert!(FramePool::new(u32::MAX, u32::MAX).is_err());
    }
}
