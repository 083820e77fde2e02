//! PLACEHOLDER to be replaced by the scheduler author: serves heads in order of arrival number.

use super::{BuildError, Decision, Discipline, FlowParameters, Parameter, Scheduler, Setup};
use crate::packet::{Flow, Head};
use crate::ready::{Heap, ReadyList};
use crate::units::Time;

/// First in, first out across all flows.
#[derive(Clone, Debug)]
pub struct Fifo {
    heads: Heap,
}

impl Scheduler for Fifo {
    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        // Arrival numbers are 32-bit and wrap; shifted to the top of the key they compare serially.
        self.heads.insert(flow, u64::from(head.number) << 32);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.heads.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.heads.remove(flow);
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.served(now, flow, next);
    }
}

impl Discipline for Fifo {
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "packets leave in the order in which they arrived";
    const REQUIRES: &'static [Parameter] = &[];
    const ACCEPTS: &'static [Parameter] = &[];
    const WORK_CONSERVING: bool = true;

    fn build(_setup: &Setup, flows: &[FlowParameters]) -> Result<Fifo, BuildError> {
        Ok(Fifo { heads: Heap::new(flows.len()) })
    }
}
