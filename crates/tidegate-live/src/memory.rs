//! Memory mapped from the kernel: anonymous pages cut into pieces for frames, and rings shared with a socket.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// A mapping that ends with its owner.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is plain memory that no thread owns; the types below decide who may look at it.
unsafe impl Send for Mapping {}
// SAFETY: a shared mapping gives away nothing but its address and its length, which never change.
unsafe impl Sync for Mapping {}

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

/// A piece of zeroed pages, which its owner has to himself on whatever thread. The pages cost memory only once they have been written to.
#[derive(Debug)]
pub(crate) struct Piece {
    address: NonNull<u8>,
    length: usize,
    /// The pages stay for as long as any piece of them does.
    _pages: Arc<Mapping>,
}

// SAFETY: a piece is memory of its own, which nobody else knows: it goes where its owner goes.
unsafe impl Send for Piece {}

impl Piece {
    /// A piece of `length` bytes.
    pub(crate) fn new(length: usize) -> io::Result<Piece> {
        Piece::several(1, length)?.next().ok_or(io::ErrorKind::OutOfMemory.into())
    }

    /// So many pieces of `length` bytes each, side by side.
    pub(crate) fn several(count: usize, length: usize) -> io::Result<impl Iterator<Item = Piece>> {
        let whole = length.checked_mul(count).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let pages = Arc::new(Mapping::new(whole.max(1), flags, -1)?);
        Ok((0..count).map(move |number| {
            // SAFETY: piece `number` ends at most at `count * length`, where the mapping does.
            let address = unsafe { pages.address.add(number * length) };
            Piece { address, length, _pages: pages.clone() }
        }))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the piece lies in a mapping that is readable, initialised by the kernel and kept by the piece; no two pieces overlap, so
        // only the owner of this one can write to it, and he lends it out here.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
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
    fn pieces_are_zeroed_writable_and_apart() {
        let mut pieces: Vec<Piece> = Piece::several(3, 5000).unwrap().collect();
        assert!(pieces.iter().all(|piece| piece.bytes() == [0; 5000]));
        pieces[1].bytes_mut().fill(7);
        let last = pieces.pop().unwrap();
        // They outlive each other, on any thread.
        let middle = pieces.pop().unwrap();
        assert!(std::thread::spawn(move || middle.bytes().iter().all(|&byte| byte == 7)).join().unwrap());
        assert!(pieces[0].bytes() == [0; 5000] && last.bytes() == [0; 5000]);
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(Piece::several(2, usize::MAX / 4).is_err() && Piece::several(4, usize::MAX / 2).is_err());
    }
}
