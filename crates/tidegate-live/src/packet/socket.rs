//! Opening and binding packet sockets.
#![allow(unsafe_code)]

use crate::locks::lock;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

/// A step of a filter: the word at a place becomes the value.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
/// The bits of the value that are not in the number become 0.
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
/// Steps are left out by whether the value is the number.
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
/// The number of bytes of the frame that are kept.
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Of a frame that is let in all bytes are kept.
const WHOLE: u32 = u32::MAX;

/// A step of a filter.
fn step(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

/// Leaves out this many steps unless the value is `k`.
fn unless_equal(k: u32, left_out: u8) -> libc::sock_filter {
    libc::sock_filter { code: IF_EQUAL, jt: 0, jf: left_out, k }
}

/// The filter for frames of this VLAN, or with none those without a tag.
fn of_vlan(vlan: Option<u16>) -> Vec<libc::sock_filter> {
    /// What Linux keeps of a tag beside the frame: `SKF_AD_VLAN_TAG` and `SKF_AD_VLAN_TAG_PRESENT` from `SKF_AD_OFF`.
    const TAG: u32 = 0xffff_f000 + 44;
    const IS_TAGGED: u32 = 0xffff_f000 + 48;
    match vlan {
        Some(vlan) => vec![
            step(LOAD, IS_TAGGED),
            unless_equal(1, 4),
            step(LOAD, TAG),
            step(AND, 0xfff),
            unless_equal(vlan.into(), 1),
            step(RETURN, WHOLE),
            step(RETURN, 0),
        ],
        None => vec![step(LOAD, IS_TAGGED), unless_equal(0, 1), step(RETURN, WHOLE), step(RETURN, 0)],
    }
}

#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

/// The number of a group of sockets that share the frames of an interface, once the kernel has chosen it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FanoutGroup(Arc<Mutex<Option<u16>>>);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    /// A socket that another process has opened and bound.
    pub(super) fn inherited(descriptor: OwnedFd) -> Socket {
        Socket(descriptor)
    }

    /// The same socket for another process.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// A raw packet socket, not bound yet, whose messages start with a virtio-net header.
    pub(super) fn open() -> io::Result<Socket> {
        // Without a protocol, frames of other interfaces stay out until the socket is bound.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = Socket(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?);
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        Ok(socket)
    }

    /// Binds to the interface of this index. Receives frames of all protocols if `receiving`, none otherwise.
    pub(super) fn bind(&self, index: i32, receiving: bool) -> io::Result<()> {
        // SAFETY: zero is a valid value of every member.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = if receiving { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
        address.sll_ifindex = index;
        // SAFETY: the address lives for the call and is as long as said.
        let refused =
            unsafe { libc::bind(self.0.as_raw_fd(), std::ptr::from_ref(&address).cast(), size_of_val(&address) as libc::socklen_t) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Lets in frames of this VLAN alone, or with none those without a tag. To be called before the socket is bound.
    pub(super) fn take_vlan(&self, vlan: Option<u16>) -> io::Result<()> {
        self.filter(&mut of_vlan(vlan))
    }

    /// Lets in no frame.
    pub(super) fn take_nothing(&self) -> io::Result<()> {
        self.filter(&mut [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 }])
    }

    /// The same of a group, which leaves outgoing frames out: kernels that do not know the flag for that pass them to a group.
    pub(super) fn open_to_incoming(&self, vlan: Option<Option<u16>>) -> io::Result<()> {
        /// `SKF_AD_PKTTYPE` from `SKF_AD_OFF`.
        const TYPE: u32 = 0xffff_f000 + 4;
        let mut program = vec![step(LOAD, TYPE), unless_equal(libc::PACKET_OUTGOING.into(), 1), step(RETURN, 0)];
        program.extend(vlan.map_or_else(|| vec![step(RETURN, WHOLE)], of_vlan));
        self.filter(&mut program)
    }

    /// Lets in frames of this VLAN, of none, or with `None` all, after [`Socket::take_nothing`].
    pub(super) fn open_to(&self, vlan: Option<Option<u16>>) -> io::Result<()> {
        match vlan {
            Some(vlan) => self.take_vlan(vlan),
            None => match self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0) {
                // There was none.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                other => other,
            },
        }
    }

    fn filter(&self, program: &mut [libc::sock_filter]) -> io::Result<()> {
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Makes the interface of this index receive frames for other addresses, as long as the socket exists.
    pub(super) fn make_promiscuous(&self, index: i32) -> io::Result<()> {
        let request = libc::packet_mreq { mr_ifindex: index, mr_type: libc::PACKET_MR_PROMISC as u16, mr_alen: 0, mr_address: [0; 8] };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Shares the frames of the interface with the other sockets of a group, each of which gets the flows of some hashes. The socket is bound.
    pub(super) fn join(&self, group: &FanoutGroup) -> io::Result<()> {
        let mut number = lock(&group.0);
        let unique = if number.is_none() { libc::PACKET_FANOUT_FLAG_UNIQUEID } else { 0 };
        // A group does not keep what its sockets said about outgoing frames.
        let mode = (libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING | unique) << 16;
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &(mode | libc::c_uint::from(number.unwrap_or(0))))?;
        if number.is_none() {
            let mut joined: libc::c_uint = 0;
            self.get(libc::SOL_PACKET, libc::PACKET_FANOUT, &mut joined)?;
            *number = Some(joined as u16);
        }
        Ok(())
    }

    /// Sets an option whose value is a plain C structure or number.
    pub(super) fn set<T: Copy>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the value lives for the call and is as long as said; the kernel only reads it.
        let refused = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t)
        };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Sets the size of a buffer in bytes. Without the privilege the system's limit applies.
    pub(super) fn set_buffer(&self, privileged: libc::c_int, ordinary: libc::c_int, bytes: i32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, privileged, &bytes).or_else(|_| self.set(libc::SOL_SOCKET, ordinary, &bytes))
    }

    /// Frames received and dropped since the last call; dropped frames are not among the received ones.
    pub(super) fn take_statistics(&self) -> (u64, u64) {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        match self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics) {
            // `tp_packets` includes the drops.
            Ok(()) => (u64::from(statistics.tp_packets.saturating_sub(statistics.tp_drops)), u64::from(statistics.tp_drops)),
            Err(_) => (0, 0),
        }
    }

    /// Clears a pending error, which would end every wait at once.
    pub(super) fn clear_error(&self) {
        let _ = sockopt::socket_error(self);
    }

    fn get<T: Copy>(&self, level: libc::c_int, option: libc::c_int, value: &mut T) -> io::Result<()> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of a value made of plain numbers, valid whatever is written.
        let refused = unsafe { libc::getsockopt(self.0.as_raw_fd(), level, option, std::ptr::from_mut(value).cast(), &mut length) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
