//! What a part waits for after a poll, and how its thread waits.

use std::thread;
use std::time::Duration;
use tidegate_core::units::Time;

/// What a part waits for after a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing is due before this instant, unless another part wakes this one.
    At(Time),
    /// Nothing is due until another part wakes this one.
    Waiting,
    /// Nothing will ever be due: the parts before this one have gone, and everything they left has been passed on.
    Ended,
}

/// The longest sleep of a part before it polls again and asks whether to go on.
pub(crate) const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Next {
    /// Sleeps until the next poll is due, another part wakes this one, or [`IDLE_POLL_INTERVAL`] has passed. False if no poll is needed any
    /// more. `clock` tells the machine's time.
    pub(crate) fn sleep(self, clock: impl Fn() -> Time) -> bool {
        let left = match self {
            // The poll took time, so the remaining wait counts from now.
            Next::At(time) => Duration::from_nanos(time.since(clock()).picoseconds().div_ceil(1000)).min(IDLE_POLL_INTERVAL),
            Next::Waiting => IDLE_POLL_INTERVAL,
            Next::Ended => return false,
        };
        if left > Duration::ZERO {
            thread::park_timeout(left);
        }
        true
    }
}
