//! Virtual clock: every flow has a clock that its packets advance by their time at the flow's own rate. The head with the earliest clock
//! leaves first.
//!
//! **Law**: a packet's stamp is `F = max(arrival, F of the flow's packet before) + time(length at the flow's rate)`. If the rates sum up to at
//! most the link's, every packet has left the link by `F` plus the longest packet's time on the link. So a flow within a token bucket is
//! delayed by at most `burst / rate + longest packet / link rate`, whatever the others do.
//!
//! **Source**: Zhang, "VirtualClock: a new traffic control algorithm for packet switching networks", SIGCOMM 1990. The bound is that of
//! Figueira and Pasquale, "An upper bound on delay for the VirtualClock service discipline", IEEE/ACM ToN 3(4), 1995. As a latency-rate server
//! it is in Stiliadis and Varma, IEEE/ACM ToN 6(5), 1998.
//!
//! **State**: 24 bytes per flow and the ready list.
//!
//! **Cost**: one insertion and one removal of a ready list per packet, one multiplication.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a packet is stamped when it becomes the head, with its own arrival. That gives the same stamp as stamping on arrival, and a
//! lost head is not charged. A flow that used idle capacity pays for it later, because its clock has run ahead: that is the discipline; WF2Q+
//! forgives.

use super::{BuildError, Decision, FlowParameters, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::units::{Duration, SERIAL_HORIZON, Time, TimePerByte};
use alloc::vec::Vec;

/// Virtual clock.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup, VirtualClock};
/// use tidegate_core::units::{Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let rate = |mbps: u64| FlowParameters { rate: Some(Rate::new(mbps * 1_000_000).unwrap()), ..FlowParameters::default() };
/// let mut clock: VirtualClock = setup.build(&[rate(1), rate(2)]).unwrap();
/// let head = |number| Head { length: 125, number, arrival: Time::ZERO, colour: Colour::Green };
/// clock.activate(Time::ZERO, Flow(0), head(0)); // clock shows 1 ms
/// clock.activate(Time::ZERO, Flow(1), head(1)); // clock shows 0.5 ms
/// assert_eq!(clock.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct VirtualClock<R = Wheel> {
    clocks: Vec<Clock>,
    finishes: R,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The clock after the packets served so far.
    charged: Time,
    /// The clock after the present head.
    finish: Time,
    rate: TimePerByte,
}

/// The most by which a clock runs ahead of the time, 2^62 ps (53 days). Without it a slow flow alone on a fast link would drive its clock out
/// of the reach of serial comparison within milliseconds.
const MAXIMUM_CLOCK_LEAD: Duration = Duration::from_picoseconds(2 * SERIAL_HORIZON.picoseconds());

impl<R: ReadyList> VirtualClock<R> {
    #[inline]
    fn stamp(&mut self, now: Time, flow: Flow, head: Head) {
        let clock = &mut self.clocks[flow.index()];
        let finish = clock.charged.later(head.arrival) + clock.rate.ceil(head.length);
        clock.finish = finish.earlier(now + MAXIMUM_CLOCK_LEAD);
        self.finishes.insert(flow, clock.finish.picoseconds());
    }
}

impl<R: ReadyList> Scheduler for VirtualClock<R> {
    const WORK_CONSERVING: bool = true;

    fn start(&mut self, now: Time) {
        for clock in &mut self.clocks {
            clock.charged = now;
        }
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.stamp(now, flow, head);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.finishes.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline(always)]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let clock = &mut self.clocks[flow.index()];
        clock.charged = clock.finish;
        self.finishes.drop_first();
        if let Some(head) = next {
            self.stamp(now, flow, head);
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.finishes.remove(flow);
        if let Some(head) = next {
            self.stamp(now, flow, head);
        }
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        let hint = self.finishes.ahead(PREFETCH_DISTANCE)?;
        self.prefetch(hint);
        Some(hint)
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.clocks, flow.index());
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        for clock in &mut self.clocks {
            clock.charged = clock.charged.later(oldest);
            clock.finish = clock.finish.later(oldest);
        }
        self.finishes.raise(oldest.picoseconds());
    }
}

impl<R: ReadyList> Algorithm<Scheduling> for VirtualClock<R> {
    const NAME: &'static str = "virtual-clock";
    const SUMMARY: &'static str = "every flow gets its rate, with a delay bound, and pays later for what it takes beyond";
    const REQUIRES: &'static [Parameter] = &[Parameter::Rate];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let (mut clocks, mut sum) = (Vec::with_capacity(flows.len()), 0u64);
        for (index, given) in flows.iter().enumerate() {
            let wrong = |problem| BuildError { flow: Some(Flow(index as u32)), parameter: Parameter::Rate, problem };
            let rate = given.rate.ok_or(wrong("the virtual clock needs it for every flow"))?;
            sum = sum.saturating_add(rate.bits_per_second());
            let rate = rate.time_per_byte();
            let longest = rate.ceil(setup.longest_packet);
            if longest > SERIAL_HORIZON {
                return Err(wrong("the longest packet takes more than 26 days at this rate: raise the rate"));
            }
            clocks.push(Clock { charged: Time::ZERO, finish: Time::ZERO, rate });
        }
        if sum > setup.rate.bits_per_second() {
            let problem = "the flows' rates sum up to more than the rate that is shared: lower them";
            return Err(BuildError { flow: None, parameter: Parameter::Rate, problem });
        }
        Ok(VirtualClock { clocks, finishes: R::new(flows.len()) })
    }
}
