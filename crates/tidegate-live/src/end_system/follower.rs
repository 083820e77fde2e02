//! A scheduler that decides nothing: it repeats what was decided elsewhere.

use tidegate_core::packet::{Flow, Head};
use tidegate_core::scheduler::{Decision, Scheduler};
use tidegate_core::units::Time;

/// Says what it was told, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    told: Option<Decision>,
}

impl Follower {
    /// The next decision.
    pub(crate) fn tell(&mut self, decision: Decision) {
        self.told = Some(decision);
    }
}

impl Scheduler for Follower {
    fn activate(&mut self, _now: Time, _flow: Flow, _head: Head) {}

    fn select(&mut self, _now: Time) -> Decision {
        self.told.unwrap_or(Decision::Idle)
    }

    fn served(&mut self, _now: Time, _flow: Flow, _next: Option<Head>) {
        self.told = None;
    }

    fn lost(&mut self, _now: Time, _flow: Flow, _next: Option<Head>) {
        self.told = None;
    }
}
