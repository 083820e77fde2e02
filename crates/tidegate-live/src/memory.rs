//! Memory mapped from the kernel: anonymous pages for frames, and rings shared with a socket.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// A mapping that ends with its owner.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is plain memory that no thread owns; the types below decide who may look at it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(length: usize, flags: libc::c_int, descriptor: libc::c_int) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, descriptor, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("memory was mapped at address zero"))?;
        Ok(Mapping { address, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; nothing borrowed from it outlives its owner.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

/// Zeroed pages of our own. They cost memory only once they have been written to.
#[derive(Debug)]
pub(crate) struct Pages(Mapping);

impl Pages {
    /// Maps `length` bytes, at least one.
    pub(crate) fn new(length: usize) -> io::Result<Pages> {
        Mapping::new(length.max(1), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1).map(Pages)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for its whole length, initialised by the kernel, and borrowed together with `self`.
        unsafe { std::slice::from_raw_parts(self.0.address.as_ptr(), self.0.length) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow unique: nobody else knows these pages.
        unsafe { std::slice::from_raw_parts_mut(self.0.address.as_ptr(), self.0.length) }
    }
}

/// The pages of a ring that a socket shares with the kernel, which writes to them at any time: so no slice over the whole, only the
/// address.
#[derive(Debug)]
pub(crate) struct SharedPages(Mapping);

impl SharedPages {
    /// Maps the first `length` bytes of what `socket` offers.
    pub(crate) fn of(socket: BorrowedFd, length: usize) -> io::Result<SharedPages> {
        Mapping::new(length, libc::MAP_SHARED, socket.as_raw_fd()).map(SharedPages)
    }

    /// The address of the byte at `offset`, which lies inside the mapping.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.0.length, "offset {offset} in a ring of {} bytes", self.0.length);
        // SAFETY: the offset has just been checked against the mapping's length.
        unsafe { self.0.address.add(offset) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_writable_and_our_own() {
        let mut pages = Pages::new(10_000).unwrap();
        assert!(pages.bytes().iter().all(|&byte| byte == 0));
        pages.bytes_mut()[9_999] = 7;
        assert_eq!(pages.bytes()[9_999], 7);
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(Pages::new(usize::MAX / 2).is_err());
    }
}
