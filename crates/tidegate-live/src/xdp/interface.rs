//! An interface whose frames come and leave through AF_XDP sockets, one for each receive queue.
//!
//! The workers of two directions share it: some receive, the others send. Each side of a socket's rings has one owner. When the interface is deleted and
//! made again under its name, the thread that notices opens new sockets, and all threads take their ends of them.

use super::program::Redirect;
use super::socket::{Abilities, Lengths, Memory, ReceiveRings, SendRings, XdpSocket};
use crate::interface::InterfaceState;
use crate::locks::lock;
use crate::packet::Promiscuous;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long binding is tried again at the start: the kernel frees the queue of a process that has ended a moment later.
const BIND_RETRY_LIMIT: Duration = Duration::from_secs(1);

/// One end of a socket.
#[derive(Debug)]
pub(super) struct End<R> {
    pub(super) socket: Arc<XdpSocket>,
    pub(super) rings: R,
}

/// The ends of the sockets of an interface that wait for their threads.
#[derive(Debug)]
struct Bound {
    index: i32,
    // Detached before the sockets are closed.
    _redirect: Redirect,
    _promiscuous: Promiscuous,
    /// By queue.
    receive: Vec<Option<End<ReceiveRings>>>,
    send: Vec<Option<End<SendRings>>>,
}

/// Which of several workers of a direction it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    pub(super) worker: usize,
    pub(super) workers: usize,
}

impl Share {
    /// The queues by which it receives, of an interface that has this many: they are dealt out in turn.
    pub(super) fn queues(self, of: u32) -> impl Iterator<Item = usize> {
        (self.worker..of as usize).step_by(self.workers)
    }

    /// The queue by which it sends.
    pub(super) fn sends_by(self) -> usize {
        self.worker
    }
}

/// An interface by its name.
#[derive(Debug)]
pub(crate) struct XdpInterface {
    memory: Memory,
    lengths: Lengths,
    queues: u32,
    abilities: Abilities,
    bound: Mutex<Option<Bound>>,
    /// How often sockets were opened or closed. It changes while `bound` is locked.
    generation: AtomicU32,
}

impl XdpInterface {
    /// Opens sockets for all receive queues of the interface of this index, and hands its frames to them.
    ///
    /// # Errors
    /// What was refused.
    pub(super) fn open(memory: Memory, lengths: Lengths, index: i32, queues: u32) -> Result<XdpInterface, (&'static str, io::Error)> {
        let start = Instant::now();
        let (bound, abilities) = loop {
            match Bound::open(memory, lengths, index, queues) {
                Err((_, cause)) if cause.raw_os_error() == Some(libc::EBUSY) && start.elapsed() < BIND_RETRY_LIMIT => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                result => break result?,
            }
        };
        Ok(XdpInterface { memory, lengths, queues, abilities, bound: Mutex::new(Some(bound)), generation: AtomicU32::new(1) })
    }

    pub(super) fn memory(&self) -> Memory {
        self.memory
    }

    pub(super) fn abilities(&self) -> Abilities {
        self.abilities
    }

    pub(super) fn queues(&self) -> u32 {
        self.queues
    }

    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Opens the sockets again if they belong to an interface that is gone, or are `spent`: frames in their rings must not leave any more. The next
    /// call tries again what fails.
    pub(super) fn follow(&self, facts: &InterfaceState, spent: bool) {
        let mut bound = lock(&self.bound);
        if bound.as_ref().is_some_and(|bound| bound.index == facts.index && !spent) {
            return;
        }
        if bound.take().is_some() {
            // All threads close what they have of the old sockets.
            self.generation.fetch_add(1, Ordering::Release);
        }
        if let Ok((new, _)) = Bound::open(self.memory, self.lengths, facts.index, self.queues) {
            *bound = Some(new);
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// The receiving ends of a worker's sockets, once for each time that they are opened, and their generation.
    pub(super) fn take_receivers(&self, share: Share) -> (u32, Vec<End<ReceiveRings>>) {
        let mut bound = lock(&self.bound);
        let of = |bound: &mut Bound| share.queues(self.queues).filter_map(|queue| bound.receive[queue].take()).collect();
        (self.generation(), bound.as_mut().map(of).unwrap_or_default())
    }

    /// The sending end of a worker's socket, once for each time that it is opened, and its generation.
    pub(super) fn take_sender(&self, share: Share) -> (u32, Option<End<SendRings>>) {
        let mut bound = lock(&self.bound);
        (self.generation(), bound.as_mut().and_then(|bound| bound.send.get_mut(share.sends_by())?.take()))
    }
}

impl Bound {
    fn open(memory: Memory, lengths: Lengths, index: i32, queues: u32) -> Result<(Bound, Abilities), (&'static str, io::Error)> {
        let redirect = Redirect::attach(index, queues)?;
        let promiscuous = Promiscuous::hold(index).map_err(|cause| ("switching the interface to promiscuous mode", cause))?;
        let (mut receive, mut send) = (Vec::new(), Vec::new());
        let mut all = Abilities { zero_copy: true, checksums: true };
        for queue in 0..queues {
            let (socket, receive_rings, send_rings, abilities) = XdpSocket::open(memory, (index, queue), lengths)?;
            let socket = Arc::new(socket);
            redirect.give(queue, std::os::fd::AsFd::as_fd(&*socket)).map_err(|cause| ("handing a queue to an AF_XDP socket", cause))?;
            all = Abilities { zero_copy: all.zero_copy && abilities.zero_copy, checksums: all.checksums && abilities.checksums };
            send.push(Some(End { socket: socket.clone(), rings: send_rings }));
            receive.push(Some(End { socket, rings: receive_rings }));
        }
        Ok((Bound { index, _redirect: redirect, _promiscuous: promiscuous, receive, send }, all))
    }
}
