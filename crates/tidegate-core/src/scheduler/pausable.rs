//! Holds back the flows that are paused; any scheduler orders the others.
//!
//! **Law.** No paused flow is named. A flow that is never paused is served as by the scheduler inside, for which a paused flow has no packets.
//! A released flow keeps the rest of its turn, as one that its contract has suspended. A pause of a flow without packets changes nothing.
//!
//! **Source.** IEEE 802.1Q-2022, clause 36 (priority-based flow control): a paused priority is not eligible for transmission selection, and a
//! frame whose transmission has begun is finished.
//!
//! **State.** 32 bytes per flow (its head, and whether it is paused), and the scheduler inside.
//!
//! **Cost.** The scheduler inside, and one store per head. A pause or a release of a backlogged flow costs one call of the scheduler inside.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** There is no timer: a pause ends when the caller releases the flow. If every backlogged flow is paused, the decision is
//! [`Decision::Idle`].

use super::{BuildError, Decision, FlowParameters, Kept, Scheduler};
use crate::classifier::FlowKey;
use crate::contract_state::ContractState;
use crate::packet::{Colour, Flow, Head};
use crate::units::{SERIAL_HORIZON, Time};
use alloc::vec;
use alloc::vec::Vec;

/// A scheduler whose flows can be paused.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::registry::SchedulerKind;
/// use tidegate_core::scheduler::{Decision, FlowParameters, Pausable, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
///
/// let setup = Setup::new(Rate::new(1_000_000).unwrap(), 1500);
/// let flows = [FlowParameters::default(), FlowParameters::default()];
/// let mut scheduler = Pausable::new(SchedulerKind::Fifo.build(&setup, &flows).unwrap(), flows.len());
///
/// let head = |number| Head { length: 100, number, arrival: Time::ZERO, colour: Colour::Green };
/// scheduler.activate(Time::ZERO, Flow(0), head(0));
/// scheduler.activate(Time::ZERO, Flow(1), head(1));
/// scheduler.pause(Time::ZERO, Flow(0));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(1)));
/// scheduler.release(Time::ZERO, Flow(0));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(0)));
/// ```
#[derive(Clone, Debug)]
pub struct Pausable<S> {
    flows: Vec<Pausing>,
    inner: S,
}

#[derive(Clone, Copy, Debug)]
struct Pausing {
    /// The head of a flow that is held; meaningless otherwise.
    head: Head,
    is_paused: bool,
    place: Place,
}

/// Where the head of a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// The flow has no packets.
    Nowhere,
    /// The scheduler inside has it.
    Inside,
    /// It came while the flow was paused.
    Held,
    /// The scheduler inside had the flow when it was paused.
    Suspended,
}

impl<S: Scheduler> Pausable<S> {
    /// Lets this number of flows be paused in front of `inner`, which has a place for each. None is paused yet.
    pub fn new(inner: S, flows: usize) -> Pausable<S> {
        let head = Head { length: 0, number: 0, arrival: Time::ZERO, colour: Colour::Green };
        Pausable { flows: vec![Pausing { head, is_paused: false, place: Place::Nowhere }; flows], inner }
    }

    /// From `now` on no packet of `flow` is named. A flow that is paused already stays so.
    pub fn pause(&mut self, now: Time, flow: Flow) {
        let state = &mut self.flows[flow.index()];
        state.is_paused = true;
        if state.place == Place::Inside {
            state.place = Place::Suspended;
            self.inner.suspend(now, flow);
        }
    }

    /// Packets of `flow` may be named from `now` on.
    pub fn release(&mut self, now: Time, flow: Flow) {
        let state = &mut self.flows[flow.index()];
        state.is_paused = false;
        match state.place {
            Place::Nowhere | Place::Inside => return,
            Place::Held => self.inner.activate(now, flow, state.head),
            Place::Suspended => self.inner.resume(now, flow, state.head),
        }
        state.place = Place::Inside;
    }

    /// True if `flow` is paused.
    pub fn is_paused(&self, flow: Flow) -> bool {
        self.flows[flow.index()].is_paused
    }

    /// The scheduler inside.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Scheduler> Scheduler for Pausable<S> {
    const SHAPES: bool = S::SHAPES;

    fn start(&mut self, now: Time) {
        self.inner.start(now);
    }

    #[inline]
    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        self.inner.assign(flow, key)
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        let state = &mut self.flows[flow.index()];
        state.head = head;
        if state.is_paused {
            state.place = Place::Held;
        } else {
            state.place = Place::Inside;
            self.inner.activate(now, flow, head);
        }
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        self.inner.select(now)
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.follow(flow, next);
        self.inner.served(now, flow, next);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let place = self.flows[flow.index()].place;
        self.follow(flow, next);
        if place == Place::Inside {
            self.inner.lost(now, flow, next);
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.inner.change(now, flow, parameters)
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.flows[flow.index()].is_paused = false;
        self.inner.forget(now, flow);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let inside = kept.iter().map(|&Kept { from, to, head }| {
            let Pausing { is_paused, place, .. } = old.flows[from.index()];
            let state = &mut self.flows[to.index()];
            let Some(first) = head else {
                (state.is_paused, state.place) = (is_paused, Place::Nowhere);
                return Kept { from, to, head };
            };
            *state = Pausing { head: first, is_paused, place };
            Kept { from, to, head: head.filter(|_| place == Place::Inside) }
        });
        let inside: Vec<Kept> = inside.collect();
        self.inner.adopt(now, &mut old.inner, &inside);
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        self.inner.visit_contracts(state);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        self.inner.prefetch_hint()
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        self.inner.prefetch(flow);
    }

    fn refresh(&mut self, now: Time) {
        for flow in &mut self.flows {
            flow.head.arrival = flow.head.arrival.later(now - SERIAL_HORIZON);
        }
        self.inner.refresh(now);
    }
}

impl<S> Pausable<S> {
    /// The head of a flow has gone, and this one is in its place.
    #[inline]
    fn follow(&mut self, flow: Flow, next: Option<Head>) {
        let state = &mut self.flows[flow.index()];
        match next {
            Some(head) => state.head = head,
            None => state.place = Place::Nowhere,
        }
    }
}
