//! One process per interface: two bridges on one interface would send every packet twice.
//!
//! The lock is a listening Unix socket with an abstract name. Such names belong to a network namespace, as interfaces do. The kernel frees a
//! name when its process ends, however it ends. The descriptor can be handed to a successor without a gap. An interface is locked by its
//! index, which all its names share, and by its name, which survives when the interface is deleted and created again. A VLAN of an interface has a lock of
//! its own.
#![allow(unsafe_code)]

use crate::endpoint::Endpoint;
use crate::error::LiveError;
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Held for as long as it lives.
#[derive(Debug)]
pub(crate) struct InterfaceLock {
    _sockets: [UnixListener; 2],
}

impl InterfaceLock {
    /// Takes the lock of an interface.
    ///
    /// # Errors
    /// [`LiveError::InUse`] if another process holds it.
    pub(crate) fn take(endpoint: &Endpoint, index: i32) -> Result<InterfaceLock, LiveError> {
        let name = &endpoint.shown;
        let vlan = endpoint.vlan.map_or_else(String::new, |vlan| format!(":{vlan}"));
        let take = |key: String| {
            let system = |cause| LiveError::system("locking the interface", name, cause);
            let address = SocketAddr::from_abstract_name(key).map_err(system)?;
            UnixListener::bind_addr(&address).map_err(|cause| match cause.kind() {
                io::ErrorKind::AddrInUse => LiveError::InUse { name: name.clone(), process: holder(&address) },
                _ => system(cause),
            })
        };
        Ok(InterfaceLock { _sockets: [take(format!("tidegate/live/index/{index}{vlan}"))?, take(format!("tidegate/live/name/{name}"))?] })
    }
}

/// The process that listens at this address.
fn holder(address: &SocketAddr) -> Option<u32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of a structure of plain numbers, which lives for the call.
    let refused = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, std::ptr::from_mut(&mut credentials).cast(), &mut length)
    };
    // A process of another process namespace has the number 0.
    u32::try_from(credentials.pid).ok().filter(|&number| refused == 0 && number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_by_name_or_by_index_and_the_lock_ends_with_its_owner() {
        // No interface has these names and indices.
        let take = |name: &str, index| InterfaceLock::take(&Endpoint::new(name).unwrap(), index);
        let first = take("tidegate-test-a", -1001).unwrap();
        for (name, index) in [("tidegate-test-a", -1002), ("tidegate-test-b", -1001)] {
            let error = take(name, index).unwrap_err();
            assert!(matches!(&error, LiveError::InUse { process, .. } if *process == Some(std::process::id())), "{error:?}");
            assert_eq!(error.exit_code(), 3);
        }
        let vlan = take("tidegate-test-a:5", -1001).unwrap();
        assert!(take("tidegate-test-a:5", -1002).is_err());
        drop((first, vlan));
        take("tidegate-test-a", -1001).unwrap();
    }
}
