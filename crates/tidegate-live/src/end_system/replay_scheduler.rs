//! A scheduler that replays decisions made elsewhere.

use tidegate_core::packet::{Flow, Head};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Scheduler};
use tidegate_core::units::Time;

/// Returns each decision that it is given, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayScheduler {
    next: Option<Decision>,
}

impl ReplayScheduler {
    pub(crate) fn set_next(&mut self, decision: Decision) {
        self.next = Some(decision);
    }
}

impl Scheduler for ReplayScheduler {
    fn activate(&mut self, _now: Time, _flow: Flow, _head: Head) {}

    fn select(&mut self, _now: Time) -> Decision {
        self.next.unwrap_or(Decision::Idle)
    }

    fn served(&mut self, _now: Time, _flow: Flow, _next: Option<Head>) {
        self.next = None;
    }

    fn lost(&mut self, _now: Time, _flow: Flow, _next: Option<Head>) {
        self.next = None;
    }

    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, _flow: Flow) {}
}
