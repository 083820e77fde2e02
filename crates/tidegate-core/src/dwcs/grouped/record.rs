//! The record of one stream, as of the last time it was brought up to date: later misses follow from the time.

use crate::dwcs::interface::Tally;
use crate::dwcs::rules::NEVER;
use crate::dwcs::stream::{Stream, Window};
use crate::dwcs::tolerance::Tolerance;

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Record {
    /// As of the last [`Record::catch_up`], and so is the tolerance.
    pub deadline: u64,
    pub tolerance: Tolerance,
    /// [`NEVER`](crate::dwcs::NEVER) for streams without deadlines.
    pub period: u64,
    pub window: Window,
    /// What a violation costs; 0 if nothing can be violated.
    pub penalty: u32,
    /// The index of its period among all periods.
    pub period_index: u32,
    /// Changes whenever the stream is placed, so that an entry elsewhere is recognised as outdated.
    pub stamp: u32,
    pub place: Place,
    pub droppable: bool,
    pub is_fixed: bool,
    /// The present head began a new window, and nothing has happened since.
    pub is_fresh: bool,
    /// Other attributes hold from the next head on.
    pub changes: bool,
}

/// Where a stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Idle,
    Waiting,
    Front,
    /// In the group of this number.
    Member(u32),
    Background,
    Held,
    Late,
}

impl Record {
    /// The attributes of the stream.
    pub fn attributes(&self) -> Stream {
        let &Record { window, penalty, droppable, is_fixed, .. } = self;
        let period = Some(self.period).filter(|&period| period != NEVER);
        Stream { window, period, first_deadline: None, penalty, droppable, is_fixed }
    }

    /// Accounts for missed deadlines until `deadline` is the next.
    #[inline]
    pub fn catch_up(&mut self, deadline: u64, tally: &mut Tally) {
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
