//! A process that carries packets keeps at most three capabilities and gains no new ones.
//!
//! | capability | for |
//! |---|---|
//! | CAP_NET_RAW | packet sockets, also for an interface that was created again |
//! | CAP_NET_ADMIN | large socket buffers |
//! | CAP_SYS_NICE | real-time priority of the threads |

use rustix::io::Errno;
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW).union(CapabilitySet::SYS_NICE);

/// Drops every capability except CAP_NET_RAW, CAP_NET_ADMIN and CAP_SYS_NICE from all sets, and sets `no_new_privs`. Capabilities that the
/// process lacks are not added. Affects the calling thread and the threads that it starts afterwards, so call it before there are others.
///
/// # Errors
/// The kernel refuses, which it does not do when rights are dropped.
pub fn keep_network_rights_only() -> io::Result<()> {
    thread::set_no_new_privs(true)?;
    for capability in (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number)).filter(|one| !KEPT.contains(*one)) {
        match thread::remove_capability_from_bounding_set(capability) {
            // Only root can change the bounding set, and there may be fewer capabilities.
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    thread::clear_ambient_capability_set()?;
    let CapabilitySets { permitted, inheritable, .. } = thread::capabilities(None)?;
    let permitted = permitted & KEPT;
    Ok(thread::set_capabilities(None, CapabilitySets { effective: permitted, permitted, inheritable: inheritable & KEPT })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of the calling thread, as the kernel shows it.
    fn set(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
    }

    #[test]
    fn only_the_capabilities_for_packets_are_kept() {
        // In a thread of its own, so that other tests keep their rights.
        std::thread::spawn(|| {
            let had = set("CapPrm");
            keep_network_rights_only().unwrap();
            let kept = KEPT.bits();
            assert_eq!(set("CapPrm"), had & kept);
            assert_eq!(set("CapEff"), had & kept);
            assert_eq!(set("CapInh") & !kept, 0);
            assert_eq!(set("CapAmb"), 0);
            assert_eq!(set("NoNewPrivs"), 1);
            // CAP_SETPCAP, without which the bounding set stays.
            if had >> 8 & 1 == 1 {
                assert_eq!(set("CapBnd") & !kept, 0);
            }
            // A second call changes nothing.
            keep_network_rights_only().unwrap();
        })
        .join()
        .unwrap();
    }
}
