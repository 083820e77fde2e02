//! What a cell touches of its connection: one cache line.
//!
//! When the PDU ends, when the adapter has no cell of the connection and when it is time for a transfer is known some cells before. So of most
//! cells, the calm ones, nothing has to be counted but that one less of them is left.

use crate::contract::CellContract;
use crate::scheduler::Counts;
use crate::shaping::{Shaping, State};
use tidegate_core::sharing::Sharing;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    pub(crate) shaping: Shaping,
    /// The next cells after which there is nothing to do but to plan the next: they are on the adapter, none is the last of its PDU, and
    /// after none it is time for a transfer. They count nowhere else.
    pub(crate) calm: u16,
    /// Other cells of the oldest PDU that have not been sent.
    pub(crate) unsent: u16,
    /// Other cells on the adapter; without transfers they are not counted, and one is there.
    pub(crate) resident: u16,
    pub(crate) generation: u16,
}

const _: () = assert!(size_of::<Line>() == 64, "a cell touches one cache line of its connection");

impl Line {
    /// A connection without anything to send.
    pub(crate) const fn new(contract: &CellContract) -> Line {
        Line { shaping: Shaping::new(contract), calm: 0, unsent: 0, resident: 0, generation: 0 }
    }

    /// Shapes the connection one of whose cells was planned for `planned` and leaves so late: when the next may leave.
    #[inline(always)]
    pub(crate) fn shape<S: Sharing>(&mut self, class: usize, planned: u64, late: u64, sharing: &mut S, counts: &mut Counts) -> u64 {
        if sharing.stretch(class).is_none()
            && let Some(next) = self.shape_steady(class, planned, late, sharing, counts)
        {
            return next;
        }
        let delay = self.leave(class, planned, late, sharing, counts);
        self.reckon(class, planned, late, delay, sharing)
    }

    /// The same for a steady connection of a class of which nothing is stretched; `None` if it is not steady.
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
        if S::HOLDS_UNSTRETCHED && sharing.delay(class) != delay {
            return Some(self.reckon(class, planned, late, delay, sharing));
        }
        Some(self.shaping.plan_steady(planned))
    }

    /// A cell leaves; tells how far the class's clock was behind before.
    #[inline(always)]
    fn leave<S: Sharing>(&self, class: usize, planned: u64, late: u64, sharing: &mut S, counts: &mut Counts) -> u64 {
        counts.beyond_tolerance += u64::from(late > self.shaping.tolerance().0);
        let delay = sharing.delay(class);
        sharing.sent(class, planned, planned.wrapping_add(late).wrapping_add(delay));
        delay
    }

    /// Reckons when the next cell may leave.
    #[inline(always)]
    fn reckon<S: Sharing>(&mut self, class: usize, planned: u64, late: u64, delay: u64, sharing: &mut S) -> u64 {
        let shaping = &mut self.shaping;
        if shaping.state() == State::Refill {
            changes_state(shaping, class, State::Peak, sharing);
        }
        // The class's clock may have been held meanwhile.
        let late = late.wrapping_sub(sharing.delay(class).wrapping_sub(delay));
        let state = shaping.plan_next(planned, late, sharing.stretch(class));
        if shaping.state() != state {
            changes_state(shaping, class, state, sharing);
        }
        shaping.next()
    }

    /// True if a cell is on the adapter.
    #[inline]
    pub(crate) const fn is_ready(&self) -> bool {
        self.calm > 0 || self.resident > 0
    }

    /// All cells on the adapter; `counted` is 1 if they are counted and 0 if not.
    #[inline]
    pub(crate) const fn resident(&self, counted: u16) -> u16 {
        self.resident + self.calm * counted
    }

    /// Counts the calm cells as all others again.
    #[inline]
    pub(crate) const fn unsettle(&mut self, counted: u16) {
        self.unsent += self.calm;
        self.resident += self.calm * counted;
        self.calm = 0;
    }

    /// Finds out how many cells are calm, while so many others are under way, and no transfer starts as long as there are cells for `low`
    /// ticks at the shortest interval.
    #[inline]
    pub(crate) fn settle(&mut self, outstanding: u16, counted: u16, low: u64) {
        self.unsettle(counted);
        let mut calm = self.unsent.saturating_sub(1);
        if counted > 0 {
            // Mostly a transfer takes less than an interval, and a branch costs less than a quotient.
            let shortest = self.shaping.shortest();
            let least = if low <= shortest { 1 } else { low.div_ceil(shortest) };
            let more = (u64::from(self.resident) + u64::from(outstanding)).saturating_sub(least);
            calm = calm.min(self.resident).min(more as u16);
        }
        self.calm = calm;
        self.unsent -= calm;
        self.resident -= calm * counted;
    }
}

/// The demand of a class is another when a connection is limited by something else.
#[cold]
#[inline(never)]
fn changes_state(shaping: &mut Shaping, class: usize, to: State, sharing: &mut impl Sharing) {
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
        /// The calm cells are those after which nothing has to be done, and not one more; counting them loses none.
        #[test]
        fn calm_cells_are_those_that_nothing_follows(
            unsent in 1u16..200, resident in 0u16..200, outstanding in 0u16..200, interval in 1u64..20, low in 1u64..400,
        ) {
            let mut line = Line::new(&CellContract::constant(Ticks::slots(interval)));
            (line.unsent, line.resident) = (unsent, resident);
            line.settle(outstanding, 1, low * SLOT);
            let follows_nothing = |sent: u16| {
                let ahead = u64::from(resident - sent) + u64::from(outstanding);
                sent < unsent && ahead * interval >= low
            };
            let calm = (1..=resident).take_while(|&sent| follows_nothing(sent)).count();
            prop_assert_eq!(usize::from(line.calm), calm);
            prop_assert_eq!(line.resident(1), resident);
            line.unsettle(1);
            prop_assert_eq!((line.calm, line.unsent, line.resident), (0, unsent, resident));
        }
    }
}
