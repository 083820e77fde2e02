//! The coupled scheduler of DualPI2: a low-latency queue goes before a classic one, which keeps a small part of the link.
//!
//! **Law.** While both sides are backlogged, the low-latency side is served until its lead over the classic side's share is used up. With a classic
//! share of `w` percent the classic side gets at least `w` percent of the bytes in the long run. Neither side is kept idle for the other.
//! **Source.** K. De Schepper, B. Briscoe and G. White, "Dual-queue coupled active queue management", RFC 9332, section 4.2.2 and appendix A.1, which asks
//! for such a scheduler; the credit is that of Linux.
//! **State.** A ready list per side, and a credit.
//! **Cost.** As [`Fifo`](super::Fifo), and a multiplication per packet while both sides are backlogged.
//! **RTL twin.** None.
//! **Deviations.** A side may have any number of flows, which leave in the order in which they arrived. Flow 1 is the low-latency one unless priorities
//! are given: then those of priority 0.

use super::{BuildError, Decision, FlowParameters, Kept, PREFETCH_DISTANCE, Parameter, Scheduler, Scheduling, Setup, activate_in_order};
use crate::algorithm::Algorithm;
use crate::packet::{Flow, Head};
use crate::ready::{ReadyList, Wheel};
use crate::units::Time;
use alloc::vec::Vec;

/// A classic and a low-latency side.
///
/// ```
/// use tidegate_core::packet::{Colour, Flow, Head};
/// use tidegate_core::scheduler::{Decision, DualQueue, FlowParameters, Scheduler, Setup};
/// use tidegate_core::units::{Rate, Time};
///
/// let head = |number| Head { length: 1000, number, arrival: Time::ZERO, colour: Colour::Green };
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1514);
/// let mut scheduler: DualQueue = setup.build(&[FlowParameters::default(); 2]).unwrap();
/// scheduler.activate(Time::ZERO, Flow(0), head(0));
/// scheduler.activate(Time::ZERO, Flow(1), head(1));
/// assert_eq!(scheduler.select(Time::ZERO), Decision::Serve(Flow(1)));
/// ```
#[derive(Clone, Debug)]
pub struct DualQueue {
    /// The heads of the classic and of the low-latency side, by their arrival numbers.
    sides: [Wheel; 2],
    flows: Vec<Place>,
    /// What the low-latency side is ahead of its share; it goes first up to 0.
    credit: i64,
    /// The credit with which a backlog of both sides begins.
    first_credit: i64,
    /// The share of the classic side in percent.
    classic_share: i64,
}

/// Where a flow belongs, and the length of its head.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The side of its head, if it has one.
    side: usize,
    /// The side of its next head.
    next_side: usize,
    length: u32,
}

impl Place {
    const fn new(place: usize, parameters: &FlowParameters) -> Place {
        let side = match parameters.priority {
            Some(0) => LOW_LATENCY,
            Some(_) => CLASSIC,
            None => (place == 1) as usize,
        };
        Place { side, next_side: side, length: 0 }
    }
}

/// The two sides, as they index [`DualQueue::sides`].
const CLASSIC: usize = 0;
const LOW_LATENCY: usize = 1;

/// Arrival numbers have 32 bits and wrap; at the top of a key they compare serially.
const NUMBER_SHIFT: u32 = 32;

impl Scheduler for DualQueue {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        let place = &mut self.flows[flow.index()];
        (place.side, place.length) = (place.next_side, head.length);
        self.sides[place.side].insert(flow, u64::from(head.number) << NUMBER_SHIFT);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        let [classic, low_latency] = &self.sides;
        let is_low_latency_due = self.credit <= 0 || fault!(DualQueueIsStrict);
        let side = if classic.is_empty() || is_low_latency_due && !low_latency.is_empty() { low_latency } else { classic };
        match side.first() {
            Some((_, flow)) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        if !self.sides.iter().any(Wheel::is_empty) {
            let Place { side, length, .. } = self.flows[flow.index()];
            let charge = if side == LOW_LATENCY { self.classic_share } else { self.classic_share - 100 };
            self.credit += i64::from(length) * charge;
        }
        self.lost(now, flow, next);
    }

    #[inline]
    fn lost(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        self.sides[self.flows[flow.index()].side].remove(flow);
        if let Some(head) = next {
            self.activate(now, flow, head);
        } else if self.sides.iter().all(Wheel::is_empty) {
            self.credit = self.first_credit;
        }
    }

    fn change(&mut self, _now: Time, flow: Flow, parameters: &FlowParameters) -> Result<(), BuildError> {
        self.flows[flow.index()].next_side = Place::new(flow.index(), parameters).side;
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        self.flows[flow.index()] = Place::new(flow.index(), &FlowParameters::default());
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        let sides: Vec<usize> = self.flows.iter().map(|place| place.next_side).collect();
        for flow in kept {
            let Place { side, next_side, .. } = old.flows[flow.from.index()];
            // A head stays on its side, even if the flow has changed to the other since.
            if side != next_side {
                self.flows[flow.to.index()].next_side = side;
            }
        }
        activate_in_order(self, now, kept);
        self.flows.iter_mut().zip(sides).for_each(|(place, side)| place.next_side = side);
        self.credit = if self.sides.iter().all(Wheel::is_empty) { self.first_credit } else { old.credit };
    }

    #[inline]
    fn prefetch_hint(&mut self) -> Option<Flow> {
        self.sides[CLASSIC].ahead(PREFETCH_DISTANCE)
    }
}

impl Algorithm<Scheduling> for DualQueue {
    const NAME: &'static str = "dual-queue";
    const SUMMARY: &'static str = "a low-latency queue goes first, and a classic one keeps a small share";
    const ACCEPTS: &'static [Parameter] = &[Parameter::Priority];

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<DualQueue, BuildError> {
        let (places, classic_share) = (setup.places(flows), i64::from(setup.queue.classic_share.percent()));
        let parameters = |place| flows.get(place).copied().unwrap_or_default();
        let first_credit = i64::from(setup.longest_packet) * (2 * classic_share - 100);
        Ok(DualQueue {
            sides: [Wheel::new(places), Wheel::new(places)],
            flows: (0..places).map(|place| Place::new(place, &parameters(place))).collect(),
            credit: first_credit,
            first_credit,
            classic_share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{Backlog, Server};
    use crate::units::Rate;

    fn dual_queue() -> Backlog<DualQueue> {
        let setup = Setup::new(Rate::MAX, 1514);
        Backlog::new(setup.build(&[FlowParameters::default(); 2]).unwrap(), 2)
    }

    #[test]
    fn the_classic_side_keeps_its_share() {
        let mut server = dual_queue();
        for flow in [CLASSIC, LOW_LATENCY] {
            (0..20).for_each(|_| server.arrive(flow, 1000));
        }
        let order: Vec<usize> = core::iter::from_fn(|| server.send()).map(|sent| sent.0).collect();
        let (classic, low_latency) = (CLASSIC, LOW_LATENCY);
        let expected = [&[low_latency; 13][..], &[classic], &[low_latency; 7], &[classic; 19]].concat();
        assert_eq!(order, expected);
    }

    #[test]
    fn a_dropped_head_costs_no_credit() {
        let mut server = dual_queue();
        for flow in [CLASSIC, LOW_LATENCY] {
            (0..30).for_each(|_| server.arrive(flow, 1000));
        }
        (0..10).for_each(|_| server.lose_head(LOW_LATENCY));
        let sent: Vec<usize> = (0..14).map(|_| server.send().unwrap().0).collect();
        assert_eq!(sent.iter().position(|&side| side == CLASSIC), Some(13));
    }
}
