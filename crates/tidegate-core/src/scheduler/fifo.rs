//! First in, first out: packets leave in the order in which they arrived at the port, over all flows.
//!
//! **Law**: a packet's transmission starts after that of every packet that was queued before it, and before that of every packet queued
//! after it, unless it is dropped. There is nothing to change of a flow.
//!
//! **Source**: folklore; the order is that of one common queue.
//!
//! **State**: a [`Wheel`] over the heads' arrival numbers; for a port with a single queue, whether there is a head.
//!
//! **Cost**: one insertion and one removal of the wheel per packet; nothing with a single queue, which is in order by itself.
//!
//! **RTL twin**: none; a FIFO memory in hardware needs no scheduler.
//!
//! **Deviations**: a common queue would need no scheduler either. This one exists because the port keeps a queue per flow, so that a
//! buffer manager can see and push out per flow whatever the order of service.

use super::{BuildError, Decision, FlowParameters, PREFETCH_DISTANCE, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::ready::{ReadyList, Wheel};
use crate::units::Time;

/// First in, first out across all flows.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, Fifo, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(1_000_000).unwrap(), 1500);
/// let mut fifo = setup.build::<Fifo>(&[FlowParameters::default(); 2]).unwrap();
/// let head = |number| Head { length: 100, number, arrival: Time::ZERO, colour: Colour::Green };
/// fifo.activate(Time::ZERO, Flow(1), head(0));
/// fifo.activate(Time::ZERO, Flow(0), head(1));
/// assert_eq!(fifo.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Fifo {
    heads: Wheel,
    /// There is one flow, which needs no order.
    is_single: bool,
    /// The single flow has a head.
    has_head: bool,
}

const SINGLE_FLOW: Flow = Flow(0);

/// Arrival numbers have 32 bits and wrap; at the top of a key they compare serially.
const NUMBER_SHIFT: u32 = 32;

impl Scheduler for Fifo {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        if self.is_single {
            self.has_head = true;
        } else {
            self.heads.insert(flow, u64::from(head.number) << NUMBER_SHIFT);
        }
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        if self.is_single {
            return if self.has_head { Decision::Serve(SINGLE_FLOW) } else { Decision::Idle };
        }
        match self.heads.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if self.is_single {
            self.has_head = next.is_some();
            return;
        }
        self.heads.drop_first();
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if self.is_single {
            self.has_head = next.is_some();
            return;
        }
        self.heads.remove(flow);
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, _flow: Flow) {}

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        if self.is_single { None } else { self.heads.ahead(PREFETCH_DISTANCE) }
    }
}

impl Algorithm<Scheduling> for Fifo {
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "packets leave in the order in which they arrived";

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Fifo, BuildError> {
        let places = setup.places(flows);
        Ok(Fifo { heads: Wheel::new(places), is_single: places == 1, has_head: false })
    }
}
