//! The calls of a scheduler as functions that are never inlined.

use crate::packet::{Flow, Head};
use crate::scheduler::{Decision, Scheduler, Task};
use crate::units::Time;

/// The calls of a scheduler, never inlined. Were they inlined into a `match`, every call would save the registers that the most complicated
/// scheduler needs; like this the `match` is a jump.
pub(super) trait Outlined: Scheduler {
    #[inline(never)]
    fn outlined_activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.activate(now, flow, head);
    }

    #[inline(never)]
    fn outlined_select(&mut self, now: Time) -> Decision {
        self.select(now)
    }

    #[inline(never)]
    fn outlined_served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.served(now, flow, next);
    }

    #[inline(never)]
    fn outlined_lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.lost(now, flow, next);
    }

    #[inline(never)]
    fn outlined_served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
        self.served_and_suspended(now, flow, next);
    }

    #[inline(never)]
    fn outlined_suspend(&mut self, now: Time, flow: Flow) {
        self.suspend(now, flow);
    }

    #[inline(never)]
    fn outlined_resume(&mut self, now: Time, flow: Flow, head: Head) {
        self.resume(now, flow, head);
    }

    #[inline(never)]
    fn outlined_prefetch_hint(&mut self) -> Option<Flow> {
        self.prefetch_hint()
    }

    #[inline(never)]
    fn outlined_drive<T: Task>(&mut self, task: T) -> T::Output
    where
        Self: Sized,
    {
        self.drive(task)
    }
}

impl<S: Scheduler> Outlined for S {}
