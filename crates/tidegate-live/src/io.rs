//! The interface between a direction and the kernel: a receiver and a transmitter of frames.
//!
//! Packet sockets (`packet`) implement both, and so do queues in memory in tests. AF_XDP would be another implementation, with the pages of the
//! frame pool as its UMEM.

use crate::offload::Offload;
use std::os::fd::BorrowedFd;

/// A received frame, including VLAN tags. Valid until the next frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// The bytes that were kept.
    pub(crate) bytes: &'a [u8],
    /// Its length, which is greater than that of `bytes` if the frame was cut short.
    pub(crate) length: u32,
    /// The work that its sender left to the network card.
    pub(crate) offload: Offload,
    /// When the kernel received it, in nanoseconds of CLOCK_REALTIME; 0 if that is not known.
    pub(crate) arrived: u64,
}

/// The kernel's counters since the start of the bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelCounters {
    /// Frames passed to the socket; a super-frame counts once.
    pub received: u64,
    /// Frames dropped because the ring was full, or because the kernel cannot describe their kind.
    pub dropped: u64,
}

/// Receives the frames of one interface.
pub(crate) trait Receive {
    /// Passes the next frame to `take`; false if there is none.
    fn receive(&mut self, take: impl FnOnce(Received<'_>)) -> bool;

    /// Clears errors, and opens the interface again if it was deleted and created again. Called 20 times a second, and at once after a socket
    /// error. True if frames can arrive.
    fn maintain(&mut self) -> bool;

    /// The kernel's counters.
    fn kernel_counters(&self) -> KernelCounters;

    /// The descriptor that becomes readable when frames arrive.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// Why a frame could not be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendError {
    /// There is no room now; another attempt may succeed.
    Busy,
    /// The interface is down or gone.
    Down,
    /// The frame is longer than the interface allows.
    TooLong,
    /// The kernel refuses this frame.
    Rejected,
}

/// Sends frames out of one interface.
pub(crate) trait Transmit {
    /// Sends the first of these frames, each behind its virtio-net header, and returns how many were sent, at least one. `messages` is not
    /// empty.
    ///
    /// # Errors
    /// Why the first one was not sent.
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError>;

    /// As [`Receive::attend`]. True if frames can leave.
    fn maintain(&mut self) -> bool;
}
