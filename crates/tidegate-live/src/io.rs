//! The interface between a direction and the kernel: a receiver and a transmitter of frames.
//!
//! Packet sockets (`packet`) implement both, AF_XDP sockets (`xdp`) do, and so do queues in memory in tests. Packet sockets copy frames into the
//! frame pool and out of it. AF_XDP sockets share the memory of the pool with the kernel.

use crate::offload::{Offload, VIRTIO_HEADER};
use crate::pool::FramePool;
use crate::snapshot::{Reader, SnapshotError, Writer};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Where the bytes of a received frame are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place<'a> {
    /// Outside of the frame pool: these were kept.
    Outside(&'a [u8]),
    /// In this slot of the frame pool, which belongs to the receiver's caller now.
    Slot(u32),
}

/// A received frame, including VLAN tags. Valid until the next frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) place: Place<'a>,
    /// Its length, which is greater than that of the bytes that were kept if the frame was cut short.
    pub(crate) length: u32,
    /// The work that its sender left to the network card.
    pub(crate) offload: Offload,
    /// The same as a virtio-net header, if it came with one.
    pub(crate) virtio: [u8; VIRTIO_HEADER],
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
    /// Frames of those received that a guardian has carried ([`crate::Guardian`]).
    pub carried_past: u64,
}

/// The form of a receive ring, and where reading is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingForm {
    /// The index of the interface.
    pub(crate) index: i32,
    /// The bytes of a slot, the slots of a block, and the slots in all.
    pub(crate) slot_length: u32,
    pub(crate) slots_per_block: u32,
    pub(crate) slots: u32,
    /// The slot that is read next.
    pub(crate) next: u32,
}

impl RingForm {
    pub(crate) fn write(&self, writer: &mut Writer) {
        let RingForm { index, slot_length, slots_per_block, slots, next } = *self;
        [index as u32, slot_length, slots_per_block, slots, next].into_iter().for_each(|number| writer.short(number));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<RingForm, SnapshotError> {
        let index = reader.short()? as i32;
        let [slot_length, slots_per_block, slots, next] = [reader.short()?, reader.short()?, reader.short()?, reader.short()?];
        Ok(RingForm { index, slot_length, slots_per_block, slots, next })
    }
}

/// Receives the frames of one interface.
pub(crate) trait Receive {
    /// Passes the next frame to `take`; false if there is none.
    fn receive(&mut self, pool: &mut FramePool, take: impl FnOnce(&mut FramePool, Received<'_>)) -> bool;

    /// Clears errors, and opens the interface again if it was deleted and created again. Called 20 times a second, and at once after a socket
    /// error. True if frames can arrive.
    fn maintain(&mut self) -> bool;

    /// Leaves out the frames that arrived in this span, in nanoseconds of CLOCK_REALTIME.
    fn skip(&mut self, span: RangeInclusive<u64>);

    /// The kernel's counters.
    fn kernel_counters(&self) -> KernelCounters;

    /// Shares its ring with a successor, if it has one of a kind that can be shared: the socket, unless the interface is gone, and the form.
    fn hand_over(&mut self) -> Option<(Option<OwnedFd>, RingForm)> {
        None
    }

    /// Reads the ring of a predecessor on, whose kernel counted this much.
    ///
    /// # Errors
    /// It is no ring of this form, or this receiver has another kind.
    fn take_over(&mut self, ring: Option<OwnedFd>, form: RingForm, kernel: KernelCounters) -> io::Result<()> {
        let _ = (ring, form, kernel);
        Err(io::ErrorKind::Unsupported.into())
    }

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

    /// Takes back the frames that the kernel needs no more, and reminds it of those that wait. False if it has no room for some of them.
    #[inline]
    fn settle(&mut self, pool: &mut FramePool) -> bool {
        let _ = pool;
        true
    }

    /// As [`Receive::maintain`]. True if frames can leave.
    fn maintain(&mut self) -> bool;
}
