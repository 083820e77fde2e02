//! Raw sockets, with which tests send and receive frames and ICMP messages.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidegate_wire::checksum;

/// A packet socket on one interface of the calling thread's namespace.
pub struct RawSocket(OwnedFd);

/// A frame as seen on an interface, its VLAN tag in place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub bytes: Vec<u8>,
    /// True if the checksum is still to be completed.
    pub unfinished: bool,
    /// When the kernel saw it, since 1970.
    pub at: Duration,
}

impl RawSocket {
    /// With `virtio`, messages to send begin with a virtio-net header.
    pub fn open(interface: &str, virtio: bool) -> RawSocket {
        let name = CString::new(interface).expect("a name without zero bytes");
        // SAFETY: plain system calls with arguments that live for the calls; the descriptor is owned once it is known to be one.
        unsafe {
            let protocol = (libc::ETH_P_ALL as u16).to_be();
            let descriptor = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            assert!(descriptor >= 0, "{}", io::Error::last_os_error());
            let socket = RawSocket(OwnedFd::from_raw_fd(descriptor));
            socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
            socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1);
            socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20);
            socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
            if virtio {
                socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1);
            }
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = protocol;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let bound = libc::bind(descriptor, std::ptr::from_ref(&address).cast(), size_of_val(&address) as libc::socklen_t);
            assert_eq!(bound, 0, "binding to {interface}: {}", io::Error::last_os_error());
            socket
        }
    }

    fn set(&self, level: i32, option: i32, value: i32) {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the value lives for the call and is as long as said.
        let refused = unsafe { libc::setsockopt(self.0.as_raw_fd(), level, option, std::ptr::from_ref(&value).cast(), length) };
        assert_eq!(refused, 0, "{}", io::Error::last_os_error());
    }

    pub fn send(&self, message: &[u8]) {
        // SAFETY: the message lives for the call.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        assert_eq!(sent, message.len() as isize, "{}", io::Error::last_os_error());
    }

    /// The first `count` frames that match, in order of arrival; fewer if the time is over.
    pub fn see(&self, count: usize, limit: Duration, matches: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let start = Instant::now();
        let mut seen = Vec::new();
        while seen.len() < count && start.elapsed() < limit {
            seen.extend(self.receive(Duration::from_millis(20)).filter(|frame| matches(frame)));
        }
        seen
    }

    /// Passes on every frame until the stop.
    #[allow(dead_code, reason = "the tests of the command capture everything")]
    pub fn each(&self, stop: &AtomicBool, mut take: impl FnMut(Seen)) {
        while !stop.load(Ordering::Relaxed) {
            self.receive(Duration::from_millis(20)).into_iter().for_each(&mut take);
        }
    }

    fn receive(&self, limit: Duration) -> Option<Seen> {
        #[repr(align(8))]
        struct Control([u8; 128]);
        let mut control = Control([0; 128]);
        let mut bytes = vec![0; 70_000];
        let mut entry = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let (mut tag, mut unfinished, mut at) = (None, false, Duration::ZERO);
        // SAFETY: one entry to poll; then a message of one buffer and one control buffer, which live for the call, and a walk over the
        // control messages that the kernel wrote.
        let length = unsafe {
            if libc::poll(&mut entry, 1, limit.as_millis() as i32) != 1 {
                return None;
            }
            let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut piece;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = control.0.len() as _;
            let length = libc::recvmsg(self.0.as_raw_fd(), &mut message, libc::MSG_DONTWAIT);
            let mut header = libc::CMSG_FIRSTHDR(&message);
            while !header.is_null() {
                if (*header).cmsg_level == libc::SOL_PACKET && (*header).cmsg_type == libc::PACKET_AUXDATA {
                    let auxiliary = libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned();
                    unfinished = auxiliary.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
                    if auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                        tag = Some((auxiliary.tp_vlan_tpid, auxiliary.tp_vlan_tci));
                    }
                }
                if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                    let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                    at = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
                }
                header = libc::CMSG_NXTHDR(&message, header);
            }
            length
        };
        bytes.truncate(usize::try_from(length).ok()?);
        if let Some((protocol, control)) = tag {
            let tag = [protocol.to_be_bytes(), control.to_be_bytes()].concat();
            bytes.splice(12..12, tag);
        }
        Some(Seen { bytes, unfinished, at })
    }
}

/// Sends echo requests from the calling thread's namespace, one every 20 ms, and returns the times of the answers.
pub fn ping(target: IpAddr, count: u16) -> Vec<Duration> {
    let (family, protocol, request, reply) = match target {
        IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP, 8, 0),
        IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6, 128, 129),
    };
    // SAFETY: opens a descriptor and owns it. The calls of a UDP socket work on a raw socket, with ICMP in place of UDP.
    let socket = unsafe {
        let descriptor = libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol);
        assert!(descriptor >= 0, "{}", io::Error::last_os_error());
        UdpSocket::from_raw_fd(descriptor)
    };
    let mut answers = Vec::new();
    for number in 1..=count {
        let mut message = vec![request, 0, 0, 0, 0x71, 0xde];
        message.extend(number.to_be_bytes());
        message.extend([0x5a; 48]);
        if target.is_ipv4() {
            // The kernel does this for IPv6.
            let checksum = !checksum::sum(&message);
            message[2..4].copy_from_slice(&checksum.to_be_bytes());
        }
        let sent = Instant::now();
        socket.send_to(&message, SocketAddr::new(target, 0)).expect("an echo request can be sent");
        let mut buffer = [0; 256];
        while sent.elapsed() < Duration::from_secs(1) {
            socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
            let Ok((length, _)) = socket.recv_from(&mut buffer) else { continue };
            // Over IPv4 a raw socket delivers the network header too.
            let answer = &buffer[if target.is_ipv4() { 20 } else { 0 }..length];
            if answer[0] == reply && answer[4..6] == [0x71, 0xde] && answer[6..8] == number.to_be_bytes() {
                answers.push(sent.elapsed());
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    answers
}

/// Cuts the socket's later datagrams into ones of `size` bytes, in the network card if it can.
pub fn segment_datagrams(socket: &UdpSocket, size: i32) {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value lives for the call and is as long as said.
    let refused =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, std::ptr::from_ref(&size).cast(), length) };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}

#[allow(dead_code, reason = "the tests of the command limit a window")]
/// Limits what a socket keeps of what it has received, in bytes, and so its window.
pub fn receive_buffer(socket: &impl AsFd, bytes: i32) {
    let length = size_of::<i32>() as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the value lives for the call and is as long as said.
    let refused = unsafe { libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_RCVBUF, std::ptr::from_ref(&bytes).cast(), length) };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}

/// Keeps the calling thread on a core of the machine.
#[allow(dead_code, reason = "the tests of the command separate cores")]
pub fn stay_on(core: usize) {
    // SAFETY: an empty set is all zeros; the set lives for the call, which is about the calling thread.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}

/// Runs the calling thread before all of ordinary priority, so that what it measures is not its own wait for a core.
#[allow(dead_code, reason = "the tests of the command measure delays")]
pub fn run_first() {
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: the parameters live for the call, which is about the calling thread.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}

/// Takes the right to open packet sockets from the calling thread.
pub fn drop_rights() {
    const VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        process: i32,
    }
    let header = Header { version: VERSION_3, process: 0 };
    // Effective, permitted and inheritable, each in two halves: none.
    let none = [0_u32; 6];
    // SAFETY: both structures live for the call and are as the version says; 0 means the calling thread alone.
    let refused = unsafe { libc::syscall(libc::SYS_capset, std::ptr::from_ref(&header), none.as_ptr()) };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}
