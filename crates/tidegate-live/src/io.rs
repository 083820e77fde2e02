//! The seam between a direction and the kernel: something to receive frames from, something to send them to.
//!
//! Packet sockets ([`crate::packet`]) are one pair of implementations, in-memory ones in tests another. A faster path (AF_XDP) is a
//! third pair: it would take the frame pool's pages as its UMEM and leave everything above this seam as it is.

use crate::offload::Offload;
use std::os::fd::BorrowedFd;

/// A frame as it was received, VLAN tags and all. Valid until the next frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// Its bytes, as far as they were kept.
    pub(crate) bytes: &'a [u8],
    /// Its length; more than `bytes` holds if it was cut short.
    pub(crate) length: u32,
    /// What it still lacks.
    pub(crate) offload: Offload,
}

/// Counted by the kernel since the bridge was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelCounters {
    /// Frames handed to our socket, super-frames counting once.
    pub received: u64,
    /// Frames lost before they reached us, because the ring was full or because they were of a kind that cannot be described to us.
    pub dropped: u64,
}

/// Receives the frames of one interface.
pub(crate) trait Receive {
    /// Hands over the next frame if one is there; false if none is.
    fn receive(&mut self, take: impl FnOnce(Received<'_>)) -> bool;

    /// Sees to the interface: takes note of errors, finds it again if it was deleted and made anew. Called many times a second, and at
    /// once after a socket error. True if frames can come in.
    fn maintain(&mut self) -> bool;

    /// What the kernel counted.
    fn kernel_counters(&self) -> KernelCounters;

    /// What to wait on for frames.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// Why a frame could not be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendError {
    /// There is no room now; the frame can be tried again.
    Busy,
    /// The interface is down or gone.
    Down,
    /// The frame is longer than the interface takes.
    TooLong,
    /// The kernel will not have this frame.
    Rejected,
}

/// Sends frames out of one interface.
pub(crate) trait Transmit {
    /// Sends the first of these frames, of which there is at least one, each behind its virtio-net header, and returns how many were sent,
    /// at least one.
    ///
    /// # Errors
    /// Why the first one was not sent.
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError>;

    /// As [`Receive::attend`]. True if frames can go out.
    fn maintain(&mut self) -> bool;
}
