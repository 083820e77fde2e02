//! The part of a connection that a cell touches: one cache line.
//!
//! It is known some cells ahead when the PDU ends, when the adapter has no cell left, and when a transfer may be due. Cells before that are
//! plain: sending one only decrements their count.

use crate::contract::CellContract;
use crate::scheduler::Counts;
use crate::shaping::{Shaping, State};
use tidegate_core::sharing::Sharing;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    pub(crate) shaping: Shaping,
    /// The number of plain cells: they are on the adapter, none ends its PDU, and no transfer is due after any of them. No other field
    /// counts them.
    pub(crate) plain: u16,
    /// Other cells of the oldest PDU that have not been sent.
    pub(crate) unsent: u16,
    /// Other cells on the adapter; constant 1 without transfers.
    pub(crate) resident: u16,
    pub(crate) generation: u16,
}

const _: () = assert!(size_of::<Line>() == 64, "a cell touches one cache line of its connection");

impl Line {
    pub(crate) const fn new(contract: &CellContract) -> Line {
        Line { shaping: Shaping::new(contract), plain: 0, unsent: 0, resident: 0, generation: 0 }
    }

    /// Shapes the connection after a cell that was planned for `planned` and leaves this late. Returns when the next one may leave.
    #[inline(always)]
    pub(crate) fn shape<S: Sharing>(&mut self, class: usize, planned: u64, late: u64, sharing: &mut S, counts: &mut Counts) -> u64 {
        if sharing.stretch(class).is_none()
            && let Some(next) = self.shape_steady(class, planned, late, sharing, counts)
        {
            return next;
        }
        let delay = self.on_departure(class, planned, late, sharing, counts);
        self.compute_next(class, planned, late, delay, sharing)
    }

    /// The same for a steady connection of a class that is not stretched; `None` if it is not steady.
    #[inline(always)]
    pub(crate) fn shape_steady<S: Sharing>(
        &mut self,
        class: usize,
        planned: u64,
        late: u64,
        sharing: &mut S,
        counts: &mut Counts,
    ) -> Option<u64> {
        if !self.shaping.is_steady(late) {
            return None;
        }
        let delay = sharing.delay(class);
        counts.beyond_tolerance += u64::from(late > self.shaping.tolerance().0);
        sharing.sent_unstretched(class, planned, planned.wrapping_add(late).wrapping_add(delay));
        Some(self.shaping.plan_steady(planned))
    }

    /// A cell leaves. Returns how far the clock of the class was behind before.
    #[inline(always)]
    fn on_departure<S: Sharing>(&self, class: usize, planned: u64, late: u64, sharing: &mut S, counts: &mut Counts) -> u64 {
        counts.beyond_tolerance += u64::from(late > self.shaping.tolerance().0);
        let delay = sharing.delay(class);
        sharing.sent(class, planned, planned.wrapping_add(late).wrapping_add(delay));
        delay
    }

    /// Computes when the next cell may leave.
    #[inline(always)]
    fn compute_next<S: Sharing>(&mut self, class: usize, planned: u64, late: u64, delay: u64, sharing: &mut S) -> u64 {
        let shaping = &mut self.shaping;
        if shaping.state() == State::Refill {
            change_state(shaping, class, State::Peak, sharing);
        }
        // The clock of the class may have stood still meanwhile.
        let late = late.wrapping_sub(sharing.delay(class).wrapping_sub(delay));
        let state = shaping.plan_next(planned, late, sharing.stretch(class));
        if shaping.state() != state {
            change_state(shaping, class, state, sharing);
        }
        shaping.next()
    }

    #[inline]
    pub(crate) const fn is_ready(&self) -> bool {
        self.plain > 0 || self.resident > 0
    }

    /// All cells on the adapter; `counted` is 1 with transfers and 0 without.
    #[inline]
    pub(crate) const fn resident(&self, counted: u16) -> u16 {
        self.resident + self.plain * counted
    }

    #[inline]
    pub(crate) const fn uncount_plain(&mut self, counted: u16) {
        self.unsent += self.plain;
        self.resident += self.plain * counted;
        self.plain = 0;
    }

    /// Counts the plain cells, while `outstanding` cells are under way and no transfer is due as long as cells for `low` ticks at the
    /// shortest interval are on the adapter or under way.
    #[inline]
    pub(crate) fn count_plain(&mut self, outstanding: u16, counted: u16, low: u64) {
        self.uncount_plain(counted);
        let mut plain = self.unsent.saturating_sub(1);
        if counted > 0 {
            // A transfer usually takes less than an interval, and a branch costs less than a division.
            let shortest = self.shaping.shortest();
            let least = if low <= shortest { 1 } else { low.div_ceil(shortest) };
            let more = (u64::from(self.resident) + u64::from(outstanding)).saturating_sub(least);
            plain = plain.min(self.resident).min(more as u16);
        }
        self.plain = plain;
        self.unsent -= plain;
        self.resident -= plain * counted;
    }
}

/// Sets the limit on the next cell of a connection, and with it the demand of the class.
#[cold]
#[inline(never)]
fn change_state(shaping: &mut Shaping, class: usize, to: State, sharing: &mut impl Sharing) {
    sharing.demand_changed(class, shaping.rate(shaping.state()), shaping.rate(to));
    shaping.set_state(to);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Ticks;
    use proptest::prelude::*;
    use tidegate_core::sharing::SLOT;

    proptest! {
        /// The plain cells are those after which no action is due, and not one more; counting them loses none.
        #[test]
        fn calm_cells_are_those_that_nothing_follows(
            unsent in 1u16..200, resident in 0u16..200, outstanding in 0u16..200, interval in 1u64..20, low in 1u64..400,
        ) {
            let mut line = Line::new(&CellContract::constant(Ticks::slots(interval)));
            (line.unsent, line.resident) = (unsent, resident);
            line.count_plain(outstanding, 1, low * SLOT);
            let follows_nothing = |sent: u16| {
                let ahead = u64::from(resident - sent) + u64::from(outstanding);
                sent < unsent && ahead * interval >= low
            };
            let plain = (1..=resident).take_while(|&sent| follows_nothing(sent)).count();
            prop_assert_eq!(usize::from(line.plain), plain);
            prop_assert_eq!(line.resident(1), resident);
            line.uncount_plain(1);
            prop_assert_eq!((line.plain, line.unsent, line.resident), (0, unsent, resident));
        }
    }
}
