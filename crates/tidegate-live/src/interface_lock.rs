//! One process per interface: two bridges on one interface would send every packet twice.
//!
//! The lock is a listening Unix socket with an abstract name. Such names belong to a network namespace, as interfaces do. The kernel frees a
//! name when its process ends, however it ends. The descriptor can be handed to a successor without a gap. An interface is locked by its
//! index, which all its names share, and by its name, which survives when the interface is deleted and created again.
//!
//! A VLAN of an interface has a lock of its own, and so have the frames without a tag beside a VLAN. The whole interface and a part of it exclude each other.
#![allow(unsafe_code)]

use crate::endpoint::Endpoint;
use crate::error::LiveError;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The VLANs that have a lock; 0 stands for frames without a tag.
const VLANS: Range<u16> = 0..4095;

/// Held for as long as it lives.
#[derive(Debug)]
pub(crate) struct InterfaceLock {
    sockets: [UnixListener; 2],
}

impl InterfaceLock {
    /// Takes the lock of one side of a bridge: of a VLAN, of frames without a tag if the other side is a VLAN (`is_beside_vlan`), or of the whole interface.
    ///
    /// # Errors
    /// [`LiveError::InUse`] if another process holds it, or that of the whole interface, or for the whole interface that of a part of it.
    pub(crate) fn take(endpoint: &Endpoint, index: i32, is_beside_vlan: bool) -> Result<InterfaceLock, LiveError> {
        let name = &endpoint.name;
        let part = endpoint.vlan.or(is_beside_vlan.then_some(0));
        let keys = |part: Option<u16>| {
            let part = part.map_or_else(String::new, |vlan| format!(":{vlan}"));
            [format!("tidegate/live/index/{index}{part}"), format!("tidegate/live/name/{name}{part}")]
        };
        let system = |cause| LiveError::system("locking the interface", &endpoint.shown, cause);
        let take = |key: &String| {
            let address = SocketAddr::from_abstract_name(key).map_err(system)?;
            UnixListener::bind_addr(&address).map_err(|cause| match cause.kind() {
                io::ErrorKind::AddrInUse => {
                    LiveError::InUse { name: endpoint.shown.clone(), process: holder(&address).unwrap_or_default() }
                }
                _ => system(cause),
            })
        };
        let [by_index, by_name] = keys(part);
        let lock = InterfaceLock { sockets: [take(&by_index)?, take(&by_name)?] };
        // The own lock is held before others are looked for: of two processes that start at once, at least one finds the other.
        let others = if part.is_some() { vec![None] } else { VLANS.map(Some).collect() };
        for other in others {
            for key in keys(other) {
                if let Some(process) = SocketAddr::from_abstract_name(key).ok().and_then(|address| holder(&address)) {
                    let vlan = other.filter(|&vlan| vlan > 0).map_or_else(String::new, |vlan| format!(":{vlan}"));
                    return Err(LiveError::InUse { name: format!("{name}{vlan}"), process });
                }
            }
        }
        Ok(lock)
    }

    /// The descriptors that hold it, until the last of their copies is closed.
    pub(crate) fn into_descriptors(self) -> [OwnedFd; 2] {
        self.sockets.map(OwnedFd::from)
    }
}

/// Locks that another process has taken name this process from now on: the kernel keeps the one that said last that it listens.
pub(crate) fn renew(locks: &[OwnedFd]) {
    for lock in locks {
        // Otherwise it names the other one, and locks as before.
        let _is_renamed = rustix::net::listen(lock, 128);
    }
}

/// The process that listens at this address, if one does; its number is missing if it belongs to another namespace of processes.
fn holder(address: &SocketAddr) -> Option<Option<u32>> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of a structure of plain numbers, which lives for the call.
    let refused = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, std::ptr::from_mut(&mut credentials).cast(), &mut length)
    };
    Some(u32::try_from(credentials.pid).ok().filter(|&number| refused == 0 && number > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_by_name_or_by_index_and_the_lock_ends_with_its_owner() {
        // No interface has these names and indices.
        let take = |name: &str, index| InterfaceLock::take(&Endpoint::new(name).unwrap(), index, false);
        let first = take("tidegate-test-a", -1001).unwrap();
        for (name, index) in [("tidegate-test-a", -1002), ("tidegate-test-b", -1001)] {
            let error = take(name, index).unwrap_err();
            assert!(matches!(&error, LiveError::InUse { process, .. } if *process == Some(std::process::id())), "{error:?}");
            assert_eq!(error.exit_code(), 3);
        }
        drop(first);
        take("tidegate-test-a", -1001).unwrap();
    }

    #[test]
    fn an_interface_and_a_part_of_it_exclude_each_other() {
        let take = |name: &str, index, is_beside_vlan| InterfaceLock::take(&Endpoint::new(name).unwrap(), index, is_beside_vlan);
        let in_use = |taken: Result<InterfaceLock, LiveError>| match taken {
            Err(LiveError::InUse { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let parts =
            [take("tidegate-test-v:5", -1005, true), take("tidegate-test-v:4094", -1005, true), take("tidegate-test-v", -1005, true)];
        assert!(parts.iter().all(Result::is_ok), "parts do not exclude each other: {parts:?}");
        assert_eq!(in_use(take("tidegate-test-v:5", -1006, true)), "tidegate-test-v:5", "by its name");
        assert_eq!(in_use(take("tidegate-test-w", -1005, true)), "tidegate-test-w", "by its index");
        // The one with the lowest number is found first: frames without a tag.
        assert_eq!(in_use(take("tidegate-test-v", -1006, false)), "tidegate-test-v");
        let [five, last, untagged] = parts;
        drop(untagged);
        assert_eq!(in_use(take("tidegate-test-v", -1006, false)), "tidegate-test-v:5");
        drop(five);
        assert_eq!(in_use(take("tidegate-test-w", -1005, false)), "tidegate-test-w:4094");
        drop(last);
        let whole = take("tidegate-test-v", -1005, false).unwrap();
        for (name, index) in [("tidegate-test-v:5", -1005), ("tidegate-test-v:7", -1006), ("tidegate-test-v", -1005)] {
            assert_eq!(in_use(take(name, index, true)), "tidegate-test-v", "{name}");
        }
        drop(whole);
        take("tidegate-test-v:5", -1005, true).unwrap();
    }
}
