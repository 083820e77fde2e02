//! The machine's clock, and precise waiting for frames or instants.
#![allow(unsafe_code)]

use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd};
use tidegate_core::units::{Duration, Time};

/// The instant on CLOCK_MONOTONIC, to the nanosecond.
#[inline]
pub(crate) fn now() -> Time {
    let at = clock_gettime(ClockId::Monotonic);
    Time::from_nanoseconds((at.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(at.tv_nsec as u64))
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Woken {
    /// A frame has arrived, the time is over, or a signal has interrupted the wait.
    Ready,
    /// The socket has a pending error.
    SocketError,
}

/// Waits until the socket (the first, if there is one) has a frame, the second descriptor is readable, or `timeout` has passed.
pub(crate) fn wait(descriptors: [Option<BorrowedFd>; 2], timeout: Duration) -> Woken {
    // The kernel skips negative descriptors.
    let entry = |descriptor: Option<BorrowedFd>| libc::pollfd {
        fd: descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut entries = descriptors.map(entry);
    let count = 1 + u64::from(descriptors[1].is_some());
    // Rounded up: waking less than a nanosecond early would cost another poll.
    let nanoseconds = timeout.picoseconds().div_ceil(1000);
    let timeout =
        libc::timespec { tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t, tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long };
    // SAFETY: at most two entries, which live for the call, and no signal mask. An interruption by a signal is no error here.
    unsafe { libc::ppoll(entries.as_mut_ptr(), count as libc::nfds_t, &timeout, std::ptr::null()) };
    if entries[0].revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 { Woken::SocketError } else { Woken::Ready }
}

/// Gives the calling thread a real-time priority and a timer without slack, so that it wakes on time.
///
/// # Errors
/// The kernel refused the real-time policy (it needs CAP_SYS_NICE); the timer slack has been set nevertheless.
pub(crate) fn set_real_time_priority(priority: i32) -> io::Result<()> {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    // SAFETY: the parameters live for the call; 0 means the calling thread. Zeroed parameters are valid ones.
    let refused = unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters)
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps the calling thread on one core.
///
/// # Errors
/// There is no such core, or this process may not use it.
pub(crate) fn stay_on(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_without_a_socket_lasts_as_long_as_asked() {
        let start = now();
        assert_eq!(wait([None, None], Duration::from_microseconds(1500)), Woken::Ready);
        let slept = now().since(start);
        assert!(slept >= Duration::from_microseconds(1500) && slept < Duration::from_seconds(5), "{slept:?}");
    }
}
