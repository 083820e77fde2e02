//! Receives frames through a ring of slots shared with the kernel (TPACKET_V2), and super-frames through the socket's queue.
//!
//! A slot fits an ordinary frame of the interface. A longer frame, such as a super-frame of 64 kB, leaves a mark in its slot and waits whole in
//! the socket's queue (`PACKET_COPY_THRESH`). Slots for such frames would make the ring forty times as large. The ring has version 2, because
//! version 3 delivers frames in blocks and waits up to a millisecond for a block to fill.
//!
//! VLAN tags, which the kernel strips, are put back into the frame, or others in their place ([`Tagging`]). The kernel filters what is of another VLAN.
#![allow(unsafe_code)]

use super::socket::{FanoutGroup, Socket};
use crate::endpoint::{TAG_LENGTH, Tagging};
use crate::error::LiveError;
use crate::heartbeat::{NOTHING, Pulse};
use crate::interface::ControlSocket;
use crate::io::{KernelCounters, Place, Receive, Received, RingForm};
use crate::memory::{Piece, SharedPages};
use crate::offload::{Offload, VIRTIO_HEADER};
use crate::pool::FramePool;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The most memory of a ring, in bytes.
const RING_LIMIT: usize = 32 << 20;

/// The unit in which the kernel allocates a ring, in bytes: a power of two and whole pages.
const BLOCK: usize = 256 << 10;

/// The size of the socket's queue in bytes: a few hundred super-frames.
const SUPER_FRAMES: i32 = 16 << 20;

/// The longest super-frame of Linux (`GSO_MAX_SIZE`), plus its link-layer headers, in bytes.
const LONGEST_FRAME: usize = (512 << 10) + 64;

/// Receives the frames of one interface, by name.
#[derive(Debug)]
pub(crate) struct ReceiveRing {
    name: String,
    slots: usize,
    tagging: Tagging,
    control: ControlSocket,
    ring: Option<Ring>,
    /// Where super-frames are received.
    staging: Piece,
    kernel: KernelCounters,
    /// Frames that arrived in this span are left out, in nanoseconds of CLOCK_REALTIME.
    skipped: RangeInclusive<u64>,
    /// Says whether a guardian carries what arrives.
    pulse: Option<Pulse>,
    is_awake: bool,
    /// The sockets that share the interface's frames with this one.
    group: Option<FanoutGroup>,
}

/// A bound socket with its ring.
#[derive(Debug)]
struct Ring {
    // Before the socket, so that it is unmapped before the socket is closed.
    pages: SharedPages,
    socket: Socket,
    index: i32,
    slot_length: usize,
    slots_per_block: usize,
    slots: usize,
    next: usize,
    tagging: Tagging,
}

impl ReceiveRing {
    /// A ring of about `slots` frames for the interface of this name and index, whose packets are at most `mtu` bytes long.
    pub(crate) fn open(name: &str, index: i32, mtu: u32, slots: usize, tagging: Tagging) -> Result<ReceiveRing, LiveError> {
        ReceiveRing::opened(name, (index, mtu), slots, tagging, (true, None))
    }

    /// The same as one of a group that shares the interface's frames, which gets none until [`ReceiveRing::let_in`].
    pub(crate) fn open_in(
        group: FanoutGroup,
        name: &str,
        index: i32,
        mtu: u32,
        slots: usize,
        tagging: Tagging,
    ) -> Result<ReceiveRing, LiveError> {
        ReceiveRing::opened(name, (index, mtu), slots, tagging, (true, Some(group)))
    }

    /// Lets frames in: the group is complete.
    pub(crate) fn let_in(&self) -> io::Result<()> {
        self.ring.as_ref().map_or(Ok(()), |ring| ring.socket.open_to_incoming(self.tagging.filter()))
    }

    /// The same, whose interface gives it no frames until [`ReceiveRing::wake`].
    pub(crate) fn open_asleep(name: &str, index: i32, mtu: u32, slots: usize, tagging: Tagging) -> Result<ReceiveRing, LiveError> {
        ReceiveRing::opened(name, (index, mtu), slots, tagging, (false, None))
    }

    /// A receiver without a ring, until [`Receive::take_over`].
    pub(crate) fn closed(name: &str, slots: usize, tagging: Tagging) -> Result<ReceiveRing, LiveError> {
        let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", name, cause))?;
        let staging = Piece::new(LONGEST_FRAME + TAG_LENGTH).map_err(|cause| LiveError::system("allocating a buffer", name, cause))?;
        let (name, kernel) = (name.to_owned(), KernelCounters::default());
        Ok(ReceiveRing {
            name,
            slots,
            tagging,
            control,
            ring: None,
            staging,
            kernel,
            skipped: NOTHING,
            pulse: None,
            is_awake: true,
            group: None,
        })
    }

    fn opened(
        name: &str,
        (index, mtu): (i32, u32),
        slots: usize,
        tagging: Tagging,
        (is_awake, group): (bool, Option<FanoutGroup>),
    ) -> Result<ReceiveRing, LiveError> {
        let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", name, cause))?;
        let ring = Ring::open(index, mtu, slots, tagging, (is_awake, group.as_ref()))
            .map_err(|(doing, cause)| LiveError::system(doing, name, cause))?;
        let staging = Piece::new(LONGEST_FRAME + TAG_LENGTH).map_err(|cause| LiveError::system("allocating a buffer", name, cause))?;
        let (name, kernel) = (name.to_owned(), KernelCounters::default());
        Ok(ReceiveRing { name, slots, tagging, control, ring: Some(ring), staging, kernel, skipped: NOTHING, pulse: None, is_awake, group })
    }

    /// Receives nothing while a guardian carries what arrives.
    pub(crate) fn guarded(&mut self, pulse: Option<Pulse>) {
        self.pulse = pulse;
    }

    /// Lets frames in, or keeps them out without cost to the kernel.
    ///
    /// # Errors
    /// The interface is down or gone.
    pub(crate) fn wake(&mut self, is_awake: bool) -> io::Result<()> {
        self.is_awake = is_awake;
        let Some(ring) = &self.ring else { return Ok(()) };
        if is_awake {
            ring.socket.open_to(ring.tagging.filter())?;
        }
        ring.socket.bind(ring.index, is_awake)
    }

    /// Keeps frames out at once. Those that came before are still received.
    pub(crate) fn close(&self) {
        // Cannot fail for a program of one step on an open socket, but for lack of memory; then the next frames pass twice.
        let _no_memory = self.ring.as_ref().map(|ring| ring.socket.take_nothing());
    }

    /// As [`Receive::receive`], without a pool.
    #[inline]
    pub(crate) fn receive_frame(&mut self, take: impl FnOnce(Received<'_>)) -> bool {
        match &mut self.ring {
            Some(ring) if self.skipped.is_empty() => ring.receive(self.staging.bytes_mut(), take),
            Some(_) => self.receive_later(take),
            None => false,
        }
    }

    /// Receives the first frame that is not left out.
    #[cold]
    fn receive_later(&mut self, take: impl FnOnce(Received<'_>)) -> bool {
        let Some(ring) = &mut self.ring else { return false };
        while ring.next_arrival().is_some_and(|at| self.skipped.contains(&at)) {
            ring.receive(self.staging.bytes_mut(), |_| ());
            self.kernel.carried_past += 1;
        }
        if ring.next_arrival().is_some_and(|at| at > *self.skipped.end()) {
            self.skipped = NOTHING;
        }
        ring.receive(self.staging.bytes_mut(), take)
    }

    /// When the next frame arrived, if there is one, in nanoseconds of CLOCK_REALTIME.
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        self.ring.as_ref().and_then(Ring::next_arrival)
    }

    fn collect_statistics(&mut self) {
        if let Some(ring) = &self.ring {
            let (received, dropped) = ring.socket.take_statistics();
            self.kernel.received += received;
            self.kernel.dropped += dropped;
        }
    }
}

impl Receive for ReceiveRing {
    #[inline]
    fn receive(&mut self, pool: &mut FramePool, take: impl FnOnce(&mut FramePool, Received<'_>)) -> bool {
        let is_carried = self.pulse.as_ref().is_some_and(Pulse::is_carried);
        !is_carried && self.receive_frame(|received| take(pool, received))
    }

    fn maintain(&mut self) -> bool {
        self.collect_statistics();
        if let Some(ring) = &self.ring {
            ring.socket.clear_error();
        }
        let Ok(facts) = self.control.state(&self.name) else { return false };
        if self.ring.as_ref().is_none_or(|ring| ring.index != facts.index) {
            self.ring = None;
            // If it is gone again by now, the next call opens it.
            let opened = Ring::open(facts.index, facts.mtu, self.slots, self.tagging, (self.is_awake, self.group.as_ref()));
            self.ring = opened.ok();
            if self.group.is_some() && self.let_in().is_err() {
                self.ring = None;
            }
        }
        facts.up && facts.carrier && self.ring.is_some()
    }

    fn skip(&mut self, span: RangeInclusive<u64>) {
        self.skipped = span;
    }

    fn kernel_counters(&self) -> KernelCounters {
        self.kernel
    }

    fn hand_over(&mut self) -> Option<(Option<OwnedFd>, RingForm)> {
        self.collect_statistics();
        let absent = RingForm { index: 0, slot_length: 0, slots_per_block: 0, slots: 0, next: 0 };
        match &self.ring {
            // Descriptors may have run out: the successor opens a ring, and this process loses nothing by waiting.
            Some(ring) => Some((Some(ring.socket.share().ok()?), ring.form())),
            None => Some((None, absent)),
        }
    }

    fn take_over(&mut self, ring: Option<OwnedFd>, form: RingForm, kernel: KernelCounters) -> io::Result<()> {
        self.kernel = kernel;
        // Without one, `maintain` opens it when the interface is there.
        self.ring = ring.map(|descriptor| Ring::inherited(descriptor, form, self.tagging)).transpose()?;
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // Frames that a guardian carries stay in the ring. They must not end every wait at once: a worker in real time would leave the others no processor.
        let is_carried = self.pulse.as_ref().is_some_and(Pulse::is_carried);
        self.ring.as_ref().filter(|_| !is_carried).map(|ring| ring.socket.as_fd())
    }
}

impl Ring {
    /// Of a group it gets no frames yet.
    fn open(
        index: i32,
        mtu: u32,
        slots: usize,
        tagging: Tagging,
        (is_awake, group): (bool, Option<&FanoutGroup>),
    ) -> Result<Ring, (&'static str, io::Error)> {
        let doing = |doing: &'static str| move |cause: io::Error| (doing, cause);
        let socket = Socket::open().map_err(doing("opening a packet socket"))?;
        socket.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, SUPER_FRAMES).map_err(doing("setting the size of a receive buffer"))?;
        // Frames that the bridge sends out of this interface must not be received again.
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1).map_err(doing("excluding outgoing frames"))?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1).map_err(doing("asking for VLAN tags"))?;
        socket.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1).map_err(doing("asking for super-frames"))?;
        socket
            .set(libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))
            .map_err(doing("choosing the ring's version"))?;

        // Before the frame: the ring's header, the socket address, the virtio-net header and the alignment of the network layer. A frame may
        // have two VLAN tags.
        let slot_length = (libc::TPACKET2_HDRLEN + 64 + 14 + 2 * TAG_LENGTH + mtu as usize).next_multiple_of(libc::TPACKET_ALIGNMENT);
        let slots_per_block = (BLOCK / slot_length).max(1);
        let block = (slots_per_block * slot_length).next_power_of_two().max(BLOCK);
        let blocks = slots.div_ceil(slots_per_block).clamp(1, (RING_LIMIT / block).max(1));
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_length as u32,
            tp_frame_nr: (blocks * slots_per_block) as u32,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request).map_err(doing("allocating a receive ring"))?;
        let pages = SharedPages::of(socket.as_fd(), block * blocks, 0).map_err(doing("mapping a receive ring"))?;
        if group.is_some() {
            // Between the two calls it would get the frames of all.
            socket.take_nothing().map_err(doing("filtering all frames"))?;
        } else if let Some(vlan) = tagging.filter() {
            socket.take_vlan(vlan).map_err(doing("filtering by VLAN"))?;
        }
        socket.bind(index, is_awake).map_err(doing("binding a packet socket"))?;
        if let Some(group) = group {
            socket.join(group).map_err(doing("sharing an interface among workers"))?;
        }
        socket.make_promiscuous(index).map_err(doing("switching the interface to promiscuous mode"))?;
        Ok(Ring { pages, socket, index, slot_length, slots_per_block, slots: blocks * slots_per_block, next: 0, tagging })
    }

    fn form(&self) -> RingForm {
        let Ring { index, slot_length, slots_per_block, slots, next, .. } = *self;
        let [slot_length, slots_per_block, slots, next] = [slot_length, slots_per_block, slots, next].map(|number| number as u32);
        RingForm { index, slot_length, slots_per_block, slots, next }
    }

    /// The ring of a socket that another process has opened. The kernel maps it only as a whole, so a wrong length is an error.
    fn inherited(descriptor: OwnedFd, form: RingForm, tagging: Tagging) -> io::Result<Ring> {
        let RingForm { index, slot_length, slots_per_block, slots, next } = form;
        let [slot_length, slots_per_block, slots, next] = [slot_length, slots_per_block, slots, next].map(|number| number as usize);
        let fits = slots_per_block > 0 && slot_length >= libc::TPACKET2_HDRLEN && slot_length.is_multiple_of(libc::TPACKET_ALIGNMENT);
        if !fits || !slots.is_multiple_of(slots_per_block) || next >= slots {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let block = slots_per_block.checked_mul(slot_length).filter(|&block| block <= RING_LIMIT);
        let block = block.ok_or(io::ErrorKind::InvalidData)?.next_power_of_two().max(BLOCK);
        let length = (slots / slots_per_block).checked_mul(block).ok_or(io::ErrorKind::InvalidData)?;
        let pages = SharedPages::of(descriptor.as_fd(), length, 0)?;
        Ok(Ring { pages, socket: Socket::inherited(descriptor), index, slot_length, slots_per_block, slots, next, tagging })
    }

    /// The slot that the kernel fills next.
    #[inline]
    fn next_slot(&self) -> NonNull<u8> {
        let block = self.block_length();
        self.pages.at(self.next / self.slots_per_block * block + self.next % self.slots_per_block * self.slot_length)
    }

    /// When the next frame arrived, if there is one, in nanoseconds of CLOCK_REALTIME.
    fn next_arrival(&self) -> Option<u64> {
        let header = self.next_slot().cast::<libc::tpacket2_hdr>().as_ptr();
        // SAFETY: as in `receive`; the kernel has written the times before the status.
        unsafe {
            let status = AtomicU32::from_ptr(&raw mut (*header).tp_status).load(Ordering::Acquire);
            let arrived =
                || u64::from((&raw const (*header).tp_sec).read()) * 1_000_000_000 + u64::from((&raw const (*header).tp_nsec).read());
            (status & libc::TP_STATUS_USER != 0).then(arrived)
        }
    }

    #[inline]
    fn receive(&mut self, staging: &mut [u8], take: impl FnOnce(Received<'_>)) -> bool {
        let slot = self.next_slot();
        let header = slot.cast::<libc::tpacket2_hdr>();
        // SAFETY: slots are aligned to 16 bytes and start with this header; the status word is shared with the kernel and only ever
        // accessed as a whole.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*header.as_ptr()).tp_status) };
        // The kernel's writes before it set the status are visible after this.
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return false;
        }
        if flags & libc::TP_STATUS_COPY != 0 {
            // Several processors may queue long frames in another order than their marks. So the mark only says that there is a frame, and
            // everything else comes from the queue.
            self.receive_long(staging, take);
        } else {
            // SAFETY: the slot belongs to this process until its status is reset. It has `tp_snaplen` bytes of frame at `tp_mac`, preceded by
            // the virtio-net header. The bounds are checked nevertheless, because they come from outside.
            let (bytes, kept, length, tag, arrived) = unsafe {
                let header = header.as_ptr().read();
                let (frame, kept) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
                assert!(
                    frame >= libc::TPACKET2_HDRLEN - 20 + VIRTIO_HEADER && frame + kept <= self.slot_length,
                    "a frame outside its slot"
                );
                let start = frame - VIRTIO_HEADER;
                let bytes = std::slice::from_raw_parts_mut(slot.as_ptr().add(start), VIRTIO_HEADER + kept);
                let arrived = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
                (bytes, kept, header.tp_len, self.tagging.leaving(tag_of(flags, header.tp_vlan_tci, header.tp_vlan_tpid)), arrived)
            };
            let (virtio, offload) = offload_of(bytes);
            take(Received { arrived, ..with_tag(bytes, kept, length, (virtio, offload), tag) });
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
        true
    }

    fn block_length(&self) -> usize {
        (self.slots_per_block * self.slot_length).next_power_of_two().max(BLOCK)
    }

    /// Receives a frame longer than a slot from the socket's queue.
    #[cold]
    fn receive_long(&self, staging: &mut [u8], take: impl FnOnce(Received<'_>)) {
        #[repr(align(8))]
        struct Control([u8; 64]);
        let mut control = Control([0; 64]);
        let mut piece = libc::iovec { iov_base: staging.as_mut_ptr().cast(), iov_len: staging.len() };
        // SAFETY: zero is a valid value of every member.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: the message describes one buffer and one control buffer, both of which live for the call.
        let received = unsafe { libc::recvmsg(self.socket.as_fd().as_raw_fd(), &mut message, libc::MSG_DONTWAIT | libc::MSG_TRUNC) };
        let Some(length) = usize::try_from(received).ok().and_then(|received| received.checked_sub(VIRTIO_HEADER)) else { return };
        let kept = length.min(staging.len() - VIRTIO_HEADER);
        let mut tag = None;
        // SAFETY: the macros walk the control messages that the kernel has written, inside the buffer whose length it has set. The auxiliary
        // data is plain numbers and may be unaligned.
        unsafe {
            let mut entry = libc::CMSG_FIRSTHDR(&message);
            while !entry.is_null() {
                if (*entry).cmsg_level == libc::SOL_PACKET && (*entry).cmsg_type == libc::PACKET_AUXDATA {
                    let auxiliary: libc::tpacket_auxdata = libc::CMSG_DATA(entry).cast::<libc::tpacket_auxdata>().read_unaligned();
                    tag = tag_of(auxiliary.tp_status, auxiliary.tp_vlan_tci, auxiliary.tp_vlan_tpid);
                }
                entry = libc::CMSG_NXTHDR(&message, entry);
            }
        }
        let offload = offload_of(staging);
        take(with_tag(&mut staging[..VIRTIO_HEADER + kept], kept, length as u32, offload, self.tagging.leaving(tag)));
    }
}

/// The offloads in the virtio-net header at the start of `bytes`.
#[inline]
fn offload_of(bytes: &[u8]) -> ([u8; VIRTIO_HEADER], Offload) {
    let virtio = bytes.first_chunk().copied().unwrap_or_default();
    (virtio, Offload::from_virtio(virtio))
}

/// The bytes of the tag that the kernel stripped.
fn tag_of(status: u32, control: u16, protocol: u16) -> Option<[u8; TAG_LENGTH]> {
    const DOT1Q: u16 = 0x8100;
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { protocol } else { DOT1Q };
    let (protocol, control) = (protocol.to_be_bytes(), control.to_be_bytes());
    Some([protocol[0], protocol[1], control[0], control[1]])
}

/// The frame in the last `kept` bytes of `bytes`, with its tag after the addresses. The addresses move into the room of the virtio-net header.
fn with_tag(
    bytes: &mut [u8],
    kept: usize,
    length: u32,
    (mut virtio, mut offload): ([u8; VIRTIO_HEADER], Offload),
    tag: Option<[u8; TAG_LENGTH]>,
) -> Received<'_> {
    const ADDRESSES: usize = 12;
    let frame = bytes.len() - kept;
    match tag {
        Some(tag) if kept >= ADDRESSES => {
            bytes.copy_within(frame..frame + ADDRESSES, frame - TAG_LENGTH);
            bytes[frame - TAG_LENGTH + ADDRESSES..frame + ADDRESSES].copy_from_slice(&tag);
            Offload::begin_later(&mut virtio, TAG_LENGTH as u16);
            offload = Offload::from_virtio(virtio);
            let place = Place::Outside(&bytes[frame - TAG_LENGTH..]);
            Received { place, length: length + TAG_LENGTH as u32, offload, virtio, arrived: 0 }
        }
        _ => Received { place: Place::Outside(&bytes[frame..]), length, offload, virtio, arrived: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::Heartbeat;
    use crate::offload::PartialChecksum;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use tidegate_core::units::{Duration, Time};

    #[test]
    fn a_stripped_tag_goes_back_between_addresses_and_type() {
        let mut bytes = [0; VIRTIO_HEADER + 20];
        bytes[VIRTIO_HEADER..].copy_from_slice(b"destinsourceTYpayloa");
        let virtio = Offload::virtio_of(Some(PartialChecksum { start: 14, offset: 2 }));
        let offload = (virtio, Offload::from_virtio(virtio));
        let tag = tag_of(libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID, 0x6123, 0x88a8);
        let received = with_tag(&mut bytes, 20, 50, offload, tag);
        assert_eq!(received.place, Place::Outside(b"destinsource\x88\xa8\x61\x23TYpayloa"));
        assert_eq!(received.length, 54);
        assert_eq!(received.offload.checksum, Some(PartialChecksum { start: 18, offset: 2 }));
    }

    /// A file in place of a packet socket: it can be mapped, and is always readable, like a socket with frames. Frames that a guardian carries must not end
    /// the waits of a worker, or the others get no processor and the frames never come back.
    #[test]
    fn a_worker_does_not_watch_frames_that_a_guardian_carries() {
        let at = |milliseconds| Time::ZERO + Duration::from_milliseconds(milliseconds);
        let file = memfd_create("ring", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, BLOCK as u64).unwrap();
        let form = RingForm { index: 1, slot_length: 2048, slots_per_block: BLOCK as u32 / 2048, slots: BLOCK as u32 / 2048, next: 0 };
        let mut ring = ReceiveRing::closed("none", 1, Tagging::default()).unwrap();
        ring.take_over(Some(file), form, KernelCounters::default()).unwrap();
        let heartbeat = Heartbeat::new().unwrap();
        let guardian = heartbeat.pulse(0);
        let [own, other] = <[Pulse; 2]>::try_from(heartbeat.pulse(0).of_workers(2)).unwrap();
        ring.guarded(Some(own.clone()));
        assert!(ring.descriptor().is_some());
        guardian.taken_over();
        // The other hangs, so this one cannot ask for the frames and waits.
        assert_eq!((own.beat(at(100)), ring.descriptor().is_some()), (None, false));
        let thread = std::thread::spawn(move || other.beat(at(101)));
        while guardian.is_left() {
            std::thread::yield_now();
        }
        assert!(ring.descriptor().is_none());
        guardian.given_back(&(90..=99));
        assert_eq!(thread.join().unwrap(), Some(90..=99));
        assert!(ring.descriptor().is_none(), "it has not heard yet what to leave out");
        assert_eq!((own.beat(at(102)), ring.descriptor().is_some()), (Some(90..=99), true));
    }

    #[test]
    fn a_frame_without_a_tag_stays_as_it_is() {
        assert_eq!(tag_of(libc::TP_STATUS_USER, 0, 0), None);
        // Kernels before 3.14 do not say which protocol the tag had.
        assert_eq!(tag_of(libc::TP_STATUS_VLAN_VALID, 5, 0), Some([0x81, 0, 0, 5]));
        let mut bytes = [7; VIRTIO_HEADER + 14];
        let received = with_tag(&mut bytes, 14, 14, Default::default(), None);
        assert_eq!((received.place, received.length), (Place::Outside(&[7; 14]), 14));
    }
}
