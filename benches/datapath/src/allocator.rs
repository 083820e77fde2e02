//! An allocator that counts what it is asked for, and that puts large tables on transparent huge pages as the peers' are.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// A thread counts its own, so that tests side by side do not count each other's.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The size of a huge page.
const HUGE: usize = 2 << 20;

/// Tables of this size get huge pages of their own: the peers' memory lies on them altogether.
const LARGE: usize = 128 << 10;

/// The system's allocator, counted.
pub struct Counting;

/// Allocations and reallocations by this thread since it started.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// KiB of this process that lie on transparent huge pages now.
pub fn huge_kibibytes() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The layout that is really asked for: large tables take whole huge pages.
fn widened(layout: Layout) -> Layout {
    if layout.size() < LARGE {
        return layout;
    }
    Layout::from_size_align(layout.size().next_multiple_of(HUGE), layout.align().max(HUGE)).unwrap_or(layout)
}

// SAFETY: every call is passed to the system's allocator with a layout that depends on the given one alone, so that a block is given
// back with the layout it was taken with; size and alignment are only ever raised.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        let wide = widened(layout);
        // SAFETY: the caller's promise about `layout` holds for `wide` too.
        let block = unsafe { System.alloc(wide) };
        if wide.align() >= HUGE && !block.is_null() {
            // SAFETY: the whole pages of a block that was just allocated; the call changes how they are mapped, not what they hold.
            // A kernel that refuses leaves small pages, which the `ready` line shows.
            let _ = unsafe { libc::madvise(block.cast(), wide.size() / HUGE * HUGE, libc::MADV_HUGEPAGE) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `alloc` above with the same layout, hence from the system with the same widened one.
        unsafe { System.dealloc(block, widened(layout)) }
    }

    // `realloc` is left to its default, which goes through `alloc` and `dealloc` and is counted there.
}
