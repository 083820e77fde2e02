//! A process that carries packets keeps at most three capabilities and gains no new ones.
//!
//! | capability | for |
//! |---|---|
//! | CAP_NET_RAW | packet sockets, also for an interface that was created again |
//! | CAP_NET_ADMIN | large socket buffers |
//! | CAP_SYS_NICE | real-time priority of the threads |
#![allow(unsafe_code)]

use std::io;

const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_NICE: u32 = 23;
const KEPT: [u32; 3] = [NET_ADMIN, NET_RAW, SYS_NICE];

/// The most capabilities of any kernel: the bits of a set.
const CAPABILITIES: u32 = 64;

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    process: libc::c_int,
}

/// `struct __user_cap_data_struct`: one half of each set.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`: sets of 64 bits, as two halves.
const VERSION: u32 = 0x2008_0522;

/// Drops every capability except CAP_NET_RAW, CAP_NET_ADMIN and CAP_SYS_NICE from all sets, and sets `no_new_privs`. Capabilities that the
/// process lacks are not added. Affects the calling thread and the threads that it starts afterwards, so call it before there are others.
///
/// # Errors
/// The kernel refuses, which it does not do when rights are dropped.
pub fn keep_network_rights_only() -> io::Result<()> {
    let control = |option: libc::c_int, first: libc::c_ulong, second: libc::c_ulong| {
        // SAFETY: the options used here take numbers.
        let refused = unsafe { libc::prctl(option, first, second, 0 as libc::c_ulong, 0 as libc::c_ulong) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    control(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    for capability in (0..CAPABILITIES).filter(|capability| !KEPT.contains(capability)) {
        match control(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0) {
            // Only root can change the bounding set, and there may be fewer capabilities.
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EPERM | libc::EINVAL)) => return Err(error),
            _ => {}
        }
    }
    control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    let mut header = Header { version: VERSION, process: 0 };
    let mut sets = [Half::default(); 2];
    let call = |number: libc::c_long, header: &mut Header, sets: &mut [Half; 2]| {
        // SAFETY: the header names the layout of the sets, both halves of which live for the call.
        let refused = unsafe { libc::syscall(number, std::ptr::from_mut(header), sets.as_mut_ptr()) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    call(libc::SYS_capget, &mut header, &mut sets)?;
    let kept = KEPT.iter().fold(0, |set, capability| set | 1u32 << capability);
    for (half, kept) in sets.iter_mut().zip([kept, 0]) {
        half.permitted &= kept;
        half.effective = half.permitted;
        half.inheritable &= kept;
    }
    call(libc::SYS_capset, &mut header, &mut sets)
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
            let kept = 1 << NET_ADMIN | 1 << NET_RAW | 1 << SYS_NICE;
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
