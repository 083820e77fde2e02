//! The rings that an AF_XDP socket shares with the kernel: one side produces entries, the other consumes them.
//!
//! **Law.** Entries between the consumer's and the producer's index belong to the consumer, the others to the producer. Indices count modulo 2^32.
#![allow(unsafe_code)]

use crate::memory::SharedPages;
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring of entries of the type `T`, which are plain numbers.
#[derive(Debug)]
struct Ring<T> {
    pages: SharedPages,
    offsets: libc::xdp_ring_offset,
    mask: u32,
    /// The own index, and the other side's as it was last seen.
    own: u32,
    seen: u32,
    entries: PhantomData<T>,
}

// SAFETY: the ring is used by one thread at a time, through `&mut self`; the other side is the kernel.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd, at: libc::off_t, offsets: libc::xdp_ring_offset, entries: u32) -> io::Result<Ring<T>> {
        let pages = SharedPages::of(socket, offsets.desc as usize + entries as usize * size_of::<T>(), at)?;
        Ok(Ring { pages, offsets, mask: entries - 1, own: 0, seen: 0, entries: PhantomData })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says where its aligned word is; it is shared and only ever accessed as a whole.
        unsafe { AtomicU32::from_ptr(self.pages.at(offset as usize).as_ptr().cast()) }
    }

    #[inline]
    fn entry(&self, index: u32) -> NonNull<T> {
        self.pages.at(self.offsets.desc as usize + (index & self.mask) as usize * size_of::<T>()).cast()
    }

    #[inline]
    fn asks_for_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that this process fills: of frames to receive into, or of frames to send.
#[derive(Debug)]
pub(super) struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    /// The ring of `socket` that is mapped at this offset, with this many entries, a power of two.
    pub(super) fn map(socket: BorrowedFd, at: libc::off_t, offsets: libc::xdp_ring_offset, entries: u32) -> io::Result<Producer<T>> {
        Ring::map(socket, at, offsets, entries).map(Producer)
    }

    /// The number of entries for which there is room.
    #[inline]
    pub(super) fn room(&mut self) -> u32 {
        let ring = &mut self.0;
        ring.seen = ring.word(ring.offsets.consumer).load(Ordering::Acquire);
        ring.mask + 1 - ring.own.wrapping_sub(ring.seen)
    }

    /// Writes an entry; the caller knows that there is room. The kernel sees it once it is submitted.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        let ring = &mut self.0;
        debug_assert!(ring.own.wrapping_sub(ring.seen) <= ring.mask, "no room");
        // SAFETY: the entry is inside the mapping, aligned, and belongs to this side until it is submitted.
        unsafe { ring.entry(ring.own).write(entry) };
        ring.own = ring.own.wrapping_add(1);
    }

    /// Gives the entries to the kernel that were written.
    #[inline]
    pub(super) fn submit(&self) {
        self.0.word(self.0.offsets.producer).store(self.0.own, Ordering::Release);
    }

    /// True if the kernel has taken all that was submitted.
    #[inline]
    pub(super) fn is_taken(&mut self) -> bool {
        self.room() == self.0.mask + 1
    }

    /// True if the kernel looks at the ring only after a system call.
    #[inline]
    pub(super) fn asks_for_wakeup(&self) -> bool {
        self.0.asks_for_wakeup()
    }
}

/// A ring that the kernel fills: of received frames, or of frames that were sent.
#[derive(Debug)]
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    /// As [`Producer::map`].
    pub(super) fn map(socket: BorrowedFd, at: libc::off_t, offsets: libc::xdp_ring_offset, entries: u32) -> io::Result<Consumer<T>> {
        Ring::map(socket, at, offsets, entries).map(Consumer)
    }

    /// The next entry, if there is one. Its place goes back to the kernel with [`Consumer::release`].
    #[inline]
    pub(super) fn next(&mut self) -> Option<T> {
        let ring = &mut self.0;
        if ring.own == ring.seen {
            ring.seen = ring.word(ring.offsets.producer).load(Ordering::Acquire);
            if ring.own == ring.seen {
                return None;
            }
        }
        // SAFETY: the entry is inside the mapping, aligned, and belongs to this side until it is released.
        let entry = unsafe { ring.entry(ring.own).read() };
        ring.own = ring.own.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of the entries back that were read.
    #[inline]
    pub(super) fn release(&self) {
        self.0.word(self.0.offsets.consumer).store(self.0.own, Ordering::Release);
    }
}
