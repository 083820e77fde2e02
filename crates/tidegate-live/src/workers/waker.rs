//! Wakes a worker that waits for frames when another one has passed packets on to it.
//!
//! A worker that is awake costs the others one load. One that waits costs a system call.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

#[derive(Debug)]
pub(super) struct Waker {
    descriptor: OwnedFd,
    /// The worker waits, or is about to.
    is_armed: AtomicBool,
    /// The descriptor is readable.
    is_ringing: AtomicBool,
}

impl Waker {
    pub(super) fn new() -> io::Result<Waker> {
        // SAFETY: it touches no memory, and no one else owns the descriptor that comes back.
        let descriptor = unsafe {
            let descriptor = libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        Ok(Waker { descriptor, is_armed: AtomicBool::new(false), is_ringing: AtomicBool::new(false) })
    }

    /// The worker is about to wait. It looks at its rings after this and before it waits.
    #[inline]
    pub(super) fn arm(&self) {
        self.is_armed.store(true, Ordering::Relaxed);
        // Either the worker sees what was pushed before `wake`, or `wake` sees that it is armed.
        fence(Ordering::SeqCst);
    }

    /// The worker is awake.
    #[inline]
    pub(super) fn disarm(&self) {
        self.is_armed.store(false, Ordering::Relaxed);
    }

    /// Something has been pushed into a ring of the worker.
    #[inline]
    pub(super) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_armed.load(Ordering::Relaxed) && self.is_armed.swap(false, Ordering::Relaxed) {
            self.ring();
        }
    }

    #[cold]
    fn ring(&self) {
        let one = 1u64;
        // SAFETY: eight bytes that live for the call. A counter that is full is readable, so that a refusal does no harm.
        unsafe { libc::write(self.descriptor.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
        self.is_ringing.store(true, Ordering::Release);
    }

    /// The worker has waited: the next wait lasts until it is woken again.
    pub(super) fn settle(&self) {
        if self.is_ringing.load(Ordering::Acquire) {
            self.is_ringing.store(false, Ordering::Relaxed);
            let mut count = 0u64;
            // SAFETY: eight bytes that live for the call, and any value is valid. If another write is under way, the next wait ends at once.
            unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::sync::Arc;
    use tidegate_core::units::Duration;

    #[test]
    fn a_worker_that_waits_is_woken_and_one_that_is_awake_is_not_disturbed() {
        let waker = Waker::new().unwrap();
        waker.wake();
        assert!(!waker.is_ringing.load(Ordering::Relaxed), "it was awake");
        waker.arm();
        waker.wake();
        let start = clock::now();
        clock::wait([None, Some(waker.descriptor())], Duration::from_seconds(5));
        assert!(clock::now().since(start) < Duration::from_seconds(4));
        waker.settle();
        waker.arm();
        let start = clock::now();
        clock::wait([None, Some(waker.descriptor())], Duration::from_milliseconds(2));
        assert!(clock::now().since(start) >= Duration::from_milliseconds(2), "it waits again");
    }

    #[test]
    fn no_wake_is_lost() {
        let (mut pushing, mut popping) = rtrb::RingBuffer::<u32>::new(4);
        let waker = Arc::new(Waker::new().unwrap());
        let theirs = waker.clone();
        let worker = std::thread::spawn(move || {
            let mut next = 0;
            while next < 20_000 {
                theirs.disarm();
                while let Ok(number) = popping.pop() {
                    assert_eq!(number, next);
                    next += 1;
                }
                theirs.arm();
                if popping.is_empty() && next < 20_000 {
                    let start = clock::now();
                    clock::wait([None, Some(theirs.descriptor())], Duration::from_seconds(20));
                    assert!(clock::now().since(start) < Duration::from_seconds(19), "a wake was lost at {next}");
                    theirs.settle();
                }
            }
        });
        for number in 0..20_000 {
            while pushing.push(number).is_err() {
                std::thread::yield_now();
            }
            waker.wake();
        }
        worker.join().unwrap();
    }
}
