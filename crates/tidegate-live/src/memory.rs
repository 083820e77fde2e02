//! Mapped memory: anonymous pages cut into pieces for frames, rings shared with a socket, and files that are sealed.
#![allow(unsafe_code)]

use rustix::fs::{SealFlags, fcntl_get_seals};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// Gives memory back to the system that the allocator keeps for later: what a large policy was read into.
pub(crate) fn give_back_unused() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches memory that is not allocated, under the locks of the allocator.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// A mapping that is removed when it is dropped.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is plain memory that no thread owns; the types below control access to it.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives access to the address and the length only, which never change.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(length: usize, flags: libc::c_int, descriptor: libc::c_int, at: libc::off_t) -> io::Result<Mapping> {
        Mapping::protected(libc::PROT_READ | libc::PROT_WRITE, length, flags, descriptor, at)
    }

    fn protected(
        protection: libc::c_int,
        length: usize,
        flags: libc::c_int,
        descriptor: libc::c_int,
        at: libc::off_t,
    ) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, descriptor, at) };
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

/// A piece of zeroed pages with one owner, on any thread. Pages use memory only once they have been written to.
#[derive(Debug)]
pub(crate) struct Piece {
    address: NonNull<u8>,
    length: usize,
    /// Keeps the pages mapped as long as any piece of them exists.
    _pages: Arc<Mapping>,
}

// SAFETY: no two pieces overlap, so a piece is accessed by its owner alone.
unsafe impl Send for Piece {}

impl Piece {
    /// A piece of `length` bytes.
    pub(crate) fn new(length: usize) -> io::Result<Piece> {
        Piece::several(1, length)?.next().ok_or(io::ErrorKind::OutOfMemory.into())
    }

    /// `count` pieces of `length` bytes each, side by side.
    pub(crate) fn several(count: usize, length: usize) -> io::Result<Pieces> {
        let whole = length.checked_mul(count).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let pages = Arc::new(Mapping::new(whole.max(1), flags, -1, 0)?);
        Ok(Pieces { pages: Some(pages), numbers: 0..count, length })
    }

    /// Where it starts, for a kernel that shares it.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.address
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the piece is inside a mapping that is readable, initialised by the kernel and kept alive by the piece. No two pieces overlap,
        // so writing needs `&mut` access to this one.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }
}

/// Pieces side by side that are not made yet.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pages: Option<Arc<Mapping>>,
    numbers: Range<usize>,
    length: usize,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let pages = self.pages.as_ref()?;
        let number = self.numbers.next()?;
        // SAFETY: the mapping holds as many pieces as there are numbers, and each number comes once.
        let address = unsafe { pages.address.add(number * self.length) };
        Some(Piece { address, length: self.length, _pages: pages.clone() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl ExactSizeIterator for Pieces {}

/// The pages of a ring that a socket shares with the kernel. The kernel may write to them at any time, so only addresses are handed out, no
/// slices.
#[derive(Debug)]
pub(crate) struct SharedPages(Mapping);

impl SharedPages {
    /// Maps the first `length` bytes of the ring of `socket` that is found at the offset `ring`.
    pub(crate) fn of(socket: BorrowedFd, length: usize, ring: libc::off_t) -> io::Result<SharedPages> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), ring).map(SharedPages)
    }

    /// The address of the byte at `offset`, which must be inside the mapping.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.0.length, "offset {offset} in a ring of {} bytes", self.0.length);
        // SAFETY: the offset has just been checked against the mapping's length.
        unsafe { self.0.address.add(offset) }
    }
}

/// The bytes of a file in memory that is sealed: neither they nor their number change any more.
#[derive(Debug)]
pub(crate) struct SealedBytes(Mapping);

impl SealedBytes {
    /// All bytes of the file.
    ///
    /// # Errors
    /// It is empty, is not sealed against everything, or cannot be mapped.
    pub(crate) fn of(file: &File) -> io::Result<SealedBytes> {
        let sealed = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
        if !fcntl_get_seals(file)?.contains(sealed) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let length = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Mapping::protected(libc::PROT_READ, length, flags, file.as_raw_fd(), 0).map(SealedBytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is as long as the file and lives as long as `self`. The seals, which cannot be taken away, keep the file as it is.
        unsafe { std::slice::from_raw_parts(self.0.address.as_ptr(), self.0.length) }
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
        // Each outlives the others, on any thread.
        let middle = pieces.pop().unwrap();
        assert!(std::thread::spawn(move || middle.bytes().iter().all(|&byte| byte == 7)).join().unwrap());
        assert!(pieces[0].bytes() == [0; 5000] && last.bytes() == [0; 5000]);
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(Piece::several(2, usize::MAX / 4).is_err() && Piece::several(4, usize::MAX / 2).is_err());
    }
}
