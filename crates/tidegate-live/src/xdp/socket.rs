//! An AF_XDP socket of one receive queue of an interface, over frame memory that other sockets share.
//!
//! Every socket registers the same memory by itself, so none depends on another: an interface that is made again gets new sockets while those of
//! the other interface go on.
//!
//! **Source.** `linux/if_xdp.h`; the kernel's `Documentation/networking/af_xdp.rst`.
#![allow(unsafe_code)]

use super::ring::{Consumer, Producer};
use crate::pool::SEND_METADATA;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// The most bytes of frames on the way out, as the kernel counts them.
const SEND_BUFFER: i32 = 8 << 20;

/// Memory for frames, cut into chunks of equal length: addresses in rings count from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) start: NonNull<u8>,
    pub(crate) length: usize,
    /// 2048 or 4096.
    pub(crate) chunk: u32,
}

// SAFETY: an address and numbers; rights to the memory are with those who make pieces of it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// The lengths of the four rings, powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Of the rings of received frames and of room for them.
    pub(crate) receive: u32,
    /// Of the rings of frames to send and of those that were sent.
    pub(crate) send: u32,
}

/// A bound socket.
#[derive(Debug)]
pub(crate) struct XdpSocket(OwnedFd);

/// The rings by which frames come in.
#[derive(Debug)]
pub(crate) struct ReceiveRings {
    pub(super) received: Consumer<libc::xdp_desc>,
    /// The addresses of chunks that the kernel may receive into.
    pub(super) fill: Producer<u64>,
}

/// The rings by which frames leave.
#[derive(Debug)]
pub(crate) struct SendRings {
    pub(super) send: Producer<libc::xdp_desc>,
    /// The addresses of frames that the kernel needs no more.
    pub(super) sent: Consumer<u64>,
}

/// What a socket can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Abilities {
    /// Frames are written and read by the network card itself.
    pub(crate) zero_copy: bool,
    /// The kernel completes checksums of frames that it is given.
    pub(crate) checksums: bool,
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl XdpSocket {
    /// A socket for this queue of the interface of this index.
    ///
    /// # Errors
    /// What was refused. EBUSY: another socket has the queue, or had it until a moment ago.
    pub(crate) fn open(
        memory: Memory,
        (index, queue): (i32, u32),
        lengths: Lengths,
    ) -> Result<(XdpSocket, ReceiveRings, SendRings, Abilities), (&'static str, io::Error)> {
        let doing = |doing: &'static str| move |cause: io::Error| (doing, cause);
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None);
        let socket = XdpSocket(socket.map_err(|cause| ("opening an AF_XDP socket", cause.into()))?);
        let has_metadata = socket.register(memory).map_err(doing("registering memory for frames"))?;
        let rings = [
            (libc::XDP_UMEM_FILL_RING, lengths.receive),
            (libc::XDP_RX_RING, lengths.receive),
            (libc::XDP_UMEM_COMPLETION_RING, lengths.send),
            (libc::XDP_TX_RING, lengths.send),
        ];
        for (ring, length) in rings {
            socket.set(libc::SOL_XDP, ring, &length).map_err(doing("making the rings of an AF_XDP socket"))?;
        }
        // A small buffer only means that frames wait in their ring.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
        let (receive, send) = socket.map(lengths).map_err(doing("mapping the rings of an AF_XDP socket"))?;
        socket.bind(index, queue).map_err(doing("binding an AF_XDP socket"))?;
        let mut options = libc::xdp_options { flags: 0 };
        let zero_copy = socket.get(libc::XDP_OPTIONS, &mut options).is_ok() && options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        // Not every driver that sends frames from their place completes checksums there.
        let abilities = Abilities { zero_copy, checksums: has_metadata && !zero_copy };
        Ok((socket, receive, send, abilities))
    }

    /// Registers the memory. True with room for requests before frames, which kernels before 6.8 do not know.
    fn register(&self, Memory { start, length, chunk }: Memory) -> io::Result<bool> {
        let with = |flags, tx_metadata_len| libc::xdp_umem_reg {
            addr: start.as_ptr() as u64,
            len: length as u64,
            chunk_size: chunk,
            headroom: 0,
            flags,
            tx_metadata_len,
        };
        match self.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &with(libc::XDP_UMEM_TX_METADATA_LEN, SEND_METADATA as u32)) {
            Ok(()) => Ok(true),
            Err(cause) if cause.raw_os_error() == Some(libc::EINVAL) => {
                self.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &with(0, 0)).map(|()| false)
            }
            Err(cause) => Err(cause),
        }
    }

    fn map(&self, lengths: Lengths) -> io::Result<(ReceiveRings, SendRings)> {
        // SAFETY: zero is a valid value of every member.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        self.get(libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        let socket = self.as_fd();
        let receive = ReceiveRings {
            received: Consumer::map(socket, libc::XDP_PGOFF_RX_RING, offsets.rx, lengths.receive)?,
            fill: Producer::map(socket, libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, offsets.fr, lengths.receive)?,
        };
        let send = SendRings {
            send: Producer::map(socket, libc::XDP_PGOFF_TX_RING, offsets.tx, lengths.send)?,
            sent: Consumer::map(socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t, offsets.cr, lengths.send)?,
        };
        Ok((receive, send))
    }

    fn bind(&self, index: i32, queue: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: index as u32,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the address lives for the call and is as long as said.
        let refused =
            unsafe { libc::bind(self.0.as_raw_fd(), std::ptr::from_ref(&address).cast(), size_of_val(&address) as libc::socklen_t) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets the kernel send what is in the ring, or a part of it.
    #[inline]
    pub(super) fn wake_sender(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let refused = unsafe { libc::sendto(self.0.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        if refused >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets the driver look for room to receive into.
    pub(super) fn wake_receiver(&self) {
        // Nothing to receive is no error here. SAFETY: no memory is passed.
        unsafe {
            let none = std::ptr::null_mut();
            libc::recvfrom(self.0.as_raw_fd(), none, 0, libc::MSG_DONTWAIT, std::ptr::null_mut(), std::ptr::null_mut())
        };
    }

    /// Frames that found no room, since the socket was opened.
    pub(super) fn lost(&self) -> u64 {
        // SAFETY: zero is a valid value of every member.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        match self.get(libc::XDP_STATISTICS, &mut statistics) {
            Ok(()) => statistics.rx_dropped + statistics.rx_ring_full,
            Err(_) => 0,
        }
    }

    fn set<T: Copy>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the value lives for the call and is as long as said. The memory that XDP_UMEM_REG names outlives the socket.
        let refused = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t)
        };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn get<T: Copy>(&self, option: libc::c_int, value: &mut T) -> io::Result<()> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of a value made of plain numbers, valid whatever is written.
        let refused = unsafe { libc::getsockopt(self.0.as_raw_fd(), libc::SOL_XDP, option, std::ptr::from_mut(value).cast(), &mut length) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
