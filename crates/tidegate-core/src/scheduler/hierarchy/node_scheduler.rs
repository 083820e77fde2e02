//! The scheduler of a node. Most nodes of a large tree are classes of FQ-CoDel, whose scheduler is small and has no other memory between.
//!
//! **Law.** That of the scheduler inside.
//!
//! **Source.** As there.
//!
//! **State.** 64 bytes, and what the scheduler inside has elsewhere.
//!
//! **Cost.** A comparison per call; all but sparse round robin a cache line more.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** None.

use crate::classifier::FlowKey;
use crate::packet::{Flow, Head};
use crate::registry::AnyScheduler;
use crate::scheduler::{BuildError, Decision, FlowParameters, Kept, Scheduler, SparseRoundRobin, activate_in_order};
use crate::units::Time;
use alloc::boxed::Box;

/// Sparse round robin in the node itself, or any other in a box.
#[derive(Clone, Debug)]
pub(super) enum NodeScheduler<S> {
    Sparse(SparseRoundRobin),
    Other(Box<S>),
}

impl<S> NodeScheduler<S> {
    /// True if it is sparse round robin without a flow in its lists.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self, NodeScheduler::Sparse(sparse) if sparse.is_idle())
    }
}

impl From<AnyScheduler> for NodeScheduler<AnyScheduler> {
    fn from(scheduler: AnyScheduler) -> Self {
        match scheduler {
            AnyScheduler::SparseRoundRobin(sparse) => NodeScheduler::Sparse(sparse),
            other => NodeScheduler::Other(Box::new(other)),
        }
    }
}

macro_rules! either {
    ($scheduler:expr, $name:ident => $call:expr) => {
        match $scheduler {
            NodeScheduler::Sparse($name) => $call,
            NodeScheduler::Other($name) => $call,
        }
    };
}

impl<S: Scheduler> Scheduler for NodeScheduler<S> {
    fn start(&mut self, now: Time) {
        either!(self, s => s.start(now));
    }

    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        either!(self, s => s.assign(flow, key))
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        either!(self, s => s.activate(now, flow, head));
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        either!(self, s => s.select(now))
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        either!(self, s => s.served(now, flow, next));
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        either!(self, s => s.lost(now, flow, next));
    }

    #[inline]
    fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
        either!(self, s => s.served_and_suspended(now, flow, next));
    }

    #[inline]
    fn suspend(&mut self, now: Time, flow: Flow) {
        either!(self, s => s.suspend(now, flow));
    }

    #[inline]
    fn resume(&mut self, now: Time, flow: Flow, head: Head) {
        either!(self, s => s.resume(now, flow, head));
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        either!(self, s => s.prefetch_hint())
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        either!(self, s => s.prefetch(flow));
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        either!(self, s => s.change(now, flow, parameters))
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        either!(self, s => s.forget(now, flow));
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        match (self, old) {
            (NodeScheduler::Sparse(new), NodeScheduler::Sparse(old)) => new.adopt(now, old, kept),
            (NodeScheduler::Other(new), NodeScheduler::Other(old)) => new.adopt(now, old, kept),
            (new, _) => activate_in_order(new, now, kept),
        }
    }

    fn refresh(&mut self, now: Time) {
        either!(self, s => s.refresh(now));
    }
}
