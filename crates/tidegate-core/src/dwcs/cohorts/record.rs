//! What is kept of one stream: as it was when it was last touched, because what has happened to it since follows from the time.

use crate::dwcs::{Tally, Tolerance, Window};

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Record {
    /// As of the last time it was touched.
    pub deadline: u64,
    pub tolerance: Tolerance,
    /// [`NEVER`] for streams without deadlines.
    pub period: u64,
    pub window: Window,
    /// What a violation costs; 0 if nothing can be violated.
    pub penalty: u32,
    /// The number of its period among all periods.
    pub kind: u32,
    /// Changes whenever it is placed, so that an item at the front is recognised as outdated.
    pub stamp: u32,
    /// Where it stands.
    pub place: Place,
    pub droppable: bool,
    pub is_fixed: bool,
    pub is_fresh: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Idle,
    Waiting,
    Front,
    Member(u32),
    Background,
    Held,
    Late,
}

impl Record {
    /// Accounts for deadlines missed until `deadline` is the next.
    #[inline]
    pub fn touch(&mut self, deadline: u64, tally: &mut Tally) {
        if self.deadline != deadline {
            let passed = deadline - self.deadline;
            let times = if passed == self.period { 1 } else { passed / self.period };
            self.miss(times, tally);
            self.deadline = deadline;
        }
    }

    #[inline]
    pub fn miss(&mut self, times: u64, tally: &mut Tally) {
        self.is_fresh = false;
        tally.missed += times;
        if !self.is_fixed {
            tally.violations += self.tolerance.miss(self.window, self.penalty, times);
        }
    }
}
