//! An allocator that counts what it is asked for, and that puts large tables on transparent huge pages as the peers' are.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use tidegate_bench::huge_pages::HugePages;

thread_local! {
    /// A thread counts its own, so that tests side by side do not count each other's.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The peers' memory lies on huge pages altogether.
const PAGES: HugePages<{ 1 << 20 }> = HugePages;

/// The allocator that this program has, counted.
pub struct Counting;

/// Allocations and reallocations by this thread since it started.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has asked for and not given back.
pub fn held() -> i64 {
    HELD.get()
}

fn hold(bytes: usize) {
    HELD.set(HELD.get() + bytes as i64);
}

fn release(bytes: usize) {
    HELD.set(HELD.get() - bytes as i64);
}

/// KiB of this process that lie on transparent huge pages now.
pub fn huge_kibibytes() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

// SAFETY: every call is passed on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        hold(layout.size());
        // SAFETY: the caller's promise.
        unsafe { PAGES.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        hold(layout.size());
        // SAFETY: the caller's promise.
        unsafe { PAGES.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        release(layout.size());
        // SAFETY: the caller's promise.
        unsafe { PAGES.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        release(layout.size());
        hold(size);
        // SAFETY: the caller's promise.
        unsafe { PAGES.realloc(block, layout, size) }
    }
}
