//! Receives the frames of one interface into slots of the frame pool.
#![allow(unsafe_code)]

use super::interface::{End, Share, XdpInterface};
use super::socket::ReceiveRings;
use crate::error::LiveError;
use crate::interface::ControlSocket;
use crate::io::{KernelCounters, Place, Receive, Received};
use crate::offload::{Offload, PartialChecksum, Segmentation};
use crate::pool::FramePool;
use rustix::net::sockopt;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use tidegate_wire::checksum;

/// The most frames whose places in the rings are kept until others take them.
const REFILL_BATCH: u32 = 32;

/// Receives from the queues of one interface that a worker has.
#[derive(Debug)]
pub(crate) struct XdpReceiver {
    name: String,
    control: ControlSocket,
    interface: Arc<XdpInterface>,
    share: Share,
    generation: u32,
    ends: Vec<End<ReceiveRings>>,
    /// Readable when one of several queues has frames.
    several: Option<OwnedFd>,
    /// The queue from which frames come at present.
    current: usize,
    /// The frames read from it since room was made for others.
    unfilled: u32,
    received: u64,
    /// Lost frames of sockets that are closed.
    lost_before: u64,
    lost: u64,
}

impl XdpReceiver {
    pub(super) fn new(name: &str, interface: Arc<XdpInterface>, share: Share, pool: &mut FramePool) -> Result<XdpReceiver, LiveError> {
        let control = ControlSocket::new().map_err(|cause| LiveError::system("opening a socket to ask for the state of", name, cause))?;
        let mut receiver = XdpReceiver {
            name: name.to_owned(),
            control,
            interface,
            share,
            generation: 0,
            ends: Vec::new(),
            several: None,
            current: 0,
            unfilled: 0,
            received: 0,
            lost_before: 0,
            lost: 0,
        };
        receiver.renew(pool);
        Ok(receiver)
    }

    /// Takes the ends of new sockets, and the frames back that the old ones had to receive into.
    #[cold]
    fn renew(&mut self, pool: &mut FramePool) {
        self.count_lost();
        self.lost_before = self.lost;
        (self.ends, self.several, self.current, self.unfilled) = (Vec::new(), None, 0, 0);
        pool.reclaim_filled();
        (self.generation, self.ends) = self.interface.take_receivers(self.share);
        if self.ends.len() > 1 {
            self.several = watching(&self.ends).ok();
        }
        for end in &mut self.ends {
            refill(end, pool);
        }
    }

    fn count_lost(&mut self) {
        self.lost = self.lost_before + self.ends.iter().map(|end| end.socket.lost()).sum::<u64>();
    }
}

/// Gives the places of read frames back, and as many free slots to receive into as there is room for.
fn refill(end: &mut End<ReceiveRings>, pool: &mut FramePool) {
    let ReceiveRings { received, fill } = &mut end.rings;
    received.release();
    for _ in 0..fill.room() {
        let Some(address) = pool.fill() else { break };
        fill.push(address);
    }
    fill.submit();
    if fill.asks_for_wakeup() {
        end.socket.wake_receiver();
    }
}

/// A descriptor that is readable when one of these sockets is.
fn watching(ends: &[End<ReceiveRings>]) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is owned once it is known to be one; the event lives for each call.
    unsafe {
        let watch = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if watch < 0 {
            return Err(io::Error::last_os_error());
        }
        let watch = OwnedFd::from_raw_fd(watch);
        for end in ends {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            let socket = end.socket.as_fd().as_raw_fd();
            if libc::epoll_ctl(watch.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &mut event) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(watch)
    }
}

impl Receive for XdpReceiver {
    #[inline]
    fn receive(&mut self, pool: &mut FramePool, take: impl FnOnce(&mut FramePool, Received<'_>)) -> bool {
        if self.generation != self.interface.generation() {
            self.renew(pool);
        }
        for _ in 0..self.ends.len() {
            let end = &mut self.ends[self.current];
            if let Some(frame) = end.rings.received.next() {
                self.received += 1;
                self.unfilled += 1;
                let (slot, length) = (pool.received(frame.addr, frame.len), frame.len);
                let checksum = checksum::partial(pool.packet(slot, length))
                    .map(|(start, offset)| PartialChecksum { start: start as u16, offset: offset as u16 });
                let offload = Offload { checksum, segmentation: Segmentation::None };
                take(pool, Received { place: Place::Slot(slot), length, offload, virtio: Default::default(), arrived: 0 });
                if self.unfilled >= REFILL_BATCH {
                    self.unfilled = 0;
                    refill(end, pool);
                }
                return true;
            }
            if self.unfilled > 0 {
                self.unfilled = 0;
                refill(end, pool);
            }
            self.current = if self.current + 1 == self.ends.len() { 0 } else { self.current + 1 };
        }
        false
    }

    fn maintain(&mut self) -> bool {
        self.count_lost();
        for end in &self.ends {
            // A pending error would end every wait at once.
            let _ = sockopt::socket_error(&*end.socket);
        }
        let Ok(facts) = self.control.state(&self.name) else { return false };
        self.interface.follow(&facts, false);
        facts.up && facts.carrier
    }

    /// A guardian gets no frames while these sockets exist, so none has been carried.
    fn skip(&mut self, _span: RangeInclusive<u64>) {}

    fn kernel_counters(&self) -> KernelCounters {
        KernelCounters { received: self.received, dropped: self.lost, carried_past: 0 }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.several.as_ref().map(|watch| watch.as_fd()).or_else(|| self.ends.first().map(|end| end.socket.as_fd()))
    }
}
