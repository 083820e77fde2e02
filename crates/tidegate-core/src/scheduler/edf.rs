//! Earliest deadline first: every packet is to start within its flow's delay after its arrival, and the head with the earliest deadline goes
//! first.
//!
//! **Law**: a packet's deadline is its arrival plus its flow's delay. Whenever the link takes a packet, no head has an earlier deadline. If
//! the flows are feasible, every packet has left the link by its deadline plus the longest packet's time on the link. Token buckets are
//! feasible if for every t the sum over flows with `delay <= t` of `time(burst + rate * (t - delay))` is at most `t`. A changed delay holds
//! from the flow's next head on; the head keeps its deadline.
//!
//! **Source**: Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time environment", JACM 20(1), 1973, section 7.
//! The feasibility test for packets is that of Liebeherr, Wrege and Ferrari, "Exact admission control for networks with a bounded delay
//! service", IEEE/ACM ToN 4(6), 1996.
//!
//! **State**: 8 bytes per flow (its delay) and the ready list.
//!
//! **Cost**: one insertion and one removal of a ready list per packet.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: transmissions are not interrupted, hence the longest packet in the law. Late packets are sent, not dropped.

use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::units::{Duration, SERIAL_HORIZON, Time};
use alloc::vec::Vec;

/// Earliest deadline first, not preemptive.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, EarliestDeadlineFirst, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Duration, Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let within = |ms| FlowParameters { delay: Some(Duration::from_milliseconds(ms)), ..FlowParameters::default() };
/// let mut edf: EarliestDeadlineFirst = setup.build(&[within(50), within(5)]).unwrap();
/// let head = |number| Head { length: 1500, number, arrival: Time::ZERO, colour: Colour::Green };
/// edf.activate(Time::ZERO, Flow(0), head(0));
/// edf.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(edf.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct EarliestDeadlineFirst<R = Wheel> {
    delays: Vec<Duration>,
    deadlines: R,
}

impl<R: ReadyList> Scheduler for EarliestDeadlineFirst<R> {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        let deadline = head.arrival + self.delays[flow.index()];
        self.deadlines.insert(flow, deadline.picoseconds());
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.deadlines.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.deadlines.drop_first();
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.deadlines.remove(flow);
        if let Some(head) = next {
            self.activate(now, flow, head);
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let wrong = |problem| BuildError { flow: Some(flow), parameter: Parameter::Delay, problem };
        let delay = parameters.delay.ok_or(wrong("earliest deadline first needs it for every flow"))?;
        if delay > SERIAL_HORIZON {
            return Err(wrong("must be at most 26 days"));
        }
        self.delays[flow.index()] = delay;
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.delays[flow.index()] = Duration::ZERO;
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let mut moves = Moves::new(old.delays.len(), kept);
        moves.take_list(&mut old.deadlines, &mut self.deadlines);
        moves.activate_others(self, now, kept);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        let hint = self.deadlines.ahead(PREFETCH_DISTANCE)?;
        self.prefetch(hint);
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.delays, flow.index());
    }

    fn refresh(&mut self, now: Time) {
        self.deadlines.raise((now - SERIAL_HORIZON).picoseconds());
    }
}

impl<R: ReadyList> Algorithm<Scheduling> for EarliestDeadlineFirst<R> {
    const NAME: &'static str = "edf";
    const SUMMARY: &'static str = "the packet whose deadline (arrival plus its flow's delay) comes first leaves first";
    const REQUIRES: &'static [Parameter] = &[Parameter::Delay];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let places = setup.places(flows);
        let mut scheduler = EarliestDeadlineFirst { delays: alloc::vec![Duration::ZERO; places], deadlines: R::new(places) };
        for (index, given) in flows.iter().enumerate() {
            scheduler.change(Time::ZERO, Flow(index as u32), given)?;
        }
        Ok(scheduler)
    }
}
