//! An allocator that puts large tables on huge pages, as DPDK does with its memory.
//!
//! With a million flows, translating the address of a 4 kB page takes longer than reading it. The pages are transparent huge pages, which need no
//! privilege and no reservation. A kernel without them uses small pages.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, and huge pages for tables of `LEAST` bytes and more. Much of a table may only be reserved, and a huge page is there as
/// a whole as soon as a byte of it is used: so `LEAST` is large where there may be many tables.
pub struct HugePages<const LEAST: usize>;

/// The size of a huge page.
const HUGE: usize = 2 << 20;

impl<const LEAST: usize> HugePages<LEAST> {
    /// The bytes of the huge pages that a table takes; `None` if it is left to the system.
    fn pages(layout: Layout) -> Option<usize> {
        let is_large = cfg!(target_os = "linux") && layout.size() >= LEAST && layout.align() <= HUGE;
        if is_large { layout.size().checked_next_multiple_of(HUGE) } else { None }
    }
}

// SAFETY: what `pages` says depends on the layout alone, so a block goes back to where it came from.
unsafe impl<const LEAST: usize> GlobalAlloc for HugePages<LEAST> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Self::pages(layout) {
            #[cfg(target_os = "linux")]
            Some(length) => mapping::take(length),
            // SAFETY: the caller's promise about `layout`.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match Self::pages(layout) {
            // The kernel's pages are zero.
            #[cfg(target_os = "linux")]
            Some(length) => mapping::take(length),
            // SAFETY: the caller's promise about `layout`.
            _ => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Self::pages(layout) {
            #[cfg(target_os = "linux")]
            // SAFETY: `alloc` took as many bytes for the same layout.
            Some(length) => unsafe { mapping::give_back(block, length) },
            // SAFETY: the block came from the system with the same layout.
            _ => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is no overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (Self::pages(layout), Self::pages(wanted)) {
            // SAFETY: the block came from the system with this layout.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (has, wants) if has == wants => block,
            _ => {
                // SAFETY: both are blocks of as many bytes, one of them new; the old one goes back with its layout.
                unsafe {
                    let new = self.alloc(wanted);
                    if !new.is_null() {
                        std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod mapping {
    use super::HUGE;

    /// Memory of zeros that begins at a huge page and has the length of some; null if there is none.
    pub(super) fn take(length: usize) -> *mut u8 {
        // One huge page more, of which the ends before and behind go back.
        let Some(room) = length.checked_add(HUGE) else { return std::ptr::null_mut() };
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping; what is unmapped again lies in it, beside the block.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), room, access, kind, -1, 0);
            if start == libc::MAP_FAILED {
                return std::ptr::null_mut();
            }
            let start = start.cast::<u8>();
            let before = start.addr().next_multiple_of(HUGE) - start.addr();
            let block = start.add(before);
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            libc::munmap(block.add(length).cast(), HUGE - before);
            libc::madvise(block.cast(), length, libc::MADV_HUGEPAGE);
            block
        }
    }

    /// Unmaps what [`take`] has mapped.
    ///
    /// # Safety
    /// `block` came from [`take`] with this length, and nothing uses it any more.
    pub(super) unsafe fn give_back(block: *mut u8, length: usize) {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(block.cast(), length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;
    const PAGES: HugePages<MEGABYTE> = HugePages;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).unwrap()
    }

    /// A block of `size` bytes, written, made as large as `then`; fails if what both have is not the same.
    fn resize(size: usize, then: usize) {
        // SAFETY: within the blocks, which go back with the layouts that they have.
        unsafe {
            let block = PAGES.alloc(layout(size));
            let mark = |place: usize| (place % 251) as u8;
            (0..size).for_each(|place| block.add(place).write(mark(place)));
            let block = PAGES.realloc(block, layout(size), then);
            assert!((0..size.min(then)).all(|place| block.add(place).read() == mark(place)), "from {size} to {then}");
            (0..then).for_each(|place| block.add(place).write(0));
            PAGES.dealloc(block, layout(then));
        }
    }

    #[test]
    fn blocks_keep_their_bytes_when_they_grow_and_shrink() {
        let sizes = [1, 4096, MEGABYTE - 1, MEGABYTE, 2 * MEGABYTE, 2 * MEGABYTE + 1, 5 * MEGABYTE];
        sizes.iter().for_each(|&size| sizes.iter().for_each(|&then| resize(size, then)));
    }

    #[test]
    fn large_tables_are_zero_and_begin_at_huge_pages() {
        for size in [MEGABYTE, 3 * MEGABYTE, 2 * HUGE] {
            // SAFETY: as above.
            unsafe {
                let block = PAGES.alloc_zeroed(layout(size));
                assert!(!cfg!(target_os = "linux") || block.addr().is_multiple_of(HUGE));
                assert!((0..size).all(|place| block.add(place).read() == 0));
                block.write_bytes(0xff, size);
                PAGES.dealloc(block, layout(size));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        // SAFETY: nothing is written.
        unsafe {
            assert!(PAGES.alloc(layout(1 << 60)).is_null());
        }
    }
}
