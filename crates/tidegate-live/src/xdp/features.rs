//! What the driver of an interface does with XDP, as the kernel tells it without a program being attached (the `netdev` family of generic netlink, Linux 6.3).

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// The bytes before the attributes of a message: `struct nlmsghdr` and `struct genlmsghdr`.
const HEADER: usize = 20;

/// What a driver does with XDP (`enum netdev_xdp_act`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Features(u64);

impl Features {
    const BASIC: u64 = 1;
    const REDIRECT: u64 = 1 << 1;
    const ZERO_COPY: u64 = 1 << 3;

    /// Programs run in the driver, and hand frames to sockets.
    pub(crate) fn are_native(self) -> bool {
        self.0 & (Features::BASIC | Features::REDIRECT) == Features::BASIC | Features::REDIRECT
    }

    /// Frames come and leave in the memory of sockets.
    pub(crate) fn copy_nothing(self) -> bool {
        self.0 & Features::ZERO_COPY != 0
    }
}

/// The features of the interface of this index, in the network namespace of the calling thread.
///
/// # Errors
/// ENOENT where the kernel has no such family, or says nothing of the interface; what else the kernel refuses.
pub(crate) fn of(index: i32) -> io::Result<Features> {
    const CONTROLLER: u16 = 0x10;
    const GET_FAMILY: u8 = 3;
    const FAMILY_ID: u16 = 1;
    const FAMILY_NAME: u16 = 2;
    const GET_DEVICE: u8 = 1;
    const INDEX: u16 = 1;
    const FEATURES: u16 = 3;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::GENERIC))?;
    let family = ask(&socket, (CONTROLLER, GET_FAMILY), (FAMILY_NAME, b"netdev\0"), FAMILY_ID)?;
    let family = family.try_into().map(u16::from_ne_bytes).map_err(|_| unknown())?;
    let features = ask(&socket, (family, GET_DEVICE), (INDEX, &index.to_ne_bytes()), FEATURES)?;
    features.try_into().map(|bytes| Features(u64::from_ne_bytes(bytes))).map_err(|_| unknown())
}

fn unknown() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

/// Sends a command of a family with one attribute, and returns the content of the wanted attribute of the answer.
fn ask(socket: &OwnedFd, (family, command): (u16, u8), (kind, content): (u16, &[u8]), wanted: u16) -> io::Result<Vec<u8>> {
    let message = message(family, command, kind, content);
    if send(socket, &message, SendFlags::empty())? != message.len() {
        return Err(unknown());
    }
    let mut answer = vec![0; 1 << 15];
    let (length, _) = recv(socket, &mut answer[..], RecvFlags::empty())?;
    found(&answer[..length], wanted)
}

fn message(family: u16, command: u8, kind: u16, content: &[u8]) -> Vec<u8> {
    const REQUEST: u16 = 1;
    const VERSION: u8 = 1;
    let attribute = 4 + content.len();
    let mut message = ((HEADER + attribute.next_multiple_of(4)) as u32).to_ne_bytes().to_vec();
    message.extend(family.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // The sequence number, and the port of the sender, which the kernel knows.
    message.extend([0; 8]);
    message.extend([command, VERSION, 0, 0]);
    message.extend((attribute as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(content);
    message.resize(HEADER + attribute.next_multiple_of(4), 0);
    message
}

/// The content of an attribute of an answer.
fn found(answer: &[u8], wanted: u16) -> io::Result<Vec<u8>> {
    const ERROR: u16 = 2;
    let half = |at: usize| answer.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes).ok_or_else(unknown);
    if half(4)? == ERROR {
        let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
        return Err(io::Error::from_raw_os_error(number.checked_neg().filter(|number| *number > 0).unwrap_or(libc::ENOENT)));
    }
    let mut at = HEADER;
    while at + 4 <= answer.len() {
        let (length, kind) = (usize::from(half(at)?), half(at + 2)?);
        let Some(content) = (length >= 4).then(|| answer.get(at + 4..at + length)).flatten() else { break };
        if kind == wanted {
            return Ok(content.to_vec());
        }
        at += length.next_multiple_of(4);
    }
    Err(unknown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The loopback interface has no XDP in its driver, and an unknown index nothing at all.
    #[test]
    fn the_kernel_tells_what_it_knows() {
        assert!(of(1).is_ok_and(|features| !features.are_native() && !features.copy_nothing()), "{:?}", of(1));
        assert!(of(i32::MAX).is_err());
    }

    #[test]
    fn an_attribute_is_found_behind_others() {
        let mut answer = message(28, 1, 1, &[7, 0, 0]);
        answer.extend([12, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(found(&answer, 1).unwrap(), [7, 0, 0]);
        assert!(Features(u64::from_ne_bytes(found(&answer, 3).unwrap().try_into().unwrap())).are_native());
        assert_eq!(found(&answer, 4).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        let mut refused = message(2, 0, 0, &[]);
        refused[16..20].copy_from_slice(&(-libc::ENODEV).to_ne_bytes());
        assert_eq!(found(&refused, 3).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(answer in proptest::collection::vec(any::<u8>(), 0..80), wanted in any::<u16>()) {
            let _some_result = found(&answer, wanted);
        }
    }
}
