//! Shaped virtual clock (SVC): every flow has a rate, no head leaves before its virtual start, and of those that may leave the one with the
//! earliest virtual finish does.
//!
//! **Law**: a flow has the rate `r` and the tolerance `tau`; `L` is its longest packet and `C` the link's rate. The rates sum up to at
//! most `C`.
//! 1. Every packet has left the link by its virtual finish plus the longest packet's time at `C`, whatever the tolerances.
//! 2. In any time `t` heads of at most `L + r (t + tau)` of a flow become eligible, and none leaves before. What is late then comes on top.
//! 3. A flow that is backlogged for a time `t` gets at least `r t - L - r * (longest packet / C)`.
//!
//! **Source**: Stiliadis and Varma, "A general methodology for designing efficient traffic scheduling and shaping algorithms", INFOCOM 1997.
//! The form is that of Wu, Hou, Zhang, Chao and Hamada, "A per-flow based node architecture for integrated services packet networks",
//! equation 1. The bound is that of the virtual clock; see [`VirtualClock`](super::VirtualClock).
//!
//! **State**: 64 bytes per flow, and 44 in the queues of the [`Calendar`].
//!
//! **Cost**: O(1) amortised in the shaper's queue; O(log e) with e heads eligible, few while the rates sum up to at most the link's. Two
//! multiplications per packet, no division.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: ties of the virtual finish leave in the order of flows, as in the source, and not of activation. A head that follows on
//! another starts at the finish of that one ([`Stamping::Keep`]); equation 1 as printed, [`Stamping::Literal`], loses the lateness of a flow
//! with every packet. Stamps are exact, with a remainder that is carried; whole picoseconds are compared.

use super::eligible_heads::Stamp;
use super::shaped_clock::{Reservation, ShapedClock};
use super::{
    BuildError, Calendar, Decision, EligibleList, FlowParameters, Kept, Parameter, Scheduler, Scheduling, ServiceClass, Setup, Stamping,
};
use crate::algorithm::Algorithm;
use crate::contract_state::ContractState;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::{SERIAL_HORIZON, Time};
use alloc::vec;
use alloc::vec::Vec;

/// Shaped virtual clock.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup, ShapedVirtualClock};
/// use tidegate_core::units::{Duration, Rate, Time};
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1500);
/// let rate = |mbps: u64| FlowParameters { rate: Some(Rate::new(mbps * 1_000_000).unwrap()), ..FlowParameters::default() };
/// let mut clock: ShapedVirtualClock = setup.build(&[rate(1)]).unwrap();
/// let head = |number| Head { length: 125, number, arrival: Time::ZERO, colour: Colour::Green };
/// clock.activate(Time::ZERO, Flow(0), head(0));
/// assert_eq!(clock.select(Time::ZERO), Decision::Serve(Flow(0)));
/// clock.served(Time::ZERO, Flow(0), Some(head(1)));
/// // The second packet waits for its virtual start, however idle the link is.
/// assert_eq!(clock.select(Time::ZERO), Decision::WaitUntil(Time::ZERO + Duration::from_milliseconds(1)));
/// ```
#[derive(Clone, Debug)]
pub struct ShapedVirtualClock<E = Calendar> {
    setup: Setup,
    clocks: Vec<ShapedClock>,
    heads: E,
}

/// [`ShapedClock::place`] of a flow that is backlogged.
const BACKLOGGED: u8 = 1;

#[inline]
fn stamp_of(clock: &ShapedClock) -> Stamp {
    Stamp { eligible: clock.eligible(), finish: clock.finish(), class: 0 }
}

fn only_class(_given: &FlowParameters) -> ServiceClass {
    ServiceClass::Guaranteed
}

impl<E: EligibleList> ShapedVirtualClock<E> {
    #[inline]
    fn stamping(&self) -> Stamping {
        self.setup.intserv.stamp
    }

    /// Stamps and files the head of a flow that has none in the list.
    #[inline]
    fn file(&mut self, now: Time, flow: Flow, head: Head, begins_busy_period: bool) {
        let stamping = self.stamping();
        let clock = &mut self.clocks[flow.index()];
        clock.stamp(now, head.length, begins_busy_period, stamping);
        (clock.place, clock.is_changed) = (BACKLOGGED, false);
        self.heads.insert(now, flow, stamp_of(clock));
    }
}

impl<E: EligibleList> Scheduler for ShapedVirtualClock<E> {
    fn start(&mut self, now: Time) {
        self.clocks.iter_mut().for_each(|clock| clock.reset(now));
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        self.file(now, flow, head, true);
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        let clocks = &self.clocks;
        let stamp = |flow: Flow, ahead: Option<Flow>| {
            if let Some(ahead) = ahead {
                prefetch_in(clocks, ahead.index());
            }
            Some(stamp_of(&clocks[flow.index()]))
        };
        match self.heads.first(now, stamp) {
            Some(flow) => Decision::Serve(flow),
            None => self.heads.earliest().map_or(Decision::Idle, Decision::WaitUntil),
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.heads.drop_first(flow);
        match next {
            Some(head) => self.file(now, flow, head, false),
            None => self.clocks[flow.index()].place = 0,
        }
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let stamping = self.stamping();
        let clock = &mut self.clocks[flow.index()];
        let old = stamp_of(clock);
        match next {
            // The head starts when the lost one did, unless what it needs has changed: the shaper's queue stays as it is.
            Some(head) if !clock.is_changed => {
                clock.replace(now, head.length, stamping);
                let stamp = stamp_of(clock);
                self.heads.replace(flow, old, stamp);
            }
            _ => {
                clock.refund();
                clock.place = 0;
                self.heads.remove(flow, old);
                if let Some(head) = next {
                    self.file(now, flow, head, false);
                }
            }
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, given: &FlowParameters) -> Result<(), BuildError> {
        let (reservation, _) = Reservation::of(&self.setup, flow, given, ServiceClass::Guaranteed)?;
        self.clocks[flow.index()].change(reservation);
        Ok(())
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.clocks[flow.index()].reset(now);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        for &Kept { from, to, head } in kept {
            let (clock, before) = (&mut self.clocks[to.index()], &old.clocks[from.index()]);
            clock.continue_from(before);
            match head {
                Some(_) if before.place == BACKLOGGED => {
                    clock.place = BACKLOGGED;
                    let stamp = stamp_of(clock);
                    self.heads.insert(now, to, stamp);
                }
                Some(head) => self.activate(now, to, head),
                None => {}
            }
        }
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        self.heads.hint()
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.clocks, flow.index());
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        for clock in &mut self.clocks {
            // A head that waits is stamped anew, on what it followed.
            let mut shown = *clock;
            if shown.place == BACKLOGGED {
                shown.refund();
                shown.visit_state(state);
            } else {
                clock.visit_state(state);
            }
        }
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        self.clocks.iter_mut().for_each(|clock| clock.raise(oldest));
        self.heads.raise(oldest);
    }
}

impl<E: EligibleList> Algorithm<Scheduling> for ShapedVirtualClock<E> {
    const NAME: &'static str = "svc";
    const SUMMARY: &'static str = "every flow gets its rate and no more, with a delay bound; a packet waits for its virtual start";
    const REQUIRES: &'static [Parameter] = &[Parameter::Rate];
    const ACCEPTS: &'static [Parameter] = &[Parameter::Tolerance];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<Self, BuildError> {
        let places = setup.places(flows);
        let mut clocks = Vec::with_capacity(places);
        Reservation::of_all(setup, flows, only_class, |reservation| clocks.push(ShapedClock::new(reservation)))?;
        clocks.extend(vec![ShapedClock::VACANT; places - flows.len()]);
        Ok(ShapedVirtualClock { setup: *setup, clocks, heads: E::new(places) })
    }
}

#[cfg(test)]
mod tests;
