//! Time in ticks of 2^-16 cell slot, on an axis that wraps and is compared serially; slots are numbered with 64 bits.

use tidegate_core::sharing::{CellRate, SLOT};
use tidegate_core::units::Rate;

/// A length of time in ticks of 2^-16 cell slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ticks(pub u64);

impl Ticks {
    /// No time at all.
    pub const ZERO: Ticks = Ticks(0);

    /// `slots` cell slots.
    ///
    /// # Panics
    /// If the product does not fit in 64 bits.
    pub const fn slots(slots: u64) -> Ticks {
        Ticks(slots * SLOT)
    }

    /// The interval of a stream of `cells` cells in `slots` slots, rounded up. `None` if `cells` is 0 or the interval exceeds 64 bits.
    ///
    /// ```
    /// use tidegate_cells::Ticks;
    /// assert_eq!(Ticks::ceil_of_ratio(9, 2), Some(Ticks(4 * 65_536 + 32_768))); // two cells every nine slots
    /// assert_eq!(Ticks::ceil_of_ratio(1, 3), Some(Ticks(21_846)));
    /// ```
    pub const fn ceil_of_ratio(slots: u64, cells: u64) -> Option<Ticks> {
        if cells == 0 {
            return None;
        }
        let ticks = (slots as u128 * SLOT as u128).div_ceil(cells as u128);
        if ticks > u64::MAX as u128 { None } else { Some(Ticks(ticks as u64)) }
    }

    /// The interval of a stream of `rate` on a link of `link`, both counted in the same bits (of whole cells, say), rounded up.
    pub const fn ceil_of_rate(rate: Rate, link: Rate) -> Ticks {
        // Rates are between 2^9 and 2^39 bit/s, so the quotient is below 2^46.
        Ticks((link.bits_per_second() as u128 * SLOT as u128).div_ceil(rate.bits_per_second() as u128) as u64)
    }

    /// Whole slots, rounded up.
    pub const fn ceil_slots(self) -> u64 {
        self.0.div_ceil(SLOT)
    }

    /// The rate of cells at this interval, rounded down: at most 2^-11 of it too low at the longest interval there is, 2^-40 at the
    /// shortest. 0 for no interval.
    pub const fn floor_rate(self) -> CellRate {
        match (SLOT << 40).checked_div(self.0) {
            Some(rate) => CellRate(rate),
            None => CellRate::ZERO,
        }
    }
}

/// The first tick of a slot. Slots beyond 2^48 wrap.
#[inline]
pub(crate) const fn start_of(slot: u64) -> u64 {
    slot.wrapping_mul(SLOT)
}

/// The first slot that starts at or after an instant less than 2^47 slots from the start of slot `near`.
#[inline]
pub(crate) const fn slot_from(instant: u64, near: u64) -> u64 {
    let ahead = instant.wrapping_sub(start_of(near)) as i64;
    near.wrapping_add(((ahead + (SLOT as i64 - 1)) >> 16) as u64)
}
