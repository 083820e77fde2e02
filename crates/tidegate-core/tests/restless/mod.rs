//! A wrapper that resumes suspended flows and suspends them again at once, which must not change what the scheduler inside does.

use std::collections::BTreeMap;
use tidegate_core::packet::{Flow, Head};
use tidegate_core::scheduler::{BuildError, Decision, FlowParameters, Scheduler};
use tidegate_core::units::{SERIAL_HORIZON, Time};

/// A scheduler whose suspended flows come back and go again, one before each call.
pub struct Restless<S> {
    scheduler: S,
    suspended: BTreeMap<Flow, Head>,
    calls: usize,
}

impl<S: Scheduler> Restless<S> {
    pub fn new(scheduler: S) -> Restless<S> {
        Restless { scheduler, suspended: BTreeMap::new(), calls: 0 }
    }

    fn visit(&mut self, now: Time) {
        self.calls += 1;
        if let Some((&flow, &head)) = self.suspended.iter().nth(self.calls % self.suspended.len().max(1)) {
            self.scheduler.resume(now, flow, head);
            self.scheduler.suspend(now, flow);
        }
    }
}

impl<S: Scheduler> Scheduler for Restless<S> {
    fn start(&mut self, now: Time) {
        self.scheduler.start(now);
    }

    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.suspended.remove(&flow);
        self.visit(now);
        self.scheduler.activate(now, flow, head);
    }

    fn select(&mut self, now: Time) -> Decision {
        self.visit(now);
        self.scheduler.select(now)
    }

    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.scheduler.served(now, flow, next);
    }

    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.visit(now);
        self.scheduler.lost(now, flow, next);
    }

    fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
        self.scheduler.served_and_suspended(now, flow, next);
        self.suspended.insert(flow, next);
    }

    fn resume(&mut self, now: Time, flow: Flow, head: Head) {
        self.visit(now);
        self.suspended.remove(&flow);
        self.scheduler.resume(now, flow, head);
    }

    fn refresh(&mut self, now: Time) {
        self.scheduler.refresh(now);
        self.suspended.values_mut().for_each(|head| head.arrival = head.arrival.later(now - SERIAL_HORIZON));
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.scheduler.change(now, flow, parameters)
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.scheduler.forget(now, flow);
    }
}
