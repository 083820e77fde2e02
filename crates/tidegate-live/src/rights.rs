//! A process that carries packets keeps at most three capabilities, with AF_XDP five, and gains no new ones.
//!
//! | capability | for |
//! |---|---|
//! | CAP_NET_RAW | packet sockets, also for an interface that was created again |
//! | CAP_NET_ADMIN | large socket buffers |
//! | CAP_SYS_NICE | real-time priority of the threads |
//! | CAP_BPF | with AF_XDP: the program that hands frames over, also for an interface that was created again |
//! | CAP_IPC_LOCK | with AF_XDP: memory for frames beyond the limit of locked memory |

use crate::config::Io;
use rustix::io::Errno;
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::io;

const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW).union(CapabilitySet::SYS_NICE);
const KEPT_FOR_XDP: CapabilitySet = KEPT.union(CapabilitySet::BPF).union(CapabilitySet::IPC_LOCK);

/// Drops every capability except CAP_NET_RAW, CAP_NET_ADMIN and CAP_SYS_NICE from all sets, and sets `no_new_privs`. Where AF_XDP may be used,
/// CAP_BPF and CAP_IPC_LOCK stay, too. Capabilities that the process lacks are not added. Affects the calling thread and the threads that it starts afterwards, so call it before there are others.
///
/// # Errors
/// The kernel refuses, which it does not do when rights are dropped.
pub fn keep_network_rights_only(io: Io) -> io::Result<()> {
    let kept = if io == Io::Packet { KEPT } else { KEPT_FOR_XDP };
    thread::set_no_new_privs(true)?;
    for capability in (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number)).filter(|one| !kept.contains(*one)) {
        match thread::remove_capability_from_bounding_set(capability) {
            // Only root can change the bounding set, and there may be fewer capabilities.
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    thread::clear_ambient_capability_set()?;
    let CapabilitySets { permitted, inheritable, .. } = thread::capabilities(None)?;
    let permitted = permitted & kept;
    Ok(thread::set_capabilities(None, CapabilitySets { effective: permitted, permitted, inheritable: inheritable & kept })?)
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
        for (io, kept) in [(Io::Packet, KEPT.bits()), (Io::Xdp, KEPT_FOR_XDP.bits())] {
            // In a thread of its own, so that other tests keep their rights.
            let tried = std::thread::spawn(move || {
                let had = set("CapPrm");
                keep_network_rights_only(io).unwrap();
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
                keep_network_rights_only(io).unwrap();
            });
            tried.join().unwrap();
        }
    }
}
