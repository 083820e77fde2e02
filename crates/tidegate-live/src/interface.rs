//! The state of an interface, as the kernel reports it.
#![allow(unsafe_code)]

use crate::error::LiveError;
use crate::interface_queues::Queues;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::{fs, io};

/// A socket for requests to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct ControlSocket(OwnedFd);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InterfaceState {
    pub(crate) index: i32,
    /// The longest network-layer packet, in bytes.
    pub(crate) mtu: u32,
    pub(crate) up: bool,
    /// True if the other end is up.
    pub(crate) carrier: bool,
    pub(crate) hardware_type: u16,
}

/// The hardware type of Ethernet, veth, TAP, VLAN and bridge interfaces.
pub(crate) const ETHERNET: u16 = libc::ARPHRD_ETHER;

impl ControlSocket {
    pub(crate) fn new() -> io::Result<ControlSocket> {
        Ok(ControlSocket(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?))
    }

    /// The state of the interface of this name.
    ///
    /// # Errors
    /// ENODEV if there is none.
    pub(crate) fn state(&self, name: &str) -> io::Result<InterfaceState> {
        let mut request = request_for(name)?;
        self.ask(libc::SIOCGIFINDEX, &mut request)?;
        // SAFETY: each request has just filled in the member that it is documented to fill in; all members are plain numbers.
        unsafe {
            let index = request.ifr_ifru.ifru_ifindex;
            self.ask(libc::SIOCGIFMTU, &mut request)?;
            let mtu = request.ifr_ifru.ifru_mtu.max(0) as u32;
            self.ask(libc::SIOCGIFFLAGS, &mut request)?;
            let flags = i32::from(request.ifr_ifru.ifru_flags);
            self.ask(libc::SIOCGIFHWADDR, &mut request)?;
            let hardware_type = request.ifr_ifru.ifru_hwaddr.sa_family;
            Ok(InterfaceState { index, mtu, up: flags & libc::IFF_UP != 0, carrier: flags & libc::IFF_RUNNING != 0, hardware_type })
        }
    }

    /// The state of an interface that a user named, which must carry Ethernet frames.
    pub(crate) fn ethernet_state(&self, name: &str) -> Result<InterfaceState, LiveError> {
        let state = self.state(name).map_err(|cause| match cause.raw_os_error() {
            Some(libc::ENODEV) => LiveError::UnknownInterface { name: name.to_owned(), known: names() },
            _ => LiveError::system("asking for the state of the interface", name, cause),
        })?;
        if state.hardware_type != ETHERNET {
            return Err(LiveError::NotEthernet { name: name.to_owned(), hardware_type: state.hardware_type });
        }
        Ok(state)
    }

    /// True if the network card joins packets (LRO), which cannot be undone.
    pub(crate) fn joins_packets(&self, name: &str) -> bool {
        const LARGE_RECEIVE_OFFLOAD: u32 = 1 << 15;
        self.flags(name) & LARGE_RECEIVE_OFFLOAD != 0
    }

    /// True if the interface keeps the VLAN tags of frames beside them.
    pub(crate) fn strips_tags(&self, name: &str) -> bool {
        const STRIP_TAGS: u32 = 1 << 8;
        self.flags(name) & STRIP_TAGS != 0
    }

    /// The offloads of the interface that are switched by flags; none if it has no such flags.
    fn flags(&self, name: &str) -> u32 {
        /// The command, then the flags: `struct ethtool_value`.
        const GET_FLAGS: u32 = 0x25;
        self.ethtool(name, [GET_FLAGS, 0]).map_or(0, |[_, flags]| flags)
    }

    /// The queues by which frames come in, and by which they leave.
    pub(crate) fn queues(&self, name: &str) -> Queues {
        const GET_CHANNELS: u32 = 0x3c;
        let channels = self.ethtool(name, [GET_CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0]);
        channels.map_or(Queues::ONE, |[_, channels @ ..]| Queues::of(channels))
    }

    /// True if the interface is a network card, real or of a virtual machine: its driver names its place on a bus.
    pub(crate) fn is_card(&self, name: &str) -> bool {
        /// The command, then texts of 32 bytes, the fourth of which names the place: `struct ethtool_drvinfo`.
        const GET_DRIVER: u32 = 0x03;
        const PLACE: usize = 1 + 3 * 8;
        let mut request = [0; 49];
        request[0] = GET_DRIVER;
        self.ethtool(name, request).is_ok_and(|answer| answer[PLACE] != 0)
    }

    /// A request to the driver of an interface, which answers in its place.
    fn ethtool<const N: usize>(&self, name: &str, mut words: [u32; N]) -> io::Result<[u32; N]> {
        let mut request = request_for(name)?;
        request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut words).cast();
        self.ask(libc::SIOCETHTOOL, &mut request)?;
        Ok(words)
    }

    fn ask(&self, request_code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: every request used here reads and writes one `ifreq`, or the target of its data pointer, which outlives the call.
        let refused = unsafe { libc::ioctl(self.0.as_raw_fd(), request_code, std::ptr::from_mut(request)) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zero is a valid value of every member.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // An interface name has at most 15 bytes, none of them zero. No interface has any other name.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// The names of all interfaces of this network namespace.
pub(crate) fn names() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the array ends with an entry of index 0 and is freed once, after the names have been copied.
    unsafe {
        let list = libc::if_nameindex();
        if !list.is_null() {
            let mut entry = list;
            while (*entry).if_index != 0 {
                names.push(CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
                entry = entry.add(1);
            }
            libc::if_freenameindex(list);
        }
    }
    names
}

/// True if the host has an address on this interface, other than an IPv6 link-local one.
pub(crate) fn has_address(name: &str) -> bool {
    let mut found = false;
    // SAFETY: a linked list that is walked once and freed once; addresses are read according to their family.
    unsafe {
        let mut list = std::ptr::null_mut();
        if libc::getifaddrs(&mut list) != 0 {
            return false;
        }
        let mut entry = list;
        while !entry.is_null() {
            let this = &*entry;
            if CStr::from_ptr(this.ifa_name).to_bytes() == name.as_bytes() && !this.ifa_addr.is_null() {
                found |= match i32::from((*this.ifa_addr).sa_family) {
                    libc::AF_INET => true,
                    libc::AF_INET6 => {
                        let address = (*this.ifa_addr.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr;
                        !(address[0] == 0xfe && address[1] & 0xc0 == 0x80)
                    }
                    _ => false,
                };
            }
            entry = this.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    found
}

/// The bridge or bond that the interface is a port of.
pub(crate) fn master(name: &str, index: i32) -> Option<String> {
    let directory = format!("/sys/class/net/{name}");
    // The mounted view may be that of another network namespace.
    let seen: i32 = fs::read_to_string(format!("{directory}/ifindex")).ok()?.trim().parse().ok()?;
    let master = fs::read_link(format!("{directory}/master")).ok()?;
    (seen == index).then(|| master.file_name().map(|name| name.to_string_lossy().into_owned()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known_and_not_ethernet() {
        let control = ControlSocket::new().unwrap();
        let state = control.state("lo").unwrap();
        assert!(names().contains(&"lo".to_owned()));
        let error = control.ethernet_state("lo").unwrap_err();
        assert!(matches!(error, LiveError::NotEthernet { hardware_type: libc::ARPHRD_LOOPBACK, .. }), "{error}");
        assert!(!control.joins_packets("lo"));
        assert_eq!(master("lo", state.index), None);
    }

    #[test]
    fn names_that_no_interface_can_have_are_unknown() {
        let control = ControlSocket::new().unwrap();
        for name in ["", "tidegate-no-such", "a-name-that-is-longer-than-fifteen-bytes", "l\0o"] {
            assert!(matches!(control.ethernet_state(name), Err(LiveError::UnknownInterface { .. })), "{name:?}");
        }
    }
}
