//! Shapes every flow to its own contract; any other scheduler orders the flows that may leave.
//!
//! **Law**: a policer of the same contract accepts every packet of a shaped flow. The shaper holds no packet longer than its contract
//! demands. A flow's contract changes by the law of [`Allowance::change`]; a head that waits is due when the new contract allows it. The scheduler
//! inside keeps its own law of changes.
//!
//! **Source**: shapers in front of a work-conserving scheduler as in Zhang and Ferrari, "Rate-controlled service disciplines", Journal of
//! High Speed Networks 3(4), 1994; the contract is [`Allowance`]'s.
//!
//! **State**: one cache line (64 bytes) and one byte per flow, the ready list of waiting flows, and the scheduler inside.
//!
//! **Cost**: the scheduler inside, and one insertion and one removal of a ready list per packet that has to wait.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: the shaper holds back flows, not packets, which stay in the port's queues. A flow is in the scheduler inside while its
//! head may leave, and otherwise on the waiting list.

use super::{Allowance, ShapingContract};
use crate::contract_state::ContractState;
use crate::packet::{Colour, Flow, Head};
use crate::policer::ContractError;
use crate::prefetch::prefetch_in;
use crate::ready::{ReadyList, Wheel};
use crate::scheduler::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler};
use crate::units::{SERIAL_HORIZON, Time};
use alloc::vec;
use alloc::vec::Vec;

/// A scheduler with a shaper in front.
#[derive(Clone, Debug)]
pub struct Shaped<S, R = Wheel> {
    flows: Vec<Shaping>,
    /// Whether each flow is on the waiting list.
    waits: Vec<Waits>,
    waiting: R,
    inner: S,
    /// The earliest release of a waiting flow, or an earlier instant.
    next_release: Time,
    /// The number of released flows for which no waiting flow has been prefetched yet.
    unnamed: usize,
}

/// Whether a flow is on the waiting list, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    No,
    /// Its queue was empty before: the scheduler inside gets it as a new one.
    SinceItsArrival,
    /// It was backlogged before, and resumes.
    SinceItWasServed,
}

/// The state of one flow.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Shaping {
    allowance: Allowance,
    /// The head's arrival, number, length and colour. The scheduler inside gets them after a wait; the length is charged.
    arrival: Time,
    number: u32,
    /// The length in the low 30 bits, the colour above.
    length_and_colour: u32,
}

const LENGTH_BITS: u32 = 30;

impl Shaping {
    #[inline]
    fn keep(&mut self, head: Head) {
        self.arrival = head.arrival;
        self.number = head.number;
        self.length_and_colour = head.length | (head.colour as u32) << LENGTH_BITS;
    }

    #[inline]
    fn length(&self) -> u32 {
        self.length_and_colour & ((1 << LENGTH_BITS) - 1)
    }

    #[inline]
    fn head(&self) -> Head {
        let colour = match self.length_and_colour >> LENGTH_BITS {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        };
        Head { length: self.length(), number: self.number, arrival: self.arrival, colour }
    }
}

impl<S: Scheduler, R: ReadyList> Shaped<S, R> {
    /// Shapes the flows that have a contract in front of `inner`; the others pass straight through. `contracts` has an entry for every place of
    /// `inner`, vacant ones included.
    ///
    /// # Errors
    /// The first flow whose contract is out of range, and what is wrong with it.
    pub fn new(inner: S, contracts: &[Option<ShapingContract>]) -> Result<Shaped<S, R>, (Flow, ContractError)> {
        let shaping = |allowance| Shaping { allowance, arrival: Time::ZERO, number: 0, length_and_colour: 0 };
        let flows: Vec<Shaping> = Allowance::of_each(contracts)?.into_iter().map(shaping).collect();
        let (waits, waiting) = (vec![Waits::No; flows.len()], R::new(flows.len()));
        Ok(Shaped { flows, waits, waiting, inner, next_release: Time::ZERO, unnamed: 0 })
    }

    /// Hands the flows whose heads may leave over to the scheduler inside.
    #[inline]
    fn release(&mut self, now: Time) {
        self.next_release = loop {
            match self.waiting.first() {
                Some((release, flow)) if !Time::from_picoseconds(release).is_after(now) => {
                    self.waiting.drop_first();
                    let waited = core::mem::replace(&mut self.waits[flow.index()], Waits::No);
                    self.unnamed += 1;
                    if let Some(ahead) = self.waiting.ahead(PREFETCH_DISTANCE) {
                        self.prefetch(ahead);
                    }
                    let head = self.flows[flow.index()].head();
                    if waited == Waits::SinceItWasServed {
                        self.inner.resume(now, flow, head);
                    } else {
                        self.inner.activate(now, flow, head);
                    }
                }
                Some((release, _)) => break Time::from_picoseconds(release),
                // No flow waits; any that comes to wait is earlier.
                None => break now + SERIAL_HORIZON,
            }
        };
    }

    /// Makes `flow` wait until `release`.
    #[inline]
    fn hold(&mut self, flow: Flow, release: Time, waits: Waits) {
        self.waiting.insert(flow, release.picoseconds());
        self.waits[flow.index()] = waits;
        self.next_release = self.next_release.earlier(release);
    }

    /// The head of `flow`, if it waits, is due when its contract allows: at another instant than at `release`, if that has changed.
    fn reschedule(&mut self, flow: Flow, release: Time) {
        let (waits, due) = (self.waits[flow.index()], self.flows[flow.index()].allowance.release());
        if waits != Waits::No && due != release {
            self.waiting.remove(flow);
            self.hold(flow, due, waits);
        }
    }

    /// The scheduler inside.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Scheduler, R: ReadyList> Scheduler for Shaped<S, R> {
    fn start(&mut self, now: Time) {
        for flow in &mut self.flows {
            flow.allowance.start(now);
        }
        self.next_release = now;
        self.inner.start(now);
    }

    #[inline]
    fn activate(&mut self, now: Time, flow: Flow, head: Head) {
        let shaping = &mut self.flows[flow.index()];
        shaping.keep(head);
        let release = shaping.allowance.release();
        if release.is_after(now) {
            self.hold(flow, release, Waits::SinceItsArrival);
        } else {
            self.inner.activate(now, flow, head);
        }
    }

    #[inline]
    fn select(&mut self, now: Time) -> Decision {
        if !now.is_before(self.next_release) {
            self.release(now);
        }
        let decision = self.inner.select(now);
        if matches!(decision, Decision::Serve(_) | Decision::ServeAs(..) | Decision::Discard(_)) {
            return decision;
        }
        match (decision, self.waiting.first()) {
            (Decision::WaitUntil(time), Some((release, _))) => Decision::WaitUntil(time.earlier(Time::from_picoseconds(release))),
            (_, Some((release, _))) => Decision::WaitUntil(Time::from_picoseconds(release)),
            (_, None) => decision,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let shaping = &mut self.flows[flow.index()];
        shaping.allowance.charge(now, shaping.length());
        if let Some(head) = next {
            shaping.keep(head);
            let release = shaping.allowance.release();
            if release.is_after(now) {
                self.hold(flow, release, Waits::SinceItWasServed);
                return self.inner.served_and_suspended(now, flow, head);
            }
        }
        self.inner.served(now, flow, next);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        // The release does not depend on the head: a flow that may leave still may, and one that waits keeps its place.
        if let Some(head) = next {
            self.flows[flow.index()].keep(head);
        }
        if self.waits[flow.index()] == Waits::No {
            self.inner.lost(now, flow, next);
        } else if next.is_none() {
            self.waiting.remove(flow);
            self.waits[flow.index()] = Waits::No;
        }
    }

    fn change(&mut self, now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        let mut allowance = Allowance::at(now, parameters.shape.as_ref()).map_err(|error| refused(flow, &error))?;
        self.inner.change(now, flow, &FlowParameters { shape: None, ..*parameters })?;
        let old = self.flows[flow.index()].allowance;
        allowance.adopt(now, &old);
        self.flows[flow.index()].allowance = allowance;
        self.reschedule(flow, old.release());
        Ok(())
    }

    fn forget(&mut self, now: Time, flow: Flow) {
        self.flows[flow.index()].allowance = Allowance::UNLIMITED;
        self.flows[flow.index()].allowance.start(now);
        self.inner.forget(now, flow);
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let mut heirs = vec![None; old.flows.len()];
        let mut inside = Vec::with_capacity(kept.len());
        for &Kept { from, to, head } in kept {
            let shaping = &mut self.flows[to.index()];
            shaping.allowance.adopt(now, &old.flows[from.index()].allowance);
            let mut released = head;
            if let Some(head) = head {
                shaping.keep(head);
                if old.waits[from.index()] != Waits::No {
                    heirs[from.index()] = Some(to);
                    released = None;
                }
            }
            inside.push(Kept { from, to, head: released });
        }
        // In the order in which they are due, which also breaks ties.
        while let Some((due, from)) = old.waiting.pop_first() {
            if let Some(to) = heirs[from.index()] {
                self.hold(to, Time::from_picoseconds(due), old.waits[from.index()]);
                self.reschedule(to, old.flows[from.index()].allowance.release());
            }
        }
        self.inner.adopt(now, &mut old.inner, &inside);
        (self.next_release, self.unnamed) = (now, old.unnamed);
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        // One waiting flow for each released one, also if many were released at once: they are next.
        if let Some(others) = self.unnamed.min(PREFETCH_DISTANCE).checked_sub(1) {
            self.unnamed = others;
            if let Some(flow) = self.waiting.ahead(PREFETCH_DISTANCE - 1 - others) {
                return Some(flow);
            }
        }
        self.inner.prefetch_hint()
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
        self.inner.prefetch(flow);
    }

    fn visit_contracts(&mut self, state: &mut dyn ContractState) {
        self.flows.iter_mut().for_each(|flow| flow.allowance.visit_state(state));
        self.inner.visit_contracts(state);
    }

    fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        for flow in &mut self.flows {
            flow.allowance.refresh(now);
            flow.arrival = flow.arrival.later(oldest);
        }
        self.waiting.raise(oldest.picoseconds());
        self.next_release = now;
        self.inner.refresh(now);
    }
}

/// The error of a contract as that of a scheduler's parameter.
pub(crate) fn refused(flow: Flow, error: &ContractError) -> BuildError {
    BuildError { flow: Some(flow), parameter: Parameter::Rate, problem: error.problem }
}
