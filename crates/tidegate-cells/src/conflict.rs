//! Resolves conflicts for a slot: the order of connections that are due.
//!
//! **Law.** No rule moves a cell before its planned time. [`Conflict::Lazy`]: the earliest planned time first; no cell waits for more
//! cells than were planned before it. [`Conflict::NextFree`]: a booked slot is kept. [`Conflict::Tolerance`]: if any order lets all cells
//! leave within their CDVT, this one does (earliest deadline first, for cells of one slot each). [`Conflict::Priority`]: no lower class
//! delays a class.
//!
//! **Source.** Schiller and Gunningberg, section 4.1, which offers an empty slot later in time, rescheduling by CDVT, and static priority.
//!
//! **State.** Only the bookings of [`Conflict::NextFree`]: runs of booked slots in a search tree.
//!
//! **Cost.** O(log n). The tree allocates when a run is added; nothing else in the cell schedulers allocates.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** The paper lets a new cell contend with the occupant of its slot and the loser with that of the next. A choice per
//! slot among all that are due gives the same schedule, at a cost that does not depend on the length of a run.

use alloc::collections::BTreeMap;

/// The order of connections that are due.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Conflict {
    /// The earliest planned time.
    #[default]
    Lazy,
    /// The connection that has booked the slot: the first free one at or after the planned time when the cell was planned.
    NextFree,
    /// CDVT: the earliest planned time plus tolerance.
    Tolerance,
    /// The lowest class number, and within the class the earliest planned time.
    Priority,
}

impl Conflict {
    /// All of them.
    pub const ALL: [Conflict; 4] = [Conflict::Lazy, Conflict::NextFree, Conflict::Tolerance, Conflict::Priority];
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Bookings {
    /// First slot of a run, and the first free slot after it; runs neither touch nor overlap.
    runs: BTreeMap<u64, u64>,
}

impl Bookings {
    /// Books the first free slot at or after `from`.
    pub(crate) fn book(&mut self, from: u64) -> u64 {
        let before = self.runs.range(..=from).next_back().map(|(&start, &end)| (start, end));
        let (start, slot) = match before {
            Some((start, end)) if end >= from => (start, end),
            _ => (from, from),
        };
        let end = self.runs.remove(&(slot + 1)).unwrap_or(slot + 1);
        self.runs.insert(start, end);
        slot
    }

    pub(crate) fn forget_before(&mut self, now: u64) {
        while let Some((&start, &end)) = self.runs.first_key_value() {
            if start >= now {
                break;
            }
            self.runs.pop_first();
            if end > now {
                self.runs.insert(now, end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bookings_are_a_set_of_slots(requests in prop::collection::vec((0u64..40, 0u64..3), 1..200)) {
            let (mut bookings, mut set, mut now) = (Bookings::default(), BTreeSet::new(), 0);
            for (from, step) in requests {
                now += step;
                bookings.forget_before(now);
                let expected = (now + from..).find(|slot| !set.contains(slot)).unwrap();
                set.insert(expected);
                prop_assert_eq!(bookings.book(now + from), expected);
                let booked: u64 = bookings.runs.iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(booked as usize, set.range(now..).count());
            }
        }
    }
}
