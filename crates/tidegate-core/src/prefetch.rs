//! Cache prefetching, the one place in the core that needs `unsafe`.
#![allow(unsafe_code)]

/// Asks the processor to bring the cache line of `value` closer. Never faults and never changes what the program computes.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_in(core::slice::from_ref(value), 0);
}

/// The same for the item of a slice in this place, if there is one; otherwise for some other address.
#[inline(always)]
pub fn prefetch_in<T>(items: &[T], place: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: a prefetch is a hint on any address, and the pointer is not followed otherwise.
        unsafe { core::arch::x86_64::_mm_prefetch(items.as_ptr().wrapping_add(place).cast::<i8>(), core::arch::x86_64::_MM_HINT_T0) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (items, place);
}

/// The same for every cache line on which `value` lies.
#[inline(always)]
pub fn prefetch_whole<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        const LINE: usize = 64;
        let bytes = core::ptr::from_ref(value).cast::<i8>();
        let fetch = |offset: usize| {
            // SAFETY: as above.
            unsafe { core::arch::x86_64::_mm_prefetch(bytes.wrapping_add(offset), core::arch::x86_64::_MM_HINT_T0) };
        };
        (0..size_of::<T>()).step_by(LINE).for_each(fetch);
        // It may begin within a line.
        if !LINE.is_multiple_of(size_of::<T>()) && !align_of::<T>().is_multiple_of(LINE) {
            fetch(size_of::<T>() - 1);
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

/// The same for the line behind that of `value`.
#[inline(always)]
pub fn prefetch_second_line<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: as above.
        unsafe {
            core::arch::x86_64::_mm_prefetch(core::ptr::from_ref(value).cast::<i8>().wrapping_add(64), core::arch::x86_64::_MM_HINT_T0);
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
