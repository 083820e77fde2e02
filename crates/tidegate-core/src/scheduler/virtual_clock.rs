//! Virtual clock: every flow has a clock that its packets advance by their time at the flow's own rate. The head with the earliest clock
//! leaves first.
//!
//! **Law**: a packet's stamp is `F = max(arrival, F of the flow's packet before) + time(length at the flow's rate)`. If the rates sum up to at
//! most the link's, every packet has left the link by `F` plus the longest packet's time on the link. So a flow within a token bucket is
//! delayed by at most `burst / rate + longest packet / link rate`, whatever the others do.
//!
//! A changed rate holds from the flow's next head on, and the flow's clock stays. The bound of the others holds while the rates sum up to at most
//! the link's. A rate that is given up counts up to the stamp of its last head.
//!
//! **Source**: Zhang, "VirtualClock: a new traffic control algorithm for packet switching networks", SIGCOMM 1990. The bound is that of
//! Figueira and Pasquale, "An upper bound on delay for the VirtualClock service discipline", IEEE/ACM ToN 3(4), 1995. As a latency-rate server
//! it is in Stiliadis and Varma, IEEE/ACM ToN 6(5), 1998.
//!
//! **State**: 32 bytes per flow and the ready list.
//!
//! **Cost**: one insertion and one removal of a ready list per packet, one multiplication.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a packet is stamped when it becomes the head, with its own arrival. That gives the same stamp as stamping on arrival, and a
//! lost head is not charged. A flow that used idle capacity pays for it later, because its clock has run ahead: that is the discipline; WF2Q+
//! forgives.

use super::moves::Moves;
use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::units::{Duration, Rate, SERIAL_HORIZON, Time, TimePerByte};
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
    /// The reserved rates in bits per second, 0 in a vacant place, and their sum.
    reserved: Vec<u64>,
    sum: u64,
    link: Rate,
    longest_packet: u32,
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
    /// The rate of a flow, if it is in range, and the sum of all with it.
    fn reserve(&self, flow: Flow, given: &FlowParameters) -> Result<(Rate, u64), BuildError> {
        let wrong = |flow, problem| BuildError { flow, parameter: Parameter::Rate, problem };
        let rate = given.rate.ok_or(wrong(Some(flow), "the virtual clock needs it for every flow"))?;
        if rate.time_per_byte().ceil(self.longest_packet) > SERIAL_HORIZON {
            return Err(wrong(Some(flow), "the longest packet takes more than 26 days at this rate: raise the rate"));
        }
        let sum = self.sum - self.reserved[flow.index()] + rate.bits_per_second();
        if sum > self.link.bits_per_second() {
            return Err(wrong(None, "the flows' rates sum up to more than the rate that is shared: lower them"));
        }
        Ok((rate, sum))
    }

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

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let (rate, sum) = self.reserve(flow, parameters)?;
        self.reserved[flow.index()] = rate.bits_per_second();
        self.sum = sum;
        self.clocks[flow.index()].rate = rate.time_per_byte();
        Ok(())
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.sum -= core::mem::take(&mut self.reserved[flow.index()]);
        let clock = &mut self.clocks[flow.index()];
        (clock.charged, clock.finish) = (now, now);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        for kept in kept {
            let clock = &mut self.clocks[kept.to.index()];
            *clock = Clock { rate: clock.rate, ..old.clocks[kept.from.index()] };
        }
        let mut moves = Moves::new(old.clocks.len(), kept);
        moves.take_list(&mut old.finishes, &mut self.finishes);
        moves.activate_others(self, now, kept);
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
        let (places, link) = (setup.places(flows), setup.rate);
        let clock = Clock { charged: Time::ZERO, finish: Time::ZERO, rate: link.time_per_byte() };
        let mut scheduler = VirtualClock {
            clocks: alloc::vec![clock; places],
            finishes: R::new(places),
            reserved: alloc::vec![0; places],
            sum: 0,
            link,
            longest_packet: setup.longest_packet,
        };
        for (index, given) in flows.iter().enumerate() {
            scheduler.change(Time::ZERO, Flow(index as u32), given)?;
        }
        Ok(scheduler)
    }
}
