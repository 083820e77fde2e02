//! Sends frames out of one interface from their places in the frame pool.

use super::interface::{End, Share, XdpInterface};
use super::socket::SendRings;
use crate::error::LiveError;
use crate::interface::ControlSocket;
use crate::io::{SendError, Transmit};
use crate::offload::{NEEDS_CHECKSUM, VIRTIO_HEADER};
use crate::pool::FramePool;
use std::sync::Arc;

/// The most frames that are given to the kernel before it is told.
const BATCH: usize = 64;

/// The bytes of a frame beyond its MTU: an Ethernet header.
const ETHERNET_HEADER: usize = 14;
/// The bytes of a VLAN tag, of which one does not count either.
const TAG: usize = 4;

/// Sends out of one interface, by name.
#[derive(Debug)]
pub(crate) struct XdpTransmitter {
    name: String,
    control: ControlSocket,
    interface: Arc<XdpInterface>,
    share: Share,
    generation: u32,
    end: Option<End<SendRings>>,
    mtu: usize,
    is_up: bool,
    /// The kernel had no room for all frames in its ring.
    is_behind: bool,
}

impl XdpTransmitter {
    pub(super) fn new(name: &str, interface: Arc<XdpInterface>, share: Share, pool: &mut FramePool) -> Result<XdpTransmitter, LiveError> {
        let system = |cause| LiveError::system("opening a socket to ask for the state of", name, cause);
        let control = ControlSocket::new().map_err(system)?;
        let facts = control.state(name).map_err(system)?;
        let (mtu, is_up) = (facts.mtu as usize, facts.up);
        let (generation, end, is_behind) = (0, None, false);
        let mut transmitter = XdpTransmitter { name: name.to_owned(), control, interface, share, generation, end, mtu, is_up, is_behind };
        transmitter.renew(pool);
        Ok(transmitter)
    }

    /// Takes the end of a new socket, and the frames back that the old one had.
    #[cold]
    fn renew(&mut self, pool: &mut FramePool) {
        self.end = None;
        self.is_behind = false;
        pool.reclaim_sent();
        (self.generation, self.end) = self.interface.take_sender(self.share);
    }

    /// Lets the kernel send what is in the ring. It stops after some frames, and is asked again as long as it takes any.
    fn wake(&mut self) {
        let Some(End { socket, rings: SendRings { send, .. } }) = &mut self.end else { return };
        if !send.asks_for_wakeup() {
            self.is_behind = false;
            return;
        }
        let mut before = send.room();
        loop {
            let answer = socket.wake_sender();
            if send.is_taken() {
                self.is_behind = false;
                return;
            }
            let room = send.room();
            match answer.map_err(|cause| cause.raw_os_error()) {
                Err(Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV)) => {
                    (self.is_up, self.is_behind) = (false, false);
                    return;
                }
                _ if room == before => {
                    self.is_behind = true;
                    return;
                }
                _ => before = room,
            }
        }
    }

    /// True for a frame that the interface drops because of its length.
    fn is_too_long(&self, frame: &[u8]) -> bool {
        let tag = if matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8])) { TAG } else { 0 };
        frame.len() > self.mtu + ETHERNET_HEADER + tag
    }
}

impl Transmit for XdpTransmitter {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        if !self.is_up || self.end.is_none() {
            return Err(SendError::Down);
        }
        let memory = self.interface.memory();
        let room = self.end.as_mut().map_or(0, |end| end.rings.send.room() as usize);
        let mut count = 0;
        for message in messages.take(room.min(BATCH)) {
            let frame = &message[VIRTIO_HEADER..];
            if self.is_too_long(frame) {
                if count == 0 {
                    return Err(SendError::TooLong);
                }
                break;
            }
            let addr = (frame.as_ptr().addr()).wrapping_sub(memory.start.as_ptr().addr());
            assert!(addr < memory.length, "a frame outside the memory of its socket");
            let options = if message[0] & NEEDS_CHECKSUM != 0 { libc::XDP_TX_METADATA } else { 0 };
            if let Some(end) = &mut self.end {
                end.rings.send.push(libc::xdp_desc { addr: addr as u64, len: frame.len() as u32, options });
            }
            count += 1;
        }
        if let Some(end) = &mut self.end {
            end.rings.send.submit();
        }
        self.wake();
        if count == 0 { Err(SendError::Busy) } else { Ok(count) }
    }

    #[inline]
    fn settle(&mut self, pool: &mut FramePool) -> bool {
        if self.generation != self.interface.generation() {
            self.renew(pool);
        }
        if let Some(End { rings: SendRings { sent, .. }, .. }) = &mut self.end {
            let mut any = false;
            while let Some(address) = sent.next() {
                pool.sent(address);
                any = true;
            }
            if any {
                sent.release();
            }
        }
        if self.is_behind {
            self.wake();
        }
        !self.is_behind
    }

    fn maintain(&mut self) -> bool {
        let facts = self.control.state(&self.name).ok();
        // Without a carrier, which is known late, the kernel drops frames by itself.
        let was_up = std::mem::replace(&mut self.is_up, facts.as_ref().is_some_and(|facts| facts.up));
        if let Some(facts) = &facts {
            self.mtu = facts.mtu as usize;
            // Frames that wait since before the outage are too old.
            let spent = !was_up && self.is_up && self.end.as_mut().is_some_and(|end| !end.rings.send.is_taken());
            self.interface.follow(facts, spent);
        }
        facts.is_some_and(|facts| facts.up && facts.carrier)
    }
}
